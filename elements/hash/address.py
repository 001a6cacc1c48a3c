# SPDX-License-Identifier: Apache-2.0
"""The hash of `address.sl`, for tests and for who wants to know which addresses meet."""

from elements.hash.five_tuple import WORD, hash_of


def address_hash(address: int, secret: int = 0) -> int:
    """32 bits; an IPv4 address is in the low 32 of the 128 bits."""
    words = [address >> 32 * i & WORD for i in range(4)]
    return int(hash_of(words[0], words[2], 0, words[1], secret ^ words[3]))
