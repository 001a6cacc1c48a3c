# SPDX-License-Identifier: Apache-2.0
"""el_replicate: every port of the mask gets the packet once and whole, under stalls of each port; an empty mask vanishes."""

import random

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from sluice_layouts import Flit, Meta

from models.packet import from_flits, to_flits
from testing.cocotb.channel import Source, stalls, start
from toolchain.simulate import simulate

PORTS = 4


def test_replicate() -> None:
    simulate("el_replicate", __file__, {"Ports": PORTS})


class Ports:
    """Takes words from every port with stalls of its own; once valid, a port's word must hold until it is taken."""

    def __init__(self, dut, stall):
        self.dut, self.stall = dut, stall
        self.received = [[] for _ in range(PORTS)]
        dut.out_ready_i.value = 0
        cocotb.start_soon(self._run())

    async def _run(self):
        waiting = [None] * PORTS
        while True:
            ready = sum((random.random() >= self.stall[port]) << port for port in range(PORTS))
            self.dut.out_ready_i.value = ready
            await ReadOnly()
            valid, data = int(self.dut.out_valid_o.value), int(self.dut.out_data_o.value)
            for port in range(PORTS):
                now = data if valid >> port & 1 else None
                assert waiting[port] in (None, now), f"port {port}: a waiting word changed or vanished"
                if now is not None and ready >> port & 1:
                    self.received[port].append(now)
                    now = None
                waiting[port] = now
            await RisingEdge(self.dut.clk_i)


@cocotb.test()
@cocotb.parametrize(stall=[[0.0] * 4, [0.3] * 4, [0.0, 0.9, 0.2, 0.5]])
async def copies_whole_packets_to_the_ports_of_the_mask(dut, stall):
    source = Source(dut, "in", stalls(0.2))
    await start(dut)
    ports = Ports(dut, stall)
    expected = [[] for _ in range(PORTS)]
    for mark in range(100):
        mask = random.choice([0, random.randint(0, 255), 1 << random.randrange(PORTS), 0xF])
        packet = random.randbytes(random.choice([14, 64, 65, 300]))
        source.send(*(flit.to_int() for flit in to_flits(packet, Meta(egress_mask=mask, mark=mark))))
        for port in range(PORTS):
            if mask >> port & 1:
                expected[port].append((mark, packet))
    await source.drained()
    for port in range(PORTS):
        got = from_flits(Flit.from_int(word) for word in ports.received[port])
        assert [(one.meta.mark, one.data) for one in got] == expected[port]


@cocotb.test()
async def moves_a_flit_a_cycle_to_all_ports(dut):
    source = Source(dut, "in", stalls(0.0))
    await start(dut)
    ports = Ports(dut, [0.0] * PORTS)
    for _ in range(20):
        source.send(*(flit.to_int() for flit in to_flits(bytes(320), Meta(egress_mask=0xF))))
    cycles = 0
    while len(ports.received[0]) < 100:
        await RisingEdge(dut.clk_i)
        cycles += 1
    assert cycles <= 104
    assert ports.received[0] == ports.received[1] == ports.received[2] == ports.received[3]
