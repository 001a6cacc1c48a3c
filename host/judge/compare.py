# SPDX-License-Identifier: Apache-2.0
"""The check of a run: every packet that left is one that the rules file asks for, byte for byte, and packets of a flow
keep the order in which they entered. What is wrong is said with the packet's lane and number in its capture."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from host.judge.router import MAX_BYTES, MIN_BYTES, Bridge, Bridged, Routed, Router
from host.judge.rules import Rules

NOTES = 20  # sentences; the rest is counted
NEAREST = 64  # expected packets that an unexpected one is compared with
STATES = 4096  # of the search for an order that explains what left
STEP = 1024  # packets between calls of `progress`

Progress = Callable[[int, int], None]  # packets judged, and how many there are; it may raise


class Source(NamedTuple):
    """Where an expected packet comes from: `number` counts the packets of its lane over all rounds, from 0."""

    lane: int
    number: int


@dataclass
class Traffic:
    """What a run moved, by lane: packets of the captures with their microseconds, what left, what the host saw, in order."""

    inputs: Sequence[Sequence[tuple[int, bytes]]]
    outputs: Sequence[Sequence[bytes]]
    seen: Sequence[Source]
    repeat: int = 1

    def packet(self, source: Source) -> tuple[int, bytes]:
        """A packet of the inputs."""
        packets = self.inputs[source.lane]
        return packets[source.number % len(packets)]

    def name(self, source: Source) -> str:
        """The same, as a person finds it."""
        count = len(self.inputs[source.lane])
        turn = f", round {source.number // count + 1}" if self.repeat > 1 else ""
        return f"packet {source.number % count + 1} of lane {source.lane}'s capture{turn}"


@dataclass(frozen=True)
class Output:
    """A packet that must leave a lane."""

    flow: int
    source: Source
    data: bytes


@dataclass
class Findings:
    """What the check found. `expected` packets were compared; the others are what is wrong with them."""

    expected: int = 0
    differing: int = 0  # in bytes
    misordered: int = 0  # behind a later packet of their flow
    missing: int = 0
    extra: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def wrong(self) -> int:
        """Packets that are not as expected."""
        return self.differing + self.misordered + self.missing + self.extra

    def note(self, text: str) -> None:
        """Say what is wrong, as long as somebody still reads it."""
        if len(self.notes) < NOTES:
            self.notes.append(text)


@dataclass
class Expectation:
    """What must leave each lane, packets of a flow in their order; and what is wrong already with what the host saw."""

    traffic: Traffic
    lanes: list[list[Output]]
    findings: Findings

    def compare(self, outputs: Sequence[Sequence[bytes]]) -> Findings:
        """What left, against it."""
        before = self.findings
        findings = Findings(missing=before.missing, extra=before.extra, notes=list(before.notes))
        for lane, (expected, got) in enumerate(zip(self.lanes, outputs, strict=True)):
            _Lane(self.traffic, lane, expected, got, findings).compare()
        return findings


def expect(rules: Rules, lanes: int, traffic: Traffic, progress: Progress = lambda done, count: None) -> Expectation:
    """What the rules ask for. Routed packets do not depend on each other; bridged ones teach the bridge in the order in which
    the host saw them, and it must have seen all."""
    router, bridge = Router(rules), Bridge(lanes, rules.mac_idle)
    found = Expectation(traffic, [[] for _ in range(lanes)], Findings())
    decided: list[list[Routed | Bridged | None]] = [[] for _ in traffic.inputs]
    count = sum(map(len, traffic.inputs)) * traffic.repeat
    for done, source in enumerate(_entered(traffic)):
        packets, decisions = traffic.inputs[source.lane], decided[source.lane]
        if done % STEP == 0:
            progress(done, count)
        if source.number < len(packets):  # else of another round
            decisions.append(router.decide(packets[source.number][1], source.lane))
        decision = decisions[source.number % len(packets)]
        if isinstance(decision, Routed):
            found.lanes[decision.lane].append(Output(decision.flow, source, decision.data))
    for source in _plausible(traffic, found.findings):
        time, data = traffic.packet(source)
        decision = decided[source.lane][source.number % len(decided[source.lane])]
        if isinstance(decision, Bridged):
            for lane in bridge.send(decision, time):
                found.lanes[lane].append(Output(decision.flow, source, data))
    _check_all_seen(decided, traffic, found.findings)
    progress(count, count)
    return found


def _entered(traffic: Traffic) -> Iterator[Source]:
    """All packets of all rounds, lane after lane."""
    for lane, packets in enumerate(traffic.inputs):
        for number in range(len(packets) * traffic.repeat):
            yield Source(lane, number)


def _plausible(traffic: Traffic, findings: Findings) -> Iterator[Source]:
    """What the host saw, without what it cannot have seen: what is not there, what it saw before, what is behind a later one."""
    last = [-1] * len(traffic.inputs)
    for source in traffic.seen:
        if source.lane >= len(last) or source.number >= len(traffic.inputs[source.lane]) * traffic.repeat:
            wrong = f"packet {source.number + 1} of lane {source.lane}, which does not exist"
        elif source.number <= last[source.lane]:
            wrong = f"{traffic.name(source)} after {traffic.name(Source(source.lane, last[source.lane]))}"
        elif not MIN_BYTES <= len(traffic.packet(source)[1]) <= MAX_BYTES:
            wrong = f"{traffic.name(source)}, whose size is invalid on every lane"
        else:
            last[source.lane] = source.number
            yield source
            continue
        findings.extra += 1
        findings.note(f"the host saw {wrong}")


def _check_all_seen(decided: Sequence[Sequence[Routed | Bridged | None]], traffic: Traffic, findings: Findings) -> None:
    """Only the host bridges."""
    seen = set(traffic.seen)
    for source in _entered(traffic):
        decisions = decided[source.lane]
        if isinstance(decisions[source.number % len(decisions)], Bridged) and source not in seen:
            findings.missing += 1
            findings.note(f"{traffic.name(source)} never reached the host, which must bridge it")


@dataclass
class _Lane:
    """What must leave a lane, and what left."""

    traffic: Traffic
    lane: int
    expected: Sequence[Output]
    got: Sequence[bytes]
    findings: Findings

    def compare(self) -> None:
        """Which packets left, then in which order."""
        places: dict[bytes, list[int]] = {}  # of expected packets, by their bytes
        for place, output in enumerate(self.expected):
            places.setdefault(output.data, []).append(place)
        left = Counter(self.got)
        lost = [place for data, found in places.items() for place in found[left[data] :]]
        spare = {data: count - len(places.get(data, ())) for data, count in left.items()}
        strange = []
        for number in reversed(range(len(self.got))):  # of equal packets, the last ones are too many
            if spare[self.got[number]] > 0:
                spare[self.got[number]] -= 1
                strange.append(number)
        self.findings.expected += len(self.expected)
        self._tell_unmatched(sorted(lost), strange[::-1], places)
        self._compare_order(places, set(lost), set(strange))

    def _tell_unmatched(self, lost: list[int], strange: list[int], places: dict[bytes, list[int]]) -> None:
        for number in strange:
            data = self.got[number]
            where = f"lane {self.lane}, output {number + 1}"
            same_size = [place for place in lost if len(self.expected[place].data) == len(data)][:NEAREST]
            if places.get(data):
                self.findings.extra += 1
                name = self._name(places[data][0])
                self.findings.note(f"{where}: unexpected duplicate of {name}")
            elif same_size or (lost and len(strange) == len(lost)):
                place = min(same_size, key=lambda place: _distance(self.expected[place].data, data), default=lost[0])
                lost.remove(place)
                self.findings.differing += 1
                output = self.expected[place]
                self.findings.note(f"{where}: {self._name(place)} differs: {_difference(output.data, data)}")
            else:
                self.findings.extra += 1
                self.findings.note(f"{where}: unexpected packet of {len(data)} bytes, {data[:80].hex()}")
        for place in lost:
            self.findings.missing += 1
            output = self.expected[place]
            name = self._name(place)
            self.findings.note(f"lane {self.lane}: {name} is missing, {len(output.data)} bytes, {output.data[:80].hex()}")

    def _compare_order(self, places: dict[bytes, list[int]], lost: set[int], strange: set[int]) -> None:
        """Of what was expected and left. Flows that share equal packets are looked at together: it may be of any of them."""
        group = _groups([output.flow for output in self.expected], places.values())
        flows: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))  # places, by group and flow
        for place in sorted(set(range(len(self.expected))) - lost, key=lambda place: self.expected[place].source.number):
            flow = self.expected[place].flow
            flows[group[flow]][flow].append(place)
        numbers: dict[int, list[int]] = defaultdict(list)  # of what left, by group
        for number, data in enumerate(self.got):
            if number not in strange:
                numbers[group[self.expected[places[data][0]].flow]].append(number)
        incomplete = {group[self.expected[place].flow] for place in lost}
        for name, members in flows.items():
            if len(members) == 1:
                self._compare_flow(next(iter(members.values())), numbers[name])
            elif name not in incomplete:
                self._compare_flows(list(members.values()), numbers[name])

    def _compare_flow(self, expected: list[int], numbers: list[int]) -> None:
        if all(self.expected[place].data == self.got[number] for place, number in zip(expected, numbers, strict=True)):
            return
        turns: dict[bytes, list[int]] = defaultdict(list)
        for place in reversed(expected):
            turns[self.expected[place].data].append(place)
        order = [(turns[self.got[number]].pop(), number) for number in numbers]
        rank = {place: n for n, place in enumerate(expected)}
        for (before, _), (place, number) in pairwise(order):
            if rank[place] < rank[before]:
                self._tell_order(place, number, f"left after {self._name(before)}, which entered later")

    def _compare_flows(self, flows: list[list[int]], numbers: list[int]) -> None:
        """Whether what left is the flows' packets in some interleaving that keeps the order of each."""
        states = {(0,) * len(flows)}
        for number in numbers:
            data = self.got[number]
            after = {
                (*state[:n], state[n] + 1, *state[n + 1 :])
                for state in states
                for n, flow in enumerate(flows)
                if state[n] < len(flow) and self.expected[flow[state[n]]].data == data
            }
            if not after:
                due = [self._name(flow[at]) for flow, at in zip(flows, min(states), strict=True) if at < len(flow)]
                equal = (place for flow in flows for place in flow if self.expected[place].data == data)
                self._tell_order(next(equal), number, f"left before {' and '.join(due)}")
                return
            if len(after) > STATES:
                self.findings.note(
                    f"lane {self.lane}: {len(numbers)} packets of {len(flows)} flows are too similar to check their order"
                )
                return
            states = after

    def _name(self, place: int) -> str:
        return self.traffic.name(self.expected[place].source)

    def _tell_order(self, place: int, number: int, what: str) -> None:
        self.findings.misordered += 1
        self.findings.note(f"lane {self.lane}, output {number + 1}: {self._name(place)} {what}")


def _groups(flows: Sequence[int], equal: Iterable[Sequence[int]]) -> dict[int, int]:
    """For each flow one that stands for all that share an equal packet with it. `flows`: of each place; `equal`: places."""
    parent = {flow: flow for flow in flows}

    def root(flow: int) -> int:
        while parent[flow] != flow:
            parent[flow] = flow = parent[parent[flow]]
        return flow

    for places in equal:
        for place in places[1:]:
            parent[root(flows[place])] = root(flows[places[0]])
    return {flow: root(flow) for flow in parent}


def _distance(one: bytes, other: bytes) -> int:
    return sum(a != b for a, b in zip(one, other, strict=True))


def _difference(expected: bytes, got: bytes) -> str:
    if len(expected) != len(got):
        return f"expected {len(expected)} bytes {expected[:80].hex()}, got {len(got)} bytes {got[:80].hex()}"
    wrong = [n for n in range(len(got)) if expected[n] != got[n]]
    first = f"byte {wrong[0]} is 0x{got[wrong[0]]:02x}, expected 0x{expected[wrong[0]]:02x}"
    return first + (f", and {len(wrong) - 1} more bytes" if len(wrong) > 1 else "")
