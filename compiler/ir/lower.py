# SPDX-License-Identifier: Apache-2.0
"""Lowers a typed element to the IR, by following every path of its source at once with symbolic values.

Functions are inlined, loops unrolled to their bound, branches become `mux`. `.init` is followed with the constants that states
are at reset, and leaves the reset values. LowerError: the program is too large for hardware, or uses what it cannot have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from compiler.frontend import typed
from compiler.frontend.flows import FORGET, INSERT
from compiler.ir.build import Builder
from compiler.ir.framing import sends_whole_packets
from compiler.ir.ir import Assertion, ElementIr, Flows, Framing, Message, Node, PortInfo, Register, Table, Transition
from compiler.ir.memories import LowerError, Memories
from compiler.ir.paths import Key, Path, Paths, State, without_locals
from compiler.ir.ports import Ports, place
from compiler.ir.rewrite import rewrite_transition
from compiler.ir.states import Layout, Where
from compiler.ir.values import RANDOM, Values
from compiler.ir.verify import verify

MOST_ROUNDS = 256  # of one loop whose end is not known
MOST_STATEMENTS = 20_000  # followed in one transition, loops unrolled
MOST_INIT_STATEMENTS = 2_000_000
RETURN = ("return",)
ANSWER = ("answer",)
Keeps = Callable[[typed.Function], bool]


@dataclass(eq=False)
class _Frame:
    """A region that statements can leave: a function, or a loop (with `again` for `continue`)."""

    is_loop: bool
    width: int = 0  # of what the function returns
    out: list[State] = field(default_factory=list)
    again: list[State] = field(default_factory=list)


class _Body(Values):
    """Follows the statements of one body."""

    def __init__(self, *given: object, most: int = MOST_STATEMENTS, keeps: Keeps = lambda function: False) -> None:
        super().__init__(*given)  # type: ignore[arg-type]
        self.most = most
        self.keeps = keeps
        self.followed = 0
        self.frames: list[_Frame] = []
        self.left: list[tuple[_Frame, bool, Path]] = []  # every leave: the frame, whether `continue`, the path
        self.messages: list[Message] = []
        self.assertions: list[Assertion] = []
        self.places: list[Node] = []
        self.flows = {flow.methods["place"]: flow for flow in self.element.flows if "place" in flow.methods}
        self.labels: dict[Node, str] = {}

    def enable(self) -> Node:
        return self.paths.all_of(self.state.path)

    def function(self, body: typed.Block, parameters: Sequence[tuple[typed.Variable, Node]], default: Node) -> Node:
        """A body with its parameters, on the present path; what it returns, and `default` where it does not."""
        outer = self.state
        inner = State(outer.path, {**without_locals(outer.values), **dict(parameters), RETURN: default})
        frame = _Frame(False, default.width)
        self.frames.append(frame)
        self._state = inner
        self.block(body)
        if self._state is not None:
            frame.out.append(self._state)
        self.frames.pop()
        joined = self.paths.join(frame.out, outer.path, [])
        assert joined is not None, "a body has an end"
        effects = without_locals(joined.values)
        result = effects.pop(RETURN)
        kept = {key: node for key, node in outer.values.items() if key == RETURN or key not in effects}
        self._state = State(outer.path, {**effects, **kept})
        return result

    def call(self, node: typed.Call) -> Node:
        arguments = [self.value(argument) for argument in node.arguments]
        if self.keeps(node.function):
            return self.b.exact("call", arguments, node.type.bits, name=node.function.name)
        if node.function in self.flows:
            return self._place(self.flows[node.function], node, arguments)
        parameters = tuple(zip(node.function.parameters, arguments, strict=True))
        return self.function(node.function.body, parameters, self.b.const(0, node.type.bits))

    def _place(self, table: typed.FlowTable, node: typed.Call, arguments: list[Node]) -> Node:
        """A key of a flow table; the function's result, of what the part in hardware tells."""
        if self.memories.contents is not None:
            text = f"'{table.name}' is empty when a program begins; .init cannot ask it"
            raise LowerError(text, table.span, "insert flows in the handler, or in a signal")
        b, flows = self.b, flows_of(table)
        key, number, time, what = arguments
        given = (self.enable(), b.eq(what, b.const(INSERT, what.width)), b.eq(what, b.const(FORGET, what.width)), key, time)
        told = b.exact("place", (*given, b.resize(number, flows.set_bits)), flows.width, value=len(self.places), name=flows.name)
        self.places.append(told)
        place_bits = flows.width - 2
        found, is_new = b.extract(told, place_bits + 1, 1), b.extract(told, place_bits, 1)
        parts = {"found": found, "is_new": is_new, "slot": b.zext(b.extract(told, 0, place_bits), 32)}
        assert isinstance(node.type, typed.Struct)
        fields = sorted(node.type.fields, key=lambda field: field.low, reverse=True)
        return b.concat(*(b.resize(parts[field.name], field.type.bits) for field in fields))

    def block(self, block: typed.Block) -> None:
        """Every statement, as long as the path goes on."""
        for statement in block.statements:
            if self._state is None:
                return
            self.followed += 1
            if self.followed > self.most:
                text = f"more than {self.most} statements after unrolling loops and inlining functions"
                raise LowerError(text, statement.span, "use shorter loops, or spread the work over several iterations")
            self.statement(statement)

    def statement(self, node: typed.Statement) -> None:
        """One statement on the present path."""
        self.b.span = node.span
        match node:
            case typed.Assign():
                self._assign(node)
            case typed.Evaluate(value=value):
                self.value(value)
            case typed.If(condition=condition, then=then, otherwise=otherwise):
                self._branch(self.paths.known(self.state, self.value(condition)), then, otherwise)
            case typed.Loop():
                self._loop(node)
            case typed.Break():
                self._leave(next(frame for frame in reversed(self.frames) if frame.is_loop), False)
            case typed.Continue():
                self._leave(next(frame for frame in reversed(self.frames) if frame.is_loop), True)
            case typed.Return(value=value):
                frame = next(frame for frame in reversed(self.frames) if not frame.is_loop)
                if value is not None:
                    returned = self.value(value)
                    self.state.values[RETURN] = self.b.resize(returned, frame.width)
                self._leave(frame, False)
            case typed.Write(port=port, value=value):
                token = self.value(value)
                self.ports.write(self.state, port, token)
            case typed.SetSignal(value=value):
                answer = self.value(value)
                before = self.state.values.get(ANSWER, answer)
                self.state.values[ANSWER] = self.b.resize(answer, before.width)
            case typed.Print(text=text, arguments=arguments):
                shown = tuple(self.value(argument) for argument in arguments)
                signs = tuple(isinstance(a.type, typed.Integer) and a.type.signed for a in arguments)
                self.messages.append(Message(self.enable(), text, shown, signs))
            case typed.Check(condition=condition, text=text):
                holds = self.value(condition)
                self.assertions.append(Assertion(self.enable(), holds, f"{node.span}: {text}"))
            case _:
                assert_never(node)

    def _assign(self, node: typed.Assign) -> None:
        region = self.memories.region(node.place, self.windows(node.place.steps))
        value = self.value(node.value)
        if value.op not in ("const", "register", "head") and not value.label:
            self.labels.setdefault(value, _label(node.place))
        self.memories.store(self.state, region, value)

    def _branch(self, condition: Node, then: typed.Block, otherwise: typed.Block) -> None:
        if condition.op == "const":
            self.block(then if condition.value else otherwise)
            return
        before, mark = self.state, len(self.left)
        self._state = before.fork(condition)
        self.block(then)
        yes = self._state
        self._state = before.fork(self.b.not_(condition))
        self.block(otherwise)
        no = self._state
        left = self._left_since(mark)
        self._state = self.paths.join([state for state in (yes, no) if state is not None], before.path, left)

    def _leave(self, frame: _Frame, is_continue: bool) -> None:
        """The present path goes on elsewhere."""
        (frame.again if is_continue else frame.out).append(self.state)
        self.left.append((frame, is_continue, self.state.path))
        self._state = None

    def _left_since(self, mark: int, but_again: _Frame | None = None) -> list[Path]:
        """Paths that have left to frames around since `mark`; `continue` of the loop `but_again` is not outside."""
        return [
            path
            for owner, is_continue, path in self.left[mark:]
            if owner in self.frames and not (is_continue and owner is but_again)
        ]

    def _loop(self, node: typed.Loop) -> None:
        base, mark = self.state.path, len(self.left)
        frame = _Frame(True)
        self.frames.append(frame)
        uncertain = 0
        for _ in range(node.bound):
            if not self._round(node, frame):
                break
            uncertain += self._state is not None and len(self.state.path) > len(base)
            if uncertain > MOST_ROUNDS:
                text = f"a loop of {node.bound} iterations that may end early in each of them"
                raise LowerError(text, node.span, f"the compiler unrolls such a loop at most {MOST_ROUNDS} times")
        else:
            self._at_bound(node)
        if self._state is not None:
            frame.out.append(self._state)
        self.frames.pop()
        self._state = self.paths.join(frame.out, base, self._left_since(mark))

    def _round(self, node: typed.Loop, frame: _Frame) -> bool:
        """The condition, the body, the step; whether a path goes on to another round."""
        condition = self.paths.known(self.state, self.value(node.condition))
        if condition.op == "const":
            if not condition.value:
                return False
        else:
            frame.out.append(self.state.fork(self.b.not_(condition)))
            self._state = self.state.fork(condition)
        base, mark = self.state.path, len(self.left)
        self.block(node.body)
        ends = [*frame.again, *([self._state] if self._state is not None else [])]
        frame.again.clear()
        self._state = self.paths.join(ends, base, self._left_since(mark, frame))
        if self._state is None:
            return False
        self.block(node.step)
        return self._state is not None

    def _at_bound(self, node: typed.Loop) -> None:
        condition = self.value(node.condition)
        if not (condition.op == "const" and condition.value == 0):
            text = f"{node.span}: the loop reached its bound of {node.bound}"
            self.assertions.append(Assertion(self.enable(), self.b.not_(condition), text))


