# SPDX-License-Identifier: Apache-2.0
"""sl_ternary_table: lookups agree with the model while rules change, and a reset ends those that are under way. Value and mask come
beside the instruction, whose own say something else."""

import dataclasses
import random

import cocotb
from sluice_layouts import Instruction

from rtl.match.test_sl_lpm_table import Bench, fill, random_operations
from testing.cocotb.lookups import answer_only_what_no_reset_ended
from toolchain.simulate import simulate


def test_ternary_table() -> None:
    simulate("sl_ternary_table", __file__, {"KeyBits": 40, "Entries": 12, "PriorityBits": 3})


class Ternary(Bench):
    def _offer(self, op: Instruction) -> None:
        self.dut.op_value_i.value, self.dut.op_mask_i.value = op.value, op.mask
        other = dataclasses.replace(op, value=random.getrandbits(40), mask=random.getrandbits(40))
        self.dut.op_i.value = other.to_int()


@cocotb.test()
async def agrees_with_the_model_while_rules_change(dut):
    bench = Ternary(dut)
    await bench.begin()
    for op in random_operations(bench, 60):
        await bench.execute(op)
    await bench.drain()
    assert 0 < bench.hits < bench.lookups


@cocotb.test()
async def takes_a_rule_in_every_entry(dut):
    bench = Ternary(dut, gaps=0.0)
    await bench.begin()
    await fill(bench)
    await bench.drain()


@cocotb.test()
async def a_reset_ends_all_lookups_under_way(dut):
    await answer_only_what_no_reset_ended(dut)
