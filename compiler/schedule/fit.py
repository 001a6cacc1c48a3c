# SPDX-License-Identifier: Apache-2.0
"""Makes the delay tables of what `measure.py` found: `python -m compiler.schedule.fit` writes `delays/TARGET.toml`.

A stage takes the overhead and the sum of its operators, of each base + log * log2(width) + linear * width. Operators that are built
alike share their figures. The fits are of least squares of relative errors, no figure being negative.

The figures of whole elements (`routed.py`) are of `delays/ecp5_routed.json`.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from collections.abc import Mapping, Sequence

import numpy as np

from compiler.schedule import routed
from compiler.schedule.delays import FOLDER
from compiler.schedule.measure import CASES, Case

# Operators that are built alike, and how their delay grows with the width.
FORMS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("add", "sub"): ("base", "linear"),
    ("ult", "slt"): ("base", "linear"),
    ("mul",): ("base", "linear"),
    ("udiv", "urem"): ("base", "linear"),
    ("sdiv", "srem"): ("base", "linear"),
    ("and", "or", "xor"): ("base",),
    ("not",): ("base",),
    ("shl", "lshr", "ashr"): ("base", "log"),
    ("eq",): ("base", "log"),
    ("mux",): ("base", "log"),
    ("read",): ("base", "log"),
}
# UltraScale+, an estimate: nanoseconds of a level of logic with its net, of four bits of carry, of a multiplier without registers,
# and of clock to output, set-up and a net.
XCUP = {"lut": 0.45, "carry": 0.03, "dsp": 2.5}
XCUP_OVERHEAD = 0.55
# Nets of whole elements are longer than those around single operators.
MARGIN = {"ecp5": 1.1, "xcup": 1.0}
HEADS = {
    "ecp5": "# Nanoseconds on the ECP5-5G 85k, fitted to place and route (nextpnr) of operators between registers: `ecp5.json`.",
    "xcup": "# Nanoseconds on UltraScale+, an estimate: logic levels (Yosys, `xcup.json`) times the constants of `fit.py`.",
}


def periods(target: str) -> dict[str, float]:
    """Nanoseconds of every case, as measured, or estimated from levels, without the margin."""
    cases: dict[str, list[float]] | dict[str, dict[str, int]] = json.loads((FOLDER / f"{target}.json").read_text())["cases"]
    return {name: _estimate(found) if isinstance(found, dict) else statistics.median(found) for name, found in cases.items()}


def _estimate(path: Mapping[str, int]) -> float:
    return XCUP_OVERHEAD + sum(XCUP[kind] * count for kind, count in path.items())


def _terms(case: Case) -> dict[str, float]:
    """What a period is the sum of: figures, named GROUP.FORM, and how often each."""
    found = {"overhead": 1.0}
    for op, width in case.operators:
        group, forms = next((group, forms) for group, forms in FORMS.items() if op in group)
        for form in forms:
            much = {"base": 1.0, "log": math.log2(width), "linear": float(width)}[form]
            name = f"{group[0]}.{form}"
            found[name] = found.get(name, 0.0) + much
    return found


def fitted(measured: Mapping[str, float]) -> dict[str, float]:
    """The figures by GROUP.FORM, and `overhead`; ns."""
    cases = [case for case in CASES if case.name in measured]
    return _least_squares([_terms(case) for case in cases], [measured[case.name] for case in cases])


def fitted_routed(rows: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """The figures by term, of elements: `mhz` and terms of each."""
    terms = [{name: value for name, value in row.items() if name != "mhz"} for row in rows.values()]
    return _least_squares(terms, [1000 / row["mhz"] for row in rows.values()])


def _least_squares(terms: Sequence[Mapping[str, float]], wanted: Sequence[float]) -> dict[str, float]:
    """Figures, none negative, with which the sums of the terms are nearest to what is wanted, relative to it."""
    names = sorted({name for found in terms for name in found})
    matrix = np.array([[found.get(name, 0.0) for name in names] for found in terms]) / np.array(wanted)[:, None]
    kept = list(range(len(names)))
    while True:
        solution = np.linalg.lstsq(matrix[:, kept], np.ones(len(wanted)), rcond=None)[0]
        if (solution >= 0).all():
            break
        kept.pop(int(np.argmin(solution)))
    values = dict.fromkeys(names, 0.0)
    for place, value in zip(kept, solution, strict=True):
        values[names[place]] = round(float(value), 3)
    return values


def predicted(case: Case, figures: Mapping[str, float]) -> float:
    """Nanoseconds of a case by the table."""
    return sum(figures[name] * much for name, much in _terms(case).items())


def table(target: str) -> str:
    """The text of `delays/TARGET.toml`."""
    figures = {name: round(MARGIN[target] * value, 3) for name, value in fitted(periods(target)).items()}
    lines = [
        HEADS[target],
        "# Made by `python -m compiler.schedule.fit`; do not edit.",
        f"overhead = {figures['overhead']:g}",
        "",
        "[operators]",
    ]
    for group, forms in FORMS.items():
        values = ", ".join(
            f"{form} = {figures[f'{group[0]}.{form}']:g}" for form in forms if form == "base" or figures[f"{group[0]}.{form}"]
        )
        lines += [f"{op} = {{ {values} }}" for op in group]
    if target == "ecp5":
        lines += ["", "[routed]"]
        lines += [f"{name} = {value:g}" for name, value in fitted_routed(json.loads(routed.FILE.read_text())).items()]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the tables, and show how far they are from what was measured."""
    for target in HEADS:
        (FOLDER / f"{target}.toml").write_text(table(target))
        measured, figures = periods(target), fitted(periods(target))
        for case in CASES:
            found = predicted(case, figures)
            wrong = 100 * (found / measured[case.name] - 1)
            print(f"{target} {case.name:10s} {measured[case.name]:6.2f} {found:6.2f} {wrong:+4.0f} %", file=sys.stderr)


if __name__ == "__main__":
    main()
