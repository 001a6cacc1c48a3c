# SPDX-License-Identifier: Apache-2.0
"""Every benchmark on one commit, with small benchmarks of the test's own: an aim that is missed, a table, another commit, a time
limit, and going on where a run was stopped."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bench import every, registry
from toolchain import ROOT
from tools.cli import bench as command
from tools.cli.main import app

PAGE = "# Figures\n\n<!-- begin fake: ./sluice bench --all -->\n\nold\n\n<!-- end fake -->\nbehind\n"
PROGRAM = """
import json, pathlib, sys
runs = pathlib.Path("runs")
runs.write_text((runs.read_text() if runs.exists() else "") + sys.argv[1] + "\\n")
print(json.dumps({"rate": 5, "rows": [{"ii": 1}, {"ii": 2}]}))
"""
TOML = """
[fake]
help = "a small one"
minutes = 1
usual = 0.5
page = "page.md"
command = ["{python}", "program.py", "fake"]
aims = [
  {{ figure = "rate", least = {least}, why = "it is to be fast" }},
  {{ figure = "rows.*.ii", most = 2, why = "it is to be even" }},
]
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "page.md").write_text(PAGE)
    (tmp_path / "program.py").write_text(PROGRAM)
    monkeypatch.setattr(every, "KEPT", tmp_path / "kept")
    return tmp_path


def benches(tree: Path, least: float = 5, more: str = "") -> dict[str, registry.Bench]:
    """Of sections, each of which becomes a folder's `bench.toml`."""
    text = TOML.format(python=sys.executable, least=least) + more.format(python=sys.executable)
    _, *sections = re.split(r"(?m)^\[(\w+)\]\n", text)
    for name, section in zip(sections[::2], sections[1::2], strict=True):
        (tree / name).mkdir(exist_ok=True)
        (tree / name / "bench.toml").write_text(section)
    return registry.read(tree)


def quiet(text: str) -> None:
    """No progress."""


def tables(bench: registry.Bench, result: dict[str, Any]) -> dict[str, str]:
    return {bench.name: f"| rate |\n| --- |\n| {result['rate']} |"}


def test_aims_name_figures_and_what_they_must_be() -> None:
    result = {"rows": [{"ii": 1}, {"ii": 2}], "wrong": 0, "name": ""}
    assert registry.Aim("rows.*.ii", "", most=2).missed(result) == []
    assert registry.Aim("rows.*.ii", "", most=1).missed(result) == ["rows.1.ii is 2"]
    assert registry.Aim("rows.0.ii", "", least=1).missed(result) == []
    assert registry.Aim("wrong", "", equals=0).missed(result) == [] == registry.Aim("name", "", equals="").missed(result)
    assert registry.Aim("wrong", "", equals=1).missed(result) == ["wrong is 0"]
    assert registry.Aim("rows.*.speed", "", least=1).missed(result) == ["no such figure"]
    assert registry.Aim("name", "", least=0).missed(result) == ["name is ''"], "a text is no figure"


def test_a_run_goes_on_where_it_was_stopped(tree: Path) -> None:
    for _ in range(2):
        results, missed = every.run(benches(tree), every.Store(tree / "kept", "abc"), quiet, tree)
        assert missed == [] and results["fake"]["commit"] == "abc" and results["fake"]["rate"] == 5
    assert (tree / "runs").read_text() == "fake\n"
    every.run(benches(tree), every.Store(tree / "kept", "def"), quiet, tree)
    assert (tree / "runs").read_text() == "fake\nfake\n", "another commit is measured again"


def test_what_fails_or_takes_too_long_is_missed_and_the_others_are_run(tree: Path) -> None:
    more = """
[slow]
help = "sleeps"
minutes = 0.002
usual = 1
command = ["{python}", "-c", "import time; time.sleep(60)"]
[broken]
help = "ends with 3"
minutes = 1
usual = 0.5
command = ["{python}", "-c", "raise SystemExit(3)"]
[silent]
help = "says nothing"
minutes = 1
usual = 0.5
command = ["{python}", "-c", ""]
"""
    results, missed = every.run(benches(tree, more=more), every.Store(tree / "kept", "abc"), quiet, tree)
    assert list(results) == ["fake"]
    assert [text.split(":")[0] for text in missed] == ["broken", "silent", "slow"], "the shortest first"
    assert "status 3" in missed[0] and "no JSON" in missed[1] and "not finished after 0.002 minutes" in missed[2]


def test_a_benchmark_that_ends_with_a_status_keeps_its_figures_in_this_run_only(tree: Path) -> None:
    more = """
[grown]
help = "prints figures, and ends with 1"
minutes = 1
usual = 1
command = ["{python}", "-c", "print(5); import json; raise SystemExit(1)"]
[worse]
help = "the same with a dictionary"
minutes = 1
usual = 1
command = ["{python}", "-c", "print(dict()); raise SystemExit(1)"]
"""
    store = every.Store(tree / "kept", "abc")
    results, missed = every.run(benches(tree, more=more), store, quiet, tree)
    assert missed == ["grown: it ended with status 1", "worse: it ended with status 1"]
    assert results["grown"]["rows"] == 5 and results["worse"]["status"] == 1
    assert store.find("fake") and store.find("worse") is None


