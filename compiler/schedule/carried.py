# SPDX-License-Identifier: Apache-2.0
"""How values come from the stage that computes them to those that need them: through registers, one a stage, or, over many stages,
through delay lines in LUT RAM (`sl_delay_line`). The pipeline never stalls, so both are free to move in every cycle.

A value is carried from one stage in which it is needed to the next. Values that are carried over the same stages share a line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from compiler.ir.ir import Node
from compiler.schedule.schedule import Schedule, latency

LEAST_STAGES = 4  # of a line
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
    for write, slot in zip(pipeline.writes, pipeline.slots, strict=True):
        for node in (write.enable, write.index, write.data):
            yield node, plan.memory[write.memory] + slot
    for message in pipeline.messages:
        for node in (message.enable, *message.arguments):
            yield node, plan.other[("message",)]
    for assertion in pipeline.assertions:
        for node in (assertion.enable, assertion.condition):
            yield node, plan.other[("message",)]
    if pipeline.result is not None:
        yield pipeline.result, plan.other[("result",)]


def carried(plan: Schedule) -> Carried:
    """How the values of a pipeline are carried."""
    stages: dict[Node, set[int]] = {node: set() for node in plan.pipeline.nodes}
    for node in plan.pipeline.nodes:
        for number, argument in enumerate(node.args):
            stages[argument].add(taken(plan, node, number))
    for node, stage in effects(plan):
        stages[node].add(stage)
    needed = {node: sorted(at for at in ats if at > plan.stage[node]) for node, ats in stages.items()}
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
