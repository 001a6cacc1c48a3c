# SPDX-License-Identifier: Apache-2.0
"""No program makes the front end raise or hang, and every tree that it gives keeps the promises of `typed.py`.

Hypothesis breaks real programs: it drops, doubles, swaps and replaces tokens. `SLUICE_FUZZ_MINUTES` sets how long to go on.
"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.frontend import show
from compiler.frontend.errors import CODES
from compiler.frontend.program import LIBRARY, load_text
from compiler.frontend.source import Diagnostics
from compiler.frontend.verify import verify
from compiler.tests.test_fuzz import LIMIT_SECONDS, RELAXED, TOKENS, time_limit
from compiler.tests.test_program import FIGURES, PROGRAMS

TEXTS = [path.read_text() for path in [*PROGRAMS.values(), FIGURES / "parser.sl", *sorted(LIBRARY.glob("*/*.sl"))]]
SPICE = [
    "{", "}", "(", ")", "[", "]", "<", ">", ">>", ";", ",", ":", "::", "@", "=", "==", "?", "*", "&", "&&", "-", "->", "=>",
    "!", "~", ".", "++", "+=", "<<=", "/", "%", "0", "1", "-1", "8", "511", "0xffffffffffffffffff", "(1 << 1024)", "1024",
    "\"text {}\"", "true", ".element", ".element_group", ".state", ".init", ".handler", ".signal", ".repeat (i, 0, 3)",
    ".unroll(3)", ".native", "table", "exact<uint<8>, uint<8>>", "import", "host", "if", "else", "for", "while", "switch",
    "case", "default", "break", "continue", "return",
    "goto_state a;", "goto_state tag;", ".state_machine (x.data)", "take(vlan_t)", "skip(2)", "offset()", "tag: {",
    "struct", "header", "enum",
    "constexpr", "register", "global", "uint", "int<7>", "uint<1024>", "bool", "packet", "flit", "ipv4_t", "meta_t", "void",
    "read(in)", "write(out, x)", "select", "peek", "test", "print", "assert", "random()", "now()", "x", "x.data", "x.fd",
    "p", "in", "out", "in[0]", "PORT_1", "PORT_9", "get_input_port()", "from_tor", "to_lane[1]", "Tee", "Count", "Drop",
    "Idle", "bits(flit)", "flow<uint, uint> c[8];", "conn.find(x, p)",
    "(ushort *) &x.data", "(ipv4_t *) (&x.data + 14)", "{1, 2}", "é", "\0", "/*", "//",
]  # fmt: skip


def survives(text: str) -> Diagnostics:
    """Load a program; what is said can be printed, and what is given is well-formed."""
    diagnostics = Diagnostics()
    with time_limit(LIMIT_SECONDS):
        program = load_text(text, "fuzz.sl", diagnostics)
        assert (program is None) == bool(diagnostics)
        if program is not None:
            verify(program)
            assert show.program(program)
    for error in diagnostics.sorted():
        assert error.code in CODES and error.text and error.render()
        json.dumps(error.to_json())
        assert error.span is None or 0 <= error.span.start <= error.span.end <= len(error.span.source.text)
    return diagnostics


@st.composite
def broken_programs(draw: st.DrawFn) -> str:
    """One real program with a few edits."""
    tokens = TOKENS.findall(draw(st.sampled_from(TEXTS)))
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, len(tokens) - 1))
        other = draw(st.integers(0, len(tokens) - 1))
        match draw(st.sampled_from(["drop", "double", "swap", "copy", "insert", "replace", "replace", "cut"])):
            case "drop":
                tokens[at] = ""
            case "double":
                tokens[at] *= 2
            case "swap":
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case "copy":
                tokens[at] = tokens[other]
            case "insert":
                tokens[at] += " " + draw(st.sampled_from(SPICE)) + " "
            case "replace":
                tokens[at] = draw(st.sampled_from(SPICE))
            case "cut":
                del tokens[max(1, at) : max(1, at) + draw(st.integers(1, 20))]
    return "".join(tokens)


@pytest.mark.fuzz
@RELAXED
@given(broken_programs())
def test_survives_broken_programs(text: str) -> None:
    survives(text)


@pytest.mark.fuzz
@RELAXED
@given(st.lists(st.sampled_from(SPICE), max_size=60))
def test_survives_any_tokens(tokens: list[str]) -> None:
    survives(" ".join(tokens))


ELEMENT = ".element E (packet in -> packet out) { .handler { flit x = read(in); %s } }"
NASTY = {
    "deep parentheses": ELEMENT % f"x.empty = {'(' * 500}1{')' * 500};",
    "deep blocks": ELEMENT % ("{" * 500 + "}" * 500),
    "a long else-if": ELEMENT % ("if (x.sop) x.eop = 1; else " * 500 + ";"),
    "a long sum": ELEMENT % f"x.empty = x.sop{' + x.sop' * 5000};",
    "long members": ELEMENT % f"x{'.fd' * 5000}.sop = 1;",
    "nested casts": ELEMENT % f"x.empty = {'(uchar) ' * 500} x.sop;",
    "a chain of functions": "".join(f"uint f{i}(uint a) {{ return f{i + 1}(a); }}" for i in range(300))
    + "uint f300(uint a) { return a; }",
    "huge repeats": ELEMENT % ".repeat (i, 0, 4096) { .repeat (j, 0, 4096) { x.sop = 1; } }",
    "a huge state": ".element E (packet in -> packet out) { ulong t[16777216][16777216]; .handler { } }",
    "a group in itself": ".element_group G (packet in -> packet out) { in -> G -> out } from_tor -> G -> to_tor",
    "two groups in each other": "".join(f".element_group {a} <1, 1> {{ begin -> {b} -> end }}" for a, b in ("AB", "BA"))
    + "Idle -> A",
    "a group that is a wire": ".element_group G (packet in -> packet out) { in -> out } G :: g g -> g",
    "a struct in itself": "struct a_t { b_t b; } struct b_t { a_t a; }",
    "a constant of itself": "constexpr uint A = B; constexpr uint B = A;",
    "an element that imports itself": 'import "fuzz.sl"; Count :: Count',
    "a huge shift": ELEMENT % "x.empty = 1 << (1 << 30);",
    "many instances": ".repeat (i, 0, 4096) { .repeat (j, 0, 4096) { Count :: c } }",
}


@pytest.mark.parametrize("name", NASTY)
def test_takes_or_reports_in_time(name: str) -> None:
    survives(NASTY[name])
