# SPDX-License-Identifier: Apache-2.0
"""The C++ of elements against the interpreter: same tokens, states, answers and messages, by the choices that C++ made."""

import random
import subprocess
from functools import cache

import pytest

from compiler.backends import cpp, cpp_build, cpp_run
from compiler.frontend import typed as t
from compiler.frontend.program import load_text
from compiler.frontend.source import Diagnostics
from compiler.fuzz.compare import disagreement
from compiler.interpreter.choices import Decide, SignalCall
from compiler.interpreter.element import Outcome, run_element
from compiler.interpreter.packets import Packet, to_flits
from compiler.tests import trees
from compiler.tests.test_interpreter import PACKET, masked, merge, passes

SEEDS = range(6)
STREAMS = {
    "Count": {"PORT_1": PACKET * 8},
    "Tee": {"in": PACKET},
    "Join": {"a": [2, 3, 5, 4, 1], "b": [10, 20]},
    "Merge": {"a": PACKET * 3, "b": PACKET * 2},
    "Masked": {"PORT_1": [10, 20, 30], "PORT_2": [100]},
    "Passes": {"in": [2, *PACKET, PACKET[0], *PACKET, trees.flit(4, sop=True, empty=1), *PACKET]},
}
SIGNALS = {"Count": [SignalCall("", (0,)), SignalCall("", (1,))]}


@cache
def program() -> t.Program:
    return t.Program((trees.count(), trees.tee(), trees.join(), merge(), masked(), passes()), (), (), 0)


@cache
def outcomes(seed: int) -> dict[str, Outcome]:
    return cpp_run.run(program(), STREAMS, seed, SIGNALS)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("element", program().elements, ids=lambda element: element.name)
def test_agrees_with_the_interpreter(element: t.Element, seed: int) -> None:
    assert disagreement(element, STREAMS[element.name], outcomes(seed)[element.name]) == ""


@pytest.mark.parametrize("element", program().elements, ids=lambda element: element.name)
def test_the_plain_run_makes_the_same_choices(element: t.Element) -> None:
    plain = run_element(element, STREAMS[element.name], Decide(0, SIGNALS.get(element.name, ())))
    assert outcomes(0)[element.name] == plain


def test_seeds_make_other_choices() -> None:
    assert len({str(outcomes(seed)["Merge"].log) for seed in SEEDS}) > 2
    assert len({str(outcomes(seed)["Masked"].outputs) for seed in SEEDS}) > 1
    assert len({str(outcomes(seed)["Count"].answers) for seed in SEEDS}) > 1


def test_a_wrong_outcome_is_told() -> None:
    outcome = outcomes(0)["Join"]
    wrong = Outcome({"out": [2, 14, *outcome.outputs["out"][2:]]}, outcome.state, [], outcome.iterations)
    assert disagreement(trees.join(), STREAMS["Join"], wrong).startswith(
        "output out: 1 tokens differ: token 1: expected 0xd, got 0xe"
    )
    late = Outcome(outcome.outputs, outcome.state, [], outcome.iterations + 1)
    assert "iterations" in disagreement(trees.join(), STREAMS["Join"], late)
    other = Outcome(outcome.outputs, {"tries": 9}, [], outcome.iterations)
    assert "state tries" in disagreement(trees.join(), STREAMS["Join"], other)


def test_names_stay_and_lines_are_told() -> None:
    text = cpp.generate(program())
    assert "state.count = state.count + Uint<64>(1);" in text
    assert "auto &&x = in.PORT_1.take();" in text
    assert "// tree.sl:1" in text


TEXT = """
struct route_t {
    uint<4> port;
    uint<60> mark;
}
.element Route (uint<32> address -> uint<4> port, bool hit) {
    table lpm<uint<32>, route_t> routes[16];
    .state { uint<8> hits[4]; }
    .handler {
        route_t found;
        bool is_hit = routes.lookup(read(address), found);
        if (is_hit) hits[found.port]++;
        write(port, found.port);
        write(hit, is_hit);
    }
}
.element Order (uint<8> in -> uint<32> out) {
    .state { uint<32> seen; }
    uint<32> next(uint<32> by) { seen = seen * 3 + by; return seen; }
    .handler {
        uint<32> a[4];
        uint<8> x = read(in);
        a[(uint<2>) next(x)] = next(1) - next(2) + seen;
        bool both = next(1) > 5 && next(2) > 9 || next(3) == 0;
        print("{} {} {}", next(4), seen, next(5));
        write(out, both ? a[0] + next(6) : random() ^ a[1] ^ a[3]);
    }
}
.element Headers (packet in -> packet out) {
    .handler {
        flit x = read(in);
        if (x.sop) {
            ethernet_t *eth = (ethernet_t *) &x.data;
            ipv4_t *ip = (ipv4_t *) (&x.data + 14);
            ushort *words = (ushort *) &x.data;
            if (eth->ethertype == 0x0800) {
                ip->ttl -= 1;
                words[(uint) ip->protocol] = ip->total_length;
                ip->source = ip->destination;
            }
        }
        write(out, x);
    }
}
"""


