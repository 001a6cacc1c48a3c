# SPDX-License-Identifier: Apache-2.0
"""What `typed.py` promises about types and bits, checked on a tree: for tests, and for whoever builds such trees."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

from compiler.frontend import tables, typed
from compiler.frontend.source import Span

COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
LEAVES = (typed.Variable, typed.Port, typed.Table, typed.Integer, typed.Struct, typed.Array, Span, str, int, bool, type(None))


class Broken(Exception):
    """A promise that the tree does not keep."""


def verify(program: typed.Program) -> None:
    """Raises `Broken` with the place and the node."""
    for element in program.elements:
        seen: set[typed.Function] = set()
        for block in (element.init, element.handler, *(signal.body for signal in element.signals)):
            _walk(block, seen)
    names = [instance.name for instance in program.instances]
    _must(len(names) == len(set(names)), names)
    instances = {instance.name: instance.element for instance in program.instances}
    for channel in program.channels:
        for end, is_source in ((channel.source, True), (channel.target, False)):
            if end.instance:
                port = (instances[end.instance].outputs if is_source else instances[end.instance].inputs)[end.port]
                _must((port.type, port.is_packet) == (channel.type, channel.is_packet), channel)


def _must(holds: bool, node: object) -> None:
    if not holds:
        raise Broken(f"{getattr(node, 'span', '')}: {node}")


def _walk(node: object, seen: set[typed.Function]) -> None:
    if isinstance(node, LEAVES):
        return
    if isinstance(node, tuple):
        for part in node:
            _walk(part, seen)
        return
    if isinstance(node, typed.Function):
        if node not in seen:
            seen.add(node)
            _walk(node.body, seen)
        return
    _check(node)
    if is_dataclass(node):
        for part in fields(node):
            _walk(getattr(node, part.name), seen)


def _check(node: object) -> None:
    match node:
        case typed.Place(variable=variable, steps=steps):
            _steps(variable.type, steps, node)
        case typed.Part(operand=operand, step=step):
            _steps(operand.type, (step,), node)
        case typed.Constant(value=value, type=kind):
            _must(0 <= value < 1 << kind.bits, node)
        case typed.Pack(parts=parts, type=kind):
            _must(sum(part.type.bits for part in parts) == kind.bits, node)
        case typed.Unary(operator=operator, operand=operand, type=kind):
            _must(operand.type == kind and (operator != "!" or kind == typed.BOOL), node)
        case typed.Binary():
            _binary(node)
        case typed.Logical(left=left, right=right):
            _must(left.type == right.type == typed.BOOL, node)
        case typed.Conditional(condition=condition, then=then, otherwise=otherwise, type=kind):
            _must(condition.type == typed.BOOL and then.type == otherwise.type == kind, node)
        case typed.Cast(operand=operand, type=kind):
            integers = isinstance(kind, typed.Integer) and isinstance(operand.type, typed.Integer)
            _must(integers or kind.bits == operand.type.bits, node)
        case typed.Call(function=function, arguments=arguments):
            _must([a.type for a in arguments] == [p.type for p in function.parameters], node)
        case typed.Assign(place=place, value=value):
            _must(place.type == value.type, node)
        case typed.If(condition=condition) | typed.Check(condition=condition):
            _must(condition.type == typed.BOOL, node)
        case typed.Loop(condition=condition, bound=bound):
            _must(condition.type == typed.BOOL and bound >= 1, node)
        case typed.Write(port=port, value=value):
            _must(port.type == value.type and not port.is_input, node)
        case typed.Read(port=port) | typed.Peek(port=port) | typed.Test(port=port):
            _must(port.is_input, node)
        case typed.Lookup(table=table, key=key, to=to):
            _must(key.type == table.key and (to is None or to.type == table.value), node)
        case typed.Update(table=table, is_insert=is_insert, arguments=arguments):
            _must([a.type for a in arguments] == [kind for _, kind in tables.arguments(table, is_insert)], node)
        case typed.Print(text=text, arguments=arguments):
            _must(text.count("{}") == len(arguments), node)


def _binary(node: typed.Binary) -> None:
    left, right = node.left.type, node.right.type
    if node.operator in ("<<", ">>"):
        _must(isinstance(right, typed.Integer) and not right.signed and left == node.type, node)
    elif node.operator in COMPARISONS:
        _must(left == right and node.type == typed.BOOL, node)
    else:
        _must(left == right == node.type, node)


def _steps(kind: typed.Type, steps: tuple[typed.Step, ...], node: object) -> None:
    for step in steps:
        if isinstance(step, typed.Slice):
            _must(step.low >= 0 and step.low + step.type.bits <= kind.bits, node)
        else:
            _must(step.count >= 1 and step.count * step.type.bits <= kind.bits, node)
            _must(isinstance(step.index.type, typed.Integer) and not step.index.type.signed, node)
        _must(not step.swap or step.type.bits % 8 == 0, node)
        kind = step.type
