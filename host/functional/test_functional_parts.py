# SPDX-License-Identifier: Apache-2.0
"""Parts of the functional device called by themselves, each against a plain model: the store of packets, the verdict of the
deparser, the order fence and the checksums of packets from the host. And its transport, call by call."""

from __future__ import annotations

import ctypes as c
import errno
import itertools
import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import sluice_layouts as L

from host.lib.testing.devices import Transport
from host.python.device import Action, Device, LaneInfo, load
from host.python.flow_table import Flows, key_bytes
from host.python.structs import mirror
from models.host import fill
from testing.device import run

# ---- The store


class Packet(c.Structure):
    """struct functional_packet, without its bytes."""

    _fields_ = (("size", c.c_uint32), ("place", c.c_uint32), ("ingress_cycle", c.c_uint64), ("egress_cycle", c.c_uint64))


class Store(c.Structure):
    """struct functional_store."""

    _fields_ = (("memory", c.c_void_p), *((name, c.c_uint32) for name in ("capacity", "head", "tail", "end", "count")))


def place_of(size: int) -> int:
    return -(-(c.sizeof(Packet) + size) // 8) * 8


@dataclass
class Places:
    """Where the packets of a store are: (start, end, bytes), the oldest first."""

    capacity: int
    packets: deque[tuple[int, int, bytes]]

    def place(self, size: int) -> int | None:
        if not self.packets:
            return 0 if place_of(size) <= self.capacity else None
        head, tail, needed = self.packets[0][0], self.packets[-1][1], place_of(size)
        if tail <= head:
            return tail if needed <= head - tail else None
        if needed <= self.capacity - tail:
            return tail
        return 0 if needed <= head else None


@pytest.mark.parametrize("capacity", [240, 248, 1000, 1024, 4096])
def test_packets_of_a_store_come_out_whole_and_in_order_and_no_byte_is_left_unused(capacity: int) -> None:
    library, draw, store = load(), random.Random(capacity), Store()
    library.functional_store_put.restype = library.functional_store_first.restype = c.POINTER(Packet)
    library.functional_store_has_room.restype = c.c_bool
    assert library.functional_store_new(c.byref(store), capacity) == 0
    model = Places(capacity, deque())
    wrapped = full = 0
    for step in range(3000):
        size = draw.choice([0, 1, 8, 9, 64, draw.randrange(capacity), capacity - 24, capacity - 23])
        if draw.random() < (0.6 if step % 200 < 150 else 0.2):
            at, data = model.place(size), draw.randbytes(size)
            assert library.functional_store_has_room(c.byref(store), size) == (at is not None)
            put = library.functional_store_put(c.byref(store), data, size)
            assert bool(put) == (at is not None)
            full += at is None
            if at is not None:
                made = put.contents
                assert (c.addressof(made) - store.memory, made.size, made.place) == (at, size, place_of(size))
                assert (made.ingress_cycle, made.egress_cycle) == (0, 0)
                wrapped += bool(model.packets) and at == 0
                made.ingress_cycle = step
                model.packets.append((at, at + place_of(size), data))
        elif model.packets:
            start, _, data = model.packets.popleft()
            first = library.functional_store_first(c.byref(store))
            assert c.addressof(first.contents) - store.memory == start and first.contents.size == len(data)
            assert c.string_at(c.addressof(first.contents) + c.sizeof(Packet), len(data)) == data
            library.functional_store_drop(c.byref(store))
        else:
            assert not library.functional_store_first(c.byref(store))
        assert store.count == len(model.packets)
        if model.packets:
            assert (store.head, store.tail) == (model.packets[0][0], model.packets[-1][1])
    assert full > 20 and (wrapped > 20 or capacity < 1000)
    library.functional_store_free(c.byref(store))


# ---- The verdict


class Job(c.Structure):
    """struct functional_job."""

    _fields_ = (("is_dropped", c.c_bool), ("is_edited", c.c_bool), ("verdict", c.c_uint8), ("egress_mask", c.c_uint8))


def decided(record: c.Structure) -> tuple[tuple[bool, bool, int, int], str]:
    """What becomes of a packet, and the counter that has one more (elements/deparse/README.md)."""
    to_host = (False, False, int(L.VERDICT_TO_HOST), 1 << L.HOST_PORT)
    if record.fault:
        return to_host, "faults"
    if not record.eligible:
        return to_host, "not_eligible"
    if not record.hits or record.required & ~record.hits:
        return to_host, "misses"
    no_port = record.verdict == L.VERDICT_FORWARD and not record.egress_mask
    if record.verdict == L.VERDICT_DROP or no_port:
        if no_port or record.drop_cause == L.DropCause.DROP_NO_PORT:
            cause = "drop_no_port"
        else:
            cause = "drop_ttl" if record.drop_cause == L.DropCause.DROP_TTL else "drop_rule"
        return (True, False, 0, 0), cause
    if record.verdict == L.VERDICT_FORWARD:
        if record.info.outer_length and not record.edits.strip_outer:
            return to_host, "not_stripped"
        return (False, True, int(L.VERDICT_FORWARD), record.egress_mask), "forwarded_packets"
    verdict = L.VERDICT_TO_CONTROLLER if record.verdict == L.VERDICT_TO_CONTROLLER else L.VERDICT_TO_HOST
    return (False, True, int(verdict), 1 << L.HOST_PORT), ""


def test_every_record_has_the_verdict_and_the_counter_that_the_table_says() -> None:
    library, kind = load(), mirror("sluice_phv_record")
    library.functional_deparse_decide.restype = Job
    flags = itertools.product((0, 3), (0, 1), ((0, 0), (4, 0), (4, 4), (4, 5), (5, 5), (1, 4)), (0, 14), (0, 1))
    names = [name for name, _ in mirror("sluice_graph_counters")._fields_ if name != "reserved"]
    outcomes = list(itertools.product(L.Verdict, L.DropCause, (0, 1, 0x85)))
    for fault, eligible, (hits, required), outer, strip in flags:
        for verdict, cause, ports in outcomes:
            record = kind(fault=fault, eligible=eligible, hits=hits, required=required, egress_mask=ports)
            record.verdict, record.drop_cause, record.info.outer_length, record.edits.strip_outer = verdict, cause, outer, strip
            counters = mirror("sluice_graph_counters")()
            job = library.functional_deparse_decide(c.byref(record), c.byref(counters))
            expected, counted = decided(record)
            assert (job.is_dropped, job.is_edited, job.verdict, job.egress_mask) == expected
            host = int(not job.is_dropped and job.verdict != L.VERDICT_FORWARD)
            ones = {name: getattr(counters, name) for name in names if getattr(counters, name)}
            assert ones == dict.fromkeys([counted] * bool(counted) + ["to_host_packets"] * host, 1)


# ---- The fence


class Word(c.Structure):
    """struct functional_fence_word."""

    _fields_ = (("is_pending", c.c_bool), ("is_held", c.c_bool), ("since", c.c_uint32), ("last", c.c_uint64))


class Window(c.Structure):
    """struct functional_window."""

    _fields_ = (("registers", c.c_void_p * (L.WINDOW_SIZE // 4)), ("bytes", c.c_uint8 * L.WINDOW_SIZE))

    def __getitem__(self, offset: int) -> int:
        return c.c_uint32.from_buffer(self, Window.bytes.offset + offset).value

    def __setitem__(self, offset: int, value: int) -> None:
        c.c_uint32.from_buffer(self, Window.bytes.offset + offset).value = value


class Fence(c.Structure):
    """struct functional_fence."""

    _fields_ = (
        ("window", c.POINTER(Window)),
        ("done_low", c.c_uint32),
        ("words", Word * 4096),
        ("common", c.c_uint64 * 8),
    )


COMMON = L.FlowKey(
    eth_dst=(1 << 48) - 1,
    eth_src=(1 << 48) - 1,
    eth_type=0xFFFF,
    vlan_tci=0xFFF,
    ip_src=(1 << 128) - 1,
    ip_dst=(1 << 128) - 1,
    ip_protocol=0xFF,
    l4_src=0xFFFF,
    l4_dst=0xFFFF,
).to_int()


def flow_of(key: int, lane: int) -> int:
    """As sl_flow_pkg::fence_flow says it: lane, and nine bits of the words, each turned by eleven more."""
    total = 0
    for n in range(8):
        word = (key & COMMON) >> 64 * n & (1 << 64) - 1
        turn = 11 * n % 64
        total ^= (word << turn | word >> 64 - turn) & (1 << 64) - 1
    folded = 0
    while total:
        folded ^= total & 511
        total >>= 9
    return lane % 8 << 9 | folded


@dataclass
class Flow:
    """What the fence keeps of a flow; -1: nothing is pending, nothing was held."""

    last: int = -1
    since: int = -1


def test_the_fence_holds_and_lets_go_as_a_model_of_single_flows_does() -> None:
    library, draw, fence, window = load(), random.Random(7), Fence(), Window()
    library.functional_fence_passes.restype = c.c_bool
    library.functional_fence_reset(c.byref(fence), c.byref(window))
    assert bytes(fence)[Fence.done_low.offset : Fence.common.offset] == bytes(Fence.common.offset - Fence.done_low.offset)
    keys = [draw.getrandbits(L.FlowKey.BITS) for _ in range(6)]
    keys += [keys[0] ^ (1 << draw.randrange(L.FlowKey.BITS)) for _ in range(20)]
    keys += [1 << bit for bit in range(0, L.FlowKey.BITS)]
    flows: dict[int, Flow] = {}
    time, held, forced = (1 << 32) - 300, 0, 0
    for key in keys:  # one packet of each into an empty fence shows its word
        window[L.FLOW_REGISTERS_FENCE_CONTROL] = 1
        lane = draw.randrange(8)
        assert not library.functional_fence_passes(c.byref(fence), key_bytes(key), c.c_uint8(lane), c.c_uint64(9), False, False)
        assert fence.words[flow_of(key, lane)].is_pending and bytes(fence.words)[:: c.sizeof(Word)].count(1) == 1
        library.functional_fence_reset(c.byref(fence), c.byref(window))
    window[L.FLOW_REGISTERS_FENCE_BOUND] = 50
    done = [0] * 8
    for _ in range(6000):
        key, lane = draw.choice(keys[:8]), draw.choice([0, 3, 11])
        time += draw.choice([1, 1, 2, 20, 49, 50, 51])
        hit = draw.random() < 0.7
        to_host = hit and draw.random() < 0.3
        flow = flows.setdefault(flow_of(key, lane), Flow())
        if draw.random() < 0.15:
            done[lane % 8] = draw.choice([time, max(0, flow.last - 1), max(0, flow.last), flow.last + 1])
            for place, word in ((2 * (lane % 8), done[lane % 8] & 0xFFFFFFFF), (2 * (lane % 8) + 1, done[lane % 8] >> 32)):
                library.functional_fence_done(c.byref(fence), place, c.c_uint32(word))
        pending = done[lane % 8] < flow.last
        over = flow.since >= 0 and time - flow.since >= 50
        arguments = (key_bytes(key), c.c_uint8(lane), c.c_uint64(time), hit, to_host)
        passes = library.functional_fence_passes(c.byref(fence), *arguments)
        if hit and not to_host and (not pending or over):
            forced += pending
            flow.last = flow.since = -1
            assert passes
        else:
            holds = hit and not to_host
            held += holds
            since = flow.since if pending else -1
            flow.last, flow.since = time, since if since >= 0 else time if holds else -1
            assert passes == to_host
        word = fence.words[flow_of(key, lane)]
        assert (word.is_pending, word.is_held) == (flow.last >= 0, flow.since >= 0)
        assert not word.is_pending or word.last == time
        assert not word.is_held or word.since == flow.since & 0xFFFFFFFF
        assert (window[L.FLOW_REGISTERS_FENCE_HELD], window[L.FLOW_REGISTERS_FENCE_FORCED]) == (held, forced)
    assert held > 500 and forced > 50
    window[L.FLOW_REGISTERS_FENCE_CONTROL] = 0
    for hit in (False, True):
        before = bytes(fence) + bytes(window)
        arguments = (key_bytes(keys[0]), c.c_uint8(0), c.c_uint64(time), hit, False)
        assert library.functional_fence_passes(c.byref(fence), *arguments) == hit and bytes(fence) + bytes(window) == before


# ---- Checksums


def test_checksums_are_filled_in_at_every_place_that_there_is_and_no_other() -> None:
    library, draw = load(), random.Random(3)
    filled = 0
    for size in (20, 21, 26, 27, 40, 41, 64):
        places = itertools.product((0, 1, 2, 14), range(0, size + 3), (0, 1), (0, 1, 2, 3))
        for l3, l4, ipv4, kind in places:
            asked = L.TransmitChecksum(l3_offset=l3, l4_offset=l4, ipv4=ipv4, l4=kind)
            packet = draw.choice([draw.randbytes(size), bytes(size), b"\xff" * size])
            expected, bad = fill(packet, asked)
            memory = c.create_string_buffer(packet + b"\xee" * 20, size + 20)
            result = library.functional_host_fill(memory, size, c.c_uint32(asked.to_int()))
            assert (result, memory.raw) == (-errno.EINVAL if bad else 0, expected + b"\xee" * 20), (asked, packet)
            filled += expected != packet
    assert filled > 500


# ---- The transport


@pytest.fixture
def plain() -> Iterator[tuple[Transport, c._Pointer[Transport]]]:
    library = load()
    library.sluice_transport_functional.restype = c.POINTER(Transport)
    handle = library.sluice_transport_functional(b"lanes=2,groups=1,entries=8,ternary=4,queues=3")
    yield handle.contents, handle
    handle.contents.close(handle)


QUEUE = 2  # the first number of a receive queue's ring
RINGS = QUEUE + L.HOST_PORT * L.HOST_QUEUES
BUFFERS = 8


def test_rings_are_there_for_the_queues_that_are_there(plain: tuple[Transport, c._Pointer[Transport]]) -> None:
    it, handle = plain
    queues = {QUEUE + lane * L.HOST_QUEUES + queue for lane in range(2) for queue in range(3)}
    for number in (*range(RINGS + 3), 1 << 31, 0xFFFFFFFF):
        assert not it.ring_attach(handle, number, 4), "too few buffers for the largest packet"
        first, again = (it.ring_attach(handle, number, 5 + n) for n in range(2))
        assert bool(first) == (number in queues or number < QUEUE)
        assert bool(again) == (number < QUEUE), "a queue's ring stays"
    for number in (*range(RINGS + 3), 1 << 31, 0xFFFFFFFF):
        for count in (0, 1):
            right = count == 0 and number < RINGS and number != 1
            assert it.ring_release(handle, number, count) == (0 if right else -errno.EINVAL), number


def test_rings_count_what_is_given_and_taken(plain: tuple[Transport, c._Pointer[Transport]]) -> None:
    it, handle = plain
    to_host, from_host = (it.ring_attach(handle, number, BUFFERS) for number in (0, 1))
    for size, buffers in ((60, 1), (1920, 1), (1921, 2), (3840, 2), (9216, 5)):
        for _ in range(2):
            assert it.lane_send(handle, 0, b"\1" * size, size, 0) == 0 and not it.idle(handle)
            it.advance(handle, 1)
            assert it.idle(handle)
            assert it.ring_release(handle, 0, buffers + 1) == -errno.EINVAL
            assert it.ring_release(handle, 0, buffers) == 0
            assert it.ring_release(handle, 0, 1) == -errno.EINVAL
    sent = 0
    for count in (1, 3, BUFFERS):
        assert it.ring_submit(handle, BUFFERS + 1) == -errno.EINVAL
        assert it.ring_submit(handle, count) == 0 and not it.idle(handle) and it.ring_sent(handle) == sent
        assert it.ring_submit(handle, BUFFERS - count + 1) == -errno.EINVAL
        for n in range(1, count + 1):
            it.advance(handle, 1)
            assert it.ring_sent(handle) == sent + n, "garbage, one in each cycle"
        sent += count
        assert it.idle(handle)
    assert to_host and from_host


def buffer(index: int, count: int, data: bytes, length: int, **wrong: int) -> bytes:
    """Buffer `index` of a ring as the host writes it; `count` are still to come of the packet."""
    right = {"address": index % BUFFERS * L.BUFFER_SIZE, "next": (index + 1) % BUFFERS * L.BUFFER_SIZE if count else 0}
    right |= {"valid": index // BUFFERS + 1, "buffer_length": len(data), "length": length, "is_soft": 1, "egress_mask": 2}
    return L.BufferMeta(**{**right, **wrong}).pack().ljust(L.BUFFER_META_SIZE + L.BUFFER_KEY_SIZE, b"\0") + data


WRONG = ({"address": 64}, {"next": 128}, {"valid": 77}, {"buffer_length": 5}, {"address": 1 << 40})


@pytest.mark.parametrize("size", [13, 14, 60, 1919, 1920, 1921, 3840, 3841, 9215, 9216, L.EGRESS_BYTES, L.EGRESS_BYTES + 1])
def test_a_packet_of_the_host_is_sent_if_every_buffer_of_it_is_right(
    plain: tuple[Transport, c._Pointer[Transport]], size: int
) -> None:
    it, handle = plain
    ring, out = it.ring_attach(handle, 1, BUFFERS), c.create_string_buffer(20000)
    data = random.Random(size).randbytes(size)
    pieces = [data[at : at + L.BUFFER_DATA_SIZE] for at in range(0, size, L.BUFFER_DATA_SIZE)]
    index = invalid = 0
    cases = [(at, wrong) for at in range(len(pieces)) for wrong in WRONG] + [(-1, {})] * 3
    for at, wrong in cases:
        for n, piece in enumerate(pieces):
            whole = buffer(index + n, len(pieces) - 1 - n, piece, size, **(wrong if n == at else {}))
            c.memmove(ring + (index + n) % BUFFERS * L.BUFFER_SIZE, whole, len(whole))
        good = at < 0 and 14 <= size <= L.EGRESS_BYTES
        assert it.ring_submit(handle, len(pieces)) == 0
        it.advance(handle, 100)
        index += len(pieces)
        assert it.ring_sent(handle) == index and it.idle(handle)
        if good and len(pieces) > 1:  # the length of the first without the others
            assert it.lane_receive(handle, 1, out, size - 1, None) == -errno.ENOSPC
        assert it.lane_receive(handle, 1, out, size, None) == (size if good else -errno.EAGAIN), (at, wrong)
        assert not good or out.raw[:size] == data
        invalid += 0 if good else 1 if at < 0 and size < 14 else len(pieces) if size > L.EGRESS_BYTES else 0
    value = c.c_uint32()
    place = next(n for n in range(64) if L.HostCounters(from_host_packets=1).pack()[n])
    assert it.reg_read(handle, L.SHELL_REGISTERS_HOST_COUNTERS + place, c.byref(value)) == 0
    assert value.value == (3 if 14 <= size <= L.EGRESS_BYTES else 0)


def test_a_packet_that_left_has_the_cycles_of_its_way(plain: tuple[Transport, c._Pointer[Transport]]) -> None:
    it, handle = plain
    ring, out, info = it.ring_attach(handle, 1, BUFFERS), c.create_string_buffer(20000), LaneInfo(7, 7, 7)
    for index in range(3):
        whole = buffer(index, 0, b"\5" * 60, 60)
        c.memmove(ring + index * L.BUFFER_SIZE, whole, len(whole))
    it.advance(handle, 10)
    assert it.ring_submit(handle, 3) == 0
    it.advance(handle, 5)
    assert it.lane_receive(handle, 0, out, 100, c.byref(info)) == -errno.EAGAIN
    for n in range(3):
        assert it.lane_receive(handle, 1, out, 60, c.byref(info)) == 60
        assert (info.ingress_cycle, info.first_cycle, info.last_cycle) == (0, 11 + n, 11 + n)


def test_each_packet_of_a_lane_has_a_cycle_of_its_own(plain: tuple[Transport, c._Pointer[Transport]]) -> None:
    it, handle = plain
    ring = it.ring_attach(handle, 0, 32)
    times, index = [], 0
    for count, passes in ((3, 1), (2, 50), (1, 1), (16, 20)):
        for _ in range(count):
            assert it.lane_send(handle, 1, b"\1" * 60, 60, 0) == 0
        it.advance(handle, passes)
        now = it.cycles(handle)
        for _ in range(32):
            found = L.BufferMeta.unpack(c.string_at(ring + index % 32 * L.BUFFER_SIZE, L.BUFFER_META_SIZE))
            if found.valid != index // 32 + 1:
                break
            times.append((found.timestamp, now, found.ingress_port, found.length, found.verdict, found.egress_mask))
            index += 1
    expected = [(1, 1), (2, 51), (3, 51), (4, 51), (5, 51), (52, 52), *((53 + n, 72) for n in range(16))]
    assert times == [(time, now, 1, 60, L.VERDICT_TO_HOST, 1 << L.HOST_PORT) for time, now in expected]


def test_an_option_is_taken_in_its_whole_range_and_said_where_it_is_not() -> None:
    library = load()
    library.sluice_transport_functional.restype = c.POINTER(Transport)
    library.sluice_transport_functional.argtypes = [c.c_char_p]

    def opens(options: str) -> str:
        handle = library.sluice_transport_functional(options.encode())
        if handle:
            handle.contents.close(handle)
            return ""
        text: bytes = library.sluice_error_text()
        return text.decode()

    ranges = {"lanes": (1, 7), "groups": (1, 256), "entries": (1, 65536), "ternary": (1, 4096), "queues": (0, 8)}
    ranges |= {"pipeline_units": (0, 15), "stateful_units": (0, 32767), "flow_sets": (2, 1 << 20)}
    small = "lanes=1,groups=1,entries=1,ternary=1,queues=0,pipeline_units=15"
    for name, (least, most) in ranges.items():
        for value in (least, most):
            assert opens(f"{small},{name}={value}") == ""
        says = f"functional: {name}= takes a number from {least} to {most}"
        for wrong in (least - 1, most + 1, "", f"{least}x", f"x{least}", 1 << 40):
            assert opens(f"{name}={wrong}") == says, (name, wrong)
            assert opens(f"{name}={wrong},join") == says, (name, wrong)
    assert opens("groups=16,entries=4096") == "" == opens("") == opens("join,nopush") == opens("lanes=2,")
    assert opens("groups=16,entries=4097") == "functional: 16 groups of 4097 entries; the most is 65536 rules"
    assert opens("flow_sets=24") == "functional: flow_sets=24 is no power of two"
    beyond = "functional: stateful_units=4 names units beyond pipeline_units=2"
    assert opens("pipeline_units=2,stateful_units=4") == beyond and opens("stateful_units=3,pipeline_units=2") == ""
    known = "is none of lanes=, groups=, entries=, ternary=, queues=, pipeline_units=, stateful_units=, flow_sets=, join, nopush"
    for word in ("joi", "joinx", "nopus", "nopushx", "lane=3", "x"):
        assert opens(f"{small},{word}") == opens(f"{word},{small}") == f"functional: '{word}' {known}"
    assert opens(",lanes=2") == f"functional: '' {known}"


# ---- The shell

SIZE = {"lanes": 3, "flow_groups": 2, "flow_group_entries": 8, "flow_ternary": 4}
WAITING, LARGEST = 16, -(-L.EGRESS_BYTES // L.BUFFER_DATA_SIZE)


def offered(device: Device, lane: int, count: int) -> int:
    """How many of so many packets a lane takes, a cycle for each."""
    taken = 0
    for _ in range(count):
        taken += device.lane_send(lane, bytes(60))
        device.advance(1)
    return taken


@pytest.mark.parametrize("queues", [0, 1])
def test_a_lossless_device_holds_all_lanes_while_a_ring_has_no_room_for_the_largest_packet(queues: int) -> None:
    with Device({**SIZE, "host_queues": queues}, transport="functional") as device:
        device.call("sluice_device_set_lossless", 1)
        rings = [device.queue(lane, 0, 512) for lane in (0, 2)] if queues else [None]
        room = 512 - LARGEST + 1

        def received() -> int:
            if rings[0]:
                return sum(map(len, iter(lambda: device.poll(rings[0]), [])))
            return sum(1 for _ in iter(device.receive, None))

        assert offered(device, 0, 600) == room + WAITING, "the rest wait before the lane"
        assert offered(device, 1, 20) == WAITING, "lane 1 has to wait, too"
        device.send(bytes(60), 4)
        device.advance(3)
        assert device.lane_receive(2), "packets of the host need no room there"
        assert received() == room
        device.settle()
        assert received() == (WAITING if queues else 2 * WAITING)
        host = device.counters("host")
        assert (host.to_host_packets, host.to_host_overflow) == (room + 2 * WAITING, 0)
        assert host.ring_overflow == (WAITING if queues else 0), "lane 1 has no queue that is open"


def test_what_has_no_queue_or_no_room_is_lost_and_counted_where_nothing_is_held_back() -> None:
    with Device({**SIZE, "host_queues": 1}, transport="functional") as device:
        queue = device.queue(0, 0, 512)
        assert offered(device, 0, 600) == 600 and offered(device, 1, 5) == 5
        assert len(list(iter(lambda: device.poll(queue), []))) == 16, "508 of them"
        expected = L.HostCounters(to_host_packets=605, to_host_bytes=605 * 60, ring_overflow=600 - 508 + 5)
        assert device.counters("host") == expected
    with Device({**SIZE, "host_queues": 0}, transport="functional") as device:
        assert offered(device, 0, 600) == 600
        expected = L.HostCounters(to_host_packets=512, to_host_bytes=512 * 60, to_host_overflow=600 - 512)
        assert device.counters("host") == expected


def test_a_cable_carries_no_more_than_its_other_end_takes() -> None:
    with Device(SIZE, transport="functional", options="join") as device:
        device.call("sluice_device_pause")
        for n in range(40):
            device.send(n.to_bytes(60, "big"), 1)
        device.advance(100)
        assert device.counters("lane", 1).rx_packets == WAITING and device.counters("lane", 0).tx_packets == 40
        assert not device.library.sluice_device_idle(device.handle) and device.lane_receive(0) is None
        device.call("sluice_device_resume")
        device.settle()
        got = [device.receive() for _ in range(41)]
        assert [one and int.from_bytes(one.data, "big") for one in got] == [*range(40), None]


def test_counters_of_lanes_graph_and_host_are_all_that_happened() -> None:
    with Device({**SIZE, "host_queues": 2}, transport="functional") as device:
        flows = Flows(device)
        port = L.FlowKey(ingress_port=0xFF).to_int()
        rules: list[list[Action]] = [[Action(L.ACTION_REPLICATE, 6)], [Action(L.ACTION_MARK, 9), Action(L.ACTION_TO_HOST)]]
        for lane, actions in enumerate(rules):
            assert flows.add(L.FlowKey(ingress_port=lane).to_int(), port, 0, actions) >= 0
        packet = bytes(12) + b"\x88\xb5"
        host, out = run(device, {0: [packet + bytes(46)] * 3, 1: [packet + bytes(86)] * 2, 2: [packet + bytes(6)]})
        assert [(one.ingress_port, one.mark, one.verdict) for one in host] == [
            (2, 0, L.VERDICT_TO_HOST),
            (1, 9, L.VERDICT_TO_HOST),
            (1, 9, L.VERDICT_TO_HOST),
        ] or sorted((one.ingress_port, one.mark) for one in host) == [(1, 9), (1, 9), (2, 0)]
        assert [len(out[lane]) for lane in range(3)] == [0, 3, 3]
        device.send(bytes(14), 3)
        device.send(bytes(13), 3)
        device.advance(10)
        for lane, sent in enumerate([(3, 180, 1, 14), (2, 200, 4, 194), (1, 20, 3, 180)]):
            names = ("rx_packets", "rx_bytes", "tx_packets", "tx_bytes")
            assert device.counters("lane", lane) == L.LaneCounters(**dict(zip(names, sent, strict=True)))
        assert device.counters("graph") == L.GraphCounters(forwarded_packets=3, to_host_packets=3, misses=1)
        assert device.counters("host") == L.HostCounters(
            to_host_packets=3,
            to_host_bytes=220,
            from_host_packets=1,
            from_host_bytes=14,
            from_host_merged=1,
            from_host_invalid=1,
        )
        flows.close()


@pytest.mark.parametrize(
    ("action", "errors"),
    [
        (Action(L.ACTION_REPLICATE, 6), (0, [0, 1, 1])),
        (Action(L.ACTION_OUTPUT, 0), (0, [1, 0, 0])),
        (Action(L.ACTION_TO_HOST), (1, [0, 0, 0])),
        (Action(L.ACTION_TO_CONTROLLER), (1, [0, 0, 0])),
    ],
)
def test_a_packet_whose_template_is_not_there_is_an_error_where_it_should_have_gone(
    action: Action, errors: tuple[int, list[int]]
) -> None:
    with Device(SIZE, transport="functional") as device:
        flows = Flows(device)
        assert flows.add(0, 0, 0, [Action(L.ACTION_INSERT_RAW, 9), action]) == 0
        host, out = run(device, {0: [bytes(range(60))]})
        assert (host, any(out.values())) == ([], False)
        counted = device.counters("host").to_host_error, [device.counters("lane", lane).tx_error for lane in range(3)]
        assert counted == errors
        flows.close()


@pytest.mark.parametrize("queues", [0, 1])
def test_the_largest_packet_grows_to_the_largest_that_can_leave(queues: int) -> None:
    """Two tags and a template of the largest size; with ports and a checksum of UDP that reaches to its end."""
    with Device({**SIZE, "host_queues": queues}, transport="functional") as device:
        grown = [Action(L.ACTION_INSERT_VLAN, L.ETHERTYPE_VLAN), Action(L.ACTION_INSERT_VLAN, L.ETHERTYPE_VLAN)]
        grown.append(Action(L.ACTION_INSERT_RAW, 3))
        flows, port = Flows(device), L.FlowKey(ingress_port=0xFF).to_int()
        device.template(3, bytes(12) + b"\x88\xb5" + bytes(L.TEMPLATE_BYTES - 14))
        for lane, last in ((0, Action(L.ACTION_REPLICATE, 6)), (1, Action(L.ACTION_TO_HOST))):
            assert flows.add(L.FlowKey(ingress_port=lane).to_int(), port, 0, [*grown, last]) >= 0
        packet = bytes(12) + b"\x88\xb5" + random.Random(1).randbytes(L.MTU_BYTES - 14)
        host, out = run(device, {0: [packet], 1: [packet]})
        assert [len(one) for lane in range(3) for one in out[lane]] == [L.EGRESS_BYTES] * 2
        assert [len(one.data) for one in host] == [L.EGRESS_BYTES] and host[0].data == out[1][0]
        assert host[0].data[L.TEMPLATE_BYTES + 8 + 14 :] == packet[14:]
        flows.close()
