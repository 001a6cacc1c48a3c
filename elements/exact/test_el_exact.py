# SPDX-License-Identifier: Apache-2.0
"""el_exact: the 5-tuple of a record chooses its rule, for IPv4 and IPv6, and what must not match passes untouched."""

import random

import cocotb
import pytest
import sluice_layouts as layouts
from sluice_layouts import InstructionKind, L3Kind, L4Kind, Status

from testing.cocotb.rule_table import RuleTable, assert_whole
from toolchain.simulate import simulate

POPULATE, DELETE = InstructionKind.INSTRUCTION_POPULATE, InstructionKind.INSTRUCTION_DELETE
UPDATE, INITIALIZE = InstructionKind.INSTRUCTION_UPDATE, InstructionKind.INSTRUCTION_INITIALIZE
HIT = 1 << layouts.TABLE_EXACT


CASES = "finds_the_rule_of_each_five_tuple_and_of_nothing_else,changes_rules_under_full_traffic_without_a_miss"
LARGE = (145408, 1024)  # slots: the first take 131,072 rules


def test_exact() -> None:
    simulate("el_exact", __file__, {"Entries4": 64, "Entries6": 48, "EditEntries": 16}, testcase=CASES)


@pytest.mark.slow
def test_exact_with_slots_for_131072_rules() -> None:
    case = "keeps_rules_apart_from_end_to_end_of_large_tables"
    simulate("el_exact", __file__, {"Entries4": LARGE[0], "Entries6": LARGE[1]}, testcase=case)


class Element(RuleTable):
    """The element, with rules of its own kind."""

    async def rule(self, kind: InstructionKind, rule: int, key, mark: int = 0) -> Status:
        version = L3Kind.L3_IPV6 if isinstance(key, layouts.FiveTuple6) else L3Kind.L3_IPV4
        answer = await self.execute(kind, version, rule, key.to_int(), (1 << 8 * len(key.pack())) - 1, mark)
        return Status(answer.status)


def some_key(version: int):
    bits = 32 if version == 4 else 128
    kind = layouts.FiveTuple4 if version == 4 else layouts.FiveTuple6
    return kind(random.getrandbits(bits), random.getrandbits(bits), random.choice([6, 17]), *random.choices(range(1 << 16), k=2))


def record_of(key, **changes: int) -> layouts.PhvRecord:
    record = layouts.PhvRecord(eligible=changes.get("eligible", 1), length=64)
    record.info.l3_kind = L3Kind.L3_IPV6 if isinstance(key, layouts.FiveTuple6) else L3Kind.L3_IPV4
    record.info.l3_kind = changes.get("l3_kind", record.info.l3_kind)
    record.info.l4_kind = L4Kind.L4_UDP
    record.info.is_fragment = changes.get("is_fragment", 0)
    record.phv.ip_src, record.phv.ip_dst, record.phv.ip_protocol = key.ip_src, key.ip_dst, key.ip_protocol
    record.phv.l4_src, record.phv.l4_dst = key.l4_src, key.l4_dst
    return record


def nearly(key):
    """The key with one bit of one field changed."""
    other = type(key).from_int(key.to_int() ^ 1 << random.randrange(8 * len(key.pack())))
    return other


