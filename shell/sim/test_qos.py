# SPDX-License-Identifier: Apache-2.0
"""QoS of a congested lane: rules choose the queues, strict priority and shares hold, drops are counted, others go on."""

import ctypes as c
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

import pytest
import sluice_layouts as L
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from shell.sim.build import SMALL, build
from shell.sim.test_model import SEED, Model

CONGESTED, FREE, STRICT = 0, 1, 7
DIFFERENT = 30  # packets that a flow repeats, each time with another number in their last 4 bytes
ANY_MAC = 0x800


class Device(Model):
    """A device with a route for each queue of the congested lane, and one to a free lane."""

    def __init__(self, library: c.CDLL) -> None:
        super().__init__(library)
        draw = random.Random(SEED)
        words = [self.register(L.SHELL_REGISTERS_CAPABILITY + 4 * n) for n in range(16)]
        self.window = {(word & 0xFFFF, word >> 16): n * L.WINDOW_SIZE for n, word in enumerate(words)}
        self.qos = self.window[L.ELEMENT_QOS, CONGESTED]
        self.lpm = next(base for (kind, _), base in self.window.items() if kind == L.ELEMENT_LPM)
        self.set(self.lpm + L.OFU_REGISTERS_CONTROL, 1)
        self.set(self.window[L.ELEMENT_ADMIT, 0] + L.ADMIT_REGISTERS_CONTROL, ANY_MAC | 1 << L.TABLE_LPM)
        self.packets = {}
        for queue in range(9):
            lane = CONGESTED if queue < 8 else FREE
            self.route(queue, [L.ACTION_QUEUE << 24 | queue % 8, L.ACTION_OUTPUT << 24 | lane])
            self.packets[queue] = [frame(queue, draw.randint(22, 1400)) for _ in range(DIFFERENT)]
        self.sent: Counter[int] = Counter()

    def set(self, address: int, value: int) -> None:
        assert self.library.sim_model_reg_write(self.handle, address, value) == 0

    def route(self, queue: int, actions: list[int]) -> None:
        """10.queue.0.0/16 executes these actions."""
        word = L.Instruction(
            actions=L.ActionSet.from_int(sum(action << 32 * n for n, action in enumerate(actions))),
            value=(10 << 8 | queue) << 16,
            mask=0xFFFF0000,
            rule_id=queue,
            rule_priority=16,
            kind=L.INSTRUCTION_POPULATE,
        ).to_int()
        for n in range(L.OFU_REGISTERS_INSTRUCTION_COUNT):
            self.set(self.lpm + L.OFU_REGISTERS_INSTRUCTION + 4 * n, word >> 32 * n & 0xFFFFFFFF)
        self.set(self.lpm + L.OFU_REGISTERS_PUSH, 0)
        self.library.sim_model_step(self.handle, 2000)
        low, high = (self.register(self.lpm + L.OFU_REGISTERS_RESPONSE + 4 * n) for n in (0, 1))
        assert L.Response.from_int(high << 32 | low).status == L.STATUS_OK

    def send(self, lane: int, queue: int) -> int:
        """The next packet of a queue's flow into a lane; its flits, or 0 where the lane has enough waiting."""
        number = self.sent[queue]
        data = self.packets[queue][number % DIFFERENT][:-4] + number.to_bytes(4, "big")
        if self.library.sim_model_lane_send(self.handle, lane, data, len(data), 0) < 0:
            return 0
        self.sent[queue] += 1
        return -(-len(data) // L.DATA_BYTES)

    def step(self, cycles: int) -> None:
        """Time passes; the congested lane takes a flit in one of four cycles."""
        for _ in range(cycles // 4):
            for listens, count in ((1, 1), (0, 3)):
                self.library.sim_model_lane_listen(self.handle, CONGESTED, listens)
                self.library.sim_model_step(self.handle, count)

    def drain(self) -> None:
        self.library.sim_model_lane_listen(self.handle, CONGESTED, 1)
        for _ in range(1000):
            self.library.sim_model_step(self.handle, 64)
            if self.library.sim_model_idle(self.handle):
                return
        raise TimeoutError("not idle")

    def drops(self) -> list[int]:
        return [self.register(self.qos + L.QOS_REGISTERS_DROPS + 4 * queue) for queue in range(8)]

    def lane_drops(self, lane: int) -> tuple[int, int]:
        """What the lane lost in its receive store and on its way out."""
        words = [self.register(L.SHELL_REGISTERS_LANE_COUNTERS + 64 * lane + 4 * n) for n in range(16)]
        counters = L.LaneCounters.unpack(b"".join(word.to_bytes(4, "little") for word in words))
        return counters.rx_overflow, counters.tx_overflow

    def configure(self, enabled: int, strict_from: int, quanta: Mapping[int, int]) -> None:
        self.set(self.qos + L.QOS_REGISTERS_STRICT_FROM, strict_from)
        for queue, quantum in quanta.items():
            self.set(self.qos + L.QOS_REGISTERS_QUANTUM + 4 * queue, quantum)
        self.set(self.qos + L.QOS_REGISTERS_CONTROL, enabled)

    def check(self, left: list[bytes]) -> dict[int, list[bytes]]:
        """Packets that left a lane, by queue; asserts that each is one that was sent, unchanged, in order."""
        by_queue = defaultdict(list)
        for data in left:
            by_queue[data[31]].append(data)  # the second byte of the destination
        for queue, packets in by_queue.items():
            numbers = [int.from_bytes(data[-4:], "big") for data in packets]
            assert numbers == sorted(set(numbers)) and numbers[-1] < self.sent[queue]
            assert [data[:-4] for data in packets] == [self.packets[queue][n % DIFFERENT][:-4] for n in numbers]
        return by_queue


def frame(queue: int, payload: int) -> bytes:
    head = Ether(src="02:00:00:00:00:aa", dst="02:00:00:00:00:01") / IP(src="10.200.0.1", dst=f"10.{queue}.0.1", ttl=64)
    return bytes(head / UDP(sport=1000, dport=2000) / bytes(payload))


@pytest.fixture
def device(power_up: int) -> Iterator[Device]:
    library = c.CDLL(str(build(SMALL)))
    library.sim_model_new.restype = c.c_void_p
    library.sim_model_idle.restype = c.c_bool
    made = Device(library)
    yield made
    library.sim_model_free(made.handle)


def congest(device: Device, cycles: int, rates: Mapping[int, tuple[int, float]]) -> None:
    """Offer each queue's flow from a lane of its own at a rate in flits a cycle."""
    credit: Counter[int] = Counter()
    for _ in range(cycles // 64):
        for queue, (lane, rate) in rates.items():
            credit[queue] += round(64 * rate)
            while credit[queue] > 0:
                flits = device.send(lane, queue)
                assert flits, "the lane takes what the device can carry"
                credit[queue] -= flits
        device.step(64)


def test_strict_priority_and_shares_hold_on_a_congested_lane(device: Device) -> None:
    device.configure(1, STRICT, {0: 4000, 1: 12000})
    rates = {0: (2, 0.3), 1: (3, 0.3), STRICT: (0, 0.05), 8: (1, 0.2)}
    congest(device, 6000, rates)  # until the stores are full
    first = device.left(CONGESTED)
    congest(device, 20_000, rates)
    second = device.left(CONGESTED)
    sizes = {queue: sum(map(len, packets)) for queue, packets in device.check(second).items()}
    assert abs(sizes[0] / (sizes[0] + sizes[1]) - 0.25) < 0.02
    congested = device.check(first + second)
    assert len(congested[STRICT]) >= device.sent[STRICT] - 10, "it waits for what is scheduled already, for nothing else"
    device.drain()
    late = device.check(device.left(CONGESTED))
    drops = device.drops()
    for queue in (0, 1, STRICT):
        assert len(congested[queue]) + len(late.get(queue, [])) + drops[queue] == device.sent[queue]
    assert drops[0] > 100 and drops[1] > 20 and sum(drops) == drops[0] + drops[1]
    assert device.lane_drops(CONGESTED) == (0, sum(drops))
    assert [device.lane_drops(lane) for lane in (1, 2, 3)] == [(0, 0)] * 3
    free = device.check(device.left(FREE))
    assert len(free[8]) == device.sent[8] > 100, "the other lane does not notice"


def test_without_qos_the_lane_is_one_queue(device: Device) -> None:
    congest(device, 16_000, {0: (2, 0.3), STRICT: (3, 0.3)})
    device.drain()
    left = device.check(device.left(CONGESTED))
    assert device.drops() == [0] * 8
    lost = [device.sent[queue] - len(left[queue]) for queue in (0, STRICT)]
    assert min(lost) > 20 and device.lane_drops(CONGESTED) == (0, sum(lost))


def test_lossless_holds_the_lanes_and_loses_nothing(device: Device) -> None:
    device.set(L.SHELL_REGISTERS_CONTROL, 1 << 2)
    device.configure(1, STRICT, {0: 9216, 1: 9216})
    held = 0
    for _ in range(400):
        for lane, queue in ((2, 0), (3, 1), (0, STRICT)):
            held += not device.send(lane, queue)
        device.step(64)
    assert held > 100, "the lanes were held"
    device.drain()
    out = device.check(device.left(CONGESTED))
    assert {queue: len(packets) for queue, packets in out.items()} == device.sent
    assert device.drops() == [0] * 8 and device.lane_drops(CONGESTED) == (0, 0)
