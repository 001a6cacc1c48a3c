# SPDX-License-Identifier: Apache-2.0
"""The functional device beside the RTL of configs/flow: the same rules, packets, instructions and register accesses into both;
bytes, metadata, order, answers and counters that come out must be equal."""

from __future__ import annotations

import ctypes as c
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import sluice_layouts as L
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.layers.vxlan import VXLAN

from elements.flow_table.test_flow_key import link_layers
from host.python.device import Action, Device, Received, SluiceError
from host.python.flow_table import Flows, error_text
from models.flow import key_of
from models.host import ALL_KINDS, MICROSOFT_KEY, Lane, describe, fill
from models.traffic import mutated, well_formed
from models.transmit import asked_packet, hostile
from shell.sim.build import FLOW
from shell.sim.test_flow import ALWAYS, CAPTURES, ENDS, PORTS, SHAPES, capture, full
from testing.device import access_alike, run, udp

SEED = 20261122
LANES = FLOW["lanes"]
WINDOW = L.WINDOW_SIZE
MAC = "02:00:00:00:00:01"
HEADERS = bytes(Ether(src=MAC, dst=MAC) / IP(src="192.0.2.1", dst="192.0.2.7") / UDP(sport=1, dport=4789) / VXLAN(vni=7))


DRAW = random.Random(SEED)
CHOSEN_TABLES = (1, 7)  # that rules choose


def tables(own: list[int]) -> dict[int, list[int]]:
    return {0: own, **{number: [DRAW.randrange(4) for _ in range(L.RSS_ENTRIES)] for number in CHOSEN_TABLES}}


SPREAD = {  # lane 3 hashes nothing
    0: Lane(ALL_KINDS, MICROSOFT_KEY, tables([n % 4 for n in range(L.RSS_ENTRIES)])),
    1: Lane(ALL_KINDS, DRAW.randbytes(40), tables([DRAW.randrange(4) for _ in range(L.RSS_ENTRIES)])),
    2: Lane(L.HASH_IPV4 | L.HASH_IPV6, MICROSOFT_KEY, tables([DRAW.randrange(2) for _ in range(L.RSS_ENTRIES)])),
    3: Lane(0, MICROSOFT_KEY, tables([])),
}


def shown(one: Received) -> tuple[Any, ...]:
    """What the host is told of a packet, but when it came."""
    return (one.ingress_port, one.data, one.mark, one.queue, one.verdict, one.egress_mask, one.fault, one.info, one.key)


