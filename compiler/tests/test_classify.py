# SPDX-License-Identifier: Apache-2.0
"""Every row of the table of state updates is recognised, in the handler and in signals, and the cycle points into the source."""

import pytest

from compiler.ir.lower import lower
from compiler.passes.classify import Pattern, StateUpdate, classify
from compiler.passes.optimize import run
from compiler.tests.differential import elements


def updates(state: str, handler: str, signal: str = "") -> dict[str, StateUpdate]:
    body = f".state {{ {state} }} .handler {{ uint<32> x = read(in); {handler} }} {signal}"
    text = f".element E (uint<32> in -> uint<32> out) {{ {body} }}"
    return classify(run(lower(elements(text)["E"])))


@pytest.mark.parametrize(
    ("state", "handler", "pattern", "operation"),
    [
        ("uint<32> s;", "write(out, s);", Pattern.CONSTANT, ""),
        ("uint<32> s;", "s = x * 3;", Pattern.LAST_WRITER, ""),
        ("uint<32> s;", "if (x > 5) s = x;", Pattern.LAST_WRITER, ""),
        ("uint<32> s;", "if (x > 5) s += x; else s -= 3;", Pattern.COMPOSABLE, "add"),
        ("uint<32> s;", "if (x > 5) s ^= x;", Pattern.COMPOSABLE, "xor"),
        ("uint<32> s;", "s = s < x ? s : x;", Pattern.COMPOSABLE, "min"),
        ("uint<32> s;", "if (s < x) s = x;", Pattern.COMPOSABLE, "max"),
        ("uint<32> s;", "if (x == 0) s = 0; else s += 1;", Pattern.COMPOSABLE, "set or add"),
        ("uint<32> s;", "if (s != 1000) s += 1;", Pattern.COMPOSABLE, "clamped add"),
        ("uint<32> s;", "s = s + x > 5000 ? 5000 : s + x;", Pattern.COMPOSABLE, "clamped add"),
        ("uint<8> s;", "if (s == 0 && x > 9) s = 70; else if (s == 70) s = 9; else if (x == 1) s = 0;", Pattern.MACHINE, ""),
        ("uint<32> s;", "s = s * 5 + (s >> 7) + x;", Pattern.OTHER, ""),
        ("uint<32> s[64];", "s[x & 63] += 1;", Pattern.SAME_INDEX, "add"),
        ("uint<32> s[64];", "s[x & 63] = s[x & 63] * 3;", Pattern.SAME_INDEX, ""),
        ("uint<32> s[64];", "s[x & 63] = x;", Pattern.LAST_WRITER, ""),
        ("uint<32> s[64];", "s[x & 63] = 1; s[(x >> 6) & 63] = 2;", Pattern.SEVERAL, ""),
        ("uint<32> s[64];", "s[x & 63] = s[(x >> 6) & 63];", Pattern.OTHER, ""),
    ],
)
def test_knows_the_pattern(state: str, handler: str, pattern: Pattern, operation: str) -> None:
    found = updates(state, handler)["s"]
    assert (found.pattern, found.operation) == (pattern, operation), found.describe()


def test_scattered_fields_are_states_of_their_own() -> None:
    text = """struct entry_t { uint<32> key; uint<32> count; }
    .element E (uint<32> in -> uint<32> out) {
        .state { entry_t A[128]; }
        .handler { uint<32> k = read(in); uint<7> i = k * 31; if (A[i].key == k) A[i].count++; else A[i].key = k; }
    }"""
    found = classify(run(lower(elements(text)["E"])))
    assert found["A_count"].pattern is Pattern.SAME_INDEX and found["A_count"].operation == "add"
    assert found["A_count"].cycle[0].op == "read" and found["A_count"].length == 1
    assert found["A_key"].pattern is Pattern.LAST_WRITER, "k is written where k is not, so it may be written always"


def test_a_signal_can_be_the_harder_one() -> None:
    signal = ".signal uint<32> twist() { s = s * s; return s; }"
    assert updates("uint<32> s;", "s += 1;")["s"].pattern is Pattern.COMPOSABLE
    assert updates("uint<32> s;", "s += 1;", signal)["s"].pattern is Pattern.OTHER


def test_the_report_names_the_lines_of_the_cycle() -> None:
    text = updates("uint<32> s;", "s = s * 5 + (s >> 7) + x;")["s"].describe()
    assert text.startswith("s: unknown update pattern; ") and "test.sl:1:" in text and "add" in text
