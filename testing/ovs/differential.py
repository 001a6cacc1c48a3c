# SPDX-License-Identifier: Apache-2.0
"""The same packets through OVS alone and through OVS with the device: what leaves each lane must be equal, flow by flow.

`python -m testing.ovs.differential [--pipeline normal ...] [--packets 60000] [--json]`. Packets are those of testing/captures in
the order of their time stamps; then they come again, a quarter of them damaged, with packets of every header there is between
them. Addresses of Ethernet stay, so that a switch learns the same in any order. Exit status 1: something differs.
"""

from __future__ import annotations

import json
import lzma
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import sluice_layouts as layouts
import typer
from rich.console import Console
from scapy.utils import RawPcapReader

from models import traffic
from models.packet import parse
from testing.ovs import device as devices
from testing.ovs.pipelines import LANES, NAMES, PIPELINES, Pipeline
from testing.ovs.replay import Left, Packets, alone, with_device
from testing.ovs.switch import clean_up_on_sigterm
from toolchain import ROOT
from toolchain.markdown import table

CAPTURES = ROOT / "testing" / "captures"
MACS = 12  # bytes of a frame that no damage touches
DAMAGED = 0.25
UDP_PORT = slice(34, 36)  # source port of the outer header of a tunnel over untagged IPv4
TUNNEL = 50  # bytes of the outer headers
SHOWN = 5


@dataclass
class Difference:
    """Frames of a flow that only one of the two sent."""

    lane: int
    flow: str
    alone: int
    device: int
    frame: str  # of the first, in hexadecimal


@dataclass
class Result:
    """What a pipeline came to."""

    pipeline: str
    packets: int
    left: int
    flows: int
    offloaded: int
    in_hardware: int
    reordered_flows: int  # but for malformed packets among theirs
    malformed_reordered: int  # flows of which only malformed packets left in another order
    reasons: dict[str, int]  # why the other flows are not in hardware, and how many
    differences: list[Difference] = field(default_factory=list)
    seconds: float = 0.0


def captured() -> list[tuple[int, bytes]]:
    """The packets of the project's captures, in the order of their time stamps."""
    found = []
    for lane in range(LANES):
        file: Any = lzma.open(CAPTURES / f"lane{lane}.pcap.xz")  # noqa: SIM115, the reader closes it
        with RawPcapReader(file) as reader:
            found += [((about.sec, about.usec), lane, bytes(data)) for data, about in reader]
    return [(lane, data) for _, lane, data in sorted(found, key=lambda one: one[:2])]


