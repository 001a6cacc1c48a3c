# SPDX-License-Identifier: Apache-2.0
"""What the library makes of a device's registers: which it reads and writes, what each answer means, and which rules it does
not send at all. A plain dictionary stands in place of the device's registers."""

from __future__ import annotations

import ctypes as c
import errno
from collections.abc import Iterator, Sequence

import pytest
import sluice_layouts as L

from host.lib.testing.devices import BATCH, IDLE, READ, SENT, WRITE, transport_of
from host.python.device import CAction, CActionSet, CEdit, Device, SluiceError
from host.python.structs import mirror

SIZE = {"lanes": 3, "host_queues": 2}
ALL_ONES = 0xFFFFFFFF
PAUSE, LOSSLESS = 2, 4  # bits of CONTROL
IDLE_BIT = 2  # of STATUS


class Registers:
    """The registers of an open device as a dictionary, what was written in its order, and an error that each access gets."""

    def __init__(self, device: Device) -> None:
        self.values: dict[int, int] = {L.SHELL_REGISTERS_MAGIC: L.DEVICE_MAGIC}
        self.written: list[tuple[int, int]] = []
        self.errors: dict[int, int] = {}
        it = self.transport = transport_of(device.handle)
        self._kept = (READ(self._on_read), WRITE(self._on_write))
        it.reg_read, it.reg_write, it.reg_batch = *self._kept, BATCH()

    def _on_read(self, transport: int, address: int, value: c._Pointer[c.c_uint32]) -> int:
        value[0] = self.values.get(address, 0)
        return self.errors.get(address, 0)

    def _on_write(self, transport: int, address: int, value: int) -> int:
        if address not in self.errors:
            self.written.append((address, value))
        return self.errors.get(address, 0)


@pytest.fixture
def device() -> Iterator[Device]:
    with Device(SIZE, transport="functional") as opened:
        yield opened


@pytest.fixture
def registers(device: Device) -> Registers:
    return Registers(device)


def text_of(device: Device) -> str:
    text: bytes = device.library.sluice_error_text()
    return text.decode()


@pytest.mark.parametrize(
    ("error", "result", "says"),
    [
        (errno.EFAULT, errno.EFAULT, "register 0x44: the device refuses a {}"),
        (errno.ETIMEDOUT, errno.ENODEV, "register 0x44: the device does not answer a {}"),
        (errno.ENODEV, errno.ENODEV, "as the transport says"),
    ],
)
def test_says_what_became_of_an_access(device: Device, registers: Registers, error: int, result: int, says: str) -> None:
    library, value = device.library, c.c_uint32()
    registers.errors[0x44] = -error
    for verb in ("read", "write"):
        library.sluice_fail(0, b"as the transport says")
        argument = c.byref(value) if verb == "read" else c.c_uint32(1)
        assert getattr(library, f"sluice_register_{verb}")(device.handle, 0x44, argument) == -result
        assert text_of(device) == says.format(verb)


def test_all_ones_are_a_value_as_long_as_the_magic_is_there(device: Device, registers: Registers) -> None:
    registers.values[0x44] = ALL_ONES
    assert device.read(0x44) == ALL_ONES
    registers.values[L.SHELL_REGISTERS_MAGIC] = ALL_ONES
    with pytest.raises(SluiceError, match="register 0x44 reads 0xffffffff and the magic 0xffffffff: the device is gone") as gone:
        device.read(0x44)
    assert gone.value.errno == errno.ENODEV
    registers.values[0x44] = ALL_ONES - 1
    assert device.read(0x44) == ALL_ONES - 1
    registers.values[0x44] = ALL_ONES
    registers.errors[L.SHELL_REGISTERS_MAGIC] = -errno.EFAULT
    with pytest.raises(SluiceError, match="refuses a read") as refused:
        device.read(0x44)
    assert refused.value.errno == errno.EFAULT


def test_a_number_out_of_a_register_may_be_as_large_as_the_library_takes(device: Device) -> None:
    check = device.library.sluice_check_fact
    assert [check(0x44, value, 7) for value in (0, 7, 8, ALL_ONES)] == [0, 0, -errno.EPROTO, -errno.EPROTO]
    assert text_of(device) == "register 0x44 reads 4294967295; the most is 7"


