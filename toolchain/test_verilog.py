# SPDX-License-Identifier: Apache-2.0
"""Comments go, everything else stays."""

import re

import pytest

from toolchain import ROOT
from toolchain.verilog import LAYOUTS, code, synthesised, used_declarations, without_comments


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


PACKAGE = """
package sluice_pkg;
  localparam int unsigned BITS = 8;  // of a word
  localparam int unsigned MORE = BITS + 1;
  typedef enum logic [1:0] {
    RED = 2'd0,
    BLUE = 2'd1
  } colour_t;
  typedef struct packed {
    logic [BITS-1:0] data;
    colour_t colour;
  } word_t;
  typedef logic [7:0] byte_t;
endpackage
"""


@pytest.mark.parametrize(
    "wanted, expected",
    [
        ("BITS", ["BITS"]),
        ("MORE", ["BITS", "MORE"]),
        ("RED", ["colour_t"]),
        ("word_t", ["BITS", "colour_t", "word_t"]),
        ("byte_t", ["byte_t"]),
        ("other", []),
    ],
)
def test_a_declaration_brings_what_it_needs(wanted: str, expected: list[str]) -> None:
    found = used_declarations(PACKAGE, [wanted])
    declared = ["BITS =", "MORE =", "} colour_t;", "} word_t;", "] byte_t;"]
    assert [text.strip("} ];=") for text in declared if text in found] == expected


def test_every_declaration_of_the_layouts_is_seen() -> None:
    text = (ROOT / "build" / "gen" / LAYOUTS).read_text()
    everything = used_declarations(text, set(re.findall(r"\w+", text)))
    inside = code(text).partition("package sluice_pkg;\n")[2].partition("\nendpackage")[0]
    assert everything == inside


def test_another_constant_of_the_layouts_changes_nothing_and_a_used_one_does() -> None:
    user = "module a; localparam int unsigned N = BITS; endmodule"
    before = synthesised({"a.sv": user, LAYOUTS: PACKAGE})
    assert synthesised({"a.sv": user, LAYOUTS: PACKAGE.replace("2'd1", "2'd2")}) == before
    assert synthesised({"a.sv": user, LAYOUTS: PACKAGE.replace("BITS = 8", "BITS = 9")}) != before
