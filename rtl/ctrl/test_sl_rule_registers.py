# SPDX-License-Identifier: Apache-2.0
"""sl_rule_registers reads 0 after a reset, whatever its flip-flops held before."""

import random

import cocotb
import sluice_layouts as layouts
from cocotb.triggers import RisingEdge

from testing.cocotb.channel import start
from testing.cocotb.registers import Registers
from toolchain.simulate import simulate

INPUTS = ("ready_i", "free_i", "waiting_i", "idle_i", "used0_i", "used1_i", "push_ready_i", "response_data_i", "response_valid_i",
          "counter_done_i", "counter_data_i")  # fmt: skip
KEPT = {  # what the host wrote, or what it read of it: register and words
    layouts.OFU_REGISTERS_CONTROL: 1,
    layouts.OFU_REGISTERS_RESPONSE: 2,
    layouts.OFU_REGISTERS_EDIT_INDEX: 1,
    layouts.OFU_REGISTERS_EDIT_DATA: layouts.OFU_REGISTERS_EDIT_DATA_COUNT,
    layouts.OFU_REGISTERS_COUNTER_INDEX: 1,
    layouts.OFU_REGISTERS_INSTRUCTION: layouts.OFU_REGISTERS_INSTRUCTION_COUNT,
}
RESPONSE = (layouts.OFU_REGISTERS_RESPONSE, layouts.OFU_REGISTERS_RESPONSE + 4)
ADDRESSES = [first + 4 * word for first, words in KEPT.items() for word in range(words)]


def test_rule_registers() -> None:
    simulate("sl_rule_registers", __file__, {"Entries0": 32, "Entries1": 32, "EditEntries": 16})


@cocotb.test()
async def registers_read_0_after_a_reset(dut):
    for name in INPUTS:
        getattr(dut, name).value = 0
    dut.counter_done_i.value = 1
    registers = Registers(dut)
    await start(dut)  # what they held at power-up is random
    assert {at: await registers.read(at) for at in ADDRESSES} == dict.fromkeys(ADDRESSES, 0)

    written = {at: random.randrange(1, 16) for at in ADDRESSES if at not in (layouts.OFU_REGISTERS_CONTROL, *RESPONSE)}
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