def test_each_status_of_a_response_is_an_error_of_its_own_or_none_that_there_is(device: Device) -> None:
    results = {}
    for status in range(256):
        response = mirror("sluice_response")(rule_id=9, status=status)
        results[status] = device.library.sluice_check_response(c.byref(response))
    known = {int(status): -int(status) for status in L.Status}
    assert set(known.values()) == {0, -errno.ENOENT, -errno.EEXIST, -errno.EINVAL, -errno.ENOSPC}
    assert results == {status: known.get(status, -errno.EPROTO) for status in range(256)}
    assert text_of(device) == "rule 9: the device answers 255, which means nothing"


def checked(device: Device, slots: Sequence[tuple[int, int]], edits: Sequence[int] = ()) -> int:
    """What the library says of an action set with edits for these slots."""
    actions = CActionSet()
    for slot, (opcode, operand) in enumerate(slots):
        actions.slots[slot] = CAction(opcode, operand)
    given = (CEdit * len(edits))(*(CEdit(slot=slot) for slot in edits))
    return int(device.library.sluice_actions_check(device.handle, c.byref(actions), given, len(edits)))


LONG, SHORT, OUTPUT, REPLICATE = L.ACTION_SET_LONG, L.ACTION_SET, L.ACTION_OUTPUT, L.ACTION_REPLICATE
LAST_FIELD = L.FIELD_TUNNEL_ID


@pytest.mark.parametrize(
    ("slots", "edits"),
    [
        ([(0, 0), (0, 1)] * 4, ()),
        ([(LONG, 0)] * 8, range(8)),
        ([(0, 0)] * 7 + [(LONG, LAST_FIELD << 20)], [7]),
        ([(SHORT, LAST_FIELD << 20 | 0xFFFF)], ()),
        ([(L.ACTION_INSERT_RAW, 255)], ()),
        ([(L.ACTION_MARK, 0xFFFFFF)], ()),
        ([(OUTPUT, 2), (OUTPUT, L.HOST_PORT)], ()),
        ([(REPLICATE, 0), (REPLICATE, 1 << 2), (REPLICATE, 1 << L.HOST_PORT)], ()),
    ],
)
def test_takes_every_action_that_the_device_has(device: Device, slots: list[tuple[int, int]], edits: Sequence[int]) -> None:
    assert checked(device, slots, edits) == 0, text_of(device)


@pytest.mark.parametrize(
    ("slots", "edits", "says"),
    [
        ([(LONG, 0)] * 8, [0, 1, 2, 3, 4, 5, 6, 7, 0], "9 edits; an action set has 8 slots"),
        ([(LONG, 0)] * 8, range(7), "slot 7 is SET_LONG and has no edit"),
        ([(LONG, 0)], [0, 0], "edit 1 is for slot 0, which is no SET_LONG of its own"),
        ([(LONG, 0)], [8], "edit 0 is for slot 8, which is no SET_LONG of its own"),
        ([(LONG, 0), (SHORT, 0)], [0, 1], "edit 1 is for slot 1, which is no SET_LONG of its own"),
        ([(LONG, 0)], (), "slot 0 is SET_LONG and has no edit"),
        ([(0, 0), (L.ACTION_INSERT_RAW + 1, 0)], (), "slot 1: opcode 17, operand 0"),
        ([(L.ACTION_MARK, 1 << 24)], (), "slot 0: opcode 10, operand 0x1000000"),
        ([(SHORT, LAST_FIELD + 1 << 20)], (), "slot 0 sets field 12; there are 12"),
        ([(LONG, LAST_FIELD + 1 << 20)], [0], "slot 0 sets field 12; there are 12"),
        ([(OUTPUT, 3)], (), "slot 0: output to lane 3; the device has 3"),
        ([(OUTPUT, L.HOST_PORT + 1)], (), "slot 0: output to lane 8; the device has 3"),
        ([(REPLICATE, 1 << 3)], (), "slot 0: port mask 0x8 names no lane of 3"),
    ],
)
def test_refuses_what_no_device_can_do(device: Device, slots: list[tuple[int, int]], edits: Sequence[int], says: str) -> None:
    assert (checked(device, slots, edits), text_of(device)) == (-errno.EINVAL, says)


