# SPDX-License-Identifier: Apache-2.0
"""Flow state against a model in Python: sets, ways, time-out, what is evicted."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from compiler import report
from compiler.compile import HardwareError, compile_element
from compiler.frontend import typed
from compiler.frontend.program import load_text
from compiler.frontend.source import Diagnostics
from compiler.frontend.verify import verify
from compiler.interpreter.choices import Decide
from compiler.interpreter.element import run_element
from compiler.ir import execute
from compiler.ir.prove import differences
from compiler.ir.rewrite import rewrite_transition, same, shape
from compiler.ir.text import parse, show
from compiler.schedule.schedule import Schedule
from compiler.targets import rtl
from models.flow_place import FlowPlace

MASK = (1 << 32) - 1


def set_of(key: int) -> int:
    """The hash of `compiler/frontend/flows.py`, over the key's 32-bit words from the lowest."""
    value = 0
    for word in (key & MASK, key >> 32 & MASK):
        value ^= word
        value ^= value >> 16
        value = value + (value << 7) & MASK
        value ^= value >> 6
    value = value + (value << 3) & MASK
    return value ^ value >> 11


@pytest.mark.parametrize("shift", [0, 4, 12, 24, 32, 36], ids=lambda shift: f"bits_{shift}")
def test_keys_that_count_fill_sets_as_evenly_as_random_ones(shift):
    sets, each = 256, 16
    counts = Counter(set_of(n << shift | 0x0A00_0001 & (1 << shift) - 1) % sets for n in range(sets * each))
    spread = sum((counts[number] - each) ** 2 / each for number in range(sets)) / sets
    assert spread < 1.5, "1 for random keys, 16 for a set that takes all of 16"


class Model:
    """What a flow keeps: its place, by the model of the part that hardware has, and a value there."""

    def __init__(self, sets: int, ways: int, timeout: int, evict: bool) -> None:
        self.places = FlowPlace(sets, ways, lambda key: set_of(key) % sets, timeout, evict)
        self.values: dict[tuple[int, int], int] = {}

    def find(self, key: int, time: int) -> int | None:
        at = self.places.find_or_insert(key, time & MASK, False)
        return self.values[at.set, at.way] if at.found else None

    def insert(self, key: int, value: int, time: int) -> bool:
        at = self.places.find_or_insert(key, time & MASK, True)
        if at.found or at.new:
            self.values[at.set, at.way] = value
        return at.found or at.new

    def remove(self, key: int, time: int) -> bool:
        return self.places.find_or_insert(key, time & MASK, False, forget=True).found


def element(options: str, start: int) -> str:
    return f"""
    struct key_pair {{ uint<32> a; uint<16> b; }}
    struct ask_t {{ key_pair key; uchar what; uchar later; }}
    struct answer_t {{ uint<16> count; bool done; }}
    .element Flows (ask_t in -> answer_t out) {{
        flow<key_pair, uint<16>> conn[16] ({options});
        .state {{ ulong time = {start}; }}
        .handler {{
            ask_t ask = read(in);
            answer_t answer;
            uint<16> count;
            time += ask.later;
            answer.done = conn.find(ask.key, count, time);
            answer.count = count;
            if (ask.what < 6) answer.done = conn.insert(ask.key, count + 1, time);
            if (ask.what == 7) answer.done = conn.remove(ask.key, time);
            write(out, answer);
        }}
    }}"""


@pytest.mark.parametrize(
    ("ways", "timeout", "evict"), [(4, 0, True), (2, 9, True), (4, 25, False), (1, 0, False), (8, 0, True), (3, 40, True)]
)
def test_does_what_the_model_does(ways, timeout, evict):
    start, sets = MASK - 300, 4 if ways == 3 else 16 // ways
    options = f"ways = {ways}, timeout = {timeout}, evict = {str(evict).lower()}"
    diagnostics = Diagnostics()
    program = load_text(element(options, start).replace("conn[16]", f"conn[{sets * ways}]"), "test.sl", diagnostics)
    assert program is not None, "".join(error.render() for error in diagnostics.sorted())
    verify(program)
    rng, model = random.Random(ways), Model(sets, ways, timeout, evict)
    asks = [
        (rng.choice([3, 77, 1 << 31]) << 16 | rng.randrange(6), rng.randrange(8), rng.choice([0, 1, 1, 1, 2, 30]))
        for _ in range(600)
    ]
    expected, time = [], start
    for key, what, later in asks:
        time += later
        count = model.find(key, time)
        done = count is not None
        if what < 6:
            done = model.insert(key, (count or 0) + 1, time)
        if what == 7:
            done = model.remove(key, time)
        expected.append((count or 0) << 1 | done)
    given = [key << 16 | what << 8 | later for key, what, later in asks]
    assert run_element(program.elements[0], {"in": given}, Decide()).outputs["out"] == expected
    assert time > MASK and len(set(expected)) >= 4


