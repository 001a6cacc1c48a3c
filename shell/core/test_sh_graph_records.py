# SPDX-License-Identifier: Apache-2.0
"""sh_graph_pack and sh_graph_unpack: a record is a packet of as many whole flits as it needs, the low bits first, either way."""

import random

import cocotb
import pytest
from sluice_layouts import DATA_BYTES, Flit

from testing.cocotb.channel import Sink, Source, start
from toolchain.simulate import simulate

FLIT_BITS = 8 * DATA_BYTES
WIDTHS = [FLIT_BITS, FLIT_BITS + 1, 3 * FLIT_BITS - 7]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    ("module", "case"), [("sh_graph_pack", "a_packet_of_each_record"), ("sh_graph_unpack", "a_record_of_each_packet")]
)
def test_records(module: str, case: str, width: int) -> None:
    simulate(module, __file__, {"Width": width}, testcase=case)


def records(dut) -> list[int]:
    width = int(dut.Width.value)
    return [random.getrandbits(width) for _ in range(100)]


def packets(dut, words: list[int]) -> list[int]:
    flits = -(-int(dut.Width.value) // FLIT_BITS)
    return [
        Flit(data=word >> FLIT_BITS * n & (1 << FLIT_BITS) - 1, sop=n == 0, eop=n == flits - 1).to_int()
        for word in words
        for n in range(flits)
    ]


@cocotb.test()
async def a_packet_of_each_record(dut):
    source, sink = Source(dut, "in"), Sink(dut, "out")
    await start(dut)
    words = records(dut)
    source.send(*words)
    expected = packets(dut, words)
    assert await sink.wait_for(len(expected)) == expected


@cocotb.test()
async def a_record_of_each_packet(dut):
    source, sink = Source(dut, "in"), Sink(dut, "out")
    await start(dut)
    words = records(dut)
    source.send(*packets(dut, words))
    assert await sink.wait_for(len(words)) == words
