# SPDX-License-Identifier: Apache-2.0
"""Forwarding rates of testpmd and of OVS-DPDK on one core (AccelSDP Fig. 22, 23), over a capture replayed for ever.

Both read the capture by the pcap driver of DPDK, from memory (`infinite_rx=1`), and send into its null driver.
OVS-DPDK runs in a folder of its own with its own database, without huge pages, and is stopped whatever happens.
Rates are for a core's whole time: packets a second divided by the share of it that the forwarding thread got
(`core_share`), so that other work on the machine does not count against the peer.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.peers.tables import PeerMissing

TESTPMD = "dpdk-testpmd"
OVS = Path("/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk")
SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")
WINDOWS = 5
PATIENCE = 40  # seconds until a peer has started and been measured
TESTPMD_THREAD, OVS_THREAD = ("rte-worker", "lcore-worker"), ("pmd-",)  # names differ between releases of DPDK


def _vdevs(capture: Path) -> tuple[str, str]:
    return f"net_pcap0,rx_pcap={capture},infinite_rx=1", "net_null0,no-rx=1"


def _core_seconds(pid: int, thread: tuple[str, ...]) -> float:
    """Processor time of the threads of a process whose name starts with one of `thread`."""
    ticks = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        name, _, fields = (task / "stat").read_text().partition("(")[2].rpartition(")")
        if name.startswith(thread):
            ticks += sum(map(int, fields.split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _figures(peer: str, rates: Sequence[float], share: float) -> dict[str, Any]:
    wall = statistics.median(rates)
    return {
        "peer": peer,
        "packets_per_s": wall / share,
        "packets_per_s_wall": wall,
        "core_share": round(share, 3),
        "windows": len(rates),
    }


def _testpmd_windows(running: subprocess.Popen[str]) -> list[tuple[int, float, float]]:
    """Packets a second that testpmd prints each second, with the time and the core's time at that moment."""
    found: list[tuple[int, float, float]] = []
    deadline = time.monotonic() + PATIENCE
    assert running.stdout is not None
    for line in running.stdout:
        seen = re.search(r"Tx-pps:\s+(\d+)", line)
        if seen and int(seen[1]) > 0:
            found.append((int(seen[1]), time.monotonic(), _core_seconds(running.pid, TESTPMD_THREAD)))
        if len(found) == WINDOWS + 2 or time.monotonic() > deadline:
            break
    return found


def testpmd(capture: Path, mode: str = "mac") -> dict[str, Any]:
    """Packets a second of testpmd in a forward mode, median of one-second windows."""
    if not shutil.which(TESTPMD):
        raise PeerMissing("testpmd is missing: tools/setup/setup.sh --bench")
    receive, send = _vdevs(capture)
    eal = ["--no-huge", "--no-pci", "-m", "512", "-l", "0,1", "--no-telemetry", "--log-level", "error"]
    options = [
        f"--forward-mode={mode}",
        "--nb-cores=1",
        "--total-num-mbufs=16384",
        "--stats-period=1",
        "--no-lsc-interrupt",
    ]
    command = [TESTPMD, *eal, "--file-prefix", "sluice-testpmd", "--vdev", receive, "--vdev", send, "--", *options]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as running:
        windows = _testpmd_windows(running)
        running.terminate()
        text, _ = running.communicate(timeout=20)
    if len(windows) < 3:
        raise RuntimeError(f"testpmd sent nothing:\n{text[-1500:]}")
    (_, start, before), (_, end, after) = windows[0], windows[-1]
    steady, share = [rate for rate, _, _ in windows[1:]], (after - before) / (end - start)
    return _figures(f"testpmd {mode}", steady, share)


