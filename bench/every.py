# SPDX-License-Identifier: Apache-2.0
"""`./sluice bench --all`: every benchmark and certificate (`registry.py`) on one commit, each within its time, and what they must
show. Results are kept by commit in build/bench/all, so that a run goes on where it was stopped; figures of synthesis are kept by
content (`toolchain/synth/ledger.py`). When all are there, the tables of the docs are written between their markers, all from this
commit; figures of another commit are refused."""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import machine, registry
from bench.registry import Bench
from toolchain import ROOT
from toolchain.synth import ledger

KEPT = ROOT / "build" / "bench" / "all"
MINUTE = 60.0
PIPES: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
Log = Callable[[str], None]
Tables = Callable[[Bench, dict[str, Any]], Mapping[str, str]]


class EveryError(RuntimeError):
    """A run over all cannot begin or end; the text says what to do."""


def commit(root: Path = ROOT) -> str:
    """The commit that is checked out. Raises EveryError where files differ from it: figures would be of no commit. What runs over
    all write may differ: pages and ledger."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True).stdout.strip()

    pages = sorted({bench.page for bench in registry.read().values() if bench.page})
    written = [f":(exclude){path}" for path in (*pages, ledger.FILE.relative_to(ROOT))]
    if changed := git("status", "--porcelain", "--", ".", *written):
        raise EveryError(f"uncommitted changes; commit or stash them first:\n{changed}")
    return git("rev-parse", "--short=12", "HEAD")


@dataclass(frozen=True)
class Store:
    """Results of a commit, and how long each benchmark took last, of whatever commit."""

    kept: Path
    revision: str

    def path(self, name: str, kind: str = "json") -> Path:
        """Where the result of a benchmark is, or what it said."""
        return self.kept / self.revision / f"{name}.{kind}"

    def find(self, name: str) -> dict[str, Any] | None:
        """The result of an earlier run."""
        path = self.path(name)
        return dict(json.loads(path.read_text())) if path.exists() else None

    def put(self, name: str, result: Mapping[str, Any]) -> None:
        """Keep a result whole, or not at all."""
        self._write(self.path(name), result)
        self._write(self.kept / "seconds.json", {**self._seconds(), name: result["seconds"]})

    def minutes(self, bench: Bench) -> float:
        """How long it will take: as last time, else as usual."""
        return float(self._seconds().get(bench.name, MINUTE * bench.usual)) / MINUTE

    def is_fresh(self, bench: Bench) -> bool:
        """Whether the benchmark takes no figure that is kept by content, on this commit."""
        return self.path(bench.name, "fresh").exists()

    def forget(self, bench: Bench, build: Path = ROOT / "build") -> None:
        """Everything of a benchmark is to be made anew, in this run and in those that go on with it."""
        self.path(bench.name).unlink(missing_ok=True)
        for name in bench.keeps:
            shutil.rmtree(build / name, ignore_errors=True)
        flag = self.path(bench.name, "fresh")
        flag.parent.mkdir(parents=True, exist_ok=True)
        flag.touch()

    def _seconds(self) -> dict[str, float]:
        path = self.kept / "seconds.json"
        return dict(json.loads(path.read_text())) if path.exists() else {}

    def _write(self, path: Path, text: Mapping[str, Any]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}")
        unfinished.write_text(json.dumps(text, indent=1) + "\n")
        unfinished.rename(path)


def _output(bench: Bench, store: Store, log: Log, root: Path) -> tuple[str, int]:
    """What the benchmark prints, and its status; what it says meanwhile is logged. Raises EveryError where it takes too long."""
    command = bench.command or (sys.executable, "-m", "tools.cli", "bench", bench.name, "--json", *bench.options)
    environment = {**os.environ, **({ledger.SWITCH: "no"} if store.is_fresh(bench) else {}), "COLUMNS": "150"}
    said, is_late = store.path(bench.name, "log"), threading.Event()
    said.parent.mkdir(parents=True, exist_ok=True)
    with (
        said.open("w") as file,
        subprocess.Popen(command, cwd=root, env=environment, start_new_session=True, **PIPES) as process,
    ):

        def end() -> None:
            is_late.set()
            os.killpg(process.pid, signal.SIGKILL)  # its own group: all that it started

        def listen() -> None:
            for line in process.stderr or ():
                file.write(line)
                file.flush()
                log(f"  {line.rstrip()}")

        timer, listener = threading.Timer(MINUTE * bench.minutes, end), threading.Thread(target=listen)
        timer.start()
        listener.start()
        try:
            printed = process.stdout.read() if process.stdout else ""
            process.wait()
        finally:
            timer.cancel()
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            listener.join()
    if is_late.is_set():
        raise EveryError(f"not finished after {bench.minutes:g} minutes; see {said}")
    return printed, process.returncode


def run_one(bench: Bench, store: Store, log: Log, root: Path = ROOT) -> dict[str, Any]:
    """The result of this commit: that of an earlier run, or a new one, which is kept where the benchmark's status is 0. Raises
    EveryError."""
    if (earlier := store.find(bench.name)) is not None:
        log(f"{bench.name}: measured already")
        return earlier
    watch, began = machine.Watch(), time.monotonic()
    printed, status = _output(bench, store, log, root)
    try:
        found = json.loads(printed)
    except ValueError as error:
        words = store.path(bench.name, "log").read_text().strip() or printed
        raise EveryError(f"status {status}: {words[-600:]}" if status else f"no JSON: {error}") from None
    figures = found if isinstance(found, dict) else {"rows": found}
    seconds = round(time.monotonic() - began, 1)
    result = {"machine_load": watch.told(), **figures, "commit": store.revision, "seconds": seconds, "status": status}
    if status == 0:
        store.put(bench.name, result)
    log(f"{bench.name}: {seconds / MINUTE:.1f} minutes")
    return result


def run(benches: Mapping[str, Bench], store: Store, log: Log, root: Path = ROOT) -> tuple[dict[str, Any], list[str]]:
    """All results, by name, and what was missed, a line each: aims, and benchmarks that failed."""
    results, missed = {}, []
    for number, bench in enumerate(benches.values()):
        left = sum(store.minutes(one) for one in list(benches.values())[number:] if store.find(one.name) is None)
        log(f"[{number + 1} of {len(benches)}] {bench.name}: {bench.help}")
        log(
            f"{bench.name}: about {store.minutes(bench):.0f} minutes, at most {bench.minutes:g}; all that is left: about {left:.0f}"
        )
        try:
            results[bench.name] = result = run_one(bench, store, log, root)
        except EveryError as error:
            missed.append(f"{bench.name}: {error}")
            log(missed[-1])
            continue
        wrong = [f"{bench.name}: {text}" for text in bench.missed(result)]
        if result.get("status"):
            wrong.append(f"{bench.name}: it ended with status {result['status']}")
        for text in wrong:
            log(f"missed: {text}")
        missed += wrong
    return results, missed


def busy(results: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The benchmarks beside which the machine did other work: their figures of software are lower."""
    return [name for name, result in results.items() if (result.get("machine_load") or {}).get("busy")]


