# SPDX-License-Identifier: Apache-2.0
"""rte_flow of the driver, by testpmd's grammar: what rules become, which are refused and how, and packets under rules."""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import sluice_layouts as layouts
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Raw
from scapy.utils import wrpcap

from host.pmd.test_pmd import read
from shell.sim.build import FLOW, SMALL
from testing.device import HOST, ROUTER
from testing.testpmd import Testpmd

WHOLE4 = "fragment_offset spec 0 fragment_offset mask 0x3fff"
DROP = "drop"
OUT = "port_id id 1"
MACS = "dst is 02:00:00:00:00:01"
TUPLE = f"eth {MACS} / ipv4 src is 10.0.0.1 dst is 10.1.0.1 {WHOLE4} / udp src is 1000 dst is 53"
TUPLE_TEXT = (
    "eth_dst=0x20000000001 eth_type=0x800 has_vlan=0 ip_src=0a000001 ip_dst=0a010001 ip_protocol=0x11 fragment=0 l4_kind=0x2 "
    "l4_src=0x3e8 l4_dst=0x35"
)
V6 = "eth / ipv6"
ANY_FRAGMENT = "has_frag_ext spec 1 has_frag_ext mask 1"
KNOWN_TAG = "vlan_tpid=0/0x1000"  # 0x8100 or 0x88a8
LATER = "fragment_offset spec {} fragment_offset mask 0x1fff fragment_offset last 0x1fff"
VXLAN_SETTINGS = (
    "ip-version ipv4 vni 5 udp-src {} udp-dst 4789 ip-src 192.168.0.1 ip-dst 192.168.0.2 "
    "eth-src 02:00:00:00:00:0a eth-dst 02:00:00:00:00:0b"
)
VXLAN_HEADER = (
    "02000000000b02000000000a0800"  # Ethernet
    "450000000000000040110000c0a80001c0a80002"  # IPv4
    "000012b500000000"  # UDP
    "0800000000000500"
)
GENEVE = "eth dst is 02:00:00:00:00:0b / ipv4 src is 1.1.1.1 dst is 2.2.2.2 / udp dst is 6081 / geneve vni is 9"


@dataclass(frozen=True)
class Means:
    """A rule that the driver understands: its pattern, actions, and what they are in the device's words."""

    pattern: str
    text: str
    actions: str = DROP
    becomes: str = "drop"
    attributes: str = "transfer"


@dataclass(frozen=True)
class Refused:
    """A rule that it refuses: the error's type in testpmd's words, and a part of the text."""

    pattern: str
    text: str
    actions: str = DROP
    kind: str = "specific action"
    attributes: str = "transfer"


