# SPDX-License-Identifier: Apache-2.0
"""sl_queues: strict queues first, byte shares by quantum, order in a queue, and every packet out or counted as dropped."""

import itertools
import random
from collections import Counter, defaultdict

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from sluice_layouts import DATA_BYTES, Flit

from testing.cocotb.channel import Sink, Source, stalls, start
from toolchain.simulate import simulate

QUEUES = 8


def test_queues() -> None:
    simulate("sl_queues", __file__, {"Queues": QUEUES, "Flits": 32})


def flits_of(queue: int, number: int, size: int) -> list[int]:
    """A packet that says its queue and number in its first bytes."""
    data = (bytes([queue]) + number.to_bytes(3, "little")).ljust(size, b"x")
    pieces = [data[i : i + DATA_BYTES] for i in range(0, size, DATA_BYTES)]
    flits = []
    for i, piece in enumerate(pieces):
        flit = Flit(sop=int(i == 0), eop=int(i == len(pieces) - 1), empty=DATA_BYTES - len(piece))
        flit.data = int.from_bytes(piece, "little")
        if i == 0:
            flit.meta.queue, flit.meta.length = queue, size
        flits.append(flit.to_int())
    return flits


def packets_of(words: list[int]) -> list[tuple[int, int, int]]:
    """Queue, number and size of each packet; asserts that packets are whole and their bytes those of the sender."""
    packets, data = [], b""
    for flit in map(Flit.from_int, words):
        assert flit.sop == (not data)
        data += flit.data.to_bytes(DATA_BYTES, "little")[: DATA_BYTES - flit.empty]
        if flit.eop:
            assert set(data[4:]) <= set(b"x")
            packets.append((data[0], int.from_bytes(data[1:4], "little"), len(data)))
            data = b""
    return packets


async def begin(dut, strict_from, quanta, source_stalls, sink_stalls):
    dut.strict_from_i.value = strict_from
    dut.lossless_i.value = 0
    dut.quantum_i.value = sum(quantum << 16 * i for i, quantum in enumerate(quanta))
    source, sink = Source(dut, "in", source_stalls), Sink(dut, "out", sink_stalls)
    await start(dut)
    drops: Counter[int] = Counter()
    cocotb.start_soon(count_drops(dut, drops))
    return source, sink, drops


async def count_drops(dut, drops):
    while True:
        await ReadOnly()
        pulses = int(dut.drop_o.value)
        drops.update(i for i in range(QUEUES) if pulses >> i & 1)
        await RisingEdge(dut.clk_i)


async def settle(dut, source):
    await source.drained()
    for _ in range(2500):
        await RisingEdge(dut.clk_i)


def check_order_and_count(sent, received, drops):
    """Numbers rise in each queue, each packet is one that was sent, and those missing were counted."""
    by_queue = defaultdict(list)
    for queue, number, size in received:
        assert sent[queue][number] == size
        by_queue[queue].append(number)
    for queue, sizes in sent.items():
        assert by_queue[queue] == sorted(set(by_queue[queue]))
        assert len(by_queue[queue]) + drops[queue] == len(sizes)


@cocotb.test()
async def every_packet_comes_out_in_order_or_is_counted(dut):
    source, sink, drops = await begin(dut, 6, [512] * QUEUES, stalls(0.3), stalls(0.5))
    sent = defaultdict(list)
    for _ in range(400):
        queue, size = random.randrange(QUEUES), random.randrange(4, 500)
        source.send(*flits_of(queue, len(sent[queue]), size))
        sent[queue].append(size)
    await settle(dut, source)
    check_order_and_count(sent, packets_of(sink.received), drops)
    assert drops.total() > 0


@cocotb.test()
async def a_packet_larger_than_its_queue_is_dropped_alone(dut):
    source, sink, drops = await begin(dut, 8, [512] * QUEUES, stalls(0), stalls(0))
    source.send(*flits_of(2, 0, 100), *flits_of(2, 1, 33 * DATA_BYTES), *flits_of(2, 2, 100))
    await settle(dut, source)
    assert packets_of(sink.received) == [(2, 0, 100), (2, 2, 100)] and drops == {2: 1}


