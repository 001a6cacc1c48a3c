# SPDX-License-Identifier: Apache-2.0
"""The tables of the stateful paper (Lu and Guo, Micromachines 2023, 14, 2074) beside what was measured here. The paper's figures
are those of its text; the values of its Fig. 10 to 12 are not in it."""

from __future__ import annotations

import re
from typing import Any

import sluice_layouts as L

from bench.stateful.schedulers import BLOCK, DEPTHS, OF_PROGRAMS, PARTS, clock, golden
from bench.stateful.schedulers import paper as paper_queue
from toolchain.markdown import table as written
from toolchain.simulate import closure

LATENCIES = {"to_state": 8, "to_packet": 10}  # cycles; its 3.3
FORWARDING = {"card": 2.9, "software": 13.8}  # microseconds; Table 3
AREAS = {
    "xcup.lut": "UltraScale+ LUT",
    "xcup.ff": "UltraScale+ FF",
    "ecp5.lut": "ECP5 LUT4",
    "ecp5.ff": "ECP5 FF",
    "ecp5.mhz": "ECP5-5G MHz",
}
# Table 2: LUT, FF.
AREA_OF_PAPER: list[tuple[str, int, int | None]] = [
    ("paper: its match-action element, with flow and EFSM tables", 60_871, 35_898),
    ("paper: FlowBlaze's element", 71_712, None),
]
AREA_OF_OURS = {
    "stateful_unit_paper": "stateful unit of that size, with its table of 4K flows",
    "process_paper": "of it the process block",
    "program_sluice": "scheduler `sluice`, as in this benchmark",
    "program_paper": "scheduler `paper`, as in this benchmark",
    BLOCK: "process block, as in this benchmark",
}
# Table 4: where it has its tables, how fast it is.
THROUGHPUT = [
    ("paper", "TCAM, BRAM, registers", "80 Gbit/s; 200 M PHV/s in simulation"),
    ("OpenState", "TCAM, RAM", "unknown"),
    ("FlowBlaze", "TCAM, BRAM, registers", "14.8 M packets/s"),
    ("SNAP", "CAM, registers", "unknown"),
    ("OPP", "TCAM, RAM, registers", "10 to 80 M packets/s"),
    ("SDPA", "TCAM, RAM", "0.5 to 10 Gbit/s"),
]


def default(module: str, parameter: str) -> int:
    """What a parameter of a module is if nobody sets it. Raises KeyError."""
    text = next(path for path in closure(module) if path.stem == module).read_text()
    if not (match := re.search(rf"^\s*parameter\b[^=]*\b{parameter}\s*=\s*(\w+)", text, re.MULTILINE)):
        raise KeyError(f"{module} has no parameter {parameter}")
    value = match[1]
    return int(value) if value.isdigit() else int(getattr(L, value))


def parameters() -> list[tuple[str, str, str]]:
    """Table 1: a module, the paper's parameter, and that of the unit of its size here."""
    own = PARTS["stateful_unit_paper"]["parameters"]

    def unit(name: str) -> int:
        return int(own.get(name) or default("sl_stateful_unit", name))

    flows = unit("Sets") * unit("Ways")
    shared = f"64 bits x {L.PROCESS_SHARED_WORDS}"
    return [
        ("global state", "64 bits x 8", shared),
        ("table state", "64 bits x 8", shared),
        ("flow state", "128 bits x 4K", f"{32 * unit('Words')} bits x {flows // 1024}K"),
        ("packet state", "64 bits", f"{16 * 2 * (L.PIPELINE_CONTAINERS - L.PIPELINE_MARK)} bits, as metadata and mark"),
        ("ALUs of conditions", "8", str(unit("Conditions"))),
        ("ALUs of updates", "10, of all states", f"{unit('Words') * unit('Updates')}, of flow state"),
        ("ALUs of actions", "22", str(unit("Actions"))),
        ("issue queue", "8", str(default("sl_scheduler", "Depth"))),
        ("reorder buffer", "32", str(default("sl_scheduler", "Window"))),
    ]


def measure() -> dict[str, Any]:
    """Areas and clocks that `./sluice cost` has measured, of parts with the parameters of this benchmark."""
    names = [*AREA_OF_OURS, *(part for scheduler in OF_PROGRAMS for part in scheduler.parts)]
    return {
        "depths": [{"depth": depth, **golden().get(paper_queue(depth).part, {})} for depth in DEPTHS],
        "parts": {name: golden().get(name, {}) for name in dict.fromkeys(names)},
        "parameters": [list(row) for row in parameters()],
        "clocks": {scheduler.name: clock(scheduler.parts) for scheduler in OF_PROGRAMS},
    }


def tables(result: dict[str, Any]) -> dict[str, str]:
    """Tables 1, 2 and 4 of the paper; Table 3 is with the other latencies."""
    parts = result["paper"]["parts"]
    areas: list[tuple[object, ...]] = [(*row, None) for row in AREA_OF_PAPER]
    for part, title in AREA_OF_OURS.items():
        found = parts[part]
        areas.append((f"{title} (`{part}`)", *(count(found.get(f"xcup.{kind}")) for kind in ("lut", "ff", "lutram"))))
    return {
        "stateful-parameters": written(("module", "paper", "`stateful_unit_paper`"), result["paper"]["parameters"]),
        "stateful-area": written(("UltraScale+", "LUT", "FF", "LUT as RAM"), areas),
        "stateful-throughput": written(("", "tables", "throughput"), [*THROUGHPUT, *_own_throughput(result)]),
    }


def count(value: float | None) -> int | None:
    """For a table; None where nothing was measured."""
    return None if value is None else round(value)


def _own_throughput(result: dict[str, Any]) -> list[tuple[str, str, str]]:
    """A row for each mix that tells the schedulers apart."""
    rows = []
    for row in result["rows"]:
        if row["scheduler"] == "sluice" and row["program"] == "retransmissions" and row["traffic"] in ("1000 uniform", "1 uniform"):
            rate = f"1 PHV in {row['cycles_per_phv']:.2f} cycles"
            if row["clock_ns"]:
                rate += f": {1000 / row['clock_ns'] / row['cycles_per_phv']:.0f} M PHV/s on the ECP5-5G"
            rows.append((f"`sluice`, {row['traffic']}", "BRAM, LUT RAM", rate))
    return rows
