# SPDX-License-Identifier: Apache-2.0
"""A device that refuses one register access: the call that made it says so, whichever access of it that was, and leaves the
device's lock. And the mailbox of signals, register by register."""

from __future__ import annotations

import ctypes as c
import errno
from collections.abc import Callable, Iterator, Sequence

import pytest
import sluice_layouts as L

from host.lib.testing.devices import READ, SENT, WRITE, Refusing, Stuck, build_failing, transport_of
from host.python.device import Action, CInstruction, CPacket, Device, instruction, load, prefix, set_field
from host.python.flow_table import Counters, Flows

SIZE = {"lanes": 3, "flow_groups": 2, "flow_group_entries": 8, "flow_ternary": 4, "host_queues": 2}
MASK = L.FlowKey(ip_dst=0xFFFFFFFF).to_int()
EDITS, DRAIN = 256, 256  # entries of edit data; cycles until no packet is under way with what was deleted
LPM = c.c_uint16(L.ELEMENT_LPM)


@pytest.fixture
def device() -> Iterator[Device]:
    with Device(SIZE, transport="functional") as opened:
        yield opened


def shell_calls(device: Device) -> dict[str, tuple[Callable[[], int], int]]:
    """Calls that any device has, and how many accesses each makes."""
    library, handle, memory, value = device.library, device.handle, (c.c_uint8 * 4096)(), c.c_uint32()
    counters = L.LaneCounters.BITS // 32
    calls: list[tuple[str, Sequence[object], int]] = [
        ("sluice_register_read", (c.c_uint32(0), c.byref(value)), 1),
        ("sluice_register_write", (c.c_uint32(L.SHELL_REGISTERS_TICK), c.c_uint32(7)), 1),
        ("sluice_lane_counters_read", (1, memory), counters),
        ("sluice_host_counters_read", (memory,), counters),
        ("sluice_graph_counters_read", (memory,), counters),
        ("sluice_device_set_lossless", (1,), 1),
        ("sluice_device_pause", (), 1),
        ("sluice_device_resume", (), 1),
        ("sluice_device_drained", (), 1),
        ("sluice_device_set_tick", (c.c_uint32(5),), 2),
        ("sluice_device_run_tick", (), 1),
        ("sluice_spread_set_kinds", (1, c.c_uint8(1)), 2),
        ("sluice_spread_set_key", (1, bytes(range(L.RSS_KEY_BITS // 8))), 2 * L.HOST_REGISTERS_KEY_COUNT),
        ("sluice_spread_set_entry", (1, 0, 3, 1), 4),
        ("sluice_template_set", (c.c_uint32(1), bytes(20), 20), 8),
        ("sluice_fence_set", (1, c.c_uint32(1000)), 2),
        ("sluice_fence_read", (c.byref(value), c.byref(value)), 2),
    ]

    def bound(name: str, arguments: Sequence[object]) -> Callable[[], int]:
        return lambda: int(getattr(library, name)(handle, *arguments))

    return {name: (bound(name, arguments), least) for name, arguments, least in calls}


def test_each_call_says_that_an_access_of_it_was_refused(device: Device) -> None:
    refusing = Refusing(device.library, device.handle)
    for name, (call, accesses) in shell_calls(device).items():
        assert refusing.each(name, call) == accesses, name


def test_each_call_about_packets_leaves_the_lock(device: Device) -> None:
    refusing, library, handle = Refusing(device.library, device.handle), device.library, device.handle
    calls: dict[str, Callable[[], object]] = {
        "sluice_lane_send": lambda: device.lane_send(1, bytes(60)),
        "sluice_device_advance": lambda: device.advance(500),
        "sluice_packet_receive": lambda: library.sluice_packet_receive(handle, c.byref(CPacket())),
        "sluice_packet_release": lambda: library.sluice_packet_release(handle),
        "sluice_poll_receive": lambda: library.sluice_poll_receive(handle, c.byref(CPacket()), 1),
        "sluice_poll_release": lambda: library.sluice_poll_release(handle),
        "sluice_packet_send": lambda: device.send(bytes(60), 1),
        "sluice_poll_send": lambda: library.sluice_poll_send(handle, bytes(60), 60, 1, 0),
        "sluice_device_idle": lambda: device.settle(),
        "sluice_lane_receive": lambda: device.lane_receive(0),
    }
    for name, call in calls.items():
        call()
        assert refusing.is_free(), f"{name} keeps the lock"


FLOW_CHANGES: dict[str, Callable[[Flows], int]] = {
    "add": lambda flows: flows.add(0, MASK, 0, [set_field(L.FIELD_ETH_DST, 5), Action(L.ACTION_OUTPUT, 1)]),
    "counters": lambda flows: int(load().sluice_flows_counters(flows.handle, 0, c.byref(Counters()))),
    "delete": lambda flows: flows.delete(0),
}


@pytest.mark.parametrize("has_batches", [True, False])
@pytest.mark.parametrize(("name", "accesses"), [("add", 45), ("counters", 5), ("delete", 1)])
def test_each_change_of_the_flow_table_says_that_an_access_of_it_was_refused(name: str, accesses: int, has_batches: bool) -> None:
    for number in range(1000):
        with Device(SIZE, transport="functional") as device:
            refusing, flows = Refusing(device.library, device.handle, has_batches), Flows(device)
            assert name == "add" or flows.add(0, MASK, 0, [Action(L.ACTION_OUTPUT, 1)]) == 0
            refused = refusing.once(name, lambda flows=flows: FLOW_CHANGES[name](flows), number)
            flows.close()
        if not refused:
            break
    assert number == accesses


def test_opening_the_flow_table_says_that_an_access_of_it_was_refused(device: Device) -> None:
    refusing, opened = Refusing(device.library, device.handle), c.c_void_p()
    assert refusing.each("open", lambda: device.library.sluice_flows_open(device.handle, c.byref(opened))) > 20
    device.library.sluice_flows_close(opened)


def test_edit_data_whose_release_has_no_time_waits_as_long_as_if_it_were_released_just_now() -> None:
    """Each entry comes and goes once. The device refuses to say when the last one went; then all are needed."""
    with Device({**SIZE, "flow_group_entries": EDITS}, transport="functional") as device:
        refusing, flows = Refusing(device.library, device.handle), Flows(device)
        for entry in range(EDITS):
            assert flows.add(0, MASK, 0, [set_field(L.FIELD_ETH_DST, entry)]) >= 0
            refusing.arm(1 if entry == EDITS - 1 else -1)  # behind the deletion itself
            assert flows.delete(0) == 0
        assert refusing.happened
        for entry in range(EDITS):
            before = device.cycles
            assert flows.add(L.FlowKey(ip_dst=entry).to_int(), MASK, 0, [set_field(L.FIELD_ETH_DST, 1000 + entry)]) >= 0, entry
            took = device.cycles - before
            assert (took > DRAIN) == (entry == EDITS - 1) and took < 2 * DRAIN, (entry, took)
        flows.close()


def test_every_access_hears_what_the_device_has_taken_of_the_ring_from_the_host(device: Device) -> None:
    library, handle, full, sent = device.library, device.handle, 2048, [0]
    heard = SENT(lambda transport: sent[0])
    transport_of(handle).ring_sent = heard
    flows = Flows(device)
    assert [library.sluice_poll_send(handle, bytes(60), 60, 1, 0) for _ in range(full + 1)] == [0] * full + [-errno.EAGAIN]
    accesses: list[Callable[[], object]] = [
        lambda: device.read(L.SHELL_REGISTERS_MAGIC),
        lambda: device.write(L.SHELL_REGISTERS_TICK, 1),
        lambda: flows.add(0, MASK, 0, [Action(L.ACTION_OUTPUT, 1)]),
        lambda: device.advance(1),
    ]
    for access in accesses:
        sent[0] += 1
        access()
        assert [library.sluice_poll_send(handle, bytes(60), 60, 1, 0) for _ in range(2)] == [0, -errno.EAGAIN]
    flows.close()


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[c.CDLL, c.c_void_p]]:
    """The library and the device of failing_device.c, with each kind of window."""
    library, handle = load(), c.c_void_p()
    monkeypatch.setenv("FAILING_WINDOWS", "5")
    assert library.sluice_device_open(f"sim:lib={build_failing()}".encode(), c.byref(handle)) == 0, library.sluice_error_text()
    yield library, handle
    library.sluice_device_close(handle)


def test_each_change_of_a_rule_table_says_that_an_access_of_it_was_refused(failing: tuple[c.CDLL, c.c_void_p]) -> None:
    library, handle = failing
    refusing, counters = Refusing(library, handle), Counters()

    def change(what: CInstruction) -> Callable[[], int]:
        return lambda: int(library.sluice_rule_ops(handle, LPM, c.byref(what)))

    assert refusing.each("init", lambda: library.sluice_ofu_init(handle, LPM)) > 10
    long = set_field(L.FIELD_ETH_DST, 1 << 40)
    added = instruction(L.INSTRUCTION_POPULATE, 0, 3, actions=[long], **prefix(10 << 24, 8, 32))
    assert refusing.each("add", change(added)) > 10
    arguments = (handle, LPM, c.c_uint8(0), c.c_uint32(3), c.byref(counters))
    assert refusing.each("counters", lambda: library.sluice_rule_counters_read(*arguments)) == 5
    assert refusing.each("update", change(instruction(L.INSTRUCTION_UPDATE, 0, 3, **prefix(11 << 24, 8, 32)))) > 5
    assert refusing.each("delete", change(instruction(L.INSTRUCTION_DELETE, 0, 3))) > 3
    assert refusing.each("uninit", lambda: library.sluice_ofu_uninit(handle, LPM)) == 1


class Mailbox:
    """The registers of a compiled configuration's window (graph_registers), in place of those of a device: takes a signal and
    answers with its words backwards, `late` reads of the status later, behind what it has left of an earlier answer."""

    def __init__(self, handle: c.c_void_p, window: int, late: int, left: int) -> None:
        self.base, self.late, self.waits = window * L.WINDOW_SIZE, late, late
        self.sent: list[list[int]] = [[]]
        self.answer = [0xDEAD] * left
        it = transport_of(handle)
        self._kept = (READ(self._on_read), WRITE(self._on_write))
        it.reg_read, it.reg_write = self._kept

    def _status(self) -> int:
        self.waits -= 1
        if self.waits >= 0:
            return 0
        self.waits = self.late
        return 1 | (2 if self.answer else 0) | (4 if len(self.answer) == 1 else 0)

    def _on_read(self, transport: int, address: int, value: c._Pointer[c.c_uint32]) -> int:
        if address - self.base == L.GRAPH_REGISTERS_STATUS:
            value[0] = self._status()
            return 0
        assert address - self.base == L.GRAPH_REGISTERS_REPLY
        value[0] = self.answer.pop(0)
        return 0

    def _on_write(self, transport: int, address: int, value: int) -> int:
        self.sent[-1].append(value)
        if address - self.base == L.GRAPH_REGISTERS_SIGNAL_LAST:
            self.answer = self.sent[-1][::-1]
            self.sent.append([])
        else:
            assert address - self.base == L.GRAPH_REGISTERS_SIGNAL
        return 0


@pytest.mark.parametrize(("late", "left", "accesses"), [(0, 0, 5), (3, 0, 10), (0, 2, 5)])
def test_a_signal_is_sent_word_by_word_and_its_answer_read_to_the_end(
    failing: tuple[c.CDLL, c.c_void_p], late: int, left: int, accesses: int
) -> None:
    library, handle = failing
    mailbox = Mailbox(handle, 4, late, left)
    refusing, reply = Refusing(library, handle), (c.c_uint32 * 5)()
    words = [7, 0xFFFF0000, 0, 9, 1 << 31]
    for count in (1, 2, 5):
        given = (c.c_uint32 * 6)(*words[:count], 0xBAD)
        assert library.sluice_signal(handle, given, count, reply, 5) == count
        assert reply[:count] == words[:count][::-1] and mailbox.sent == [words[:count], []]
        mailbox.sent = [[]]
    for count, capacity in ((3, 2), (1, 0)):
        assert library.sluice_signal(handle, (c.c_uint32 * 3)(*words[:3]), count, reply, capacity) == -errno.ENOSPC
    assert library.sluice_signal(handle, given, 0, reply, 5) == -errno.EINVAL
    assert mailbox.sent == [words[:3], words[:1], []]
    assert refusing.each("signal", lambda: library.sluice_signal(handle, given, 1, reply, 5)) == accesses


POLLS = 100_000  # how often the library asks before it gives up
TAKES, WAITS, IS_LAST = 1, 2, 4  # bits of the mailbox's status


@pytest.mark.parametrize(
    ("status", "says", "statuses", "replies"),
    [
        (lambda n: 0, b"does not answer the signal", 1 + POLLS, 0),
        (lambda n: WAITS, b"answers without end", POLLS, POLLS),
        (lambda n: TAKES, b"does not answer the signal", 2 + POLLS, 0),
        (lambda n: TAKES | (WAITS if n > 1 else 0), b"answers without end", 2 + POLLS + 1, POLLS + 1),
        (lambda n: TAKES | IS_LAST | (WAITS if n > POLLS else 0), b"", 2 + POLLS, 1),
        (lambda n: 0 if n < POLLS else TAKES | WAITS | IS_LAST, b"", 2 + POLLS, 1),
    ],
    ids=[
        "never takes",
        "never ends before",
        "never answers",
        "never ends",
        "answers at the last moment",
        "takes at the last moment",
    ],
)
def test_a_configuration_that_never_answers_a_signal_is_an_error_and_no_hang(
    failing: tuple[c.CDLL, c.c_void_p], status: Callable[[int], int], says: bytes, statuses: int, replies: int
) -> None:
    library, handle = failing
    base, words = 4 * L.WINDOW_SIZE, (c.c_uint32 * 2)()
    at, reply = base + L.GRAPH_REGISTERS_STATUS, base + L.GRAPH_REGISTERS_REPLY
    stuck = Stuck(handle, {at: status, reply: lambda n: 7})
    result = library.sluice_signal(handle, words, 1, words, 2)
    assert result == (-errno.ETIMEDOUT if says else 1) and (not says or says in library.sluice_error_text())
    assert (stuck.reads[at], stuck.reads[reply]) == (statuses, replies)


def test_a_table_that_is_never_ready_is_an_error_and_no_hang(failing: tuple[c.CDLL, c.c_void_p]) -> None:
    library, handle = failing
    assert library.sluice_ofu_init(handle, LPM) == 0
    at = L.WINDOW_SIZE + L.OFU_REGISTERS_STATUS
    stuck = Stuck(handle, {at: lambda n: 0xFFFF_FFFE})
    assert library.sluice_ofu_init(handle, LPM) == -errno.ENODEV
    assert library.sluice_error_text() == b"OFU at %#x: its memories are never cleared" % L.WINDOW_SIZE
    assert (stuck.reads[at], stuck.written) == (POLLS, [])
    stuck.values = {at: lambda n: 0x1_0001 if n >= POLLS - 1 else 0}
    stuck.reads.clear()
    assert library.sluice_ofu_init(handle, LPM) == 0 and stuck.reads[at] > POLLS and stuck.written


class Table:
    """The LPM table of a device that answers each instruction with `status`, and how the library calls it."""

    def __init__(self, library: c.CDLL, handle: c.c_void_p) -> None:
        self.library, self.handle, self.status = library, handle, 0
        assert library.sluice_ofu_init(handle, LPM) == 0
        self.stuck = Stuck(handle, {L.WINDOW_SIZE + L.OFU_REGISTERS_RESPONSE: lambda n: self.status << 8})

    def change(self, kind: int, rule: int, value: int, status: int = 0, network: int | None = None) -> int:
        """An instruction for a rule of a network (the rule's number) that sets a field to a value."""
        self.status = status
        self.stuck.written.clear()
        where = prefix((rule if network is None else network) << 24, 8, 32)
        what = instruction(kind, 0, rule, actions=[set_field(L.FIELD_ETH_DST, value)], **where)
        return int(self.library.sluice_rule_ops(self.handle, LPM, c.byref(what)))

    def is_held(self, value: int) -> bool:
        """Whether a rule has the value: another one with it needs no entry of edit data of its own."""
        assert self.change(L.INSTRUCTION_POPULATE, 15, value) == 0
        took = L.WINDOW_SIZE + L.OFU_REGISTERS_EDIT_INDEX in dict(self.stuck.written)
        assert self.change(L.INSTRUCTION_DELETE, 15, 0) == 0
        return not took


def test_what_the_table_refuses_holds_no_edit_data_and_changes_no_rule(failing: tuple[c.CDLL, c.c_void_p]) -> None:
    table = Table(*failing)
    populate, update, delete, initialize = (
        L.INSTRUCTION_POPULATE,
        L.INSTRUCTION_UPDATE,
        L.INSTRUCTION_DELETE,
        L.INSTRUCTION_INITIALIZE,
    )
    assert table.change(populate, 1, 100) == 0 and table.is_held(100)
    assert table.change(populate, 2, 200, errno.ENOSPC) == -errno.ENOSPC and not table.is_held(200)
    assert table.change(populate, 2, 200) == 0 and table.is_held(200)
    assert table.change(update, 1, 101) == 0 and [table.is_held(value) for value in (100, 101)] == [False, True]
    assert table.change(update, 1, 102, errno.EINVAL, network=9) == -errno.EINVAL
    assert [table.is_held(value) for value in (101, 102)] == [True, False]
    assert [table.change(populate, 3, 300, network=network) for network in (1, 9)] == [-errno.EEXIST, 0]
    assert table.change(update, 1, 101, network=8) == 0 and table.is_held(101)
    assert table.change(delete, 1, 0, errno.EINVAL) == -errno.EINVAL and table.is_held(101)
    assert table.change(populate, 4, 400, network=8) == -errno.EEXIST
    assert table.change(delete, 1, 0) == 0 and not table.is_held(101)
    assert table.change(populate, 4, 400, network=8) == 0
    assert table.change(initialize, 0, 0, errno.EINVAL) == -errno.EINVAL
    assert [table.is_held(value) for value in (200, 300, 400)] == [True] * 3
    assert table.change(initialize, 0, 0) == 0
    assert not any(table.is_held(value) for value in (200, 300, 400))
