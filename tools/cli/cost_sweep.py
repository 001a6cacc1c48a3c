# SPDX-License-Identifier: Apache-2.0
"""`sluice cost --sweep tcam`: area of the ternary match over width and depth, as Fig. 17 of the AccelSDP paper.

Each point is one synthesis for UltraScale+, kept in build/synth like every other; a point that fails is named and left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import matplotlib as mpl
import typer
from rich.console import Console
from rich.table import Table

from toolchain.synth.flow import Area, SynthesisError, area

mpl.use("svg")
import matplotlib.pyplot as plt

TARGET = "xcup"
WIDTHS = (32, 64, 128)
DEPTHS = (64, 256, 512)


@dataclass(frozen=True)
class Point:
    """One size of the match memory and what it costs; `depth` is the rules, one more entry is the spare of updates."""

    width: int
    depth: int
    parameters: Mapping[str, str]
    area: Area


def tcam_parameters(width: int, depth: int) -> dict[str, str]:
    """Parameters of sl_tcam for that many rules; chunk and group as the LUT RAM of UltraScale+ likes them."""
    return {"KeyBits": str(width), "Entries": str(depth + 1), "ChunkBits": "5", "GroupEntries": "8"}


def _measure(limit: float, console: Console) -> tuple[list[Point], bool]:
    points, complete = [], True
    for depth in DEPTHS:
        for width in WIDTHS:
            parameters = tcam_parameters(width, depth)
            console.log(f"tcam {width} x {depth}: synthesis for {TARGET}")
            try:
                points.append(Point(width, depth, parameters, area("sl_tcam", parameters, TARGET, limit)))
            except SynthesisError as error:
                complete = False
                console.print(f"[red]cost:[/red] tcam {width} x {depth}: {error}")
    return points, complete


def draw(points: Sequence[Point], path: Path) -> None:
    """Write the figure: LUTs (logic and RAM) over the width, a line for each depth."""
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    for axes, field, title in ((panels[0], "lut", "LUTs of logic"), (panels[1], "lutram", "LUTs used as RAM")):
        for depth in sorted({p.depth for p in points}):
            line = sorted((p.width, getattr(p.area, field) / 1000) for p in points if p.depth == depth)
            axes.plot([x for x, _ in line], [y for _, y in line], marker="o", label=f"{depth} rules")
        axes.set(xlabel="width of the key, bits", ylabel="thousands", title=title, ylim=(0, None), xticks=WIDTHS)
        axes.grid(alpha=0.3)
        axes.legend()
    figure.suptitle("Ternary match (sl_tcam) on UltraScale+")
    figure.savefig(path)
    plt.close(figure)


def _table(points: Sequence[Point]) -> Table:
    table = Table("width", "depth", "LUT", "FF", "LUT-RAM", "BRAM36", "LUT / rule", "LUT-RAM / rule")
    for p in points:
        shares = (f"{p.area.lut / p.depth:.1f}", f"{p.area.lutram / p.depth:.1f}")
        table.add_row(*(str(x) for x in (p.width, p.depth, p.area.lut, p.area.ff, p.area.lutram, p.area.bram)), *shares)
    return table


def run(name: str, folder: Path | None, json_output: bool, limit: float, console: Console) -> None:
    """Measure, print and plot the sweep `name`. Exit status 2 where a point could not be built."""
    if name != "tcam":
        raise typer.BadParameter(f"unknown sweep {name!r}; the only one is tcam")
    points, complete = _measure(limit, console)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        draw(points, folder / "cost_tcam.svg")
    if json_output:
        print(json.dumps([asdict(p) for p in points], indent=1))
    else:
        Console().print(_table(points))
    raise typer.Exit(0 if complete else 2)
