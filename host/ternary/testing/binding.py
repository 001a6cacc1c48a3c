# SPDX-License-Identifier: Apache-2.0
"""The table of ternary rules for Python tests. Errors raise OSError."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Sequence
from pathlib import Path

from host.build import HOST, c_files, compile_c

SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")


KINDS = range(3)  # `enum sluice_ternary_vectors`


class Layout(ctypes.Structure):
    """`struct sluice_ternary_layout`."""

    _fields_ = (
        ("words", ctypes.c_uint32),
        ("ranges", ctypes.c_uint32),
        ("index", ctypes.c_uint32 * 2),
        ("limit", ctypes.c_uint32),
    )


class Stats(ctypes.Structure):
    """`struct sluice_ternary_stats`."""

    _fields_ = (
        ("size", ctypes.c_uint64),
        ("rules", ctypes.c_uint32),
        ("groups", ctypes.c_uint32),
        ("most_compares", ctypes.c_uint32),
        ("kind", ctypes.c_int),
    )


def fuzzer() -> Path:
    """`fuzz_ternary.c`, under the sanitizers."""
    sources = [*c_files(["ternary"]), HOST / "ternary" / "testing" / "fuzz_ternary.c"]
    return compile_c("fuzz-ternary-{}", ["-O1", *SANITIZE], sources)


@functools.cache
def library() -> ctypes.CDLL:
    """The table as a shared library."""
    loaded = ctypes.CDLL(str(compile_c("ternary-{}.so", ["-O2", "-fPIC", "-shared"], c_files(["ternary"]))))
    loaded.sluice_ternary_stats.restype = Stats
    return loaded


def checked(error: int) -> None:
    """Raises OSError for a negative errno."""
    if error:
        raise OSError(-error, os.strerror(-error))


class Ternary:
    """A table; `free` it."""

    def __init__(self, layout: Layout, capacity: int) -> None:
        self.handle, self.words = ctypes.c_void_p(), layout.words
        checked(library().sluice_ternary_new(ctypes.byref(self.handle), ctypes.byref(layout), capacity))

    def _words(self, words: Sequence[int]) -> ctypes.Array[ctypes.c_uint32]:
        return (ctypes.c_uint32 * len(words))(*words)

    def insert(self, number: int, value: Sequence[int], mask: Sequence[int], priority: int) -> None:
        """Adds a rule."""
        checked(library().sluice_ternary_insert(self.handle, number, self._words(value), self._words(mask), priority))

    def remove(self, number: int) -> None:
        """Removes a rule."""
        checked(library().sluice_ternary_remove(self.handle, number))

    def lookup(self, keys: Sequence[Sequence[int]]) -> list[int]:
        """The rule of each key, or -1."""
        ids = (ctypes.c_int32 * max(1, len(keys)))()
        library().sluice_ternary_lookup(self.handle, self._words([word for key in keys for word in key]), len(keys), ids)
        return list(ids)[: len(keys)]

    def vectorise(self, most: int) -> int:
        """Which of `KINDS` lookups use from now on: this one, or the most that processor and layout have."""
        return int(library().sluice_ternary_vectorise(self.handle, most))

    @property
    def stats(self) -> Stats:
        """Figures of the table."""
        figures: Stats = library().sluice_ternary_stats(self.handle)
        return figures

    def free(self) -> None:
        """Frees it."""
        library().sluice_ternary_free(self.handle)
