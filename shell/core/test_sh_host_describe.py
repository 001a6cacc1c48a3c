# SPDX-License-Identifier: Apache-2.0
"""sh_host_describe: what it says of every kind of packet is the model's; the model's hash is Microsoft's, its checksums scapy's.
One flit a cycle; full queues drop whole packets or hold them back; the window refuses what cannot be."""

import ipaddress
import os
import random
from collections.abc import Sequence
from dataclasses import replace

import cocotb
import pytest
import sluice_layouts as layouts
from cocotb.triggers import RisingEdge
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from sluice_layouts import Checksum, Flit, FlowKey, HashKind, HostInfo, L3Kind, L4Kind

from models.flow import key_of
from models.host import ALL_KINDS, MICROSOFT_KEY, Lane, describe, toeplitz
from models.packet import from_flits, to_flits
from models.traffic import MACS, link_layers, malformed, meta_of, mutated, truncated, well_formed
from testing.cocotb.channel import Sink, Source, stalls, start
from testing.cocotb.registers import Registers, check_window
from toolchain.simulate import simulate

LANES, QUEUES = 3, int(os.environ.get("QUEUES", "5"))
GOOD = Checksum.CHECKSUM_IP_GOOD | Checksum.CHECKSUM_L4_GOOD

# "Verifying the RSS Hash Calculation": destination, its port, source, its port, hash of the addresses, with the ports.
MICROSOFT = [
    ("161.142.100.80", 1766, "66.9.149.187", 2794, 0x323E8FC2, 0x51CCC178),
    ("65.69.140.83", 4739, "199.92.111.2", 14230, 0xD718262A, 0xC626B0EA),
    ("12.22.207.184", 38024, "24.19.198.95", 12898, 0xD2D0A5DE, 0x5C2B394A),
    ("209.142.163.6", 2217, "38.27.205.30", 48228, 0x82989176, 0xAFC7327F),
    ("202.188.127.2", 1303, "153.39.163.191", 44251, 0x5D1809C5, 0x10E828A2),
    ("3ffe:2501:200:3::1", 1766, "3ffe:2501:200:1fff::7", 2794, 0x2CC18CD5, 0x40207D3D),
    ("ff02::1", 4739, "3ffe:501:8::260:97ff:fe40:efab", 14230, 0x0F0C461C, 0xDDE51BBF),
    ("fe80::200:f8ff:fe21:67cf", 38024, "3ffe:1900:4545:3:200:f8ff:fe21:67cf", 44251, 0x4B61E985, 0x02D1FEEF),
]


@pytest.mark.parametrize(("queues", "cases"), [(5, None), (layouts.HOST_QUEUES, "describes_truncated_and_random_packets")])
def test_sh_host_describe(queues: int, cases: str | None) -> None:
    parameters = {"Lanes": LANES, "Queues": queues}
    simulate("sh_host_describe", __file__, parameters, testcase=cases, env={"QUEUES": str(queues)})


@pytest.mark.parametrize(("destination", "dport", "source", "sport", "plain", "ports"), MICROSOFT)
def test_the_models_hash_is_microsofts(destination: str, dport: int, source: str, sport: int, plain: int, ports: int) -> None:
    addresses = ipaddress.ip_address(source).packed + ipaddress.ip_address(destination).packed
    assert toeplitz(addresses, MICROSOFT_KEY) == plain
    assert toeplitz(addresses + sport.to_bytes(2, "big") + dport.to_bytes(2, "big"), MICROSOFT_KEY) == ports


def sums(packet: bytes) -> int:
    return int(describe(packet).checksum_verified)


@pytest.mark.parametrize("payload", [0, 1, 2, 7, 200, 1400])
def test_the_models_checksums_are_scapys(payload: int) -> None:
    draw = random.Random(payload)
    for l3 in (IP(src="192.0.2.1", dst="198.51.100.7"), IPv6(src="2001:db8::1", dst="2001:db8::2")):
        for l4 in (TCP(sport=1, dport=2), UDP(sport=3, dport=4)):
            packet = bytes(Ether(**MACS) / l3 / l4 / draw.randbytes(payload))
            padded = packet.ljust(60, b"\1")  # what stands behind the IP packet does not count
            four = isinstance(l3, IP)
            assert sums(padded) == (GOOD if four else Checksum.CHECKSUM_L4_GOOD)
            end = len(packet) - 1
            bad = packet[:end] + bytes([packet[end] ^ 1]) if payload else packet
            if payload:
                assert sums(bad) == (Checksum.CHECKSUM_L4_BAD | (Checksum.CHECKSUM_IP_GOOD if four else 0))
            if four:
                assert sums(packet[:22] + bytes([packet[22] ^ 4]) + packet[23:]) & Checksum.CHECKSUM_IP_BAD


