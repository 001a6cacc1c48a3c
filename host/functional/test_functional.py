# SPDX-License-Identifier: Apache-2.0
"""The functional device alone: its options, what it drops, holds back and counts, and rings full of garbage. That it does with
packets and rules what the RTL does is `shell/sim/test_functional.py`."""

from __future__ import annotations

import ctypes as c
import errno
import json
import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import sluice_layouts as L
from hypothesis import given, settings
from hypothesis import strategies as st

from host.build import HOST, LIBSLUICE, c_files, compile_c
from host.lib.testing.devices import Access, Transport
from host.python.device import Action, Device, SluiceError, load
from host.python.flow_table import Flows
from host.python.structs import fields
from models.traffic import malformed, truncated, well_formed
from testing.device import host_packets, lane_packets, noise, run

SEED = 20261122
MINUTES = float(os.environ.get("SLUICE_FUZZ_MINUTES", "0"))
ROUNDS = int(100_000 + 5_000_000 * MINUTES)  # of a fuzzed device
SIZE = {"lanes": 3, "flow_groups": 2, "flow_group_entries": 8, "flow_ternary": 4}
FLOW = L.WINDOW_SIZE


@pytest.fixture
def device() -> Iterator[Device]:
    with Device(SIZE, transport="functional") as opened:
        yield opened


def everything(device: Device, *actions: Action) -> Flows:
    """A rule for all packets."""
    flows = Flows(device)
    assert flows.add(0, 0, 0, actions) == 0
    return flows


@pytest.mark.parametrize(
    "options",
    ["lib=x", "lanes", "lanes=", "lanes=0", "lanes=8", "lanes=3x", "groups=-1", "groups=17,entries=4096", "lanes=2,,x", "queues=9"],
)
def test_options_that_cannot_be_are_refused_with_the_reason(options: str) -> None:
    library, handle = load(), c.c_void_p()
    assert library.sluice_device_open(f"functional:{options}".encode(), c.byref(handle)) == -errno.ENODEV
    assert b"functional: " in library.sluice_error_text()


def test_without_options_it_has_the_reference_size() -> None:
    with Device(transport="functional") as opened:
        assert opened.lanes == 4 and opened.read(FLOW + L.FLOW_REGISTERS_GROUPS) == 16
        assert [opened.read(FLOW + L.OFU_REGISTERS_ENTRIES + 4 * n) for n in (0, 1)] == [65536, 256]


def test_counters_are_in_host_memory_or_where_it_has_none_in_registers_only() -> None:
    for options, records in (("", 20), ("nopush", 0)):
        with Device(SIZE, transport="functional", options=options) as device:
            flows = everything(device, Action(L.ACTION_OUTPUT, 1))
            run(device, {0: [bytes(12) + b"\x88\xb5" + bytes(60)] * 3})
            assert device.read(FLOW + L.FLOW_REGISTERS_PUSH_RECORDS) == records
            if records:
                assert flows.mirrored(0).packets == 3
            else:
                with pytest.raises(OSError, match="rule 0") as caught:
                    flows.mirrored(0)
                assert caught.value.errno == errno.ENOTSUP
                with pytest.raises(SluiceError):
                    device.write(FLOW + L.FLOW_REGISTERS_PUSH_CONTROL, 1)
            assert flows.rules.counters(0).packets == 3
            flows.close()


def test_every_size_comes_to_the_host_and_runts_oversize_and_bad_frames_do_not(device: Device) -> None:
    draw = random.Random(SEED)
    sizes = [14, 15, 60, 63, 64, 65, 1514, 1919, 1920, 1921, 3840, 3841, 9215, 9216]
    packets = [noise(draw, size) for size in sizes * 3]
    host, out = run(device, {1: packets})
    assert [one.data for one in host] == packets and not any(out.values())
    assert {(one.ingress_port, one.verdict, one.egress_mask) for one in host} == {(1, L.VERDICT_TO_HOST, 0x80)}
    for size, bad in ((13, False), (1, False), (9217, False), (60, True)):
        assert device.lane_send(1, noise(draw, size), bad)
    device.settle()
    counters = device.counters("lane", 1)
    assert (counters.rx_packets, counters.rx_bytes) == (len(packets), sum(map(len, packets)))
    assert (counters.rx_runt, counters.rx_oversize, counters.rx_error) == (2, 1, 1)
    assert host_packets(device) == []


