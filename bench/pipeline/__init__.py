# SPDX-License-Identifier: Apache-2.0
"""The programmable pipeline with 1, 2, 4 and 8 units: packets per cycle and latency by size (MPSoC paper, Fig. 9 and 10).

Each unit looks the destination up among the same routes and passes the packet to the next; the last one forwards it, with new MAC
addresses and TTL. Cycle-accurate: `el_pipeline` under Verilator, driven by `harness.cc`; every flit is compared with what a model
says. The parameters are those of the parts `pipeline` and `pipeline_2` of `./sluice cost`, the first with each number of units.
Beside it the same function as DPDK code on one core (`peer.c`) and as flow tables of OVS-DPDK (Fig. 11 to 13).
"""

from __future__ import annotations

import ipaddress
import json
import random
import statistics
import subprocess
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import sluice_layouts as L
from rich.console import Console
from rich.table import Table
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.utils import wrpcap

from bench import CLOCK_MHZ
from bench.peers import forward
from bench.peers.tables import PeerMissing, built, eal
from bench.simulator import BUILD, FAST, figures, simulator
from compiler.pipeline.actions import Operation, action, set_words
from compiler.pipeline.parser_program import HeaderProgram, read
from compiler.pipeline.pipeline_image import PipelineImage, PipelineProgram, accesses
from compiler.pipeline.unit_image import UnitEntry, UnitProgram
from models.packet import to_flits
from models.pipeline import model_of
from toolchain import ROOT
from toolchain.markdown import table as written

HERE = Path(__file__).parent
HEADERS = ROOT / "elements" / "pipeline" / "default_parser.toml"
UNITS = (1, 2, 4, 8)
PART, SMALL_PART = "pipeline", "pipeline_2"  # of `./sluice cost`
PROGRAMS = {PART: HEADERS, SMALL_PART: HERE / "short_parser.toml"}
BYTES = (64, 128, 256, 512, 1024)  # on the wire
PARTS = ROOT / "toolchain" / "synth" / "parts.toml"
ROUTES, PACKETS = 64, 1000
WORDS = (L.Flit.BITS + 31) // 32

Log = Callable[[str], None]
Routes = Sequence[ipaddress.IPv4Network]


def routes(count: int = ROUTES, seed: int = 1) -> Routes:
    """Prefixes of 8 to 32 bits, the longest first; half of them in another."""
    draw = random.Random(seed)
    found: set[ipaddress.IPv4Network] = set()
    while len(found) < count:
        inside = draw.choice(sorted(found)) if found and draw.random() < 0.5 else ipaddress.IPv4Network("0.0.0.0/0")
        if inside.prefixlen < 32:
            length = draw.randint(max(8, inside.prefixlen + 1), 32)
            address = int(inside[0]) | draw.getrandbits(32 - inside.prefixlen)
            found.add(ipaddress.IPv4Network((address, length), strict=False))
    return sorted(found, key=lambda route: -route.prefixlen)


def program(units: int, table: Routes, headers: HeaderProgram) -> PipelineProgram:
    """A unit for each lookup; the last forwards."""
    places = headers.containers
    selector = L.UnitSelector([0] * 6 + [*reversed(places["ip4_dst"])], ((1 << 32) - 1) << 96)
    rewritten = set_words(places["eth_dst"], 0x020000000001) + set_words(places["eth_src"], 0x020000000002)
    rewritten.append(Operation(places["ip4_ttl"][0], L.OPERATOR_COUNT_DOWN, mask=0xFF00))

    def unit(number: int) -> UnitProgram:
        last = number == units - 1
        entries = (
            UnitEntry(
                int(route[0]) << 96,
                int(route.netmask) << 96,
                action(rewritten, verdict=L.VERDICT_FORWARD, ports=[at % 4]) if last else action(following=number + 1),
            )
            for at, route in enumerate(table)
        )
        return UnitProgram(selector, tuple(entries), action(verdict=L.VERDICT_TO_HOST))

    return PipelineProgram(headers, tuple(unit(number) for number in range(units)))


