# SPDX-License-Identifier: Apache-2.0
"""sl_bcam: a lookup in every cycle agrees with the model while rules are written, updated and deleted, up to full."""

import random

import cocotb
import pytest
from sluice_layouts import Status

from testing.cocotb.exact import DELETE, FULL, INITIALIZE, POPULATE, UPDATE, TableBench
from testing.cocotb.lookups import answer_only_what_no_reset_ended
from testing.simulate import simulate


@pytest.mark.parametrize(("key_bits", "entries", "chunk_bits"), [(104, 32, 5), (17, 24, 4)])
def test_bcam(key_bits: int, entries: int, chunk_bits: int) -> None:
    simulate("sl_bcam", __file__, {"KeyBits": key_bits, "Entries": entries, "ChunkBits": chunk_bits})


@cocotb.test()
async def holds_every_rule_up_to_the_last_entry(dut):
    bench = TableBench(dut)
    await bench.begin()
    for _ in range(3):
        assert await bench.fill(bench.entries) == 0
        await bench.empty()
    assert bench.hits > 200


@cocotb.test()
async def agrees_with_the_model_under_random_operations(dut):
    bench = TableBench(dut, load=0.9)
    await bench.begin()
    for _ in range(600):
        kind = random.choice([POPULATE, POPULATE, POPULATE, DELETE, DELETE, UPDATE])
        rule_id = random.randrange(bench.entries + 2)
        key = bench.model.by_id.get(rule_id) if random.random() < 0.7 else None
        mask = FULL if random.random() < 0.95 else FULL ^ (1 << random.randrange(bench.key_bits))
        status = await bench.operate(kind, rule_id, random.choice(bench.pool) if key is None else key, mask)
        assert status != Status.STATUS_ENOSPC


@cocotb.test()
async def misses_everything_from_the_commit_of_initialize_on(dut):
    bench = TableBench(dut)
    await bench.begin()
    await bench.fill(bench.entries // 2)
    assert await bench.operate(INITIALIZE, 0, 0) == Status.STATUS_OK
    assert dut.ready_o.value == 1 and int(dut.used_o.value) == 0
    assert await bench.fill(bench.entries) == 0


@cocotb.test()
async def a_reset_ends_all_lookups_under_way(dut):
    await answer_only_what_no_reset_ended(dut)