def flood(device: Device, packets: list[bytes]) -> int:
    """Into lane 0 without reading anything behind the device; how many it took."""
    for at, packet in enumerate(packets):
        if not device.lane_send(0, packet):
            device.advance(64)
            if not device.lane_send(0, packet):
                return at
    device.advance(64)
    return len(packets)


@pytest.mark.parametrize("to_lane", [False, True])
@pytest.mark.parametrize("lossless", [False, True])
def test_what_nobody_reads_is_lost_and_counted_or_held_back(device: Device, lossless: bool, to_lane: bool) -> None:
    device.call("sluice_device_set_lossless", int(lossless))
    flows = everything(device, Action(L.ACTION_OUTPUT, 2) if to_lane else Action(L.ACTION_TO_HOST))
    draw = random.Random(SEED)
    packets = [noise(draw, 1500) for _ in range(1500)]
    taken = flood(device, packets)
    got = []
    while True:
        some = lane_packets(device, 2) if to_lane else [one.data for one in host_packets(device)]
        if not some and device.library.sluice_device_idle(device.handle):
            break
        got += some
        device.advance(64)
    lost = device.counters("lane", 2).tx_overflow if to_lane else device.counters("host").to_host_overflow
    if lossless:
        assert taken < len(packets) and got == packets[:taken] and lost == 0
    else:
        rest = iter(packets)
        assert taken == len(packets) and len(got) + lost == taken and lost > 0 and all(one in rest for one in got)
    counters = device.counters("lane", 2) if to_lane else device.counters("host")
    assert (counters.tx_packets if to_lane else counters.to_host_packets) == len(got)
    flows.close()


