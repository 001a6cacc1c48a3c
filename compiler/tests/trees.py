# SPDX-License-Identifier: Apache-2.0
"""Typed trees by hand, for tests of what reads them: short names for the nodes, and the elements Count, Tee and Join."""

from __future__ import annotations

from typing import Any

from compiler.frontend import typed as t
from compiler.frontend.source import Source, Span

HERE = Span(Source("tree.sl", "tree"), 0, 4)


def struct(name: str, *fields: tuple[str, t.Type]) -> t.Struct:
    """A struct, first field highest."""
    low = sum(kind.bits for _, kind in fields)
    found = []
    for label, kind in fields:
        low -= kind.bits
        found.append(t.StructField(label, kind, low))
    return t.Struct(name, sum(kind.bits for _, kind in fields), tuple(found))


FLIT = struct(
    "flit_t",
    ("meta", t.Integer(139)),
    ("error", t.Integer(1)),
    ("eop", t.Integer(1)),
    ("sop", t.Integer(1)),
    ("empty", t.Integer(6)),
    ("data", t.Integer(512)),
)
U64, U32 = t.Integer(64), t.Integer(32)


def flit(data: int, sop: bool = False, eop: bool = False, empty: int = 0, error: bool = False) -> int:
    """A flit as a bit pattern."""
    return error << 520 | eop << 519 | sop << 518 | empty << 512 | data


def variable(name: str, kind: t.Type, is_state: bool = False) -> t.Variable:
    return t.Variable(name, kind, HERE, is_state)


def constant(value: int, kind: t.Type) -> t.Constant:
    return t.Constant(value, kind, HERE)


def place(of: t.Variable, *steps: t.Step) -> t.Place:
    return t.Place(of, steps, HERE)


def field(of: t.Variable, name: str) -> t.Place:
    assert isinstance(of.type, t.Struct)
    found = next(f for f in of.type.fields if f.name == name)
    return place(of, t.Slice(found.low, found.type))


def load(of: t.Variable | t.Place) -> t.Load:
    return t.Load(of if isinstance(of, t.Place) else place(of), HERE)


def assign(to: t.Variable | t.Place, value: t.Expression) -> t.Assign:
    return t.Assign(to if isinstance(to, t.Place) else place(to), value, HERE)


def add(left: t.Expression, right: t.Expression) -> t.Binary:
    assert isinstance(left.type, t.Integer)
    return t.Binary("+", left, right, left.type, HERE)


def equal(left: t.Expression, right: t.Expression) -> t.Binary:
    return t.Binary("==", left, right, t.BOOL, HERE)


def block(*statements: t.Statement) -> t.Block:
    return t.Block(statements)


def branch(condition: t.Expression, *then: t.Statement) -> t.If:
    return t.If(condition, block(*then), block(), HERE)


def packet_port(name: str, index: int, is_input: bool) -> t.Port:
    return t.Port(name, FLIT, index, is_input, True, HERE)


def port(name: str, kind: t.Type, index: int, is_input: bool) -> t.Port:
    return t.Port(name, kind, index, is_input, False, HERE)


def element(name: str, inputs: list[t.Port], outputs: list[t.Port], *handler: t.Statement, **more: Any) -> t.Element:
    """An element; `more` are the fields that are not empty."""
    given: dict[str, Any] = {
        **{"numbered": False, "states": (), "tables": (), "init": block(), "signals": (), "native": (), "seed": 1},
        **more,
    }
    return t.Element(
        name=name, source_name=name, inputs=tuple(inputs), outputs=tuple(outputs), handler=block(*handler), span=HERE, **given
    )


def count() -> t.Element:
    """Count of the paper: numbered ports, a mask, a signal."""
    one, out = packet_port("PORT_1", 0, True), packet_port("PORT_1", 0, False)
    total, x = variable("count", U64, is_state=True), variable("x", FLIT)
    mask = t.Return(constant(1, U32), HERE)
    return element(
        "Count",
        [one],
        [out],
        branch(t.Binary("!=", t.Ready(U32, HERE), constant(1, U32), t.BOOL, HERE), mask),
        assign(x, t.Read(one, HERE)),
        branch(load(field(x, "sop")), assign(total, add(load(total), constant(1, U64)))),
        t.Write(out, load(x), HERE),
        mask,
        numbered=True,
        states=(total,),
        init=block(assign(total, constant(0, U64))),
        signals=(t.Signal("", (variable("p", U64),), U64, block(t.SetSignal(load(total), HERE)), HERE),),
    )


def tee() -> t.Element:
    """One input to two outputs, in the named form."""
    source, a, b = packet_port("in", 0, True), packet_port("a", 0, False), packet_port("b", 1, False)
    x = variable("x", FLIT)
    return element("Tee", [source], [a, b], assign(x, t.Read(source, HERE)), t.Write(a, load(x), HERE), t.Write(b, load(x), HERE))


def join() -> t.Element:
    """Counts before it reads b, and reads b only where the token of a is odd: shows whether a waiting iteration leaves a trace."""
    a, b, out = port("a", U32, 0, True), port("b", U32, 1, True), port("out", U32, 0, False)
    tries, x = variable("tries", U32, is_state=True), variable("x", U32)
    odd = t.Part(load(x), t.Slice(0, t.BOOL), HERE)
    return element(
        "Join",
        [a, b],
        [out],
        assign(tries, add(load(tries), constant(1, U32))),
        assign(x, t.Read(a, HERE)),
        branch(odd, assign(x, add(load(x), t.Read(b, HERE)))),
        t.Write(out, load(x), HERE),
        states=(tries,),
    )
