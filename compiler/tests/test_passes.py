# SPDX-License-Identifier: Apache-2.0
"""Every pass keeps what an element does: run behind each pass on real programs, and proved with Z3 on random transitions."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from compiler.compile import compile_element
from compiler.frontend.source import Source, Span
from compiler.ir.build import Builder
from compiler.ir.execute import run_element
from compiler.ir.ir import ElementIr, Memory, MemoryWrite, PortInfo, Put, Register, Transition
from compiler.ir.lower import lower, lower_states
from compiler.ir.prove import differences
from compiler.ir.rewrite import cost, order, roots
from compiler.ir.text import show
from compiler.ir.verify import verify
from compiler.passes import constants, linear, recurrences
from compiler.passes.optimize import PASSES, run, stages
from compiler.passes.strength import digits
from compiler.schedule.delays import delays
from compiler.schedule.pipeline import merge
from compiler.schedule.schedule import schedule
from compiler.tests import trees
from compiler.tests.differential import agrees, elements
from compiler.tests.test_ir import PlainBuilder, random_node
from compiler.tests.test_lower import PROGRAMS, body, lowered

SPAN = Span(Source("none.sl", ""), 0, 0)
LOCAL = [
    name for name in PASSES if name not in ("constants", "dead", "placing")
]  # that change nodes, by what is true of one iteration


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_every_stage_agrees_with_the_interpreter(path: Path) -> None:
    for element, made, layout in lowered(path):
        for _, changed in stages(made):
            for seed in range(1, 5):
                agrees(element, changed, layout, seed)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_passes_give_the_same_text_every_time(path: Path) -> None:
    for element, made, _ in lowered(path):
        assert show(run(made)) == show(run(lower(element)))


def random_element(seed: int, size: int, widths: tuple[int, ...]) -> ElementIr:
    """Random nodes over registers, an input and a memory, with every kind of effect."""
    choose = random.Random(seed)
    b: Builder = PlainBuilder()
    pool = [b.exact("register", (), width, name=f"r{width}") for width in widths]
    pool += [b.exact("head", (), 6, name="in"), b.exact("available", (), 1, name="in")]
    for _ in range(size):
        if choose.random() < 0.1:
            pool.append(b.exact("read", (b.resize(choose.choice(pool), 3),), 5, name="m"))
        else:
            pool.append(random_node(b, choose, pool))
    recent = pool[-size:]
    conditions = [b.extract(choose.choice(recent), 0, 1) for _ in range(4)]
    conditions.append(b.and_(conditions[0], b.not_(conditions[1])))
    writes = [
        MemoryWrite("m", choose.choice(conditions), b.resize(choose.choice(pool[:6]), 3), b.resize(choose.choice(recent), 5))
        for _ in range(4)
    ]
    following = {f"r{width}": b.resize(choose.choice(recent), width) for width in widths}
    puts = {"out": Put(conditions[2], b.resize(choose.choice(recent), 16))}
    available = pool[len(widths) + 1]
    handler = Transition(
        "handler", (), {}, b.or_(available, b.extract(pool[0], 0, 1)), {"in": available}, puts, following, tuple(writes)
    )
    registers = {f"r{width}": Register(f"r{width}", width, 1, "shown") for width in widths}
    ports = ((PortInfo("in", 6, False),), (PortInfo("out", 16, False),))
    return verify(ElementIr("random", *ports, registers, {"m": Memory("m", 5, 6, {1: 9})}, handler, (), SPAN))


@pytest.mark.parametrize("name", LOCAL)
def test_proved_to_change_nothing_on_small_transitions(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "LEAST_LEVELS", 0)
    monkeypatch.setattr(linear, "LEAST_GAIN", 0)
    changed = 0
    for seed in range(12):
        before = random_element(seed, 8, (1, 3, 4))
        after = verify(PASSES[name](before))
        changed += show(before) != show(after)
        assert not differences(before, before.handler, after.handler), seed
    assert changed > 2


def test_the_proof_finds_a_difference() -> None:
    before = random_element(3, 8, (1, 3, 4))
    b = PlainBuilder()
    wrong = before.handler.next | {"r3": b.const(5, 3)}
    assert differences(before, before.handler, replace(before.handler, next=wrong))


@pytest.mark.parametrize("start", range(0, 80, 20))
def test_all_passes_run_the_same_on_large_transitions(start: int) -> None:
    for seed in range(start, start + 20):
        before = random_element(seed, 60, (1, 3, 8, 13, 32))
        tokens = {"in": [random.Random(seed).getrandbits(6) for _ in range(30)]}
        expected = run_element(before, tokens, iterations=100)
        for name, after in stages(before):
            found = run_element(after, tokens, iterations=100)
            assert found.outputs == expected.outputs and found.state.memories == expected.state.memories, (seed, name)
            assert {**expected.state.registers, **found.state.registers} == expected.state.registers, (seed, name)


@pytest.mark.parametrize("divisor", [1, 2, 3, 5, 7, 10, 31, 64, 100, 255])
def test_division_by_a_constant_is_exact(divisor: int) -> None:
    b = Builder()
    x = b.exact("head", (), 8, name="in")
    parts = [b.binary(op, x, b.const(divisor, 8)) for op in ("udiv", "urem", "sdiv", "srem", "mul")]
    one = b.const(1, 1)
    handler = Transition("handler", (), {"in": one}, None, {"in": one}, {"out": Put(one, b.concat(*parts))}, {}, ())
    before = ElementIr("e", (PortInfo("in", 8, False),), (PortInfo("out", 40, False),), {}, {}, handler, (), SPAN)
    after = PASSES["strength"](before)
    assert not {n.op for n in order(roots(after.handler))} & {"udiv", "urem", *({"sdiv", "srem"} if divisor < 128 else ())}
    assert run_element(after, {"in": range(256)}) == run_element(before, {"in": range(256)})


def test_digits_sum_to_the_number() -> None:
    for value in range(2000):
        found = digits(value)
        assert sum(sign << place if sign > 0 else -(1 << place) for sign, place in found) == value
        assert len(found) <= (value.bit_length() + 2) // 2, "no two neighbours are both there"


def test_a_mask_that_never_changes_is_gone() -> None:
    made = constants.run(lower(trees.count()))
    assert set(made.registers) == {"count"}
    assert made.handler.any_of is not None and made.handler.any_of.op == "available"


def test_arithmetic_is_as_narrow_as_its_use() -> None:
    made = run(
        body("uint<32> x = read(in); uint<8> a = x; uint<8> b = x >> 8; c = a + b + c; write(out, (a + b) * 5);", "uint<8> c;")
    )
    widths = {node.op: node.width for node in order(roots(made.handler)) if node.op in ("add", "mul")}
    assert widths and max(widths.values()) <= 12


def test_what_never_happens_is_gone() -> None:
    b = Builder()
    zero, token = b.const(0, 1), b.exact("head", (), 8, name="in")
    handler = replace(random_element(1, 4, (1,)).handler, needs={"in": zero}, puts={"out": Put(zero, token)}, next={})
    hidden = {"spare": Register("spare", 8, 0), "shown": Register("shown", 8, 0, "shown")}
    kept = b.exact("register", (), 8, name="shown")
    following = {"spare": b.binary("add", b.exact("register", (), 8, name="spare"), token), "shown": kept}
    ports = ((PortInfo("in", 8, False),), (PortInfo("out", 8, False),))
    before = ElementIr("e", *ports, hidden, {"m": Memory("m", 5, 6)}, replace(handler, next=following, writes=()), (), SPAN)
    after = PASSES["dead"](before)
    assert not (after.handler.needs or after.handler.puts or after.handler.next) and set(after.registers) == {"shown"}


def test_exclusive_writes_share_a_port() -> None:
    text = "uint<32> x = read(in); if (x > 7) t[x & 63] = 1; else if (x > 3) t[(x >> 6) & 63] = x; else t[9] = 5;"
    made = body(text, "uint<32> t[64];")
    assert len(made.handler.writes) == 3 and len(run(made).handler.writes) == 1


def test_makes_real_programs_cheaper() -> None:
    path = next(path for path in PROGRAMS if path.stem == "arithmetic")
    for _, made, _ in lowered(path):
        assert cost(run(made)) < cost(made) * 0.8


MACHINE = """
enum phase_t : uint<8> { IDLE = 3, OPEN = 40, DATA = 41, CLOSED = 200 }
.element Machine (uint<16> in -> uint<8> out) {
    .state { phase_t phase = IDLE; uint<3> flags; uint<32> total; uint<8> level; }
    .handler {
        uint<16> x = read(in);
        switch (phase) {
            case IDLE: if (x * x > 1000 && flags == 0) phase = OPEN; break;
            case OPEN: if (x & 1) phase = DATA; else if (x % 7 == 3) phase = CLOSED; break;
            case DATA: if (x == 9) phase = CLOSED; break;
            default: phase = IDLE;
        }
        flags = (flags ^ x) + (flags == 5 ? 1 : x) * 3;
        uint<32> step = level > 9 ? x : 3;
        if (x != 17) total += step;
        level = (level > 9 ? level - 5 : level + 1) + (x & 1);
        write(out, phase);
    }
}
"""


def test_shortens_recurrences_and_changes_nothing() -> None:
    element = elements(MACHINE)["Machine"]
    made, layout = lower_states(element)
    before = run(made)
    after = verify(recurrences.run(before))
    anything = verify(recurrences.run(before, frozenset({"flags", "total", "level"})))
    assert not differences(before, before.handler, anything.handler), "of `phase` only values that it can have are looked at"
    for seed in range(1, 9):
        agrees(element, after, layout, seed)
    lengths = {name: (length(before, name), length(after, name)) for name in after.registers}
    assert lengths["phase"] == (4, 2) and lengths["flags"] == (4, 3), lengths
    assert all(shorter <= longer for longer, shorter in lengths.values()), lengths


def test_a_state_machine_takes_a_token_a_cycle() -> None:
    element = elements(MACHINE)["Machine"]
    clock = 4.2  # ns: too short for the state's way as it is written
    compiled = compile_element(element, clock)
    assert schedule(merge(run(compiled.ir)), delays("ecp5"), clock).interval == 2
    assert compiled.plan.interval == 1


def length(element: ElementIr, name: str) -> int:
    new = element.handler.next[name]
    state = next(node for node in order([new]) if node.op == "register" and node.name == name)
    return recurrences.distance(state, new)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_shorter_recurrences_agree_with_the_interpreter(path: Path) -> None:
    for element, made, layout in lowered(path):
        changed = verify(recurrences.run(run(made)))
        for seed in range(1, 5):
            agrees(element, changed, layout, seed)


def test_a_sum_of_many_terms_adds_to_the_state_once() -> None:
    text = """.element Sum (packet in -> uint<32> out) {
        .state { uint<32> sum; uint<32> odd; }
        .handler {
            flit x = read(in);
            ushort *p = (ushort *) &x.fd.data;
            for (uint i = 0; i < 32; i++) { sum += p[i]; if (p[i] & 1) odd += i; }
            write(out, sum ^ odd);
        }
    }"""
    element = elements(text)["Sum"]
    made, layout = lower_states(element)
    after = run(made)
    agrees(element, after, layout, 3)
    assert length(made, "sum") == 32
    for name in ("sum", "odd"):
        assert length(after, name) == 1
    assert compile_element(element).plan.interval == 1


def test_a_write_does_not_ask_whether_it_is_needed() -> None:
    text = "uint<32> x = read(in); if (t[x & 63] != x) { t[x & 63] = x; write(out, 1); } if (last != x) last = x;"
    made, after = (change(body(text, "uint<32> t[64]; uint<32> last;")) for change in (lambda element: element, run))
    assert made.handler.writes[0].enable.op == "not" and after.handler.writes[0].enable.op == "const"
    assert after.handler.next["last"].op == "head"
    assert not differences(made, made.handler, after.handler)
