# SPDX-License-Identifier: Apache-2.0
"""`sluice netdev`: the ports of a device as network interfaces of the kernel."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import typer
from rich.console import Console

from host.build import BuildError as HostBuildError
from host.pmd.build import build as build_driver
from host.pmd.build import build_program
from shell.sim.build import FLOW, BuildError
from shell.sim.build import build as build_device
from toolchain import ROOT

PROGRAM = ROOT / "host" / "netdev" / "netdev.c"
MEGABYTES = 256  # for DPDK: the buffers are 40


def command(names: Sequence[str], lanes: Sequence[str], device: str, prefix: str, driver: Path) -> list[str]:
    """The program and its arguments: interfaces `names`, one a lane. Raises BuildError."""
    vdev = f"net_sluice0,device={device},lanes=[{','.join(lanes)}]"
    memory = ["--no-huge", "--legacy-mem", "-m", str(MEGABYTES), "--no-pci", "--no-telemetry", "--file-prefix", prefix]
    cores = ",".join(map(str, sorted(os.sched_getaffinity(0))))  # floating: the simulated device computes too
    return [str(build_program(PROGRAM)), *memory, "--lcores", f"0@({cores})", "-d", str(driver), "--vdev", vdev, "--", *names]


def netdev(
    names: list[str] = typer.Argument(help="names of the interfaces, one for each port"),
    lane: list[str] = typer.Option([], help="what the lane of each is connected to, as in docs/guide/dpdk.md; nothing by default"),
    device: str = typer.Option("sim", help="sim, functional, functional:join, or what the driver's argument device= takes"),
) -> None:
    """The ports of a device as network interfaces of the kernel: any program uses them, with no DPDK in it.

    Up, down, MAC address and MTU of the interface go to the port, its link comes back. Ends with Ctrl-C, and says then what was
    carried. Needs root, and `make dpdk` once."""
    console = Console(stderr=True)
    if len(lane) > len(names):
        raise typer.BadParameter(f"{len(lane)} lanes for {len(names)} interfaces")
    lanes = [*lane, *["none"] * (len(names) - len(lane))]
    try:
        where = f"sim:{build_device(FLOW, lambda text: console.log(text, markup=False))}" if device == "sim" else device
        words = command(names, lanes, where, f"netdev{os.getpid()}", build_driver())
    except (BuildError, HostBuildError) as error:
        console.print(f"netdev: {error}", style="red", markup=False, soft_wrap=True)
        raise typer.Exit(1) from error
    os.execv(words[0], words)