def _label(place: typed.Place) -> str:
    """As the source writes it, without indices."""
    name, kind = place.variable.name, place.variable.type
    for step in place.steps:
        if not isinstance(kind, typed.Struct) or not isinstance(step, typed.Slice):
            break
        found = next((f for f in kind.fields if f.low == step.low and f.type == step.type), None)
        if found is None:
            break
        name, kind = f"{name}.{found.name}", found.type
    return name


class _Lowering:
    """All transitions of an element, with one layout of its states."""

    def __init__(self, element: typed.Element, dynamic: frozenset[Where] | None, keeps: Keeps = lambda function: False) -> None:
        self.element, self.keeps = element, keeps
        self.states = tuple(state for state in element.states if state not in element.placement)
        self.layout = Layout(self.states, dynamic)
        self.dynamic: set[Where] = set()
        self.registers: dict[str, Register] = {}
        self.names: dict[Key, str] = {}
        self.guards: dict[typed.Port, Framing | None] = {}
        self.framed: dict[typed.Port, list[typed.Port]] = {}  # of outputs with a guard: inputs whose flits are framed alike
        self._bodies: tuple[Transition, tuple[Transition, ...]] | None = None

    def _body(self, contents: dict[str, dict[int, int]] | None, most: int) -> _Body:
        builder = Builder()
        paths = Paths(builder)
        memories = Memories(builder, paths, self.layout, contents, self.dynamic)
        ports = Ports(builder, paths, self.element, self.layout, self.registers, self.names)
        return _Body(self.element, builder, paths, memories, ports, most=most, keeps=self.keeps)

    def bodies(self) -> tuple[Transition, tuple[Transition, ...]]:
        """The handler and the signals."""
        if self._bodies is None:
            self._bodies = self._handler(), tuple(self._signal(signal) for signal in self.element.signals)
        return self._bodies

    def element_ir(self) -> ElementIr:
        """The bodies, and what `.init` gives."""
        contents: dict[str, dict[int, int]] = {}
        resets, seed = self._init(contents)
        handler, signals = self.bodies()
        for port, sources in self.framed.items():
            ends = ((source.name, place(source, "sop")[0], place(source, "eop")[0]) for source in sources)
            if any(sends_whole_packets(handler, signals, handler.puts[port.name], *found) for found in ends):
                self.guards[port] = None
        registers = self.layout.ir_registers(resets) | self.registers
        if RANDOM in self.names:
            name = self.names[RANDOM]
            registers[name] = Register(name, registers[name].width, seed)
        memories = self.layout.ir_memories({name: {i: v for i, v in found.items() if v} for name, found in contents.items()})
        inputs = tuple(PortInfo(port.name, port.type.bits, port.is_packet) for port in self.element.inputs)
        outputs = tuple(PortInfo(p.name, p.type.bits, p.is_packet, self.guards[p]) for p in self.element.outputs)
        tables = {t.name: Table(t.name, t.kind.value, t.key.bits, t.value.bits, t.entries) for t in self.element.tables}
        flows = {flow.name: flows_of(flow) for flow in self.element.flows}
        return ElementIr(
            self.element.name, inputs, outputs, registers, memories, handler, signals, self.element.span, tables, flows
        )

    def _init(self, contents: dict[str, dict[int, int]]) -> tuple[dict[str, int], int]:
        """Reset values of the registers, and the seed that `random` goes on from; `contents` gets those of the memories."""
        body = self._body(contents, MOST_INIT_STATEMENTS)
        b = body.b
        body.state.values.update({state: b.const(0, state.type.bits) for state in self.states})
        body.state.values[RANDOM] = b.const(self.element.seed, 32)
        body.function(self.element.init, (), b.const(0, 1))
        resets: dict[str, int] = {}
        for state, leaves in self.layout.registers.items():
            for leaf in leaves:
                node = b.extract(body.state.values[state], leaf.low, leaf.width)
                if node.op != "const":
                    raise LowerError(f"the compiler cannot evaluate the value that .init gives {leaf.label}", state.span)
                resets[leaf.name] = node.value
        return resets, body.state.values[RANDOM].value

    def _start(self, body: _Body) -> None:
        """Every state as its registers hold it."""
        b = body.b
        for state in self.states:
            whole = b.const(0, state.type.bits)
            parts, at = [], 0
            for leaf in sorted(self.layout.registers[state], key=lambda leaf: leaf.low):
                if leaf.low > at:
                    parts.append(b.extract(whole, at, leaf.low - at))
                b.label, b.span = leaf.label, state.span
                parts.append(b.exact("register", (), leaf.width, name=leaf.name))
                b.label = ""
                at = leaf.low + leaf.width
            if at < state.type.bits:
                parts.append(b.extract(whole, at, state.type.bits - at))
            body.state.values[state] = b.concat(*reversed(parts))

    def _handler(self) -> Transition:
        body = self._body(None, MOST_STATEMENTS)
        self._start(body)
        b, count = body.b, len(self.element.inputs)
        everything = b.const(-1, max(1, count))
        mask = body.function(self.element.handler, (), everything)
        following = {body.ports.mask().name: mask} if self.element.numbered and count else {}
        made = self._transition("handler", (), body, following, None)
        self.guards = {port: body.ports.guard(port, made.puts, made.takes) for port in self.element.outputs}
        self.framed = {port: body.ports.framed_as(made.puts[port.name]) for port, guard in self.guards.items() if guard}
        return _with_labels(made, body.labels)

    def _signal(self, signal: typed.Signal) -> Transition:
        body = self._body(None, MOST_STATEMENTS)
        self._start(body)
        arguments = tuple((p.name, p.type.bits) for p in signal.parameters)
        nodes = [body.b.exact("argument", (), width, name=name) for name, width in arguments]
        zero = body.b.const(0, signal.result.bits if signal.result else 1)
        body.state.values[ANSWER] = zero
        returned = body.function(signal.body, tuple(zip(signal.parameters, nodes, strict=True)), zero)
        answer = body.state.values[ANSWER] if not signal.name else returned
        made = self._transition(f"signal {signal.name}", arguments, body, {}, answer if signal.result else None)
        return replace(_with_labels(made, body.labels), every=signal.every)

    def _transition(
        self, name: str, arguments: tuple[tuple[str, int], ...], body: _Body, following: dict[str, Node], result: Node | None
    ) -> Transition:
        values, ports, b = body.state.values, body.ports, body.b
        for state in self.states:
            for leaf in self.layout.registers[state]:
                node = b.extract(values[state], leaf.low, leaf.width)
                if not (node.op == "register" and node.name == leaf.name):
                    following[leaf.name] = node
        following |= ports.select_registers(values)
        puts = ports.puts(values)
        return Transition(
            name, arguments, ports.needs(values), ports.any_of(values) if name == "handler" else None, ports.takes(values), puts,
            following, body.memories.writes(), tuple(body.messages), tuple(body.assertions), result, ports.selects(),
            places=tuple(body.places),
        )  # fmt: skip


