# SPDX-License-Identifier: Apache-2.0
"""One iteration of an element, as a transaction: it works on copies, and the element takes them over when it ends.

An iteration that must wait raises `Wait`, and nothing has happened. Statements leave by exceptions, as the source does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from compiler.frontend import typed
from compiler.interpreter import values
from compiler.interpreter.choices import Choices, LogEntry, NotAllowed
from compiler.interpreter.tables import Rules


class Wait(Exception):
    """The iteration waits for a token."""


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


class _Return(Exception):
    def __init__(self, value: int | None) -> None:
        super().__init__()
        self.value = value


@dataclass(frozen=True)
class Select:
    """What a `select` remembers: the index taken last, and whether it is inside a packet of that port."""

    last: int = -1
    inside: bool = False


@dataclass
class State:
    """Everything of an instance that lasts from one iteration to the next, its channels excepted."""

    variables: dict[typed.Variable, int]
    random: int
    mask: int
    selects: dict[tuple[typed.Port, ...], Select] = field(default_factory=dict)
    now: int = 0

    def copy(self) -> State:
        return State(dict(self.variables), self.random, self.mask, dict(self.selects), self.now)


class Iteration:
    """Runs a body. Afterwards: `state`, `taken` and `written` tokens, `lines` printed, `failures`, the `answer` of a signal, the
    `entry` for the log, and whether a token was not seen that is there (`hidden`)."""

    def __init__(
        self,
        element: typed.Element,
        state: State,
        heads: Mapping[typed.Port, int],
        choices: Choices,
        number: int,
        rules: Mapping[str, Rules],
    ) -> None:
        self.element = element
        self.state = state.copy()
        self.before = state
        self.heads = heads
        self.choices = choices
        self.number = number
        self.rules = rules
        self.locals: dict[typed.Variable, int] = {}
        self.sampled: dict[typed.Port, bool] = {}
        self.assumed: set[typed.Port] = set()
        self.selected: dict[tuple[typed.Port, ...], int] = {}
        self.taken: set[typed.Port] = set()
        self.written: dict[typed.Port, int] = {}
        self.entry: LogEntry = {}
        self.lines: list[str] = []
        self.failures: list[str] = []
        self.answer = 0
        self.hidden = False

    # Bodies

    def run_init(self) -> None:
        """`.init`: states only."""
        self._body(self.element.init, ())

    def run_handler(self) -> None:
        """The handler. Raises `Wait`."""
        inputs = values.ones(len(self.element.inputs))
        if self.element.numbered and self.state.mask and not any(self._masked(p) and p in self.heads for p in self.element.inputs):
            raise Wait
        returned = self._body(self.element.handler, ())
        self._check_firing()
        self.state.mask = inputs if returned is None else returned & inputs

    def run_signal(self, signal: typed.Signal, arguments: Sequence[int]) -> None:
        """A signal; `answer` is its result."""
        returned = self._body(signal.body, tuple(zip(signal.parameters, arguments, strict=True)))
        self.answer = self.answer if returned is None else returned

    def _body(self, body: typed.Block, parameters: Sequence[tuple[typed.Variable, int]]) -> int | None:
        self.locals = {variable: value & values.ones(variable.type.bits) for variable, value in parameters}
        try:
            self.block(body)
        except _Return as left:
            return left.value
        return None

    # Choices

    def _masked(self, port: typed.Port) -> bool:
        return bool(self.before.mask >> port.index & 1)

    def _arrived(self, port: typed.Port) -> bool:
        """Whether a port holds a token, the same all through the iteration."""
        if port not in self.sampled:
            if self.element.numbered and self.before.mask == 1 << port.index:
                return True
            others = [p for p in self.element.inputs if p is not port and self._masked(p) and p in self.heads]
            must = self.element.numbered and self._masked(port) and not any(self.sampled.get(p, True) for p in others)
            found = self.choices.available(self.number, port.index, port in self.heads, must)
            if found is None:
                found = port in self.heads
                self.assumed.add(port)
            if found and port not in self.heads:
                raise NotAllowed(f"iteration {self.number}: {port.name} holds no token, but the log says that it does")
            self.sampled[port] = found
            self.hidden |= not found and port in self.heads
            self.entry["available"] = self.entry.get("available", 0) | found << port.index
        return self.sampled[port]

    def _check_firing(self) -> None:
        """Some port of the mask held a token, or the iteration could not have begun. What the log does not say about a `test` in
        the named form follows from a read of the same port, or changes nothing."""
        if unknown := [port.name for port in self.assumed if self.element.numbered]:
            raise NotAllowed(f"iteration {self.number} needs a choice, but the log has no 'available' for {', '.join(unknown)}")
        masked = [port for port in self.element.inputs if self._masked(port)]
        if self.element.numbered and masked and not any(self.sampled.get(port, port in self.heads) for port in masked):
            raise NotAllowed(f"iteration {self.number}: no port of the mask holds a token according to the log")

    def _token(self, port: typed.Port) -> int | None:
        """The head of an input; None where the numbered form sees none. Raises `Wait` in the named form."""
        if self.element.numbered:
            return self.heads.get(port) if self._arrived(port) else None
        if port not in self.heads or not self.sampled.get(port, True):
            raise Wait
        return self.heads[port]

    def _select(self, node: typed.SelectPort) -> int:
        if node.ports not in self.selected:
            before = self.state.selects.get(node.ports, Select())
            ready = [i for i, port in enumerate(node.ports) if port in self.heads and self.sampled.get(port, True)]
            if before.inside:
                ready = [i for i in ready if i == before.last]
            if not ready:
                raise Wait
            chosen = self.choices.select(self.number, ready, before.last)
            if chosen not in ready:
                raise NotAllowed(f"iteration {self.number}: select cannot take input {chosen}, which the log names")
            self.entry["select"] = self.selected[node.ports] = chosen
            port = node.ports[chosen]
            inside = port.is_packet and not self._field(port, "eop")
            self.state.selects[node.ports] = Select(chosen, inside)
            self.taken.add(port)
        return self.selected[node.ports]

    def _field(self, port: typed.Port, name: str) -> int:
        assert isinstance(port.type, typed.Struct)
        found = next(f for f in port.type.fields if f.name == name)
        return values.read_bits(self.heads[port], found.low, found.type.bits, False)

    def _now(self) -> int:
        if "now" not in self.entry:
            now = self.choices.now(self.number)
            if not self.before.now <= now < 1 << 64:
                raise NotAllowed(
                    f"iteration {self.number}: the log sets the time to {now}, but it must not be before {self.before.now}"
                )
            self.entry["now"] = self.state.now = now
        return int(self.entry["now"])

    def _random(self) -> int:
        x = self.state.random
        x ^= x << 13 & 0xFFFFFFFF
        x ^= x >> 17
        x ^= x << 5 & 0xFFFFFFFF
        self.state.random = x
        return x

    # Places

    def _path(self, steps: Sequence[typed.Step]) -> list[values.Window]:
        path: list[values.Window] = []
        for step in steps:
            match step:
                case typed.Slice():
                    path.append(values.window(step))
                case typed.Entry(index=index, type=kind, count=count, swap=swap):
                    at = self.value(index)
                    path.append((at * kind.bits, kind.bits, swap) if at < count else None)
        return path

    def _whole(self, variable: typed.Variable) -> int:
        return self.state.variables[variable] if variable.is_state else self.locals.get(variable, 0)

    def _assign(self, variable: typed.Variable, path: list[values.Window], value: int) -> None:
        where = self.state.variables if variable.is_state else self.locals
        where[variable] = values.write_path(self._whole(variable), path, value)

    # Expressions

    def value(self, node: typed.Expression) -> int:
        """The bit pattern of an expression."""
        match node:
            case typed.Constant(value=constant):
                return constant
            case typed.Load(place=place):
                path = self._path(place.steps)
                return values.read_path(self._whole(place.variable), path)
            case typed.Binary(operator=operator, left=a, right=b):
                left = self.value(a)
                right = self.value(b)
                return values.binary(operator, left, right, a.type)
            case typed.Cast(operand=operand, type=to):
                return values.cast(self.value(operand), operand.type, to)
            case typed.Unary(operator=operator, operand=operand, type=to):
                return values.unary(operator, self.value(operand), to)
            case typed.Logical(operator=operator, left=a, right=b):
                return self.value(a) and self.value(b) if operator == "&&" else self.value(a) or self.value(b)
            case typed.Conditional(condition=condition, then=then, otherwise=otherwise):
                return self.value(then if self.value(condition) else otherwise)
            case typed.Part(operand=operand, step=step):
                whole = self.value(operand)
                return values.read_path(whole, self._path([step]))
            case typed.Pack(parts=parts, type=kind):
                found = [self.value(part) for part in parts]
                return _packed(found, [part.type.bits for part in parts], isinstance(kind, typed.Array))
            case typed.Call():
                return self._call(node)
            case _:
                return self._built_in(node)

    def _call(self, node: typed.Call) -> int:
        arguments = [self.value(argument) for argument in node.arguments]
        outer = self.locals
        returned = self._body(node.function.body, tuple(zip(node.function.parameters, arguments, strict=True)))
        self.locals = outer
        return returned or 0

    def _built_in(
        self,
        node: (
            typed.Read | typed.Peek | typed.Test | typed.Ready | typed.SelectPort | typed.Now | typed.Random | typed.Lookup
            | typed.Update
        ),
    ) -> int:  # fmt: skip
        match node:
            case typed.Read(port=port):
                token = self._token(port)
                if token is None:
                    return 0
                self.taken.add(port)
                return token
            case typed.Peek(port=port):
                return self._token(port) or 0
            case typed.Test(port=port):
                return int((not self.element.numbered or self._masked(port)) and self._arrived(port))
            case typed.Ready(type=kind):
                masked = [port for port in self.element.inputs if self._masked(port)]
                return sum(1 << port.index for port in masked if self._arrived(port)) & values.ones(kind.bits)
            case typed.SelectPort(ports=ports, index_to=index_to):
                path = self._path(index_to.steps) if index_to else []
                chosen = self._select(node)
                if index_to:
                    self._assign(index_to.variable, path, chosen & values.ones(index_to.type.bits))
                return self.heads[ports[chosen]]
            case typed.Now():
                return self._now()
            case typed.Random():
                return self._random()
            case typed.Lookup(table=table, key=key, to=to):
                wanted = self.value(key)
                path = self._path(to.steps) if to else []
                found = self.rules[table.name].find(wanted)
                if to:
                    self._assign(to.variable, path, found or 0)
                return int(found is not None)
            case typed.Update(table=table, is_insert=is_insert, arguments=arguments):
                return self.rules[table.name].update(is_insert, [self.value(argument) for argument in arguments])
            case _:
                assert_never(node)

    # Statements

    def block(self, block: typed.Block) -> None:
        """Every statement in order."""
        for statement in block.statements:
            self.statement(statement)

    def statement(self, node: typed.Statement) -> None:
        """One statement. Raises `Wait`, and the private exceptions by which statements leave."""
        match node:
            case typed.Assign(place=place, value=value):
                path = self._path(place.steps)
                self._assign(place.variable, path, self.value(value))
            case typed.Evaluate(value=value):
                self.value(value)
            case typed.If(condition=condition, then=then, otherwise=otherwise):
                self.block(then if self.value(condition) else otherwise)
            case typed.Loop():
                self._loop(node)
            case typed.Break():
                raise _Break
            case typed.Continue():
                raise _Continue
            case typed.Return(value=result):
                raise _Return(None if result is None else self.value(result))
            case typed.Write(port=port, value=value):
                self.written[port] = self.value(value)
            case typed.SetSignal(value=value):
                self.answer = self.value(value)
            case typed.Print(text=text, arguments=arguments):
                shown = [values.number(self.value(argument), argument.type) for argument in arguments]
                self.lines.append(filled(text, shown))
            case typed.Check(condition=condition, text=text):
                if not self.value(condition):
                    self.failures.append(f"{node.span}: {text}")
            case _:
                assert_never(node)

    def _loop(self, node: typed.Loop) -> None:
        for _ in range(node.bound):
            if not self.value(node.condition):
                return
            try:
                self.block(node.body)
            except _Break:
                return
            except _Continue:
                pass
            self.block(node.step)
        if self.value(node.condition):
            self.failures.append(f"{node.span}: the loop reached its bound of {node.bound}")


def _packed(parts: Sequence[int], bits: Sequence[int], is_array: bool) -> int:
    value = 0
    for part, width in reversed(list(zip(parts, bits, strict=True))) if is_array else zip(parts, bits, strict=True):
        value = value << width | part
    return value


def filled(text: str, arguments: Sequence[int]) -> str:
    """`text` with each {} replaced by the next argument."""
    pieces = text.split("{}")
    return pieces[0] + "".join(f"{a}{p}" for a, p in zip(arguments, pieces[1:], strict=False))
