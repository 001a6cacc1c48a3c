# SPDX-License-Identifier: Apache-2.0
"""sl_flow_link: packets pass unchanged whatever waits; one word for each, in order, and none is lost where there is no room."""

from __future__ import annotations

import random

import cocotb
from sluice_layouts import LinkInfo, Meta

from models.packet import to_flits
from testing.cocotb.channel import Sink, Source, stalls, start
from toolchain.simulate import simulate


def test_sl_flow_link() -> None:
    simulate("sl_flow_link", __file__, {"Depth": 4})


@cocotb.test()
async def each_packet_has_its_word_and_passes(dut):
    source, sink = Source(dut, "in", stalls(0.1)), Sink(dut, "out", stalls(0.1))
    link = Sink(dut, "link", stalls(0.8))
    await start(dut)
    packets = [random.randbytes(random.choice((60, 64, 65, 200, 400))) for _ in range(300)]
    words = [
        flit.to_int() for n, packet in enumerate(packets) for flit in to_flits(packet, Meta(timestamp=n + 1, length=len(packet)))
    ]
    source.send(*words)
    assert await sink.wait_for(len(words)) == words
    found = [LinkInfo.from_int(word) for word in await link.wait_for(len(packets))]
    assert [info.received for info in found] == list(range(1, len(packets) + 1))
    assert [info.first_type for info in found] == [int.from_bytes(packet[12:14], "big") for packet in packets]
