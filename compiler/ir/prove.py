# SPDX-License-Identifier: Apache-2.0
"""Proves with Z3 that two transitions do the same for every state, input and choice. For tests of passes; not needed to compile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import z3

from compiler.ir.ir import ElementIr, Node, Put, Transition
from compiler.ir.operators import SOURCES
from compiler.ir.rewrite import order, roots

Terms = dict[Node, Any]

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
    "udiv": z3.UDiv, "urem": z3.URem, "sdiv": lambda a, b: z3.If(b == 0, z3.BitVecVal(-1, a.size()), a / b), "srem": z3.SRem,
    "eq": lambda a, b: _bit(a == b), "ult": lambda a, b: _bit(z3.ULT(a, b)), "slt": lambda a, b: _bit(a < b),
}  # fmt: skip
SHIFTS: dict[str, Callable[[Any, Any], Any]] = {"shl": lambda a, n: a << n, "lshr": z3.LShR, "ashr": lambda a, n: a >> n}


def _bit(condition: Any) -> Any:
    return z3.If(condition, z3.BitVecVal(1, 1), z3.BitVecVal(0, 1))


def _resized(term: Any, width: int) -> Any:
    return z3.ZeroExt(width - term.size(), term) if width > term.size() else term


def _term(element: ElementIr, node: Node, args: list[Any]) -> Any:
    if node.op == "const":
        return z3.BitVecVal(node.value, node.width)
    if node.op in SOURCES:
        return z3.BitVec(f"{node.op} {node.name}", node.width)
    if node.op in BINARY:
        return BINARY[node.op](*args)
    if node.op in SHIFTS:
        width = max(node.width, args[1].size())
        wide = z3.SignExt(width - node.width, args[0]) if node.op == "ashr" and width > node.width else _resized(args[0], width)
        return z3.Extract(node.width - 1, 0, SHIFTS[node.op](wide, _resized(args[1], width)))
    match node.op:
        case "read":
            return _entry(element, node.name, args[0])
        case "not":
            return ~args[0]
        case "mux":
            return z3.If(args[0] == 1, args[1], args[2])
        case "concat":
            return z3.Concat(*args) if len(args) > 1 else args[0]
        case "extract":
            return z3.Extract(node.low + node.width - 1, node.low, args[0])
        case "zext":
            return _resized(args[0], node.width)
        case "sext":
            return z3.SignExt(node.width - args[0].size(), args[0]) if node.width > args[0].size() else args[0]
    raise ValueError(node.op)


INDEX_WIDTH = 64


def _entry(element: ElementIr, name: str, index: Any) -> Any:
    """An entry of a memory as it was when the iteration began."""
    memory = element.memories[name]
    contents = z3.Function(f"memory {name}", z3.BitVecSort(INDEX_WIDTH), z3.BitVecSort(memory.width))
    wide = _resized(index, INDEX_WIDTH)
    return z3.If(z3.ULT(wide, memory.entries), contents(wide), z3.BitVecVal(0, memory.width))


def _terms(element: ElementIr, transition: Transition) -> Terms:
    terms: Terms = {}
    for node in order(roots(transition)):
        terms[node] = _term(element, node, [terms[arg] for arg in node.args])
    return terms


def _complete(element: ElementIr, transition: Transition, like: Transition) -> Transition:
    """What only the other one names, as it is by default."""
    zero, one = Node("const", (), 1), Node("const", (), 1, 1)
    ports = {port.name: port.width for port in element.outputs}
    registers = {**like.next, **transition.next}
    return replace(
        transition,
        needs={port: transition.needs.get(port, zero) for port in {**like.needs, **transition.needs}},
        takes={port: transition.takes.get(port, zero) for port in {**like.takes, **transition.takes}},
        any_of=transition.any_of or one,
        puts={p: transition.puts.get(p, Put(zero, Node("const", (), ports[p]))) for p in {**like.puts, **transition.puts}},
        next={name: transition.next.get(name, Node("register", (), node.width, name=name)) for name, node in registers.items()},
    )


def differences(element: ElementIr, before: Transition, after: Transition) -> list[str]:
    """What the two do differently, with an example each; nothing where they are equal. Messages and assertions are not compared."""
    first, second = _complete(element, before, after), _complete(element, after, before)
    a, b = _terms(element, first), _terms(element, second)
    claims: dict[str, Any] = {}
    for kind in ("needs", "takes", "next"):
        for name, node in getattr(first, kind).items():
            claims[f"{kind} {name}"] = a[node] == b[getattr(second, kind)[name]]
    assert first.any_of is not None and second.any_of is not None
    claims["any_of"] = a[first.any_of] == b[second.any_of]
    for port, put in first.puts.items():
        other = second.puts[port]
        same = z3.Implies(a[put.enable] == 1, a[put.data] == b[other.data])
        claims[f"put {port}"] = z3.And(a[put.enable] == b[other.enable], same)
    for name in sorted({write.memory for write in (*first.writes, *second.writes)}):
        claims[f"memory {name}"] = _contents(element, first, a, name) == _contents(element, second, b, name)
    if first.result is not None and second.result is not None:
        claims["result"] = a[first.result] == b[second.result]
    return [f"{name}: {model}" for name, claim in claims.items() if (model := _refuted(claim)) is not None]


def _contents(element: ElementIr, transition: Transition, terms: Terms, name: str) -> Any:
    """Any one entry behind the iteration."""
    at = z3.BitVec("any index", INDEX_WIDTH)
    value = _entry(element, name, at)
    inside = z3.ULT(at, element.memories[name].entries)
    for write in transition.writes:
        if write.memory == name:
            hit = z3.And(terms[write.enable] == 1, _resized(terms[write.index], INDEX_WIDTH) == at, inside)
            value = z3.If(hit, terms[write.data], value)
    return value


def _refuted(claim: Any) -> str | None:
    solver = z3.Solver()
    solver.set("timeout", 20_000)
    solver.add(z3.Not(claim))
    found = solver.check()
    if found == z3.unknown:
        return "not decided"
    return None if found == z3.unsat else str(solver.model())
