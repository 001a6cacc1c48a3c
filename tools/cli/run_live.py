# SPDX-License-Identifier: Apache-2.0
"""`sluice run FILE.sl --live PORT`: a configuration on DPDK's ports, with its rates while it runs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from compiler.backends.cpp_build import BuildError
from host.program import InputError, live
from host.program.run import ProgramRun
from tools.cli.run_program import loaded


def figures(result: live.LiveResult) -> dict[str, Any]:
    """The result as it is printed with --json."""
    return {
        "seconds": result.seconds,
        "processor_seconds": result.processor_seconds,
        "lanes": [vars(lane) for lane in result.lanes],
        "unread": result.unread,
        "iterations": result.iterations,
        "answers": [f"0x{answer}" for answer in result.answers],
        "flits_on_cpu": {name: why or "" for name, why in result.whole.items()},
        "failures": [f"{name}: {text}" for name, outcome in result.instances.items() for text in outcome.failures],
    }


def rate(packets: float) -> str:
    """Packets a second, for people."""
    return f"{packets / 1e6:.2f} M/s" if packets >= 1e5 else f"{packets:,.0f}/s"


def table(result: live.LiveResult) -> Table:
    """The result for people."""
    rows = Table("lane", "received", "sent", "not sent", "bad", "lost", box=None, pad_edge=False)
    for number, lane in enumerate(result.lanes):
        counts = (lane.received, lane.sent, lane.unsent, lane.errors, lane.lost)
        rows.add_row(str(number), *(f"{count:,}" for count in counts))
    return rows


def run_live(what: ProgramRun, ports: Sequence[str], seconds: float, json_output: bool, stopped: Callable[[], bool]) -> None:
    """Run and print. Exit status 1 where the program has errors, an assertion fails, or it does not come to rest."""
    program = loaded(what.path)
    console, before = Console(stderr=True), [0, 0, 0.0]

    def progress(seen: live.Counters, at: float) -> bool:
        received, sent = sum(lane.received for lane in seen.lanes), sum(lane.sent for lane in seen.lanes)
        passed = max(at - before[2], 1e-3)
        console.print(f"run: {rate((received - before[0]) / passed)} received, {rate((sent - before[1]) / passed)} sent")
        before[:] = [received, sent, at]
        return stopped()

    try:
        result = live.run(what, program, ports, seconds, lambda text: console.log(f"cpu: {text}"), progress)
    except InputError as error:
        raise typer.BadParameter(str(error)) from error
    except (BuildError, RuntimeError) as error:
        print(f"run: {error}", file=sys.stderr)
        raise typer.Exit(1) from error
    found = figures(result)
    if json_output:
        print(json.dumps(found, indent=1))
    else:
        Console().print(table(result))
        received = sum(lane.received for lane in result.lanes)
        nanoseconds = 1e9 * result.processor_seconds / max(received, 1)
        print(f"{received:,} packets in {result.seconds:.1f} s; {nanoseconds:,.1f} ns of the core for each, waiting included")
        for text, answer in zip(what.signals, result.answers, strict=True):
            print(f"{text}: 0x{answer}")
    for text in found["failures"]:
        print(f"failed: {text}", file=sys.stderr)
    raise typer.Exit(1 if found["failures"] else 0)
