# SPDX-License-Identifier: Apache-2.0
"""el_lpm: the destination address chooses the rule with the longest prefix, in the table of its IP version."""

import random

import cocotb
import sluice_layouts as layouts
from sluice_layouts import InstructionKind, L3Kind, Status

from models.lpm import Rule, TernaryModel, prefix_rule
from testing.cocotb.rule_table import RuleTable, assert_whole
from toolchain.simulate import simulate

POPULATE, DELETE = InstructionKind.INSTRUCTION_POPULATE, InstructionKind.INSTRUCTION_DELETE
UPDATE, INITIALIZE = InstructionKind.INSTRUCTION_UPDATE, InstructionKind.INSTRUCTION_INITIALIZE
HIT = 1 << layouts.TABLE_LPM
BITS = {L3Kind.L3_IPV4: 32, L3Kind.L3_IPV6: 128}
ENTRIES = {L3Kind.L3_IPV4: 32, L3Kind.L3_IPV6: 12}


def test_lpm() -> None:
    parameters = {"Entries4": ENTRIES[L3Kind.L3_IPV4], "Entries6": ENTRIES[L3Kind.L3_IPV6], "EditEntries": 16}
    simulate("el_lpm", __file__, parameters)


class Element(RuleTable):
    """The element, with rules of its own kind."""

    async def rule(self, kind: InstructionKind, version: L3Kind, rule_id: int, rule: Rule, mark: int = 0) -> Status:
        answer = await self.execute(kind, version, rule_id, rule.value, rule.mask, mark, rule.priority)
        assert answer.cycles <= 32 or kind == INITIALIZE
        return Status(answer.status)


def record_of(version: L3Kind, address: int, eligible: int = 1) -> layouts.PhvRecord:
    record = layouts.PhvRecord(eligible=eligible, length=64)
    record.info.l3_kind = version
    record.phv.ip_dst = address
    return record


def related_rules(version: L3Kind, count: int) -> list[Rule]:
    """Prefixes of all lengths, most of them inside each other."""
    bits, rules = BITS[version], [Rule(0, 0, 0)]
    address = random.getrandbits(bits)
    while len(rules) < count:
        rule = prefix_rule(address ^ random.getrandbits(bits) >> random.randrange(bits), random.randint(1, bits), bits)
        if rule not in rules:
            rules.append(rule)
    return rules


@cocotb.test()
async def runs_the_rule_of_the_longest_prefix_of_either_version(dut):
    element = Element(dut)
    await element.begin()
    models = {v: TernaryModel(BITS[v], ENTRIES[v], 8) for v in BITS}
    for version, model in models.items():
        for rule_id, rule in enumerate(related_rules(version, 12)):
            model.rules[rule_id] = rule
            assert await element.rule(POPULATE, version, rule_id, rule, 100 + rule_id) == Status.STATUS_OK
        assert await element.rule(DELETE, version, 0, Rule(0, 0, 0)) == Status.STATUS_OK
        del model.rules[0]
    assert await element.used() == (11, 11)
    sent, expected = [], []
    for _ in range(1000):
        version = random.choice(list(BITS))
        near = random.choice(list(models[version].rules.values()))
        address = near.value | random.getrandbits(BITS[version]) & ~near.mask
        address ^= random.choice((0, 0, 1 << random.randrange(BITS[version])))
        eligible = int(random.random() < 0.9)
        winners = models[version].winners(address) if eligible else ()
        sent.append(record_of(version, address, eligible).to_int())
        expected.append((100 + next(iter(winners)), HIT) if winners else (0, 0))
    assert [(record.mark, record.hits) for record in await element.passed(sent)] == expected
    assert 0 < expected.count((0, 0)) < 1000


@cocotb.test()
async def other_packets_pass_untouched(dut):
    element = Element(dut)
    await element.begin()
    for version in BITS:
        assert await element.rule(POPULATE, version, 0, Rule(0, 0, 0), 1) == Status.STATUS_OK
    sent = [record_of(kind, random.getrandbits(128)).to_int() for kind in (L3Kind.L3_ARP, L3Kind.L3_NONE)] * 4
    element.source.send(*sent)
    assert await element.sink.wait_for(8) == sent


@cocotb.test()
async def changes_a_rule_under_full_traffic_without_a_miss(dut):
    element = Element(dut, stall=0)
    await element.begin()
    words = [record_of(version, random.getrandbits(BITS[version])).to_int() for version in BITS]
    for version in BITS:
        assert await element.rule(POPULATE, version, 3, Rule(0, 0, 0), 1) == Status.STATUS_OK
    running = element.traffic(words)
    for mark in range(2, 8):
        for version in BITS:
            assert await element.rule(UPDATE, version, 3, Rule(0, 0, mark), mark) == Status.STATUS_OK
    assert_whole(await element.quiet(running), HIT, set(range(1, 8)))
