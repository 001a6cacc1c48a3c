# SPDX-License-Identifier: Apache-2.0
"""The hash of `five_tuple.sl`, for the software that fills the tables, and for models: Jenkins' lookup3, its final mixing."""

from __future__ import annotations

from typing import Any

WORD = 0xFFFFFFFF
Words = Any  # an int, or an array of them


def _rotated(a: Words, bits: int) -> Words:
    return (a << bits | a >> 32 - bits) & WORD


def hash_of(source: Words, destination: Words, protocol: Words, ports: Words, seed: int) -> Words:
    """32 bits, of one five-tuple or of arrays of 64-bit words; `ports`: both in one word."""
    a, b = source + seed & WORD, destination + seed & WORD
    c = ports + (seed ^ protocol << 8) & WORD
    c = (c ^ b) - _rotated(b, 14) & WORD
    a = (a ^ c) - _rotated(c, 11) & WORD
    b = (b ^ a) - _rotated(a, 25) & WORD
    c = (c ^ b) - _rotated(b, 16) & WORD
    a = (a ^ c) - _rotated(c, 4) & WORD
    b = (b ^ a) - _rotated(a, 14) & WORD
    return (c ^ b) - _rotated(b, 24) & WORD


def five_tuple_hash(key: int, seed: int) -> int:
    """The hash of a key, five_tuple4_t as an integer of 104 bits."""
    return int(hash_of(key >> 72, key >> 40 & WORD, key >> 32 & 0xFF, key & WORD, seed))
