# SPDX-License-Identifier: Apache-2.0
"""sl_hash_table: a lookup in every cycle agrees with the model while rules are inserted, moved, updated and deleted."""

import random

import cocotb
import pytest
from sluice_layouts import Status

from testing.cocotb.exact import DELETE, FULL, INITIALIZE, POPULATE, UPDATE, TableBench
from testing.models.exact import Hash
from testing.simulate import simulate
from testing.synthesis import Memory, expect_memory

CASES = (
    "agrees_with_the_model_up_to_full_and_after_refilling,"
    "keeps_every_rule_right_under_random_operations_at_high_fill,"
    "misses_everything_from_the_commit_of_initialize_on"
)


@pytest.mark.parametrize(("key_bits", "entries"), [(104, 256), (296, 48 * 4)])
def test_hash_table(key_bits: int, entries: int) -> None:
    simulate(
        "sl_hash_table",
        __file__,
        {"KeyBits": key_bits, "Entries": entries, "MaxNodes": 32},
        testcase=CASES,
    )


def test_ways_map_and_queue_are_in_block_ram() -> None:
    # 4 ways of 43 bits, the map of rule ids, the queue of the search; one shift register is no table.
    ram = {"KeyBits": 32, "Entries": 1024}
    expect_memory("sl_hash_table", ram, xcup=Memory(bram=7, lutram=1), ecp5=Memory(bram=14), most_ff=1500)


@pytest.mark.parametrize("entries", [32, 48])
def test_hash_table_with_colliding_keys(entries: int) -> None:
    case = "refuses_keys_that_all_share_their_slots_and_changes_nothing"
    simulate("sl_hash_table", __file__, {"KeyBits": 104, "Entries": entries, "MaxNodes": 32}, testcase=case)


@cocotb.test()
async def agrees_with_the_model_up_to_full_and_after_refilling(dut):
    bench = TableBench(dut)
    await bench.begin()
    assert await bench.fill(bench.entries * 92 // 100) == 0, "92 % must fit"
    await bench.fill(bench.entries * 7 // 100)
    await bench.empty()
    assert await bench.fill(bench.entries * 92 // 100) == 0
    assert bench.hits > 1000 and bench.lookups > 2 * bench.hits // 2


@cocotb.test()
async def keeps_every_rule_right_under_random_operations_at_high_fill(dut):
    bench = TableBench(dut, load=0.9)
    await bench.begin()
    await bench.fill(bench.entries * 88 // 100)
    for _ in range(400):
        kind = random.choice([POPULATE, POPULATE, DELETE, DELETE, UPDATE])
        rule_id = random.randrange(bench.entries + 3)
        key = bench.model.by_id.get(rule_id) if random.random() < 0.7 else None
        mask = FULL if random.random() < 0.95 else FULL ^ (1 << random.randrange(bench.key_bits))
        await bench.operate(kind, rule_id, random.choice(bench.pool) if key is None else key, mask)


@cocotb.test()
async def refuses_keys_that_all_share_their_slots_and_changes_nothing(dut):
    bench = TableBench(dut)
    await bench.begin()
    hashes, keys = Hash(bench.key_bits, bench.entries // 4), []
    while len(keys) < 12:
        key = random.getrandbits(bench.key_bits)
        if all(slot < 2 for slot in hashes.slots(key)):
            keys.append(key)
    statuses = [await bench.operate(POPULATE, n, key) for n, key in enumerate(keys)]
    assert statuses == [Status.STATUS_OK] * 8 + [Status.STATUS_ENOSPC] * 4, "two slots in each of four ways"
    await bench.fill(2)
    assert await bench.operate(DELETE, 5, 0) == Status.STATUS_OK
    assert await bench.operate(POPULATE, 5, keys[9]) == Status.STATUS_OK


@cocotb.test()
async def misses_everything_from_the_commit_of_initialize_on(dut):
    bench = TableBench(dut)
    await bench.begin()
    await bench.fill(bench.entries // 2)
    assert await bench.operate(INITIALIZE, 0, random.getrandbits(64)) == Status.STATUS_OK
    assert dut.ready_o.value == 1 and int(dut.used_o.value) == 0
    assert await bench.fill(bench.entries * 9 // 10) == 0, "another seed, another hash"
