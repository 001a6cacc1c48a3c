# SPDX-License-Identifier: Apache-2.0
"""Flow tables as a program of the pipeline: a unit a table.

docs/design/agent.md says how. Two containers are the agent's: `STATE`, the ports that a packet will leave by from tables before,
and `NUMBER`, which says why the packet came to the controller.
"""

from __future__ import annotations

import contextlib
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
from host.agent.actions import HOST, Work, joined
from host.agent.fields import HEADERS, PLACES, Requirement
from host.agent.refusal import Refusal
from host.agent.tags import TCI, row_of

STATE, NUMBER = L.PIPELINE_MARK, L.PIPELINE_MARK + 1
WORD = 0xFFFF
WAYS = 2  # of a rule's requirements
LABEL = PLACES["ip_length"][0]  # no field of OpenFlow, and not written back
GROUPS = [(*PLACES[name],) for name in ("eth_dst", "eth_src", "ip6_src", "ip6_dst")]  # words that can have a unit of their own
MOST_PATTERNS = 64


class TooWide(ProgramError):
    """The key of a table needs more words than a unit selects."""


class WrongOrder(ProgramError):
    """A packet is changed after a copy has left, and later tables match metadata, which it loses then."""


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


class Rests:
    """What is left of the work of a table's rules when their packets enter once more. A packet has the number of its own in STATE;
    unit n of those behind the table does its step n."""

    def __init__(self, later: Sequence[Sequence[Rule]], splices: Sequence[int]) -> None:
        """`later`: the rules of the tables behind this one; `splices`: those of the program."""
        self.splices = splices
        self.numbers: dict[tuple[int, State, int | None], int] = {}
        self.steps: dict[int, Sequence[L.UnitAction]] = {}
        sources = {source for table in later for rule in table for requirement in rule.requirements[0] for source in requirement}
        self.metadata = sources & {*PLACES["metadata"]}  # that a packet must not lose

    def splice(self, work: Work) -> int:
        """The number of a rule's splice; 0: it has none."""
        return 0 if work.splice is None else 1 + self.splices.index(work.splice)

    def number(self, rule: Rule, state: State, lane: int | None) -> int:
        """Of a rule's packets of a lane in a state. Raises WrongOrder."""
        written = {place for place, edit in rule.work.metadata.items() if edit.mask == WORD}
        if rule.work.goto is not None and self.metadata - written:
            raise WrongOrder("a packet is changed after a copy of it left, and a later table matches metadata, which it loses then")
        return self.numbers.setdefault((rule.flow, state, lane), len(self.numbers) + 1)

    def units(self) -> list[Unit]:
        """One for each step behind the first."""
        count = max(map(len, self.steps.values()), default=0)
        return [Unit(_unit([*self._rows(at)], ({}, action(verdict=L.VERDICT_DROP), NO_FLOW)).program) for at in range(count)]

    def _rows(self, at: int) -> Iterator[Row]:
        for number, steps in self.steps.items():
            if at < len(steps):
                yield {STATE: (number, WORD)}, steps[at], NO_FLOW


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
    splices = sorted({rule.work.splice for rules in tables for rule in rules if rule.work.splice is not None})
    if len(splices) >= L.SPLICES:
        raise TooWide(f"{len(splices)} different tags are pushed; hint: the device has {L.SPLICES - 1}")
    states: list[set[State]] = [{State()}, *(set() for _ in tables[1:])]
    made: list[tuple[list[Unit], list[Unit]]] = []  # of each table, and behind it those for packets that enter once more
    for number, rules in enumerate(tables):
        reached = bool(states[number])  # a table that no flow goes to is not in the device
        rests = Rests(tables[number + 1 :], splices)
        ways = [[*_rows(rules, states, number, lanes, way, rests)] for way in range(WAYS)]
        made.append((_units(ways) if reached else [], rests.units()))
    sizes = [len(table) + len(rest) for table, rest in made]
    first = [sum(sizes[:number]) for number in range(len(made))]
    if (total := sum(sizes)) > units:
        hint = f"there are {units}; a key of more than 8 words takes two, a change after an output one more"
        raise TooWide(f"the tables need {total} units; hint: {hint}")
    linked: list[UnitProgram] = []
    owners: list[tuple[int, tuple[int, ...]]] = []
    for table, (own, rest) in enumerate(made):
        for at, unit in enumerate((*own, *rest), 1):
            linked.append(_linked(unit.program, first if at >= len(own) else [len(linked) + 1], first[table] + len(own)))
            owners.append((table, unit.flows))
    return Translation(PipelineProgram(HEADERS, tuple(linked), tuple(map(row_of, splices))), tuple(owners))


def _linked(unit: UnitProgram, unit_of: Sequence[int], rest: int) -> UnitProgram:
    """A unit whose actions name the next table, and which of the units from `rest` on takes the packet when it enters once more,
    with units in their place."""

    def link(done: L.UnitAction) -> L.UnitAction:
        following = done.next if done.next == L.UNIT_END else unit_of[done.next]
        return replace(done, next=following, again=done.again and rest + done.again - 1)

    return replace(unit, entries=tuple(replace(one, action=link(one.action)) for one in unit.entries), miss=link(unit.miss))


