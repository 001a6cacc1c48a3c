# SPDX-License-Identifier: Apache-2.0
"""Splices of a program: both versions have all of theirs, more are refused, and a load writes only rows of the version that packets
do not have. What a splice does to packets: rtl/pipeline/test_sl_pipeline_rewrite.py."""

from __future__ import annotations

import pytest
import sluice_layouts as L

from compiler.pipeline.actions import splice
from compiler.pipeline.parser_program import ProgramError, read
from compiler.pipeline.pipeline_image import PipelineImage, PipelineProgram, accesses
from toolchain import ROOT

HEADERS = read(ROOT / "elements" / "pipeline" / "default_parser.toml")
SIZES = (8, 1, 6, 64, 64)


def program(count: int) -> PipelineProgram:
    return PipelineProgram(HEADERS, (), tuple(splice(0, 6, 0, [(0x8100, None), (number, None)]) for number in range(count)))


def rows(image: PipelineImage, before: PipelineImage | None) -> dict[int, int]:
    return {one.address: one.data for one in image.writes(before) if one.memory == L.DEPARSER_MEMORY_SPLICE}


def test_both_versions_have_all_their_splices() -> None:
    most = program(L.SPLICES - 1)
    first = PipelineImage.of(*SIZES).with_program(most, 0)
    assert rows(first, None) == {number: row.to_int() for number, row in enumerate(most.splices, 1)}
    second = first.with_program(program(3), 1)
    assert rows(second, first) == {L.SPLICES + at: most.splices[at - 1].to_int() if at <= 3 else 0 for at in range(1, L.SPLICES)}
    third = second.with_program(program(2), 0)
    assert rows(third, second) == dict.fromkeys(range(3, L.SPLICES), 0), "equal rows stay"
    (write,) = [one for one in third.writes(second) if (one.memory, one.address) == (L.DEPARSER_MEMORY_SPLICE, 3)]
    assert len([*accesses(iter([write]))]) == 1 + L.SpliceRow.BITS // 32


def test_more_splices_are_refused() -> None:
    with pytest.raises(ProgramError, match="16 splices; hint: the deparser has 15"):
        PipelineImage.of(*SIZES).with_program(program(L.SPLICES), 0)


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        ((0, 6, 64), "0 and 64 words"),
        ((0, 6, 0, [(0, None)] * 16), "16 and 0 words"),
        ((0, 32), "at word 32"),
        ((0, 6, 0, [(0x8100, None), (0, 7)]), "word 1 of a splice cannot be container 7"),
        ((0, 6, 0, [(0, None)] * 12 + [(0, 44)]), "word 12 of a splice cannot be container 44"),
    ],
)
def test_a_splice_that_no_row_holds_is_refused(wanted: tuple[int, ...], text: str) -> None:
    with pytest.raises(ProgramError, match=text):
        splice(*wanted)  # type: ignore[arg-type]
