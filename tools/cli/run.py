# SPDX-License-Identifier: Apache-2.0
"""`sluice run`: captures, or live interfaces, through the simulated accelerator, and a table of the results."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table
from sluice_layouts import EXACT_ENTRIES4, LPM_ENTRIES4

from host.python.device import SluiceError
from host.python.run import LiveRun, Result, RulesError, Run, Stopped, check_rules
from host.python.run import run as run_device
from shell.sim.build import BuildError
from shell.sim.build import build as build_device
from tools.cli.run_files import check_outputs, readable, steady

HARDWARE_DROPS = ("rule", "ttl", "no_port")
RECEIVE_DROPS = ("error", "oversize", "overflow", "runt")
TRANSMIT_DROPS = ("overflow", "error")
HOST_DROPS = ("overflow", "error", "invalid")
INTERFACE_DROPS = ("unread", "too_long", "busy", "error")
DEVICES = ("sim", "sim-process")
SOFTWARE_DROPS = ("none", "malformed", "oversize", "denied", "no_route", "ttl", "no_port", "link_local", "tunnel")


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _check_figures(result: Result) -> dict[str, int] | None:
    found = result.findings
    if found is None:
        return None
    counts = {name: getattr(found, name) for name in ("expected", "differing", "misordered", "missing", "extra")}
    return {**counts, "extra": found.extra + result.strays}


def figures(result: Result, live: bool = False) -> dict[str, Any]:
    """The result as it is printed with --json: counts, rates, latency, drops, rule operations, the check (None: none)."""
    nanoseconds = 1e6 / result.clock_khz if result.clock_khz else 0.0
    latency = {name: getattr(result, f"latency_{name}") for name in ("min", "median", "p99")}
    software = dict(zip(SOFTWARE_DROPS, result.software_drops, strict=True))
    del software["none"]
    return {
        "packets": result.packets,
        "bytes": result.bytes,
        "sent": result.sent,
        "outputs": result.outputs,
        "hits": result.hits,
        "host": result.host,
        "hit_rate": round(_ratio(result.hits, result.hits + result.host), 6),
        "to_host": {"parser_fault": result.faults, "not_eligible": result.not_eligible, "miss": result.misses},
        "drops": {
            "receive": dict(zip(RECEIVE_DROPS, result.receive_drops, strict=True)),
            "hardware": dict(zip(HARDWARE_DROPS, result.hardware_drops, strict=True)),
            "software": software,
            "transmit": dict(zip(TRANSMIT_DROPS, result.transmit_drops, strict=True)),
            "host": dict(zip(HOST_DROPS, result.host_drops, strict=True)),
            "interface": dict(zip(INTERFACE_DROPS, result.interface_drops, strict=True)),
        },
        "cycles": result.cycles,
        "clock_mhz": result.clock_khz / 1000,
        "cycles_per_packet": round(_ratio(result.cycles, result.sent), 3),
        "latency_cycles": latency,
        "latency_ns": {name: round(value * nanoseconds, 1) for name, value in latency.items()},
        "rules": {
            name: getattr(result, name)
            for name in ("routes", "routes_left", "installed", "deleted", "evicted", "expired", "refused", "fences")
        },
        "check": _check_figures(result),
        "snapped_packets": result.snapped,
        "seconds": round(result.seconds, 3),
        "packets_per_s": round(_ratio(result.sent, result.device_seconds)),
        "notes": result.text.splitlines(),
        "good": result.good,
    }


def _drops(found: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in found.items() if count) or "none"


def table(result: Result, running: bool = False, live: bool = False) -> Table:
    """The result for people."""
    shown = figures(result, live)
    rows = Table(title="running" if running else None, show_header=False, box=None, pad_edge=False)
    rows.add_row(
        "packets", f"{shown['sent']:,} of {shown['packets']:,} sent, {shown['bytes']:,} bytes; {shown['outputs']:,} received"
    )
    rows.add_row("in hardware", f"{shown['hits']:,} hits ({100 * shown['hit_rate']:.1f} %)")
    why = ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in shown["to_host"].items() if count)
    rows.add_row("in software", f"{shown['host']:,}" + (f" ({why})" if why else ""))
    for place, found in shown["drops"].items():
        if place in ("receive", "hardware", "software") or any(found.values()):
            rows.add_row(f"dropped, {place}", _drops(found))
    rules = shown["rules"]
    rows.add_row("rules", ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in rules.items() if count))
    rows.add_row("cycles", f"{shown['cycles']:,}, {shown['cycles_per_packet']:.2f} per packet, at {shown['clock_mhz']:.0f} MHz")
    cycles, times = shown["latency_cycles"], shown["latency_ns"]
    rows.add_row("latency of hits", ", ".join(f"{name} {cycles[name]} cycles ({times[name]:.0f} ns)" for name in cycles))
    rows.add_row("on average" if live else "simulated at", f"{shown['packets_per_s']:,} packets/s")
    if live:
        rows.add_row("check", "none: a live run does not compare; --out records the output")
    elif running:
        rows.add_row("check", f"{result.judged:,} packets judged")
    elif shown["check"] is None:
        rows.add_row("check", "none (--no-check)")
    else:
        rows.add_row("check", _check_row(shown["check"]))
    return rows


def _check_row(check: dict[str, int]) -> str:
    wrong = sum(check.values()) - check["expected"]
    text = f"{check['expected']:,} packets compared with the reference model, {wrong} differ"
    if not wrong:
        return f"[green]{text}[/green]"
    kinds = {"differing": "in bytes", "misordered": "in order", "missing": "missing", "extra": "unexpected"}
    return f"[red]{text} ({', '.join(f'{check[name]:,} {kind}' for name, kind in kinds.items())})[/red]"


def _progress(console: Console, shown: Live | None, live: bool, stop: Callable[[], bool]) -> Callable[[Result], bool]:
    last, told = time.monotonic(), 0

    def show(result: Result) -> bool:
        nonlocal last, told
        if live and len(result.notes) > told:  # what is wrong with an interface is of use now, not at the end
            console.print(result.text[told:], end="", markup=False, soft_wrap=True)
            told = len(result.notes)
        if shown is not None:
            shown.update(table(result, running=True, live=live))
        elif time.monotonic() - last > 5:
            last = time.monotonic()
            of = "" if live else f"of {result.packets:,} "
            checked = f", {result.judged:,} judged" if result.judged else ""
            console.print(f"run: {result.sent:,} {of}packets, {result.hits:,} hits{checked}")
        return stop()

    return show


@contextmanager
def _noted_signals() -> Iterator[list[int]]:
    """Ctrl-C and SIGTERM that came: they end a live run with its table, and stop a run over captures. The second one kills."""
    came: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)

    def note(number: int, _: FrameType | None) -> None:
        came.append(number)
        for each in numbers:
            signal.signal(each, signal.SIG_DFL)

    before = {number: signal.signal(number, note) for number in numbers}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _execute(what: Run | LiveRun, quiet: bool) -> Result:
    """Raises typer.Exit with 128 + the signal's number where one stopped a run over captures."""
    console, live = Console(stderr=True), isinstance(what, LiveRun)
    check_rules(what.rules)  # before a device is built for minutes
    build_device(what.sizes, lambda text: console.print(f"sim: {text}"))
    with _noted_signals() as came:
        try:
            if quiet or not sys.stdout.isatty():
                return run_device(what, _progress(console, None, live, lambda: bool(came)))
            with Live(console=Console(), refresh_per_second=4, transient=True) as shown:
                return run_device(what, _progress(shown.console, shown, live, lambda: bool(came)))
        except Stopped as stopped:
            print("run: stopped; no output was written", file=sys.stderr)
            raise typer.Exit(128 + (came or [signal.SIGINT])[0]) from stopped