def _module_tables(bench: Bench, result: dict[str, Any]) -> Mapping[str, str]:
    return dict(importlib.import_module(bench.tables or f"bench.{bench.name}").tables(result))


def marked(page: str, bench: str) -> list[str]:
    """The names of a benchmark's tables that a page has a place for."""
    return re.findall(rf"<!-- begin ({bench}(?:-[a-z]+)?): \./sluice bench --all -->", page)


def places(bench: str) -> set[str]:
    """The tables of a benchmark that its page has a place for."""
    page = registry.read()[bench].page
    return set(marked((ROOT / page).read_text(), bench)) if page else set()


def replaced(page: str, name: str, text: str) -> str:
    """The page with the text between the markers of a table. Raises EveryError where one is missing."""
    begin, end = f"<!-- begin {name}: ./sluice bench --all -->", f"<!-- end {name} -->"
    before, found, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise EveryError(f"no markers for {name}")
    return f"{before}{begin}\n\n{text}\n\n{end}{after}"


def write_tables(
    benches: Mapping[str, Bench],
    results: Mapping[str, dict[str, Any]],
    revision: str,
    root: Path = ROOT,
    tables: Tables = _module_tables,
) -> list[str]:
    """Write the tables of all pages, or none; the pages. Raises EveryError where a result is missing or of another commit."""
    pages: dict[str, str] = {}
    for bench in benches.values():
        if bench.page is None:
            continue
        result = results.get(bench.name)
        if result is None or result.get("commit") != revision:
            of = "no result" if result is None else f"the result is of commit {result.get('commit')}"
            raise EveryError(f"{bench.name}: {of}, but {revision} is required; no table is written, use `--only` to write others")
        told = f"Measured on commit `{revision}`{', beside other work on the machine' if busy({'': result}) else ''}."
        for name, table in tables(bench, result).items():
            page = pages.get(bench.page) or (root / bench.page).read_text()
            pages[bench.page] = replaced(page, name, f"{told}\n\n{table}")
    for path, text in pages.items():
        (root / path).write_text(text)
    return list(pages)


def write_ledger(results: Mapping[str, dict[str, Any]]) -> None:
    """Keep the figures of synthesis that these results are made of in the repository."""
    if sections := {name: result["ledger"] for name, result in results.items() if "ledger" in result}:
        ledger.record(sections)
