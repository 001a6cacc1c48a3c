# SPDX-License-Identifier: Apache-2.0
"""`sluice run FILE.sl`: every target sends the same packets, counts the same, and says what is wrong."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from compiler.interpreter.packets import Packet
from host.program.captures import read_capture, write_capture
from host.program.run import ROUNDS, ProgramRun
from testing.slow import first
from tools.cli import run_program
from tools.cli.main import app
from tools.cli.programs import program_of

WIDE = {"COLUMNS": "300"}  # else a long path is broken over lines

PROGRAM = """
.element Count <1, 1> {
    .state { ulong count; }
    .handler {
        if (get_input_port() != PORT_1) return (PORT_1);
        flit x;
        x = read_input_port(PORT_1);
        if (x.fd.sop) count = count + 1;
        set_output_port(PORT_1, x);
        return (PORT_1);
    }
    .signal {
        ClSignal p;
        p.Sig.LParam[0] = count;
        set_signal(p);
    }
}
struct note_t { uint<16> length; uint<600> wide; }
.element Split (packet in -> packet small, packet large, note_t note) {
    .state { bool is_large; }
    .handler {
        flit x = read(in);
        if (x.sop) is_large = x.meta.length > 100;
        if (is_large) write(large, x);
        if (!is_large) write(small, x);
        if (x.sop) {
            note_t n;
            n.length = x.meta.length;
            n.wide = (uint<600>) x.meta.length << 550;
            write(note, n);
        }
        if (x.sop && x.meta.length == 65) print("{} bytes", x.meta.length);
    }
    .signal uint<9> add(uint<8> a, uint<8> b) { return (uint<9>) a + b; }
}
.element Sum (note_t in -> uint<40> out) {
    .state { uint<40> sum; }
    .handler {
        note_t n = read(in);
        sum += n.length;
        write(out, (uint<40>) (n.wide >> 550));
    }
}
.element Tally (uint<40> in ->) {
    .state { uint<40> sum; }
    .handler { sum += read(in); }
    .signal uint<40> get_sum() { return sum; }
}
.element Turns (packet a, packet b -> packet out) {
    .state { bool is_second; }
    .handler {
        if (!is_second) {
            flit x = read(a);
            write(out, x);
            if (x.eop) is_second = true;
        } else {
            flit x = read(b);
            write(out, x);
            if (x.eop) is_second = false;
        }
    }
}
Count :: cnt @
Split :: split @
Tally :: tally @
host Sum :: sum
host Tee :: tee
host PktLogger :: logger
from_tor -> cnt -> split [1] -> to_tor
split [3] -> sum -> tally
split [2] -> tee [1] -> to_lane[1]
tee [2] -> logger
from_lane[1] -> to_lane[2]
Turns :: turns
from_lane[2] -> turns.a
from_lane[3] -> turns.b
turns -> to_lane[4]
"""
PACKETS = [Packet(bytes(n % 251 for n in range(size)), 1_000_000 + size) for size in (60, 64, 65, 100, 101, 128, 1500, 9216)]

WIDE = {"COLUMNS": "300"}  # else a long path is broken over lines


def invoke(folder: Path, *words: str) -> tuple[int, str, str]:
    (folder / "p.sl").write_text(PROGRAM)
    done = CliRunner(env=WIDE).invoke(app, ["run", str(folder / "p.sl"), *words])
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.parametrize("target", ["cpu", "sim", "interpreter"])
def test_runs_a_configuration_over_captures(target: str, tmp_path: Path) -> None:
    write_capture(tmp_path / "in.pcap", PACKETS)
    lanes = [tmp_path / f"out{lane}.pcap" for lane in range(3)]
    outputs = [word for path in lanes for word in ("--out", str(path))]
    inputs = ["--in", str(tmp_path / "in.pcap")] * 2
    signals = ["--signal", "cnt", "--signal", "split.add:200,0x64", "--signal", "tally.get_sum"]
    signals += ["--signal", "logger.get_packets", "--signal", "cnt:0@12"]
    status, text, _ = invoke(tmp_path, "--target", target, *inputs, *outputs, *signals, "--json")
    assert status == 0
    assert [read_capture(path) for path in lanes] == [PACKETS[:4], PACKETS[4:], PACKETS]
    assert read_capture(tmp_path / "logger.pcap") == PACKETS[4:]
    found = json.loads(text)
    assert found["lanes"][:3] == [4, 4, 8] and not any(found["lanes"][3:])
    assert found["instances"]["cnt"]["state"] == {"count": "0x8"}
    during, after = (int(answer, 16) for answer in found["instances"]["cnt"]["answers"])
    assert after == 8 and (during == 6 or (target == "sim" and during < 6))  # there while packets are on their way
    assert found["instances"]["logger"]["answers"] == ["0x4"]
    lengths = hex(sum(len(packet.data) for packet in PACKETS))
    assert found["instances"]["sum"]["state"] == {"sum": lengths}
    assert found["instances"]["tally"]["answers"] == [lengths]
    assert found["instances"]["split"]["answers"] == ["0x12c"]
    assert found["instances"]["split"]["lines"] == ["65 bytes"]


def test_says_what_is_wrong(tmp_path: Path) -> None:
    write_capture(tmp_path / "in.pcap", PACKETS)
    given = ["--target", "interpreter", "--in", str(tmp_path / "in.pcap")]
    assert "no signal 'sub'" in invoke(tmp_path, *given, "--signal", "split.sub")[2]
    assert "expects 2 arguments" in invoke(tmp_path, *given, "--signal", "split.add:1")[2]
    assert "number of packets" in invoke(tmp_path, *given, "--signal", "cnt@soon")[2]
    assert "unknown target 'gpu'" in invoke(tmp_path, "--target", "gpu", "--in", str(tmp_path / "in.pcap"))[2]
    assert (
        "give a program (FILE.sl), --rules, or both"
        in CliRunner(env=WIDE).invoke(app, ["run", "--in", str(tmp_path / "in.pcap")]).stderr
    )


@pytest.mark.parametrize("target", ["cpu", "interpreter"])
def test_an_element_that_writes_without_end_ends_the_run(target: str, tmp_path: Path) -> None:
    write_capture(tmp_path / "in.pcap", PACKETS)
    (tmp_path / "p.sl").write_text("""