@pytest.mark.parametrize(
    ("flow", "code"),
    [
        ("flow<uint, uint> c[12];", "E0317"),
        ("flow<uint, uint> c[64] (ways = 16);", "E0317"),
        ("flow<uint, uint> c[64] (timeout = 0x100000000);", "E0317"),
        ("flow<uint, uint> c[64] (timeout = 5); bool f() { return c.remove(1); }", "E0410"),
        ("flow<uint, uint> c[64] (size = 3);", "E0507"),
        ("flow<uint, uint> c[64]; uint f() { return c.count(1); }", "E0404"),
        ("flow<uint, uint> c[64]; bool f() { uint v; return true && c.find(1, v); }", "E0414"),
        ("flow<uint, uint> c[64]; bool f() { return c.insert(1); }", "E0410"),
        ("flow<uint, uint> c[64]; bool f() { ushort v; return c.find(1, v); }", "E0405"),
    ],
)
def test_what_is_wrong_is_refused(flow, code):
    diagnostics = Diagnostics()
    load_text(f".element E (packet in -> packet out) {{ {flow} .handler {{ write(out, read(in)); }} }}", "test.sl", diagnostics)
    assert [error.code for error in diagnostics.sorted()] == [code]


# What an iteration asks about one key becomes one question (`compiler/passes/placing.py`).

BODIES = {
    "counts": "v += 1; r.done = conn.insert(ask.key, v, time);",
    "inserts_once": "if (!r.hit) r.done = conn.insert(ask.key, 7, time);",
    "inserts_some": "if (r.hit || ask.what == 1) { v += 1; r.done = conn.insert(ask.key, v, time); }",
    "has_a_limit": "if (v < 3) { v += 1; r.done = conn.insert(ask.key, v, time); }",
    "removes": "if (ask.what == 3) r.done = conn.remove(ask.key, time); else r.done = conn.insert(ask.key, v + 1, time);",
    "removes_it": "if (ask.what == 1) conn.insert(ask.key, 5, time); else if (r.hit && ask.what > 2) conn.remove(ask.key, time);",
}
SEVERAL = {
    "finds_another": ("uint<16> w; r.done = conn.find(ask.other, w, time); v += w; conn.insert(ask.key, v, time);", 3),
    "removes_by_value": ("if (v == 2) r.done = conn.remove(ask.key, time); else conn.insert(ask.key, v + 1, time);", 3),
    "inserts_or_removes": (
        "if (!r.hit) conn.insert(ask.key, 1, time); else if (ask.what > 1) r.done = conn.remove(ask.key, time);",
        2,
    ),
    "finds_behind": ("r.done = conn.insert(ask.key, 3, time); uint<16> w; conn.find(ask.key, w, time); v += w;", 2),
}


def asking(body: str, options: str) -> typed.Element:
    text = f"""
    struct ask_t {{ uint<6> key; uint<6> other; uint<4> what; uint<8> later; }}
    struct answer_t {{ bool hit; bool done; uint<16> v; }}
    .element Flows (ask_t in -> answer_t out) {{
        flow<uint<6>, uint<16>> conn[16] ({options});
        .state {{ uint time = 0xfffff000; }}
        .handler {{
            ask_t ask = read(in);
            time += ask.later;
            answer_t r;
            uint<16> v;
            r.hit = conn.find(ask.key, v, time);
            {body}
            r.v = v;
            write(out, r);
        }}
    }}"""
    diagnostics = Diagnostics()
    program = load_text(text, "test.sl", diagnostics)
    assert program is not None, "".join(error.render() for error in diagnostics.sorted())
    return program.elements[0]


