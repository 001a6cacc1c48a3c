# SPDX-License-Identifier: Apache-2.0
"""Timers: alone, with signals, several, beside memories, rules and flows; the same on every target."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.certificate import certify, stalls
from compiler.compile import HardwareError, compile_element
from compiler.frontend.program import load_text
from compiler.frontend.source import Diagnostics
from compiler.fuzz import targets, tokens
from compiler.fuzz.compare import disagreement
from compiler.interpreter.choices import Decide, SignalCall, host_calls
from compiler.interpreter.element import run_element
from compiler.ir.rewrite import shape
from compiler.ir.text import parse, show
from compiler.native import native
from compiler.tests.differential import elements

TEXT = """
.element Alone (uint<8> in -> uint<8> out) {
    .state { uint<8> left = 3; uint<32> all = 0; }
    .handler { uint<8> x = read(in); if (left != 0) { left -= 1; write(out, x); } }
    .timer refill (every = 5) { left = 3; all += periods(); }
}
.element Both (uint<8> in -> uint<8> out) {
    .state { uint<32> seen = 0; uint<32> ticks = 0; uint<32> last = 0; }
    .handler { uint<8> x = read(in); seen += 1; write(out, (uint<8>) (x + ticks)); }
    .timer one (every = 3) { ticks += periods(); }
    .timer two (every = 7) { last = seen; seen = 0; }
    .signal uint<40> get(uint<70> x, uint<8> y) { return (uint<40>) x + ticks + y; }
    .signal void clear() { ticks = 0; }
}
.element Sweep (uint<8> in -> uint<16> out) {
    .state { uint<16> counts[16]; uint<4> at = 0; }
    .handler {
        uint<8> x = read(in);
        counts[x & 15] += 1;
        write(out, counts[x & 15]);
    }
    .timer decay (every = 9) {
        for (uint<8> i = 0; i < 16; i++) counts[i] = 0;
    }
    .timer next (every = 2) { counts[at] = counts[at] >> 1; at += 1; }
    .signal uint<16> get(uint<4> i) { return counts[i]; }
}
.element Rules (uint<8> in -> uint<8> out) {
    .state { uint<16> hits = 0; uint<16> before = 0; }
    table exact<uint<8>, uint<8>> rules[4];
    .handler { uint<8> x = read(in); uint<8> v; if (rules.lookup(x, v)) hits += 1; write(out, v); }
    .timer roll (every = 4) { before = hits; hits = 0; print("rolled {} in {}", before, periods()); }
}
.element Ages (uint<8> in -> bool out) {
    .state { uint<16> time = 0; }
    flow<uint<8>, uint<8>> seen[8] (ways = 2, timeout = 4, evict = true);
    .handler {
        uint<8> x = read(in);
        uint<8> v = 0;
        bool known = seen.find(x, v, time);
        if (!known) seen.insert(x, x, time);
        write(out, known);
    }
    .timer age (every = 6) { time += periods(); }
}
"""
ELEMENTS = elements(TEXT)
LONGER = 6  # times the tokens of the fuzzer, so that timers run among them


@pytest.mark.parametrize("target", targets.TARGETS)
def test_every_target_agrees_with_the_interpreter(target: str) -> None:
    program = load_text(TEXT, "timers.sl", Diagnostics())
    assert program is not None
    ran = set()
    for seed in range(5):
        found = tokens.streams(program, seed)
        streams = {name: {port: list(stream) * LONGER for port, stream in ports.items()} for name, ports in found.items()}
        signals = tokens.signals(program, seed)
        result = targets.TARGETS[target](program, streams, [0, 1, 2], signals)
        assert not result.refused
        for outcomes in result.outcomes:
            for element in program.elements:
                timers = {timer.name for timer in element.timers}
                calls = len(host_calls(element, signals[element.name]))
                got = outcomes[element.name]
                message = disagreement(element, streams[element.name], got, calls=calls)
                assert not message, (element.name, message)
                kinds = {str(entry["kind"]).removeprefix("signal ") for entry in got.log}
                ran |= {f"{element.name}.{name}" for name in kinds & timers}
    assert ran == {f"{element.name}.{timer.name}" for element in program.elements for timer in element.timers}


def test_gives_the_periods_and_no_answer() -> None:
    calls = [SignalCall("one", (4,)), SignalCall("get", (0, 0)), SignalCall("one", (65535,)), SignalCall("get", (0, 0))]
    found = run_element(ELEMENTS["Both"], {"in": [1, 2]}, Decide(0, calls))
    assert found.answers == [4, 4 + 65535] and found.outputs["out"] == [1 + (4 + 65535) % 256, 2 + (4 + 65535) % 256]


def test_its_period_outlives_the_text_of_the_ir() -> None:
    made = compile_element(ELEMENTS["Both"]).ir
    again = parse(show(made))
    assert [timer.every for timer in again.timers] == [3, 7] and shape(again) == shape(made)


def test_the_interval_is_certified_while_no_timer_is_due() -> None:
    compiled = compile_element(ELEMENTS["Alone"])
    assert compiled.plan.interval == 1 and not certify(compiled).failure
    assert "timer refill takes an iteration, at most one in 64" in stalls(compiled)
    slower = compiled.text.replace("start_handler = ", "start_handler = valid[1] && ", 1)
    assert certify(compiled, slower).failure


def test_a_body_in_systemverilog_has_none(tmp_path: Path) -> None:
    (tmp_path / "own.sv").write_text("module own; endmodule\n")
    text = ".element Own (uint<8> in -> uint<8> out) { .state { bool on; } .handler { write(out, read(in)); } "
    text += '.timer flip (every = 10) { on = !on; } .native sv "own.sv" }'
    (element,) = elements(text, str(tmp_path / "own.sl")).values()
    with pytest.raises(HardwareError, match="has timers, which a native body does not have"):
        native(compile_element(element))


def test_states_may_have_any_name() -> None:
    """Those of the module's own registers, too, and two that differ in a dot alone."""
    text = """
    struct pair_t { uint<8> b; uint<8> c; }
    .element Names (uint<8> in -> uint<8> out) {
        .state { uint<8> wait; uint<8> ready; uint<8> last; uint<8> cycle; uint<8> iteration; pair_t a; uint<8> a_b; uint<8> m[4]; }
        .handler {
            uint<8> x = read(in);
            uint<8> before = wait + ready + last + cycle + iteration + a.b + a_b + m[x & 3];
            wait = x; ready = x / 3; last = ready; cycle += 1; iteration += wait;
            a.b += 3; a.c = a.b; a_b += 5; m[x & 3] = before / 7;
            write(out, before);
        }
    }
    """
    program = load_text(text, "names.sl", Diagnostics())
    assert program is not None
    (element,) = program.elements
    streams = {element.name: {"in": list(range(50))}}
    (found,) = targets.rtl_simulation(program, streams, [0], {}).outcomes
    assert not disagreement(element, streams[element.name], found[element.name])
