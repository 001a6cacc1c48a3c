# SPDX-License-Identifier: Apache-2.0
"""sl_register_arbiter: each master gets the answers to its own accesses, in order, and turns when both ask."""

from __future__ import annotations

import random

import cocotb
import sluice_layouts as L
from cocotb.triggers import ReadOnly, RisingEdge

from testing.cocotb.channel import start
from toolchain.simulate import simulate

ACCESSES = 200


def test_register_arbiter() -> None:
    simulate("sl_register_arbiter", __file__, {})


@cocotb.test()
async def each_master_gets_its_answers_and_its_turn(dut):
    dut.master_request_valid_i.value = dut.request_ready_i.value = dut.response_valid_i.value = 0
    await start(dut)
    waiting = [[L.RegisterRequest(1, 4 * at, random.getrandbits(31) << 1 | owner) for at in range(ACCESSES)] for owner in (0, 1)]
    offered, answers, passed_over = [False, False], [[], []], [0, 0]
    flight: L.RegisterRequest | None = None
    while sum(map(len, answers)) < 2 * ACCESSES:
        for owner in (0, 1):
            offered[owner] = offered[owner] or (bool(waiting[owner]) and random.random() < 0.7)
        dut.master_request_valid_i.value = offered[0] | offered[1] << 1
        dut.master_request_i.value = sum(
            (waiting[owner][0].to_int() if waiting[owner] else 0) << owner * L.RegisterRequest.BITS for owner in (0, 1)
        )
        dut.request_ready_i.value = int(flight is None and random.random() < 0.5)
        answering = flight is not None and random.random() < 0.5
        dut.response_valid_i.value = int(answering)
        dut.response_i.value = L.RegisterResponse(0, flight.data if flight else 0).to_int()
        await ReadOnly()
        ready, answered = int(dut.master_request_ready_o.value), int(dut.master_response_valid_o.value)
        moved = dut.request_valid_o.value == 1 and dut.request_ready_i.value == 1
        request = L.RegisterRequest.from_int(int(dut.request_o.value))
        assert moved == bool(ready & (offered[0] | offered[1] << 1)), "a request moves for a master when it moves on the bus"
        assert answered == (0 if flight is None or not answering else 1 << (flight.data & 1))
        await RisingEdge(dut.clk_i)
        if answering and flight is not None:
            answers[flight.data & 1].append(flight)
            flight = None
        if moved:
            owner = request.data & 1
            assert request == waiting[owner].pop(0)
            offered[owner], flight = False, request
            passed_over = [passed_over[other] + 1 if offered[other] else 0 for other in (0, 1)]
            assert max(passed_over) <= 1, "a master that asks waits for one access of the other at most"
    for owner in (0, 1):
        assert [one.address for one in answers[owner]] == [4 * at for at in range(ACCESSES)]