UNDERSTOOD = [
    # Ethernet and tags.
    Means("eth", ""),
    Means("eth dst spec 02:00:00:00:00:05 dst mask ff:00:00:00:00:ff src is 02:00:00:00:00:06",
          "eth_dst=0x20000000005/0xff00000000ff eth_src=0x20000000006"),
    Means("eth type spec 0x0806 type mask 0xff00", "eth_type=0x800/0xff00 has_vlan=0"),
    Means("eth type spec 0x8100 type mask 0xf000 has_vlan spec 0 has_vlan mask 1", "eth_type=0x8000/0xf000 has_vlan=0"),
    Means("eth type spec 0x88a8 type mask 0xff00 / vlan inner_type spec 0x0800 inner_type mask 0xf800",
          "eth_type=0x800/0xf800 has_vlan=0x1 vlan_tpid=0x8800/0xff00"),
    Means("eth type spec 0x0801 type mask 0xff00 / ipv4", "eth_type=0x800 has_vlan=0"),
    Means("eth type is 0x0806", "eth_type=0x806 has_vlan=0"),
    Means("eth type is 0x05ff", "eth_type=0 has_vlan=0"),
    Means("eth has_vlan spec 0 has_vlan mask 1 / ipv4", "eth_type=0x800 has_vlan=0"),
    Means("eth type is 0x8100", "has_vlan=0x1 vlan_tpid=0x8100"),
    Means("eth / vlan", f"has_vlan=0x1 {KNOWN_TAG}"),
    Means("eth has_vlan spec 1 has_vlan mask 1", f"has_vlan=0x1 {KNOWN_TAG}"),
    Means("eth type is 0x9100 / vlan", "has_vlan=0x1 vlan_tpid=0x9100"),
    Means("eth type is 0x88a8 / vlan tci spec 0x6005 tci mask 0x0fff inner_type is 0x8100",
          "eth_type=0x8100 has_vlan=0x1 vlan_tpid=0x88a8 vlan_tci=0x5/0xfff"),
    Means("eth / vlan tci spec 0x6005 tci mask 0xefff / ipv4", f"eth_type=0x800 has_vlan=0x1 {KNOWN_TAG} vlan_tci=0x6005/0xefff"),
    # IPv4: bits of a spec outside the mask, odd prefixes, every field of Open vSwitch.
    Means("eth / ipv4 src spec 10.0.0.2 src mask 255.255.255.0 dst spec 10.255.7.7 dst mask 255.252.0.0",
          "eth_type=0x800 has_vlan=0 ip_src=0a000000/ffffff00 ip_dst=0afc0000/fffc0000"),
    Means("eth / ipv4 proto is 0 tos spec 0xff tos mask 0xfc ttl is 64",
          "eth_type=0x800 has_vlan=0 ip_protocol=0 ip_tos=0xfc/0xfc ip_ttl=0x40"),
    Means(f"eth / ipv4 {WHOLE4}", "eth_type=0x800 has_vlan=0 fragment=0"),
    Means("eth / ipv4 fragment_offset spec 0x2000 fragment_offset mask 0x3fff", "eth_type=0x800 has_vlan=0 fragment=0x1"),
    Means(f"eth / ipv4 {LATER.format(8)}", "eth_type=0x800 has_vlan=0 fragment=0x3"),
    Means(f"eth / ipv4 {LATER.format(1)}", "eth_type=0x800 has_vlan=0 fragment=0x2/0x2"),
    Means(f"eth / ipv4 proto is 6 {LATER.format(8)} / tcp src spec 0 src mask 0",
          "eth_type=0x800 has_vlan=0 ip_protocol=0x6 fragment=0x3"),
    # IPv6.
    Means(f"{V6} src is 2001:db8::1 dst spec 2001:db8::ff dst mask ffff:ffff:: hop is 9 tc is 4 proto is 58",
          "eth_type=0x86dd has_vlan=0 ip_src=20010db8000000000000000000000001 "
          "ip_dst=20010db8000000000000000000000000/ffffffff000000000000000000000000 ip_protocol=0x3a ip_tos=0x4 ip_ttl=0x9"),
    Means(f"{V6} has_frag_ext spec 0 has_frag_ext mask 1", "eth_type=0x86dd has_vlan=0 fragment=0"),
    Means(f"{V6} {ANY_FRAGMENT} / ipv6_frag_ext frag_data spec 1 frag_data mask 0xfff9",
          "eth_type=0x86dd has_vlan=0 fragment=0x1"),
    Means(f"{V6} {ANY_FRAGMENT} / ipv6_frag_ext next_hdr is 58 frag_data spec 1 frag_data mask 0xfff9",
          "eth_type=0x86dd has_vlan=0 ip_protocol=0x3a fragment=0x1"),
    Means(f"{V6} {ANY_FRAGMENT} / ipv6_frag_ext frag_data spec 8 frag_data mask 0xfff8 frag_data last 0xfff8",
          "eth_type=0x86dd has_vlan=0 fragment=0x2/0x2"),
    # Transport.
    Means(TUPLE, TUPLE_TEXT),
    Means("eth / ipv4 / tcp dst spec 0xff40 dst mask 0xffc0 flags spec 0x12 flags mask 0x17",
          "eth_type=0x800 has_vlan=0 ip_protocol=0x6 l4_kind=0x1 l4_dst=0xff40/0xffc0 tcp_flags=0x12/0x17"),
    Means("eth / ipv4 / sctp dst is 7", "eth_type=0x800 has_vlan=0 ip_protocol=0x84 l4_kind=0x5 l4_dst=0x7"),
    Means("eth / ipv4 / icmp type is 8 code is 0",
          "eth_type=0x800 has_vlan=0 ip_protocol=0x1 l4_kind=0x3 l4_src=0x8/0xff l4_dst=0/0xff"),
    Means("eth / ipv6 / icmp6 type is 128", "eth_type=0x86dd has_vlan=0 ip_protocol=0x3a l4_kind=0x4 l4_src=0x80/0xff"),
    # Source port.
    Means("port_id id is 0 / eth", ""),
    Means("void / represented_port ethdev_port_id is 0 / eth", ""),
    # Actions.
    Means("eth", "", f"count / {OUT}", "output(0x2)"),
    Means("eth", "", "represented_port ethdev_port_id 1", "output(0x2)"),
    Means("eth", "", f"{OUT} / port_id id 0", "output(0x3)"),
    Means("eth", "", f"set_mac_src mac_addr 02:00:00:00:00:07 / set_mac_dst mac_addr 02:00:00:00:00:08 / {OUT}",
          f"set(1,{7 + (2 << 40):032x}) set(0,{8 + (2 << 40):032x}) output(0x2)"),
    Means("eth / ipv4", "eth_type=0x800 has_vlan=0", f"set_ipv4_src ipv4_addr 1.2.3.4 / set_ttl ttl_value 3 / {OUT}",
          f"set(5,{0x01020304:032x}) set(8,0x3) checksum output(0x2)"),
    Means("eth / ipv6", "eth_type=0x86dd has_vlan=0", f"set_ipv6_dst ipv6_addr 2001:db8::9 / dec_ttl / {OUT}",
          f"set(6,{(0x20010DB8 << 96) + 9:032x}) sub checksum output(0x2)"),
    Means("eth / ipv4 / tcp", "eth_type=0x800 has_vlan=0 ip_protocol=0x6 l4_kind=0x1",
          f"set_tp_src port 80 / set_tp_dst port 81 / {OUT}", "set(9,0x50) set(10,0x51) checksum output(0x2)"),
    Means("eth has_vlan spec 0 has_vlan mask 1", "has_vlan=0",
          f"of_push_vlan ethertype 0x8100 / of_set_vlan_pcp vlan_pcp 3 / of_set_vlan_vid vlan_vid 5 / {OUT}",
          "push(0x6005) output(0x2)"),
    Means("eth / vlan", f"has_vlan=0x1 {KNOWN_TAG}", f"of_pop_vlan / {OUT}", "pop output(0x2)"),
    Means("eth / vlan", f"has_vlan=0x1 {KNOWN_TAG}",
          f"of_pop_vlan / of_push_vlan ethertype 0x88a8 / of_set_vlan_pcp vlan_pcp 0 / of_set_vlan_vid vlan_vid 9 / {OUT}",
          "pop push(0x10009) output(0x2)"),
    Means("eth", "", f"vxlan_encap / {OUT}", f"encapsulate({VXLAN_HEADER}) output(0x2)"),
    Means("eth", "", "mark id 0 / rss queues 0 end", "mark(0x1) queue(0x8) host", "ingress"),
    Means("eth", "", "mark id 0xfffffe / queue index 0", "mark(0xffffff) queue(0x8) host", "ingress"),
    Means("eth", "", "queue index 0", "queue(0x8) host", "ingress"),
]  # fmt: skip

