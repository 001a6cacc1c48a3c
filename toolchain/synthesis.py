# SPDX-License-Identifier: Apache-2.0
"""Tests what memories become in synthesis: a front end can silently turn block RAM into thousands of LUTs.

A test states what each target must infer::

    def test_fifo_is_in_block_ram():
        expect_memory("sl_fifo", {"Width": 36, "Depth": 512, "Style": 1}, xcup=Memory(bram=0.5), ecp5=Memory(bram=1))

Keep the parameters small: what is inferred does not depend on the size, the run time does. Results are cached by
content (`toolchain/synth/flow.py`). `make test` asks for the ECP5 alone, which takes a third of the time; `make test-all`, and
SLUICE_EVERY=1, for UltraScale+ too.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from toolchain.synth.flow import Area, area

TARGETS = ("xcup", "ecp5") if os.environ.get("SLUICE_EVERY") == "1" else ("ecp5",)


@dataclass(frozen=True)
class Memory:
    """What a module may take as memory: `bram` in RAMB36 (xcup) or EBR (ecp5), `lutram` in LUTs or DPR16X4 cells."""

    bram: float = 0
    lutram: int = 0


def expect_memory(
    module: str,
    parameters: Mapping[str, object],
    *,
    xcup: Memory,
    ecp5: Memory,
    most_ff: int | None = None,
) -> dict[str, Area]:
    """Synthesise for `TARGETS`, up to the logic, and compare the memories exactly; `most_ff` bounds the flip-flops of either.

    Returns the areas by target. Raises AssertionError with what was found instead.
    """
    areas = {target: area(module, parameters, target, timeout=300, luts=False) for target in TARGETS}
    for target, found in areas.items():
        expected = {"xcup": xcup, "ecp5": ecp5}[target]
        memory = Memory(found.bram, found.lutram)
        assert memory == expected, f"{module} {dict(parameters)} on {target}: {memory}, expected {expected}"
        if most_ff is not None:
            assert found.ff <= most_ff, f"{module} {dict(parameters)} on {target}: {found.ff} flip-flops, at most {most_ff} allowed"
    return areas