class OpenVSwitch:
    """A running OVS-DPDK in its own folder with a bridge `br0`, port `in0` (the capture) and port `out0` (null)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {**os.environ, **{f"OVS_{name}DIR": str(folder) for name in ("RUN", "LOG", "DB", "SYSCONF")}}

    def call(self, *command: str) -> str:
        """Run an OVS command against this instance; its output."""
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
        return done.stdout

    def vsctl(self, *arguments: str) -> str:
        """ovs-vsctl on this instance's database."""
        return self.call("ovs-vsctl", f"--db=unix:{self.folder}/db.sock", *arguments)

    def start(self, capture: Path) -> None:
        """Start database and switch, make the bridge and its ports."""
        self.call("ovsdb-tool", "create", str(self.folder / "conf.db"), str(SCHEMA))
        database = ["ovsdb-server", str(self.folder / "conf.db"), f"--remote=punix:{self.folder}/db.sock"]
        self.call(*database, f"--pidfile={self.folder}/ovsdb-server.pid", "--detach", "--log-file")
        self.vsctl("--no-wait", "init")
        extra = f"--no-huge --legacy-mem -m 1024 --no-pci --no-telemetry --file-prefix {self.folder.name}"
        settings = ["other_config:dpdk-init=true", f"other_config:dpdk-extra={extra}", "other_config:pmd-cpu-mask=0x2"]
        self.vsctl("--no-wait", "set", "Open_vSwitch", ".", *settings, "other_config:dpdk-lcore-mask=0x1")
        pidfile = f"--pidfile={self.folder}/ovs-vswitchd.pid"
        self.call(str(OVS), f"unix:{self.folder}/db.sock", pidfile, "--detach", "--log-file")
        self.vsctl("add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev")
        for port, device in zip(("in0", "out0"), _vdevs(capture), strict=True):
            settings = ["type=dpdk", f'options:dpdk-devargs="{device}"']
            self.vsctl("add-port", "br0", port, "--", "set", "Interface", port, *settings)
            failed = self.vsctl("get", "Interface", port, "error").strip()
            if failed != "[]":
                raise RuntimeError(f"OVS port {port}: {failed}")
        self.call("ovs-ofctl", "del-flows", "br0")

    def processed(self) -> int:
        """Packets that the poll thread has received so far."""
        text = self.call("ovs-appctl", "-t", str(next(self.folder.glob("ovs-vswitchd*.ctl"))), "dpif-netdev/pmd-stats-show")
        return sum(int(found) for found in re.findall(r"packets received:\s+(\d+)", text))

    def add_flows(self, flows: Sequence[str]) -> None:
        """Add OpenFlow flows (1.3: `push_vlan` is not in 1.0) to the bridge."""
        path = self.folder / "flows"
        path.write_text("\n".join(flows) + "\n")
        self.call("ovs-ofctl", "-O", "OpenFlow13", "add-flows", "br0", str(path))

    def core_seconds(self) -> float:
        """Processor time of the poll thread."""
        return _core_seconds(int((self.folder / "ovs-vswitchd.pid").read_text()), OVS_THREAD)

    def sent(self) -> int:
        """Packets that have left through `out0`."""
        text = self.call("ovs-ofctl", "dump-ports", "br0", "out0")
        return sum(int(found) for found in re.findall(r"tx pkts=(\d+)", text))

    def stop(self) -> None:
        """End both daemons; what has not gone after ten seconds is killed."""
        pids = {int(path.read_text()) for path in self.folder.glob("*.pid")}
        for number in (signal.SIGTERM, signal.SIGKILL):
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            deadline = time.monotonic() + 10
            while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < deadline:
                time.sleep(0.1)


@contextlib.contextmanager
def open_vswitch(capture: Path) -> Iterator[OpenVSwitch]:
    """OVS-DPDK for the length of a `with`."""
    if not OVS.exists():
        raise PeerMissing("OVS-DPDK is missing: tools/setup/setup.sh --bench")
    with tempfile.TemporaryDirectory(prefix="sluice-ovs-") as name:
        switch = OpenVSwitch(Path(name))
        try:
            switch.start(capture)
            yield switch
        finally:
            switch.stop()


def ovs_dpdk(capture: Path, flows: Sequence[str], settings: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Packets a second of OVS-DPDK's poll thread with the given OpenFlow flows, median of one-second windows."""
    with open_vswitch(capture) as switch:
        for name, value in (settings or {}).items():
            switch.vsctl("set", "Open_vSwitch", ".", f"other_config:{name}={value}")
        switch.add_flows(flows)
        time.sleep(2)
        rates, sent, received = [], switch.sent(), switch.processed()
        begin, spent = time.monotonic(), switch.core_seconds()
        for _ in range(WINDOWS):
            before, start = switch.processed(), time.monotonic()
            time.sleep(1)
            rates.append((switch.processed() - before) / (time.monotonic() - start))
        share = (switch.core_seconds() - spent) / (time.monotonic() - begin)
        sent, received = switch.sent() - sent, switch.processed() - received
    if not 0.9 * received < sent:
        raise RuntimeError(f"OVS-DPDK received {received} packets and sent {sent}: not every packet hit a flow with an output")
    return _figures("OVS-DPDK", rates, share)