def test_pause_and_lossless_are_bits_of_one_register_that_stay(device: Device, registers: Registers) -> None:
    library, handle, control = device.library, device.handle, L.SHELL_REGISTERS_CONTROL
    assert library.sluice_device_pause(handle) == library.sluice_device_set_lossless(handle, 1) == 0
    registers.errors[control] = -errno.EFAULT
    assert library.sluice_device_resume(handle) == -errno.EFAULT
    del registers.errors[control]
    for lossless in (1, 0, 1):
        assert library.sluice_device_set_lossless(handle, lossless) == 0
    assert library.sluice_device_resume(handle) == 0
    values = [PAUSE, PAUSE | LOSSLESS, PAUSE | LOSSLESS, PAUSE, PAUSE | LOSSLESS, LOSSLESS]
    assert registers.written == [(control, value) for value in values]


def test_is_drained_when_the_ring_is_taken_and_the_device_says_that_it_is_idle(device: Device, registers: Registers) -> None:
    sent = 0
    ring_sent = SENT(lambda transport: sent)
    registers.transport.ring_sent = ring_sent
    for status, sent, drained in ((IDLE_BIT, 0, 1), (ALL_ONES - IDLE_BIT, 0, 0), (IDLE_BIT, 1, 0), (ALL_ONES, 0, 1)):
        registers.values[L.SHELL_REGISTERS_STATUS] = status
        assert device.library.sluice_device_drained(device.handle) == drained, (status, sent)


def test_a_device_whose_transport_cannot_tell_says_itself_whether_it_is_idle(device: Device, registers: Registers) -> None:
    registers.transport.idle = IDLE()
    for status, idle in ((0, 0), (IDLE_BIT, 1), (ALL_ONES - IDLE_BIT, 0)):
        registers.values[L.SHELL_REGISTERS_STATUS] = status
        assert device.library.sluice_device_idle(device.handle) == idle, status
    registers.values[L.SHELL_REGISTERS_STATUS] = IDLE_BIT
    registers.errors[L.SHELL_REGISTERS_STATUS] = -errno.EFAULT
    assert device.library.sluice_device_idle(device.handle) == 0


def test_the_tick_is_set_by_the_host_or_runs(device: Device, registers: Registers) -> None:
    assert device.library.sluice_device_set_tick(device.handle, 77) == 0
    assert device.library.sluice_device_run_tick(device.handle) == 0
    source = L.SHELL_REGISTERS_TICK_SOURCE
    assert registers.written == [(source, 0), (L.SHELL_REGISTERS_TICK, 77), (source, 1)]


def test_counters_are_words_of_their_own_registers(device: Device, registers: Registers) -> None:
    library, handle = device.library, device.handle
    words = {
        L.SHELL_REGISTERS_LANE_COUNTERS + 64 * 2: (L.LaneCounters, lambda out: library.sluice_lane_counters_read(handle, 2, out)),
        L.SHELL_REGISTERS_HOST_COUNTERS: (L.HostCounters, lambda out: library.sluice_host_counters_read(handle, out)),
        L.SHELL_REGISTERS_GRAPH_COUNTERS: (L.GraphCounters, lambda out: library.sluice_graph_counters_read(handle, out)),
    }
    for base, (layout, read) in words.items():
        count = layout.BITS // 32
        registers.values.update({base + 4 * n: 0x04030201 * (n + 1) for n in range(count)})
        out = c.create_string_buffer(b"\xee" * (4 * count + 4), 4 * count + 4)
        assert read(out) == 0
        expected = b"".join((0x04030201 * (n + 1)).to_bytes(4, "little") for n in range(count))
        assert out.raw == expected + b"\xee" * 4
        registers.errors[base] = -errno.EFAULT
        out = c.create_string_buffer(b"\xee" * 4 * count, 4 * count)
        assert read(out) == -errno.EFAULT and out.raw == b"\xee" * 4 * count
    for lane in (3, ALL_ONES):
        assert library.sluice_lane_counters_read(handle, c.c_uint32(lane), out) == -errno.EINVAL
    assert text_of(device) == "lane 4294967295: the device has 3"
