# SPDX-License-Identifier: Apache-2.0
"""A checkout whose path has a space builds and simulates."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from testing.simulate import ROOT

PART = "rtl/chan/test_sl_skid.py"


def copied(target: Path) -> None:
    """The sources of this checkout, with its environment and generated layouts."""
    for name in ("rtl", "elements", "configs", "shell", "testing", "tools", "conftest.py", "pyproject.toml", "toolchain.toml"):
        given = ROOT / name
        skip = shutil.ignore_patterns("__pycache__", "*.xz", ".hypothesis")
        _ = shutil.copytree(given, target / name, ignore=skip) if given.is_dir() else shutil.copy(given, target / name)
    (target / "build").mkdir()
    for name in ("env", "gen"):
        (target / "build" / name).symlink_to(ROOT / "build" / name)


def test_a_part_is_simulated_in_a_folder_with_a_space(tmp_path: Path) -> None:
    tree = tmp_path / "my work" / "checkout"
    tree.mkdir(parents=True)
    copied(tree)
    environment = {**os.environ, "HOME": str(tmp_path / "home"), "PYTHONPATH": f"{tree}:{tree}/build/gen", "PWD": str(tree)}
    command = [str(tree / "build" / "env" / "bin" / "python"), "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", PART]
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    kept = tmp_path / "home" / ".cache" / "sluice"
    assert len(list(kept.glob("build-*/sim/sl_skid-*/sl_skid"))) == 1, "it was built here"
    (link,) = (kept / "links").iterdir()
    assert link.resolve() == tree.resolve()