@pytest.mark.parametrize(("asked", "buffers"), [(0, 512), (512, 512), (513, 1024), (2048, 2048)])
def test_a_queue_holds_as_many_packets_as_were_asked_for(asked: int, buffers: int) -> None:
    kept = buffers - (-(-L.EGRESS_BYTES // L.BUFFER_DATA_SIZE) - 1)  # room for the largest packet is a condition
    with Device({**SIZE, "host_queues": 1}, transport="functional") as device:
        queue = device.queue(0, 0, asked)
        assert device.library.sluice_queue_buffers(queue) == buffers
        for first in (0, 10_000, 20_000):
            sent = [number.to_bytes(60, "big") for number in range(first, first + buffers + 50)]
            lost = device.counters("host").ring_overflow
            for packet in sent:
                assert device.lane_send(0, packet)
                device.advance(64)
            came = list(iter(lambda: [got.data for got in device.poll(queue)], []))
            assert [data for some in came for data in some] == sent[:kept]
            assert device.counters("host").ring_overflow - lost == len(sent) - kept
            device.advance(64)  # it learns what was released
        assert device.queue(0, 0, buffers).value == queue.value
        with pytest.raises(SluiceError) as caught:
            device.queue(0, 0, buffers + 1)
        assert caught.value.errno == (errno.EINVAL if buffers == 2048 else errno.EBUSY)


@pytest.mark.parametrize(("lanes", "queues"), [(2, 3), (3, 8), (7, 1)])
def test_each_queue_that_is_there_has_one_ring(lanes: int, queues: int) -> None:
    library, first = load(), 2  # SLUICE_RING_QUEUE
    library.sluice_transport_functional.restype = c.POINTER(Transport)
    handle = library.sluice_transport_functional(f"lanes={lanes},groups=1,entries=8,ternary=4,queues={queues}".encode())
    it, numbers = handle.contents, range(first, first + 8 * L.HOST_QUEUES)
    there = {first + lane * L.HOST_QUEUES + queue for lane in range(lanes) for queue in range(queues)}
    assert not any(it.ring_attach(handle, which, 4) for which in numbers), "too small for the largest packet"
    assert {which for which in numbers if it.ring_attach(handle, which, BUFFERS)} == there
    assert not any(it.ring_attach(handle, which, BUFFERS) for which in numbers)
    for which, count, result in ((0, 0, 0), (0, 1, -errno.EINVAL), (1, 0, -errno.EINVAL), (57, 0, 0), (58, 0, -errno.EINVAL)):
        assert it.ring_release(handle, which, count) == result, "nothing is given back that was not given over"
    it.close(handle)


def test_as_many_packets_can_be_sent_at_once_as_a_transmit_queue_says(device: Device) -> None:
    sent = [number.to_bytes(60, "big") for number in range(2049)]
    for _ in range(3):
        results = [device.library.sluice_poll_send(device.handle, packet, len(packet), 1, 0) for packet in sent]
        assert results == [0] * 2048 + [-errno.EAGAIN]
        while not device.library.sluice_device_idle(device.handle):
            device.advance(64)
        device.advance(64)
        assert lane_packets(device, 0) == sent[:2048]


def test_pause_holds_the_lanes_and_not_the_host(device: Device) -> None:
    device.call("sluice_device_pause")
    assert device.lane_send(0, bytes(60))
    device.send(b"\1" * 60, 0b101)
    device.advance(100)
    assert (host_packets(device), lane_packets(device, 0), lane_packets(device, 2)) == ([], [b"\1" * 60], [b"\1" * 60])
    assert device.call("sluice_device_drained") == 1 and not device.library.sluice_device_idle(device.handle)
    device.call("sluice_device_resume")
    device.settle()
    assert [one.data for one in host_packets(device)] == [bytes(60)]


def test_a_template_that_is_not_there_is_an_error_of_the_lane(device: Device) -> None:
    flows = everything(device, Action(L.ACTION_INSERT_RAW, 9), Action(L.ACTION_REPLICATE, 0b110))
    assert run(device, {0: [bytes(range(60))]})[1] == {0: [], 1: [], 2: []}
    device.template(9, bytes(12) + b"\x88\xb5" + bytes(4))
    assert run(device, {0: [bytes(range(60))]})[1][2] == [bytes(12) + b"\x88\xb5" + bytes(4) + bytes(range(60))]
    assert [device.counters("lane", lane).tx_error for lane in range(3)] == [0, 1, 1]
    flows.close()


def test_joined_lanes_are_the_ends_of_a_cable() -> None:
    with Device({"lanes": 3}, transport="functional", options="join") as device:
        draw = random.Random(SEED)
        sent = {lane: [noise(draw, draw.choice([14, 60, 1500, 9216])) for _ in range(60)] for lane in range(3)}
        for at in range(60):
            for lane in range(3):
                device.send(sent[lane][at], 1 << lane)
        device.settle()
        host = host_packets(device)
        for lane, end in ((0, 1), (1, 0), (2, 2)):
            assert [one.data for one in host if one.ingress_port == end] == sent[lane]
            assert lane_packets(device, lane) == []
            assert device.counters("lane", lane).tx_packets == device.counters("lane", end).rx_packets == 60


def push(device: Device, kind: int, rule_id: int) -> None:
    words = L.Instruction(kind=kind, table_id=L.TABLE_TERNARY, rule_id=rule_id).pack()
    for at in range(0, len(words), 4):
        device.write(FLOW + L.OFU_REGISTERS_INSTRUCTION + at, int.from_bytes(words[at : at + 4], "little"))
    device.write(FLOW + L.OFU_REGISTERS_PUSH, 0)


def test_answers_that_nobody_reads_stop_the_instructions_and_lose_none(device: Device) -> None:
    for n in range(48):  # 32 answers, 16 instructions
        push(device, L.INSTRUCTION_DELETE, n)
    with pytest.raises(SluiceError) as refused:
        push(device, L.INSTRUCTION_DELETE, 48)
    assert refused.value.errno == errno.EFAULT
    assert device.read(FLOW + L.OFU_REGISTERS_STATUS) == 1 | 32 << 16
    answers = []
    while device.read(FLOW + L.OFU_REGISTERS_STATUS) >> 16:
        with pytest.raises(SluiceError):
            device.write(FLOW + L.OFU_REGISTERS_REMOVE, 1 << 30)
        low, high = (device.read(FLOW + L.OFU_REGISTERS_RESPONSE + at) for at in (0, 4))
        answers.append(L.Response.from_int(high << 32 | low))
    assert [answer.rule_id for answer in answers] == list(range(48))
    assert [answer.status for answer in answers] == [2] * 4 + [22] * 44, "used rule ids first, then none"
    assert device.read(FLOW + L.OFU_REGISTERS_RESPONSE) == 0


def test_counters_of_a_rule_are_read_through_the_window(device: Device) -> None:
    flows = everything(device, Action(L.ACTION_DROP))
    device.call("sluice_device_set_tick", c.c_uint32(77))
    run(device, {0: [bytes(60), bytes(100)]})
    counters = flows.rules.counters(0)
    assert (counters.packets, counters.bytes, counters.last_hit) == (2, 160, 77)
    assert device.counters("graph").drop_rule == 2
    flows.close()


def test_the_fence_holds_a_flow_for_its_own_lane_only(device: Device) -> None:
    device.call("sluice_fence_set", 1, c.c_uint32(1 << 30))
    packet = bytes(12) + b"\x88\xb5" + bytes(60)
    assert len(run(device, {0: [packet]})[0]) == 1, "to the host, and nobody says that it was handled"
    flows = everything(device, Action(L.ACTION_OUTPUT, 2))
    for lane, held in ((1, 0), (0, 1), (1, 0)):
        host, out = run(device, {lane: [packet]})
        assert (len(host), len(out[2])) == (held, 1 - held), lane
    flows.close()


@pytest.mark.parametrize("fenced", [False, True])
def test_no_rule_matches_a_packet_without_a_key_or_while_the_table_is_off(device: Device, fenced: bool) -> None:
    device.call("sluice_fence_set", int(fenced), c.c_uint32(1 << 30))
    flows = everything(device, Action(L.ACTION_OUTPUT, 2))
    snap = bytes(12) + b"\x00\x32\xaa\xaa\x03\x00\x00\x00\x08\x00" + bytes(60)
    packet = bytes(12) + b"\x88\xb5" + bytes(60)
    for sent, is_on, hits in ((packet, 1, 1), (snap, 1, 0), (packet, 0, 0), (snap, 0, 0)):
        device.write(FLOW + L.OFU_REGISTERS_CONTROL, is_on)
        host, out = run(device, {0: [sent]})
        assert (len(host), len(out[2])) == (1 - hits, hits), (sent[12:14], is_on)
    assert flows.rules.counters(0).packets == 1
    flows.close()


def test_a_batch_of_accesses_ends_at_the_first_that_fails_and_takes_as_long_as_one_by_one() -> None:
    library = load()
    library.sluice_transport_functional.restype = c.POINTER(Transport)
    handle = library.sluice_transport_functional(b"lanes=2,groups=1,entries=8,ternary=4")
    it, done, index = handle.contents, c.c_uint(), FLOW + L.FLOW_REGISTERS_OPERAND_INDEX
    batch = (Access * 4)((index, 3, False), (index, 0, True), (index, L.FLOW_OPERANDS, False), (index, 5, False))
    assert it.reg_batch(handle, batch, 4, c.byref(done)) == -errno.EFAULT and done.value == 2
    assert batch[1].value == 3 and it.cycles(handle) == 4
    assert it.reg_batch(handle, batch, 2, c.byref(done)) == 0 and done.value == 2 and it.cycles(handle) == 6
    value = c.c_uint32()
    assert it.reg_read(handle, index, c.byref(value)) == 0 and value.value == 3, "what stands behind the failure is not done"
    it.close(handle)


BUFFERS = 8


def buffer(index: int, data: bytes, **fields: int) -> bytes:
    """A self-described buffer as the host writes it."""
    right = {"address": index % BUFFERS * L.BUFFER_SIZE, "valid": index // BUFFERS + 1, "buffer_length": len(data)}
    meta = L.BufferMeta(is_soft=1, **{"length": len(data), **right, **fields})
    return meta.pack() + bytes(L.BUFFER_KEY_SIZE) + data


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.binary(min_size=16, max_size=16), st.integers(0, 9999), st.binary(max_size=46)), min_size=8, max_size=8),
    st.lists(st.integers(1, 9), max_size=12),
    st.lists(st.tuples(st.booleans(), st.integers(0, 6 * L.WINDOW_SIZE), st.integers(0, 0xFFFFFFFF)), max_size=40),
)
def test_garbage_in_rings_and_registers_changes_nothing_for_what_comes_after(
    heads: list[tuple[bytes, int, bytes]], submits: list[int], accesses: list[tuple[bool, int, int]]
) -> None:
    library = load()
    library.sluice_transport_functional.restype = c.POINTER(Transport)
    handle = library.sluice_transport_functional(b"lanes=2,groups=1,entries=8,ternary=4")
    it, value, out = handle.contents, c.c_uint32(), c.create_string_buffer(9999)
    rings = [it.ring_attach(handle, which, BUFFERS) for which in (0, 1)]
    assert it.ring_attach(handle, 0, 4) is None, "too small for the largest packet"
    for at, (start, length, end) in enumerate(heads):
        c.memmove(rings[1] + at * L.BUFFER_SIZE, start + (1).to_bytes(4, "little") + length.to_bytes(2, "little") + end, 68)
    for write, at, what in accesses:
        status = it.reg_write(handle, at, what) if write else it.reg_read(handle, at, c.byref(value))
        assert status in (0, -errno.EFAULT)
    for count in submits:
        assert it.ring_submit(handle, count) in ((0,) if count <= BUFFERS else (-errno.EINVAL,))
        it.advance(handle, 1 << 31)
    assert it.ring_release(handle, 0, 9) == -errno.EINVAL
    assert it.reg_write(handle, L.SHELL_REGISTERS_CONTROL, 1) == 0
    it.advance(handle, 1 << 31)
    while it.lane_receive(handle, 1, out, len(out), None) >= 0:
        pass
    sent = it.ring_sent(handle)
    whole = buffer(sent, b"good" * 15, egress_mask=2)
    c.memmove(rings[1] + sent % BUFFERS * L.BUFFER_SIZE, whole, len(whole))
    assert it.ring_submit(handle, 1) == 0 and it.lane_send(handle, 0, b"good" * 15, 60, 0) == 0
    it.advance(handle, 1)
    assert it.lane_receive(handle, 1, out, len(out), None) == 60 and out.raw[:60] == b"good" * 15
    assert c.string_at(rings[0], 128 + 60)[128:] == b"good" * 15 and it.idle(handle)
    it.close(handle)


