# SPDX-License-Identifier: Apache-2.0
"""Areas of emitted modules are made as those of the parts are, and made again when the flow changes."""

import shutil
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from toolchain import ROOT
from toolchain.synth import flow, generated

TWICE = """
module twice (input logic clk_i, input logic [6:0] data_i, output logic [6:0] one_o, output logic [6:0] two_o);
  sl_copy #(.Width(7)) u_one (.clk_i, .enable_i(1'b1), .data_i, .data_o(one_o));
  sl_copy #(.Width(7)) u_two (.clk_i, .enable_i(1'b1), .data_i, .data_o(two_o));
endmodule
"""


def files() -> dict[str, str]:
    copy = next((ROOT / "rtl").rglob("sl_copy.sv"))
    return {"twice.sv": TWICE, copy.name: copy.read_text()}


def test_copies_of_a_register_stay_copies() -> None:
    assert generated.area_of("twice", files(), "ecp5").ff == 14
    assert generated.ports_of("twice", files()) == {
        "clk_i": ("input", 1),
        "data_i": ("input", 7),
        "one_o": ("output", 7),
        "two_o": ("output", 7),
    }


def test_two_may_want_the_same_at_once() -> None:
    text = f"module fresh (input logic [6:0] data_i); // {uuid.uuid4()}\nendmodule\n"
    with ThreadPoolExecutor(2) as both:
        found = list(both.map(lambda _: generated.ports_of("fresh", {"fresh.sv": text}), range(2)))
    assert found == [{"data_i": ("input", 7)}] * 2
    shutil.rmtree(generated._place_of("fresh", {"fresh.sv": text}, "ports"))


def test_another_recipe_makes_other_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    def elsewhere(*arguments: object) -> str:
        raise NotImplementedError(arguments)

    before = generated._place_of("twice", files(), "ecp5"), flow._digest(module="sl_copy")
    assert (generated._place_of("twice", files(), "ecp5"), flow._digest(module="sl_copy")) == before
    monkeypatch.setattr(flow, "_synth_command", elsewhere)
    after = generated._place_of("twice", files(), "ecp5"), flow._digest(module="sl_copy")
    assert after[0] != before[0] and after[1] != before[1]


def test_clocks_depend_on_the_placer_and_areas_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def elsewhere(*arguments: object) -> float:
        raise NotImplementedError(arguments)

    def keys() -> tuple[list[object], list[object]]:
        areas = [generated._place_of("twice", files(), "ecp5"), flow._digest(module="sl_copy")]
        return areas, [generated._place_of("twice", files(), "timing"), flow._digest(module="sl_copy", places=True)]

    areas, clocks = keys()
    monkeypatch.setattr(flow, "_place", elsewhere)
    areas_after, clocks_after = keys()
    assert areas_after == areas and all(one != other for one, other in zip(clocks_after, clocks, strict=True))


def test_a_tool_that_did_not_end_is_waited_for_again_only_with_more_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow, "TOOLS", tmp_path)
    tool, log = tmp_path / "tool", tmp_path / "tool.log"

    def becomes(text: str) -> None:
        tool.write_text(f"#!/bin/sh\n{text}\n")
        tool.chmod(0o755)

    becomes("exec sleep 60")
    with pytest.raises(flow.SynthesisError, match="did not finish within 0 s; log"):
        flow._run("tool", log=log, timeout=0.1)
    becomes("echo done")
    with pytest.raises(flow.SynthesisError, match="in an earlier run; remove"):
        flow._run("tool", log=log, timeout=0.1)
    flow._run("tool", log=log, timeout=60)
    assert log.read_text() == "done\n"