MEANT_WRONG = [
    # Not in the device: type ACTION.
    Refused("eth / vlan / vlan", "a second VLAN item"),
    Refused("eth / vlan has_more_vlan spec 1 has_more_vlan mask 1", "has_more_vlan"),
    Refused("eth type spec 0x8000 type mask 0xf000", "a part of the EtherType that tags have too"),
    Refused("eth type spec 0x8000 type mask 0xf000 / ipv4", "a part of the EtherType that tags have too"),
    Refused("eth type spec 0x0800 type mask 0x00ff has_vlan spec 0 has_vlan mask 1", "lengths in place of an EtherType"),
    Refused("eth type is 100", "lengths in place of an EtherType"),
    Refused(
        "eth / vlan inner_type spec 0x8800 inner_type mask 0x8f00",
        "may have two tags already",
        f"of_push_vlan ethertype 0x8100 / {OUT}",
    ),
    Refused("eth / ipv4 fragment_offset spec 0x4000 fragment_offset mask 0x4000", "do not fragment"),
    Refused("eth / ipv4 fragment_offset spec 3 fragment_offset mask 0x1fff", "a fragment offset other than"),
    Refused("eth / ipv4 fragment_offset spec 0 fragment_offset mask 0x2000", "a fragment offset other than"),
    Refused("eth / ipv4 ttl spec 3 ttl last 9 ttl mask 0xff", "a range"),
    Refused(f"{V6} flow spec 7 flow mask 0xfffff", "flow label"),
    Refused(f"{V6} {ANY_FRAGMENT}", "without an item IPV6_FRAG_EXT"),
    Refused(f"eth / ipv4 {LATER.format(8)} / tcp dst is 80", "ports of a fragment"),
    Refused("eth / ipv4 / udp / vxlan vni is 4", "the item VXLAN"),
    Refused("eth / arp_eth_ipv4", "the item ARP_ETH_IPV4"),
    Refused("eth / mpls", "the item MPLS"),
    Refused("port_representor port_id is 0 / eth", "PORT_REPRESENTOR"),
    Refused("port_id id is 9 / eth", "not on this device"),
    Refused("port_id id is 1 / eth", "without the attribute transfer", attributes="ingress"),
    Refused("eth", "an output to port 9", "port_id id 9"),
    Refused("eth", "nothing says where the packet goes", "count"),
    Refused("eth", "two of drop, host queue and output", f"drop / {OUT}"),
    Refused("eth", "the action JUMP", "jump group 1"),
    Refused("eth", "the action METER", "meter mtr_id 1"),
    Refused("eth", "the action PASSTHRU", "passthru"),
    Refused("eth", "a change behind an output", f"{OUT} / set_mac_src mac_addr 02:00:00:00:00:07 / port_id id 0"),
    Refused("eth", "a change behind an encapsulation", f"vxlan_encap / set_mac_src mac_addr 02:00:00:00:00:07 / {OUT}"),
    Refused("eth / ipv6", "no item of that IP version", f"set_ipv4_src ipv4_addr 1.2.3.4 / {OUT}"),
    Refused("eth / ipv4 / sctp", "no item TCP or UDP", f"set_tp_src port 80 / {OUT}"),
    Refused("eth", "no item IPV4 or IPV6", f"set_ttl ttl_value 3 / {OUT}"),
    Refused("eth / ipv4", "the pattern matches no tag", f"of_pop_vlan / {OUT}"),
    Refused("eth / vlan", "may have two tags already", f"of_push_vlan ethertype 0x8100 / {OUT}"),
    Refused("eth / ipv4", "OF_PUSH_VLAN without both", f"of_push_vlan ethertype 0x8100 / of_set_vlan_vid vlan_vid 5 / {OUT}"),
    Refused("eth", "QUEUE and RSS are for rules with ingress", "queue index 0"),
    Refused("eth", "a mark on packets that do not go to the host", f"mark id 3 / {OUT}"),
    Refused("eth", "the most is 0xfffffe", "mark id 0xffffff / queue index 0", attributes="ingress"),
    Refused("eth", "RSS with a key", "rss queues 0 end level 2", attributes="ingress"),
    Refused("eth / ipv4", "more than the 8 changes", " / ".join(["set_ttl ttl_value 3"] * 9) + f" / {OUT}"),
    # Means nothing: another type.
    Refused("ipv4", "does not follow ETH", kind="specific pattern item"),
    Refused("eth / udp", "does not follow IPV4 or IPV6", kind="specific pattern item"),
    Refused("eth / ipv4 proto is 6 / udp", "the IP protocol is not that", kind="specific pattern item"),
    Refused(
        f"{V6} proto is 6 {ANY_FRAGMENT} / ipv6_frag_ext next_hdr is 58 frag_data spec 1 frag_data mask 0xfff9",
        "the IP protocol is not that",
        kind="specific pattern item",
    ),
    Refused("eth type spec 0x0900 type mask 0xff00 / ipv4", "the EtherType is not that", kind="specific pattern item"),
    Refused("eth type spec 0x0900 type mask 0xff00 / vlan", "in front of a tag is none of", kind="specific pattern item"),
    Refused("eth type is 0x0806 / ipv4", "the EtherType is not that", kind="specific pattern item"),
    Refused("eth has_vlan spec 0 has_vlan mask 1 / vlan", "has_vlan is not what", kind="specific pattern item"),
    Refused("eth / ipv6 / icmp", "ICMP behind IPv6", kind="specific pattern item"),
    Refused("void", "a pattern begins with ETH", kind="pattern length"),
    Refused("eth", "a queue that the port does not have", "queue index 4", "action configuration", "ingress"),
    Refused("eth", "over a queue that the port", "rss queues 0 1 end", "action configuration", "ingress"),
    Refused("eth", "group 1", kind="group field", attributes="group 1 transfer"),
    Refused("eth", "egress", kind="egress field", attributes="egress"),
    Refused(TUPLE, "priority 65536: the lowest is 65535", kind="priority field", attributes="priority 65536 transfer"),
]


