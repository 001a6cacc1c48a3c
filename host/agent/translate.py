# SPDX-License-Identifier: Apache-2.0
"""Flow tables as a program of the pipeline: a unit a table.

docs/design/agent.md says how. Two containers are the agent's: `STATE`, the ports that a packet will leave by from tables before,
and `NUMBER`, which says why the packet came to the controller.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import sluice_layouts as L

from compiler.pipeline.actions import Operation, action
from compiler.pipeline.parser_program import ProgramError
from compiler.pipeline.pipeline_image import PipelineProgram
from compiler.pipeline.unit_image import NOTHING, UnitEntry, UnitProgram
from host.agent.actions import HOST, Ports, Work
from host.agent.fields import HEADERS, Requirement

STATE, NUMBER = L.PIPELINE_MARK, L.PIPELINE_MARK + 1
WORD = 0xFFFF
WAYS = 2  # of a rule's requirements


class TooWide(ProgramError):
    """The key of a table needs more words than a unit selects."""


class WrongOrder(ProgramError):
    """A packet is changed in one table after a copy left in another."""


@dataclass(frozen=True)
class Rule:
    """A flow, translated: `number` stands for it, or for what is as it to the controller, in packets that go there."""

    requirements: tuple[tuple[Requirement, ...], ...]  # written in several ways, of which a table takes one for all its rules
    lane: int | None  # that it matches; None: any
    work: Work
    number: int


@dataclass(frozen=True)
class State:
    """Where a packet goes at the end, from the tables before: egress masks of copies that left, and of the action set."""

    now: int = 0
    later: int = 0

    @property
    def word(self) -> int:
        return self.now << 8 | self.later


Row = tuple[Requirement, L.UnitAction]


def program(tables: Sequence[Sequence[Rule]], lanes: int) -> PipelineProgram:
    """The program of these tables; the rules of each in the order in which they match. Raises ProgramError."""
    states: list[set[State]] = [{State()}, *(set() for _ in tables[1:])]
    units = []
    for number, rules in enumerate(tables):
        reached = bool(states[number])  # a table that no flow goes to is empty in the device
        units.append(_unit([[*_rows(rules, states, number, lanes, way)] for way in range(WAYS)]) if reached else NOTHING)
    return PipelineProgram(HEADERS, tuple(units))


def _rows(rules: Sequence[Rule], states: Sequence[set[State]], table: int, lanes: int, way: int) -> Iterator[Row]:
    """The entries of a unit, in order; finds the states that later tables can be in."""
    here = sorted(states[table], key=lambda state: state.word)

    def keyed(state: State) -> Requirement:
        return {STATE: (state.word, WORD)} if len(here) > 1 else {}

    for rule in rules:
        for state in here:
            if state.now and rule.work.edits:
                raise WrongOrder("a packet is changed after a copy of it left in an earlier table")
            for lane in _lanes(rule, state, lanes):
                came: Requirement = {L.SOURCE_PORT: (lane, WORD)} if lane is not None and rule.lane is None else {}
                done, following = _action(rule, state, lane)
                if following is not None:
                    states[rule.work.goto or 0].add(following)
                for requirement in rule.requirements[way]:
                    yield {**requirement, **came, **keyed(state)}, done
    for state in here:
        if state.now:  # what left before a table without a match has left
            yield keyed(state), action(verdict=L.VERDICT_FORWARD, ports=_ports(state.now))
    yield {}, action(verdict=L.VERDICT_DROP)


def _lanes(rule: Rule, state: State, lanes: int) -> Iterator[int | None]:
    """The lanes whose packets a rule treats in their own way, then None for the others, if there are any."""
    if rule.lane is not None:
        yield rule.lane
        return
    ports = [rule.work.now, *([rule.work.later] if rule.work.later else [])]
    if any(one.back for one in ports):
        yield from range(lanes)
        return
    own = [lane for lane in range(lanes) if any(one.lanes >> lane & 1 for one in ports)]
    yield from own
    if len(own) < lanes:
        yield None


def _action(rule: Rule, state: State, lane: int | None) -> tuple[L.UnitAction, State | None]:
    """What a unit does for a rule with packets of a lane in a state, and the state in which they go on."""
    work = rule.work
    now = state.now | work.now.mask(lane)
    later = state.later if work.later is None else work.later.mask(lane)
    edits = dict(work.edits)
    if work.now.controller or (work.later or Ports()).controller:
        edits[NUMBER] = Operation(NUMBER, L.OPERATOR_SET, rule.number)
    if work.goto is None:
        return _end(edits, now | later, work.queue), None
    following = State(now, later)
    if following != state:
        edits[STATE] = Operation(STATE, L.OPERATOR_SET, following.word)
    return action(edits.values(), following=work.goto), following


def _end(edits: Mapping[int, Operation], mask: int, queue: int) -> L.UnitAction:
    if not mask:
        return action(verdict=L.VERDICT_DROP)
    verdict = L.VERDICT_TO_CONTROLLER if mask == HOST else L.VERDICT_FORWARD
    return action(edits.values(), verdict=verdict, ports=_ports(mask), queue=queue)


def _ports(mask: int) -> list[int]:
    return [port for port in range(8) if mask >> port & 1]


def _sources(rows: Sequence[Row]) -> list[int]:
    return sorted({source for requirement, _ in rows for source in requirement})


def _unit(ways: Sequence[Sequence[Row]]) -> UnitProgram:
    """A unit with these entries, the last of which matches everything; in the way that has the smallest key."""
    rows = min(ways, key=lambda rows: len(_sources(rows)))
    end = next(number for number, (requirement, _) in enumerate(rows) if not requirement)
    entries, miss = rows[:end], rows[end][1]
    sources = _sources(entries)
    if len(sources) > L.UNIT_KEY_WORDS:
        raise TooWide(f"the key has {len(sources)} words; hint: at most {L.UNIT_KEY_WORDS} of 16 bits")
    packed: dict[tuple[int, int], L.UnitAction] = {}
    for requirement, done in entries:
        packed.setdefault(_packed(requirement, sources), done)
    masks = {mask for _, mask in packed}
    whole = functools.reduce(operator.or_, masks, 0)
    words = [*sources, *[0] * (L.UNIT_KEY_WORDS - len(sources))]
    selector = L.UnitSelector(words, whole, int(len(masks) == 1))
    return UnitProgram(selector, tuple(UnitEntry(value, mask, done) for (value, mask), done in packed.items()), miss)


def _packed(requirement: Requirement, sources: Sequence[int]) -> tuple[int, int]:
    """Value and mask of a key."""
    pairs = [(at, requirement[source]) for at, source in enumerate(sources) if source in requirement]
    value = sum((value & mask) << 16 * at for at, (value, mask) in pairs)
    return value, sum(mask << 16 * at for at, (_, mask) in pairs)
