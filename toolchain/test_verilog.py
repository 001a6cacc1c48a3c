# SPDX-License-Identifier: Apache-2.0
"""Comments go, everything else stays."""

import pytest

from toolchain.verilog import code, without_comments


@pytest.mark.parametrize(
    "text, expected",
    [
        ("a; // b\nc;", "a;\nc;"),
        ("a; /* b\n b */ c;", "a;\nc;"),
        ("a/* b */c;", "a c;"),
        ('$display("// no comment /* nor this */"); // b', '$display("// no comment /* nor this */");'),
        ('s = "\\"// still a string";', 's = "\\"// still a string";'),
        ("// verilator lint_off WIDTH\na;", "// verilator lint_off WIDTH\na;"),
        ("a; /* synthesis keep */ b;", "a; /* synthesis keep */ b;"),
        ("\n\n  a;   \n\n", "a;"),
    ],
)
def test_code_is_what_synthesis_depends_on(text: str, expected: str) -> None:
    assert code(text) == expected


def test_line_numbers_stay() -> None:
    assert without_comments("a\n/* b\nc */\nd // e\nf").split("\n")[4] == "f"