class Both:
    """The two devices; what they do is compared at once."""

    def __init__(self) -> None:
        self.pair = [Device(FLOW, transport=transport) for transport in ("sim", "functional")]
        for device in self.pair:
            device.call("sluice_device_set_lossless", 1)
            device.call("sluice_device_set_tick", c.c_uint32(0))
            for lane, spread in SPREAD.items():
                device.spread(lane, spread.kinds, spread.key, spread.tables)
        self.flows = [Flows(device) for device in self.pair]
        self.handles: list[int] = []
        self.seen = [[0] * L.HOST_PORT, [0] * L.HOST_PORT]  # of each device and lane: timestamp of its last packet to the host

    def close(self) -> None:
        for flows, device in zip(self.flows, self.pair, strict=True):
            flows.close()
            device.close()

    def template(self, index: int, headers: bytes) -> None:
        for device in self.pair:
            device.template(index, headers)

    def access(self, at: int, value: int | None = None) -> int | None:
        """A read, or a write of `value`; -1: both answered an error."""
        return access_alike(self.pair, at, value)

    def add(self, value: int, mask: int, priority: int, actions: Sequence[Action]) -> int:
        first, second = [flows.add(value, mask, priority, actions) for flows in self.flows]
        assert first == second, error_text()
        if first >= 0:
            self.handles.append(first)
        return first

    def remove(self, handle: int) -> None:
        self.handles.remove(handle)
        assert [flows.delete(handle) for flows in self.flows] == [0, 0]

    def send(self, sent: dict[int, list[bytes]]) -> tuple[int, int]:
        """Of one lane in order, of several in the order of each. How many packets came to the host, and out of lanes."""
        results = []
        for device, times in zip(self.pair, self.seen, strict=True):
            host, out = run(device, sent)
            for one in host:
                times[one.ingress_port] = one.timestamp
            seen = [shown(one) for one in host]
            assert all(one.info == describe(one.data, SPREAD.get(one.ingress_port), one.queue, FLOW["host_queues"]) for one in host)
            for one in host:
                key = key_of(one.ingress_port, one.data)
                assert one.key == (key and key.pack().ljust(L.BUFFER_KEY_SIZE, b"\0")), f"{one.data.hex()}: {key}"
            results.append((sorted(seen, key=lambda one: one[0]), {n: out[n] if len(sent) == 1 else sorted(out[n]) for n in out}))
        assert results[0][0] == results[1][0]
        assert results[0][1] == results[1][1]
        self.compare_counters()
        return len(results[0][0]), sum(map(len, results[0][1].values()))

    def fence(self, bound: int) -> None:
        for device in self.pair:
            device.call("sluice_fence_set", 1, c.c_uint32(bound))

    def handled(self) -> None:
        """The host has sent or dropped what came to it; the devices know it."""
        for device, times in zip(self.pair, self.seen, strict=True):
            for lane, time in enumerate(times):
                device.library.sluice_poll_done(device.handle, lane, c.c_uint64(time))
            device.settle()

    def fenced(self) -> tuple[int | None, int | None]:
        """Packets that the fence held, and flows that it let go at its bound."""
        return tuple(self.access(WINDOW + at) for at in (L.FLOW_REGISTERS_FENCE_HELD, L.FLOW_REGISTERS_FENCE_FORCED))

    def compare_counters(self) -> None:
        for kind, lanes in (("lane", LANES), ("host", 1), ("graph", 1)):
            for lane in range(lanes):
                assert self.pair[0].counters(kind, lane) == self.pair[1].counters(kind, lane)
        for handle in self.handles:
            first, second = [flows.rules.counters(handle) for flows in self.flows]
            assert (first.packets, first.bytes, first.last_hit) == (second.packets, second.bytes, second.last_hit)
        self.compare_memory()

    def compare_memory(self) -> None:
        """What the devices wrote into host memory is what their registers say, once a sweep has passed."""
        for device, flows in zip(self.pair, self.flows, strict=True):
            device.advance(device.read(WINDOW + L.FLOW_REGISTERS_PUSH_CYCLES))
            for handle in self.handles:
                there, here = flows.mirrored(handle), flows.rules.counters(handle)
                assert (there.packets, there.bytes, there.last_hit) == (here.packets, here.bytes, here.last_hit), handle


@pytest.fixture
def both() -> Iterator[Both]:
    made = Both()
    yield made
    made.close()


def some_actions(draw: random.Random) -> list[Action]:
    """Any actions that a rule may have, whether they make sense together or not; the last one mostly decides."""

    def some() -> Action:
        opcode = draw.choice([n for n in range(L.ACTION_INSERT_RAW + 1) if n not in (L.ACTION_DROP, L.ACTION_SET_LONG)])
        if opcode == L.ACTION_SET:
            return Action(opcode, draw.randrange(L.FIELDS) << 20 | draw.getrandbits(16))
        if opcode == L.ACTION_QUEUE:
            return Action(opcode, draw.getrandbits(20) << 4 | draw.choice([0, *CHOSEN_TABLES, *range(8, 16)]))
        if opcode == L.ACTION_OUTPUT:
            return Action(opcode, draw.choice([0, 1, 2, 3, L.HOST_PORT]))
        if opcode == L.ACTION_REPLICATE:
            return Action(opcode, draw.choice([0, 1, 6, 15, 0x80, 0x83]))
        if opcode in (L.ACTION_TO_HOST, L.ACTION_TO_CONTROLLER) and draw.random() < 0.7:
            return Action(L.ACTION_SET_LONG, draw.randrange(L.FIELDS) << 20, draw.getrandbits(128))
        return Action(opcode, draw.getrandbits(24) if opcode < L.ACTION_INSERT_TUNNEL else draw.randrange(3))

    last = draw.choice(
        [[Action(L.ACTION_REPLICATE, draw.randrange(1, 16))], [Action(L.ACTION_OUTPUT, 2)], [Action(L.ACTION_DROP)], []]
    )
    return [*[some() for _ in range(draw.randrange(6))], Action(L.ACTION_CHECKSUM), *last]


