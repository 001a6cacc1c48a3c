# SPDX-License-Identifier: Apache-2.0
"""el_lpm: the destination address chooses the rule with the longest prefix, in the table of its IP version."""

import random

import cocotb
import sluice_layouts as layouts
from cocotb.triggers import RisingEdge
from sluice_layouts import InstructionKind, L3Kind, Opcode, Status

from models.lpm import Rule, TernaryModel, prefix_rule
from testing.cocotb.channel import Sink, Source, stalls, start
from testing.cocotb.registers import Registers
from toolchain.simulate import simulate

CONTROL, STATUS, USED, PUSH, RESPONSE, INSTRUCTION = 0x004, 0x008, 0x018, 0x040, 0x044, 0x080
POPULATE, DELETE = InstructionKind.INSTRUCTION_POPULATE, InstructionKind.INSTRUCTION_DELETE
UPDATE, INITIALIZE = InstructionKind.INSTRUCTION_UPDATE, InstructionKind.INSTRUCTION_INITIALIZE
HIT = 1 << layouts.TABLE_LPM
BITS = {L3Kind.L3_IPV4: 32, L3Kind.L3_IPV6: 128}
ENTRIES = {L3Kind.L3_IPV4: 32, L3Kind.L3_IPV6: 12}


def test_lpm() -> None:
    parameters = {"Entries4": ENTRIES[L3Kind.L3_IPV4], "Entries6": ENTRIES[L3Kind.L3_IPV6], "EditEntries": 16}
    simulate("el_lpm", __file__, parameters)


class Element(Registers):
    """The element behind its channels and its register window."""

    def __init__(self, dut, stall: float = 0.2) -> None:
        super().__init__(dut)
        self.source, self.sink = Source(dut, "in", stalls(stall)), Sink(dut, "out", stalls(stall))

    async def begin(self) -> None:
        self.dut.tick_i.value = 0
        await start(self.dut)
        while not await self.request(STATUS) & 1:
            pass
        await self.request(CONTROL, 1)

    async def execute(self, kind: InstructionKind, version: L3Kind, rule_id: int, rule: Rule, mark: int = 0) -> Status:
        word = layouts.Instruction(
            actions=layouts.ActionSet.from_int(Opcode.ACTION_MARK << 24 | mark),
            mask=rule.mask,
            value=rule.value,
            rule_id=rule_id,
            rule_priority=rule.priority,
            table_id=int(version == L3Kind.L3_IPV6),
            kind=kind,
        ).to_int()
        for n in range(30):
            await self.request(INSTRUCTION + 4 * n, word >> 32 * n & 0xFFFFFFFF)
        await self.request(PUSH, 0)
        for _ in range(200):
            low, high = await self.request(RESPONSE), await self.request(RESPONSE + 4)
            answer = layouts.Response.from_int(high << 32 | low)
            if answer.kind:
                assert answer.cycles <= 32 or kind == INITIALIZE
                return Status(answer.status)
        raise AssertionError("no response")


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
            assert await element.execute(POPULATE, version, rule_id, rule, 100 + rule_id) == Status.STATUS_OK
        assert await element.execute(DELETE, version, 0, Rule(0, 0, 0)) == Status.STATUS_OK
        del model.rules[0]
    assert (await element.request(USED), await element.request(USED + 4)) == (11, 11)
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
    element.source.send(*sent)
    out = [layouts.PhvRecord.from_int(word) for word in await element.sink.wait_for(1000)]
    assert [(record.mark, record.hits) for record in out] == expected
    assert 0 < expected.count((0, 0)) < 1000


@cocotb.test()
async def other_packets_pass_untouched(dut):
    element = Element(dut)
    await element.begin()
    for version in BITS:
        assert await element.execute(POPULATE, version, 0, Rule(0, 0, 0), 1) == Status.STATUS_OK
    sent = [record_of(kind, random.getrandbits(128)).to_int() for kind in (L3Kind.L3_ARP, L3Kind.L3_NONE)] * 4
    element.source.send(*sent)
    assert await element.sink.wait_for(8) == sent


@cocotb.test()
async def changes_a_rule_under_full_traffic_without_a_miss(dut):
    element = Element(dut, stall=0)
    await element.begin()
    words = [record_of(version, random.getrandbits(BITS[version])).to_int() for version in BITS]
    for version in BITS:
        assert await element.execute(POPULATE, version, 3, Rule(0, 0, 0), 1) == Status.STATUS_OK

    async def traffic() -> None:
        while True:
            if len(element.source.queue) < 4:
                element.source.send(*words)
            await RisingEdge(dut.clk_i)

    running = cocotb.start_soon(traffic())
    for mark in range(2, 8):
        for version in BITS:
            assert await element.execute(UPDATE, version, 3, Rule(0, 0, mark), mark) == Status.STATUS_OK
    running.cancel()
    await element.source.drained()
    for _ in range(60):
        await RisingEdge(dut.clk_i)
    out = [layouts.PhvRecord.from_int(word) for word in element.sink.received]
    assert all(record.hits == HIT for record in out)
    for version in BITS:
        marks = [record.mark for record in out if record.info.l3_kind == version]
        assert marks == sorted(marks) and set(marks) == set(range(1, 8)), "each version whole, in order, none missed"
