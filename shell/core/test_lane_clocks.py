# SPDX-License-Identifier: Apache-2.0
"""Lanes with clocks of their own: packets cross whole, every signal of a flit in step, at any ratio of the clocks; what is too
much for the core is dropped whole and counted, and a reset leaves nothing behind, even where a lane's clock has stopped."""

import random
from collections import Counter

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, Timer
from sluice_layouts import DATA_BYTES, EGRESS_BYTES, Flit

from testing.cocotb.channel import Sink, Source, stalls
from toolchain.simulate import simulate

CORE_PERIOD_PS = 4000
LANE_PERIODS_PS = (3104, 5880, 15200)


@pytest.mark.parametrize("side", ["rx", "tx"])
def test_lane_clock(side: str) -> None:
    parameters = {"OwnClock": 1, "Flits": 512} | ({"Lane": 3} if side == "rx" else {})
    cases = {
        "rx": ["a_mac_that_cannot_wait_loses_whole_packets_that_are_counted", "each_drop_of_the_lane_and_of_the_store_is_counted"],
        "tx": ["what_cannot_leave_is_dropped_and_counted_once"],
    }[side]
    cases += [f"packets_cross_whole_{side}", f"a_reset_while_the_lane_clock_is_off_leaves_nothing_{side}"]
    simulate(f"sh_lane_{side}", __file__, parameters, testcase=cases)


def flits_of(packet: bytes) -> list[int]:
    """The flits of a packet, as integers."""
    chunks = [packet[i : i + DATA_BYTES] for i in range(0, len(packet), DATA_BYTES)]
    return [
        Flit(
            sop=int(i == 0),
            eop=int(i == len(chunks) - 1),
            empty=DATA_BYTES - len(chunk),
            data=int.from_bytes(chunk, "little"),
        ).to_int()
        for i, chunk in enumerate(chunks)
    ]


def packets_of(words: list[int]) -> list[tuple[bytes, Flit]]:
    """Packets with their first flits; asserts that sop and eop stand where they must."""
    packets: list[tuple[bytes, Flit]] = []
    data, first = b"", None
    for flit in map(Flit.from_int, words):
        assert flit.sop == (first is None)
        assert not flit.error
        first = first or flit
        data += flit.data.to_bytes(DATA_BYTES, "little")[: DATA_BYTES - flit.empty]
        if flit.eop:
            packets.append((data, first))
            data, first = b"", None
    assert first is None
    return packets


async def run(dut, in_name, in_clock, out_name, out_clock):
    """Send random packets at every lane period and compare what comes out; yields the first flits."""
    dut.lossless_i.value = 1
    heads = []
    for period in LANE_PERIODS_PS:
        source = Source(dut, in_name, stalls(0.2), in_clock)
        sink = Sink(dut, out_name, stalls(0.3), out_clock)
        dut.rst_i.value = 1
        clocks = [cocotb.start_soon(Clock(dut.clk_i, CORE_PERIOD_PS, unit="ps").start())]
        await Timer(2 * random.randrange(1, 1000), unit="ps")
        clocks.append(cocotb.start_soon(Clock(dut.lane_clk_i, period, unit="ps").start()))
        await ClockCycles(dut.lane_clk_i, 8)
        await ClockCycles(dut.clk_i, 8)
        dut.rst_i.value = 0
        await ClockCycles(dut.lane_clk_i, 4)
        packets = [random.randbytes(random.randrange(14, 400)) for _ in range(60)]
        words = [word for packet in packets for word in flits_of(packet)]
        source.send(*words)
        received = packets_of(await sink.wait_for(len(words)))
        assert [data for data, _ in received] == packets, f"lane period {period} ps"
        heads += [first for _, first in received]
        for task in [*clocks, source.task, sink.task]:
            task.cancel()
    return heads


async def count_time(dut):
    """Core cycles on time_i."""
    cycles = 0
    while True:
        dut.time_i.value = cycles
        await RisingEdge(dut.clk_i)
        cycles += 1


@cocotb.test()
async def packets_cross_whole_rx(dut):
    cocotb.start_soon(count_time(dut))
    heads = await run(dut, "lane", dut.lane_clk_i, "out", dut.clk_i)
    assert all(head.meta.ingress_port == 3 for head in heads)
    times = [head.meta.timestamp for head in heads]
    assert times == sorted(times) and len(set(times)) == len(times)


@cocotb.test()
async def packets_cross_whole_tx(dut):
    await run(dut, "in", dut.clk_i, "lane", dut.lane_clk_i)
    assert dut.idle_o.value == 1


