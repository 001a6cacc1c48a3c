# SPDX-License-Identifier: Apache-2.0
"""sl_flow_match: a lookup in every cycle finds what the model finds at the key's entry, while rules of groups and TCAM change."""

import random

import cocotb
import sluice_layouts as layouts
from cocotb.triggers import ReadOnly, RisingEdge
from sluice_layouts import TABLE_HASHED, TABLE_TERNARY, Status

from models.flow import DELETE, INITIALIZE, KEY_BITS, POPULATE, UPDATE, FlowModel, FlowRule
from testing.cocotb.channel import start
from testing.cocotb.lookups import answer_only_what_no_reset_ended
from toolchain.simulate import simulate
from toolchain.synthesis import Memory, expect_memory

GROUPS, GROUP_ENTRIES, TERNARY_ENTRIES = 4, 64, 16
SIZE = {"Groups": GROUPS, "GroupEntries": GROUP_ENTRIES, "TernaryEntries": TERNARY_ENTRIES}
WORDS = layouts.FLOW_REGISTERS_OPERAND_COUNT
FULL = (1 << KEY_BITS) - 1


def test_flow_match() -> None:
    simulate("sl_flow_match", __file__, SIZE)


def test_ways_maps_and_operands_are_in_block_ram() -> None:
    # 8 ways of 60 bits, the map of rule ids, the queue of the search, the masks; one shift register is no table.
    small = {"KeyBits": 32, "Groups": 2, "GroupEntries": 1024, "MaxNodes": 512}
    expect_memory("sl_mask_groups", small, xcup=Memory(bram=18), ecp5=Memory(bram=36), most_ff=3000)
    expect_memory("sl_flow_operands", {}, xcup=Memory(bram=0.5), ecp5=Memory(bram=1), most_ff=1100)


def some_mask() -> int:
    """A mask of whole fields and prefixes, or of random bits."""
    if random.random() < 0.3:
        return random.getrandbits(KEY_BITS) | random.getrandbits(KEY_BITS)
    mask = layouts.FlowKey(ingress_port=0xFF, eth_type=0xFFFF, has_vlan=1)
    mask.ip_dst = FULL >> KEY_BITS - 32 & (0xFFFFFFFF << random.randrange(24))
    mask.ip_protocol = random.choice([0, 0xFF])
    mask.l4_dst = random.choice([0, 0xFFFF, 0xFFC0])
    return mask.to_int()