WRONG = ({"address": 64}, {"next": L.BUFFER_SIZE}, {"valid": 2}, {"valid": 0}, {"buffer_length": 59}, {"address": 1 << 40})


def test_a_buffer_that_is_not_what_the_ring_says_is_counted_and_not_sent() -> None:
    library = load()
    library.sluice_transport_functional.restype = c.POINTER(Transport)
    handle = library.sluice_transport_functional(b"lanes=2,groups=1,entries=8,ternary=4")
    it, value, out = handle.contents, c.c_uint32(), c.create_string_buffer(9999)
    (ring,) = (it.ring_attach(handle, which, BUFFERS) for which in (1,))
    for index, wrong in enumerate((*WRONG, {})):
        whole = buffer(index, b"good" * 15, egress_mask=2, **wrong)
        c.memmove(ring + index * L.BUFFER_SIZE, whole, len(whole))
    assert it.ring_submit(handle, len(WRONG) + 1) == 0
    it.advance(handle, 100)
    place = next(at for at in range(64) if L.HostCounters(from_host_invalid=1).pack()[at])
    assert it.reg_read(handle, L.SHELL_REGISTERS_HOST_COUNTERS + place, c.byref(value)) == 0 and value.value == len(WRONG)
    assert it.lane_receive(handle, 1, out, len(out), None) == 60
    assert it.lane_receive(handle, 1, out, len(out), None) == -errno.EAGAIN
    it.close(handle)


