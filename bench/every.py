# SPDX-License-Identifier: Apache-2.0
"""`./sluice bench --all`: every benchmark and certificate of `benches.toml` on one commit, each within its time, and what they must
show. Results are kept by commit in build/bench/all, so that a run goes on where it was stopped. When all are there, the tables of
the docs are written between their markers, all from this commit; figures of another commit are refused."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bench.registry import Bench
from testing.simulate import ROOT

KEPT = ROOT / "build" / "bench" / "all"
Log = Callable[[str], None]
Tables = Callable[[str, dict[str, Any]], Mapping[str, str]]


class EveryError(RuntimeError):
    """A run over all cannot begin or end; the text says what to do."""


def commit(root: Path = ROOT) -> str:
    """The commit that is checked out. Raises EveryError where files differ from it: figures would be of no commit."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True).stdout.strip()

    if changed := git("status", "--porcelain"):
        raise EveryError(f"files differ from the commit; commit or put them away first:\n{changed}")
    return git("rev-parse", "--short=12", "HEAD")


def _output(bench: Bench, root: Path) -> str:
    """What the benchmark prints. Raises EveryError where it takes too long or ends with another status than 0."""
    command = bench.command or (sys.executable, "-m", "tools.cli", "bench", bench.name, "--json")
    with subprocess.Popen(
        command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            said, errors = process.communicate(timeout=60 * bench.minutes)
        except subprocess.TimeoutExpired:
            raise EveryError(f"not done after {bench.minutes:g} minutes") from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)  # its own group: all that it started
    if process.returncode:
        raise EveryError(f"status {process.returncode}: {(errors or said).strip()[-600:]}")
    return said


def run_one(bench: Bench, revision: str, kept: Path, log: Log, root: Path = ROOT) -> dict[str, Any]:
    """The result of this commit: that of an earlier run, or a new one. Raises EveryError."""
    path = kept / revision / f"{bench.name}.json"
    if path.exists():
        log(f"{bench.name}: measured already")
        return dict(json.loads(path.read_text()))
    log(f"{bench.name}: {bench.help} (at most {bench.minutes:g} minutes)")
    began = time.monotonic()
    said = _output(bench, root)
    try:
        found = json.loads(said)
    except ValueError as error:
        raise EveryError(f"no JSON: {error}") from None
    figures = found if isinstance(found, dict) else {"rows": found}
    result = {**figures, "commit": revision, "seconds": round(time.monotonic() - began, 1)}
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}")
    unfinished.write_text(json.dumps(result, indent=1) + "\n")
    unfinished.rename(path)
    return result


def run(benches: Mapping[str, Bench], revision: str, kept: Path, log: Log, root: Path = ROOT) -> tuple[dict[str, Any], list[str]]:
    """All results, by name, and what was missed, a line each: aims, and benchmarks that failed."""
    results, missed = {}, []
    for bench in benches.values():
        try:
            results[bench.name] = run_one(bench, revision, kept, log, root)
        except EveryError as error:
            missed.append(f"{bench.name}: {error}")
            log(missed[-1])
            continue
        missed += [f"{bench.name}: {text}" for text in bench.missed(results[bench.name])]
    return results, missed


def _module_tables(name: str, result: dict[str, Any]) -> Mapping[str, str]:
    return dict(importlib.import_module(f"bench.{name}").tables(result))


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
            of = "there is no result" if result is None else f"the result is of commit {result.get('commit')}"
            raise EveryError(f"{bench.name}: {of}, not of {revision}: no table is written")
        for name, table in tables(bench.name, result).items():
            busy = (result.get("machine_load") or {}).get("busy")
            told = f"Measured on commit `{revision}`{', beside other work on the machine' if busy else ''}."
            page = pages.get(bench.page) or (root / bench.page).read_text()
            pages[bench.page] = replaced(page, name, f"{told}\n\n{table}")
    for path, text in pages.items():
        (root / path).write_text(text)
    return list(pages)
