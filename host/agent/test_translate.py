# SPDX-License-Identifier: Apache-2.0
"""Flows as the agent translates them, against a plain reading of OpenFlow on scapy's packets. The judge knows neither containers
nor units: it looks at what scapy dissects, runs the tables one by one, and changes scapy's layers."""

from __future__ import annotations

import ipaddress
import itertools
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import sluice_layouts as L
from c65of import ofproto as of
from c65of.ofproto import parser as codec
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6, IPv6ExtHdrDestOpt
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.layers.sctp import SCTP
from scapy.packet import Packet, Raw

from compiler.pipeline.actions import action
from host.agent import translate
from host.agent.fields import PLACES
from host.agent.testing.model import LANES, Bench
from models.unit_program import execute, find, sources_of

TABLES = 3
MACS = ["02:00:00:00:00:01", "02:00:00:00:00:02", "ff:ff:ff:ff:ff:ff"]
IP4S, IP6S = ["10.0.0.1", "10.0.1.2", "192.168.0.9"], ["2001:db8::1", "2001:db8:0:1::2", "fe80::1"]
PORTS = [53, 80, 4000]
SETTABLE = {"eth_dst": MACS[1], "eth_src": MACS[0], "vlan_vid": 0x1007, "ipv4_dst": IP4S[2], "ipv6_dst": IP6S[1], "ip_dscp": 12}
SETTABLE |= {"tcp_dst": 80, "udp_dst": 53, "arp_op": 2, "ipv6_flabel": 0x54321}
CONTROLLER = of.OFPP_CONTROLLER
VLAN, PRIORITY = ("set", "vlan_vid", 0x1009), ("set", "vlan_pcp", 5)
TAGS = [[("push", 0x8100)], [("push", 0x88A8)], [("push", 0x8100), VLAN], [("push", 0x8100), VLAN, PRIORITY]]

packets = st.builds(
    lambda tags, source, destination, network, transport, extra: _packet(tags, source, destination, network, transport, extra),
    st.lists(st.sampled_from([(5, 0), (7, 3)]), max_size=1),
    st.sampled_from(MACS[:2]),
    st.sampled_from(MACS),
    st.one_of(
        st.builds(lambda s, d, ttl, tos: IP(src=s, dst=d, ttl=ttl, tos=tos), *[st.sampled_from(IP4S)] * 2,
                  st.sampled_from([1, 2, 64]), st.sampled_from([0, 0x29])),
        st.builds(lambda s, d, hlim, tc: IPv6(src=s, dst=d, hlim=hlim, tc=tc), *[st.sampled_from(IP6S)] * 2,
                  st.sampled_from([1, 2, 64]), st.sampled_from([0, 0x29])),
        st.builds(lambda s, d, op: ARP(op=op, hwsrc=MACS[0], hwdst=MACS[1], psrc=s, pdst=d), *[st.sampled_from(IP4S)] * 2,
                  st.sampled_from([1, 2])),
        st.just(Raw(b"x" * 30)),
    ),
    st.one_of(
        st.builds(lambda s, d: TCP(sport=s, dport=d), *[st.sampled_from(PORTS)] * 2),
        st.builds(lambda s, d: UDP(sport=s, dport=d), *[st.sampled_from(PORTS)] * 2),
        st.builds(lambda s, d: SCTP(sport=s, dport=d), *[st.sampled_from(PORTS)] * 2),
        st.just(ICMP(type=8)),
    ),
    st.booleans(),
)  # fmt: skip


def _packet(tags: Sequence[tuple[int, int]], source: str, destination: str, network: Any, transport: Any, extra: bool) -> bytes:
    packet = Ether(src=source, dst=destination, **({} if tags or not isinstance(network, Raw) else {"type": 0x88B5}))
    for vlan, prio in tags:
        packet /= Dot1Q(vlan=vlan, prio=prio, **({"type": 0x88B5} if isinstance(network, Raw) else {}))
    packet /= network
    if isinstance(network, IP):
        packet /= transport / Raw(b"payload")
    elif isinstance(network, IPv6):
        if extra:
            packet /= IPv6ExtHdrDestOpt()
        packet /= (ICMPv6EchoRequest(data=b"data") if isinstance(transport, ICMP) else transport) / Raw(b"payload")
    return bytes(packet)


