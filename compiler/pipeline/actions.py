# SPDX-License-Identifier: Apache-2.0
"""Actions of a unit, from operations on containers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import sluice_layouts as L

from compiler.pipeline.parser_program import ProgramError

WORD = 0xFFFF


@dataclass(frozen=True)
class Operation:
    """An operation on a container, under a mask; its operand is a number, or that of a source."""

    container: int
    kind: L.UnitOperator
    value: int = 0
    source: int | None = None
    mask: int = WORD


def set_words(containers: Sequence[int], value: int) -> list[Operation]:
    """Sets consecutive containers to a number, whose high bits go into the first."""
    return [Operation(container, L.OPERATOR_SET, value >> 16 * at & WORD) for at, container in enumerate(reversed(containers))]


def action(
    operations: Iterable[Operation] = (),
    following: int = L.UNIT_END,
    verdict: L.Verdict = L.VERDICT_PASS,
    ports: Iterable[int] = (),
    queue: int = 0,
    splice: int = 0,
    again: int = 0,
) -> L.UnitAction:
    """What a unit does: all operations at once, then a verdict with its ports and queue, then the unit `following`. `splice`: the
    number of the program's splice that is done when the packet leaves; 0: that of an action before. As it leaves it begins once
    more at the unit `again`; 0: it does not. Raises ProgramError where two operations need the same place."""
    places = [L.UnitOperation() for _ in range(L.UNIT_OPERATIONS)]
    for one in operations:
        row, column = divmod(one.container, L.UNIT_OPERATIONS)
        if places[column].kind != L.OPERATOR_NONE:
            other = L.UNIT_OPERATIONS * places[column].row + column
            text = f"operations on containers {other} and {one.container}, which are equal modulo {L.UNIT_OPERATIONS}"
            raise ProgramError(f"{text}; hint: two units, or other containers")
        source = L.UNIT_SOURCES if one.source is None else one.source
        places[column] = L.UnitOperation(one.mask, one.value, source, row, one.kind)
    return L.UnitAction(places, following, verdict, sum(1 << port for port in set(ports)), queue, splice, again)


def splice(base: int, word: int, removed: int = 0, inserted: Sequence[tuple[int, int | None]] = ()) -> L.SpliceRow:
    """Words that go and words that come at a place: `word` words behind the header at a base. What comes is (constant, None), or
    (0, container) with a container whose number is the word's modulo 16. Raises ProgramError where a number does not fit."""
    if len(inserted) > L.SPLICE_WORDS or removed > L.SPLICE_REMOVED or not 0 <= word < L.PARSER_REACH:
        most = f"{L.SPLICE_WORDS} words come and {L.SPLICE_REMOVED} go at most, at word 0 to {L.PARSER_REACH - 1} from a base"
        raise ProgramError(f"a splice of {len(inserted)} and {removed} words at word {word}; hint: {most}")
    words = [L.SpliceWord() for _ in range(L.SPLICE_WORDS)]
    for number, (constant, container) in enumerate(inserted):
        if container is not None and (container % L.PARSER_SLOTS != number or container >= L.PIPELINE_CONTAINERS):
            text = f"word {number} of a splice cannot be container {container}"
            raise ProgramError(f"{text}; hint: one of those that are {number} modulo {L.PARSER_SLOTS}, or a constant")
        words[number] = L.SpliceWord(0, constant) if container is None else L.SpliceWord(1 + container // L.PARSER_SLOTS)
    return L.SpliceRow(words, len(inserted), removed, word, base)
