# SPDX-License-Identifier: Apache-2.0
"""sl_pipe_gate around a pipeline made here: nothing lost however long the output waits, one word a cycle sustained."""

import os
import random
from collections import deque

import cocotb
import pytest
from cocotb.triggers import ReadOnly, RisingEdge

from testing.cocotb.channel import Sink, Source, stalls, start
from toolchain.simulate import simulate


@pytest.mark.parametrize("latency", [3, 70])
def test_pipe_gate(latency: int) -> None:
    parameters = {"InWidth": 16, "OutWidth": 24, "Latency": latency}
    simulate("sl_pipe_gate", __file__, parameters, env={"LATENCY": str(latency)})


def result(word: int) -> int:
    """What the pipeline of this test makes of a word."""
    return word * 257 & 0xFFFFFF


async def pipeline(dut):
    """A pipeline of LATENCY stages that never stalls."""
    stages = deque([None] * int(os.environ["LATENCY"]))
    while True:
        await ReadOnly()
        stages.append(int(dut.stage_data_o.value) if dut.stage_valid_o.value == 1 else None)
        await RisingEdge(dut.clk_i)
        stages.popleft()
        dut.stage_valid_i.value = stages[0] is not None
        dut.stage_data_i.value = 0 if stages[0] is None else result(stages[0])


async def begin(dut, source_stalls, sink_stalls):
    dut.stage_valid_i.value = 0
    source, sink = Source(dut, "in", source_stalls), Sink(dut, "out", sink_stalls)
    await start(dut)
    cocotb.start_soon(pipeline(dut))
    return source, sink


@cocotb.test()
async def loses_nothing_under_random_stalls(dut):
    source, sink = await begin(dut, stalls(0.1), stalls(0.4))
    words = [random.getrandbits(16) for _ in range(800)]
    source.send(*words)
    assert await sink.wait_for(len(words)) == [result(word) for word in words]


@cocotb.test()
async def loses_nothing_when_the_output_waits_for_long(dut):
    source, sink = await begin(dut, stalls(0), stalls(1))
    words = list(range(400))
    source.send(*words)
    for _ in range(300):
        await RisingEdge(dut.clk_i)
    assert dut.in_ready_o.value == 0
    sink.stall = stalls(0)
    assert await sink.wait_for(len(words)) == [result(word) for word in words]


@cocotb.test()
async def sustains_one_word_a_cycle(dut):
    source, sink = await begin(dut, stalls(0), stalls(0))
    count, latency = 500, int(os.environ["LATENCY"])
    source.send(*range(count))
    for _ in range(count + latency + 5):
        await RisingEdge(dut.clk_i)
    assert sink.received == [result(word) for word in range(count)]
