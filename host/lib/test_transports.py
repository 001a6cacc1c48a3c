# SPDX-License-Identifier: Apache-2.0
"""What the transports of simulated devices hand on: each call with its arguments and result, in this process and in one of its own;
the options that name a device; and programs that were compiled for another version of the library."""

from __future__ import annotations

import ctypes as c
import errno
from collections.abc import Iterator
from pathlib import Path

import pytest
import sluice_layouts as L

from host.lib.testing.devices import Transport, build_failing, transport_of
from host.python.device import ABI, CAbi, LaneInfo, load

RINGS = 2 + L.HOST_PORT * L.HOST_QUEUES
MOST_BUFFERS, MOST_RECORDS, MAILBOX_PACKET = 2048, 1 << 17, 1 << 16
LEFT = 65


class Recorded:
    """The failing device, whose calls are lines of a file."""

    def __init__(self, scheme: str, file: Path) -> None:
        self.library, self.handle, self.file, self.is_process = load(), c.c_void_p(), file, scheme == "sim-process"
        assert self.library.sluice_device_open(f"{scheme}:lib={build_failing()}".encode(), c.byref(self.handle)) == 0
        self.it: Transport = transport_of(self.handle)
        self.t = c.cast(self.handle, c.POINTER(c.c_void_p))[0]
        self.lines()

    def lines(self) -> list[str]:
        found = self.file.read_text().splitlines() if self.file.exists() else []
        self.file.write_text("")
        return found


