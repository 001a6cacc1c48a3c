# SPDX-License-Identifier: Apache-2.0
"""Compiles the host library, `build/host/libsluice-*.so`, from `host/lib`, `host/switch` and `host/run`, when one changed."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from testing.simulate import GENERATED, ROOT

BUILD = ROOT / "build" / "host"
HOST = ROOT / "host"
INCLUDES = (HOST / "include", HOST / "lib", HOST / "switch", HOST / "run", ROOT / "shell" / "sim", GENERATED)
FLAGS = ("-std=gnu11", "-g", "-fPIC", "-shared", "-fvisibility=default", "-Wall", "-Wextra", "-Werror", "-Wconversion")
LIBRARIES = ("-ldl", "-lpthread", "-lpcap", "-lm")


class BuildError(RuntimeError):
    """The library does not compile; the text is the compiler's."""


def build(extra: Sequence[str] = ("-O2",)) -> Path:
    """The library compiled with these flags; raises BuildError with the compiler's words."""
    sources = sorted(p for folder in ("lib", "switch", "run") for p in (HOST / folder).glob("*.c"))
    headers = sorted(p for folder in INCLUDES for p in folder.rglob("*.h"))
    state = hashlib.sha256(repr((FLAGS, tuple(extra))).encode())
    for path in [*sources, *headers]:
        state.update(path.name.encode() + path.read_bytes())
    library = BUILD / f"libsluice-{state.hexdigest()[:16]}.so"
    if not library.exists():
        BUILD.mkdir(parents=True, exist_ok=True)
        unfinished = library.with_suffix(f".{os.getpid()}")
        command = ["gcc", *FLAGS, *extra, *(f"-I{p}" for p in INCLUDES), "-o", str(unfinished), *map(str, sources), *LIBRARIES]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BuildError(done.stderr[-4000:])
        unfinished.rename(library)
    return library
