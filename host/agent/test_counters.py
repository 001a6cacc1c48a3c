# SPDX-License-Identifier: Apache-2.0
"""What flows count, on the functional device: after any changes of other flows, and over restarts, a flow has counted the packets
that a plain reading of OpenFlow says it matched. And what follows from the counters: timeouts, messages about flows that are
gone."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import sluice_layouts as L
from c65of import ofproto as of
from c65of.ofproto import parser as codec
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt
from scapy.layers.l2 import ARP, Ether

from host.agent.channel import Access
from host.agent.counters import WRAP, Counters
from host.agent.device_channel import DeviceChannel, open_device
from host.agent.pipeline import Pipeline
from host.agent.session import Session
from host.agent.switch import SAMPLE, Switch
from host.agent.test_translate import IP4S, IP6S, LANES, MACS, TABLES, Plan, fields_of, finished
from host.agent.testing.model import parsed

FLAGS = of.OFPFF_SEND_FLOW_REM
ANY = {"out_port": of.OFPP_ANY, "out_group": of.OFPG_ANY}
TICKS = 1_000_000  # a second


class Killed(Exception):
    """The agent is killed here."""


class DeadlyChannel(DeviceChannel):
    """A channel whose agent is killed after so many accesses more."""

    fatal: int | None = None

    def access(self, batch: Sequence[Access]) -> list[int]:
        found = []
        for one in batch:
            if self.fatal is not None:
                self.fatal -= 1
                if self.fatal < 0:
                    raise Killed
            found += super().access([one])
        return found


class Bench:
    """A switch on the functional device, whose tick is the test's, and a controller."""

    def __init__(self, channel: DeviceChannel, state: Path) -> None:
        self.channel, self.device, self.state = channel, channel.device, state
        self.now = 1000.0
        self.device.call("sluice_device_set_lossless", 1)
        self.device.call("sluice_device_set_tick", 0xFFFFFFFF - TICKS)  # it wraps in a second
        self.events: list[bytes] = []
        self.restart()

    def restart(self) -> None:
        """A new agent, which has what the one before kept."""
        self.switch = Switch(Pipeline(self.channel, self.state, clock=lambda: self.now))
        self.session = Session(self.switch, self.events.append)
        self.switch.listeners.append(self.session.tell)
        self.ask(codec.OFPHello(None))

    def ask(self, request: Any) -> list[Any]:
        request.serialize()
        return [parsed(one) for one in self.session.handle(bytes(request.buf))]

    def wait(self, seconds: float) -> None:
        """Time passes, here and there; the agent looks at it each second."""
        for _ in range(int(seconds)):
            self.now += 1
            tick = self.device.read(L.SHELL_REGISTERS_TICK)
            self.device.write(L.SHELL_REGISTERS_TICK, (tick + TICKS) % (1 << 32))
            self.switch.check()

    def send(self, lane: int, data: bytes) -> None:
        self.switch.load()
        assert self.device.lane_send(lane, data)
        self.device.settle()
        for number in range(LANES):
            while self.device.lane_receive(number):
                pass

    def flows(self) -> list[Any]:
        return [one for answer in self.ask(codec.OFPFlowStatsRequest(None)) for one in answer.body]

    def removed(self) -> list[Any]:
        """The messages about flows that are gone since the last time."""
        found = [parsed(one) for one in self.events]
        self.events.clear()
        return found


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    channel = open_device(f"functional:lanes={LANES},pipeline_units={TABLES + 1}")
    channel.__class__ = DeadlyChannel
    yield Bench(channel, tmp_path / "state")
    channel.close()


