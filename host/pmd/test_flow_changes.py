# SPDX-License-Identifier: Apache-2.0
"""What actions of rte_flow make of packets is what scapy builds: fields, checksums, tags, headers in front."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import sluice_layouts as L
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6
from scapy.layers.l2 import Dot1AD, Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet, Raw
from scapy.utils import wrpcap

from host.pmd.test_flow import VXLAN_SETTINGS, errors_of
from host.pmd.test_pmd import read
from models.packet import parse
from models.template import entropy
from testing.device import HOST
from testing.testpmd import Testpmd

BODY = Raw(bytes(range(77)))  # odd, for the checksums
PORTS = {"sport": 1000, "dport": 53}
PUSH = "of_push_vlan ethertype {} / of_set_vlan_pcp vlan_pcp {} / of_set_vlan_vid vlan_vid {} / "
MAC = "02:00:00:00:00:{:02x}"


def four(**changes: object) -> Packet:
    return IP(**{"src": "10.0.0.1", "dst": "10.1.0.1", "ttl": 64, "tos": 0x2D, "id": 7, **changes})


def six(**changes: object) -> Packet:
    return IPv6(**{"src": "2001:db8::1", "dst": "2001:db8:1::1", "hlim": 64, "tc": 9, "fl": 5, **changes})


@dataclass(frozen=True)
class Case:
    """Items behind ETH, actions in front of the output; a packet behind its Ethernet addresses before and after. None: dropped."""

    items: str
    actions: str
    before: Packet
    after: Packet | None
    addresses: dict[str, str] = field(default_factory=dict)


CASES = [
    Case("/ ipv4", "set_mac_src mac_addr 02:00:00:00:00:05 / set_mac_dst mac_addr 02:00:00:00:00:06 / set_ttl ttl_value 63 / ",
         four() / UDP(**PORTS) / BODY, four(ttl=63) / UDP(**PORTS) / BODY, {"src": MAC.format(5), "dst": MAC.format(6)}),
    Case("/ ipv4 / udp", "set_ipv4_src ipv4_addr 1.2.3.4 / set_tp_src port 99 / dec_ttl / ",
         four() / UDP(**PORTS) / BODY, four(src="1.2.3.4", ttl=63) / UDP(sport=99, dport=53) / BODY),
    Case("/ ipv4 / tcp", "set_ipv4_dst ipv4_addr 255.255.255.255 / set_tp_dst port 65535 / set_ttl ttl_value 255 / ",
         four() / TCP(**PORTS) / BODY, four(dst="255.255.255.255", ttl=255) / TCP(sport=1000, dport=65535) / BODY),
    Case("/ ipv4", "set_ipv4_src ipv4_addr 1.2.3.4 / ", four() / ICMP() / BODY, four(src="1.2.3.4") / ICMP() / BODY),
    Case("/ ipv4", "set_ipv4_src ipv4_addr 1.2.3.4 / ",  # no checksum stays none
         four() / UDP(**PORTS, chksum=0) / BODY, four(src="1.2.3.4") / UDP(**PORTS, chksum=0) / BODY),
    Case("/ ipv4", "set_ipv4_dst ipv4_addr 1.2.3.4 / ",  # a later fragment has no transport
         four(frag=9) / BODY, four(frag=9, dst="1.2.3.4") / BODY),
    Case("/ ipv6 / udp", "set_ipv6_src ipv6_addr ffff:: / set_ipv6_dst ipv6_addr ::1 / dec_ttl / set_tp_dst port 1 / ",
         six() / UDP(**PORTS) / BODY, six(src="ffff::", dst="::1", hlim=63) / UDP(sport=1000, dport=1) / BODY),
    Case("/ ipv6 / tcp", "set_tp_src port 9 / ", six() / TCP(**PORTS) / BODY, six() / TCP(sport=9, dport=53) / BODY),
    Case("/ ipv6", "set_ipv6_src ipv6_addr 2001:db8::99 / ",
         six() / ICMPv6EchoRequest() / BODY, six(src="2001:db8::99") / ICMPv6EchoRequest() / BODY),
    Case("/ ipv4", "dec_ttl / ", four(ttl=1) / UDP(**PORTS), None),
    Case("/ ipv6", "dec_ttl / ", six(hlim=0) / UDP(**PORTS), None),
    Case("has_vlan spec 0 has_vlan mask 1", PUSH.format("0x8100", 3, 5), four() / BODY, Dot1Q(vlan=5, prio=3) / four() / BODY),
    Case("has_vlan spec 0 has_vlan mask 1", PUSH.format("0x88a8", 0, 4095) + PUSH.format("0x8100", 7, 0),
         four() / BODY, Dot1Q(vlan=0, prio=7, type=0x88A8) / Dot1AD(vlan=4095) / four() / BODY),
    Case("/ vlan", "of_pop_vlan / ", Dot1Q(vlan=5, prio=3) / six() / BODY, six() / BODY),
    Case("/ vlan", "of_pop_vlan / ", Dot1Q(vlan=5, prio=3) / Dot1Q(vlan=6) / six() / BODY, Dot1Q(vlan=6) / six() / BODY),
    Case("/ vlan", "of_pop_vlan / " + PUSH.format("0x8100", 1, 77),
         Dot1Q(vlan=5) / four() / BODY, Dot1Q(vlan=77, prio=1) / four() / BODY),
    Case("/ vlan / ipv4 / udp", "set_ipv4_src ipv4_addr 1.2.3.4 / set_tp_src port 9 / of_pop_vlan / ",
         Dot1Q(vlan=5) / four() / UDP(**PORTS) / BODY, four(src="1.2.3.4") / UDP(sport=9, dport=53) / BODY),
]  # fmt: skip


def encapsulated(packet: bytes) -> bytes:
    """In VXLAN as VXLAN_SETTINGS say, the source port the device's."""
    port = entropy(parse(packet, L.Meta(length=len(packet))).phv)
    outer = IP(src="192.168.0.1", dst="192.168.0.2", id=0) / UDP(sport=port, dport=4789, chksum=0) / VXLAN(vni=5, flags=8)
    return bytes(Ether(src="02:00:00:00:00:0a", dst="02:00:00:00:00:0b") / outer / Raw(packet))


