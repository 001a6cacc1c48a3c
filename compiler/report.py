# SPDX-License-Identifier: Apache-2.0
"""What became of a program in hardware: per element its interval, stages and states, and what keeps it from a token a cycle."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from compiler import pace
from compiler.compile import MICROSECOND, Compiled
from compiler.frontend import typed
from compiler.ir.ir import Flows, Table
from compiler.native_cpp import has_packet_body
from compiler.passes import headers_only
from compiler.passes.classify import Pattern, StateUpdate
from compiler.schedule import routed
from compiler.schedule.carried import carried
from compiler.schedule.pipeline import turns_of
from compiler.schedule.schedule import Recurrence, Schedule
from compiler.schedule.tables import PLACE_LATENCY, drained_cycles, stages

INDEX = re.compile(r"\[(\d+)\]")
REGISTER = "register"
BLOCK_RAM = "block RAM, reads forwarded from writes in flight"
MANY = {REGISTER: "registers", BLOCK_RAM: "memories in block RAM, reads forwarded from writes in flight"}
FIELDS = 3  # of a struct that are registers alike: from here on they are one line
SUGGESTIONS = {
    Pattern.SEVERAL: "write the memory once per iteration: choose index and value first, or split it into several states "
    "(of an array with a constant index, each entry is a memory: rows[4][1024] at rows[0][hash], rows[1][hash], …)",
    Pattern.OTHER: "compute in an earlier element what does not need the old value, or keep a simpler state and derive the rest",
}
ENTRIES = "write a separate update for each entry, with a constant index: .repeat (i, 0, N) { if (index == i) … }"
ASKED = (
    "ask about one key in an iteration, so that find, insert and remove of it are one question: what decides whether to insert "
    "an absent key, or to remove one that is there, must not need the flow's value"
)
SUGGESTION = "move computations that do not depend on the state out of the update, or use a slower clock"


def element(compiled: Compiled) -> dict[str, Any]:
    """The figures of an element; sizes in bits, times in stages (clock cycles) and ns. `token_cycles`: cycles for a token at each
    input, as seen in runs; None where data keeps it waiting."""
    plan, bits = compiled.plan, carried(compiled.plan)
    return {
        "element": compiled.element.name,
        "module": compiled.module,
        "ii": plan.interval,
        "pace": pace.text(plan.interval, compiled.token_cycles),
        "token_cycles": {name: count for name, count in compiled.token_cycles.items() if name != pace.ANY},
        "depth": plan.depth,
        "latency_cycles": plan.latency,
        "clock_mhz": round(1000 / plan.clock, 1),
        "estimated_mhz": round(1000 / routed.period(plan), 1),
        "pipeline_bits": bits.register_bits,
        "delay_line_bits": bits.line_bits,
        "techniques": techniques(compiled),
        "states": [_state(compiled, update) for update in compiled.updates.values()],
        "tables": [_table(plan, table) for table in compiled.ir.tables.values()],
        "flow_tables": [_flows(plan, flows) for flows in compiled.ir.flows.values()],
        "guarded_outputs": [port.name for port in compiled.ir.outputs if port.guard is not None],
        "flits_on_cpu": _flits_on_cpu(compiled),
        "packet_body": next((file for language, file in compiled.element.native if language == "packet"), None),
        "limits": [_limit(recurrence, compiled) for recurrence in plan.recurrences],
        "turns": _turns(compiled),
        "pauses": _pauses(compiled),
    }


def _flits_on_cpu(compiled: Compiled) -> str | None:
    """Why the packet engine of the CPU shows the element every flit; "" where it does not, None without packets."""
    if not any(port.is_packet for port in (*compiled.element.inputs, *compiled.element.outputs)):
        return None
    if has_packet_body(compiled.element):
        return ""
    return headers_only.why_not(compiled.element, compiled.ir) or ""


def _state(compiled: Compiled, update: StateUpdate) -> dict[str, Any]:
    if update.is_memory:
        memory = compiled.ir.memories[update.name]
        place, bits, entries = BLOCK_RAM, memory.width, memory.entries
    else:
        place, bits, entries = REGISTER, compiled.ir.registers[update.name].width, 1
    return {
        "name": update.label or update.name,
        "place": place,
        "bits": bits,
        "entries": entries,
        "update": update.pattern.value,
        "operation": update.operation,
    }


def _table(plan: Schedule, table: Table) -> dict[str, Any]:
    """`lookups`: of an iteration, each with a copy of the table; `search_cycles` of an update go on beside iterations,
    `stop_cycles`, about, do not."""
    lookups = sum(node.op == "lookup" and node.name == table.name for node in plan.pipeline.nodes)
    return {
        "name": table.name,
        "kind": table.kind,
        "place": "cuckoo hash table in block RAM" if table.kind == "exact" else "TCAM in LUT RAM with a priority encoder",
        "entries": table.entries,
        "key_bits": table.key,
        "value_bits": table.value,
        "lookups": lookups,
        "lookup_stages": stages(table),
        "search_cycles": table.entries,
        "stop_cycles": drained_cycles(table, plan.depth),
    }


def _flows(plan: Schedule, flows: Flows) -> dict[str, Any]:
    """`questions`: of an iteration of the handler, each in a cycle of its own."""
    return {
        "name": flows.name,
        "sets": flows.sets,
        "ways": flows.ways,
        "key_bits": flows.key,
        "timeout": flows.timeout,
        "evicts": flows.evicts,
        "questions": sum(place.name == flows.name for place in plan.pipeline.places[0]),
        "stages": PLACE_LATENCY,
    }


def techniques(compiled: Compiled) -> list[str]:
    """What the compiler did by itself for a token every cycle, a line each."""
    pipeline, memories = compiled.plan.pipeline, compiled.ir.memories
    fields: dict[str, list[str]] = {}
    for memory in memories.values():
        root, _, name = (memory.label or memory.name).partition(".")
        fields.setdefault(root, []).append(name)
    found = [
        f"memory scattering: each field of {root} is a separate memory ({', '.join(names)})"
        for root, names in fields.items()
        if len(names) > 1
    ]
    read = {node.name for node in pipeline.nodes if node.op == "read"}
    updated = [memories[name] for name in dict.fromkeys(write.memory for write in pipeline.writes) if name in read]
    if updated:
        names = ", ".join(memory.label or memory.name for memory in updated)
        found.append(f"delayed write: reads of {names} see the writes that are still in flight")
    for loop in loops(compiled.element.handler):
        found.append(
            f"unrolling: the loop at {loop.span.source.name}:{loop.span.line} becomes hardware for {loop.bound} iterations"
        )
    for name, lag in pipeline.lags.items():
        state = compiled.updates[name].label or name
        behind = f", composed with the updates of {lag} iteration{'s' if lag > 1 else ''} in flight (proved)" if lag else ""
        found.append(f"function forwarding: updates of {state} are {pipeline.forms[name]}{behind}")
    return found


def loops(block: typed.Block) -> list[typed.Loop]:
    """The loops of a block, not those of functions that it calls."""
    found: list[typed.Loop] = []
    for statement in block.statements:
        if isinstance(statement, typed.Loop):
            found += [statement, *loops(statement.body)]
        elif isinstance(statement, typed.If):
            found += [*loops(statement.then), *loops(statement.otherwise)]
    return found


def _limit(recurrence: Recurrence, compiled: Compiled) -> dict[str, Any]:
    update, steps = compiled.updates.get(recurrence.state), []
    for node in recurrence.path:
        if node.span is not None and node.op not in ("zext", "sext", "extract", "concat"):
            steps.append({"operator": node.op, "file": node.span.source.name, "line": node.span.line, "name": node.label})
    state = update.label if update and update.label else recurrence.state
    suggestion = SUGGESTIONS.get(update.pattern, SUGGESTION) if update else SUGGESTION
    if update and update.pattern is Pattern.OTHER and not update.is_memory and INDEX.search(state):
        suggestion = ENTRIES
    if recurrence.state in compiled.ir.flows:
        suggestion = ASKED
    tried = list(compiled.plan.tried)
    return {"state": state, "extra_stages": recurrence.excess, "cycle": steps, "tried": tried, "suggestion": suggestion}


def _turns(compiled: Compiled) -> list[dict[str, Any]]:
    """Memories at whose one port writes of the handler take turns, for as many cycles as the interval has, and where they are."""
    pipeline, interval = compiled.plan.pipeline, compiled.plan.interval
    read = {node.name for node in pipeline.nodes if node.op == "read"}
    handler = pipeline.element.handler
    found = []
    for name in sorted({write.memory for write in handler.writes} & read):
        turns = turns_of(handler, name)
        if turns == 1 or turns < interval:
            continue
        spans = [node.span for w in handler.writes if w.memory == name for node in (w.data, w.index, w.enable) if node.span]
        lines = sorted({(span.source.name, span.line) for span in spans})
        found.append(
            {
                "state": compiled.ir.memories[name].label or name,
                "turns": turns,
                "writes": [{"file": file, "line": line} for file, line in lines],
                "suggestion": SUGGESTIONS[Pattern.SEVERAL],
            }
        )
    return found


def turns_text(turns: dict[str, Any]) -> str:
    """What takes turns, for people."""
    places = ", ".join(f"{place['file']}:{place['line']}" for place in turns["writes"])
    return f"{turns['turns']} writes of one iteration take turns at its only port" + (f" (at {places})" if places else "")


def _pauses(compiled: Compiled) -> list[dict[str, Any]]:
    """Signals and timers with more writes to a memory than the handler: until they are done, no other iteration begins.
    `every_cycles`: from one run of a timer to the next; None of a signal."""
    plan, signals = compiled.plan, compiled.element.signals
    found = []
    for number in plan.pipeline.pauses:
        every = signals[number].every
        found.append(
            {
                "kind": "timer" if every else "signal",
                "name": signals[number].name,
                "cycles": plan.cycles_of(number),
                "every_cycles": round(every * MICROSECOND / plan.clock) if every else None,
            }
        )
    return found


def pause_text(pause: dict[str, Any]) -> str:
    """How long the handler waits, for people."""
    every = f" of every {pause['every_cycles']:,}" if pause["every_cycles"] else ""
    return f"{pause['kind']} {pause['name']} takes {pause['cycles']:,}{every} cycles, in which no other iteration begins"


def on_cpu_text(why: str) -> str:
    """Which flits the packet engine shows an element, for people."""
    return f"sees every flit, because {why}" if why else "sees the first flit of each packet alone"


def text(found: dict[str, Any]) -> str:
    """The figures of an element, for people; what became registers alike is one line."""
    stages = f"{found['depth']} stage{'s' if found['depth'] != 1 else ''}"
    lines = [f"{found['element']}: {found['pace']}, {stages}, {bits_text(found)}, {clock_text(found)}"]
    for line in state_rows(found["states"]):
        lines.append(f"  {line.name}: {line.size} bits in {line.place}; {line.update}")
    for table in found["tables"]:
        size, update = table_lines(table)
        lines += [f"  {size}", f"    {update}"]
    lines += [f"  {flows_text(flows)}" for flows in found["flow_tables"]]
    lines += [f"  {technique}" for technique in found["techniques"]]
    lines += [f"  {pause_text(pause)}" for pause in found["pauses"]]
    for port in found["guarded_outputs"]:
        lines.append(f"  output {port} has a packet guard: it is not proved that the program keeps packets whole")
    if found["flits_on_cpu"] is not None:
        body = found["packet_body"]
        by_hand = f"takes whole packets, by {body}"
        lines.append(f"  on the CPU: {by_hand if body else on_cpu_text(found['flits_on_cpu'])}")
    for name, limit, _ in alike(found["limits"], "state"):
        extra = f"{limit['extra_stages']} stage{'s' if limit['extra_stages'] != 1 else ''}"
        lines.append(f"  slowed by {name}: {extra} too many from read to write")
        lines += [f"    {step}" for step in path_text(limit["cycle"])]
        lines += [f"    tried: {tried}" for tried in limit["tried"]]
        lines.append(f"    try: {limit['suggestion']}")
    for name, turns, _ in alike(found["turns"], "state"):
        lines += [f"  slowed by {name}: {turns_text(turns)}", f"    try: {turns['suggestion']}"]
    return "\n".join(lines)


def path_text(path: list[dict[str, Any]]) -> Iterator[str]:
    """The operators of a path, a line of the source in each text."""
    for (file, line), steps in groupby(path, lambda step: (step["file"], step["line"])):
        counts = Counter(f"{step['operator']} {step['name']}".rstrip() for step in steps)
        yield f"{', '.join(f'{count} x {what}' if count > 1 else what for what, count in counts.items())} at {file}:{line}"


def bits_text(found: dict[str, Any]) -> str:
    """What carries values from stage to stage, for people."""
    lines = f" and {found['delay_line_bits']} in delay lines" if found["delay_line_bits"] else ""
    return f"{found['pipeline_bits']} bits of pipeline registers{lines}"


def clock_text(found: dict[str, Any]) -> str:
    """The clock of an element, for people."""
    return f"scheduled for {found['clock_mhz']:g} MHz, about {found['estimated_mhz']:.0f} MHz after place and route (ECP5-5G)"


def table_lines(table: dict[str, Any]) -> tuple[str, str]:
    """What a table is, and what an update costs, for people."""
    copies = f", {table['lookups']} copies" if table["lookups"] > 1 else ""
    size = f"{table['entries']} {table['kind']} rules, {table['key_bits']} to {table['value_bits']} bits"
    return (
        f"{table['name']}: {size}, in a {table['place']}{copies}; a lookup takes {table['lookup_stages']} stages",
        f"an update drains the pipeline: no iteration starts for about {table['stop_cycles']} cycles",
    )


def flows_text(flows: dict[str, Any]) -> str:
    """What a flow table is, for people."""
    count = flows["questions"]
    asked = f"{count} question{'s' if count != 1 else ''} per iteration, answered in {flows['stages']} stages"
    ends = [f"timeout {flows['timeout']}"] if flows["timeout"] else []
    ends.append("a full set evicts" if flows["evicts"] else "a full set refuses")
    size = f"{flows['sets'] * flows['ways']} flows in {flows['ways']} ways, keys of {flows['key_bits']} bits"
    return f"{flows['name']}: {size}, in block RAM; {', '.join(ends)}; {asked}"


@dataclass(frozen=True)
class StateRow:
    """A line of the report: a state, entries of an array, or fields of a struct that are registers and are written alike."""

    name: str
    size: str
    place: str
    update: str


def state_rows(states: Sequence[dict[str, Any]]) -> list[StateRow]:
    """States for people."""
    fields: dict[tuple[str, str], list[tuple[str, dict[str, Any], int]]] = {}
    for name, state, count in alike(states, "name"):
        root = re.split(r"[.\[]", name)[0] if state["place"] == REGISTER else name
        fields.setdefault((root, _update(state)), []).append((name, state, count))
    rows = []
    for (root, update), found in fields.items():
        if len(found) >= FIELDS:
            bits, registers = (sum(state[key] * count for _, state, count in found) for key in ("bits", "entries"))
            rows.append(StateRow(f"{root} ({len(found)} fields)", str(bits), f"{registers} registers", update))
            continue
        for name, state, count in found:
            size = " x ".join(str(n) for n in (count, state["entries"]) if n > 1)
            place = state["place"] if count == 1 else f"{count} {MANY[state['place']]}"
            rows.append(StateRow(name, f"{size} x {state['bits']}" if size else str(state["bits"]), place, update))
    return rows


def _update(state: dict[str, Any]) -> str:
    return f"{state['update']} ({state['operation']})" if state["operation"] else str(state["update"])


def alike(found: Sequence[dict[str, Any]], key: str) -> list[tuple[str, dict[str, Any], int]]:
    """Entries of arrays that differ in nothing but their index as one: the name with its indices, the first, how many they are."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for item in found:
        groups.setdefault(_but_indices({**item, key: ""}) + INDEX.sub("[]", item[key]), []).append(item)
    return [(_range([item[key] for item in items]), items[0], len(items)) for items in groups.values()]


def _but_indices(item: dict[str, Any]) -> str:
    return INDEX.sub("[]", repr(item))


def _range(names: list[str]) -> str:
    """`t[0..3].a` of `t[0].a`, `t[1].a` and so on."""
    indices = list(zip(*([int(index) for index in INDEX.findall(name)] for name in names), strict=True))
    ranges = iter(f"[{min(values)}..{max(values)}]" if len(set(values)) > 1 else f"[{values[0]}]" for values in indices)
    return INDEX.sub(lambda _: next(ranges), names[0])
