# SPDX-License-Identifier: Apache-2.0
"""el_parse: the record of every kind of packet, field by field against the model; the packet itself leaves unchanged."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from sluice_layouts import Fault, Flit, L3Kind, L4Kind, PhvRecord, TunnelKind

from models import tunnels
from models.packet import FAULTS, Own, from_flits, parse, to_flits
from models.traffic import malformed, meta_of, mutated, truncated, well_formed
from testing.cocotb.channel import Sink, Source, stalls, start
from testing.coverage import Coverage
from toolchain.simulate import simulate

L4_OF = {  # what each network header can carry; ICMP is IPv4's, ICMPv6 is IPv6's
    L3Kind.L3_NONE: [L4Kind.L4_NONE],
    L3Kind.L3_ARP: [L4Kind.L4_NONE],
    L3Kind.L3_IPV4: [kind for kind in L4Kind if kind != L4Kind.L4_ICMPV6],
    L3Kind.L3_IPV6: [kind for kind in L4Kind if kind != L4Kind.L4_ICMP],
}
STACKS = [(tags, l3, l4) for tags in range(3) for l3, kinds in L4_OF.items() for l4 in kinds]
SIZES = {"1 to 13": 13, "14 to 59": 59, "60": 60, "61 to 64": 64, "65 to 128": 128, "129 to 192": 192, "more": 9216}


def named(*stack: object) -> str:
    """A stack of headers in words."""
    tags, l3, l4 = stack
    return f"{tags} tags {L3Kind(l3).name[3:]} {L4Kind(l4).name[3:]}"


SEEN = Coverage(
    "parser",
    {
        "headers": [named(*stack) for stack in STACKS],
        "headers inside a tunnel": [named(*stack) for stack in STACKS],
        "options": [
            "IPV4 plain",
            "IPV4 options",
            "IPV4 fragment",
            "IPV4 options fragment",
            "IPV6 plain",
            "IPV6 options",
            "IPV6 options fragment",
        ],  # IPv6 says it in an extension header
        "tunnel": ["NONE passed", *(f"{kind.name[7:]} opened" for kind in TunnelKind if kind)],
        "fault": [f"{fault.name[6:]} {place}" for fault in Fault for place in ("opened", "passed")],
        "bytes": list(SIZES),
    },
)


def see(record: PhvRecord, size: int) -> None:
    """Count a record that was right."""
    if not SEEN.on:
        return
    info = record.info
    place = "opened" if info.outer_length else "passed"
    SEEN.see("fault", f"{Fault(record.fault).name[6:]} {place}")
    SEEN.see("bytes", next(name for name, most in SIZES.items() if size <= most))
    if record.fault:
        return
    SEEN.see("headers inside a tunnel" if info.outer_length else "headers", named(info.tags, info.l3_kind, info.l4_kind))
    SEEN.see("tunnel", f"{TunnelKind(record.phv.tunnel_kind).name[7:]} {place}")
    if info.l3_kind in (L3Kind.L3_IPV4, L3Kind.L3_IPV6):
        what = " ".join(name for name, is_there in (("options", info.ip_options), ("fragment", info.is_fragment)) if is_there)
        SEEN.see("options", f"{L3Kind(info.l3_kind).name[3:]} {what or 'plain'}")


def test_el_parse() -> None:
    simulate("el_parse", __file__)


def test_traffic_has_every_fault_and_every_kind() -> None:
    random.seed(1)
    good = [parse(p, meta_of(p)) for p in well_formed()]
    assert not any(record.fault for record in good)
    assert {record.info.l3_kind for record in good} == set(L3Kind)
    assert {record.info.l4_kind for record in good} == set(L4Kind)
    assert {record.info.tags for record in good} == {0, 1, 2}
    assert {parse(p, meta_of(p)).fault for p in malformed()} - {Fault.FAULT_NONE} == FAULTS - {Fault.FAULT_NONE}


def test_tunnels_have_every_kind_and_every_fault() -> None:
    random.seed(1)
    records = {make: [parse(p, meta_of(p), tunnels.OWN) for p in make()] for make in (tunnels.opened, tunnels.closed)}
    assert {record.phv.tunnel_kind for record in records[tunnels.opened]} == set(TunnelKind) - {TunnelKind.TUNNEL_NONE}
    assert not any(record.info.outer_length for record in records[tunnels.closed])
    inside = [parse(p, meta_of(p), tunnels.OWN) for p in tunnels.malformed_inside()]
    assert {record.fault for record in inside} == FAULTS and all(record.info.outer_length for record in inside)
    assert max(record.info.outer_length for record in inside) == 126


def packed(own: Own) -> int:
    """`own_addresses_t`."""
    macs = sum(mac << 48 * lane for lane, mac in enumerate(own.lane_mac))
    opens = (own.ipv6 is not None) << 1 | (own.ipv4 is not None)
    return macs << 162 | (own.ipv6 or 0) << 34 | (own.ipv4 or 0) << 2 | opens


async def check(dut, packets: list[bytes], stall: float = 0.3, own: Own = tunnels.OWN) -> None:
    """Send packets; every record and every packet must be the model's, in order."""
    dut.own_i.value = packed(own)
    source = Source(dut, "in", stalls(stall))
    out, phv = Sink(dut, "out", stalls(stall)), Sink(dut, "phv", stalls(stall))
    await start(dut)
    metas = [meta_of(packet) for packet in packets]
    flits = [f for packet, meta in zip(packets, metas, strict=True) for f in to_flits(packet, meta)]
    source.send(*(f.to_int() for f in flits))
    records = await phv.wait_for(len(packets))
    for packet, meta, word in zip(packets, metas, records, strict=True):
        expected = parse(packet, meta, own)
        assert PhvRecord.from_int(word) == expected, f"{packet.hex()}:\n{PhvRecord.from_int(word)}\n{expected}"
        see(expected, len(packet))
    received = from_flits(Flit.from_int(w) for w in await out.wait_for(len(flits)))
    assert [(r.data, r.meta) for r in received] == list(zip(packets, metas, strict=True))


