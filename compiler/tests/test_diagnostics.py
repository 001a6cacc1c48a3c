# SPDX-License-Identifier: Apache-2.0
"""The messages of the front end, word by word: `diagnostics/NAME.sl` is a broken program, `NAME.expected` what is said.

After a wanted change of a message: `SLUICE_BLESS=1 build/env/bin/python -m pytest compiler/tests`, then read the diff.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from compiler.frontend.check import check
from compiler.frontend.source import Diagnostics
from compiler.layouts import main, read
from toolchain import ROOT

FOLDER = Path(__file__).parent / "diagnostics"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.sl"))


def diagnose(folder: Path) -> Diagnostics:
    diagnostics = Diagnostics()
    check(read(folder, diagnostics), {}, diagnostics)
    return diagnostics


def alone(name: str, tmp_path: Path) -> Path:
    """A layouts folder with only this program in it."""
    folder = tmp_path / "layouts"
    folder.mkdir()
    shutil.copy(FOLDER / f"{name}.sl", folder)
    return folder


@pytest.mark.parametrize("name", PROGRAMS)
def test_says_what_is_wrong_and_how_to_fix_it(name, tmp_path):
    said = "\n".join(error.render() for error in diagnose(alone(name, tmp_path)).sorted())
    expected = FOLDER / f"{name}.expected"
    if os.environ.get("SLUICE_BLESS"):
        expected.write_text(said)
    assert said == expected.read_text(), "if this is meant: SLUICE_BLESS=1, then read the diff"


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_message_has_a_code_a_place_and_a_hint(name, tmp_path):
    errors = diagnose(alone(name, tmp_path)).errors
    assert errors
    for error in errors:
        assert re.fullmatch(r"E0\d{3}", error.code) and error.text and error.hint, error
        assert error.span is not None and error.span.line >= 1 and error.span.column >= 1


def test_an_error_in_one_declaration_does_not_hide_the_next(tmp_path):
    lines = {error.span.line for error in diagnose(alone("syntax", tmp_path)).errors if error.span}
    assert {3, 6, 9, 12, 13, 15, 16, 17, 18, 19} <= lines


def test_nothing_is_written_when_there_is_an_error(tmp_path):
    out = tmp_path / "out"
    assert main(["--layouts", str(alone("values", tmp_path)), "--out", str(out)]) == 1
    assert not out.exists()


def test_old_output_stays_when_there_is_an_error(tmp_path):
    folder, out = alone("values", tmp_path), tmp_path / "out"
    (folder / "values.sl").rename(tmp_path / "broken.sl")
    (folder / "good.sl").write_text("constexpr uint A = 1;\n")
    assert main(["--layouts", str(folder), "--out", str(out)]) == 0
    before = {path: path.read_bytes() for path in out.iterdir()}
    (tmp_path / "broken.sl").rename(folder / "values.sl")
    assert main(["--layouts", str(folder), "--out", str(out)]) == 1
    assert {path: path.read_bytes() for path in out.iterdir()} == before


def test_unchanged_output_is_not_written_again(tmp_path):
    folder, out = tmp_path / "layouts", tmp_path / "out"
    folder.mkdir()
    (folder / "good.sl").write_text("constexpr uint A = 1;\n")
    assert main(["--layouts", str(folder), "--out", str(out)]) == 0
    before = {path.name: path.stat().st_mtime_ns for path in out.iterdir()}
    assert main(["--layouts", str(folder), "--out", str(out)]) == 0
    assert {path.name: path.stat().st_mtime_ns for path in out.iterdir()} == before
    assert set(before) == {"sluice_pkg.sv", "sluice_layouts.h", "sluice_layouts.py"}


def test_json_says_the_same_as_the_text(tmp_path, capsys):
    folder = alone("names", tmp_path)
    assert main(["--layouts", str(folder), "--out", str(tmp_path / "out"), "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert said == json.loads(json.dumps([error.to_json() for error in diagnose(folder).sorted()]))
    assert {"code", "message", "file", "line", "column", "hint"} <= said[0].keys()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--set", "NO_SUCH_CONSTANT=1"], "E0310"),
        (["--out", "/dev/null/out"], "E0107"),
    ],
)
def test_a_wrong_command_line_is_an_error_and_no_traceback(arguments, code, tmp_path):
    folder = tmp_path / "layouts"
    folder.mkdir()
    (folder / "good.sl").write_text("constexpr uint A = 1;\n")
    command = [sys.executable, "-m", "compiler.layouts", "--layouts", folder, "--out", tmp_path / "out", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and f"error[{code}]" in done.stderr and "Traceback" not in done.stderr


def test_a_file_that_is_no_text_is_an_error(tmp_path, capsys):
    folder = tmp_path / "layouts"
    folder.mkdir()
    (folder / "binary.sl").write_bytes(b"\xff\xfe\x00struct")
    assert main(["--layouts", str(folder), "--out", str(tmp_path / "out")]) == 1
    assert "error[E0105]" in capsys.readouterr().err
