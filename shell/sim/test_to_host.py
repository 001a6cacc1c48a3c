# SPDX-License-Identifier: Apache-2.0
"""The shell behind the graph. Packets to the host that the graph marks bad, shortens or lengthens beyond what can be are dropped
and counted; a copy for the host and one for a lane arrive once each.

The graph of these tests sends all packets of a lane to the host, or to the host and back, changed as their first byte says."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pytest
import sluice_layouts as L

from host.python.device import Device
from testing.device import host_packets, lane_packets
from toolchain.simulate import SOURCES

SEED = 20261122
# SHORT: its last flit has 13 bytes; JOINED: the next packet continues it; COPIED: to the host and back to the lane
AS_IT_CAME, BAD, SHORT, JOINED, COPIED = range(5)
BODY = """
  import sluice_pkg::*;

  flit_t      flit;
  logic [2:0] kind, kind_q;
  logic       continues_q, is_copied, ready;

  assign kind      = lane_data_i[0].sop ? lane_data_i[0].data[2:0] : kind_q;
  assign is_copied = kind == 3'd4;
  assign ready     = is_copied ? out_ready_i : to_host_ready_i;

  always_comb begin
    flit = lane_data_i[0];
    if (continues_q) flit.sop = 1'b0;
    if (flit.eop && kind == 3'd1) flit.error = 1'b1;
    if (flit.eop && kind == 3'd2) flit.empty = $bits(flit.empty)'(DATA_BYTES - 13);
    if (kind == 3'd3) flit.eop = 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (lane_valid_i[0] && ready) begin
      kind_q <= kind;
      if (lane_data_i[0].eop) continues_q <= kind == 3'd3;
    end
    reg_response_valid_o <= reg_request_valid_i;
    if (rst_i) begin
      continues_q          <= 1'b0;
      reg_response_valid_o <= '0;
    end
  end

  always_comb begin
    out_data_o                  = lane_data_i[0];
    out_data_o.meta.verdict     = VERDICT_FORWARD;
    out_data_o.meta.egress_mask = 8'd1 << HOST_PORT | 8'd1;
  end

  assign out_valid_o     = lane_valid_i[0] && is_copied;
  assign to_host_data_o  = flit;
  assign to_host_valid_o = lane_valid_i[0] && !is_copied;
  assign lane_ready_o    = Lanes'(ready);
  assign idle_o          = !lane_valid_i[0];
  assign reg_request_ready_o = '1;
  assign reg_response_o      = '1;  // errors
  assign {takes_host_o, host_ready_o, capability_o, event_o, push_data_o, push_valid_o} = '0;
endmodule
"""


def graph_text() -> str:
    """Of a module with the ports of `sh_graph`."""
    head = re.match(r".*?\n\);\n", (SOURCES / "shell" / "core" / "sh_graph.sv").read_text(), re.DOTALL)
    assert head
    return head[0] + BODY


@pytest.fixture
def device(power_up: int) -> Iterator[Device]:
    with Device({"lanes": 1}, graph={"sh_graph.sv": graph_text()}) as opened:
        yield opened


PACKETS = [
    ((AS_IT_CAME, 14), None, 0), ((AS_IT_CAME, L.MTU_BYTES), None, 0), ((BAD, 100), None, 1), ((BAD, 64), None, 1),
    ((SHORT, 64), None, 1), ((SHORT, 90), None, 0), ((JOINED, 128), (AS_IT_CAME, 60), 0), ((JOINED, 128), (BAD, 60), 1),
    ((JOINED, L.MTU_BYTES), (AS_IT_CAME, 9000), 1),
    ((JOINED, L.MTU_BYTES), (AS_IT_CAME, L.EGRESS_BYTES - L.MTU_BYTES), 0),
    ((JOINED, L.MTU_BYTES), (AS_IT_CAME, L.EGRESS_BYTES - L.MTU_BYTES + 1), 1),
]  # fmt: skip


def test_what_cannot_be_a_packet_to_the_host_is_dropped_and_counted_and_the_next_is_right(device: Device) -> None:
    draw, errors = random.Random(SEED), 0

    def sent(kind: int, size: int) -> bytes:
        data = bytes([kind]) + draw.randbytes(size - 1)
        assert device.lane_send(0, data)
        device.advance(1000)
        return data[: (size - 1) // L.DATA_BYTES * L.DATA_BYTES + 13] if kind == SHORT else data

    for first, second, dropped in PACKETS:
        data = sent(*first) + (sent(*second) if second else b"")
        errors += dropped
        good = sent(AS_IT_CAME, draw.randint(14, 2000))
        assert [packet.data for packet in host_packets(device)] == ([good] if dropped else [data, good]), (first, second)
        assert device.counters("host").to_host_error == errors, (first, second)


def test_copies_for_host_and_lane_arrive_once_each_whichever_waits(device: Device) -> None:
    """What the host sends holds the lane; a full ring, which is read now and then, holds the copy for the host."""
    draw = random.Random(SEED)
    device.call("sluice_device_set_lossless", 1)
    copied = [bytes([COPIED]) + draw.randbytes(draw.randint(13, 150)) for _ in range(3000)]
    of_host = [bytes([AS_IT_CAME]) + draw.randbytes(draw.randint(13, 2000)) for _ in range(300)]
    waiting, sending, to_lane, to_host = list(copied), list(of_host), list[bytes](), list[bytes]()
    for turn in range(8000):
        while waiting and draw.random() < 0.9 and device.lane_send(0, waiting[0]):
            waiting.pop(0)
        if sending:
            device.send(sending.pop(0), 1)
        device.advance(draw.randint(1, 60))
        to_lane += lane_packets(device, 0)
        to_host += [packet.data for packet in host_packets(device)] if turn % 2000 > 1000 else []
    assert to_host == copied
    assert [data for data in to_lane if data[0] == COPIED] == copied
    assert [data for data in to_lane if data[0] != COPIED] == of_host
