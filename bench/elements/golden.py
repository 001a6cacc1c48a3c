# SPDX-License-Identifier: Apache-2.0
"""What the elements of the library are to be in hardware (`golden.json`): II and stages, which a test compares exactly, areas on
UltraScale+ and clocks on the ECP5, which the benchmark compares.

`SLUICE_BLESS=1 pytest bench/elements/test_golden.py` writes II and stages as they are now, `./sluice bench elements --bless` also
the areas, and with `--fmax` the clocks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("golden.json")
TOLERANCE = 0.05  # of an area
LEAST = 20  # LUTs or flip-flops that are no change
CLOCK_TOLERANCE = 0.10  # which is what seeds differ by


def read() -> dict[str, dict[str, Any]]:
    """By element: `ii`, `depth`, `clock_mhz` that was asked for, and `xcup` and `fmax_mhz` where they were measured."""
    found: dict[str, dict[str, Any]] = json.loads(FILE.read_text()) if FILE.exists() else {}
    return found


def write(found: Mapping[str, Mapping[str, Any]]) -> None:
    """The file anew; an area or a clock that is not given stays."""
    old = read()
    rows = {
        name: {**{kind: value for kind, value in old.get(name, {}).items() if kind in ("xcup", "fmax_mhz")}, **row}
        for name, row in found.items()
    }
    lines = [f"{json.dumps(name)}: {json.dumps(dict(sorted(rows[name].items())))}" for name in sorted(rows)]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def compared(name: str, area: Mapping[str, Any], ecp5: Mapping[str, Any] | None = None) -> list[str]:
    """What is not as it is to be, in words: an area that differs, a clock on the ECP5 that is lower, where it was asked for."""
    wanted = read().get(name, {})
    wrong = [
        f"{name}: {area[kind]:g} {kind.upper()} instead of {value:g}"
        for kind, value in wanted.get("xcup", {}).items()
        if kind in area and abs(area[kind] - value) > max(TOLERANCE * value, LEAST * (kind != "bram"))
    ]
    if "missing" in area:
        wrong.append(f"{name}: no area: {area['missing']}")
    if ecp5 is not None and (mhz := wanted.get("fmax_mhz")):
        found = ecp5.get("fmax_mhz")
        if found is None:
            wrong.append(f"{name}: no clock: {ecp5.get('fmax_missing') or ecp5.get('missing')}")
        elif found < (1 - CLOCK_TOLERANCE) * mhz:
            wrong.append(f"{name}: {found:g} MHz instead of {mhz:g}")
    return wrong