def packets(table: Routes, wire_bytes: int, count: int = PACKETS, seed: int = 1) -> list[bytes]:
    """UDP to addresses that have a route, without FCS."""
    draw = random.Random(seed)
    found = []
    for _ in range(count):
        route = draw.choice(table)
        address = ipaddress.IPv4Address(int(route[0]) | draw.getrandbits(32) & int(route.hostmask))
        packet = Ether(src="02:00:00:00:00:0a", dst="02:00:00:00:00:0b") / IP(src="10.0.0.1", dst=str(address)) / UDP()
        found.append(bytes(packet / Raw(bytes(wire_bytes - 4 - len(packet)))))
    return found


def _flits(path: Path, sent: Sequence[tuple[bytes, L.Meta]]) -> Path:
    path.write_bytes(b"".join(f.to_int().to_bytes(4 * WORDS, "little") for data, meta in sent for f in to_flits(data, meta)))
    return path


def parameters(part: str = PART, **others: int) -> dict[str, int]:
    """Of `el_pipeline`: those of a part of `./sluice cost`, but for `others`."""
    given = tomllib.loads(PARTS.read_text())[part]["parameters"]
    return {"Stages": L.PARSER_STAGES, "Writers": L.DEPARSER_WRITERS, **given, **others}


def row(
    part: str,
    wire_bytes: int,
    table: Routes,
    count: int = PACKETS,
    options: Sequence[str] = FAST,
    **others: int,
) -> dict[str, Any]:
    """Figures of one size, of a part with other parameters. Raises CalledProcessError, RuntimeError."""
    sizes = parameters(part, **others)
    built = simulator("pipeline", "el_pipeline", HERE / "harness.cc", sizes, options=options)
    loaded = program(sizes["Units"], table, read(PROGRAMS[part], sizes["Stages"]))
    order = ("Stages", "Units", "Writers", "ExactEntries", "TernaryEntries")
    image = PipelineImage.of(*(sizes[name] for name in order)).with_program(loaded, 0)
    writes = built.parent / "writes"
    writes.write_bytes(b"".join(word.to_bytes(4, "little") for access in accesses(image.writes()) for word in access))
    model, drawn = model_of(loaded), packets(table, wire_bytes, count)
    left = [out for data in drawn for out in model.run(data, 0)]
    entering = _flits(built.parent / f"in-{wire_bytes}", [(data, L.Meta(length=len(data))) for data in drawn])
    found = figures(built, writes, entering, _flits(built.parent / f"out-{wire_bytes}", left))
    latency = found.pop("latency_cycles")
    return {
        "part": part,
        "units": sizes["Units"],
        "bytes": wire_bytes,
        **found,
        "latency_cycles": round(latency["average"]),
        "latency_max": latency["max"],
    }


def peer(units: int, wire_bytes: int, table: Routes) -> dict[str, Any]:
    """DPDK code and OVS-DPDK with the same function, on one core each: packets a second, or why they could not be measured."""
    capture, file = BUILD / f"pipeline-{wire_bytes}.pcap", BUILD / "pipeline.routes"
    BUILD.mkdir(parents=True, exist_ok=True)
    wrpcap(str(capture), [Ether(data) for data in packets(table, wire_bytes)])
    file.write_text("".join(f"{route}\n" for route in table))
    vdevs = ("--vdev", f"net_pcap0,rx_pcap={capture},infinite_rx=1", "--vdev", "net_null0,no-rx=1")
    found: dict[str, Any] = {"units": units, "bytes": wire_bytes}
    try:
        command = [str(built(HERE / "peer.c", "pipeline_peer")), str(units), str(file), *eal("pipeline", 1024), *vdevs]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        found["dpdk_packets_per_s"] = round(statistics.median(json.loads(done.stdout.strip().splitlines()[-1])))
        found["ovs_packets_per_s"] = round(forward.ovs_dpdk(capture, list(_flows(units, table)))["packets_per_s"])
    except (PeerMissing, OSError, RuntimeError, subprocess.SubprocessError, ValueError) as reason:
        found["missing"] = str(reason)
    return found


