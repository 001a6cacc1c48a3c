# SPDX-License-Identifier: Apache-2.0
"""The decisions of a program, as units: what each compares, and what it does then.

The program is followed from its first decision on. A decision is a condition on the packet, or the lookup in a table; both become
ternary entries of the unit. Where a unit cannot take the next decision (its key is full, or it is a second table), what is left to
do becomes a unit of its own, which packets reach by `next`; equal rests are one unit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import sluice_layouts as L

from compiler.frontend import typed
from compiler.frontend.source import Span
from compiler.ir.ir import Node
from compiler.ir.rewrite import order
from compiler.overlay.assignments import Assignments
from compiler.overlay.behaviour import CHECKSUM, Behaviour, FlowUse, Packet, Way
from compiler.overlay.bits import PORT, Bit, Bits, OverlayError, is_source, number_of, refuse, replaced, word_name
from compiler.overlay.conditions import MOST_CUBES, Cube, Diagrams, TooLargeError, both, covers
from compiler.overlay.decisions import next_test, verdict_of
from compiler.overlay.flow_keys import FlowKeys
from compiler.overlay.graph import HOST
from compiler.overlay.operations import Change, change_of
from compiler.overlay.process import ProcessDraft, process_of
from compiler.overlay.rules import Rule

MOST_ENTRIES = 64  # of one condition
MOST_UNITS = L.UNIT_END  # that an action can name
Rest = tuple[Node, ...]  # for each way: enable, later, nodes of the packet; then those of the flow, if it may be asked for


@dataclass(frozen=True)
class Effect:
    """What a unit does with a packet: changes, checksums (the words that each must follow), a verdict, the next unit."""

    changes: tuple[Change, ...] = ()
    checksums: tuple[tuple[str, frozenset[str]], ...] = ()
    verdict: L.Verdict = L.VERDICT_PASS
    lanes: frozenset[int] = frozenset()
    queue: int = 0
    following: UnitDraft | ProcessDraft | None = None


@dataclass(eq=False)
class UnitDraft:
    """A unit: the words of its key, its entries (the first that matches is taken; the last matches everything), whether it is
    exact; `span` of the decision that it begins with."""

    span: Span
    title: str
    exact: bool = False
    words: list[str] = field(default_factory=list)
    entries: list[tuple[Cube, Effect, Span]] = field(default_factory=list)

    def following(self) -> Iterator[UnitDraft | ProcessDraft]:
        """The units that packets go to from here."""
        for _, effect, _ in self.entries:
            if effect.following is not None:
                yield effect.following


def units_of(
    program: Behaviour, rules: Mapping[str, Sequence[Rule]], most_entries: int
) -> tuple[list[UnitDraft], ProcessDraft | None]:
    """The units in the order of the row, of so many entries at most, and what is behind them. Raises OverlayError."""
    flow = program.flow.nodes if program.flow is not None else ()
    first = Follower(program, rules, most_entries).unit((*(node for way in program.ways for node in _nodes(way)), *flow))
    found: dict[UnitDraft | ProcessDraft, None] = {}

    def visit(unit: UnitDraft | ProcessDraft) -> None:
        if unit not in found:
            for following in unit.following():
                visit(following)
            found[unit] = None

    visit(first)
    units = [unit for unit in found if isinstance(unit, UnitDraft)]
    return units[::-1], next((unit for unit in found if isinstance(unit, ProcessDraft)), None)


def _nodes(way: Way) -> Rest:
    return (way.enable, way.later, *way.packet.nodes)


class Follower:
    """Follows a program; `arrived` is a packet as it came, of which `each` nodes and two more are a way in a rest."""

    def __init__(self, program: Behaviour, rules: Mapping[str, Sequence[Rule]], most_entries: int) -> None:
        self.program, self.rules, self.most_entries = program, rules, most_entries
        self.b, self.bits, self.diagrams = program.b, Bits(), Diagrams()
        self.arrived = program.arrived
        self.assignments = Assignments(program.elements)
        self.each = 2 + len(self.arrived.nodes)
        self.units: dict[Rest, UnitDraft] = {}
        self.span = program.span
        self.flow, self.keys = program.flow, FlowKeys(self)
        self.process: ProcessDraft | None = None

    # What is left to decide

    def unit(self, rest: Rest) -> UnitDraft:
        """The unit that decides it."""
        rest = self._decided(self.normal(rest))
        if self.flow is not None and self.process is None:
            if (flow := self.flow_of(rest)) is None:
                raise refuse("no packet asks for this flow table", self.flow.table.span, "find(), insert()", self.span)
            self.keys.read(flow)
            asks = {flow.used: 1} if self._table(self.keys.next_test(flow)) is not None else {}  # only units in front look it up
            self.process = process_of(self, self._with_all(rest, {**self.keys.common, **asks}))
        if rest not in self.units:
            test = self._next(rest)
            span = test.span or self.span if test else self.span
            if len(self.units) == MOST_UNITS:
                hint = "compare fewer words in all, or use fewer tables"
                raise OverlayError("E0809", f"the program needs more than {MOST_UNITS} units", span, hint)
            unit = self.units[rest] = UnitDraft(span, self._title(test))
            table = self._table(test)
            unit.exact = table is not None and table.kind is typed.TableKind.EXACT
            self._follow(unit, rest, {}, frozenset(), self.span, is_first=True)
        return self.units[rest]

    def _title(self, test: Node | None) -> str:
        return "nothing" if test is None else f"table {test.name}" if test.op == "lookup" else "conditions"

    def _table(self, test: Node | None) -> typed.Table | None:
        return self.program.tables[test.name] if test is not None and test.op == "lookup" else None

    def ways(self, rest: Rest) -> list[tuple[Way, Node, Node, tuple[Node, ...]]]:
        parts = [rest[at : at + self.each] for at in range(0, len(self.program.ways) * self.each, self.each)]
        return [(way, part[0], part[1], part[2:]) for way, part in zip(self.program.ways, parts, strict=True)]

    def normal(self, rest: Rest) -> Rest:
        """The packets of outputs that get none are as they came."""
        made: list[Node] = []
        for _, enable, later, nodes in self.ways(rest):
            is_off = enable.op == "const" and not enable.value
            made += [enable, later, *(self.arrived.nodes if is_off else nodes)]
        flow = self.flow_of(rest)
        is_asked = flow is not None and not (flow.used.op == "const" and not flow.used.value)
        return (*made, *(flow.nodes if flow is not None and is_asked else ()))

    def flow_of(self, rest: Rest) -> FlowUse | None:
        """What becomes of the flow; None if it is not asked for."""
        nodes = rest[len(self.program.ways) * self.each :]
        return self.flow.of(nodes) if self.flow is not None and nodes else None

    def _with_all(self, rest: Rest, known: Mapping[Node, int]) -> Rest:
        return self.normal(replaced(self.b, rest, {node: self.b.const(value, node.width) for node, value in known.items()}))

    def _with(self, rest: Rest, test: Node, value: int) -> Rest:
        return self.normal(replaced(self.b, rest, {test: self.b.const(value, test.width)}))

    def _next(self, rest: Rest) -> Node | None:
        """The first decision: whether packets go to an output, then what becomes of them."""
        if (flow := self.flow_of(rest)) is not None:
            return self.keys.next_test(flow)
        enables = [enable for _, enable, _, _ in self.ways(rest)]
        if (found := next_test(enables, True)) is not None:
            return found
        later = next_test([later for _, _, later, _ in self.ways(rest)], True)
        return later or next_test([node for node in rest if node is not self.arrived.rest], False)

    def _decided(self, rest: Rest) -> Rest:
        """The rest without the lookups that come next and whose key is known."""
        while (test := self._next(rest)) is not None and test.op == "lookup" and not self._key_words(test):
            matching = (rule.result for rule in self.rules.get(test.name, ()) if self._matching(test, rule, {}) is not None)
            rest = self._with(rest, test, next(matching, 0))
        return rest

    # Entries

    def _follow(self, unit: UnitDraft, rest: Rest, cube: Cube, seen: frozenset[str], span: Span, is_first: bool = False) -> None:
        """Adds the entries of packets that are in `cube` and have this rest; `seen`: tables that were looked up on the way."""
        rest = self._decided(rest)
        test = self._next(rest)
        if test is None:
            flow = self.flow_of(rest)
            self._add(
                unit, cube, self._end(rest) if flow is None else Effect(self.keys.changes(flow), following=self.process), span
            )
            return
        here = test.span or span
        if test.op == "lookup":
            is_exact = self.program.tables[test.name].kind is typed.TableKind.EXACT
            words = self._key_words(test)
            if (seen or is_exact or not self._fits(unit, words)) and not is_first:
                self._add(unit, cube, self._jump(rest, cube), span)
                return
            self._take(unit, words, here)
            for rule in self.rules.get(test.name, ()):
                narrower = self._matching(test, rule, cube)
                if narrower is not None:
                    self._follow(unit, self._with(rest, test, rule.result), narrower, seen | {test.name}, rule.span)
                if narrower == cube:  # no packet is left
                    return
            self._follow(unit, self._with(rest, test, 0), cube, seen | {test.name}, here)
            return
        true, false = self._cubes(test)
        words = list(dict.fromkeys(name for one in (*true, *false) for name, _ in one))
        if unit.exact or not self._fits(unit, words):
            if is_first:
                raise refuse("this condition compares more than 8 words of the packet", test.span, "split it", self.span)
            self._add(unit, cube, self._jump(rest, cube), span)
            return
        self._take(unit, words, here)
        value = int(len(true) <= len(false))
        chosen, others = (true, false) if value else (false, true)
        if len(chosen) > MOST_ENTRIES:
            text = f"this condition takes {len(chosen)} entries"
            raise refuse(text, test.span, "compare with constants, or use a table; at most 64 entries a condition", self.span)
        for one in chosen:
            if (narrower := both(cube, one)) is not None:
                self._follow(unit, self._with(rest, test, value), narrower, seen, here)
        if len(others) == MOST_CUBES or any(both(cube, one) is not None for one in others):
            self._follow(unit, self._with(rest, test, 1 - value), cube, seen, here)

    def _fits(self, unit: UnitDraft, words: Iterable[str]) -> bool:
        return len({*unit.words, *words}) <= L.UNIT_KEY_WORDS

    def _take(self, unit: UnitDraft, words: Sequence[str], span: Span) -> None:
        if not self._fits(unit, words):
            text = f"this key has bits of {len({*words})} words of 16 bits; a unit compares {L.UNIT_KEY_WORDS}"
            raise refuse(text, span, "use a shorter key, or two tables", self.span)
        unit.words += [word for word in dict.fromkeys(words) if word not in unit.words]

    def _add(self, unit: UnitDraft, cube: Cube, effect: Effect, span: Span) -> None:
        if not any(covers(earlier, cube) for earlier, _, _ in unit.entries):
            unit.entries.append((cube, effect, span))
        if len(unit.entries) > self.most_entries:
            text = f"this unit takes more than {self.most_entries} entries: conditions that do not depend on each other multiply"
            raise OverlayError("E0809", text, unit.span, "fewer conditions, or fewer rules behind them")

    def _cubes(self, test: Node) -> tuple[list[Cube], list[Cube]]:
        try:
            return self.diagrams.cubes(test)
        except TooLargeError as error:
            hint = "compare fields with constants; sums of fields, products and shifts by a field are for --target cpu or sim"
            raise refuse("a unit cannot compare this", error.node.span or test.span, hint, self.span) from error

    def _key_bits(self, test: Node) -> list[Bit | int]:
        """The key of a lookup, the lowest bit first."""
        bits = self.bits.of(test.args[0])
        for bit in bits:
            if isinstance(bit, Bit) and (bit.inverted or not is_source(bit.node)):
                hint = "a key is made of fields of the packet as it came, and constants"
                raise refuse(f"the key of '{test.name}' contains a computed value", bit.node.span or test.span, hint, self.span)
        return [*bits]

    def _key_words(self, test: Node) -> list[str]:
        return list(dict.fromkeys(bit.node.name for bit in reversed(self._key_bits(test)) if isinstance(bit, Bit)))

    def _matching(self, test: Node, rule: Rule, cube: Cube) -> Cube | None:
        """The packets of `cube` that a rule matches."""
        found = dict(cube)
        for at, bit in enumerate(self._key_bits(test)):
            wanted = rule.value >> at & 1
            if not rule.mask >> at & 1:
                continue
            if isinstance(bit, int):
                if bit != wanted:
                    return None
            elif found.setdefault((bit.node.name, bit.at), wanted) != wanted:
                return None
        return found

    # Effects

    def _end(self, rest: Rest) -> Effect:
        """Of packets about which everything is decided."""
        left = self.leaving(rest)
        return Effect(verdict=L.VERDICT_DROP) if left is None else self._forwarded(*left)

    def leaving(self, rest: Rest) -> tuple[Packet, frozenset[int], Way] | None:
        """The packet, where it goes, and one of its ways; None if it is dropped. Raises OverlayError where copies of it differ."""
        packets: list[tuple[Way, tuple[Node, ...]]] = []
        for way, enable, later, nodes in self.ways(rest):
            if later is not enable:
                text = f"'{way.output.port}': later flits of a packet go another way than its first"
                raise refuse(text, way.span, "decide at x.sop, keep it in a state, and write every flit by that state", self.span)
            if enable.value:
                packets.append((way, nodes))
        if not packets:
            return None
        way, nodes = packets[0]
        packet = Packet.of(nodes)
        for other, others in packets[1:]:
            if others != nodes:
                raise refuse("copies of a packet differ", other.span, "change a packet for all outputs alike", self.span)
        if packet.rest is not self.arrived.rest:
            hint = "the data of the first flit, meta.mark, meta.queue and meta.verdict can change"
            raise refuse("this field of a flit cannot change", packet.rest.span or way.span, hint, self.span)
        lanes = frozenset(one.output.lane for one, _ in packets)
        if len(lanes) < len(packets):
            raise refuse("copies of a packet go to one lane, or to the host", way.span, "send one of them", self.span)
        if HOST in lanes and len(lanes) > 1:
            raise refuse("a packet goes to a lane and to the host", way.span, "choose one of them", self.span)
        if packet.queue.op != "const" or packet.verdict.op != "const":
            raise refuse("the queue or verdict of a packet is no constant", way.span, "set it to constants", self.span)
        return packet, lanes, way

    def _forwarded(self, packet: Packet, lanes: frozenset[int], way: Way) -> Effect:
        changes, checksums = self._changes(packet, way.span)
        return Effect(changes, checksums, *verdict_of(packet, lanes), packet.queue.value)

    def _changes(self, packet: Packet, span: Span) -> tuple[tuple[Change, ...], tuple[tuple[str, frozenset[str]], ...]]:
        changes: list[Change] = []
        checksums: list[tuple[str, frozenset[str]]] = []
        names = [*(word_name(number) for number in range(len(packet.words))), "mark 0", "mark 1"]
        pairs = zip((*self.arrived.words, *self.arrived.mark), (*packet.words, *packet.mark), names, strict=True)
        for was, now, name in pairs:
            if now.op == "call" and now.name == CHECKSUM:
                checksums.append((name, self.followed(now, was, packet)))
            elif (change := change_of(name, was, now, self.bits, self.place(name, now, span))) is not None:
                changes.append(change)
        return tuple(changes), tuple(checksums)

    def place(self, name: str, now: Node, fallback: Span) -> Span:
        return self.assignments.place(name, now) or fallback

    def followed(self, call: Node, was: Node, packet: Packet) -> frozenset[str]:
        """The words whose changes a checksum follows."""
        words: set[str] = set()
        now = call
        while now.op == "call" and now.name == CHECKSUM:
            checksum, old, new = now.args
            place = self.bits.of(old)[0]
            found = number_of(place.node.name) if isinstance(place, Bit) and is_source(place.node) else None
            is_whole = found is not None and self._same(old, self.arrived.words[found]) and self._same(new, packet.words[found])
            if found is None or not is_whole or word_name(found) in words:
                hint = (
                    "checksum_updated(checksum, old, now): a whole word of the packet, as it came and as it leaves; each word once"
                )
                raise refuse("a checksum unit cannot follow this change", now.span, hint, self.span)
            words.add(word_name(found))
            now = checksum
        if now is not was:
            raise refuse("this is not the checksum of the packet", call.span, "update the field where it stands", self.span)
        return frozenset(words)

    def _same(self, a: Node, b: Node) -> bool:
        return self.bits.of(a) == self.bits.of(b)

    def _jump(self, rest: Rest, cube: Cube) -> Effect:
        """To a unit that decides the rest; what is known of the packet already is done here, so that equal rests are one unit."""
        rest, changes = self._done(self._of_lanes(rest, cube))
        return Effect(changes, following=self.unit(rest))

    def _of_lanes(self, rest: Rest, cube: Cube) -> Rest:
        """The rest of packets in `cube`, without the questions about lanes that it answers: elements side by side have lanes of
        their own."""
        controls = [node for _, enable, later, _ in self.ways(rest) for node in (enable, later)]
        asked = [
            node for node in order(controls) if node.op == "eq" and {arg.name or arg.op for arg in node.args} == {PORT, "const"}
        ]
        known: dict[Node, Node] = {}
        for node in asked:
            true, false = (any(both(cube, one) is not None for one in cubes) for cubes in self._cubes(node))
            if not (true and false):
                known[node] = self.b.const(int(true), 1)
        return self.normal(replaced(self.b, rest, known)) if known else rest

    def _done(self, rest: Rest) -> tuple[Rest, tuple[Change, ...]]:
        """What is left when changes to constants are done, of words that nothing reads any more."""
        if self.flow_of(rest) is not None:
            return rest, ()
        live = [nodes for _, enable, _, nodes in self.ways(rest) if not (enable.op == "const" and not enable.value)]
        if not live or any(nodes != live[0] for nodes in live[1:]):
            return rest, ()
        packet = Packet.of(live[0])
        pairs = list(zip((*self.arrived.words, *self.arrived.mark), (*packet.words, *packet.mark), strict=True))
        known = [at for at, (was, now) in enumerate(pairs) if now is not was and now.op == "const"]
        others = [n for at, n in enumerate(live[0]) if at not in known and not (at < len(pairs) and pairs[at][1] is pairs[at][0])]
        controls = [node for _, enable, later, _ in self.ways(rest) for node in (enable, later)]
        read = {node.name for node in order([*others, *controls]) if node.op == "head"}
        names = [*(word_name(number) for number in range(len(packet.words))), "mark 0", "mark 1"]
        done = [at for at in known if names[at] not in read]
        if not done:
            return rest, ()
        found = [change_of(names[at], *pairs[at], self.bits, self.place(names[at], pairs[at][1], self.span)) for at in done]
        nodes = tuple(self.arrived.nodes[at] if at in done else node for at, node in enumerate(live[0]))
        made: list[Node] = []
        for _, enable, later, old in self.ways(rest):
            made += [enable, later, *(nodes if old is live[0] or old == live[0] else old)]
        return tuple(made), tuple(change for change in found if change is not None)


def numbered(units: Sequence[UnitDraft]) -> list[UnitDraft]:
    """The units without entries that only repeat what the last does."""
    for unit in units:
        *entries, last = unit.entries
        while entries and entries[-1][1] == last[1]:
            entries.pop()
        unit.entries = [*entries, last]
    return [*units]
