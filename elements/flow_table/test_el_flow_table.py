# SPDX-License-Identifier: Apache-2.0
"""el_flow_table: records find the rules of their keys as a model does, rules change under full traffic, counters are exact,
and what has no key matches nothing."""

import random

import cocotb
import sluice_layouts as layouts
from cocotb.task import bridge, resume
from cocotb.triggers import ClockCycles, ReadOnly, RisingEdge
from sluice_layouts import TABLE_HASHED, TABLE_TERNARY, Fault, InstructionKind, L3Kind, L4Kind, Opcode, Status

from host.python.device import CAction, CActionSet
from host.python.flow_table import DeviceTable, Rules
from models.flow import DELETE, INITIALIZE, KEY_BITS, POPULATE, UPDATE, FlowModel, FlowRule, flow_key
from testing.cocotb.channel import Sink, Source, stalls, start
from testing.cocotb.registers import Registers, check_window
from toolchain.simulate import simulate

SIZE = {"Groups": 4, "GroupEntries": 64, "TernaryEntries": 16, "EditEntries": 16}
RULES = (SIZE["Groups"] * SIZE["GroupEntries"], SIZE["TernaryEntries"])
HIT = 1 << layouts.TABLE_FLOW
R = {name: getattr(layouts, name) for name in dir(layouts) if name.startswith(("OFU_REGISTERS_", "FLOW_REGISTERS_"))}
FULL = (1 << KEY_BITS) - 1
KNOWN = FULL ^ layouts.FlowKey(tcp_flags=0xF00, reserved=0x3FFF).to_int()  # what a rule may ask for


def test_flow_table() -> None:
    simulate("el_flow_table", __file__, SIZE)


def mask_of(**fields: int) -> int:
    return layouts.FlowKey(**fields).to_int()


MASKS = (
    mask_of(ingress_port=0xFF, eth_type=0xFFFF, has_vlan=1, ip_dst=0xFFFFFF00, fragment=3),
    mask_of(ingress_port=0xFF, eth_type=0xFFFF, has_vlan=1, ip_src=0xFFFFFFFF, ip_protocol=0xFF, l4_dst=0xFFFF, l4_kind=7),
    mask_of(eth_dst=(1 << 48) - 1, vlan_tci=0xFFF, has_vlan=1, vlan_tpid=0x1000),
    KNOWN,
)


