# SPDX-License-Identifier: Apache-2.0
"""What a program does with a packet, as a function of the packet's first flit.

A handler decides at the first flit of a packet and treats the later ones alike; that is checked here, or on every path later.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

import sluice_layouts as L

from compiler.frontend import typed
from compiler.frontend.source import Span
from compiler.interpreter.guard import fields_of
from compiler.ir.build import Builder
from compiler.ir.ir import Node, Put, Transition
from compiler.ir.lower import lower_handler
from compiler.ir.memories import LowerError
from compiler.ir.rewrite import order, rewrite_transition, same
from compiler.ir.states import RegisterLeaf
from compiler.overlay.bits import LENGTH, PORT, WORD_BITS, OverlayError, replaced, word_name
from compiler.overlay.flow_state import DIFFERS, HIT, INSERTED, KEPT, KEY, TIME, USED, VALUE, of_one_flow
from compiler.overlay.graph import graph_of, is_from
from compiler.overlay.rules import tables_of
from toolchain import ROOT

WORDS = 8 * L.DATA_BYTES // WORD_BITS
CHECKSUM, LIBRARY = "checksum_updated", ROOT / "elements" / "ipchecksum" / "updated.sl"
FIXED = ("error", "eop", "empty", "ingress_port", "egress_mask", "fault", "timestamp", "length")  # what must leave as it came
MOST_WAYS = 64


@dataclass(frozen=True)
class Output:
    """A port of the element, and the lane that it leads to, or HOST."""

    port: str
    lane: int


@dataclass(frozen=True)
class Packet:
    """A packet on its way: its first words, metadata, and everything else, which must leave as it came."""

    words: tuple[Node, ...]
    verdict: Node
    queue: Node
    mark: tuple[Node, Node]  # high, low
    rest: Node

    @property
    def nodes(self) -> tuple[Node, ...]:
        return (*self.words, *self.mark, self.verdict, self.queue, self.rest)

    @staticmethod
    def of(nodes: Sequence[Node]) -> Packet:
        return Packet(tuple(nodes[:-5]), nodes[-3], nodes[-2], (nodes[-5], nodes[-4]), nodes[-1])


@dataclass(frozen=True)
class Way:
    """What goes to one output: whether the packet does, whether its later flits do, and the packet as it then is."""

    output: Output
    enable: Node
    later: Node
    packet: Packet
    span: Span


@dataclass(frozen=True)
class FlowUse:
    """What becomes of the flow of a packet: whether the packet asks for it, inserts it, asks with two keys; time and key; whether
    the flow is there afterwards, and its value, by the names of the registers that hold it before."""

    table: typed.FlowTable
    used: Node
    inserted: Node
    differs: Node
    time: Node
    key: Node
    hit: Node
    values: Mapping[str, Node]

    @property
    def nodes(self) -> tuple[Node, ...]:
        return (self.used, self.inserted, self.differs, self.time, self.key, self.hit, *self.values.values())

    def of(self, nodes: Sequence[Node]) -> FlowUse:
        """The same of other nodes."""
        used, inserted, differs, time, key, hit, *values = nodes
        return FlowUse(self.table, used, inserted, differs, time, key, hit, dict(zip(self.values, values, strict=True)))

    @property
    def hit_name(self) -> str:
        """The register of whether the flow is there before."""
        return f"{self.table.name}__hit"

    def field(self, register: str) -> str:
        """The field of the value that a register holds."""
        return register.removeprefix(f"{self.table.name}__value").removeprefix("_") or self.table.name


@dataclass(frozen=True)
class Behaviour:
    """A program: the ways of its packets; `arrived` is a packet as it comes in. `elements` and `tables` (by the names that rules
    have) are those that packets may pass."""

    elements: tuple[typed.Element, ...]
    b: Builder
    ways: tuple[Way, ...]
    arrived: Packet
    tables: Mapping[str, typed.Table]
    flow: FlowUse | None

    @property
    def span(self) -> Span:
        """The place of what has none of its own."""
        return self.elements[0].span


@dataclass(frozen=True)
class Arriving:
    """What comes to an element, or leaves it: whether a packet does, whether its later flits do, and its first flit."""

    enable: Node
    later: Node
    flit: Node


def behaviour(program: typed.Program, lanes: int = 4) -> Behaviour:
    """What a program does. Raises OverlayError where it is not of the kind that a pipeline can do."""
    graph, b = graph_of(program, lanes), Builder()
    tables = {name: of for name, of in tables_of(program.instances).items() if of[0] in graph.instances}
    handlers = {
        name: _Handler(i.element, b, {table.name: known for known, (owner, table) in tables.items() if owner == name})
        for name, i in graph.instances.items()
    }
    for handler in handlers.values():
        handler.passed = frozenset(name for other in handlers.values() for name in other.flow_names)
    first, *_ = handlers.values()
    ways: list[Way] = []

    def follow(name: str, arriving: Arriving) -> None:
        for port, left, span in handlers[name].leaving(arriving):
            lead = graph.leads[name, port]
            if isinstance(lead, str):
                follow(lead, left)
            else:
                ways.append(first.way(Output(port, lead), left, span))
            if len(ways) > MOST_WAYS:
                text = f"packets can go more than {MOST_WAYS} ways through the elements"
                raise OverlayError("E0809", text, span, "fewer elements in a row with many outputs")

    for name, entered in graph.entries.items():
        allowed = _allowed(b, entered, lanes)
        follow(name, Arriving(allowed, allowed, first.arriving()))
    elements = tuple(i.element for i in graph.instances.values())
    named = {known: replace(table, name=known) for known, (_, table) in tables.items()}
    flows = [handler.flow for handler in handlers.values() if handler.flow is not None]
    if len(flows) > 1:
        text = "two elements with flow tables"
        raise OverlayError("E0807", text, flows[1].table.span, "a pipeline has one stateful unit; use one table")
    return Behaviour(elements, b, tuple(ways), first.arrived(), named, flows[0] if flows else None)


def _allowed(b: Builder, entered: Set[int], lanes: int) -> Node:
    """Whether the packet came through one of these lanes."""
    if entered >= set(range(lanes)):
        return b.const(1, 1)
    port = b.exact("head", (), 8, name=PORT)
    return b.or_(*(b.eq(port, b.const(lane, 8)) for lane in sorted(entered)))


class _Handler:
    """A handler at the first flit of a packet, and at later ones. `tables`: their names in the program."""

    def __init__(self, element: typed.Element, b: Builder, tables: Mapping[str, str]) -> None:
        self.element, self.b = element, b
        self.flow: FlowUse | None = None
        self.passed: frozenset[str] = frozenset()  # states of one flow that packets can carry: also from an element before this one
        changed, self.state = of_one_flow(element)
        try:
            handler, self.resets = lower_handler(changed, lambda f: f.name == CHECKSUM and is_from(f, LIBRARY))
        except LowerError as error:
            raise OverlayError("E0807", error.text, error.span or element.span, "use shorter loops and smaller arrays") from error
        self.handler = _renamed(handler, tables)
        if len(element.inputs) != 1 or not all(p.is_packet for p in (*element.inputs, *element.outputs)):
            raise self._refusal("its channels are not packets", element.span, "one input and any outputs, all of type packet")
        self.flit = element.inputs[0].type
        self._check()

    def _refusal(self, text: str, span: Span | None, hint: str) -> OverlayError:
        return OverlayError("E0807", f"{self.element.source_name}: {text}", span or self.element.span, hint)

    def _check(self) -> None:
        """What the overlay has not at all."""
        handler, name = self.handler, self.element.inputs[0].name
        if handler.writes or any(node.op in ("read", "choice", "available") for node in order(self._roots())):
            nodes = [node for node in order(self._roots()) if node.op in ("read", "choice", "available")]
            span = handler.writes[0].data.span if handler.writes else nodes[0].span
            hint = "tables, fields and constants decide; arrays, now() and test() are for --target cpu or sim"
            raise self._refusal("what it does depends on more than the packet and tables", span, hint)
        for timer in self.element.timers:
            raise self._refusal(f"timer '{timer.name}' is not there", timer.span, "leave it out, or use --target cpu or sim")
        if handler.messages:
            raise self._refusal("print() is not there", handler.messages[0].enable.span, "leave it out")
        if name not in handler.takes or not all(one.op == "const" and one.value for one in handler.takes.values()):
            raise self._refusal("an iteration that takes no flit", self.element.span, "read the input once in every iteration")

    def _roots(self) -> list[Node]:
        return [node for put in self.handler.puts.values() for node in (put.enable, put.data)] + [*self.handler.next.values()]

    def leaving(self, arriving: Arriving) -> Iterator[tuple[str, Arriving, Span]]:
        """What leaves by each output, and the place that says so."""
        puts = {port: put for port, put in self.handler.puts.items() if not _is_never(put.enable)}
        changing = dict(self.handler.next)
        asked = self._unasked()
        first = self._at(arriving.flit, changing, asked)
        known = {name: first[f"next {name}"] for name in changing}
        later_flit = self._later()
        later = self._at(later_flit, changing, asked)
        self._check_states({name: node for name, node in changing.items() if name not in self.flow_names}, first, later)
        self._note_flow(arriving, first, later)
        behind = self._at(later_flit, changing, known)
        for port, put in puts.items():
            enable, until_end = first[f"enable {port}"], behind[f"enable {port}"]
            if not _is_never(until_end) and later[f"data {port}"] is not later_flit:
                raise self._refusal("it changes flits behind the first", self._span(put), "change packets where x.sop is set")
            left = (self.b.and_(arriving.enable, enable), self.b.and_(arriving.later, until_end), first[f"data {port}"])
            yield port, Arriving(*left), self._span(put)

    @property
    def flow_names(self) -> frozenset[str]:
        return self.state.names if self.state is not None else frozenset()

    def _unasked(self) -> dict[str, Node]:
        """What registers say of a packet that has not asked for its flow."""
        if self.state is None:
            return {}
        leaves = [leaf for name, some in self.state.registers.items() if name not in KEPT for leaf in some]
        return {leaf.name: self.b.const(0, leaf.width) for leaf in leaves}

    def _note_flow(self, arriving: Arriving, first: Mapping[str, Node], later: Mapping[str, Node]) -> None:
        if self.state is None:
            return
        table = self.state.table
        if self.flow is not None:
            raise self._refusal("packets come to a flow table by several ways", table.span, "join them with a Mux")

        def after(leaf: RegisterLeaf, roots: Mapping[str, Node]) -> Node:
            return roots.get(f"next {leaf.name}", self.b.const(0, leaf.width))

        def whole(name: str) -> Node:
            leaves = sorted(self.state.registers[name], key=lambda leaf: -leaf.low) if self.state else ()
            return self.b.concat(*(after(leaf, first) for leaf in leaves))

        if not _is_never(after(self.state.registers[USED][0], later)):
            raise self._refusal("a later flit of a packet asks for a flow", table.span, "use flows where x.sop is set")
        values = {leaf.name: after(leaf, first) for leaf in self.state.registers[VALUE]}
        used = self.b.and_(arriving.enable, whole(USED))
        use = FlowUse(table, used, whole(INSERTED), whole(DIFFERS), whole(TIME), whole(KEY), whole(HIT), values)
        self.flow = use.of(replaced(self.b, use.nodes, self._framing()))

    def way(self, output: Output, left: Arriving, span: Span) -> Way:
        """What goes to an output that leads out of the overlay."""
        packet = self._packet(left.flit)
        enable, later, *nodes = replaced(self.b, (left.enable, left.later, *packet.nodes[:-1]), self._framing())
        return Way(output, enable, later, Packet.of([*nodes, packet.rest]), span)

    def arrived(self) -> Packet:
        """A packet as it comes in."""
        return self._packet(self.arriving())

    def _span(self, put: Put) -> Span:
        return put.enable.span or put.data.span or self.element.span

    def _at(self, flit: Node, changing: Mapping[str, Node], known: Mapping[str, Node]) -> dict[str, Node]:
        """Every root where the flit is this one, and registers have known values."""
        names, roots = [], []
        for port, put in self.handler.puts.items():
            names += [f"enable {port}", f"data {port}"]
            roots += [put.enable, put.data]
        names += [f"next {name}" for name in changing]
        roots += changing.values()
        values: dict[Node, Node] = {}
        for node in order(roots):
            if node.op == "head":
                values[node] = flit
            elif node.op == "register":
                kept = self.b.const(self.resets.get(node.name, 0), node.width)
                values[node] = known.get(node.name, self._register(node)) if node.name in changing else kept
            elif node.op == "const":
                values[node] = self.b.const(node.value, node.width)
        return dict(zip(names, _again(self.b, roots, values), strict=True))

    def _register(self, node: Node) -> Node:
        return self.b.exact("register", (), node.width, name=node.name)

    def _check_states(self, changing: Mapping[str, Node], first: Mapping[str, Node], later: Mapping[str, Node]) -> None:
        """States may only carry the decision from the first flit to the later ones."""
        used = {n.name for key, root in later.items() if key.startswith("enable") for n in order([root]) if n.op == "register"}
        hint = "a state may only say what happens to the later flits of a packet; counters and memories are for --target cpu or sim"
        for name, node in changing.items():
            span = self._state_span(name) or node.span
            text = f"the state '{name}' changes from packet to packet"
            if name not in used:
                raise self._refusal(text, span, hint)
            here, kept = later[f"next {name}"], self._register(node if node.op == "register" else _sized(node, name))
            kept_to_end = replaced(self.b, [here], {self._eop(): self.b.const(0, 1)})[0]
            if kept_to_end is not kept:
                raise self._refusal(f"the state '{name}' changes at later flits of a packet", span, hint)
        for key, root in first.items():
            for node in order([root]):
                if node.op == "register" and node.name not in self.passed:
                    text = f"what it does with a packet depends on the state '{node.name}', which packets before it set"
                    if not key.startswith("next") or root is not node:
                        raise self._refusal(text, self._state_span(node.name), hint)

    def _state_span(self, register: str) -> Span | None:
        found = [s for s in self.element.states if register == s.name or register.startswith(f"{s.name}_")]
        return max(found, key=lambda s: len(s.name)).span if found else None

    def _source(self, name: str, width: int) -> Node:
        return self.b.exact("head", (), width, name=name)

    def arriving(self) -> Node:
        """The first flit of a packet from a lane."""
        b, length = self.b, self._source(LENGTH, 16)
        words = [self._source(word_name(number), WORD_BITS) for number in range(WORDS)]
        swapped = [half for word in reversed(words) for half in (b.extract(word, 0, 8), b.extract(word, 8, 8))]
        values = {"sop": b.const(1, 1), "eop": self._source("eop", 1), "empty": self._source("empty", self._empty_bits)}
        values |= {"data": b.concat(*swapped), "length": length}
        values |= {"ingress_port": self._source(PORT, 8), "timestamp": self._source("timestamp", 64)}
        return self._flit(values)

    @property
    def _empty_bits(self) -> int:
        return fields_of(self.flit)["empty"][1]

    def _framing(self) -> dict[Node, Node]:
        """`eop` and `empty` of a first flit, by the length of the packet."""
        b, length = self.b, self._source(LENGTH, 16)
        eop = b.binary("ult", length, b.const(L.DATA_BYTES + 1, 16))
        unused = b.extract(b.binary("sub", b.const(L.DATA_BYTES, 16), length), 0, self._empty_bits)
        empty = b.mux(eop, unused, b.const(0, unused.width))
        return {self._source("eop", 1): eop, self._source("empty", self._empty_bits): empty}

    def _eop(self) -> Node:
        return self._source("later eop", 1)

    def _later(self) -> Node:
        widths = fields_of(self.flit)
        values = {name: self._source(f"later {name}", widths[name][1]) for name in ("error", "empty", "data")}
        return self._flit({**values, "eop": self._eop()})

    def _flit(self, values: Mapping[str, Node]) -> Node:
        """A flit of these fields; others are 0."""
        return self.b.concat(*self._fields(self.flit, values))

    def _fields(self, kind: typed.Type, values: Mapping[str, Node]) -> list[Node]:
        assert isinstance(kind, typed.Struct)
        parts: list[Node] = []
        for field in kind.fields:
            if isinstance(field.type, typed.Struct):
                parts += self._fields(field.type, values)
            else:
                parts.append(values.get(field.name, self.b.const(0, field.type.bits)))
        return parts

    def _packet(self, flit: Node) -> Packet:
        """The parts of a first flit."""
        places = _places(self.flit)

        def part(name: str) -> Node:
            return self.b.extract(flit, *places[name])

        data = part("data")
        halves = [self.b.extract(data, 8 * at, 8) for at in range(L.DATA_BYTES)]
        words = tuple(self.b.concat(halves[2 * n], halves[2 * n + 1]) for n in range(WORDS))
        mark = part("mark")
        rest = self.b.concat(*(part(name) for name in FIXED))
        return Packet(words, part("verdict"), part("queue"), (self.b.extract(mark, 16, 16), self.b.extract(mark, 0, 16)), rest)


def _sized(node: Node, name: str) -> Node:
    return Node("register", (), node.width, name=name)


def _again(b: Builder, roots: Sequence[Node], values: Mapping[Node, Node]) -> tuple[Node, ...]:
    """The roots in another pool of nodes."""
    return replaced(b, roots, values)


def _is_never(enable: Node) -> bool:
    return enable.op == "const" and not enable.value


def _renamed(handler: Transition, tables: Mapping[str, str]) -> Transition:
    """The handler with other names of its tables."""

    def remake(b: Builder, node: Node, args: Sequence[Node]) -> Node:
        if node.op in ("lookup", "call"):
            return b.exact(node.op, args, node.width, name=tables[node.name] if node.op == "lookup" else node.name)
        return same(b, node, args)

    is_same = all(known == name for name, known in tables.items())
    return handler if is_same else rewrite_transition(handler, remake)


def _places(kind: typed.Type, low: int = 0) -> dict[str, tuple[int, int]]:
    """Lowest bit and bits of each field, those of inner structs included."""
    assert isinstance(kind, typed.Struct)
    found: dict[str, tuple[int, int]] = {}
    for field in kind.fields:
        if isinstance(field.type, typed.Struct):
            found |= _places(field.type, low + field.low)
        else:
            found[field.name] = (low + field.low, field.type.bits)
    return found
