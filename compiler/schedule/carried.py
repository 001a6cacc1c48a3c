# SPDX-License-Identifier: Apache-2.0
"""How values come from the stage that computes them to those that need them: through registers, one a stage, or, over many stages,
through delay lines in LUT RAM (`sl_delay_line`). The pipeline never stalls, so both are free to move in every cycle.

A value is carried from one stage in which it is needed to the next. Values that are carried over the same stages share a line. A
wide value of which stages on the way need a few bits (the headers of a flit) is carried past them, and these bits beside it
(`sliced`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from compiler.ir.ir import Node
from compiler.passes.placing import ENABLE, SET
from compiler.schedule.schedule import Schedule, latency

LEAST_STAGES = 4  # of a line
LINE_COST = 2  # of a bit in a line, in registers: the one behind it, and a share of the LUT RAM
LEAST_BITS = 16  # of a line: less is cheaper in registers


@dataclass(frozen=True)
class Line:
    """What these values have in stage `first` they have again in stage `last`."""

    first: int
    last: int
    nodes: tuple[Node, ...]

    @property
    def bits(self) -> int:
        return sum(node.width for node in self.nodes)


@dataclass(frozen=True)
class Carried:
    """`needed`: of each value, the stages in which something takes it, behind its own; `there`: in which it is, its own the first;
    `steps`: of each stage, which values a register takes to the next one."""

    needed: dict[Node, list[int]]
    there: dict[Node, list[int]]
    steps: dict[int, list[Node]] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)

    @property
    def register_bits(self) -> int:
        """Bits of the registers between stages, those behind lines included."""
        return sum(node.width for nodes in self.steps.values() for node in nodes) + sum(line.bits for line in self.lines)

    @property
    def line_bits(self) -> int:
        """Bits that lines hold."""
        return sum(line.bits * (line.last - line.first - 1) for line in self.lines)


def taken(plan: Schedule, node: Node, argument: int = 0) -> int:
    """The stage in which a node takes an argument, by its number."""
    return plan.stage[node] - latency(plan.pipeline, node, argument)


def effects(plan: Schedule) -> Iterator[tuple[Node, int]]:
    """What leaves the pipeline, or changes a state, and in which stage."""
    pipeline = plan.pipeline
    for port, put in pipeline.puts.items():
        yield put.enable, plan.port[port]
        yield put.data, plan.port[port]
    for name, put in pipeline.next.items():
        yield put.enable, plan.register[name]
        yield put.data, plan.register[name]
    read = dict.fromkeys(node.name for node in pipeline.nodes if node.op == "read")
    early = {name for name in read if has_early_index(plan, name)}
    for write, slot in zip(pipeline.writes, pipeline.slots, strict=True):
        stage = plan.memory[write.memory] + slot
        yield write.enable, stage
        yield write.index, stage - (write.memory in early)
        yield write.data, stage
    for name in read:
        for kind in pipeline.chosen_by(name):
            yield kind, kind_taken(plan, name)
    for message in pipeline.messages:
        for node in (message.enable, *message.arguments):
            yield node, plan.other[("message",)]
    for assertion in pipeline.assertions:
        for node in (assertion.enable, assertion.condition):
            yield node, plan.other[("message",)]
    if pipeline.result is not None:
        yield pipeline.result, plan.other[("result",)]
    for place in _choosing(plan):
        yield place.args[ENABLE], taken(plan, place, SET)


def has_early_index(plan: Schedule, memory: str) -> bool:
    """Whether it is known a stage before a memory is written at which index: then it is compared there with those of the reads."""
    pipeline, stage = plan.pipeline, plan.memory.get(memory, 0)
    numbers = [number for number, write in enumerate(pipeline.writes) if write.memory == memory]
    indices = [pipeline.writes[number].index for number in numbers]
    is_one = len(numbers) == 1 or len(pipeline.chosen_by(memory)) == len(numbers) - 1
    at_once = is_one and not any(pipeline.alone[number] or pipeline.slots[number] for number in numbers)
    return at_once and stage > 0 and all(index.op == "const" or plan.stage[index] < stage for index in indices)


def kind_taken(plan: Schedule, memory: str) -> int:
    """The stage in which the kind is taken that chooses what is written: one early, into a register for each memory."""
    return max(0, plan.memory[memory] - 1)


def _choosing(plan: Schedule) -> Iterator[Node]:
    """The questions of flow tables by whose enable it is chosen whose set enters: none where all sets are the same."""
    asked = [place for kind in plan.pipeline.places for place in kind]
    for name in plan.pipeline.element.flows:
        places = [place for place in asked if place.name == name]
        sets = [(place.args[SET], place.args[SET].op != "const" and taken(plan, place, SET)) for place in places]
        others = [number for number, given in enumerate(sets) if given != sets[-1]]
        yield from places[: max(others, default=-1) + 1]


def sliced(plan: Schedule) -> Schedule:
    """The same with the bits of wide values taken in the value's own stage, where carrying them by themselves costs less."""
    needed, stage = _needed(plan), dict(plan.stage)
    parts: dict[Node, list[Node]] = {}
    for node in plan.pipeline.nodes:
        if node.op == "extract" and plan.stage[node] > plan.stage[node.args[0]]:
            parts.setdefault(node.args[0], []).append(node)
    users: dict[Node, set[int]] = {whole: set() for whole in parts}
    for node in plan.pipeline.nodes:
        for number, argument in enumerate(node.args):
            if argument in users and node not in parts[argument]:
                users[argument].add(taken(plan, node, number))
    for node, at in effects(plan):
        if node in users:
            users[node].add(at)
    for whole, taken_of in parts.items():
        own = plan.stage[whole]
        now = _cost(whole.width, [own, *needed[whole]])
        now += sum(_cost(part.width, [plan.stage[part], *needed[part]]) for part in taken_of)
        then = _cost(whole.width, [own, *sorted(at for at in users[whole] if at > own)])
        then += sum(_cost(part.width, [own, plan.stage[part], *needed[part]]) for part in taken_of)
        if then < now:
            stage.update(dict.fromkeys(taken_of, own))
    return replace(plan, stage=stage)