class Functional(c.Structure):
    """struct functional, up to the buffer at its end."""

    _fields_ = fields("functional", {"out": c.c_uint8 * 0})


@pytest.mark.parametrize(("turn", "valid", "behind"), [(0, 1, 2), (2**32 - 2, 2**32 - 1, 1), (2**32 - 1, 1, 1), (2**32, 1, 2)])
def test_buffers_have_the_number_of_the_rings_turn_which_is_never_0(turn: int, valid: int, behind: int) -> None:
    """A packet of one buffer and one of three, of which the last is in the next turn; and one from the host."""
    library, first = load(), turn * BUFFERS + BUFFERS - 3
    library.sluice_transport_functional.restype = c.POINTER(Transport)
    handle = library.sluice_transport_functional(b"lanes=2,groups=1,entries=8,ternary=4")
    it, out = handle.contents, c.create_string_buffer(9999)
    rings = [it.ring_attach(handle, which, BUFFERS) for which in (0, 1)]
    for ring in c.cast(handle, c.POINTER(Functional)).contents.ring[:2]:
        ring.filled = ring.freed = first
    for data in (b"good" * 15, b"long" * 1000):
        assert it.lane_send(handle, 0, data, len(data), 0) == 0
        it.advance(handle, 1)
    heads = [L.BufferMeta.unpack(c.string_at(rings[0] + n * L.BUFFER_SIZE, L.BUFFER_META_SIZE)) for n in range(BUFFERS)]
    assert [head.valid for head in heads] == [behind, 0, 0, 0, 0, valid, valid, valid]
    assert [head.length for head in heads] == [4000, 0, 0, 0, 0, 60, 4000, 4000]
    assert [head.buffer_length for head in heads] == [4000 - 2 * L.BUFFER_DATA_SIZE, 0, 0, 0, 0, 60, *[L.BUFFER_DATA_SIZE] * 2]
    assert [head.next for head in heads] == [0, 0, 0, 0, 0, 0, 7 * L.BUFFER_SIZE, 0]
    assert [head.address for head in heads] == [0, 0, 0, 0, 0, *(n * L.BUFFER_SIZE for n in (5, 6, 7))]
    whole = buffer(first, b"good" * 15, egress_mask=2, valid=valid)
    c.memmove(rings[1] + (BUFFERS - 3) * L.BUFFER_SIZE, whole, len(whole))
    assert it.ring_submit(handle, 1) == 0
    it.advance(handle, 1)
    assert it.lane_receive(handle, 1, out, len(out), None) == 60 and out.raw[:60] == b"good" * 15
    it.close(handle)


