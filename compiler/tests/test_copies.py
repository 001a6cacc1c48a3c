# SPDX-License-Identifier: Apache-2.0
"""Registers that reach very many gates have copies, and what is read for a long update comes out of a register; neither changes
what an element does."""

from __future__ import annotations

import re

from compiler.backends.sv_copies import LOADS
from compiler.compile import compile_element
from compiler.fuzz import driver
from compiler.fuzz.targets import TARGETS
from compiler.tests.differential import elements

QUEUE = """struct request_t { uint low; uint high; uint<33> value; }
.element Queue (request_t in -> uint<33> out) {
    .state { uint<33> items[12]; }
    .handler {
        request_t r = read(in);
        bool pop = r.low * 5 + 7 < r.high;  // a stage of its own
        if (pop) write(out, items[0]);
        .repeat (n, 0, 11) { items[n] = pop ? items[n + 1] : items[n] ^ r.value; }
        items[11] = r.value;
    }
}
"""
SUMS = """.element Sums (uint<20> in -> uint<64> out) {
    .state { ulong sums[16]; }
    .handler {
        uint<20> x = read(in);
        sums[(uint<4>) x] += x >> 4;
        write(out, sums[(uint<4>) x]);
    }
}
"""


def agrees(text: str, name: str) -> None:
    report = driver.check([driver.Case(name, text, 5)], TARGETS, keep=False)
    assert report.failures == [] and report.compared == dict.fromkeys(TARGETS, 1), report.refused


def test_a_bit_of_many_choices_has_copies() -> None:
    compiled = compile_element(elements(QUEUE)["Queue"], 4.5)
    copies = re.findall(r"u_(v_\w+_copy\d+) \(", compiled.text)
    assert len(copies) >= 11 * 33 // LOADS - 2, "a pop is a choice of 33 bits for each place"
    for name in copies:
        assert len(re.findall(rf"\b{name}\b", compiled.text)) > 2, f"{name} is of no use"
    agrees(QUEUE, "queue")


def test_a_long_update_has_a_register_behind_its_memory() -> None:
    slow, fast = (compile_element(elements(SUMS)["Sums"], clock).plan for clock in (8.0, 5.0))
    assert (slow.interval, slow.pipeline.registered) == (1, frozenset())
    assert (fast.interval, fast.pipeline.registered) == (1, frozenset({"sums"}))
    assert fast.pipeline.lags == {}, "no update is composed"
    agrees(SUMS, "sums")


def test_memories_of_many_blocks_have_registers_on_the_way() -> None:
    text = SUMS.replace("sums[16]", "sums[65536]").replace("(uint<4>) x", "x >> 4").replace("+= x >> 4", "+= x")
    plan = compile_element(elements(text)["Sums"]).plan
    reading = text.replace("sums[x >> 4] += x;", "").replace("write(out, sums", "if (x == 0) sums[5] = 1; write(out, sums")
    far = compile_element(elements(reading)["Sums"])
    assert plan.pipeline.far | plan.pipeline.registered == {"sums"} and far.plan.pipeline.far == {"sums"}
    assert ".Register(2)" in far.text