class Element(Registers):
    """The element behind its channels and its window, with what it holds."""

    def __init__(self, dut, stall: float = 0.2) -> None:
        super().__init__(dut)
        self.source, self.link = Source(dut, "in", stalls(stall)), Source(dut, "link", stalls(stall))
        self.sink, self.pushed = Sink(dut, "out", stalls(stall)), Sink(dut, "push", stalls(stall))
        self.model = FlowModel(SIZE["Groups"], SIZE["GroupEntries"], SIZE["TernaryEntries"])
        self.marks: dict[tuple[int, int], int] = {}
        self.cycles: list[set[int]] = [set(), set()]  # that a populate took, in each table

    async def is_ready(self) -> None:
        while not await self.read(R["OFU_REGISTERS_STATUS"]) & 1:
            await ClockCycles(self.dut.clk_i, 100)

    async def begin(self) -> None:
        self.dut.tick_i.value = 0
        await start(self.dut)
        await self.is_ready()
        await self.request(R["OFU_REGISTERS_CONTROL"], 1)
        await self.request(R["FLOW_REGISTERS_PUSH_CONTROL"], 1)
        for n in range(30):
            await self.request(R["OFU_REGISTERS_INSTRUCTION"] + 4 * n, 0)

    async def push(self, table: int, kind: InstructionKind, rule: FlowRule, mark: int, operand: int, slot: int = 0) -> None:
        """`mark`: that a packet gets, or a whole action, in this slot of the rule's actions."""
        if kind in (POPULATE, UPDATE):
            word = layouts.FlowOperand(mask=rule.mask, value=rule.value).to_int()
            await self.request(R["FLOW_REGISTERS_OPERAND_INDEX"], operand)
            for n in range(32):
                await self.request(R["FLOW_REGISTERS_OPERAND"] + 4 * n, word >> 32 * n & 0xFFFFFFFF)
            if random.random() < 0.3:  # what is written elsewhere changes no operand
                await self.request(R["FLOW_REGISTERS_OPERAND_INDEX"], random.randrange(layouts.FLOW_OPERANDS))
        instruction = layouts.Instruction(
            actions=layouts.ActionSet.from_int((mark if mark >> 24 else Opcode.ACTION_MARK << 24 | mark) << 32 * slot),
            value=layouts.FlowTarget(rule.group, operand).to_int(),
            rule_id=rule.rule_id,
            rule_priority=rule.rule_priority,
            table_id=table,
            kind=kind,
        ).to_int()
        for n in range(30) if slot else (0, 1, 2, 22):  # the rest is 0 since the start
            await self.request(R["OFU_REGISTERS_INSTRUCTION"] + 4 * n, instruction >> 32 * n & 0xFFFFFFFF)
        await self.request(R["OFU_REGISTERS_PUSH"], 0)

    async def answer(self) -> layouts.Response:
        for _ in range(500):
            low, high = await self.read(R["OFU_REGISTERS_RESPONSE"]), await self.read(R["OFU_REGISTERS_RESPONSE"] + 4)
            answer = layouts.Response.from_int(high << 32 | low)
            if answer.kind:
                return answer
        raise AssertionError("no response")

    async def execute(self, table: int, kind: InstructionKind, rule: FlowRule, mark: int = 0) -> Status:
        """One instruction to its end; the model follows."""
        expected = self.model.expect(table, kind, rule)
        if rule.rule_id >= RULES[table]:
            expected = Status.STATUS_EINVAL
        await self.push(table, kind, rule, mark, random.randrange(layouts.FLOW_OPERANDS))
        answer = await self.answer()
        status = Status(answer.status)
        if kind == POPULATE and status == Status.STATUS_OK:
            self.cycles[table].add(answer.cycles)
        assert status == expected, f"{rule}: {status.name}, not {expected.name}"
        if status == Status.STATUS_OK:
            self.model.commit(table, kind, rule)
            self.marks[table, rule.rule_id] = mark
        return status

    async def counters(self, table: int, rule: int) -> layouts.RuleCounters:
        await self.request(R["OFU_REGISTERS_COUNTER_INDEX"], table << 30 | rule)
        words = [await self.read(R["OFU_REGISTERS_COUNTER_DATA"] + 4 * n) for n in range(4)]
        return layouts.RuleCounters.from_int(sum(word << 32 * n for n, word in enumerate(words)))

    async def memory(self, table: int, rule: int) -> layouts.RuleCounters | None:
        """The counters of a rule in host memory: what was pushed last."""
        place = rule + (await self.read(R["FLOW_REGISTERS_PUSH_TERNARY"]) if table == TABLE_TERNARY else 0)
        records = [layouts.RulePush.from_int(word) for word in self.pushed.received]
        return next((record.counters for record in reversed(records) if record.place == place), None)

    def send(self, record: layouts.PhvRecord, link: layouts.LinkInfo) -> None:
        self.source.send(record.to_int())
        self.link.send(link.to_int())


def some_packet(**changes: int) -> tuple[layouts.PhvRecord, layouts.LinkInfo]:
    """A record as the parser makes them, of few different addresses and ports, and its link word."""
    tags = changes.get("tags", random.choice([0, 0, 1, 1, 2]))
    record = layouts.PhvRecord(length=random.randrange(60, 1500), ingress_port=random.randrange(3))
    record.info.tags = tags
    phv, info = record.phv, record.info
    phv.eth_dst, phv.eth_src, phv.eth_type = random.choice([1, 2]), 3, 0x0800
    phv.vlan0_tci = random.choice([5, 0x2005, 6]) if tags else 0
    phv.vlan1_tci = random.getrandbits(16) if tags == 2 else 0
    phv.ip_src, phv.ip_dst = random.choice([0x0A000001, 0x0A000002]), random.choice([0x0A000100, 0x0A000101, 0x0A000200])
    phv.ip_protocol, phv.ip_tos, phv.ip_ttl = random.choice([6, 17]), random.choice([0, 4]), random.choice([1, 64])
    phv.ip_fragment = changes.get("ip_fragment", random.choice([0, 0, 0, 0x2000, 0x2001, 0x2007, 7, 8, 0x1FFF, 0x2010]))
    info.l3_kind, info.is_fragment = L3Kind.L3_IPV4, int(phv.ip_fragment != 0)
    if not phv.ip_fragment & 0x1FFF:
        info.l4_kind = L4Kind.L4_TCP if phv.ip_protocol == 6 else L4Kind.L4_UDP
        phv.l4_src, phv.l4_dst = random.choice([80, 443]), random.choice([1000, 1001])
        phv.tcp_flags = random.choice([2, 16]) if phv.ip_protocol == 6 else 0
    record.fault = changes.get("fault", Fault.FAULT_NONE)
    info.outer_length = changes.get("outer_length", 0)
    types = [0x0800, 0x4500] if tags == 0 else [random.choice([0x8100, 0x88A8, 0x9100]), 0x8100 if tags == 2 else 0x0800]
    return record, layouts.LinkInfo(*types, changes.get("is_snap", 0))


