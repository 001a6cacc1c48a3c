# SPDX-License-Identifier: Apache-2.0
"""el_admit: every record is admitted or not as its page says, for any setting of the registers; registers answer."""

import random

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from sluice_layouts import (
    ADMIT_REGISTERS,
    ADMIT_REGISTERS_CONTROL,
    ADMIT_REGISTERS_LANE_MAC,
    ADMIT_REGISTERS_TUNNEL_CONTROL,
    ADMIT_REGISTERS_TUNNEL_IPV4,
    ADMIT_REGISTERS_TUNNEL_IPV6,
    L3Kind,
    PhvRecord,
    RegisterRequest,
    RegisterResponse,
)

from models.packet import parse
from models.traffic import malformed, meta_of, mutated, well_formed
from testing.cocotb.channel import Sink, Source, stalls, start
from testing.cocotb.registers import check_window
from toolchain.simulate import simulate

LANES = 8


def test_el_admit() -> None:
    simulate("el_admit", __file__)


async def access(dut, address: int, value: int | None = None) -> RegisterResponse:
    """One register access; the answer comes once."""
    request = RegisterRequest(write=int(value is not None), address=address, data=value or 0)
    dut.reg_request_i.value = request.to_int()
    dut.reg_request_valid_i.value = 1
    await RisingEdge(dut.clk_i)
    dut.reg_request_valid_i.value = 0
    await ReadOnly()
    assert dut.reg_response_valid_o.value == 1
    response = RegisterResponse.from_int(int(dut.reg_response_o.value))
    await RisingEdge(dut.clk_i)
    await ReadOnly()
    assert dut.reg_response_valid_o.value == 0
    await RisingEdge(dut.clk_i)
    return response


async def begin(dut) -> None:
    dut.reg_request_valid_i.value = 0
    await start(dut)


def admitted(record: PhvRecord, control: int, macs: list[int]) -> bool:
    """The element's page in Python."""
    info = record.info
    known = record.ingress_port < LANES and macs[record.ingress_port] == record.phv.eth_dst != 0
    return (
        record.fault == 0
        and info.l3_kind in (L3Kind.L3_IPV4, L3Kind.L3_IPV6)
        and (bool(control >> 11 & 1) or known)
        and not (control >> 8 & 1 and info.ip_options)
        and not (control >> 9 & 1 and info.is_fragment)
        and not (control >> 10 & 1 and info.tags)
    )


@cocotb.test()
async def admits_what_its_page_says(dut):
    source, sink = Source(dut, "in"), Sink(dut, "out")
    await begin(dut)
    packets = well_formed() + [mutated(p) for p in well_formed()] + malformed()
    seen = set()
    for round_ in range(20):
        records = []
        for packet in random.sample(packets, 60):
            record = parse(packet, meta_of(packet))
            record.ingress_port = random.choice((*range(LANES), LANES, 255))
            record.phv.user = random.getrandbits(48)
            if random.random() < 0.1:
                record.phv.eth_dst = 0
            records.append(record)
        macs = [random.choice((random.getrandbits(48), 0, *[0x020000000001] * 4)) for _ in range(LANES)]
        control = random.getrandbits(12) & ~(0x800 if round_ % 2 else 0)
        assert not (await access(dut, ADMIT_REGISTERS_CONTROL, control)).error
        for lane, mac in enumerate(macs):
            assert not (await access(dut, ADMIT_REGISTERS_LANE_MAC + 8 * lane, mac & 0xFFFFFFFF)).error
            assert not (await access(dut, ADMIT_REGISTERS_LANE_MAC + 8 * lane + 4, mac >> 32)).error
        source.send(*(r.to_int() for r in records))
        sink.received.clear()
        for record, word in zip(records, await sink.wait_for(len(records)), strict=True):
            record.required, record.eligible = control & 0xF, int(admitted(record, control, macs))
            assert PhvRecord.from_int(word) == record
            seen.add((record.eligible, record.info.l3_kind, record.info.tags))
    assert {(1, kind, tags) for kind in (L3Kind.L3_IPV4, L3Kind.L3_IPV6) for tags in range(3)} <= seen


@cocotb.test()
async def answers_every_register_access(dut):
    await begin(dut)
    limits = {"control": [0xF0F & random.getrandbits(12)], "lane_mac": range(1 << 16)}
    await check_window(lambda address, value: access(dut, address, value), ADMIT_REGISTERS, values=limits)
    values = {ADMIT_REGISTERS_CONTROL: 0xF0F}
    values |= {ADMIT_REGISTERS_LANE_MAC + 4 * n: random.getrandbits(16) for n in range(2 * LANES)}
    ipv6 = [random.getrandbits(32) for _ in range(4)]
    values |= {ADMIT_REGISTERS_TUNNEL_IPV6 + 4 * n: word for n, word in enumerate(ipv6)}
    values |= {ADMIT_REGISTERS_TUNNEL_CONTROL: 2, ADMIT_REGISTERS_TUNNEL_IPV4: random.getrandbits(32)}
    for address, value in values.items():
        assert not (await access(dut, 0x2000 + address, value)).error
    macs = sum(values[ADMIT_REGISTERS_LANE_MAC + 4 * n] << 48 * (n // 2) + 32 * (n % 2) for n in range(2 * LANES))
    own = macs << 162 | sum(word << 34 + 32 * n for n, word in enumerate(ipv6)) | values[ADMIT_REGISTERS_TUNNEL_IPV4] << 2
    assert int(dut.own_o.value) == own | 2, "IPv6 opens, IPv4 does not"
    assert [(await access(dut, address)).data for address in values] == list(values.values())
    for address, value in ((ADMIT_REGISTERS_CONTROL, 0xFFFFF0FF), (ADMIT_REGISTERS_LANE_MAC + 4, 0xFFFF0001)):
        assert not (await access(dut, address, value)).error
    assert (await access(dut, ADMIT_REGISTERS_CONTROL)).data == 0x00F
    assert (await access(dut, ADMIT_REGISTERS_LANE_MAC + 4)).data == 1


@cocotb.test()
async def takes_a_record_every_cycle(dut):
    source, sink = Source(dut, "in", stalls(0)), Sink(dut, "out", stalls(0))
    await begin(dut)
    source.send(*range(500))
    for _ in range(503):
        await RisingEdge(dut.clk_i)
    assert len(sink.received) == 500


@cocotb.test()
async def a_reset_admits_nothing_more(dut):
    await begin(dut)
    settings = {ADMIT_REGISTERS_CONTROL: 0xF0F, ADMIT_REGISTERS_TUNNEL_CONTROL: 3, ADMIT_REGISTERS_TUNNEL_IPV4: 0xFFFFFFFF}
    settings |= {ADMIT_REGISTERS_LANE_MAC + 4 * word: 0xFFFF for word in range(2 * LANES)}
    settings |= {ADMIT_REGISTERS_TUNNEL_IPV6 + 4 * word: 0xFFFFFFFF for word in range(4)}
    for address, value in settings.items():
        await access(dut, address, value)
    assert [(await access(dut, address)).data for address in settings] == list(settings.values())
    dut.rst_i.value = 1
    await RisingEdge(dut.clk_i)
    dut.rst_i.value = 0
    await RisingEdge(dut.clk_i)
    for address in settings:
        answer = await access(dut, address)
        assert answer.data == 0 and not answer.error, hex(address)
