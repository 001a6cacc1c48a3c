# SPDX-License-Identifier: Apache-2.0
"""The test of `tiny_bits`, which never reaches `most`. Not named test_*: only `test_mutate.py` runs it."""

import ctypes
import subprocess
from pathlib import Path

from toolchain.simulate import SOURCES


def test_counts(tmp_path: Path) -> None:
    source, library = SOURCES / "testing" / "mutate" / "example" / "tiny_bits.c", tmp_path / "tiny_bits.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    assert ctypes.CDLL(str(library)).tiny_bits(0x16, 9) == 3