def test_a_packet_from_the_host_has_a_size_and_a_lane_and_all_of_its_buffers() -> None:
    """A packet of three buffers with one thing wrong, or with nothing; and behind it one that is too short and one that is not."""
    data = bytes(range(250)) * 16
    parts = [data[at : at + L.BUFFER_DATA_SIZE] for at in range(0, len(data), L.BUFFER_DATA_SIZE)]
    chain = [{"next": L.BUFFER_SIZE}, {"next": 2 * L.BUFFER_SIZE}, {}]
    wrong = [(at, change) for at in (0, 1, 2) for change in ({"valid": 9}, {"next": 5 * L.BUFFER_SIZE}, {"address": 64})]
    wrong += [(0, {"buffer_length": 1919}), (1, {"buffer_length": 1919}), (2, {"buffer_length": 161}), (0, {"length": 3841 - 1920})]
    wrong += [(0, {"egress_mask": 0}), (0, {"egress_mask": 0b11111100}), (0, {"length": 0}), (0, {"length": 5761})]
    library = load()
    library.sluice_transport_functional.restype = c.POINTER(Transport)
    for at, change in [*wrong, (0, {}), (0, {"egress_mask": 0b11111101})]:
        handle = library.sluice_transport_functional(b"lanes=2,groups=1,entries=8,ternary=4")
        it, out = handle.contents, c.create_string_buffer(9999)
        ring = it.ring_attach(handle, 1, BUFFERS)
        for n, part in enumerate(parts):
            fields = {"egress_mask": 1, "length": len(data), **chain[n], **(change if n == at else {})}
            whole = buffer(n, part, **fields)
            c.memmove(ring + n * L.BUFFER_SIZE, whole, len(whole))
        assert it.ring_submit(handle, 3) == 0
        it.advance(handle, 10)
        is_right = (at, change) not in wrong
        assert it.lane_receive(handle, 0, out, len(out), None) == (len(data) if is_right else -errno.EAGAIN), change
        assert out.raw[: len(data)] == data or not is_right
        assert it.lane_receive(handle, 1, out, len(out), None) == -errno.EAGAIN
        for n, size in enumerate((13, 14), it.ring_sent(handle)):
            whole = buffer(n, data[:size], egress_mask=1)
            c.memmove(ring + n % BUFFERS * L.BUFFER_SIZE, whole, len(whole))
        assert it.ring_submit(handle, 2) == 0
        it.advance(handle, 10)
        sizes = [it.lane_receive(handle, 0, out, len(out), None) for _ in range(2)]
        assert sizes == [14, -errno.EAGAIN] and out.raw[:14] == data[:14]
        it.close(handle)


