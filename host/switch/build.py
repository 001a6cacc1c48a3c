# SPDX-License-Identifier: Apache-2.0
"""Builds the software switch: the library that the tests load, and `replay` with and without sanitizers.

Outputs are kept in build/host/switch by content of their sources; a source that does not compile raises RuntimeError with the
compiler's words.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

from toolchain import ROOT
from toolchain.simulate import GENERATED, SOURCES

HERE = SOURCES / "host" / "switch"
OUTPUT = ROOT / "build" / "host" / "switch"
FILES = (
    "parse.c",
    "actions.c",
    "deparse.c",
    "template.c",
    "rules_text.c",
    "rules_lines.c",
    "rules_routes.c",
    "rules.c",
    "forwarder.c",
)
FLAGS = ("-std=c11", "-D_POSIX_C_SOURCE=200809L", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-fPIC")
SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def compile_c(name: str, sources: tuple[str, ...], flags: tuple[str, ...]) -> Path:
    """Compile and link `sources` of this folder; the file, fresh."""
    state = hashlib.sha256(repr((sources, flags)).encode())
    for path in [*sorted(HERE.rglob("*.[ch]")), GENERATED / "sluice_layouts.h"]:
        state.update(path.read_bytes())
    OUTPUT.mkdir(parents=True, exist_ok=True)
    target = OUTPUT / f"{state.hexdigest()[:16]}-{name}"
    if target.exists():
        return target
    partial = target.with_name(f"{target.name}.{os.getpid()}")
    files = [str(HERE / source) for source in sources]
    command = ["gcc", *FLAGS, *flags, f"-I{GENERATED}", f"-I{HERE}", "-o", str(partial), *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    partial.rename(target)
    return target


def library() -> Path:
    """The shared library that the tests load."""
    return compile_c("switch.so", (*FILES, "testing/bytes.c"), ("-shared",))


def replay(sanitize: bool = False) -> Path:
    """The program that runs a file of packets through the switch."""
    return compile_c("replay", (*FILES, "testing/replay.c"), SANITIZE if sanitize else ())
