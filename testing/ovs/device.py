# SPDX-License-Identifier: Apache-2.0
"""The simulated device as ports of a switch: which driver and device are loaded, and their counters over DPDK's telemetry."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from host.pmd.build import build as build_driver
from shell.sim.build import FLOW
from shell.sim.build import build as build_device
from testing.ovs.switch import OpenVSwitch, OvsError
from testing.telemetry import ask

FIRST_MAC = "02:00:00:00:0f:10"
MEGABYTES = 768  # for DPDK: the buffers of four ports, twice while they are configured anew


@dataclass(frozen=True)
class Device:
    """A driver and a device."""

    driver: Path
    where: str  # of the driver's argument `device=`: which kind, and its library
    fence: bool = True  # the order of a flow is kept when its rule arrives

    @property
    def eal(self) -> str:
        """EAL options that load the driver, which then says every rule it is given."""
        return f"-d {self.driver} --log-level=pmd.net.sluice:debug"

    def devargs(self, lanes: Sequence[str], lossless: bool = False) -> list[str]:
        """DPDK's arguments of one port for each lane: the first makes the device, the others are its ports by address."""
        stem, first = FIRST_MAC[:-2], int(FIRST_MAC[-2:], 16)
        what = f"device={self.where},mac={FIRST_MAC},lossless={int(lossless)},fence={int(self.fence)},lanes=[{','.join(lanes)}]"
        return [f"net_sluice0,{what}", *(f"class=eth,mac={stem}{first + n:02x}" for n in range(1, len(lanes)))]


def build(say: Callable[[str], None] = lambda text: None) -> Device:
    """The driver and the simulated device, built where they are not there."""
    return Device(build_driver(), f"sim:{build_device(FLOW, say)}")


def functional() -> Device:
    """The driver and the device without time, which is software."""
    return Device(build_driver(), "functional")


def cores() -> tuple[int, str]:
    """A core for the poll thread, and the mask of DPDK's main thread on it: the device runs on the cores that are left."""
    first = min(os.sched_getaffinity(0))
    return first, hex(1 << first)


def start(switch: OpenVSwitch, device: Device | None, offload: bool) -> None:
    """Start a switch with the driver loaded; nothing is polled yet. OVS logs why it does not offload a flow."""
    settings = {"hw-offload": str(offload).lower(), "dpdk-lcore-mask": cores()[1], "pmd-maxsleep": "1000"}
    switch.start(device.eal if device else "", MEGABYTES, settings)
    switch.poll(None)
    switch.appctl("vlog/set", "netdev_offload_dpdk:file:dbg", "dpif_netdev:file:dbg", "dpdk:file:dbg")
    switch.appctl("vlog/disable-rate-limit")


def telemetry(switch: OpenVSwitch, command: str) -> Any:
    """An answer of the switch's DPDK."""
    try:
        return ask(switch.folder, switch.folder.name, command)
    except OSError as error:
        raise OvsError(f"DPDK's telemetry of the switch: {error}") from error


def rule_packets(switch: OpenVSwitch) -> dict[str, int]:
    """Packets of each rule in hardware since it was made, by the handle that the log calls it by."""
    found: dict[str, int] = {}
    for port in telemetry(switch, "/ethdev/list"):
        first = 0
        while counted := telemetry(switch, f"/net_sluice/rules,{port},{first}"):
            found |= counted
            first += len(counted)
    return found
