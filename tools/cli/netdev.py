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
    names: list[str] = typer.Argument(help="names of the interfaces, one per port"),
    lane: list[str] = typer.Option([], help="connection of each lane, see docs/guide/dpdk.md; default: none"),
    device: str = typer.Option("sim", help="sim, functional, functional:join, or any value of the driver argument device="),
) -> None:
    """Expose the ports of a device as kernel network interfaces, for any program, without DPDK in it.

    Up, down, MAC address and MTU of the interface are set on the port; its link state is set on the interface. Ctrl-C stops it
    and prints the packet counts. Needs root, and `make dpdk` once."""
    console = Console(stderr=True)
    if len(lane) > len(names):
        raise typer.BadParameter(f"{len(lane)} lanes given for {len(names)} interfaces")
    lanes = [*lane, *["none"] * (len(names) - len(lane))]
    try:
        where = f"sim:{build_device(FLOW, lambda text: console.log(text, markup=False))}" if device == "sim" else device
        words = command(names, lanes, where, f"netdev{os.getpid()}", build_driver())
    except (BuildError, HostBuildError) as error:
        console.print(f"netdev: {error}", style="red", markup=False, soft_wrap=True)
        raise typer.Exit(1) from error
    os.execv(words[0], words)
