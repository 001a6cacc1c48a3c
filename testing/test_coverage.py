# SPDX-License-Identifier: Apache-2.0
"""Coverage counts what was seen, adds up runs, names what is missing, and takes no bin that was not declared."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from testing.coverage import Coverage, holes, merged
from tools.cli.coverage import TESTS
from tools.cli.main import app


def test_runs_add_up_and_what_nobody_saw_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, seen in enumerate(("red", "green")):
        (tmp_path / str(number)).mkdir()
        monkeypatch.setenv("SLUICE_COVERAGE", str(tmp_path / str(number)))
        coverage = Coverage("light", {"colour": ["red", "green", "blue"], "shape": ["round"]})
        coverage.see("colour", seen)
        coverage.see("shape", "round")
        coverage.save()
    counts = merged(tmp_path.glob("*/*.json"))
    assert counts == {"colour": {"red": 1, "green": 1, "blue": 0}, "shape": {"round": 2}}
    assert holes(counts) == {"colour": ["blue"], "shape": []}


def test_what_was_declared_impossible_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICE_COVERAGE", str(tmp_path))
    with pytest.raises(AssertionError, match="colour: black was declared impossible"):
        Coverage("light", {"colour": ["red"]}).see("colour", "black")


def test_without_a_folder_nothing_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLUICE_COVERAGE", raising=False)
    coverage = Coverage("light", {"colour": ["red"]})
    coverage.see("colour", "red")
    coverage.save()
    assert not coverage.on and coverage.seen["colour"]["red"] == 0


def test_a_part_without_coverage_is_refused_with_the_names_of_those_that_have_it() -> None:
    result = CliRunner().invoke(app, ["coverage", "nothing"])
    assert result.exit_code == 2 and all(part in result.output for part in TESTS)