def _result(what: Run | LiveRun, quiet: bool) -> Result:
    """The same with every error in a line, and exit status 2."""
    try:
        return _execute(what, quiet)
    except RulesError as error:
        print(error, file=sys.stderr)
        raise typer.Exit(2) from error
    except (SluiceError, BuildError) as error:
        print(f"run: {error.strerror if isinstance(error, SluiceError) else error}", file=sys.stderr)
        raise typer.Exit(2) from error


def _print(result: Result, live: bool, json_output: bool) -> None:
    if json_output:
        print(json.dumps(figures(result, live), indent=1))
        return
    Console().print(table(result, live=live))
    if not live:
        print(result.text, end="", file=sys.stderr)


def _check_options(captures: bool, live: bool, batch_only: dict[str, bool]) -> None:
    """Raises BadParameter where the options do not go together."""
    if captures == live:
        raise typer.BadParameter("give either captures (--in) or interfaces (--live)")
    for name, given in batch_only.items():
        if live and given:
            raise typer.BadParameter(f"{name} is only for captures, not for live runs")


def run(
    program: Path = typer.Argument(None, help="a program (.sl) with a configuration, instead of --rules: see --target"),
    rules: Path = typer.Option(None, help="routes, access rules, policy (docs/guide/rules.md); of a program: its tables"),
    inputs: list[Path] = typer.Option([], "--in", help="pcap, pcapng, or either as .xz; repeat: lane 0, lane 1, ..."),
    interfaces: list[str] = typer.Option(
        [], "--live", help="interface, or tap:NAME to make a TAP; of a program any port of DPDK; repeat; see docs/guide/live.md"
    ),
    seconds: float = typer.Option(0, min=0, help="end a live run after this many seconds; 0: at Ctrl-C"),
    keep: bool = typer.Option(
        True, help="of a program on ports: a reload (SIGHUP) keeps states whose instance, name, type are the same"
    ),
    metrics: int = typer.Option(
        0, min=0, max=65535, help="of a program on ports: TCP port for `sluice top` and Prometheus; 0: none"
    ),
    threads: int = typer.Option(
        1, min=1, help="of a program on ports: cores that poll, each with a queue of every port and states of its own"
    ),
    partitioned: bool = typer.Option(
        False,
        "--partitioned",
        help="with --threads: also where packets change what decides about others; flows of a thread share it",
    ),
    outputs: list[Path] = typer.Option([], "--out", help="pcap for the output packets; repeat: lane 0, lane 1, ..."),
    repeat: int = typer.Option(1, min=1, help="send the captures this many times"),
    check: bool = typer.Option(True, help="compare every output packet with a second implementation of the rules (host/judge)"),
    plot: Path = typer.Option(None, help="write hit rate over time and latency by size as SVG into this folder"),
    lpm: int = typer.Option(None, help="device capacity: routes per IP version", show_default=str(LPM_ENTRIES4)),
    exact: int = typer.Option(
        None, help="device capacity: IPv4 flows; a quarter of that for IPv6", show_default=str(EXACT_ENTRIES4)
    ),
    device: str = typer.Option(
        "sim", help="sim: simulated in this process; sim-process: in a separate process; see docs/guide/devices.md"
    ),
    target: str = typer.Option(
        "cpu",
        help="for a program: cpu (compiled C++, whole packets), cpu-exact (flit by flit: slow, for comparison), sim (RTL in the "
        "simulated accelerator, host elements on the CPU), overlay (the pipeline, docs/guide/deploy.md), or interpreter",
    ),
    seed: int = typer.Option(0, min=0, help="for a program: seed of timing-dependent choices; 0: the default order"),
    signals: list[str] = typer.Option(
        [],
        "--signal",
        help="for a program: send INSTANCE.NAME:ARGUMENT,... at the end of the run; with @N appended, after N packets",
    ),
    json_output: bool = typer.Option(False, "--json", help="print the figures as JSON"),
) -> None:
    """Send captures, or packets from live interfaces, through the simulated accelerator.

    Hits are forwarded in hardware, misses by the software forwarder. For captures, the exit status is 0 only if every
    packet was sent and every output packet matches a second implementation of the rules file. A live run compares nothing.

    `./sluice run my.sl --in a.pcap --out b.pcap --signal cnt.get_count` runs the configuration of a program instead, and sends a
    signal at the end; `--target sim` runs it as RTL in the simulated accelerator. Exit status 1: the program has an error, or
    an assertion failed.

    `./sluice run my.sl --live tap:a --live eth1` runs it on a core of this machine, on ports of DPDK (docs/guide/live.md). At
    SIGHUP it reads my.sl again and goes on with it, without losing a packet.
    """
    live = bool(interfaces)
    if program is None and rules is None:
        raise typer.BadParameter("give a program (FILE.sl), --rules, or both")
    if device not in DEVICES:
        raise typer.BadParameter(f"--device: unknown device {device}; choose from {', '.join(DEVICES)}")
    _check_options(bool(inputs), live, {"--repeat": repeat != 1, "--plot": plot is not None})
    if seconds and not live:
        raise typer.BadParameter("--seconds requires --live")
    if program is not None and live:
        from host.program.run import ProgramRun
        from tools.cli.run_live import LiveOptions, run_live

        if target != "cpu" or outputs or seed:
            raise typer.BadParameter("a program on live ports runs with --target cpu, without --out and --seed")
        options = LiveOptions(interfaces, seconds, keep, metrics, threads, partitioned)
        run_live(ProgramRun(program, [], [], signals, 0, rules), options, json_output)
    check_outputs(outputs)
    with readable(inputs) as captures:
        if program is not None:
            from host.program.run import ProgramRun
            from tools.cli.run_program import run_program

            run_program(ProgramRun(program, captures, outputs, signals, seed, rules), target, json_output)
        sizes = {"lanes": 4} | ({} if lpm is None else {"lpm4": lpm, "lpm6": lpm})
        sizes |= {} if exact is None else {"exact4": exact, "exact6": max(64, exact // 4)}
        with steady(rules) as text:
            what: Run | LiveRun = Run(text, captures, outputs, repeat, check, sizes, device)
            if live:
                what = LiveRun(text, interfaces, outputs, seconds, sizes, device)
            result = _result(what, json_output)
    if plot is not None:
        from tools.cli.run_plot import plot_run

        plot_run(result, plot)
    _print(result, live, json_output)
    raise typer.Exit(0 if result.good else 1)
