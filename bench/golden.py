# SPDX-License-Identifier: Apache-2.0
"""What the elements of the library are to be in hardware (`elements.golden.json`): II and stages, which a test compares exactly,
and areas on UltraScale+, which the benchmark compares.

`SLUICE_BLESS=1 pytest bench/test_golden.py` writes II and stages as they are now, `./sluice bench elements --bless` also the areas.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("elements.golden.json")
TOLERANCE = 0.05  # of an area
LEAST = 20  # LUTs or flip-flops that are no change


def read() -> dict[str, dict[str, Any]]:
    """By element: `ii`, `depth`, `clock_mhz` that was asked for, and `xcup` where it was measured."""
    found: dict[str, dict[str, Any]] = json.loads(FILE.read_text()) if FILE.exists() else {}
    return found


def write(found: Mapping[str, Mapping[str, Any]]) -> None:
    """The file anew; an area that is not given stays."""
    old = read()
    rows = {name: {**({"xcup": old[name]["xcup"]} if "xcup" in old.get(name, {}) else {}), **row} for name, row in found.items()}
    lines = [f"{json.dumps(name)}: {json.dumps(dict(sorted(rows[name].items())))}" for name in sorted(rows)]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def compared(name: str, area: Mapping[str, Any]) -> list[str]:
    """What is not as it is to be, in words."""
    wanted = read().get(name, {}).get("xcup", {})
    return [
        f"{name}: {area[kind]:g} {kind.upper()} instead of {wanted[kind]:g}"
        for kind in ("lut", "ff", "lutram", "bram")
        if kind in wanted
        and kind in area
        and abs(area[kind] - wanted[kind]) > max(TOLERANCE * wanted[kind], LEAST * (kind != "bram"))
    ]
