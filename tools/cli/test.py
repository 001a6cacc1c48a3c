# SPDX-License-Identifier: Apache-2.0
"""`sluice test`: elements on every target against the interpreter, their intervals proved, and the tests beside them run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from compiler.certificate import certify
from compiler.compile import Compiled, HardwareError, compile_element
from compiler.frontend import typed
from compiler.fuzz import trial
from compiler.interpreter.packets import Packet
from compiler.native import has_native
from compiler.native_cpp import has_native_cpp, has_packet_body
from host.program import InputError
from host.program.captures import read_capture
from toolchain import ROOT
from tools.cli.programs import program_of

LIBRARY = ROOT / "elements"
TARGETS = ("cpu", "rtl", "native", "native-cpp", "native-packet")
JUDGED = {
    "cpu": trial.Judged.WITH_STATE,
    "rtl": trial.Judged.WITH_STATE,
    "native-packet": trial.Judged.BY_RUNNER,
}  # others: by outputs
SHOWN = 12  # lines of a counterexample
NO_TESTS = 5  # pytest's exit status where it found none

Log = Callable[[str], None]


@dataclass
class Row:
    """What was found of an element: for each target, the certificate of its interval, seconds."""

    element: str
    file: str
    targets: dict[str, dict[str, Any]] = field(default_factory=dict)
    refused: str = ""  # why it is no hardware
    interval: dict[str, Any] | None = None
    seconds: float = 0.0

    @property
    def failures(self) -> list[str]:
        """What is wrong, each a text of some lines."""
        found = []
        for target, result in self.targets.items():
            if "failure" in result:
                head = f"{self.element} ({self.file}) on {target}, seed {result['seed']}: {result['failure']}"
                least = [f"    {line}" for line in result.get("counterexample", [])]
                found.append("\n".join([head, *(["  smallest failing case found:"] if least else []), *least]))
        if self.interval and self.interval["failure"]:
            found.append(f"{self.element} ({self.file}): II = {self.interval['ii']} is not certified: {self.interval['failure']}")
        return found


@dataclass(frozen=True)
class What:
    """What is to be done with each element."""

    targets: Sequence[str]
    seeds: Sequence[int]
    packets: Sequence[Packet]
    prove: bool


@dataclass(frozen=True)
class Beside:
    """The pytest files of a folder; `failure`: the end of what pytest said, where they fail."""

    folder: str
    summary: str
    failure: str


def _programs(paths: Sequence[Path]) -> list[Path]:
    found: list[Path] = []
    for path in paths:
        programs = sorted(path.rglob("*.sl")) if path.is_dir() else [path]
        if not programs:
            raise typer.BadParameter(f"{path} contains no .sl file")
        found += [program for program in programs if program not in found]
    return found


def _elements(paths: Sequence[Path]) -> Iterator[tuple[Path, typed.Element]]:
    """The elements that are written in the files; all that are used where a file is only a configuration. Exits with the errors of
    a file that has some."""
    seen = set()
    for path in paths:
        used = program_of(path).elements
        for element in [e for e in used if Path(e.span.source.name).resolve() == path.resolve()] or used:
            if (element.span.source.name, element.name) not in seen:
                seen.add((element.span.source.name, element.name))
                yield path, element


def _compared(element: typed.Element, build: Callable[[], trial.Runner], what: What, judged: trial.Judged) -> dict[str, Any]:
    """Every seed up to the first that is wrong."""
    iterations = 0
    try:
        run = build()
    except HardwareError as error:
        return {"iterations": 0, "seed": what.seeds[0], "failure": f"{error.code}: {error.text}"}
    except (RuntimeError, ValueError, OSError) as error:
        return {"iterations": 0, "seed": what.seeds[0], "failure": f"the build failed: {error}"}
    for seed in what.seeds:
        given = trial.trial(element, seed, what.packets)
        wrong, count = trial.fault(element, run, given, judged)
        iterations += count
        if wrong:
            least = trial.smaller(element, run, given, judged)
            lines = trial.shown(element, least)
            more = [f"… and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else []
            message = trial.fault(element, run, least, judged)[0] or wrong
            return {"iterations": iterations, "seed": seed, "failure": message, "counterexample": lines[:SHOWN] + more}
    return {"iterations": iterations}


def _row(file: Path, element: typed.Element, what: What, log: Log) -> Row:
    row, began = Row(element.name, str(file)), time.monotonic()
    compiled: Compiled | None = None
    if what.prove or {"rtl", "native"} & {*what.targets}:
        try:
            compiled = compile_element(element)
        except HardwareError as error:
            row.refused = f"{error.code}: {error.text}"
    builds: dict[str, Callable[[], trial.Runner]] = {"cpu": lambda: trial.cpu(element)}
    if has_native_cpp(element):
        builds["native-cpp"] = lambda: trial.native_body_cpp(element)
    if has_packet_body(element):
        builds["native-packet"] = lambda: trial.packet_body(element)
    if compiled is not None:
        design = compiled
        builds["rtl"] = lambda: trial.simulated(design)
        if has_native(design):
            builds["native"] = lambda: trial.native(design)
    for target in [target for target in what.targets if target in builds]:
        log(f"{element.name}: {target}")
        row.targets[target] = _compared(element, builds[target], what, JUDGED.get(target, trial.Judged.BY_OUTPUTS))
    if what.prove and compiled is not None:
        log(f"{element.name}: proving its interval")
        row.interval = _interval(compiled)
    row.seconds = round(time.monotonic() - began, 1)
    return row


def _interval(compiled: Compiled) -> dict[str, Any]:
    try:
        return {"ii": compiled.plan.interval, **certify(compiled).to_json()}
    except RuntimeError as error:  # the tools refuse the SystemVerilog
        return {"ii": compiled.plan.interval, "certified": False, "failure": str(error)}


def _beside(folder: Path, log: Log) -> Beside | None:
    """The tests of a folder, run; None where it has none."""
    tests = sorted(folder.glob("test_*.py"))
    if not tests:
        return None
    log(f"{folder}: {', '.join(test.name for test in tests)}")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(str(test.resolve()) for test in tests)]
    done = subprocess.run(command, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, check=False)
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    summary = lines[-1].strip("= ") if lines else f"pytest exited with status {done.returncode}"
    return Beside(str(folder), summary, "" if done.returncode in (0, NO_TESTS) else "\n".join(lines[-30:]))


def _cell(row: Row, target: str) -> str:
    if target not in row.targets:
        return "[yellow]not hardware[/]" if target == "rtl" and row.refused else "-"
    result = row.targets[target]
    return "[bold red]wrong[/]" if "failure" in result else f"[green]agrees[/], {result['iterations']} iterations"


def _interval_cell(row: Row) -> str:
    if row.interval is None:
        return "-"
    if row.interval["failure"]:
        return f"{row.interval['ii']}, [bold red]not certified[/]"
    return f"{row.interval['ii']}, certified" + (f" for {row.interval['cycles']} cycles" if row.interval["cycles"] else "")


def _show(rows: Sequence[Row], beside: Sequence[Beside], targets: Sequence[str]) -> None:
    console = Console(width=None if sys.stdout.isatty() else 150)
    targets = [target for target in targets if target in ("cpu", "rtl") or any(target in row.targets for row in rows)]
    table = Table("element", *targets, "II", "seconds")
    for row in rows:
        table.add_row(escape(row.element), *(_cell(row, target) for target in targets), _interval_cell(row), f"{row.seconds:.1f}")
    console.print(table)
    for row in rows:
        if row.refused:
            console.print(f"{row.element} is not hardware: {row.refused}", markup=False, soft_wrap=True)
    for tests in beside:
        console.print(f"{tests.folder}: {tests.summary}", markup=False, soft_wrap=True)
        if tests.failure:
            console.print(tests.failure, markup=False, soft_wrap=True)
    for text in (text for row in rows for text in row.failures):
        console.print(f"\n{text}", markup=False, soft_wrap=True)


def test(
    paths: list[Path] = typer.Argument(None, metavar="FILE|FOLDER", exists=True, help="programs; default: the library"),
    seeds: int = typer.Option(4, min=1, help="number of runs, each with different tokens, choices and pauses"),
    seed: int = typer.Option(0, min=0, help="first seed"),
    captures: list[Path] = typer.Option(
        [], "--in", exists=True, dir_okay=False, help="a capture (pcap) for packet inputs; may be repeated"
    ),
    target: list[str] = typer.Option([], help=f"one of {', '.join(TARGETS)}; default: all"),
    prove: bool = typer.Option(True, help="prove the initiation interval (II) of each element on its SystemVerilog"),
    tests: bool = typer.Option(True, help="run the pytest files (test_*.py) in the folders of the programs"),
    json_output: bool = typer.Option(False, "--json", help="print the results as JSON"),
) -> None:
    """Test elements without writing a test: C++ and hardware must match the interpreter on any input.

    `./sluice test ttlfilter.sl` gives each element of the file random packets (any contents, and with headers of the usual
    protocols; with `--in` those of a capture) and random tokens, calls its signals in between, and pauses inputs and outputs.
    Every token, state, answer and printed line is compared with the interpreter, which makes the same choices.
    `cpu` is the C++, `rtl` the SystemVerilog under Verilator, `native` and `native-cpp` are the element's native bodies, which
    must match too (except in their states), and `native-packet` is the one for whole packets, which must send the same packets
    and give the same answers. Then the initiation interval is proved, and the pytest files beside the program
    run: only these can test the purpose of an element.

    On a mismatch it prints the first difference, with the fewest tokens and calls found that show it, and the seed
    (`--seed N --seeds 1 --target rtl` runs it again). For a file without elements, it tests the elements that the file uses. The
    first build takes a minute per element; builds are cached. Exit status 1: a test failed."""
    if unknown := [name for name in target if name not in TARGETS]:
        raise typer.BadParameter(f"unknown target {', '.join(unknown)}; choose from {', '.join(TARGETS)}")
    console = Console(stderr=True)
    programs = _programs(paths or [LIBRARY])
    try:
        packets = [packet for path in captures for packet in read_capture(path) if packet.data]
    except InputError as error:
        raise typer.BadParameter(str(error)) from error
    chosen = [name for name in TARGETS if name in (target or TARGETS)]

    def log(text: str) -> None:
        console.log(escape(text))

    what = What(chosen, range(seed, seed + seeds), packets, prove)
    rows = [_row(file, element, what, log) for file, element in list(_elements(programs))]
    folders = sorted({path.parent for path in programs}) if tests else []
    beside = [found for folder in folders if (found := _beside(folder, log))]
    failures = [*(text for row in rows for text in row.failures), *(found.failure for found in beside if found.failure)]
    if json_output:
        shown = {"elements": [vars(row) for row in rows], "tests": [vars(found) for found in beside], "failures": failures}
        print(json.dumps(shown, indent=1))
    else:
        _show(rows, beside, chosen)
    raise typer.Exit(1 if failures else 0)
