# SPDX-License-Identifier: Apache-2.0
"""Compiles the host library, `build/host/libsluice-*.so`, with the software switch and the runs, and the program that runs a
simulated device in a process of its own, when a source changed."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path

from toolchain import ROOT
from toolchain.simulate import GENERATED, SOURCES

BUILD = ROOT / "build" / "host"
HOST = SOURCES / "host"
LIBSLUICE = ("packet", "lib", "flow_table", "functional")  # a device from C
FOLDERS = (*LIBSLUICE, "switch", "lanes", "run")
INCLUDES = (HOST / "include", *(HOST / folder for folder in (*FOLDERS, "ternary")), SOURCES / "shell" / "sim", GENERATED)
# Structs of up to 512 bytes are cleared and copied by vector instructions: `rep stos` and `rep movs`, which gcc takes by default on
# x86, take some 30 cycles before they begin. `./sluice bench flows`: 8 % more rules a second go in.
BLOCKS = "unrolled_loop:512:noalign,libcall:-1:noalign"
TUNING = (f"-mmemset-strategy={BLOCKS}", f"-mmemcpy-strategy={BLOCKS}") if platform.machine() == "x86_64" else ()
FLAGS = ("-std=gnu11", "-g", "-Wall", "-Wextra", "-Werror", "-Wconversion", *TUNING)
LIBRARIES = ("-ldl", "-lpthread", "-lpcap", "-lm")


class BuildError(RuntimeError):
    """The library does not compile; the text is the compiler's."""


def c_files(folders: Sequence[str]) -> list[Path]:
    """The C sources of these folders of `host`, without their tests."""
    return sorted(path for folder in folders for path in (HOST / folder).glob("*.c"))


def build(extra: Sequence[str] = ("-O2",), more: Sequence[Path] = ()) -> Path:
    """The library compiled with these flags, and more sources (of tests); raises BuildError with the compiler's words."""
    program = f'-DSLUICE_DEVICE_PROGRAM="{build_program()}"'
    return compile_c("libsluice-{}.so", ["-fPIC", "-shared", "-fvisibility=default", program, *extra], [*c_files(FOLDERS), *more])


def build_program() -> Path:
    """The program that the `sim-process:` transport starts; raises BuildError with the compiler's words."""
    return compile_c("sluice-device-{}", ["-O2"], [*c_files(["device"]), HOST / "lib" / "sim_library.c"])


def compile_c(name: str, flags: Sequence[str], sources: Sequence[Path]) -> Path:
    """These sources compiled and linked; `{}` in the name becomes a digest of all that goes in. Raises BuildError with the
    compiler's words."""
    folders = {*INCLUDES, *(source.parent for source in sources)}
    headers = sorted({path for folder in folders for path in folder.rglob("*.h")})
    state = hashlib.sha256(repr((FLAGS, tuple(flags))).encode())
    for path in [*sources, *headers]:
        state.update(path.name.encode() + path.read_bytes())
    target = BUILD / name.format(state.hexdigest()[:16])
    if not target.exists():
        BUILD.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_suffix(f".{os.getpid()}")
        command = ["gcc", *FLAGS, *flags, *(f"-I{p}" for p in INCLUDES), "-o", str(unfinished), *map(str, sources), *LIBRARIES]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BuildError(done.stderr[-4000:])
        unfinished.rename(target)
    return target
