# SPDX-License-Identifier: Apache-2.0
"""Live runs between real kernels: hosts in network namespaces talk through the simulated device. Needs root."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from host.python.device import SluiceError
from host.python.run import LiveRun, run
from shell.sim.build import build
from toolchain import ROOT
from toolchain.simulate import GENERATED
from tools.cli.main import app

SEED = 20261120
SIDES = range(3)  # host a on lane 0, host b on lane 1, the TAP's on lane 2; lane 3 has an interface that is down
ROUTER = [f"02:00:00:00:00:0{side}" for side in SIDES]
HOST = [f"02:00:00:00:01:0{side}" for side in SIDES]
RULES = "acl 10 deny tcp to any port 22\nacl 20 permit any\n" + "".join(
    f"""
lane {side} mac {ROUTER[side]}
route 10.{side}.0.0/16 lane {side} next-hop {HOST[side]}
route 2001:db8:{side}::/64 lane {side} next-hop {HOST[side]}
"""
    for side in SIDES
)
BYTES = {"10.1.0.2": 200_000, "2001:db8:1::2": 60_000}
PINGS = [("a", "10.1.0.2"), ("a", "2001:db8:1::2"), ("a", "10.9.0.2"), ("r", "10.0.0.2"), ("b", "2001:db8:2::2")]
SERVER = """
import hashlib, socket, sys
listener = socket.create_server(("::", 7777), family=socket.AF_INET6, dualstack_ipv6=True)
print("listening", flush=True)
for _ in range(2):
    connection, _ = listener.accept()
    print(hashlib.sha256(connection.makefile("rb").read()).hexdigest(), flush=True)
"""
CLIENT = """
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=float(sys.argv[3])) as connection:
    connection.sendall(sys.stdin.buffer.read())
