# SPDX-License-Identifier: Apache-2.0
"""The whole shell with its graph elaborates for synthesis, not only for the simulator."""

import pytest

from toolchain.synth.flow import ports

FLOW_TABLE = {"FlowGroups": 2, "FlowGroupEntries": 64, "FlowTernaryEntries": 16}


@pytest.mark.parametrize(
    "more",
    [{}, {"HostLanes": 2, "LaneClocks": 1, **FLOW_TABLE}, {"Controllers": 2}],
    ids=["ring, rule tables", "wire with lane clocks, flow table", "two controller cores"],
)
def test_yosys_reads_the_whole_shell(more):
    small = {"Lanes": 2, "LpmEntries4": 16, "LpmEntries6": 16, "ExactEntries4": 64, "ExactEntries6": 64}
    found = ports("sh_core", small | more)
    assert found["lane_rx_valid_i"] == ("input", 2 + more.get("HostLanes", 0))
    assert found["idle_o"] == ("output", 1)