PACKETS = [
    finished(Ether(src=MACS[0], dst=MACS[1]) / IP(src=IP4S[0], dst=IP4S[1]) / UDP(sport=4000, dport=53) / b"payload"),
    finished(Ether(src=MACS[0], dst=MACS[1]) / IP(src=IP4S[0], dst=IP4S[2]) / TCP(sport=4000, dport=80) / b"a longer payload"),
    finished(Ether(src=MACS[1], dst=MACS[0]) / IPv6(src=IP6S[0], dst=IP6S[1]) / UDP(sport=53, dport=53) / b"x"),
    finished(
        Ether(src=MACS[1], dst=MACS[0]) / IPv6(src=IP6S[0], dst=IP6S[1]) / IPv6ExtHdrDestOpt() / UDP(sport=53, dport=80) / b"xyz"
    ),
    finished(Ether(src=MACS[1], dst=MACS[2]) / ARP(op=1, psrc=IP4S[0], pdst=IP4S[1])),
]
MATCHES: list[dict[str, Any]] = [
    {},
    {"in_port": 1},
    {"eth_dst": MACS[1]},
    {"eth_src": MACS[1], "eth_dst": (MACS[2], "01:00:00:00:00:00")},
    {"eth_type": 0x0800, "ipv4_dst": ("192.168.0.0", "255.255.0.0")},
    {"eth_type": 0x0800, "ip_proto": 17, "udp_dst": 53},
    {"eth_type": 0x86DD, "ip_proto": 17},  # two entries
    {"eth_type": 0x86DD, "ip_proto": 17, "udp_dst": 80},
    {"eth_type": 0x86DD, "ipv6_dst": IP6S[1], "ip_proto": 17},  # the table needs two units
    {"eth_type": 0x0806, "arp_op": 1},
]


def some_plan(draw: random.Random) -> Plan:
    table = draw.randrange(TABLES)
    outputs = tuple(("output", draw.choice([1, 2, 3, of.OFPP_FLOOD])) for _ in range(draw.randrange(3)))
    goto = draw.choice([None, *range(table + 1, TABLES)])
    return Plan(table, draw.randrange(1, 5), draw.choice(MATCHES), outputs, (2,) if draw.random() < 0.3 else (), goto)


class Judge:
    """Counts as OpenFlow says, packet by packet."""

    def __init__(self) -> None:
        self.plans: dict[int, Plan] = {}
        self.packets: Counter[int] = Counter()
        self.bytes: Counter[int] = Counter()
        self.lookups: Counter[int] = Counter()
        self.matched: Counter[int] = Counter()
        self.cookies: dict[Any, int] = {}

    def key(self, plan: Plan) -> int:
        """The cookie of a flow: one for a table, priority and match."""
        return self.cookies.setdefault((plan.table, plan.priority, repr(plan.match)), len(self.cookies) + 1)

    def send(self, lane: int, data: bytes) -> None:
        fields, table = fields_of(Ether(data), lane + 1), 0
        while True:
            here = [plan for plan in self.plans.values() if plan.table == table and plan.matches(fields)]
            self.lookups[table] += 1
            if not here:
                return
            plan = max(here, key=lambda one: one.priority)
            self.matched[table] += 1
            self.packets[self.key(plan)] += 1
            self.bytes[self.key(plan)] += len(data)
            if plan.goto is None:
                return
            table = plan.goto


def add(bench: Bench, judge: Judge, plan: Plan) -> None:
    """Add a flow, if the device can have it and it is no matter of taste which of two is first."""
    fields = [fields_of(Ether(data), lane + 1) for data in PACKETS for lane in range(LANES)]
    for other in judge.plans.values():
        equals = (other.table, other.priority) == (plan.table, plan.priority) and judge.key(other) != judge.key(plan)
        if equals and any(other.matches(one) and plan.matches(one) for one in fields):
            return
    request = plan.message()
    request.flags, request.cookie = FLAGS, judge.key(plan)
    if not bench.ask(request):
        judge.plans[judge.key(plan)] = plan


def delete(bench: Bench, judge: Judge, key: int) -> None:
    plan = judge.plans.pop(key)
    match = codec.OFPMatch(**plan.match)
    command = {"command": of.OFPFC_DELETE_STRICT, "table_id": plan.table, "priority": plan.priority}
    assert not bench.ask(codec.OFPFlowMod(None, match=match, **command, **ANY))


