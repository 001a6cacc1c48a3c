# SPDX-License-Identifier: Apache-2.0
"""The hashes of `sl_hash_function` and `sl_keyed_hash`: for software that places entries, and for tests that need collisions."""

from __future__ import annotations

from collections.abc import Sequence

SEED = 0x243F6A8885A308D3
WORD = 0xFFFFFFFF
MIDDLE_BITS = 64


def mix(number: int) -> int:
    """The 32-bit finalizer of MurmurHash3, source of the matrices."""
    x = (number + 0x9E3779B9) & WORD
    x = (x ^ (x >> 16)) * 0x85EBCA6B & WORD
    x = (x ^ (x >> 13)) * 0xC2B2AE35 & WORD
    return x ^ (x >> 16)


def _layer(x: int, bits: int, seed_bits: Sequence[int]) -> int:
    above = x >> 1 | 1 << (bits - 1)
    twice = x >> 2 | 3 << (bits - 2)
    seed = sum(bit << i for i, bit in enumerate(seed_bits))
    return x ^ ((above ^ seed) & twice)


class Hash:
    """`sl_hash_function`: the slot of a key in each way."""

    def __init__(self, key_bits: int, slots: int, ways: int = 4, seed: int = SEED) -> None:
        self.key_bits, self.ways = key_bits, ways
        self.low_bits = (slots & -slots).bit_length() - 1
        self.odd = slots >> self.low_bits
        self.high_bits = 0 if self.odd == 1 else (self.odd - 1).bit_length() + 8
        bits = self.low_bits + self.high_bits
        self.first = [sum(1 << i for i in range(key_bits) if mix(8 * i + row // 8) % 8 == row % 8) for row in range(MIDDLE_BITS)]
        self.second = [
            sum(1 << (4 * group + mix(0x10000 + 16 * row + group) % 4) for group in range(MIDDLE_BITS // 4))
            for row in range(ways * bits)
        ]
        self.hash_bits = bits
        self.seed1 = [seed >> (i % 64) & 1 for i in range(key_bits)]
        self.seed2 = [seed >> ((7 * i + 3) % 64) & 1 for i in range(MIDDLE_BITS)]

    def slots(self, key: int) -> list[int]:
        """The slot of `key` in each way."""
        layer = _layer(key, self.key_bits, self.seed1)
        middle = sum(((layer & row).bit_count() & 1) << i for i, row in enumerate(self.first))
        layer = _layer(middle, MIDDLE_BITS, self.seed2)
        every = sum(((layer & row).bit_count() & 1) << i for i, row in enumerate(self.second))
        return [self._slot(every >> (way * self.hash_bits) & ((1 << self.hash_bits) - 1)) for way in range(self.ways)]

    def _slot(self, word: int) -> int:
        low = word & ((1 << self.low_bits) - 1)
        high = word >> self.low_bits
        return low if self.odd == 1 else (high * self.odd >> self.high_bits) << self.low_bits | low


class KeyedHash:
    """`sl_keyed_hash`: the slot of a key in each way, under a secret of 128 bits. `slots` is a power of two."""

    def __init__(self, key_bits: int, slots: int, secret: int, ways: int = 1) -> None:
        self.whitening = sum((secret >> (64 + (i + 29 * (i // 64)) % 64) & 1) << i for i in range(key_bits))
        self.hash = Hash(key_bits, slots, ways, secret & ((1 << 64) - 1))

    def slots(self, key: int) -> list[int]:
        """The slot of `key` in each way."""
        return self.hash.slots(key ^ self.whitening)