def _mac(text: str) -> int:
    return int(text.replace(":", ""), 16)


def _address(text: str) -> int:
    return int(ipaddress.ip_address(text))


def fields_of(packet: Packet, port: int) -> dict[str, int]:
    """What OpenFlow calls the fields of a packet."""
    found = {"in_port": port, "eth_dst": _mac(packet.dst), "eth_src": _mac(packet.src), "eth_type": packet.type, "vlan_vid": 0}
    if Dot1Q in packet:
        found |= {"vlan_vid": 0x1000 | packet[Dot1Q].vlan, "vlan_pcp": packet[Dot1Q].prio, "eth_type": packet[Dot1Q].type}
    protocol = None
    if IP in packet:
        ip = packet[IP]
        protocol = ip.proto
        found |= {"ip_dscp": ip.tos >> 2, "ip_ecn": ip.tos & 3, "ipv4_src": _address(ip.src), "ipv4_dst": _address(ip.dst)}
    elif IPv6 in packet:
        ip = packet[IPv6]
        protocol = packet[IPv6ExtHdrDestOpt].nh if IPv6ExtHdrDestOpt in packet else ip.nh
        found |= {"ip_dscp": ip.tc >> 2, "ip_ecn": ip.tc & 3, "ipv6_src": _address(ip.src), "ipv6_dst": _address(ip.dst)}
        found["ipv6_flabel"] = ip.fl
    elif ARP in packet:
        arp = packet[ARP]
        found |= {"arp_op": arp.op, "arp_spa": _address(arp.psrc), "arp_tpa": _address(arp.pdst)}
        found |= {"arp_sha": _mac(arp.hwsrc), "arp_tha": _mac(arp.hwdst)}
    if protocol is not None:
        found["ip_proto"] = protocol
    for layer, name in ((TCP, "tcp"), (UDP, "udp"), (SCTP, "sctp")):
        if layer in packet:
            found |= {f"{name}_src": packet[layer].sport, f"{name}_dst": packet[layer].dport}
    for layer, name in ((ICMP, "icmpv4"), (ICMPv6EchoRequest, "icmpv6")):
        if layer in packet:
            found |= {f"{name}_type": packet[layer].type, f"{name}_code": packet[layer].code}
    return found


def set_field(packet: Packet, name: str, value: Any) -> None:
    """OpenFlow's set_field on scapy's layers; checksums are made anew."""
    if name in ("eth_dst", "eth_src"):
        setattr(packet, name[4:], value)
    elif name == "vlan_vid":
        packet[Dot1Q].vlan = value & 0xFFF
    elif name == "vlan_pcp":
        packet[Dot1Q].prio = value
    elif name in ("ipv4_src", "ipv4_dst"):
        setattr(packet[IP], name[5:], value)
    elif name in ("ipv6_src", "ipv6_dst"):
        setattr(packet[IPv6], name[5:], value)
    elif name == "ip_dscp":
        layer, key = (packet[IP], "tos") if IP in packet else (packet[IPv6], "tc")
        setattr(layer, key, value << 2 | getattr(layer, key) & 3)
    elif name == "ipv6_flabel":
        packet[IPv6].fl = value
    elif name in ("tcp_dst", "udp_dst"):
        packet[TCP if name[0] == "t" else UDP].dport = value
    else:
        assert name == "arp_op"
        packet[ARP].op = value


def push_vlan(packet: Packet, tpid: int) -> Packet:
    """OpenFlow's push_vlan: VLAN and priority of the tag that is there, else 0."""
    tag = {"vlan": packet[Dot1Q].vlan, "prio": packet[Dot1Q].prio} if Dot1Q in packet else {"vlan": 0, "prio": 0}
    ends = Ether(dst=packet.dst, src=packet.src, type=tpid)
    return ends / Dot1Q(**tag, type=packet.type) / packet.payload


def pop_vlan(packet: Packet) -> Packet:
    return Ether(dst=packet.dst, src=packet.src, type=packet[Dot1Q].type) / packet[Dot1Q].payload


