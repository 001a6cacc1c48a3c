# SPDX-License-Identifier: Apache-2.0
"""What the estimate of the routed clock is fitted to: `python -m bench.routed`, hours of a core.

Elements of `bench/line_rate` and, of `bench/flowstate`, one variant of each program, placed and routed with one seed. Their terms
(`compiler/schedule/routed.py`) and clocks go to `compiler/schedule/delays/ecp5_routed.json`, which `compiler/schedule/fit.py` makes
figures of. The library is not among them: `./sluice bench elements` judges the estimate by it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

from bench import flowstate, line_rate
from compiler.certificate import parts
from compiler.compile import Compiled
from compiler.schedule import routed
from toolchain.synth.flow import SynthesisError
from toolchain.synth.generated import fmax_of

SEED = 1
TIMEOUT = 3600.0


def programs() -> Iterator[Compiled]:
    """The elements."""
    for path in line_rate.programs():
        yield from line_rate.own_elements(path)
    for name in flowstate.PROGRAMS:
        yield flowstate.case(name, flowstate.Variant()).compiled


def main() -> None:
    """Place and route, and write the file."""
    found = {}
    for compiled in programs():
        files = {f"{compiled.module}.sv": compiled.text, **parts(compiled.text)}
        print(f"{compiled.element.name}: place and route", file=sys.stderr)
        try:
            mhz = fmax_of(compiled.module, files, SEED, timeout=TIMEOUT)
        except SynthesisError as error:
            print(f"{compiled.element.name} is left out: {error}", file=sys.stderr)
            continue
        terms = {name: round(value, 3) for name, value in routed.terms(compiled.plan).items()}
        found[compiled.element.name] = {"mhz": round(mhz, 1), **terms}
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(row)}" for name, row in sorted(found.items()))
    routed.FILE.write_text("{\n" + lines + "\n}\n")


if __name__ == "__main__":
    main()
