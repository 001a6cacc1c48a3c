# SPDX-License-Identifier: Apache-2.0
"""Random packets near what an overlay-shaped program asks for: values that it compares with, keys of its rules."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from compiler.fuzz import tokens

LANES = 4
PACKETS = 24
SIZES = (14, 15, 17, 33, 34, 37, 38, 39, 53, 54, 60, 61, 63, 64, 65, 66, 100, 128, 129, 200)  # bytes
LENGTH, PORT = "x.meta.length", "x.meta.ingress_port"


@dataclass(frozen=True)
class Field:
    """A place that a program reads: as it is written, its bits, and the first of them, counted from the first bit of the packet;
    below 0 where it is not in a packet, or not at one place. `is_little`: bytes in the other order."""

    text: str
    bits: int
    at: int = -1
    is_little: bool = False

    @property
    def words(self) -> Field:
        """The words of 16 bits that it is in."""
        return Field(self.text, -(-(self.at % 16 + self.bits) // 16) * 16, self.at // 16 * 16) if self.at >= 0 else self

    @property
    def is_in_word(self) -> bool:
        """Whether it is part of one word, in the order of its bits."""
        return self.at >= 0 and self.words.bits == 16 and (not self.is_little or self.bits == 8)

    def is_aligned_with(self, other: Field) -> bool:
        """Whether it is in the same places of words as another of the same size, in the same order."""
        return self.at >= 0 and other.at >= 0 and self.at % 16 == other.at % 16 and self.is_little == other.is_little

    def overlaps(self, other: Field) -> bool:
        """Whether two fields share a bit of the packet."""
        return self.at >= 0 and other.at >= 0 and self.at < other.at + other.bits and other.at < self.at + self.bits


Wish = tuple[tuple[Field, int], ...]  # values that fields of one packet should have


def put(data: bytearray, field: Field, value: int) -> None:
    """A field of a packet set to a value, as far as the packet reaches."""
    if field.is_little:
        value = int.from_bytes(value.to_bytes(field.bits // 8, "little"), "big")
    for bit in range(field.bits):
        byte, inside = divmod(field.at + bit, 8)
        if byte < len(data):
            mask = 0x80 >> inside
            data[byte] = data[byte] & ~mask | (mask if value >> (field.bits - 1 - bit) & 1 else 0)


def packets(choose: random.Random, wishes: Sequence[Wish], keys: Sequence[Wish] = ()) -> list[tuple[int, bytes]]:
    """Lanes and bytes; most of one of the flows with these keys, and then more of them, many of which come again."""
    found: list[tuple[int, bytes]] = []
    while len(found) < (2 * PACKETS if keys else PACKETS):
        again = bool(keys and found) and choose.random() < 0.4
        found.append(choose.choice(found) if again else _packet(choose, wishes, keys))
    return found


def _packet(choose: random.Random, wishes: Sequence[Wish], keys: Sequence[Wish]) -> tuple[int, bytes]:
    lane, size = choose.randrange(LANES), choose.choice(SIZES)
    data = bytearray(tokens.with_headers(choose) if choose.random() < 0.6 else choose.randbytes(size))
    if choose.random() < 0.2:
        data = bytearray(len(data))
    granted = choose.sample(wishes, min(len(wishes), choose.choice([0, 1, 2, 3, 4, 8]))) if wishes else []
    for field, value in (pair for wish in granted for pair in wish):
        if field.text == LENGTH and 14 <= value <= 300:
            size = value
        elif field.text == PORT and value < LANES:
            lane = value
        elif field.at >= 0:
            put(data, field, value)
    if choose.random() < 0.7:
        data = (data + bytes(choose.choice([size, 0])) + choose.randbytes(size))[:size]
    if keys and choose.random() < 0.9:
        for field, value in choose.choice(keys):
            put(data, field, value)
    return lane, bytes(data).ljust(14, b"\0")
