# SPDX-License-Identifier: Apache-2.0
"""Forwards functions in place of values, so that a state may be written some stages (its lag) behind reading it at II = 1.

With a lag of n a read misses what the n iterations in front do; they are in the pipeline. They are functions of the state, whose
parameters (sums, limits, tables of next states) are known early: composed, and applied to what was read, they give the
state as it is when the iteration comes (look-ahead, Parhi and Messerschmitt 1989; forwarding over all stages in flight). Two kinds
of functions are closed under composition and small: choices among sums (`passes/piecewise.py`), and of a state of few bits the
table of its next values. Each composition is proved with Z3 for its instance before it is used.

A node `ahead` (of `value` n) is its argument's value in the iteration n slots in front; named `live` it is 1 bit, and 0 where that
slot holds no iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from compiler.ir.build import Builder
from compiler.ir.ir import MemoryWrite, Node, Put
from compiler.ir.operators import mask
from compiler.ir.prove import ASKED, is_bound, same_functions
from compiler.ir.rewrite import order, same
from compiler.passes.conditions import literals
from compiler.passes.multiplexers import assume
from compiler.passes.piecewise import NotPiecewise, Piecewise, Value
from compiler.passes.recurrences import substituted
from compiler.schedule.pipeline import Pipeline, effect_nodes, replaced

ASSUMED = 3  # operators inside a condition that the enable of an update decides
TABLE_BITS = 4  # of a state whose next values are computed for each present one
MOST_LIMITS = 8  # constants that are tried as the largest value of a state
TABLE, SUMS = "next values for every current value", "choices among sums"


Proof = Callable[[], bool]


@dataclass(frozen=True)
class _Update:
    """`enable` does not need the state; `index` neither, None of a register; `value`: the new one, a function of the state."""

    enable: Node
    index: Node | None
    value: Node


@dataclass(frozen=True)
class _Made:
    """Of a read: the state behind each of the iterations in front, as it is at last, and what each update makes of it."""

    steps: tuple[Node, ...]
    state: Node
    updates: tuple[Node, ...]


def forward(pipeline: Pipeline, name: str, lag: int, bounds: dict[str, int]) -> tuple[Pipeline, Proof]:
    """The same with this state written `lag` stages behind its read, and the proof of it. `bounds`: what states never exceed, as
    far as it was found before. Raises NotPiecewise."""
    states = [node for node in pipeline.nodes if node.op in ("register", "read") and node.name == name]
    if not states or pipeline.turns(name) > 1 or name in pipeline.lags or not _same_index(pipeline, name):
        raise NotPiecewise("the state is not read and written at a single index")
    b = Builder()
    for node in pipeline.nodes:
        b.adopt(node)
    needs = Piecewise(b, states, states[0], mask(states[0].width))
    updates = [_split(b, needs, states, *update) for update in _updates(pipeline, name)]
    functions = [update.value for update in updates]
    every = [*functions, *(write.data for write in _alone(pipeline, name))]
    _no_circle(states, functions)
    used = {node for node in order(functions) if node in states}
    asked = (node for node in order(functions) if node.op in ASKED and node not in states)
    if any(needs.is_late(node) for node in asked):
        raise NotPiecewise("a table or another state is read at an address that depends on this state")
    if len(used) > 1:
        raise NotPiecewise("the update needs several reads")
    first = next(iter(used), states[0])
    is_table = first.width <= TABLE_BITS
    if name not in bounds and not is_table:
        _refuse_early(states, functions)
        bounds[name] = _bound(pipeline, needs, states, name, every)
    bound = None if is_table else bounds[name]
    hits = {state: [[_hit(pipeline, b, update, state, n) for update in updates] for n in range(lag, 0, -1)] for state in states}
    made: dict[Node, _Made] = {}
    for state in states:
        pieces = Piecewise(b, states, state, mask(state.width) if bound is None else bound)
        made[state] = _table(b, states, state, updates, hits[state]) if is_table else _sums(pieces, updates, hits[state])
    values = made[first].updates
    _no_circle(states, [*values, *(each.state for each in made.values())])
    form = TABLE if is_table else SUMS
    return _with(pipeline, b, name, lag, form, {state: each.state for state, each in made.items()}, updates, values), lambda: all(
        same_functions(states, functions, bound, hits[state], each.steps, each.updates) for state, each in made.items()
    )


def _updates(pipeline: Pipeline, name: str) -> list[tuple[Node, Node | None, Node]]:
    """Enable, index and data of every write that may be in flight, in order."""
    if name in pipeline.next:
        return [(pipeline.next[name].enable, None, pipeline.next[name].data)]
    writes = zip(pipeline.writes, pipeline.alone, strict=True)
    return [(write.enable, write.index, write.data) for write, alone in writes if write.memory == name and not alone]


def _alone(pipeline: Pipeline, name: str) -> list[MemoryWrite]:
    """Those of signals behind which the pipeline is empty."""
    return [write for write, alone in zip(pipeline.writes, pipeline.alone, strict=True) if write.memory == name and alone]


def _same_index(pipeline: Pipeline, name: str) -> bool:
    """Whether every write depends only on what was read at its own index."""
    element = pipeline.element
    if name in element.registers:
        return True
    several = [signal for signal, more in zip(element.signals, pipeline.turns_more, strict=True) if not more]
    for transition in (element.handler, *several):
        for write in transition.writes:
            if write.memory != name:
                continue
            needed = [n for n in order([write.enable, write.data, write.index]) if n.op == "read" and n.name == name]
            if any(read.args[0] is not write.index for read in needed):
                return False
    return True


def _split(b: Builder, needs: Piecewise, states: Sequence[Node], enable: Node, index: Node | None, data: Node) -> _Update:
    """What of the enable needs the state becomes part of the value: then the old one is written."""
    if index is not None and needs.is_late(index):
        raise NotPiecewise("the index depends on the state")
    found = literals(enable, "and")
    free = [literal for literal in found if not needs.is_late(literal)]
    late = [literal for literal in found if needs.is_late(literal)]
    one = b.const(1, 1)
    if late:
        enable = b.and_(one, *free)
        reads = [node for node in order([*late, data]) if node in states]
        data = b.mux(b.and_(one, *late), data, reads[0])
    return _Update(enable, index, _given(b, needs, data, free))


def _given(b: Builder, needs: Piecewise, value: Node, conditions: Sequence[Node]) -> Node:
    """The value where the conditions hold."""
    made: dict[Node, Node] = {}
    for node in order([value]):
        if needs.is_late(node) and node.args and node.op != "read":
            b.span, b.label = node.span, node.label
            made[node] = same(b, node, [made[arg] for arg in node.args])
        else:
            made[node] = node
            for condition in conditions if node.width == 1 else ():
                made[node] = assume(b, made[node], condition, True, ASSUMED)
    return made[value]


def _refuse_early(states: Sequence[Node], functions: Sequence[Node]) -> None:
    """Raises NotPiecewise for what is no choice among sums whatever its bound: to find one takes seconds."""
    pieces = Piecewise(Builder(), states, states[0], 0)  # where nothing wraps, least is refused
    for function in functions:
        pieces.apply(function, pieces.identity(), lambda node: node)


def _bound(pipeline: Pipeline, needs: Piecewise, states: Sequence[Node], name: str, functions: Sequence[Node]) -> int:
    """What the state never exceeds: a constant of its updates that none of them exceeds, if it did not before."""
    if name in pipeline.element.registers:
        reset = pipeline.element.registers[name].reset
    else:
        reset = max(pipeline.element.memories[name].reset.values(), default=0)
    most = mask(states[0].width)
    nodes = [arg for node in order(functions) if needs.is_late(node) for arg in node.args]
    limits = sorted({n.value for n in (*nodes, *functions) if n.op == "const" and reset <= n.value < most and n.width > 1})
    return next((limit for limit in limits[:MOST_LIMITS] if is_bound(states, functions, limit)), most)


def _hit(pipeline: Pipeline, b: Builder, update: _Update, state: Node, n: int) -> Node:
    """Whether the iteration n in front updates what this one reads."""
    live = b.exact("ahead", (update.enable,), 1, value=n, name="live")
    if update.index is None:
        return live
    own, entries = state.args[0], pipeline.element.memories[state.name].entries
    width = max(own.width, update.index.width)
    hit = b.and_(live, b.eq(b.zext(_ahead(b, n, update.index), width), b.zext(own, width)))
    if entries < 1 << own.width:
        hit = b.and_(hit, b.make("ult", (own, b.const(entries, own.width)), 1))
    return hit


def _ahead(b: Builder, n: int, node: Node) -> Node:
    return node if node.op == "const" or n == 0 else b.exact("ahead", (node,), node.width, value=n)


# Forms


def _sums(pieces: Piecewise, updates: Sequence[_Update], hits: Sequence[Sequence[Node]]) -> _Made:
    functions = [pieces.node(pieces.apply(update.value, pieces.identity(), lambda node: node)) for update in updates]
    value: Value = pieces.identity()
    steps = list[Node]()
    for n, hit in zip(range(len(hits), 0, -1), hits, strict=True):
        before = value
        for function, is_hit in zip(functions, hit, strict=True):
            value = pieces.choice(is_hit, pieces.apply(function, before, partial(_ahead, pieces.b, n)), value)
        steps.append(pieces.node(value))
    made = [pieces.node(pieces.apply(function, value, lambda node: node)) for function in functions] if hits else functions
    return _Made(tuple(steps), pieces.node(value), tuple(made))


def _table(b: Builder, states: Sequence[Node], state: Node, updates: Sequence[_Update], hits: Sequence[Sequence[Node]]) -> _Made:
    every = range(1 << state.width)
    reads = [next((n for n in order([update.value]) if n in states), state) for update in updates]
    tables = [[substituted(b, read, update.value, x) for x in every] for read, update in zip(reads, updates, strict=True)]
    values = [b.const(x, state.width) for x in every]
    steps = list[Node]()
    for n, hit in zip(range(len(hits), 0, -1), hits, strict=True):
        before = values
        for table, is_hit in zip(tables, hit, strict=True):
            earlier = [_ahead(b, n, entry) for entry in table]
            values = [b.mux(is_hit, b.select(x, earlier), y) for x, y in zip(before, values, strict=True)]
        steps.append(b.select(state, values))
    made = [b.select(state, [b.select(x, table) for x in values]) for table in tables]
    return _Made(tuple(steps), b.select(state, values), tuple(made))


# Together


def _no_circle(states: Sequence[Node], nodes: Sequence[Node]) -> None:
    """What an earlier iteration passes on must not need the state itself."""
    for node in order(nodes):
        if node.op == "ahead" and any(below in states for below in order(node.args)):
            raise NotPiecewise("two states depend on each other")


def _with(
    pipeline: Pipeline,
    b: Builder,
    name: str,
    lag: int,
    form: str,
    states: dict[Node, Node],
    updates: Sequence[_Update],
    values: Sequence[Node],
) -> Pipeline:
    """The pipeline in which everything uses what was made; `states`: what stands for each read."""
    new = dict(states)
    olds = _updates(pipeline, name)
    for (_, _, data), update, value in zip(olds, updates, values, strict=True):
        if update.value is data and data not in states:
            new[data] = value
    changed = set(states)
    for node in pipeline.nodes:
        if any(arg in changed for arg in node.args):
            changed.add(node)
        if node in changed and node not in new:
            b.span, b.label = node.span, node.label
            args = [new.get(arg, arg) for arg in node.args]
            new[node] = (
                b.exact("ahead", args, node.width, value=node.value, name=node.name) if node.op == "ahead" else same(b, node, args)
            )

    def renew(node: Node) -> Node:
        return new.get(node, node)

    result = replaced(pipeline, renew)
    if name in pipeline.next:
        result = replace(result, next={**result.next, name: Put(updates[0].enable, values[0])})
    else:
        own = iter(zip(updates, values, strict=True))
        writes = []
        for write, alone in zip(result.writes, pipeline.alone, strict=True):
            if write.memory == name and not alone:
                update, value = next(own)
                assert update.index is not None
                write = MemoryWrite(name, update.enable, update.index, value)
            writes.append(write)
        result = replace(result, writes=tuple(writes))
    nodes = tuple(order(effect_nodes(result)))
    return replace(result, nodes=nodes, lags={**result.lags, name: lag}, forms={**result.forms, name: form})
