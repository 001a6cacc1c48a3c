# SPDX-License-Identifier: Apache-2.0
"""A simulated device in a process of its own: it ends when it should, and its end is an error and never a hang."""

import ctypes as c
import errno
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import sluice_layouts as L

from host.lib.testing.devices import build_failing
from host.python.device import Action, Device, SluiceError, load
from host.python.flow_table import Flows
from host.python.run import Run, run
from shell.sim.build import FLOW, SMALL, build
from toolchain import ROOT

PATIENCE = 300  # milliseconds without an answer, where a test waits for them to pass
OWNER = """
import sys
from host.python.device import Device
device = Device({sizes}, transport="sim-process")
print("open", flush=True)
while True:
    device.advance(1 << 20)
"""


def processes(owner: int = 0) -> list[int]:
    """The devices that a process runs."""
    found = []
    for children in Path(f"/proc/{owner or os.getpid()}/task").glob("*/children"):
        found += [int(pid) for pid in children.read_text().split()]
    return [pid for pid in found if b"sluice-device" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def wait_for_end(pid: int) -> None:
    """Raises TimeoutError where a process is still there after a long time."""
    for _ in range(3000):
        if not is_running(pid):
            return
        time.sleep(0.01)
    raise TimeoutError(f"process {pid} runs on")


@pytest.fixture
def device() -> Iterator[Device]:
    with Device(SMALL, transport="sim-process") as opened:
        yield opened


def open_with(options: str) -> tuple[int, str]:
    """The error of an open that fails."""
    library, handle = load(), c.c_void_p()
    result = library.sluice_device_open(f"sim-process:{options}".encode(), c.byref(handle))
    return result, library.sluice_error_text().decode()


def test_a_device_ends_with_its_close_while_another_runs_on(device: Device) -> None:
    (first,) = processes()
    assert os.getpgid(first) != os.getpgid(0), "Ctrl-C is for the owner"
    with Device(SMALL, transport="sim-process") as other:
        (second,) = set(processes()) - {first}
        device.close()
        wait_for_end(first)
        assert other.read(L.SHELL_REGISTERS_MAGIC) == L.DEVICE_MAGIC
    wait_for_end(second)
    assert processes() == []


def test_counters_of_rules_come_into_the_memory_of_the_owner() -> None:
    with Device(FLOW, transport="sim-process") as device:
        flows = Flows(device)
        rule = flows.add(0, 0, 0, [Action(L.ACTION_OUTPUT, 1)])
        for n in range(1, 4):
            assert device.lane_send(0, bytes(12) + b"\x88\xb5" + bytes(60))
            device.settle()
            device.advance(device.read(L.WINDOW_SIZE + L.FLOW_REGISTERS_PUSH_CYCLES))
            counted = flows.mirrored(rule)
            assert (counted.packets, counted.bytes) == (n, 74 * n)
        flows.close()


@pytest.mark.parametrize("transport", ["sim", "sim-process"])
def test_a_packet_that_left_comes_with_the_cycles_of_its_way(transport: str) -> None:
    with Device(FLOW, transport=transport) as device:
        flows = Flows(device)
        assert flows.add(0, 0, 0, [Action(L.ACTION_OUTPUT, 1)]) == 0
        before = device.cycles
        assert device.lane_send(0, bytes(12) + b"\x88\xb5" + bytes(600))
        device.settle()
        left = device.lane_receive(1)
        assert left is not None
        info = left[1]
        assert before <= info.ingress_cycle < info.first_cycle < info.last_cycle < device.cycles
        assert info.last_cycle - info.first_cycle >= 600 // 64
        flows.close()


def test_a_packet_larger_than_the_room_for_it_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    library, handle, room = load(), c.c_void_p(), c.create_string_buffer(65)
    monkeypatch.setenv("FAILING_LEFT", "65")
    assert library.sluice_device_open(f"sim-process:lib={build_failing()}".encode(), c.byref(handle)) == 0
    assert library.sluice_lane_receive(handle, 0, room, 65, None) == 65
    assert library.sluice_lane_receive(handle, 0, room, 64, None) == -errno.EPROTO
    library.sluice_device_close(handle)


def test_a_device_ends_with_its_owner_in_the_middle_of_a_long_command() -> None:
    build(SMALL)
    command = [sys.executable, "-c", OWNER.format(sizes=SMALL)]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'build' / 'gen'}"}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None and owner.stdout.readline() == "open\n"
        (pid,) = processes(owner.pid)
        owner.kill()
    wait_for_end(pid)


