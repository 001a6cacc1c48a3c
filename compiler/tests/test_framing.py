# SPDX-License-Identifier: Apache-2.0
"""An output has no packet guard where the first flit decides over the whole packet, and has one where anything else does."""

from __future__ import annotations

import random

import pytest

from compiler.frontend import typed
from compiler.interpreter.choices import Decide, SignalCall
from compiler.interpreter.element import run_element
from compiler.ir.lower import lower
from compiler.tests.differential import elements, random_packet

WHOLE = {
    "held": "bool passes; | if (x.sop) passes = x.meta.mark & 1; if (passes) write(out, x);",
    "by the old state": "bool on; bool passes; | if (x.sop) { passes = on; on = !on; } if (passes) write(out, x);",
    "compared": "uint<2> lane; | if (x.sop) lane = x.meta.mark; if (lane == 2) write(out, x);",
    "two states": "bool a; bool b; | if (x.sop) { a = x.meta.mark & 1; b = a || x.meta.queue; } if (a && b) write(out, x);",
    "changed elsewhere": "bool passes; | if (x.sop) passes = x.meta.mark & 1; if (passes) { x.meta.mark = 7; write(out, x); }",
    "by turns": "uint<2> turn; | if (turn == 1) write(out, x); if (x.eop) turn += 1;",
    "set for the next": "bool on; | if (on) write(out, x); if (x.eop) on = x.meta.mark & 1;",
    "not at all": "bool never; | if (never) write(out, x);",
    "counted": "bool passes; ulong flits; | if (x.sop) passes = flits & 1; flits += 1; if (passes) write(out, x);",
}
BROKEN = {
    "later flits decide": "bool passes; | passes = x.meta.mark & 1 || !x.sop; if (passes) write(out, x);",
    "the first flit always": "bool passes; | if (x.sop) passes = x.meta.mark & 1; if (passes || x.sop) write(out, x);",
    "the state before": "bool on; | if (on) write(out, x); if (x.sop) on = x.meta.mark & 1;",
    "changed by a later flit": "bool p; | if (x.sop) p = x.meta.mark & 1; if (p) write(out, x); if (x.data & 1) p = 0;",
    "by the data of each": "bool passes; | if (x.data & 1) write(out, x);",
    "another framing": "bool passes; | if (x.sop) passes = x.meta.mark & 1; x.eop = 1; if (passes) write(out, x);",
    "by turns of both": "uint<2> turn; | if (turn == 1) write(out, x); if (x.eop) turn += 1; if (x.sop) turn += x.data;",
    "flits by turns": "bool passes; | passes = !passes; if (passes) write(out, x);",
}
SIGNAL = ".signal void set() { passes = 1; }"
TIMER = ".timer flip (every = 10) { passes = !passes; }"


def element_of(text: str, more: str = "") -> typed.Element:
    state, _, handler = text.partition("|")
    return elements(
        f".element E (packet in -> packet out) {{ .state {{ {state} }} .handler {{ flit x = read(in); {handler} }} {more} }}"
    )["E"]


def mended(element: typed.Element, seed: int) -> int:
    """Flits that the interpreter's guard, which is always there, discarded or ended."""
    choose = random.Random(seed)
    kind = element.inputs[0].type
    assert isinstance(kind, typed.Struct)
    tokens = [flit for _ in range(20) for flit in random_packet(choose, kind)]
    calls = [SignalCall(signal.name, (1,) * len(signal.parameters)) for signal in element.signals] * 20
    found = run_element(element, {"in": tokens}, Decide(seed, calls))
    return found.discarded + found.mended


@pytest.mark.parametrize("name", WHOLE)
def test_has_no_guard_where_none_is_needed(name: str) -> None:
    element = element_of(WHOLE[name])
    assert lower(element).outputs[0].guard is None
    assert not any(mended(element, seed) for seed in range(1, 20))


@pytest.mark.parametrize("name", BROKEN)
def test_has_one_where_packets_may_break(name: str) -> None:
    element = element_of(BROKEN[name])
    assert lower(element).outputs[0].guard is not None
    assert any(mended(element, seed) for seed in range(1, 20))


@pytest.mark.parametrize("more", [SIGNAL, TIMER])
def test_signals_and_timers_come_between_the_flits_of_a_packet(more: str) -> None:
    element = element_of(WHOLE["held"], more)
    assert lower(element).outputs[0].guard is not None
    assert any(mended(element, seed) for seed in range(1, 20))
