# SPDX-License-Identifier: Apache-2.0
"""Schedulers of state per flow: cycles a PHV by flows and skew, with each of 100,000 results compared.

Each scheduler runs with a process block in one simulator (`stateful_harness.sv`) and is offered a record in every cycle.
`harness.cc` judges by running the records one after the other: a result out of order is misordered; one with another state, or one
that never comes, is a lost update. The bound is that of any scheduler whose state is visible C cycles after issue: max(1, C * p), p
the share of the largest flow. It does not hold for updates that compose; their bound is 1.
"""

from __future__ import annotations

import itertools
import random
import tempfile
import tomllib
from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.simulator import FAST, figures, simulator
from toolchain import ROOT
from toolchain.markdown import table as written

HERE = Path(__file__).parent
PARTS = tomllib.loads((ROOT / "toolchain" / "synth" / "parts.toml").read_text())
ADDRESS_BITS = 12  # of all those parts: 4K flows, as in the paper
UNIFORM = (1, 2, 4, 6, 8, 10, 12, 16, 24, 32, 1000)
DEPTHS = (2, 4, 8, 12, 16)
PHVS = 100_000
RANDOM_RUNS, RANDOM_PHVS, RANDOM_STALLS = 10, 1_000_000, 30  # of 100 cycles, on either side
# Of the queue of 8 with a window of 32 and C = 8, by flows: a cycle model written before this RTL.
MODEL = {1: 8.0, 4: 2.34, 8: 1.40, 16: 1.06, 32: 1.01}

Log = Callable[[str], None]


@dataclass(frozen=True)
class Scheduler:
    """A part of `./sluice cost`, and cycles from the issue of a record to that of the next of its flow."""

    name: str
    part: str
    loop_cycles: int
    program: str = "rotate and add"

    @property
    def composed(self) -> bool:
        return bool(PARTS[self.part]["module"] == "sl_composed")

    @property
    def parameters(self) -> dict[str, int]:
        """Those that its cost is measured with."""
        return {**PARTS[self.part]["parameters"], "Composed": int(self.composed)}


def paper(depth: int = 8) -> Scheduler:
    """The paper's, by the depth of its queue."""
    return Scheduler("paper", f"schedule_paper_{depth}", 8)