def _flows(units: int, table: Routes) -> list[str]:
    last = "dec_ttl,mod_dl_dst:02:00:00:00:00:01,mod_dl_src:02:00:00:00:00:02,output:2"
    return [
        f"table={number},priority={route.prefixlen},ip,nw_dst={route},"
        f"actions={last if number == units - 1 else f'resubmit(,{number + 1})'}"
        for number in range(units)
        for route in table
    ]


def measure(log: Log, peers: bool = True) -> dict[str, Any]:
    """All figures of the benchmark; `log` is told what goes on."""
    table, rows = routes(), []
    for units in UNITS:
        log(f"{units} units, packets of {BYTES[0]} to {BYTES[-1]} bytes")
        rows += [row(PART, size, table, Units=units) for size in BYTES]
    log(f"part {SMALL_PART}, packets of {BYTES[0]} to {BYTES[-1]} bytes")
    result: dict[str, Any] = {
        "rows": rows,
        "small_rows": [row(SMALL_PART, size, table) for size in BYTES],
        "parameters": {**{str(units): parameters(Units=units) for units in UNITS}, SMALL_PART: parameters(SMALL_PART)},
        "routes": len(table),
        "rate_clock_mhz": CLOCK_MHZ,
    }
    if peers:
        result["peers"] = []
        for units in UNITS:
            log(f"DPDK code and OVS-DPDK on one core, {units} lookups")
            result["peers"].append(peer(units, BYTES[0], table))
    return result


def show(result: dict[str, Any], console: Console) -> None:
    """The figures as tables."""
    shown = Table(
        "part", "units", "bytes", "packets/cycle", "flits/cycle", "latency, cycles", "wrong flits", title="programmable pipeline"
    )
    for one in (*result["rows"], *result["small_rows"]):
        rates = (f"{one[name]:.3f}" for name in ("packets_per_cycle", "flits_per_cycle"))
        shown.add_row(
            one["part"], str(one["units"]), str(one["bytes"]), *rates, str(one["latency_cycles"]), str(one["wrong_flits"])
        )
    console.print(shown)
    for one in result.get("peers", []):
        console.print(json.dumps(one))


def tables(result: dict[str, Any]) -> dict[str, str]:
    """The tables of the docs."""
    peers = {one["units"]: one for one in result.get("peers", [])}
    clock = result["rate_clock_mhz"]
    measured = [*result["rows"], *result["small_rows"]]
    rows = []
    for part, units in dict.fromkeys((one["part"], one["units"]) for one in measured):
        sizes = [one for one in measured if (one["part"], one["units"]) == (part, units)]
        small = min(sizes, key=lambda one: one["bytes"])
        beside = peers.get(units, {}) if part == PART else {}
        rates = [beside.get(name) for name in ("dpdk_packets_per_s", "ovs_packets_per_s")]
        latency = [one["latency_cycles"] for one in sizes]
        rows.append(
            (
                f"`{part}`",
                units,
                f"{min(one['flits_per_cycle'] for one in sizes):.3f}",
                f"{min(latency)} to {max(latency)}",
                f"{small['packets_per_cycle'] * clock:.0f}",
                *(f"{rate / 1e6:.2f}" if rate else None for rate in rates),
            )
        )
    head = (
        "part",
        "units",
        "flits a cycle, least of all sizes",
        "latency, cycles",
        f"64 bytes: M/s at {clock:g} MHz",
        "DPDK code, M/s",
        "OVS-DPDK, M/s",
    )
    return {"pipeline": written(head, rows)}