def test_captures_and_broken_packets_leave_both_alike(both: Both, tmp_path: Path) -> None:
    draw = random.Random(SEED)
    random.seed(SEED)
    both.template(0, HEADERS)
    both.template(2, HEADERS[:18])
    sent: dict[int, list[bytes]] = {}
    for lane, path in enumerate(CAPTURES):
        packets = capture(path, tmp_path, 150, draw)
        made = [mutated(packet) if draw.random() < 0.3 else packet for packet in [*draw.sample(well_formed(), 40), *link_layers()]]
        sent[lane] = [*packets, *(packet for packet in made if 14 <= len(packet) <= L.MTU_BYTES)]
        keys = [key for key in (key_of(lane, packet) for packet in sent[lane]) if key]
        for key in draw.sample(keys, 60):
            mask = full(**{**ALWAYS, **draw.choice(SHAPES)})
            if draw.random() < 0.15:
                mask &= draw.getrandbits(L.FlowKey.BITS)
            priority = 100 * mask.bit_count() + draw.randrange(100)  # or a few wide rules would get all packets
            both.add(key.to_int() | draw.getrandbits(L.FlowKey.BITS) & ~mask, mask, priority, some_actions(draw))
        for device in both.pair:
            device.write(L.SHELL_REGISTERS_TICK, 1000 * lane)
        both.send({lane: sent[lane]})
        for handle in draw.sample(both.handles, 20):
            both.remove(handle)
    both.send(sent)
    graph = both.pair[1].counters("graph")
    assert min(graph.forwarded_packets, graph.to_host_packets, graph.drop_rule, graph.faults, graph.misses) > 20
    assert min(graph.not_eligible, graph.drop_no_port, graph.drop_ttl) > 0
    assert sum(both.pair[1].counters("lane", lane).tx_error for lane in range(LANES)) > 0, "a template that is not there"


def through_queues(device: Device, sent: dict[int, list[bytes]]) -> dict[tuple[int, int], list[tuple[Any, ...]]]:
    """Send packets of lanes into a device of which some queues are polled; what came by each."""
    places = [(lane, queue) for lane in (0, 1, 3) for queue in range(4) if (lane, queue) != (1, 2)]
    queues = {(lane, queue): device.queue(lane, queue, 512 << queue % 3) for lane, queue in places}  # rings of any size
    came: dict[tuple[int, int], list[tuple[Any, ...]]] = {place: [] for place in queues}
    waiting = {lane: list(packets) for lane, packets in sent.items()}
    while any(waiting.values()) or not device.library.sluice_device_idle(device.handle):
        for lane, packets in waiting.items():
            while packets and device.lane_send(lane, packets[0]):
                packets.pop(0)
        device.advance(16)
        for place, queue in queues.items():
            while got := device.poll(queue):
                came[place] += [shown(one) for one in got]
    assert device.receive() is None
    return came


def test_packets_are_spread_over_queues_alike_and_those_of_none_are_counted(both: Both, tmp_path: Path) -> None:
    draw = random.Random(SEED)
    sent = {lane: capture(path, tmp_path, 60, draw) for lane, path in enumerate(CAPTURES)}
    sent[0] += [draw.randbytes(size) for size in (1920, 1921, 9216)]
    first, second = [through_queues(device, sent) for device in both.pair]
    assert first == second and min(len(first[0, queue]) for queue in range(4)) > 2 and len(first[3, 0]) == len(sent[3])
    lost = len(sent[2]) + sum(describe(packet, SPREAD[1]).receive_queue == 2 for packet in sent[1])
    for device in both.pair:
        host = device.counters("host")
        assert host.ring_overflow == lost > 20 and sum(map(len, first.values())) == host.to_host_packets - lost
        with pytest.raises(SluiceError):
            device.queue(0, 4)


