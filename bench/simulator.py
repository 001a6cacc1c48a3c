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
from toolchain.simulate import closure, make_folder, module_folders, packages

BUILD = make_folder("bench")
SPEED = ("-O3", "--x-assign", "fast", "--noassert", "-Wno-fatal", "-CFLAGS", "-O2 -std=gnu++20")


def simulator(name: str, top: str, parameters: Mapping[str, int], harness: Path, extra: Sequence[Path] = ()) -> Path:
    """The program of the module `top`; built again when a source changes. `extra`: modules outside the source folders, and
    Verilator's configurations. Raises CalledProcessError."""
    files = closure(top, [path for path in extra if path.suffix == ".sv"])
    state = hashlib.sha256(repr((top, sorted(parameters.items()))).encode())
    for path in [*files, *extra, harness, Path(__file__)]:
        state.update(path.read_bytes())
    folder = BUILD / f"{name}-{state.hexdigest()[:16]}"
    program = folder / name
    if program.exists():
        return program
    folder.mkdir(parents=True, exist_ok=True)
    configurations = [path for path in extra if path.suffix != ".sv"]
    sources = [*configurations, *(path for path in packages() if path in files), next(p for p in files if p.stem == top), harness]
    command = [
        *("build/env/bin/verilator", "--cc", "--exe", "--build", "-j", "2", *SPEED, "-MAKEFLAGS", "CFG_CXXFLAGS_PCH_I=-include"),
        *("--Mdir", str(folder), "-o", name, "--top-module", top),
        *(f"-G{parameter}={value}" for parameter, value in parameters.items()),
        *(word for found in module_folders() for word in ("-y", str(found))),
        *map(str, sources),
    ]
    with (folder / "build.log").open("w") as log:
        environment = {**os.environ, "MAKEFLAGS": "CFG_CXXFLAGS_PCH_I=-include"}
        subprocess.run(command, cwd=ROOT, check=True, stdout=log, stderr=subprocess.STDOUT, env=environment)
    return program


def figures(program: Path, *arguments: object) -> dict[str, Any]:
    """What a run of it prints. Raises RuntimeError where it ends without figures."""
    command = [str(program), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    if not done.stdout.strip():
        raise RuntimeError(f"the simulation ended without figures ({done.returncode}): {done.stderr.strip()}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found
