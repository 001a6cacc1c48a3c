# SPDX-License-Identifier: Apache-2.0
"""Compiles generated C++ with the run-time of `host/cpu`; outputs are kept in `build/cpu` by content, whatever file and lines the
program is from."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

from toolchain.lock import locked

ROOT = Path(__file__).resolve().parent.parent.parent
RUN_TIME = ROOT / "host" / "cpu"
TERNARY = ROOT / "host" / "ternary"
BUILD = ROOT / "build" / "cpu"
FLAGS = ("-std=c++20", "-O2", "-Wall", "-Wextra", "-Werror")
PLACE = re.compile(r'//[^"\n]*:\d+$', re.MULTILINE)  # a comment that ends in FILE:LINE
C_FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror")


class BuildError(RuntimeError):
    """g++ refused; the text is its own. For generated code this is an error of the compiler."""


def _run(command: Sequence[str], target: Path) -> None:
    unfinished = target.with_name(f"{target.stem}.{os.getpid()}{target.suffix}")
    done = subprocess.run([*command, "-o", str(unfinished)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BuildError(done.stderr[:8000])
    unfinished.rename(target)


def compiled(text: str, suffix: str, flags: Sequence[str], includes: Sequence[Path] = (), *, header: bool = False) -> Path:
    """The object of a source text, compiled where it is new; `header`: on top of the precompiled header of an engine."""
    target = _target(repr((PLACE.sub("", text), suffix, tuple(flags))), suffix, includes).with_suffix(".o")
    if not target.exists():
        source = target.with_suffix(suffix)
        source.write_text(text)
        compiler = "g++" if suffix == ".cc" else "gcc"
        first = ["-include", str(precompiled(flags, includes))] if header else []
        _run([compiler, *flags, *_searched(includes), *first, "-c", str(source)], target)
    return target


def precompiled(flags: Sequence[str], includes: Sequence[Path]) -> Path:
    """The header with all of an engine, beside what g++ makes of it: half of what a small program takes to compile."""
    header = _target(repr(("header", tuple(flags))), ".cc", includes).with_suffix(".h")
    made = header.with_suffix(".h.gch")
    with locked(header.with_suffix(".lock")):
        if not made.exists():
            header.write_text('#include "graph.h"\n')
            _run(["g++", *flags, *_searched(includes), "-x", "c++-header", str(header)], made)
    return header


def _target(what: str, suffix: str, includes: Sequence[Path]) -> Path:
    """Where an output stands, without its suffix: by what it is, and the headers that it can include."""
    state = hashlib.sha256(repr((what, [str(p) for p in includes])).encode())
    folders = [*includes, *([RUN_TIME] if suffix == ".cc" else [])]
    for header in [path for folder in folders for path in sorted(folder.glob("*.h"))]:
        state.update(header.read_bytes())
    BUILD.mkdir(parents=True, exist_ok=True)
    return BUILD / state.hexdigest()[:16]


def _searched(includes: Sequence[Path]) -> list[str]:
    return [f"-I{path}" for path in (*includes, RUN_TIME)]


def object_of(text: str, flags: Sequence[str] = FLAGS, engine: str = "exact") -> Path:
    """The object of a generated program, or of a part of the run-time of an engine."""
    return compiled(text, ".cc", flags, includes_of(engine), header=True)


def includes_of(engine: str) -> list[Path]:
    """Folders with the headers of an engine."""
    return [RUN_TIME / engine, *([TERNARY] if engine == "packets" else [])]


def _dpdk(asked: str) -> str:
    """What pkg-config says of DPDK. Raises BuildError where it is not there."""
    found = subprocess.run(["pkg-config", asked, "libdpdk"], capture_output=True, text=True, check=False)
    if found.returncode != 0:
        raise BuildError("DPDK's headers are missing: run `make dpdk`")
    return found.stdout


def _parts(generated: str, flags: Sequence[str], engine: str, has_graph: bool) -> list[Path]:
    """The objects of a generated program and of the run-time that it needs."""
    parts = [RUN_TIME / "common.cc"]
    parts += [path for path in sorted((RUN_TIME / engine).glob("*.cc")) if has_graph or path.stem != "graph"]
    objects = [object_of(text, flags, engine) for text in (generated, *(path.read_text() for path in parts))]
    if engine == "packets" and "TernaryTable<" in generated:
        shared = [flag for flag in flags if flag in ("-fPIC", "-O3", "-march=native")]
        objects += [compiled(path.read_text(), ".c", [*C_FLAGS, *shared], [TERNARY]) for path in sorted(TERNARY.glob("*.c"))]
    return objects


def _linked(name: str, objects: Sequence[Path], flags: Sequence[str], libraries: Sequence[str] = (), suffix: str = "") -> Path:
    state = hashlib.sha256(repr([str(path) for path in objects]).encode())
    target = BUILD / f"{name}-{state.hexdigest()[:16]}{suffix}"
    if not target.exists():
        _run(["g++", *(flag for flag in flags if flag.startswith("-fsanitize")), *map(str, objects), *libraries], target)
    return target


def program(generated: str, main: str, flags: Sequence[str] = FLAGS, engine: str = "exact") -> Path:
    """The executable of a generated program with a main of the run-time (`cases`, `graphs`, `captures`) on an engine. Raises
    BuildError."""
    objects = _parts(generated, flags, engine, main != "cases")
    lanes = ROOT / "host" / "lanes"
    text = (RUN_TIME / f"{main}.cc").read_text()
    if main == "captures":
        objects.append(compiled(text, ".cc", flags, [*includes_of(engine), lanes]))
        objects.append(compiled((lanes / "capture.c").read_text(), ".c", C_FLAGS, [lanes]))
    else:
        objects.append(object_of(text, flags, engine))
    return _linked(main, objects, flags, ["-lpcap"] if main == "captures" else [])


def library(generated: str, flags: Sequence[str] = FLAGS) -> Path:
    """A generated program on the packet engine as a shared library, for `ports`. Raises BuildError."""
    apart = ["-fPIC", "-fvisibility=hidden", "-fno-gnu-unique"]  # two of them in one process share no symbols
    own = [*flags, "-DSLUICE_LIBRARY", *apart]
    objects = _parts(generated, own, "packets", True)
    objects.append(object_of((RUN_TIME / "library.cc").read_text(), own, "packets"))
    return _linked("library", objects, own, ["-shared"], ".so")


def ports(flags: Sequence[str] = FLAGS) -> Path:
    """The executable that runs a library on DPDK's ports. Raises BuildError."""
    own = [*shlex.split(_dpdk("--cflags").replace("-I", "-isystem")), *flags]
    made = compiled((RUN_TIME / "ports.cc").read_text(), ".cc", own, [RUN_TIME / "packets"])
    return _linked("ports", [made], flags, [*shlex.split(_dpdk("--libs")), "-ldl", "-lpthread"])