class Bench:
    """The part under test with a lookup in every cycle, each answer compared with the model as of the key's entry."""

    def __init__(self, dut, load: float = 1.0) -> None:
        self.dut, self.load = dut, load
        self.model = FlowModel(GROUPS, GROUP_ENTRIES, TERNARY_ENTRIES)
        self.pending: tuple[int, int, FlowRule] | None = None
        self.operand = 0
        self.written: dict[int, int] = {}  # words of operands
        self.longest: dict[Status, int] = {}  # cycles of an operation
        self.values = [random.getrandbits(KEY_BITS) for _ in range(3)]
        self.expected: list[tuple[int, int, list[tuple[int, int]]]] = []
        self.lookups = self.hits = self.contested = self.commits = 0
        for name in ("key_valid_i", "op_valid_i", "write_valid_i", "group_index_i"):
            getattr(dut, name).value = 0

    async def begin(self) -> None:
        await start(self.dut)
        cocotb.start_soon(self._drive())
        cocotb.start_soon(self._watch())
        while self.dut.ready_o.value != 3:
            await RisingEdge(self.dut.clk_i)

    def _some_key(self) -> int:
        rules = [*self.model.rules[0].values(), *self.model.rules[1].values()]
        if self.pending is not None and random.random() < 0.4:
            rules = [self.pending[2]]
        if not rules or random.random() < 0.05:
            return random.getrandbits(KEY_BITS)
        rule = random.choice(rules)
        other = random.choice([random.getrandbits(KEY_BITS), rule.value, *self.values])  # of which several rules may be
        key = rule.key | other & ~rule.mask & FULL
        return key ^ (1 << random.randrange(KEY_BITS)) if random.random() < 0.2 else key

    async def _drive(self) -> None:
        while True:
            valid = random.random() < self.load
            self.dut.key_valid_i.value = int(valid)
            if valid:
                self.dut.key_i.value = self._some_key()
            await RisingEdge(self.dut.clk_i)

    async def _watch(self) -> None:
        cycle, latency = 0, None
        while True:
            await ReadOnly()
            committed = int(self.dut.op_commit_o.value)
            if committed:
                assert self.pending is not None and committed == 1 << self.pending[0], "a commit of the operation at hand"
                self.model.commit(self.pending[0], *self.pending[1:])
                self.commits += 1
            if self.dut.result_valid_o.value == 1:
                entered, key, winners = self.expected.pop(0)
                latency = latency or cycle - entered
                assert cycle - entered == latency, "the latency is fixed"
                hit = self.dut.result_hit_o.value == 1
                found = (int(self.dut.result_table_o.value), int(self.dut.result_id_o.value)) if hit else None
                assert found in winners if winners else not hit, f"cycle {cycle}, key {key:#x}: {found}, not {winners}"
                self.lookups, self.hits = self.lookups + 1, self.hits + hit
            if self.dut.key_valid_i.value == 1:
                key = int(self.dut.key_i.value)
                self.expected.append((cycle, key, self.model.winners(key)))
                self.contested += len(list(self.model._found(key))) > 1
            cycle += 1
            await RisingEdge(self.dut.clk_i)

    async def write_operand(self, rule: FlowRule) -> None:
        """Value and mask as they are: bits outside the mask too, and what the reserved bits hold does not count."""
        self.operand = 4 * rule.group % layouts.FLOW_OPERANDS + random.randrange(2)
        word = layouts.FlowOperand(random.getrandbits(16), rule.mask, random.getrandbits(16), rule.value).to_int()
        self.dut.write_valid_i.value = 1
        for n in range(WORDS):
            address, data = self.operand * WORDS + n, word >> 32 * n & 0xFFFFFFFF
            if self.written.get(address) != data:
                self.dut.write_address_i.value, self.dut.write_data_i.value = address, data
                self.written[address] = data
                await RisingEdge(self.dut.clk_i)
        self.dut.write_valid_i.value = 0

    async def operate(self, table: int, kind: int, rule: FlowRule) -> Status:
        """One operation, checked against the model; returns its status."""
        dut, expected = self.dut, self.model.expect(table, kind, rule)
        if kind != DELETE:
            await self.write_operand(rule)
        dut.op_i.value = layouts.Instruction(
            mask=random.getrandbits(320),
            value=layouts.FlowTarget(rule.group, self.operand).to_int(),
            rule_id=rule.rule_id,
            rule_priority=rule.rule_priority,
            table_id=table,
            kind=kind,
        ).to_int()
        self.pending, commits = (table, kind, rule), self.commits
        dut.op_valid_i.value = 1 << table
        cycles = 0
        while True:
            cycles += 1
            await ReadOnly()
            taken = int(dut.op_ready_o.value) >> table & 1
            done = int(dut.op_done_o.value)
            await RisingEdge(dut.clk_i)
            if taken:
                dut.op_valid_i.value = 0
            if done:
                break
        assert done == 1 << table
        status = Status(int(dut.op_status_o.value) >> 8 * table & 0xFF)
        if not (table == TABLE_HASHED and kind == POPULATE and expected == Status.STATUS_OK and status == Status.STATUS_ENOSPC):
            assert status == expected, f"table {table}, kind {kind}, {rule}: {status.name}, not {expected.name}"
        self.longest[status] = max(self.longest.get(status, 0), cycles)
        assert self.commits - commits == (status == Status.STATUS_OK)
        used = int(dut.used_o.value)
        assert [used & 0xFFFFFFFF, used >> 32] == [len(rules) for rules in self.model.rules]
        self.pending = None
        return status

    def some_rule(self, table: int, masks: list[int], limit: int) -> FlowRule:
        """A rule that is there, one that nearly is, or a new one."""
        rules = self.model.rules[table]
        group = random.randrange(GROUPS + 1) if random.random() < 0.05 else random.randrange(GROUPS)
        rule_id = random.randrange(limit + 2)
        if rules and random.random() < 0.5:
            old = random.choice(list(rules.values()))
            rule_id = old.rule_id if random.random() < 0.8 else rule_id
            if random.random() < 0.7:
                return FlowRule(
                    rule_id, old.value ^ random.getrandbits(KEY_BITS) & ~old.mask, old.mask, random.randrange(4), old.group
                )
        mask = masks[group % GROUPS] if table == TABLE_HASHED and random.random() < 0.9 else some_mask()
        return FlowRule(rule_id, random.choice(self.values), mask, random.randrange(4), group)


