# SPDX-License-Identifier: Apache-2.0
"""The pictures of a run, as SVG: hit rate over time, and how latencies of hits are distributed, by packet size."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt

from host.python.run import Result

WINDOW = 16  # points that a rate is taken over, of 512
EDGES = (0, 64, 65, 128, 256, 512, 1024, 1518, 1 << 16)  # of ranges of sizes, bytes


def plot_run(result: Result, folder: Path) -> None:
    """Write `hit_rate.svg` and `latency.svg` into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    points = [result.series[i] for i in range(result.series_count)]
    pairs = [(a, b) for a, b in zip(points, points[WINDOW:], strict=False) if b.inputs > a.inputs]
    figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
    axes.plot(
        [b.cycle / 1000 for _, b in pairs],
        [max(0.0, 100 * (1 - (b.host - a.host) / (b.inputs - a.inputs))) for a, b in pairs],
        lw=1,
    )
    axes.set(xlabel="thousand cycles", ylabel="packets kept in hardware, %", ylim=(-2, 102), title="Hit rate over time")
    axes.grid(alpha=0.3)
    figure.savefig(folder / "hit_rate.svg")
    plt.close(figure)
    samples = [(result.samples[i].size, result.samples[i].latency) for i in range(result.sample_count)]
    _latency(samples, 1e6 / result.clock_khz if result.clock_khz else 1.0, folder / "latency.svg")


def by_size(samples: Iterable[tuple[int, int]]) -> dict[str, list[int]]:
    """Latencies by range of sizes, smallest first, of (size, latency); ranges without a packet are left out."""
    found: dict[str, list[int]] = {}
    ordered = sorted(samples)
    for low, high in pairwise(EDGES):
        if latencies := [latency for size, latency in ordered if low <= size < high]:
            found[f"{low}" if high == low + 1 else f"{low} to {high - 1}" if high < EDGES[-1] else f"from {low}"] = latencies
    return found


def _latency(samples: Iterable[tuple[int, int]], nanoseconds: float, path: Path) -> None:
    """A box for each range of sizes; `nanoseconds` are those of a cycle."""
    groups = by_size(samples)
    figure, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
    if groups:
        labels = [f"{name}\n{len(latencies):,}" for name, latencies in groups.items()]
        axes.boxplot(list(groups.values()), tick_labels=labels, whis=(1, 99), showfliers=False, widths=0.55)
    axes.set_ylim(bottom=0)
    times = axes.twinx()
    times.set(ylim=(0, axes.get_ylim()[1] * nanoseconds), ylabel="ns")
    axes.set(
        xlabel="output packet size in bytes; number of packets",
        ylabel="cycles, first flit in to first flit out",
        title="Latency of hits: median, quartiles, 1 % and 99 %",
    )
    axes.grid(axis="y", alpha=0.3)
    figure.savefig(path)
    plt.close(figure)