@pytest.mark.parametrize("packets", [0, 1, 40])
def test_a_killed_device_is_an_error_of_every_call(device: Device, packets: int) -> None:
    draw = random.Random(packets)
    for _ in range(packets):
        device.lane_send(draw.randrange(4), draw.randbytes(draw.randrange(14, 2000)))
        device.advance(draw.randrange(100))
    os.kill(processes()[0], signal.SIGKILL)
    with pytest.raises(SluiceError, match="signal 9") as caught:
        device.write(L.SHELL_REGISTERS_TICK, 1)
    assert caught.value.errno == errno.ENODEV
    device.advance(1 << 31)
    calls = [
        lambda: device.read(L.SHELL_REGISTERS_MAGIC),
        lambda: device.lane_send(0, bytes(60)),
        lambda: device.lane_receive(1),
        lambda: device.send(bytes(60), 1),
        lambda: device.call("sluice_ofu_init", c.c_uint16(L.ELEMENT_LPM)),
        lambda: device.call("sluice_device_drained"),
    ]
    for call in calls:
        with pytest.raises(SluiceError, match="has ended") as caught:
            call()
        assert caught.value.errno == errno.ENODEV
    while device.receive():
        pass
    assert processes() == []


def test_an_owner_that_reaps_all_its_children_does_no_harm(device: Device) -> None:
    (pid,) = processes()
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    with pytest.raises(SluiceError, match="has ended") as caught:
        device.write(L.SHELL_REGISTERS_TICK, 1)
    assert caught.value.errno == errno.ENODEV


def test_a_run_whose_device_is_killed_in_the_middle_ends_with_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.rules").write_text("lane 0 mac 02:00:00:00:00:00\n")
    record = bytes.fromhex("0000000000000000 3c000000 3c000000") + bytes(60)
    (tmp_path / "in.pcap").write_bytes(bytes.fromhex("d4c3b2a1 0200 0400 00000000 00000000 ffff0000 01000000") + 20000 * record)
    killed = []

    def kill(result: object) -> bool:
        if not killed and result.sent > 500:
            killed.extend(processes())
            os.kill(killed[0], signal.SIGKILL)
        return False

    with pytest.raises(SluiceError) as caught:
        run(Run(tmp_path / "a.rules", [tmp_path / "in.pcap"], sizes=SMALL, device="sim-process"), kill)
    assert caught.value.errno == errno.ENODEV and killed and processes() == []


@pytest.mark.parametrize(
    ("call", "arguments", "waited"),
    [
        ("lane_send", (0, bytes(60), 60, 1), PATIENCE),
        ("device_advance", (c.c_uint32(400),), PATIENCE + 400),
    ],
)
def test_a_device_that_stops_answering_is_ended_after_the_timeout(call: str, arguments: tuple[object, ...], waited: int) -> None:
    library, handle = load(), c.c_void_p()
    options = f"sim-process:timeout={PATIENCE},lib={build(SMALL)}".encode()
    assert library.sluice_device_open(options, c.byref(handle)) == 0, library.sluice_error_text()
    (pid,) = processes()
    os.kill(pid, signal.SIGSTOP)
    result = getattr(library, f"sluice_{call}")(handle, *arguments)
    assert call == "device_advance" or result == -errno.ETIMEDOUT, "an advance has no result"
    assert f"no answer from the device's process for {waited} ms" in library.sluice_error_text().decode()
    value = c.c_uint32()
    assert library.sluice_register_read(handle, c.c_uint32(0), c.byref(value)) == -errno.ENODEV
    assert not is_running(pid)
    library.sluice_device_close(handle)


def test_what_does_not_start_is_an_error_with_its_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "empty.so").write_bytes(b"")
    for options, words in [(f"lib={tmp_path}/absent.so", "absent.so"), (f"lib={tmp_path}/empty.so", "empty.so"),
                           ("timeout=0,lib=x", "timeout"), ("timeout=5", "timeout"), ("lib=", "SLUICE_SIM_LIB")]:  # fmt: skip
        result, text = open_with(options)
        assert result == -errno.ENODEV and words in text
    for program, words in [("/bin/false", "status 1"), ("/nowhere/program", "/nowhere/program"), ("/bin/cat", "status 1")]:
        monkeypatch.setenv("SLUICE_DEVICE_PROGRAM", program)
        result, text = open_with(f"lib={tmp_path}/absent.so")
        assert result == -errno.ENODEV and words in text
    assert processes() == []