@cocotb.test()
async def finds_the_best_rule_of_groups_and_tcam_while_rules_change(dut):
    bench = Bench(dut)
    await bench.begin()
    masks = [some_mask() for _ in range(GROUPS)]
    statuses = set()
    for n in range(300):
        table = random.choice([TABLE_HASHED, TABLE_HASHED, TABLE_TERNARY])
        limit = TERNARY_ENTRIES if table == TABLE_TERNARY else 40
        rule = bench.some_rule(table, masks, limit)
        kind = random.choice([POPULATE] * 4 + [DELETE, UPDATE] if n % 100 < 65 else [DELETE, DELETE, UPDATE])
        if kind == POPULATE and table == TABLE_HASHED and random.random() < 0.9:
            value = rule.value if random.random() < 0.5 else random.getrandbits(KEY_BITS)
            rule = FlowRule(
                random.randrange(GROUPS * GROUP_ENTRIES), value, masks[rule.group % GROUPS], rule.rule_priority, rule.group
            )
        if random.random() < 0.01:
            kind = INITIALIZE
        statuses.add(await bench.operate(table, kind, rule))
        if random.random() < 0.1:
            masks = [masks[g] if bench.model.keys[g] else some_mask() for g in range(GROUPS)]
    assert statuses == {Status.STATUS_OK, Status.STATUS_ENOENT, Status.STATUS_EEXIST, Status.STATUS_EINVAL}
    assert bench.hits > bench.lookups // 4 and bench.contested > 1000
    dut._log.info(f"{bench.lookups} lookups, {bench.hits} hits, {bench.contested} of several rules, {bench.commits} changes")


@cocotb.test()
async def fills_a_group_moving_rules_under_lookups_and_answers_when_it_is_full(dut):
    bench = Bench(dut, load=0.5)
    await bench.begin()
    mask = some_mask()
    ids = random.sample(range(GROUPS * GROUP_ENTRIES), GROUP_ENTRIES + 1)
    answers = [await bench.operate(TABLE_HASHED, POPULATE, FlowRule(n, random.getrandbits(KEY_BITS) | n, mask, 1, 2)) for n in ids]
    assert set(answers[: GROUP_ENTRIES * 8 // 10]) == {Status.STATUS_OK}, "80 % fit"
    assert Status.STATUS_ENOSPC in answers, "more rules than slots"
    dut.group_index_i.value = 2
    await RisingEdge(dut.clk_i)
    await RisingEdge(dut.clk_i)
    assert int(dut.group_used_o.value) == answers.count(Status.STATUS_OK) == len(bench.model.rules[0])
    dut.group_index_i.value = 2 + GROUPS
    await RisingEdge(dut.clk_i)
    await RisingEdge(dut.clk_i)
    assert int(dut.group_used_o.value) == 0, "there is no such group"
    other = FlowRule(next(n for n in ids if n not in bench.model.rules[0]), 0, FULL ^ mask, 9, 2)
    assert await bench.operate(TABLE_HASHED, POPULATE, other) == Status.STATUS_EINVAL, "the group has another mask"
    for rule in list(bench.model.rules[0].values()):
        assert await bench.operate(TABLE_HASHED, DELETE, rule) == Status.STATUS_OK
    assert await bench.operate(TABLE_HASHED, POPULATE, other) == Status.STATUS_OK, "an empty group takes any mask"
    assert bench.hits > 1000
    dut._log.info(f"longest operations: { {status.name: cycles for status, cycles in bench.longest.items()} } cycles")


@cocotb.test()
async def a_reset_ends_all_lookups_under_way(dut):
    Bench(dut)
    await answer_only_what_no_reset_ended(dut)


@cocotb.test()
async def groups_are_ready_as_soon_as_their_slots_are_clear(dut):
    Bench(dut)
    await start(dut)
    cycles = 0
    while int(dut.ready_o.value) & 1 == 0:
        await RisingEdge(dut.clk_i)
        cycles += 1
    assert GROUP_ENTRIES // 4 <= cycles <= GROUP_ENTRIES // 4 + 4, "a word of each way in every cycle"
