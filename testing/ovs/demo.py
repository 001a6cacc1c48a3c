# SPDX-License-Identifier: Apache-2.0
"""Open vSwitch on the simulated device, with hosts that ping and talk TCP through it: `make ovs-demo`, or `./sluice ovs`.

Every stage of `stages.py` in turn; then, for each flow of the datapath, whether it is in hardware or why not, and how many packets
hardware and software have had. Nothing of the machine's own Open vSwitch or network is touched, and nothing is left behind but the
log and the flows in build/ovs/demo, for `./sluice why`. Exit status 1: a check failed, or the switch could not be run.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from testing.ovs import device as devices
from testing.ovs import flows, spaces, switch
from testing.ovs.stages import BRIDGE, HOSTS, LANES_ON_BRIDGE, UNDERLAY, Check, Net, Stage
from testing.simulate import ROOT

KEPT = ROOT / "build" / "ovs" / "demo"
LANES = tuple(f"lane{number}" for number in range(HOSTS))
DECIDED = 10.0  # seconds
Say = Callable[[str], None]


@dataclass
class Row:
    """A datapath flow at the end of a stage."""

    in_port: str
    match: str
    actions: str
    offloaded: str
    reasons: list[str]
    hardware: int
    software: int


@dataclass
class Outcome:
    """What a stage came to."""

    name: str
    title: str
    seconds: float
    checks: list[Check]
    flows: list[Row] = field(default_factory=list)


@contextlib.contextmanager
def network(device: devices.Device, offload: bool = True) -> Iterator[Net]:
    """A switch with the device's lanes, three on one bridge and one on another, and a host behind each."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(switch.run_folder())
        made = stack.enter_context(spaces.Spaces(HOSTS))
        ovs = stack.enter_context(switch.OpenVSwitch(folder, made.prefix(made.switch)))
        devices.start(ovs, device, offload)
        ovs.add_bridge(BRIDGE)
        ovs.add_bridge(UNDERLAY)
        for number, devargs in enumerate(device.devargs([f"af_packet:{lane}" for lane in LANES])):
            bridge = BRIDGE if number < LANES_ON_BRIDGE else UNDERLAY
            ovs.add_port(bridge, LANES[number], devargs, number + 1)
        ovs.poll(devices.cores()[0])
        yield Net(ovs, made)


def rows(ovs: switch.OpenVSwitch, dumped: Sequence[str]) -> list[Row]:
    """The fate of each flow."""
    with ovs.log.open(errors="replace") as log:
        attempts = flows.attempts(log)
    counted = devices.rule_packets(ovs)
    found = []
    for flow in filter(None, map(flows.parse, dumped)):
        attempt = attempts.get(flow.ufid)
        hardware = attempt.earlier + counted.get(attempt.handle, 0) if attempt and flow.state != "partial" else 0
        why = flows.reasons(flow, attempt, LANES)
        found.append(Row(flow.in_port, flow.match, flow.actions, flow.state, why, hardware, max(0, flow.packets - hardware)))
    return sorted(found, key=lambda row: (row.offloaded != "yes", row.in_port, row.match))


def decided(ovs: switch.OpenVSwitch) -> tuple[list[str], list[Row]]:
    """The flows, when the offload thread has answered for each; the last ones may be milliseconds old."""
    end = time.monotonic() + DECIDED
    while True:
        dumped = ovs.datapath_flows()
        found = rows(ovs, dumped)
        if not any(flows.UNDECIDED in row.reasons for row in found) or time.monotonic() > end:
            return dumped, found
        time.sleep(0.1)


def run(
    device: devices.Device,
    chosen: Sequence[Stage],
    say: Say,
    offload: bool = True,
    seen: Callable[[Outcome], None] = lambda outcome: None,
) -> list[Outcome]:
    """All stages on one switch."""
    outcomes: list[Outcome] = []
    with network(device, offload) as net:
        dumped: list[str] = []
        try:
            for stage in chosen:
                say(f"{stage.title}{'' if offload else ', OVS alone'}")
                net.switch.appctl("fdb/flush")
                net.switch.appctl("dpctl/del-flows")
                began = time.monotonic()
                with stage.run(net) as checks:
                    now, fates = decided(net.switch) if offload else ([], [])
                outcome = Outcome(stage.name, stage.title, round(time.monotonic() - began, 1), checks, fates)
                dumped += now
                outcomes.append(outcome)
                seen(outcome)
        finally:
            if offload:
                keep(net.switch, dumped)
    return outcomes


def keep(ovs: switch.OpenVSwitch, dumped: Sequence[str]) -> None:
    """Leave the log and the flows for `./sluice why`."""
    KEPT.mkdir(parents=True, exist_ok=True)
    for name, text in (
        ("ovs-vswitchd.log", ovs.log.read_text(errors="replace")),
        ("flows.txt", "".join(f"{one}\n" for one in dumped)),
    ):
        unfinished = KEPT / f"{name}.{os.getpid()}"
        unfinished.write_text(text)
        unfinished.rename(KEPT / name)
