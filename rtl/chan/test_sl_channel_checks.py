# SPDX-License-Identifier: Apache-2.0
"""Every channel that leaves a module is checked in simulation: a module that breaks the law of the handshake fails its test,
whatever the test looks at."""

from pathlib import Path

import cocotb
import pytest
from cocotb.triggers import ClockCycles

from testing.cocotb.channel import start
from toolchain import ROOT
from toolchain.channels import OTHER_CLOCKS, leaving
from toolchain.simulate import SOURCE_FOLDERS, SimulationError, simulate

FORGETS = """
module tb_forgets (
  input  logic            clk_i,
  input  logic            rst_i,
  output logic [1:0][7:0] out_data_o,
  output logic [1:0]      out_valid_o,
  input  logic [1:0]      out_ready_i
);
  // Channel 1 takes its word back after a cycle.
  assign out_data_o = {8'd2, 8'd1};
  always_ff @(posedge clk_i) out_valid_o <= {!rst_i && !out_valid_o[1], !rst_i};
endmodule
"""


def test_a_channel_that_takes_its_word_back_fails_the_test(tmp_path: Path) -> None:
    source = tmp_path / "tb_forgets.sv"
    source.write_text(FORGETS)
    with pytest.raises(SimulationError, match="SLUICE_SEED"):
        simulate("tb_forgets", __file__, extra_sources=[source])


@cocotb.test()
async def looks_at_nothing(dut):
    dut.out_ready_i.value = 0
    await start(dut)
    await ClockCycles(dut.clk_i, 20)


def test_the_channels_of_a_module_are_found() -> None:
    texts = {path.stem: path.read_text() for folder in SOURCE_FOLDERS for path in (ROOT / folder).rglob("*.sv")}
    assert leaving(texts["sl_fifo"]) == ["out"]
    assert leaving(texts["el_parse"]) == ["out", "phv"]
    assert leaving(texts["cfg_l2"]) == ["lane_tx"]
    assert all(name in leaving(texts[module]) for module, name in OTHER_CLOCKS)
