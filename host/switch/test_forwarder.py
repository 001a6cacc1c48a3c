# SPDX-License-Identifier: Apache-2.0
"""The software switch: what becomes of packets, what may be remembered, and that a device with the rules would do the same."""

import random
from pathlib import Path

import pytest
import sluice_layouts as layouts
from scapy.contrib.geneve import GENEVE, GeneveOptions
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_Router_Alert
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6, IPv6ExtHdrHopByHop
from scapy.layers.l2 import ARP, GRE, Dot1Q, Ether
from scapy.layers.sctp import SCTP
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet, Raw
from sluice_layouts import L3Kind, Meta, PhvRecord, Verdict

from host.packet.testing.binding import captured
from host.switch.testing.binding import Decision, Rules, Switch
from models import actions as action_model
from models import packet as packet_model
from models import traffic, tunnels
from toolchain import ROOT

SEED = 1
OWN = [f"02:00:00:00:00:0{n}" for n in range(4)]
HOSTS = [f"02:00:00:00:01:0{n}" for n in range(4)]
BASE = "\n".join(
    [f"lane {n} mac {OWN[n]}" for n in range(4)]
    + [f"route 10.{n + 1}.0.0/16 lane {n} next-hop {HOSTS[n]}" for n in range(4)]
    + [f"route 2001:db8:{n + 1}0::/48 lane {n} next-hop {HOSTS[n]}" for n in range(4)]
    + [f"route 10.3.7.0/24 lane 1 next-hop {HOSTS[1]} vlan 100\n"]
)


def switch(tmp_path: Path, more: str = "", lanes: int = 4) -> Switch:
    path = tmp_path / "some.rules"
    path.write_text(BASE + more)
    return Switch(Rules(path), lanes)


def to_router(lane: int = 0) -> Packet:
    return Ether(dst=OWN[lane], src=HOSTS[lane])


def v4(dst: str = "10.2.1.1", src: str = "10.1.1.1", **fields: object) -> Packet:
    return to_router() / IP(src=src, dst=dst, **fields)


def v6(dst: str = "2001:db8:20::1", **fields: object) -> Packet:
    return to_router() / IPv6(src="2001:db8:10::1", dst=dst, **fields)


def routed(frame: Packet, lane: int, vlan: int | None = None) -> bytes:
    """What a router makes of a frame, all checksums computed afresh."""
    out = Ether(bytes(frame))
    out.src, out.dst = OWN[lane], HOSTS[lane]
    if IP in out:
        out[IP].ttl -= 1
        del out[IP].chksum
    else:
        out[IPv6].hlim -= 1
    if vlan is None:
        return bytes(out)
    return bytes(out)[:12] + b"\x81\x00" + vlan.to_bytes(2, "big") + bytes(out)[12:]


@pytest.mark.parametrize("transport", [TCP(sport=1, dport=2), UDP(sport=3, dport=4), ICMP(id=5), SCTP(sport=6, dport=7)])
def test_routes_ipv4_of_every_transport(transport: Packet, tmp_path: Path) -> None:
    for ttl in (2, 64, 255):
        frame = v4(ttl=ttl, tos=7) / transport / b"payload"
        sent = switch(tmp_path).send(bytes(frame))
        assert sent.lanes == {1}
        assert sent.data == routed(frame, 1)


OPTIONS = GeneveOptions(classid=0xF102, type=0x93, data=bytes.fromhex("8a5b6c7d"))
TUNNELS = {
    "vxlan vni 70000": UDP(dport=4789) / VXLAN(flags=8, vni=70000),
    "geneve vni 42": UDP(dport=6081) / GENEVE(proto=0x6558, vni=42),
    "geneve vni 42 options f10293018A5b6C7d": UDP(dport=6081) / GENEVE(proto=0x6558, vni=42, options=OPTIONS),
    "nvgre vni 5": GRE(proto=0x6558, key_present=1, key=5 << 8),
    "gre": GRE(proto=0x6558),
}


