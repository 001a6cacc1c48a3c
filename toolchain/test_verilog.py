# SPDX-License-Identifier: Apache-2.0
"""Comments go, everything else stays."""

import pytest

from toolchain.simulate import packages
from toolchain.verilog import code, declarations, synthesised, used, without_comments


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
  function automatic word_t painted(byte_t data);
    return '{data: data, colour: BLUE};
  endfunction
endpackage
"""
NAMES = ["BITS", "MORE", "colour_t", "word_t", "byte_t", "painted"]


@pytest.mark.parametrize(
    "wanted, expected",
    [
        ("BITS", ["BITS"]),
        ("MORE", ["BITS", "MORE"]),
        ("RED", ["colour_t"]),
        ("word_t", ["BITS", "colour_t", "word_t"]),
        ("byte_t", ["byte_t"]),
        ("painted", ["BITS", "colour_t", "word_t", "byte_t", "painted"]),
        ("other", []),
    ],
)
def test_a_declaration_brings_what_it_needs(wanted: str, expected: list[str]) -> None:
    declared = declarations(PACKAGE)
    kept = used(declared, [wanted])
    assert [name for name in NAMES if any(name in declared[text] for text in kept)] == expected


def test_every_declaration_of_every_package_is_seen() -> None:
    for path in packages():
        text = code(path.read_text())
        inside = text.partition(";\n")[2].partition("\nendpackage")[0]
        skipped = [line for line in inside.split("\n") if line.startswith(("import ", "/* verilator", "// verilator"))]
        left = "\n".join(line for line in inside.split("\n") if line not in skipped)
        assert "\n".join(declarations(text)) == left, path


def test_what_a_module_does_not_use_of_a_package_does_not_count() -> None:
    user = "module a; localparam int unsigned N = BITS; endmodule"
    before = synthesised({"a.sv": user, "sluice_pkg.sv": PACKAGE})
    for change in ("2'd1", "2'd2"), ("data: data", "data: '0"), ("// of a word", "// words"):
        assert synthesised({"a.sv": user, "sluice_pkg.sv": PACKAGE.replace(*change)}) == before
    assert synthesised({"a.sv": user, "sluice_pkg.sv": PACKAGE.replace("BITS = 8", "BITS = 9")}) != before


def test_a_package_may_use_another() -> None:
    two = "function automatic int two(int a); return a + MORE; endfunction"
    files = {"a.sv": "module a; byte_t b = two(1); endmodule", "sluice_pkg.sv": PACKAGE}
    files["sl_pkg.sv"] = f"package sl_pkg; import sluice_pkg::*; {two} endpackage"
    before = synthesised(files)
    assert synthesised(files | {"sluice_pkg.sv": PACKAGE.replace("BITS + 1", "BITS + 2")}) != before
    assert synthesised(files | {"sluice_pkg.sv": PACKAGE.replace("2'd1", "2'd2")}) == before
