# SPDX-License-Identifier: Apache-2.0
"""The key of a packet is what Open vSwitch's flow extraction says of its bytes, and only packets with a sound header have one."""

import random

import cocotb
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Dot1Q, Ether
from sluice_layouts import Flit, FlowKey, Meta

from models import tunnels
from models.flow import link_info
from models.packet import from_flits, parse, to_flits
from models.traffic import MACS, link_layers, malformed, meta_of, truncated, well_formed
from testing.cocotb.channel import Sink, Source, stalls, start
from testing.ovs.keys import TAGS, be, is_later_ipv6_fragment, keys
from toolchain.simulate import simulate

USABLE = 8 * len(FlowKey().pack())


def test_flow_key() -> None:
    simulate("tb_flow_key", __file__)


async def keys_of(dut, packets: list[bytes], stall: float) -> list[tuple[Meta, int]]:
    """Metadata and key of each packet; the packets themselves leave unchanged."""
    dut.own_i.value = 0
    source, out, key = Source(dut, "in", stalls(stall)), Sink(dut, "out", stalls(stall)), Sink(dut, "key", stalls(stall))
    await start(dut)
    metas = [meta_of(packet) for packet in packets]
    source.send(*(f.to_int() for packet, meta in zip(packets, metas, strict=True) for f in to_flits(packet, meta)))
    words = await key.wait_for(len(packets))
    await source.drained()
    count = sum(len(to_flits(packet, meta)) for packet, meta in zip(packets, metas, strict=True))
    received = from_flits(Flit.from_int(word) for word in await out.wait_for(count))
    assert [r.data for r in received] == packets
    return list(zip(metas, words, strict=True))


@cocotb.test()
async def is_what_open_vswitch_reads(dut):
    packets = [*link_layers(), *well_formed(), *malformed(), *random.sample(truncated(), 60), *tunnels.opened()[:10]]
    random.shuffle(packets)
    usable_ones: list[tuple[bytes, int, FlowKey]] = []
    refused = 0
    for packet, (meta, word) in zip(packets, await keys_of(dut, packets, 0.3), strict=True):
        record = parse(packet, meta)
        usable = not record.fault and not link_info(packet).is_snap
        assert word >> USABLE == usable, packet.hex()
        refused += not usable
        if usable and be(packet, 12) != 0x9100 and record.phv.ip_protocol != 135:
            usable_ones.append((packet, meta.ingress_port, FlowKey.from_int(word & (1 << USABLE) - 1)))
    for (packet, port, key), theirs in zip(usable_ones, keys([packet for packet, _, _ in usable_ones]), strict=True):
        theirs.ingress_port = port
        theirs.ip_protocol = key.ip_protocol if is_later_ipv6_fragment(theirs) else theirs.ip_protocol
        assert key == theirs, f"{packet.hex()}\n{key}\n{theirs}"
    assert len(usable_ones) > 60 and refused > 40


@cocotb.test()
async def has_a_bit_of_its_own_for_the_tag_that_open_vswitch_does_not_know(dut):
    packet = bytes(Ether(**MACS, type=0x9100)) + bytes(Dot1Q(vlan=5, type=0x0800)) + bytes(IP(dst="192.0.2.9") / UDP())
    key = FlowKey.from_int((await keys_of(dut, [packet] * 3, 0.3))[2][1] & (1 << USABLE) - 1)
    assert (key.has_vlan, key.vlan_tpid, key.vlan_tpid >> 12 & 1, key.eth_type) == (1, 0x9100, 1, 0x0800)
    assert not any(tag >> 12 & 1 for tag in TAGS)
