# SPDX-License-Identifier: Apache-2.0
"""An emitted element of which an output waits: as long as it has credits, the other output goes on at a token a cycle; then no
token is taken, signals are still answered, and nothing is lost."""

import os
import random

import cocotb
from cocotb.triggers import ClockCycles, ReadOnly, RisingEdge

from compiler.certificate import certify
from compiler.compile import Compiled, compile_element
from compiler.frontend.program import load_text
from compiler.frontend.source import Diagnostics
from compiler.targets.rtl import ROOT
from testing.cocotb.channel import Sink, Source, stalls, start
from toolchain.simulate import simulate

LAST = 1 << 32
WAITS = (
    "two_tokens_that_wait_do_not_slow_the_other_output",
    "an_output_that_waits_for_ever_stops_tokens_and_no_signal",
    "signals_take_no_credits",
)
COUNT = (0, 0, LAST)  # the call of a signal: a header, and as many words of arguments as the other signal has
FOLDER = ROOT / "build" / "rtl_outputs"
SPLIT = """
.element Split (uint<32> in -> uint<32> even, uint<32> odd) {
    .state { uint<32> seen; uint<32> offsets[16]; }
    .handler {
        uint<32> x = read(in);
        seen = seen + 1;
        uint<32> offset = offsets[x & 15];
        if ((x & 1) == 1) write(odd, x * 3 + offset);
        else write(even, x + offset);
    }
    .signal uint<32> count() { return seen; }
    .signal void set(uint<4> at, uint<32> value) { offsets[at] = value; }
}
"""
DEEP = """
.element Deep (uint<8> in -> uint<8> out) {
    .handler { uint<8> x = read(in); .repeat (i, 0, 12) { x = 250 / (x | 1); } write(out, x); }
}
"""


def compiled(text: str) -> Compiled:
    diagnostics = Diagnostics()
    program = load_text(text, "test.sl", diagnostics)
    assert program is not None, "\n".join(error.render() for error in diagnostics.sorted())
    return compile_element(program.elements[0])


def run(element: Compiled, testcase: str) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    source = FOLDER / f"{element.module}.sv"
    source.write_text(element.text)
    environment = {"LATENCY": str(element.plan.latency)}
    simulate(element.module, __file__, extra_sources=[source], env=environment, testcase=testcase)


def test_an_output_that_waits() -> None:
    element = compiled(SPLIT)
    assert element.plan.interval == 1 and min(element.plan.port.values()) >= 1
    run(element, ",".join(WAITS))


def test_a_fifo_in_block_ram() -> None:
    """Of an element of many stages: its certificate, and its latency."""
    element = compiled(DEEP)
    assert element.plan.depth > 64
    found = certify(element)
    assert (found.failure, found.cycles) == ("", 0)
    run(element, "a_token_leaves_when_the_report_says")


async def begin(dut, waits=0.0):
    dut.signal_valid_i.value = 0
    source, calls = Source(dut, "in", stalls(0)), Source(dut, "signal", stalls(0))
    even, odd, answers = Sink(dut, "even", stalls(0)), Sink(dut, "odd", stalls(waits)), Sink(dut, "signal", stalls(0))
    await start(dut)
    await ClockCycles(dut.clk_i, 20)  # the table is swept
    return source, calls, even, odd, answers


@cocotb.test()
async def two_tokens_that_wait_do_not_slow_the_other_output(dut):
    source, _, even, odd, _ = await begin(dut, 1)
    evens = [2 * n for n in range(300)]
    source.send(1, 3, *evens)
    await ClockCycles(dut.clk_i, 2 + len(evens) + 12)
    assert even.received == evens and odd.received == []
    odd.stall = stalls(0)
    assert await odd.wait_for(2) == [3, 9]


@cocotb.test()
async def an_output_that_waits_for_ever_stops_tokens_and_no_signal(dut):
    source, calls, even, odd, answers = await begin(dut, 1)
    tokens = [random.getrandbits(31) for _ in range(400)]
    source.send(*tokens)
    await ClockCycles(dut.clk_i, 200)
    assert dut.in_ready_o.value == 0
    calls.send(*COUNT)
    header, answer = await answers.wait_for(2)
    taken = answer - LAST
    assert header == 1 << 15 and 16 <= taken < len(tokens)
    odds = [x * 3 & 0xFFFFFFFF for x in tokens if x & 1]
    assert even.received == [x for x in tokens[:taken] if x & 1 == 0] and sum(x & 1 for x in tokens[:taken]) >= 16
    odd.stall = stalls(0.5)
    assert await odd.wait_for(len(odds)) == odds
    assert even.received == [x for x in tokens if x & 1 == 0]


@cocotb.test()
async def signals_take_no_credits(dut):
    source, calls, even, odd, answers = await begin(dut, 0.3)
    tokens = [random.getrandbits(31) for _ in range(600)]
    source.send(*tokens)
    for _ in range(60):
        calls.send(*COUNT)
    replies = await answers.wait_for(120)
    counts = [word - LAST for word in replies[1::2]]
    assert counts == sorted(counts) and len(set(counts)) > 40
    assert await even.wait_for(sum(x & 1 == 0 for x in tokens)) == [x for x in tokens if x & 1 == 0]
    assert await odd.wait_for(sum(x & 1 for x in tokens)) == [x * 3 & 0xFFFFFFFF for x in tokens if x & 1]


@cocotb.test()
async def a_token_leaves_when_the_report_says(dut):
    dut.in_valid_i.value = dut.out_ready_i.value = 0
    await start(dut)
    dut.in_valid_i.value, dut.in_data_i.value = 1, 7
    await RisingEdge(dut.clk_i)
    dut.in_valid_i.value = 0
    cycles = 1
    while True:
        await ReadOnly()
        if dut.out_valid_o.value == 1:
            break
        await RisingEdge(dut.clk_i)
        cycles += 1
    assert cycles == int(os.environ["LATENCY"])
