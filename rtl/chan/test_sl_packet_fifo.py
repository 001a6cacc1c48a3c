# SPDX-License-Identifier: Apache-2.0
"""sl_packet_fifo against a list of packets: what is kept, what is dropped, and by which cause, under random stalls."""

import os
import random
from dataclasses import replace

import cocotb
import pytest
from cocotb.triggers import ReadOnly, RisingEdge
from sluice_layouts import DATA_BYTES, MTU_BYTES, Flit, Meta

from models.packet import from_flits, to_flits
from testing.cocotb.channel import Sink, Source, stalls, start
from toolchain.simulate import simulate

FLITS = 320
PACKETS = 16
CAUSES = ("stored_o", "drop_error_o", "drop_oversize_o", "drop_runt_o", "drop_overflow_o")
EXACT = os.environ.get("EXACT") == "1"
usual_test, exact_test = cocotb.test(skip=EXACT), cocotb.test(skip=not EXACT)


@pytest.mark.parametrize("flits", [FLITS, 256])
def test_packet_fifo(flits: int) -> None:
    simulate("sl_packet_fifo", __file__, {"Flits": flits, "Packets": PACKETS})


def test_exact_packet_fifo() -> None:
    simulate("sl_packet_fifo", __file__, {"Flits": FLITS, "Packets": PACKETS, "Exact": 1}, env={"EXACT": "1"})


class Bench:
    """The FIFO with a source, a sink and a count of every pulse."""

    def __init__(self, dut, in_stall=0.3, out_stall=0.3, lossless=True):
        self.dut, self.count, self.stored_bytes = dut, dict.fromkeys(CAUSES, 0), 0
        self.out_stall = out_stall
        dut.lossless_i.value = int(lossless)
        self.source = Source(dut, "in", stalls(in_stall))
        self.sink = Sink(dut, "out", lambda: random.random() < self.out_stall)

    async def start(self):
        await start(self.dut)
        cocotb.start_soon(self._watch())

    async def _watch(self):
        inside = False  # a packet: some of it came in, its end did not
        while True:
            await ReadOnly()
            assert not (inside and self.dut.empty_o.value == 1), "a packet that comes in, kept or not, is in the FIFO"
            if self.dut.in_valid_i.value == 1 and self.dut.in_ready_o.value == 1:
                inside = not Flit.from_int(int(self.dut.in_data_i.value)).eop
            for name in CAUSES:
                self.count[name] += int(getattr(self.dut, name).value)
            if self.dut.stored_o.value == 1:
                self.stored_bytes += int(self.dut.stored_length_o.value)
            await RisingEdge(self.dut.clk_i)

    def send(self, packet, error=False, mark=0):
        self.source.send(*(flit.to_int() for flit in to_flits(packet, Meta(mark=mark), error)))

    async def empty(self):
        await self.source.drained()
        for _ in range(20000):
            await RisingEdge(self.dut.clk_i)
            if self.dut.empty_o.value == 1:
                return
        raise TimeoutError("the FIFO does not become empty")

    def received(self):
        return from_flits(Flit.from_int(word) for word in self.sink.received)

    def check(self, kept):
        got = self.received()
        assert [(one.data, one.meta.length, one.meta.mark) for one in got] == [(data, len(data), mark) for data, mark in kept]
        assert self.count["stored_o"] == len(kept)
        assert self.stored_bytes == sum(len(data) for data, _ in kept)


@usual_test
async def keeps_good_packets_and_drops_bad_ones_by_cause(dut):
    bench = Bench(dut)
    await bench.start()
    kept, expected = [], dict.fromkeys(CAUSES, 0)
    for mark in range(150):
        kind = random.choice(["good"] * 5 + ["error", "runt", "oversize"])
        size = random.choice([14, 15, 63, 64, 65, 128, 129, random.randint(14, 600), random.randint(14, 600)])
        if kind == "runt":
            size = random.randint(1, 13)
        elif kind == "oversize":
            size = random.choice([MTU_BYTES + 1, MTU_BYTES + 64, 3 * MTU_BYTES])
        elif kind == "good" and random.random() < 0.05:
            size = MTU_BYTES
        packet = random.randbytes(size)
        bench.send(packet, kind == "error", mark)
        expected[{"good": "stored_o"}.get(kind, f"drop_{kind}_o")] += 1
        if kind == "good":
            kept.append((packet, mark))
    await bench.empty()
    bench.check(kept)
    assert bench.count == expected


@usual_test
async def a_full_fifo_drops_whole_packets_and_counts_them(dut):
    bench = Bench(dut, in_stall=0.0, out_stall=1.0, lossless=False)
    await bench.start()
    sent = []
    for mark in range(60):
        sent.append((random.randbytes(random.choice([60, 900, 4000])), mark))
        bench.send(*sent[-1][:1], mark=mark)
    await bench.source.drained()
    bench.out_stall = 0.2
    await bench.empty()
    kept = bench.received()
    assert 4 <= len(kept) < len(sent)
    bench.check([one for one in sent if one[1] in {packet.meta.mark for packet in kept}])
    assert bench.count["drop_overflow_o"] == len(sent) - len(kept)
    after = [(random.randbytes(MTU_BYTES), 100), (random.randbytes(14), 101)]
    for packet, mark in after:
        bench.send(packet, mark=mark)
    await bench.empty()
    assert [one.data for one in bench.received()[-2:]] == [packet for packet, _ in after]


