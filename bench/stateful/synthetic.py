# SPDX-License-Identifier: Apache-2.0
"""Each scheduler with a synthetic update (`stateful_harness.sv`). `harness.cc` judges by running the records in turn."""

from __future__ import annotations

import itertools
import random
import tempfile
from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from bench.simulator import FAST, figures, simulator
from bench.stateful.schedulers import AT_ONCE, DEPTHS, SYNTHETIC, TRAFFIC, Scheduler, Traffic, figures_of, paper

HERE = Path(__file__).parent
PHVS = 100_000
MANY_BITS = 20  # of the address: a million flows
RANDOM_RUNS, RANDOM_PHVS, RANDOM_STALLS = 10, 1_000_000, 30  # of 100 cycles, on either side

Log = Callable[[str], None]


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
    return figures_of(scheduler, scheduler.program, traffic, addresses, run(scheduler.parameters, addresses, 0, options))


def many_flows_row(count: int = PHVS, options: Sequence[str] = FAST) -> dict[str, Any]:
    """The scheduler `sluice` with 2**MANY_BITS states: its scoreboard stays as it is, by a fold of the address."""
    sluice = next(scheduler for scheduler in SYNTHETIC if scheduler.name == "sluice")
    draw = random.Random(1)
    addresses = [draw.getrandbits(MANY_BITS) for _ in range(count)]
    found = run({**sluice.parameters, "AddressBits": MANY_BITS}, addresses, 0, options)
    uniform = Traffic(f"{2**MANY_BITS} uniform", [1] * 2**MANY_BITS)
    return {
        **figures_of(sluice, sluice.program, uniform, addresses, found),
        "clock_ns": None,
        "clock_of": "simulation only",
        "loop_ns": None,
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
    return {"scheduler": scheduler.name, "program": scheduler.program, "stalls_percent": RANDOM_STALLS, **wrong}


def measure(log: Log) -> dict[str, Any]:
    """All rows of synthetic updates, by depth of the paper's queue (Fig. 10), and of runs with stalls."""
    uniform = [traffic for traffic in TRAFFIC if traffic.name.endswith("uniform")]
    deep = [(depth, traffic) for depth in DEPTHS for traffic in uniform]
    for scheduler in (*SYNTHETIC, *map(paper, DEPTHS)):  # before they run side by side
        built(scheduler.parameters)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        log(f"synthetic updates: {len(TRAFFIC)} mixes of flows with each scheduler, {PHVS} PHVs each")
        rows = list(pool.map(lambda case: row(*case), itertools.product(SYNTHETIC, TRAFFIC)))
        log(f"sluice: {2**MANY_BITS} flows")
        many = many_flows_row()
        log(f"paper: queues of {', '.join(map(str, DEPTHS))}")
        depths = list(pool.map(lambda case: {"depth": case[0], **row(paper(case[0]), case[1])}, deep))
        log(f"{RANDOM_RUNS * RANDOM_PHVS} PHVs through each scheduler with random stalls")
        stalled = list(pool.map(random_row, SYNTHETIC))
    return {"rows": rows, "many_flows": many, "depths": depths, "random": stalled}
