# SPDX-License-Identifier: Apache-2.0
"""Reference model of the programmable parser: what a program does to a packet, entry by entry, byte by byte.

A stage is a list of (value, mask, step), the first of which that matches is taken; values and masks are the bits of a `ParserKey`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sluice_layouts as L

Stage = Sequence[tuple[int, int, L.ParserStep]]


def stages_of(program: Any) -> list[Stage]:
    """The stages of a `compiler.pipeline.parser_program.ParserProgram`."""
    return [[(entry.value.to_int(), entry.mask.to_int(), entry.step) for entry in stage] for stage in program.stages]


def parse(
    start: L.ParserStart, stages: Sequence[Stage], data: bytes, version: int = 0, port: int = 0, begins: int = 0, mark: int = 0
) -> L.Parsed:
    """What becomes of a packet of these bytes, in a pass that begins at a unit, with the mark of the pass before."""
    out = L.Parsed(state=start.state, version=version, ingress_port=port, length=len(data), begins=begins)
    out.containers[L.PIPELINE_MARK : L.PIPELINE_MARK + 2] = mark >> 16, mark & 0xFFFF
    window = data[: L.WINDOW_BYTES].ljust(L.WINDOW_BYTES + 2 * L.PARSER_REACH, b"\0")

    def word(number: int) -> int:
        at = 2 * (out.position + number)
        return int.from_bytes(window[at : at + 2], "big")

    lookups = start.lookups
    if start.state == L.PARSER_DONE:
        out.fault = L.FAULT_PROGRAM
    for stage in stages:
        if out.fault or out.state == L.PARSER_DONE:
            return out
        key = L.ParserKey([word(number) for number in lookups], out.state, version).to_int()
        step = next((step for value, mask, step in stage if not (key ^ value) & mask), None)
        if step is None:
            out.fault = L.FAULT_PROGRAM
            return out
        if step.fault:
            out.fault = L.Fault(step.fault)
            return out
        counted = (word(step.length_word) & step.length_mask) * 2**step.length_scale // 2**16
        advance = step.advance + min(counted, 255)
        last = out.position + max(advance, step.needs)
        if 2 * last > len(data):
            out.fault = L.FAULT_TRUNCATED
            return out
        if 2 * last > L.WINDOW_BYTES or advance > L.PARSER_FARTHEST:
            out.fault = L.FAULT_WINDOW
            return out
        for slot, extract in enumerate(step.extracts):
            container = L.PARSER_SLOTS * (extract.row - 1) + slot
            if 0 <= container < L.PIPELINE_CONTAINERS:
                out.containers[container] = word(extract.word)
        if step.has_base:
            out.bases[step.base] = L.ParserBase(1, step.kind, out.position)
        out.position += advance
        out.state, lookups = step.state, step.lookups
    if not out.fault and out.state != L.PARSER_DONE:
        out.fault = L.FAULT_CHAIN
    return out
