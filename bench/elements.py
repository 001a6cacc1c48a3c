# SPDX-License-Identifier: Apache-2.0
"""Every element of the library as hardware: II and its proof, stages, tokens a cycle in simulation, area on UltraScale+.

Beside those that ClickNP measured (Table 2: on a Stratix V; clock after place and route, delay in its cycles) stands its row.
Tokens are packets of 64 bytes, one flit each, on packet ports, and random elsewhere; areas are of Yosys, without place and route.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.compiled import Rate, Streams, compiled_or_error, elements, flits, rates
from bench.updates import frames
from compiler.certificate import certify, parts
from compiler.compile import Compiled
from compiler.frontend import typed
from testing.simulate import ROOT
from tools.synth.flow import SynthesisError
from tools.synth.generated import area_of

FOLDER = ROOT / "elements"
TOKENS = 300  # an input
CLOCK_MHZ = 200.0
PACKET_BYTES = 64
MOST_BITS = 1 << 22  # of state; elements with more are neither simulated nor synthesised here: it takes minutes
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


def rows(log: Log, paths: Sequence[Path], tokens: int = TOKENS, area: bool = True) -> list[dict[str, Any]]:
    """One row an element; `missing` says why figures are not there."""
    found: dict[str, Compiled] = {}
    result: list[dict[str, Any]] = []
    for element in [e for path in paths for e in elements(path) if e.source_name.lower() == path.stem]:
        row: dict[str, Any] = {"element": element.source_name, "clicknp": CLICKNP.get(element.source_name)}
        compiled, error = compiled_or_error(element, (CLOCK_MHZ,))
        result.append(row | ({"missing": error} if compiled is None else _static(compiled, log)))
        if compiled is not None and "missing" not in result[-1]:
            found[element.source_name] = compiled
    log(f"simulation of {len(found)} elements")
    measured = rates(found, {name: streams(one.element, tokens) for name, one in found.items()})
    for row in result:
        name = row["element"]
        if name in found:
            row |= _rate(found[name], measured[name])
            if area:
                log(f"{name}: synthesis")
                row["xcup"] = _area(found[name])
    return result


def _static(compiled: Compiled, log: Log) -> dict[str, Any]:
    """What needs no run."""
    log(f"{compiled.element.name}: the proof of its II")
    plan = compiled.plan
    bits = sum(memory.width * memory.entries for memory in plan.pipeline.element.memories.values())
    row = {
        "ii": plan.interval,
        "depth": plan.depth,
        "clock_mhz": round(1000 / plan.clock, 1),
        "state_bits": bits,
        "certificate": certify(compiled).to_json(),
    }
    return row | ({"missing": f"no run and no area: {bits} bits of state, more than {MOST_BITS}"} if bits > MOST_BITS else {})


def _rate(compiled: Compiled, rate: Rate) -> dict[str, Any]:
    """What a run showed. Raises RuntimeError where there was none to speak of."""
    if not rate.iterations:
        raise RuntimeError(f"{compiled.element.name} took no tokens")
    per_cycle = round(1 / rate.cycles, 4)
    row = {"tokens_per_cycle": per_cycle, "disagreement": rate.disagreement}
    has_packets = any(port.is_packet for port in compiled.element.inputs)
    return row | ({"bytes_per_cycle": round(PACKET_BYTES * per_cycle, 2)} if has_packets else {})


def _area(compiled: Compiled) -> dict[str, Any]:
    """LUTs, flip-flops and RAMB36 of UltraScale+, or why not."""
    text = compiled.text
    try:
        area = area_of(compiled.module, {f"{compiled.module}.sv": text, **parts(text)}, "xcup", timeout=600)
    except SynthesisError as error:
        return {"missing": str(error)}
    return {"lut": area.lut, "ff": area.ff, "lutram": area.lutram, "bram": area.bram}


def measure(log: Log, peers: bool = True) -> dict[str, Any]:
    """All figures; the peer is a published table, and is always there."""
    del peers
    return {"clock_mhz": CLOCK_MHZ, "tokens": TOKENS, "elements": rows(log, library())}


def show(result: dict[str, Any], console: Console) -> None:
    """The figures as a table."""
    table = Table("element", "II", "stages", "certified", "tokens a cycle", "LUT", "FF", "RAMB36", "ClickNP: MHz, delay")
    for row in result["elements"]:
        peer = row["clicknp"]
        certified = "" if "certificate" not in row else "no" if row["certificate"]["failure"] else "yes"
        areas = [str(row.get("xcup", {}).get(kind, "")) for kind in ("lut", "ff", "bram")]
        figures = [str(row.get("ii", "")), str(row.get("depth", "")), certified, str(row.get("tokens_per_cycle", "")), *areas]
        table.add_row(row["element"], *figures, f"{peer['mhz']:g}, {peer['delay_cycles']}" if peer else "")
    console.print(table)
