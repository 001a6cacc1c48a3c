# SPDX-License-Identifier: Apache-2.0
"""The plan of an element: the first of several ways to update its states that takes a token every cycle, else the fastest."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from compiler.ir.ir import ElementIr
from compiler.ir.rewrite import order, roots
from compiler.ir.verify import verify
from compiler.passes import recurrences
from compiler.passes.piecewise import NotPiecewise
from compiler.schedule import split
from compiler.schedule.carried import sliced
from compiler.schedule.delays import Delays, blocks
from compiler.schedule.forward import Proof, forward
from compiler.schedule.pipeline import Pipeline, merge
from compiler.schedule.schedule import Schedule, ScheduleError, TooLarge, schedule

MOST_GROWTH, FEW = 3, 2_000  # an element whose choices are made last has at most so many times its operators, and so many more
HEADROOM = 1.25  # of the clock: elements with long nets were placed and routed at 1.15 to 1.33 of the estimate
HEADROOM_LOG, FEW_BLOCKS = 0.08, 8  # and more with many block RAMs, which are all over the device: 1.55 with 92 (FlowCache)
MANY_BLOCKS = 64  # of which what is read goes through one register more
MOST_LAG = 3  # stages from reading a state to writing it, where functions are forwarded

UNPROVED = "could not prove the composed updates; where a sum can wrap, limit what is added, or use a wider type"


def plan(element: ElementIr, table: Delays, clock: float) -> Schedule:
    """Stages for a clock of `clock` ns; shorter ones where a token is still taken every cycle, since the nets of a large element
    are longer than the table knows. Raises ScheduleError."""
    goal = clock / _headroom(element)
    try:
        found = _plan(element, table, clock / HEADROOM, goal, goal)
    except ScheduleError:
        found = None
    if found is None or found.interval > 1:
        found = _plan(element, table, clock, clock / HEADROOM, clock)
    return sliced(replace(found, clock=clock))


def _headroom(element: ElementIr) -> float:
    """By how much stages had better be shorter than the clock: more the larger the memories are."""
    return HEADROOM + HEADROOM_LOG * math.log2(max(1.0, _blocks(element) / FEW_BLOCKS))


def _blocks(element: ElementIr) -> int:
    return sum(map(blocks, element.memories.values()))


def _plan(element: ElementIr, table: Delays, clock: float, goal: float, longest: float) -> Schedule:
    """For a clock of `clock` ns, `goal` where that costs no cycle; operators that alone take more than `longest` are cut."""
    budget = longest - table.overhead
    pipeline = merge(verify(split.run(element, table, budget)))
    found, slow = _at_once(_with_registers(pipeline, ()), table, goal, goal)
    if found is None:
        found, slow = _at_once(_with_registers(pipeline, slow), table, clock, goal)
    if found is None and slow:
        found, _ = _forwarded(_without_products(element, table, budget), table, clock, slow, True, goal)
    found = found or schedule(pipeline, table, clock, goal=goal)
    if found.interval == 1:
        return found
    slow = frozenset(recurrence.state for recurrence in found.recurrences)
    shorter, large = _selecting_last(element, table, clock, slow, goal, budget)
    if shorter is not None and shorter.interval < found.interval:
        found = shorter
    if found.interval == 1:
        return found
    forwarded, why = _forwarded(_without_products(element, table, budget), table, clock, slow, False, goal)
    tried = (f"selecting the next value last{large}", f"forwarding the update as a function: {why}")
    return forwarded or replace(found, tried=tried)


def _without_products(element: ElementIr, table: Delays, budget: float) -> Pipeline:
    """With products cut that take too long. Sums stay whole: they are what an update is composed of."""
    return merge(verify(split.run(element, table, budget, split.PRODUCTS)))


def _with_registers(pipeline: Pipeline, slow: Iterable[str]) -> Pipeline:
    """With a register behind the data of memories whose updates are too long for a token a cycle, and behind that of all others
    where they are far away."""
    names = frozenset(pipeline.element.memories)
    slow = names.intersection(slow)
    return replace(pipeline, registered=slow, far=names - slow if _blocks(pipeline.element) >= MANY_BLOCKS else frozenset())


def _at_once(pipeline: Pipeline, table: Delays, clock: float, goal: float) -> tuple[Schedule | None, frozenset[str]]:
    """A token a cycle with all wires counted; or None, and the states that are too slow for it."""
    try:
        return schedule(pipeline, table, clock, 1, True, goal), frozenset()
    except TooLarge:
        raise
    except ScheduleError as error:
        return None, error.slow


def _selecting_last(
    element: ElementIr, table: Delays, clock: float, slow: frozenset[str], goal: float, budget: float
) -> tuple[Schedule | None, str]:
    """With the choice among next values of these states last; or None, and why."""
    last = split.run(recurrences.run(element, slow), table, budget)
    if (operators := _operators(last)) > MOST_GROWTH * _operators(element) + FEW:
        return None, f": too large, {operators:,} operators"
    try:
        return schedule(merge(verify(last)), table, clock, goal=goal), ""
    except TooLarge as error:
        return None, f": {error}"


def _operators(element: ElementIr) -> int:
    """Of the handler and all signals."""
    return sum(len(order(roots(transition))) for transition in (element.handler, *element.signals))


def _forwarded(
    pipeline: Pipeline, table: Delays, clock: float, slow: frozenset[str], strict: bool, goal: float
) -> tuple[Schedule | None, str]:
    """With functions forwarded for the states that are too slow, each with the least lag that does; or None, and why."""
    lags, bounds = dict.fromkeys(sorted(slow), 0), dict[str, int]()
    while all(lag <= MOST_LAG for lag in lags.values()):
        changed, proofs = pipeline, list[Proof]()
        try:
            for name, lag in lags.items():
                changed, proof = forward(changed, name, lag, bounds)
                proofs.append(proof)
            changed = _with_registers(changed, lags)
            found = schedule(changed, table, clock, 1, strict, goal)
            return (found, "") if all(proof() for proof in proofs) else (None, UNPROVED)
        except (NotPiecewise, TooLarge) as error:
            return None, str(error)
        except ScheduleError as error:
            if not error.slow:
                return None, "the path that decides whether an iteration starts is too long"
            lags = {name: lags.get(name, -1) + (name in error.slow) for name in sorted({*lags, *error.slow})}
    return None, f"{MOST_LAG + 1} composed updates take more than {MOST_LAG + 1} stages"
