# SPDX-License-Identifier: Apache-2.0
"""Flow keys as Open vSwitch itself reads them out of packets: `ovs-ofctl parse-pcap`, in the flow table's layout.

Its text has no TPID and no DEI bit, and calls all fragments but the first `later`; those come from the packet's bytes, as does the
end of the key at a second tag: the tool reads two, and a switch with the default vlan-limit one.
"""

from __future__ import annotations

import ipaddress
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from scapy.layers.inet import IP
from scapy.layers.inet6 import IPv6ExtHdrFragment
from scapy.layers.l2 import Ether
from scapy.utils import PcapWriter
from sluice_layouts import FlowFragment, FlowKey, L4Kind

LENGTH, TAGS = 0x05FF, (0x8100, 0x88A8)
DEI = 0x1000
TYPES = {"ip": 0x0800, "ipv6": 0x86DD, "arp": 0x0806, "rarp": 0x8035, "mpls": 0x8847, "mplsm": 0x8848}
PROTOCOLS = {"tcp": 6, "udp": 17, "sctp": 132}
KINDS = {6: L4Kind.L4_TCP, 17: L4Kind.L4_UDP, 132: L4Kind.L4_SCTP}
FLAGS = {name: 1 << bit for bit, name in enumerate(("fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"))}


def be(packet: bytes, at: int, size: int = 2) -> int:
    """A number in network order."""
    return int.from_bytes(packet[at : at + size], "big")


def is_later_ipv6_fragment(key: FlowKey) -> bool:
    """Whether the device and OVS tell another protocol of such a packet.

    OVS tells 44 of each fragment but the first, the device what its fragment header says. Harmless: such a rule of OVS matches no
    packet of the device, and what no rule matches goes to OVS."""
    return key.eth_type == 0x86DD and key.fragment >= FlowFragment.FRAGMENT_EARLY


def read(packets: Sequence[bytes]) -> list[dict[str, str]]:
    """What OVS tells of each packet: its fields, and under "" the name of its kind."""
    with tempfile.TemporaryDirectory(prefix="sluice-keys-") as folder:
        capture = Path(folder) / "capture"
        with PcapWriter(str(capture), linktype=1) as writer:
            writer.write_header(None)
            for packet in packets:
                writer.write_packet(packet)
        done = subprocess.run(["ovs-ofctl", "parse-pcap", str(capture)], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    if len(lines) != len(packets):
        raise ValueError(f"{len(lines)} flows of {len(packets)} packets: {done.stderr}")
    return [{name: value for name, _, value in (word.partition("=") for word in [*line.split(","), f"={line}"])} for line in lines]


def _type_and_protocol(told: dict[str, str]) -> tuple[int, int]:
    """EtherType and protocol, which OVS writes as a word where it has one for them: `tcp6`, `icmp`, `arp`."""
    word = re.split("[,=]", told[""])[0]
    protocol = int(told.get("nw_proto", "0"))
    if word in TYPES:
        return TYPES[word], protocol
    if word in ("icmp", "icmp6"):
        return (0x0800, 1) if word == "icmp" else (0x86DD, 58)
    if word.rstrip("6") in PROTOCOLS:
        return 0x86DD if word.endswith("6") else 0x0800, PROTOCOLS[word.rstrip("6")]
    kind = int(told["dl_type"], 16)
    return 0 if kind == LENGTH else kind, protocol


def _fragment(told: dict[str, str], packet: bytes) -> FlowFragment:
    if told["nw_frag"] != "later":
        return FlowFragment.FRAGMENT_FIRST if told["nw_frag"] == "first" else FlowFragment.FRAGMENT_WHOLE
    seen = Ether(packet)
    offset = seen[IP].frag if IP in seen else seen[IPv6ExtHdrFragment].offset
    return FlowFragment.FRAGMENT_LATER if offset >= 8 else FlowFragment.FRAGMENT_EARLY


def _network(key: FlowKey, told: dict[str, str], packet: bytes) -> None:
    names = ("nw_src", "nw_dst") if key.eth_type == 0x0800 else ("ipv6_src", "ipv6_dst")
    key.ip_src, key.ip_dst = (int(ipaddress.ip_address(told[name])) for name in names)
    key.ip_tos, key.ip_ttl = int(told["nw_tos"]) | int(told["nw_ecn"]), int(told["nw_ttl"])
    key.fragment = _fragment(told, packet)


def _transport(key: FlowKey, told: dict[str, str]) -> None:
    kinds = KINDS | ({1: L4Kind.L4_ICMP} if key.eth_type == 0x0800 else {58: L4Kind.L4_ICMPV6})
    if key.fragment >= FlowFragment.FRAGMENT_EARLY or key.ip_protocol not in kinds:
        return
    key.l4_kind = kinds[key.ip_protocol]
    names = ("icmp_type", "icmp_code") if key.ip_protocol in (1, 58) else ("tp_src", "tp_dst")
    key.l4_src, key.l4_dst = (int(told[name]) for name in names)
    if key.l4_kind == L4Kind.L4_TCP:
        key.tcp_flags = sum(FLAGS.get(name, 0) for name in told["tcp_flags"].split("|"))


def _key(told: dict[str, str], packet: bytes, port: int) -> FlowKey:
    key = FlowKey(
        ingress_port=port, eth_dst=int(told["dl_dst"].replace(":", ""), 16), eth_src=int(told["dl_src"].replace(":", ""), 16)
    )
    if "dl_vlan" in told:
        key.has_vlan, key.vlan_tpid = 1, be(packet, 12)
        key.vlan_tci = int(told["dl_vlan_pcp"]) << 13 | be(packet, 14) & DEI | int(told["dl_vlan"])
    if be(packet, 12) in TAGS and be(packet, 16) in TAGS:
        key.eth_type = be(packet, 16)
        return key
    key.eth_type, key.ip_protocol = _type_and_protocol(told)
    if key.eth_type not in (0x0800, 0x86DD):
        key.ip_protocol = 0
        return key
    _network(key, told, packet)
    _transport(key, told)
    return key


def keys(packets: Sequence[bytes], port: int = 0) -> list[FlowKey]:
    """The key of each packet that comes in at a port. Raises CalledProcessError with the words of `ovs-ofctl`."""
    return [_key(told, packet, port) for told, packet in zip(read(packets), packets, strict=True)]
