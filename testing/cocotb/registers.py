# SPDX-License-Identifier: Apache-2.0
"""The register bus of an element under test: `reg_request_*` and `reg_response_*` (docs/design/contracts.md)."""

from __future__ import annotations

from typing import Any

from cocotb.triggers import ReadOnly, RisingEdge
from sluice_layouts import RegisterRequest, RegisterResponse

PATIENCE = 1000  # cycles


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
