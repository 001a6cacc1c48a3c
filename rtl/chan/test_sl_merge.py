# SPDX-License-Identifier: Apache-2.0
"""sl_merge: whole packets, none lost, the slow side keeps its share of the flits whatever it sent before."""

import random

import cocotb
from cocotb.triggers import RisingEdge
from sluice_layouts import DATA_BYTES, HOST_PORT, Flit, Meta

from models.packet import from_flits, to_flits
from testing.cocotb.channel import Sink, Source, stalls, start
from toolchain.simulate import simulate


def test_merge() -> None:
    simulate("sl_merge", __file__)


class Bench:
    """The merge between two sources and a sink."""

    def __init__(self, dut, share, stall):
        self.dut = dut
        dut.share_i.value = share
        self.fast, self.slow = Source(dut, "fast", stalls(stall)), Source(dut, "slow", stalls(stall))
        self.sink = Sink(dut, "out", stalls(stall))

    async def start(self):
        await start(self.dut)
        self.sink.received.clear()  # what was in flight before the reset

    def send(self, slow, packet):
        meta = Meta(ingress_port=HOST_PORT if slow else 0, length=len(packet))
        (self.slow if slow else self.fast).send(*(flit.to_int() for flit in to_flits(packet, meta)))

    async def share_of(self, flits):
        """Of the next flits, how many are slow's; both sides must have enough."""
        start_at = len(self.sink.received)
        words = (await self.sink.wait_for(start_at + flits))[start_at : start_at + flits]
        slow, count = False, 0
        for word in words:
            flit = Flit.from_int(word)
            slow = flit.meta.ingress_port == HOST_PORT if flit.sop else slow
            count += slow
        return count


@cocotb.test()
async def passes_whole_packets_of_both_sides_in_order(dut):
    bench = Bench(dut, 64, 0.3)
    await bench.start()
    sent = {side: [random.randbytes(random.choice([14, 64, 65, 400])) for _ in range(80)] for side in (False, True)}
    for side, packets in sent.items():
        for packet in packets:
            bench.send(side, packet)
    flits = len(bench.fast.queue) + len(bench.slow.queue)
    received = from_flits(Flit.from_int(word) for word in await bench.sink.wait_for(flits))
    for side, port in ((False, 0), (True, HOST_PORT)):
        assert [one.data for one in received if one.meta.ingress_port == port] == sent[side]


@cocotb.test()
@cocotb.parametrize(case=[(32, 1), (64, 5), (128, 20), (255, 1)])
async def slow_gets_its_share_within_a_packet_and_fast_the_rest(dut, case):
    share, flits_each = case
    bench = Bench(dut, share, 0.0)
    await bench.start()
    for _ in range(1200 // flits_each):
        bench.send(True, bytes(flits_each * DATA_BYTES))
    for _ in range(1200):
        bench.send(False, bytes(DATA_BYTES))
    count = await bench.share_of(1024)
    assert abs(count - 4 * share) <= flits_each + 17, f"share {share}: {count} of 1024"


@cocotb.test()
async def what_slow_sent_into_idle_time_is_not_held_against_it(dut):
    bench = Bench(dut, 32, 0.0)
    await bench.start()
    for _ in range(2000):
        bench.send(True, bytes(DATA_BYTES))
    await bench.sink.wait_for(1200)
    for _ in range(600):
        bench.send(False, bytes(DATA_BYTES))
    count = await bench.share_of(512)
    assert count >= 64 - 2, f"{count} of 512"


@cocotb.test()
async def what_slow_did_not_send_while_idle_is_not_owed_to_it(dut):
    bench = Bench(dut, 32, 0.0)
    await bench.start()
    for _ in range(2000):
        bench.send(False, bytes(DATA_BYTES))
    await bench.sink.wait_for(1200)
    for _ in range(200):
        bench.send(True, bytes(DATA_BYTES))
    count = await bench.share_of(256)
    assert 20 <= count <= 32 + 4, f"{count} of 256"


@cocotb.test()
async def one_flit_a_cycle_goes_through(dut):
    bench = Bench(dut, 32, 0.0)
    await bench.start()
    for _ in range(200):
        bench.send(False, bytes(DATA_BYTES))
        bench.send(True, bytes(DATA_BYTES))
    cycles = 0
    while len(bench.sink.received) < 400 and cycles <= 408:
        await RisingEdge(dut.clk_i)
        cycles += 1
    assert cycles <= 408, f"{len(bench.sink.received)} of 400 flits in {cycles} cycles"
