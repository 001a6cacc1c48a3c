# SPDX-License-Identifier: Apache-2.0
"""Builds the software switch alone: the library that the tests load, and `replay` with and without sanitizers.

Outputs are in build/host; a source that does not compile raises BuildError with the compiler's words.
"""

from __future__ import annotations

from pathlib import Path

from host.build import HOST, c_files, compile_c

FOLDERS = ("packet", "switch")
SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def library() -> Path:
    """The shared library that the tests load."""
    return compile_c("switch-{}.so", ["-O2", "-fPIC", "-shared"], c_files(FOLDERS))


def replay(sanitize: bool = False) -> Path:
    """The program that runs a file of packets through the switch."""
    sources = [*c_files(FOLDERS), HOST / "switch" / "testing" / "replay.c"]
    return compile_c("replay-{}", ["-O2", *(SANITIZE if sanitize else ())], sources)