def asks(seed: int, count: int) -> list[int]:
    """Few keys, times that stand still, pass, and jump beyond any timeout."""
    rng = random.Random(seed)
    return [
        rng.randrange(24) << 18 | rng.randrange(24) << 12 | rng.randrange(4) << 8 | rng.choice([0] * 20 + [1, 1, 3, 7, 60])
        for _ in range(count)
    ]


@pytest.mark.parametrize(
    "options", ["ways = 1", "ways = 2, timeout = 7", "ways = 4, timeout = 9, evict = false", "ways = 8, timeout = 3"]
)
@pytest.mark.parametrize(
    ("body", "questions"), [(body, 1) for body in BODIES.values()] + [*SEVERAL.values()], ids=[*BODIES, *SEVERAL]
)
def test_one_question_says_what_all_of_them_said(body, questions, options):
    element = asking(body, options)
    compiled = compile_element(element)
    assert len(compiled.plan.pipeline.places[0]) == questions
    assert compiled.plan.interval == 1 or questions > 1
    given = {"in": asks(1, 700)}
    expected = run_element(element, given, Decide()).outputs["out"]
    for made in (compiled.ir, compiled.plan.pipeline.element):
        assert execute.run_element(made, given).outputs["out"] == expected
    assert len(set(expected)) > 1


def test_questions_of_several_iterations_do_not_mix_in_hardware():
    compiled = [
        (asking(body, options), body)
        for options in ("ways = 2, timeout = 7", "ways = 8, timeout = 9, evict = false")
        for body in (BODIES["counts"], BODIES["removes"], SEVERAL["finds_another"][0], SEVERAL["removes_by_value"][0])
    ]
    plans = {f"e{n}": replace_name(compile_element(element).plan, n) for n, (element, _) in enumerate(compiled)}
    built = rtl.build(plans)
    given = {"in": asks(2, 1500)}
    expected = {
        name: run_element(element, given, Decide()).outputs["out"] for name, (element, _) in zip(plans, compiled, strict=True)
    }
    for seed, pauses in enumerate(((0, 0), (90, 0), (0, 150)), 1):
        runs = rtl.run(built, dict.fromkeys(plans, given), seed=seed, pauses=pauses)
        for name, (_, body) in zip(plans, compiled, strict=True):
            assert runs[name].outputs["out"] == expected[name], body


def replace_name(plan: Schedule, number: int) -> Schedule:
    pipeline = replace(plan.pipeline, element=replace(plan.pipeline.element, name=f"Flows{number}"))
    return replace(plan, pipeline=pipeline)


def test_the_text_of_the_ir_says_what_it_asks():
    made = compile_element(asking(SEVERAL["finds_another"][0], "ways = 2, timeout = 7")).ir
    again = parse(show(made))
    assert shape(again) == shape(made)
    assert again.flows == made.flows and len(again.handler.places) == 3


def test_the_report_says_what_is_asked_and_how_to_ask_less():
    found = report.element(compile_element(asking(SEVERAL["removes_by_value"][0], "ways = 2, timeout = 7")))
    told = report.text(found)
    assert "conn: 16 flows in 2 ways, keys of 6 bits, in block RAM; timeout 7, a full set evicts; 3 questions per iteration" in told
    assert found["ii"] > 3 and "slowed by conn:" in told and "try: ask about one key in an iteration" in told
    one = report.element(compile_element(asking(BODIES["counts"], "ways = 4, evict = false")))
    assert one["limits"] == [] and "a full set refuses; 1 question per iteration, answered in 12 stages" in report.text(one)


def test_init_cannot_ask_a_flow_table():
    text = """
    .element E (uint in -> uint out) {
        flow<uint, uint> conn[16];
        .init { conn.insert(1, 2); }
        .handler { uint v; conn.find(read(in), v); write(out, v); }
    }"""
    program = load_text(text, "test.sl", Diagnostics())
    assert program is not None
    with pytest.raises(HardwareError, match="is empty when a program begins"):
        compile_element(program.elements[0])


def test_the_proof_of_a_pass_sees_a_question_that_changed():
    made = compile_element(asking(BODIES["counts"], "ways = 2")).ir

    def never_inserts(b, node, args):
        return same(b, node, [*args[:1], b.const(0, 1), *args[2:]] if node.op == "place" else args)

    assert differences(made, made.handler, rewrite_transition(made.handler, same)) == []
    found = differences(made, made.handler, rewrite_transition(made.handler, never_inserts))
    assert any(line.startswith("question 1:") for line in found)
