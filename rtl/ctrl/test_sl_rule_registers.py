# SPDX-License-Identifier: Apache-2.0
"""sl_rule_registers: the window is as its layout says, and reads 0 after a reset, whatever its flip-flops held before."""

import random

import cocotb
import sluice_layouts as layouts
from cocotb.triggers import RisingEdge

from testing.cocotb.channel import start
from testing.cocotb.registers import Registers, check_window
from toolchain.simulate import simulate

INPUTS = ("values_i", "idle_i", "used0_i", "used1_i", "push_ready_i", "response_data_i", "response_valid_i", "counter_done_i",
          "counter_data_i")  # fmt: skip
KEPT = {offset: register for register in layouts.OFU_REGISTERS if register.is_kept for offset in register.offsets}
RESPONSE = (layouts.OFU_REGISTERS_RESPONSE, layouts.OFU_REGISTERS_RESPONSE + 4)
ADDRESSES = [*KEPT, *RESPONSE]
EDIT_ENTRIES = 16


def test_rule_registers() -> None:
    simulate("sl_rule_registers", __file__, {"Entries0": 32, "Entries1": 32, "EditEntries": EDIT_ENTRIES})


async def begin(dut) -> Registers:
    for name in INPUTS:
        getattr(dut, name).value = 0
    dut.counter_done_i.value = 1
    registers = Registers(dut)
    await start(dut)  # what they held at power-up is random
    return registers


@cocotb.test()
async def the_window_is_as_its_layout_says(dut):
    registers = await begin(dut)
    values = {"edit_index": range(EDIT_ENTRIES), "counter_index": [0, 31, 1 << 30, 1 << 30 | 31]}
    await check_window(registers.access, layouts.OFU_REGISTERS, values=values)


@cocotb.test()
async def registers_read_0_after_a_reset(dut):
    registers = await begin(dut)
    assert {at: await registers.read(at) for at in ADDRESSES} == dict.fromkeys(ADDRESSES, 0)

    written = {at: random.randrange(1, min(EDIT_ENTRIES, 1 << register.width)) for at, register in KEPT.items()}
    for at, value in written.items():
        await registers.write(at, value)
    dut.response_data_i.value, dut.response_valid_i.value = 7 << 32, 1
    await registers.read(RESPONSE[0])
    assert {at: await registers.read(at) for at in written} == written
    assert await registers.read(RESPONSE[1]) == 7

    dut.response_valid_i.value = 0
    dut.rst_i.value = 1
    for _ in range(4):
        await RisingEdge(dut.clk_i)
    dut.rst_i.value = 0
    assert {at: await registers.read(at) for at in ADDRESSES} == dict.fromkeys(ADDRESSES, 0)
