# SPDX-License-Identifier: Apache-2.0
"""Rules of rte_flow drawn at random from packets: what the driver accepts, the device enforces. Which packets a rule matches is
worked out here from rte_flow's meaning and from the packet's key as Open vSwitch reads it, not from the driver's words."""

from __future__ import annotations

import ipaddress
import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import sluice_layouts as L
from scapy.utils import wrpcap

from host.pmd.test_flow import errors_of
from host.pmd.test_pmd import read
from models.flow import key_of
from models.packet import parse
from models.traffic import link_layers, malformed, well_formed
from testing.ovs.keys import be, is_later_ipv6_fragment, keys
from testing.testpmd import Testpmd

RULES = 60  # no more masks than the device has room for
LONGEST = 440  # of a pattern: testpmd forgets a line of 512 characters or more
LENGTH_TYPE, FIRST_TYPE = 0x05FF, 0x0600
FRAGMENTS = {  # fragment_offset of IPv4, and frag_data of IPv6 behind it, as Open vSwitch writes them; and the key's mask
    L.FlowFragment.FRAGMENT_WHOLE: ("spec 0 {} mask 0x3fff", "", 3),
    L.FlowFragment.FRAGMENT_FIRST: ("spec 0x2000 {} mask 0x3fff", "spec 1 frag_data mask 0xfff9", 3),
    L.FlowFragment.FRAGMENT_EARLY: (
        "spec 1 {0} mask 0x1fff {0} last 0x1fff",
        "spec 8 frag_data mask 0xfff8 frag_data last 0xfff8",
        2,
    ),
    L.FlowFragment.FRAGMENT_LATER: (
        "spec 8 {0} mask 0x1fff {0} last 0x1fff",
        "spec 64 frag_data mask 0xfff8 frag_data last 0xfff8",
        3,
    ),
}


@dataclass
class Drawn:
    """A rule being drawn from a packet's key: its items in testpmd's words, and the mask of what they ask for."""

    draw: random.Random
    key: L.FlowKey
    items: list[str] = field(default_factory=list)
    mask: dict[str, int] = field(default_factory=dict)

    def some(self, name: str, word: str, bits: int, write: Callable[[int], str] = hex) -> str:
        """Nothing, all, or a part of a field; the spec has the packet's own bits outside the mask."""
        mask = self.draw.choice(
            [0, 0, (1 << bits) - 1, self.draw.getrandbits(bits), (1 << bits) - (1 << self.draw.randrange(bits))]
        )
        if not mask:
            return ""
        self.mask[name] = mask
        return f" {word} spec {write(getattr(self.key, name))} {word} mask {write(mask)}"

    def maybe(self) -> bool:
        return self.draw.random() < 0.6

    def exactly(self, name: str, bits: int) -> None:
        self.mask[name] = (1 << bits) - 1


def mac(value: int) -> str:
    return ":".join(f"{byte:02x}" for byte in value.to_bytes(6, "big"))


def address4(value: int) -> str:
    return str(ipaddress.IPv4Address(value & 0xFFFFFFFF))


def address6(value: int) -> str:
    return str(ipaddress.IPv6Address(value))


def ethertype(it: Drawn, word: str) -> str:
    """Nothing, all of the EtherType, or a part of it that is of no length."""
    part = it.draw.getrandbits(16)
    if it.maybe() and it.key.eth_type & part >= FIRST_TYPE:
        it.mask["eth_type"] = part
        return f" {word} spec {it.key.eth_type:#x} {word} mask {part:#x}"
    if it.maybe():
        it.exactly("eth_type", 16)
        return f" {word} is {it.key.eth_type or LENGTH_TYPE:#x}"
    return ""


def link(it: Drawn) -> None:
    """ETH, and VLAN for a packet with a tag."""
    ethernet = "eth" + it.some("eth_src", "src", 48, mac) + it.some("eth_dst", "dst", 48, mac)
    it.exactly("has_vlan", 1)
    if not it.key.has_vlan:
        it.items.append(ethernet + ethertype(it, "type") + " has_vlan spec 0 has_vlan mask 1")
        return
    ethernet += it.some("vlan_tpid", "type", 16)
    tag = "vlan" + it.some("vlan_tci", "tci", 16) + ethertype(it, "inner_type")
    it.items += [ethernet, tag]


def network(it: Drawn) -> None:
    """IPV4 or IPV6, and IPV6_FRAG_EXT."""
    four = it.key.eth_type == 0x0800
    it.exactly("eth_type", 16)
    write = address4 if four else address6
    bits = 32 if four else 128
    item = "ipv4" if four else "ipv6"
    item += it.some("ip_src", "src", bits, write) + it.some("ip_dst", "dst", bits, write)
    item += it.some("ip_tos", "tos", 8) if four else ""
    item += it.some("ip_ttl", "ttl" if four else "hop", 8)
    if it.maybe():
        it.exactly("ip_protocol", 8)
        item += f" proto is {it.key.ip_protocol}"
    if not it.maybe():
        it.items.append(item)
        return
    offset, behind, it.mask["fragment"] = FRAGMENTS[L.FlowFragment(it.key.fragment)]
    if four:
        it.items.append(f"{item} fragment_offset " + offset.format("fragment_offset"))
        return
    it.items.append(f"{item} has_frag_ext spec {int(bool(behind))} has_frag_ext mask 1")
    if behind:
        it.items.append(f"ipv6_frag_ext frag_data {behind}")


