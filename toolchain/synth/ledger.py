# SPDX-License-Identifier: Apache-2.0
"""Figures of synthesis and of place and route, each under a hash of all that makes it: made once, then found again.

They are looked for in the folder of the work (`build/synth`), then in `bench/ledger.json`, which is in the repository: both tools
give the same figure for the same input, so a figure of an earlier commit holds for every commit that has the same sources. What is
in neither place is made. `./sluice bench --all` writes the file, `--fresh` (SLUICE_LEDGER=no) makes every figure anew.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from toolchain import ROOT

FILE = ROOT / "bench" / "ledger.json"
SWITCH = "SLUICE_LEDGER"
Figure = dict[str, Any]

used: dict[str, Figure] = {}
"""What this process asked for, by key."""


def figure(folder: Path, name: str, make: Callable[[], Figure]) -> Figure:
    """The figure `name` of a folder whose name has the hash of what makes it."""
    key, path = f"{folder.name}/{name}", folder / f"{name}.json"
    found = json.loads(path.read_text()) if path.exists() else _known().get(key)
    if found is None:
        found = make()
        unfinished = folder / f"{name}.{os.getpid()}.unfinished"
        unfinished.write_text(json.dumps(found))
        unfinished.rename(path)
    used[key] = found
    return dict(found)


def is_known(folder: Path, name: str) -> bool:
    """Whether `figure` would make nothing."""
    return (folder / f"{name}.json").exists() or f"{folder.name}/{name}" in _known()


def record(sections: Mapping[str, Mapping[str, Figure]], file: Path | None = None) -> None:
    """Write what benchmarks used, by benchmark; what others used stays, and what nobody uses goes."""
    file = file or FILE
    kept = {**_read(file), **sections}
    lines = [
        f"{json.dumps(name)}: {{\n"
        + ",\n".join(f"{json.dumps(key)}: {json.dumps(figures[key], sort_keys=True)}" for key in sorted(figures))
        + "\n}"
        for name, figures in sorted(kept.items())
    ]
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _read(file: Path) -> dict[str, dict[str, Figure]]:
    return dict(json.loads(file.read_text())) if file.exists() else {}


def _known() -> Mapping[str, Figure]:
    return {} if os.environ.get(SWITCH) == "no" else _merged(FILE)


@functools.cache
def _merged(file: Path) -> Mapping[str, Figure]:
    return {key: one for section in _read(file).values() for key, one in section.items()}
