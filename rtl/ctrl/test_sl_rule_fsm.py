# SPDX-License-Identifier: Apache-2.0
"""sl_rule_fsm tells how many cycles an instruction took, and of one that takes longer than the field can say, the most."""

import cocotb
import sluice_layouts as layouts
from cocotb.triggers import ClockCycles, ReadOnly, RisingEdge, Timer
from sluice_layouts import InstructionKind, Status

from testing.cocotb.channel import start
from toolchain.simulate import simulate

MOST = 0xFFFF


def test_rule_fsm() -> None:
    simulate("sl_rule_fsm", __file__, {"Entries0": 32, "Entries1": 0})


@cocotb.test()
@cocotb.parametrize(cycles=[20, MOST + 500])
async def the_cycles_of_an_instruction_saturate(dut, cycles):
    for name in ("instruction_valid_i", "op_ready_i", "op_commit_i", "op_done_i", "op_status0_i", "op_status1_i", "hold_i"):
        getattr(dut, name).value = 0
    dut.table_ready_i.value, dut.response_ready_i.value = 3, 1
    await start(dut)
    await ClockCycles(dut.clk_i, 10)
    dut.instruction_data_i.value = layouts.Instruction(rule_id=3, kind=InstructionKind.INSTRUCTION_POPULATE).to_int()
    dut.instruction_valid_i.value = 1
    await Timer(10 * (cycles - 1), "ns")  # its table is busy
    await RisingEdge(dut.clk_i)
    dut.op_ready_i.value = 3
    await RisingEdge(dut.clk_i)
    dut.op_done_i.value = 1
    await ReadOnly()
    assert dut.response_valid_o.value == 1
    response = layouts.Response.from_int(int(dut.response_data_o.value))
    assert (response.status, response.rule_id) == (Status.STATUS_OK, 3)
    assert response.cycles == MOST if cycles > MOST else cycles <= response.cycles <= cycles + 2
    await RisingEdge(dut.clk_i)