def transport(it: Drawn) -> None:
    """TCP, UDP, SCTP, ICMP, ICMP6: the item alone asks for the protocol and its header."""
    kind = L.L4Kind(it.key.l4_kind)
    it.exactly("ip_protocol", 8)
    it.exactly("l4_kind", 3)
    names = {L.L4Kind.L4_TCP: "tcp", L.L4Kind.L4_UDP: "udp", L.L4Kind.L4_SCTP: "sctp", L.L4Kind.L4_ICMP: "icmp"}
    item = names.get(kind, "icmp6")
    if item.startswith("icmp"):
        item += it.some("l4_src", "type", 8) + it.some("l4_dst", "code", 8)
    else:
        item += it.some("l4_src", "src", 16) + it.some("l4_dst", "dst", 16)
    if kind == L.L4Kind.L4_TCP:
        item += it.some("tcp_flags", "flags", 8)
    it.items.append(item)


def drawn(draw: random.Random, key: L.FlowKey) -> tuple[str, int]:
    """A pattern that the packet of the key matches, and its mask."""
    it = Drawn(draw, key)
    link(it)
    if key.eth_type in (0x0800, 0x86DD) and it.maybe():
        network(it)
        if key.l4_kind and it.maybe():
            transport(it)
    return " / ".join(it.items), L.FlowKey(**it.mask).to_int()


@pytest.mark.parametrize("seed", range(2))
def test_a_rule_that_is_accepted_matches_what_rte_flow_says(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    packets = [one for one in [*link_layers(), *well_formed(), *malformed()] if len(one) >= 14 and be(one, 12) != 0x9100]
    packets = [one for one in packets if parse(one, L.Meta(length=len(one))).phv.ip_protocol != 135]  # is an extension header here
    draw.shuffle(packets)
    # What Open vSwitch sees of packets that the device matches; later fragments of IPv6 are of another protocol to it (keys.py).
    told = [(packet, key if key_of(0, packet) else None) for packet, key in zip(packets, keys(packets), strict=True)]
    told = [(packet, key) for packet, key in told if not key or not is_later_ipv6_fragment(key)]
    packets, seen = [packet for packet, _ in told], [key for _, key in told]
    rules = [(*drawn(draw, key), key.to_int()) for key in draw.choices([key for key in seen if key], k=2 * RULES)]
    rules = [rule for rule in rules if len(rule[0]) < LONGEST][:RULES]
    rules.sort(key=lambda rule: -rule[1].bit_count())  # else a few take all packets
    commands = [
        f"flow create 0 priority {n} transfer pattern {pattern} / end actions drop / end" for n, (pattern, _, _) in enumerate(rules)
    ]
    hits: Counter[int] = Counter()
    unmatched = []
    for packet, key in zip(packets, seen, strict=True):
        found = key and next((n for n, (_, mask, of) in enumerate(rules) if (key.to_int() ^ of) & mask == 0), None)
        hits[-1 if found is None else found] += 1
        if found is None:
            unmatched.append(packet)
    wrpcap(str(tmp_path / "in"), packets, linktype=1)
    # What a rule matches is asked; the fence would send some of it to the host, behind the packets of its flow.
    vdev = f"net_sluice0,lanes=[pcap:{tmp_path}/in:,pcap::{tmp_path}/out],lossless=1,fence=0"
    begin = ("port start 1", "port start 0", "start")
    with Testpmd(tmp_path, [vdev], commands, ["--max-pkt-len=9000", "--rx-offloads=0x2000"], begin=begin) as testpmd:
        testpmd.wait(0, "rx_good_lane_packets", len(packets))
        testpmd.wait(1, "tx_good_lane_packets", len(unmatched))
        testpmd.tell("stop", f"flow dump 0 all {tmp_path}/rules")
        output, errors = testpmd.quit()
    refused = [line for line in errors_of(errors) if not line.startswith("net_sluice: flow")]
    assert refused == [] and output.count(" created") == RULES
    counted = re.findall(r"(\d+) packets: lane=0 priority=(\d+) ", (tmp_path / "rules").read_text())
    assert {int(n): int(count) for count, n in counted} == {n: hits[n] for n in range(RULES)}
    assert read(tmp_path / "out") == unmatched
    assert len(packets) - len(unmatched) > 100 and sum(hits[n] > 0 for n in range(RULES)) > 15
