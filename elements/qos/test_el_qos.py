# SPDX-License-Identifier: Apache-2.0
"""el_qos: off it is a wire, on it queues; switching it under traffic mixes, loses and duplicates nothing; registers answer."""

import random
from collections import Counter, defaultdict

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from sluice_layouts import (
    QOS_REGISTERS,
    QOS_REGISTERS_CONTROL,
    QOS_REGISTERS_DROPS,
    QOS_REGISTERS_QUANTUM,
    QOS_REGISTERS_QUANTUM_COUNT,
    QOS_REGISTERS_STRICT_FROM,
    Flit,
    Meta,
    RegisterRequest,
    RegisterResponse,
)

from models.packet import from_flits, to_flits
from testing.cocotb.channel import Sink, Source, stalls, start
from testing.cocotb.registers import check_window
from toolchain.simulate import simulate

QUEUES = QOS_REGISTERS_QUANTUM_COUNT


def test_el_qos() -> None:
    simulate("el_qos", __file__, {"Flits": 32})


class Element:
    """The element with its channels and registers; packets are known by queue and number."""

    def __init__(self, dut, source_stall: float = 0.2, sink_stall: float = 0.3) -> None:
        self.dut = dut
        self.source, self.sink = Source(dut, "in", stalls(source_stall)), Sink(dut, "out", stalls(sink_stall))
        self.sent: dict[int, list[bytes]] = defaultdict(list)
        self.pulses = 0

    async def begin(self, lossless: int = 0) -> None:
        self.dut.reg_request_valid_i.value = 0
        self.dut.lossless_i.value = lossless
        await start(self.dut)
        cocotb.start_soon(self._count_pulses())

    async def _count_pulses(self) -> None:
        while True:
            await ReadOnly()
            self.pulses += int(self.dut.drop_o.value)
            await RisingEdge(self.dut.clk_i)

    async def access(self, address: int, value: int | None = None) -> RegisterResponse:
        """One register access; the answer comes once, in the next cycle."""
        request = RegisterRequest(write=int(value is not None), address=address, data=value or 0)
        self.dut.reg_request_i.value = request.to_int()
        self.dut.reg_request_valid_i.value = 1
        await RisingEdge(self.dut.clk_i)
        self.dut.reg_request_valid_i.value = 0
        await ReadOnly()
        assert self.dut.reg_response_valid_o.value == 1
        response = RegisterResponse.from_int(int(self.dut.reg_response_o.value))
        await RisingEdge(self.dut.clk_i)
        await ReadOnly()
        assert self.dut.reg_response_valid_o.value == 0
        await RisingEdge(self.dut.clk_i)
        return response

    async def write(self, address: int, value: int) -> None:
        assert not (await self.access(address, value)).error

    async def drops(self) -> list[int]:
        return [(await self.access(QOS_REGISTERS_DROPS + 4 * n)).data for n in range(QUEUES)]

    def send(self, queue: int, size: int) -> None:
        data = bytes([queue]) + len(self.sent[queue]).to_bytes(3, "little")
        data += random.randbytes(size - len(data))
        self.sent[queue].append(data)
        # The queue is the low 3 bits of meta.queue.
        meta = Meta(queue=queue + QUEUES * random.getrandbits(1), length=size)
        self.source.send(*(flit.to_int() for flit in to_flits(data, meta)))

    async def empty(self) -> None:
        """Until nothing is inside; TimeoutError after a while."""
        await self.source.drained()
        for _ in range(20_000):
            await RisingEdge(self.dut.clk_i)
            if self.dut.empty_o.value == 1 and self.dut.out_valid_o.value == 0:
                return
        raise TimeoutError("packets stay inside")

    def received(self) -> list[bytes]:
        return [packet.data for packet in from_flits(map(Flit.from_int, self.sink.received))]

    async def check(self) -> Counter[int]:
        """Each packet came out whole, in the order of its queue, or is counted; returns the drops of each queue."""
        drops = Counter(dict(enumerate(await self.drops())))
        got = defaultdict(list)
        for data in self.received():
            got[data[0]].append(data)
        for queue, packets in self.sent.items():
            rest = iter(packets)
            assert all(data in rest for data in got[queue])
            assert len(got[queue]) + drops[queue] == len(packets)
        assert self.pulses == drops.total()
        return drops


