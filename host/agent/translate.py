# SPDX-License-Identifier: Apache-2.0
"""Flow tables as a program of the pipeline: a unit a table.

docs/design/agent.md says how. Two containers are the agent's: `STATE`, the ports that a packet will leave by from tables before,
and `NUMBER`, which says why the packet came to the controller.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

import sluice_layouts as L

from compiler.pipeline.actions import Operation, action
from compiler.pipeline.parser_program import ProgramError
from compiler.pipeline.pipeline_image import PipelineProgram
from compiler.pipeline.unit_image import UnitEntry, UnitProgram
from host.agent.actions import HOST, Ports, Work
from host.agent.fields import HEADERS, PLACES, Requirement

STATE, NUMBER = L.PIPELINE_MARK, L.PIPELINE_MARK + 1
WORD = 0xFFFF
WAYS = 2  # of a rule's requirements
LABEL = PLACES["ip_length"][0]  # no field of OpenFlow, and not written back
GROUPS = [(*PLACES[name],) for name in ("eth_dst", "eth_src", "ip6_src", "ip6_dst")]  # words that can have a unit of their own
MOST_PATTERNS = 64


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
    flow: int  # whose packets it counts


@dataclass(frozen=True)
class State:
    """Where a packet goes at the end, from the tables before: egress masks of copies that left, and of the action set."""

    now: int = 0
    later: int = 0

    @property
    def word(self) -> int:
        return self.now << 8 | self.later


NO_FLOW = 0  # whose packets no flow matched
Row = tuple[Requirement, L.UnitAction, int]  # the last: whose packets it counts
Pattern = tuple[tuple[int, tuple[int, int]], ...]  # of a requirement, sorted: source, value and mask


@dataclass(frozen=True)
class Unit:
    """A unit, and the flow of each of its entries, then that of its packets without a match; none: it only finds out patterns."""

    program: UnitProgram
    flows: tuple[int, ...] = ()


@dataclass(frozen=True)
class Translation:
    """A program, and what the entries of each unit count: the table, and the flows as in `Unit`."""

    program: PipelineProgram
    owners: tuple[tuple[int, tuple[int, ...]], ...]


def program(tables: Sequence[Sequence[Rule]], lanes: int, units: int) -> Translation:
    """The program of these tables; the rules of each in the order in which they match. Raises ProgramError."""
    states: list[set[State]] = [{State()}, *(set() for _ in tables[1:])]
    made: list[list[Unit]] = []
    for number, rules in enumerate(tables):
        reached = bool(states[number])  # a table that no flow goes to is not in the device
        made.append(_units([[*_rows(rules, states, number, lanes, way)] for way in range(WAYS)]) if reached else [])
    first = [sum(map(len, made[:number])) for number in range(len(made))]
    if (total := sum(map(len, made))) > units:
        raise TooWide(f"the tables need {total} units; hint: there are {units}, and a key of more than 8 words takes two")
    linked: list[UnitProgram] = []
    owners: list[tuple[int, tuple[int, ...]]] = []
    for table, pair in enumerate(made):
        for at, unit in enumerate(pair, 1):
            linked.append(_linked(unit.program, first if at == len(pair) else [len(linked) + 1]))
            owners.append((table, unit.flows))
    return Translation(PipelineProgram(HEADERS, tuple(linked)), tuple(owners))


def _linked(unit: UnitProgram, unit_of: Sequence[int]) -> UnitProgram:
    """A unit whose actions name the next table, with units in their place."""

    def link(done: L.UnitAction) -> L.UnitAction:
        return done if done.next == L.UNIT_END else replace(done, next=unit_of[done.next])

    return replace(unit, entries=tuple(replace(one, action=link(one.action)) for one in unit.entries), miss=link(unit.miss))


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
                    yield {**requirement, **came, **keyed(state)}, done, rule.flow
    for state in here:
        if state.now:  # what left before a table without a match has left
            yield keyed(state), action(verdict=L.VERDICT_FORWARD, ports=_ports(state.now)), NO_FLOW
    yield {}, action(verdict=L.VERDICT_DROP), NO_FLOW


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
    edits |= work.metadata
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
    return sorted({source for requirement, *_ in rows for source in requirement})


def _units(ways: Sequence[Sequence[Row]]) -> list[Unit]:
    """A unit with these entries, the last of which matches everything; in the way that has the smallest key. Two, if it is too
    wide for one: the first finds out which of the rows' values for some of the words a packet has. Raises TooWide."""
    rows = min(ways, key=lambda rows: len(_sources(rows)))
    end = next(number for number, (requirement, *_) in enumerate(rows) if not requirement)
    if len(_sources(rows)) <= L.UNIT_KEY_WORDS:
        return [_unit(rows[:end], rows[end])]
    labels, rest = _split(rows[:end])
    named: list[Row] = [(dict(pattern), _labelled(number), NO_FLOW) for number, pattern in enumerate(labels, 1)]
    finder = _unit(named, ({}, _labelled(0), NO_FLOW))
    return [Unit(finder.program), _unit(rest, rows[end])]