def test_a_rule_spreads_its_packets_by_a_table_of_its_own(both: Both, tmp_path: Path) -> None:
    draw = random.Random(SEED)
    sent = {lane: [*capture(CAPTURES[lane], tmp_path, 60, draw), *well_formed()] for lane in (1, 3)}
    for lane, table in ((1, 7), (3, 1)):  # of lane 3 all are for the queue of entry 0
        mask = full(ingress_port=0xFF)
        both.add(L.FlowKey(ingress_port=lane).to_int(), mask, 1, [Action(L.ACTION_QUEUE, table), Action(L.ACTION_TO_HOST)])
    first, second = [through_queues(device, sent) for device in both.pair]
    assert first == second
    chosen = Counter((one[0], one[3]) for came in first.values() for one in came)
    assert chosen[1, 7] > 60 and chosen[3, 1] > 60 and set(chosen) == {(1, 0), (1, 7), (3, 0), (3, 1)}, chosen
    for (lane, number), came in first.items():
        for _, data, _, queue, *_, info, _ in came:
            assert info == describe(data, SPREAD[lane], queue) and info.receive_queue == number
    assert len(first[3, SPREAD[3].queue(1, 0)]) >= chosen[3, 1] and all(first[1, number] for number in (0, 1, 3))


class Outgoing(c.Structure):
    """sluice_outgoing."""

    class Checksum(c.Structure):
        """sluice_transmit_checksum."""

        _fields_ = (("l3_offset", c.c_uint8), ("l4_offset", c.c_uint16), ("ipv4", c.c_uint8), ("l4", c.c_uint8))

    _fields_ = (("bytes", c.c_char_p), ("size", c.c_uint32), ("checksum", Checksum))


def test_checksums_that_the_host_asks_for_are_filled_in_alike(both: Both) -> None:
    draw = random.Random(SEED)
    cases = [asked_packet(draw, draw.choice([0, 1, 30, 1400, 2000, 9000])) for _ in range(60)]
    cases += [case for case in (hostile(draw) for _ in range(300)) if case.verdict == L.VERDICT_FORWARD]
    draw.shuffle(cases)
    for device in both.pair:
        left: list[bytes] = []
        for case in cases:
            checksum = Outgoing.Checksum(case.asked.l3_offset, case.asked.l4_offset, case.asked.ipv4, case.asked.l4)
            one = Outgoing(case.packet, len(case.packet), checksum)
            assert device.library.sluice_poll_send_many(device.handle, c.byref(one), 1, c.c_uint8(2), c.c_uint8(0)) == 1
            left += run(device, {})[1][1]
        assert left == [case.expected for case in cases]
        assert device.counters("host").from_host_unfilled == sum(fill(case.packet, case.asked)[1] for case in cases) > 50
    both.compare_counters()


def test_a_queue_that_nobody_polls_does_not_stop_the_others(both: Both) -> None:
    for device in both.pair:
        device.call("sluice_device_set_lossless", 0)
        device.queue(0, 0)  # of packets without a hash
        other = device.queue(1, 0)
        came = 0
        for _ in range(600):
            assert device.lane_send(0, b"\1" * 60) and device.lane_send(1, b"\2" * 60)
            device.advance(100)
            came += len(device.poll(other))
        device.settle()
        assert came + len(device.poll(other)) == 600 and device.counters("host").ring_overflow == 600 - (512 - 4)