@usual_test
async def a_full_lossless_fifo_presses_back_and_loses_nothing(dut):
    bench = Bench(dut, in_stall=0.0, out_stall=1.0)
    await bench.start()
    sent = [(random.randbytes(random.choice([60, 900, MTU_BYTES])), mark) for mark in range(40)]
    for packet, mark in sent:
        bench.send(packet, mark=mark)
    for _ in range(800):
        await RisingEdge(dut.clk_i)
    assert dut.in_ready_o.value == 0
    assert len(bench.source.queue) > 0
    bench.out_stall = 0.1
    await bench.empty()
    bench.check(sent)
    assert sum(bench.count.values()) == len(sent)


@usual_test
async def a_packet_without_end_is_an_error_and_the_next_one_is_kept(dut):
    bench = Bench(dut)
    await bench.start()
    kept, broken = [], 0
    for mark in range(80):
        packet = random.randbytes(random.randint(14, 700))
        if random.random() < 0.4:
            flits = to_flits(random.randbytes(random.randint(65, 900)), Meta())
            bench.source.send(*(flit.to_int() for flit in flits[: random.randint(1, len(flits) - 1)]))
            broken += 1
        bench.send(packet, mark=mark)
        kept.append((packet, mark))
    await bench.empty()
    bench.check(kept)
    assert bench.count["drop_error_o"] == broken


@usual_test
async def flits_without_a_beginning_are_an_error(dut):
    bench = Bench(dut)
    await bench.start()
    packet = random.randbytes(200)
    headless = to_flits(random.randbytes(500), Meta())[2:]
    bench.source.send(*(flit.to_int() for flit in headless))  # into an empty FIFO: it is not empty meanwhile
    bench.send(packet, mark=1)
    bench.source.send(*(flit.to_int() for flit in headless))
    bench.send(packet[:70], mark=2)
    await bench.empty()
    bench.check([(packet, 1), (packet[:70], 2)])
    assert bench.count["drop_error_o"] == 2


@usual_test
async def moves_one_flit_a_cycle(dut):
    bench = Bench(dut, in_stall=0.0, out_stall=0.0)
    await bench.start()
    for _ in range(50):
        bench.send(bytes(DATA_BYTES))
    for _ in range(10):
        bench.send(bytes(10 * DATA_BYTES))
    cycles = 0
    while len(bench.sink.received) < 150:
        await RisingEdge(dut.clk_i)
        cycles += 1
    assert cycles <= 150 + 10 + 10


def random_flits(count):
    """A packet of any contents: only where it begins and ends is in order."""
    words = (random.getrandbits(Flit.BITS) for _ in range(count))
    return [replace(Flit.from_int(word), sop=n == 0, eop=n == count - 1).to_int() for n, word in enumerate(words)]


def whole(words):
    """The words of each packet."""
    packets = [[]]
    for word in words:
        packets[-1].append(word)
        if Flit.from_int(word).eop:
            packets.append([])
    assert packets.pop() == [], "a packet without end"
    return packets


@exact_test
async def exact_changes_no_bit_of_short_long_and_bad_packets(dut):
    bench = Bench(dut)
    await bench.start()
    sizes = [random.choice([1, 1, 2, 3, 17]) for _ in range(150)] + [MTU_BYTES // DATA_BYTES + 40, FLITS]
    sent = [random_flits(size) for size in random.sample(sizes, len(sizes))]
    for words in sent:
        bench.source.send(*words)
    await bench.empty()
    assert whole(bench.sink.received) == sent
    assert bench.count == dict.fromkeys(CAUSES, 0) | {"stored_o": len(sent)}


@exact_test
async def exact_drops_whole_packets_and_only_for_room(dut):
    bench = Bench(dut, in_stall=0.1, out_stall=0.6, lossless=False)
    await bench.start()
    sent = [random_flits(random.choice([1, 1, 1, 5, 60, 150, FLITS + 1])) for _ in range(120)]
    for words in sent:
        bench.source.send(*words)
    await bench.empty()
    got = whole(bench.sink.received)
    rest = iter(sent)
    assert all(packet in rest for packet in got), "packets that were sent, in their order"
    assert 40 <= len(got) < len(sent) - sum(len(words) > FLITS for words in sent)
    assert bench.count == dict.fromkeys(CAUSES, 0) | {"stored_o": len(got), "drop_overflow_o": len(sent) - len(got)}


@exact_test
async def exact_keeps_what_fills_it_and_drops_one_flit_more(dut):
    bench = Bench(dut, in_stall=0.0, out_stall=1.0, lossless=False)
    await bench.start()
    sent = [random_flits(FLITS + 1), random_flits(FLITS)]
    for words in sent:
        bench.source.send(*words)
    await bench.source.drained()
    bench.out_stall = 0.2
    await bench.empty()
    assert whole(bench.sink.received) == sent[1:]
    assert bench.count["drop_overflow_o"] == bench.count["stored_o"] == 1
