# SPDX-License-Identifier: Apache-2.0
"""A judge of which some cases fail without a mutant, too. `test_mutate.py` asks it; by its name no other run finds it."""

import os

import pytest

from testing.mutate.mutant import VARIABLE


@pytest.mark.parametrize("word", ["a b", "c"])
def test_fails_always(word: str) -> None:
    """As a test of synthesis does, which cannot read schemata."""
    assert not word


def test_notices() -> None:
    """Fails with any mutant."""
    assert os.environ[VARIABLE] == "0"
