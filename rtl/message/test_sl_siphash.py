# SPDX-License-Identifier: Apache-2.0
"""sl_siphash against the siphash24 package, and the vectors of the paper's Appendix A."""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from siphash24 import siphash24

from testing.cocotb.channel import start
from toolchain.simulate import simulate

PATIENCE = 100  # cycles
PAPER_KEY = bytes(range(16))
PAPER_TAGS = {8: 0x93F5F5799A932462, 16: 0x3F2ACC7F57C29BDB}  # of 00 01 02 ..., for whole words (the reference's vectors.h)


def test_siphash() -> None:
    simulate("sl_siphash", __file__, {})


async def tag_of(dut, key: bytes, message: bytes) -> int:
    """Gives the message in words, with random gaps, after one that does not end; returns the tag."""
    await give(dut, random.randbytes(16), random.randbytes(8 * random.randrange(3)), ends=False)
    await give(dut, key, message)
    for _ in range(PATIENCE):
        await ReadOnly()
        if dut.tag_valid_o.value == 1:
            return int(dut.tag_o.value)
        await RisingEdge(dut.clk_i)
    raise AssertionError("no tag")


async def give(dut, key: bytes, message: bytes, ends: bool = True) -> None:
    dut.key_i.value = int.from_bytes(key, "little")
    words = [message[at : at + 8] for at in range(0, len(message), 8)]
    for number, word in enumerate(words):
        while random.random() < 0.3:
            await RisingEdge(dut.clk_i)
        dut.word_i.value, dut.first_i.value = int.from_bytes(word, "little"), number == 0
        dut.last_i.value = ends and number == len(words) - 1
        dut.valid_i.value = 1
        for _ in range(PATIENCE):
            await ReadOnly()
            taken = dut.ready_o.value == 1
            await RisingEdge(dut.clk_i)
            if taken:
                break
        dut.valid_i.value = 0


@cocotb.test()
async def tags_are_those_of_the_paper_and_of_another_implementation(dut):
    dut.valid_i.value = 0
    await start(dut)
    for size, tag in PAPER_TAGS.items():
        assert await tag_of(dut, PAPER_KEY, bytes(range(size))) == tag
        await RisingEdge(dut.clk_i)
    for words in (1, 2, 3, 4, 31, 32, 33, *random.choices(range(1, 60), k=10)):
        key, message = random.randbytes(16), random.randbytes(8 * words)
        assert await tag_of(dut, key, message) == int.from_bytes(siphash24(message, key=key).digest(), "little"), words
        await RisingEdge(dut.clk_i)