.element Clock (-> uint out) { .handler { write(out, 1); } }
Clock :: clock -> Drop<uint> :: ticks
from_tor -> Drop :: packets
""")
    words = ["run", str(tmp_path / "p.sl"), "--in", str(tmp_path / "in.pcap"), "--target", target]
    done = CliRunner(env=WIDE).invoke(app, words)
    assert done.exit_code == 1
    assert done.stderr.splitlines()[-1] == "run: the program does not terminate: an element keeps writing tokens"


def test_a_wrong_capture_is_found_before_anything_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(run_program.EXECUTE, "cpu", lambda *_: pytest.fail("built the program"))
    (tmp_path / "no.pcap").write_text("no capture")
    status, _, errors = invoke(tmp_path, "--in", str(tmp_path / "no.pcap"))
    assert status == 2 and "no.pcap" in errors


@pytest.mark.parametrize("target", first(2, ["interpreter", "cpu", "cpu-exact"]))
def test_many_signals_are_no_run_without_end(target: str, tmp_path: Path) -> None:
    write_capture(tmp_path / "in.pcap", PACKETS)
    (tmp_path / "p.sl").write_text('import "count/count.sl";\nCount :: cnt @\nfrom_tor -> cnt -> to_tor\n')
    signals = ["cnt.get_count@0"] * (ROUNDS + 10)
    done = run_program.EXECUTE[target](
        ProgramRun(tmp_path / "p.sl", [tmp_path / "in.pcap"], [], signals, 0), program_of(tmp_path / "p.sl"), lambda _: None
    )
    assert len(done.instances["cnt"].answers) == len(signals) and done.lanes[0] == len(PACKETS)
