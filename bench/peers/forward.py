# SPDX-License-Identifier: Apache-2.0
"""Forwarding rates of testpmd and of OVS-DPDK on one core (AccelSDP Fig. 22, 23), over a capture replayed for ever.

Both read the capture by the pcap driver of DPDK, from memory (`infinite_rx=1`), and send into its null driver.
OVS-DPDK runs in a folder of its own with its own database, without huge pages, and is stopped whatever happens.
Rates are for a core's whole time: packets a second divided by the share of it that the forwarding thread got
(`core_share`), so that other work on the machine does not count against the peer.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import statistics
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.peers.tables import PeerMissing
from testing.ovs.switch import OpenVSwitch, OvsError, core_seconds, require, run_folder

TESTPMD = "dpdk-testpmd"
WINDOWS = 5
PATIENCE = 40  # seconds until a peer has started and been measured
TESTPMD_THREAD, OVS_THREAD = ("rte-worker", "lcore-worker"), ("pmd-",)  # names differ between releases of DPDK


def _vdevs(capture: Path) -> tuple[str, str]:
    return f"net_pcap0,rx_pcap={capture},infinite_rx=1", "net_null0,no-rx=1"


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
            found.append((int(seen[1]), time.monotonic(), core_seconds(running.pid, TESTPMD_THREAD)))
        if len(found) == WINDOWS + 2 or time.monotonic() > deadline:
            break
    return found


def testpmd(capture: Path, mode: str = "mac") -> dict[str, Any]:
    """Packets a second of testpmd in a forward mode, median of one-second windows."""
    if not shutil.which(TESTPMD):
        raise PeerMissing("testpmd is missing: toolchain/setup/setup.sh --bench")
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


@contextlib.contextmanager
def open_vswitch(capture: Path, flows: Sequence[str] = ()) -> Iterator[OpenVSwitch]:
    """OVS-DPDK with a bridge `br0`, port 1 `in0` (the capture) and port 2 `out0` (null), for the length of a `with`. Thousands of
    flows take a minute while packets come, and a second before."""
    try:
        require()
    except OvsError as error:
        raise PeerMissing(f"{error}, or toolchain/setup/setup.sh --bench") from error
    with run_folder() as folder, OpenVSwitch(folder) as switch:
        switch.start("--no-telemetry", 1024, {"dpdk-lcore-mask": "0x1", "pmd-cpu-mask": "0x2"})
        switch.add_bridge("br0")
        receive, send = _vdevs(capture)
        switch.add_port("br0", "out0", send, 2)
        if flows:
            switch.set_flows("br0", flows)
        switch.add_port("br0", "in0", receive, 1)
        yield switch


def _sent(switch: OpenVSwitch) -> int:
    return switch.port_packets("br0")["2"][1]


def ovs_dpdk(capture: Path, flows: Sequence[str], settings: Mapping[str, str] | None = None, passed: float = 1.0) -> dict[str, Any]:
    """Packets a second of OVS-DPDK's poll thread with the given OpenFlow flows, median of one-second windows; `passed`: of the
    packets so many are to leave."""
    with open_vswitch(capture, flows) as switch:
        switch.configure(settings or {})
        time.sleep(2)
        rates, sent, received = [], _sent(switch), switch.polled()
        begin, spent = time.monotonic(), core_seconds(switch.pid, OVS_THREAD)
        for _ in range(WINDOWS):
            before, start = switch.polled(), time.monotonic()
            time.sleep(1)
            rates.append((switch.polled() - before) / (time.monotonic() - start))
        share = (core_seconds(switch.pid, OVS_THREAD) - spent) / (time.monotonic() - begin)
        sent, received = _sent(switch) - sent, switch.polled() - received
    if not 0.9 * passed < sent / received < passed + 0.1:
        raise RuntimeError(f"OVS-DPDK received {received} packets and sent {sent}, not the {passed:.0%} that have an output")
    return _figures("OVS-DPDK", rates, share)
