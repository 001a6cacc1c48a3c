# SPDX-License-Identifier: Apache-2.0
"""The plan of an element: the first of several ways to update its states that takes a token every cycle, else the fastest."""

from __future__ import annotations

from dataclasses import replace

from compiler.ir.ir import ElementIr
from compiler.ir.verify import verify
from compiler.passes import recurrences
from compiler.passes.piecewise import NotPiecewise
from compiler.schedule import split
from compiler.schedule.delays import Delays
from compiler.schedule.forward import Proof, forward
from compiler.schedule.pipeline import Pipeline, merge
from compiler.schedule.schedule import Schedule, ScheduleError, schedule

MOST_LAG = 3  # stages from reading a state to writing it, where functions are forwarded


def plan(element: ElementIr, table: Delays, clock: float) -> Schedule:
    """Stages for a clock of `clock` ns. Raises ScheduleError."""
    budget = clock - table.overhead
    found = schedule(merge(verify(split.run(element, table, budget))), table, clock)
    if found.interval == 1:
        return found
    slow = frozenset(recurrence.state for recurrence in found.recurrences)
    shorter = schedule(merge(verify(split.run(recurrences.run(element, slow), table, budget))), table, clock)
    if shorter.interval < found.interval:
        found = shorter
    if found.interval == 1:
        return found
    forwarded, why = _forwarded(merge(element), table, clock, slow)
    tried = ("selecting the next value last", f"forwarding the update as a function: {why}")
    return forwarded or replace(found, tried=tried)


def _forwarded(pipeline: Pipeline, table: Delays, clock: float, slow: frozenset[str]) -> tuple[Schedule | None, str]:
    """With functions forwarded for the states that are too slow, each with the least lag that does; or None, and why."""
    lags, bounds = dict.fromkeys(sorted(slow), 0), dict[str, int]()
    while all(lag <= MOST_LAG for lag in lags.values()):
        changed, proofs = pipeline, list[Proof]()
        try:
            for name, lag in lags.items():
                changed, proof = forward(changed, name, lag, bounds)
                proofs.append(proof)
            found = schedule(changed, table, clock, 1)
            return (found, "") if all(proof() for proof in proofs) else (None, "could not prove the composed updates")
        except NotPiecewise as error:
            return None, str(error)
        except ScheduleError as error:
            if not error.slow:
                return None, "the path that decides whether an iteration starts is too long"
            lags = {name: lags.get(name, -1) + (name in error.slow) for name in sorted({*lags, *error.slow})}
    return None, f"{MOST_LAG + 1} composed updates take more than {MOST_LAG + 1} stages"
