# SPDX-License-Identifier: Apache-2.0
"""The table of ternary rules of the host (`host/ternary`): lookups while rules change, beside DPDK's static rte_acl and two dynamic
rivals, tuple space search as in Open vSwitch and as in TupleMerge (`tuple_space.c`).

One core, processor time, contenders in turn within a run (`harness.c`); ratios are medians of ratios within a turn. Rules have the
statistics of ClassBench's seeds (`generate.py`). No result is kept between lookups. A wrong answer is a figure, not an error.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.peers.tables import BUILD, PeerMissing, eal
from bench.ternary import generate
from host.build import c_files, compile_c
from toolchain.markdown import table as written

HERE = Path(__file__).parent
SIZES, SEEDS, TRAFFIC, CHANGES = (1000, 8000, 64000), ("acl1", "fw1", "ipc1"), ("uniform", "zipf", "miss"), (0, 10_000, 100_000)
HEADERS, SECONDS, PATIENCE = 1_000_000, 0.1, 300
LARGEST_STATIC = 8000  # rte_acl takes minutes and gigabytes to build for more
DYNAMIC = ("ovs_tss", "tuple_merge")
STATIC = ("rte_acl", "rte_acl_avx512")

Log = Callable[[str], None]


def built(sources: Sequence[Path] = ()) -> Path:
    """The harness, with other sources of the table where given. Raises PeerMissing without DPDK's headers."""
    found = subprocess.run(["pkg-config", "--cflags", "libdpdk"], capture_output=True, text=True, check=False)
    if found.returncode != 0:
        raise PeerMissing("DPDK's headers are missing: toolchain/setup/setup.sh --bench")
    libraries = ("-Wl,--no-as-needed", "-lrte_acl", "-lrte_eal")  # they stand before their users
    table = [*(sources or c_files(["ternary"]))]
    flags = ["-O3", "-march=native", "-Wno-conversion", f"-I{table[0].parent}", *shlex.split(found.stdout), *libraries]
    return compile_c("bench-ternary-{}", flags, [*table, HERE / "harness.c", HERE / "tuple_space.c"])


def rules_file(seed: str, count: int) -> Path:
    """A file with that many rules and a quarter more as the pool of changes."""
    path = BUILD / f"ternary-{seed}-{count}-{os.getpid()}.rules"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{generate.text(rule)}\n" for rule in generate.rules(seed, count * 5 // 4)))
    return path


def run(
    program: Path, rules: Path, count: int, traffic: str, changes: int, headers: int = HEADERS, seconds: float = SECONDS
) -> dict[str, Any]:
    """One run of the harness. Raises RuntimeError with its words."""
    options = [*eal(f"ternary-{os.getpid()}", 2048), "--force-max-simd-bitwidth=512"]
    figures = [count, traffic, changes, headers, seconds, int(count <= LARGEST_STATIC)]
    command = [str(program), str(rules), *map(str, figures), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"harness: status {done.returncode}: {done.stderr.strip()[-1000:]}")
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def row(found: dict[str, Any], count: int, seed: str, traffic: str, changes: int) -> dict[str, Any]:
    """What the benchmark shows of a run. `ratio_to_rte_acl` is to the faster of its two kinds of instructions."""
    contenders = found["contenders"]
    static = [contenders[name]["ratio"] for name in STATIC if name in contenders]
    return {
        "rules": count,
        "seed": seed,
        "traffic": traffic,
        "changes_per_s": changes,
        "mlookups": contenders["sluice"]["mlookups"],
        "ratio_to_rte_acl": min(static) if static else None,
        "ratio_to_ovs": contenders["ovs_tss"]["ratio"],
        "ratio_to_dynamic": min(contenders[name]["ratio"] for name in DYNAMIC),
        "p999_change_us": found["p999_change_us"],
        "memory_mb": found["memory_mb"],
        "wrong": contenders["sluice"]["wrong"],
        **{key: found[key] for key in ("p50_change_us", "groups", "most_compares", "checked")},
        "contenders": contenders,
    }


