# SPDX-License-Identifier: Apache-2.0
"""Configurations on ports of DPDK: the same bytes as over captures, hosts that talk through them, and what goes wrong."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from compiler.compile import HardwareError
from compiler.frontend import typed
from compiler.frontend.program import load
from compiler.frontend.source import Diagnostics
from compiler.interpreter.packets import Packet
from host.program import InputError, live, metrics
from host.program.captures import read_capture, write_capture
from host.program.live_ports import LivePort
from host.program.run import EXECUTE, ProgramRun
from testing.ovs.spaces import Spaces
from toolchain import ROOT
from tools.cli.main import app
from tools.cli.top import rates

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


COPIES = """
.element Mark (packet in -> packet out) {
    .handler { flit x = read(in); if (x.sop) *(uint<8> *) &x.data = 0x77; write(out, x); }
}
.element Longer (packet in -> packet out) {
    .handler {
        flit x = read(in);
        if (x.eop && x.empty != 0) x.empty -= 1;
        write(out, x);
    }
}
Tee<packet, 3> :: t
Mark :: mark
Longer :: longer
from_lane[0] -> t.in
t.out[0] -> longer -> to_lane[0]
t.out[1] -> mark -> to_lane[1]
t.out[2] -> to_lane[2]
from_lane[1] -> Drop
"""


def test_copies_share_what_is_the_same(tmp_path: Path) -> None:
    program, source, nothing = (tmp_path / name for name in ("copies.sl", "in.pcap", "none.pcap"))
    program.write_text(COPIES)
    choose = random.Random(8)
    write_capture(source, [Packet(choose.randbytes(choose.choice([17, 60, 64, 65, 129, 1514]))) for _ in range(300)])
    write_capture(nothing, [])
    expected, live_paths = ([tmp_path / f"{kind}{lane}.pcap" for lane in range(3)] for kind in ("out", "live"))
    loaded = load(program, Diagnostics())
    assert loaded
    EXECUTE["interpreter"](ProgramRun(program, [source], expected, [], 0), loaded, lambda _: None)
    sources = [source, nothing, nothing]
    found = ran(program, *(f"--live=pcap:{a},{b}" for a, b in zip(sources, live_paths, strict=True)), "--seconds", "1")
    assert [lane["sent"] for lane in found["lanes"]] == [300] * 3
    for one, other in zip(expected, live_paths, strict=True):
        assert [p.data for p in read_capture(one)] == [p.data for p in read_capture(other)]


def flows(path: Path) -> dict[bytes, list[bytes]]:
    """Packets in their order, by the addresses that the threads share them out by."""
    found: dict[bytes, list[bytes]] = {}
    for packet in read_capture(path):
        found.setdefault(packet.data[:12], []).append(packet.data)
    return found


def test_threads_send_the_same_packets(tmp_path: Path) -> None:
    program, source, expected, sent = (tmp_path / name for name in ("known.sl", "in.pcap", "out.pcap", "live.pcap"))
    program.write_text(FIRST)
    choose = random.Random(9)
    packets = [bytes([n % 2, 0, 0, 0]) + bytes([n % 17] * 8) + choose.randbytes(choose.choice([48, 53, 700])) for n in range(400)]
    write_capture(source, [Packet(data) for data in packets])
    loaded = load(program, Diagnostics())
    assert loaded
    EXECUTE["interpreter"](ProgramRun(program, [source], [expected], [], 0), loaded, lambda _: None)
    words = [f"--live=pcap:{source},{sent}", "--signal=known.get_seen", "--signal=known.get_hits", "--threads", "2"]
    found = ran(program, *words, "--seconds", "1")
    assert flows(sent) == flows(expected) and found["lanes"][0]["received"] == 400
    assert found["answers"] == ["0x0", "0x0"] and found["iterations"]["known"] > 400


LIMITED = """
.element Third (packet in -> packet out) {
    .state { ulong packets; }
    .handler { flit x = read(in); if (x.sop) packets += 1; if (packets % 3 != 0) write(out, x); }
    .signal ulong get_packets() { return packets; }
}
Third :: third @
from_lane[0] -> third -> to_lane[0]
"""


def test_threads_share_no_state(tmp_path: Path) -> None:
    program, source = tmp_path / "third.sl", tmp_path / "in.pcap"
    program.write_text(LIMITED)
    write_capture(source, [Packet(bytes([n % 16] * 12) + bytes(60)) for n in range(64)])
    words = ["run", str(program), f"--live=replay:{source}", "--threads", "2", "--seconds", "0.5", "--signal=third.get_packets"]
    refused = CliRunner().invoke(app, words, env={"COLUMNS": "400"})
    assert refused.exit_code == 2
    assert "third (Third): what it does with a packet depends on 'packets'" in refused.output and "--partitioned" in refused.output
    done = CliRunner().invoke(app, [*words, "--partitioned", "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    (answers,) = found["answers"]
    each = [int(answer, 16) for answer in answers.split()]
    assert len(each) == 2 and min(each) > 100 and sum(each) <= found["lanes"][0]["received"], "asked while packets pass"
    write_capture(source, [Packet(bytes(64))])
    assert "too few for 2 threads" in CliRunner().invoke(app, [*words, "--partitioned"], env={"COLUMNS": "400"}).output


def test_a_reload_in_threads(tmp_path: Path) -> None:
    names = ("one", "two")
    run = started(tmp_path, threads=2, following=[renamed(name) for name in names])
    try:
        assert run.engine.signal("known/known_insert/1/2000003") == "0"
        for name in names:
            time.sleep(0.1)
            assert run.reload(rewritten(run, renamed(name))).kept == ["known.hits", "known.seen", "known.known"]
        time.sleep(0.1)
        result = run.end()
    finally:
        run.engine.close()
    (lane,) = result.lanes
    assert lane.received == lane.sent > 100 and lane.lost == lane.unsent == result.dropped == 0
    hits, seen = ([int(answer, 16) for answer in answer.split()] for answer in result.answers)
    assert len(seen) == 2 and all(0 < hit <= 5 * packets for hit, packets in zip(hits, seen, strict=True))


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
        LivePort(0, port)
    done = CliRunner().invoke(app, ["run", str(program), "--live", port])
    assert done.exit_code == 2 and "port" in done.output


def test_an_engine_that_is_killed_says_so(program: Path, tmp_path: Path) -> None:
    loaded = load(program, Diagnostics())
    assert loaded
    engine = live.Engine(live.build(loaded)[0], ["null", "null"])
    try:
        engine.start()
        assert [lane.errors for lane in engine.counters().lanes] == [0, 0]
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


TABLED = """
struct pair_t {{ uint<{low}> low; uint<{high}> high; }}
.element Known (packet in -> packet out) {{
    table exact<uint<32>, pair_t> known[64];
    .state {{ ulong hits; uint<{width}> seen; ulong random; }}
    .handler {{
        flit x = read(in);
        if (x.sop) {{
            pair_t found;
            if (known.lookup((uint<32>) x.data, found)) {{
                hits += found.low + found.high;
                seen += 1;
            }}
        }}
        write(out, x);
    }}
    .signal ulong get_hits() {{ return hits; }}
    .signal ulong get_seen() {{ return seen; }}
}}
Known :: known @
from_lane[0] -> known -> to_lane[0]
"""


LEADS_BACK = """
Mux<packet, 2> :: m
Tee<packet, 2> :: t
from_lane[0] -> m.in[0]
m.out -> t.in
t.out[0] -> m.in[1]
t.out[1] -> to_lane[0]
"""


FIRST = TABLED.format(low=8, high=24, width=32)
OTHER_TYPES = TABLED.format(low=16, high=16, width=40)


def renamed(name: str) -> str:
    """`FIRST` with a state of another name, which is another library."""
    return FIRST.replace("random", name)


def started(tmp_path: Path, rules: str = "", threads: int = 1, following: Sequence[str] = ()) -> live.Run:
    """`TABLED` over packets of which half have a rule. `following`: built before, since the run polls while something is built."""
    capture, program = tmp_path / "in.pcap", tmp_path / "known.sl"
    write_capture(capture, [Packet(bytes([n % 2, 0, 0, 0]) + bytes([n] * 60)) for n in range(64)])
    for text in (*following, FIRST):
        program.write_text(text)
        loaded = load(program, Diagnostics())
        assert loaded
        live.build(loaded)
    what = ProgramRun(program, [], [], ["known.get_hits", "known.get_seen"], 0)
    if rules:
        (tmp_path / "rules").write_text(rules)
        what = replace(what, rules=tmp_path / "rules")
    assert loaded
    return live.Run(what, loaded, [f"replay:{capture}"], lambda _: None, threads)


def rewritten(run: live.Run, text: str) -> typed.Program:
    run.what.path.write_text(text)
    loaded = load(run.what.path, Diagnostics())
    assert loaded
    return loaded


def test_a_reload_loses_no_packet_and_keeps_what_is_the_same(tmp_path: Path) -> None:
    names = ("one", "two", "three")
    run = started(tmp_path, following=[renamed(name) for name in names])
    try:
        assert run.engine.signal("known/known_insert/1/2000003") == "0"
        for name in names:
            time.sleep(0.1)
            done = run.reload(rewritten(run, renamed(name)))
            assert done.kept == ["known.hits", "known.seen", "known.known"] and done.cleared == [f"known.{name}"]
        with pytest.raises(InputError, match="lead back"):
            run.reload(rewritten(run, LEADS_BACK))
        time.sleep(0.1)
        result = run.end()
    finally:
        run.engine.close()
    (lane,) = result.lanes
    assert lane.received == lane.sent > 1000 and lane.unsent == lane.errors == lane.lost == 0
    assert (result.switches, result.dropped, result.unread) == (3, 0, 0)
    hits, seen = (int(answer, 16) for answer in result.answers)
    assert 4.5 * seen < hits <= 5 * seen and lane.received / 4 < seen <= lane.received // 2 + 1, "rules and counts went over"


def test_a_reload_of_other_types_begins_anew(tmp_path: Path) -> None:
    run = started(tmp_path, "known 1 -> low 2, high 3\n", following=[OTHER_TYPES])
    try:
        done = run.reload(rewritten(run, OTHER_TYPES))
        assert done.kept == ["known.hits", "known.random"] and done.cleared == ["known.seen", "known.known"]
        assert (done.rules, done.refused) == (1, 0)
        before = int(run.engine.signal("known/get_seen"), 16)
        time.sleep(0.1)
        assert int(run.engine.signal("known/get_seen"), 16) > before
        assert run.reload(run.program, keeps=False).kept == []
        with pytest.raises(HardwareError, match="unknown table 'known'"):
            run.reload(rewritten(run, LEADS_BACK))
        assert run.engine.counters().switches == 2, "the old one goes on"
        with pytest.raises(RuntimeError, match="cannot open shared object"):
            run.engine.reload(tmp_path / "nowhere.so", [], "all")
        with pytest.raises(RuntimeError, match="cannot follow: known/nothing/x"):
            run.engine.reload(live.build(run.program)[0], ["known/nothing/x"], "all")
        with pytest.raises(RuntimeError, match="cannot follow: switch all"):
            run.engine.ask("switch all")
        assert run.end().lanes[0].lost == 0
    finally:
        run.engine.close()


def test_top_shows_what_a_run_does(tmp_path: Path) -> None:
    run = started(tmp_path)
    try:
        with metrics.served(19464, run.engine.counters):
            url = "http://127.0.0.1:19464/metrics"
            done = CliRunner().invoke(app, ["top", url, "--seconds", "0.2", "--json"])
            assert done.exit_code == 0, done.output
            found = json.loads(done.stdout)
            assert found["lanes"]["0"]["received"] > 1000 and found["instances"]["known"] > 1000
            assert 0 < found["stages"]["known"]["share"] < 1
            shown = CliRunner().invoke(app, ["top", url, "--seconds", "0.2", "--looks", "1"])
            assert shown.exit_code == 0 and "received/s" in shown.output and "tokens wait" in shown.output
            with pytest.raises(InputError, match="--metrics 19464: Address already in use"):
                metrics.served(19464, run.engine.counters).__enter__()
        done = CliRunner().invoke(app, ["top", url])
        assert done.exit_code == 2 and "--metrics" in done.output
    finally:
        run.engine.close()


def test_a_counter_that_began_again_is_no_negative_rate() -> None:
    before, after = {("sluice_iterations_total", ("a",)): 1000.0}, {("sluice_iterations_total", ("a",)): 30.0}
    assert rates(before, after, 2.0)["instances"] == {"a": 15.0}


def test_sighup_goes_on_with_the_file_as_it_is(tmp_path: Path) -> None:
    program = tmp_path / "count.sl"
    text = 'import "count/count.sl";\nCount :: counted @\nfrom_lane[0] -> counted -> to_lane[0]\n'
    program.write_text(text)
    command = [sys.executable, "-m", "tools.cli", "run", str(program), "--live=null", "--json"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        said: list[str] = []

        def until(word: str) -> None:
            assert process.stderr
            for line in process.stderr:
                said.append(line)
                if word in line:
                    return

        until("received")
        program.write_text(text + "nonsense")
        process.send_signal(signal.SIGHUP)
        until("goes on")
        assert any("error[" in line for line in said)
        program.write_text(text + "// changed\n")
        process.send_signal(signal.SIGHUP)
        until("runs, after")
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 0 and json.loads(out)["switches"] == 1
