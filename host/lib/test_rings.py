# SPDX-License-Identifier: Apache-2.0
"""Rings, queues, the host's half of the order fence, signals, templates and admission below the library's calls: the bytes of each
buffer and each register access, on a device whose registers, rings and time are Python."""

from __future__ import annotations

import ctypes as c
import errno
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sluice_layouts as L

from host.lib.testing.devices import Transport
from host.lib.testing.registers import Registers
from host.python.device import CPacket
from host.python.structs import fields, mirror

FUNCTIONS = dict(Transport._fields_)
LOCK = c.c_uint64 * 5
RING = 2048  # buffers from the host
FROM_HOST, FIRST_QUEUE = 1, 2
HEAD = L.BUFFER_META_SIZE + L.BUFFER_KEY_SIZE
WINDOW = L.WINDOW_SIZE


class CDevice(c.Structure):
    """struct sluice_device."""

    _fields_ = fields(
        "sluice_device",
        {"lock": LOCK, "receive_lock": LOCK, "send_lock": LOCK, "queue": c.c_void_p * (L.HOST_PORT * L.HOST_QUEUES)},
    )


class Rings(Registers):
    """Registers, and the calls for rings and time as a list; `sent` is what the device has taken, `attached` memory of rings."""

    def __init__(self, *kinds: int, lanes: int = 2) -> None:
        super().__init__(*kinds, lanes=lanes)
        self.calls: list[tuple[str, *tuple[int, ...]]] = []
        self.sent, self.cycles, self.results = 0, 0, dict.fromkeys(("ring_release", "ring_submit"), 0)
        self.attached: dict[int, Any] = {}
        self.has_memory = True
        it = self.transport
        self.functions = {
            "ring_sent": lambda t: self.sent,
            "ring_release": lambda t, ring, count: self._called("ring_release", ring, count),
            "ring_submit": lambda t, count: self._called("ring_submit", count),
            "ring_attach": self._attach,
            "cycles": lambda t: self.cycles,
            "idle": lambda t: 1,
            "advance": lambda t, count: self.calls.append(("advance", count)),
        }
        self._functions = {name: FUNCTIONS[name](function) for name, function in self.functions.items()}
        for name, function in self._functions.items():
            setattr(it, name, function)
        self.state = c.cast(self.handle, c.POINTER(CDevice)).contents

    def _called(self, name: str, *arguments: int) -> int:
        self.calls.append((name, *arguments))
        return self.results[name]

    def _attach(self, transport: int, ring: int, buffers: int) -> int | None:
        self.calls.append(("ring_attach", ring, buffers))
        if not self.has_memory:
            return None
        self.attached[ring] = (c.c_uint8 * (buffers * L.BUFFER_SIZE))()
        return c.addressof(self.attached[ring])

    def called(self) -> list[tuple[str, *tuple[int, ...]]]:
        calls, self.calls = self.calls, []
        return calls

    def from_host(self, index: int) -> bytes:
        """A buffer of the ring from the host."""
        place = index % RING * L.BUFFER_SIZE
        return bytes((c.c_uint8 * L.BUFFER_SIZE).from_address(c.addressof(self.state.from_host.contents) + place))


@pytest.fixture
def device() -> Iterator[Rings]:
    made = Rings(L.ELEMENT_FLOW_TABLE, L.ELEMENT_GRAPH, L.ELEMENT_HOST | 3 << 16, L.ELEMENT_DEPARSE)
    yield made
    made.close()


def test_the_structure_of_a_device_is_read_right(device: Rings) -> None:
    state = device.state
    assert (state.lanes, state.host_lanes, state.windows, state.queues, state.open_queues) == (2, 0, 5, 3, 0)
    assert (state.common.number, state.common.shift, state.submitted) == (0, 9, 0) and state.from_host


# ---- From the host


