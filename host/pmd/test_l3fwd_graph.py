# SPDX-License-Identifier: Apache-2.0
"""DPDK's own router l3fwd-graph, built unmodified from the distribution's source package, on the driver."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from compiler.interpreter.packets import Packet
from host.pmd.build import build as build_driver
from host.program.captures import read_capture, write_capture
from shell.sim.build import FLOW
from shell.sim.build import build as build_device
from testing.telemetry import ask
from testing.testpmd import CORES, MEMORY, PATIENCE
from toolchain.setup.dpdk import EXAMPLE, EXAMPLES

MAC, FIRST, SECOND = "02:00:00:00:00:aa", "02:00:00:00:0f:10", "02:00:00:00:0f:11"


@pytest.fixture(scope="module")
def program() -> Path:
    folder = EXAMPLES / EXAMPLE
    subprocess.run(["make", "-s", "-C", str(folder), "shared"], check=True)
    return folder / "build" / EXAMPLE


@contextmanager
def running(program: Path, device: str, lanes: list[str], folder: Path) -> Iterator[subprocess.Popen[str]]:
    """The router; it ends in order, and its captures are whole then."""
    vdev = f"net_sluice0,device={device},mac={FIRST},lossless=1,lanes=[{','.join(lanes)}]"
    words = [str(program), *MEMORY, "--file-prefix", "l3", "--lcores", f"0@{CORES},1@{CORES}", "-d", str(build_driver())]
    words += ["--vdev", vdev, "--", "-p", "0x3", "-P", "--config=(0,0,1),(1,0,1)"]
    with (folder / "said").open("w") as said:
        environment = {**os.environ, "RUNTIME_DIRECTORY": str(folder)}
        process = subprocess.Popen(words, stdout=said, stderr=subprocess.STDOUT, text=True, env=environment)
    try:
        yield process
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait()


def sent_by(folder: Path, process: subprocess.Popen[str]) -> int:
    """Packets that both ports have sent."""
    try:
        return sum((ask(folder, "l3", f"/ethdev/stats,{port}") or {"opackets": 0})["opackets"] for port in range(2))
    except (FileNotFoundError, ConnectionError):
        assert process.poll() is None, (folder / "said").read_text()[-3000:]
        return 0


def routed(packet: Ether, port: int) -> bytes:
    """As scapy would route it."""
    made = packet.copy()
    made.src, made.dst = (FIRST, SECOND)[port], f"02:00:00:00:00:{port:02x}"
    made[IP].ttl -= 1
    del made[IP].chksum
    return bytes(made)


@pytest.mark.parametrize("kind", ["functional", "sim"])
def test_it_routes(kind: str, program: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="sl-") as folder:  # a Unix socket's name is short: not below the test's
        routes(kind, program, Path(folder))


def routes(kind: str, program: Path, folder: Path) -> None:
    device = f"sim:{build_device(FLOW)}" if kind == "sim" else kind
    given = [
        Ether(src=MAC, dst=FIRST) / IP(src="10.0.0.1", dst=f"198.18.{n % 3}.{n}", ttl=2 + n) / UDP(sport=n, dport=7) / bytes(20 * n)
        for n in range(60)
    ]  # a third has a route to a port that is not there, and is dropped
    write_capture(folder / "in.pcap", [Packet(bytes(packet)) for packet in given])
    lanes = [f"pcap:{folder}/in.pcap:{folder}/0.pcap", f"pcap::{folder}/1.pcap"]
    end = time.monotonic() + PATIENCE
    with running(program, device, lanes, folder) as process:
        while sent_by(folder, process) < 40:
            assert time.monotonic() < end, (folder / "said").read_text()[-3000:]
            time.sleep(0.02)
    for port in range(2):
        left = [packet.data for packet in read_capture(folder / f"{port}.pcap")]
        assert left == [routed(packet, port) for packet in given if packet[IP].dst.startswith(f"198.18.{port}.")]
