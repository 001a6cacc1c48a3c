# SPDX-License-Identifier: Apache-2.0
"""sl_packet_arbiter: whole packets, none lost, shares in bytes within the documented bound, pause between packets."""

import random

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from sluice_layouts import DATA_BYTES, MTU_BYTES, Flit, Meta

from models.packet import from_flits, to_flits
from testing.cocotb.channel import Sink, stalls, start
from toolchain.simulate import simulate

PORTS = 3
QUANTUM = MTU_BYTES
LATENCY = 8  # more cycles than a flit takes to the sink, and the reset


def bound(largest_single: int) -> int:
    """The bytes by which ports differ, where a packet of one flit counts as no more than `largest_single`."""
    return QUANTUM + 2 * (MTU_BYTES + largest_single)


def test_packet_arbiter() -> None:
    simulate("sl_packet_arbiter", __file__, {"Ports": PORTS})


class Sources:
    """Drives the packed array of input channels; a packet's flits follow each other, as behind a store-and-forward FIFO."""

    def __init__(self, dut, stall=0.0):
        self.dut, self.stall = dut, stall
        self.queues = [[] for _ in range(PORTS)]
        dut.in_valid_i.value = 0
        dut.in_data_i.value = 0
        dut.pause_i.value = 0
        cocotb.start_soon(self._run())

    def send(self, port, packet, length=None):
        meta = Meta(ingress_port=port, length=len(packet) if length is None else length)
        self.queues[port] += [f.to_int() for f in to_flits(packet, meta)]

    async def _run(self):
        held = [False] * PORTS
        while True:
            valid = data = 0
            for port, queue in enumerate(self.queues):
                held[port] = bool(queue) and (held[port] or random.random() >= self.stall)
                if held[port]:
                    valid |= 1 << port
                    data |= queue[0] << port * Flit.BITS
            self.dut.in_data_i.value = data
            self.dut.in_valid_i.value = valid
            await ReadOnly()
            moved = valid & int(self.dut.in_ready_o.value)
            await RisingEdge(self.dut.clk_i)
            for port in range(PORTS):
                if moved >> port & 1:
                    self.queues[port].pop(0)
                    held[port] = False


@cocotb.test()
async def passes_whole_packets_in_the_order_of_each_port(dut):
    sources, sink = Sources(dut, 0.2), Sink(dut, "out", stalls(0.3))
    await start(dut)
    sink.received.clear()  # what was in flight before the reset
    sent = [[random.randbytes(random.choice([14, 60, 64, 65, 300, 1500])) for _ in range(40)] for _ in range(PORTS)]
    for port, packets in enumerate(sent):
        for packet in packets:
            sources.send(port, packet)
    flits = sum(map(len, sources.queues))
    received = from_flits(Flit.from_int(word) for word in await sink.wait_for(flits))
    for port in range(PORTS):
        assert [one.data for one in received if one.meta.ingress_port == port] == sent[port]


@cocotb.test()
async def shares_bytes_and_not_packets_and_leaves_no_gap(dut):
    sources, sink = Sources(dut), Sink(dut, "out", stalls(0.0))
    await start(dut)
    sink.received.clear()  # what was in flight before the reset
    sizes = [MTU_BYTES, DATA_BYTES, 1500]
    total = 10 * MTU_BYTES
    for port, size in enumerate(sizes):
        for _ in range(total // size + 1):
            sources.send(port, bytes(size))
    cycles, sent = 0, [0] * PORTS
    while min(map(len, sources.queues)) > 2 * MTU_BYTES // DATA_BYTES:
        await RisingEdge(dut.clk_i)
        cycles += 1
    for word in sink.received:
        flit = Flit.from_int(word)
        if flit.sop:
            sent[flit.meta.ingress_port] += flit.meta.length
    assert len(sink.received) >= cycles - LATENCY, "one flit a cycle"
    assert min(sent) > 5 * MTU_BYTES
    assert max(sent) - min(sent) < bound(DATA_BYTES), sent


@cocotb.test()
async def packets_of_one_flit_follow_each_other_whoever_sends_them(dut):
    sources, sink = Sources(dut), Sink(dut, "out", stalls(0.0))
    await start(dut)
    for senders in ((0,), (2,), (0, 1), (0, 2), (0, 1, 2)):
        for port in senders:
            for length in (DATA_BYTES, 0):  # unknown: each takes a turn
                for _ in range(40):
                    sources.send(port, bytes(DATA_BYTES), length)
        sink.received.clear()
        cycles = 0
        while any(sources.queues):
            await RisingEdge(dut.clk_i)
            cycles += 1
        assert len(sink.received) >= cycles - LATENCY, senders
        await sink.wait_for(80 * len(senders))


@cocotb.test()
async def is_empty_while_no_flit_is_inside(dut):
    sources = Sources(dut, 0.7)
    Sink(dut, "out", stalls(0.3))
    await start(dut)
    for _ in range(60):
        sources.send(random.randrange(PORTS), random.randbytes(random.choice([60, 65, 300])))
    inside, seen = 0, set()
    while any(sources.queues) or inside:
        await ReadOnly()
        inside_now = int(dut.empty_o.value)
        seen.add((inside_now, inside != 0))
        inside += (int(dut.in_valid_i.value) & int(dut.in_ready_o.value)).bit_count()
        inside -= int(dut.out_valid_o.value) & int(dut.out_ready_i.value)
        await RisingEdge(dut.clk_i)
    assert seen == {(1, False), (0, True)}


@cocotb.test()
async def a_packet_of_unknown_length_counts_as_the_largest(dut):
    sources, sink = Sources(dut), Sink(dut, "out", stalls(0.0))
    await start(dut)
    for _ in range(3 * 1500 // DATA_BYTES):
        sources.send(0, bytes(DATA_BYTES), length=0)
    for port in (1, 2):
        for _ in range(12 * MTU_BYTES // 1500):
            sources.send(port, bytes(1500))
    while min(map(len, sources.queues)) > 1500 // DATA_BYTES:
        await RisingEdge(dut.clk_i)
    sent = [0] * PORTS
    for flit in map(Flit.from_int, sink.received):
        if flit.sop:
            sent[flit.meta.ingress_port] += flit.meta.length or MTU_BYTES
    assert min(sent) > 5 * MTU_BYTES
    assert max(sent) - min(sent) < bound(MTU_BYTES), sent


@cocotb.test()
async def pause_ends_the_packet_under_way_and_begins_no_other(dut):
    sources, sink = Sources(dut), Sink(dut, "out", stalls(0.0))
    await start(dut)
    sink.received.clear()  # what was in flight before the reset
    for port in range(PORTS):
        for _ in range(4):
            sources.send(port, bytes(10 * DATA_BYTES))
    for _ in range(13):
        await RisingEdge(dut.clk_i)
    dut.pause_i.value = 1
    for _ in range(60):  # a packet of each port may be in
        await RisingEdge(dut.clk_i)
    before = len(sink.received)
    from_flits(Flit.from_int(word) for word in sink.received)
    assert 0 < before < 12 * 10
    assert before % 10 == 0
    for _ in range(40):
        await RisingEdge(dut.clk_i)
    assert len(sink.received) == before
    dut.pause_i.value = 0
    assert len(from_flits(Flit.from_int(word) for word in await sink.wait_for(120))) == 12