def finished(packet: Packet) -> bytes:
    """The bytes, with checksums from nothing."""
    for layer in (IP, TCP, UDP, ICMP, ICMPv6EchoRequest):
        if layer in packet:
            delattr(packet[layer], "cksum" if layer is ICMPv6EchoRequest else "chksum")
    return bytes(packet)


@dataclass(frozen=True)
class Plan:
    """A flow of the judge: OpenFlow's names and the library's values."""

    table: int
    priority: int
    match: Mapping[str, Any]
    apply: tuple[tuple[Any, ...], ...]
    write: tuple[int, ...]  # output ports of the action set
    goto: int | None
    metadata: tuple[int, int] | None = None  # value and mask that are written

    def message(self) -> codec.OFPFlowMod:
        made = {
            "output": lambda port: codec.OFPActionOutput(port),
            "set": lambda name, value: codec.OFPActionSetField(**{name: value}),
            "dec": codec.OFPActionDecNwTtl,
            "push": codec.OFPActionPushVlan,
            "pop": codec.OFPActionPopVlan,
        }
        instructions: list[Any] = []
        if self.apply:
            instructions.append(
                codec.OFPInstructionActions(of.OFPIT_APPLY_ACTIONS, [made[kind](*rest) for kind, *rest in self.apply])
            )
        if self.write:
            outputs = [codec.OFPActionOutput(port) for port in self.write]
            instructions.append(codec.OFPInstructionActions(of.OFPIT_WRITE_ACTIONS, outputs))
        if self.metadata is not None:
            instructions.append(codec.OFPInstructionWriteMetadata(*self.metadata))
        if self.goto is not None:
            instructions.append(codec.OFPInstructionGotoTable(self.goto))
        match = codec.OFPMatch(**self.match)
        return codec.OFPFlowMod(None, table_id=self.table, priority=self.priority, match=match, instructions=instructions)

    def matches(self, fields: Mapping[str, int]) -> bool:
        for name, wanted in self.match.items():
            value, mask = wanted if isinstance(wanted, tuple) else (wanted, None)
            value, mask = (_number(one) for one in (value, mask))
            if name not in fields or (fields[name] ^ value) & (-1 if mask is None else mask):
                return False
        return True


