# SPDX-License-Identifier: Apache-2.0
"""A module under Verilator with a harness in C++ that measures it; its figures are the JSON that the harness prints."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from toolchain import ROOT
from toolchain.lock import locked
from toolchain.simulate import CLANG, GENERATED, closure, make_folder, packages

BUILD = make_folder("bench")
HEADERS = (Path(__file__).with_name("harness.h"), GENERATED / "sluice_layouts.h")  # of every harness
FLAGS = ("--x-assign", "fast", "--noassert", "-Wno-fatal", "-MAKEFLAGS", "CFG_CXXFLAGS_PCH_I=-include")
FAST = ("-O3", "-CFLAGS", "-O2")
QUICK = ("-CFLAGS", "-O0", *CLANG)  # to build, not to run


def simulator(
    name: str,
    top: str,
    harness: Path,
    parameters: Mapping[str, int] | None = None,
    extra: Sequence[Path] = (),
    options: Sequence[str] = FAST,
) -> Path:
    """The program of the module `top`; built again when a source changes. `extra`: modules outside the source folders, and
    Verilator's configurations. Raises CalledProcessError."""
    parameters = parameters or {}
    files = closure(top, [path for path in extra if path.suffix == ".sv"])
    state = hashlib.sha256(repr((top, sorted(parameters.items()), options)).encode())
    for path in [*files, *extra, harness, *sorted(harness.parent.glob("*.h")), *HEADERS, Path(__file__)]:
        state.update(path.read_bytes())
    folder = BUILD / f"{name}-{state.hexdigest()[:16]}"
    program = folder / name
    first = [*(path for path in extra if path.suffix != ".sv"), *(path for path in packages() if path in files)]
    sources = [*first, *(path for path in files if path not in first), harness]
    command = [
        *("build/env/bin/verilator", "--cc", "--exe", "--build", "-j", "2", *FLAGS, *options),
        *("-CFLAGS", " ".join(["-std=gnu++20", *(f"-I{path.parent}" for path in HEADERS)])),
        *("--Mdir", str(folder), "-o", name, "--top-module", top),
        *(f"-G{parameter}={value}" for parameter, value in parameters.items()),
        *map(str, sources),
    ]
    with locked(BUILD / f"{folder.name}.lock"):  # of two processes that want it, one builds
        if not program.exists():
            _run(command, folder / "build.log")
    return program


def _run(command: Sequence[str], log: Path) -> None:
    log.parent.mkdir(exist_ok=True)
    with log.open("w") as out:
        environment = {**os.environ, "MAKEFLAGS": "CFG_CXXFLAGS_PCH_I=-include"}
        subprocess.run(command, cwd=ROOT, check=True, stdout=out, stderr=subprocess.STDOUT, env=environment)


def figures(program: Path, *arguments: object) -> dict[str, Any]:
    """What a run of it prints. Raises RuntimeError where it ends without figures."""
    command = [str(program), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    if not done.stdout.strip():
        raise RuntimeError(f"the simulation ended without figures ({done.returncode}): {done.stderr.strip()}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found
