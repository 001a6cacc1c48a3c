# SPDX-License-Identifier: Apache-2.0
"""Every element of the library as hardware: II and its proof, stages, tokens a cycle in simulation, area on UltraScale+ and ECP5.

Beside those that ClickNP measured (Table 2: on a Stratix V; clock after place and route, delay in its cycles) stands its row.
Tokens are packets of 64 bytes, one flit each, on packet ports, and random elsewhere. All at full size, but on the ECP5 at the
largest that fits. Every figure is kept under the text that it is of (`build/bench/elements`, and what the tools keep): a run that
was broken off goes on where it was. Clocks after place and route (ECP5) are there where they were measured before, or with
`--fmax`: hours.
"""

from __future__ import annotations

import functools
import hashlib
import json
import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.compiled import Rate, Streams, compiled_or_error, elements, elements_of, flits, rates
from bench.elements import golden
from bench.updates import frames
from compiler.certificate import certify, parts, verdict
from compiler.compile import Compiled
from compiler.frontend import typed
from compiler.native import has_native, native, with_parts
from compiler.schedule import routed
from toolchain import ROOT
from toolchain.markdown import table as written
from toolchain.simulate import TOOLCHAIN
from toolchain.synth import ledger
from toolchain.synth.flow import SynthesisError
from toolchain.synth.generated import area_of, fmax_of, has_area, has_fmax

FOLDER = ROOT / "elements"
KEPT = ROOT / "build" / "bench" / "elements"
TOKENS = 300  # an input
CLOCKS_MHZ = (200.0, 150.0)  # the first at which II is the smallest
PACKET_BYTES = 64
SYNTHESIS_SECONDS = 7200.0
SEEDS = (1, 2, 3)  # of place and route
TARGETS = ("xcup", "ecp5")
CLOSE = 0.12  # relative error of an estimate of the clock
# What an element costs that does nothing.
EMPTY = """.element Empty (packet in -> packet out) {
    .handler { write(out, read(in)); }
}
"""
# What does not fit into the 208 memory blocks of the ECP5-5G 85k: a parameter as it is written, and the largest that fits.
FITTING = {
    "CuckooHash": ("Entries = 32768", "Entries = 4096"),
    "HashTCAM": ("Groups = 16, Entries = 1024", "Groups = 8, Entries = 1024"),
    "TCAM": ("Groups = 4, Entries = 512", "Groups = 3, Entries = 128"),  # 2 x 256 takes 212 block RAMs of 208
}
# TernaryRules takes the place of these: not placed and routed, which takes hours, and of the second an area only where it is known,
# which takes a core more than an hour.
UNPLACED, UNSYNTHESISED = {"HashTCAM", "TCAM"}, {"TCAM"}
REPLACED = "TernaryRules takes its place"
# Table 2 of ClickNP (SIGCOMM 2016): MHz, peak Gbps or Mpps, delay in cycles, percent of the chip's logic and block RAM.
CLICKNP = {
    "L4Parser": {"mhz": 221.93, "gbps": 113.6, "delay_cycles": 11, "logic_percent": 0.8, "bram_percent": 0.2},
    "IPChecksum": {"mhz": 226.8, "gbps": 116.1, "delay_cycles": 18, "logic_percent": 2.3, "bram_percent": 1.3},
    "NVGREEncap": {"mhz": 221.8, "gbps": 113.6, "delay_cycles": 9, "logic_percent": 1.5, "bram_percent": 0.6},
    "CuckooHash": {"mhz": 209.7, "mpps": 209.7, "delay_cycles": 38, "logic_percent": 2.0, "bram_percent": 65.5},
    "HashTCAM": {"mhz": 207.4, "mpps": 207.4, "delay_cycles": 48, "logic_percent": 18.7, "bram_percent": 22.0},
    "LPMTree": {"mhz": 221.8, "mpps": 221.8, "delay_cycles": 181, "logic_percent": 4.3, "bram_percent": 13.2},
    "FlowCache": {"mhz": 105.6, "mpps": 105.6, "delay_cycles": 27, "logic_percent": 5.6, "bram_percent": 46.9},
    "RateLimiter": {"mhz": 141.5, "mpps": 141.5, "delay_cycles": 14, "logic_percent": 16.9, "bram_percent": 14.1},
}

Log = Callable[[str], None]
Row = dict[str, Any]