def errors_of(text: str) -> list[str]:
    """What was said of each command: the rule in the device's words, or the error (or both, in this order)."""
    return re.findall(r"^(?:net_sluice: flow .*|port_flow_complain\(\): .*|Bad arguments)$", text, re.MULTILINE)


def validate(tmp_path: Path, rules: list[Means] | list[Refused], first: list[str]) -> list[list[str]]:
    """What testpmd and the driver say of each rule."""
    commands = list(first)
    for rule in rules:
        # A rule of one kind in between, to tell which answers are whose.
        commands += ["flow validate 0 egress pattern eth / end actions drop / end",
                     f"flow validate 0 {rule.attributes} pattern {rule.pattern} / end actions {rule.actions} / end"]  # fmt: skip
    with Testpmd(tmp_path, ["net_sluice0,lanes=[none,none]"], commands, begin=()) as testpmd:
        _, errors = testpmd.quit()
    said: list[list[str]] = []
    for line in errors_of(errors):
        if "egress: packets" in line and (not said or said[-1] or len(said) <= len(rules)):
            said.append([])
        else:
            said[-1].append(line)
    return said


def test_every_item_and_action_of_open_vswitch_is_understood_as_meant(tmp_path: Path) -> None:
    said = validate(tmp_path, UNDERSTOOD, ["set vxlan " + VXLAN_SETTINGS.format(0).replace("udp-dst 4789", "udp-dst 0")])
    assert len(said) == len(UNDERSTOOD)
    for rule, lines in zip(UNDERSTOOD, said, strict=True):
        text = f"net_sluice: flow lane=0 priority=0 {rule.text} -> {rule.becomes}".replace("  ", " ")
        assert lines[:1] == [text], f"{rule.pattern} => {rule.actions}"