def rule_for(packet: tuple[layouts.PhvRecord, layouts.LinkInfo], group: int, rule_id: int, ternary: bool) -> FlowRule:
    """A rule that matches the packet, its bits outside the mask as they come."""
    key = flow_key(*packet)
    assert key is not None
    mask = MASKS[group]
    if ternary:
        mask &= random.choice(MASKS) | random.getrandbits(KEY_BITS)
    noise = random.getrandbits(KEY_BITS) & ~mask & FULL
    return FlowRule(rule_id, (key.to_int() & mask) | noise, mask, random.randrange(3), group)


@cocotb.test()
async def finds_the_rule_of_each_key_and_counts_it(dut):
    element = Element(dut)
    await element.begin()
    for n in range(60):
        table = TABLE_TERNARY if n % 4 == 0 else TABLE_HASHED
        rule_id = random.randrange(RULES[table])
        rule = rule_for(some_packet(), random.randrange(4), rule_id, table == TABLE_TERNARY)
        await element.execute(table, POPULATE, rule, 1 + n)
    sent, expected, counts = [], [], {}
    kinds = [{}] * 12 + [{"fault": Fault.FAULT_LENGTH}, {"outer_length": 50}, {"is_snap": 1}]
    for _ in range(1500):
        changes = random.choice(kinds)
        record, link = some_packet(**changes)
        key = flow_key(record, link)
        assert (key is None) == bool(changes)
        winners = element.model.winners(key.to_int()) if key is not None else []
        element.send(record, link)
        sent.append(record)
        expected.append((key is not None, winners))
    out = [layouts.PhvRecord.from_int(word) for word in await element.sink.wait_for(len(sent))]
    for before, after, (usable, winners) in zip(sent, out, expected, strict=True):
        assert after.eligible == usable and after.hits == (HIT if winners else 0)
        winner = next((w for w in winners if element.marks[w] == after.mark), None)
        assert winner is not None if winners else after.mark == 0, f"{after.mark}, not of {winners}"
        if winner is not None:
            count = counts.setdefault(winner, [0, 0])
            count[0], count[1] = count[0] + 1, count[1] + before.length
    hits = sum(count[0] for count in counts.values())
    assert 300 < hits < 1200 and len(counts) > 20
    await ClockCycles(dut.clk_i, 2 * await element.read(R["FLOW_REGISTERS_PUSH_CYCLES"]))  # the DMA does not take a record in each
    for table, rules in enumerate(element.model.rules):
        for rule in rules:
            got = await element.counters(table, rule)
            assert [got.packets, got.bytes] == counts.get((table, rule), [0, 0])
            assert await element.memory(table, rule) == got
    dut._log.info(f"a populate takes {sorted(element.cycles[0])} cycles in a group, {sorted(element.cycles[1])} in the TCAM")
    assert max(element.cycles[0] | element.cycles[1]) < 100


