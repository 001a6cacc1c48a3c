# SPDX-License-Identifier: Apache-2.0
"""A program in the place of an agent's flows: loaded by the local API and the commands, kept over a restart of the agent with the
state of its flows, and loaded again after a reset of the device."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sluice_layouts as L
from c65of import ofproto as of
from typer.testing import CliRunner

from compiler.overlay.place import Sizes
from configs.overlay.test_applications import HERE as STATELESS
from configs.stateful.test_applications import HERE as STATEFUL
from host.agent.channel import ChannelError
from host.agent.deploy import DeployError, compiled
from host.agent.device_channel import DeviceChannel, open_device
from host.agent.pipeline import Pipeline
from host.agent.session import Session
from host.agent.switch import Deployed, Switch
from host.agent.text import read_flow
from testing.device import lane_packets, udp
from toolchain import ROOT
from tools.cli.main import app

KNOCKS, MINUTE = (1111, 2222, 3333), 60_000_000
FORGETTING = 2048  # cycles in which a flow table forgets all flows, at most


@pytest.fixture(params=["functional:", "sim:controller=1,"])  # the latter is the build of other tests
def channel(request: pytest.FixtureRequest) -> Iterator[DeviceChannel]:
    opened = open_device(f"{request.param}pipeline_units=2,stateful_units=2")
    opened.device.call("sluice_device_set_lossless", 1)
    opened.device.write(L.SHELL_REGISTERS_TICK_SOURCE, 0)
    yield opened
    opened.close()


def deploy(switch: Switch, file: Path) -> None:
    made = compiled(file, None, Sizes.of(switch.pipeline.image), switch.lanes)
    switch.deploy(Deployed(file.name, made.program))


def passes(channel: DeviceChannel, *ports: int, tick: int = 0) -> list[int]:
    """The ports of packets of a host that leave, at a time."""
    channel.device.advance(FORGETTING)
    channel.device.write(L.SHELL_REGISTERS_TICK, tick)
    for port in ports:
        assert channel.device.lane_send(0, udp("10.9.0.7", "10.2.0.2", dport=port))
    channel.device.settle()
    return [int.from_bytes(data[36:38], "big") for lane in range(4) for data in lane_packets(channel.device, lane)]


def flow(switch: Switch, text: str) -> list[bytes]:
    return [*Session(switch, lambda data: None).handle(bytes(read_flow(text).buf))]


def test_a_program_with_state_takes_the_place_of_the_flows(channel: DeviceChannel, tmp_path: Path) -> None:
    switch = Switch(Pipeline(channel, tmp_path / "state"))
    assert switch.tables == 1, "the stateful unit is no table"
    assert not flow(switch, "in_port=1,actions=output:2")
    switch.load()
    assert passes(channel, 80, 22) == [80, 22]
    deploy(switch, STATEFUL / "knocking" / "knocking.sl")
    assert passes(channel, 80, 22, *KNOCKS, 22) == [80, 22]
    (refused,) = flow(switch, "in_port=1,actions=drop")
    assert refused[8:12] == bytes([0, of.OFPET_FLOW_MOD_FAILED, 0, of.OFPFMFC_EPERM]) and "deployed" in switch.why_refused
    again = Switch(Pipeline(channel, tmp_path / "state"))
    assert again.pipeline.loads == 0 and again.deployed is not None and again.deployed.name == "knocking.sl"
    assert passes(channel, 22) == [22], "the host has access still"
    channel.device.write(L.SHELL_REGISTERS_CONTROL, channel.device.read(L.SHELL_REGISTERS_CONTROL) | 1)
    channel.device.advance(64)
    again.check()
    assert again.counters["reset"] == 1
    assert passes(channel, 22) == [], "the device has forgotten it"
    assert passes(channel, *KNOCKS, 22) == [22]
    assert passes(channel, 22, tick=MINUTE - 1) == [22] and passes(channel, 22, tick=2 * MINUTE) == [], "its time is over"
    again.deploy(None)
    assert passes(channel, 80, 22) == [80, 22]
    assert not flow(again, "in_port=1,actions=drop")
    again.load()
    assert passes(channel, 80, 22) == []


def test_an_agent_killed_while_it_deploys_leaves_what_was_there(channel: DeviceChannel, tmp_path: Path) -> None:
    switch = Switch(Pipeline(channel, tmp_path / "state"))
    flow(switch, "in_port=1,actions=output:2")
    switch.load()
    access, channel.access = channel.access, failing(channel)  # type: ignore[method-assign]
    with pytest.raises(ChannelError):
        deploy(switch, STATEFUL / "knocking" / "knocking.sl")
    channel.access = access  # type: ignore[method-assign]
    assert passes(channel, 80, 22) == [80, 22]
    again = Switch(Pipeline(channel, tmp_path / "state"))
    assert again.deployed is not None and passes(channel, 80, 22) == [80]


def failing(channel: DeviceChannel) -> Any:
    """Accesses of the channel up to the write that has packets use the other program."""
    access, version = channel.access, L.PIPELINE_REGISTERS_VERSION

    def fail(batch: Any) -> list[int]:
        for one in batch:
            if one.value is not None and one.address % L.WINDOW_SIZE == version:
                raise ChannelError("the agent ends here")
            access([one])
        return access([one for one in batch if one.value is None])

    return fail


def test_what_does_not_fit_changes_nothing(channel: DeviceChannel) -> None:
    switch = Switch(Pipeline(channel))
    with pytest.raises(DeployError, match="second flow table"):
        deploy(switch, STATEFUL / "nat" / "nat.sl")
    with pytest.raises(DeployError, match=r"absent\.sl"):
        deploy(switch, STATEFUL / "absent.sl")
    assert switch.deployed is None and not flow(switch, "in_port=1,actions=output:2")


def test_by_the_commands(tmp_path: Path) -> None:
    def sluice(*words: str, code: int = 0) -> str:
        done = CliRunner().invoke(app, [*words, "--state", str(tmp_path)])
        assert done.exit_code == code, done.output
        return done.output

    knocking, nat = (str(STATEFUL / name / f"{name}.sl") for name in ("knocking", "nat"))
    assert "no agent answers" in sluice("deploy", knocking, "--device", "agent", code=2)
    device = "functional:pipeline_units=2,stateful_units=2"
    agent = subprocess.Popen([ROOT / "sluice", "agent", "--device", device, "--state", tmp_path], stdout=subprocess.PIPE, text=True)
    try:
        assert agent.stdout and agent.stdout.readline() == "agent: 1 tables, 4 ports\n"
        while not (tmp_path / "api.sock").exists():
            time.sleep(0.05)
        assert "state of flows at" in sluice("deploy", knocking, "--device", "agent")
        assert json.loads(sluice("table", "status", "--json"))["program"] == "knocking.sl"
        assert "deployed" in sluice("table", "add", "in_port=1,actions=drop", code=1)
        assert "second flow table" in sluice("deploy", nat, "--device", "agent", code=1)
        switch = STATELESS / "switch"
        made = sluice("deploy", str(switch / "switch.sl"), "--rules", str(switch / "switch.rules"), "--device", "agent", code=1)
        assert "this pipeline has 2" in made or "stateful" in made, "the second of its units is a stateful one"
        assert "program knocking.sl" in sluice("table", "status")
        assert sluice("table", "restore") == "0 flows\n"
        assert "1 flows" in sluice("table", "add", "in_port=1,actions=drop")
    finally:
        agent.terminate()
        agent.wait(20)
