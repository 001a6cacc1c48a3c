# SPDX-License-Identifier: Apache-2.0
"""Operators that are cut into shorter ones compute what they computed, and fit the clock."""

from __future__ import annotations

import random

import pytest

from compiler.compile import compile_element
from compiler.fuzz import driver
from compiler.fuzz.targets import TARGETS
from compiler.ir.build import Builder
from compiler.ir.ir import Node
from compiler.ir.operators import SHIFTS, function, mask
from compiler.ir.rewrite import order
from compiler.schedule.delays import delays
from compiler.schedule.split import DIGIT, Parts
from compiler.tests.differential import elements

DIVISIONS = ("udiv", "urem", "sdiv", "srem")
OPERATORS = ("add", "sub", "ult", "slt", "eq", "mul", *DIVISIONS, *sorted(SHIFTS))
WIDTHS = (8, 16, 17, 20, 31, 32, 33, 48, 64, 100, 128, 256)
BUDGETS = (1.6, 2.0, 2.5, 3.0, 4.18)  # ns
HASH = """.element Product (uint<32> a, uint<32> b -> uint<64> out, uint<12> ratio, uint<9> rest) {
    .handler {
        uint<32> x = read(a);
        uint<32> y = read(b);
        write(out, (uint<64>) x * y);
        write(ratio, (uint<12>) x / (uint<12>) y);
        write(rest, (uint<9>) x % (uint<9>) y);
    }
}
"""


def evaluated(node: Node, inputs: dict[str, int]) -> int:
    """The value of a node over input tokens."""
    values: dict[Node, int] = {}
    for n in order([node]):
        if n.op == "const":
            values[n] = n.value
        elif n.op == "head":
            values[n] = inputs[n.name]
        else:
            values[n] = function(n.op, n.width, n.low, tuple(arg.width for arg in n.args))(*(values[arg] for arg in n.args))
    return values[node]


def operand(b: Builder, choose: random.Random, name: str, width: int) -> tuple[Node, int]:
    """An input token of so many bits, or a smaller one that is extended; and the bits of the token."""
    form = choose.choice(["exact", "exact", "zext", "sext"])
    bits = width if form == "exact" or width < 4 else choose.randint(1, width - 1)
    head = b.exact("head", (), bits, name=name)
    return (head if bits == width else b.make(form, (head,), width)), bits


def edge(choose: random.Random, bits: int) -> int:
    values = [0, 1, mask(bits), 1 << (bits - 1), choose.getrandbits(bits), choose.getrandbits(max(1, bits // 2))]
    return choose.choice(values) & mask(bits)


@pytest.mark.parametrize("op", OPERATORS)
def test_computes_the_same(op: str) -> None:
    for seed in range(60):
        choose = random.Random(f"{op} {seed}")
        b, table = Builder(), delays(choose.choice(["ecp5", "xcup"]))
        width = min(choose.choice(WIDTHS), 40 if op in DIVISIONS else 256)
        x, x_bits = operand(b, choose, "x", width)
        y, y_bits = operand(b, choose, "y", choose.choice([3, 6, 9, 32]) if op in SHIFTS else width)
        whole = b.binary(op, x, y)
        cut = Parts(table, choose.choice(BUDGETS)).remake(b, whole, whole.args)
        for _ in range(20):
            inputs = {"x": edge(choose, x_bits), "y": edge(choose, y_bits)}
            assert evaluated(cut, inputs) == evaluated(whole, inputs), (seed, width, inputs)


@pytest.mark.parametrize("op", OPERATORS)
def test_parts_fit_the_clock(op: str) -> None:
    b, table, budget = Builder(), delays("ecp5"), 3.0
    whole = b.binary(op, b.exact("head", (), 64, name="x"), b.exact("head", (), 64, name="y"))
    parts = order([Parts(table, budget).remake(b, whole, whole.args)])
    assert max(table.of(node) for node in parts if node.op != "mul") <= budget
    factors = [arg.args[0] if arg.op == "zext" else arg for node in parts if node.op == "mul" for arg in node.args]
    assert all(factor.width <= DIGIT for factor in factors) and bool(factors) == (op == "mul")


def test_a_product_and_a_quotient_take_a_token_a_cycle() -> None:
    plan = compile_element(elements(HASH)["Product"]).plan
    assert plan.interval == 1
    assert 6 <= plan.depth <= 16  # of 12 bits of a quotient and 9 of a remainder, side by side
    report = driver.check([driver.Case("product", HASH, 5)], TARGETS, keep=False)
    assert report.failures == [] and report.compared == dict.fromkeys(TARGETS, 1), report.refused
