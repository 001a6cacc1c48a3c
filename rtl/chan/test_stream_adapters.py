# SPDX-License-Identifier: Apache-2.0
"""AXI4-Stream, Avalon-ST and width adapters: packets of every size come out byte for byte, with the right ends."""

import random

import cocotb
import pytest
from cocotb.triggers import ReadOnly, RisingEdge
from sluice_layouts import DATA_BYTES, Flit

from testing.cocotb.channel import Sink, Source, start
from toolchain.simulate import simulate

# Signals of each protocol's channel: the packed word of a beat is a dictionary of them.
AXIS = ("tdata", "tkeep", "tlast", "tuser")
AVALON = ("data", "empty", "channel", "error", "startofpacket", "endofpacket")
PLAIN = ("data", "empty", "sop", "eop", "error")
SIZES = [1, 2, 31, 32, 33, 63, 64, 65, 96, 97, 128, 317, 1500]


# The cocotb tests of each module besides the one that all of them have.
TESTS = {
    "sl_to_axis": [],
    "sl_from_axis": ["a_gap_in_tkeep_marks_the_packet_bad"],
    "sl_to_avalon": ["the_waveform_of_the_paper_comes_out"],
    "sl_from_avalon": [],
}


@pytest.mark.parametrize("module", list(TESTS))
def test_adapter(module: str) -> None:
    simulate(module, __file__, testcase=",".join([f"{module}_keeps_bytes_and_ends", *TESTS[module]]))


@pytest.mark.parametrize(("in_bytes", "out_bytes"), [(64, 32), (32, 64), (16, 64)])
def test_width_convert(in_bytes: int, out_bytes: int) -> None:
    simulate(
        "sl_width_convert",
        __file__,
        {"InBytes": in_bytes, "OutBytes": out_bytes},
        testcase="widths_change_and_bytes_stay,widths_cost_no_cycle_of_the_narrow_side",
    )


class BeatSource:
    """Drives beats, dictionaries of signals, into an input; holds each until it has moved."""

    def __init__(self, dut, prefix, fields, prefix_valid="valid", prefix_ready="ready", stall=0.3):
        self.dut, self.prefix, self.fields, self.stall = dut, prefix, fields, stall
        self.valid, self.ready = getattr(dut, f"{prefix}_{prefix_valid}_i"), getattr(dut, f"{prefix}_{prefix_ready}_o")
        self.valid.value = 0
        for field in fields:
            getattr(dut, f"{prefix}_{field}_i").value = 0

    async def send(self, beats):
        for beat in beats:
            while random.random() < self.stall:
                await RisingEdge(self.dut.clk_i)
            self.valid.value = 1
            for field in self.fields:
                getattr(self.dut, f"{self.prefix}_{field}_i").value = beat[field]
            moved = False
            while not moved:
                await ReadOnly()
                moved = self.ready.value == 1
                await RisingEdge(self.dut.clk_i)
            self.valid.value = 0


async def take_beats(dut, prefix, fields, count, ready_pattern=None, valid="valid", ready="ready"):
    """Take `count` beats; with each, the cycle it moved in. `ready_pattern` says ready for each cycle from the first valid."""
    beats, cycle, cycles = [], 0, []
    ready_signal, valid_signal = getattr(dut, f"{prefix}_{ready}_i"), getattr(dut, f"{prefix}_{valid}_o")
    while len(beats) < count:
        wanted = random.random() < 0.7 if ready_pattern is None else ready_pattern[min(cycle, len(ready_pattern) - 1)]
        ready_signal.value = int(wanted)
        await ReadOnly()
        if valid_signal.value == 1:
            if wanted:
                beats.append({field: int(getattr(dut, f"{prefix}_{field}_o").value) for field in fields})
                cycles.append(cycle)
            cycle += 1
        await RisingEdge(dut.clk_i)
    ready_signal.value = 0
    return beats, cycles


def chunks(packet, size):
    return [packet[i : i + size] for i in range(0, len(packet), size)]


def flits_of(packet, port=0, error=0):
    """The flits of a packet, as integers."""
    pieces = chunks(packet, DATA_BYTES)
    flits = []
    for i, piece in enumerate(pieces):
        last = i == len(pieces) - 1
        flit = Flit(sop=int(i == 0), eop=int(last), error=int(last and error), empty=DATA_BYTES - len(piece))
        flit.data = int.from_bytes(piece, "little")
        if i == 0:
            flit.meta.ingress_port = port
        flits.append(flit.to_int())
    return flits


def axis_of(packet, error=0):
    pieces = chunks(packet, DATA_BYTES)
    return [
        {
            "tdata": int.from_bytes(piece, "little"),
            "tkeep": (1 << len(piece)) - 1,
            "tlast": int(i == len(pieces) - 1),
            "tuser": int(error and i == len(pieces) - 1),
        }
        for i, piece in enumerate(pieces)
    ]


def avalon_of(packet, port, error=0):
    pieces = chunks(packet, DATA_BYTES)
    return [
        {
            "data": int.from_bytes(piece.ljust(DATA_BYTES, b"\0"), "big"),
            "empty": DATA_BYTES - len(piece),
            "channel": port,
            "error": int(error and i == len(pieces) - 1),
            "startofpacket": int(i == 0),
            "endofpacket": int(i == len(pieces) - 1),
        }
        for i, piece in enumerate(pieces)
    ]


def plain_of(packet, size, error=0):
    pieces = chunks(packet, size)
    return [
        {
            "data": int.from_bytes(piece, "little"),
            "empty": size - len(piece),
            "sop": int(i == 0),
            "eop": int(i == len(pieces) - 1),
            "error": int(error and i == len(pieces) - 1),
        }
        for i, piece in enumerate(pieces)
    ]