def instruct(both: Both, draw: random.Random, values: Sequence[int], masks: Sequence[int]) -> int:
    """A random instruction, most of them possible; the status that both answered."""
    kind = draw.choice([L.INSTRUCTION_POPULATE] * 6 + [L.INSTRUCTION_DELETE] * 3 + [L.INSTRUCTION_UPDATE] * 3 + [0, 1, 5])
    table = draw.choice([0] * 6 + [1] * 6 + [2])
    group = draw.randrange(9)
    operand = L.FlowOperand(
        value=draw.choice(values), mask=masks[group % len(masks)] if draw.random() < 0.9 else draw.choice(masks)
    )
    target = L.FlowTarget(group=group, operand=draw.randrange(4) + 16 * draw.randrange(2))
    rule_id = draw.choice([*range(6), 6, 63, 64, 2047, 2048])
    what = L.Instruction(kind=kind, table_id=table, rule_id=rule_id, rule_priority=draw.randrange(3), value=target.to_int())
    both.access(WINDOW + L.FLOW_REGISTERS_OPERAND_INDEX, target.operand % L.FLOW_OPERANDS)
    for at, data in ((L.FLOW_REGISTERS_OPERAND, operand.pack()), (L.OFU_REGISTERS_INSTRUCTION, what.pack())):
        for n in range(0, len(data), 4):
            both.access(WINDOW + at + n, int.from_bytes(data[n : n + 4], "little"))
    both.access(WINDOW + L.OFU_REGISTERS_PUSH, 0)
    answers = []
    for device in both.pair:
        while not device.read(WINDOW + L.OFU_REGISTERS_STATUS) >> 16 & 63:
            device.advance(16)
        words = [device.read(WINDOW + L.OFU_REGISTERS_RESPONSE + at) for at in (0, 4)]
        answer = L.Response.from_int(words[1] << 32 | words[0])
        answers.append((answer.kind, answer.rule_id, answer.status))
    assert answers[0] == answers[1], f"{what} {operand} {target}"
    if draw.random() < 0.3:
        both.access(WINDOW + L.OFU_REGISTERS_REMOVE, draw.choice([0, 0, 1 << 30, 1 << 30, 1 << 31]) | rule_id)
    for n in (0, 4):
        both.access(WINDOW + L.OFU_REGISTERS_USED + n)
    both.access(WINDOW + L.FLOW_REGISTERS_GROUP_INDEX, group)
    both.access(WINDOW + L.FLOW_REGISTERS_GROUP_USED)
    return int(answer.status)


def test_instructions_are_answered_alike(both: Both) -> None:
    draw = random.Random(SEED)
    masks, values = [draw.getrandbits(L.FlowKey.BITS) for _ in range(3)], [draw.getrandbits(L.FlowKey.BITS) for _ in range(3)]
    statuses = Counter(instruct(both, draw, values, masks) for _ in range(150))
    assert {0, 2, 17, 22} <= set(statuses), statuses


def test_the_fence_keeps_a_flow_behind_its_packets_in_the_host(both: Both) -> None:
    flow, other = udp("10.0.0.1", "10.0.1.1"), udp("10.0.0.1", "10.0.1.1", sport=1001)
    mask, to_lane = full(**ALWAYS, **ENDS, **PORTS), [Action(L.ACTION_REPLICATE, 2)]

    def add(packet: bytes, actions: Sequence[Action]) -> int:
        key = key_of(0, packet)
        assert key
        return both.add(key.to_int(), mask, 1, actions)

    both.fence(1 << 20)
    assert both.send({0: [flow] * 3}) == (3, 0)
    rule = add(flow, to_lane)
    assert both.send({0: [flow] * 3}) == (3, 0), "the first three are in the host"
    assert both.fenced() == (3, 0)
    both.handled()
    assert both.send({0: [flow, other, flow]}) == (1, 2), "another flow's packets in the host do not hold it"
    marking = add(other, [Action(L.ACTION_MARK, 5), Action(L.ACTION_TO_HOST)])
    assert both.send({0: [other] * 2}) == (2, 0), "with a mark: not held"
    assert both.fenced() == (3, 0)
    both.remove(marking)
    add(other, to_lane)
    assert both.send({0: [other]}) == (1, 0), "those with a mark are in the host"
    both.remove(rule)
    assert both.send({0: [flow]}) == (1, 0)
    rule = add(flow, to_lane)
    assert both.send({0: [flow, other]}) == (2, 0), "a rule that replaces another opens no gap"
    both.handled()
    assert both.send({0: [flow, other, flow]}) == (0, 3)
    assert both.fenced() == (6, 0)
    both.remove(rule)
    assert both.send({0: [flow]}) == (1, 0)
    rule = add(flow, to_lane)
    both.fence(2000)
    assert both.send({0: [flow]}) == (1, 0)
    for device in both.pair:
        device.advance(3000)
    assert both.send({0: [flow] * 2}) == (0, 2), "the bound has passed"
    assert both.fenced() == (7, 1)


