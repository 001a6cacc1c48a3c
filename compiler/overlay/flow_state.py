# SPDX-License-Identifier: Apache-2.0
"""An element with flow state as a function of a packet and the state of one flow.

The methods of its flow table become others, on states of one flow instead of a table: whether the flow is there and its value, and
with which key and time a packet asks. Who reads the lowered handler then knows what becomes of the flow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from compiler.frontend import typed
from compiler.frontend.source import Span
from compiler.ir.states import Layout, RegisterLeaf
from compiler.overlay.bits import OverlayError

HIT, VALUE, USED, INSERTED, DIFFERS, KEY, TIME = "hit", "value", "used", "inserted", "differs", "key", "time"
KEPT = (HIT, VALUE)  # from packet to packet; the others say what a packet asked for
LEAVES = (typed.Integer, typed.Struct, typed.Array, typed.Variable, typed.Port, typed.Table, Span)


@dataclass(frozen=True)
class FlowState:
    """The states of one flow: registers by what they hold; those of the value by their place in it."""

    table: typed.FlowTable
    registers: Mapping[str, tuple[RegisterLeaf, ...]]

    @property
    def names(self) -> frozenset[str]:
        return frozenset(leaf.name for leaves in self.registers.values() for leaf in leaves)


def of_one_flow(element: typed.Element) -> tuple[typed.Element, FlowState | None]:
    """The element on the state of one flow; as it is if it has no flow table. Raises OverlayError."""
    if not element.flows:
        return element, None
    if len(element.flows) > 1:
        hint = "a stateful unit has one flow table: keep what belongs to a flow under one key, or use --target cpu or sim"
        raise OverlayError("E0807", f"a second flow table: {element.flows[1].name}", element.flows[1].span, hint)
    (table,) = element.flows
    if not table.evicts:
        hint = "a stateful unit gives a new flow the place of an older one: evict = true"
        raise OverlayError("E0807", f"insert() of '{table.name}' can fail", table.span, hint)
    kinds = {HIT: typed.BOOL, VALUE: table.value, USED: typed.BOOL, INSERTED: typed.BOOL, DIFFERS: typed.BOOL}
    kinds |= {KEY: table.key, TIME: typed.Integer(64)}
    states = {name: typed.Variable(f"{table.name}__{name}", kind, table.span, True) for name, kind in kinds.items()}
    methods = {function: _Method(states, function).made(name) for name, function in table.methods.items() if name in METHODS}
    handler = _exchanged(element.handler, methods)
    others = tuple(state for state in element.states if state is not table.state and state not in element.placement)
    changed = replace(element, handler=handler, states=(*states.values(), *others), flows=())
    layout = Layout(changed.states, None)
    for name, state in states.items():
        if layout.memories[state]:
            hint = "integers, enums and structs of them"
            raise OverlayError("E0807", f"the {name} of '{table.name}' contains an array", table.span, hint)
    return changed, FlowState(table, {name: tuple(layout.registers[state]) for name, state in states.items()})


METHODS = ("find", "insert", "remove")


class _Method:
    """A method of a flow table, on the states of one flow."""

    def __init__(self, states: Mapping[str, typed.Variable], function: typed.Function) -> None:
        self.states, self.function, self.span = states, function, function.span
        self.parameters = {parameter.name: self._load(parameter) for parameter in function.parameters}

    def made(self, name: str) -> typed.Function:
        assert self.function.result is not None
        body = {"find": self._find, "insert": self._insert, "remove": self._remove}[name]()
        return replace(self.function, body=typed.Block((*self._asked(name != "remove"), *body)))

    def _asked(self, ages: bool) -> list[typed.Statement]:
        """Key and time of the packet; whether it asks with two keys."""
        key, used = self._load(self.states[KEY]), self._load(self.states[USED])
        other = typed.Binary("!=", key, self.parameters["key"], typed.BOOL, self.span)
        differs = typed.Logical("||", self._load(self.states[DIFFERS]), typed.Logical("&&", used, other, self.span), self.span)
        found = [self._assign(DIFFERS, differs), self._assign(KEY, self.parameters["key"]), self._assign(USED, self._bool(True))]
        return [*found, *([self._assign(TIME, self.parameters["time"])] if ages else [])]

    def _find(self) -> list[typed.Statement]:
        kind = self.function.result
        assert kind is not None
        parts = (self._load(self.states[HIT]), self._load(self.states[VALUE]))
        return [typed.Return(typed.Pack(parts, kind, self.span), self.span)]

    def _insert(self) -> list[typed.Statement]:
        changes = [self._assign(VALUE, self.parameters["value"]), self._assign(HIT, self._bool(True))]
        return [*changes, self._assign(INSERTED, self._bool(True)), typed.Return(self._bool(True), self.span)]

    def _remove(self) -> list[typed.Statement]:
        was_there = typed.Variable("was_there", typed.BOOL, self.span)
        keeps = typed.Assign(typed.Place(was_there, (), self.span), self._load(self.states[HIT]), self.span)
        zero = typed.Constant(0, self.states[VALUE].type, self.span)
        changes = [self._assign(VALUE, zero), self._assign(HIT, self._bool(False))]
        return [keeps, *changes, typed.Return(self._load(was_there), self.span)]

    def _load(self, variable: typed.Variable) -> typed.Load:
        return typed.Load(typed.Place(variable, (), self.span), self.span)

    def _assign(self, name: str, value: typed.Expression) -> typed.Assign:
        return typed.Assign(typed.Place(self.states[name], (), self.span), value, self.span)

    def _bool(self, value: bool) -> typed.Constant:
        return typed.Constant(int(value), typed.BOOL, self.span)


def _exchanged(node: Any, methods: dict[typed.Function, typed.Function]) -> Any:
    """The tree with other functions, those that call them included."""
    if isinstance(node, tuple):
        items = tuple(_exchanged(part, methods) for part in node)
        return items if any(new is not old for new, old in zip(items, node, strict=True)) else node
    if not is_dataclass(node) or isinstance(node, LEAVES):
        return node
    if isinstance(node, typed.Function) and node in methods:
        return methods[node]
    parts = {field.name: getattr(node, field.name) for field in fields(node)}
    changed = {name: new for name, old in parts.items() if (new := _exchanged(old, methods)) is not old}
    made: Any = replace(node, **changed) if changed else node  # type: ignore[type-var]
    if isinstance(node, typed.Function):
        methods[node] = made
    return made