def check(bench: Bench, judge: Judge) -> None:
    found = {one.cookie: (one.packet_count, one.byte_count) for one in bench.flows()}
    assert found == {key: (judge.packets[key], judge.bytes[key]) for key in judge.plans}
    for one in bench.removed():
        if one.msg_type == of.OFPT_FLOW_REMOVED:
            assert (one.reason, one.packet_count) == (of.OFPRR_DELETE, judge.packets.pop(one.cookie, 0))
            assert one.byte_count == judge.bytes.pop(one.cookie, 0)
    tables = {one.table_id: (one.lookup_count, one.matched_count) for one in bench.ask(codec.OFPTableStatsRequest(None))[0].body}
    assert {table: tables[table] for table in range(TABLES)} == {
        table: (judge.lookups[table], judge.matched[table]) for table in range(TABLES)
    }


def test_flows_count_their_packets_whatever_else_changes(bench: Bench) -> None:
    draw, judge, done = random.Random(1), Judge(), Counter[str]()
    for _ in range(220):
        step = draw.choice(["add", "add", "add", "delete", "send", "send", "send", "restart", "kill", "barrier"])
        done[step] += 1
        if step == "add":
            add(bench, judge, some_plan(draw))
        elif step == "delete" and judge.plans:
            delete(bench, judge, draw.choice([*judge.plans]))
            bench.switch.load()
            check(bench, judge)
        elif step == "barrier":
            bench.ask(codec.OFPBarrierRequest(None))
        elif step == "restart":
            bench.switch.load()
            bench.restart()
        elif step == "kill":
            bench.switch.load()
            bench.switch.loads_wanted = True
            bench.channel.fatal = draw.randrange(60)
            try:
                bench.switch.load()
            except Killed:
                done["killed"] += 1
            bench.channel.fatal = None
            bench.restart()
        for _ in range(draw.randrange(12) if step == "send" else 0):
            lane, data = draw.randrange(LANES), draw.choice(PACKETS)
            judge.send(lane, data)
            bench.send(lane, data)
        if step in ("send", "restart", "kill"):
            check(bench, judge)
    everything = codec.OFPAggregateStatsRequest(None, 0, of.OFPTT_ALL, of.OFPP_ANY, of.OFPG_ANY, 0, 0, codec.OFPMatch())
    total = bench.ask(everything)[0].body
    assert (total.packet_count, total.flow_count) == (sum(judge.packets[key] for key in judge.plans), len(judge.plans))
    assert done["killed"] > 5 and judge.matched.total() > 200 and judge.lookups.total() - judge.lookups[0] > 50


def read_flow(match: dict[str, Any], *ports: int, **more: Any) -> Any:
    actions = [codec.OFPActionOutput(port) for port in ports]
    instructions = [codec.OFPInstructionActions(of.OFPIT_APPLY_ACTIONS, actions)]
    return codec.OFPFlowMod(None, match=codec.OFPMatch(**match), instructions=instructions, **more)


def test_a_flow_that_is_idle_goes_and_one_that_is_used_stays(bench: Bench) -> None:
    for port in (1, 2, 3):
        more = {"idle_timeout": 10, "hard_timeout": 25 if port == 3 else 0, "cookie": port}
        assert not bench.ask(read_flow({"in_port": port}, 4, flags=FLAGS if port > 1 else 0, **more))
    for _ in range(3):
        bench.wait(6)
        bench.send(1, PACKETS[0])
        bench.send(2, PACKETS[1])
    assert [one.cookie for one in bench.flows()] == [2, 3], "the first had no packet, and who added it did not want to hear of it"
    assert not bench.removed()
    bench.wait(8)  # 26 in all
    (hard,) = bench.removed()
    assert (hard.cookie, hard.reason, hard.duration_sec, hard.hard_timeout) == (3, of.OFPRR_HARD_TIMEOUT, 25, 25)
    assert (hard.packet_count, hard.byte_count, hard.match["in_port"]) == (3, 3 * len(PACKETS[1]), 3)
    bench.wait(1)
    assert [one.cookie for one in bench.flows()] == [2] and not bench.removed()
    bench.wait(2)
    (idle,) = bench.removed()
    assert (idle.cookie, idle.reason, idle.duration_sec, idle.idle_timeout) == (2, of.OFPRR_IDLE_TIMEOUT, 28, 10)
    assert (idle.packet_count, idle.byte_count) == (3, 3 * len(PACKETS[0]))
    assert not bench.flows()


