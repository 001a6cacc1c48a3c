# SPDX-License-Identifier: Apache-2.0
"""State updates as one writes them: each takes a token every cycle at 200 MHz, and gives what the interpreter gives.

The arrays are small, and tokens of the same entry come one behind the other, so that updates in flight meet in every way.
"""

from __future__ import annotations

import random

import pytest

from compiler.compile import Compiled, compile_element
from compiler.frontend import typed
from compiler.fuzz.compare import disagreement
from compiler.interpreter.choices import SignalCall
from compiler.ir.build import Builder
from compiler.ir.prove import same_functions
from compiler.schedule.forward import SUMS, TABLE
from compiler.targets import rtl, rtl_outcome
from compiler.tests.differential import elements

HEAD = """
.element {name} (token_t in -> ulong out) {{
    .state {{ {state} }}
    .handler {{ token_t t = read(in); {handler} }}
    {signals}
}}
"""
TOKEN = "struct token_t { uint<3> at; uint<4> flags; ushort n; ulong wide; }\n"
READ = ".signal ulong get(uint<3> at) { return s[at]; }"
UPDATES = {  # name: state, handler, signals
    "Wide": ("local ulong s[8];", "if (t.flags & 1) s[t.at]++; write(out, s[t.at]);", READ),
    "Outside": ("local ulong s[6];", "if (t.flags & 3) s[t.at] += t.wide; write(out, s[t.at]);", READ),
    "Down": ("local ulong s[8];", "ulong old = s[t.at]; s[t.at] -= t.n; write(out, old);", READ),
    "Either": ("local ulong s[8];", "if (t.flags & 1) s[t.at] += t.n; else s[t.at] -= t.wide; write(out, s[t.at]);", READ),
    "SetOrAdd": (
        "local ulong s[8];",
        "if (t.flags == 3) s[t.at] = t.wide; else if (t.flags & 1) s[t.at] += 5; write(out, s[t.at]);",
        READ + ".signal void set(uint<3> at, ulong to) { s[at] = to; }",
    ),
    "Elsewhere": (
        "local ulong s[8];",
        "s[t.at] += t.n; write(out, s[t.at] + s[t.flags]);",
        ".signal void set(uint<4> at, ulong to) { s[at] = to; }",
    ),
    "Most": ("local ulong s[8];", "if (t.wide > s[t.at]) s[t.at] = t.wide; write(out, s[t.at]);", READ),
    "Least": (
        "local ulong s[8];",
        "if ((t.flags & 1) && t.wide < s[t.at]) s[t.at] = t.wide; "
        "if (t.flags == 2) s[t.at] = 0xffffffffffffffff; write(out, s[t.at]);",
        "",
    ),
    "Clamped": (
        "local uint<20> s[8];",
        "uint sum = s[t.at] + t.n; s[t.at] = sum > 200000 ? 200000 : sum; write(out, s[t.at]);",
        READ,
    ),
    "ClampedWide": ("local uint s[8];", "s[t.at] += t.n; if (s[t.at] > 200000) s[t.at] = 200000; write(out, s[t.at]);", READ),
    "ClampedReset": (
        "local uint s[8];",
        "s[t.at] += t.n; if (s[t.at] > 200000) s[t.at] = 200000; write(out, s[t.at]);",
        READ + ".signal void reset() { for (uint<4> n = 0; n < 8; n++) s[n] = n; }",
    ),
    "ClampedAbove": (
        "local uint s[8];",
        "s[t.at] += t.n; if (s[t.at] > 200000) s[t.at] = 200000; write(out, s[t.at]);",
        ".signal void above(uint x) { for (uint<4> n = 0; n < 8; n++) s[n] = x | 0xffffff00; }",
    ),
    "Halved": (
        "local uint s[8];",
        "s[t.at] += t.n; write(out, s[t.at]);",
        READ + ".signal void halve() { for (uint<4> n = 0; n < 8; n++) s[n] = s[n] >> 1; }",
    ),
    "ClampedAny": (
        "local uint s[8];",
        "s[t.at] += t.wide; if (s[t.at] > 3000000000) s[t.at] = 3000000000; write(out, s[t.at]);",
        READ + ".signal void set(uint<3> at, uint to) { s[at] = to; }",
    ),
    "Floor": (
        "local uint s[8];",
        "if (t.flags == 9) s[t.at] = t.wide; else s[t.at] = s[t.at] > t.n ? s[t.at] - t.n : 0; write(out, s[t.at]);",
        READ,
    ),
    "Spend": (
        "local uint<24> s[8];",
        "if (t.flags < 4) s[t.at] += 3000; bool has = s[t.at] >= t.n; if (has) s[t.at] -= t.n; write(out, has);",
        READ,
    ),
    "Bucket": (
        "local uint<24> s[8];",
        "uint full = s[t.at] + t.n; if (full > 90000) full = 90000; bool has = full >= t.wide & 65535; "
        "if (has) full -= t.wide & 65535; s[t.at] = full; write(out, has);",
        READ,
    ),
    "Buckets": (
        "local uint<24> s[8]; local uint<23> most[8];",
        "uint<24> full = s[t.at] + t.n; if (full > most[t.at]) full = most[t.at]; bool has = full >= t.n; "
        "if (has) full -= t.n; s[t.at] = full; write(out, has);",
        ".signal void set(uint<3> at, uint<23> n) { most[at] = n; }",
    ),
    "Signed": (
        "local int s[8];",
        "int n = (int) t.n - 32768; if (s[t.at] + n > 90000) s[t.at] = 90000; "
        "else if (s[t.at] + n < -90000) s[t.at] = -90000; else s[t.at] += n; write(out, s[t.at] < 0);",
        "",
    ),
    "Extended": (
        "local uint<12> s[8];",
        "int n = s[t.at] - (int) (t.n & 255); if (t.flags & 1) n = 300; s[t.at] = n < 0 ? 0 : n; write(out, s[t.at]);",
        READ,
    ),
    "Register": (
        "uint<48> s; ",
        "if (t.flags & 1) s = s + t.n > 3000000 ? 0 : s + t.n; write(out, s);",
        ".signal ulong get() { return s; }",
    ),
    "Machine": (
        "local uint<4> s[8];",
        """uint<4> n = s[t.at];
        switch (n) {
        case 0: if (t.flags & 1) n = 1; break;
        case 1: if (t.flags & 2) n = 2; break;
        case 2, 3, 4, 5, 6, 7, 8: n = t.flags & 8 ? 12 : n + 1; break;
        case 9: if (t.flags == 5) n = 10; break;
        case 10, 11: n = t.flags; break;
        case 12: if (t.flags & 4) n = 0; break;
        default: n = 15 - t.flags;
        }
        if (t.flags == 6) n = 13;
        s[t.at] = n;
        write(out, n);""",
        READ + ".signal void set(uint<3> at, uint<4> to) { s[at] = to; }",
    ),
    "Three": (
        "local uint<3> s[8];",
        "if (s[t.at] == t.flags) s[t.at] = s[t.at] ^ 5; else s[t.at] += t.flags; write(out, s[t.at]);",
        READ,
    ),
}
PROGRAM = TOKEN + "".join(HEAD.format(name=n, state=s, handler=h, signals=i) for n, (s, h, i) in UPDATES.items())
ELEMENTS = elements(PROGRAM)


