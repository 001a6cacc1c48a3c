# SPDX-License-Identifier: Apache-2.0
"""`sluice deploy`: a program into a running device, as a program of its programmable pipeline."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import typer

from compiler.compile import HardwareError
from compiler.frontend.source import Diagnostics, Source
from compiler.frontend.typed import Program
from compiler.overlay.deploy import deployed
from compiler.overlay.place import Sizes
from host.agent.local import ask
from host.program import InputError
from host.program.overlay_run import load, options_for, rules_source, sizes_of
from tools.cli.agent import SOCKET, STATE, StateOption
from tools.cli.programs import fail, program_of

DEVICES = ("sim", "sim-process", "agent")


def deploy(
    file: Path = typer.Argument(help="a program (.sl) with a configuration"),
    to: str = typer.Option("overlay", help="what it is deployed to: overlay, the programmable pipeline"),
    rules: Path = typer.Option(None, help="the rules of its tables; see docs/guide/deploy.md"),
    device: str = typer.Option(
        "sim", help="sim: simulated in this process; sim-process: in a separate process; agent: that of --state"
    ),
    state: StateOption = STATE,
    dry_run: bool = typer.Option(False, "--dry-run", help="compile for a device of --units, and load nothing"),
    units: int = typer.Option(2, min=1, max=14, help="units of the device of a dry run"),
    json_output: bool = typer.Option(False, "--json", help="print what was placed where as JSON"),
) -> None:
    """Load a program into a device while it runs: table lookups and header changes become entries and actions of its programmable
    pipeline, between two packets, without synthesis.

    `./sluice deploy configs/overlay/switch/switch.sl --rules configs/overlay/switch/switch.rules --dry-run` shows the units of a
    switch. `./sluice run FILE.sl --rules FILE --target overlay --in a.pcap --out b.pcap` sends packets through the program.
    `--device agent` has a running agent load it in the place of its flows; `./sluice table restore` gives the device back to them.
    Exit status 1: the overlay cannot run the program; the message says what does not fit and where."""
    if to != "overlay":
        raise typer.BadParameter(f"--to {to}: unknown target; it is overlay")
    if device not in DEVICES:
        raise typer.BadParameter(f"--device {device}: unknown device; choose from {', '.join(DEVICES)}")
    if device == "agent" and not dry_run:
        _show_all(_by_agent(state, file, rules), json_output)
        return
    program = program_of(file, json_output)
    try:
        text = rules_source(rules)
        made = deployed(program, text, Sizes(units=units))
        found = made.report() if dry_run else _loaded(program, text, device, options_for(made))
    except InputError as error:
        raise typer.BadParameter(str(error)) from error
    except HardwareError as error:
        diagnostics = Diagnostics()
        error.report(diagnostics)
        raise fail(diagnostics, json_output) from error
    _show_all(found, json_output)


def _by_agent(state: Path, file: Path, rules: Path | None) -> dict[str, Any]:
    """What a running agent placed where."""
    request = {"do": "deploy", "file": str(file.resolve()), "rules": str(rules.resolve()) if rules else None}
    try:
        (answer,) = ask(state / SOCKET, request)
    except OSError as error:
        print(
            f"deploy: no agent answers at {state / SOCKET}: {error.strerror}; hint: sluice agent --state {state}", file=sys.stderr
        )
        raise typer.Exit(2) from error
    if "error" in answer:
        print(answer["error"], file=sys.stderr)
        raise typer.Exit(1)
    return answer


def _loaded(program: Program, text: Source | None, transport: str, options: dict[str, int]) -> dict[str, Any]:
    """The program in a device: what was placed where, writes, cycles."""
    from host.python.device import Device, SluiceError
    from host.python.pipeline import Overlay

    try:
        with Device(options, transport=transport) as opened:
            overlay = Overlay(opened)
            made = deployed(program, text, sizes_of(overlay), opened.lanes)
            took = load(opened, overlay, made)
    except SluiceError as error:
        print(f"deploy: {error.strerror}", file=sys.stderr)
        raise typer.Exit(2) from error
    return {**made.report(), "register_writes": took.writes, "load_cycles": took.cycles}


def _pace(unit: dict[str, Any]) -> str:
    """How many cycles packets of one flow take."""
    if unit["waits"]:
        return f"waits: C = {unit['cycles']}, because " + "; ".join(unit["waits"])
    updates = "; ".join(f"{part}: {how['family']}, stage {how['stage']}" for part, how in unit["composed"].items())
    return f"composed: a packet a cycle for any flows ({updates or 'no state changes'})"


def _show_all(found: dict[str, Any], json_output: bool) -> None:
    if json_output:
        print(json.dumps(found, indent=1))
    else:
        _show(found)


def _show(found: dict[str, Any]) -> None:
    for unit in found["units"]:
        key = ", ".join(unit["key"]) or "nothing"
        print(
            f"unit {unit['number']}      {unit['decides']} at {unit['source']}: {unit['entries']} {unit['kind']} entries, key {key}"
        )
    for unit in found["stateful"]:
        labels = f", labels {', '.join(unit['labels'])}" if unit["labels"] else ""
        takes = f"{unit['entries']} entries, {len(unit['conditions'])} conditions{labels}"
        print(f"unit {unit['number']}      state of flows at {unit['source']}: {takes}")
        print(f"            {_pace(unit)}")
    print(f"containers  {len(found['containers'])}: " + ", ".join(f"{name} in {at}" for name, at in found["containers"].items()))
    print(f"written     {', '.join(found['written']) or 'nothing'}")
    for name, words in found["checksums"].items():
        print(f"checksum    {name} follows {', '.join(words)}")
    if "register_writes" in found:
        print(f"loaded      {found['register_writes']:,} register writes, {found['load_cycles']:,} cycles of the device")