@cocotb.test()
async def finds_the_rule_of_each_five_tuple_and_of_nothing_else(dut):
    element = Element(dut)
    await element.begin()
    rules = {}
    for version, count in ((4, 20), (6, 15)):
        for rule in range(count):
            key, mark = some_key(version), random.randrange(1, 1 << 24)
            if rule == 0:
                key.l4_src = key.l4_dst = 0  # a packet without a transport header
            assert await element.rule(POPULATE, rule, key, mark) == Status.STATUS_OK
            rules[key.to_int(), version] = (key, mark)
    assert await element.used() == (20, 15)
    sent, expected = [], []
    for _ in range(1000):
        key, mark = random.choice(list(rules.values()))
        record, hit = random.choice(
            [
                (record_of(key), True),
                (record_of(key), True),
                (record_of(nearly(key)), False),
                (record_of(key, is_fragment=1), False),
                (record_of(key, eligible=0), False),
                (record_of(key, l3_kind=L3Kind.L3_ARP), False),
                (record_of(key, l3_kind=L3Kind.L3_NONE), False),
            ]
        )
        sent.append(record.to_int())
        expected.append((mark, HIT) if hit else (0, 0))
    assert [(record.mark, record.hits) for record in await element.passed(sent)] == expected
    untouched = [word for word, got in zip(sent, element.sink.received, strict=True) if word == got]
    assert len(untouched) == expected.count((0, 0))


@cocotb.test()
async def changes_rules_under_full_traffic_without_a_miss(dut):
    element = Element(dut, stall=0)
    await element.begin()
    keys = [some_key(4), some_key(6)]
    for key in keys:
        assert await element.rule(POPULATE, 7, key, 1) == Status.STATUS_OK
    running = element.traffic([record_of(key).to_int() for key in keys])
    others = []
    for mark in range(2, 8):
        for key in keys:
            assert await element.rule(UPDATE, 7, key, mark) == Status.STATUS_OK
        others.append(some_key(4))
        assert await element.rule(POPULATE, 10 + mark, others[-1], 99) == Status.STATUS_OK
    assert await element.rule(POPULATE, 12, some_key(4)) == Status.STATUS_EEXIST
    assert await element.rule(POPULATE, 30, others[0]) == Status.STATUS_EEXIST
    assert await element.rule(UPDATE, 12, some_key(4)) == Status.STATUS_EINVAL
    assert await element.rule(DELETE, 12, others[0]) == Status.STATUS_OK
    assert await element.rule(DELETE, 12, others[0]) == Status.STATUS_ENOENT
    assert_whole(await element.quiet(running), HIT, set(range(1, 8)))
    assert await element.rule(INITIALIZE, 0, layouts.FiveTuple4()) == Status.STATUS_OK
    last = await element.passed([record_of(key).to_int() for key in keys])
    assert [record.hits for record in last] == [0, HIT], "only the IPv4 table was cleared"


@cocotb.test()
async def keeps_rules_apart_from_end_to_end_of_large_tables(dut):
    element = Element(dut)
    await element.begin()
    assert [await element.read(layouts.OFU_REGISTERS_ENTRIES + 4 * table) for table in (0, 1)] == list(LARGE)
    ids = [(4, rule) for rule in (0, 1, 1023, 65535, 65536, 131071, 131072, 144384, LARGE[0] - 1)]
    ids += [(6, rule) for rule in (0, 1, 512, LARGE[1] - 1)]
    keys = {where: some_key(where[0]) for where in ids}
    for mark, (version, rule) in enumerate(ids):
        assert await element.rule(POPULATE, rule, keys[version, rule], 1 + mark) == Status.STATUS_OK
    for version, entries in zip((4, 6), LARGE, strict=True):
        for beyond in (entries, 1 << 18, 1 << 31):
            assert await element.rule(POPULATE, beyond, some_key(version), 99) == Status.STATUS_EINVAL
    sent = [where for n, where in enumerate(ids) for _ in range(n + 1)]
    random.shuffle(sent)
    out = await element.passed([record_of(keys[where]).to_int() for where in sent])
    assert [(record.mark, record.hits) for record in out] == [(1 + ids.index(where), HIT) for where in sent]
    for n, (version, rule) in enumerate(ids):
        await element.write(layouts.OFU_REGISTERS_COUNTER_INDEX, int(version == 6) << 30 | rule)
        assert await element.read(layouts.OFU_REGISTERS_COUNTER_DATA) == n + 1
    assert await element.rule(DELETE, LARGE[0] - 1, keys[ids[0]]) == Status.STATUS_OK
    assert await element.used() == (8, 4)