def traffic():
    """Packets of the sizes above in random order, with port and error."""
    sizes = random.sample(SIZES, len(SIZES)) * 3
    return [(random.randbytes(size), random.randrange(8), random.randrange(2)) for size in sizes]


@cocotb.test()
async def sl_to_axis_keeps_bytes_and_ends(dut):
    source = Source(dut, "in")
    dut.axis_tready_i.value = 0
    await start(dut)
    packets = traffic()
    source.send(*[flit for packet, port, error in packets for flit in flits_of(packet, port, error)])
    expected = [beat for packet, _, error in packets for beat in axis_of(packet, error)]
    beats, _ = await take_beats(dut, "axis", AXIS, len(expected), valid="tvalid", ready="tready")
    assert beats == expected


@cocotb.test()
async def sl_from_axis_keeps_bytes_and_ends(dut):
    source, sink = BeatSource(dut, "axis", AXIS, "tvalid", "tready"), Sink(dut, "out")
    await start(dut)
    packets = traffic()
    expected = [flit for packet, _, error in packets for flit in flits_of(packet, 0, error)]
    await source.send([beat for packet, _, error in packets for beat in axis_of(packet, error)])
    assert await sink.wait_for(len(expected)) == expected


@cocotb.test()
async def a_gap_in_tkeep_marks_the_packet_bad(dut):
    source, sink = BeatSource(dut, "axis", AXIS, "tvalid", "tready"), Sink(dut, "out")
    await start(dut)
    for keep_first, keep_last in (((1 << DATA_BYTES) - 1, 0b1011), (0x7, 0b1), ((1 << DATA_BYTES) - 1, 0), (3 << 4, 0b1)):
        beats = axis_of(random.randbytes(DATA_BYTES + 4))
        beats[0]["tkeep"], beats[1]["tkeep"] = keep_first, keep_last
        await source.send([*beats, *axis_of(b"good")])
    flits = [Flit.from_int(word) for word in await sink.wait_for(12)]
    assert [flit.error for flit in flits] == [0, 1, 0] * 4
    assert [flit.sop for flit in flits] == [1, 0, 1] * 4


@cocotb.test()
async def sl_to_avalon_keeps_bytes_and_ends(dut):
    source = Source(dut, "in")
    dut.avalon_ready_i.value = 0
    await start(dut)
    packets = traffic()
    source.send(*[flit for packet, port, error in packets for flit in flits_of(packet, port, error)])
    expected = [beat for packet, port, error in packets for beat in avalon_of(packet, port, error)]
    assert (await take_beats(dut, "avalon", AVALON, len(expected)))[0] == expected


@cocotb.test()
async def the_waveform_of_the_paper_comes_out(dut):
    """317 bytes: five beats at t0, t1, t3, t4, t5, ready being low at t2; the last has empty 3, its bytes in bits 511:24."""
    source = Source(dut, "in", lambda: False)
    dut.avalon_ready_i.value = 0
    await start(dut)
    packet = random.randbytes(317)
    source.send(*flits_of(packet))
    beats, cycles = await take_beats(dut, "avalon", AVALON, 5, ready_pattern=[1, 1, 0, 1, 1, 1])
    assert cycles == [0, 1, 3, 4, 5]
    assert [beat["startofpacket"] for beat in beats] == [1, 0, 0, 0, 0]
    assert [beat["endofpacket"] for beat in beats] == [0, 0, 0, 0, 1]
    assert [beat["empty"] for beat in beats] == [0, 0, 0, 0, 3]
    assert b"".join(beat["data"].to_bytes(64, "big") for beat in beats)[:317] == packet
    assert beats[4]["data"] >> 24 == int.from_bytes(packet[256:], "big")


@cocotb.test()
async def sl_from_avalon_keeps_bytes_and_ends(dut):
    source, sink = BeatSource(dut, "avalon", AVALON), Sink(dut, "out")
    await start(dut)
    packets = traffic()
    expected = [flit for packet, port, error in packets for flit in flits_of(packet, port, error)]
    await source.send([beat for packet, port, error in packets for beat in avalon_of(packet, port, error)])
    assert await sink.wait_for(len(expected)) == expected


@cocotb.test()
async def widths_change_and_bytes_stay(dut):
    source = BeatSource(dut, "in", PLAIN)
    dut.out_ready_i.value = 0
    await start(dut)
    packets = traffic()
    in_bytes, out_bytes = len(dut.in_data_i) // 8, len(dut.out_data_o) // 8
    cocotb.start_soon(source.send([beat for packet, _, error in packets for beat in plain_of(packet, in_bytes, error)]))
    expected = [beat for packet, _, error in packets for beat in plain_of(packet, out_bytes, error)]
    assert (await take_beats(dut, "out", PLAIN, len(expected)))[0] == expected


@cocotb.test()
async def widths_cost_no_cycle_of_the_narrow_side(dut):
    source = BeatSource(dut, "in", PLAIN, stall=0)
    dut.out_ready_i.value = 0
    await start(dut)
    in_bytes, out_bytes = len(dut.in_data_i) // 8, len(dut.out_data_o) // 8
    packet, count = random.randbytes(1024), 8
    cocotb.start_soon(source.send(plain_of(packet, in_bytes) * count))
    done = cocotb.start_soon(take_beats(dut, "out", PLAIN, count * 1024 // out_bytes, ready_pattern=[1]))
    for _ in range(count * 1024 // min(in_bytes, out_bytes) + 4):
        await RisingEdge(dut.clk_i)
    assert done.done()
