# SPDX-License-Identifier: Apache-2.0
"""sl_packet_guard lets out whole packets only, and leaves whole packets alone: proved for all inputs."""

import pytest

from testing.prove import ProofError, prove


def test_lets_out_whole_packets_only() -> None:
    prove("fv_packet_guard", depth=2)
    prove("fv_packet_guard", mode="cover", depth=5)


@pytest.mark.parametrize(
    "mutation", [("(inside_q || in_data_i.sop)", "1'b1"), ("(inside_q && in_data_i.sop) ||", ""), ("= !inside_q;", "= 1'b1;")]
)
def test_a_broken_guard_is_found(mutation: tuple[str, str]) -> None:
    with pytest.raises(ProofError):
        prove("fv_packet_guard", mode="bmc", depth=6, mutation=("sl_packet_guard", *mutation))
