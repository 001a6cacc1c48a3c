# SPDX-License-Identifier: Apache-2.0
"""Kernels talk through ports of a device as through any interface: ping, TCP, settings, a link that goes, frames that are lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from host.pmd.build import build as build_driver
from shell.sim.build import FLOW
from shell.sim.build import build as build_device
from testing.ovs.spaces import Spaces
from tools.cli.netdev import command

PATIENCE = 60.0  # seconds; a loaded machine is slow
NAMES = (f"na{os.getpid()}", f"nb{os.getpid()}")
ADDRESSES = ("10.9.0.1", "10.9.0.2")


class Netdevs:
    """Two interfaces, each in the namespace of a host."""

    def __init__(self, spaces: Spaces, process: subprocess.Popen[str], errors: Path) -> None:
        self.spaces, self.process, self.errors = spaces, process, errors

    def run(self, number: int, text: str) -> str:
        return self.spaces.run(self.spaces.host(number), text)

    def show(self, number: int) -> dict[str, Any]:
        """What `ip` says of an interface."""
        found: list[dict[str, Any]] = json.loads(self.run(number, f"ip -j -s link show {NAMES[number]}"))
        return found[0]

    def wait(self, number: int, field: str, value: Any) -> None:
        end = time.monotonic() + PATIENCE
        while self.show(number)[field] != value:
            assert self.process.poll() is None and time.monotonic() < end, (self.show(number), self.errors.read_text()[-3000:])
            time.sleep(0.02)

    def reach(self, number: int, address: str) -> None:
        """Until an answer comes: the port follows the interface a little later."""
        end = time.monotonic() + PATIENCE
        while self.spaces.ping(number, address, count=1, wait=0.3) != (1, 1):
            assert self.process.poll() is None and time.monotonic() < end, self.errors.read_text()[-3000:]

    def up(self, number: int) -> None:
        name = NAMES[number]
        self.run(number, f"ip addr add {ADDRESSES[number]}/24 dev {name}")
        self.run(number, f"ip link set {name} up")
        self.wait(number, "operstate", "UP")

    def end(self) -> str:
        """In order; what it says of what was carried."""
        self.process.send_signal(signal.SIGTERM)
        said, _ = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0, self.errors.read_text()[-3000:]
        return said


@contextmanager
def netdevs(device: str, lanes: list[str], folder: Path, spaces: Spaces) -> Iterator[Netdevs]:
    """The interfaces of a device of two ports, each moved to its host; not up."""
    words = command(NAMES, lanes, device, NAMES[0], build_driver())
    errors = folder / "errors"
    with errors.open("w") as log:
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        assert process.stdout is not None
        while (line := process.stdout.readline()) != "ready\n":
            assert line, errors.read_text()[-3000:]
        for number, name in enumerate(NAMES):
            subprocess.run(["ip", "link", "set", name, "netns", spaces.host(number)], check=True)
        yield Netdevs(spaces, process, errors)
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def functional(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Netdevs]:
    folder = tmp_path_factory.mktemp("netdev")
    with Spaces(2) as spaces, netdevs("functional:join", ["none", "none"], folder, spaces) as made:
        for number in range(2):
            made.up(number)
        yield made


def test_ping_and_tcp(functional: Netdevs) -> None:
    assert functional.spaces.ping(0, ADDRESSES[1]) == (3, 3)
    server = functional.spaces.program(1, "serve", "7000")
    assert functional.spaces.connect(0, ADDRESSES[1], 7000, 300_000)
    functional.spaces.end(server)
    counted = [functional.show(number)["stats64"] for number in range(2)]
    assert counted[0]["tx"]["bytes"] > 300_000 and counted[1]["rx"]["packets"] == counted[0]["tx"]["packets"]


def test_large_frames_after_a_new_mtu(functional: Netdevs) -> None:
    ping = f"ping -n -q -c 2 -W 5 -M do -s 8900 {ADDRESSES[1]}"
    for number in range(2):
        functional.run(number, f"ip link set {NAMES[number]} mtu 9000")
    time.sleep(0.1)
    assert " 2 received" in functional.run(0, ping)
    functional.run(0, f"ip link set {NAMES[0]} mtu 20000")
    functional.wait(0, "mtu", 9000)  # put back
    assert "refuses an MTU of 20000" in functional.errors.read_text()


def test_the_port_takes_the_address_of_the_interface(functional: Netdevs) -> None:
    functional.run(1, f"ip link set {NAMES[1]} address 02:00:00:00:77:01")
    functional.run(0, f"ip neigh flush dev {NAMES[0]}")
    functional.reach(0, ADDRESSES[1])
    assert functional.spaces.ping(0, ADDRESSES[1], wait=5.0) == (3, 3)
    assert "02:00:00:00:77:01" in functional.run(0, "ip neigh")


def test_down_stops_the_port_and_up_starts_it(functional: Netdevs) -> None:
    functional.run(1, f"ip link set {NAMES[1]} down")
    time.sleep(0.1)
    assert functional.spaces.ping(0, ADDRESSES[1], count=1, wait=0.3) == (1, 0)
    functional.run(1, f"ip link set {NAMES[1]} up")
    functional.wait(1, "operstate", "UP")
    assert functional.spaces.ping(0, ADDRESSES[1], wait=5.0) == (3, 3)


def test_it_ends_in_order(functional: Netdevs) -> None:
    said = functional.end()
    assert all(f"{name}: " in said for name in NAMES) and "dropped: 0 by the port" in said
    assert NAMES[0] not in functional.run(0, "ip link")


def test_ping_and_tcp_through_the_hardware(tmp_path: Path) -> None:
    sockets = [tmp_path / "a", tmp_path / "b"]
    lanes = [f"unix:{mine}:{other}" for mine, other in (sockets, sockets[::-1])]
    with Spaces(2) as spaces, netdevs(f"sim:{build_device(FLOW)}", lanes, tmp_path, spaces) as made:
        for number in range(2):
            made.up(number)
        assert made.spaces.ping(0, ADDRESSES[1], wait=20.0) == (3, 3)
        server = made.spaces.program(1, "serve", "7000")
        assert made.spaces.connect(0, ADDRESSES[1], 7000, 20_000, 60.0)
        made.spaces.end(server)
        made.end()


def test_names_must_be_as_many_as_ports(tmp_path: Path) -> None:
    words = command(NAMES[:1], ["none", "none"], "functional", NAMES[0], build_driver())
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 1 and "1 names given for 2 ports" in done.stderr
