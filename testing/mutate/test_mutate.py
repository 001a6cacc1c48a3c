# SPDX-License-Identifier: Apache-2.0
"""`sluice mutate` draws by seed, its schemata hold what they say, and its verdicts are right where they are known."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from testing.mutate import c, draw, equivalent, judges, run, verilog
from testing.mutate.judges import Judge
from testing.mutate.mutant import Mutant, direct, schema
from toolchain import ROOT
from tools.cli.mutate import result

HERE = "testing/mutate/example"
FIXED = tomllib.loads((Path(__file__).parent / "fixed.toml").read_text())["mutant"]


def of_example(name: str) -> list[Mutant]:
    source = (ROOT / HERE / name).read_bytes()
    return (verilog if name.endswith(".sv") else c).candidates(f"{HERE}/{name}", source)


def by_lines(found: list[Mutant], original: str, mutated: str) -> Mutant:
    matching = [it for it in found if (it.original_line.strip(), it.mutated_line.strip()) == (original, mutated)]
    assert matching, f"no mutant turns {original!r} into {mutated!r}"
    return matching[0]


def cases(file: str) -> list[Judge]:
    return [Judge(file.rsplit(".", 1)[0] + "_cases.py")]


def test_a_mutant_changes_its_lines_and_no_other() -> None:
    for file in ("rtl/chan/sl_packet_fifo.sv", "host/packet/parse.c", "rtl/action/sl_action_pkg.sv"):
        source = (ROOT / file).read_bytes()
        before = source.decode().split("\n")
        for it in draw.candidates(file):
            after = direct(source, it).decode().split("\n")
            first, behind = it.line - 1, it.line + it.original_line.count("\n")
            assert after[:first] == before[:first]
            assert after[it.line + it.mutated_line.count("\n") :] == before[behind:]
            assert "\n".join(before[first:behind]).rstrip() == it.original_line != it.mutated_line


def test_a_schema_keeps_the_lines_and_holds_every_mutant_once() -> None:
    file = "rtl/chan/sl_queues.sv"
    source, found = (ROOT / file).read_bytes(), draw.candidates(file)
    text = schema(source, enumerate(found, 1)).decode()
    assert text.count("\n") == source.decode().count("\n")
    for number in range(1, len(found) + 1):
        assert text.count(f"selected == {number} ") + text.count(f"selected == {number})") == 1


def test_the_seed_decides_and_every_part_gives_its_share() -> None:
    file = "rtl/chan/sl_merge.sv"
    first, again, other = ([it.key for it in draw.ordered(file, seed)] for seed in (1, 1, 2))
    assert first == again and first != other and sorted(first) == sorted(other)
    shares = draw.quotas(draw.parts(), 300)
    assert sum(shares.values()) == 300 and min(shares.values()) == 1
    assert all(any(file.startswith(f"{folder}/") for file in shares) for folder in draw.FOLDERS)


def test_assertions_and_what_guards_them_are_left_alone() -> None:
    for file in ("rtl/chan/sl_pipe_output.sv", "rtl/match/sl_lookup_table.sv"):
        lines = (ROOT / file).read_text().splitlines()
        assert any(": assert (" in line for line in lines)
        assert not any(": assert (" in it.original_line for it in draw.candidates(file))


def test_functions_that_give_widths_and_latencies_are_left_alone() -> None:
    assert not draw.candidates("rtl/match/sl_match_pkg.sv")  # a schema of it would break every build
    assert draw.candidates("rtl/packet/sl_packet_pkg.sv")


def test_what_happens_when_memory_is_used_up_is_left_alone() -> None:
    source = b"""