class Mac:
    """A MAC of 100 Gbps that cannot wait: a packet's words leave one after another, whatever ready says."""

    def __init__(self, dut, period):
        self.dut, self.period, self.due = dut, period, 0.0
        dut.lane_valid_i.value = 0

    async def send(self, packets):
        """Send packets at the rate of the line: FCS, preamble and gap are 24 bytes."""
        now = 0
        for packet, bad in packets:
            while now < self.due:
                self.dut.lane_valid_i.value = 0
                await RisingEdge(self.dut.lane_clk_i)
                now += self.period
            self.due += (len(packet) + 24) * 80  # ps
            *words, last = flits_of(packet)
            last |= Flit(error=int(bad)).to_int()
            for word in [*words, last]:
                self.dut.lane_data_i.value = word
                self.dut.lane_valid_i.value = 1
                await RisingEdge(self.dut.lane_clk_i)
                now += self.period
        self.due = 0.0
        self.dut.lane_valid_i.value = 0


async def count_drops(dut, drops):
    """Pulses of drop_o by cause, and of packet_o."""
    while True:
        await RisingEdge(dut.clk_i)
        if dut.rst_i.value == 1:
            continue
        pulses = int(dut.drop_o.value)
        for cause, name in enumerate(("error", "oversize", "overflow", "runt")):
            drops[name] += pulses >> cause & 1
        drops["stored"] += int(dut.packet_o.value)