def test_what_is_refused_is_refused_with_the_right_type_and_text(tmp_path: Path) -> None:
    rules = [rule for rule in MEANT_WRONG if rule.attributes != "egress"]
    said = validate(tmp_path, rules, ["set vxlan " + VXLAN_SETTINGS.format(0)])
    assert len(said) == len(rules)
    for rule, lines in zip(rules, said, strict=True):
        assert lines and rule.text in lines[-1] and f"({rule.kind})" in lines[-1], f"{rule.pattern} => {rule.actions}: {lines}"


def test_an_encapsulation_leaves_to_the_device_what_it_fills_in(tmp_path: Path) -> None:
    first = ["set vxlan " + VXLAN_SETTINGS.format(7), f"set raw_encap 0 {GENEVE} / end_set"]
    raw = Means("eth", "", f"raw_encap index 0 / {OUT}", "")
    said = validate(tmp_path, [Means("eth", "", f"vxlan_encap / {OUT}"), raw], first)
    assert "a UDP source port or checksum in an encapsulation" in said[0][-1]
    assert re.search(r"-> encapsulate\(02000000000b.*17c1.*00000900\) output\(0x2\)", said[1][0]), said[1]


def test_rules_encapsulate_each_with_its_own_headers(tmp_path: Path) -> None:
    wrpcap(str(tmp_path / "in0"), [flow(1), flow(2), flow(3)], linktype=1)
    commands = [f"set raw_encap {n} {GENEVE.replace('vni is 9', f'vni is {n}')} / end_set" for n in (1, 2)]
    commands += [f"flow create 0 transfer pattern {rule(n)} raw_encap index {n} / port_id id 1 / end" for n in (1, 2)]
    lanes = f"pcap:{tmp_path}/in0:,pcap::{tmp_path}/out1"
    begin = ["port start 1", "port start 0", "start"]  # what leaves a stopped port is lost
    vdev = f"net_sluice0,lanes=[{lanes}],lossless=1"
    with Testpmd(tmp_path, [vdev], commands, device="functional", begin=begin) as testpmd:
        testpmd.wait(1, "tx_good_lane_packets", 3)
        testpmd.quit()
    first, second, plain = sorted(read(tmp_path / "out1"), key=len, reverse=True)
    vni_at = 14 + 20 + 8 + 4
    inner = {int.from_bytes(packet[vni_at : vni_at + 3], "big"): packet[vni_at + 4 :] for packet in (first, second)}
    assert inner == {1: flow(1), 2: flow(2)} and plain == flow(3)


