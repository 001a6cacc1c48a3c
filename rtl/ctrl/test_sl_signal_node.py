# SPDX-License-Identifier: Apache-2.0
"""sl_signal_node answers requests for its instance, passes everything else, and refuses what has the wrong length."""

import random

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge

from testing.cocotb.channel import Sink, Source, start
from toolchain.simulate import simulate

INSTANCE, SIGNALS, ARGUMENT_BITS, RESULT_BITS = 5, 3, 70, 40
REPLY, EINVAL = 1 << 15, 22 << 8


def test_signal_node() -> None:
    parameters = {"Signals": SIGNALS, "ArgumentBits": ARGUMENT_BITS, "ResultBits": RESULT_BITS}
    simulate("sl_signal_node", __file__, parameters)


def message(header: int, words: list[int]) -> list[int]:
    """Its words, the last marked."""
    whole = [header, *words]
    return [*whole[:-1], whole[-1] | 1 << 32]


def result_of(kind: int, arguments: int) -> int:
    return (arguments * 3 + kind) % (1 << RESULT_BITS)


async def element(dut) -> None:
    """Takes a pending signal after a while and gives its result later still."""
    while True:
        await ReadOnly()
        if dut.pending_o.value != 1:
            await RisingEdge(dut.clk_i)
            continue
        kind, arguments = int(dut.kind_o.value), int(dut.arguments_o.value)
        for _ in range(random.randrange(1, 4)):
            await RisingEdge(dut.clk_i)
        dut.take_i.value = 1
        wait = random.randrange(4)
        dut.result_i.value = result_of(kind, arguments)
        dut.result_valid_i.value = int(wait == 0)  # a short pipeline answers in the same cycle
        await RisingEdge(dut.clk_i)
        dut.take_i.value = 0
        dut.result_valid_i.value = 0
        for _ in range(wait):
            await RisingEdge(dut.clk_i)
        if wait:
            dut.result_valid_i.value = 1
            await RisingEdge(dut.clk_i)
            dut.result_valid_i.value = 0
        await RisingEdge(dut.clk_i)


@cocotb.test()
async def answers_its_own_and_passes_the_rest_in_order(dut):
    dut.instance_i.value = INSTANCE
    dut.take_i.value = dut.result_valid_i.value = dut.result_i.value = 0
    source, sink = Source(dut, "in"), Sink(dut, "out")
    await start(dut)
    cocotb.start_soon(element(dut))
    expected: list[int] = []
    for _ in range(200):
        kind, arguments = random.randrange(SIGNALS + 1), random.getrandbits(ARGUMENT_BITS)
        words = [arguments >> 32 * n & 0xFFFFFFFF for n in range(3)]
        header = INSTANCE << 16 | kind
        match random.randrange(5):
            case 0:  # for another, of any length; or a reply of this one
                other = random.choice([header + (1 << 16), header | REPLY])
                passing = message(other, words[: random.randrange(4)])
                source.send(*passing)
                expected += passing
            case 1:  # of the wrong length
                wrong = random.choice([[], words[:1], words[:2], [*words, 7], [*words, 1, 2, 3, 4, 5]])
                source.send(*message(header, wrong))
                expected.append(header | REPLY | EINVAL | 1 << 32)
            case _:
                source.send(*message(header, words))
                if kind >= SIGNALS:
                    expected.append(header | REPLY | EINVAL | 1 << 32)
                else:
                    result = result_of(kind, arguments)
                    expected += message(header | REPLY, [result & 0xFFFFFFFF, result >> 32])
    for _ in range(20_000):
        if len(sink.received) >= len(expected):
            break
        await RisingEdge(dut.clk_i)
    assert list(sink.received) == expected
