# SPDX-License-Identifier: Apache-2.0
"""sl_counter_push loses no count, is never late, and shows nothing of a rule's earlier life: for all runs of so many cycles, from
whatever its memories hold."""

import pytest

from testing.prove import ProofError, prove

DEPTH = 13  # a count in the first cycle, and its bound


def test_no_count_is_lost_late_or_of_an_old_life() -> None:
    prove("fv_counter_push", mode="bmc", depth=DEPTH, synthesis=True, flat=True)


def test_a_count_that_is_sent_one_sweep_too_late_is_found() -> None:
    with pytest.raises(ProofError):
        mutation = ("sl_counter_push", "<= StampBits'(1);", "<= StampBits'(0);")
        prove("fv_counter_push", mode="bmc", depth=DEPTH, mutation=mutation, synthesis=True, flat=True)
