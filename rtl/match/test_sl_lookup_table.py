# SPDX-License-Identifier: Apache-2.0
"""sl_lookup_table: lookups beside updates agree with the interpreter's table."""

import random
from collections import deque

import cocotb
import pytest
from cocotb.triggers import ClockCycles, FallingEdge

from compiler.interpreter.tables import Rules
from compiler.schedule.tables import lookup_latency
from testing.cocotb.channel import start
from toolchain.simulate import simulate

KINDS = ("exact", "lpm", "ternary")


@pytest.mark.parametrize(
    ("kind", "key_bits", "value_bits", "entries"),
    [("exact", 5, 12, 20), ("lpm", 5, 4, 12), ("ternary", 3, 3, 1)],  # others in elements/lpmrules, compiler/tests/test_tables.py
)
def test_lookup_table(kind: str, key_bits: int, value_bits: int, entries: int) -> None:
    parameters = {"Kind": KINDS.index(kind), "KeyBits": key_bits, "ValueBits": value_bits, "Entries": entries}
    simulate("sl_lookup_table", __file__, parameters, testcase="agrees_with_the_model")


def some_update(kind: str, bits: int) -> tuple[bool, list[int]]:
    """Inserts more often than removes; prefixes sometimes too long; few different rules."""
    is_insert = random.random() < 0.6
    key, mask = random.getrandbits(bits), random.choice([0, 1, 2, 3, 4, -1, -2, -4]) & (1 << bits) - 1
    number = random.randrange(bits + 2) if kind == "lpm" else random.randrange(9)
    names = {"exact": [key], "lpm": [key, number], "ternary": [key, mask, number]}[kind]
    return is_insert, names if is_insert else names[-1:] if kind == "ternary" else names


async def ready(dut) -> None:
    while int(dut.ready_o.value) != 1:
        await FallingEdge(dut.clk_i)


@cocotb.test()
async def agrees_with_the_model(dut):
    kind, bits, values = KINDS[int(dut.Kind.value)], int(dut.KeyBits.value), int(dut.ValueBits.value)
    rules = Rules(kind, bits, int(dut.Entries.value))
    latency = lookup_latency(kind, bits, rules.entries)
    pending: tuple[bool, list[int]] | None = None
    expected: deque[int | None] = deque([None] * latency)
    answers = dict.fromkeys((0, 2, 22, 28), 0)
    hits = 0
    for port in ("key_valid_i", "update_valid_i", "go_i"):
        getattr(dut, port).value = 0
    await start(dut)
    await ready(dut)
    resets = 5
    for cycle in range(14000):
        await FallingEdge(dut.clk_i)
        if resets and cycle > 2000 and pending is not None and random.random() < 0.01:  # it scans: where it is must not stay
            for port in ("key_valid_i", "update_valid_i", "go_i"):
                getattr(dut, port).value = 0
            dut.rst_i.value = 1
            await FallingEdge(dut.clk_i)
            dut.rst_i.value = 0
            await ClockCycles(dut.clk_i, latency)  # answers of keys from before it may still come
            await FallingEdge(dut.clk_i)
            await ready(dut)
            rules, pending, expected, resets = Rules(kind, bits, rules.entries), None, deque([None] * latency), resets - 1
        due = expected.popleft()
        assert int(dut.result_valid_o.value) == (due is not None), f"cycle {cycle}"
        if due is not None:
            assert int(dut.result_o.value) == due, f"cycle {cycle}"
            hits += due != 0
        took = int(dut.take_o.value) == 1
        if took:
            assert pending is not None and dut.go_i.value == 1
            status = rules.update(*pending)
            assert int(dut.status_o.value) == status, f"cycle {cycle}"
            answers[status] += 1
        if not took and random.random() < 0.9:
            key = random.getrandbits(bits)
            found = rules.find(key)
            expected.append(0 if found is None else 1 << values | found)
            dut.key_i.value, dut.key_valid_i.value = key, 1
        else:
            expected.append(None)
            dut.key_valid_i.value = 0
        if took:
            pending = None  # valid falls behind the next edge, as that of a signal does
        elif pending is None and random.random() < 0.5:
            pending = some_update(kind, bits)
            is_insert, given = pending
            if is_insert:
                given.append(random.getrandbits(values))
            by_name = dict(zip({"exact": "k", "lpm": "kn", "ternary": "kmn"}[kind], given, strict=False))
            if kind == "ternary" and not is_insert:
                by_name = {"n": given[0]}
            dut.update_insert_i.value = is_insert
            dut.update_key_i.value, dut.update_mask_i.value = by_name.get("k", 0), by_name.get("m", 0)
            dut.update_number_i.value, dut.update_value_i.value = by_name.get("n", 0), given[-1] if is_insert else 0
        dut.update_valid_i.value = pending is not None
        go = pending is not None and (int(dut.go_i.value) == 1 or (int(dut.want_o.value) == 1 and random.random() < 0.3))
        dut.go_i.value = go or (took and random.random() < 0.5 and pending is not None)
    assert hits > 100 and answers[0] > 20 and answers[2] > 0 and answers[28] > 0, answers