@pytest.mark.parametrize("via", TUNNELS)
@pytest.mark.parametrize("ends", [("192.0.2.1", "192.0.2.7"), ("2001:db8::1", "2001:db8::7")])
def test_routes_into_tunnels_as_scapy_makes_them(via: str, ends: tuple[str, str], tmp_path: Path) -> None:
    rule = f"route 10.9.0.0/16 lane 2 next-hop {HOSTS[2]} vlan 7 via {via}"
    rule += f" local {ends[0]} remote {ends[1]} inner-mac 02:00:00:00:09:09"
    frame = v4(dst="10.9.1.1", ttl=9) / UDP(sport=77, dport=88) / bytes(100)
    inside = Ether(routed(frame, 2))
    inside.dst = "02:00:00:00:09:09"
    sent = switch(tmp_path, rule).send(bytes(frame))
    assert sent.data is not None and sent.lanes == {2}
    head = TUNNELS[via].copy()
    if UDP in head:
        head[UDP].sport, head[UDP].chksum = Ether(sent.data)[UDP].sport, 0
        assert head[UDP].sport >= 49152
    number = 17 if UDP in head else 47
    ip = (
        IP(src=ends[0], dst=ends[1], id=0, flags="DF", proto=number)
        if "." in ends[0]
        else IPv6(src=ends[0], dst=ends[1], nh=number)
    )
    assert sent.data == bytes(Ether(src=OWN[2], dst=HOSTS[2]) / Dot1Q(vlan=7) / ip / head / Raw(bytes(inside)))


@pytest.mark.parametrize("transport", [TCP(sport=1, dport=2), UDP(sport=3, dport=4), ICMPv6EchoRequest(id=5)])
def test_routes_ipv6_of_every_transport(transport: Packet, tmp_path: Path) -> None:
    frame = v6(hlim=2, tc=9, fl=77) / transport / b"payload"
    sent = switch(tmp_path).send(bytes(frame))
    assert (sent.lanes, sent.data) == ({1}, routed(frame, 1))


def test_the_longest_prefix_wins_and_adds_its_tag(tmp_path: Path) -> None:
    frame = v4("10.3.7.9") / UDP() / (b"x" * 100)
    sent = switch(tmp_path).send(bytes(frame))
    assert (sent.lanes, sent.data) == ({1}, routed(frame, 1, vlan=100))
    assert switch(tmp_path).send(bytes(v4("10.3.8.9") / UDP())).lanes == {2}


def test_finds_the_longest_of_many_prefixes(tmp_path: Path) -> None:
    random.seed(SEED)
    routes: dict[tuple[int, int], int] = {}
    for length in [0, 32, *(random.randrange(4, 33) for _ in range(300))]:
        routes.setdefault((random.getrandbits(32) >> (32 - length) << (32 - length) if length else 0, length), random.randrange(4))
    lines = [
        f"route {'.'.join(map(str, value.to_bytes(4, 'big')))}/{length} lane {lane} next-hop {HOSTS[lane]}"
        for (value, length), lane in routes.items()
    ]
    path = tmp_path / "many.rules"
    path.write_text("\n".join([*(f"lane {n} mac {OWN[n]}" for n in range(4)), *lines]))
    subject = Switch(Rules(path))
    for _ in range(500):
        near, _ = random.choice(list(routes))
        address = near ^ random.getrandbits(random.randrange(33))
        length, lane = max((length, lane) for (value, length), lane in routes.items() if not (value ^ address) >> (32 - length))
        decision = subject.decide(bytes(v4(".".join(map(str, address.to_bytes(4, "big")))) / UDP()))
        assert decision.egress_mask == 1 << lane, f"{address:08x}/{length}"


def test_a_route_may_be_to_one_address(tmp_path: Path) -> None:
    more = f"route 10.2.1.1/32 lane 3 next-hop {HOSTS[3]}\nroute 2001:db8:20::1/128 lane 2 next-hop {HOSTS[2]}\n"
    subject = switch(tmp_path, more)
    lanes = [subject.send(bytes(v4(dst) / UDP())).lanes for dst in ("10.2.1.0", "10.2.1.1", "10.2.1.2", "10.2.129.1")]
    assert lanes == [{1}, {3}, {1}, {1}]
    lanes = [subject.send(bytes(v6(f"2001:db8:20::{last}") / UDP())).lanes for last in ("0", "1", "2", "8001")]
    assert lanes == [{1}, {2}, {1}, {1}]


def test_a_packet_may_leave_by_the_lane_that_it_came_from(tmp_path: Path) -> None:
    frame = v4("10.1.2.2") / UDP()
    sent = switch(tmp_path).send(bytes(frame))
    assert (sent.lanes, sent.data) == ({0}, routed(frame, 0))