@cocotb.test()
async def a_mac_that_cannot_wait_loses_whole_packets_that_are_counted(dut):
    """The core takes a word a cycle; of some sizes the MAC brings more. No packet may be cut."""
    dut.lossless_i.value = 0
    dut.time_i.value = 0
    lane = LANE_PERIODS_PS[0]
    for core in (5000, 4000):
        clocks = [
            cocotb.start_soon(Clock(clock, period, unit="ps").start())
            for clock, period in ((dut.clk_i, core), (dut.lane_clk_i, lane))
        ]
        sink, mac, drops = Sink(dut, "out", stalls(0), dut.clk_i), Mac(dut, lane), Counter()
        dut.rst_i.value = 1
        await ClockCycles(dut.clk_i, 4)
        dut.rst_i.value = 0
        await ClockCycles(dut.lane_clk_i, 8)
        counting = cocotb.start_soon(count_drops(dut, drops))
        for sizes in ([69], [133], [197], [64], [1514], [14, 60, 64, 65, 69, 128, 129, 133, 197, 400, 1514, 9216, 9217, 13]):
            drops.clear()
            sink.received.clear()
            sent = [
                (random.randbytes(random.choice(sizes)), random.random() < 0.1) for _ in range(400 if max(sizes) < 1514 else 100)
            ]
            await mac.send(sent)
            await ClockCycles(dut.clk_i, 700)
            received, good = packets_of(sink.received), [data for data, bad in sent if not bad]
            rest = iter(good)
            assert all(data in rest for data, _ in received), f"corrupt or out of order, {sizes} bytes, core {core} ps"
            assert drops["stored"] == len(received) and drops.total() == len(sent), f"{drops}, {sizes} bytes, core {core} ps"
            assert drops["error"] <= len(sent) - len(good)
            assert drops["oversize"] <= sum(len(data) > 9216 for data, _ in sent)
            assert drops["runt"] <= sum(len(data) < 14 for data, _ in sent)
            if core == 5000 and sizes[0] in (69, 133, 197):  # the line brings more than the core takes
                flits = -(-sizes[0] // DATA_BYTES) * (drops["stored"] + drops["error"])
                cycles = sum(len(data) + 24 for data, _ in sent) * 80 / core
                assert drops["overflow"] > 0 and flits / cycles > 0.95, f"{flits} flits in {cycles} cycles"
        for task in [*clocks, counting, sink.task]:
            task.cancel()


@cocotb.test()
async def each_drop_of_the_lane_and_of_the_store_is_counted(dut):
    """The core is slow, so the lane's guard drops packets; nothing leaves the store, so it drops others, in the same cycles."""
    dut.lossless_i.value = 0
    dut.time_i.value = 0
    drops, lane, core = Counter(), LANE_PERIODS_PS[0], 5000
    for clock, period in ((dut.clk_i, core), (dut.lane_clk_i, lane)):
        cocotb.start_soon(Clock(clock, period, unit="ps").start())
    Sink(dut, "out", stalls(1), dut.clk_i)
    mac = Mac(dut, lane)
    dut.rst_i.value = 1
    await ClockCycles(dut.clk_i, 4)
    dut.rst_i.value = 0
    await ClockCycles(dut.lane_clk_i, 8)
    cocotb.start_soon(count_drops(dut, drops))
    for size in (69, 133, 197):
        drops.clear()
        await mac.send([(random.randbytes(size), False) for _ in range(1000)])
        await ClockCycles(dut.clk_i, 700)
        assert drops.total() == drops["stored"] + drops["overflow"] == 1000, drops


@cocotb.test()
async def what_cannot_leave_is_dropped_and_counted_once(dut):
    """Marked bad, too short, too long, or without room: of each kind one alone."""
    dut.lossless_i.value = 0
    source, sink = Source(dut, "in", stalls(0.1), dut.clk_i), Sink(dut, "lane", stalls(0), dut.lane_clk_i)
    for clock, period in ((dut.clk_i, CORE_PERIOD_PS), (dut.lane_clk_i, CORE_PERIOD_PS)):
        cocotb.start_soon(Clock(clock, period, unit="ps").start())
    dut.rst_i.value = 1
    await ClockCycles(dut.clk_i, 8)
    dut.rst_i.value = 0
    await ClockCycles(dut.clk_i, 8)
    found = Counter()

    async def count():
        while True:
            await RisingEdge(dut.clk_i)
            found.update({name: int(getattr(dut, f"{name}_o").value) for name in ("packet", "error", "overflow")})

    cocotb.start_soon(count())
    whole = random.randbytes(60)  # one flit: what it leaves on the wires looks like the start of a packet
    for size, bad, cause in ((100, 1, "error"), (13, 0, "error"), (EGRESS_BYTES + 1, 0, "error"), (EGRESS_BYTES, 0, "packet")):
        found.clear()
        sink.received.clear()
        packet = random.randbytes(size)
        *words, last = flits_of(packet)
        source.send(*words, last | Flit(error=bad).to_int(), *flits_of(whole))
        await source.drained()
        await ClockCycles(dut.clk_i, 2 * len(words) + 100)
        passed = [packet] if cause == "packet" else []
        assert [data for data, _ in packets_of(sink.received)] == [*passed, whole], (size, bad)
        assert found == Counter(packet=1, error=0, overflow=0) + Counter({cause: 1}), (size, bad, found)


async def reset_with_the_lane_clock_off(dut, in_name, in_clock, out_name, out_clock, cut):
    """Leave packets in a lane, stop its clock, reset, let the clock come back: only what is sent after that may come out."""
    dut.lossless_i.value = 1
    Clock(dut.clk_i, CORE_PERIOD_PS, unit="ps").start()
    lane = Clock(dut.lane_clk_i, random.choice(LANE_PERIODS_PS), unit="ps")
    lane.start()
    dut.rst_i.value = 1
    await ClockCycles(dut.lane_clk_i, 4)
    dut.rst_i.value = 0
    for turn in range(12):
        source, sink = (
            Source(dut, in_name, stalls(0.2), in_clock),
            Sink(dut, out_name, stalls(random.choice([0.3, 0.9, 1])), out_clock),
        )
        source.send(*(word for _ in range(20) for word in flits_of(random.randbytes(random.randrange(14, 400)))))
        await Timer(random.randrange(20, 400), unit="ns")
        lane.stop()
        await Timer(random.randrange(100), unit="ns")
        source.task.cancel()
        sink.task.cancel()
        getattr(dut, f"{in_name}_valid_i").value = 0
        getattr(dut, f"{out_name}_ready_i").value = 1
        await RisingEdge(dut.clk_i)
        dut.rst_i.value = 1
        await ClockCycles(dut.clk_i, 4)
        dut.rst_i.value = 0
        sink = Sink(dut, out_name, stalls(0), out_clock)
        await ClockCycles(dut.clk_i, 40)
        lane = Clock(dut.lane_clk_i, random.choice(LANE_PERIODS_PS), unit="ps")
        lane.start()
        source = Source(dut, in_name, stalls(0.2), in_clock)
        packets = [random.randbytes(random.randrange(65, 400)) for _ in range(5)]
        source.send(*cut, *(word for packet in packets for word in flits_of(packet)))
        await source.drained()
        await ClockCycles(dut.lane_clk_i, 60)
        await ClockCycles(dut.clk_i, 60)
        assert [data for data, _ in packets_of(sink.received)] == packets, f"old packets, turn {turn}"
        assert dut.idle_o.value == 1
        source.task.cancel()
        sink.task.cancel()


@cocotb.test()
async def a_reset_while_the_lane_clock_is_off_leaves_nothing_rx(dut):
    cocotb.start_soon(count_time(dut))
    drops = Counter()
    cocotb.start_soon(count_drops(dut, drops))
    rest_of_a_packet = flits_of(random.randbytes(400))[3:]
    await reset_with_the_lane_clock_off(dut, "lane", dut.lane_clk_i, "out", dut.clk_i, rest_of_a_packet)
    assert drops.total() == drops["stored"], drops


@cocotb.test()
async def a_reset_while_the_lane_clock_is_off_leaves_nothing_tx(dut):
    await reset_with_the_lane_clock_off(dut, "in", dut.clk_i, "lane", dut.lane_clk_i, [])
