# SPDX-License-Identifier: Apache-2.0
"""What simulators are compiled with."""

import subprocess

from toolchain.simulate import CLANG_FLAGS, COMPILER


def test_new_aligns_models() -> None:
    """Verilator aligns models to 64 bytes; without this the optimized code of one place in four crashed at its first store."""
    text = "static_assert(__cpp_aligned_new >= 201606L);"
    subprocess.run([COMPILER, *CLANG_FLAGS, "-x", "c++", "-fsyntax-only", "-"], input=text.encode(), check=True)
