# SPDX-License-Identifier: Apache-2.0
"""Proves with Z3 that two transitions do the same for every state, input and choice, for tests of passes; and that composed updates
of a state do what they do one behind the other, for each that `schedule/forward.py` uses."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import z3

from compiler.ir.ir import ElementIr, Node, Put, Transition
from compiler.ir.operators import SOURCES, mask
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
    if node.op in ("lookup", "insert", "remove", "place"):  # of rules and flows that may be any
        sorts = [*(z3.BitVecSort(arg.size()) for arg in args), z3.BitVecSort(node.width)]
        return z3.Function(f"{node.op} {node.name} {node.value}", *sorts)(*args)
    return _entry(element, node.name, args[0]) if node.op == "read" else _operator(node, args)


def _operator(node: Node, args: list[Any]) -> Any:
    if node.op in BINARY:
        return BINARY[node.op](*args)
    if node.op in SHIFTS:
        width = max(node.width, args[1].size())
        wide = z3.SignExt(width - node.width, args[0]) if node.op == "ashr" and width > node.width else _resized(args[0], width)
        return z3.Extract(node.width - 1, 0, SHIFTS[node.op](wide, _resized(args[1], width)))
    match node.op:
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
    claims["questions"] = z3.BoolVal(len(first.places) == len(second.places))
    for n, (asked, again) in enumerate(zip(first.places, second.places, strict=False)):
        given = [a[x] == b[y] for x, y in zip(asked.args[1:], again.args[1:], strict=True)]
        claims[f"question {n}"] = z3.And(a[asked.args[0]] == b[again.args[0]], z3.Implies(a[asked.args[0]] == 1, z3.And(*given)))
    if first.result is not None and second.result is not None:
        claims["result"] = a[first.result] == b[second.result]
    return [f"{name}: {model}" for name, claim in claims.items() if (model := _refuted(claim)) is not None]


def follows(element: ElementIr, where: Sequence[Node], a: Node, b: Node, effort: int) -> bool:
    """Whether two values are equal, for every state and input where the bits of `where` are 1. `effort`: after which it counts as
    not proved, in Z3's units of resources."""
    terms: Terms = {}
    for node in order([a, b, *where]):
        terms[node] = _term(element, node, [terms[arg] for arg in node.args])
    return bool(_solver(effort, *(terms[bit] == 1 for bit in where), terms[a] != terms[b]).check() == z3.unsat)


def _solver(effort: int, *claims: Any) -> Any:
    """With a context of its own: in the common one, what was proved before decides how much effort the next proof takes."""
    context = z3.Context()
    solver = z3.Solver(ctx=context)
    solver.set("rlimit", effort)
    solver.add(*(claim.translate(context) for claim in claims))
    return solver


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


# Composed updates

ASKED = frozenset({"read", "lookup", "place"})  # what a memory or a table says can be anything
SIMPLE = frozenset({"const", "zext", "sext", "not", "and", "or", "xor", "mux", "add", "sub", "eq", "ult", "slt"})
DEPTH = 5  # simple operators below an argument of a function that are looked into; what is below can have any value
PATIENCE = 10.0  # s of the processor, for what Z3 does not count as effort
EFFORT = 3_000_000  # of a proof, in Z3's units of resources, so that the result is always the same


class _Functions:
    """Functions of a state as terms; what else they need can have any value. As bits here."""

    def __init__(self, states: Sequence[Node], functions: Sequence[Node], known: Sequence[Node] = ()) -> None:
        self.states, self.open = set(states), _cut(states, functions) | set(known)
        self.numbers: dict[Node, int] = {}
        self.facts: list[Any] = []
        self.x = self.any("state", states[0].width)

    def term(self, root: Node, slots: int, x: Any) -> Any:
        """Of the iteration so many slots in front, x being the state."""
        done: dict[tuple[Node, int], Any] = {}
        todo = [(root, slots)]
        while todo:
            at = todo[-1]
            node, shift = at
            below = shift + node.value if node.op == "ahead" else shift
            if at in done:
                todo.pop()
            elif node in self.states:
                done[at] = x
            elif node in self.open or node.op in ASKED or (not node.args and node.op != "const"):
                done[at] = self.any(f"{self.numbers.setdefault(node, len(self.numbers))} {shift}", node.width)
            elif unknown := [(arg, below) for arg in node.args if (arg, below) not in done]:
                todo += unknown
            else:
                args = [done[arg, below] for arg in node.args]
                done[at] = args[0] if node.op == "ahead" else self.operator(node, args)
        return done[root, slots]

    def any(self, name: str, width: int) -> Any:
        """A variable."""
        return z3.BitVec(name, width)

    def operator(self, node: Node, args: list[Any]) -> Any:
        """A node of its arguments."""
        return z3.BitVecVal(node.value, node.width) if node.op == "const" else _operator(node, args)

    def at_most(self, term: Any, bound: int) -> Any:
        """term <= bound."""
        return z3.ULE(term, bound)

    def holds(self, claims: Sequence[Any], bound: int) -> bool:
        """All of them, while the state is not more than `bound`."""
        self.facts.append(self.at_most(self.x, bound))
        return all(self._holds(claim) for claim in claims)

    def _holds(self, claim: Any) -> bool:
        solver = _solver(EFFORT, *self.facts, z3.Not(claim))
        done = threading.Event()
        watch = threading.Thread(target=self._watch, args=(solver, done), daemon=True)
        watch.start()
        found = solver.check()
        done.set()
        watch.join()
        return bool(found == z3.unsat)

    def _watch(self, solver: Any, done: threading.Event) -> None:
        begin = time.process_time()
        while not done.wait(0.05):
            if time.process_time() - begin > PATIENCE:
                solver.interrupt()
                return


