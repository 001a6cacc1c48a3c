# SPDX-License-Identifier: Apache-2.0
"""The learning switch learns where addresses are, forwards, floods, and never gives a packet back; the host's path beside it."""

import random
from collections import defaultdict

import cocotb
import pytest
from cocotb.triggers import ClockCycles, ReadOnly, RisingEdge
from sluice_layouts import DATA_BYTES, HOST_PORT, Flit, Meta

from models.packet import from_flits, to_flits
from testing.cocotb.channel import Sink, Source, stalls, start
from toolchain.simulate import simulate
from toolchain.synth.flow import ports

LANES, ENTRIES, QUIET = 3, 64, 60
SIZE = Flit().BITS
STATIONS = 24  # in 64 places
GROUP, ALL, BRIDGE = 0x0333, 0xFFFFFFFFFFFF, 0x0180C2000003


def test_learning_switch() -> None:
    simulate("cfg_l2", __file__, {"Lanes": LANES, "Entries": ENTRIES, "Flits": 512}, testcase="learns,floods_or_is_right")


def test_path_of_the_host() -> None:
    simulate("cfg_hostio", __file__, {"Lanes": LANES, "Flits": 512}, testcase="carries_packets_between_lanes_and_host")


@pytest.mark.parametrize("module", ["cfg_l2", "cfg_hostio"])
def test_yosys_reads_them(module: str) -> None:
    assert ports(module, {"Lanes": 2})["lane_tx_valid_o"] == ("output", 2)


class Lanes:
    """Sends into every lane and takes from every lane, with stalls; once valid, a lane's word must hold until it is taken."""

    def __init__(self, dut, stall=0.2):
        self.dut, self.stall = dut, stall
        self.waiting = [[] for _ in range(LANES)]
        self.words = [[] for _ in range(LANES)]
        dut.lossless_i.value = 1
        dut.lane_rx_valid_i.value = dut.lane_rx_data_i.value = dut.lane_tx_ready_i.value = 0
        self.quiet = 0
        cocotb.start_soon(self._run())

    def send(self, lane, packet):
        self.waiting[lane] += [flit.to_int() for flit in to_flits(packet, Meta())]

    async def _run(self):
        offered, held = [False] * LANES, [None] * LANES
        while True:
            offered = [
                bool(words) and (is_there or random.random() >= self.stall)
                for words, is_there in zip(self.waiting, offered, strict=True)
            ]
            self.dut.lane_rx_valid_i.value = sum(there << lane for lane, there in enumerate(offered))
            self.dut.lane_rx_data_i.value = sum(words[0] << SIZE * lane for lane, words in enumerate(self.waiting) if words)
            ready = sum((random.random() >= self.stall) << lane for lane in range(LANES))
            self.dut.lane_tx_ready_i.value = ready
            await ReadOnly()
            in_reset = self.dut.rst_i.value == 1
            taken, valid = (0, 0) if in_reset else (int(self.dut.lane_rx_ready_o.value), int(self.dut.lane_tx_valid_o.value))
            data = int(self.dut.lane_tx_data_o.value) if valid else 0
            self.quiet = 0 if valid or any(offered) else self.quiet + 1
            for lane in range(LANES):
                word = data >> SIZE * lane & (1 << SIZE) - 1 if valid >> lane & 1 else None
                assert held[lane] in (None, word), f"lane {lane}: a waiting word changed or vanished"
                if word is not None and ready >> lane & 1:
                    self.words[lane].append(word)
                    word = None
                held[lane] = word
            await RisingEdge(self.dut.clk_i)
            for lane in range(LANES):
                if offered[lane] and taken >> lane & 1:
                    self.waiting[lane].pop(0)
                    offered[lane] = False

    async def left(self):
        """Until nothing moves; the packets that left each lane since the last time."""
        self.quiet = 0
        while self.quiet < QUIET:
            await RisingEdge(self.dut.clk_i)
        found = [[packet.data for packet in from_flits(map(Flit.from_int, words))] for words in self.words]
        self.words = [[] for _ in range(LANES)]
        return found


