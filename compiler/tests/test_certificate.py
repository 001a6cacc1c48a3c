# SPDX-License-Identifier: Apache-2.0
"""The interval that a schedule promises is proved on the SystemVerilog of small elements of the library; a slower one is found."""

from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

from compiler.certificate import certify, stalls
from compiler.compile import Compiled, compile_element
from compiler.frontend.program import load_text
from compiler.frontend.source import Diagnostics
from compiler.tests.test_rtl_programs import ELEMENTS, ROOT
from tools.cli.main import app

SMALL = (
    "Count",
    "Demux_2",
    "Drop_packet",
    "Mux_packet_2",
    "PktLogger",
    "RoundRobin_2",
    "Tee_packet_2",
)  # all: ./sluice bench elements
SIXTEENTH = """
.element Sixteenth (uint<32> in -> uint<32> out) {
    .state { uint<4> n; uint acc; }
    .handler {
        if (n == 0) { acc = read(in); n = 15; }
        else { n -= 1; acc = acc * 3; if (n == 0) write(out, acc); }
    }
}
"""
LARGE = """
.element Large (uint in -> uint out) {
    .state { uint<256> count[131072]; }
    .handler {
        uint x = read(in);
        count[x] += x;
        write(out, count[x]);
    }
    .signal uint get(uint<17> x) { return count[x]; }
}
"""
SLOW = """
.element Slow (uint in -> uint out) {
    .state { uint total; uint count[16]; }
    .handler {
        uint x = read(in);
        total = total * (ushort) x + 1;
        count[x] = count[x] * (ushort) total;
        write(out, count[x]);
    }
    .signal uint get() { return total; }
}
"""


def compiled(text: str) -> Compiled:
    diagnostics = Diagnostics()
    program = load_text(text, "test.sl", diagnostics)
    assert program is not None, "".join(error.render() for error in diagnostics.sorted())
    return compile_element(program.elements[0])


@pytest.mark.parametrize("name", SMALL)
def test_an_element_of_the_library_is_certified(name: str) -> None:
    found = certify(compile_element(ELEMENTS[name]))
    assert (found.failure, found.cycles, found.kind) == ("", 0, "induction")


def test_an_element_with_a_table_is_certified_whatever_its_rules_are() -> None:
    found = certify(compiled("ExactRules<K = 8, V = 8, Entries = 16> :: rules @  Idle -> rules -> Drop<uint<9>>"))
    assert (found.failure, found.cycles) == ("", 0)
    assert "an update of rules waits for the pipeline to drain (about 32 cycles)" in found.stalls


def test_an_element_is_certified_with_memories_that_would_never_fit_as_flip_flops() -> None:
    found = certify(compiled(LARGE))
    assert (found.failure, found.cycles) == ("", 0)


def test_a_slow_element_is_certified_for_its_interval_and_says_what_stalls_it() -> None:
    slow = compiled(SLOW)
    assert slow.plan.interval > 1
    found = certify(slow)
    assert (found.failure, found.cycles, found.interval) == ("", 0, slow.plan.interval)
    assert stalls(slow) == (
        f"the previous iteration is less than {slow.plan.interval} cycles old",
        "an output has no room (out)",
        "a signal call takes an iteration",
        "a reset initialises count (16 cycles)",
    )


def test_an_element_that_iterates_over_a_token_is_not_certified_and_says_how_long_a_token_takes() -> None:
    found = certify(compiled(SIXTEENTH))
    assert found.interval == 1 and found.token_cycles == {"in": 16}
    assert found.text.splitlines()[:2] == [
        "Sixteenth: not certified: one iteration every cycle, but one token in 16 cycles",
        "  in: one token in 16 cycles",
    ]


def test_a_cycle_for_the_end_of_a_packet_is_certified_and_said() -> None:
    found = certify(compile_element(ELEMENTS["NVGREEncap_256"]))
    assert (found.failure, found.cycles) == ("", 0)
    assert found.text.splitlines()[1] == "  in: one token in 2 cycles"


def test_a_memory_that_is_never_swept_is_not_certified() -> None:
    slow = compiled(SLOW)
    right = "  assign start_handler = ready_q && "
    assert right in slow.text
    (ready,) = re.findall(r"\.ready_o\((u_v_count\w*_ready)\)", slow.text)
    never = slow.text.replace(f".ready_o({ready})", ".ready_o()").replace(right, f"  assign {ready} = 1'b0;\n{right}")
    assert "c_begins" in certify(slow, never).failure


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("assign start_handler = ", "assign start_handler = !out_valid_o && "),  # a token in every other cycle
        ("assign in_ready_o = ", "assign in_ready_o = !out_valid_o && "),  # iterations that take nothing
    ],
)
def test_a_generator_that_loses_cycles_is_caught(right: str, wrong: str) -> None:
    count = compile_element(ELEMENTS["Count"])
    assert right in count.text
    found = certify(count, count.text.replace(right, wrong))
    assert found.failure and found.kind == "none" and found.text.startswith("Count: not certified")


def test_a_wait_that_is_a_cycle_too_long_is_caught() -> None:
    slow = compiled(SLOW)
    assert slow.plan.interval == 3, "so that a wait of 3 cycles is a number of 2 bits, as one of 2 cycles is"
    right = f"d{slow.plan.interval - 1} : wait_q"
    assert right in slow.text
    assert certify(slow, slow.text.replace(right, f"d{slow.plan.interval} : wait_q")).failure


def test_the_report_shows_the_certificate() -> None:
    shown = CliRunner().invoke(app, ["report", "--prove", str(ROOT / "elements" / "count" / "count.sl")])
    assert shown.exit_code == 0
    assert "Count: certified: II = 1 for every run" in shown.stdout and "stalls while an output has no room (out)" in shown.stdout
