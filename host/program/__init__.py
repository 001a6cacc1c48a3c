# SPDX-License-Identifier: Apache-2.0
"""Runs programs in the element language over captures: as C++, as RTL inside the simulated shell, in the interpreter.

The command line, the tests of elements and the benchmarks use it."""


class InputError(ValueError):
    """A capture or a signal that was given does not fit; the text says which, and what would."""
