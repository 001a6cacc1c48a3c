# SPDX-License-Identifier: Apache-2.0
"""`sluice run FILE.sl --live PORT`: a configuration on DPDK's ports, with its rates while it runs, and another one at SIGHUP."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from types import FrameType
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from compiler.backends.cpp_build import BuildError
from compiler.compile import HardwareError
from compiler.frontend.program import load
from compiler.frontend.source import Diagnostics
from host.program import InputError, live, metrics
from host.program.run import ProgramRun
from tools.cli.run_program import loaded, rendered

REFUSALS = (InputError, BuildError, HardwareError, RuntimeError)
INTERVAL = 1.0  # s from one line of rates to the next


def figures(result: live.LiveResult) -> dict[str, Any]:
    """The result as it is printed with --json."""
    return {
        "seconds": result.seconds,
        "processor_seconds": result.processor_seconds,
        "lanes": [vars(lane) for lane in result.lanes],
        "unread": result.unread,
        "switches": result.switches,
        "dropped": result.dropped,
        "iterations": result.iterations,
        "answers": [answer_text(answer) for answer in result.answers],
        "flits_on_cpu": {name: why or "" for name, why in result.whole.items()},
        "failures": [f"{name}: {text}" for core in result.instances for name, outcome in core.items() for text in outcome.failures],
    }


def answer_text(answer: str) -> str:
    """A number, or several of threads."""
    return " ".join(f"0x{one}" for one in answer.split())


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


class Noted:
    """Signals that came. The second one of those that end a run kills it."""

    def __init__(self) -> None:
        self.came, self.is_ended, self.is_reload = threading.Event(), False, False

    @contextmanager
    def during(self) -> Iterator[None]:
        """Note them; as it was before, behind it."""
        ends = (signal.SIGINT, signal.SIGTERM)

        def end(_number: int, _frame: FrameType | None) -> None:
            self.is_ended = True
            self.came.set()
            for each in ends:
                signal.signal(each, signal.SIG_DFL)

        def reload(_number: int, _frame: FrameType | None) -> None:
            self.is_reload = True
            self.came.set()

        before = {each: signal.signal(each, end) for each in ends} | {signal.SIGHUP: signal.signal(signal.SIGHUP, reload)}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    def wait(self, seconds: float) -> None:
        """So long, or until one comes."""
        self.came.wait(max(seconds, 0.0))
        self.came.clear()

    def wants_reload(self) -> bool:
        """Once for each."""
        wanted, self.is_reload = self.is_reload, False
        return wanted


def _reload(run: live.Run, keeps: bool, say: Callable[[str], None]) -> None:
    """Read the file again; where it is wrong, the old program goes on."""
    begin, diagnostics = time.monotonic(), Diagnostics()
    say("reload: compiling")
    try:
        program = load(run.what.path, diagnostics)
        if program is None or not program.channels:
            say("\n".join(one.render() for one in diagnostics.sorted()))
            raise InputError("the program has no configuration" if program else "the program has errors")
        done = run.reload(program, keeps)
    except REFUSALS as error:
        say(f"reload: {rendered(error) if isinstance(error, HardwareError) else error}; the old program goes on")
        return
    text = f"reload: {run.what.path} runs, after {time.monotonic() - begin:.1f} s"
    text += f"; kept: {', '.join(done.kept) or 'nothing'}; new: {', '.join(done.cleared) or 'nothing'}"
    text += f"; {done.rules - done.refused:,} of {done.rules:,} rules taken" if done.rules else ""
    say(text + (f"; {done.dropped} packets dropped that waited for others" if done.dropped else ""))


def _watch(run: live.Run, seconds: float, keeps: bool, noted: Noted, say: Callable[[str], None]) -> None:
    """Until it is to end."""
    begin, before = time.monotonic(), (0, 0, 0.0)
    shown = begin
    while not noted.is_ended and not (seconds and time.monotonic() - begin >= seconds):
        until = min(shown + INTERVAL, begin + seconds) if seconds else shown + INTERVAL
        noted.wait(until - time.monotonic())
        if noted.wants_reload():
            _reload(run, keeps, say)
        if run.engine.process.poll() is not None:
            return
        if (now := time.monotonic()) < until:
            continue
        seen = run.engine.counters()
        received, sent = sum(lane.received for lane in seen.lanes), sum(lane.sent for lane in seen.lanes)
        passed, shown = max(now - begin - before[2], 1e-3), now
        say(f"run: {rate((received - before[0]) / passed)} received, {rate((sent - before[1]) / passed)} sent")
        before = (received, sent, now - begin)


@dataclass(frozen=True)
class LiveOptions:
    """What `run --live` is asked for beside the program. `seconds`: 0 up to Ctrl-C; `metrics`: a port, 0 for none."""

    ports: Sequence[str]
    seconds: float
    keeps: bool
    metrics: int
    threads: int
    partitioned: bool


def run_live(what: ProgramRun, options: LiveOptions, json_output: bool) -> None:
    """Run and print. Exit status 1 where the program has errors, an assertion fails, or it does not come to rest."""
    program = loaded(what.path)
    console, noted = Console(stderr=True), Noted()

    def say(text: str) -> None:
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    try:
        with noted.during():
            run = live.Run(what, program, options.ports, lambda text: say(f"cpu: {text}"), options.threads, options.partitioned)
            try:
                with metrics.served(options.metrics, run.engine.counters) if options.metrics else nullcontext():
                    _watch(run, options.seconds, options.keeps, noted, say)
                    result = run.end()
            finally:
                run.engine.close()
    except InputError as error:
        raise typer.BadParameter(str(error)) from error
    except (BuildError, HardwareError, RuntimeError) as error:
        print(rendered(error) if isinstance(error, HardwareError) else f"run: {error}", file=sys.stderr)
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
            print(f"{text}: {answer_text(answer)}")
    for text in found["failures"]:
        print(f"failed: {text}", file=sys.stderr)
    raise typer.Exit(1 if found["failures"] else 0)
