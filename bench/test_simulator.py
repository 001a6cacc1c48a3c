# SPDX-License-Identifier: Apache-2.0
"""Simulators of benchmarks: one that two tests want at the same time is built once, and nobody gets half of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bench import simulator as module


def test_two_that_want_a_simulator_wait_for_one_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[Path] = []

    def build(command: Sequence[str], log: Path) -> None:
        program = log.parent
        program.mkdir(exist_ok=True)
        (program / "small").touch()  # as a linker does: first the file, then what is in it
        time.sleep(0.3)
        (program / "small").write_text(" ".join(map(str, command)))
        built.append(program)

    monkeypatch.setattr(module, "BUILD", tmp_path)
    monkeypatch.setattr(module, "_run", build)
    harness = tmp_path / "harness.cc"
    harness.write_text("int main() {}\n")
    with ThreadPoolExecutor(2) as pool:
        texts = list(pool.map(lambda _: module.simulator("small", "sl_skid", harness).read_text(), range(2)))
    assert len(built) == 1 and texts[0] == texts[1] and "sl_skid.sv" in texts[0]
