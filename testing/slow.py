# SPDX-License-Identifier: Apache-2.0
"""Which tests and cases `make test` leaves to `make test-all`, by the mark `slow`: most are further cases of what another shows,
some look at limits that rarely change. What only one test sees of hardware is not slow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def first(count: int, cases: Iterable[Any]) -> list[Any]:
    """The cases of a parameter, or tuples of several; all after the first `count` are slow."""
    return [case if n < count else _slow(case) for n, case in enumerate(cases)]


def except_for(some: Iterable[Any], cases: Iterable[Any]) -> list[Any]:
    """The cases; these are slow."""
    late = list(some)
    return [_slow(case) if case in late else case for case in cases]


def _slow(case: Any) -> Any:
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
