# SPDX-License-Identifier: Apache-2.0
"""The memories of rule control are block RAM on both targets. Their contents are tested with sl_ofu."""

from toolchain.synthesis import Memory, expect_memory


def test_action_sets_are_block_ram() -> None:
    expect_memory("sl_action_ram", {"Entries": 1024}, xcup=Memory(bram=7.5), ecp5=Memory(bram=15), most_ff=1100)


def test_counters_are_block_ram() -> None:
    expect_memory("sl_rule_counters", {"Entries": 1024}, xcup=Memory(bram=5), ecp5=Memory(bram=10), most_ff=1000)


def test_counters_of_the_pipeline_are_block_ram() -> None:
    expect_memory("sl_pipeline_counters", {"Units": 1, "Actions": 322}, xcup=Memory(bram=3), ecp5=Memory(bram=6), most_ff=1200)