def buffers_of(data: bytes, index: int, **meta: int) -> list[bytes]:
    """The buffers of a packet from `index` on, up to the end of their payload; 0 where the key would be."""
    pieces = [data[at : at + L.BUFFER_DATA_SIZE] for at in range(0, len(data), L.BUFFER_DATA_SIZE)]
    made = []
    for n, piece in enumerate(pieces):
        at = index + n
        ring = L.BufferMeta(
            address=at % RING * L.BUFFER_SIZE,
            next=(at + 1) % RING * L.BUFFER_SIZE if n + 1 < len(pieces) else 0,
            valid=((at // RING + 1) & 0xFFFFFFFF) or 1,
            length=len(data),
            buffer_length=len(piece),
            is_soft=1,
            **meta,
        )
        made.append(ring.pack() + bytes(L.BUFFER_KEY_SIZE) + piece)
    return made


Outgoing = mirror("sluice_outgoing")
Send = Callable[[Rings, bytes], tuple[int, dict[str, int]]]


def poll_send(device: Rings, data: bytes) -> tuple[int, dict[str, int]]:
    result = device.library.sluice_poll_send(device.handle, data, len(data), c.c_uint8(0xA2), c.c_uint8(9))
    return result, {"ingress_port": L.HOST_PORT, "egress_mask": 0xA2, "queue": 9, "verdict": L.VERDICT_FORWARD}


def packet_send(device: Rings, data: bytes) -> tuple[int, dict[str, int]]:
    result = device.library.sluice_packet_send(device.handle, data, len(data), c.c_uint8(0x81), c.c_uint8(0xFE))
    return result, {"ingress_port": L.HOST_PORT, "egress_mask": 0x81, "queue": 0xFE, "verdict": L.VERDICT_FORWARD}


def send_many(device: Rings, data: bytes) -> tuple[int, dict[str, int]]:
    asked = L.TransmitChecksum(l3_offset=14, l4_offset=34, ipv4=len(data) % 2, l4=len(data) // 2 % 3)
    one = Outgoing(size=len(data))
    one.bytes = c.cast(c.c_char_p(data), type(one.bytes))
    one.checksum.l3_offset, one.checksum.l4_offset, one.checksum.ipv4, one.checksum.l4 = 14, 34, asked.ipv4, asked.l4
    sent = device.library.sluice_poll_send_many(device.handle, c.byref(one), 1, c.c_uint8(1), c.c_uint8(3))
    mark = asked.to_int() if asked.ipv4 or asked.l4 else 0
    meta = {"ingress_port": L.HOST_PORT, "egress_mask": 1, "queue": 3, "verdict": L.VERDICT_FORWARD, "mark": mark}
    return (0 if sent == 1 else -errno.EAGAIN), meta


def channel_send(device: Rings, data: bytes) -> tuple[int, dict[str, int]]:
    given = {"ingress_port": 5, "egress_mask": 0x11, "fault": 3, "mark": 0x89ABCDEF, "timestamp": 0x123456789ABCDEF0}
    packet = CPacket(size=len(data), queue=77, verdict=66, hash=1, l4_sum=2, tags=3, **given)
    packet.bytes = c.cast(c.c_char_p(data), type(packet.bytes))
    result = device.library.sluice_channel_send(device.handle, 15, c.byref(packet))
    return result, {**given, "queue": 15, "verdict": L.VERDICT_PASS}


SIZES = (1, 2, 3, 60, 1919, 1920, 1921, 3840, 3841, L.EGRESS_BYTES)


@pytest.mark.parametrize("send", [poll_send, packet_send, send_many, channel_send])
@pytest.mark.parametrize("start", [0, RING - 3, (RING << 32) - RING - 2, (RING << 32) - 2])
def test_a_packet_is_in_the_ring_whole_and_at_once_where_the_call_says_so(device: Rings, send: Send, start: int) -> None:
    draw, index = random.Random(start), start
    device.state.submitted = device.state.told_submitted = device.state.sent = device.sent = start
    for size in SIZES:
        data = draw.randbytes(size)
        result, meta = send(device, data)
        assert result == 0, device.text()
        buffers = buffers_of(data, index, **meta)
        assert [device.from_host(index + n)[: len(one)] for n, one in enumerate(buffers)] == buffers
        index += len(buffers)
        assert device.state.submitted == index
        at_once = send in (packet_send, channel_send)
        assert device.called() == ([("ring_submit", len(buffers))] if at_once else [])
    device.library.sluice_device_advance(device.handle, 7)
    told = [("ring_submit", index - start)] if send in (poll_send, send_many) else []
    assert device.called() == [*told, ("advance", 7)]


@pytest.mark.parametrize("send", [poll_send, packet_send, send_many, channel_send])
def test_the_ring_takes_as_many_buffers_as_it_has(device: Rings, send: Send) -> None:
    five = bytes(L.EGRESS_BYTES)
    for n in range(RING // 5):
        assert send(device, five)[0] == 0, n
    left = RING % 5
    for size, result in ((L.BUFFER_DATA_SIZE * left + 1, -errno.EAGAIN), (L.BUFFER_DATA_SIZE * left, 0), (1, -errno.EAGAIN)):
        device.library.sluice_fail(0, b"untouched")
        assert send(device, bytes(size))[0] == result
        assert device.text() == ("the from-host ring is full" if result and send is not send_many else "untouched")
    assert device.state.submitted == RING
    device.sent = 1
    device.library.sluice_device_advance(device.handle, 1)
    assert [send(device, bytes(size))[0] for size in (1921, 1, 1)] == [-errno.EAGAIN, 0, -errno.EAGAIN]


def test_several_packets_are_sent_up_to_the_first_that_cannot_be(device: Rings) -> None:
    data = bytes(range(60))

    def many(*sizes: int, mask: int = 1, count: int = -1) -> int:
        packets = (Outgoing * len(sizes))()
        for one, size in zip(packets, sizes, strict=True):
            one.size, one.bytes = size, c.cast(c.c_char_p(bytes(20000)), type(one.bytes))
        wanted = len(sizes) if count < 0 else count
        sent: int = device.library.sluice_poll_send_many(device.handle, packets, wanted, c.c_uint8(mask), c.c_uint8(0))
        return sent

    assert many(60, 1, L.EGRESS_BYTES) == 3 and device.state.submitted == 7
    assert [many(60, wrong, 60) for wrong in (0, L.EGRESS_BYTES + 1)] == [1, 1]
    assert [many(60, mask=mask) for mask in (0, 4, 0x80, 0xFC, 2)] == [0, 0, 0, 0, 1]
    assert many(60, 60, 60, count=2) == 2 and device.state.submitted == 12
    assert many(*[60] * RING) == RING - 12 and device.from_host(3)[HEAD : HEAD + 1] == b"\0" and data


def test_what_cannot_be_sent_is_refused_with_the_reason(device: Rings) -> None:
    library, handle, data = device.library, device.handle, bytes(20000)
    lanes = "port mask {:#x} names no lane of 2"
    for size, mask, says in (
        (0, 1, f"a packet of 0 bytes; 1 to {L.EGRESS_BYTES}"),
        (L.EGRESS_BYTES + 1, 1, f"a packet of {L.EGRESS_BYTES + 1} bytes; 1 to {L.EGRESS_BYTES}"),
        (60, 0, "port mask 0 names no lane of 2"),
        (60, 4, lanes.format(4)),
        (60, 0x80, lanes.format(0x80)),
    ):
        for call in (library.sluice_poll_send, library.sluice_packet_send):
            assert (call(handle, data, size, c.c_uint8(mask), 0), device.text()) == (-errno.EINVAL, says)
    for channel, size in ((16, 60), (0, 0), (0, L.EGRESS_BYTES + 1)):
        packet = CPacket(size=size)
        packet.bytes = c.cast(c.c_char_p(data), type(packet.bytes))
        assert library.sluice_channel_send(handle, channel, c.byref(packet)) == -errno.EINVAL
        assert device.text() == f"channel {channel}, a packet of {size} bytes"
    device.state.host_lanes = 2
    assert library.sluice_poll_send(handle, data, 60, 1, 0) == -errno.ENOTSUP
    assert device.text() == "the host's side of this device is lanes to a NIC" and device.state.submitted == 0
    other = Rings(L.ELEMENT_LPM)
    packet = CPacket(size=60)
    packet.bytes = c.cast(c.c_char_p(data), type(packet.bytes))
    assert library.sluice_channel_send(other.handle, 0, c.byref(packet)) == -errno.ENOENT and other.state.submitted == 0
    other.close()


def test_a_device_that_refuses_to_be_told_of_the_rings_is_an_error_of_the_call(device: Rings) -> None:
    library, handle = device.library, device.handle
    library.sluice_fail(0, b"as the transport says")
    device.results["ring_submit"] = -errno.ENODEV
    assert packet_send(device, bytes(60))[0] == -errno.ENODEV and device.text() == "as the transport says"
    value = c.c_uint32()
    assert library.sluice_register_read(handle, 0, c.byref(value)) == 0, "it was told, and is not told twice"
    assert poll_send(device, bytes(60))[0] == 0
    device.taken()
    assert library.sluice_register_write(handle, 8, 1) == -errno.ENODEV and device.taken() == []
    device.results = {"ring_submit": 0, "ring_release": -errno.EFAULT}
    device.state.common.received += 2
    poll_send(device, bytes(60))
    device.called()
    assert library.sluice_register_read(handle, 8, c.byref(value)) == -errno.EFAULT
    assert device.called() == [("ring_release", 0, 2), ("ring_submit", 1)] and device.taken() == []
    device.results = {"ring_submit": -errno.ENODEV, "ring_release": -errno.EFAULT}
    device.state.common.received += 1
    poll_send(device, bytes(60))
    assert library.sluice_register_read(handle, 8, c.byref(value)) == -errno.ENODEV


# ---- To the host


def show(packet: CPacket) -> dict[str, Any]:
    shown = {name: getattr(packet, name) for name, _ in CPacket._fields_}
    shown["bytes"] = c.string_at(packet.bytes, packet.size)
    shown["flow_key"] = c.string_at(packet.flow_key, L.BUFFER_KEY_SIZE) if packet.flow_key else None
    return shown


class ToHost:
    """A ring to the host as a device fills it."""

    def __init__(self, shift: int, received: int) -> None:
        self.memory = (c.c_uint8 * (L.BUFFER_SIZE << shift))()
        self.chained = (c.c_uint8 * L.EGRESS_BYTES)()
        self.queue = mirror("sluice_queue")(ring=self.memory, shift=shift, received=received)
        self.queue.chained = c.cast(self.chained, type(self.queue.chained))
        self.shift, self.filled, self.draw = shift, received, random.Random(shift)

    def put(self, size: int) -> dict[str, Any]:
        """A packet with its own value in every field; what the library is to show of it."""
        draw, data, key = self.draw, self.draw.randbytes(size), self.draw.randbytes(L.BUFFER_KEY_SIZE)
        shown = {name for name, _ in CPacket._fields_} - {"size", "bytes", "flow_key"}
        widths = {name: width for name, _, width, _, _ in L.BufferMeta.PLACES}
        values = {name: draw.getrandbits(widths[name]) for name in shown}
        has_key = draw.randrange(2)
        for n, at in enumerate(range(0, size, L.BUFFER_DATA_SIZE)):
            index = self.filled + n
            meta = L.BufferMeta(**values, has_key=has_key, length=size, valid=((index >> self.shift) + 1 & 0xFFFFFFFF) or 1)
            meta.buffer_length, meta.slot, meta.is_soft, meta.address = draw.getrandbits(16), 5, 1, draw.getrandbits(64)
            whole = meta.pack() + key + data[at : at + L.BUFFER_DATA_SIZE]
            c.memmove(c.byref(self.memory, index % (1 << self.shift) * L.BUFFER_SIZE), whole, len(whole))
        self.filled += -(-size // L.BUFFER_DATA_SIZE)
        return {**values, "size": size, "bytes": data, "flow_key": key if has_key else None}


@pytest.mark.parametrize("received", [0, 13, 100, (16 << 32) - 5])
def test_packets_of_a_ring_are_shown_with_every_field_until_they_are_released(received: int) -> None:
    ring = ToHost(4, received)
    library = Rings(L.ELEMENT_LPM)
    receive, release = library.library.sluice_queue_receive, library.library.sluice_queue_release
    for sizes in ((60, 1, 1920), (9000, 61), (1921, 3840, 70), (1,) * 16, (9288, 3841), (60,) * 3 + (9000,)):
        waiting = [ring.put(size) for size in sizes]
        while waiting:
            packets = (CPacket * 20)()
            assert library.library.sluice_queue_waits(c.byref(ring.queue)) == 1
            first = receive(c.byref(ring.queue), packets, 1)
            found = first + receive(c.byref(ring.queue), c.byref(packets, c.sizeof(CPacket)), 19)
            long = next((n + 1 for n, one in enumerate(waiting) if one["size"] > L.BUFFER_DATA_SIZE), len(waiting))
            assert (first, found) == (1, long), "up to the first that has to be put together"
            assert [show(packets[n]) for n in range(found)] == waiting[:found]
            assert receive(c.byref(ring.queue), packets, 20) == 0
            buffers = sum(-(-one["size"] // L.BUFFER_DATA_SIZE) for one in waiting[:found])
            assert ring.queue.held == buffers
            before = ring.queue.received
            release(c.byref(ring.queue))
            assert (ring.queue.received, ring.queue.held, ring.queue.is_chained) == (before + buffers, 0, False)
            del waiting[:found]
        assert library.library.sluice_queue_waits(c.byref(ring.queue)) == 0
        assert receive(c.byref(ring.queue), packets, 20) == 0
    library.close()


def test_what_was_released_is_told_with_the_next_access_ring_by_ring(device: Rings) -> None:
    library, handle, value = device.library, device.handle, c.c_uint32()
    numbers = [FIRST_QUEUE + L.HOST_QUEUES + 2, FIRST_QUEUE, FIRST_QUEUE + L.HOST_QUEUES]
    queues = []
    for lane, queue in ((1, 2), (0, 0), (1, 0)):
        opened = c.c_void_p()
        assert library.sluice_queue_open(handle, lane, queue, 0, c.byref(opened)) == 0
        queues.append(c.cast(opened, c.POINTER(mirror("sluice_queue"))).contents)
    assert device.called() == [("ring_attach", number, 512) for number in numbers]
    accesses = [
        lambda: library.sluice_register_read(handle, 0, c.byref(value)),
        lambda: library.sluice_register_write(handle, 8, 1),
        lambda: library.sluice_device_idle(handle) - 1,
        lambda: library.sluice_packet_release(handle) and 0,
        lambda: library.sluice_device_advance(handle, 1) and 0,
    ]
    for n, access in enumerate(accesses):
        for queue, count in zip((device.state.common, *queues), (3, 1, 0, 2 + n), strict=True):
            queue.received += count
        access()
        told = [("ring_release", 0, 3), ("ring_release", numbers[0], 1), ("ring_release", numbers[2], 2 + n)]
        assert [one for one in device.called() if one[0] != "advance"] == told, n
        access()
        assert [one for one in device.called() if one[0] != "advance"] == []


def test_the_common_ring_gives_one_packet_or_several(device: Rings) -> None:
    library, handle, packets = device.library, device.handle, (CPacket * 8)()
    place = c.addressof(device.state.common.ring.contents)
    for index in range(5):
        meta = L.BufferMeta(valid=1, length=60 + index).pack()
        c.memmove(place + index * L.BUFFER_SIZE, meta, len(meta))
    assert library.sluice_packet_receive(handle, packets) == 1 and packets[0].size == 60
    assert library.sluice_packet_receive(handle, packets) == 0, "the first was not released"
    assert library.sluice_poll_receive(handle, c.byref(packets, c.sizeof(CPacket)), 2) == 2
    assert [packets[n].size for n in range(3)] == [60, 61, 62]
    library.sluice_poll_release(handle)
    assert device.state.common.received == 3 and device.called() == []
    assert library.sluice_poll_receive(handle, packets, 8) == 2 and [packets[n].size for n in range(2)] == [63, 64]
    library.sluice_packet_release(handle)
    assert device.called() == [("ring_release", 0, 5)] and library.sluice_poll_receive(handle, packets, 8) == 0


# ---- Queues


def test_a_queue_is_one_for_its_lane_and_number_with_a_ring_of_a_power_of_two(device: Rings) -> None:
    library, handle, queue = device.library, device.handle, c.c_void_p()
    assert library.sluice_device_queues(handle) == 3
    opened = {}
    for lane, number, asked, buffers in (
        (0, 0, 0, 512),
        (0, 1, 512, 512),
        (0, 2, 513, 1024),
        (1, 0, 1025, 2048),
        (1, 2, 2048, 2048),
    ):
        device.has_memory = False
        ring = FIRST_QUEUE + 8 * lane + number
        assert library.sluice_queue_open(handle, lane, number, asked, c.byref(queue)) == -errno.ENOMEM
        assert device.text() == f"no memory for ring {ring}"
        device.has_memory = True
        for again in (asked, 0, buffers):
            assert library.sluice_queue_open(handle, lane, number, again, c.byref(queue)) == 0
            assert library.sluice_queue_buffers(queue) == buffers
            assert opened.setdefault((lane, number), queue.value) == queue.value
        assert device.called() == [("ring_attach", ring, buffers)] * 2
        if buffers < 2048:
            assert library.sluice_queue_open(handle, lane, number, buffers + 1, c.byref(queue)) == -errno.EBUSY
            assert device.text() == f"the queue has a ring of {buffers} buffers until the device is closed, not {buffers + 1}"
    assert len(set(opened.values())) == 5 == device.state.open_queues
    assert library.sluice_queue_open(handle, 0, 0, 2049, c.byref(queue)) == -errno.EINVAL
    assert device.text() == "a ring of 2049 buffers; there can be 2048"
    for lane, number in ((2, 0), (0, 3), (1 << 31, 0), (0, 1 << 31)):
        assert library.sluice_queue_open(handle, lane, number, 0, c.byref(queue)) == -errno.EINVAL
        assert device.text() == f"queue {number} of lane {lane}: the device has 2 lanes with 3 queues each"
    assert device.called() == []


def test_how_packets_are_spread_is_written_into_the_window_of_the_queues(device: Rings) -> None:
    library, handle, base = device.library, device.handle, 3 * WINDOW
    lane, table = base + L.HOST_REGISTERS_LANE, base + L.HOST_REGISTERS_TABLE_INDEX
    assert library.sluice_spread_set_kinds(handle, 1, c.c_uint8(0xA5)) == 0
    assert device.written() == [(lane, 1), (base + L.HOST_REGISTERS_HASH_KINDS, 0xA5)]
    key = random.Random(1).randbytes(L.RSS_KEY_BITS // 8)
    assert library.sluice_spread_set_key(handle, 0, key) == 0
    words = [int.from_bytes(key[36 - 4 * n : 40 - 4 * n], "big") for n in range(10)]
    assert device.written() == [one for n in range(10) for one in ((lane, 0), (base + L.HOST_REGISTERS_KEY + 4 * n, words[n]))]
    for entry, of_table in ((0, 0), (127, 7), (5, 1)):
        assert library.sluice_spread_set_entry(handle, 1, of_table, entry, 2) == 0
        assert device.written() == [(lane, 1), (table, of_table), (lane, 1), (base + L.HOST_REGISTERS_TABLE + 4 * entry, 2)]
    lanes = "queue {} of lane {}: the device has 2 lanes with 3 queues each"
    for call, says in (
        (lambda: library.sluice_spread_set_kinds(handle, 2, 0), lanes.format(0, 2)),
        (lambda: library.sluice_spread_set_key(handle, 2, key), lanes.format(0, 2)),
        (lambda: library.sluice_spread_set_entry(handle, 2, 0, 0, 0), lanes.format(0, 2)),
        (lambda: library.sluice_spread_set_entry(handle, 0, 0, 0, 3), lanes.format(3, 0)),
        (lambda: library.sluice_spread_set_entry(handle, 0, 8, 0, 0), "entry 0 of table 8: a lane has 8 tables of 128 entries"),
        (lambda: library.sluice_spread_set_entry(handle, 0, 0, 128, 0), "entry 128 of table 0: a lane has 8 tables of 128 entries"),
    ):
        assert (call(), device.text()) == (-errno.EINVAL, says)
    device.state.queues = 0
    queue = c.c_void_p()
    assert library.sluice_queue_open(handle, 0, 0, 0, c.byref(queue)) == -errno.ENOENT
    assert device.text() == "the device has no receive queues: build it with --host-queues 4"
    device.state.queues, device.state.windows = 1, 3
    assert library.sluice_spread_set_kinds(handle, 0, 0) == -errno.ENOENT == library.sluice_spread_set_entry(handle, 0, 0, 0, 0)
    assert device.taken() == []


# ---- Lanes


def test_packets_of_lanes_are_handed_on_as_they_are(device: Rings) -> None:
    library, handle, seen = device.library, device.handle, []

    def send(t: int, lane: int, data: bytes, size: int, flags: int) -> int:
        seen.append((lane, size, flags))
        return -errno.EAGAIN if flags else 0

    def receive(t: int, lane: int, data: bytes, capacity: int, info: int) -> int:
        seen.append((lane, capacity, bool(info)))
        return 77 - lane

    kept = FUNCTIONS["lane_send"](send), FUNCTIONS["lane_receive"](receive)
    device.transport.lane_send, device.transport.lane_receive = kept
    memory, info = c.create_string_buffer(65536), mirror("sluice_lane_info")()
    assert [library.sluice_lane_send(handle, *one) for one in ((0, memory, 1, 0), (1, memory, 65535, 3))] == [0, -errno.EAGAIN]
    device.state.host_lanes = 2
    assert library.sluice_lane_send(handle, 3, memory, 60, 0) == 0
    assert (
        library.sluice_lane_receive(handle, 1, memory, 9, None) == 76
        and library.sluice_lane_receive(handle, 0, memory, 8, c.byref(info)) == 77
    )
    assert seen == [(0, 1, 0), (1, 65535, 3), (3, 60, 0), (1, 9, False), (0, 8, True)]
    for lane, size in ((4, 60), (0, 0), (0, 65536)):
        assert library.sluice_lane_send(handle, lane, memory, size, 0) == -errno.EINVAL
        assert device.text() == f"lane {lane} of 4, {size} bytes"
    device.transport.lane_send, device.transport.lane_receive = FUNCTIONS["lane_send"](), FUNCTIONS["lane_receive"]()
    for result in (library.sluice_lane_send(handle, 0, memory, 60, 0), library.sluice_lane_receive(handle, 0, memory, 60, None)):
        assert (result, device.text()) == (-errno.ENOTSUP, "the lanes of this device are real")


# ---- The order fence

PACKETS, MERGED = (
    L.SHELL_REGISTERS_HOST_COUNTERS + next(n for n in range(64) if L.HostCounters(**{name: 1}).pack()[n])
    for name in ("from_host_packets", "from_host_merged")
)
DONE = WINDOW + L.FLOW_REGISTERS_FENCE_DONE
TAKEN = [(PACKETS + 4, None), (PACKETS, None)]


def test_the_fence_is_set_and_read_in_the_window_of_the_flow_table(device: Rings) -> None:
    library, handle = device.library, device.handle
    held, forced = c.c_uint32(), c.c_uint32()
    for on in (True, False, True):
        assert library.sluice_fence_set(handle, on, c.c_uint32(1 << 30)) == 0
        assert device.taken() == [(WINDOW + L.FLOW_REGISTERS_FENCE_BOUND, 1 << 30), (WINDOW + L.FLOW_REGISTERS_FENCE_CONTROL, on)]
        assert device.state.fence.is_on == on and device.state.fence.window == WINDOW
    device.values |= {WINDOW + L.FLOW_REGISTERS_FENCE_HELD: 5, WINDOW + L.FLOW_REGISTERS_FENCE_FORCED: 6}
    assert library.sluice_fence_read(handle, c.byref(held), c.byref(forced)) == 0 and (held.value, forced.value) == (5, 6)
    for refuse in (0, 1):
        device.refuse = refuse
        assert library.sluice_fence_set(handle, 0, 1) == -errno.EFAULT and device.state.fence.is_on == 1
    other = Rings(L.ELEMENT_LPM)
    assert library.sluice_fence_set(other.handle, 1, 1) == -errno.ENOENT
    assert library.sluice_fence_read(other.handle, c.byref(held), c.byref(forced)) == -errno.ENOENT
    assert other.text() == f"the device has no element of kind {int(L.ELEMENT_FLOW_TABLE)}"
    other.close()


class Fenced:
    """A device with its fence on; `step` lets time pass and gives the register accesses of it."""

    def __init__(self, device: Rings) -> None:
        self.device = device
        assert device.library.sluice_fence_set(device.handle, 1, 1000) == 0
        device.cycles = 1000
        device.taken()

    def done(self, lane: int, time: int) -> None:
        self.device.library.sluice_poll_done(self.device.handle, lane, c.c_uint64(time))

    def idle(self) -> int:
        idle: int = self.device.library.sluice_device_idle(self.device.handle)
        return idle

    def step(self) -> list[tuple[int, int | None]]:
        self.device.library.sluice_device_advance(self.device.handle, 1)
        return self.device.taken()


def written(lane: int, time: int) -> list[tuple[int, int | None]]:
    return [(DONE + 8 * lane, time & 0xFFFFFFFF), (DONE + 8 * lane + 4, time >> 32)]


def test_a_round_of_the_fence_waits_for_the_ring_then_for_the_merge_then_tells(device: Rings) -> None:
    fence, values = Fenced(device), device.values
    assert fence.step() == [] and fence.idle() == 1
    for lane in (8, 9, 0xFFFFFFFF):
        fence.done(lane, 5)
    fence.done(0, 0)
    assert fence.idle() == 1 and fence.step() == []
    fence.done(7, 0x123456789A)
    fence.done(7, 0x1234567899)
    fence.done(0, 3)
    for _ in range(3):
        assert poll_send(device, bytes(60))[0] == 0
    assert fence.idle() == 0
    assert fence.step() == [], "three buffers are not in the device"
    fence.done(3, 9)
    assert poll_send(device, bytes(60))[0] == 0, "of the next round"
    device.sent = 2
    device.library.sluice_register_read(device.handle, 0, c.byref(c.c_uint32()))
    device.taken()
    assert fence.step() == [] and device.state.sent == 2
    device.sent = 3
    values |= {PACKETS: 0xFFFFFFFE, PACKETS + 4: 8, MERGED: 0xFFFFFFFD}
    assert fence.step() == [], "hears of it only now"
    assert fence.step() == [*TAKEN, (MERGED, None)]
    for merged in (0xFFFFFF00, 0x80000000, 0x7FFFFFFF):
        values[MERGED] = merged
        assert fence.step() == [(MERGED, None)], "half a turn behind"
    values[MERGED] = 1
    assert fence.step() == [(MERGED, None), *written(0, 3), *written(7, 0x123456789A)]
    assert fence.idle() == 0, "lane 3"
    device.sent, device.cycles = 4, 1127
    assert fence.step() == [] == fence.step(), "128 cycles later at the earliest"
    device.cycles = 1128
    values |= {PACKETS: 1, MERGED: 1}
    assert fence.step() == [*TAKEN, (MERGED, None), *written(3, 9)]
    assert fence.idle() == 1
    device.cycles = 5000
    assert fence.step() == []


def test_a_round_whose_access_is_refused_goes_on_with_the_next_step(device: Rings) -> None:
    fence = Fenced(device)
    fence.done(1, 5)
    fence.done(2, 6)
    whole = [*TAKEN, (MERGED, None), *written(1, 5), *written(2, 6)]
    for refuse, log in ((0, whole[:1]), (1, whole[:2]), (2, whole[:3])):
        device.refuse = refuse
        assert fence.step() == log
        assert fence.idle() == 0
    device.refuse = -1
    assert fence.step() == whole[2:] and fence.idle() == 1


def test_a_device_that_knows_no_time_is_told_with_every_step(device: Rings) -> None:
    device.transport.cycles = FUNCTIONS["cycles"]()
    fence = Fenced(device)
    for time in (1, 2, 3):
        fence.done(4, time)
        assert fence.step() == [*TAKEN, (MERGED, None), *written(4, time)]
    assert device.library.sluice_device_cycles(device.handle) == 0
    device.library.sluice_fence_set(device.handle, 0, 1)
    fence.done(4, 9)
    device.taken()
    assert fence.step() == [] and fence.idle() == 1, "it is off"
    device.transport.advance = FUNCTIONS["advance"]()
    device.called()
    assert poll_send(device, bytes(60))[0] == 0 and fence.step() == [] and device.called() == []


# ---- Signals, templates, admission

STATUS, REPLY = 2 * WINDOW + L.GRAPH_REGISTERS_STATUS, 2 * WINDOW + L.GRAPH_REGISTERS_REPLY
POLLS = 100_000


@pytest.mark.parametrize(
    ("status", "says", "accesses"),
    [
        (0, "the configuration does not answer the signal", 1 + POLLS),
        (1, "the configuration does not answer the signal", 1 + 1 + 1 + POLLS),
        (3, "the configuration answers without end", 2 * POLLS),
    ],
)
def test_a_signal_whose_answer_never_ends_is_an_error_and_no_hang(device: Rings, status: int, says: str, accesses: int) -> None:
    reply = (c.c_uint32 * 4)(*[0xBAD] * 4)
    device.values[STATUS] = status
    assert device.library.sluice_signal(device.handle, (c.c_uint32 * 1)(5), 1, reply, 4) == -errno.ETIMEDOUT
    assert device.text() == says and len(device.log) == accesses and list(reply) == [0xBAD] * 4


def test_an_answer_without_a_last_word_ends_at_some_time(device: Rings) -> None:
    reply = (c.c_uint32 * 4)(*[0xBAD] * 4)
    device.values |= {STATUS: 1, REPLY: 7}
    device.write = lambda address, value: device.values.__setitem__(STATUS, 3)  # type: ignore[method-assign]
    assert device.library.sluice_signal(device.handle, (c.c_uint32 * 1)(5), 1, reply, 2) == -errno.ETIMEDOUT
    assert device.text() == "the configuration answers without end" and list(reply) == [7, 7, 0xBAD, 0xBAD]
    assert len(device.log) == 3 + 2 * (POLLS + 1)


def test_an_answer_too_long_is_read_to_its_end_and_said_how_long(device: Rings) -> None:
    reply, left = (c.c_uint32 * 4)(*[0xBAD] * 4), [0]

    def read(address: int) -> int:
        if address == STATUS:
            return 1 | (2 if left[0] else 0) | (4 if left[0] == 1 else 0)
        left[0] -= 1
        return left[0] + 1

    device.read = read  # type: ignore[method-assign]
    device.write = lambda address, value: left.__setitem__(0, value)  # type: ignore[method-assign]
    for words, capacity in ((3, 2), (3, 0), (3, 3), (1, 1), (1, 4)):
        reply[:] = [0xBAD] * 4
        result = device.library.sluice_signal(device.handle, (c.c_uint32 * 1)(words), 1, reply, capacity)
        assert result == (words if words <= capacity else -errno.ENOSPC) and left == [0]
        assert words <= capacity or device.text() == f"the answer has {words} words"
        kept = list(range(words, 0, -1))[:capacity]
        assert list(reply) == kept + [0xBAD] * (4 - len(kept))
    assert (device.library.sluice_signal(device.handle, reply, 0, reply, 4), device.text()) == (
        -errno.EINVAL,
        "a signal has one word or more",
    )
    other = Rings(L.ELEMENT_LPM)
    assert other.library.sluice_signal(other.handle, reply, 1, reply, 4) == -errno.ENOENT and other.taken() == []
    other.close()


@pytest.mark.parametrize("size", [0, 2, 6, 18, 50, 126, 128])
def test_a_template_is_written_word_by_word_and_then_stored(device: Rings, size: int) -> None:
    base, data = 4 * WINDOW, random.Random(size).randbytes(size)
    assert device.library.sluice_template_set(device.handle, 0xAB, data, size) == 0
    log = device.written()
    padded = data.ljust(-(-size // 4) * 4, b"\0")
    words = [int.from_bytes(padded[at : at + 4], "little") for at in range(0, size, 4)]
    info = L.TemplateInfo(size=size).to_int()
    places = [base + L.DEPARSE_REGISTERS_TEMPLATE_BYTES + 4 * n for n in range(len(words))]
    places += [base + L.DEPARSE_REGISTERS_TEMPLATE_INFO + 4 * n for n in range(2)]
    places.append(base + L.DEPARSE_REGISTERS_TEMPLATE_INDEX)
    assert log == list(zip(places, [*words, info & 0xFFFFFFFF, info >> 32, 0xAB], strict=True))


def test_a_template_that_cannot_be_is_refused_with_the_reason(device: Rings) -> None:
    for index, size, says in (
        (256, 4, "template 256; there are 256"),
        (0, 3, "a template of 3 bytes; an even number up to 128"),
        (0, 130, "a template of 130 bytes; an even number up to 128"),
    ):
        assert (device.library.sluice_template_set(device.handle, index, bytes(200), size), device.text()) == (-errno.EINVAL, says)
    other = Rings(L.ELEMENT_LPM)
    assert other.library.sluice_template_set(other.handle, 0, bytes(4), 4) == -errno.ENOENT
    other.close()
    assert device.taken() == [] == other.taken()


def test_admission_is_words_of_its_window_and_tunnels_are_closed_meanwhile() -> None:
    device = Rings(L.ELEMENT_LPM, L.ELEMENT_ADMIT, lanes=3)
    library, handle, base = device.library, device.handle, 2 * WINDOW
    control = base + L.ADMIT_REGISTERS_TUNNEL_CONTROL
    ipv4, ipv6 = bytes.fromhex("89abcdef"), bytes(range(0xF0, 0x100))
    words = [(base + L.ADMIT_REGISTERS_TUNNEL_IPV6 + n, int.from_bytes(ipv6[n : n + 4], "little")) for n in range(0, 16, 4)]
    first = [(base + L.ADMIT_REGISTERS_TUNNEL_IPV4, 0xEFCDAB89)]
    mac = base + L.ADMIT_REGISTERS_LANE_MAC
    calls: list[tuple[Callable[[], int], list[tuple[int, int]]]] = [
        (lambda: library.sluice_admit_set(handle, 0b101, 0xA00), [(base + L.ADMIT_REGISTERS_CONTROL, 0xA05)]),
        (lambda: library.sluice_admit_set(handle, 0b100, 0x104), [(base + L.ADMIT_REGISTERS_CONTROL, 0x104)]),
        (
            lambda: library.sluice_admit_set_mac(handle, 2, bytes.fromhex("fedcba987654")),
            [(mac + 16, 0xBA987654), (mac + 20, 0xFEDC)],
        ),
        (lambda: library.sluice_admit_set_mac(handle, 0, bytes.fromhex("010203040506")), [(mac, 0x03040506), (mac + 4, 0x0102)]),
        (lambda: library.sluice_admit_set_tunnels(handle, ipv4, ipv6), [(control, 0), *first, *words, (control, 3)]),
        (lambda: library.sluice_admit_set_tunnels(handle, ipv4, None), [(control, 0), *first, (control, 1)]),
        (lambda: library.sluice_admit_set_tunnels(handle, None, ipv6), [(control, 0), *words, (control, 2)]),
        (lambda: library.sluice_admit_set_tunnels(handle, None, None), [(control, 0), (control, 0)]),
    ]
    for call, log in calls:
        assert call() == 0 and device.written() == log
        for refuse in range(len(log)):
            device.refuse = refuse
            assert call() == -errno.EFAULT and device.written() == log[: refuse + 1]
        device.refuse = -1
    assert library.sluice_admit_set_mac(handle, 3, bytes(6)) == -errno.EINVAL
    assert device.text() == "lane 3: the device has 3"
    device.close()
    other = Rings(L.ELEMENT_LPM)
    for result in (
        library.sluice_admit_set(other.handle, 0, 0),
        library.sluice_admit_set_mac(other.handle, 0, bytes(6)),
        library.sluice_admit_set_tunnels(other.handle, None, None),
    ):
        assert (result, other.text(), other.taken()) == (-errno.ENOENT, "the device has no element of kind 2", [])
    other.close()
