# SPDX-License-Identifier: Apache-2.0
"""The pictures of `bench stateful`: Fig. 10, 11 and 12 of the stateful paper, of what was measured here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import ScalarFormatter

MARKERS = "os^Dv<>x+*d"
mpl.rcParams.update({"svg.hashsalt": "stateful", "svg.fonttype": "none", "font.size": 8})  # the same bytes for the same figures


def _saved(figure: Figure, axes: Axes, path: Path, **labels: Any) -> None:
    axes.set(**labels)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def _line(axes: Axes, number: int, points: list[tuple[float, float]], label: str, style: str = "-") -> None:
    x, y = zip(*points, strict=True)
    axes.plot(x, y, style, marker=MARKERS[number % len(MARKERS)], ms=4, lw=1, label=label)


def draw_depth(rows: list[dict[str, Any]], path: Path) -> None:
    """Fig. 10: cycles a PHV of the paper's queue over its depth, a line for each number of flows."""
    figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
    flows = sorted({row["flows"] for row in rows if row["flows"] in range(4, 33)})
    for number, count in enumerate(flows):
        _line(axes, number, [(row["depth"], row["cycles_per_phv"]) for row in rows if row["flows"] == count], f"{count} flows")
    labels = {"xlabel": "entries of the issue queue", "ylabel": "cycles a PHV", "title": "Queue depth (Fig. 10), C = 8"}
    _saved(figure, axes, path, ylim=(0.9, None), **labels)


def draw_area(rows: list[dict[str, Any]], path: Path) -> None:
    """Fig. 11: LUTs and flip-flops of the paper's queue over its depth."""
    figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
    kinds = {"xcup.lut": "LUT, UltraScale+", "xcup.ff": "FF, UltraScale+", "ecp5.lut": "LUT4, ECP5", "ecp5.ff": "FF, ECP5"}
    for number, (kind, label) in enumerate(kinds.items()):
        if points := [(row["depth"], row[kind]) for row in rows if kind in row]:
            _line(axes, number, points, label)
    labels = {"xlabel": "entries of the issue queue", "ylabel": "cells", "title": "Area of the scheduler with 4K flows (Fig. 11)"}
    _saved(figure, axes, path, ylim=(0, None), **labels)


def draw_methods(rows: list[dict[str, Any]], path: Path) -> None:
    """Fig. 12: cycles a PHV over the number of flows, a line for each scheduler."""
    figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
    uniform = [row for row in rows if row["traffic"].endswith("uniform")]
    for number, name in enumerate(dict.fromkeys(row["scheduler"] for row in uniform)):
        points = {row["flows"]: row["cycles_per_phv"] for row in uniform if row["scheduler"] == name}
        loop = next(row["loop_cycles"] for row in uniform if row["scheduler"] == name)
        _line(axes, number, list(points.items()), f"{name}, C = {loop}")
    labels = {"xlabel": "flows, all equally likely", "ylabel": "cycles a PHV", "title": "Schedulers (Fig. 12)"}
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(ScalarFormatter())
    _saved(figure, axes, path, ylim=(0.9, None), **labels)


def draw(result: dict[str, Any], folder: Path) -> None:
    """All three."""
    draw_depth(result["depths"], folder / "stateful_depth.svg")
    draw_area(result["paper"]["depths"], folder / "stateful_area.svg")
    draw_methods(result["rows"], folder / "stateful_methods.svg")