@pytest.mark.parametrize("frame", [v4(ttl=0) / UDP(), v4(ttl=1) / UDP(), v6(hlim=0) / UDP(), v6(hlim=1) / UDP()])
def test_drops_packet_when_ttl_expires(frame: Packet, tmp_path: Path) -> None:
    sent = switch(tmp_path).send(bytes(frame))
    assert (sent.data, sent.lanes, sent.decision.cause_name) == (None, frozenset(), "ttl")


def test_drops_what_has_no_route(tmp_path: Path) -> None:
    subject = switch(tmp_path)
    for frame in (v4("192.0.2.1") / UDP(), v6("2001:db8:ffff::1") / UDP()):
        sent = subject.send(bytes(frame))
        assert (sent.data, sent.decision.cause_name, sent.decision.cacheable) == (None, "no_route", 0)
    assert list(subject.counters.drops) == [0, 0, 0, 0, 2, 0, 0, 0, 0]


def test_drops_and_names_what_is_malformed(tmp_path: Path) -> None:
    random.seed(SEED)
    subject = switch(tmp_path)
    for packet in [*traffic.malformed(), *traffic.truncated()]:
        fault = packet_model.parse(packet, Meta(length=len(packet))).fault
        decision = subject.decide(packet)
        if fault and fault != layouts.Fault.FAULT_MPLS:
            assert (decision.cause_name, decision.fault, decision.egress_mask) == ("malformed", fault, 0)
        else:
            assert decision.cause_name != "malformed"
    assert subject.decide(bytes(10000)).cause_name == "oversize"


ACLS = """
acl 10 deny tcp from 10.0.0.0/8 port 1000-2000 to any port 22
acl 20 permit tcp to 10.2.0.0/16
acl 30 permit udp from any to any port 53 lane 1
acl 40 permit icmp
acl 50 permit 132
acl 60 permit any from 2001:db8:10::/48
"""


@pytest.mark.parametrize(
    ("frame", "rule", "permitted"),
    [
        (v4() / TCP(sport=1000, dport=22), 10, False),
        (v4() / TCP(sport=2000, dport=22), 10, False),
        (v4() / TCP(sport=999, dport=22), 20, True),
        (v4() / TCP(sport=2001, dport=22), 20, True),
        (v4() / TCP(sport=1500, dport=23), 20, True),
        (v4(src="11.1.1.1") / TCP(sport=1500, dport=22), 20, True),
        (v4("10.4.1.1") / TCP(sport=1, dport=80), -1, False),
        (v4() / UDP(sport=1, dport=53), -1, False),
        (v4() / ICMP(), 40, True),
        (v4() / SCTP(), 50, True),
        (v4(frag=9, proto=6) / b"later fragment", 20, True),
        (v6() / TCP(sport=1500, dport=22), 60, True),
        (to_router() / IPv6(src="2001:db8:11::1", dst="2001:db8:20::1") / UDP(), -1, False),
    ],
)
def test_the_first_access_rule_that_matches_decides(frame: Packet, rule: int, permitted: bool, tmp_path: Path) -> None:
    decision = switch(tmp_path, ACLS).decide(bytes(frame))
    assert (decision.acl, decision.cause_name) == (rule, "none" if permitted else "denied")
    assert decision.acl_verdict.listed() == ([] if permitted else [("DROP", 0)])


def test_access_rules_count_by_number_not_by_line(tmp_path: Path) -> None:
    subject = switch(tmp_path, "acl 20 permit any\nacl 10 deny udp\n")
    assert [subject.decide(bytes(v4() / kind)).acl for kind in (UDP(), TCP())] == [10, 20]


def test_a_decision_that_read_the_lane_is_not_remembered(tmp_path: Path) -> None:
    subject = switch(tmp_path, ACLS)
    from_other = to_router(1) / IP(src="10.1.1.1", dst="10.2.1.1") / UDP(dport=53)
    assert subject.send(bytes(from_other), lane=1).lanes == {1}
    for packet, lane in ((from_other, 1), (v4() / UDP(dport=53), 0)):
        assert subject.decide(bytes(packet), lane).cacheable == 0
    assert subject.decide(bytes(v4() / UDP(dport=54))).cacheable == 1