FAST = 3.2  # ns: a clock at which most of them need functions forwarded, over several iterations


@pytest.fixture(scope="module")
def fast() -> dict[str, Compiled]:
    return {name: compile_element(element, FAST) for name, element in ELEMENTS.items()}


def tokens(kind: typed.Type, choose: random.Random) -> list[int]:
    """Of few entries, one more often than the others; numbers small, large, or near the ends."""
    assert isinstance(kind, typed.Struct)
    found = []
    for _ in range(400):
        values = {
            "at": choose.choice([1, 1, choose.randrange(8)]),
            "flags": choose.randrange(16),
            "n": choose.choice([1, choose.getrandbits(4), choose.getrandbits(16), 0xFFFF]),
            "wide": choose.choice(
                [choose.getrandbits(3), choose.getrandbits(64), -choose.getrandbits(4) & (1 << 64) - 1, choose.getrandbits(32)]
            ),
        }
        found.append(sum(values[field.name] << field.low for field in kind.fields))
    return found


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_each_takes_a_token_every_cycle(seed: int) -> None:
    """Whatever was compiled before."""
    order = list(ELEMENTS)
    random.Random(seed).shuffle(order)
    plans = {name: compile_element(ELEMENTS[name]).plan for name in order}
    assert {name: plan.interval for name, plan in plans.items()} == dict.fromkeys(UPDATES, 1)


def test_a_fast_clock_has_both_forms_and_several_lags(fast: dict[str, Compiled]) -> None:
    pipelines = [one.plan.pipeline for one in fast.values()]
    assert {form for pipeline in pipelines for form in pipeline.forms.values()} == {SUMS, TABLE}
    assert {lag for pipeline in pipelines for lag in pipeline.lags.values()} >= {1, 2}


def test_rtl_agrees_with_the_interpreter(fast: dict[str, Compiled]) -> None:
    choose = random.Random(0)
    built = rtl.build(rtl_outcome.plans(fast))
    streams = {name: {"in": tokens(element.inputs[0].type, choose)} for name, element in ELEMENTS.items()}
    calls = {
        name: [
            SignalCall(kind.name, tuple(choose.getrandbits(p.type.bits) for p in kind.parameters))
            for kind in (choose.choices(element.signals, k=20) if element.signals else ())
        ]
        for name, element in ELEMENTS.items()
    }
    for seed in range(len(rtl_outcome.PAUSES)):
        outcomes = rtl_outcome.run_built(built, fast, streams, seed, calls)
        for name, element in ELEMENTS.items():
            assert disagreement(element, streams[name], outcomes[name]) == "", f"{name}, seed {seed}"


def test_a_wrong_composition_is_not_proved() -> None:
    b = Builder()
    x, k, hit = (b.exact("register", (), width, name=name) for name, width in (("x", 16), ("k", 16), ("hit", 1)))
    add = b.binary("add", x, k)
    earlier = b.exact("ahead", (k,), 16, value=1)
    right = b.binary("add", x, b.mux(hit, earlier, b.const(0, 16)))
    wrong = b.binary("add", x, b.mux(hit, k, b.const(0, 16)))
    for step, is_right in ((right, True), (wrong, False)):
        made = b.binary("add", step, k)
        assert same_functions([x], [add], 0xFFFF, [[hit]], [step], [made]) is is_right
