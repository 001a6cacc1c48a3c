# SPDX-License-Identifier: Apache-2.0
"""Parsers: what the expanded states of compiler/tests/figures/parser.sl find in packets, and what is refused."""

import random
import struct

import pytest

from compiler.frontend import typed
from compiler.frontend.program import load, load_text
from compiler.frontend.source import Diagnostics
from compiler.frontend.verify import verify
from compiler.interpreter.guard import fields_of
from compiler.interpreter.packets import Packet, to_flits
from compiler.interpreter.program import run_program
from toolchain import ROOT

WINDOW = 64


def packet(rng: random.Random) -> bytes:
    """Ethernet, tags, IPv4 with options, two ports; now and then something else in one of the fields."""
    types = [*(0x8100 for _ in range(rng.choice([0, 0, 1, 2, 6, 12]))), rng.choice([0x0800] * 5 + [0x86DD])]
    if len(types) > 1 and rng.random() < 0.3:
        types[0] = 0x88A8
    data = rng.randbytes(12) + b"".join(
        struct.pack(">H", kind) + (rng.randbytes(2) if kind != types[-1] else b"") for kind in types
    )
    words = rng.choice([5, 5, 6, 7, 8])
    ip = bytes([0x40 | words]) + rng.randbytes(8) + bytes([rng.choice([6, 17, 17, 1])]) + rng.randbytes(4 * words - 10)
    return (data + ip + rng.randbytes(80))[: rng.randint(70, 200)]


def ports(data: bytes) -> int:
    """What the parser should find: source and destination port, 0 where it finds none in the window."""
    window, at = data[:WINDOW], 14
    kind = int.from_bytes(window[12:14], "big")
    tags = 0
    while kind == 0x8100 or (kind == 0x88A8 and tags == 0):
        if at + 4 > WINDOW:
            return 0
        kind, at, tags = int.from_bytes(window[at + 2 : at + 4], "big"), at + 4, tags + 1
    if kind != 0x0800 or at + 20 > WINDOW or window[at + 9] not in (6, 17):
        return 0
    words = window[at] & 15
    at += 4 * words
    if words not in (5, 6, 7) or at + 8 > WINDOW:
        return 0
    return int.from_bytes(window[at : at + 4], "big")


@pytest.fixture(scope="module")
def parser() -> typed.Program:
    diagnostics = Diagnostics()
    found = load(ROOT / "compiler" / "tests" / "figures" / "parser.sl", diagnostics)
    assert found is not None, "".join(error.render() for error in diagnostics.sorted())
    verify(found)
    return found


def test_every_path_finds_the_ports(parser):
    flit = parser.elements[0].inputs[0].type
    meta_low = fields_of(flit)["meta"][0]
    assert isinstance(flit, typed.Struct)
    low, bits = fields_of(next(f for f in flit.fields if f.name == "meta").type)["mark"]
    rng = random.Random(5)
    packets = [packet(rng) for _ in range(300)]
    tokens = [token for data in packets for token in to_flits(flit, Packet(data), 0)]
    sent = run_program(parser, {0: tokens}).lanes[0]
    sop = fields_of(flit)["sop"][0]
    marks = [token >> meta_low + low & (1 << bits) - 1 for token in sent if token >> sop & 1]
    assert marks == [ports(data) for data in packets]
    assert 50 < sum(mark != 0 for mark in marks) < 250


def codes(states: str, window: str = "(x.data)") -> list[str]:
    diagnostics = Diagnostics()
    body = f"flit x = read(in); .state_machine {window} {{ {states} }} write(out, x);"
    load_text(f".element E (packet in -> packet out) {{ .handler {{ {body} }} }}", "test.sl", diagnostics)
    return [error.code for error in diagnostics.sorted()]


@pytest.mark.parametrize(
    "states",
    [
        "a: { goto_state b; }",  # no such state
        "a: { goto_state a; }",  # comes back at one offset
        "a: { for (uint i = 0; i < 2; i++) { goto_state b; } } b: { }",
        "a: { if (x.sop) take(vlan_t); uint n = offset(); }",  # where are we?
        "a: { goto_state b; x.sop = 1; } b: { }",
        "a: { .state_machine { b: { } } }",
        "a: { if (x.sop) { take(uchar); goto_state a; } if (x.eop) { take(uchar); goto_state a; } }",  # 2**64 paths
        "",
    ],
)
def test_what_is_no_parser_is_refused(states):
    assert "E0508" in codes(states)


def test_what_belongs_into_a_parser_is_refused_outside():
    diagnostics = Diagnostics()
    body = "take(vlan_t); skip(2); write(out, read(in)); goto_state a;"
    load_text(f".element E (packet in -> packet out) {{ .handler {{ {body} }} }}", "test.sl", diagnostics)
    assert [error.code for error in diagnostics.sorted()] == ["E0508"] * 3


def test_a_machine_without_a_window_has_no_headers():
    assert codes("a: { if (x.sop) goto_state b; } b: { x.eop = 1; }", "") == []
    assert codes("a: { take(vlan_t); }", "") == ["E0508"]
