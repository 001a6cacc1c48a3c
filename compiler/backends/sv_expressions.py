# SPDX-License-Identifier: Apache-2.0
"""Names, constants and IR nodes in SystemVerilog; widths are exact, so nothing is extended or cut by accident."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain, count

from compiler.ir.ir import Node

INFIX = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^", "eq": "==", "ult": "<"}


def literal(value: int, width: int) -> str:
    """A sized constant."""
    return f"{width}'d{value}" if value < 10 else f"{width}'h{value:x}"


def expression(node: Node, args: Sequence[str]) -> str:
    """The value of `node`, its arguments being the names `args`."""
    match node.op:
        case "add" | "sub" | "mul" | "and" | "or" | "xor" | "eq" | "ult":
            return f"{args[0]} {INFIX[node.op]} {args[1]}"
        case "slt":
            return f"$signed({args[0]}) < $signed({args[1]})"
        case "not":
            return f"~{args[0]}"
        case "mux":
            return f"{args[0]} ? {args[1]} : {args[2]}"
        case "concat":
            return f"{{{', '.join(args)}}}"
        case "extract":
            return _extract(node, args[0])
        case "zext" | "sext":
            return _extend(node, args[0])
        case "shl":
            return f"{args[0]} << {args[1]}"
        case "lshr":
            return f"{args[0]} >> {args[1]}"
        case "ashr":
            return f"$unsigned($signed({args[0]}) >>> {args[1]})"
        case "udiv":
            return f"{args[1]} == '0 ? '1 : {args[0]} / {args[1]}"
        case "urem":
            return f"{args[1]} == '0 ? {args[0]} : {args[0]} % {args[1]}"
        case "sdiv":
            quotient = f"$unsigned($signed({args[0]}) / $signed({args[1]}))"
            return f"{args[1]} == '0 ? '1 : {args[1]} == '1 ? -{args[0]} : {quotient}"
        case "srem":
            remainder = f"$unsigned($signed({args[0]}) % $signed({args[1]}))"
            return f"{args[1]} == '0 ? {args[0]} : {args[1]} == '1 ? '0 : {remainder}"
    raise ValueError(f"no expression for {node.op}")


def _extract(node: Node, name: str) -> str:
    if node.args[0].width == node.width:
        return name
    high = node.low + node.width - 1
    return f"{name}[{high}]" if node.width == 1 else f"{name}[{high}:{node.low}]"


def _extend(node: Node, name: str) -> str:
    source = node.args[0].width
    if source == node.width:
        return name
    if node.op == "zext":
        return f"{{{node.width - source}'d0, {name}}}"
    sign = name if source == 1 else f"{name}[{source - 1}]"
    return f"{{{{{node.width - source}{{{sign}}}}}, {name}}}"


def is_one(node: Node) -> bool:
    """Whether it is the constant 1."""
    return node.op == "const" and node.value == 1


def widened(name: str, width: int, wanted: int) -> str:
    """A value of `width` bits as one of `wanted`, which are not fewer."""
    return name if width == wanted else f"{{{wanted - width}'d0, {name}}}"


def register_names(states: Iterable[str], taken: Iterable[str]) -> dict[str, str]:
    """The flip-flops of each state: its name in the source, with a number where the module has that name for something else."""
    names: dict[str, str] = {}
    used = set(taken)
    for state in states:
        base = re.sub(r"\W+", "_", state).strip("_")
        tries = chain([f"{base}_q"], (f"{base}_{n}_q" for n in count(2)))
        names[state] = next(name for name in tries if name not in used)
        used.add(names[state])
    return names
