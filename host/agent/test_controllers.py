# SPDX-License-Identifier: Apache-2.0
"""Real controllers drive the agent: hosts in network namespaces talk through the functional device, and through the simulated one
without a host, which the agent reaches by message packets. Needs root."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from host.agent.local import ask
from shell.sim.build import OVERLAY, build
from testing.ovs import certify
from testing.ovs.spaces import SpaceError, Spaces
from toolchain import ROOT

BYTES = 100_000
PATIENCE = 60.0  # seconds
APP = Path(__file__).parent / "testing" / "learning_switch.py"
FAUCET = ROOT / "build" / "faucet"  # by `make faucet-env`
MANAGER = """
from os_ken.lib import hub
hub.patch(thread=False)
from os_ken.cmd.manager import main
main(args=["faucet.faucet"], prog="osken-manager")
"""
CONFIGURATION = """
vlans:
  red: {vid: 100, faucet_mac: "0e:00:00:00:01:01", faucet_vips: ["10.1.0.254/24"]}
  blue: {vid: 200, faucet_mac: "0e:00:00:00:02:01", faucet_vips: ["10.2.0.254/24"]}
routers: {all: {vlans: [red, blue]}}
acls:
  guard:
    - rule: {dl_type: 0x800, nw_proto: 6, tcp_dst: 22, actions: {allow: 0}}
    - rule: {actions: {allow: 1}}
dps:
  sluice:
    dp_id: 1
    hardware: Open vSwitch
    idle_dst: false
    interfaces:
      1: {tagged_vlans: [red], acls_in: [guard]}
      2: {tagged_vlans: [red]}
      3: {tagged_vlans: [blue]}
"""


@pytest.fixture
def spaces() -> Iterator[Spaces]:
    try:
        certify.require()
        with Spaces(4) as made:
            yield made
    except (SpaceError, certify.CertifyError) as error:
        pytest.skip(f"controllers cannot be run here: {error}")


PYTHON = ("env", f"PYTHONPATH={ROOT}:{ROOT / 'build' / 'gen'}", sys.executable)
AGENT = ("-m", "tools.cli", "agent", "--controller=127.0.0.1:6653")


def start_agent(spaces: Spaces, state: Path, units: int = 2) -> str:
    """The agent with a device of its own in the switch's namespace, its lanes the hosts' other ends; that namespace."""
    lanes = [f"--lane=af_packet:lane{number}" for number in range(spaces.hosts)]
    spaces.start(spaces.switch, *PYTHON, *AGENT, f"--device=functional:pipeline_units={units}", *lanes, f"--state={state}")
    return spaces.switch


def start_remote_agent(spaces: Spaces, state: Path) -> str:
    """The simulated device without a host in the switch's namespace, and the agent on the host behind its last lane; the
    namespace of that."""
    build(OVERLAY)
    lanes = [f"af_packet:lane{number}" for number in range(spaces.hosts)]
    device = spaces.start(spaces.switch, *PYTHON, "-m", "host.agent.testing.device_on_a_wire", *lanes)
    assert device.stdout is not None and device.stdout.readline().strip() == "ready"
    agent = spaces.host(3)
    for space, name in ((spaces.switch, "lane3"), (agent, "eth0")):
        spaces.run(space, f"ip link set {name} mtu 2000")  # packets to the agent are 80 bytes longer
    spaces.address(3, "192.0.2.2/24")
    spaces.run(agent, "ip neigh replace 192.0.2.1 lladdr 02:53:4c:00:00:01 dev eth0")
    spaces.start(agent, *PYTHON, *AGENT, "--device=udp:192.0.2.1", f"--state={state}")
    return agent


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


@pytest.mark.parametrize("start", [start_agent, start_remote_agent])
def test_a_learning_switch_of_os_ken(spaces: Spaces, tmp_path: Path, start: Callable[[Spaces, Path], str]) -> None:
    for number in range(3):
        spaces.address(number, f"10.0.0.{number + 1}/24")
    environment = ("env", f"PYTHONPATH={certify.SITE}:{ROOT}", "OSKEN_HUB_TYPE=eventlet")
    controller = spaces.start(start(spaces, tmp_path), *environment, sys.executable, "-W", "ignore", str(APP))
    wait_for(lambda: status(tmp_path)["counters"]["flows"])  # type: ignore[index]
    assert spaces.ping(0, "10.0.0.2", count=2) == (2, 2)
    assert spaces.ping(2, "10.0.0.1", count=2) == (2, 2)
    spaces.program(1, "serve", "7777")
    assert spaces.connect(0, "10.0.0.2", 7777, BYTES)
    before = status(tmp_path)["counters"]
    assert before["flows"] >= 5 and before["packet_in"] < 40, "what flows match does not come to the controller"  # type: ignore[index]
    spaces.end(controller)
    assert spaces.ping(0, "10.0.0.2", count=2) == (2, 2), "traffic goes on without the controller"


def test_faucet_routes_between_vlans_and_filters(spaces: Spaces, tmp_path: Path) -> None:
    if not (FAUCET / "faucet").is_dir():
        pytest.skip("Faucet is not installed: make faucet-env")
    configuration, log = tmp_path / "faucet.yaml", tmp_path / "faucet.log"
    configuration.write_text(CONFIGURATION)
    for number, (vlan, address) in enumerate(((100, "10.1.0.1"), (100, "10.1.0.2"), (200, "10.2.0.3"))):
        spaces.program(number, "vlan", "eth0", str(vlan), "vlan")
        spaces.run(spaces.host(number), "ip link set vlan up")
        spaces.address(number, f"{address}/24", gateway=f"{address.rpartition('.')[0]}.254", device="vlan")
    start_agent(spaces, tmp_path, 8)
    files = (
        f"FAUCET_CONFIG={configuration}",
        f"FAUCET_LOG={log}",
        f"FAUCET_EXCEPTION_LOG={log}",
        "FAUCET_PROMETHEUS_ADDR=127.0.0.1",
    )
    environment = ("env", f"PYTHONPATH={FAUCET}", "OSKEN_HUB_TYPE=eventlet", *files)
    spaces.start(spaces.switch, *environment, sys.executable, "-W", "ignore", "-c", MANAGER)
    wait_for(lambda: status(tmp_path)["counters"]["flows"] > 50)  # type: ignore[index]
    assert spaces.ping(0, "10.1.0.2", count=2) == (2, 2), "in a VLAN"
    wait_for(lambda: spaces.ping(0, "10.2.0.3", count=1, wait=1.0) == (1, 1))  # Faucet asks for the address first
    spaces.program(2, "serve", "7777")
    spaces.program(2, "serve", "22")
    assert spaces.connect(0, "10.2.0.3", 7777, BYTES), "between VLANs"
    assert spaces.connect(1, "10.2.0.3", 22, 100), "a port without the list"
    assert not spaces.connect(0, "10.2.0.3", 22, 100, 1.0), "the list denies it"
    assert "refused" not in status(tmp_path)["counters"] and "OFError" not in log.read_text()  # type: ignore[operator]