def test_counters_in_host_memory_are_of_the_rule_that_is_there_now(both: Both) -> None:
    draw = random.Random(SEED)
    packets = [udp("10.0.0.1", f"10.0.1.{n}") for n in range(12)]
    keys = [key_of(0, packet) for packet in packets]
    rules: dict[int, int] = {}  # packet: the rule that matches it
    since = [0] * len(packets)  # packets that were sent while the rule was there
    reused = 0
    for step in range(250):
        n = draw.randrange(len(packets))
        key = keys[n]
        assert key
        if n in rules and draw.random() < 0.5:  # some of its packets may be under way
            both.remove(rules.pop(n))
        elif n not in rules:
            mask = full(**ALWAYS, **ENDS, **(PORTS if n % 3 else {})) if n % 4 else L.FlowKey(ip_dst=(1 << n) - 1).to_int()
            rules[n], since[n] = both.add(key.to_int(), mask, n, [Action(L.ACTION_OUTPUT, 1)]), 0
            reused += all(flows.mirrored(rules[n]).packets == 0 for flows in both.flows) and step > 40
        for _ in range(draw.randrange(4)):
            m = draw.randrange(len(packets))
            if all(device.lane_send(0, packets[m]) for device in both.pair):
                since = [count + 1 for count in since]
        for device in both.pair:
            device.advance(draw.choice([0, 1, 7, 100]))
        for rule, handle in rules.items():
            assert all(flows.mirrored(handle).packets <= since[rule] for flows in both.flows), "of a rule before it"
        if step % 25 == 24:
            for device in both.pair:
                run(device, {})
            both.compare_memory()
    assert reused > 20
    with pytest.raises(OSError):
        both.flows[0].mirrored(next(n for n in range(100) if n not in rules.values()))


# What is not the same: time, the latency of an element, the answer's cycles, and the windows of QoS.
OTHER = {L.SHELL_REGISTERS_WINDOWS, L.SHELL_REGISTERS_TIME_LOW, L.SHELL_REGISTERS_TIME_HIGH, WINDOW + L.OFU_REGISTERS_LATENCY}
OTHER |= {WINDOW + L.OFU_REGISTERS_PUSH, L.SHELL_REGISTERS_CONTROL, L.SHELL_REGISTERS_TICK_SOURCE}
OTHER |= {WINDOW + L.FLOW_REGISTERS_PUSH_CYCLES, WINDOW + L.FLOW_REGISTERS_PUSH_SWEEPS}
OTHER |= {L.SHELL_REGISTERS_CAPABILITY + 4 * window for window in range(5, 16)}


def test_the_clock_counts_the_tick_until_the_host_does(both: Both) -> None:
    assert both.access(L.SHELL_REGISTERS_TICK_SOURCE) == 0, "as the test set it"
    for device in both.pair:
        cycles = device.read(L.SHELL_REGISTERS_CLOCK_KHZ) // 1000  # a microsecond
        device.call("sluice_device_run_tick")
        before = device.read(L.SHELL_REGISTERS_TICK)
        device.advance(50 * cycles)
        assert 50 <= device.read(L.SHELL_REGISTERS_TICK) - before <= 51
        device.call("sluice_device_set_tick", c.c_uint32(1234))
        device.advance(50 * cycles)
    assert both.access(L.SHELL_REGISTERS_TICK) == 1234


def test_registers_answer_alike(both: Both) -> None:
    draw = random.Random(SEED)
    addresses = [page + at for page in (0, WINDOW, 4 * WINDOW) for at in range(0, 0x240, 4)] + [
        0x2000,
        0x3000,
        0x400,
        0x43C,
        0x480,
        0x4FFC,
    ]
    addresses += [at + 1 for at in addresses[::60]]
    known = [at for at in addresses if at not in OTHER]
    for at in known:
        both.access(at)
    for _ in range(400):
        at = draw.choice(known)
        both.access(at, draw.choice([0, 1, 5, 17, draw.getrandbits(32)]))
        both.access(draw.choice([at, draw.choice(known)]))
