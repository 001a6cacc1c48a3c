# SPDX-License-Identifier: Apache-2.0
"""Compiles generated C++ with the run-time of `host/cpu`; outputs are kept in `build/cpu` by content."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
RUN_TIME = ROOT / "host" / "cpu"
BUILD = ROOT / "build" / "cpu"
FLAGS = ("-std=c++20", "-O2", "-Wall", "-Wextra", "-Werror")
C_FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror")


class BuildError(RuntimeError):
    """g++ refused; the text is its own. For generated code this is an error of the compiler."""


def _run(command: Sequence[str], target: Path) -> None:
    unfinished = target.with_name(f"{target.stem}.{os.getpid()}{target.suffix}")
    done = subprocess.run([*command, "-o", str(unfinished)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BuildError(done.stderr[:8000])
    unfinished.rename(target)


def compiled(text: str, suffix: str, flags: Sequence[str], includes: Sequence[Path] = ()) -> Path:
    """The object of a source text, compiled where it is new."""
    state = hashlib.sha256(repr((text, suffix, tuple(flags), [str(p) for p in includes])).encode())
    headers = sorted(RUN_TIME.glob("*.h")) if suffix == ".cc" else [p for folder in includes for p in sorted(folder.glob("*.h"))]
    for header in headers:
        state.update(header.read_bytes())
    target = BUILD / f"{state.hexdigest()[:16]}.o"
    if not target.exists():
        BUILD.mkdir(parents=True, exist_ok=True)
        source = target.with_suffix(suffix)
        source.write_text(text)
        compiler = "g++" if suffix == ".cc" else "gcc"
        _run([compiler, *flags, *(f"-I{p}" for p in (RUN_TIME, *includes)), "-c", str(source)], target)
    return target


def program(generated: str, main: str, flags: Sequence[str] = FLAGS) -> Path:
    """The executable of a generated program with a main of the run-time (`cases`, `graphs`, `captures`). Raises BuildError."""
    sources = [(RUN_TIME / name).read_text() for name in ("element.cc", *(["graph.cc"] if main != "cases" else []))]
    objects = [compiled(text, ".cc", flags) for text in (generated, *sources)]
    lanes = ROOT / "host" / "lanes"
    objects.append(compiled((RUN_TIME / f"{main}.cc").read_text(), ".cc", flags, [lanes] if main == "captures" else []))
    libraries: list[str] = []
    if main == "captures":
        objects.append(compiled((lanes / "capture.c").read_text(), ".c", C_FLAGS, [lanes]))
        libraries = ["-lpcap"]
    state = hashlib.sha256(repr([str(path) for path in objects]).encode())
    target = BUILD / f"{main}-{state.hexdigest()[:16]}"
    if not target.exists():
        _run(["g++", *map(str, objects), *libraries], target)
    return target
