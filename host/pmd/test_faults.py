# SPDX-License-Identifier: Apache-2.0
"""Programs that die, keep buffers, do not poll, and devices that start anew: nothing hangs, losses are counted, all ends right."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from compiler.interpreter.packets import Packet
from host.lib.test_transport_process import processes as device_processes
from host.lib.test_transport_process import wait_for_end
from host.netdev.test_netdev import ADDRESSES, NAMES, PATIENCE, netdevs
from host.pmd.build import build, build_program
from host.pmd.test_pmd import packets
from host.program.captures import read_capture, write_capture
from shell.sim.build import FLOW
from shell.sim.build import build as build_device
from testing.ovs.spaces import Spaces
from testing.testpmd import CORES, MEMORY, Testpmd

PROGRAM = Path(__file__).parent / "testing" / "faults.c"


@pytest.fixture
def folder() -> Iterator[Path]:
    """Of sockets, whose names are short."""
    with tempfile.TemporaryDirectory(prefix="sl-") as name:
        yield Path(name)


def cable(folder: Path) -> list[str]:
    """Two lanes that are the ends of one."""
    return [f"unix:{folder}/a:{folder}/b", f"unix:{folder}/b:{folder}/a"]


@pytest.mark.parametrize("kind", ["functional", "sim"])
@pytest.mark.parametrize("mode", ["hoard", "deaf"])
def test_a_bad_program_loses_what_is_its_own_and_counted(folder: Path, space: str, mode: str, kind: str) -> None:
    device, lanes = "functional:join", "none,none"
    if kind == "sim":
        device, lanes = f"sim:{build_device(FLOW)}", "af_packet:va,af_packet:vb"
    words = ["ip", "netns", "exec", space, str(build_program(PROGRAM)), *MEMORY, "--file-prefix", f"bad{os.getpid()}"]
    words += ["--lcores", f"0@{CORES}", "-d", str(build()), "--vdev", f"net_sluice0,device={device},lanes=[{lanes}]", "--", mode]
    environment = {**os.environ, "RUNTIME_DIRECTORY": str(folder)}
    done = subprocess.run(words, capture_output=True, text=True, timeout=100, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith("ok: ")


@pytest.mark.parametrize("device", ["functional:join", "sim-process"])
def test_a_program_that_was_killed_with_packets_in_flight_starts_again(folder: Path, device: str) -> None:
    lanes = ["none", "none"] if device == "functional:join" else cable(folder)
    where = f"{device}:{build_device(FLOW)}" if device == "sim-process" else device
    with Spaces(2) as spaces:
        for _ in range(2):  # with the same arguments, over what the one before left
            with netdevs(where, lanes, folder, spaces) as made:
                for number in range(2):
                    made.up(number)
                assert made.spaces.ping(0, ADDRESSES[1], wait=20.0) == (3, 3)
                flood = made.spaces.start(spaces.host(0), "ping", "-q", "-f", "-s", "1000", ADDRESSES[1])
                end = time.monotonic() + PATIENCE
                while made.show(1)["stats64"]["rx"]["packets"] < 200:
                    assert made.process.poll() is None and time.monotonic() < end, made.errors.read_text()[-3000:]
                children = device_processes(made.process.pid)
                assert len(children) == (device == "sim-process")
                made.process.kill()
                made.process.wait()
                made.spaces.end(flood)
                assert NAMES[1] not in made.run(1, "ip link")
                for child in children:
                    wait_for_end(child)


def wait_for_other(testpmd: Testpmd, device: int) -> None:
    """Until another simulated device runs in place of this one."""
    end = time.monotonic() + PATIENCE
    while device_processes(testpmd.process.pid) in ([], [device]):
        testpmd.check(end)


def test_a_simulator_that_was_killed_is_attached_again_under_the_running_driver(tmp_path: Path) -> None:
    sent = packets(6, 60, 1500)
    write_capture(tmp_path / "in", [Packet(data) for data in sent])
    vdev = f"net_sluice0,lanes=[pcap:{tmp_path}/in:,pcap::{tmp_path}/out],lossless=1"
    with Testpmd(tmp_path, [vdev], device="sim-process") as testpmd:
        command = testpmd.process.args
        assert isinstance(command, list)
        argument = command[command.index("--vdev") + 1]
        for again in range(2):
            testpmd.wait(1, "tx_good_lane_packets", len(sent))
            (device,) = device_processes(testpmd.process.pid)
            testpmd.tell(
                *(f"flow create 0 transfer pattern eth dst is 02:00:00:00:00:0{n} / end actions drop / end" for n in (8, 9))
            )
            testpmd.wait_counted(0, [0, 0])
            os.kill(device, signal.SIGKILL)
            testpmd.wait_link(0, "DOWN")
            testpmd.tell("flow destroy 0 rule 0", "flow flush 0")  # the rules are gone as the device is
            testpmd.tell("stop", "port stop all", "port close all", "device detach net_sluice0")
            testpmd.tell("port attach " + argument.replace("/out", f"/out{again}"), "port start all", "start")
            wait_for_other(testpmd, device)  # DPDK's telemetry must not be asked while a port closes
        testpmd.wait(1, "tx_good_lane_packets", len(sent))
        output, errors = testpmd.quit()
    assert "Caught PMD error" not in output + errors
    assert output.count("Flow rule #0 destroyed") == 2
    assert [packet.data for packet in read_capture(tmp_path / "out1")] == sent