def _cost(width: int, stages: Sequence[int]) -> int:
    """About how many registers it takes to carry so many bits from stage to stage."""
    return sum(width * (LINE_COST if last - first >= LEAST_STAGES else last - first) for first, last in pairwise(stages))


def _needed(plan: Schedule) -> dict[Node, list[int]]:
    """Of each value, the stages behind its own in which something takes it."""
    stages: dict[Node, set[int]] = {node: set() for node in plan.pipeline.nodes}
    for node in plan.pipeline.nodes:
        for number, argument in enumerate(node.args):
            stages[argument].add(taken(plan, node, number))
    for node, stage in effects(plan):
        stages[node].add(stage)
    return {node: sorted(at for at in ats if at > plan.stage[node]) for node, ats in stages.items()}


def carried(plan: Schedule) -> Carried:
    """How the values of a pipeline are carried."""
    needed = _needed(plan)
    found = Carried(needed, {node: [plan.stage[node]] for node in needed})
    far: dict[tuple[int, int], list[Node]] = {}
    for node, ats in needed.items():
        for first, last in pairwise([plan.stage[node], *ats] if node.op != "const" else []):
            if last - first >= LEAST_STAGES:
                far.setdefault((first, last), []).append(node)
            else:
                _step(found, node, first, last)
    for (first, last), nodes in sorted(far.items()):
        if sum(node.width for node in nodes) < LEAST_BITS:
            for node in nodes:
                _step(found, node, first, last)
        else:
            found.lines.append(Line(first, last, tuple(nodes)))
            for node in nodes:
                found.there[node].append(last)
    return found


def _step(found: Carried, node: Node, first: int, last: int) -> None:
    for stage in range(first, last):
        found.steps.setdefault(stage, []).append(node)
        found.there[node].append(stage + 1)