def test_a_rule_whose_headers_have_no_room_is_refused(tmp_path: Path) -> None:
    commands = []
    for n in range(layouts.TEMPLATES + 1):
        commands.append(f"set raw_encap 0 {GENEVE.replace('vni is 9', f'vni is {n}')} / end_set")
        address = f"ipv4 dst is 10.1.{n >> 8}.{n & 255}"
        commands.append(f"flow create 0 transfer pattern eth / {address} / end actions raw_encap index 0 / port_id id 1 / end")
    with Testpmd(tmp_path, ["net_sluice0,lanes=[none,none]"], commands, device="functional") as testpmd:
        output = "".join(testpmd.quit())
    assert output.count(" created") == layouts.TEMPLATES
    assert output.count(f"all {layouts.TEMPLATES} header templates are in use") == 1


def flow(number: int, source: str = "10.0.0.1", tag: int = 0) -> bytes:
    head = Ether(dst=ROUTER, src=HOST)
    head = head / Dot1Q(vlan=tag) if tag else head
    return bytes(head / IP(src=source, dst=f"10.1.0.{number}", ttl=64) / UDP(sport=1000, dport=53) / Raw(bytes(30)))


def rule(number: int) -> str:
    return f"eth {MACS} / ipv4 src is 10.0.0.1 dst is 10.1.0.{number} {WHOLE4} / udp src is 1000 dst is 53 / end actions"


