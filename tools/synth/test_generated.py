# SPDX-License-Identifier: Apache-2.0
"""Areas of emitted modules are made as those of the parts are, and made again when the flow changes."""

import shutil
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from testing.simulate import ROOT
from tools.synth import flow, generated

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


def test_another_flow_makes_other_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = generated._place_of("twice", files(), "ecp5")
    assert generated._place_of("twice", files(), "ecp5") == before
    changed = tmp_path / "flow.py"
    changed.write_text(Path(flow.__file__).read_text() + "# changed\n")
    monkeypatch.setattr(flow, "__file__", str(changed))
    assert generated._place_of("twice", files(), "ecp5") != before