SCHEDULERS = (
    Scheduler("stall", "schedule_stall", 8),
    Scheduler("flowblaze", "schedule_turns", 8),
    paper(),
    Scheduler("sluice", "schedule_sluice", 3),
    Scheduler("sluice_composed", "schedule_composed", 3, "clamped add and set"),
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


def built(parameters: Mapping[str, int], options: Sequence[str] = FAST) -> Path:
    """A simulator. Raises CalledProcessError."""
    return simulator("stateful", "stateful_harness", HERE / "harness.cc", parameters, [HERE / "stateful_harness.sv"], options)


def run(
    parameters: Mapping[str, int], addresses: Sequence[int], stalls: int = 0, options: Sequence[str] = FAST, seed: int = 1
) -> dict[str, Any]:
    """What the harness finds. Raises CalledProcessError, RuntimeError."""
    program = built(parameters, options)
    ordered = bool(parameters.get("Reorder", 1) or parameters["Depth"] == 1)
    with tempfile.NamedTemporaryFile(dir=program.parent) as file:
        file.write(array("I", addresses).tobytes())
        file.flush()
        found = figures(program, parameters["Composed"], int(ordered), stalls, seed, file.name)
    return found | {"lost_updates": found["lost_updates"] + found["missing"]}


def row(scheduler: Scheduler, traffic: Traffic, count: int = PHVS, options: Sequence[str] = FAST) -> dict[str, Any]:
    """Figures of one scheduler and traffic. Raises CalledProcessError, RuntimeError."""
    addresses = traffic.addresses(count)
    found = run(scheduler.parameters, addresses, 0, options)
    if not scheduler.composed and 0 < found["shortest_loop"] < scheduler.loop_cycles:
        raise RuntimeError(f"{scheduler.name}: a loop of {found['shortest_loop']} cycles")
    share = max(Counter(addresses).values()) / count
    bound = 1.0 if scheduler.composed else max(1.0, scheduler.loop_cycles * share)
    return {
        "scheduler": scheduler.name,
        "program": scheduler.program,
        "traffic": traffic.name,
        "flows": len(traffic.weights) or min(count, 2**ADDRESS_BITS),
        "largest_share": round(share, 4),
        "loop_cycles": scheduler.loop_cycles,
        "clock_ns": None,
        "cycles_per_phv": round(found["cycles_per_phv"], 4),
        "bound": round(bound, 4),
        "ratio_to_bound": round(found["cycles_per_phv"] / bound, 4),
        "misordered": found["misordered"],
        "lost_updates": found["lost_updates"],
    }


def random_row(
    scheduler: Scheduler, runs: int = RANDOM_RUNS, count: int = RANDOM_PHVS, options: Sequence[str] = FAST
) -> dict[str, Any]:
    """What is wrong in runs of `count` records each, with random stalls on both sides; the mix of flows changes every 1,000."""
    wrong: Counter[str] = Counter()
    for seed in range(1, runs + 1):
        draw = random.Random(seed)
        pieces = [draw.choice(TRAFFIC).addresses(1000, draw.getrandbits(32)) for _ in range(count // 1000)]
        found = run(scheduler.parameters, list(itertools.chain.from_iterable(pieces)), RANDOM_STALLS, options, seed)
        wrong.update({name: found[name] for name in ("phvs", "misordered", "lost_updates")})
    return {"scheduler": scheduler.name, "stalls_percent": RANDOM_STALLS, **wrong}


def depth_rows(count: int = PHVS) -> list[dict[str, Any]]:
    """The paper's queue by its depth (Fig. 10)."""
    uniform = [traffic for traffic in TRAFFIC if traffic.name.endswith("uniform")]
    return [{"depth": depth, **row(paper(depth), traffic, count)} for depth in DEPTHS for traffic in uniform]


def measure(log: Log, peers: bool = True) -> dict[str, Any]:
    """All figures; there is no software peer. `clock_ns` is empty until the parts are placed and routed."""
    del peers
    rows = []
    for scheduler in SCHEDULERS:
        log(f"{scheduler.name}: {len(TRAFFIC)} mixes of flows, {PHVS} PHVs each")
        rows += [row(scheduler, traffic) for traffic in TRAFFIC]
    log(f"paper: queues of {', '.join(map(str, DEPTHS))}")
    depths = depth_rows()
    log(f"{RANDOM_RUNS * RANDOM_PHVS} PHVs through each with random stalls")
    by = {(one["scheduler"], one["traffic"]): one for one in rows}
    return {
        "phvs": PHVS,
        "rows": rows,
        "depths": depths,
        "random": [random_row(scheduler) for scheduler in SCHEDULERS],
        "parameters": {scheduler.name: scheduler.parameters for scheduler in SCHEDULERS},
        "paper_to_model": {
            str(flows): round(by["paper", f"{flows} uniform"]["cycles_per_phv"] / cycles, 4) for flows, cycles in MODEL.items()
        },
        "sluice_ratios_to_bound": {traffic.name: by["sluice", traffic.name]["ratio_to_bound"] for traffic in TRAFFIC},
        "composed_cycles": {traffic.name: by["sluice_composed", traffic.name]["cycles_per_phv"] for traffic in TRAFFIC},
    }


def show(result: dict[str, Any], console: Console) -> None:
    """The figures as a table."""
    names = ("scheduler", "traffic", "loop_cycles", "cycles_per_phv", "bound", "ratio_to_bound", "misordered", "lost_updates")
    shown = Table(*names)
    for one in result["rows"]:
        shown.add_row(*(str(one[name]) for name in names))
    console.print(shown)


def tables(result: dict[str, Any]) -> dict[str, str]:
    """The tables of the docs."""
    by = {(one["traffic"], one["scheduler"]): one for one in result["rows"]}
    traffic, names = list(dict.fromkeys(t for t, _ in by)), list(dict.fromkeys(s for _, s in by))
    cycles = [(mix, *(f"{by[mix, name]['cycles_per_phv']:.2f}" for name in names)) for mix in traffic]
    loops = (f"{name}, C = {by[traffic[0], name]['loop_cycles']}" for name in names)
    deep = {(one["flows"], one["depth"]): one["cycles_per_phv"] for one in result["depths"]}
    flows, depths = (sorted(set(values)) for values in zip(*deep, strict=True))
    judged = [*result["rows"], *result["depths"], *result["random"]]
    wrong = sum(one["misordered"] + one["lost_updates"] for one in judged)
    return {
        "stateful": written(("flows", *loops), cycles),
        "stateful-depth": written(
            ("flows", *(f"queue of {depth}" for depth in depths)),
            [(count, *(f"{deep[count, depth]:.2f}" for depth in depths)) for count in flows],
        ),
        "stateful-checks": f"Results that are out of order or show a lost update, of {result['phvs']:,} in each cell and of "
        f"{result['random'][0]['phvs']:,} with random stalls for each scheduler: {wrong}.",
    }