@pytest.fixture(params=["sim", "sim-process"])
def recorded(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Recorded]:
    monkeypatch.setenv("FAILING_CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("FAILING_LEFT", str(LEFT))
    monkeypatch.setenv("FAILING_SENT", "4000000000")
    made = Recorded(request.param, tmp_path / "calls")
    yield made
    made.library.sluice_device_close(made.handle)


def test_each_call_comes_to_the_device_with_its_arguments(recorded: Recorded) -> None:
    it, t, data = recorded.it, recorded.t, bytes(range(1, 61))
    assert it.ring_release(t, 5, 7) == it.ring_submit(t, 9) == 0
    assert recorded.lines() == ["ring_release 5 7 0", "ring_submit 9 0 0"]
    for lane, size, flags in ((0, 1, 0), (1, 60, 1), (7, 2, 3)):
        assert it.lane_send(t, lane, data, size, flags) == 0
        assert recorded.lines() == [f"lane_send {lane << 16 | flags} {size} {1 << 8 | size}"]
    before = it.cycles(t)
    it.advance(t, 3000)
    assert it.cycles(t) == before + 3000 and recorded.lines() == ["step 3000 0 0"]
    assert it.ring_sent(t) == 4_000_000_000
    assert it.idle(t) == 0
    value = c.c_uint32()
    assert it.reg_read(t, L.SHELL_REGISTERS_MAGIC, c.byref(value)) == 0 and value.value == L.DEVICE_MAGIC
    assert it.reg_write(t, 8, 5) == 0
    for _ in range(1100 if not recorded.is_process else 0):
        it.advance(t, 1 << 22)
    assert it.idle(t) == int(not recorded.is_process)


def test_rings_and_counters_get_memory_of_their_own(recorded: Recorded) -> None:
    it, t = recorded.it, recorded.t
    places = {}
    for ring, buffers in ((2, 512), (3, MOST_BUFFERS), (RINGS - 1, 512)):
        places[ring] = it.ring_attach(t, ring, buffers)
        assert places[ring] and recorded.lines() == [f"ring_attach {ring} {buffers} 0"]
        c.memset(places[ring], ring, buffers * L.BUFFER_SIZE)
    for ring, buffers in ((RINGS, 512), (RINGS + 1, 512), (1 << 31, 512)):
        assert not it.ring_attach(t, ring, buffers) and recorded.lines() == []
    for ring, place in places.items():
        assert c.string_at(place, 512 * L.BUFFER_SIZE) == bytes([ring]) * 512 * L.BUFFER_SIZE
    memory = it.mirror_attach(t, 100)
    assert memory and memory % 32 == 0 and c.string_at(memory, 3200) == bytes(3200)
    assert recorded.lines() == ["mirror_attach 100 1 0"]
    if recorded.is_process:
        assert it.mirror_attach(t, MOST_RECORDS) and not it.mirror_attach(t, MOST_RECORDS + 1)
        assert not it.ring_attach(t, 4, MOST_BUFFERS + 1)
    else:
        assert it.mirror_attach(t, 100) == memory and not it.mirror_attach(t, 101)
        assert recorded.lines() == ["mirror_attach 100 1 0"]


@pytest.mark.parametrize("scheme", ["sim", "sim-process"])
def test_each_result_of_the_device_comes_back(scheme: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FAILING_RESULT", "0")
    monkeypatch.setenv("FAILING_CALLS", "/nowhere/calls")
    if scheme == "sim-process":
        monkeypatch.setenv("FAILING_CALLS", str(tmp_path / "calls"))
        monkeypatch.setenv("FAILING_RESULT", str(-errno.EBADF))
        library, handle = load(), c.c_void_p()
        assert library.sluice_device_open(f"sim-process:lib={build_failing()}".encode(), c.byref(handle)) == -errno.ENOMEM
        assert library.sluice_error_text() == b"no memory for the rings"
        return
    made = Recorded(scheme, tmp_path / "calls")
    it, t = made.it, made.t
    monkeypatch.setenv("FAILING_CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("FAILING_RESULT", str(-errno.EBADF))
    assert it.ring_release(t, 5, 7) == it.ring_submit(t, 9) == it.lane_send(t, 0, b"x", 1, 0) == -errno.EBADF
    assert not it.ring_attach(t, 2, 512) and not it.mirror_attach(t, 100)
    monkeypatch.setenv("FAILING_RESULT", "0")
    made.library.sluice_device_close(made.handle)


def test_a_packet_that_left_comes_with_its_cycles_if_they_are_wanted(recorded: Recorded) -> None:
    it, t, room, info = recorded.it, recorded.t, c.create_string_buffer(b"\xee" * 100, 100), LaneInfo(7, 7, 7)
    for lane in (0, 1):
        assert it.lane_receive(t, lane, room, 90, c.byref(info)) == LEFT
        assert room.raw == bytes(range(lane, lane + LEFT)) + b"\xee" * 35
        assert (info.ingress_cycle, info.first_cycle, info.last_cycle) == (lane + 100, lane + 200, lane + 300)
        assert it.lane_receive(t, lane, room, LEFT, None) == LEFT
        assert recorded.lines() == [f"lane_recv {lane} {size} 0" for size in (90, LEFT)]
    large = c.create_string_buffer(1 << 17)
    assert it.lane_receive(t, 1, large, 1 << 17, None) == LEFT
    assert recorded.lines() == [f"lane_recv 1 {MAILBOX_PACKET if recorded.is_process else 1 << 17} 0"]
    if recorded.is_process:
        assert (
            it.lane_send(t, 0, large, MAILBOX_PACKET, 0) == 0 and it.lane_send(t, 0, large, MAILBOX_PACKET + 1, 0) == -errno.EINVAL
        )
        assert recorded.lines() == [f"lane_send 0 {MAILBOX_PACKET} 256"]
        info = LaneInfo(7, 7, 7)
        assert it.lane_receive(t, 2, room, 90, c.byref(info)) == -errno.EAGAIN, "the device has two lanes"
        assert (info.ingress_cycle, recorded.lines()) == (7, [])


@pytest.mark.parametrize("scheme", ["sim", "sim-process"])
def test_nothing_left_is_nothing_written(scheme: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FAILING_CALLS", str(tmp_path / "calls"))
    made, info, room = Recorded(scheme, tmp_path / "calls"), LaneInfo(7, 7, 7), c.create_string_buffer(b"\xee" * 8, 8)
    assert made.it.lane_receive(made.t, 0, room, 8, c.byref(info)) == -errno.EAGAIN
    assert (info.ingress_cycle, info.first_cycle, info.last_cycle, room.raw) == (7, 7, 7, b"\xee" * 8)
    made.library.sluice_device_close(made.handle)


@pytest.mark.parametrize("scheme", ["sim", "sim-process"])
def test_a_device_is_named_by_its_option_or_else_by_the_environment(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    library, handle, path = load(), c.c_void_p(), str(build_failing())
    says = "'{}' names no simulated device; write lib=PATH, or set SLUICE_SIM_LIB"

    def opens(options: str) -> tuple[int, str]:
        result = library.sluice_device_open(f"{scheme}:{options}".encode(), c.byref(handle))
        if result == 0:
            library.sluice_device_close(handle)
        return -result, library.sluice_error_text().decode() if result else ""

    monkeypatch.delenv("SLUICE_SIM_LIB", raising=False)
    for options in ("", "lib=", "lib", "lix=x", f"x{path}"):
        assert opens(options) == (errno.ENODEV, says.format(options))
    monkeypatch.setenv("SLUICE_SIM_LIB", path)
    assert opens("") == (0, "") == opens(f"lib={path}")
    for options in ("lib=", "lix=x", path):
        assert opens(options) == (errno.ENODEV, says.format(options)), "the environment is only for who says nothing"
    monkeypatch.setenv("SLUICE_SIM_LIB", "")
    assert opens("") == (errno.ENODEV, says.format(""))
    monkeypatch.setenv("FAILING_START", "1")
    assert opens(f"lib={path}") == (errno.ENODEV, f"{scheme}: the device in {path} does not start")
    if scheme == "sim-process":
        wrong = "sim-process: '{}': write timeout=MILLISECONDS,lib=PATH"
        for options in ("timeout=", "timeout=,lib=x", "timeout=0,lib=x", "timeout=5", "timeout=5x,lib=x", "timeout=5;lib=x"):
            assert opens(options) == (errno.ENODEV, wrong.format(options))
        monkeypatch.delenv("FAILING_START")
        assert opens(f"timeout=60000,lib={path}") == (0, "")
        assert opens("timeout=60000,lix=x") == (errno.ENODEV, says.format("lix=x"))


def test_a_uri_begins_with_a_transport() -> None:
    library, handle = load(), c.c_void_p()
    for uri in ("", "sim", "sim-process", "usb:0", "functional", "SIM:lib=x", "xsim:lib=x"):
        assert library.sluice_device_open(uri.encode(), c.byref(handle)) == -errno.EINVAL
        says = f"'{uri}': the transports are sim:lib=PATH, sim-process:lib=PATH and functional:"
        assert library.sluice_error_text().decode() == says and not handle


def test_a_program_of_another_version_or_with_other_sizes_is_refused() -> None:
    library, handle = load(), c.c_void_p()
    right = {name: getattr(ABI, name) for name, _ in CAbi._fields_}
    for name, value in right.items():
        for wrong in (value + 1, value - 1):
            theirs = CAbi(**{**right, name: wrong})
            assert library.sluice_device_open_abi(b"functional:", c.byref(handle), c.byref(theirs)) == -errno.EPROTO
            how = "another" if name == "version" else "with other sizes or layouts"
            version = wrong if name == "version" else ABI.version
            says = (
                f"the program was compiled for version {version} of sluice.h, {how}; the library is {ABI.version}: build both again"
            )
            assert library.sluice_error_text().decode() == says and not handle
    assert library.sluice_device_open_abi(b"functional:", c.byref(handle), c.byref(ABI)) == 0
    library.sluice_device_close(handle)
    library.sluice_device_close(None)


def test_the_papers_names_are_of_the_device_that_was_opened_first() -> None:
    library, first, second = load(), c.c_void_p(), c.c_void_p()

    def says() -> str:
        assert library.ofu_init(c.c_uint16(77)) < 0
        text: bytes = library.sluice_error_text()
        return text.decode()

    uri = f"sim:lib={build_failing()}".encode()
    before = says()
    for handle in (first, second):
        assert library.sluice_device_open(uri, c.byref(handle)) == 0
    assert says() == "the device has no OFU 77"
    library.sluice_device_close(second)
    assert says() == "the device has no OFU 77"
    library.sluice_device_close(first)
    assert says() == before
    if before == "no device is open":
        for call in (library.ofu_init, library.ofu_uninit):
            assert call(c.c_uint16(77)) == -errno.ENODEV
        assert library.rule_table_ops(c.c_uint16(77), None) == -errno.ENODEV