class _Sums(_Functions):
    """As integers: sums and comparisons of them are proved faster so than bit by bit."""

    def any(self, name: str, width: int) -> Any:
        variable = z3.Int(name)
        self.facts += [variable >= 0, variable < 1 << width]
        return variable

    def at_most(self, term: Any, bound: int) -> Any:
        return term <= bound

    def operator(self, node: Node, args: list[Any]) -> Any:
        whole, bits = 1 << node.width, node.args[0].width if node.args else 0
        match node.op:
            case "const":
                return z3.IntVal(node.value)
            case "zext":
                return args[0]
            case "mux":
                return z3.If(args[0] == 1, args[1], args[2])
            case "add" | "sub":
                total = args[0] + args[1] if node.op == "add" else args[0] - args[1]
                return z3.If(total >= whole, total - whole, z3.If(total < 0, total + whole, total))
            case "not":
                return whole - 1 - args[0]
            case "eq":
                return z3.If(args[0] == args[1], 1, 0)
            case "ult":
                return z3.If(args[0] < args[1], 1, 0)
            case "slt":
                low = [_signed(arg, bits) for arg in args]
                return z3.If(low[0] < low[1], 1, 0)
            case "sext":
                return z3.If(args[0] >= 1 << (bits - 1), args[0] + whole - (1 << bits), args[0])
            case "extract":
                high = args[0] / (1 << node.low) if node.low else args[0]
                return high if node.low + node.width == bits else high % whole
            case "concat":
                total = args[0]
                for part, arg in zip(node.args[1:], args[1:], strict=True):
                    total = total * (1 << part.width) + arg
                return total
            case "and" | "or" | "xor" if node.width == 1:
                return z3.If(LOGIC[node.op](args[0] == 1, args[1] == 1), 1, 0)
        return z3.BV2Int(_operator(node, [z3.Int2BV(arg, of.width) for arg, of in zip(args, node.args, strict=True)]))


LOGIC = {"and": z3.And, "or": z3.Or, "xor": z3.Xor}


def _signed(term: Any, bits: int) -> Any:
    return z3.If(term >= 1 << (bits - 1), term - (1 << bits), term)


def same_functions(
    states: Sequence[Node],
    functions: Sequence[Node],
    bound: int | None,
    hits: Sequence[Sequence[Node]],
    steps: Sequence[Node],
    made: Sequence[Node],
) -> bool:
    """Whether `steps` are any of `states` behind each of the earlier iterations, and `made` are the functions of the last of them.

    `hits`: of the earliest iteration first, for each function whether that iteration applied it; the last one is 1 slot in front.
    `bound`: the largest value of `states`, where functions are sums and comparisons."""
    kind = _Functions if bound is None else _Sums
    terms = kind(states, functions, [hit for row in hits for hit in row])
    value = terms.x
    claims = []
    for n, row, step in zip(range(len(hits), 0, -1), hits, steps, strict=True):
        before = after = value
        for function, hit in zip(functions, row, strict=True):
            after = z3.If(terms.term(hit, 0, terms.x) == 1, terms.term(function, n, before), after)
        value = terms.term(step, 0, terms.x)
        claims.append(value == after)
    claims += [terms.term(new, 0, terms.x) == terms.term(function, 0, value) for function, new in zip(functions, made, strict=True)]
    return terms.holds(claims, mask(states[0].width) if bound is None else bound)


def is_bound(states: Sequence[Node], functions: Sequence[Node], bound: int) -> bool:
    """Whether no function exceeds the bound where the state does not."""
    terms = _Sums(states, functions)
    return terms.holds([terms.at_most(terms.term(function, 0, terms.x), bound) for function in functions], bound)


def _cut(states: Sequence[Node], functions: Sequence[Node]) -> set[Node]:
    """Nodes that are left open: what the functions need beside the state, some operators below them."""
    late = set(states)
    level: dict[Node, int] = {}
    for node in order(functions):
        if any(arg in late for arg in node.args) and node.op != "ahead":
            late.add(node)
            level |= dict.fromkeys(node.args, 0)
    cut: set[Node] = set()
    todo = [node for node in level if node not in late]
    while todo:
        node = todo.pop(0)
        if node.op not in SIMPLE or level[node] >= DEPTH:
            cut.add(node)
            continue
        for arg in node.args:
            if arg not in level:
                level[arg] = level[node] + 1
                todo.append(arg)
    return cut
