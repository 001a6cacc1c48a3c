# SPDX-License-Identifier: Apache-2.0
"""Flows as the agent translates them, against a plain reading of OpenFlow on scapy's packets. The judge knows neither containers
nor units: it looks at what scapy dissects, runs the tables one by one, and changes scapy's layers."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from c65of import ofproto as of
from c65of.ofproto import parser as codec
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6, IPv6ExtHdrDestOpt
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.packet import Packet, Raw

from host.agent.testing.model import LANES, Bench

TABLES = 3
MACS = ["02:00:00:00:00:01", "02:00:00:00:00:02", "ff:ff:ff:ff:ff:ff"]
IP4S, IP6S = ["10.0.0.1", "10.0.1.2", "192.168.0.9"], ["2001:db8::1", "2001:db8:0:1::2", "fe80::1"]
PORTS = [53, 80, 4000]
CONTROLLER = of.OFPP_CONTROLLER

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
    for layer, name in ((TCP, "tcp"), (UDP, "udp")):
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
    elif name in ("ipv4_src", "ipv4_dst"):
        setattr(packet[IP], name[5:], value)
    elif name in ("ipv6_src", "ipv6_dst"):
        setattr(packet[IPv6], name[5:], value)
    elif name == "ip_dscp":
        layer, key = (packet[IP], "tos") if IP in packet else (packet[IPv6], "tc")
        setattr(layer, key, value << 2 | getattr(layer, key) & 3)
    elif name in ("tcp_dst", "udp_dst"):
        packet[TCP if name[0] == "t" else UDP].dport = value
    else:
        assert name == "arp_op"
        packet[ARP].op = value


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

    def message(self) -> codec.OFPFlowMod:
        made = {
            "output": lambda port: codec.OFPActionOutput(port),
            "set": lambda name, value: codec.OFPActionSetField(**{name: value}),
            "dec": codec.OFPActionDecNwTtl,
        }
        instructions: list[Any] = []
        if self.apply:
            instructions.append(
                codec.OFPInstructionActions(of.OFPIT_APPLY_ACTIONS, [made[kind](*rest) for kind, *rest in self.apply])
            )
        if self.write:
            outputs = [codec.OFPActionOutput(port) for port in self.write]
            instructions.append(codec.OFPInstructionActions(of.OFPIT_WRITE_ACTIONS, outputs))
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


def judged(flows: Sequence[Plan], data: bytes, port: int) -> dict[int, set[bytes]]:
    """What leaves by each port."""
    packet, out, later, table = Ether(data), {}, (), 0

    def output(number: int) -> None:
        everywhere = [one for one in range(1, LANES + 1) if one != port]
        ports = {of.OFPP_FLOOD: everywhere, of.OFPP_ALL: everywhere, of.OFPP_IN_PORT: [port]}.get(number, [number])
        for one in ports:
            if one != port or number == of.OFPP_IN_PORT:
                out.setdefault(one, set()).add(finished(packet.copy()))

    while True:
        fields = fields_of(packet, port)
        here = [flow for flow in flows if flow.table == table and flow.matches(fields)]
        if not here:
            return out
        flow = max(here, key=lambda one: one.priority)
        for kind, *rest in flow.apply:
            if kind == "output":
                output(*rest)
            elif kind == "set":
                set_field(packet, *rest)
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
        table = flow.goto


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """A flow that OpenFlow allows; the device may refuse it."""
    match: dict[str, Any] = {}
    network = draw(st.sampled_from([None, None, 0x800, 0x86DD, 0x806, 0x88B5]))

    def maybe(name: str, values: st.SearchStrategy[Any]) -> None:
        if draw(st.integers(0, 3)) == 0:
            match[name] = draw(values)

    maybe("in_port", st.integers(1, LANES))
    maybe("eth_dst", st.sampled_from([*MACS, ("01:00:00:00:00:00", "01:00:00:00:00:00")]))
    maybe("eth_src", st.sampled_from(MACS))
    maybe("vlan_vid", st.sampled_from([0, 0x1005, 0x1007, (0x1000, 0x1000)]))
    if isinstance(match.get("vlan_vid"), int) and match["vlan_vid"]:
        maybe("vlan_pcp", st.sampled_from([0, 3]))
    if network is not None:
        match["eth_type"] = network
    settable: list[tuple[str, st.SearchStrategy[Any]]] = [("eth_dst", st.sampled_from(MACS)), ("eth_src", st.sampled_from(MACS))]
    if match.get("vlan_vid"):
        settable.append(("vlan_vid", st.just(0x1007)))
    if network in (0x800, 0x86DD):
        kind, texts = ("ipv4", IP4S) if network == 0x800 else ("ipv6", IP6S)
        networks = [("10.0.0.0", "255.255.0.0")] if kind == "ipv4" else [("2001:db8::", "ffff:ffff::")]
        maybe(f"{kind}_src", st.sampled_from([*texts, *networks]))
        maybe(f"{kind}_dst", st.sampled_from([*texts, *networks]))
        maybe("ip_dscp", st.sampled_from([0, 10]))
        settable += [(f"{kind}_dst", st.sampled_from(texts)), ("ip_dscp", st.just(12))]
        protocol = draw(st.sampled_from([None, 6, 17, 1 if kind == "ipv4" else 58]))
        if protocol is not None:
            match["ip_proto"] = protocol
        if (name := {6: "tcp", 17: "udp"}.get(protocol or 0)) is not None:
            maybe(f"{name}_src", st.sampled_from(PORTS))
            maybe(f"{name}_dst", st.sampled_from(PORTS))
            settable.append((f"{name}_dst", st.sampled_from(PORTS)))
        elif protocol is not None:
            maybe("icmpv4_type" if protocol == 1 else "icmpv6_type", st.sampled_from([8, 128]))
    elif network == 0x806:
        maybe("arp_op", st.sampled_from([1, 2]))
        maybe("arp_tpa", st.sampled_from([*IP4S, ("10.0.0.0", "255.255.0.0")]))
        maybe("arp_sha", st.sampled_from(MACS))
        settable.append(("arp_op", st.just(2)))
    changes = draw(
        st.lists(st.sampled_from(settable).flatmap(lambda one: st.tuples(st.just("set"), st.just(one[0]), one[1])), max_size=2)
    )
    if network in (0x800, 0x86DD) and draw(st.booleans()):
        changes.append(("dec",))
    ports = st.sampled_from([1, 2, 3, of.OFPP_FLOOD, of.OFPP_IN_PORT, CONTROLLER])
    outputs = [("output", port) for port in draw(st.lists(ports, max_size=2))]
    write = draw(st.lists(ports, max_size=1))
    table = draw(st.integers(0, TABLES - 1))
    goto = draw(st.sampled_from([None, *range(table + 1, TABLES)]))
    return Plan(table, draw(st.integers(0, 60000)), match, (*changes, *outputs), tuple(write), goto)


@settings(max_examples=120, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(
    st.lists(plans(), min_size=1, max_size=8, unique_by=lambda one: (one.table, one.priority)),
    st.lists(packets, min_size=4, max_size=8),
)
def test_packets_leave_as_openflow_says(wanted: Sequence[Plan], sent: Sequence[bytes]) -> None:
    bench = Bench(TABLES)
    held = [plan for plan in wanted if bench.refused(plan.message()) is None]
    for number, data in enumerate(sent):
        lane = number % LANES
        got = bench.process(data, lane)
        expected = judged(held, data, lane + 1)
        assert {port: {one} for port, one in got.items()} == expected, (held, data.hex(), lane)
