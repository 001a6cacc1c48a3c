# SPDX-License-Identifier: Apache-2.0
"""What lowering makes computes what the interpreter computes, on programs here and of the library; what is too large it refuses."""

from functools import cache
from pathlib import Path

import pytest

from compiler.ir.ir import ElementIr
from compiler.ir.lower import lower, lower_states
from compiler.ir.memories import LowerError
from compiler.ir.states import Layout
from compiler.ir.text import parse, show
from compiler.tests import trees
from compiler.tests.differential import agrees, elements
from toolchain import ROOT

FOLDERS = ("compiler/tests/lower", "compiler/tests/figures", "elements/*")
# Minutes each; small ones are in compiler/compiler/tests/figures/library.sl.
LARGE = ("cuckoohash", "flowcache", "hashtcam", "tcam", "five_tuple")
PROGRAMS = [path for folder in FOLDERS for path in sorted(ROOT.glob(f"{folder}/*.sl")) if path.stem not in LARGE]
SEEDS = range(1, 13)


@cache
def lowered(path: Path) -> list[tuple[object, ElementIr, Layout]]:
    found = elements(path.read_text(), str(path)).values()
    return [(element, *lower_states(element)) for element in found]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_agrees_with_the_interpreter(path: Path) -> None:
    for element, made, layout in lowered(path):
        assert sum(agrees(element, made, layout, seed).iterations for seed in SEEDS) > 50, "too few iterations to mean anything"


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_text_holds_everything(path: Path) -> None:
    for element, made, layout in lowered(path):
        again = parse(show(made))
        without_notes = [line.split("#")[0].rstrip() for line in show(made).splitlines()]
        assert show(again).splitlines() == without_notes
        agrees(element, again, layout, 1)


def body(text: str, state: str = "") -> ElementIr:
    """An element of one 32-bit input and output with this handler."""
    return lower(elements(f".element E (uint<32> in -> uint<32> out) {{ .state {{ {state} }} .handler {{ {text} }} }}")["E"])


def test_passes_whole_packets_without_a_guard() -> None:
    assert lower(trees.count()).outputs[0].guard is None
    broken = elements(".element E (packet in -> packet out) { .handler { flit x = read(in); x.eop = 1; write(out, x); } }")["E"]
    assert lower(broken).outputs[0].guard is not None


def test_scatters_structs_over_memories_and_keeps_constant_indices_in_registers() -> None:
    text = "uint<32> x = read(in); t[x & 63] += 1; r[3] += x; r[40] = x; s[x & 7] = x;"
    made = body(text, "uint<32> t[64]; uint<32> r[64]; uint<8> s[8];")
    assert set(made.memories) == {"t"} and made.memories["t"].entries == 64
    assert {f"r_{i}" for i in range(64)} | {f"s_{i}" for i in range(8)} == set(made.registers)


def test_each_entry_at_a_constant_index_is_a_memory_of_its_own() -> None:
    loop = ".repeat (r, 0, 3) { rows[r][x & 15] += r; } "
    made = body("uint<32> x = read(in); " + loop, "local uint<8> rows[3][16];")
    assert {name: memory.entries for name, memory in made.memories.items()} == {f"rows_{n}": 16 for n in range(3)}
    made = body("uint<32> x = read(in); " + loop + "rows[x & 3][1] = 0;", "local uint<8> rows[3][16];")
    assert {name: memory.entries for name, memory in made.memories.items()} == {"rows": 48}


def test_the_second_of_two_writes_in_one_place_is_the_only_one() -> None:
    made = body("uint<32> x = read(in); t[x] = 1; t[x] += 2; if (x > 5) t[x] = 7;", "uint<32> t[64];")
    assert len(made.handler.writes) == 2


def test_unrolls_loops_of_known_length_without_a_trace() -> None:
    made = body("uint<32> x = read(in); uint<32> s = 0; for (uint i = 0; i < 4; i++) s += i; write(out, s + x);")
    assert not made.handler.assertions and "const 0x6" in show(made)


@pytest.mark.parametrize(
    ("text", "state", "message"),
    [
        ("uint<32> x = read(in); while (x != 0) .unroll(1000) x -= 1;", "", "1000 iterations"),
        ("uint<32> x = read(in); for (uint i = 0; i < 1000; i++) for (uint j = 0; j < 1000; j++) x += j;", "", "statements"),
        ("uint<32> x = read(in); t[x] = 1; u = t;", "uint<32> t[128]; uint<32> u[128];", "128 entries"),
    ],
)
def test_refuses_what_is_too_large_for_hardware(text: str, state: str, message: str) -> None:
    with pytest.raises(LowerError, match=message) as error:
        body(text, state)
    assert error.value.span.start > 0 and error.value.hint