def library() -> list[Path]:
    """Files of the elements that are written in the language."""
    return sorted(path for path in FOLDER.glob("*/*.sl") if path.stem == path.parent.name)


def streams(element: typed.Element, tokens: int) -> Streams:
    """`tokens` for every input."""
    choose = random.Random(element.name)
    packets = flits(element, frames(1000, tokens)) if any(port.is_packet for port in element.inputs) else []
    return {
        port.name: packets if port.is_packet else [choose.getrandbits(port.type.bits) for _ in range(tokens)]
        for port in element.inputs
    }


def rows(log: Log, paths: Sequence[Path], tokens: int = TOKENS, area: bool = True, fmax: bool = False, jobs: int = 1) -> list[Row]:
    """One row an element, that of the empty element first; `missing` says why figures are not there, or is empty."""
    chosen = [(path, e) for path in paths for e in elements(path) if e.source_name.lower() == path.stem]
    found: list[Row] = []
    sizes: list[Callable[[], Row]] = []  # what takes longest, last
    for path, element in [(None, elements_of(EMPTY, ROOT / "empty.sl")[0]), *chosen]:
        compiled, error = compiled_or_error(element, CLOCKS_MHZ)
        row: Row = {"element": element.source_name, "clicknp": CLICKNP.get(element.source_name)}
        found.append(row | {"missing": error} | ({} if compiled is None else _speed(log, compiled, tokens)))
        sizes.append(functools.partial(_size, log, compiled, path, fmax) if compiled is not None and area else dict)
    with ThreadPoolExecutor(jobs) as pool:  # the work is in the tools' processes
        return [row | size for row, size in zip(found, pool.map(lambda make: make(), sizes), strict=True)]


def _speed(log: Log, compiled: Compiled, tokens: int) -> Row:
    """II and its proof, stages, and tokens a cycle."""
    name, plan = compiled.element.source_name, compiled.plan
    log(f"{name}: the proof of its II")
    row: Row = {
        "ii": plan.interval,
        "depth": plan.depth,
        "clock_mhz": round(1000 / plan.clock, 1),
        "state_bits": sum(memory.width * memory.entries for memory in plan.pipeline.element.memories.values()),
        **certify(compiled).to_row(),
    }
    log(f"{name}: simulation")
    row |= kept(f"{name}-rate", (compiled.text, _files(compiled), tokens, plan.clock), lambda: _rate(compiled, tokens))
    return row


def _size(log: Log, compiled: Compiled, path: Path | None, fmax: bool) -> Row:
    """Area on both targets, clock on one; `path`: of the element's file."""
    name = compiled.element.source_name
    row: Row = {target: _area(log, _fitting(compiled, path, target), target) for target in TARGETS}
    clock = _fmax(log, _fitting(compiled, path, "ecp5"), fmax)
    row["ecp5"] |= clock
    if "fmax_mhz" in clock:
        row["mhz"] = clock["fmax_mhz"]
    row["ecp5"]["estimated_mhz"] = round(1000 / routed.period(_fitting(compiled, path, "ecp5").plan), 1)
    row["ecp5"]["size"] = FITTING[name][1] if name in FITTING else "full"
    row["native"] = _native(log, compiled, row["xcup"])
    row["changed"] = golden.compared(name, row["xcup"], row["ecp5"] if fmax else None)
    return row


def kept(name: str, key: object, make: Callable[[], Row]) -> Row:
    """What `make` gives, once for every key and set of tools."""
    digest = hashlib.sha256(repr((key, TOOLCHAIN.read_text())).encode()).hexdigest()[:16]
    path = KEPT / f"{name}-{digest}.json"
    if not path.exists():
        made = make()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(made) + "\n")
    result: Row = json.loads(path.read_text())
    return result


def _fitting(compiled: Compiled, path: Path | None, target: str) -> Compiled:
    """The element, or for the ECP5 the largest of its kind that fits there."""
    given = FITTING.get(compiled.element.source_name)
    if target != "ecp5" or given is None or path is None:
        return compiled
    text = path.read_text()
    if given[0] not in text:
        raise ValueError(f"{path} has no {given[0]!r}")
    smaller = elements_of(text.replace(*given), path)
    return next(
        filter(None, (compiled_or_error(e, CLOCKS_MHZ)[0] for e in smaller if e.source_name == compiled.element.source_name))
    )


