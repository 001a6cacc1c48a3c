# SPDX-License-Identifier: Apache-2.0
"""Programs with state by flow, in a table that the data path itself fills: cycles a packet whatever the flows, and no lost update.

Each program here takes a record a packet and keeps its state in `flow` tables of 4,096 entries. It is compiled with every number of
ways, with timeout and eviction and without; one variant also has a timer. Of each, the II is proved, and four mixes of flows run
through the RTL in simulation, without a pause. Every output and every word of the state at the end are compared with the
interpreter's; one variant of each program also runs over many more records, against the C++ of the CPU target.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.compiled import fastest
from bench.flowstate import lost
from bench.flowstate.traffic import MIXES, records
from compiler import report
from compiler.certificate import certify, verdict
from compiler.compile import Compiled
from compiler.frontend import typed
from compiler.frontend.program import load_text, shown
from compiler.frontend.source import Diagnostics
from compiler.interpreter.element import Outcome
from compiler.targets import rtl, rtl_outcome
from toolchain.markdown import table as written

HERE = Path(__file__).parent
PROGRAMS = ("retransmissions", "knocking", "flowlet", "counters", "policing", "tracking", "nat", "learning")
TWO_KEYS = ("learning",)  # a packet asks its table about two keys: II 2 is the best there is
WAYS = (1, 2, 4, 8)
TIMEOUT = 1000  # microseconds, where there is one
ENTRIES = 4096
RECORDS = {"1 flow": 800, "4 flows": 800, "Zipf": 1600, "new flows": 4800}  # 128,000 of a program; the last fill its tables
TIMER_RECORDS = dict.fromkeys(MIXES, 6400)  # of eight runs of the timer
CPU_RECORDS = 1_250_000  # of a program: ten million of all
CPU_ROUNDS = 4  # of all mixes, one after another
LIMIT = 10  # cycles of a simulation for each record, at most
PARAMETERS = re.compile(r"<ENTRIES = \d+, WAYS = \d+, TIMEOUT = \d+, EVICT = \d+>")
TIMER = ".timer pass (every = 100) { elapsed += 100 * periods(); }"
HANDLER = ".handler {"

Log = Callable[[str], None]
Row = dict[str, Any]


@dataclass(frozen=True)
class Variant:
    """How the flow tables of a program are, and whether it has a timer."""

    ways: int = 4
    timeout: int = TIMEOUT
    evict: bool = True
    timer: bool = False
    entries: int = ENTRIES

    @property
    def parameters(self) -> str:
        """As they are written behind the name of an element."""
        return f"<ENTRIES = {self.entries}, WAYS = {self.ways}, TIMEOUT = {self.timeout}, EVICT = {int(self.evict)}>"


VARIANTS = tuple(Variant(ways, timeout, evict) for ways in WAYS for timeout in (0, TIMEOUT) for evict in (False, True))


@dataclass(frozen=True)
class Case:
    """A variant of a program: `program` says what is right, `compiled` what hardware does."""

    name: str
    variant: Variant
    program: typed.Program
    compiled: Compiled

    @property
    def element(self) -> typed.Element:
        """The program's only one."""
        return self.program.elements[0]


@dataclass(frozen=True)
class Measured:
    """A mix of flows through a variant."""

    cycles: float  # a packet
    lost: int


def program_of(name: str, variant: Variant, change: tuple[str, str] = ("", "")) -> typed.Program:
    """A variant of a program; `change`: words of its text, and others in their place. Raises ValueError with its errors."""
    path, diagnostics = HERE / f"{name}.sl", Diagnostics()
    text = PARAMETERS.sub(variant.parameters, path.read_text())
    if variant.timer:
        text = text.replace(HANDLER, f"{TIMER}\n    {HANDLER}")
    found = load_text(text.replace(*change) if change[0] else text, shown(path), diagnostics)
    if found is None:
        raise ValueError("".join(error.render() for error in diagnostics.sorted()))
    return found


