# SPDX-License-Identifier: Apache-2.0
"""The cost table: its parts, its golden comparison, and what the flow says of a module small enough to count by hand."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from bench import every
from toolchain import ROOT
from toolchain.synth.flow import Area, SynthesisError, _anchored, _joined, _read, area, ports
from tools.cli import cost, cost_doc, cost_sweep
from tools.cli.main import app

SPEED = ["cost", "skid", "--param", "Breadth=4"]
PARTS = cost.parse_parts(cost.PARTS.read_text())


def a_cost(lut: int, mhz: float, rules: int = 0) -> cost.Cost:
    return cost.Cost("part", {}, {"ecp5": Area("ecp5", lut, 100, 16, 2)}, {1: mhz - 20, 2: mhz}, rules)


@pytest.mark.parametrize("name", PARTS)
def test_a_part_names_a_module_and_parameters_that_exist(name: str) -> None:
    part = PARTS[name]
    assert part.parameters.keys() | part.xcup.keys() <= cost.declared(part.module)


def test_golden_values_belong_to_parts_and_carry_what_the_part_asks_for() -> None:
    golden = json.loads(cost.GOLDEN.read_text())
    assert golden.keys() <= PARTS.keys()
    for name, figures in golden.items():
        assert {figure.split(".")[0] for figure in figures} <= {*PARTS[name].targets, "ecp5"}, name
        assert all(value >= 0 for value in figures.values()), name
        assert "ecp5.mhz" not in figures or PARTS[name].timing, name


def test_every_table_of_the_page_is_made_of_what_the_command_prints() -> None:
    page = (ROOT / "docs" / "design" / "cost.md").read_text()
    made = cost.tables({"figures": json.loads(cost.GOLDEN.read_text())})
    assert sorted(made) == sorted(every.marked(page, "cost"))
    assert "| `skid` | Width=512 | " in made["cost-parts"] and "| `hash_4k` | 4096 | " in made["cost-rules"]


def test_parts_are_added_and_divided_by_their_peer() -> None:
    figures = {
        "path": {"xcup.lut": 60.0, "xcup.ff": 30.0, "xcup.lutram": 5.0, "xcup.bram": 1.5},
        "parse": {"xcup.lut": 40.0, "xcup.ff": 30.0, "xcup.lutram": 5.0, "xcup.bram": 0.0},
        "switch": {"xcup.lut": 50.0, "xcup.ff": 40.0, "xcup.lutram": 20.0, "xcup.bram": 3.0},
    }
    lines = cost_doc.sum_table(figures, ("path", "parse"), "switch").splitlines()
    assert lines[-2:] == [
        "| `path` over `switch` | 1.2 | 0.75 | 0.25 | 0.5 |",
        "| `path and parse` added, over `switch` | 2 | 1.5 | 0.5 | 0.5 |",
    ]
    assert cost_doc.sum_table({"path": {}}, ("path",), "switch") == "Not measured."


def test_json_names_what_grew_and_what_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    def measured(part: cost.Part, *others: object) -> cost.Cost:
        if part.name == "fifo_512x256":
            raise SynthesisError("it does not end")
        return cost.Cost(part.name, {}, {"ecp5": Area("ecp5", 9999, 8, 0, 0)}, {})

    monkeypatch.setattr(cost, "_measure", measured)
    assert CliRunner().invoke(app, ["cost", "skid", "pipe_gate", "--jobs", "2"]).exit_code == 1
    answer = CliRunner().invoke(app, ["cost", "skid", "fifo_512x256", "--json", "--jobs", "2"])
    found = json.loads(answer.stdout)
    assert answer.exit_code == 2 and found["failed"] == ["fifo_512x256"] and found["figures"]["skid"]["ecp5.lut"] == 9999
    assert [line.split(" is ")[0] for line in found["grown"]] == ["skid: ecp5.lut"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[fifo]\nmodule = "sl_fifo"\nparameter = { Width = 8 }', "part fifo: unknown parameter"),
        ('[fifo]\nmodule = "sl_fifo"\ntargets = ["ice40"]', "part fifo: unknown target ice40"),
        ("[fifo]\nrules = 8", "part fifo: no module"),
        ('[fifo]\nmodule = "sl_fifo"\nbeside = "skid"', "part fifo: unknown part skid to compare with"),
    ],
)
def test_a_wrong_parts_table_is_refused_with_its_reason(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        cost.parse_parts(text)


def test_a_part_is_measured_with_its_peer_and_divided_by_it() -> None:
    parts = cost.parse_parts('[a]\nmodule = "sl_fifo"\nbeside = "b"\n[b]\nmodule = "sl_skid"')
    assert [part.name for part in cost.with_peers(["a"], parts)] == ["a", "b"]
    assert [part.name for part in cost.with_peers(["b", "a"], parts)] == ["b", "a"]
    costs = [
        cost.Cost("a", {}, {"xcup": Area("xcup", 60, 30, 0, 1), "ecp5": Area("ecp5", 60, 30, 0, 1)}, {}),
        cost.Cost("b", {}, {"xcup": Area("xcup", 100, 40, 0, 0.5)}, {}),
    ]
    assert cost.ratios(costs, parts) == {"a": {"xcup": {"lut": 0.6, "ff": 0.75, "bram": 2.0}}}
    assert cost.ratios(costs[:1], parts) == {}


def test_parameters_are_text_for_the_flow_however_they_were_written() -> None:
    part = cost.parse_parts('[fifo]\nmodule = "sl_fifo"\nparameters = { Width = 8 }')["fifo"]
    assert part.parameters == dict([cost.parse_parameter("Width=8")])
    with pytest.raises(typer.BadParameter, match="NAME=VALUE"):
        cost.parse_parameter("Width")


def test_growth_within_the_tolerance_passes_and_beyond_it_is_named() -> None:
    golden = {"ecp5.lut": 1000.0, "ecp5.mhz": 250.0}
    assert cost.worse(a_cost(1032, 226), golden) == []
    assert cost.worse(a_cost(1033, 226), golden) == ["part: ecp5.lut is 1033, golden 1000"]
    assert cost.worse(a_cost(1000, 224), golden) == ["part: ecp5.mhz is 224, golden 250"]
    assert cost.worse(a_cost(10, 400), golden) == []


def test_shares_per_rule_count_logic_and_both_kinds_of_ram() -> None:
    assert a_cost(640, 250, rules=64).per_rule() == {"ecp5": {"lut": 10.0, "lutram_bits": 16.0, "bram_bits": 576.0}}
    assert a_cost(640, 250).per_rule() == {}


def test_blessing_keeps_what_was_not_measured_this_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "GOLDEN", tmp_path / "golden.json")
    unplaced = cost.Cost("part", {}, {"ecp5": Area("ecp5", 7, 8, 0, 0)}, {})
    cost._bless([unplaced], {"part": {"ecp5.lut": 9.0, "ecp5.mhz": 300.0}})
    written = json.loads((tmp_path / "golden.json").read_text())["part"]
    assert written == {"ecp5.lut": 7.0, "ecp5.ff": 8.0, "ecp5.lutram": 0.0, "ecp5.bram": 0.0, "ecp5.mhz": 300.0}


def test_the_flow_counts_the_flip_flops_of_a_skid_buffer() -> None:
    found = area("sl_skid", {"Width": "4"}, "ecp5")
    assert found.ff == 2 * 4 + 2  # two words and two valid bits
    assert found.bram == found.lutram == 0
    assert 0 < found.lut <= 2 * 4 + 4
    assert ports("sl_skid", {"Width": "4"})["in_data_i"] == ("input", 4)


def test_what_is_synthesised_once_counts_as_often_as_it_stands() -> None:
    whole = area("sl_cdc_fifo", {"Width": "4"}, "ecp5")
    once = area("sl_cdc_fifo", {"Width": "4"}, "ecp5", once=["sl_sync"])  # one for each direction
    assert (once.ff, once.lutram) == (whole.ff, whole.lutram)
    assert abs(once.lut - whole.lut) <= 4


@pytest.mark.parametrize(
    ("module", "once", "words"), [("sl_skid", "sl_fifo", "no sl_fifo"), ("sl_checksum_fill", "sl_fifo", "differ")]
)
def test_what_stands_nowhere_or_in_several_sizes_is_not_synthesised_once(module: str, once: str, words: str) -> None:
    with pytest.raises(SynthesisError, match=words):
        area(module, {}, "ecp5", once=[once])


def test_the_copies_of_a_pipeline_are_alike() -> None:
    part = PARTS["pipeline_2"]
    folder = ROOT / "build" / "synth" / f"copies-{os.getpid()}"  # the tools see only files below the root
    folder.mkdir(parents=True)
    try:
        commands = _joined(_read(part.module, part.parameters), part.once, folder, 600)
    finally:
        shutil.rmtree(folder)
    assert [command.split()[0] for command in commands] == ["chtype", "setattr"] * len(part.once)


def test_block_rams_of_an_instance_stand_beside_each_other() -> None:
    def anchored(anchors: dict[str, tuple[int, int]]) -> dict[str, str | None]:
        cells: dict[str, dict[str, object]] = {f"u_module.u_a.u_ram.{n}": {"type": "DP16KD", "attributes": {}} for n in range(5)}
        cells |= {"u_module.u_ab.u_ram": {"type": "DP16KD", "attributes": {}}, "u_module.u_a.x": {"type": "LUT4", "attributes": {}}}
        design = {"modules": {"LUT4": {"attributes": {}}, "top": {"attributes": {"top": "1"}, "cells": cells}}}
        made = json.loads(_anchored(json.dumps(design), anchors))["modules"]["top"]["cells"]
        return {name: bel for name, cell in made.items() if (bel := cell["attributes"].get("BEL"))}

    places = ["X62/Y46/EBR2", "X64/Y46/EBR3", "X69/Y46/EBR0", "X71/Y46/EBR1", "X73/Y46/EBR2"]
    assert anchored({"u_a": (61, 46)}) == {f"u_module.u_a.u_ram.{n}": place for n, place in enumerate(places)}
    for anchors, words in (
        ({"u_a": (116, 46)}, "u_a has 5 block RAMs; row 46 (of 22, 46, 70) has 3 from 116 on"),
        ({"u_b": (4, 46)}, "u_b has 0 block RAMs"),
        ({"u_a": (4, 45)}, "row 45 (of 22, 46, 70)"),
    ):
        with pytest.raises(SynthesisError, match=re.escape(words)):
            anchored(anchors)


def test_the_flow_hands_on_what_the_tool_says_of_a_wrong_value() -> None:
    with pytest.raises(SynthesisError, match="broad"):
        area("sl_skid", {"Width": "broad"}, "ecp5")


def test_a_command_with_a_wrong_name_says_which_there_are() -> None:
    for arguments, words in (
        (["cost", "skit"], "skid"),
        (["cost", "--sweep", "ram"], "tcam"),
        (["cost", "--param", "x"], "NAME"),
        (SPEED, "Width"),
    ):
        answer = CliRunner().invoke(app, arguments)
        assert answer.exit_code == 2
        assert words in answer.output


def test_the_sweep_draws_a_line_for_each_depth(tmp_path: Path) -> None:
    points = [
        cost_sweep.Point(w, d, cost_sweep.tcam_parameters(w, d), Area("xcup", w * d, 0, w, 0)) for w in (32, 64) for d in (64, 256)
    ]
    cost_sweep.draw(points, tmp_path / "tcam.svg")
    assert (tmp_path / "tcam.svg").read_text().startswith("<?xml")
