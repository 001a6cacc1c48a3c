# SPDX-License-Identifier: Apache-2.0
"""sl_keyed_hash: computes what its twin does, and keys that are chosen to collide under one secret do not under another."""

from __future__ import annotations

import random
from collections.abc import Iterable

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from compiler.pipeline.hash_function import KeyedHash
from toolchain.simulate import simulate

SLOTS, KEYS = 16, 640
# Chi-square of 15 degrees of freedom: exceeded once in 10^9 by a uniform choice.
MOST_CHI_SQUARE = 75.0


@pytest.mark.parametrize(("key_bits", "slots"), [(3, 2), (104, 256), (256, 1024)])
def test_keyed_hash(key_bits: int, slots: int) -> None:
    simulate("sl_keyed_hash", __file__, {"KeyBits": key_bits, "Slots": slots})


@cocotb.test()
async def agrees_with_its_twin(dut):
    key_bits, slots = int(dut.KeyBits.value), int(dut.Slots.value)
    Clock(dut.clk_i, 10, unit="ns").start()
    for _ in range(5):
        secret = random.getrandbits(128)
        twin = KeyedHash(key_bits, slots, secret)
        dut.secret_i.value = secret
        keys = [random.getrandbits(key_bits) for _ in range(40)]
        for cycle in range(len(keys) + 4):
            await FallingEdge(dut.clk_i)
            if cycle >= 4:
                assert int(dut.index_o.value) == twin.slots(keys[cycle - 4])[0]
            dut.valid_i.value = int(cycle < len(keys))
            dut.key_i.value = keys[min(cycle, len(keys) - 1)]


def chi_square(secret: int, keys: Iterable[int]) -> float:
    """How far the slots of `keys` are from even."""
    twin = KeyedHash(104, SLOTS, secret)
    counts = [0] * SLOTS
    for key in keys:
        counts[twin.slots(key)[0]] += 1
    mean = sum(counts) / SLOTS
    return sum((count - mean) ** 2 / mean for count in counts)


def colliding_keys(secret: int) -> list[int]:
    """Keys that a person who knows the secret chose for one slot."""
    twin = KeyedHash(104, SLOTS, secret)
    keys = (random.getrandbits(104) for _ in range(10**6))
    chosen = (key for key in keys if twin.slots(key)[0] == 0)
    return [next(chosen) for _ in range(KEYS)]


def test_keys_that_collide_under_one_secret_spread_under_another() -> None:
    secret = random.getrandbits(128)
    keys = colliding_keys(secret)
    assert chi_square(secret, keys) > KEYS
    for half in (0, 64):
        for _ in range(5):
            assert chi_square(secret ^ random.getrandbits(64) << half, keys) < MOST_CHI_SQUARE, f"another {half}"


@pytest.mark.parametrize("shift", [0, 16, 40, 90])
def test_keys_that_count_spread_under_any_secret(shift: int) -> None:
    base = random.getrandbits(104)
    for _ in range(5):
        assert chi_square(random.getrandbits(128), (base ^ number << shift for number in range(KEYS))) < MOST_CHI_SQUARE