@pytest.mark.parametrize(
    "frame",
    [
        v4(options=[IPOption_Router_Alert()]) / UDP(),
        v4(flags="MF") / UDP(),
        v4(frag=10) / b"later fragment",
        v6() / IPv6ExtHdrHopByHop() / UDP(),
    ],
)
def test_what_the_device_does_not_admit_is_forwarded_but_not_remembered(frame: Packet, tmp_path: Path) -> None:
    sent = switch(tmp_path).send(bytes(frame))
    assert sent.decision.cacheable == 0
    assert sent.data == routed(frame, 1)


def test_keys_are_those_of_the_exact_table(tmp_path: Path) -> None:
    subject = switch(tmp_path)
    four = subject.decide(bytes(v4() / TCP(sport=5, dport=6)))
    assert (four.table_id, four.route, four.is_routed) == (layouts.Table.TABLE_IPV4, 1, 1)
    key = layouts.FiveTuple4(ip_src=0x0A010101, ip_dst=0x0A020101, ip_protocol=6, l4_src=5, l4_dst=6)
    assert int.from_bytes(bytes(four.key), "little") == key.to_int()
    six = subject.decide(bytes(v6() / ICMPv6EchoRequest()))
    source, target = 0x20010DB8001000000000000000000001, 0x20010DB8002000000000000000000001
    key6 = layouts.FiveTuple6(ip_src=source, ip_dst=target, ip_protocol=58, l4_src=128, l4_dst=0)
    assert six.table_id == layouts.Table.TABLE_IPV6
    assert int.from_bytes(bytes(six.key), "little") == key6.to_int()


# ---- The bridge


def station(dst: str, src: str, vlan: int | None = None) -> bytes:
    tag = Ether(dst=dst, src=src) if vlan is None else Ether(dst=dst, src=src) / Dot1Q(vlan=vlan)
    return bytes(tag / ARP())


A, B, ALL = "02:0a:00:00:00:01", "02:0b:00:00:00:01", "ff:ff:ff:ff:ff:ff"


def test_floods_what_it_does_not_know_and_learns_where_it_came_from(tmp_path: Path) -> None:
    subject = switch(tmp_path)
    first = subject.send(station(B, A), lane=2)
    assert (first.lanes, first.data, first.decision.is_flooded) == ({0, 1, 3}, station(B, A), 1)
    assert subject.send(station(A, B), lane=1).lanes == {2}
    assert subject.send(station(B, A), lane=2).lanes == {1}
    assert subject.send(station(ALL, A), lane=2).lanes == {0, 1, 3}
    assert (subject.counters.packets, subject.counters.bridged, subject.counters.flooded) == (4, 4, 2)


def test_never_sends_back_to_the_lane_it_came_from(tmp_path: Path) -> None:
    subject = switch(tmp_path)
    subject.send(station(ALL, A), lane=2)
    sent = subject.send(station(A, B), lane=2)
    assert (sent.data, sent.lanes, sent.decision.cause_name) == (None, frozenset(), "no_port")
    path = tmp_path / "plain.rules"
    path.write_text("")
    assert Switch(Rules(path), lanes=1).decide(station(ALL, A)).cause_name == "no_port"


def test_a_station_that_moves_is_found_at_its_new_lane(tmp_path: Path) -> None:
    subject = switch(tmp_path)
    subject.send(station(ALL, A), lane=2)
    subject.send(station(ALL, A), lane=3)
    assert subject.send(station(A, B), lane=0).lanes == {3}


def test_learns_for_each_vlan_by_itself(tmp_path: Path) -> None:
    subject = switch(tmp_path)
    subject.send(station(ALL, A, vlan=5), lane=2)
    assert subject.send(station(A, B, vlan=5), lane=0).lanes == {2}
    assert subject.send(station(A, B, vlan=6), lane=0).lanes == {1, 2, 3}
    assert subject.send(station(A, B), lane=0).lanes == {1, 2, 3}


def test_forgets_an_address_after_its_time_however_long(tmp_path: Path) -> None:
    subject = switch(tmp_path, "policy mac-idle 10\n")
    start = 2**32 - 5_000_000
    subject.send(station(ALL, A), lane=2, now=start)
    assert subject.send(station(A, B), lane=0, now=start + 9_999_999).lanes == {2}
    assert subject.send(station(A, B), lane=0, now=start + 10_000_000).lanes == {1, 2, 3}
    assert subject.send(station(A, B), lane=0, now=start + 2**32).lanes == {1, 2, 3}


