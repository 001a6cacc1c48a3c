# SPDX-License-Identifier: Apache-2.0
"""`x[high:low]`, `min`, `max`, `popcount` and `clz`: what they give is what Python's integers say. That the targets
agree is for the fuzzer, whose programs have them, and for `found/bits.sl`."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.frontend import typed
from compiler.frontend.program import load_text
from compiler.frontend.source import Diagnostics
from compiler.interpreter.choices import Decide
from compiler.interpreter.element import run_element


def loaded(text: str) -> typed.Element | str:
    """The element of a program, or what is wrong with it."""
    diagnostics = Diagnostics()
    found = load_text(text, "test.sl", diagnostics)
    return found.elements[0] if found else "".join(error.render() for error in diagnostics.sorted())


def results(kinds: list[str], bits: list[int], values: list[int], statements: str) -> list[int]:
    """The values that `statements` write to r[0] to r[7], for inputs a, b, ..."""
    names = "abcdef"[: len(kinds)]
    fields = "".join(f"{kind} {name}; " for kind, name in zip(kinds, names, strict=True))
    locals_ = "".join(f"{kind} {name} = v.{name}; " for kind, name in zip(kinds, names, strict=True))
    element = loaded(
        f"struct in_t {{ {fields} }} struct out_t {{ uint<320> r[8]; }}"
        f".element E (in_t in -> out_t out) {{ .handler {{ in_t v = read(in); {locals_} out_t r; {statements} write(out, r); }} }}"
    )
    assert isinstance(element, typed.Element), element
    token = 0
    for value, width in zip(values, bits, strict=True):
        token = token << width | value & (1 << width) - 1
    (sent,) = run_element(element, {"in": [token]}, Decide()).outputs["out"]
    return [sent >> 320 * number & (1 << 320) - 1 for number in range(8)]


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_counts_and_slices(data: st.DataObject) -> None:
    bits = data.draw(st.integers(1, 300))
    x = data.draw(st.one_of(st.integers(0, (1 << bits) - 1), st.sampled_from([0, 1, (1 << bits) - 1, 1 << bits - 1])))
    low = data.draw(st.integers(0, bits - 1))
    high = data.draw(st.integers(low, bits - 1))
    put = data.draw(st.integers(0, (1 << high - low + 1) - 1))
    kind = data.draw(st.sampled_from([f"uint<{bits}>", f"int<{bits}>"]))
    found = results(
        [kind],
        [bits],
        [x],
        f"r.r[0] = popcount(a); r.r[1] = clz(a); r.r[2] = a[{high}:{low}]; r.r[3] = popcount((uint<{bits}>) {x}); "
        f"r.r[4] = clz((uint<{bits}>) {x}); a[{high}:{low}] = (uint<{high - low + 1}>) {put}; r.r[5] = (uint<{bits}>) a;",
    )
    mask = (1 << high + 1) - (1 << low)
    assert found[0] == found[3] == x.bit_count()
    assert found[1] == found[4] == bits - x.bit_length()
    assert found[2] == (x & mask) >> low
    assert found[5] == x & ~mask | put << low


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_extremes(data: st.DataObject) -> None:
    """In the common type: of one sign, the wider one."""
    is_signed = data.draw(st.booleans())
    widths = [data.draw(st.integers(2, 70)) for _ in range(3)]
    values = [
        data.draw(st.integers(-(1 << w - 1), (1 << w - 1) - 1) if is_signed else st.integers(0, (1 << w) - 1)) for w in widths
    ]
    kinds = [f"{'int' if is_signed else 'uint'}<{width}>" for width in widths]
    least, greatest = min(values), max(values)
    found = results(
        kinds, widths, values, "r.r[0] = (uint<320>) (int<320>) min(a, b, c); r.r[1] = (uint<320>) (int<320>) max(a, b, c); "
        f"r.r[2] = min(a, b, c) == ({'int' if is_signed else 'uint'}<80>) {least}; r.r[3] = max(a, b) == min(b, a);"
    )  # fmt: skip
    assert found[:2] == [value & (1 << 320) - 1 for value in (least, greatest)]
    assert found[2] == 1 and found[3] == (values[0] == values[1])


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("x[0:7]", "E0408"),
        ("x[32:0]", "E0408"),
        ("x[3:-1]", "E0408"),
        ("x[y:0]", "E0323"),
        ("t[3:0]", "E0405"),
        ("x[3:", "E0201"),
        ("min(x)", "E0410"),
        ("min(x, t)", "E0405"),
        ("max(x, i)", "E0407"),
        ("popcount(x, y)", "E0410"),
        ("clz(t)", "E0405"),
    ],
)
def test_refuses_with_a_reason(expression: str, error: str) -> None:
    said = loaded(
        f".element E (uint in -> uint out) {{ .state {{ uint t[4]; int i; }} .handler {{ uint x = read(in); uint y = x; "
        f"write(out, {expression}); }} }}"
    )
    assert isinstance(said, str) and error in said, said


def test_the_name_of_a_function_of_the_program_comes_first() -> None:
    element = loaded(
        "uint min(uint a, uint b) { return a - b; } .element E (uint in -> uint out) { .handler { write(out, min(read(in), 2)); } }"
    )
    assert isinstance(element, typed.Element)
    assert run_element(element, {"in": [9]}, Decide()).outputs["out"] == [7]


def test_arguments_are_evaluated_once() -> None:
    element = loaded(
        ".element E (uint in -> uint out) { .state { uint n; } uint next() { n += 1; return n; } "
        ".handler { uint x = read(in); write(out, max(next(), x) + 100 * (min(next(), 50, next()))); } }"
    )
    assert isinstance(element, typed.Element)
    assert run_element(element, {"in": [0]}, Decide()).outputs["out"] == [201]
