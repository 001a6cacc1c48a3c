# SPDX-License-Identifier: Apache-2.0
"""Whole configurations as RTL: tokens on every channel are those of the interpreter that replays each instance's choices."""

from __future__ import annotations

import random

from compiler.compile import compile_element
from compiler.frontend.program import load_text
from compiler.frontend.source import Diagnostics
from compiler.interpreter.choices import Replay
from compiler.interpreter.element import run_element
from compiler.interpreter.packets import Packet, to_flits
from compiler.targets import rtl

FIGURE_4 = """
.element Count <1, 1> {
    .state{
      ulong count;
    }
    .init{
      count = 0;
    }
    .handler{
      if (get_input_port() != PORT_1) {
        return (PORT_1);
      }
      flit x;
      x = read_input_port(PORT_1);
      if (x.fd.sop) count = count + 1;
      set_output_port(PORT_1, x);
      return (PORT_1);
    }
    .signal {
      ClSignal p;
      p.Sig.LParam[0] = count;
      set_signal(p);
    }
}
Count :: cnt @
Tee :: tee
host PktLogger :: logger
from_tor -> cnt -> tee [1] -> to_tor
tee [2] -> logger
"""

REJOIN = """
.element Pair (uint<32> a, uint<32> b -> uint<32> sum) {
    .handler { uint<32> x = read(a); uint<32> y = read(b); write(sum, x * 3 + y); }
}
.element Slow (uint<32> in -> uint<32> out) {
    .state { uint<32> table[64]; }
    .handler {
        uint<32> x = read(in);
        table[x & 63] = table[x & 63] + x;
        write(out, table[x & 63] * x);
    }
    .signal uint<32> look(uint<6> at) { return table[at]; }
}
.element Sizes (packet in -> uint<32> size) {
    .handler { flit x = read(in); if (x.sop) write(size, x.meta.length); }
}
.element Sum (uint<32> in -> packet out) {
    .handler { flit y; y.data = read(in); y.sop = 1; y.eop = 1; y.empty = 60; write(out, y); }
}
Sizes :: sizes
Tee<uint<32>, 2> :: both
Slow :: slow @
Pair :: pair
Sum :: last
from_lane[0] -> sizes -> both [1] -> slow -> pair.a
both [2] -> pair.b
pair -> last -> to_lane[0]
"""


def build(text: str, name: str) -> rtl.BuiltProgram:
    diagnostics = Diagnostics()
    program = load_text(text, f"{name}.sl", diagnostics)
    assert program is not None, "\n".join(error.render() for error in diagnostics.sorted())
    kinds = {i.element.name: i.element for i in program.instances if not i.on_host}
    return rtl.build_program(name, program, {kind: compile_element(e).plan for kind, e in kinds.items()})


def packets(built: rtl.BuiltProgram, count: int) -> list[int]:
    """Flits of packets of random sizes, at lane 0."""
    flit = next(channel.type for channel in built.program.channels if channel.is_packet)
    choose = random.Random(7)
    return [token for _ in range(count) for token in to_flits(flit, Packet(choose.randbytes(choose.randint(14, 300))), 0)]


def check(built: rtl.BuiltProgram, ran: rtl.ProgramRun) -> None:
    """Every instance against the interpreter."""
    for instance in built.graph.instances:
        element, found = instance.element, ran.instances[instance.name]
        streams = {port.name: ran.seen[instance.name, port.name] for port in element.inputs}
        expected = run_element(element, streams, Replay(found.log), found.iterations)
        assert found.outputs == expected.outputs, instance.name
        assert found.answers == expected.answers, instance.name


def test_figure_4_counts_and_copies() -> None:
    built = build(FIGURE_4, "figure4")
    tokens = packets(built, 300)
    for seed, pauses in ((1, (0, 0)), (2, (100, 100))):
        ran = rtl.run_program(built, {"lane_in_0": tokens}, [("cnt", rtl.Signal(0, 0))] * 3, seed, pauses)
        assert ran.edges["lane_out_0"] == tokens and ran.edges["to_logger_0"] == tokens
        assert ran.instances["cnt"].registers["count"] == 300
        check(built, ran)


def test_ways_that_meet_again_do_not_block_each_other() -> None:
    built = build(REJOIN, "rejoin")
    tokens = packets(built, 300)
    calls = [("slow", rtl.Signal(0, n % 64)) for n in range(50)]
    for seed, pauses in ((1, (0, 0)), (2, (40, 120))):
        ran = rtl.run_program(built, {"lane_in_0": tokens}, calls, seed, pauses)
        assert len(ran.edges["lane_out_0"]) == 300
        check(built, ran)
