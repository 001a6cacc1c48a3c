# SPDX-License-Identifier: Apache-2.0
"""Generated RTL does what the IR says, with random pauses and signals in between; II is what the schedule promises."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from compiler.backends.sv_element import BackendError, Module
from compiler.backends.sv_testbench import Design
from compiler.ir import execute
from compiler.ir.text import parse
from compiler.targets import rtl

FOLDER = Path(__file__).parent / "ir"
ELEMENTS = {path.stem: parse(path.read_text(), path.name) for path in sorted(FOLDER.glob("*.ir"))}


@pytest.fixture(scope="module")
def built() -> rtl.Built:
    return rtl.build({name: rtl.schedule_of(element) for name, element in ELEMENTS.items()})


def stimuli(name: str, count: int) -> tuple[dict[str, list[int]], list[rtl.Signal]]:
    random.seed(name)
    element = ELEMENTS[name]
    streams = {port.name: [random.getrandbits(port.width) for _ in range(count)] for port in element.inputs}
    bits = max([1, *(sum(width for _, width in signal.arguments) for signal in element.signals)])
    calls = [rtl.Signal(random.randrange(len(element.signals)), random.getrandbits(bits)) for _ in range(40) if element.signals]
    return streams, calls


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_agrees_with_the_ir(built: rtl.Built, seed: int) -> None:
    given = {name: stimuli(name, 500) for name in ELEMENTS}
    runs = rtl.run(built, {n: s for n, (s, _) in given.items()}, {n: c for n, (_, c) in given.items()}, seed=seed)
    for name, element in ELEMENTS.items():
        found, streams = runs[name], given[name][0]
        expected = execute.run_element(element, streams, found.log, iterations=found.iterations)
        assert found.outputs == expected.outputs and found.answers == expected.answers
        assert sum(map(len, found.outputs.values())) > 0
        assert found.registers == expected.state.registers
        for memory, words in expected.state.memories.items():
            assert found.memories.get(memory, {}) == {i: word for i, word in enumerate(words) if word}


def test_takes_a_token_in_every_cycle_of_its_interval(built: rtl.Built) -> None:
    count = 2000
    given = {name: stimuli(name, count)[0] for name in ELEMENTS}
    for name in ELEMENTS:
        cycles = rtl.run(built, {name: given[name]}, pauses=(0, 0))[name].last_cycle
        interval = built.schedules[name].interval
        assert cycles < interval * count + 100, f"{name}: {cycles} cycles for {count} tokens at II = {interval}"


def test_what_is_written_is_chosen_by_the_kind_where_each_writes_once(built: rtl.Built) -> None:
    pipeline = built.schedules["count_flows"].pipeline
    assert [kind.label for kind in pipeline.chosen_by("count")] == ["is_signal_get"]
    twice = replace(pipeline, writes=(*pipeline.writes, pipeline.writes[1]), slots=(0, 0, 0), alone=(False,) * 3)
    assert twice.chosen_by("count") == replace(pipeline, slots=(0, 1)).chosen_by("count") == ()
    assert built.schedules["slow"].pipeline.chosen_by("last") == ()


POWER_UP = """
module power_up (
  input  logic        clk_i,
  input  logic        rst_i,
  input  logic [31:0] in_data_i,
  input  logic        in_valid_i,
  output logic        in_ready_o,
  output logic [31:0] out_data_o,
  output logic        out_valid_o,
  input  logic        out_ready_i
);
  logic [31:0] never_reset_q;
  always_ff @(posedge clk_i) if (!rst_i && in_valid_i && out_ready_i) never_reset_q <= never_reset_q + in_data_i;
  assign out_data_o  = never_reset_q;
  assign out_valid_o = in_valid_i;
  assign in_ready_o  = out_ready_i;
endmodule
"""


DESIGN = Design(
    "power_up", (("in", 32, True), ("out", 32, False)), has_signals=False, has_now=False, has_timers=False, is_element=True
)


def test_a_name_that_nothing_declares_is_an_error() -> None:
    with pytest.raises(rtl.RtlError, match="Can't find definition of variable: 'unknown'"):
        rtl.binary_of({"power_up.sv": POWER_UP.replace("= in_valid_i", "= in_valid_i && unknown")}, {"power_up": DESIGN}, rtl.QUICK)


def test_a_value_that_is_not_carried_to_a_stage_is_an_error() -> None:
    module = Module(rtl.schedule_of(next(iter(ELEMENTS.values()))))
    with pytest.raises(BackendError, match="is not carried to stage 99"):
        module.ref(next(node for node in module.pipeline.nodes if node.op != "const"), 99)


def test_what_depends_on_contents_at_power_up_shows() -> None:
    binary = rtl.binary_of({"power_up.sv": POWER_UP}, {"power_up": DESIGN}, rtl.QUICK)
    given = {"power_up.in": [1, 2, 3]}
    first, again, other = (rtl.simulate(binary, given, seed, (0, 0), 10_000)[0]["power_up.out.out"] for seed in (1, 1, 2))
    assert first == again != other and [value - first[0] for value in first] == [0, 1, 3]
