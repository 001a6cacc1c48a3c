# SPDX-License-Identifier: Apache-2.0
"""Latency of the whole stateful unit with the application that the stateful paper measures it with (Table 3): packets by turns."""

from __future__ import annotations

import random
import struct
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from bench.simulator import BUILD, FAST, figures, simulator
from bench.stateful import programs
from bench.stateful.schedulers import PARTS, clock
from compiler.stateful.image import StatefulImage, UnitSizes
from compiler.stateful.program import BlockSizes
from configs.stateful import judges

HERE = Path(__file__).parent
PART = "stateful_unit_small"
FLOWS, PACKETS = 32, 2000
GAPS = {"lone packets": 200, "a packet a cycle": 1}  # cycles from a packet to the next
SECRET = 0x0123456789ABCDEF0F1E2D3C4B5A6978  # of the flow table
WRITE_BYTES = 52


def _sizes() -> UnitSizes:
    parameters = PARTS[PART]["parameters"]
    names = ("inputs", "conditions", "words", "updates", "entries", "actions")
    block = BlockSizes(**{name: parameters[name.capitalize()] for name in names})
    return UnitSizes(block, parameters["KeyWords"], parameters["Sets"])


def sent(gap: int, numbers: Sequence[int], options: Sequence[str] = FAST) -> list[tuple[int, int]]:
    """Of packets by turns with these numbers how long each is in the unit, and the ports by which it leaves. Raises
    CalledProcessError, RuntimeError."""
    application, sizes, parameters = programs.application("alternating"), _sizes(), PARTS[PART]["parameters"]
    image = StatefulImage.of(sizes, SECRET).with_program(application.program(sizes.block), 0)
    writes = b"".join(write.to_int().to_bytes(WRITE_BYTES, "little") for write in image.writes(application.unit))
    packets = programs.images([application.packets[number] for number in numbers])
    program = simulator(
        "unit", "sl_stateful_unit", HERE / "unit_harness.cc", {**parameters, "Number": application.unit}, (), options
    )
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        paths = [Path(folder) / name for name in ("writes", "packets", "left")]
        paths[0].write_bytes(writes)
        paths[1].write_bytes(packets)
        figures(program, gap, parameters["Inside"], sizes.sets * sizes.ways + 40, *paths)
        return list(struct.iter_unpack("<2I", paths[2].read_bytes()))


def wrong_lanes(numbers: Sequence[int], masks: Sequence[int]) -> int:
    """Packets that do not leave where plain Python says, those that are missing among them."""
    judge, frames = judges.alternating(), programs.application("alternating").frames
    expected = [1 << left.lane for number in numbers for left in judge(frames[number], 0)]
    return sum(a != b for a, b in zip(expected, masks, strict=False)) + abs(len(expected) - len(masks))


def measure(options: Sequence[str] = FAST) -> dict[str, Any]:
    """Cycles in the unit, and the same in time where the unit was placed and routed."""
    draw = random.Random(1)
    numbers = [draw.randrange(FLOWS) for _ in range(PACKETS)]
    return {"application": "alternating", "part": PART, "rows": [_row(name, gap, numbers, options) for name, gap in GAPS.items()]}


def _row(name: str, gap: int, numbers: Sequence[int], options: Sequence[str]) -> dict[str, Any]:
    left, timing = sent(gap, numbers, options), clock([PART])
    cycles = [cycles for cycles, _ in left] or [0]
    return {
        "load": name,
        "flows": FLOWS,
        "cycles_least": min(cycles),
        "cycles": round(mean(cycles), 2),
        "cycles_most": max(cycles),
        **timing,
        "ns": timing["clock_ns"] and round(mean(cycles) * timing["clock_ns"], 1),
        "wrong": wrong_lanes(numbers, [mask for _, mask in left]),
    }
