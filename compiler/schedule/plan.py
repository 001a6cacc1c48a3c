# SPDX-License-Identifier: Apache-2.0
"""The plan of an element: the first of several ways to update its states that takes a token every cycle, else the fastest."""

from __future__ import annotations

from compiler.ir.ir import ElementIr
from compiler.ir.verify import verify
from compiler.passes import recurrences
from compiler.passes.piecewise import NotPiecewise
from compiler.schedule.delays import Delays
from compiler.schedule.forward import Proof, forward
from compiler.schedule.pipeline import Pipeline, merge
from compiler.schedule.schedule import Schedule, ScheduleError, schedule

MOST_LAG = 3  # stages from reading a state to writing it, where functions are forwarded


def plan(element: ElementIr, table: Delays, clock: float) -> Schedule:
    """Stages for a clock of `clock` ns. Raises ScheduleError."""
    found = schedule(merge(element), table, clock)
    if found.interval == 1:
        return found
    slow = frozenset(recurrence.state for recurrence in found.recurrences)
    shorter = schedule(merge(verify(recurrences.run(element, slow))), table, clock)
    if shorter.interval < found.interval:
        found = shorter
    return found if found.interval == 1 else _forwarded(merge(element), table, clock, slow) or found


def _forwarded(pipeline: Pipeline, table: Delays, clock: float, slow: frozenset[str]) -> Schedule | None:
    """With functions forwarded for the states that are too slow, each with the least lag that does; None where that is not all."""
    lags = dict.fromkeys(sorted(slow), 0)
    while all(lag <= MOST_LAG for lag in lags.values()):
        changed, proofs = pipeline, list[Proof]()
        try:
            for name, lag in lags.items():
                changed, proof = forward(changed, name, lag)
                proofs.append(proof)
            found = schedule(changed, table, clock, 1)
            return found if all(proof() for proof in proofs) else None
        except NotPiecewise:
            return None
        except ScheduleError as error:
            if not error.slow:
                return None
            lags = {name: lags.get(name, -1) + (name in error.slow) for name in sorted({*lags, *error.slow})}
    return None