def _number(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return _mac(value) if value.count(":") == 5 and len(value) == 17 else _address(value)


def judged(flows: Sequence[Plan], data: bytes, port: int) -> dict[int, list[bytes]]:
    """What leaves by each port, in order."""
    packet, later, table, metadata = Ether(data), (), 0, 0
    out: dict[int, list[bytes]] = {}

    def output(number: int) -> None:  # of the packet as it is now
        everywhere = [one for one in range(1, LANES + 1) if one != port]
        ports = {of.OFPP_FLOOD: everywhere, of.OFPP_ALL: everywhere, of.OFPP_IN_PORT: [port]}.get(number, [number])
        for one in ports:
            if one != port or number == of.OFPP_IN_PORT:
                out.setdefault(one, []).append(finished(packet.copy()))

    while True:
        fields = {**fields_of(packet, port), "metadata": metadata}
        here = [flow for flow in flows if flow.table == table and flow.matches(fields)]
        if not here:
            return out
        flow = max(here, key=lambda one: one.priority)
        for kind, *rest in flow.apply:
            if kind == "output":
                output(*rest)
            elif kind == "set":
                set_field(packet, *rest)
            elif kind in ("push", "pop"):
                packet = push_vlan(packet, *rest) if kind == "push" else pop_vlan(packet)
            else:
                layer, key = (packet[IP], "ttl") if IP in packet else (packet[IPv6], "hlim")
                if getattr(layer, key) <= 1:
                    return out
                setattr(layer, key, getattr(layer, key) - 1)
        later = flow.write or later
        if flow.goto is None:
            for number in later:
                output(number)
            return out
        value, mask = flow.metadata or (0, 0)
        table, metadata = flow.goto, metadata & ~mask | value & mask


def equal(left: Sequence[bytes], wanted: Sequence[bytes]) -> bool:
    """Whether the copies of a port are the right ones in the right order; two outputs without a change between them may be one."""
    rest = iter(left)
    copies = [one for one, _ in itertools.groupby(wanted)]
    return [one for one, _ in itertools.groupby(rest)] == copies and len(left) <= len(wanted)


MASKS = {
    "eth_dst": "01:00:00:00:00:00",
    "eth_src": "ff:ff:ff:ff:ff:00",
    "vlan_vid": 0x1000,
    "ipv4_src": "255.255.0.0",
    "ipv4_dst": "255.0.0.0",
    "ipv6_src": "ffff:ffff::",
    "ipv6_dst": "ffff::",
    "arp_tpa": "255.255.0.0",
    "tcp_dst": 0xFFF0,
}
ADDRESSES = ("eth_dst", "eth_src", "ipv4_dst", "ipv6_dst")
NEEDS = {"vlan_pcp": ["vlan_vid"], "ip": ["eth_type"], "arp": ["eth_type"]}
NEEDS |= {key: ["eth_type", "ip_proto"] for key in ("tcp", "udp", "sctp", "icmpv4", "icmpv6")}


def shown(name: str, value: int) -> Any:
    """A value as the library takes it."""
    if name.startswith(("ipv4_", "arp_spa", "arp_tpa")):
        return str(ipaddress.IPv4Address(value))
    if name in ("ipv6_src", "ipv6_dst"):
        return str(ipaddress.IPv6Address(value))
    if name in ("eth_dst", "eth_src", "arp_sha", "arp_tha"):
        return ":".join(f"{byte:02x}" for byte in value.to_bytes(6, "big"))
    return value


@st.composite
def plans(draw: st.DrawFn, sent: Sequence[bytes], wide: bool) -> Plan:
    """A flow that OpenFlow allows, and which a packet is likely to match; the device may refuse it. A wide one matches three
    addresses: more words than the key of one unit has."""
    number = draw(st.integers(0, len(sent) - 1))
    fields = fields_of(Ether(sent[number]), number % LANES + 1)
    names = {*draw(st.lists(st.sampled_from([*sorted(fields), "eth_type", "vlan_vid", "vlan_vid"]), max_size=3))}
    names |= {name for name in fields if wide and name.startswith(ADDRESSES)}
    for name in [*names]:
        names |= {*NEEDS.get(name, NEEDS.get("ip" if name[:2] == "ip" else name.partition("_")[0], []))} & fields.keys()
    if "vlan_pcp" in names and not fields["vlan_vid"]:
        names.remove("vlan_pcp")
    match: dict[str, Any] = {}
    for name in sorted(names, key=[*fields].index):
        match[name] = shown(name, fields[name])
        if name in MASKS and draw(st.integers(0, 2)) == 0:
            masked = fields[name] & _number(MASKS[name])
            match[name] = shown(name, masked), MASKS[name]
    changes: list[tuple[Any, ...]] = []
    for name, value in draw(st.lists(st.sampled_from(sorted(SETTABLE.items())), max_size=2)):
        needed = NEEDS.get("ip" if name[:2] == "ip" else name.partition("_")[0], [])
        if name in fields and all(one in match for one in needed) and (name != "vlan_vid" or match.get(name)):
            changes.append(("set", name, value))
    if match.get("eth_type") in (0x800, 0x86DD) and draw(st.booleans()):
        changes.append(("dec",))
    table = draw(st.sampled_from([0, 0, 1, 2]))
    goto = draw(st.sampled_from([None, *range(table + 1, TABLES)]))
    if goto is None:
        tags = draw(st.sampled_from([[], [], *TAGS, [("pop",)]] if match.get("vlan_vid") else [[], [], *TAGS]))
        at = draw(st.integers(0, len(changes)))
        changes[at:at] = tags
    ports = st.sampled_from([1, 2, 3, 4, of.OFPP_FLOOD, of.OFPP_IN_PORT, CONTROLLER])
    outputs = [("output", port) for port in draw(st.lists(ports, max_size=3))]
    steps = draw(st.one_of(st.just([*changes, *outputs]), st.permutations([*changes, *outputs])))
    write = draw(st.lists(ports, max_size=1))
    written = draw(st.sampled_from([None, None, (5, 0xF), (0x12345, 0xFFFFFFFF)])) if goto else None
    if table and draw(st.integers(0, 3)) == 0:
        match["metadata"] = draw(st.sampled_from([0, 5, 0x12345, (0x2340, 0xFFF0)]))
    return Plan(table, draw(st.integers(0, 60000)), match, tuple(steps), tuple(write), goto, written)


@st.composite
def cases(draw: st.DrawFn, wide: bool) -> tuple[list[bytes], list[Plan]]:
    """Packets and flows; no two of a table have the same priority, where OpenFlow would leave the choice open."""
    sent = draw(st.lists(packets, min_size=6, max_size=6))
    return sent, draw(st.lists(plans(sent, wide), min_size=4, max_size=10, unique_by=lambda one: (one.table, one.priority)))


@pytest.mark.parametrize(("wide", "examples"), [(False, 90), (True, 40)], ids=["narrow", "wide"])
def test_packets_leave_as_openflow_says(wide: bool, examples: int) -> None:
    bench, left, held_flows, of_two_units, different = Bench(4 * TABLES), Counter[int](), 0, 0, 0

    @settings(max_examples=examples, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(cases(wide))
    def check(case: tuple[list[bytes], list[Plan]]) -> None:
        nonlocal held_flows, of_two_units, different
        sent, wanted = case
        bench.ask(
            codec.OFPFlowMod(None, command=of.OFPFC_DELETE, table_id=of.OFPTT_ALL, out_port=of.OFPP_ANY, out_group=of.OFPG_ANY)
        )
        held = [plan for plan in wanted if bench.refused(plan.message()) is None]
        held_flows += len(held)
        pairs = itertools.pairwise(bench.switch.translation.owners)
        of_two_units += any(table == other and not finds and flows for (table, finds), (other, flows) in pairs)
        for number, data in enumerate(sent):
            lane = number % LANES
            got = bench.process(data, lane)
            left[len(got)] += 1
            wanted_copies = judged(held, data, lane + 1)
            assert {*got} == {*wanted_copies} and all(equal(got[port], wanted_copies[port]) for port in got), (
                held,
                data.hex(),
                lane,
            )
            different += any(len({*copies}) > 1 for copies in got.values()) or len({*itertools.chain(*got.values())}) > 1

    check()
    reached = held_flows > 2 * examples and left.total() - left[0] > examples // 10 and (not wide or of_two_units > 10)
    assert reached and (wide or different > 10), (held_flows, left, of_two_units, different)


def test_a_tag_is_pushed_set_and_popped() -> None:
    """Each with the packets that it is for, and one that a controller gets."""
    bench = Bench(TABLES)
    untagged, tagged = (_packet(tags, *MACS[:2], IP(src=IP4S[0], dst=IP4S[1]), UDP(), False) for tags in ([], [(7, 3)]))
    for match, tags, sent in (
        ({"vlan_vid": 0}, [("push", 0x8100), VLAN], untagged),
        ({"vlan_vid": 0}, [("push", 0x88A8), PRIORITY, VLAN], untagged),
        ({}, [("push", 0x8100)], untagged),
        ({}, [("push", 0x8100)], tagged),
        ({}, [("push", 0x8100), VLAN, PRIORITY], tagged),
        ({"vlan_vid": 0x1007, "vlan_pcp": 3}, [("push", 0x88A8), VLAN], tagged),
        ({"vlan_vid": 0x1007}, [VLAN, ("push", 0x8100)], tagged),
        ({"vlan_vid": 0}, [("output", 1), ("push", 0x8100), VLAN], untagged),
        ({"vlan_vid": 0x1007}, [VLAN, ("output", 1), ("push", 0x8100), ("output", 3)], tagged),
        ({"vlan_vid": 0x1007}, [VLAN, ("output", 3), ("pop",)], tagged),
        ({"vlan_vid": (0x1000, 0x1000)}, [("pop",)], tagged),
        ({"vlan_vid": (0x1000, 0x1000)}, [("push", 0x8100), ("pop",)], tagged),
    ):
        plan = Plan(0, 1, match, (*tags, ("output", 2), ("output", CONTROLLER)), (), None)
        assert bench.refused(plan.message()) is None, plan
        got, wanted = bench.process(sent, 0), judged([plan], sent, 1)
        assert {*got} == {*wanted} and all(equal(got[port], wanted[port]) for port in got), plan
        bench.ask(codec.OFPFlowMod(None, command=of.OFPFC_DELETE, out_port=of.OFPP_ANY, out_group=of.OFPG_ANY))


@pytest.mark.parametrize(
    ("match", "tags", "goto", "code"),
    [
        ({}, [("pop",)], None, of.OFPBAC_MATCH_INCONSISTENT),
        ({"vlan_vid": 0}, [("pop",)], None, of.OFPBAC_MATCH_INCONSISTENT),
        ({"vlan_vid": 0x1007}, [("pop",), VLAN], None, of.OFPBAC_MATCH_INCONSISTENT),
        ({"vlan_vid": 0x1007}, [("pop",), ("pop",)], None, of.OFPBAC_TOO_MANY),
        ({}, [("push", 0x8100), ("push", 0x8100)], None, of.OFPBAC_TOO_MANY),
        ({}, [("push", 0x800)], None, of.OFPBAC_BAD_ARGUMENT),
        ({}, [("push", 0x8100), VLAN], None, of.OFPBAC_BAD_SET_TYPE),
        ({}, [("push", 0x8100), ("set", "vlan_vid", 9)], None, of.OFPBAC_BAD_SET_ARGUMENT),
        ({}, [("push", 0x8100)], 1, of.OFPBAC_UNSUPPORTED_ORDER),
        ({"vlan_vid": 0}, [("push", 0x8100), ("output", 1), VLAN], None, of.OFPBAC_UNSUPPORTED_ORDER),
        ({"vlan_vid": 0x1007}, [("pop",), ("output", 1), ("set", "eth_dst", MACS[0])], None, of.OFPBAC_UNSUPPORTED_ORDER),
    ],
)
def test_a_tag_that_cannot_be_pushed_or_popped_is_refused(match: Any, tags: Any, goto: int | None, code: int) -> None:
    plan = Plan(0, 1, match, tuple(tags), (), goto)
    assert Bench(TABLES).refused(plan.message()) == (of.OFPET_BAD_ACTION, code)


def test_two_units_take_the_row_that_one_wide_unit_would() -> None:
    draw = random.Random(1)
    words = [*PLACES["eth_dst"], *PLACES["eth_src"], *PLACES["ip6_dst"][:6]]
    taken, two = Counter[int](), 0

    def requirement(count: int) -> dict[int, tuple[int, int]]:
        chosen = {source: draw.choice([1, 2, 3]) for source in draw.sample(words, count)}
        return {source: (draw.randrange(4) & mask, mask) for source, mask in chosen.items()}

    for _ in range(300):
        rows = [(requirement(draw.choice([1, 1, 2, 3])), action(verdict=L.VERDICT_FORWARD, queue=at), at + 1) for at in range(12)]
        try:
            units = translate._units([[*rows, ({}, action(queue=15), 0)]])
        except translate.TooWide:
            continue
        two += len(units) == 2
        programs = [translate._linked(unit.program, [number], 0) for number, unit in enumerate(units, 1)]
        for _ in range(20):
            phv = L.PipelinePhv(L.Parsed(containers=[draw.randrange(4) for _ in range(L.PIPELINE_CONTAINERS)]))
            held = sources_of(phv)
            wanted = next((at for at, (one, *_) in enumerate(rows) if all(not (held[s] ^ v) & m for s, (v, m) in one.items())), 15)
            for unit in programs:
                found = find(unit.selector, [(one.value, one.mask, one.action) for one in unit.entries], phv)
                last = unit.miss if found is None else unit.entries[found].action
                phv = execute(last, phv)
            assert last.queue == wanted, rows
            taken[wanted] += 1
    assert two > 50 and len(taken) > 10, (two, taken)
