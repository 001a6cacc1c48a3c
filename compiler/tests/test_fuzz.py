# SPDX-License-Identifier: Apache-2.0
"""No text makes the front end raise, hang, or accept what the backends cannot write.

Hypothesis breaks the real layouts: it drops, doubles, swaps and replaces tokens and characters. Programs that once made
it crash or hang follow by name. `SLUICE_FUZZ_MINUTES` sets how long to go on (default: a few hundred programs).
"""

import json
import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compiler.frontend import ast
from compiler.frontend.check import check
from compiler.frontend.parser import parse
from compiler.frontend.source import Diagnostics, Source
from compiler.layouts import LAYOUTS, generate

EXAMPLES_PER_MINUTE = 1500
EXAMPLES = int(os.environ.get("SLUICE_FUZZ_MINUTES", "0")) * EXAMPLES_PER_MINUTE or 250
LIMIT_SECONDS = 10
FILES = {path.relative_to(LAYOUTS).as_posix(): path.read_text() for path in sorted(LAYOUTS.rglob("*.sl"))}
TOKENS = re.compile(r"\s+|///?[^\n]*|\w+|[^\w\s]")
SPICE = [
    "{", "}", "(", ")", "[", "]", "<", ">", ">>", ";", ",", ":", "@", "=", "?", "/*", "*/", '"', "//", "///", "-", "~", "1 <<",
    "struct", "header", "record", "enum", "registers", "constexpr", "import", "static_assert", "ro", "rw", "uint<8>", "int", "bool",
    "0", "1", "0x", "09", "99999999999999999999", "bits(flit_t)", "clog2(0)", "/ 0", "DATA_BYTES", "flit_t", "phv_record_t", "data",
    "\0", "\t", "\r", "é", "\u2028", "$", "#", "`", "\\", "'",
]  # fmt: skip


@contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    """Turns a hang into a failure; in processor time, so that a busy machine changes nothing."""

    def expired(number: int, frame: object) -> None:
        raise TimeoutError(f"still running after {seconds} s")

    before = signal.signal(signal.SIGPROF, expired)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@cache
def parsed(name: str) -> ast.File:
    diagnostics = Diagnostics()
    file = parse(Source(name, FILES[name]), diagnostics)
    assert not diagnostics
    return file


def survives(files: dict[str, str]) -> Diagnostics:
    """Compile some texts in place of, or beside, the real files; whatever is reported must be printable and in the text."""
    diagnostics = Diagnostics()
    with time_limit(LIMIT_SECONDS):
        trees = [parse(Source(n, files[n]), diagnostics) if n in files else parsed(n) for n in sorted({*FILES, *files})]
        layouts = check(trees, {}, diagnostics)
        for error in diagnostics.sorted():
            assert re.fullmatch(r"E\d{4}", error.code) and error.text and error.render()
            json.dumps(error.to_json())
            if error.span is not None:
                assert 0 <= error.span.start <= error.span.end <= len(error.span.source.text)
        if not diagnostics:
            assert all(generate(layouts, 0).values())
    return diagnostics


@st.composite
def broken_layouts(draw: st.DrawFn) -> dict[str, str]:
    """One real file with a few edits."""
    name = draw(st.sampled_from(sorted(FILES)))
    tokens = TOKENS.findall(FILES[name])
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(tokens) - 1))
        other = draw(st.integers(0, len(tokens) - 1))
        match draw(st.sampled_from(["drop", "double", "swap", "copy", "insert", "replace", "cut"])):
            case "drop":
                tokens[at] = ""
            case "double":
                tokens[at] *= 2
            case "swap":
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case "copy":
                tokens[at] = tokens[other]
            case "insert":
                tokens[at] += draw(st.sampled_from(SPICE) | st.text(max_size=5))
            case "replace":
                tokens[at] = draw(st.sampled_from(SPICE) | st.text(max_size=5))
            case "cut":
                del tokens[max(1, at) :]
    return {name: "".join(tokens)}


RELAXED = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))


def test_the_real_layouts_are_clean() -> None:
    assert not survives({})


@pytest.mark.fuzz
@RELAXED
@given(broken_layouts())
def test_survives_broken_layouts(files: dict[str, str]) -> None:
    survives(files)


@pytest.mark.fuzz
@RELAXED
@given(st.lists(st.sampled_from(SPICE) | st.text(max_size=8), max_size=40))
def test_survives_any_text(words: list[str]) -> None:
    survives({"any.sl": " ".join(words)})


NASTY = {
    "deep parentheses": "constexpr uint A = " + "(" * 5000 + "1" + ")" * 5000 + ";",
    "deep negation": "constexpr uint A = " + "~ " * 5000 + "1;",
    "deep conditional": "constexpr uint A = " + "1 ? " * 5000 + "1" + " : 1" * 5000 + ";",
    "deep calls": "constexpr uint A = " + "clog2(" * 5000 + "1" + ")" * 5000 + ";",
    "a long sum": "constexpr uint A = " + " + ".join(["1"] * 5000) + ";",
    "a long assertion": "static_assert " + " + ".join(["1"] * 5000) + ";",
    "a long chain of constants": "".join(f"constexpr uint C{i} = C{i + 1};" for i in range(8000)) + "constexpr uint C8000 = 1;",
    "a long chain of structs": "".join(f"struct s{i}_t {{ s{i + 1}_t x; }}" for i in range(8000)),
    "a huge number": "constexpr uint A = 1" + " << 1024" * 50 + ";",
    "a huge product": "constexpr uint A = (1 << 1024)" + " * (1 << 1024)" * 50 + ";",
    "a huge literal": f"constexpr uint A = 9{'9' * 9000};",
    "a huge enum": "enum e_t : uint<60000> { A = 0 - 1 }",
    "a huge struct": "struct s_t { uint<65536> a[65536]; }",
    "many registers": "registers r { ro uint<32> a[65536] @ 0x0; }",
    "two enums of one name": "enum e_t : uint<8> { A } enum e_t : uint<8> { B } constexpr uint C = B;",
    "an enum with the name of a constant": "constexpr uint e = 1; enum e : uint<8> { B } constexpr uint C = B;",
    "registers open before a struct": "registers r {\n ro uint<32> a @ 0;\nstruct b_t { uint<8> c; }",
    "a struct in itself": "struct a_t { b_t b; } struct b_t { a_t a; }",
    "only an open brace": "struct",
    "an open comment": "struct a_t { /* ",
}


@pytest.mark.parametrize("name", NASTY)
def test_reports_what_it_cannot_take(name: str) -> None:
    assert survives({"nasty.sl": NASTY[name]}), "this program is wrong, but nothing was reported"
