# SPDX-License-Identifier: Apache-2.0
"""The pictures of a run, as SVG: hit rate over time, and the latency of hits by packet size."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt

from host.python.run import Result

WINDOW = 16  # points that a rate is taken over, of 512


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
    samples = [result.samples[i] for i in range(result.sample_count)]
    figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
    axes.scatter([s.size for s in samples], [s.latency for s in samples], s=4, alpha=0.4)
    nanoseconds = 1e6 / result.clock_khz if result.clock_khz else 1.0
    low, high = axes.get_ylim()
    times = axes.twinx()
    times.set(ylim=(low * nanoseconds, high * nanoseconds), ylabel="ns")
    axes.set(
        xlabel="packet size as it leaves, bytes", ylabel="cycles from first flit in to first flit out", title="Latency of hits"
    )
    axes.grid(alpha=0.3)
    figure.savefig(folder / "latency.svg")
    plt.close(figure)
