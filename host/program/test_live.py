# SPDX-License-Identifier: Apache-2.0
"""Configurations on ports of DPDK: the same bytes as over captures, hosts that talk through them, and what goes wrong."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from compiler.frontend.program import load
from compiler.frontend.source import Diagnostics
from compiler.interpreter.packets import Packet
from host.program import InputError, live
from host.program.captures import read_capture, write_capture
from host.program.run import EXECUTE, ProgramRun
from testing.ovs.spaces import Spaces
from toolchain import ROOT
from tools.cli.main import app

# Packets swap their lanes; those with a first byte of 0xee are dropped, and each is counted by its lane.
SWAP = """
.element Pass <Lane = 0> (packet in -> packet out) {
    .state { ulong count; bool is_dropped; }
    .handler {
        flit x = read(in);
        if (x.sop) {
            count += 1;
            is_dropped = (uint<8>) x.data == 0xee;
        }
        if (!is_dropped) write(out, x);
    }
    .signal ulong get_count() { return count; }
}
.element Every (packet in -> packet out) {
    .state { ulong flits; }
    .handler { flit x = read(in); flits += 1; write(out, x); }
    .signal ulong get_flits() { return flits; }
}
Pass<0> :: a @
Pass<1> :: b @
Every :: every @
from_lane[0] -> a -> every -> to_lane[1]
from_lane[1] -> b -> to_lane[0]
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "swap.sl"
    path.write_text(SWAP)
    return path


def ran(program: Path, *words: str) -> Any:
    done = CliRunner().invoke(app, ["run", str(program), "--json", *words])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_ports_give_the_same_packets_as_captures(program: Path, tmp_path: Path) -> None:
    choose = random.Random(7)
    paths: dict[str, list[Path]] = {kind: [tmp_path / f"{kind}{lane}.pcap" for lane in (0, 1)] for kind in ("in", "out", "live")}
    for path in paths["in"]:
        packets = [choose.randbytes(choose.choice([60, 63, 64, 65, 128, 129, 1514])) for _ in range(500)]
        packets += [b"\xee" + bytes(100)] * 3
        choose.shuffle(packets)
        write_capture(path, [Packet(data) for data in packets])
    diagnostics = Diagnostics()
    loaded = load(program, diagnostics)
    assert loaded
    what = ProgramRun(program, paths["in"], paths["out"], [], 0)
    EXECUTE["interpreter"](what, loaded, lambda _: None)
    ports = [f"--live=pcap:{source},{sink}" for source, sink in zip(paths["in"], paths["live"], strict=True)]
    signals = [f"--signal={name}" for name in ("a.get_count", "b.get_count", "every.get_flits")]
    found = ran(program, *ports, *signals, "--seconds", "1.5")
    assert found["answers"][:2] == [hex(503), hex(503)] and int(found["answers"][2], 16) > 503
    assert [lane["sent"] for lane in found["lanes"]] == [len(read_capture(path)) for path in paths["out"]]
    assert "flits" in found["flits_on_cpu"]["Every"] and found["flits_on_cpu"]["Pass_0"] == ""
    for expected, got in zip(paths["out"], paths["live"], strict=True):
        assert [p.data for p in read_capture(expected)] == [p.data for p in read_capture(got)]


def test_hosts_talk_through_it(program: Path) -> None:
    with Spaces(2) as spaces:
        for host in (0, 1):
            spaces.address(host, f"10.0.0.{host + 1}/24")
        command = [sys.executable, "-m", "tools.cli", "run", str(program), "--live=lane0", "--live=af_packet:lane1"]
        process = subprocess.Popen(
            [*spaces.prefix(spaces.switch), *command, "--signal=a.get_count", "--json"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stderr is not None
            for line in process.stderr:  # up to the first counters
                if "received" in line:
                    break
            assert spaces.ping(0, "10.0.0.2") == (3, 3)
            server = spaces.program(1, "serve", "7777")
            assert spaces.connect(0, "10.0.0.2", 7777, 200_000)
            spaces.end(server)
            process.send_signal(signal.SIGINT)
            out, errors = process.communicate(timeout=30)
        finally:
            process.kill()
        found = json.loads(out)
        assert process.returncode == 0, errors
        lanes = found["lanes"]
        assert int(found["answers"][0], 16) >= lanes[0]["received"] - 3 > 100 and lanes[1]["sent"] == lanes[0]["received"]


@pytest.mark.parametrize(
    ("port", "message"),
    [
        ("wire:x", "unknown port 'wire:x'; choose from INTERFACE"),
        ("null:x", "unknown port"),
        ("tap:", "unknown port"),
        ("nowhere0", "there is no interface 'nowhere0'"),
        ("pcap:/nowhere.pcap", "cannot read /nowhere.pcap"),
    ],
)
def test_a_wrong_port_is_named(program: Path, port: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        live.device_of(0, port)
    done = CliRunner().invoke(app, ["run", str(program), "--live", port])
    assert done.exit_code == 2 and "port" in done.output


def test_an_engine_that_is_killed_says_so(program: Path, tmp_path: Path) -> None:
    loaded = load(program, Diagnostics())
    assert loaded
    engine = live.Engine(live.build(loaded)[0], ["null", "null"])
    try:
        engine.start()
        assert [lane["errors"] for lane in engine.ask("stats")["lanes"]] == [0, 0]
        with pytest.raises(RuntimeError, match="cannot follow: signal nobody/x"):
            engine.ask("signal nobody/x")
        with pytest.raises(RuntimeError, match="cannot follow: signal a/get_count/xyz"):
            engine.ask("signal a/get_count/xyz")
        engine.process.kill()
        time.sleep(0.2)
        with pytest.raises(RuntimeError, match="ended with status -9"):
            engine.ask("stats")
    finally:
        engine.close()


def test_a_port_that_does_not_start_is_named(program: Path) -> None:
    loaded = load(program, Diagnostics())
    assert loaded
    engine = live.Engine(live.build(loaded)[0], ["tap:a_name_that_is_too_long", "null"])
    with pytest.raises(RuntimeError, match=r"net_tap0|DPDK does not start"):
        engine.ask("stats")
    engine.close()
