# SPDX-License-Identifier: Apache-2.0
"""`sluice new element`: what it makes is right, formatted, and passes its own test."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from toolchain import ROOT
from tools.cli.main import app


def new(folder: Path, name: str) -> Result:
    return CliRunner().invoke(app, ["new", "element", name, "--folder", str(folder)])


def test_makes_an_element_that_works(tmp_path: Path) -> None:
    made = new(tmp_path, "PassOn")
    own = tmp_path / "passon"
    assert made.exit_code == 0 and f"./sluice test {own}" in made.stdout
    assert {path.name for path in own.iterdir()} == {"passon.sl", "test_passon.py", "README.md"}
    assert CliRunner().invoke(app, ["check", str(own / "passon.sl")]).exit_code == 0
    assert CliRunner().invoke(app, ["fmt", "--check", str(own / "passon.sl")]).exit_code == 0
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(own), "-k", "interpreter"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr


def test_overwrites_nothing(tmp_path: Path) -> None:
    assert new(tmp_path, "PassOn").exit_code == 0
    (tmp_path / "passon" / "passon.sl").write_text("mine")
    again = new(tmp_path, "PassOn")
    assert again.exit_code == 2 and "already" in again.stderr
    assert (tmp_path / "passon" / "passon.sl").read_text() == "mine"


def test_says_where_it_cannot_write(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    done = new(tmp_path / "file", "PassOn")
    assert done.exit_code == 1 and "error[E0107]" in done.stderr


@pytest.mark.parametrize(("name", "like"), [("pass_on", "PassOn"), ("../x", "X"), ("9lives", "'Lives'"), ("", "TtlFilter")])
def test_says_how_elements_are_named(tmp_path: Path, name: str, like: str) -> None:
    done = new(tmp_path, name)
    assert done.exit_code == 2 and like in done.stderr
    assert list(tmp_path.iterdir()) == []