def test_lanes_and_sizes_that_cannot_be_are_refused() -> None:
    library = load()
    library.sluice_transport_functional.restype = c.POINTER(Transport)
    handle = library.sluice_transport_functional(b"lanes=2,groups=1,entries=8,ternary=4")
    it, frame = handle.contents, c.create_string_buffer(65536)
    for lane, size in ((2, 60), (255, 60), (0, 0), (1, 65536)):
        assert it.lane_send(handle, lane, frame, size, 0) == -errno.EINVAL
    for lane in (2, 255):
        assert it.lane_receive(handle, lane, frame, len(frame), None) == -errno.EINVAL
    assert it.lane_send(handle, 1, frame, 65535, 0) == 0 and it.lane_receive(handle, 1, frame, len(frame), None) == -errno.EAGAIN
    it.close(handle)


def test_a_lane_that_is_full_says_to_try_again() -> None:
    library = load()
    library.sluice_transport_functional.restype = c.POINTER(Transport)
    handle = library.sluice_transport_functional(b"lanes=2,groups=1,entries=8,ternary=4")
    it, frame = handle.contents, bytes(60)
    results = [it.lane_send(handle, 0, frame, len(frame), 0) for _ in range(17)]
    assert results == [0] * 16 + [-errno.EAGAIN]
    assert it.lane_send(handle, 1, frame, len(frame), 0) == 0
    it.close(handle)


SANITIZE = ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", '-DSLUICE_DEVICE_PROGRAM=""']


@pytest.mark.fuzz
def test_whatever_the_host_does_it_stays_in_its_memory_and_carries_packets_afterwards(tmp_path: Path) -> None:
    random.seed(SEED)
    packets = [packet for packet in [*well_formed(), *malformed(), *truncated(), bytes(9217), bytes(9216)] if packet]
    (tmp_path / "packets").write_bytes(b"".join(len(packet).to_bytes(4, "little") + packet for packet in packets))
    sources = [*c_files(LIBSLUICE), HOST / "functional" / "testing" / "fuzz_functional.c"]
    program = compile_c("fuzz-functional-{}", SANITIZE, sources)
    for seed in range(4):
        command = [str(program), str(tmp_path / "packets"), str(seed), str(ROUNDS)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100 + 60 * MINUTES)
        assert done.returncode == 0, done.stdout + done.stderr[-4000:]
        assert min(json.loads(done.stdout).values()) > 20, done.stdout