"""


class Net:
    """Namespaces a and b (hosts) and r (where the device runs), lanes va and vb in r, each the other end of a host's eth0.

    Namespace r is a host too, on the TAP sl0.
    """

    def __init__(self) -> None:
        self.spaces = {name: f"sluice-{os.getpid()}-{name}" for name in "abr"}

    def command(self, space: str, *words: str) -> list[str]:
        return ["ip", "netns", "exec", self.spaces[space], *words]

    def run(self, space: str, text: str) -> str:
        done = subprocess.run(self.command(space, *text.split()), capture_output=True, text=True, timeout=20, check=False)
        assert done.returncode == 0, f"{text}: {done.stderr}"
        return done.stdout

    def ping(self, space: str, address: str, options: str) -> int:
        """How many of the pings were answered."""
        command = self.command(space, *f"ping -n {options} {address}".split())
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
        return int(done.stdout.split(" received")[0].rsplit(" ", 1)[-1]) if " received" in done.stdout else 0

    def connect(self, address: str, port: int, data: bytes, timeout: float) -> bool:
        command = self.command("a", sys.executable, "-c", CLIENT, address, str(port), str(timeout))
        return subprocess.run(command, input=data, capture_output=True, timeout=30, check=False).returncode == 0

    def host(self, space: str, device: str, side: int) -> None:
        """Addresses of a host, and the router as its gateway."""
        self.run(space, f"ip link set {device} address {HOST[side]} up")
        self.run(space, f"ip addr add 10.{side}.0.2/24 dev {device}")
        self.run(space, f"ip addr add 10.9.0.{side + 1}/24 dev {device}")
        self.run(space, f"ip addr add 2001:db8:{side}::2/64 dev {device} nodad")
        self.run(space, f"ip neigh replace 10.{side}.0.1 lladdr {ROUTER[side]} dev {device} nud permanent")
        self.run(space, f"ip neigh replace 2001:db8:{side}::1 lladdr {ROUTER[side]} dev {device} nud permanent")
        self.run(space, f"ip route add default via 10.{side}.0.1")
        self.run(space, f"ip route add default via 2001:db8:{side}::1")

    def make(self) -> None:
        for side, space in enumerate("ab"):
            end = f"v{space}"
            self.run("r", f"ip link add {end} type veth peer name eth0 netns {self.spaces[space]}")
            self.host(space, "eth0", side)
            self.run("r", f"ip link set {end} addrgenmode none")
            self.run("r", f"ip link set {end} up")
            for place, name in ((space, "eth0"), ("r", end)):
                self.run(place, f"ethtool -K {name} tx off gro off tso off gso off")
        self.run("r", "ip link add unused type veth peer name other")
        self.run("r", "ethtool -K unused gro on tso off gso off")


@pytest.fixture(scope="module")
def net() -> Iterator[Net]:
    missing = [name for name in ("ip", "ethtool", "ping") if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        pytest.skip(f"live runs need root and the commands ip, ethtool, ping (missing: {', '.join(missing) or 'root'})")
    made = Net()
    try:
        for name in made.spaces.values():
            done = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                pytest.skip(f"network namespaces are not permitted here: {done.stderr.strip()}")
        made.make()
        yield made
    finally:
        for name in made.spaces.values():
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def start(net: Net, folder: Path) -> subprocess.Popen[str]:
    """A live run in namespace r."""
    build()
    (folder / "live.rules").write_text(RULES)
    lanes = [word for name in ("va", "vb", "tap:sl0", "unused") for word in ("--live", name)]
    outputs = [word for lane in range(2) for word in ("--out", str(folder / f"{lane}.pcap"))]
    command = [sys.executable, "-m", "tools.cli", "run", "--rules", str(folder / "live.rules"), "--json", *lanes, *outputs]
    path = os.pathsep.join([str(ROOT), str(GENERATED), os.environ.get("PYTHONPATH", "")])
    environment, pipe = {**os.environ, "PYTHONPATH": path}, subprocess.PIPE
    return subprocess.Popen(net.command("r", *command), cwd=ROOT, env=environment, stdout=pipe, stderr=pipe, text=True)


def until_tap(net: Net, running: subprocess.Popen[str]) -> None:
    """Wait for the TAP, and make it a host."""
    end = time.monotonic() + 30
    while "sl0" not in net.run("r", "ip -br link"):
        assert running.poll() is None, running.communicate()[1]
        assert time.monotonic() < end, "there is no TAP"
        time.sleep(0.05)
    net.host("r", "sl0", 2)


def until_answered(net: Net, running: subprocess.Popen[str], space: str, address: str) -> None:
    """Wait until the device forwards."""
    end = time.monotonic() + 30
    while not net.ping(space, address, "-c 1 -W 1"):
        assert running.poll() is None, running.communicate()[1]
        assert time.monotonic() < end, "the device forwards nothing"


@dataclass
class Seen:
    """What the hosts saw of a run, and what the run says of itself."""

    pings: dict[str, int]
    sent: dict[str, str]
    received: list[str]
    denied: bool
    too_long: int
    figures: dict[str, Any]
    errors: str
    links: str
    threads_asleep: list[bool]
    recorded: int


def asleep(pid: int) -> bool:
    """Whether every thread waits: not one runs, or is ready to."""
    states = [task.read_text().rsplit(")", 1)[1].split()[0] for task in Path(f"/proc/{pid}/task").glob("*/stat")]
    return bool(states) and set(states) == {"S"}


@pytest.fixture(scope="module")
def seen(net: Net, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    folder, choose = tmp_path_factory.mktemp("live"), random.Random(SEED)
    running = start(net, folder)
    server = subprocess.Popen(net.command("b", sys.executable, "-c", SERVER), stdout=subprocess.PIPE, text=True)
    try:
        until_tap(net, running)
        until_answered(net, running, "a", "10.1.0.2")
        pings = {f"{space} {address}": net.ping(space, address, "-c 10 -i 0.02 -W 3") for space, address in PINGS}
        assert server.stdout is not None and server.stdout.readline() == "listening\n"
        sent, received = {}, []
        for address, size in BYTES.items():
            data = choose.randbytes(size)
            assert net.connect(address, 7777, data, 20)
            sent[address] = hashlib.sha256(data).hexdigest()
            received.append(server.stdout.readline().strip())
        denied = not net.connect("10.1.0.2", 22, b"", 0.5)
        net.run("r", "ip link set vb mtu 700")
        too_long = 3 - net.ping("a", "10.1.0.2", "-c 3 -i 0.02 -W 1 -s 1000")
        looks = []
        for _ in range(25):
            time.sleep(0.04)
            looks.append(asleep(running.pid))
        net.run("r", "ip link set va down")
        assert net.ping("r", "10.0.0.2", "-c 1 -W 1") == 0
        net.run("r", "ip link set va up")
        until_answered(net, running, "r", "10.0.0.2")
        running.send_signal(signal.SIGINT)
        output, errors = running.communicate(timeout=20)
        assert running.returncode == 0, errors
        recorded = sum((folder / f"{lane}.pcap").stat().st_size for lane in (0, 1))
        links = net.run("r", "ip -br link")
        yield Seen(pings, sent, received, denied, too_long, json.loads(output), errors, links, looks, recorded)
    finally:
        for process in (running, server):
            process.kill()
            process.communicate()


def test_pings_are_answered_through_router_and_bridge(seen: Seen) -> None:
    assert len(seen.pings) == len(PINGS) and set(seen.pings.values()) == {10}


def test_tcp_between_real_kernels_carries_every_byte(seen: Seen) -> None:
    assert list(seen.sent.values()) == seen.received


def test_the_hardware_takes_flows_over(seen: Seen) -> None:
    assert seen.figures["hits"] > 100 and seen.figures["rules"]["installed"] >= 6
    assert seen.figures["hits"] > seen.figures["host"]


def test_what_is_dropped_is_counted_by_cause(seen: Seen) -> None:
    drops = seen.figures["drops"]
    assert seen.denied and drops["software"]["denied"] + drops["hardware"]["rule"] >= 1
    assert seen.too_long == 3 and drops["interface"] | {"error": 0} == {"unread": 0, "too_long": 3, "busy": 0, "error": 0}
    assert drops["interface"]["error"] >= 1  # the ping while its interface was down


def test_every_packet_is_accounted_for(seen: Seen) -> None:
    drops = seen.figures["drops"]
    decided = seen.figures["hits"] + seen.figures["host"] + sum(drops["receive"].values()) + drops["host"]["overflow"]
    assert seen.figures["packets"] == seen.figures["sent"] == decided


def test_a_live_run_says_that_it_compares_nothing(seen: Seen) -> None:
    assert seen.figures["check"] is None


def test_what_leaves_is_recorded(seen: Seen) -> None:
    assert seen.recorded > sum(BYTES.values())


def test_an_idle_run_sleeps(seen: Seen) -> None:
    assert seen.threads_asleep.count(True) > len(seen.threads_asleep) / 2, "a thread that polls never waits"


def test_what_is_wrong_with_an_interface_is_told(seen: Seen) -> None:
    offloads, down, went_down = seen.figures["notes"]
    assert offloads.startswith("lane 3: unused merges packets") and "ethtool -K unused gro off" in offloads
    assert down == "lane 3: unused is down: ip link set unused up" and went_down == "lane 0: va went down"
    assert all(note in seen.errors for note in seen.figures["notes"])


def test_the_tap_is_gone_with_the_run(seen: Seen) -> None:
    assert "unused" in seen.links and "sl0" not in seen.links


def test_a_run_ends_after_its_seconds(tmp_path: Path) -> None:
    (tmp_path / "a.rules").write_text(RULES)
    result = run(LiveRun(tmp_path / "a.rules", [], seconds=1))
    assert result.good and result.seconds >= 1


def test_an_interface_that_is_not_there_is_an_error_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "a.rules").write_text(RULES)
    with pytest.raises(SluiceError) as caught:
        run(LiveRun(tmp_path / "a.rules", ["no-such-if"]))
    assert "lane 0: no-such-if: no such interface" in str(caught.value)


@pytest.mark.parametrize("options", ["", "--live x --in y", "--live x --repeat 2", "--in y --seconds 1", "--live x --plot z"])
def test_options_that_do_not_go_together_are_refused(options: str) -> None:
    assert CliRunner().invoke(app, ["run", "--rules", "r", *options.split()]).exit_code == 2
