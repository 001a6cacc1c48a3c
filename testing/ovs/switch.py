# SPDX-License-Identifier: Apache-2.0
"""A running OVS-DPDK of its own: database, run folder, logs and DPDK's files in one folder; nothing of the machine's own OVS.

No huge pages and no PCI devices are used. Daemons and commands are children that the kernel ends with this process, so that
nothing is left of a run that was killed. Commands that fail raise OvsError with what OVS said and, where the switch is gone, its
last words.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType, TracebackType
from typing import NoReturn, Self

from testing.ovs.spaces import bound_to_this_process

VSWITCHD = Path("/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk")
SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")
PACKAGE = "openvswitch-switch-dpdk"
START, STOP, COMMAND = 60.0, 10.0, 60.0  # seconds of patience; a loaded machine is slow
ABSENT = 1000  # a core that is not there
MEMORY = "--no-huge --legacy-mem --no-pci"  # without --legacy-mem OVS adds --in-memory, which --no-huge does not go with


class OvsError(RuntimeError):
    """A command of OVS failed, or OVS is not installed."""


def require() -> None:
    """Raise OvsError where OVS-DPDK is not installed."""
    if not VSWITCHD.exists() or shutil.which("ovs-vsctl") is None:
        raise OvsError(f"OVS-DPDK is missing: make dpdk, or as root: apt-get install {PACKAGE}")


def core_seconds(pid: int, thread: tuple[str, ...]) -> float:
    """Processor time of the threads of a process whose name starts with one of `thread`."""
    ticks = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        name, _, fields = (task / "stat").read_text().partition("(")[2].rpartition(")")
        if name.startswith(thread):
            ticks += sum(map(int, fields.split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


class OpenVSwitch:
    """One instance. `prefix` stands in front of the switch daemon's command: `ip netns exec NAME`."""

    def __init__(self, folder: Path, prefix: Sequence[str] = ()) -> None:
        self.folder = folder
        self.prefix = tuple(prefix)
        self.environment = {**os.environ, **{f"OVS_{name}DIR": str(folder) for name in ("RUN", "LOG", "DB", "SYSCONF")}}
        self.environment["RUNTIME_DIRECTORY"] = str(folder)  # DPDK's
        self.daemons: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    @property
    def control(self) -> Path:
        """The socket that ovs-appctl talks to."""
        return self.folder / "ovs-vswitchd.ctl"

    @property
    def log(self) -> Path:
        """The switch's log."""
        return self.folder / "ovs-vswitchd.log"

    @property
    def pid(self) -> int:
        """Process id of the switch."""
        return self.daemons[-1].pid

    def call(self, *command: str) -> str:
        """Run an OVS command against this instance; its output. Waits no longer for a daemon that is gone."""
        with subprocess.Popen(
            bound_to_this_process(*command),
            env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
        ) as running:  # fmt: skip
            end = time.monotonic() + COMMAND
            while True:
                try:
                    output, errors = running.communicate(timeout=0.5)
                    break
                except subprocess.TimeoutExpired:
                    gone = any(one.poll() is not None for one in self.daemons)
                    if gone or time.monotonic() > end:
                        running.kill()
                        text = "no daemon answers" if gone else f"no answer within {COMMAND:.0f} s"
                        raise OvsError(f"{' '.join(command)}: {text}{self._last_words()}") from None
        if running.returncode != 0:
            raise OvsError(f"{' '.join(command)}: {errors.strip() or output.strip()}{self._last_words()}")
        return output

    def _last_words(self) -> str:
        gone = [one for one in self.daemons if one.poll() is not None]
        if not gone:
            return ""
        said = self.complaints() + (self.folder / "output").read_text(errors="replace")[-1500:]
        return f"\na daemon ended with status {gone[0].returncode}; its last words:\n{said}"

    def vsctl(self, *arguments: str) -> str:
        """ovs-vsctl on this instance's database."""
        return self.call("ovs-vsctl", f"--timeout={COMMAND:.0f}", f"--db=unix:{self.folder}/db.sock", *arguments)

    def ofctl(self, command: str, bridge: str, *arguments: str) -> str:
        """ovs-ofctl on a bridge, OpenFlow 1.3 (`push_vlan` is not in 1.0)."""
        return self.call("ovs-ofctl", "-O", "OpenFlow13", command, f"unix:{self.folder}/{bridge}.mgmt", *arguments)

    def appctl(self, *arguments: str) -> str:
        """ovs-appctl on the switch."""
        return self.call("ovs-appctl", "-t", str(self.control), *arguments)

    def _spawn(self, *command: str) -> None:
        with (self.folder / "output").open("ab") as out:
            bound = bound_to_this_process(*command)
            self.daemons.append(
                subprocess.Popen(bound, env=self.environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=self.folder)
            )

    def _wait_for(self, path: Path) -> None:
        """Until a daemon listens on a socket."""
        end = time.monotonic() + START
        while True:
            with socket.socket(socket.AF_UNIX) as link, contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
                link.connect(str(path))
                return
            if self.daemons[-1].poll() is not None or time.monotonic() > end:
                raise OvsError(f"no process listens on {path}{self._last_words()}")
            time.sleep(0.02)

    def start(self, extra: str = "", megabytes: int = 512, settings: Mapping[str, str] | None = None) -> None:
        """Start database and switch with DPDK. `extra`: more EAL options; `settings`: of other_config."""
        require()
        self.call("ovsdb-tool", "create", str(self.folder / "conf.db"), str(SCHEMA))
        self._spawn("ovsdb-server", str(self.folder / "conf.db"), f"--remote=punix:{self.folder}/db.sock", "-vconsole:off")
        self._wait_for(self.folder / "db.sock")
        self.vsctl("--no-wait", "init")
        eal = f"{MEMORY} -m {megabytes} --file-prefix {self.folder.name} {extra}".strip()
        own = {"dpdk-init": "true", "dpdk-extra": eal, "per-port-memory": "true"}  # the one pool for all ports would be 600 MB
        self.configure({**own, **(settings or {})}, wait=False)
        log = [f"--log-file={self.log}", f"--unixctl={self.control}", "-vconsole:off"]
        self._spawn(*self.prefix, str(VSWITCHD), f"unix:{self.folder}/db.sock", *log)
        self._wait_for(self.control)

    def poll(self, core: int | None) -> None:
        """Let a core poll the ports; None: nobody does, so that what waits at the ports stays there while pipelines are made."""
        self.configure({"pmd-cpu-mask": hex(1 << (ABSENT if core is None else core))})

    def configure(self, settings: Mapping[str, str], wait: bool = True) -> None:
        """Set keys of other_config; `ovs-vsctl set` refuses a command without any."""
        if not settings:
            return
        pairs = [f'other_config:{name}="{value}"' for name, value in settings.items()]
        self.vsctl(*(() if wait else ("--no-wait",)), "set", "Open_vSwitch", ".", *pairs)

    def add_bridge(self, name: str, secure: bool = True) -> None:
        """A userspace bridge without flows; a bridge that is not `secure` is a learning switch."""
        mode = "secure" if secure else "standalone"
        columns = ["datapath_type=netdev", f"fail_mode={mode}", "other_config:disable-in-band=true"]
        self.vsctl("add-br", name, "--", "set", "bridge", name, *columns)

    def add_port(self, bridge: str, name: str, devargs: str, number: int | None = None, *columns: str) -> None:
        """A DPDK port; OpenFlow number `number`; `columns` are further ones of the interface."""
        asked = [*([f"ofport_request={number}"] if number else []), *columns]
        settings = ["type=dpdk", f'options:dpdk-devargs="{devargs}"', *asked]
        self.vsctl("add-port", bridge, name, "--", "set", "Interface", name, *settings)
        self.check_port(name)

    def check_port(self, name: str) -> None:
        """Raise OvsError with OVS's reason where an interface does not work."""
        failed = self.vsctl("get", "Interface", name, "error").strip()
        if failed != "[]":
            raise OvsError(f"port {name}: {failed}; the log says:\n{self.complaints()}")

    def complaints(self) -> str:
        """The last warnings and errors of the log."""
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return "\n".join([line for line in lines if re.search(r"\|(WARN|ERR|EMER)\|", line)][-15:])

    def set_flows(self, bridge: str, flows: Sequence[str]) -> None:
        """Replace the OpenFlow flows of a bridge, all at once."""
        path = self.folder / f"{bridge}.flows"
        path.write_text("".join(f"{flow}\n" for flow in flows))
        self.ofctl("replace-flows", bridge, str(path))

    def datapath_flows(self) -> list[str]:
        """The datapath's flows, one a line, with their ufid and offload state."""
        return [line for line in self.appctl("dpctl/dump-flows", "-m").splitlines() if "in_port(" in line]

    def polled(self) -> int:
        """Packets that the poll threads have received so far."""
        return sum(map(int, re.findall(r"packets received:\s+(\d+)", self.appctl("dpif-netdev/pmd-stats-show"))))

    def port_packets(self, bridge: str) -> dict[str, tuple[int, int]]:
        """Packets received and sent by each port of a bridge; of a device's lane, also those that only hardware saw."""
        text = self.ofctl("dump-ports", bridge).replace("\n           tx", " tx")
        found = re.findall(r"port\s+\"?([\w-]+)\"?: rx pkts=(\d+|\?).*? tx pkts=(\d+|\?)", text)
        return {name: (int(rx.replace("?", "0")), int(tx.replace("?", "0"))) for name, rx, tx in found}

    def drops(self, bridge: str) -> dict[str, int]:
        """Packets that OVS itself dropped at the ports of a bridge, by its counters; those that are 0 are left out."""
        target = f"unix:{self.folder}/{bridge}.mgmt"
        text = self.call("ovs-ofctl", "-O", "OpenFlow14", "dump-ports", target)  # 1.3 has no counters of a kind of their own
        total: Counter[str] = Counter()
        for name, count in re.findall(r"\b(ovs_\w+_drops)=(\d+)", text):
            total[name] += int(count)
        return {name: count for name, count in total.items() if count}

    def stop(self) -> None:
        """End both daemons, the switch with its ports closed in order; what has not gone after ten seconds is killed."""
        if len(self.daemons) == 2 and self.daemons[1].poll() is None:
            with contextlib.suppress(OvsError, subprocess.TimeoutExpired):
                self.appctl("exit", "--cleanup")
                self.daemons[1].wait(STOP)
        for daemon in reversed(self.daemons):
            daemon.terminate()
            try:
                daemon.wait(STOP)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        self.daemons.clear()


def _end(number: int, frame: FrameType | None) -> NoReturn:
    del frame
    raise SystemExit(128 + number)


def clean_up_on_sigterm() -> None:
    """Let SIGTERM end this process as Ctrl-C does: through everything that has to be removed."""
    signal.signal(signal.SIGTERM, _end)


@contextlib.contextmanager
def run_folder() -> Iterator[Path]:
    """A folder of a short name (Unix sockets lie in it), removed in the end."""
    with tempfile.TemporaryDirectory(prefix=f"sluice-ovs-{os.getpid()}-", ignore_cleanup_errors=True) as name:
        yield Path(name)
