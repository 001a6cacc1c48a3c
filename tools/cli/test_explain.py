# SPDX-License-Identifier: Apache-2.0
"""`sluice explain`: every code has an example that triggers it, or a note; the corrected example triggers nothing."""

import pytest
from typer.testing import CliRunner

from compiler.frontend import examples
from compiler.frontend.errors import CODES
from tools.cli.explain import said
from tools.cli.main import app


def test_every_code_has_an_example_or_a_note() -> None:
    assert set(CODES) == set(examples.EXAMPLES) | set(examples.NOTES)
    assert set(examples.EXAMPLES) >= examples.LAYOUTS


@pytest.mark.parametrize("code", examples.EXAMPLES)
def test_an_example_gets_its_code_and_nothing_when_corrected(code: str) -> None:
    assert code in [message.code for message in said(code, examples.wrong(code))]
    assert [message.render() for message in said(code, examples.corrected(code))] == []


@pytest.mark.parametrize("code", ["E0404", "e404", "404", "error[E0404]:"])
def test_explains_with_program_message_and_mending(code: str) -> None:
    done = CliRunner().invoke(app, ["explain", code])
    assert done.exit_code == 0
    assert done.stdout.startswith(f"E0404: {CODES['E0404']}")
    assert "example.sl:4:" in done.stdout and "hint: " in done.stdout and "x.meta.length > 100" in done.stdout


def test_explains_what_no_program_shows() -> None:
    done = CliRunner().invoke(app, ["explain", "E0803"])
    assert done.exit_code == 0 and examples.NOTES["E0803"] in done.stdout


@pytest.mark.parametrize(
    ("code", "answer"), [("E4014", "did you mean"), ("switch", "E0417"), ("\u00b2", "unknown code"), ("E", "unknown code")]
)
def test_says_which_codes_are_near(code: str, answer: str) -> None:
    done = CliRunner().invoke(app, ["explain", code])
    assert done.exit_code == 2 and answer in done.stderr


def test_lists_all_codes() -> None:
    assert all(code in CliRunner().invoke(app, ["explain"]).stdout for code in CODES)