@cache
def text_program() -> t.Program:
    diagnostics = Diagnostics()
    found = load_text(TEXT, "text.sl", diagnostics)
    assert found is not None, [error.render() for error in diagnostics.sorted()]
    return found


def packet_tokens() -> list[int]:
    flit = next(element for element in text_program().elements if element.name == "Headers").inputs[0].type
    choose = random.Random(1)
    packets = [bytearray(choose.randbytes(choose.randint(40, 150))) for _ in range(40)]
    for data in packets[::2]:
        data[12:14] = b"\x08\x00"
    return [token for data in packets for token in to_flits(flit, Packet(bytes(data)), 0)]


ROUTES = [
    SignalCall("routes_insert", (key, length, port << 60 | length))
    for key, length, port in [(0x0A000000, 8, 1), (0x0A010000, 16, 2), (0x0A010200, 24, 3)]
]


@pytest.mark.parametrize("name", ["Route", "Order", "Headers"])
def test_programs_from_text_agree(name: str) -> None:
    element = next(element for element in text_program().elements if element.name == name)
    addresses = [0x0A000001, 0x0A010203, 0x0B000000, 0x0A010200, 0xFFFFFFFF]
    streams = {"Route": {"address": addresses}, "Order": {"in": list(range(0, 250, 7))}, "Headers": {"in": packet_tokens()}}
    calls = ROUTES if name == "Route" else []
    outcome = cpp_run.run(text_program(), {name: streams[name]}, 0, {name: calls})[name]
    assert disagreement(element, streams[name], outcome) == ""
    if name == "Route":
        assert outcome.outputs == {"port": [1, 3, 0, 3, 0], "hit": [1, 1, 0, 1, 0]}
    if name == "Headers":
        assert outcome.outputs["out"] != streams[name]["in"]


def test_what_a_function_changed_is_put_back_where_the_expression_then_waits() -> None:
    text = """.element Late (uint<8> a, uint<8> b -> uint<8> out) {
        .state { uint<8> calls; }
        uint<8> call(uint<8> x) { calls += 1; return calls + x; }
        .handler { uint<8> x = read(a); if (x != 0) write(out, call(x) + read(b)); }
    }"""
    late = load_text(text, "late.sl", Diagnostics())
    assert late
    streams = {"a": [0, 3, 4], "b": [7]}
    found = cpp_run.run(late, {"Late": streams}, 0)["Late"]
    assert found.state == {"calls": 1} and disagreement(late.elements[0], streams, found) == ""


def test_a_program_elsewhere_has_the_same_object() -> None:
    lines = 'int a; // /one/p.sl:3\nconst char *b = "// x:4"; // /one/p.sl:4\n'
    found = cpp_build.object_of(lines)
    assert cpp_build.object_of(lines.replace("/one/p.sl:3", "/two/p.sl:5")) == found
    assert cpp_build.object_of(lines.replace("x:4", "x:5")) != found != cpp_build.object_of(lines.replace("int", "long"))


@pytest.mark.parametrize("engine", ["exact", "packets"])
def test_programs_are_compiled_on_a_precompiled_header(engine: str) -> None:
    includes = cpp_build.includes_of(engine)
    header = cpp_build.precompiled(cpp_build.FLAGS, includes)
    searched = [f"-I{path}" for path in (*includes, cpp_build.RUN_TIME)]
    command = ["g++", *cpp_build.FLAGS, *searched, "-include", str(header), "-H", "-c", "-x", "c++", "/dev/null", "-o", "/dev/null"]
    assert f"! {header}.gch" in subprocess.run(command, capture_output=True, text=True, check=True).stderr  # "!": g++ takes it