int make(struct it *it, int count) {
    it->rows = calloc(count, 8);
    it->columns = aligned_alloc(64, 8 * count);
    if (!it->rows || !it->columns) {
        free_it(it);
        return 0;
    }
    if (!it->rows_used || count == 7)
        clear(it);
    for (int i = 0; i < count; i++)
        free(it->columns[i]);
    return keep(it) ? count : -ENOMEM;
}
"""
    found = c.candidates("make.c", source)
    assert {it.line for it in found} == {3, 4, 9, 10, 13}
    assert "negation" not in {it.operator for it in found}


def test_what_does_not_compile_is_not_drawn(tmp_path: Path) -> None:
    for file in ("rtl/chan/sl_to_axis.sv", "host/lib/templates.c"):
        compilers, good = draw.Compilers(tmp_path / "compiles"), draw.candidates(file)[0]
        wrong = Mutant(file, "none", good.start, good.end, "no_such_name", good.line, "", "", "none")
        assert compilers.accept(good) and not compilers.accept(wrong)
        assert compilers.fitting([good, wrong, good]) == [good, good]
        assert draw.Compilers(tmp_path / "compiles").known == compilers.known


def test_other_files_give_what_a_small_one_has_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(draw, "_compiles", lambda *_, **__: True)
    small, large = "rtl/sync/sl_sync.sv", "rtl/chan/sl_packet_fifo.sv"
    assert len(draw.candidates(small)) < draw.quotas([small, large], 40)[small] + 1
    found = [it.file for it in draw.chosen([small, large], 40, 1, draw.Compilers(tmp_path / "compiles"), 1)]
    assert len(found) == 40 and set(found) == {small, large}


def test_a_file_that_does_not_compile_without_a_mutant_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(draw, "_compiles", lambda *_, **__: False)
    with pytest.raises(draw.BrokenSource, match="sl_to_axis"):
        draw.drawn("rtl/chan/sl_to_axis.sv", 1, 1, draw.Compilers(tmp_path / "compiles"))


def test_every_part_has_judges() -> None:
    for file in draw.parts():
        found = judges.of_part(file)
        assert found and all((ROOT / judge.path).exists() for judge in found), file
    merge = judges.of_part("rtl/chan/sl_merge.sv")
    assert merge[0].path == "rtl/chan/test_sl_merge.py"
    assert merge[-1] == Judge(judges.PROVING, "(fv_merge) and not broken", single=True)
    native = judges.of_part("elements/exactrules/el_exactrules_native.sv")
    assert [judge.path for judge in native] == ["elements/lpmrules/test_lpmrules.py", *judges.NATIVE]
    assert judges.of_part("rtl/match/sl_lookup_stream.sv") == native, "only in native bodies"
    graphs = [judges.of_part(f"shell/core/{name}.sv")[0].path for name in ("sh_graph", "sh_graph_lane")]
    assert graphs == ["shell/sim/test_device.py", "shell/sim/test_graph.py"], "the second kind replaces the first"


def test_verdicts_on_a_part_whose_test_has_holes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(run, "FOLDER", tmp_path)
    gate, bits = of_example("tiny_gate.sv"), of_example("tiny_bits.c")
    both, high = "assign both_o = a_i != '0 && b_i != '0;", "assign high_o = a_i[3] || a_i > 4'd7;  // one operand would do"
    most = "return count > most ? most : count;"
    expected = {
        by_lines(gate, "sum_o <= a_i + b_i;", "sum_o <= (a_i - b_i);"): "killed",
        by_lines(gate, both, "assign both_o = (a_i != '0);"): "killed",
        by_lines(gate, both, "assign both_o = (b_i != '0);"): "survived",  # in the test a_i is never 0
        by_lines(gate, high, high.replace("a_i[3] || a_i > 4'd7", "a_i[3]")): "equivalent",
        by_lines(gate, "if (rst_i) sum_o <= '0;", "if (rst_i) sum_o <= '1;"): "survived",  # nor is there a reset
        by_lines(bits, "count += value & 1;", "count += (value | 1);"): "killed",
        by_lines(bits, most, "return (count > most ? count : most);"): "killed",
        by_lines(bits, most, "return (count);"): "survived",
    }
    session = run.Session(list(expected), cases)
    assert {verdict.key: verdict.verdict for verdict in session.run(2)} == {it.key: what for it, what in expected.items()}
    found = result(session.mutants, session.verdicts, seed=1)
    assert [found[word] for word in ("mutants", "killed", "equivalent", "survived", "waiting")] == [8, 4, 1, 3, 0]
    assert not run.Session(list(expected), cases).waiting()  # a later run knows the verdicts
    assert not session.broken


def test_a_mutant_that_never_ends_is_killed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(run, "FOLDER", tmp_path)
    monkeypatch.setattr(run, "LEAST", run.Limits(1, 60))
    endless = by_lines(of_example("tiny_bits.c"), "value >>= 1;", ";")
    (verdict,) = run.Session([endless], cases).run(1)
    assert (verdict.verdict, verdict.by) == ("killed", "time limit")


@pytest.mark.parametrize(
    ("status", "text", "by"),
    [
        (1, "FAILED a.py::b - no", "a.py::b"),
        (-11, "", "judge.py (signal 11)"),
        (4, "ImportError in conftest", ""),
        (1, "No pytest", ""),
    ],
)
def test_only_a_test_that_ran_kills(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, status: int, text: str, by: str) -> None:
    monkeypatch.setattr(run, "FOLDER", tmp_path)
    monkeypatch.setattr(run, "digest", lambda *_: "")
    answers = [run.Ran(0, 1, 1, ""), run.Ran(status, 1, 1, text)]  # without a mutant, and with it
    monkeypatch.setattr(run, "ask", lambda *_: answers.pop(0))
    session = run.Session(of_example("tiny_bits.c")[:1], lambda _: [Judge("judge.py")])
    assert [verdict.by for verdict in session.run(1)] == [by] * bool(by)
    assert list(session.broken) == ["judge.py"] * (not by)


def test_cases_that_fail_without_a_mutant_do_not_keep_the_others_from_judging(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(run, "FOLDER", tmp_path)
    judge = f"{HERE}/half_broken_cases.py"
    session = run.Session(of_example("tiny_bits.c")[:1], lambda _: [Judge(judge)])
    (verdict,) = session.run(1)
    assert (verdict.verdict, verdict.by) == ("killed", f"{judge}::test_notices")
    assert "test_fails_always[a b]" in session.broken[judge]


JUDGE = """
import os, subprocess, time
from pathlib import Path
def test_ends_never():
    child = subprocess.Popen(["sleep", "600"])
    Path({pids!r}).write_text(f"{{os.getpid()}} {{child.pid}} ")
    time.sleep(600)
