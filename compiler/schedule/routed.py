# SPDX-License-Identifier: Apache-2.0
"""The clock of an element after place and route on the ECP5-5G, estimated from its schedule.

The slowest stage, as the scheduler knows it, is that of a small design: nets grow with the design. So the period is a sum of the
stage and of sizes, by figures that `fit.py` fits to elements that were placed and routed, of `bench/line_rate`, `bench/updates`,
`bench/flowstate` and with a rule table (`delays/ecp5_routed.json`, made by `python -m bench.routed`). How far it is off is judged
on others, the library, by `./sluice bench elements`. How many block RAMs there are does not show beside these sizes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from compiler.ir.ir import ElementIr, Node, Table
from compiler.schedule.carried import carried, taken
from compiler.schedule.delays import BLOCK_BITS, FOLDER, WIRES, delays
from compiler.schedule.schedule import APART, Schedule, index_wires, node_delay

FILE = FOLDER / "ecp5_routed.json"
COMPARISONS = frozenset({"eq", "ult", "slt"})
KILO = 1000
WIDE = 0.7  # of what the scheduler allows for a net to many registers or blocks, where it decides: the router is better at few
BANK = 1 << 14  # words of a block RAM of one bit; of a larger memory, several blocks are behind each bit


def period(plan: Schedule) -> float:
    """Nanoseconds; those of its rule tables where they are slower."""
    figures = delays("ecp5").routed
    return max(predicted(found, figures) for found in (terms(plan), *map(table_terms, plan.pipeline.element.tables.values())))


def predicted(found: Mapping[str, float], figures: Mapping[str, float]) -> float:
    """The sum of terms, each times its figure."""
    return sum(figures[name] * much for name, much in found.items())


def table_terms(table: Table) -> dict[str, float]:
    """What the period of a rule table is the sum of: what its kind has, and more for its size."""
    return {table.kind: 1.0, "rules": math.log2(1 + table.entries * table.key / KILO)}


def terms(plan: Schedule) -> dict[str, float]:
    """What a period is the sum of, but for rule tables."""
    return {
        "base": 1.0,
        "stage": delays("ecp5").overhead + max([0.0, *_paths(plan)]),
        "registers": math.log2(1 + _registers(plan) / KILO),
        "banks": math.log2(max([1.0, *(memory.entries / BANK for memory in plan.pipeline.element.memories.values())])),
        "flows": math.log2(1 + _flow_blocks(plan.pipeline.element)),
        "spread": math.log2(1 + _logic(plan) / KILO) if plan.pipeline.element.memories else 0.0,
    }


def _paths(plan: Schedule) -> Iterator[float]:
    """Nanoseconds of the paths inside stages, those to memories, states and outputs included; of `WIDE` nets, that share."""
    pipeline, table = plan.pipeline, delays("ecp5")
    ends: dict[Node, float] = {}
    wires_to = index_wires(pipeline, table)

    def end(node: Node, stage: int) -> float:
        return ends.get(node, 0.0) if plan.stage[node] == stage else 0.0

    for node in pipeline.nodes:
        through = [end(argument, plan.stage[node]) for argument in node.args if node.op not in APART]
        ends[node] = max(through, default=0.0) + node_delay(pipeline, table, node)
        if node in wires_to:
            yield WIDE * (end(node.args[0], taken(plan, node)) + wires_to[node])
            if (copies := pipeline.copies(node.name)) > 1:
                yield WIDE * table.address(pipeline.element.memories[node.name], copies)
    yield from ends.values()
    for port in pipeline.element.outputs:
        if port.name in pipeline.puts:
            put, stage = pipeline.puts[port.name], plan.port[port.name]
            yield WIDE * (end(put.enable, stage) + table.output(port))
            yield end(put.data, stage) + table.data(put.data)
    for name, put in pipeline.next.items():
        yield WIDE * (end(put.enable, plan.register[name]) + table.enable(put.data.width))
    for write, slot in zip(pipeline.writes, pipeline.slots, strict=True):
        wires = table.write(write.memory in pipeline.registered)
        shares = zip((write.enable, write.index, write.data), wires, (WIDE, WIDE, 1.0), strict=True)
        for node, more, share in shares:
            yield share * (end(node, plan.memory[write.memory] + slot) + more)


def _registers(plan: Schedule) -> int:
    """Bits of the registers between stages, of states, and of a token at each port."""
    element = plan.pipeline.element
    ports = sum(port.width for port in (*element.inputs, *element.outputs))
    return carried(plan).register_bits + sum(register.width for register in element.registers.values()) + ports


def _logic(plan: Schedule) -> int:
    """Bits of the operators, which are among block RAMs that lie all over the device where there are some."""
    operators = (node for node in plan.pipeline.nodes if node.args and node.op not in WIRES | {"read"})
    return sum(max(node.width, node.op in COMPARISONS and node.args[0].width) for node in operators)


def _flow_blocks(element: ElementIr) -> int:
    """Of block RAM, for the keys of flow tables, which are compared in every way."""
    return sum(flows.sets * flows.ways * flows.key for flows in element.flows.values()) // BLOCK_BITS