def test_who_replaces_a_flow_says_whether_it_counts_on(bench: Bench) -> None:
    def counted(request: Any) -> int:
        assert not bench.ask(request)
        bench.send(0, PACKETS[0])
        return int(bench.flows()[0].packet_count)

    again = read_flow({"in_port": 1}, 2)
    assert [counted(again), counted(read_flow({"in_port": 1}, 3)), counted(again)] == [1, 2, 3]
    assert counted(read_flow({"in_port": 1}, 2, flags=of.OFPFF_RESET_COUNTS)) == 1
    assert counted(read_flow({"in_port": 1}, 3, command=of.OFPFC_MODIFY)) == 2
    assert counted(read_flow({"in_port": 1}, 3, command=of.OFPFC_MODIFY, flags=of.OFPFF_RESET_COUNTS)) == 1
    assert not bench.ask(read_flow({"in_port": 1}, command=of.OFPFC_DELETE, table_id=of.OFPTT_ALL, **ANY))
    assert counted(read_flow({"in_port": 1}, 3)) == 1, "another flow, although its entry is as before"


def test_a_device_that_was_reset_goes_on_counting(bench: Bench) -> None:
    assert not bench.ask(read_flow({"in_port": 1}, 2))
    bench.send(0, PACKETS[0])
    bench.wait(SAMPLE + 1)  # what nobody has read is lost in a reset
    bench.device.write(L.SHELL_REGISTERS_CONTROL, bench.device.read(L.SHELL_REGISTERS_CONTROL) | 1)
    bench.switch.check()
    bench.send(0, PACKETS[0])
    assert (bench.switch.counters["reset"], bench.flows()[0].packet_count) == (1, 2)


def test_a_load_that_fails_costs_neither_packets_nor_counts(bench: Bench) -> None:
    failed = 0
    for turn in range(60):
        assert not bench.ask(read_flow({"in_port": 1}, 2 + turn % 2))
        bench.channel.fatal = turn
        try:
            bench.switch.load()
        except Killed:
            failed += 1
        bench.channel.fatal = None
        bench.switch.check()
        bench.send(0, PACKETS[0])
        assert bench.flows()[0].packet_count == turn + 1
        assert bench.switch.pipeline.lane_counters(1 + turn % 2).tx_packets == turn // 2 + 1, "by the flow that was wanted"
    assert failed > 20 and bench.switch.counters["reset"] == 0


def test_counters_wrap() -> None:
    counters, said = Counters(), [0] * 5

    def sampled(last_hit: int, size: int, packets: int, tick: int) -> tuple[int, int, float]:
        word = L.RuleCounters(last_hit, size % WRAP, packets % WRAP).to_int()
        said[:] = [*(word >> 32 * at & 0xFFFFFFFF for at in range(4)), tick]
        counters.sample([(0, 1)], lambda batch: said, 0, 100.0)
        count = counters.flows[7]
        return count.packets, count.bytes, count.used

    counters.owners[0][0, 1] = 0, 7
    counters.seen[0, 1] = WRAP - 5, WRAP - 500
    assert sampled(0xFFFFFFFF, 100, 3, 1_999_999) == (8, 600, 98.0)
    assert sampled(5, 150, 4, 5) == (9, 650, 100.0)
    assert sampled(5, 150, 4, 4_000_005) == (9, 650, 100.0), "no packet came"
    assert sampled(9, 60, 1, 9) == (10, 710, 100.0), "it was cleared"


def test_the_tick_of_a_device_with_lanes_is_that_of_this_machine() -> None:
    channel = open_device("functional:pipeline_units=1", ["none"] * 4)
    seen = []
    for _ in range(2):
        channel.pass_time()
        seen.append((channel.access([Access(L.SHELL_REGISTERS_TICK)])[0], time.monotonic_ns() // 1000))
        time.sleep(0.02)
    channel.close()
    (tick, now), (later_tick, later) = seen
    assert abs((later_tick - tick) % (1 << 32) - (later - now)) < 5000
