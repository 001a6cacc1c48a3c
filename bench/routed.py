# SPDX-License-Identifier: Apache-2.0
"""What the estimate of the routed clock is fitted to: `python -m bench.routed [NAME ...]`, hours of a core.

Elements of `bench/line_rate` and `bench/updates`, some of those with more words of state, one variant of each program of
`bench/flowstate`, and elements with a rule table: placed and routed, the median of SEEDS. Their terms and clocks go to
`compiler/schedule/delays/ecp5_routed.json`, which `compiler/schedule/fit.py` makes figures of; of NAMEs only, where there are some.
The library is not among them: `./sluice bench elements` judges the estimate by it.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterator, Sequence

from bench import flowstate, line_rate, updates
from bench.compiled import elements_of, fastest
from compiler.certificate import parts
from compiler.compile import Compiled
from compiler.schedule import routed
from toolchain import ROOT
from toolchain.synth import ledger
from toolchain.synth.flow import SynthesisError
from toolchain.synth.generated import fmax_of, has_fmax

SEEDS = (1, 2, 3)  # the first, and of the others those whose clock is known
TIMEOUT = 3600.0
TABLE = """.element KIND_KEY_RULES (uint<KEY> in -> uint<17> out) {
    table KIND<uint<KEY>, uint<16>> rules[RULES];
    .handler {
        uint<16> value;
        bool hit = rules.lookup(read(in), value);
        write(out, (uint<17>) hit << 16 | value);
    }
}
"""
LARGER = {"clamped_add": 16, "hash_count": 14, "retransmissions": 15}  # bits of an index, in place of INDEX
INDEX = 12
TABLES = {"exact": ((64, 1024), (128, 2048)), "lpm": ((32, 128), (48, 256)), "ternary": ((32, 256), (64, 384))}  # key bits, rules


def _table(kind: str, key: int, rules: int) -> Compiled:
    """An element with nothing but a rule table."""
    text = TABLE.replace("KIND", kind).replace("KEY", str(key)).replace("RULES", str(rules))
    return fastest(elements_of(text, ROOT / "table.sl")[0])


def _updates() -> Iterator[tuple[str, Compiled]]:
    """Those of `bench/updates`, by name, and the larger ones; but for one whose memory synthesis removes: no output needs it."""
    for path in sorted(set(updates.HERE.glob("*.sl")) - {updates.HERE / "flow_count.sl"}):
        text = path.read_text()
        for bits in (INDEX, *([LARGER[path.stem]] if path.stem in LARGER else [])):
            larger = text.replace(f"[{1 << INDEX}]", f"[{1 << bits}]").replace(f"uint<{INDEX}>", f"uint<{bits}>")
            compiled = fastest(elements_of(larger, path)[0])
            yield f"{compiled.element.name}_{1 << bits}", compiled


def programs() -> Iterator[tuple[str, Compiled, dict[str, float]]]:
    """Elements by name, and their terms."""
    ordinary = [compiled for path in line_rate.programs() for compiled in line_rate.own_elements(path)]
    ordinary += [flowstate.case(name, flowstate.Variant()).compiled for name in flowstate.PROGRAMS]
    for name, compiled in [*((one.element.name, one) for one in ordinary), *_updates()]:
        yield name, compiled, routed.terms(compiled.plan)
    for kind, sizes in TABLES.items():
        for key, rules in sizes:
            compiled = _table(kind, key, rules)
            (table,) = compiled.plan.pipeline.element.tables.values()
            yield compiled.element.name, compiled, routed.table_terms(table)


def main(names: Sequence[str]) -> None:
    """Place and route, and write the file; an element that was not placed and routed is left out."""
    found = json.loads(routed.FILE.read_text()) if names else {}
    every = list(programs())
    if unknown := set(names) - {name for name, *_ in every}:
        sys.exit(
            f"bench.routed: no element is called {', '.join(sorted(unknown))}; there are {', '.join(name for name, *_ in every)}"
        )
    for name, compiled, terms in every:
        if names and name not in names:
            continue
        files = {f"{compiled.module}.sv": compiled.text, **parts(compiled.text)}
        print(f"{name}: place and route", file=sys.stderr)
        try:
            seeds = [seed for seed in SEEDS if seed == SEEDS[0] or has_fmax(compiled.module, files, seed)]
            mhz = statistics.median(fmax_of(compiled.module, files, seed, timeout=TIMEOUT) for seed in seeds)
        except SynthesisError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
            continue
        found[name] = {"mhz": round(mhz, 1), **{term: round(value, 3) for term, value in terms.items()}}
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(row)}" for name, row in sorted(found.items()))
    routed.FILE.write_text("{\n" + lines + "\n}\n")
    if not names:
        ledger.record({"routed": ledger.used})


if __name__ == "__main__":
    main(sys.argv[1:])
