# SPDX-License-Identifier: Apache-2.0
"""`sluice test`: right elements pass; a wrong native body, a wrong target and a failing test beside are found, and said clearly."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from compiler.frontend import typed
from compiler.frontend.program import load_text
from compiler.frontend.source import Diagnostics
from compiler.fuzz import trial
from compiler.interpreter.choices import Decide
from compiler.interpreter.element import Outcome, run_element
from compiler.interpreter.packets import Packet, from_flits
from host.program.captures import write_capture
from toolchain import ROOT
from tools.cli.main import app

COUNT = ROOT / "elements" / "count"
MARK = """
.element Mark (packet in, uint<8> by -> packet out) {
    .state { uint<8> last; }
    .handler {
        flit x = read(in);
        if (test(by)) last = read(by);
        x.meta.mark += last;
        write(out, x);
    }
    .signal uint<8> get(uint<8> and) { return last & and; }
}
"""


def sluice_test(*words: object) -> Result:
    return CliRunner().invoke(app, ["test", *map(str, words)])


def element(text: str) -> typed.Element:
    diagnostics = Diagnostics()
    program = load_text(text, "test.sl", diagnostics)
    assert program is not None, "".join(error.render() for error in diagnostics.sorted())
    return program.elements[0]


def wrong(mark: typed.Element) -> trial.Runner:
    """The interpreter, but the mark of the last flit is another where a token of `by` is odd."""

    def run(given: trial.Trial) -> Outcome:
        right = run_element(mark, given.streams, Decide(given.seed, given.calls))
        if not right.outputs["out"] or not any(token & 1 for token in given.streams["by"]):
            return right
        kind = mark.outputs[0].type
        assert isinstance(kind, typed.Struct)
        meta = next(field for field in kind.fields if field.name == "meta")
        assert isinstance(meta.type, typed.Struct)
        low = meta.low + next(field.low for field in meta.type.fields if field.name == "mark")
        return replace(right, outputs={"out": [*right.outputs["out"][:-1], right.outputs["out"][-1] ^ 1 << low]})

    return run


def test_what_differs_is_said_by_field_with_the_least_that_shows_it() -> None:
    mark = element(MARK)
    given = trial.trial(mark, 1)
    message, iterations = trial.fault(mark, wrong(mark), given)
    assert iterations > 10
    assert "output out: 1 tokens differ: token" in message and ": meta: mark: expected 0x" in message
    least = trial.smaller(mark, wrong(mark), given)
    lines = trial.shown(mark, least)
    assert [line.partition(":")[0] for line in lines] == ["in", "by"], lines
    assert int(lines[1].split()[1], 16) & 1
    assert "packet of" in lines[0] and "meta {" in lines[0]
    assert trial.fault(mark, wrong(mark), least)[0].startswith("output out")


def test_packets_of_a_capture_are_what_the_element_gets() -> None:
    mark = element(MARK)
    captured = [Packet(bytes([n]) * 70) for n in range(5)]
    flits = trial.trial(mark, 1, captured).streams["in"]
    got = [packet.data for packet, is_error in from_flits(mark.inputs[0].type, flits) if not is_error]
    assert sorted(got) == [packet.data for packet in captured]


def test_an_element_that_agrees_passes_with_packets_of_a_capture(tmp_path: Path) -> None:
    write_capture(tmp_path / "in.pcap", [Packet(bytes(range(n))) for n in (60, 200)])
    done = sluice_test(COUNT, "--target", "cpu", "--seeds", 2, "--in", tmp_path / "in.pcap", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["failures"] == [] and found["tests"] == []
    (row,) = found["elements"]
    assert row["element"] == "Count" and row["targets"] == {"cpu": {"iterations": 2 * (5 + 3)}}, "5 flits, 3 signals"
    assert row["interval"]["certified"] and row["interval"]["ii"] == 1


def test_a_wrong_native_body_is_found(tmp_path: Path) -> None:
    body = (COUNT / "el_count_native.sv").read_text()
    assert "count_q + 64'd1" in body
    for path in COUNT.iterdir():
        (tmp_path / path.name).write_text(path.read_text())
    (tmp_path / "el_count_native.sv").write_text(body.replace("count_q + 64'd1", "count_q + 64'd2"))
    done = sluice_test(tmp_path, "--target", "native", "--no-prove")
    assert done.exit_code == 1
    assert "wrong" in done.stdout and "on native, seed 0: answers: expected [" in done.stdout
    least = done.stdout.partition("smallest failing case found:")[2].splitlines()
    assert sum("in: packet of" in line for line in least) == 1 and sum("signal get_count()" in line for line in least) == 1, least


def test_a_failing_test_beside_is_found_and_shown(tmp_path: Path) -> None:
    (tmp_path / "none.sl").write_text("constexpr uint NONE = 0;\n")
    (tmp_path / "test_none.py").write_text("def test_it() -> None:\n    assert 'said here' == ''\n")
    done = sluice_test(tmp_path / "none.sl")
    assert done.exit_code == 1 and "said here" in done.stdout and "1 failed" in done.stdout
    assert sluice_test(tmp_path / "none.sl", "--no-tests").exit_code == 0


def test_says_what_is_no_hardware(tmp_path: Path) -> None:
    text = (
        ".element Long (uint in -> uint out) { .handler { uint x = read(in); while (x > 9) .unroll(1000) x -= 1; write(out, x); } }"
    )
    (tmp_path / "long.sl").write_text(text)
    done = sluice_test(tmp_path / "long.sl", "--target", "rtl")
    assert done.exit_code == 0 and "Long is not hardware: E0802" in done.stdout


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--target", "gpu"], 2, "unknown target gpu; choose from cpu, rtl, native, native-cpp, native-packet"),
        (["nowhere.sl"], 2, "nowhere.sl"),
        ([str(ROOT / "docs")], 2, "no .sl file"),
    ],
)
def test_says_what_it_cannot_take(words: list[str], status: int, said: str) -> None:
    done = sluice_test(*words)
    assert done.exit_code == status and said in " ".join(done.stderr.replace("│", " ").split())


def test_a_program_with_errors_shows_them(tmp_path: Path) -> None:
    (tmp_path / "wrong.sl").write_text(".element E (packet in -> packet out) { .handler { flit x = raed(in); } }")
    done = sluice_test(tmp_path / "wrong.sl")
    assert done.exit_code == 1 and "error[E" in done.stderr
