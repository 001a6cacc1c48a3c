# SPDX-License-Identifier: Apache-2.0
"""LpmRules and ExactRules find what their rules say; their native bodies do so too, and go on while rules change."""

import random

import pytest

from compiler.compile import Compiled, compile_element
from compiler.fuzz.compare import disagreement
from compiler.interpreter.choices import SignalCall
from compiler.native import has_native
from compiler.targets import rtl, rtl_outcome
from compiler.tests.differential import elements
from compiler.tests.test_native import built
from compiler.tests.test_tables import calls
from elements.harness import Bench

SMALL = """
LpmRules<K = 8, V = 12, Entries = 7> :: l @  Idle -> l  l -> Drop<uint<13>>
ExactRules<K = 5, V = 1, Entries = 9> :: e @  Idle -> e  e -> Drop<uint<2>>
"""
UPDATES, TOKENS = 70, 4000


def test_finds_the_longest_prefix() -> None:
    bench = Bench("LpmRules", "LpmRules :: l @  Idle -> l  l -> Drop<uint<33>>")
    routes = [(0x0A000000, 8, 1), (0x0A010000, 16, 2), (0, 0, 3), (0x0A010203, 32, 4), (0x0B000000, 8, 5)]
    inserts = [SignalCall("rules_insert", route) for route in routes]
    keys = [0x0A000001, 0x0A010001, 0x0A010203, 0x0C000000, 0x0B123456]
    found = bench.run({"in": keys}, [*inserts, SignalCall("rules_remove", (0x0B000000, 8))])
    assert found.answers == [0] * 6
    assert found.outputs["out"] == [1 << 32 | value for value in (1, 2, 4, 3, 3)]


def test_finds_exact_keys() -> None:
    bench = Bench("ExactRules", "ExactRules :: e @  Idle -> e  e -> Drop<uint<33>>")
    wide = 1 << 103 | 5
    inserts = [SignalCall("rules_insert", (key, value)) for key, value in ((5, 1), (wide, 2), (5, 3))]
    found = bench.run({"in": [5, wide, 4]}, [*inserts, SignalCall("rules_remove", (4,))])
    assert found.answers == [0, 0, 0, 2]
    assert found.outputs["out"] == [1 << 32 | 3, 1 << 32 | 2, 0]


@pytest.fixture(scope="module")
def native() -> tuple[dict[str, Compiled], rtl.Built]:
    compiled = {name: compile_element(element) for name, element in elements(SMALL).items() if element.tables}
    assert len(compiled) == 2 and all(map(has_native, compiled.values()))
    return compiled, built(compiled)


@pytest.mark.parametrize("seed", range(4))
def test_native_bodies_agree_with_the_interpreter(native: tuple[dict[str, Compiled], rtl.Built], seed: int) -> None:
    compiled, simulator = native
    choose = random.Random(seed)
    given = {name: calls(one.element, choose, UPDATES) for name, one in compiled.items()}
    tokens = {name: {"in": [choose.getrandbits(one.ir.inputs[0].width) for _ in range(TOKENS)]} for name, one in compiled.items()}
    outcomes = rtl_outcome.run_built(simulator, compiled, tokens, seed, given)
    for name, one in compiled.items():
        found = outcomes[name]
        assert disagreement(one.element, tokens[name], found, calls=UPDATES, has_state=False) == ""
        assert sum(token > 0 for token in found.outputs["out"]) > TOKENS // 8
        at = [entry["iteration"] for entry in found.log if entry["kind"] != "handler"]
        assert max(at) - min(at) > UPDATES, "keys come between updates"
    if seed == 0:  # no pauses: an update costs a cycle
        runs = rtl.run(
            simulator,
            tokens,
            {name: [rtl_outcome.signal_of(one.ir, c) for c in given[name]] for name, one in compiled.items()},
            1,
            (0, 0),
        )
        for name, run in runs.items():
            start = compiled[name].ir.tables["rules"].entries + 64  # the sweep
            assert run.last_cycle <= start + TOKENS + UPDATES, name
