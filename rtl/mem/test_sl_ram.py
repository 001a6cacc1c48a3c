# SPDX-License-Identifier: Apache-2.0
"""The RAM wrappers become the memory their name says, on both targets. What they read back is tested with the FIFOs."""

from toolchain.synthesis import Memory, expect_memory


def test_block_ram_is_inferred() -> None:
    expect_memory(
        "sl_ram_block", {"Width": 36, "Depth": 512}, xcup=Memory(bram=0.5), ecp5=Memory(bram=1), most_ff=0
    )  # fmt: skip


def test_block_ram_with_output_register_is_inferred() -> None:
    expect_memory(
        "sl_ram_block", {"Width": 36, "Depth": 100, "Latency": 2}, xcup=Memory(bram=0.5), ecp5=Memory(bram=1), most_ff=37
    )  # fmt: skip


def test_block_ram_with_two_clocks_is_inferred() -> None:
    expect_memory(
        "sl_ram_block_cdc", {"Width": 36, "Depth": 512}, xcup=Memory(bram=0.5), ecp5=Memory(bram=1), most_ff=0
    )  # fmt: skip


def test_lut_ram_is_inferred() -> None:
    expect_memory(
        "sl_ram_lut", {"Width": 36, "Depth": 32}, xcup=Memory(lutram=24), ecp5=Memory(lutram=18), most_ff=0
    )  # fmt: skip