def packets(count: int, seed: int = 1) -> list[tuple[int, bytes]]:
    """`count` packets, half of them at most as captured, the others captured ones with damage and synthetic ones between them.

    Where fewer are asked for than there are, they are spread over the captures."""
    random.seed(seed)
    real = captured()
    real = real[:: max(1, 2 * len(real) // count)]
    found = real[: (count + 1) // 2]
    kinds = [*traffic.well_formed(), *traffic.truncated()]
    while len(found) < count:
        for lane, frame in real[: count - len(found)]:
            drawn = random.random()
            if drawn < DAMAGED / 5:
                frame = frame[:MACS] + random.choice(kinds)[MACS:]
            elif drawn < DAMAGED:
                frame = frame[:MACS] + traffic.mutated(frame[MACS:])
            found.append((lane, frame))
    return found


def flow_of(frame: bytes) -> str:
    """Which flow a frame is of: addresses, type, and of IPv4 and IPv6 the addresses, protocol and first bytes behind."""
    at = MACS
    while frame[at : at + 2] in (b"\x81\x00", b"\x88\xa8") and at < 24:
        at += 4
    kind, rest = frame[at : at + 2], frame[at + 2 :]
    if kind == b"\x08\x00" and len(rest) >= 20:
        l4 = 4 * (rest[0] & 15)
        key = rest[9:10] + rest[12:20] + (rest[l4 : l4 + 4] if not rest[6] & 0x1F and not rest[7] else b"")
    elif kind == b"\x86\xdd" and len(rest) >= 40:
        key = rest[6:7] + rest[8:44]
    else:
        key = b""
    return f"{frame[:at].hex()} {kind.hex()} {key.hex()}"


def normalised(pipeline: Pipeline, frame: bytes) -> bytes:
    """A frame without what may differ: a tunnel's UDP source port, which each side draws from the inner flow in its own way."""
    if _is_tunnel(pipeline, frame):
        return frame[: UDP_PORT.start] + b"\0\0" + frame[UDP_PORT.stop :]
    return frame


def _is_tunnel(pipeline: Pipeline, frame: bytes) -> bool:
    return pipeline.in_tunnel and frame[MACS : MACS + 2] == b"\x08\x00" and frame[23:24] == b"\x11"


def _alike(frame: bytes) -> tuple[str, bytes]:
    """The flow, and what else of the headers Open vSwitch may tell packets apart by: TOS, fragment, TTL, TCP flags.

    Within a batch it sends packets by flow of the datapath, so it keeps the order only of those that are alike."""
    at = MACS
    while frame[at : at + 2] in (b"\x81\x00", b"\x88\xa8") and at < 24:
        at += 4
    kind, rest = frame[at : at + 2], frame[at + 2 :]
    if kind == b"\x08\x00":
        l4, more, protocol = 4 * (rest[0] % 16 if rest else 0), rest[1:2] + rest[6:9], rest[9:10]
    elif kind == b"\x86\xdd":
        l4, more, protocol = 40, rest[:2] + rest[7:8], rest[6:7]
    else:
        l4, more, protocol = 0, b"", b""
    return flow_of(frame), more + (rest[l4 + 13 : l4 + 14] if protocol == b"\x06" else b"")


def _by_flow(pipeline: Pipeline, frames: Sequence[bytes]) -> dict[tuple[str, bytes], list[bytes]]:
    """Frames by what keeps their order; those in a tunnel by what is inside."""
    found: dict[tuple[str, bytes], list[bytes]] = {}
    for frame in frames:
        inner = frame[TUNNEL:] if _is_tunnel(pipeline, frame) else frame
        found.setdefault(_alike(inner), []).append(inner)
    return found


def _is_malformed(frame: bytes) -> bool:
    """Whether it is of no flow to the device: it matches no rule, and goes through the host."""
    return bool(parse(frame, layouts.Meta(length=len(frame))).fault)


def _orders(pipeline: Pipeline, expected: Sequence[bytes], got: Sequence[bytes]) -> tuple[int, int]:
    """Flows that left a lane in another order; and those of which that is true of malformed packets only."""
    reordered = malformed = 0
    one, other = _by_flow(pipeline, expected), _by_flow(pipeline, got)
    for flow, frames in one.items():
        there = other.get(flow, [])
        if frames == there or sorted(frames) != sorted(there):
            continue
        well_formed = [[frame for frame in side if not _is_malformed(frame)] for side in (frames, there)]
        reordered += well_formed[0] != well_formed[1]
        malformed += well_formed[0] == well_formed[1]
    return reordered, malformed


def _lane_differences(lane: int, expected: Sequence[bytes], got: Sequence[bytes]) -> Iterator[Difference]:
    by_flow: dict[str, list[int]] = {}
    first: dict[str, str] = {}
    for side, surplus in enumerate((Counter(expected) - Counter(got), Counter(got) - Counter(expected))):
        for frame, count in surplus.items():
            flow = flow_of(frame)
            by_flow.setdefault(flow, [0, 0])[side] += count
            first.setdefault(flow, frame.hex())
    for flow, (one, other) in by_flow.items():
        yield Difference(lane, flow, one, other, first[flow])


def compare(pipeline: Pipeline, expected: Left, got: Left) -> Result:
    """Multisets of frames by lane; and how many flows left in another order."""
    differences: list[Difference] = []
    orders = []
    for lane in range(LANES):
        sides = [[normalised(pipeline, frame) for frame in left.lanes[lane]] for left in (expected, got)]
        differences += _lane_differences(lane, *sides)
        orders.append(_orders(pipeline, *sides))
    left = sum(map(len, expected.lanes))
    in_hardware = got.received - got.to_host
    reordered, malformed = map(sum, zip(*orders, strict=True))
    return Result(
        pipeline.name, got.received, left, got.flows, got.offloaded, in_hardware, reordered, malformed, got.reasons, differences
    )


def run(pipeline: Pipeline, given: Packets, device: devices.Device) -> Result:
    """A pipeline both ways."""
    began = time.monotonic()
    fitting = [(lane, frame) for lane, frame in given if len(frame) <= pipeline.longest]
    result = compare(pipeline, alone(pipeline, fitting), with_device(pipeline, fitting, device))
    result.seconds = round(time.monotonic() - began, 1)
    return result


def tables(result: dict[str, Any]) -> dict[str, str]:
    """The table of the docs, of what `--json` prints."""
    heads = ("pipeline", "packets in", "out", "flows, of them in hardware", "packets in hardware", "flows that differ", "reordered")
    rows = [
        (
            *(one["pipeline"], one["packets"], one["left"], f"{one['flows']:,}, {one['offloaded']:,}"),
            *(f"{one['in_hardware'] / max(1, one['packets']):.1%}", len(one["differences"]), one["reordered_flows"]),
        )
        for one in result["rows"]
    ]
    return {"differential": table(heads, rows)}


def main(
    pipeline: list[str] = typer.Option([], help=f"one of {', '.join(NAMES)}; default: all"),  # noqa: B008
    count: int = typer.Option(60_000, "--packets", min=1, help="number of packets for each pipeline"),
    seed: int = typer.Option(1, help="seed of the packet corruption"),
    functional: bool = typer.Option(False, help="use the functional device instead of the RTL"),
    fence: bool = typer.Option(True, help="let the device keep the packet order of a flow when its rule arrives"),
    json_output: bool = typer.Option(False, "--json", help="print the results as JSON"),
    out: Path | None = typer.Option(None, help="folder for the differences as text"),  # noqa: B008
) -> None:
    """Compare what leaves OVS alone with what leaves OVS with the device."""
    if unknown := [name for name in pipeline if name not in NAMES]:
        raise typer.BadParameter(f"unknown pipeline {', '.join(unknown)}; choose from {', '.join(NAMES)}")
    clean_up_on_sigterm()
    console = Console(stderr=True)
    device = devices.functional() if functional else devices.build(lambda text: console.log(text, markup=False))
    device = replace(device, fence=fence)
    given = packets(count, seed)
    results = []
    for one in (one for one in PIPELINES if not pipeline or one.name in pipeline):
        result = run(one, given, device)
        results.append(result)
        share = result.in_hardware / max(1, result.packets)
        console.log(
            f"{result.pipeline}: {result.packets:,} packets in, {result.left:,} out; {result.offloaded} of {result.flows} flows "
            f"and {share:.1%} of the packets in hardware; {len(result.differences)} flows differ, {result.reordered_flows} in "
            f"another order, malformed packets of {result.malformed_reordered}; {result.seconds} s"
        )
        for difference in result.differences[:SHOWN]:
            console.log(asdict(difference))
        if out and result.differences:
            out.mkdir(parents=True, exist_ok=True)
            (out / f"{result.pipeline}.json").write_text(json.dumps([asdict(one) for one in result.differences], indent=1))
    if json_output:
        print(json.dumps([asdict(result) for result in results], indent=1))
    sys.exit(1 if any(result.differences for result in results) else 0)


if __name__ == "__main__":
    typer.run(main)