@cocotb.test()
async def lossless_presses_back_and_drops_only_what_no_queue_can_hold(dut):
    source, sink, drops = await begin(dut, 6, [512] * QUEUES, stalls(0.1), stalls(0.6))
    dut.lossless_i.value = 1
    sent = defaultdict(list)
    for number in range(400):
        queue, size = random.randrange(QUEUES), 33 * DATA_BYTES if number % 100 == 50 else random.randrange(4, 500)
        source.send(*flits_of(queue, len(sent[queue]), size))
        sent[queue].append(size)
    await settle(dut, source)
    check_order_and_count(sent, packets_of(sink.received), drops)
    assert drops.total() == 4 and dut.empty_o.value == 1


@cocotb.test()
async def strict_queues_leave_first_and_the_highest_before_all(dut):
    source, sink, _ = await begin(dut, 6, [512] * QUEUES, stalls(0), stalls(1))
    for number in range(4):
        for queue in (1, 6, 7):
            source.send(*flits_of(queue, number, 200))
    await settle(dut, source)
    sink.stall = stalls(0.2)
    await sink.wait_for(12 * 4)
    # What had left the store before the others came is in the output already.
    order = [queue for queue, _, _ in packets_of(sink.received)]
    assert order[0] == 1 and order[1:] == [7] * 4 + [6] * 4 + [1] * 3


@cocotb.test()
async def queues_that_share_take_turns_in_the_order_of_their_numbers(dut):
    """Each packet uses up the turn of its queue. What left before all had come is in the output already."""
    source, sink, _ = await begin(dut, 7, [DATA_BYTES - 1] * QUEUES, stalls(0), stalls(1))
    sharing = (0, 1, 3, 4, 6)
    for number in range(6):
        for queue in (3, 0, 6, 1, 4):
            source.send(*flits_of(queue, number, DATA_BYTES))
    await settle(dut, source)
    sink.stall = stalls(0.2)
    await sink.wait_for(6 * len(sharing))
    order = [queue for queue, _, _ in packets_of(sink.received)][4:20]
    at = sharing.index(order[0])
    assert order == [sharing[(at + n) % len(sharing)] for n in range(len(order))]


def whole_packets(words: list[int]) -> list[tuple[int, int, int]]:
    """Those of which all flits came."""
    return packets_of(words[: max(i for i, word in enumerate(words) if Flit.from_int(word).eop) + 1])


@cocotb.test()
@cocotb.parametrize(case=[(0, None), (200, None), (0, (65, 128, 100))])
async def bytes_are_shared_by_quantum(dut, case):
    """Beside strict packets, too, which cost the others no turn; and where packets fill their last flit differently."""
    strict_size, sizes = case
    quanta = [512, 1024, 1536] + [512] * 5
    source, sink, drops = await begin(dut, 7, quanta, stalls(0), stalls(0.75))
    sent = defaultdict(list)
    for n in range(2400):
        queue = min((0, 1, 2), key=lambda q: sum(sent[q]))  # all of them offer the same
        size = sizes[queue] if sizes else random.randrange(60, 500)
        source.send(*flits_of(queue, len(sent[queue]), size))
        sent[queue].append(size)
        if strict_size and n % 8 == 0:
            source.send(*flits_of(7, len(sent[7]), strict_size))
            sent[7].append(strict_size)
    await source.drained()
    taken = Counter()
    for queue, _, size in whole_packets(sink.received):
        taken[queue] += size
    total = sum(taken[queue] for queue in range(3))
    for queue in range(3):
        share = taken[queue] / total
        assert abs(share - quanta[queue] / 3072) < 0.05 * quanta[queue] / 3072, (queue, share)
    assert all(drops[queue] for queue in range(3)) and not drops[7]
    assert not strict_size or taken[7]


@cocotb.test()
async def a_queue_that_runs_empty_in_its_turn_keeps_nothing_of_it(dut):
    source, sink, _ = await begin(dut, 8, [512] * QUEUES, stalls(0), stalls(0))
    sent = Counter()

    def send(queue: int, count: int) -> None:
        for _ in range(count):
            source.send(*flits_of(queue, sent[queue], DATA_BYTES))
            sent[queue] += 1

    for _ in range(20):  # turns of which queue 0 uses one packet
        send(1, 8)
        send(0, 1)
    await settle(dut, source)
    sink.stall = stalls(1)
    for _ in range(20):
        send(1, 1)
        send(0, 1)
    await settle(dut, source)
    before = len(sink.received)
    sink.stall = stalls(0)
    await sink.wait_for(before + 40)
    order = [queue for queue, _, _ in packets_of(sink.received[before:])]
    runs = [len(list(run)) for queue, run in itertools.groupby(order[4:]) if queue == 0]
    assert max(runs) <= 512 // DATA_BYTES + 1, order
