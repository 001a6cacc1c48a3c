# SPDX-License-Identifier: Apache-2.0
"""Chains of exclusive ors become trees that compute the same; what is not linear stays as it is."""

from __future__ import annotations

import random
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.compile import compile_element
from compiler.ir import execute
from compiler.ir.ir import ElementIr, Node
from compiler.ir.lower import lower_states
from compiler.ir.rewrite import order, roots, shape
from compiler.passes import linear, optimize
from compiler.tests.differential import agrees, elements

CRC = """
.element Crc (uint<64> in -> uint<32> out) {
    .state { uint<32> crc = 0xffffffff; }
    .handler {
        uint<64> x = read(in);
        uint<32> c = crc;
        .repeat (n, 0, 64) {
            bool low = (bool) ((c ^ (x >> n)) & 1);
            c = c >> 1;
            if (low) c ^= 0xedb88320;
        }
        crc = c;
        write(out, ~c);
    }
    .signal uint<32> get() { return crc; }
}
"""
LINEAR = {
    "Crc": CRC,
    "Scrambler": """
.element Scrambler (uint<64> in -> uint<64> out) {
    .state { uint<58> s = 0x2ff; }
    .handler {
        uint<64> x = read(in);
        uint<64> y = 0;
        .repeat (n, 0, 64) { y[n:n] = x[n:n] ^ s[57:57] ^ s[38:38]; s = (s << 1) | y[n:n]; }
        write(out, y);
    }
}
""",
    "Masked": """
.element Masked (int<16> in -> uint<24> out) {
    .handler {
        int<16> x = read(in);
        int<24> y = x;
        .repeat (n, 0, 9) { y = y ^ ((y << 3) & 0x5a5a5a) ^ (y & 1 ? ~(y >> 2) & 0xffff : (~(y >> 2) & 0xffff) ^ 0x1021); }
        write(out, y);
    }
}
""",
}
PRODUCT = """
.element Product (uint<32> in -> uint<32> out) {
    .state { uint<32> key = 0x8d3f1c27; uint<32> hash = 5; }
    .handler {
        uint<32> factor = read(in) ^ hash;
        uint<32> v = key;
        uint<32> z = 0;
        .repeat (i, 0, 32) {
            if (factor[i:i]) z ^= v;
            bool low = v[31:31];
            v = v << 1;
            if (low) v ^= 0x8d;
        }
        hash = z;
        write(out, z);
    }
    .signal uint<32> set_key(uint<32> to) { uint<32> old = key; key = to; return old; }
}
"""
BENT = """
.element Bent (uint<32> in -> uint<32> out) {
    .handler {
        uint<32> x = read(in);
        .repeat (n, 0, 12) { x = (x >> 1) ^ (x & 1 ? x << 7 : 0x1234); }
        write(out, x);
    }
}
"""


def depth(element: ElementIr) -> int:
    """Operators behind one another that are no wires."""
    reach: dict[Node, int] = {}
    for node in order(roots(element.handler)):
        own = node.op not in ("concat", "extract", "zext", "sext", "const")
        reach[node] = own + max((reach[arg] for arg in node.args), default=0)
    return max(reach.values())


@pytest.mark.parametrize("name", LINEAR)
def test_computes_the_same_in_fewer_steps(name: str) -> None:
    (element,) = elements(LINEAR[name]).values()
    before, layout = lower_states(element)
    after = linear.run(before)
    assert depth(after) <= 14 < depth(before) // 2
    assert sum(agrees(element, after, layout, seed).iterations for seed in range(1, 9)) > 30


def test_a_crc_takes_a_word_every_cycle() -> None:
    (element,) = elements(CRC).values()
    made = compile_element(element).plan
    assert made.interval == 1
    data = random.Random(1).randbytes(800)
    words = [int.from_bytes(data[at : at + 8], "little") for at in range(0, 800, 8)]
    found = execute.run_element(made.pipeline.element, {"in": words}).outputs["out"]
    assert found == [zlib.crc32(data[: at + 8]) for at in range(0, 800, 8)]


def test_a_product_over_gf2_takes_a_word_every_cycle() -> None:
    """Its terms need the state to know whether they count, and the chain of the other factor does not."""
    (element,) = elements(PRODUCT).values()
    before, layout = lower_states(element)
    after = optimize.run(before)
    assert depth(after) <= 16 < depth(before) // 3
    assert sum(agrees(element, after, layout, seed).iterations for seed in range(1, 9)) > 30
    assert compile_element(element, 1000 / 220).plan.interval == 1


def test_many_terms_of_a_state_stay_a_tree() -> None:
    """Where sums are put in order, so that the state comes last, all bits of the state are equally late."""
    (element,) = elements(CRC).values()
    assert depth(compile_element(element, 1000 / 280).plan.pipeline.element) <= 14
    assert compile_element(element, 1000 / 280).plan.interval == 1


@pytest.mark.parametrize("text", [BENT, CRC.replace("c = c >> 1;", "c = c >> (x & 1);"), CRC.replace("0, 64", "0, 3")])
def test_what_is_not_linear_or_not_long_stays(text: str) -> None:
    (element,) = elements(text).values()
    before, layout = lower_states(element)
    after = linear.run(before)
    assert shape(after) == shape(before) or agrees(element, after, layout, 1).iterations > 2
    if "0, 3" in text or "Bent" in text:
        assert shape(after) == shape(before)


STEPS = (
    "x = x ^ {k};",
    "x = (x << {n}) ^ x;",
    "x = (x >> {n}) ^ y;",
    "x = ~x;",
    "x = x & {k};",
    "if (x[{n}:{n}]) x ^= {k};",
    "if (y > {k}) x = x ^ {k}; else x = x ^ (x << {n});",
    "y = x[{n}:{n}] ? y ^ {k} : y;",
    "x = x * 3;",
    "y = (uint<20>) (int<20>) (int<7>) x ^ y;",
)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_chain(data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.sampled_from(STEPS), min_size=6, max_size=24))
    lines = [step.format(k=data.draw(st.integers(0, (1 << 20) - 1)), n=data.draw(st.integers(0, 19))) for step in chosen]
    text = (
        ".element Any (uint<20> in -> uint<20> out) { .state { uint<20> y = 77; } .handler { uint<20> x = read(in); "
        + " ".join(lines)
        + " write(out, x ^ y); } }"
    )
    (element,) = elements(text).values()
    before, layout = lower_states(element)
    agrees(element, linear.run(before), layout, 1)