def _rate(compiled: Compiled, tokens: int) -> Row:
    """What a run showed. Raises RuntimeError where there was none to speak of."""
    given = {"element": streams(compiled.element, tokens)}
    rate: Rate = rates({"element": compiled}, given)["element"]
    if not rate.iterations:
        raise RuntimeError(f"{compiled.element.name} took no tokens")
    per_cycle = round(1 / rate.cycles, 4)
    row = {"tokens_per_cycle": per_cycle, "disagreement": rate.disagreement}
    has_packets = any(port.is_packet for port in compiled.element.inputs)
    return row | ({"bytes_per_cycle": round(PACKET_BYTES * per_cycle, 2)} if has_packets else {})


def _files(compiled: Compiled) -> Mapping[str, str]:
    text = compiled.text
    return {f"{compiled.module}.sv": text, **parts(text)}


def _area(log: Log, compiled: Compiled, target: str) -> Row:
    """LUTs, flip-flops and memory blocks (RAMB36 or DP16KD), or why not."""
    files = _files(compiled)
    if compiled.element.source_name in UNSYNTHESISED and not has_area(compiled.module, files, target):
        return {"skipped": REPLACED}
    log(f"{compiled.element.name}: synthesis for {target}")
    try:
        area = area_of(compiled.module, files, target, SYNTHESIS_SECONDS)
    except SynthesisError as error:
        return {"missing": str(error)}
    return {"lut": area.lut, "ff": area.ff, "lutram": area.lutram, "bram": area.bram}


def _native(log: Log, compiled: Compiled, generated: Row) -> Row | None:
    """The area of the native body on UltraScale+, and what the generated one takes over it (1.0 where both take none)."""
    if not has_native(compiled):
        return None
    log(f"{compiled.element.name}: synthesis of its native body")
    try:
        area = area_of(compiled.module, with_parts(native(compiled)), "xcup", SYNTHESIS_SECONDS)
    except SynthesisError as error:
        return {"missing": str(error)}
    row: Row = {"lut": area.lut, "ff": area.ff, "lutram": area.lutram, "bram": area.bram}
    if "missing" not in generated:
        row["generated_over_native"] = {kind: _ratio(generated[kind], row[kind]) for kind in ("lut", "ff", "bram")}
    return row


def _ratio(generated: float, by_hand: float) -> float | None:
    return round(generated / by_hand, 2) if by_hand else None if generated else 1.0


def _fmax(log: Log, compiled: Compiled, wanted: bool) -> Row:
    """MHz after place and route, the median and that of every seed, where they are known or wanted."""
    files = _files(compiled)
    if compiled.element.source_name in UNPLACED:
        return {"fmax_missing": f"not placed: {REPLACED}"}
    if not (wanted or all(has_fmax(compiled.module, files, seed) for seed in SEEDS)):
        return {}
    log(f"{compiled.element.name}: place and route, {len(SEEDS)} seeds")
    try:
        clocks = [round(fmax_of(compiled.module, files, seed), 1) for seed in SEEDS]
    except SynthesisError as error:
        return {"fmax_missing": str(error)}
    return {"fmax_mhz": statistics.median(clocks), "clocks": clocks}


def measure(log: Log, peers: bool = True, fmax: bool = False, bless: bool = False, jobs: int = 1) -> dict[str, Any]:
    """All figures; the peer is a published table, and is always there. `bless`: areas are as they are to be."""
    del peers
    found = rows(log, library(), fmax=fmax, jobs=jobs)
    if bless:
        golden.write({row["element"]: _golden(row) for row in found})
    return {
        "clocks_mhz": CLOCKS_MHZ,
        "tokens": TOKENS,
        "elements": found,
        "slowest_mhz": slowest(found),
        "estimate": judged(found),
        "ledger": ledger.used,
    }


def slowest(found: Sequence[Row]) -> float | None:
    """The lowest clock after place and route (ECP5), or None where none is known."""
    return min((row["ecp5"]["fmax_mhz"] for row in found if "fmax_mhz" in row.get("ecp5", {})), default=None)


