# SPDX-License-Identifier: Apache-2.0
"""A checkout whose path has a space builds and simulates."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from shell.sim.test_to_host import graph_text
from toolchain import ROOT

PART = "rtl/chan/test_sl_skid.py"
DEVICE = """
import ctypes, sys
from shell.sim.build import build
library = build({"lanes": 1}, graph={"sh_graph.sv": sys.stdin.read()})
new = ctypes.CDLL(str(library)).sim_model_new
new.restype = ctypes.c_void_p
assert new()
print(library)
"""


def copied(target: Path) -> None:
    """The sources of this checkout, with its environment and generated layouts."""
    for name in (
        "rtl",
        "elements",
        "configs",
        "shell",
        "compiler",
        "testing",
        "models",
        "toolchain",
        "tools",
        "conftest.py",
        "pyproject.toml",
        "toolchain.toml",
    ):
        given = ROOT / name
        skip = shutil.ignore_patterns("__pycache__", "*.xz", ".hypothesis")
        _ = shutil.copytree(given, target / name, ignore=skip) if given.is_dir() else shutil.copy(given, target / name)
    (target / "build").mkdir()
    for name in ("env", "gen"):
        (target / "build" / name).symlink_to(ROOT / "build" / name)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "my work" / "checkout"
    tree.mkdir(parents=True)
    copied(tree)
    return tree


def run(tree: Path, *arguments: str, given: str = "") -> str:
    """Its Python with these arguments; what it prints."""
    home = tree.parent.parent / "home"
    environment = {**os.environ, "HOME": str(home), "PYTHONPATH": f"{tree}:{tree}/build/gen", "PWD": str(tree)}
    command = [str(tree / "build" / "env" / "bin" / "python"), *arguments]
    done = subprocess.run(command, cwd=tree, env=environment, input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
def test_a_part_is_simulated_in_a_folder_with_a_space(tree: Path, tmp_path: Path) -> None:
    run(tree, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", PART)
    kept = tmp_path / "home" / ".cache" / "sluice"
    assert len(list(kept.glob("build-*/sim/sl_skid-*/sl_skid"))) == 1, "it was built here"
    (link,) = (kept / "links").iterdir()
    assert link.resolve() == tree.resolve()


def test_a_device_is_simulated_in_a_folder_with_a_space(tree: Path, tmp_path: Path) -> None:
    library = Path(run(tree, "-c", DEVICE, given=graph_text()).strip())
    assert library.is_relative_to(tmp_path / "home" / ".cache" / "sluice")
