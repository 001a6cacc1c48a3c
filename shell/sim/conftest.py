# SPDX-License-Identifier: Apache-2.0
"""Tests of the simulated device with more than one seed of its random bits."""

from __future__ import annotations

import pytest


@pytest.fixture(params=[1, 2, 3])
def power_up(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Three seeds of what a hostile build begins with; a test that fails repeats with the one in its name."""
    monkeypatch.setenv("SLUICE_SIM_SEED", str(request.param))
    return int(request.param)