def case(name: str, variant: Variant, change: tuple[str, str] = ("", "")) -> Case:
    """A variant, for the fastest clock with the smallest II; `change`: of hardware alone."""
    program = program_of(name, variant)
    changed = program_of(name, variant, change) if change[0] else program
    return Case(name, variant, program, fastest(changed.elements[0]))


def outcome(one: Case, run: rtl.RtlRun) -> Outcome:
    """What hardware did, as the interpreter's own outcome."""
    return rtl_outcome.outcome(run, one.compiled.ir, one.compiled.layout)


def run(cases: Sequence[Case], counts: Mapping[str, int]) -> list[dict[str, Measured]]:
    """Of each case so many records of each mix, all cases of a mix in one simulation."""
    by_name = {one.element.name: one for one in cases}
    built = rtl.build(rtl_outcome.plans({name: one.compiled for name, one in by_name.items()}))
    found: list[dict[str, Measured]] = [{} for _ in cases]
    for mix, count in counts.items():
        streams = {name: records(one.element, one.name, (mix,), count, TIMEOUT) for name, one in by_name.items()}
        first = _simulated(built, {name: tokens[:1] for name, tokens in streams.items()}, count)
        runs = _simulated(built, streams, count)
        for one, row in zip(cases, found, strict=True):
            name = one.element.name
            got = outcome(one, runs[name])
            if one.variant.timer:
                cycles = _until_rest(built, name, streams[name]) - _until_rest(built, name, streams[name][:1])
            else:
                cycles = runs[name].last_cycle - first[name].last_cycle
            expected = lost.interpreted(one.element, streams[name], got)
            row[mix] = Measured(round(cycles / (count - 1), 4), lost.updates(one.element, expected, got))
    return found


def _simulated(built: rtl.Built, streams: dict[str, list[int]], count: int) -> dict[str, rtl.RtlRun]:
    given = {name: {lost.IN: tokens} for name, tokens in streams.items()}
    return rtl.run(built, given, pauses=(0, 0), limit=LIMIT * count + 2 * ENTRIES)


def _until_rest(built: rtl.Built, name: str, tokens: list[int]) -> int:
    """Cycles until no token moves, and some more; a timer goes on beyond the last packet, so its runs do not show when that was."""
    limit, sweep = LIMIT * len(tokens) + 2 * ENTRIES, rtl.sweep(built.elements)
    _, lines = rtl.simulate(built.binary, _files(built, name, tokens), 1, (0, 0), limit, sweep=sweep)
    return next(int(line.split()[1]) for line in lines if line.startswith("@end"))


def _files(built: rtl.Built, name: str, tokens: list[int]) -> dict[str, Sequence[int]]:
    """Tokens for one element, none for the others."""
    return {f"{other}.{lost.IN}": tokens if other == name else () for other in built.elements}


