# SPDX-License-Identifier: Apache-2.0
"""sl_register_arbiter: each master gets the answers to its own accesses, in order, and turns when several ask."""

from __future__ import annotations

import os
import random

import cocotb
import pytest
import sluice_layouts as L
from cocotb.triggers import ReadOnly, RisingEdge

from testing.cocotb.channel import start
from toolchain.simulate import simulate

ACCESSES = 200
MASTERS = int(os.environ.get("MASTERS", "2"))
OWNERS = range(MASTERS)


@pytest.mark.parametrize("masters", [2, 3, 5])
def test_register_arbiter(masters: int) -> None:
    simulate("sl_register_arbiter", __file__, {"Masters": masters}, env={"MASTERS": str(masters)})


def mask(flags: list[bool]) -> int:
    return sum(flag << at for at, flag in enumerate(flags))


@cocotb.test()
async def each_master_gets_its_answers_and_its_turn(dut):
    dut.master_request_valid_i.value = dut.request_ready_i.value = dut.response_valid_i.value = 0
    await start(dut)
    waiting = [[L.RegisterRequest(1, 4 * at, random.getrandbits(24) << 8 | owner) for at in range(ACCESSES)] for owner in OWNERS]
    offered, answers = [False for _ in OWNERS], [[] for _ in OWNERS]
    passed_over = [[0 for _ in OWNERS] for _ in OWNERS]  # of a master that waits, by each other
    flight: L.RegisterRequest | None = None
    busy = 0.7
    while sum(map(len, answers)) < MASTERS * ACCESSES:
        if random.random() < 0.01:
            busy = random.choice([0.05, 0.7, 1.0])
        for owner in OWNERS:
            offered[owner] = offered[owner] or (bool(waiting[owner]) and random.random() < busy)
        dut.master_request_valid_i.value = mask(offered)
        dut.master_request_i.value = sum(
            (waiting[owner][0].to_int() if waiting[owner] else 0) << owner * L.RegisterRequest.BITS for owner in OWNERS
        )
        dut.request_ready_i.value = int(flight is None and random.random() < 0.5)
        answering = flight is not None and random.random() < 0.5
        dut.response_valid_i.value = int(answering)
        dut.response_i.value = L.RegisterResponse(0, flight.data if flight else 0).to_int()
        await ReadOnly()
        ready, answered = int(dut.master_request_ready_o.value), int(dut.master_response_valid_o.value)
        moved = dut.request_valid_o.value == 1 and dut.request_ready_i.value == 1
        request = L.RegisterRequest.from_int(int(dut.request_o.value))
        assert moved == bool(ready & mask(offered)), "a request moves for a master when it moves on the bus"
        assert answered == (0 if flight is None or not answering else 1 << (flight.data & 0xFF))
        if dut.request_valid_o.value == 1 or flight is not None:
            assert int(dut.owner_o.value) == (flight or request).data & 0xFF, "whose access it is"
        await RisingEdge(dut.clk_i)
        if answering and flight is not None:
            answers[flight.data & 0xFF].append(flight)
            flight = None
        if moved:
            owner = request.data & 0xFF
            assert request == waiting[owner].pop(0)
            offered[owner], flight = False, request
            for other in OWNERS:
                passed_over[other] = [count + (by == owner) if offered[other] else 0 for by, count in enumerate(passed_over[other])]
            assert max(map(max, passed_over)) <= 1, "a master that asks waits for one access of each other at most"
    for owner in OWNERS:
        assert [one.address for one in answers[owner]] == [4 * at for at in range(ACCESSES)]
