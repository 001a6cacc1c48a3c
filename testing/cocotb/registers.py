# SPDX-License-Identifier: Apache-2.0
"""The register bus of an element under test: `reg_request_*` and `reg_response_*` (docs/design/contracts.md). And what its layout
says of a window, checked: a new register needs no test of its own for that."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any

from cocotb.triggers import ReadOnly, RisingEdge
from sluice_layouts import WINDOW_SIZE, Register, RegisterRequest, RegisterResponse

PATIENCE = 1000  # cycles
ALL_ONES = 0xFFFFFFFF


class Registers:
    """What reads and writes the registers of `dut`, one at a time; `reg_request_valid_i` is 0 outside."""

    def __init__(self, dut: Any, prefix: str = "reg_") -> None:
        self.dut = dut
        names = ("request_i", "request_valid_i", "request_ready_o", "response_o", "response_valid_o")
        self.request_data, self.request_valid, self.request_ready, self.response_data, self.response_valid = (
            getattr(dut, prefix + name) for name in names
        )
        self.request_valid.value = 0

    async def access(self, address: int, data: int | None = None) -> RegisterResponse:
        """The answer to a read, or to a write of `data`. What stands in the place of a read's data is not to be looked at."""
        self.request_data.value = RegisterRequest(int(data is not None), address, 0xFFFFFFFF if data is None else data).to_int()
        self.request_valid.value = 1
        taken = False
        for _ in range(PATIENCE):
            await ReadOnly()
            taken = taken or self.request_ready.value == 1
            answered = self.response_valid.value == 1
            response = RegisterResponse.from_int(int(self.response_data.value)) if answered else None
            await RisingEdge(self.dut.clk_i)
            if taken:
                self.request_valid.value = 0
            if response is not None:
                return response
        raise AssertionError(f"no answer at {address:#x}")

    async def request(self, address: int, data: int | None = None) -> int:
        """The word of an answer that is no error."""
        response = await self.access(address, data)
        assert not response.error, f"error at {address:#x}"
        return response.data

    async def read(self, address: int) -> int:
        """The register at `address`."""
        return await self.request(address)

    async def write(self, address: int, data: int) -> None:
        """Put `data` into the register at `address`."""
        await self.request(address, data)


async def check_window(
    access: Callable[[int, int | None], Awaitable[RegisterResponse]],
    *blocks: Sequence[Register],
    values: Mapping[str, Sequence[int]],
    live: Collection[str] = (),
) -> None:
    """After a reset: which words answer and which are errors, constants, values after the reset, and that each kept register holds
    what is written into it and no other changes. `values`: what a register takes that does not take every number. `live`: registers
    that the hardware changes too; only their direction is checked."""
    words = {offset: register for block in blocks for register in block for offset in register.offsets}
    for offset in range(0, WINDOW_SIZE, 4):
        register = words.get(offset)
        if register is None or register.access == "wo":
            assert (await access(offset, None)).error, f"read of {offset:#x}"
        elif register.reset is not None and register.name not in live:
            assert await access(offset, None) == RegisterResponse(data=register.reset), f"{register.name} at {offset:#x}"
        if register is None or register.access == "ro":
            assert (await access(offset, ALL_ONES)).error, f"write of {offset:#x}"
        assert register is None or (await access(offset + 2, None)).error, f"read of {offset + 2:#x}"
    kept = {offset: register for offset, register in words.items() if register.is_kept and register.name not in live}
    expected = {}
    for offset, register in kept.items():
        value = random.choice(values[register.name]) if register.name in values else random.getrandbits(32)
        assert not (await access(offset, value)).error, f"write of {value:#x} to {register.name} at {offset:#x}"
        expected[offset] = value & ((1 << register.width) - 1)
    for offset, value in expected.items():
        assert await access(offset, None) == RegisterResponse(data=value), f"{kept[offset].name} at {offset:#x}"


def kept_fields(block: Sequence[Register], value: int) -> dict[str, int]:
    """The fields of a port that holds the kept registers of a block, such as `shell_registers_t`."""
    fields = {}
    for register in reversed([register for register in block if register.is_kept]):
        width = register.width * register.count
        fields[register.name] = value & ((1 << width) - 1)
        value >>= width
    return fields
