# SPDX-License-Identifier: Apache-2.0
"""What became of a program in hardware: per element its interval, stages and states, and what keeps it from a token a cycle."""

from __future__ import annotations

from typing import Any

from compiler.compile import Compiled
from compiler.ir.ir import Node
from compiler.passes.classify import Pattern, StateUpdate
from compiler.schedule.schedule import Recurrence, Schedule

SUGGESTIONS = {
    Pattern.SEVERAL: "write the memory once in an iteration: choose index and value first, or split it into two states",
    Pattern.OTHER: "compute what does not need the old value in an element before, or keep a simpler state and derive the rest",
}
SUGGESTION = "move what does not depend on the state out of the update, or ask for a slower clock"


def element(compiled: Compiled) -> dict[str, Any]:
    """The figures of an element; sizes in bits, times in stages (clock cycles) and ns."""
    plan = compiled.plan
    return {
        "element": compiled.element.name,
        "module": compiled.module,
        "ii": plan.interval,
        "depth": plan.depth,
        "latency_cycles": plan.depth,  # from taking a token to its leaving, the register of the output included
        "clock_mhz": round(1000 / plan.clock, 1),
        "estimated_mhz": round(1000 / plan.estimate, 1),
        "pipeline_bits": pipeline_bits(plan),
        "states": [_state(compiled, update) for update in compiled.updates.values()],
        "guarded_outputs": [port.name for port in compiled.ir.outputs if port.guard is not None],
        "limits": [_limit(recurrence, compiled.updates.get(recurrence.state)) for recurrence in plan.recurrences],
    }


def pipeline_bits(plan: Schedule) -> int:
    """Bits of the registers between stages."""
    last: dict[Node, int] = {}
    for node in plan.pipeline.nodes:
        for argument in node.args:
            last[argument] = max(last.get(argument, 0), plan.stage[node])
    for port, put in plan.pipeline.puts.items():
        for node in (put.enable, put.data):
            last[node] = max(last.get(node, 0), plan.port[port])
    return sum(node.width * max(0, end - plan.stage[node]) for node, end in last.items() if node.op != "const")


def _state(compiled: Compiled, update: StateUpdate) -> dict[str, Any]:
    if update.is_memory:
        memory = compiled.ir.memories[update.name]
        place, bits, entries = "block RAM, reads forwarded from writes in flight", memory.width, memory.entries
    else:
        place, bits, entries = "register", compiled.ir.registers[update.name].width, 1
    return {
        "name": update.label or update.name,
        "place": place,
        "bits": bits,
        "entries": entries,
        "update": update.pattern.value,
        "operation": update.operation,
    }


def _limit(recurrence: Recurrence, update: StateUpdate | None) -> dict[str, Any]:
    steps = []
    for node in recurrence.path:
        if node.span is not None and node.op not in ("zext", "sext", "extract", "concat"):
            steps.append({"operator": node.op, "file": node.span.source.name, "line": node.span.line, "name": node.label})
    return {
        "state": update.label if update and update.label else recurrence.state,
        "extra_stages": recurrence.excess,
        "cycle": steps,
        "suggestion": SUGGESTIONS.get(update.pattern, SUGGESTION) if update else SUGGESTION,
    }


def text(found: dict[str, Any]) -> str:
    """The figures of an element, for people."""
    every = "a token every cycle" if found["ii"] == 1 else f"a token every {found['ii']} cycles"
    clock = f"estimated {found['estimated_mhz']:g} MHz (asked: {found['clock_mhz']:g})"
    bits = f"{found['pipeline_bits']} bits of pipeline registers"
    lines = [f"{found['element']}: {every}, {found['depth']} stages, {bits}, {clock}"]
    for state in found["states"]:
        size = f"{state['entries']} x {state['bits']}" if state["entries"] > 1 else str(state["bits"])
        how = state["update"] + (f" ({state['operation']})" if state["operation"] else "")
        lines.append(f"  {state['name']}: {size} bits in {state['place']}; {how}")
    for port in found["guarded_outputs"]:
        lines.append(f"  output {port} has a guard: that its packets stay whole is not proved")
    for limit in found["limits"]:
        lines.append(f"  slowed by {limit['state']}: from reading to writing it takes {limit['extra_stages']} stages too many")
        for step in limit["cycle"]:
            lines.append(f"    {step['operator']}{' ' + step['name'] if step['name'] else ''} at {step['file']}:{step['line']}")
        lines.append(f"    try: {limit['suggestion']}")
    return "\n".join(lines)