def _labelled(label: int) -> L.UnitAction:
    return action([Operation(LABEL, L.OPERATOR_SET, label)], following=0)


def _split(rows: Sequence[Row]) -> tuple[list[Pattern], list[Row]]:
    """Patterns of some words, those first that match first, and the rows with a pattern's number in place of these words."""
    sources = {*_sources(rows)}
    found: list[tuple[list[Pattern], list[Row]]] = []
    for count in (1, 2):
        for groups in itertools.combinations(GROUPS, count):
            apart = sources & {source for group in groups for source in group}
            if apart and len(apart) <= L.UNIT_KEY_WORDS and len(sources) - len(apart) < L.UNIT_KEY_WORDS:
                patterns = _closed({_pattern(requirement, apart) for requirement, *_ in rows} - {()})
                if patterns:
                    found.append((patterns, [*_renamed(rows, apart, patterns)]))
    if not found:
        raise TooWide(f"the key has {len(sources)} words; hint: at most {L.UNIT_KEY_WORDS} of 16 bits in each of two units")
    return min(found, key=lambda one: len(one[0]) + len(one[1]))


def _pattern(requirement: Requirement, apart: AbstractSet[int]) -> Pattern:
    return tuple(sorted((source, pair) for source, pair in requirement.items() if source in apart))


def _closed(patterns: AbstractSet[Pattern]) -> list[Pattern]:
    """With what two or more of them have in common; what has more bits first, so that the first that a packet matches is the part
    of all that it matches. Empty where these are too many."""
    closed = {*patterns}
    new = closed
    while new:
        new = {both for one, other in itertools.product(new, patterns) if (both := _both(one, other))} - closed
        closed |= new
        if len(closed) > MOST_PATTERNS:
            return []
    return sorted(closed, key=lambda one: (-sum(mask.bit_count() for _, (_, mask) in one), one))


def _both(one: Pattern, other: Pattern) -> Pattern | None:
    """What matches both; None: nothing does."""
    found = dict(one)
    for source, (value, mask) in other:
        old_value, old_mask = found.get(source, (0, 0))
        if (value ^ old_value) & mask & old_mask:
            return None
        found[source] = value & mask | old_value & old_mask, mask | old_mask
    return tuple(sorted(found.items()))


def _renamed(rows: Sequence[Row], apart: AbstractSet[int], patterns: Sequence[Pattern]) -> Iterator[Row]:
    for requirement, done, flow in rows:
        rest = {source: pair for source, pair in requirement.items() if source not in apart}
        if pattern := _pattern(requirement, apart):
            for number, inside in enumerate(patterns, 1):
                if _both(inside, pattern) == inside:
                    yield {**rest, LABEL: (number, WORD)}, done, flow
        else:
            yield rest, done, flow


def _unit(entries: Sequence[Row], miss: Row) -> Unit:
    sources = _sources(entries)
    packed: dict[tuple[int, int], tuple[L.UnitAction, int]] = {}
    for requirement, done, flow in entries:
        packed.setdefault(_packed(requirement, sources), (done, flow))  # the first takes all packets
    masks = {mask for _, mask in packed}
    whole = functools.reduce(operator.or_, masks, 0)
    words = [*sources, *[0] * (L.UNIT_KEY_WORDS - len(sources))]
    selector = L.UnitSelector(words, whole, int(len(masks) == 1))
    made = UnitProgram(selector, tuple(UnitEntry(value, mask, done) for (value, mask), (done, _) in packed.items()), miss[1])
    return Unit(made, (*(flow for _, flow in packed.values()), miss[2]))


def _packed(requirement: Requirement, sources: Sequence[int]) -> tuple[int, int]:
    """Value and mask of a key."""
    pairs = [(at, requirement[source]) for at, source in enumerate(sources) if source in requirement]
    value = sum((value & mask) << 16 * at for at, (value, mask) in pairs)
    return value, sum(mask << 16 * at for at, (_, mask) in pairs)


def check_width(ways: Sequence[Sequence[Requirement]]) -> None:
    """Raises TooWide where no table can hold a match of these requirements."""
    _units([[*((requirement, action(), NO_FLOW) for requirement in way), ({}, action(), NO_FLOW)] for way in ways])