def test_knows_what_it_learned_from_a_lane_whose_capture_is_ahead(tmp_path: Path) -> None:
    subject = switch(tmp_path)
    subject.send(station(ALL, A), lane=2, now=1000)
    assert subject.send(station(A, B), lane=0, now=999).lanes == {2}


def test_a_full_table_forgets_and_floods_but_never_sends_astray(tmp_path: Path) -> None:
    subject = switch(tmp_path)
    frame = lambda dst, src: dst + src + b"\x08\x06" + bytes(46)  # noqa: E731
    macs = [b"\x02\x0c" + n.to_bytes(4, "big") for n in range(12000)]
    for n, mac in enumerate(macs):
        subject.decide(frame(b"\xff" * 6, mac), lane=n % 3, now=n)
    masks = [subject.decide(frame(mac, bytes(6)), lane=3, now=12000).egress_mask for mac in macs]
    assert all(mask in (0b111, 1 << n % 3) for n, mask in enumerate(masks))
    known = sum(mask != 0b111 for mask in masks)
    assert 2000 < known <= 4096
    assert known == sum(mask != 0b111 for mask in masks[-8000:]), "it forgets the oldest"


@pytest.mark.parametrize(
    "frame",
    [
        Ether(dst=OWN[0], src=A) / ARP(),
        Ether(dst=OWN[0], src=A) / Dot1Q(vlan=100) / IP(dst="10.2.1.1") / UDP(),
        Ether(dst=OWN[1], src=A) / IP(dst="10.2.1.1") / UDP(),
        Ether(dst="01:00:5e:00:00:fb", src=A) / IP(dst="224.0.0.251") / UDP(),
        Ether(dst=OWN[0], src=A, type=0x8847) / bytes(46),
    ],
)
def test_bridges_what_is_not_for_the_router(frame: Packet, tmp_path: Path) -> None:
    sent = switch(tmp_path, "acl 10 deny any\n").send(bytes(frame))
    assert (sent.data, sent.lanes) == (bytes(frame), {1, 2, 3})
    assert (sent.decision.is_routed, sent.decision.cacheable) == (0, 0)


def test_what_belongs_to_one_link_stays_there(tmp_path: Path) -> None:
    subject = switch(tmp_path)
    assert subject.decide(station("01:80:c2:00:00:0e", A)).cause_name == "link_local"
    assert subject.decide(station("01:80:c2:00:00:10", A)).cause_name == "none"


def test_a_packet_of_a_group_source_teaches_nothing(tmp_path: Path) -> None:
    subject = switch(tmp_path)
    subject.send(station(ALL, "03:00:00:00:00:01"), lane=1)
    assert subject.send(station("03:00:00:00:00:01", A), lane=0).lanes == {1, 2, 3}


def test_routed_packets_teach_the_bridge_nothing(tmp_path: Path) -> None:
    subject = switch(tmp_path)
    subject.send(bytes(v4() / UDP()), lane=0)
    assert subject.send(station(HOSTS[0], B), lane=1).lanes == {0, 2, 3}, "the device answers routed packets alone"


def test_refuses_lanes_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="Invalid"):
        switch(tmp_path, lanes=3)
    with pytest.raises(OSError, match="Invalid"):
        switch(tmp_path, lanes=8)
    with pytest.raises(OSError, match="Invalid"):
        switch(tmp_path).decide(station(ALL, A), lane=4)


# ---- Tunnels to the router


OPEN = "tunnel address 10.0.0.1\ntunnel address 2001:db8::1\n"


def tunnelled(inner: bytes | Packet, lane: int = 0) -> list[bytes]:
    """The packet in a tunnel of every kind to the router."""
    random.seed(SEED)
    stacks = [stack / inner for header in tunnels.sound() for stack in tunnels.outer(header)]
    return [bytes.fromhex(OWN[lane].replace(":", "")) + bytes(stack)[6:] for stack in stacks]


@pytest.mark.parametrize("frame", [v4() / UDP(sport=5, dport=6) / b"a", v6() / TCP(sport=5, dport=6)], ids=["IPv4", "IPv6"])
def test_what_comes_in_a_tunnel_is_routed_without_it(frame: Packet, tmp_path: Path) -> None:
    subject = switch(tmp_path, OPEN + "acl 1 permit any\n")
    plain = subject.send(bytes(frame))
    for packet in tunnelled(frame):
        sent = subject.send(packet)
        assert (sent.data, sent.lanes) == (routed(frame, 1), {1})
        assert sent.decision.cacheable and bytes(sent.decision.key) == bytes(plain.decision.key)
        assert by_device(subject, packet, 0, plain.decision) == (sent.data, 2)
    assert subject.counters.routed == 1 + len(tunnelled(frame))


