# SPDX-License-Identifier: Apache-2.0
"""Symbolic evaluation of expressions: a node for the value, and the effects in the state of the path."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import assert_never

from compiler.frontend import typed
from compiler.ir import places
from compiler.ir.build import Builder
from compiler.ir.ir import Node
from compiler.ir.memories import Memories
from compiler.ir.paths import Paths, State
from compiler.ir.places import Window
from compiler.ir.ports import Ports

RANDOM = ("random",)
RANDOM_WIDTH = 32
DIRECT = {"+": "add", "-": "sub", "*": "mul", "&": "and", "|": "or", "^": "xor", "<<": "shl", "==": "eq"}
BY_SIGN = {"/": ("udiv", "sdiv"), "%": ("urem", "srem"), ">>": ("lshr", "ashr"), "<": ("ult", "slt")}


class Values(ABC):
    """Evaluates on `self.state`, the path that is being followed."""

    def __init__(self, element: typed.Element, builder: Builder, paths: Paths, memories: Memories, ports: Ports) -> None:
        self.element = element
        self.b = builder
        self.paths = paths
        self.memories = memories
        self.ports = ports
        self._state: State | None = State()

    @property
    def state(self) -> State:
        """Of the path that is being followed; there is one wherever an expression is evaluated."""
        assert self._state is not None
        return self._state

    def value(self, node: typed.Expression) -> Node:
        """The node of an expression."""
        self.b.span = node.span
        match node:
            case typed.Constant(value=constant, type=kind):
                return self.b.const(constant, kind.bits)
            case typed.Load(place=place):
                return self.memories.load(self.state, self.memories.region(place, self.windows(place.steps)))
            case typed.Part(operand=operand, step=step):
                whole = self.value(operand)
                return places.read(self.b, whole, self.windows((step,)))
            case typed.Pack(parts=parts, type=kind):
                found = [self.value(part) for part in parts]
                return self.b.concat(*(reversed(found) if isinstance(kind, typed.Array) else found))
            case typed.Unary():
                return self._unary(node)
            case typed.Binary(left=left, right=right):
                a = self.value(left)
                b = self.value(right)
                self.b.span = node.span
                return self._binary(node.operator, a, b, isinstance(left.type, typed.Integer) and left.type.signed)
            case typed.Cast(operand=operand, type=kind):
                is_signed = isinstance(operand.type, typed.Integer) and operand.type.signed
                return self.b.resize(self.value(operand), kind.bits, is_signed)
            case typed.Logical() | typed.Conditional():
                return self._choice(node)
            case typed.Call():
                return self.call(node)
            case _:
                return self._built_in(node)

    def windows(self, steps: Sequence[typed.Step]) -> tuple[Window, ...]:
        """The steps of a place, with their indices evaluated."""
        found = []
        for step in steps:
            match step:
                case typed.Slice(low=low, type=kind, swap=swap):
                    found.append(Window(kind.bits, low, swap))
                case typed.Entry(index=index, type=kind, count=count, swap=swap):
                    found.append(Window(kind.bits, 0, swap, self.value(index), count))
        return tuple(found)

    def _unary(self, node: typed.Unary) -> Node:
        operand = self.value(node.operand)
        self.b.span = node.span
        return self.b.binary("sub", self.b.const(0, operand.width), operand) if node.operator == "-" else self.b.not_(operand)

    def _binary(self, operator: str, x: Node, y: Node, is_signed: bool) -> Node:
        b = self.b
        match operator:
            case "!=":
                return b.not_(b.eq(x, y))
            case ">":
                return self._binary("<", y, x, is_signed)
            case "<=":
                return b.not_(self._binary("<", y, x, is_signed))
            case ">=":
                return b.not_(self._binary("<", x, y, is_signed))
            case _ if operator in DIRECT:
                return b.binary(DIRECT[operator], x, y)
        return b.binary(BY_SIGN[operator][is_signed], x, y)

    def _choice(self, node: typed.Logical | typed.Conditional) -> Node:
        """What is evaluated on one path only."""
        if isinstance(node, typed.Conditional):
            condition = self.paths.known(self.state, self.value(node.condition))
            return self.either(condition, lambda: self.value(node.then), lambda: self.value(node.otherwise))
        condition = self.paths.known(self.state, self.value(node.left))
        if node.operator == "&&":
            return self.either(condition, lambda: self.value(node.right), lambda: self.b.const(0, 1))
        return self.either(condition, lambda: self.b.const(1, 1), lambda: self.value(node.right))

    def either(self, condition: Node, then: Callable[[], Node], otherwise: Callable[[], Node]) -> Node:
        """Both arms, each on its path, or the one that is known to be taken."""
        if condition.op == "const":
            return then() if condition.value else otherwise()
        before = self.state
        self._state = before.fork(condition)
        a, yes = then(), self.state
        self._state = before.fork(self.b.not_(condition))
        b, no = otherwise(), self.state
        self._state = self.paths.join([yes, no], before.path, [])
        return self.b.mux(condition, a, b)

    @abstractmethod
    def call(self, node: typed.Call) -> Node:
        """A function, inlined. Statements are the subclass's."""

    def _built_in(
        self,
        node: (
            typed.Read | typed.Peek | typed.Test | typed.Ready | typed.SelectPort | typed.Now | typed.Random | typed.Lookup
            | typed.Update
        ),
    ) -> Node:  # fmt: skip
        match node:
            case typed.Read(port=port):
                return self.ports.read(self.state, port, True)
            case typed.Peek(port=port):
                return self.ports.read(self.state, port, False)
            case typed.Test(port=port):
                return self.ports.test(port)
            case typed.Ready(type=kind):
                return self.ports.ready(kind.bits)
            case typed.SelectPort(ports=ports, index_to=to):
                region = self.memories.region(to, self.windows(to.steps)) if to else None
                token, index = self.ports.select(self.state, ports)
                if region is not None and to is not None:
                    self.memories.store(self.state, region, self.b.resize(index, to.type.bits))
                return token
            case typed.Now():
                return self.b.exact("choice", (), 64, name="now")
            case typed.Random():
                return self._random()
            case typed.Lookup():
                return self._lookup(node)
            case typed.Update(table=table, is_insert=is_insert, arguments=arguments):
                given = [self.value(argument) for argument in arguments]
                return self.b.exact("insert" if is_insert else "remove", given, node.type.bits, name=table.name)
            case _:
                assert_never(node)

    def _lookup(self, node: typed.Lookup) -> Node:
        """Whether a rule matches; the value, or 0, goes to its place."""
        key = self.value(node.key)
        region = self.memories.region(node.to, self.windows(node.to.steps)) if node.to else None
        bits = node.table.value.bits
        found = self.b.exact("lookup", (key,), 1 + bits, name=node.table.name)
        hit = self.b.extract(found, bits, 1)
        if region is not None:
            self.memories.store(self.state, region, self.b.extract(found, 0, bits))
        return hit

    def _random(self) -> Node:
        """xorshift32."""
        b = self.b
        x = self.state.values.get(RANDOM)
        x = x if x is not None else self.ports.register(RANDOM, "random_", RANDOM_WIDTH, self.element.seed)
        for op, distance in (("shl", 13), ("lshr", 17), ("shl", 5)):
            x = b.binary("xor", x, b.binary(op, x, b.const(distance, RANDOM_WIDTH)))
        self.state.values[RANDOM] = x
        return x
