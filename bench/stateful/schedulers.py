# SPDX-License-Identifier: Apache-2.0
"""The schedulers that are compared, as the parts of `./sluice cost` that they are, and the mixes of flows that they get."""

from __future__ import annotations

import functools
import json
import random
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolchain import ROOT

PARTS = tomllib.loads((ROOT / "toolchain" / "synth" / "parts.toml").read_text())
ADDRESS_BITS = 12  # of all those parts: 4K flows, as in the paper
UNIFORM = (1, 2, 4, 6, 8, 10, 12, 16, 24, 32, 1000)
DEPTHS = (2, 4, 8, 12, 16)
AT_ONCE = 2  # simulators that run side by side: their figures are cycles, not times
BLOCK = "process_programs"  # the process block that runs programs


@dataclass(frozen=True)
class Scheduler:
    """A part, and cycles from the issue of a record to that of the next of its flow. `program`: what it runs, a synthetic update;
    empty: an application, in the block BLOCK."""

    name: str
    part: str
    loop_cycles: int
    program: str = ""

    @property
    def composed(self) -> bool:
        return PARTS[self.part]["module"] in ("sl_composed", "sl_stateful_core")

    @property
    def parts(self) -> tuple[str, ...]:
        """What the simulator is made of."""
        return (self.part,) if self.program else (self.part, BLOCK)

    @property
    def parameters(self) -> dict[str, int]:
        """Those that its cost and its clock are measured with."""
        found: dict[str, int] = {}
        for part in self.parts:
            found |= PARTS[part]["parameters"]
        return found | ({"Composed": int(self.composed)} if self.program else {})

    @property
    def ordered(self) -> bool:
        """Whether results leave in the order of arrival."""
        return bool(self.parameters.get("Reorder", 1) or self.parameters.get("Depth") == 1)


def paper(depth: int = 8) -> Scheduler:
    """The paper's, by the depth of its queue."""
    return Scheduler("paper", f"schedule_paper_{depth}", 8, "rotate and add")


SYNTHETIC = (
    Scheduler("stall", "schedule_stall", 8, "rotate and add"),
    Scheduler("flowblaze", "schedule_turns", 8, "rotate and add"),
    paper(),
    Scheduler("sluice", "schedule_sluice", 3, "rotate and add"),
    Scheduler("sluice_composed", "schedule_composed", 3, "clamped add and set"),
)
OF_PROGRAMS = (
    Scheduler("stall", "program_stall", 8),
    Scheduler("flowblaze", "program_turns", 8),
    Scheduler("paper", "program_paper", 8),
    Scheduler("sluice", "program_sluice", 3),
    Scheduler("sluice_composed", "program_composed", 1),
)


@dataclass(frozen=True)
class Traffic:
    """Weights of flows by rank; without any, a new flow for each record, as far as there are addresses."""

    name: str
    weights: Sequence[float]

    def addresses(self, count: int, seed: int = 1) -> list[int]:
        """Addresses of records. Flows are anywhere in the memory, as a hash function places them."""
        draw = random.Random(seed)
        if not self.weights:
            return [number % 2**ADDRESS_BITS for number in range(count)]
        places = draw.sample(range(2**ADDRESS_BITS), len(self.weights))
        return draw.choices(places, self.weights, k=count)


TRAFFIC = (
    *(Traffic(f"{flows} uniform", [1] * flows) for flows in UNIFORM),
    *(Traffic(f"Zipf {exponent}", [rank**-exponent for rank in range(1, 1001)]) for exponent in (1.0, 1.3)),
    *(Traffic(f"elephant {share} %", [share, *[(100 - share) / 999] * 999]) for share in (50, 90)),
    Traffic("new flows", []),
)


@functools.cache
def golden() -> dict[str, dict[str, float]]:
    """Area and clock of parts, as `./sluice cost` keeps them."""
    found: dict[str, dict[str, float]] = json.loads((ROOT / "toolchain" / "synth" / "golden.json").read_text())
    return found


def clock(parts: Sequence[str]) -> dict[str, Any]:
    """The period of the slowest of these parts, each placed and routed by itself; or which of them was not."""
    periods = {part: 1000 / mhz for part in parts if (mhz := golden().get(part, {}).get("ecp5.mhz"))}
    if missing := [part for part in parts if part not in periods]:
        return {"clock_ns": None, "clock_of": f"not placed and routed: {', '.join(missing)}"}
    slowest = max(periods, key=lambda part: periods[part])
    return {"clock_ns": round(periods[slowest], 3), "clock_of": slowest}


def figures_of(
    scheduler: Scheduler, program: str, traffic: Traffic, addresses: Sequence[int], found: Mapping[str, Any]
) -> dict[str, Any]:
    """A row, of what a harness found. Raises RuntimeError where two records of a flow were closer than they may be."""
    if not scheduler.composed and 0 < found["shortest_loop"] < scheduler.loop_cycles:
        raise RuntimeError(f"{scheduler.name}: a loop of {found['shortest_loop']} cycles")
    share = max(Counter(addresses).values()) / len(addresses)
    bound = 1.0 if scheduler.composed else max(1.0, scheduler.loop_cycles * share)
    timing = clock(scheduler.parts)
    return {
        "scheduler": scheduler.name,
        "program": program,
        "traffic": traffic.name,
        "flows": len(traffic.weights) or min(len(addresses), 2**ADDRESS_BITS),
        "largest_share": round(share, 4),
        "loop_cycles": scheduler.loop_cycles,
        **timing,
        "loop_ns": timing["clock_ns"] and round(scheduler.loop_cycles * timing["clock_ns"], 2),
        "cycles_per_phv": round(found["cycles_per_phv"], 4),
        "bound": round(bound, 4),
        "ratio_to_bound": round(found["cycles_per_phv"] / bound, 4),
        "misordered": found["misordered"],
        "lost_updates": found["lost_updates"],
    }
