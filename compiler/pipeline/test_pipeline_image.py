# SPDX-License-Identifier: Apache-2.0
"""A program whose packets could enter once more at a unit where the device begins no pass is refused before anything is loaded."""

from __future__ import annotations

import pytest
import sluice_layouts as L

from compiler.pipeline.actions import action
from compiler.pipeline.parser_program import ProgramError, read
from compiler.pipeline.pipeline_image import PipelineImage, PipelineProgram
from compiler.pipeline.unit_image import UnitEntry, UnitProgram
from toolchain import ROOT

HEADERS = read(ROOT / "elements" / "pipeline" / "default_parser.toml")
SIZES = (8, 4, 6, 64, 64)


def program(asking: int, again: int, in_entry: bool) -> PipelineProgram:
    """Of three units, one of which asks for a pass, in an entry or where nothing matches."""
    done = action(verdict=L.VERDICT_FORWARD, ports=[1], again=again)
    plain = UnitProgram(L.UnitSelector(), (), action())
    unit = (
        UnitProgram(L.UnitSelector(mask=1), (UnitEntry(1, 1, done),), action())
        if in_entry
        else UnitProgram(plain.selector, (), done)
    )
    return PipelineProgram(HEADERS, tuple(unit if number == asking else plain for number in range(3)))


@pytest.mark.parametrize("in_entry", [False, True])
@pytest.mark.parametrize(("asking", "again"), [(0, 0), (0, 1), (0, 2), (1, 2), (2, 0)])
def test_a_pass_at_a_unit_above_is_taken(asking: int, again: int, in_entry: bool) -> None:
    PipelineImage.of(*SIZES).with_program(program(asking, again, in_entry), 0)


@pytest.mark.parametrize("in_entry", [False, True])
@pytest.mark.parametrize(("asking", "again"), [(1, 1), (2, 1), (0, 3), (2, 3), (1, 15)])
def test_a_pass_at_no_unit_above_is_refused_with_a_hint(asking: int, again: int, in_entry: bool) -> None:
    said = f"unit {asking}: a packet that enters once more cannot begin at unit {again}; hint: a unit above this one, of 3"
    with pytest.raises(ProgramError, match=said):
        PipelineImage.of(*SIZES).with_program(program(asking, again, in_entry), 0)
