# SPDX-License-Identifier: Apache-2.0
"""sl_deparse_prepend: headers of every size in front of packets of every size, whichever of the two comes late."""

import random
from dataclasses import replace

import cocotb
from cocotb.triggers import RisingEdge
from sluice_layouts import TEMPLATE_BYTES, Flit, Meta

from models.packet import Received, from_flits, to_flits
from testing.cocotb.channel import Sink, Source, stalls, start
from toolchain.simulate import simulate

INSERT = 1 << Flit.BITS
MISSING = 1 << (8 + 8 * TEMPLATE_BYTES)


def test_sl_deparse_prepend() -> None:
    simulate("sl_deparse_prepend", __file__)


class Bench:
    """The part with a source for packets, one for headers, and a sink."""

    def __init__(self, dut, packets: float, headers: float, out: float) -> None:
        self.dut = dut
        self.packets = Source(dut, "in", stalls(packets))
        self.headers = Source(dut, "header", stalls(headers))
        self.out = Sink(dut, "out", stalls(out))
        self.expected: list[Received] = []

    def send(self, data: bytes, header: bytes | None, missing: bool = False, error: bool = False) -> None:
        """A packet, and its header where it has one; bytes behind the header's end are random."""
        meta = Meta(length=len(data), mark=random.getrandbits(32), egress_mask=random.getrandbits(7))
        mark = INSERT if header is not None else 0
        self.packets.send(*(flit.to_int() | mark for flit in to_flits(data, meta, error)))
        if header is not None:
            stored = int.from_bytes(header + random.randbytes(TEMPLATE_BYTES - len(header)), "little")
            self.headers.send(len(header) << 8 * TEMPLATE_BYTES | stored | (MISSING if missing else 0))
        whole = (header or b"") + data
        self.expected.append(Received(whole, replace(meta, length=len(whole)), error or missing))

    async def check(self) -> None:
        flits = sum(len(to_flits(one.data, one.meta)) for one in self.expected)
        received = from_flits(Flit.from_int(word) for word in await self.out.wait_for(flits))
        for got, wanted in zip(received, self.expected, strict=True):
            assert got == wanted, f"\n{got.data.hex()}\n{wanted.data.hex()}"
        for _ in range(20):
            await RisingEdge(self.dut.clk_i)
        assert len(self.out.received) == flits and not self.packets.queue and not self.headers.queue


async def every_size(dut, packets: float, headers: float, out: float) -> None:
    await start(dut)
    bench = Bench(dut, packets, headers, out)
    for size in range(2, TEMPLATE_BYTES + 1, 2):
        for length in [*random.sample(range(14, 200), 8), 63, 64, 65, 128]:
            bench.send(random.randbytes(length), random.randbytes(size), error=random.random() < 0.1)
            if random.random() < 0.3:
                bench.send(random.randbytes(random.randrange(14, 200)), None, error=random.random() < 0.1)
            if random.random() < 0.05:
                bench.send(random.randbytes(random.randrange(14, 200)), b"", missing=True)
    await bench.check()


@cocotb.test()
async def puts_any_header_before_any_packet(dut):
    await every_size(dut, 0.3, 0.3, 0.3)


@cocotb.test()
async def waits_for_late_headers(dut):
    await every_size(dut, 0, 0.9, 0)


@cocotb.test()
async def waits_for_late_packets_and_a_slow_receiver(dut):
    await every_size(dut, 0.7, 0, 0.6)
