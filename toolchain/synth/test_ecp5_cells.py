# SPDX-License-Identifier: Apache-2.0
"""The cells that `ecp5_cells.v` maps our modules to do what the modules say, by a SAT solver, for all inputs."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolchain import ROOT
from toolchain.synth import flow

MODULES = re.findall(r"^module (\w+)", flow.CELLS.read_text(), re.MULTILINE)


@pytest.fixture
def folder() -> Iterator[Path]:
    flow.BUILD.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=flow.BUILD) as made:  # where Yosys, which runs in a sandbox, sees it
        yield Path(made)


def prove(module: str, cells: str, folder: Path) -> None:
    """Raises SynthesisError where the cells do something else."""
    (folder / "cells.v").write_text(cells)
    flow._yosys(
        [
            flow._read(module, {}),
            f"proc; opt_clean; rename {module} wanted; design -stash wanted",
            f"read_verilog -overwrite +/ecp5/cells_sim.v; read_verilog {(folder / 'cells.v').relative_to(ROOT)}",
            f"hierarchy -top {module}; proc; flatten; opt_clean; rename {module} mapped; design -stash mapped",
            "design -copy-from wanted -as wanted wanted; design -copy-from mapped -as mapped mapped",
            "miter -equiv -flatten wanted mapped differ; hierarchy -top differ",
            "sat -verify -prove trigger 0 differ",
        ],
        folder,
        60,
    )


@pytest.mark.parametrize("module", MODULES)
def test_cells_do_what_the_module_says(module: str, folder: Path) -> None:
    prove(module, flow.CELLS.read_text(), folder)


@pytest.mark.parametrize(("right", "wrong"), [("CACA", "ACAC"), (".SD(number_i[3])", ".SD(number_i[2])")])
def test_other_cells_are_found(right: str, wrong: str, folder: Path) -> None:
    cells = flow.CELLS.read_text()
    assert right in cells
    with pytest.raises(flow.SynthesisError, match="proof did fail"):
        prove("sl_words_mux", cells.replace(right, wrong), folder)