def prefix(mask: str) -> str:
    return f"eth {MACS} / ipv4 dst spec 10.1.0.8 dst mask {mask} / end actions"


@pytest.mark.parametrize("device", ["sim", "functional", "functional:nopush"])
def test_packets_are_treated_as_the_rules_say_and_counted(tmp_path: Path, device: str) -> None:
    fragment = bytes(Ether(dst=ROUTER, src=HOST) / IP(src="10.0.0.1", dst="10.1.0.1", proto=17, frag=20) / Raw(bytes(40)))
    malformed = bytearray(flow(1))
    malformed[14] = 0x44  # header size 16
    other = flow(1, "10.0.0.9")
    sent = [flow(1), flow(2), flow(3), flow(4), flow(1), flow(1, tag=5), fragment, bytes(malformed), other, flow(8), flow(1, tag=6)]
    wrpcap(str(tmp_path / "in0"), sent, linktype=1)
    wrpcap(str(tmp_path / "in1"), [flow(1), flow(2)], linktype=1)
    commands = [
        f"flow create 0 transfer pattern {rule(1)} count / set_mac_dst mac_addr 02:00:00:00:00:99 / set_ttl ttl_value 9 /"
        " set_mac_src mac_addr 02:00:00:00:00:98 / set_ipv4_dst ipv4_addr 9.9.9.9 / set_tp_dst port 99 / port_id id 2 / end",
        f"flow create 0 transfer pattern {rule(2)} count / drop / end",
        f"flow create 0 ingress pattern {rule(3)} mark id 77 / rss queues 0 end / end",
        f"flow create 0 transfer pattern {prefix('255.255.255.248')} port_id id 2 / end",
        f"flow create 0 priority 5 transfer pattern {prefix('255.255.0.0')} port_id id 2 / port_id id 0 / end",
        f"flow create 0 transfer pattern eth src is {HOST} / vlan tci spec 0xe005 tci mask 0x0fff / end"
        " actions of_pop_vlan / port_id id 2 / end",
        f"flow create 0 transfer pattern {rule(1)} drop / end",  # again
        f"flow create 1 transfer pattern {rule(1)} drop / end",  # of another port
        "set verbose 1",
    ]
    begin = [*(f"port start {port}" for port in (3, 2, 1, 0)), "start"]  # what leaves a stopped port is lost
    lanes = ",".join(f"pcap:{tmp_path}/in{lane}:{tmp_path}/out{lane}" for lane in range(2)) + f",pcap::{tmp_path}/out2,none"
    with Testpmd(tmp_path, [f"net_sluice0,lanes=[{lanes}],lossless=1"], commands, device=device, begin=begin) as testpmd:
        for port, count in enumerate([4, 3, 7]):
            testpmd.wait(port, "tx_good_lane_packets", count)
        testpmd.wait_counted(0, [2, 1, 1, 1, 3, 1])
        testpmd.wait_counted(1, [1])
        testpmd.tell("stop", *(f"flow query 0 {number} count" for number in range(6)), "flow query 1 0 count")
        testpmd.tell("port config mtu 0 1400", "flow dump 0 all", "flow query 0 0 count")
        testpmd.tell("flow destroy 0 rule 0", "flow flush 0", "flow dump 0 all", "flow isolate 0 true", "flow query 1 0 count",
                     f"flow create 0 transfer pattern {rule(1)} drop / end")  # fmt: skip
        output, errors = testpmd.quit()
    changed = Ether(flow(1))
    changed.src = "02:00:00:00:00:98"
    changed.dst, changed[IP].ttl, changed[IP].dst, changed[UDP].dport = "02:00:00:00:00:99", 9, "9.9.9.9", 99
    del changed[IP].chksum, changed[UDP].chksum
    assert read(tmp_path / "out2") == [bytes(changed), flow(4), bytes(changed), flow(1), fragment, other, flow(8)]
    assert sorted(read(tmp_path / "out1")) == sorted([flow(3), bytes(malformed), flow(1, tag=6)])
    assert sorted(read(tmp_path / "out0")) == sorted([flow(4), fragment, other, flow(2)])
    assert "FDIR matched ID=0x4d" in output
    assert [int(hits) for hits in re.findall(r" hits: (\d+)", output)] == [2, 1, 1, 1, 3, 1, 1, 2, 1]
    assert output.count("mask group") == 6
    for value in (0x020000000099, 0x020000000098, 0x09090909):
        assert re.search(rf"set\(\d,{value:032x}\)", output)
    said = "\n".join(errors_of(errors))
    for text in ("a rule with this match and priority 65535 is there already", "isolated mode"):
        assert text in said, text
    assert output.count("Flow rule #0 created") == 3  # of each port, and the last