@cocotb.test()
async def rules_change_under_full_traffic_each_packet_old_or_new(dut):
    element = Element(dut, stall=0)
    await element.begin()
    packets = [some_packet(tags=1, ip_fragment=0) for _ in range(3)]
    for n, packet in enumerate(packets):
        packet[0].phv.eth_dst, packet[0].phv.ip_dst, packet[0].length = 10 + n, 0x0B000000 + (n << 8), 100 + n
    hashed, ternary, moving = (rule_for(packet, n, 7 + n, False) for n, packet in enumerate(packets))
    ternary = FlowRule(3, ternary.value, ternary.mask, 1)
    assert await element.execute(TABLE_HASHED, POPULATE, hashed, 1) == Status.STATUS_OK
    assert await element.execute(TABLE_TERNARY, POPULATE, ternary, 1) == Status.STATUS_OK
    assert await element.execute(TABLE_TERNARY, POPULATE, FlowRule(4, moving.value, moving.mask, 2), 1) == Status.STATUS_OK
    entered = []

    async def traffic() -> None:
        while True:
            if len(element.source.queue) < 4:
                for packet in packets:
                    element.send(*packet)
            await RisingEdge(dut.clk_i)

    async def watch() -> None:
        cycle = 0
        while True:
            await ReadOnly()
            if dut.in_valid_i.value == 1 and dut.in_ready_o.value == 1:
                entered.append(cycle)
            cycle += 1
            await RisingEdge(dut.clk_i)

    tasks = [cocotb.start_soon(traffic()), cocotb.start_soon(watch())]
    for mark in range(2, 6):
        await element.execute(TABLE_HASHED, UPDATE, hashed, mark)
        await element.execute(TABLE_TERNARY, UPDATE, ternary, mark)
        other = rule_for(some_packet(tags=0), mark % 3, 100 + mark, False)
        await element.execute(TABLE_HASHED, POPULATE, FlowRule(other.rule_id, other.value, other.mask, 0, other.group), 99)
    # A rule of the TCAM moves into a group: there first, then here no more; its packets hit all the while.
    assert await element.execute(TABLE_HASHED, POPULATE, FlowRule(50, moving.value, moving.mask, 2, 2), 1) == Status.STATUS_OK
    assert await element.execute(TABLE_TERNARY, DELETE, FlowRule(4, 0, 0), 0) == Status.STATUS_OK
    tasks[0].cancel()
    await element.source.drained()
    await ClockCycles(dut.clk_i, 80 + await element.read(R["FLOW_REGISTERS_PUSH_CYCLES"]))
    assert len(element.pushed.received) > len(entered) // 400, "counters go to the host meanwhile"
    assert len(entered) == entered[-1] - entered[0] + 1 > 1500, "a record every cycle, none held up"
    out = [layouts.PhvRecord.from_int(word) for word in element.sink.received]
    assert len(out) == len(entered) and all(record.hits == HIT for record in out), "none missed"
    for n in range(2):
        marks = [record.mark for record in out if record.length == 100 + n]
        assert marks == sorted(marks) and set(marks) == set(range(1, 6)), "each version whole, in order"
    assert {record.mark for record in out if record.length == 102} == {1}
    for n, where in enumerate([(TABLE_HASHED, 7), (TABLE_TERNARY, 3)]):
        got = await element.counters(*where)
        sent = sum(record.length == 100 + n for record in out)
        assert [got.packets, got.bytes] == [sent, sent * (100 + n)]
        assert await element.memory(*where) == got
    moved = [await element.counters(TABLE_HASHED, 50), await element.counters(TABLE_TERNARY, 4)]
    assert sum(count.packets for count in moved) == sum(record.length == 102 for record in out), "old and new count together"
    assert all(count.packets for count in moved)


@cocotb.test()
async def the_window_is_as_its_layouts_say(dut):
    element = Element(dut)
    dut.tick_i.value = 0
    await start(dut)
    await element.is_ready()
    values = {"edit_index": range(SIZE["EditEntries"]), "counter_index": [0, RULES[0] - 1, 1 << 30, 1 << 30 | RULES[1] - 1]}
    values |= {"group_index": range(SIZE["Groups"]), "fence_bound": range(1 << 31), "operand_index": range(layouts.FLOW_OPERANDS)}
    await check_window(element.access, layouts.OFU_REGISTERS, layouts.FLOW_REGISTERS, values=values)