def judged(found: Sequence[Row]) -> Row:
    """How far the estimates of the clock are off: the share of the elements within CLOSE, and the largest error upwards and down,
    relative to what was placed and routed. An element of nothing but wires is not counted."""
    placed = [row["ecp5"] for row in found if "fmax_mhz" in row.get("ecp5", {}) and row["ecp5"].get("ff", 1)]
    errors = [row["estimated_mhz"] / row["fmax_mhz"] - 1 for row in placed]
    if not errors:
        return {"elements": 0}
    close = sum(abs(error) <= CLOSE for error in errors) / len(errors)
    return {
        "elements": len(errors),
        "close": round(close, 3),
        "optimistic": round(max(errors), 3),
        "pessimistic": round(min(errors), 3),
    }


def _golden(row: Row) -> Row:
    """What is to stay as it is."""
    kept: Row = {kind: row[kind] for kind in ("ii", "depth", "clock_mhz") if kind in row}
    if "lut" in row.get("xcup", {}):
        kept["xcup"] = row["xcup"]
    mhz = row.get("ecp5", {}).get("fmax_mhz")
    return kept if mhz is None else {**kept, "fmax_mhz": mhz}


def show(result: dict[str, Any], console: Console) -> None:
    """The figures as a table."""
    heads = ("xcup LUT", "FF", "RAMB36", "over native: LUT, FF", "ECP5 LUT", "DP16KD", "MHz", "estimated", "size")
    table = Table("element", "MHz asked", "II", "stages", "certified", "tokens a cycle", *heads, "ClickNP: MHz, delay")
    for row in result["elements"]:
        peer, ecp5 = row["clicknp"], row.get("ecp5", {})
        certified = verdict(row["proof"], row["ii"]) if "proof" in row else ""
        figures = [row.get("clock_mhz", ""), row.get("ii", ""), row.get("depth", ""), certified, row.get("tokens_per_cycle", "")]
        figures += [row.get("xcup", {}).get(kind, "") for kind in ("lut", "ff", "bram")]
        ratio = (row.get("native") or {}).get("generated_over_native")
        figures.append(f"{ratio['lut']}, {ratio['ff']}" if ratio else "")
        figures += [ecp5.get(kind, "") for kind in ("lut", "bram", "fmax_mhz", "estimated_mhz", "size")]
        table.add_row(row["element"], *map(str, figures), f"{peer['mhz']:g}, {peer['delay_cycles']}" if peer else "")
    console.print(table)
    if (estimate := result["estimate"])["elements"]:
        console.print(
            f"estimated clocks of {estimate['elements']} elements: {estimate['close']:.0%} within {CLOSE:.0%}, at most "
            f"{estimate['optimistic']:.0%} above what was placed and routed, and {-estimate['pessimistic']:.0%} below"
        )
    for text in (text for row in result["elements"] for text in row.get("changed", [])):
        console.print(f"[yellow]{text}[/]; if this is intended: ./sluice bench elements --bless")


def tables(result: dict[str, Any]) -> dict[str, str]:
    """The tables of the docs: all elements, and those with a native body."""
    rows, over = [], []
    for row in result["elements"]:
        xcup, ecp5, peer = row.get("xcup", {}), row.get("ecp5", {}), row["clicknp"]
        size = f" ({ecp5['size']})" if ecp5.get("size", "full") != "full" else ""
        figures = [row.get("ii"), row.get("depth"), verdict(row["proof"], row["ii"]) if "proof" in row else None]
        figures += [row.get("tokens_per_cycle"), _three(xcup)]
        clock = f"{ecp5['fmax_mhz']:.0f}, {ecp5['estimated_mhz']:.0f}{size}" if "fmax_mhz" in ecp5 else None
        rows.append((row["element"], *figures, clock, f"{peer['delay_cycles']}, {peer['mhz']:g}" if peer else None))
        if ratio := (row.get("native") or {}).get("generated_over_native"):
            over.append(
                (
                    row["element"],
                    _three(xcup),
                    _three(row["native"]),
                    ", ".join("-" if one is None else f"{one:g}" for one in ratio.values()),
                )
            )
    area = "UltraScale+ LUT / FF / BRAM36"
    heads = (
        "element",
        "II",
        "stages",
        "certified",
        "tokens a cycle",
        area,
        "ECP5-5G MHz: routed, estimated",
        "ClickNP: cycles, MHz",
    )
    return {
        "elements": written(heads, rows),
        "elements-native": written(("element", f"generated: {area}", "native body", "generated over native"), over),
    }


def _three(area: Row) -> str | None:
    return f"{area['lut']} / {area['ff']} / {area['bram']:g}" if "lut" in area else None
