# SPDX-License-Identifier: Apache-2.0
"""The parts that carry channels keep order, lose nothing and keep packets whole: proved by induction, for all inputs."""

import pytest

from testing.prove import ProofError, prove

HARNESSES = ["fv_skid", "fv_fifo", "fv_pipe_gate", "fv_merge", "fv_packet_arbiter"]


@pytest.mark.parametrize("top", HARNESSES)
def test_holds_for_runs_of_every_length(top: str) -> None:
    prove(top, depth=3)


@pytest.mark.parametrize(("top", "depth"), [("fv_skid", 6), ("fv_fifo", 14), ("fv_pipe_gate", 20), ("fv_merge", 8)])
def test_assumptions_leave_the_interesting_runs(top: str, depth: int) -> None:
    prove(top, mode="cover", depth=depth)


@pytest.mark.parametrize(
    ("top", "mutation"),
    [
        ("fv_skid", ("sl_skid", "spare_valid_q ? spare_q : in_data_i", "in_data_i")),
        ("fv_fifo", ("sl_fifo", "count_o != CountBits'(Depth - 1)", "1'b1")),
        ("fv_pipe_gate", ("sl_pipe_gate", "in_flight_q != CountBits'(Depth - 1)", "1'b1")),
        ("fv_merge", ("sl_merge", "<= !word.eop;", "<= word.sop;")),
        ("fv_packet_arbiter", ("sl_packet_arbiter", "<= !word.eop;", "<= word.sop;")),
    ],
)
def test_a_broken_part_is_found(top: str, mutation: tuple[str, str, str]) -> None:
    with pytest.raises(ProofError):
        prove(top, mode="bmc", depth=20, mutation=mutation)