class Described(Sink):
    """Takes flits, each with what is said of its packet."""

    def __init__(self, dut, stall: float) -> None:
        class Both:
            @property
            def value(self) -> int:
                said = int(dut.out_key_o.value) << HostInfo.BITS | int(dut.out_info_o.value)
                return said << Flit.BITS | int(dut.out_data_o.value)

        super().__init__(dut, "out", stalls(stall))
        self.data = Both()


class Device(Registers):
    """The device under test and how its lanes are set."""

    def __init__(self, dut) -> None:
        super().__init__(dut)
        self.lanes = [Lane() for _ in range(LANES)]

    async def begin(self, stall: float) -> tuple[Source, Described]:
        self.dut.full_i.value = self.dut.absent_i.value = self.dut.lossless_i.value = 0
        source, sink = Source(self.dut, "in", stalls(stall)), Described(self.dut, stall)
        await start(self.dut)
        return source, sink

    async def spread(self, number: int, lane: Lane) -> None:
        self.lanes[number] = lane
        await self.write(layouts.HOST_REGISTERS_LANE, number)
        await self.write(layouts.HOST_REGISTERS_HASH_KINDS, lane.kinds)
        for n in range(10):
            await self.write(layouts.HOST_REGISTERS_KEY + 4 * n, int.from_bytes(lane.key[36 - 4 * n : 40 - 4 * n], "big"))
        for number, table in lane.tables.items():
            await self.write(layouts.HOST_REGISTERS_TABLE_INDEX, number)
            for n, queue in enumerate(table):
                await self.write(layouts.HOST_REGISTERS_TABLE + 4 * n, queue)

    async def spread_all(self) -> None:
        await self.spread(0, Lane(ALL_KINDS, MICROSOFT_KEY, {0: [n % QUEUES for n in range(128)], 5: drawn()}))
        await self.spread(1, Lane(0, MICROSOFT_KEY, {7: [QUEUES - 1] + [0] * 127}))  # nothing is hashed
        some = HashKind.HASH_IPV4 | HashKind.HASH_IPV6_TCP | HashKind.HASH_IPV4_SCTP
        await self.spread(2, Lane(some, random.randbytes(40), {0: drawn(), 1: drawn()}))


def drawn() -> list[int]:
    """A redirection table."""
    return [random.randrange(QUEUES) for _ in range(layouts.RSS_ENTRIES)]


def cut(packets: Sequence[tuple[int, bytes]]) -> list[int]:
    """Packets of lanes as flits; no rule has chosen their queue."""
    return [flit for lane, packet in packets for flit in chosen(lane, packet, 0)]


def chosen(lane: int, packet: bytes, queue: int) -> list[int]:
    """A packet as flits with this `queue` in its metadata."""
    return [flit.to_int() for flit in to_flits(packet, replace(meta_of(packet), ingress_port=lane, queue=queue))]


def split(words: Sequence[int]) -> tuple[list[Flit], list[tuple[HostInfo, int]]]:
    """The flits, and what the last flit of each packet says, with its key; all flits of a packet say the same but for what needs
    its end."""
    flits = [Flit.from_int(word & (1 << Flit.BITS) - 1) for word in words]
    infos, first = [], None
    for flit, word in zip(flits, words, strict=True):
        info, key = HostInfo.from_int(word >> Flit.BITS & (1 << HostInfo.BITS) - 1), word >> Flit.BITS + HostInfo.BITS
        early = replace(info, checksum_verified=0, l4_sum=0)
        assert flit.eop or info == early
        first = (early, key) if flit.sop else first
        assert first == (early, key)
        if flit.eop:
            infos.append((info, key))
    return flits, infos


async def check(dut, packets: list[bytes], stall: float = 0.3) -> None:
    device = Device(dut)
    source, sink = await device.begin(stall)
    await device.spread_all()
    lanes = [0, 1, 2, LANES, layouts.HOST_PORT]
    choices = {lane: [0, *device.lanes[lane].tables] if lane < LANES else range(8) for lane in lanes}  # of tables
    to = [(random.choice(lanes), packet) for packet in packets]
    sent = [(lane, packet, random.choice([*choices[lane], random.randrange(8, 16)])) for lane, packet in to]
    words = [flit for one in sent for flit in chosen(*one)]
    source.send(*words)
    flits, infos = split(await sink.wait_for(len(words)))
    assert [flit.to_int() for flit in flits] == words, "packets leave as they came"
    for (lane, packet, queue), (info, key) in zip(sent, infos, strict=True):
        expected = describe(packet, device.lanes[lane] if lane < LANES else None, queue, QUEUES)
        assert info == expected, f"lane {lane} {packet.hex()}:\n{info}\n{expected}"
        made = key_of(lane, packet)
        assert key == (made.to_int() if made else 0), f"lane {lane} {packet.hex()}: {FlowKey.from_int(key)}, not {made}"
    for _ in range(3):
        await RisingEdge(dut.clk_i)
    assert dut.idle_o.value == 1


