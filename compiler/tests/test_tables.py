# SPDX-License-Identifier: Apache-2.0
"""Rule tables: filled by their signals, looked up, and the same on every target."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from compiler.backends import cpp_run
from compiler.compile import Compiled, HardwareError, compile_element
from compiler.frontend import typed
from compiler.fuzz.compare import disagreement
from compiler.interpreter.choices import Decide, SignalCall
from compiler.interpreter.element import run_element
from compiler.ir import text
from compiler.ir.execute import run_element as execute
from compiler.ir.lower import lower_states
from compiler.passes import optimize
from compiler.targets import rtl, rtl_outcome
from compiler.tests.differential import elements

PROGRAM = """
struct route_t { uint<5> port; uint<30> next; }
struct pair_t { uint<3> a; uint<4> b; }
.element Routes (uint<8> in -> uint<6> port, uint<30> next) {
    table lpm<uint<8>, route_t> routes[6];
    .state { uint misses; }
    .handler {
        route_t found;
        bool hit = routes.lookup(read(in), found);
        if (!hit) misses += 1;
        write(port, ((uint<6>) hit) << 5 | found.port);
        if (found.port != 3) write(next, found.next);
    }
    .signal uint get_misses() { return misses; }
}
.element Known (uint<7> in -> uint<12> out) {
    table exact<pair_t, uint<12>> known[5];
    .handler {
        pair_t key;
        uint<12> value;
        uint<7> x = read(in);
        key.a = (uint<3>) (x >> 4);
        key.b = (uint<4>) x;
        if (x & 1) known.lookup(key, value);
        else if (known.lookup(key)) value = 5;
        write(out, value);
    }
    .signal bool is_known(pair_t key) { return known.lookup(key); }
}
.element Both (uint<8> a, uint<8> b -> uint<16> out) {
    table ternary<uint<8>, uint<8>> rules[7];
    table exact<uint<2>, uint> few[3];
    .state { uint last[16]; }
    .handler {
        uint<8> one;
        uint<8> other;
        uint more;
        rules.lookup(read(a), one);
        if (rules.lookup(read(b) ^ one, other)) few.lookup((uint<2>) other, more);
        last[(uint<4>) one] += more;
        write(out, ((uint<16>) one << 8 | other) + (uint<16>) last[(uint<4>) one]);
    }
}
"""
PRIORITIES = 10


def some(choose: random.Random, signal: typed.Signal) -> SignalCall:
    """A call whose rules often meet others, and lookups."""
    few = {"length": range(10), "priority": range(PRIORITIES), "mask": (0, 0xFF, 0xF0, 3, 0x81)}
    values = []
    for parameter in signal.parameters:
        bits = parameter.type.bits
        value = choose.choice(few[parameter.name]) if parameter.name in few else choose.getrandbits(bits)
        if parameter.name == "key" and bits > 6 and choose.random() < 0.5:
            value &= 0xF3
        values.append(value & (1 << bits) - 1)
    return SignalCall(signal.name, tuple(values))


def calls(element: typed.Element, choose: random.Random, count: int) -> list[SignalCall]:
    """Inserts more often than removes, so that tables get full."""
    weights = [1 if signal.name.endswith("_remove") else 3 for signal in element.signals]
    return [some(choose, signal) for signal in choose.choices(element.signals, weights, k=count)]


def streams(element: typed.Element, choose: random.Random, count: int) -> dict[str, list[int]]:
    return {
        port.name: [choose.getrandbits(port.type.bits) & choose.choice([0xF3, -1]) for _ in range(count)] for port in element.inputs
    }


def each() -> Iterator[tuple[str, typed.Element]]:
    yield from ((name, element) for name, element in elements(PROGRAM).items() if element.tables)


NAMES = [name for name, _ in each()]


def test_what_updates_answer() -> None:
    element = elements(PROGRAM)["Routes"]
    given = [
        ("routes_insert", (0x10, 4, 1), 0),
        ("routes_insert", (0x1F, 4, 2), 0),  # the same prefix: replaced
        ("routes_insert", (0x10, 9, 3), 22),
        ("routes_remove", (0x20, 4), 2),
        ("routes_remove", (0x17, 4), 0),
        ("routes_remove", (0x17, 4), 2),
        *(("routes_insert", (n, 8, n), 0) for n in range(6)),
        ("routes_insert", (6, 8, 3), 28),
        ("routes_insert", (5, 8, 3), 0),
        ("routes_remove", (5, 8), 0),
        ("routes_insert", (0, 0, 3), 0),
    ]
    signals = [SignalCall(name, arguments) for name, arguments, _ in given]
    tokens = {"in": [4, 5, 0xFF]}
    outcome = run_element(element, tokens, Decide(0, signals))
    assert outcome.answers == [answer for *_, answer in given]
    assert outcome.outputs["next"] == [4, 3, 3]
    program = typed.Program((element,), (), (), 0)
    assert cpp_run.run(program, {"Routes": tokens}, 0, {"Routes": signals})["Routes"].answers == outcome.answers


@pytest.mark.parametrize("name", NAMES)
def test_cpu_agrees(name: str) -> None:
    element = elements(PROGRAM)[name]
    program = typed.Program((element,), (), (), 0)
    for seed in range(8):
        choose = random.Random(seed)
        signals = calls(element, choose, 60)
        tokens = streams(element, choose, 90)
        outcome = cpp_run.run(program, {name: tokens}, seed, {name: signals})[name]
        assert disagreement(element, tokens, outcome, calls=len(signals)) == ""


@pytest.mark.parametrize("name", NAMES)
def test_ir_agrees(name: str) -> None:
    element = elements(PROGRAM)[name]
    ir, layout = lower_states(element)
    for made in (ir, optimize.run(ir), text.parse(text.show(ir))):
        for seed in range(4):
            choose = random.Random(seed)
            tokens = streams(element, choose, 90)
            expected = run_element(element, tokens, Decide(seed, calls(element, choose, 60)))
            found = execute(made, tokens, expected.log, expected.iterations)
            assert (found.outputs, found.answers) == (expected.outputs, expected.answers)
            assert layout.values(found.state.registers, found.state.memories) == expected.state


@pytest.fixture(scope="module")
def simulator() -> tuple[dict[str, Compiled], rtl.Built]:
    compiled = {name: compile_element(element) for name, element in each()}
    return compiled, rtl.build(rtl_outcome.plans(compiled))


@pytest.mark.parametrize("seed", range(4))
def test_rtl_agrees(simulator: tuple[dict[str, Compiled], rtl.Built], seed: int) -> None:
    compiled, built = simulator
    choose = random.Random(seed)
    given = {name: calls(one.element, choose, 60) for name, one in compiled.items()}
    tokens = {name: streams(one.element, choose, 2000) for name, one in compiled.items()}
    outcomes = rtl_outcome.run_built(built, compiled, tokens, seed, given)
    for name, one in compiled.items():
        assert disagreement(one.element, tokens[name], outcomes[name], calls=60) == "", name
        assert one.plan.interval == 1


def test_a_lookup_cannot_decide_whether_an_iteration_begins() -> None:
    text = """.element Early (uint<8> a, uint<8> b -> uint<8> out) {
        table exact<uint<3>, uint<3>> few[3];
        .handler { if (few.lookup((uint<3>) 1)) write(out, read(a)); else write(out, read(b)); }
    }"""
    with pytest.raises(HardwareError, match="depends on a lookup") as error:
        compile_element(elements(text)["Early"])
    assert error.value.code == "E0803" and "always read the inputs" in error.value.hint
