# SPDX-License-Identifier: Apache-2.0
"""The judge's router and bridge: against frames that scapy makes, and packet by packet against the software switch, which shares no
code with them."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet

from host.judge.router import Bridge, Bridged, Routed, Router
from host.judge.rules import Rules, read_rules
from host.switch.testing import binding
from models import traffic, tunnels
from toolchain import ROOT
from toolchain.simulate import GENERATED

SEED, LANES = 20261122, 4
ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{ROOT}:{GENERATED}"}
OWN, NEIGHBOUR = "02:00:00:00:00:01", "02:00:00:00:01:01"
ENDS = "remote {} inner-mac 02:00:00:00:09:09"
FOUR, SIX = f"local 192.0.2.1 {ENDS.format('192.0.2.7')}", f"local 2001:db8:f::1 {ENDS.format('2001:db8:f::7')}"
TUNNELS = [
    f"via vxlan vni 70000 {FOUR}",
    f"vlan 9 via vxlan vni 7 {SIX}",
    f"via geneve vni 42 options 010203010a0b0c0d {SIX}",
    f"via geneve vni 16777215 {FOUR}",
    f"via nvgre vni 5 {FOUR}",
    f"vlan 4094 via gre {SIX}",
    f"via gre {FOUR}",
    "vlan 100",
    "",
]


def some_rules(choose: random.Random) -> str:
    """Routes of every kind over all addresses, with access rules or without."""
    routes = {}
    for _ in range(64):
        lane, length = choose.randrange(LANES), choose.choice((4, 5, 6, 8))
        first = choose.randrange(256) >> 8 - length << 8 - length
        for prefix in (f"{first}.0.0.0/{length}", f"{first:02x}00::/{length}"):
            routes[prefix] = f"route {prefix} lane {lane} next-hop 02:00:00:00:01:0{lane} {choose.choice(TUNNELS)}  # a route"
    lines = [f"lane {lane} mac {OWN if lane < 3 else '02:00:00:00:00:03'}" for lane in range(LANES)]
    for n in choose.sample(range(1000), choose.choice((0, 12))):
        protocol, verdict = choose.choice(("any", "tcp", "udp", "sctp", "icmp", "icmpv6", "47")), choose.choice(("permit", "deny"))
        ports = choose.choice(("port 7", "port 1000-50000", "")) if protocol in ("tcp", "udp", "sctp") else ""
        side = f"{choose.choice(('from', 'to'))} {choose.choice(('any', 'any', '0.0.0.0/1', '8000::/1'))} {ports}"
        lines.append(f"acl {n} {verdict} {protocol} {side} {choose.choice(('', '', f'lane {choose.randrange(LANES)}'))}")
    lines += ["tunnel address 10.0.0.1", "tunnel address 2001:db8::1", "policy mac-idle 30 offload-after 2"]
    return "\n".join([*lines, *routes.values()])


def some_packets(choose: random.Random) -> list[tuple[int, int, bytes]]:
    """Every kind of packet and damage as (time, lane, packet), most of them to the router; the clock also goes back, and far on."""
    random.seed(choose.random())
    plain = [*traffic.well_formed(), *traffic.malformed()]
    opened = [*tunnels.opened(), *tunnels.closed(), *tunnels.malformed_inside()]
    packets = [*plain, *opened, *(traffic.mutated(choose.choice(plain + opened)) for _ in range(400))]
    stations = [bytes(Ether(src=f"02:00:00:00:02:{n:02x}", dst=f"02:00:00:00:02:{(n * 7) % 40:02x}") / b"x") for n in range(40)]
    packets += stations * 4 + [packet[:12] + b"\x81\0\0\7" + packet[12:] for packet in stations]
    choose.shuffle(packets)
    now, timed, steps = 10_000_000, [], (1, 1000, 100_000, -90_000, 40_000_000, 2**32)
    for packet in packets:
        now += choose.choices(steps, (20, 20, 20, 20, 1, 1))[0]
        timed.append((now, choose.randrange(LANES), packet))
    return timed


@pytest.mark.parametrize("number", range(4))
def test_decides_as_the_software_switch_does(number: int, tmp_path: Path) -> None:
    choose = random.Random(SEED + number)
    path = tmp_path / "some.rules"
    path.write_text(some_rules(choose))
    switch, rules = binding.Switch(binding.Rules(path), LANES), read_rules(path)
    router, bridge = Router(rules), Bridge(LANES, rules.mac_idle)
    kinds = {"routed": 0, "alone": 0, "flooded": 0, "dropped": 0}
    for now, lane, packet in some_packets(choose):
        sent, decision = switch.send(packet, lane, now), router.decide(packet, lane)
        expected: tuple[bytes | None, set[int]] = (None, set())
        if isinstance(decision, Routed):
            expected = (decision.data, {decision.lane})
        elif isinstance(decision, Bridged) and (lanes := bridge.send(decision, now)):
            expected = (packet, set(lanes))
        assert (sent.data, set(sent.lanes)) == expected, (SEED + number, now, lane, packet.hex())
        kinds["routed" if isinstance(decision, Routed) else ("dropped", "alone", "flooded")[min(len(expected[1]), 2)]] += 1
    assert all(kinds.values()), kinds


def rules_of(tmp_path: Path, text: str) -> Rules:
    path = tmp_path / "some.rules"
    path.write_text(text)
    return read_rules(path)


ROUTES = f"lane 0 mac {OWN}\nlane 1 mac {OWN}\nroute 10.2.0.0/16 lane 1 next-hop {NEIGHBOUR}\n"


@pytest.mark.parametrize("transport", [TCP(sport=1, dport=2), UDP(sport=3, dport=4) / b"odd", ICMP(id=5)])
@pytest.mark.parametrize("vlan", [0, 100])
def test_routes_as_scapy_does(transport: Packet, vlan: int, tmp_path: Path) -> None:
    rules = rules_of(tmp_path, ROUTES + f"route 10.3.0.0/16 lane 1 next-hop {NEIGHBOUR} vlan 100\n")
    for ttl in (2, 64, 255):
        packet = Ether(dst=OWN, src="02:00:00:00:01:00") / IP(src="10.1.0.1", dst=f"10.{3 if vlan else 2}.0.1", ttl=ttl) / transport
        out = Ether(bytes(packet))[IP]
        out.ttl -= 1
        del out.chksum
        frame = Ether(dst=NEIGHBOUR, src=OWN) / (Dot1Q(vlan=vlan) / out if vlan else out)
        decision = Router(rules).decide(bytes(packet), 0)
        assert isinstance(decision, Routed) and (decision.data, decision.lane) == (bytes(frame), 1)


def test_packets_of_a_flow_are_of_one_lane(tmp_path: Path) -> None:
    router = Router(rules_of(tmp_path, ROUTES))

    def flow(lane: int, packet: Packet) -> int:
        decision = router.decide(bytes(Ether(dst=OWN, src="02:00:00:00:01:00") / packet), lane)
        assert decision is not None
        return decision.flow

    packet = IP(src="10.1.0.1", dst="10.2.0.1") / UDP(sport=1, dport=2)
    same = {flow(0, packet), flow(0, packet / b"more"), flow(0, IP(src="10.1.0.1", dst="10.2.0.1", ttl=9) / UDP(sport=1, dport=2))}
    others = {
        flow(1, packet),
        flow(0, IP(src="10.1.0.1", dst="10.2.0.1") / UDP(sport=1, dport=3)),
        flow(0, IP(src="10.1.0.1", dst="10.2.0.1") / ICMP()),
    }
    assert len(same) == 1 and len(others) == 3 and not same & others


def test_reads_everything_that_the_guide_has(tmp_path: Path) -> None:
    text = f"""{ROUTES}
        lane 3 mac 02:00:00:00:00:33
        route ::/0 lane 3 next-hop {NEIGHBOUR} vlan 7 via geneve vni 8 options 01020304 {SIX} # behind
        acl 20 deny tcp from any port 5-6 to 10.2.0.0/16 port 22 lane 1
        acl 10 permit any
        tunnel address 10.3.0.1
        policy offload-after 3 mac-idle 9 idle 4"""
    rules = rules_of(tmp_path, text)
    assert rules.lane_mac == {0: bytes.fromhex("020000000001"), 1: bytes.fromhex("020000000001"), 3: bytes.fromhex("020000000033")}
    route = rules.routes[6][0][0]
    assert (route.lane, route.vlan) == (3, 7)
    assert route.tunnel and (route.tunnel.kind, route.tunnel.id, route.tunnel.options) == ("geneve", 8, b"\1\2\3\4")
    assert [(rule.number, rule.permits, rule.protocol, rule.lane) for rule in rules.access] == [
        (10, True, None, None),
        (20, False, 6, 1),
    ]
    assert (rules.access[1].source.ports, rules.access[1].destination.ports) == (range(5, 7), range(22, 23))
    assert (rules.tunnel_address, rules.mac_idle) == ({4: 0x0A030001}, 9)
    with pytest.raises(ValueError, match="unexpected"):
        rules_of(tmp_path, ROUTES + "lane 2 mac 02:00:00:00:00:01 more")


def test_shares_no_code_with_what_it_judges() -> None:
    text = "import sys, host.judge.compare; print(*(name for name in sys.modules if name.startswith(('host.', 'ctypes'))))"
    done = subprocess.run([sys.executable, "-c", text], cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert all(name.startswith("host.judge") for name in done.stdout.split()), done.stdout