def measure(
    log: Log,
    peers: bool = True,
    sizes: Sequence[int] = SIZES,
    seeds: Sequence[str] = SEEDS,
    traffic: Sequence[str] = TRAFFIC,
    changes: Sequence[int] = CHANGES,
    headers: int = HEADERS,
    seconds: float = SECONDS,
) -> dict[str, Any]:
    """All rows. The rivals belong to the measurement, so `peers` is not heeded."""
    del peers
    try:
        program = built()
    except PeerMissing as reason:
        return {"missing": str(reason), "rows": []}
    rows = []
    for count in sizes:
        for seed in seeds:
            log(f"{count} rules of {seed}")
            rules = rules_file(seed, count)
            for kind in traffic:
                for rate in changes:
                    rows.append(row(run(program, rules, count, kind, rate, headers, seconds), count, seed, kind, rate))
    return {"headers": headers, "rows": rows, "at_8000": worst(rows, 8000), "at_64000": worst(rows, 64000)}


def worst(rows: Sequence[dict[str, Any]], count: int) -> dict[str, Any]:
    """Over all rows of a size: the worst of each figure with an aim."""
    ours = [one for one in rows if one["rules"] == count]
    if not ours:
        return {}
    found: dict[str, Any] = {
        "ratio_to_dynamic": min(one["ratio_to_dynamic"] for one in ours),
        "p999_change_us": max(one["p999_change_us"] for one in ours),
    }
    for name, rate in (("unchanged", 0), ("changed", 100_000)):
        ratios = [one["ratio_to_rte_acl"] for one in ours if one["changes_per_s"] == rate and one["ratio_to_rte_acl"] is not None]
        if ratios:
            found[f"{name}_ratio_to_rte_acl"] = min(ratios)
    return found


COLUMNS = {
    "rules": "rules",
    "seed": "seed",
    "traffic": "traffic",
    "changes_per_s": "changes a second",
    "mlookups": "M lookups/s",
    "ratio_to_rte_acl": "of rte_acl",
    "ratio_to_dynamic": "of the best dynamic",
    "p999_change_us": "99.9 % of changes, us",
    "memory_mb": "MB",
    "wrong": "wrong",
}


def show(result: dict[str, Any], console: Console) -> None:
    """The figures as a table."""
    table = Table(title="ternary rules on one core")
    for title in COLUMNS.values():
        table.add_column(title, justify="right")
    for one in result["rows"]:
        table.add_row(*(str(one[key]) for key in COLUMNS))
    console.print(table)
    if "missing" in result:
        console.print(result["missing"])


def tables(result: dict[str, Any]) -> dict[str, str]:
    """The table of the docs: a line for each list and traffic, without changes and with the most."""
    rates = sorted({one["changes_per_s"] for one in result["rows"]})
    shown = {
        "mlookups": "M lookups/s",
        "ratio_to_rte_acl": "of rte_acl",
        "ratio_to_ovs": "of OVS's",
        "ratio_to_dynamic": "of the best dynamic",
    }
    lines: dict[tuple[Any, ...], dict[int, dict[str, Any]]] = {}
    for one in result["rows"]:
        lines.setdefault((one["rules"], one["seed"], one["traffic"]), {})[one["changes_per_s"]] = one
    cells = [
        (*key, *(_pair(line, name, rates) for name in shown), line[rates[-1]]["p999_change_us"], line[rates[-1]]["memory_mb"])
        for key, line in lines.items()
    ]
    heads = ("rules", "seed", "traffic", *shown.values(), "99.9 % of changes, us", "MB")
    wrong = sum(one["wrong"] for one in result["rows"])
    most = f"Without changes, and with {rates[-1]:,} a second. Wrong answers: {wrong}."
    return {"ternary": f"{most}\n\n{written(heads, cells)}"}


def _pair(line: dict[int, dict[str, Any]], name: str, rates: Sequence[int]) -> str | None:
    values = [line[rate][name] for rate in (rates[0], rates[-1])]
    return None if None in values else ", ".join(f"{value:.2f}" for value in values)
