# SPDX-License-Identifier: Apache-2.0
"""The applications of `configs/stateful` in the process block behind each scheduler, in RTL."""

from __future__ import annotations

import itertools
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.simulator import BUILD, FAST, figures, simulator
from bench.stateful import programs
from bench.stateful.programs import APPLICATIONS, Application
from bench.stateful.schedulers import AT_ONCE, BLOCK, OF_PROGRAMS, PARTS, TRAFFIC, Scheduler, Traffic, figures_of
from compiler.stateful.program import BlockSizes

HERE = Path(__file__).parent
SIZES = BlockSizes(**{name.lower(): size for name, size in PARTS[BLOCK]["parameters"].items()})
PHVS, STALLS = 100_000, 30  # of 100 cycles, on either side, in runs with stalls
LATENCIES = ("entered_to_state", "issued_to_state", "state_to_result", "entered_to_packet", "issued_to_packet")

Log = Callable[[str], None]


def built(scheduler: Scheduler, options: Sequence[str] = FAST) -> Path:
    """A simulator. Raises CalledProcessError."""
    harness, module = HERE / "program_harness.cc", HERE / "program_harness.sv"
    return simulator("program", "program_harness", harness, scheduler.parameters, [module], options)


@contextmanager
def files(application: Application, records: Iterable[bytes]) -> Iterator[list[str]]:
    """Names of files of a program, its packets, and what becomes of them."""
    contents = (programs.image(application, SIZES), programs.images(application.packets), b"".join(records))
    BUILD.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        paths = [Path(folder) / name for name in ("program", "packets", "records")]
        for path, content in zip(paths, contents, strict=True):
            path.write_bytes(content)
        yield [str(path) for path in paths]


def run(
    scheduler: Scheduler, inputs: Sequence[str], stalls: int = 0, seed: int = 1, options: Sequence[str] = FAST
) -> dict[str, Any]:
    """What the harness finds; what is missing or wrong otherwise is a lost update. Raises CalledProcessError, RuntimeError."""
    found = figures(built(scheduler, options), int(scheduler.ordered), stalls, seed, *inputs)
    return found | {"lost_updates": found["lost_updates"] + found["missing"] + found["wrong_results"]}


def row(
    scheduler: Scheduler, application: Application, traffic: Traffic, count: int = PHVS, options: Sequence[str] = FAST
) -> dict[str, Any]:
    """One row, as of `rows`."""
    return rows(application, traffic, (scheduler,), count, options)[0]


def rows(
    application: Application,
    traffic: Traffic,
    schedulers: Sequence[Scheduler] = OF_PROGRAMS,
    count: int = PHVS,
    options: Sequence[str] = FAST,
) -> list[dict[str, Any]]:
    """Figures of schedulers with one program and traffic. Raises CalledProcessError, RuntimeError."""
    addresses = traffic.addresses(count)

    def figure(scheduler: Scheduler) -> dict[str, Any]:
        if scheduler.composed and not application.composes:
            raise RuntimeError(f"{application.name}: its updates do not compose")
        found = run(scheduler, inputs, options=options)
        latencies = {} if scheduler.composed else {name: found[name] for name in LATENCIES}
        return figures_of(scheduler, application.name, traffic, addresses, found) | {"latencies": latencies}

    with files(application, programs.records(application, addresses)) as inputs, ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(figure, schedulers))


def random_rows(
    application: Application,
    schedulers: Sequence[Scheduler] = OF_PROGRAMS,
    count: int = PHVS,
    options: Sequence[str] = FAST,
    seed: int = 1,
) -> list[dict[str, Any]]:
    """What is wrong with random stalls on both sides; the mix of flows changes every 1,000 packets."""
    draw = random.Random(seed)
    pieces = [draw.choice(TRAFFIC).addresses(1000, draw.getrandbits(32)) for _ in range(count // 1000)]
    addresses = list(itertools.chain.from_iterable(pieces))

    def wrong(scheduler: Scheduler) -> dict[str, Any]:
        found = Counter(run(scheduler, inputs, STALLS, seed, options))
        counts = {name: found[name] for name in ("phvs", "misordered", "lost_updates")}
        return {"scheduler": scheduler.name, "program": application.name, "stalls_percent": STALLS, **counts}

    with files(application, programs.records(application, addresses, seed)) as inputs, ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(wrong, schedulers))


def measure(log: Log) -> dict[str, Any]:
    """All rows of programs, and of runs with stalls."""
    found, stalled = [], []
    for scheduler in OF_PROGRAMS:  # before they run side by side
        built(scheduler)
    for name in APPLICATIONS:
        application = programs.application(name)
        for number, traffic in enumerate(TRAFFIC):
            log(f"{name}, {traffic.name} ({number + 1} of {len(TRAFFIC)}): {PHVS} PHVs with each scheduler")
            found += rows(application, traffic)
        stalled += random_rows(application)
    return {"rows": found, "random": stalled}