def against_cpu(log: Log, name: str, count: int) -> Row:
    """A long run of hardware against the C++; `count`: records of all mixes."""
    log(f"{name}: {count:,} records against the C++")
    one = case(name, Variant())
    built = rtl.build(rtl_outcome.plans({one.element.name: one.compiled}))
    tokens = records(one.element, name, MIXES * CPU_ROUNDS, count // len(MIXES * CPU_ROUNDS), TIMEOUT)
    got = outcome(one, _simulated(built, {one.element.name: tokens}, len(tokens))[one.element.name])
    wrong = lost.updates(one.element, lost.on_cpu(one.program, tokens), got)
    return {"program": name, "records": len(tokens), "lost_updates": wrong}


def row(one: Case, measured: Mapping[str, Measured], counts: Mapping[str, int]) -> Row:
    """The figures of a variant, with its proof."""
    found, variant = report.element(one.compiled), one.variant
    questions = max(table["questions"] for table in found["flow_tables"])
    bound, cycles = max(1, questions), {mix: one.cycles for mix, one in measured.items()}
    return {
        "program": one.name,
        "ways": variant.ways,
        "evict": variant.evict,
        "timeout": variant.timeout,
        "timer": variant.timer,
        "ii": found["ii"],
        "clock_mhz": found["clock_mhz"],
        "depth": found["depth"],
        "questions": questions,
        **certify(one.compiled).to_row(),
        "cycles_per_packet": cycles,
        "bound": bound,
        "ratio_to_bound": round(max(cycles.values()) / bound, 4),
        "lost_updates": sum(one.lost for one in measured.values()),
        "records": sum(counts.values()),
        "reason": "; ".join(f"{limit['state']}: {limit['suggestion']}" for limit in found["limits"]),
    }


def rows(log: Log, names: Sequence[str], variants: Sequence[Variant], counts: Mapping[str, int]) -> list[Row]:
    """One row a program and variant; the variants of all of these programs in one simulator."""
    log(f"{', '.join(names)}: {len(variants)} variants, {sum(counts.values()):,} records")
    cases = [case(name, variant) for name in names for variant in variants]
    measured = run(cases, counts)
    log(f"{', '.join(names)}: the proofs of their II")
    return [row(one, figures, counts) for one, figures in zip(cases, measured, strict=True)]


def measure(log: Log, peers: bool = True) -> dict[str, Any]:
    """All figures; there is no software peer."""
    del peers
    found = [one for name in PROGRAMS for one in rows(log, (name,), VARIANTS, RECORDS)]
    found += rows(log, PROGRAMS, (Variant(timer=True),), TIMER_RECORDS)
    return {
        "entries": ENTRIES,
        "mixes": MIXES,
        "rows": found,
        "one_key": {name: _worst([one for one in found if one["program"] == name]) for name in PROGRAMS if name not in TWO_KEYS},
        "cpu": [against_cpu(log, name, CPU_RECORDS) for name in PROGRAMS],
    }


def _worst(found: Sequence[Row]) -> Row:
    """The II of all variants, and the cycles a packet of those that no timer interrupts."""
    cycles = [count for one in found if not one["timer"] for count in one["cycles_per_packet"].values()]
    return {"ii": max(one["ii"] for one in found), "cycles_per_packet": max(cycles)}


HEADS = ("program", "questions a packet", *(f"II, ways: {ways}" for ways in WAYS), "MHz asked", "cycles a packet", "with a timer")
LOST = ("certified", "lost updates, records", "against the CPU")


def _lost(found: Sequence[Row]) -> str:
    """Updates that were lost, and of how many records."""
    return f"{sum(one['lost_updates'] for one in found):,} of {sum(one['records'] for one in found):,}"


def _cells(result: dict[str, Any], name: str) -> tuple[str, ...]:
    """The row of a program in a table: the worst of its variants."""
    found = [one for one in result["rows"] if one["program"] == name]
    plain, timed = ([one for one in found if one["timer"] is timer] for timer in (False, True))
    cycles = [f"{max((max(one['cycles_per_packet'].values()) for one in part), default=0):.2f}" for part in (plain, timed)]
    said = sorted({verdict(one["proof"], one["ii"]) for one in found}, key=lambda text: text == "yes")
    return (
        name,
        str(max(one["questions"] for one in found)),
        *(str(max(one["ii"] for one in found if one["ways"] == ways)) for ways in WAYS),
        f"{min(one['clock_mhz'] for one in found):g}",
        *cycles,
        said[0],
        _lost(found),
        _lost([one for one in result["cpu"] if one["program"] == name]),
    )


def show(result: dict[str, Any], console: Console) -> None:
    """The figures as a table, and why an II is not 1."""
    table = Table(*HEADS, *LOST)
    for name in PROGRAMS:
        table.add_row(*_cells(result, name))
    console.print(table)
    for name, reason in sorted({(one["program"], one["reason"]) for one in result["rows"] if one["reason"]}):
        console.print(f"{name}: {reason}", markup=False, highlight=False)


def tables(result: dict[str, Any]) -> dict[str, str]:
    """The table of the docs."""
    return {"flowstate": written((*HEADS, *LOST), [_cells(result, name) for name in PROGRAMS])}
