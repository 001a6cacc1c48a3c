# SPDX-License-Identifier: Apache-2.0
"""What simulators are compiled with."""

import subprocess

from toolchain.simulate import CLANG_FLAGS, COMPILER


def test_new_aligns_models() -> None:
    """Verilator aligns models to 64 bytes; code that is optimized for AVX crashes at its first store where `new` does not."""
    text = "static_assert(__cpp_aligned_new >= 201606L);"
    subprocess.run([COMPILER, *CLANG_FLAGS, "-x", "c++", "-fsyntax-only", "-"], input=text.encode(), check=True)
