# SPDX-License-Identifier: Apache-2.0
"""Schedulers of state per flow: cycles a PHV by flows and skew, with each of 100,000 results compared.

Each scheduler runs in one simulator with a process block, and is offered a record in every cycle: with the applications of
`configs/stateful` in the process block of the stateful unit (`program_rows.py`), and with a synthetic update that shows any wrong
order of records (`synthetic.py`). A result out of order is misordered; one with another state, or one that never comes, is a lost
update. The bound is that of any scheduler whose state is visible C cycles after issue: max(1, C * p), p the share of the largest
flow. It does not hold for updates that compose; their bound is 1.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.stateful import paper, program_rows, synthetic, unit
from bench.stateful.schedulers import DEPTHS, OF_PROGRAMS, SYNTHETIC, TRAFFIC
from toolchain.markdown import table as written

# Of the queue of 8 with a window of 32 and C = 8, by flows: a cycle model written before this RTL.
MODEL = {1: 8.0, 4: 2.34, 8: 1.40, 16: 1.06, 32: 1.01}
BEGINS = {"entered": "its inputs enter the process block", "issued": "its state enters the process block"}
ENDS = {
    "to_state": "new state written",
    "to_packet": "actions done, without reorder buffer",
    "to_packet_in_order": "actions done, with reorder buffer",
}
CLOCK_NAMES = ("loop_cycles", "clock_ns", "loop_ns", "clock_of")
ROW_NAMES = ("scheduler", "program", "traffic", "loop_cycles", "clock_ns", "loop_ns", "cycles_per_phv", "bound", "ratio_to_bound")

Log = Callable[[str], None]


def measure(log: Log, peers: bool = True) -> dict[str, Any]:
    """All figures; there is no software peer."""
    del peers
    made, of_programs = synthetic.measure(log), program_rows.measure(log)
    rows = [*made["rows"], *of_programs["rows"]]
    log("packets by turns through the stateful unit")
    return {
        "phvs": program_rows.PHVS,
        "rows": rows,
        "many_flows": made["many_flows"],
        "depths": made["depths"],
        "random": [*made["random"], *of_programs["random"]],
        "parameters": {f"{one.name}, {one.program or 'programs'}": one.parameters for one in (*SYNTHETIC, *OF_PROGRAMS)},
        "paper_to_model": to_model(rows),
        "sluice_ratios_to_bound": [row["ratio_to_bound"] for row in rows if row["scheduler"] == "sluice"],
        "composed_cycles": [row["cycles_per_phv"] for row in rows if row["scheduler"] == "sluice_composed"],
        "latencies": latencies(of_programs["rows"]),
        "unit_latency": unit.measure(),
        "paper": paper.measure(),
    }


def to_model(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Cycles of the paper's queue over those of the model, by program and flows."""
    cycles = {(row["program"], row["traffic"]): row["cycles_per_phv"] for row in rows if row["scheduler"] == "paper"}
    return {
        f"{program}, {flows}": round(cycles[program, f"{flows} uniform"] / model, 4)
        for program in dict.fromkeys(program for program, _ in cycles)
        for flows, model in MODEL.items()
    }