def whole() -> list[bytes]:
    """Packets with sound checksums of every kind and size, and with one bit of each flipped."""
    made = []
    for l3 in (IP(src="192.0.2.1", dst="198.51.100.7"), IPv6(src="2001:db8::1", dst="2001:db8::2")):
        for l4 in (TCP(sport=1, dport=2), UDP(sport=3, dport=4)):
            for size in (0, 1, 2, 9, 10, 11, 63, 64, 65, 128, 1000, 1473, 9100):
                packet = bytes(Ether(**MACS) / l3 / l4 / random.randbytes(size))
                at = random.randrange(14, len(packet))
                made += [packet.ljust(60, b"\1"), packet[:at] + bytes([packet[at] ^ 1 << random.randrange(8)]) + packet[at + 1 :]]
    return made


@cocotb.test()
async def describes_every_kind_of_packet(dut):
    packets = [*well_formed(), *malformed(), *whole(), *link_layers()]
    assert {describe(packet).has_key for packet in packets} == {0, 1}
    assert {describe(packet).l3_kind for packet in packets} == set(L3Kind)
    assert {describe(packet).l4_kind for packet in packets} == set(L4Kind)
    await check(dut, packets)


@cocotb.test()
async def describes_truncated_and_random_packets(dut):
    good = well_formed() + malformed()
    packets = [*truncated(), *(mutated(random.choice(good)) for _ in range(500))]
    await check(dut, [packet for packet in packets if len(packet) >= 14], stall=0.05)


@cocotb.test()
async def takes_a_flit_a_cycle(dut):
    device = Device(dut)
    source, sink = await device.begin(0)
    words = cut([(0, packet[:60]) for packet in well_formed() if len(packet) >= 60] * 12)
    source.send(*words)
    for _ in range(len(words) + 60):
        await RisingEdge(dut.clk_i)
    assert len(sink.received) == len(words)


@cocotb.test()
async def a_full_queue_loses_whole_packets_and_no_others_and_so_does_one_that_is_not_there(dut):
    device = Device(dut)
    source, sink = await device.begin(0.3)
    await device.spread_all()
    dropped = 0
    dut.full_i.value = 1 << 2  # queue 2 of lane 0
    sent = [(random.choice([0, 1]), packet) for packet in random.sample(whole(), 60)]
    source.send(*cut(sent))
    kept = [one for one in sent if one[0] or describe(one[1], device.lanes[0]).receive_queue != 2]
    words = cut(kept)
    for _ in range(20_000):
        await RisingEdge(dut.clk_i)
        dropped += int(dut.dropped_o.value)
        if len(sink.received) == len(words) and dut.idle_o.value == 1:
            break
    flits, _ = split(sink.received)
    assert [(one.meta.ingress_port, one.data) for one in from_flits(flits)] == kept and dropped == len(sent) - len(kept) > 3
    dut.lossless_i.value = 1
    source.send(*cut(sent))
    await sink.wait_for(len(words) + len(cut(sent)))
    dut.absent_i.value = dut.full_i.value
    source.send(*cut(sent))
    await sink.wait_for(2 * len(words) + len(cut(sent)))
    await source.drained()


@cocotb.test()
async def refuses_what_cannot_be(dut):
    device = Device(dut)
    await device.begin(0)
    values = {"lane": range(LANES), "table_index": range(layouts.RSS_TABLES)}
    await check_window(device.access, layouts.HOST_REGISTERS, values=values)
    assert await device.read(layouts.HOST_REGISTERS_QUEUES) == QUEUES
    await device.write(layouts.HOST_REGISTERS_LANE, 2)
    await device.write(layouts.HOST_REGISTERS_HASH_KINDS, 0x155)
    await device.write(layouts.HOST_REGISTERS_TABLE_INDEX, layouts.RSS_TABLES - 1)
    wrong = [
        (layouts.HOST_REGISTERS_LANE, LANES),
        (layouts.HOST_REGISTERS_TABLE_INDEX, layouts.RSS_TABLES),
        (layouts.HOST_REGISTERS_TABLE, QUEUES),
    ]
    for address, value in wrong:
        assert (await device.access(address, value)).error, hex(address)
    assert await device.read(layouts.HOST_REGISTERS_LANE) == 2
    assert await device.read(layouts.HOST_REGISTERS_TABLE_INDEX) == layouts.RSS_TABLES - 1
    assert await device.read(layouts.HOST_REGISTERS_HASH_KINDS) == 0x55