def _rows(rules: Sequence[Rule], states: Sequence[set[State]], table: int, lanes: int, way: int, rests: Rests) -> Iterator[Row]:
    """The entries of a unit, in order; finds the states that later tables can be in."""
    here = sorted(states[table], key=lambda state: state.word)

    def keyed(state: State) -> Requirement:
        return {STATE: (state.word, WORD)} if len(here) > 1 else {}

    for rule in rules:
        for state in here:
            for lane in _lanes(rule, state, lanes):
                came: Requirement = {L.SOURCE_PORT: (lane, WORD)} if lane is not None and rule.lane is None else {}
                done, following = _action(rule, state, lane, rests)
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
    ports = rule.work.ports
    if ports.back:
        yield from range(lanes)
        return
    own = [lane for lane in range(lanes) if ports.lanes >> lane & 1]
    yield from own
    if len(own) < lanes:
        yield None


def _action(rule: Rule, state: State, lane: int | None, rests: Rests) -> tuple[L.UnitAction, State | None]:
    """What a unit does for a rule with packets of a lane in a state, and the state in which they go on."""
    work = rule.work
    later = state.later if work.later is None else work.later.mask(lane)
    copies = _copies(work, state, lane, 0 if work.goto is not None else later, rests.splice(work))
    following = None if work.goto is None else State(copies[-1].mask, later)
    first = {NUMBER: Operation(NUMBER, L.OPERATOR_SET, rule.number)} if work.ports.controller else {}
    last = {} if following is None else {**work.metadata}
    held = {} if following is None else {STATE: Operation(STATE, L.OPERATOR_SET, following.word)}
    passes = _in_actions(copies, first, last if following == state and len(copies) == 1 else {**last, **held})
    if len(passes) == 1:
        return _last(passes[0], work.goto), following
    number = rests.number(rule, state, lane)
    passes = _in_actions(copies, {STATE: Operation(STATE, L.OPERATOR_SET, number), **first}, {**last, **held})
    done = [_leave(copy, again) for again, copy in enumerate(passes[:-1], 1)]
    rests.steps[number] = [*done[1:], _last(passes[-1], work.goto)]
    return done[0], following


@dataclass(frozen=True)
class Copy:
    """A step of the packets of a lane: edits, the egress mask of what leaves then, the number of its splice."""

    edits: Mapping[int, Operation]
    mask: int
    queue: int
    splice: int = 0


def _copies(work: Work, state: State, lane: int | None, later: int, splice: int) -> list[Copy]:
    """The passes that a packet needs: what left in tables before leaves at first, what the action set says at last. What leaves
    nowhere needs no pass."""
    steps = [Copy({}, state.now, 0), *(Copy(step.edits, step.ports.mask(lane), step.queue) for step in work.steps)]
    steps[-1] = replace(steps[-1], mask=steps[-1].mask | later, splice=splice)
    copies = steps[:1]
    for step in steps[1:]:
        before = copies[-1]
        same = not step.edits and not step.splice and (step.queue == before.queue or before is steps[0])
        if before.mask == 0 or same:
            with contextlib.suppress(Refusal):  # a TTL that is counted down twice
                copies[-1] = replace(step, edits=joined(before.edits, step.edits.values()), mask=before.mask | step.mask)
                continue
        copies.append(step)
    while len(copies) > 1 and copies[-1].mask == 0 and work.goto is None:
        copies.pop()
    return copies


def _in_actions(copies: Sequence[Copy], first: Mapping[int, Operation], last: Mapping[int, Operation]) -> list[Copy]:
    """Copies whose edits fit into an action each: what does not is done in passes before, which leave nowhere. `first` and `last`
    are done in the first pass and in the last one. The tag that a splice pushes is set in the pass of the splice: it is nowhere in
    the packet before."""
    found: list[Copy] = []
    for at, copy in enumerate(copies):
        groups = [{**first} if at == 0 else {}]
        pushed = {TCI: copy.edits[TCI]} if copy.splice and TCI in copy.edits else {}
        for container, edit in copy.edits.items():
            if container in pushed:
                continue
            if not any(_has_room(group, container) for group in groups):
                groups.append({})
            next(group for group in groups if _has_room(group, container))[container] = edit
        ends = {**pushed, **(last if at == len(copies) - 1 else {})}
        if not all(_has_room(groups[-1], container) for container in ends):
            groups.append({})
        groups[-1] |= ends
        found += [Copy(group, 0, copy.queue) for group in groups[:-1]]
        found.append(replace(copy, edits=groups[-1]))
    return found


def _has_room(edits: Mapping[int, Operation], container: int) -> bool:
    """Whether an action with these edits can have one more."""
    return all((other - container) % L.UNIT_OPERATIONS for other in edits)


def _last(copy: Copy, goto: int | None) -> L.UnitAction:
    """The last of a rule's copies; with a next table it has not left yet."""
    return _leave(copy, 0) if goto is None else action(copy.edits.values(), following=goto)


def _leave(copy: Copy, again: int) -> L.UnitAction:
    if not copy.mask:
        return action(copy.edits.values() if again else (), verdict=L.VERDICT_DROP, again=again)
    verdict = L.VERDICT_TO_CONTROLLER if copy.mask == HOST else L.VERDICT_FORWARD
    return action(copy.edits.values(), verdict=verdict, ports=_ports(copy.mask), queue=copy.queue, splice=copy.splice, again=again)


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
