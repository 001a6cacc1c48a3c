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
from testing.ovs.stages import BRIDGE, HOSTS, LANES_ON_BRIDGE, UNDERLAY, Check, Net, Stage, Traffic
from toolchain import ROOT

KEPT = ROOT / "build" / "ovs" / "demo"
LANES = tuple(f"lane{number}" for number in range(HOSTS))
DECIDED = 10.0  # seconds
ROUNDS = 5  # of a stage's traffic, at most, until hardware has had some of it
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


def _late(attempt: flows.Attempt | None) -> str:
    """Why software had packets of a flow that is in hardware."""
    late = attempt.late if attempt else None
    return "software had it until its rule was in force" + ("" if late is None else f", {late:,.0f} ms after its first packet")


def rows(ovs: switch.OpenVSwitch, dumped: Sequence[str]) -> list[Row]:
    """The fate of each flow."""
    with ovs.log.open(errors="replace") as log:
        attempts = flows.attempts(log)
    counted = devices.rule_packets(ovs)
    found = []
    for flow in filter(None, map(flows.parse, dumped)):
        attempt = attempts.get(flow.ufid)
        attempt = None if attempt and attempt.is_gone else attempt  # that was of a flow before it
        hardware = attempt.earlier + counted.get(attempt.handle, 0) if attempt and flow.state != "partial" else 0
        software = max(0, flow.packets - hardware)
        why = flows.reasons(flow, attempt, LANES) or ([_late(attempt)] if software else [])
        found.append(Row(flow.in_port, flow.match, flow.actions, flow.state, why, hardware, software))
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


def talk(ovs: switch.OpenVSwitch, traffic: Traffic) -> tuple[list[Check], list[str], list[Row]]:
    """A stage's traffic: its checks, and then the flows. Once more where all of it was over before the first rule came: the rules
    that were waited for are there then. A check that failed once has failed."""
    checks = traffic()
    dumped, found = decided(ovs)
    for _ in range(ROUNDS - 1):
        if any(row.offloaded == "yes" and row.hardware for row in found):
            break
        checks = [other if one.good else one for one, other in zip(checks, traffic(), strict=True)]
        dumped, found = decided(ovs)
    return checks, [f"{flows.DUMPED_AT}{flows.time_now()}", *dumped], found


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
                with stage.run(net) as traffic:
                    checks, now, fates = talk(net.switch, traffic) if offload else (traffic(), [], [])
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
