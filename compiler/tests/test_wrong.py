# SPDX-License-Identifier: Apache-2.0
"""What a newcomer reads: `wrong/NAME.sl` is a wrong program, `NAME.expected` the messages, word by word.

After a wanted change of a message: `SLUICE_BLESS=1 build/env/bin/python -m pytest compiler/tests`, then read the diff.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from compiler.frontend.errors import CODES, PAGE, page
from compiler.frontend.program import load_text
from compiler.frontend.source import Diagnostics
from toolchain import ROOT
from tools.cli.main import app

FOLDER = Path(__file__).parent / "wrong"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.sl"))


def diagnose(name: str) -> Diagnostics:
    diagnostics = Diagnostics()
    assert load_text((FOLDER / f"{name}.sl").read_text(), f"{name}.sl", diagnostics) is None
    return diagnostics


@pytest.mark.parametrize("name", PROGRAMS)
def test_says_what_is_wrong_and_how_to_fix_it(name):
    diagnostics = diagnose(name)
    said = "\n".join(error.render() for error in diagnostics.sorted())
    expected = FOLDER / f"{name}.expected"
    if os.environ.get("SLUICE_BLESS"):
        expected.write_text(said)
    assert said == expected.read_text(), "if this is meant: SLUICE_BLESS=1, then read the diff"
    for error in diagnostics.errors:
        assert error.code in CODES and error.text and error.hint, error
        assert error.span is not None


def test_there_are_twenty_wrong_programs():
    assert len(PROGRAMS) >= 20


def test_every_code_is_explained():
    folders = (ROOT / "compiler", ROOT / "tools")
    paths = [path for folder in folders for path in folder.rglob("*.py") if "tests" not in path.parts]
    used = {code for path in paths if path.stem != "errors" for code in re.findall(r'"([EW]0\d{3})"', path.read_text())}
    assert used == set(CODES)


def test_the_reference_page_is_fresh():
    assert PAGE.read_text() == page(), "build/env/bin/python -m compiler.frontend.errors"


def test_check_is_silent_about_a_right_program():
    done = CliRunner().invoke(app, ["check", str(ROOT / "compiler" / "tests" / "figures" / "figure4.sl")])
    assert done.exit_code == 0 and done.output == ""


def test_check_emits_the_typed_program():
    done = CliRunner().invoke(app, ["check", "--emit", "typed", str(ROOT / "elements" / "count" / "count.sl")])
    assert done.exit_code == 0 and done.output.startswith("element Count (packet in -> packet out) {")


def test_check_says_the_same_in_json():
    done = CliRunner().invoke(app, ["check", "--json", str(FOLDER / "two_writes.sl")])
    assert done.exit_code == 1
    said = json.loads(done.stdout)
    assert [(error["code"], error["line"], error["column"]) for error in said] == [("E0504", 5, 9)]
    assert said[0]["notes"][0]["line"] == 4


def test_check_of_a_file_that_is_not_there(tmp_path):
    done = CliRunner().invoke(app, ["check", str(tmp_path / "no.sl")])
    assert done.exit_code == 1 and "E0105" in done.stderr


def test_check_loads_nothing_that_it_does_not_need():
    code = "import sys, tools.cli.editing; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    ).stdout.split()
    assert "typer" in loaded and not {"numpy", "matplotlib", "cocotb", "highspy", "hypothesis"} & set(loaded)