@pytest.mark.parametrize(
    "inner, cause",
    [
        (bytes(v4() / UDP())[:30], "malformed"),
        (b"short", "malformed"),
        (bytes(v4(ttl=1) / UDP()), "ttl"),
        (bytes(v4(dst="99.1.1.1") / UDP()), "no_route"),
        (bytes(Ether(dst=HOSTS[1], src=HOSTS[0]) / IP(dst="10.2.1.1") / UDP()), "tunnel"),
        (bytes(Ether(dst="ff:ff:ff:ff:ff:ff", src=HOSTS[0]) / ARP()), "tunnel"),
        (bytes(to_router() / Dot1Q(vlan=1) / IP(dst="10.2.1.1") / UDP()), "tunnel"),
    ],
    ids=["cut", "no Ethernet", "TTL", "no route", "another station", "ARP", "tagged"],
)
def test_what_cannot_be_routed_out_of_a_tunnel_is_dropped(inner: bytes, cause: str, tmp_path: Path) -> None:
    subject = switch(tmp_path, OPEN)
    assert {subject.send(packet).decision.cause_name for packet in tunnelled(inner)} == {cause}


def test_a_tunnel_to_somebody_else_is_routed_as_it_is(tmp_path: Path) -> None:
    inner = bytes(v4() / UDP())
    packet = v4(dst="10.3.1.1") / UDP(sport=50000, dport=4789) / (bytes.fromhex("0800000000000500") + inner)
    assert switch(tmp_path, OPEN).send(bytes(packet)).data == routed(packet, 2)
    packet[IP].dst = "10.0.0.1"
    assert switch(tmp_path).send(bytes(packet)).decision.cause_name == "no_route", "no address opens tunnels"


# ---- The device with these rules


def by_device(subject: Switch, packet: bytes, lane: int, decision: Decision) -> tuple[bytes | None, int]:
    """Packet and lanes as the device would send them once the rules are installed: admission, exact table, LPM table."""
    own = subject.rules.own(lane)
    addresses = ((own.has_ipv4, own.ipv4), (own.has_ipv6, own.ipv6))
    ends = [int.from_bytes(bytes(address), "little") if has else None for has, address in addresses]
    meta = Meta(length=len(packet), ingress_port=lane)
    record: PhvRecord = packet_model.parse(packet, meta, packet_model.Own((own.mac,) * 4, *ends))
    info = record.info
    assert not record.fault and info.l3_kind in (L3Kind.L3_IPV4, L3Kind.L3_IPV6) and not info.tags
    assert record.phv.eth_dst == subject.rules.lane_mac(lane) and not info.ip_options and not info.is_fragment
    record.eligible, record.required, record.hits = 1, 3, 3
    edit_data = subject.rules.edit_data + [0] * (256 - len(subject.rules.edit_data))
    action_model.execute(record, decision.acl_verdict.packed(), [0] * 256)
    action_model.execute(record, subject.rules.routes[decision.route].actions.packed(), edit_data)
    outcome = packet_model.deparse(packet, Meta(length=len(packet)), record)
    forwarded = outcome.meta.verdict == Verdict.VERDICT_FORWARD
    return outcome.data, outcome.meta.egress_mask if forwarded and outcome.data is not None else 0


def test_the_device_does_the_same_for_every_remembered_packet_of_the_captures() -> None:
    subject = Switch(Rules(ROOT / "testing" / "captures" / "mixed.rules"))
    device: dict[tuple[int, bytes], Decision] = {}
    compared, causes = 0, set()
    for now, (lane, packet) in enumerate(captured(limit=1200)):
        sent = subject.send(packet, lane, now)
        causes.add(sent.decision.cause_name)
        if not sent.decision.cacheable:
            continue
        remembered = device.setdefault((sent.decision.table_id, bytes(sent.decision.key)), sent.decision)
        assert by_device(subject, packet, lane, remembered) == (sent.data, sent.decision.egress_mask), packet.hex()
        compared += 1
    assert compared > 3500
    assert causes >= {"none", "ttl", "denied", "no_route", "link_local"}