def test_fresh_figures_are_made_without_those_that_are_kept_until_all_are_there(tree: Path) -> None:
    more = """
keeps = ["things"]
[switch]
help = "tells whether it may use the ledger"
minutes = 1
usual = 1
command = ["{python}", "-c", "import os, json; print(json.dumps(dict(ledger=os.environ.get('SLUICE_LEDGER'))))"]
"""
    found, store = benches(tree, more=more), every.Store(tree / "kept", "abc")
    assert every.run(found, store, quiet, tree)[0]["switch"]["ledger"] is None
    (tree / "build" / "things").mkdir(parents=True)
    for one in found.values():
        store.forget(one, tree / "build")
    assert list((tree / "build").iterdir()) == []
    for _ in range(2):
        assert every.run(found, store, quiet, tree)[0]["switch"]["ledger"] == "no"
    assert (tree / "runs").read_text() == "fake\nfake\n"
    assert every.run(found, every.Store(tree / "kept", "def"), quiet, tree)[0]["switch"]["ledger"] is None


def test_a_run_says_where_it_is_and_how_long_it_will_take(tree: Path) -> None:
    more = """
[talker]
help = "says something"
minutes = 2
usual = 1
command = ["{python}", "-c", "import sys; print('half way', file=sys.stderr); print(dict())"]
"""
    said: list[str] = []
    found = benches(tree, more=more)
    store = every.Store(tree / "kept", "abc")
    every.run(found, store, said.append, tree)
    assert said[0] == "[1 of 2] fake: a small one"
    assert said[1] == "fake: about 0 minutes, at most 1; all that is left: about 2"
    assert "[2 of 2] talker: says something" in said and "  half way" in said
    assert store.path("talker", "log").read_text() == "half way\n"
    store.put("talker", {"seconds": 90.0})
    assert every.Store(tree / "kept", "def").minutes(found["talker"]) == 1.5, "as last time"


def test_a_busy_machine_is_told_with_the_table_and_at_the_end(tree: Path) -> None:
    found = benches(tree)
    results, _ = every.run(found, every.Store(tree / "kept", "abc"), quiet, tree)
    results["fake"]["machine_load"]["busy"] = True
    assert every.busy(results) == ["fake"]
    every.write_tables(found, results, "abc", tree, tables)
    assert "Measured on commit `abc`, beside other work on the machine." in (tree / "page.md").read_text()


def test_tables_are_written_with_their_commit(tree: Path) -> None:
    found = benches(tree)
    results, _ = every.run(found, every.Store(tree / "kept", "abc"), quiet, tree)
    results["fake"]["machine_load"]["busy"] = False
    assert every.write_tables(found, results, "abc", tree, tables) == ["page.md"]
    page = (tree / "page.md").read_text()
    assert "Measured on commit `abc`.\n\n| rate |\n| --- |\n| 5 |\n\n<!-- end fake -->\nbehind\n" in page and "old" not in page


@pytest.mark.parametrize("wrong", [{}, {"fake": {"rate": 5, "commit": "older"}}])
def test_figures_of_another_commit_are_refused_and_the_page_stays(tree: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(every.EveryError, match="no table is written"):
        every.write_tables(benches(tree), wrong, "abc", tree, tables)
    assert (tree / "page.md").read_text() == PAGE


def test_a_page_without_markers_is_an_error(tree: Path) -> None:
    (tree / "page.md").write_text("# Figures\n")
    with pytest.raises(every.EveryError, match="no markers for fake"):
        every.write_tables(benches(tree), {"fake": {"rate": 5, "commit": "abc"}}, "abc", tree, tables)


@pytest.mark.parametrize(("least", "status"), [(5, 0), (6, 1)])
def test_an_aim_that_is_missed_ends_with_status_1(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], least: float, status: int
) -> None:
    monkeypatch.setattr(every, "commit", lambda: "abc")
    monkeypatch.chdir(tree)
    monkeypatch.setattr(every.run_one, "__defaults__", (tree,))
    monkeypatch.setattr(every.run, "__defaults__", (tree,))
    monkeypatch.setattr(every.write_tables, "__defaults__", (tree, tables))
    assert command._all(benches(tree, least), True) == status
    said = json.loads(capsys.readouterr().out)
    assert said["missed"] == ([] if status == 0 else ["fake: rate ≥ 6 (it is to be fast): rate is 5"])
    assert said["pages"] == ["page.md"] and said["results"]["fake"]["rate"] == 5


def test_a_tree_that_differs_from_its_commit_is_refused(tmp_path: Path) -> None:
    for words in (["init", "-q"], ["-c", "user.name=a", "-c", "user.email=a", "commit", "-q", "--allow-empty", "-m", "a"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    assert len(every.commit(tmp_path)) == 12
    for written in (registry.read()["lpm"].page or "", "bench/ledger.json"):
        (tmp_path / written).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / written).write_text("tables of a run before")
    assert len(every.commit(tmp_path)) == 12
    (tmp_path / "docs" / "new").write_text("")
    with pytest.raises(every.EveryError, match="commit or stash them"):
        every.commit(tmp_path)


def test_every_benchmark_can_be_run_and_its_tables_have_a_place() -> None:
    for name, one in registry.read().items():
        assert one.help and one.minutes > one.usual > 0 and one.aims
        if not one.command:
            module = importlib.import_module(f"bench.{name}")
            assert callable(module.measure) and callable(module.show)
        assert one.page and callable(importlib.import_module(one.tables or f"bench.{name}").tables)
        assert every.marked((ROOT / one.page).read_text(), name)


def test_all_takes_no_benchmark() -> None:
    assert CliRunner().invoke(app, ["bench", "lpm", "--all"]).exit_code == 2
    assert CliRunner().invoke(app, ["bench"]).exit_code == 2
    assert CliRunner().invoke(app, ["bench", "lpm", "--fresh"]).exit_code == 2
    assert CliRunner().invoke(app, ["bench", "--all", "--only", "nothing"]).exit_code == 2
    assert list(command._chosen(["rules", "lpm"])) == ["lpm", "rules"] and command._chosen([]) == registry.read()
