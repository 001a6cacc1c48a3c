# SPDX-License-Identifier: Apache-2.0
"""sl_forward_ram: the memory it becomes, and random traffic on few addresses. Its proof: `testing/formal/fv_forward_ram.sv`."""

import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge, ReadOnly, RisingEdge

from testing.cocotb.channel import start
from toolchain.simulate import simulate
from toolchain.synthesis import Memory, expect_memory


def test_words_are_in_block_ram() -> None:
    expect_memory(
        "sl_forward_ram", {"Width": 36, "Entries": 512}, xcup=Memory(bram=0.5), ecp5=Memory(bram=1), most_ff=220
    )  # fmt: skip


def test_each_copy_of_an_address_has_its_part_of_the_word() -> None:
    parameters = {"Width": 36, "Entries": 1024, "Copies": 2}
    expect_memory("sl_forward_ram", parameters, xcup=Memory(bram=1.0), ecp5=Memory(bram=2), most_ff=330)


@pytest.mark.parametrize("early", [0, 1])
@pytest.mark.parametrize("register", [0, 1, 2])
@pytest.mark.parametrize("copies", [1, 3])
def test_random_traffic(copies: int, register: int, early: int) -> None:
    parameters = {"Width": 16, "Entries": 5, "IndexBits": 4, "Copies": copies, "Register": register, "EarlyIndex": early}
    simulate("sl_forward_ram", __file__, parameters)


@cocotb.test()
async def agrees_with_an_array_whatever_the_distance(dut):
    entries, width = int(dut.Entries.value), int(dut.Width.value)
    for signal in (dut.read_valid_i, dut.write_valid_i, dut.reset_data_i):
        signal.value = 0
    await start(dut)
    while dut.ready_o.value != 1:  # every word is reset to 3 times its address
        await FallingEdge(dut.clk_i)
        dut.reset_data_i.value = 3 * int(dut.reset_address_o.value)
        await RisingEdge(dut.clk_i)
    words = [3 * n for n in range(entries)]
    latency = 2 + (int(dut.Copies.value) > 1) + (int(dut.Register.value) > 0)
    stages: list[int | None] = [None] * latency  # index of the reads one stage on and more
    reads, is_early, later = 0, int(dut.EarlyIndex.value), None
    for _ in range(5000):
        index = random.randrange(2**4) if random.random() < 0.7 else None
        write, later = later, random.randrange(entries + 2) if random.random() < 0.6 else None
        data = random.getrandbits(width)
        dut.read_valid_i.value = int(index is not None)
        dut.read_index_i.value = index or 0
        dut.write_valid_i.value = int(write is not None)
        dut.write_index_i.value = (later if is_early else write) or 0
        dut.write_data_i.value = data
        await ReadOnly()
        if (asked := stages[-1]) is not None:
            expected = words[asked] if asked < entries else 0
            assert int(dut.read_data_o.value) == expected, f"word {asked}"
            reads += 1
        await RisingEdge(dut.clk_i)
        stages = [index, *stages[:-1]]
        if write is not None and write < entries:
            words[write] = data
    assert reads > 2000