def latencies(rows: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """Cycles in the process block behind the scheduler `sluice`, over all its rows: to the new state, and to the packet with its
    actions, with the reorder buffer, in which a packet that came early waits, and without."""
    found = [row["latencies"] for row in rows if row["scheduler"] == "sluice"]
    through = min(one["state_to_result"]["least"] for one in found)
    return {
        begin: {
            "to_state": max(one[f"{begin}_to_state"]["most"] for one in found),
            "to_packet": min(one[f"{begin}_to_packet"]["least"] for one in found) - through,
            "to_packet_in_order": min(one[f"{begin}_to_packet"]["least"] for one in found),
        }
        for begin in BEGINS
    }


def show(result: dict[str, Any], console: Console) -> None:
    """The figures as a table."""
    names = (*ROW_NAMES, "misordered", "lost_updates")
    shown = Table(*names)
    for row in result["rows"]:
        shown.add_row(*("-" if row[name] is None else str(row[name]) for name in names))
    console.print(shown)
    for row in result["unit_latency"]["rows"]:
        console.print(f"packets by turns through the unit, {row['load']}: {row['cycles']} cycles, {row['ns'] or '-'} ns")


def plot(result: dict[str, Any], folder: Path) -> None:
    """Write `stateful_depth.svg`, `stateful_area.svg` and `stateful_methods.svg` (Fig. 10 to 12 of the stateful paper)."""
    from bench.stateful.pictures import draw

    draw(result, folder)


def tables(result: dict[str, Any]) -> dict[str, str]:
    """The tables of the docs."""
    return {
        "stateful": _cycle_table(result["rows"]),
        "stateful-clock": _clock_table(result["rows"]),
        "stateful-depth": _depth_table(result),
        "stateful-checks": _checks(result),
        "stateful-latency": _latency_table(result),
        **paper.tables(result),
    }


def _heading(row: dict[str, Any]) -> str:
    return f"{row['scheduler']}, C = {row['loop_cycles']}"


def _cycle_table(rows: list[dict[str, Any]]) -> str:
    """Of all programs of a scheduler: their figures, where they differ the least and the most."""
    cells: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        cells.setdefault((row["traffic"], _heading(row)), []).append(row["cycles_per_phv"])
    traffic, heads = (list(dict.fromkeys(names)) for names in zip(*cells, strict=True))

    def cell(figures: list[float]) -> str:
        least, most = f"{min(figures):.2f}", f"{max(figures):.2f}"
        return least if least == most else f"{least} to {most}"

    return written(("flows", *heads), [(mix, *(cell(cells[mix, head]) for head in heads)) for mix in traffic])


def _clock_table(rows: list[dict[str, Any]]) -> str:
    """C cycles of the clock, by what a scheduler runs."""
    of: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        of.setdefault((row["scheduler"], row["clock_of"]), []).append(row)
    cells = [
        (scheduler, ", ".join(sorted({row["program"] for row in some})), *(some[0][name] for name in CLOCK_NAMES))
        for (scheduler, _), some in of.items()
    ]
    return written(("scheduler", "programs", "C", "clock, ns", "C x clock, ns", "slowest part"), cells)


def _depth_table(result: dict[str, Any]) -> str:
    deep = {(row["flows"], row["depth"]): row["cycles_per_phv"] for row in result["depths"]}
    flows, depths = (sorted(set(values)) for values in zip(*deep, strict=True))
    areas = {one["depth"]: one for one in result["paper"]["depths"]}
    rows: list[tuple[object, ...]] = [(count, *(f"{deep[count, depth]:.2f}" for depth in depths)) for count in flows]
    rows += [(label, *(paper.count(areas[depth].get(kind)) for depth in depths)) for kind, label in paper.AREAS.items()]
    return written(("flows", *(f"queue of {depth}" for depth in depths)), rows)


def _checks(result: dict[str, Any]) -> str:
    many = result["many_flows"]
    judged = [*result["rows"], many, *result["depths"], *result["random"]]
    wrong = sum(row["misordered"] + row["lost_updates"] for row in judged)
    stalled = sum(row["phvs"] for row in result["random"])
    return (
        f"Results that are out of order, show a lost update or are wrong otherwise, of {result['phvs']:,} in each of "
        f"{len(judged) - len(result['random'])} runs and of {stalled:,} with random stalls: {wrong}. One of the runs "
        f"has {many['flows']:,} flows, whose records `sluice` takes in {many['cycles_per_phv']:.2f} cycles each."
    )


def _latency_table(result: dict[str, Any]) -> str:
    """Cycles and time, and the paper's (Table 3, of a whole card)."""
    clock, rows = result["paper"]["clocks"]["sluice"]["clock_ns"], []
    of_paper = {("entered", name): f"{cycles} cycles" for name, cycles in paper.LATENCIES.items()}
    for begin, name in BEGINS.items():
        for end, cycles in result["latencies"][begin].items():
            rows.append((name, ENDS[end], cycles, clock and round(cycles * clock, 1), of_paper.get((begin, end))))
    card = f"{paper.FORWARDING['card']} µs (card), {paper.FORWARDING['software']} µs (software)"
    for row in result["unit_latency"]["rows"]:
        rows.append(("it enters the unit", f"it leaves the unit, {row['load']}", f"{row['cycles']:.1f}", row["ns"], card))
    return written(("from", "to", "cycles", "ns", "paper"), rows)


__all__ = ["DEPTHS", "TRAFFIC", "measure", "plot", "show", "tables"]
