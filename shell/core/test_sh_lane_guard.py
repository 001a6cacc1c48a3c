# SPDX-License-Identifier: Apache-2.0
"""sh_lane_guard: however little room there is, a packet leaves whole or ends marked as lost, and every one is counted."""

import random

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from sluice_layouts import Flit

from testing.cocotb.channel import stalls, start
from toolchain.simulate import simulate


def test_lane_guard() -> None:
    simulate("sh_lane_guard", __file__)


class Bench:
    """Offers a word a cycle or none, with room or without; splits what leaves into packets of word numbers."""

    def __init__(self, dut):
        self.dut, self.whole, self.lost, self.cut, self.inside, self.number = dut, [], 0, 0, [], 0
        dut.in_valid_i.value = dut.out_ready_i.value = dut.out_roomy_i.value = dut.waits_i.value = dut.in_data_i.value = 0

    async def step(self, flags, room, roomy):
        """One cycle: a word with these of `sop`, `eop`, or None. Whether it moved; its number is in its data."""
        dut = self.dut
        dut.in_valid_i.value = flags is not None
        if flags is not None:
            dut.in_data_i.value = Flit(sop="sop" in flags, eop="eop" in flags, data=self.number).to_int()
        dut.out_ready_i.value, dut.out_roomy_i.value = room, room and roomy
        await ReadOnly()
        moved = flags is not None and dut.in_ready_o.value == 1
        self.lost += int(dut.lost_o.value)
        if dut.out_valid_o.value == 1 and room:
            self._leaves(Flit.from_int(int(dut.out_data_o.value)), dut.out_lost_o.value == 1)
        await RisingEdge(dut.clk_i)
        self.number += int(moved)
        return moved

    def _leaves(self, flit, ends_lost):
        if ends_lost:
            assert self.inside and flit.eop and flit.error and not flit.sop, "it ends what has begun, and nothing else"
            self.cut += 1
            self.inside = []
            return
        assert bool(flit.sop) == (not self.inside) and not flit.error
        self.inside.append(flit.data)
        if flit.eop:
            self.whole.append(self.inside)
            self.inside = []


async def send(bench, length, gap, room, roomy):
    """A packet, its words at random distances; their numbers. With a room that waits, each word is held until it moved."""
    numbers = []
    for index in range(length):
        while random.random() < gap:
            await bench.step(None, room(), roomy())
        flags = [name for name, on in (("sop", index == 0), ("eop", index == length - 1)) if on]
        numbers.append(bench.number)
        while not await bench.step(flags, room(), roomy()):
            assert bench.dut.waits_i.value == 1, "always ready where the lane cannot wait"
    return numbers


@cocotb.test()
async def every_packet_is_whole_or_counted(dut):
    await start(dut)
    bench = Bench(dut)
    for waits in (0, 1, 0, 0, 0):
        dut.waits_i.value = waits
        bench.whole.clear()
        before, sent = bench.lost + bench.cut, []
        share, share_roomy, gap = random.choice([0.4, 0.7, 0.9]), random.random(), random.choice([0, 0.3])
        for _ in range(300):
            sent.append(await send(bench, random.choice([1, 1, 2, 3, 5, 20]), gap, stalls(share), stalls(share_roomy)))
        for _ in range(4):
            await bench.step(None, True, True)
        assert not bench.inside, "what was cut has ended"
        rest = iter(sent)
        assert all(packet in rest for packet in bench.whole), "a packet with words of another, or out of order"
        assert len(bench.whole) + bench.lost + bench.cut - before == len(sent)
        assert not waits or len(bench.whole) == len(sent)
    assert bench.cut > 50 and bench.lost > 50


@cocotb.test()
async def what_is_left_of_a_packet_after_a_reset_is_discarded(dut):
    await start(dut)
    bench = Bench(dut)
    for flags in ([], [], ["eop"], ["sop"], [], ["eop"]):
        assert await bench.step(flags, True, True)
    await bench.step(None, True, True)
    assert bench.whole == [[3, 4, 5]] and bench.lost == bench.cut == 0