def frame(destination, source, number=0, size=64):
    head = destination.to_bytes(6, "big") + source.to_bytes(6, "big") + b"\x88\xb5" + number.to_bytes(4, "big")
    return head + bytes(number * n % 251 for n in range(size - len(head)))


async def begin(dut):
    lanes = Lanes(dut)
    await start(dut)
    await ClockCycles(dut.clk_i, ENTRIES)
    return lanes


@cocotb.test()
async def learns(dut):
    lanes = await begin(dut)
    a, b, c = 0x020000000001, 0x020000000002, 0x020000000003
    steps = [  # lane, destination, source, and the lanes that it leaves by
        (0, b, a, {1, 2}),
        (1, a, b, {0}),
        (0, b, a, {1}),
        (2, c, c, {0, 1}),  # unknown to the table when it is looked up
        (2, c, a, set()),  # the lane that it came from; and a has moved
        (1, a, b, {2}),
        (1, ALL, b, {0, 2}),
        (2, GROUP << 32, c, {0, 1}),
        (1, BRIDGE, b, set()),
        (0, c, 0x010000000009, {2}),  # a source that cannot be teaches nothing
        (1, 0x010000000009, b, {0, 2}),
        (0, b, 0, {1}),
        (1, 0, b, {0, 2}),
    ]
    for number, (lane, destination, source, expected) in enumerate(steps):
        packet = frame(destination, source, number, random.choice([60, 64, 65, 200]))
        lanes.send(lane, packet)
        left = await lanes.left()
        assert {lane: packets for lane, packets in enumerate(left) if packets} == {lane: [packet] for lane in expected}, number


@cocotb.test()
async def floods_or_is_right(dut):
    lanes = await begin(dut)
    stations = {0x020000000000 + random.getrandbits(40): random.randrange(LANES) for _ in range(STATIONS)}
    for mac, lane in stations.items():
        lanes.send(lane, frame(ALL, mac))
    assert [len(packets) for packets in await lanes.left()] == [
        sum(at != lane for at in stations.values()) for lane in range(LANES)
    ]
    sent = []
    for number in range(600):
        source, destination = random.sample(sorted(stations), 2)
        if random.random() < 0.2:
            destination = random.getrandbits(40) << 8
        sent.append((stations[source], frame(destination, source, number, random.choice([60, 60, 64, 130]))))
        lanes.send(*sent[-1])
    left = await lanes.left()
    found = defaultdict(set)
    for lane, packets in enumerate(left):
        for at in range(LANES):  # in order from each lane to each lane
            here = set(packets)
            own = [data for come, data in sent if come == at and data in here]
            assert [data for data in packets if data in set(own)] == own
        for data in packets:
            found[data].add(lane)
    known = 0
    for lane, data in sent:
        mac = int.from_bytes(data[:6], "big")
        others = set(range(LANES)) - {lane}
        right = {stations[mac]} - {lane} if mac in stations else others
        assert found[data] in (right, others)
        known += mac in stations and found[data] == right
    assert known > 400


@cocotb.test()
async def carries_packets_between_lanes_and_host(dut):
    lanes = Lanes(dut)
    source, sink = Source(dut, "from_host", stalls(0.2)), Sink(dut, "to_host", stalls(0.2))
    await start(dut)
    sent = [[frame(ALL, lane, number, random.choice([60, 64, 65, 1500])) for number in range(20)] for lane in range(LANES)]
    for lane, packets in enumerate(sent):
        for packet in packets:
            lanes.send(lane, packet)
    expected = [[] for _ in range(LANES)]
    for number in range(40):
        mask, packet = random.randrange(1 << LANES), frame(ALL, HOST_PORT, number, random.choice([60, 64, 65, 1500]))
        source.send(*(flit.to_int() for flit in to_flits(packet, Meta(egress_mask=mask))))
        for lane in range(LANES):
            if mask >> lane & 1:
                expected[lane].append(packet)
    assert await lanes.left() == expected
    count = sum(-(-len(packet) // DATA_BYTES) for packets in sent for packet in packets)
    received = from_flits(map(Flit.from_int, await sink.wait_for(count)))
    assert [[one.data for one in received if one.meta.ingress_port == lane] for lane in range(LANES)] == sent
    assert all(one.meta.timestamp for one in received)