def test_changes_are_what_scapy_builds(tmp_path: Path) -> None:
    commands = ["set vxlan " + VXLAN_SETTINGS.format(0)]
    sent, left = [], []
    for n, case in enumerate(CASES):
        own = {"src": HOST, "dst": f"02:00:00:00:01:{n:02x}"}
        commands.append(
            f"flow create 0 transfer pattern eth dst is {own['dst']} {case.items} / end actions {case.actions} port_id id 1 / end"
        )
        sent.append(bytes(Ether(**own) / case.before))
        left += [bytes(Ether(**{**own, **case.addresses}) / case.after)] if case.after else []
    last = bytes(Ether(src=HOST, dst=MAC.format(0xFF)) / four() / TCP(**PORTS) / BODY)
    pattern = f"eth dst is {MAC.format(0xFF)}"
    commands.append(f"flow create 0 transfer pattern {pattern} / end actions vxlan_encap / port_id id 1 / port_id id 2 / end")
    lanes = f"pcap:{tmp_path}/in:,pcap::{tmp_path}/out,pcap::{tmp_path}/out2"
    wrpcap(str(tmp_path / "in"), [*sent, last], linktype=1)
    begin = [*(f"port start {port}" for port in (3, 2, 1, 0)), "start"]
    with Testpmd(tmp_path, [f"net_sluice0,lanes=[{lanes},none],lossless=1"], commands, begin=begin) as testpmd:
        testpmd.wait(1, "tx_good_lane_packets", len(left) + 1)
        testpmd.wait(2, "tx_good_lane_packets", 1)
        _, errors = testpmd.quit()
    assert not [line for line in errors_of(errors) if "Caught" in line]
    for got, wanted, case in zip(read(tmp_path / "out"), left, [case for case in CASES if case.after], strict=False):
        assert got.hex() == wanted.hex(), f"{case.items} => {case.actions}"
    assert read(tmp_path / "out") == [*left, encapsulated(last)]
    assert read(tmp_path / "out2") == [encapsulated(last)]