@cocotb.test()
async def off_it_is_a_wire(dut):
    element = Element(dut)
    await element.begin()
    for _ in range(200):
        element.send(random.randrange(QUEUES), random.randrange(4, 600))
    flits = list(element.source.queue)
    while len(element.sink.received) < len(flits):
        await ReadOnly()
        assert dut.in_valid_i.value == dut.out_valid_o.value and dut.in_ready_o.value == dut.out_ready_i.value
        assert dut.active_o.value == 0
        await RisingEdge(dut.clk_i)
    assert element.sink.received == flits


@cocotb.test()
async def on_strict_queues_go_first_and_the_others_share_by_quantum(dut):
    element = Element(dut, source_stall=0, sink_stall=0.7)
    await element.begin()
    await element.write(QOS_REGISTERS_STRICT_FROM, 7)
    for queue, quantum in enumerate([600, 1800]):
        await element.write(QOS_REGISTERS_QUANTUM + 4 * queue, quantum)
    await element.write(QOS_REGISTERS_CONTROL, 1)
    for number in range(1500):
        element.send(number % 2, random.randrange(60, 500))
        if number % 20 == 0:
            element.send(7, 200)
    await element.source.drained()
    shares: Counter[int] = Counter()
    for data in from_whole(element.sink.received):
        shares[data[0]] += len(data)
    assert abs(shares[0] / (shares[0] + shares[1]) - 0.25) < 0.02
    await element.empty()
    drops = await element.check()
    assert drops[0] > 100 and drops[1] > 100 and drops[7] == 0
    assert drops.total() == drops[0] + drops[1]


def from_whole(words: list[int]) -> list[bytes]:
    """The packets that have come out whole so far."""
    ends = [n for n, word in enumerate(words) if Flit.from_int(word).eop]
    return [packet.data for packet in from_flits(map(Flit.from_int, words[: ends[-1] + 1]))]


@cocotb.test()
async def lossless_presses_back(dut):
    element = Element(dut, source_stall=0, sink_stall=0.6)
    await element.begin(lossless=1)
    await element.write(QOS_REGISTERS_CONTROL, 1)
    for _ in range(400):
        element.send(random.randrange(QUEUES), random.randrange(4, 1000))
    await element.empty()
    assert (await element.check()).total() == 0


@cocotb.test()
async def switching_under_traffic_mixes_nothing(dut):
    element = Element(dut, source_stall=0.3, sink_stall=0.4)
    await element.begin()
    enabled, active = 0, set()
    for _ in range(150):
        for _ in range(random.randrange(4)):
            element.send(random.randrange(QUEUES), random.randrange(4, 500))
        enabled ^= 1
        await element.write(QOS_REGISTERS_CONTROL, enabled)
        for _ in range(random.choice((1, 10, 100))):
            await RisingEdge(dut.clk_i)
            active.add((enabled, int(dut.active_o.value)))
    await element.write(QOS_REGISTERS_CONTROL, 0)
    await element.empty()
    await element.check()
    assert active == {(0, 0), (0, 1), (1, 0), (1, 1)}
    # Off and empty again: the order of all packets is kept.
    before = len(element.received())
    order = [random.randrange(QUEUES) for _ in range(40)]
    for queue in order:
        element.send(queue, 100)
    await element.empty()
    assert [data[0] for data in element.received()[before:]] == order


@cocotb.test()
async def answers_every_register_access(dut):
    element = Element(dut)
    await element.begin()
    await check_window(element.access, QOS_REGISTERS, values={"strict_from": range(QUEUES + 1), "quantum": range(1 << 16)})
    assert [(await element.access(0x7000 + QOS_REGISTERS_DROPS + 4 * n)).data for n in range(QUEUES)] == [0] * QUEUES
    before = [(await element.access(address)).data for address in (QOS_REGISTERS_STRICT_FROM, QOS_REGISTERS_QUANTUM)]
    for address, wrong in ((QOS_REGISTERS_STRICT_FROM, QUEUES + 1), (QOS_REGISTERS_QUANTUM, 1 << 16)):
        assert (await element.access(address, wrong)).error
    assert before == [(await element.access(address)).data for address in (QOS_REGISTERS_STRICT_FROM, QOS_REGISTERS_QUANTUM)]
