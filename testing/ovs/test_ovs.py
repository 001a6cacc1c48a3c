# SPDX-License-Identifier: Apache-2.0
"""The unmodified Open vSwitch on the simulated device: every stage of the demo, and its verdicts compared with OVS alone."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from typer.testing import CliRunner

from models.traffic import MACS
from testing.ovs import device as devices
from testing.ovs import flows, replay, spaces, switch
from testing.ovs.demo import KEPT, run
from testing.ovs.differential import compare, packets
from testing.ovs.differential import run as run_pipeline
from testing.ovs.pipelines import PIPELINES, Pipeline
from testing.ovs.replay import Left
from testing.ovs.stages import STAGES
from testing.slow import except_for
from toolchain import ROOT
from tools.cli.main import app

SHORT = 500  # packets of a comparison; `python -m testing.ovs.differential` has 60,000


@pytest.fixture(scope="module")
def device() -> Iterator[devices.Device]:
    try:
        switch.require()
        spaces.require()
        with spaces.Spaces(0):
            pass
    except (switch.OvsError, spaces.SpaceError) as error:
        pytest.skip(f"Open vSwitch cannot run here: {error}")
    yield devices.build()


def test_hosts_talk_through_every_stage_and_their_flows_are_in_hardware(device: devices.Device) -> None:
    outcomes = run(device, STAGES, lambda text: None)
    assert [check for outcome in outcomes for check in outcome.checks if not check.good] == []
    for outcome in outcomes:
        inside = [row for row in outcome.flows if row.offloaded == "yes"]
        assert inside, outcome
        assert sum(row.hardware for row in inside) > 0, outcome
        for row in outcome.flows:
            assert bool(row.reasons) == (row.offloaded != "yes" or row.software > 0), row
            assert flows.UNDECIDED not in row.reasons, row
    reasons = {reason for outcome in outcomes for row in outcome.flows for reason in row.reasons}
    assert any("tnl_pop" in reason for reason in reasons)
    done = CliRunner().invoke(app, ["why", "--json", "-"], input=(KEPT / "flows.txt").read_text())
    popped = [told for told in json.loads(done.output) if "tnl_pop" in told["actions"]]
    assert len(popped) == sum("tnl_pop" in row.actions for outcome in outcomes for row in outcome.flows) > 0
    assert [told for told in popped if not any("tnl_pop" in reason for reason in told["reasons"])] == []


@pytest.mark.parametrize(
    "pipeline", except_for([one for one in PIPELINES if one.name in ("vlan", "geneve")], PIPELINES), ids=lambda one: one.name
)
def test_what_leaves_is_what_leaves_ovs_alone(pipeline: Pipeline, device: devices.Device) -> None:
    result = run_pipeline(pipeline, packets(SHORT), device)
    assert (result.differences, result.reordered_flows) == ([], 0)
    assert result.left > SHORT // 3
    assert result.in_hardware > SHORT // 20
    assert result.offloaded > 0


def test_a_comparison_finds_each_kind_of_difference() -> None:
    frames = [
        bytes([lane]) * 12 + b"\x08\x00" + bytes([0x45]) + bytes(19) + bytes([index]) * 30
        for lane in range(4)
        for index in range(3)
    ]
    lanes = [frames[3 * lane : 3 * lane + 3] for lane in range(4)]
    equal = Left(lanes, 12, 6)
    plain, tunnel = PIPELINES[0], PIPELINES[-1]
    assert compare(plain, equal, equal).differences == []
    for damaged, counts in [
        ([*lanes[0], lanes[0][0]], (0, 1)),
        (lanes[0][:2], (1, 0)),
        ([lanes[0][0], lanes[0][1], lanes[0][2] + b"\0"], (1, 1)),
    ]:
        (found,) = compare(plain, equal, Left([damaged, *lanes[1:]])).differences
        assert (found.lane, found.alone, found.device) == (0, *counts)
    assert len(compare(plain, equal, Left([lanes[1], lanes[0], *lanes[2:]])).differences) == 12
    for header, counts in (({}, (1, 0)), ({"len": 99}, (0, 1)), ({"ttl": 9}, (1, 0))):
        swapped = [bytes(Ether(**MACS) / IP(**header) / UDP() / bytes([index])) for index in range(2)]
        result = compare(plain, Left([swapped, [], [], []]), Left([swapped[::-1], [], [], []]))
        assert (result.differences, (result.reordered_flows, result.malformed_reordered)) == ([], counts)
    apart = [bytes(Ether(**MACS) / IP(ttl=ttl) / UDP()) for ttl in (8, 9)]
    result = compare(plain, Left([apart, [], [], []]), Left([apart[::-1], [], [], []]))
    assert result.reordered_flows == 0, "no flow of Open vSwitch has both"
    outer = bytes(12) + b"\x08\x00\x45" + bytes(8) + b"\x11" + bytes(10)
    one, other = (Left([[outer + port + bytes(20)], [], [], []]) for port in (b"\x80\x01", b"\x90\x02"))
    assert compare(tunnel, one, other).differences == []
    assert len(compare(plain, one, other).differences) == 2


def test_packets_that_ovs_dropped_are_sent_again_and_reported_when_that_does_not_help(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    runs: list[Left | None] = []  # to come; None: one in which packets are dropped

    def once(pipeline: Pipeline, given: object, device: object) -> Left:
        if left := runs.pop(0):
            return left
        raise replay.DroppedByOvsError("ovs_tx_failure_drops")

    monkeypatch.setattr(replay, "once_with_device", once)
    some_device, left = devices.Device(tmp_path, "functional"), Left([[]])
    for dropping in range(replay.TRIES):
        runs[:] = [*[None] * dropping, left]
        assert (replay.with_device(PIPELINES[0], [], some_device), runs) == (left, [])
    runs[:] = [*[None] * replay.TRIES, left]
    with pytest.raises(replay.DroppedByOvsError):
        replay.with_device(PIPELINES[0], [], some_device)


def test_drops_of_the_switch_are_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    said = "port  1: rx pkts=2, drop=9\n  ovs_tx_failure_drops=3, ovs_tx_qos_drops=0,\n port  2: ovs_tx_failure_drops=14,\n"
    monkeypatch.setattr(switch.OpenVSwitch, "call", lambda self, *command: said)
    assert switch.OpenVSwitch(tmp_path).drops("br0") == {"ovs_tx_failure_drops": 17}


def still_running(text: str, seconds: float) -> list[str]:
    """Processes with `text` in their command that do not end within some seconds: killing a large one takes the kernel a while."""
    end = time.monotonic() + seconds
    while True:
        left = subprocess.run(["pgrep", "-a", "-f", text], capture_output=True, text=True, check=False).stdout.splitlines()
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_demo_leaves_nothing_running(number: signal.Signals, device: devices.Device) -> None:
    command = [sys.executable, "-m", "tools.cli", "ovs", "--stage", "learning"]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'build' / 'gen'}", "COLUMNS": "100"}
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # tests in the background ignore it
    )  # fmt: skip
    assert process.stdout is not None
    assert "learning switch" in process.stdout.readline()
    if number == signal.SIGKILL:
        process.kill()
    else:
        os.killpg(process.pid, number)  # the daemons hear it too
    said, _ = process.communicate(timeout=60)
    assert process.returncode != 0, said
    folder = f"sluice-ovs-{process.pid}-"
    assert still_running(folder, seconds=20) == []
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    names = [line.split()[0] for line in listed.splitlines() if line.startswith(f"sluice-{process.pid}-")]
    if number == signal.SIGKILL:  # nobody was left to remove them
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=True)
        for one in Path("/tmp").glob(f"{folder}*"):
            subprocess.run(["rm", "-rf", str(one)], check=True)
    else:
        assert names == []
        assert not list(Path("/tmp").glob(f"{folder}*"))


def test_a_demo_without_ovs_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switch, "VSWITCHD", Path("/nonexistent/ovs-vswitchd"))
    done = CliRunner().invoke(app, ["ovs"])
    assert done.exit_code == 1
    assert "apt-get install openvswitch-switch-dpdk" in done.output
    done = CliRunner().invoke(app, ["ovs", "--stage", "nonsense"])
    assert done.exit_code == 2
    assert "learning, routing" in done.output


@contextlib.contextmanager
def bare() -> Iterator[switch.OpenVSwitch]:
    with switch.run_folder() as folder, spaces.Spaces(0) as made, switch.OpenVSwitch(folder, made.prefix(made.switch)) as ovs:
        yield ovs


def test_a_switch_that_cannot_be_started_or_has_no_device_says_why(device: devices.Device) -> None:
    with bare() as ovs:
        ovs.start("--no-such-option", 64)
        with pytest.raises(switch.OvsError, match="Cannot init EAL"):
            ovs.add_bridge("br0")
    with bare() as ovs:
        ovs.start(device.eal, 64)
        ovs.add_bridge("br0")
        with pytest.raises(switch.OvsError, match=r"port p0: .*net_nothing0"):
            ovs.add_port("br0", "p0", "net_nothing0")


def test_a_switch_that_does_not_end_when_asked_is_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    slow = switch.OpenVSwitch(tmp_path)
    daemons = [subprocess.Popen(["sleep", "60"]) for _ in range(2)]
    slow.daemons = [*daemons]
    monkeypatch.setattr(switch, "STOP", 0.1)
    monkeypatch.setattr(switch.OpenVSwitch, "appctl", lambda self, *arguments: "")
    slow.stop()
    assert [daemon.returncode for daemon in daemons] == [-signal.SIGTERM] * 2
