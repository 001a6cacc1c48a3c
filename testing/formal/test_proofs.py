# SPDX-License-Identifier: Apache-2.0
"""Runs the table of proofs: each holds, reaches its covers and refuses its broken parts; and nothing in this folder is left out."""

import dataclasses

import pytest

from testing.formal.proofs import FOLDER, HELPERS, PAGE, PROOFS, Broken, Proof, page, run
from testing.slow import except_for
from toolchain.prove import ProofError

ALL = pytest.mark.parametrize("proof", PROOFS, ids=[proof.name for proof in PROOFS])
BROKEN = [(proof, broken) for proof in PROOFS for broken in proof.broken]
FURTHER = [(proof, broken) for proof in PROOFS for broken in proof.broken[1:]]


@ALL
def test_holds(proof: Proof) -> None:
    run(proof, proof.mode, proof.depth)


@ALL
def test_assumptions_leave_the_interesting_runs(proof: Proof) -> None:
    run(proof, "cover", proof.cover_depth)


@pytest.mark.parametrize(
    ("proof", "broken"), except_for(FURTHER, BROKEN), ids=[f"{proof.name}: {broken.replacement}" for proof, broken in BROKEN]
)
def test_a_broken_part_is_refused(proof: Proof, broken: Broken) -> None:
    with pytest.raises(ProofError, match=rf"failed in \w+: \S*\b{broken.caught_by}\b"):
        run(proof, "refute", max(proof.depth, proof.cover_depth), broken)


def test_every_harness_is_in_the_table() -> None:
    assert {path.stem for path in FOLDER.glob("fv_*.sv")} == {proof.harness for proof in PROOFS} | HELPERS


def test_a_proof_without_a_broken_part_or_a_cover_cannot_be_declared() -> None:
    with pytest.raises(ValueError, match="broken part"):
        dataclasses.replace(PROOFS[0], broken=())
    with pytest.raises(ValueError, match="no cover"):
        dataclasses.replace(PROOFS[0], harness="fv_any_table")


def test_the_page_is_that_of_the_table() -> None:
    assert PAGE.read_text() == page(), "python -m testing.formal.proofs"