def flows_of(table: typed.FlowTable) -> Flows:
    """A flow table as the IR has it."""
    return Flows(table.name, table.key.bits, table.sets, table.ways, table.timeout, table.evicts)


def _with_labels(transition: Transition, labels: dict[Node, str]) -> Transition:
    """Nodes that were assigned get the name of the variable."""

    def remake(b: Builder, node: Node, args: Sequence[Node]) -> Node:
        b.label = labels.get(node, node.label)
        return b.exact(node.op, args, node.width, value=node.value, low=node.low, name=node.name)

    return rewrite_transition(transition, remake)


def lower(element: typed.Element) -> ElementIr:
    """The IR of an element."""
    return lower_states(element)[0]


def lower_states(element: typed.Element) -> tuple[ElementIr, Layout]:
    """The IR, and where it keeps the states: once to see which arrays are indexed by constants alone, and again where that changes
    their layout."""
    first = _Lowering(element, None)
    first.bodies()
    second = _Lowering(element, frozenset(first.dynamic))
    is_same = second.layout.registers == first.layout.registers and second.layout.memories == first.layout.memories
    made = (first if is_same else second).element_ir()
    return verify(made), second.layout


def lower_handler(element: typed.Element, keeps: Keeps) -> tuple[Transition, dict[str, int]]:
    """The handler alone, and the value of each register at reset. A call of a function that `keeps` names stays a node `call`, so
    this is no IR for other passes."""
    lowering = _Lowering(element, None, keeps)
    resets, _ = lowering._init({})
    return lowering.bodies()[0], resets
