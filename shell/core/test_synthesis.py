# SPDX-License-Identifier: Apache-2.0
"""The whole shell with its graph elaborates for synthesis, not only for the simulator."""

import pytest

from testing.slow import first
from toolchain.synth.flow import ports

FLOW_TABLE = {"FlowGroups": 2, "FlowGroupEntries": 64, "FlowTernaryEntries": 16}


@pytest.mark.parametrize(
    "more",
    first(1, [{"HostLanes": 2, "LaneClocks": 1, "Controllers": 2, **FLOW_TABLE}, {}]),
    ids=["wire with lane clocks, flow table, two controller cores", "ring, rule tables"],
)
def test_yosys_reads_the_whole_shell(more):
    small = {"Lanes": 2, "LpmEntries4": 16, "LpmEntries6": 16, "ExactEntries4": 64, "ExactEntries6": 64}
    found = ports("sh_core", small | more)
    assert found["lane_rx_valid_i"] == ("input", 2 + more.get("HostLanes", 0))
    assert found["idle_o"] == ("output", 1)