"""
RUN = """
import signal, sys
from pathlib import Path
from testing.mutate import draw, run
from testing.mutate.judges import Judge
run.FOLDER = Path(sys.argv[1])
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for what runs in the background
run.stop_at_sigterm()
list(run.Session(draw.candidates("testing/mutate/example/tiny_bits.c")[:1], lambda _: [Judge(sys.argv[2])] * 2).run(1))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_no_judge_outlives_a_run_that_is_stopped(tmp_path: Path, number: signal.Signals) -> None:
    pids, judge = tmp_path / "pids", tmp_path / "test_judge.py"
    judge.write_text(JUDGE.format(pids=str(pids)))
    process = subprocess.Popen([sys.executable, "-c", RUN, str(tmp_path), str(judge)], cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        while process.poll() is None and not (pids.exists() and pids.read_text().endswith(" ")):
            time.sleep(0.05)
        process.send_signal(number)
        assert process.wait(60) in (128 + signal.SIGTERM, -signal.SIGINT)
        assert not any(
            Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_text() for pid in pids.read_text().split()
        )
    finally:
        process.kill()


@pytest.mark.parametrize(
    "judge, helper",
    [
        ("host/pmd/test_pmd.py", "host/pmd/testing/rss.c"),
        ("host/pmd/test_pmd.py", "host/pmd/conftest.py"),
        ("rtl/chan/test_sl_fifo.py", "testing/cocotb/channel.py"),
        (judges.PROVING, "testing/formal/fv_fifo.sv"),
    ],
)
def test_a_survivor_is_judged_again_when_what_helps_its_judge_changes(
    judge: str, helper: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    session = run.Session(of_example("tiny_gate.sv")[:1], lambda _: [Judge(judge)])
    before = session.judges_digest("rtl/chan/sl_fifo.sv")
    assert helper in run.helpers(judge) and before == session.judges_digest("rtl/chan/sl_fifo.sv")
    read = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: read(path) + b" " * (path == ROOT / helper))
    assert session.judges_digest("rtl/chan/sl_fifo.sv") != before


def test_a_judge_uses_what_all_it_starts_uses() -> None:
    spin = "import subprocess, sys; t = 'import time\\nwhile time.process_time() < 0.4: pass'; "
    spin += "subprocess.run([sys.executable, '-c', t]); subprocess.run(['sleep', '600'])"
    process = subprocess.Popen([sys.executable, "-c", spin], start_new_session=True)
    try:
        while run.group_use(process.pid)[0] < 0.4:  # the first child's, also when it has ended
            assert process.poll() is None
            time.sleep(0.05)
        while not run.group_use(process.pid)[1]:
            time.sleep(0.05)
        assert run.group_use(process.pid)[0] < 5
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_a_judge_that_only_waits_is_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    judge = tmp_path / "test_judge.py"
    judge.write_text(JUDGE.format(pids=str(tmp_path / "pids")))
    ran = run.ask(Judge(str(judge)), tmp_path, 0, run.Limits(60, 5), run.Groups())
    assert ran.status is None and ran.cpu < 60 and ran.idle > 5


def test_arguments_for_equivalence_are_about_lines_that_are_there() -> None:
    for file, original, _ in equivalent.arguments():
        lines = {it.original_line.strip() for it in draw.candidates(file)}
        assert original in lines, f"{file} has no {original!r} any more: take the entry out of equivalent.toml"
    assert all(len(text) > 40 for text in equivalent.arguments().values())


@pytest.mark.fuzz
def test_mutants_that_once_survived_are_killed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(run, "FOLDER", tmp_path)
    # The usual measurement runs each judge twice.
    limits = run.Limits(60, 300)

    def measured(self: run.Session, judge: Judge, tree: Path) -> run.Limits | None:
        return limits if run.ask(judge, tree, 0, run.GENEROUS, self.groups).status == 0 else None

    monkeypatch.setattr(run.Session, "_measured", measured)
    fixed = FIXED if "SLUICE_FUZZ_MINUTES" in os.environ else FIXED[:2]  # all take a minute and a half
    mutants = [by_lines(draw.candidates(one["file"]), one["original"], one["mutated"]) for one in fixed]
    chosen = {one["file"]: [Judge(one["judge"])] for one in fixed if "judge" in one}
    session = run.Session(mutants, lambda file: chosen.get(file) or judges.of_part(file)[:1])
    survivors = [f"{it.file}:{it.line} {it.mutated}" for it in session.run(2) if it.verdict != "killed"]
    assert not survivors and not session.waiting()