@cocotb.test()
async def refuses_what_it_cannot_hold_and_goes_on(dut):
    element = Element(dut)
    await element.begin()
    assert [await element.read(R["FLOW_REGISTERS_GROUPS"]), await element.read(R["FLOW_REGISTERS_GROUP_ENTRIES"])] == [4, 64]
    assert [await element.read(R["OFU_REGISTERS_ENTRIES"] + 4 * n) for n in range(2)] == list(RULES)
    assert [await element.read(R["OFU_REGISTERS_KEY_BITS"] + 4 * n) for n in range(2)] == [KEY_BITS, KEY_BITS]
    assert await element.read(R["OFU_REGISTERS_KIND"]) == layouts.ElementKind.ELEMENT_FLOW_TABLE
    assert (await element.access(R["FLOW_REGISTERS_OPERAND_INDEX"], layouts.FLOW_OPERANDS)).error
    assert (await element.access(R["FLOW_REGISTERS_GROUP_INDEX"], SIZE["Groups"])).error
    assert (await element.access(R["FLOW_REGISTERS_FENCE_BOUND"], 1 << 31)).error
    await element.write(R["FLOW_REGISTERS_FENCE_BOUND"], (1 << 31) - 1)
    assert await element.read(R["FLOW_REGISTERS_FENCE_BOUND"]) == (1 << 31) - 1
    done = [0x89ABCDEF << 32 | 0x10203040 + lane for lane in range(layouts.FLOW_REGISTERS_FENCE_DONE_COUNT // 2)]
    for lane, time in enumerate(done):
        for half in range(2):
            await element.write(R["FLOW_REGISTERS_FENCE_DONE"] + 8 * lane + 4 * half, time >> 32 * half & 0xFFFFFFFF)
    words = [await element.read(R["FLOW_REGISTERS_FENCE_DONE"] + 4 * n) for n in range(2 * len(done))]
    assert words == [time >> 32 * half & 0xFFFFFFFF for time in done for half in range(2)]
    rules = [FlowRule(n, n << 8, MASKS[0], 0, 1) for n in range(2)]
    bad = [
        (TABLE_HASHED, POPULATE, FlowRule(0, 5 << 8, MASKS[0], 0, 1), Status.STATUS_EEXIST),  # the id
        (TABLE_HASHED, POPULATE, FlowRule(9, 1 << 8, MASKS[1], 0, 1), Status.STATUS_EINVAL),  # the mask
        (TABLE_HASHED, POPULATE, FlowRule(9, rules[0].key, MASKS[0], 0, 1), Status.STATUS_EEXIST),  # the key
        (TABLE_HASHED, POPULATE, FlowRule(9, 0, MASKS[0], 0, 4), Status.STATUS_EINVAL),  # the group
        (TABLE_HASHED, POPULATE, FlowRule(9, 0, MASKS[0], 0, 255), Status.STATUS_EINVAL),
        (TABLE_HASHED, POPULATE, FlowRule(RULES[0], 0, MASKS[0], 0, 1), Status.STATUS_EINVAL),
        (TABLE_TERNARY, POPULATE, FlowRule(RULES[1], 0, MASKS[0]), Status.STATUS_EINVAL),
        (TABLE_HASHED, UPDATE, FlowRule(0, 0, MASKS[0], 0, 2), Status.STATUS_EINVAL),  # another group
        (TABLE_HASHED, DELETE, FlowRule(30, 0, 0), Status.STATUS_ENOENT),
        (TABLE_TERNARY, DELETE, FlowRule(3, 0, 0), Status.STATUS_ENOENT),
    ]
    key = layouts.FlowKey(ip_dst=0x100).to_int() & MASKS[0]
    rules = [FlowRule(0, 0, MASKS[0], 0, 1), FlowRule(1, key, MASKS[0], 0, 1)]
    for rule in rules:
        assert await element.execute(TABLE_HASHED, POPULATE, rule) == Status.STATUS_OK
    for table, kind, rule, status in bad:
        assert await element.execute(table, kind, rule) == status
    await element.request(R["FLOW_REGISTERS_GROUP_INDEX"], 1)
    assert await element.read(R["FLOW_REGISTERS_GROUP_USED"]) == 2
    for n in range(RULES[1]):
        assert await element.execute(TABLE_TERNARY, POPULATE, FlowRule(n, n, FULL >> n, n)) == Status.STATUS_OK
    assert [await element.read(R["OFU_REGISTERS_USED"] + 4 * n) for n in range(2)] == [2, RULES[1]]
    assert await element.execute(TABLE_HASHED, INITIALIZE, FlowRule(0, 0, 0)) == Status.STATUS_OK
    assert await element.execute(TABLE_HASHED, POPULATE, FlowRule(0, 0, MASKS[1], 0, 1)) == Status.STATUS_OK, "empty again"


@cocotb.test()
async def the_rule_manager_moves_rules_under_traffic_and_no_packet_misses(dut):
    element = Element(dut, stall=0)
    await element.begin()
    device = await bridge(DeviceTable)(resume(element.request), resume(element.request))
    rules = Rules(device.table())
    assert (device.table().groups, device.table().ternary_entries) == (SIZE["Groups"], SIZE["TernaryEntries"])
    installed: list[tuple[layouts.PhvRecord, layouts.LinkInfo, int]] = []
    handles, sent = [], []

    async def traffic() -> None:
        while True:
            if len(element.source.queue) < 4 and installed:
                record, link, mark = random.choice(installed)
                element.send(record, link)
                sent.append(mark)
            await RisingEdge(dut.clk_i)

    async def add(ip_dst: int, mask: int) -> None:
        record, link = some_packet(tags=1, ip_fragment=0)
        record.phv.ip_dst, record.length, mark = ip_dst, 64 + len(handles), 1 + len(handles)
        key = flow_key(record, link)
        actions = CActionSet((CAction * layouts.ACTION_SLOTS)(CAction(Opcode.ACTION_MARK, mark)))
        handles.append(await bridge(rules.add)(key.to_int(), mask, 5, actions))
        assert handles[-1] >= 0
        installed.append((record, link, mark))

    running = cocotb.start_soon(traffic())
    for n in range(SIZE["Groups"]):
        await add(0x0C000000 + (n << 8), mask_of(ip_dst=0xFFFFFF00, eth_type=1 << n))
    large = mask_of(ip_dst=0xFFFFFFFF, has_vlan=1)
    for n in range(SIZE["TernaryEntries"] - 2):
        await add(0x0B000000 + n, large)
    places = [rules.place(handle).table_id for handle in handles]
    assert places[: SIZE["Groups"]].count(TABLE_TERNARY) == 1, "a small group made room"
    assert places[SIZE["Groups"] :].count(TABLE_HASHED) > 10, "a large mask took it"
    running.cancel()
    await element.source.drained()
    await ClockCycles(dut.clk_i, 80)
    out = [layouts.PhvRecord.from_int(word) for word in element.sink.received]
    assert [record.mark for record in out] == sent and len(sent) > 3000, "each packet found its rule wherever it was"
    for mark, handle in enumerate(handles, 1):
        got = await bridge(rules.counters)(handle)
        assert [got.packets, got.bytes] == [sent.count(mark), sent.count(mark) * (63 + mark)]
    assert await bridge(rules.flush)() == 0
    assert [await element.read(R["OFU_REGISTERS_USED"] + 4 * n) for n in range(2)] == [0, 0]
    rules.close()
    device.close()


KNOWN_OF_A_FLOW = layouts.FlowKey(
    **{name: (1 << bits) - 1 for name, bits in (("eth_dst", 48), ("eth_src", 48), ("ip_src", 128), ("ip_dst", 128))},
    **{"eth_type": 0xFFFF, "vlan_tci": 0xFFF, "ip_protocol": 0xFF, "l4_src": 0xFFFF, "l4_dst": 0xFFFF},
).to_int()


def fence_word(packet: tuple[layouts.PhvRecord, layouts.LinkInfo]) -> tuple[int, int]:
    """Which word of the fence a packet's flow has (docs/design/fence.md): its lane and nine bits of hash."""
    key = flow_key(*packet)
    assert key is not None
    bits, turned, folded = key.to_int() & KNOWN_OF_A_FLOW, 0, 0
    for n in range(8):
        word = bits >> 64 * n & (1 << 64) - 1
        turned ^= (word << 11 * n % 64 | word >> (64 - 11 * n % 64)) & (1 << 64) - 1
    for at in range(0, 64, 9):
        folded ^= turned >> at & 0x1FF
    return key.ingress_port, folded


def changed(packet: tuple[layouts.PhvRecord, layouts.LinkInfo], name: str, flip: int) -> tuple[layouts.PhvRecord, layouts.LinkInfo]:
    record = layouts.PhvRecord.from_int(packet[0].to_int())
    at = record if name == "ingress_port" else record.phv
    setattr(at, name, getattr(at, name) ^ flip)
    return record, packet[1]


@cocotb.test()
async def the_fence_knows_a_flow_by_its_lane_and_a_hash_of_what_its_packets_have_in_common(dut):
    element = Element(dut, stall=0)
    await element.begin()
    await element.request(R["FLOW_REGISTERS_FENCE_BOUND"], (1 << 31) - 1)
    await element.request(R["FLOW_REGISTERS_FENCE_CONTROL"], 1)
    base = some_packet(tags=1, ip_fragment=0)
    base[1].received = 1000
    element.send(*base)  # to the host, as there is no rule yet
    await element.sink.wait_for(1)
    await element.execute(TABLE_TERNARY, POPULATE, FlowRule(0, 0, 0), 1)
    widths = {"eth_dst": 48, "eth_src": 48, "ip_src": 128, "ip_dst": 128, "ip_protocol": 8, "l4_src": 16, "l4_dst": 16}
    widths |= {"vlan0_tci": 16, "eth_type": 16, "ip_tos": 8, "ip_ttl": 8, "ingress_port": 2, "tcp_flags": 8}
    sent = [changed(base, name, 1 << bit) for name, bits in widths.items() for bit in range(bits)]
    while len(sent) < 1200:
        flips = sum(1 << random.randrange(64) for _ in range(2))
        sent.append(changed(changed(base, "ip_src", flips), "ip_dst", 1 << random.randrange(128) if len(sent) % 2 else 0))
    for packet in sent:
        element.send(*packet)
    out = [layouts.PhvRecord.from_int(word) for word in (await element.sink.wait_for(1 + len(sent)))[1:]]
    same = [fence_word(packet) == fence_word(base) for packet in sent]
    assert [record.hits for record in out] == [0 if held else HIT for held in same]
    assert sum(same) > 30 and await element.read(R["FLOW_REGISTERS_FENCE_HELD"]) == sum(same)


@cocotb.test()
async def the_fence_knows_which_rules_send_to_the_host(dut):
    element = Element(dut, stall=0)
    await element.begin()
    await element.request(R["FLOW_REGISTERS_FENCE_BOUND"], (1 << 31) - 1)
    await element.request(R["FLOW_REGISTERS_FENCE_CONTROL"], 1)
    rule, host = FlowRule(0, 0, 0), layouts.HOST_PORT
    await element.execute(TABLE_TERNARY, POPULATE, rule, 1)
    cases = [(Opcode.ACTION_TO_HOST, 0, True), (Opcode.ACTION_TO_CONTROLLER, 0, True), (Opcode.ACTION_OUTPUT, host, True)]
    cases += [(Opcode.ACTION_REPLICATE, 1 << host, True), (Opcode.ACTION_REPLICATE, 0xFF, True)]
    cases += [(Opcode.ACTION_OUTPUT, n, False) for n in (0, 6, 1 << host)] + [(Opcode.ACTION_REPLICATE, 0x7F, False)]
    cases += [(kind, n, False) for kind in (Opcode.ACTION_MARK, Opcode.ACTION_QUEUE) for n in (host, 1 << host)]
    base = some_packet(tags=0, ip_fragment=0)
    base[1].received = 1000
    assert len({fence_word(changed(base, "l4_dst", number << 4)) for number in range(len(cases))}) == len(cases)
    for number, (opcode, operand, to_host) in enumerate(cases):
        packet = changed(base, "l4_dst", number << 4)  # flows with different words
        for action, slot, hits in ((opcode << 24 | operand, number % 8, HIT), (Opcode.ACTION_MARK << 24, 7, 0 if to_host else HIT)):
            await element.push(TABLE_TERNARY, UPDATE, rule, action, 3, slot)
            assert (await element.answer()).status == Status.STATUS_OK
            element.send(*packet)
            seen = layouts.PhvRecord.from_int((await element.sink.wait_for(len(element.sink.received) + 1))[-1])
            assert seen.hits == hits, (opcode, operand, slot)