@pytest.mark.parametrize("device", ["sim", "functional"])
def test_rules_choose_the_receive_queue(tmp_path: Path, device: str) -> None:
    counts = {3: 30, 4: 20, 5: 10, 6: 5}  # of packets, by the number of their destination; what no rule takes has queue 0
    to = "flow create 0 ingress pattern eth / ipv4 dst is 10.1.0.{} / end actions {} / end"
    commands = [
        "port start all",  # before it has no queues
        to.format(3, "queue index 3"),
        to.format(4, "mark id 5 / queue index 1"),
        to.format(5, "rss queues 2 end"),
        to.format(6, "rss queues 1 2 end"),
        to.format(6, "queue index 4"),
        "start",
    ]
    options = ["--rxq=4", "--txq=4", "--disable-rss"]
    with (
        TemporaryDirectory() as folder,  # its name is short
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender,
        Testpmd(tmp_path, [f"net_sluice0,lanes=[unix:{folder}/lane0,none]"], (), options, device=device, begin=commands) as testpmd,
    ):
        testpmd.wait_link(1, "UP")
        testpmd.wait_text("a queue that the port does not have")
        for number, count in counts.items():
            for n in range(count):
                sender.sendto(flow(number, f"10.0.1.{n}"), f"{folder}/lane0")
        testpmd.wait(1, "tx_good_packets", sum(counts.values()))
        assert testpmd.ask("/ethdev/stats,0")["q_ipackets"][:4] == [5, 20, 10, 30]
        said = "\n".join(errors_of(testpmd.quit()[1]))
    assert "of a port that hashes nothing" in said and "a queue that the port does not have" in said


def test_a_full_table_refuses_and_is_free_again(tmp_path: Path) -> None:
    masks = [f"255.{255 - (n >> 3)}.{255 - (n & 7)}.0" for n in range(80)]  # more than groups and TCAM hold
    commands = [
        f"flow create 0 transfer pattern eth / ipv4 src spec 10.1.2.3 src mask {mask} / end actions drop / end" for mask in masks
    ]
    with Testpmd(tmp_path, ["net_sluice0,lanes=[none]"], [*commands, "flow flush 0", *commands[:2]], begin=()) as testpmd:
        output, errors = testpmd.quit()
    refused = [line for line in errors_of(errors) if "Caught PMD error" in line]
    room = FLOW["flow_groups"] + FLOW["flow_ternary"]
    assert (len(re.findall(r"Flow rule #\d+ created", output)), len(refused)) == (room + 2, len(masks) - room)
    assert all("(specific action)" in line and "all 8 mask groups hold other masks" in line for line in refused)
    assert output.count("Flow rule #0 created") == 2


def test_a_device_without_receive_queues_is_none_for_the_driver(tmp_path: Path) -> None:
    with Testpmd(tmp_path, ["net_sluice0,lanes=[none]"], sizes=SMALL) as testpmd:
        testpmd.wait_text("failed to initialize")
        assert "the device has no receive queues: build it with --host-queues 4" in testpmd.text(testpmd.errors)
