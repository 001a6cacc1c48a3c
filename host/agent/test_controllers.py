# SPDX-License-Identifier: Apache-2.0
"""Real controllers drive the agent: hosts in network namespaces talk through the simulated device. Needs root."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from host.agent.local import ask
from testing.ovs import certify
from testing.ovs.spaces import SpaceError, Spaces
from toolchain import ROOT

BYTES = 100_000
PATIENCE = 20.0  # seconds
APP = Path(__file__).parent / "testing" / "learning_switch.py"


@pytest.fixture
def spaces() -> Iterator[Spaces]:
    try:
        certify.require()
        with Spaces(3) as made:
            yield made
    except (SpaceError, certify.CertifyError) as error:
        pytest.skip(f"controllers cannot be run here: {error}")


def start_agent(spaces: Spaces, state: Path, device: str = "sim:pipeline_units=2") -> None:
    """The agent in the switch's namespace, its lanes the hosts' other ends."""
    lanes = [f"--lane=af_packet:lane{number}" for number in range(spaces.hosts)]
    command = ["-m", "tools.cli", "agent", f"--device={device}", *lanes, "--controller=127.0.0.1:6653", f"--state={state}"]
    spaces.start(spaces.switch, "env", f"PYTHONPATH={ROOT}:{ROOT / 'build' / 'gen'}", sys.executable, *command)


def status(state: Path) -> dict[str, object]:
    return next(ask(state / "api.sock", {"do": "status"}))


def wait_for(what: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            if what():
                return
        except OSError:
            pass
        assert time.monotonic() < end, "in vain"
        time.sleep(0.05)


def test_a_learning_switch_of_os_ken(spaces: Spaces, tmp_path: Path) -> None:
    for number in range(3):
        spaces.address(number, f"10.0.0.{number + 1}/24")
    environment = ("env", f"PYTHONPATH={certify.SITE}:{ROOT}", "OSKEN_HUB_TYPE=eventlet")
    start_agent(spaces, tmp_path)
    controller = spaces.start(spaces.switch, *environment, sys.executable, "-W", "ignore", str(APP))
    wait_for(lambda: status(tmp_path)["counters"]["flows"])  # type: ignore[index]
    assert spaces.ping(0, "10.0.0.2", count=2) == (2, 2)
    assert spaces.ping(2, "10.0.0.1", count=2) == (2, 2)
    spaces.program(1, "serve", "7777")
    assert spaces.connect(0, "10.0.0.2", 7777, BYTES)
    before = status(tmp_path)["counters"]
    assert before["flows"] >= 5 and before["packet_in"] < 40, "what flows match does not come to the controller"  # type: ignore[index]
    spaces.end(controller)
    assert spaces.ping(0, "10.0.0.2", count=2) == (2, 2), "traffic goes on without the controller"
