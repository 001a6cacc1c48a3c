# SPDX-License-Identifier: Apache-2.0
"""Programs with state as authors write them, each to take a token every cycle: policing, sketches, histograms, learning,
arbitration, queues, checksums, ciphers.

Each `.sl` file here is such a program, of one element or several. Every element is scheduled for the fastest clock at which it
takes a token every cycle, its II is proved, tokens run through it in simulation without a pause, and it is synthesised, placed
and routed for the ECP5-5G with three seeds. `test_line_rate.py` compares what the programs do with models.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.compiled import elements, fastest, rates
from bench.elements import streams
from compiler import report
from compiler.certificate import certify, parts, verdict
from compiler.compile import Compiled, compile_element
from compiler.frontend import typed
from toolchain.markdown import table as written
from toolchain.synth.flow import SynthesisError
from toolchain.synth.generated import area_of, fmax_of

HERE = Path(__file__).parent
CLOCKS_MHZ = (280.0, 260.0, 240.0, 220.0, 200.0, 190.0)  # asked of the scheduler; nets of large elements take more
SEEDS = (1, 2, 3)
TOKENS = 300
TIMEOUT = 900.0  # seconds a step; most take one or two minutes, and GHASH is not routed in 23 minutes

Log = Callable[[str], None]
Row = dict[str, Any]


def programs() -> list[Path]:
    """The files."""
    return sorted(HERE.glob("*.sl"))


def _reported(path: Path) -> Row:
    """Processor time of a report, from the file."""
    start = time.process_time()
    for element in elements(path):
        report.element(compile_element(element))
    return {"program": path.stem, "report_seconds": round(time.process_time() - start, 2)}


def _is_own(element: typed.Element, path: Path) -> bool:
    """Whether an element is one of the program's, and not there to bring it packets: those have a packet on one side alone."""
    sides = {any(port.is_packet for port in ports) for ports in (element.inputs, element.outputs)}
    return Path(element.span.source.name).stem == path.stem and len(sides) == 1


def own_elements(path: Path) -> list[Compiled]:
    """The elements that a program is about, for the fastest clock with the smallest II; one of those that differ in numbers."""
    found: dict[object, Compiled] = {}
    for element in elements(path):
        if _is_own(element, path):
            made = fastest(element, CLOCKS_MHZ)
            shape = tuple((node.op, node.width) for node in made.plan.pipeline.nodes)
            found.setdefault((element.source_name, shape), made)
    return list(found.values())


def _speed(log: Log, program: str, compiled: Compiled) -> Row:
    name, plan = compiled.element.name, compiled.plan
    log(f"{program}: {name}: the proof of its II, and simulation")
    (rate,) = rates({name: compiled}, {name: streams(compiled.element, TOKENS)}).values()
    return {
        "program": program,
        "element": name,
        "ii": plan.interval,
        "depth": plan.depth,
        "clock_mhz": round(1000 / plan.clock, 1),
        **certify(compiled).to_row(),
        "tokens_per_cycle": round(1 / rate.cycles, 4),
        "disagreement": rate.disagreement,
    }


def _size(log: Log, compiled: Compiled) -> Row:
    """Area and the median clock; or why they are not there."""
    files = {f"{compiled.module}.sv": compiled.text, **parts(compiled.text)}
    try:
        log(f"{compiled.element.name}: synthesis")
        area = area_of(compiled.module, files, "ecp5", TIMEOUT)
        log(f"{compiled.element.name}: place and route, {len(SEEDS)} seeds")
        clocks = [round(fmax_of(compiled.module, files, seed, timeout=TIMEOUT), 1) for seed in SEEDS]
    except SynthesisError as error:
        return {"missing": str(error)}
    return {
        "missing": "",
        "lut": area.lut,
        "ff": area.ff,
        "lutram": area.lutram,
        "bram": area.bram,
        "clocks": clocks,
        "mhz": statistics.median(clocks),
    }


def rows(log: Log, paths: Sequence[Path], jobs: int = 1, size: bool = True) -> list[Row]:
    """One an element."""
    found = [(path.stem, compiled) for path in paths for compiled in own_elements(path)]
    speeds = [_speed(log, program, compiled) for program, compiled in found]
    if not size:
        return speeds
    with ThreadPoolExecutor(jobs) as pool:  # the work is in the tools' processes
        return [speed | made for speed, made in zip(speeds, pool.map(lambda one: _size(log, one[1]), found), strict=True)]


def measure(log: Log, peers: bool = True, jobs: int = 1) -> dict[str, Any]:
    """All figures; there is no peer."""
    del peers
    paths = programs()
    return {"clocks_mhz": CLOCKS_MHZ, "programs": [_reported(path) for path in paths], "elements": rows(log, paths, jobs)}


def _cells(row: Row) -> tuple[str, ...]:
    """Of a table, the program and the element first."""
    area = [f"{row[kind]:,}" if kind in row else "-" for kind in ("lut", "ff", "bram")]
    return (
        row["program"],
        row["element"],
        str(row["ii"]),
        str(row["depth"]),
        verdict(row["proof"], row["ii"]),
        f"{row['tokens_per_cycle']:.2f}",
        *area,
        f"{row['mhz']:.0f}" if "mhz" in row else "-",
    )


HEADS = ("program", "element", "II", "stages", "certified", "tokens a cycle", "LUT4", "FF", "EBR", "MHz, routed")


def show(result: dict[str, Any], console: Console) -> None:
    """The figures as a table."""
    table = Table(*HEADS)
    for row in result["elements"]:
        table.add_row(*_cells(row))
    console.print(table)


def tables(result: dict[str, Any]) -> dict[str, str]:
    """The table of the docs."""
    return {"line_rate": written(HEADS, [_cells(row) for row in result["elements"]])}
