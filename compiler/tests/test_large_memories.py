# SPDX-License-Identifier: Apache-2.0
"""Memories of many block RAMs: each part of a word has a copy of its address, and what is read comes a stage later."""

import random

from compiler.compile import compile_element
from compiler.frontend.program import load_text
from compiler.frontend.source import Diagnostics
from compiler.fuzz.compare import disagreement
from compiler.targets import rtl, rtl_outcome

TEXT = """
struct sum_t { uint<40> total; uint<24> count; }
struct ask_t { uint<13> index; uint<8> more; bool first; }
.element Large (ask_t in -> uint<40> out) {
    .state {
        sum_t sums[8192];
        uint<13> next[8192];
        uint<64> shown[4096];
    }
    .handler {
        ask_t ask = read(in);
        uint<13> index = ask.first ? 0 : ask.index & 0x1007;
        uint<13> found = next[index];
        next[index] = found + ask.more & 3;
        sums[found].total += ask.more;
        sums[found].count += 1;
        shown[index >> 1] = shown[index >> 1] + sums[found].count;
        write(out, sums[found].total);
    }
}
"""


def test_rtl_agrees_with_the_interpreter() -> None:
    program = load_text(TEXT, "large.sl", Diagnostics())
    assert program is not None
    (element,) = program.elements
    compiled = compile_element(element)
    assert compiled.plan.interval == 1
    assert {name: compiled.plan.pipeline.copies(name) for name in compiled.ir.memories} == {
        "sums_total": 2, "sums_count": 2, "next": 1, "shown": 2,
    }  # fmt: skip
    choose = random.Random(5)
    built = rtl.build(rtl_outcome.plans({"Large": compiled}))
    for seed, pauses in ((1, (0, 0)), (2, (60, 120))):
        given = {"in": [choose.getrandbits(22) for _ in range(300)]}
        run = rtl.run(built, {"Large": given}, seed=seed, pauses=pauses)["Large"]
        assert disagreement(element, given, rtl_outcome.outcome(run, compiled.ir, compiled.layout)) == ""
