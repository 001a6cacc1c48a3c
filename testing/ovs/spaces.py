# SPDX-License-Identifier: Apache-2.0
"""Network namespaces for a switch and the hosts behind its lanes, joined by veth pairs; removed again whatever happens.

Names begin with the process id, so that runs in parallel do not meet. In the switch's namespace the interface of lane n is
`lane<n>`; in the namespace of host n its other end is `eth0`. Offloads are off: every checksum is real, no frame is above 1,514.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

PROGRAM = Path(__file__).with_name("host.py")
NEEDED = {"ip": "iproute2", "ethtool": "ethtool", "ping": "iputils-ping", "setpriv": "util-linux"}
FEATURES = "tx off rx off sg off tso off gso off gro off"
PATIENCE = 30.0  # seconds


class SpaceError(RuntimeError):
    """Namespaces are not permitted here, a program is missing, or a command in one failed."""


def require() -> None:
    """Raise SpaceError where namespaces cannot be made here."""
    missing = sorted({package for program, package in NEEDED.items() if shutil.which(program) is None})
    if missing:
        raise SpaceError(f"programs are missing; as root: apt-get install {' '.join(missing)}")
    if os.geteuid() != 0:
        raise SpaceError("network namespaces need root")


def bound_to_this_process(*command: str) -> list[str]:
    """A command that the kernel kills when this process ends; it does not begin where that happened before the kernel was told."""
    check = f'[ "$PPID" = {os.getpid()} ] && exec "$@"'
    return ["setpriv", "--pdeathsig", "KILL", "sh", "-c", check, "sh", *command]


def host_mac(number: int) -> str:
    """Address of host `number`."""
    return f"02:00:00:00:01:{number:02x}"


class Spaces:
    """Namespace of the switch, and of the hosts 0 to `hosts` - 1."""

    def __init__(self, hosts: int) -> None:
        self.hosts = hosts
        self.switch = f"sluice-{os.getpid()}-{time.monotonic_ns() % 100000}-s"
        self.running: list[subprocess.Popen[str]] = []

    def host(self, number: int) -> str:
        """Name of a host's namespace."""
        return f"{self.switch[:-1]}h{number}"

    @property
    def names(self) -> list[str]:
        """All namespaces."""
        return [self.switch, *(self.host(number) for number in range(self.hosts))]

    def __enter__(self) -> Self:
        require()
        try:
            for name in self.names:
                self._run("ip", "netns", "add", name)
                for scope in ("all", "default"):  # no packets but those asked for
                    self.run(name, f"sysctl -qw net.ipv6.conf.{scope}.disable_ipv6=1")
                self.run(name, "ip link set lo up")
            for number in range(self.hosts):
                self._link(number)
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.remove()

    def remove(self) -> None:
        """End what runs in the namespaces, and remove them."""
        for process in self.running:
            process.kill()
            process.wait()
        self.running.clear()
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)

    @staticmethod
    def _run(*command: str) -> str:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        if done.returncode != 0:
            raise SpaceError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def prefix(self, space: str) -> list[str]:
        """What stands in front of a command to run it in a namespace."""
        return ["ip", "netns", "exec", space]

    def run(self, space: str, text: str) -> str:
        """Run a command in a namespace; its output. Raises SpaceError where it fails."""
        return self._run(*self.prefix(space), *text.split())

    def start(self, space: str, *command: str) -> subprocess.Popen[str]:
        """Start a program in a namespace; it ends with the namespaces, or with this process."""
        process = subprocess.Popen(
            bound_to_this_process(*self.prefix(space), *command),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        self.running.append(process)
        return process

    def _link(self, number: int) -> None:
        near, far, host = f"lane{number}", "eth0", self.host(number)
        self._run("ip", "link", "add", near, "netns", self.switch, "type", "veth", "peer", "name", far, "netns", host)
        self.run(host, f"ip link set {far} address {host_mac(number)}")
        for space, name in ((self.switch, near), (host, far)):
            self.run(space, f"ethtool -K {name} {FEATURES}")
            self.run(space, f"ip link set {name} up")

    def address(self, number: int, address: str, gateway: str | None = None, device: str = "eth0") -> None:
        """Give a host its only address, and forget its neighbours."""
        host = self.host(number)
        self.run(host, f"ip addr flush dev {device}")
        self.run(host, f"ip addr add {address} dev {device}")
        self.run(host, f"ip neigh flush dev {device}")
        if gateway:
            self.run(host, f"ip route replace default via {gateway}")

    def program(self, number: int, *words: str) -> subprocess.Popen[str]:
        """Start a program of `host.py` on a host, and wait until it has begun."""
        process = self.start(self.host(number), sys.executable, str(PROGRAM), *words)
        assert process.stdout is not None
        said = process.stdout.readline().strip()
        if said != "ready":
            raise SpaceError(f"host.py {' '.join(words)}: {said} {process.stdout.read()[-300:]}")
        return process

    def end(self, process: subprocess.Popen[str]) -> None:
        """End a program that was started here."""
        self.running.remove(process)
        process.kill()
        process.wait()

    def connect(self, number: int, address: str, port: int, size: int, seconds: float = 10.0) -> bool:
        """Whether a TCP connection from a host carries `size` bytes to `host.py serve` there, and the answer back."""
        words = [sys.executable, str(PROGRAM), "connect", address, str(port), str(size), str(seconds)]
        done = subprocess.run(
            [*self.prefix(self.host(number)), *words], capture_output=True, timeout=PATIENCE + 2 * seconds, check=False
        )
        return done.returncode == 0

    def ping(self, number: int, address: str, count: int = 3, wait: float = 2.0, interval: float = 0.2) -> tuple[int, int]:
        """Echo requests that a host sent, and how many were answered."""
        command = [*self.prefix(self.host(number)), *f"ping -n -q -c {count} -i {interval} -W {wait} {address}".split()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE + count * (interval + wait), check=False)
        words = done.stdout.partition(" packets transmitted, ")
        with contextlib.suppress(ValueError, IndexError):
            return int(words[0].split()[-1]), int(words[2].split()[0])
        raise SpaceError(f"ping {address}: {done.stderr.strip() or done.stdout.strip()}")
