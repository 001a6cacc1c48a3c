# SPDX-License-Identifier: Apache-2.0
"""sl_register_lock against a model: who has the lock, who loses it by silence, what is refused; all else passes as it is."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import cocotb
import sluice_layouts as L
from cocotb.triggers import ReadOnly, RisingEdge

from testing.cocotb.channel import start
from toolchain.simulate import simulate

MASTERS, FIRST, LAST, PATIENCE = 3, 1, 2, 1 << 7
ACCESSES = 4000
LOCK = L.SHELL_REGISTERS_LOCK


def test_register_lock() -> None:
    sizes = {"Masters": MASTERS, "First": FIRST, "Last": LAST, "PatienceBits": PATIENCE.bit_length() - 1}
    simulate("sl_register_lock", __file__, sizes)


@dataclass
class Model:
    """The lock as its register is described."""

    owner: int | None = None
    behind: set[int] = field(default_factory=set)  # of these another had it since they gave it back
    last: int = 0  # cycle of the owner's last access
    refused: int = 0

    def access(self, master: int, request: L.RegisterRequest, cycle: int) -> L.RegisterResponse | None:
        """The answer, or None where the bus has it."""
        if self.owner is not None and cycle - self.last > PATIENCE:
            self.owner = None
        if self.owner == master:
            self.last = cycle
        if request.address == LOCK and not request.write:
            bits = (self.owner == master) | (self.owner not in (None, master)) << 1 | (master in self.behind) << 2
            return L.RegisterResponse(0, bits)
        if request.address == LOCK and self.owner in (None, master):
            if request.data & 1:
                self.owner, self.last = master, cycle
                self.behind |= set(range(MASTERS)) - {master}
            elif self.owner == master:
                self.owner = None
                self.behind -= {master}
            return L.RegisterResponse(0, 0)
        in_windows = FIRST <= request.address // L.WINDOW_SIZE <= LAST
        if request.address == LOCK or (request.write and in_windows and self.owner != master):
            self.refused += 1
            return L.RegisterResponse(1, 0)
        return None


def some_request() -> L.RegisterRequest:
    window, offset = random.randrange(5), random.choice([0, 4, LOCK - 4, LOCK, LOCK, LOCK + 4])
    address = LOCK if random.random() < 0.4 else window * L.WINDOW_SIZE + offset
    return L.RegisterRequest(random.getrandbits(1), address, random.getrandbits(32))


@cocotb.test()
async def writes_are_the_owners(dut):
    dut.in_request_valid_i.value = dut.out_request_ready_i.value = dut.out_response_valid_i.value = 0
    await start(dut)
    model, master, cycle, lost, passed = Model(), 0, 0, 0, 0
    for _ in range(ACCESSES):
        gap = random.choice([0, 1, 5, *range(PATIENCE - 9, PATIENCE + 2)] if random.random() < 0.1 else [0, 1])
        for _ in range(gap):
            await RisingEdge(dut.clk_i)
        cycle += gap
        master = random.randrange(MASTERS) if random.random() < 0.5 else master
        request = some_request()
        dut.in_request_i.value, dut.in_master_i.value, dut.in_request_valid_i.value = request.to_int(), master, 1
        while True:
            dut.out_request_ready_i.value = random.getrandbits(1)
            await ReadOnly()
            taken, out = dut.in_request_ready_o.value == 1, dut.out_request_valid_o.value == 1
            assert not out or L.RegisterRequest.from_int(int(dut.out_request_o.value)) == request
            moved = out and dut.out_request_ready_i.value == 1
            assert not moved or taken
            if taken:
                break
            await RisingEdge(dut.clk_i)
            cycle += 1
        before = model.owner
        expected = model.access(master, request, cycle)
        lost += before is not None and model.owner is None and request.address != LOCK
        assert moved == (expected is None), f"{request} of {master}, {model}"
        await RisingEdge(dut.clk_i)
        cycle += 1
        dut.in_request_valid_i.value = 0
        if expected is None:
            passed += 1
            expected = L.RegisterResponse(random.getrandbits(1), random.getrandbits(32))
            for _ in range(random.randrange(3)):
                await ReadOnly()
                assert dut.in_response_valid_o.value == 0
                await RisingEdge(dut.clk_i)
                cycle += 1
            dut.out_response_valid_i.value, dut.out_response_i.value = 1, expected.to_int()
        await ReadOnly()
        assert dut.in_response_valid_o.value == 1
        assert L.RegisterResponse.from_int(int(dut.in_response_o.value)) == expected, f"{request} of {master}, {model}"
        await RisingEdge(dut.clk_i)
        cycle += 1
        dut.out_response_valid_i.value = 0
    await ReadOnly()
    assert int(dut.refused_o.value) == model.refused
    assert model.refused > 100 and lost > 3 and passed > 1000
