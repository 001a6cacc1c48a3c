# SPDX-License-Identifier: Apache-2.0
"""The register bus of an element under test: `reg_request_*` and `reg_response_*` (docs/design/contracts.md)."""

from __future__ import annotations

from typing import Any

from cocotb.triggers import ReadOnly, RisingEdge
from sluice_layouts import RegisterRequest, RegisterResponse

PATIENCE = 1000  # cycles


class Registers:
    """What reads and writes the registers of `dut`, one at a time; `reg_request_valid_i` is 0 outside."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        dut.reg_request_valid_i.value = 0

    async def access(self, address: int, data: int | None = None) -> RegisterResponse:
        """The answer to a read, or to a write of `data`."""
        dut = self.dut
        dut.reg_request_i.value = RegisterRequest(int(data is not None), address, data or 0).to_int()
        dut.reg_request_valid_i.value = 1
        taken = False
        for _ in range(PATIENCE):
            await ReadOnly()
            taken = taken or dut.reg_request_ready_o.value == 1
            answered = dut.reg_response_valid_o.value == 1
            response = RegisterResponse.from_int(int(dut.reg_response_o.value)) if answered else None
            await RisingEdge(dut.clk_i)
            if taken:
                dut.reg_request_valid_i.value = 0
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
