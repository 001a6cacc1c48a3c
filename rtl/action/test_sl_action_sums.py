# SPDX-License-Identifier: Apache-2.0
"""sl_action_sums: the one's complement sums of the words of a record, four cycles later; 0 only where every word is 0."""

from __future__ import annotations

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

from toolchain.simulate import simulate

LATENCY = 4
BITS = {"ip_src": 128, "ip_dst": 128, "ip_tos": 8, "ip_ttl": 8, "l4_src": 16, "l4_dst": 16, "ip_add": 16, "l4_add": 16}


def test_sl_action_sums() -> None:
    simulate("sl_action_sums", __file__)


def folded(words: list[int]) -> int:
    """RFC 1071, without the complement."""
    total = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def words_of(address: int, count: int) -> list[int]:
    return [address >> 16 * n & 0xFFFF for n in range(count)]


def expected(given: dict[str, int]) -> tuple[int, int]:
    """The sum of the words under the IPv4 checksum, and of those under the transport's."""
    ends = ("ip_src", "ip_dst")
    network = [word for name in ends for word in words_of(given[name], 2)] + [
        given["ip_ttl"] << 8 | given["ip_tos"],
        given["ip_add"],
    ]
    transport = [word for name in ends for word in words_of(given[name], 8)] + [given["l4_src"], given["l4_dst"], given["l4_add"]]
    return folded(network), folded(transport)


@cocotb.test()
async def sums_are_those_of_rfc_1071(dut):
    Clock(dut.clk_i, 10, unit="ns").start()
    sent: list[tuple[int, int] | None] = []
    for number in range(3000):
        await RisingEdge(dut.clk_i)
        ones = random.choice((0.0, 0.5, 1.0))  # all words 0, random, or all ones
        given = {
            name: random.choice((0, (1 << bits) - 1)) if random.random() > ones else random.getrandbits(bits)
            for name, bits in BITS.items()
        }
        if number % 50 == 0:
            given = dict.fromkeys(BITS, 0)
        valid = random.random() < 0.9
        dut.valid_i.value = int(valid)
        for name, value in given.items():
            getattr(dut, f"{name}_i").value = value
        sent.append(expected(given) if valid else None)
        await ReadOnly()
        wanted = sent[-1 - LATENCY] if len(sent) > LATENCY else None
        if wanted is not None:
            assert (int(dut.ip_sum_o.value), int(dut.l4_sum_o.value)) == wanted