@cocotb.test()
async def reads_every_kind_of_header(dut):
    await check(dut, [packet for packet in well_formed() for _ in range(2)])


@cocotb.test()
async def marks_malformed_packets_and_reads_the_next(dut):
    good = well_formed()
    await check(dut, [p for bad in malformed() for p in (bad, random.choice(good))])


@cocotb.test()
async def survives_truncation_at_every_byte(dut):
    await check(dut, truncated(), stall=0.1)


@cocotb.test()
async def survives_random_bytes(dut):
    good = well_formed() + malformed()
    packets = [mutated(random.choice(good)) for _ in range(1200)]
    packets += [random.randbytes(random.randint(1, 300)) for _ in range(100)]
    await check(dut, packets, stall=0.1)


@cocotb.test()
async def opens_tunnels(dut):
    packets = tunnels.opened() + tunnels.closed() + tunnels.malformed_inside()
    packets += random.choices(well_formed(), k=len(packets))
    random.shuffle(packets)
    await check(dut, packets)


@cocotb.test()
async def survives_truncation_of_tunnels_at_every_byte(dut):
    await check(dut, tunnels.truncated(), stall=0.1)


@cocotb.test()
async def survives_headers_in_any_order(dut):
    packets = [tunnels.any_order() for _ in range(700)]
    packets += [tunnels.mutated(random.choice(packets)) for _ in range(300)]
    sound = tunnels.opened()
    await check(dut, packets + [tunnels.mutated(random.choice(sound)) for _ in range(500)], stall=0.1)


@cocotb.test()
async def opens_only_what_is_its_own(dut):
    mac, four, six = tunnels.OWN.lane_mac, tunnels.OWN.ipv4, tunnels.OWN.ipv6
    for own in (
        Own(mac, four),
        Own(mac, None, six),
        Own(mac),
        Own((0, mac[0], 5, mac[0]), four, six),
        Own(mac, four, six ^ 1 << 127),
    ):
        await check(dut, tunnels.opened()[:50], stall=0, own=own)
    nobody = [bytes(6) + packet[6:] for packet in tunnels.opened()[:20]]
    await check(dut, nobody, stall=0, own=Own((0,) * 8, four, six))


@cocotb.test()
async def takes_a_flit_every_cycle(dut):
    dut.own_i.value = packed(tunnels.OWN)
    source, out, phv = Source(dut, "in", stalls(0)), Sink(dut, "out", stalls(0)), Sink(dut, "phv", stalls(0))
    await start(dut)
    tunnel = next(p for p in tunnels.opened() if len(p) >= 60 and not parse(p, meta_of(p), tunnels.OWN).fault)
    for size, count in ((0, 600), (60, 2000), (65, 1000), (129, 600), (193, 400), (1514, 60)):
        packet = random.choice(well_formed())[:60].ljust(size, b"\0") if size else tunnel
        words = [f.to_int() for f in to_flits(packet, meta_of(packet))] * count
        out.received.clear()
        phv.received.clear()
        source.send(*words)
        cycles = 0
        while source.queue:
            await RisingEdge(dut.clk_i)
            cycles += 1
        await out.wait_for(len(words))
        await phv.wait_for(count)
        dut._log.info(f"{len(packet)} bytes: {len(words) / cycles:.4f} flits a cycle")
        assert len(words) / cycles >= 0.99
