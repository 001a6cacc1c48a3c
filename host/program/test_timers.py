# SPDX-License-Identifier: Apache-2.0
"""Timers in runs: over captures they follow the times of the packets on every target, on ports the clock."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from compiler.frontend.program import load
from compiler.frontend.source import Diagnostics
from compiler.interpreter.packets import Packet
from host.program import InputError, timers
from host.program.captures import write_capture
from host.program.run import EXECUTE, ProgramRun, call_of
from testing.slow import first
from tools.cli.main import app

LIMIT = """
.element Bucket <Rate = 2, Depth = 3> (packet in -> packet out) {
    .state { uint<16> tokens = Depth; bool passes; uint<32> ticks; uint<32> slow; }
    .handler {
        flit x = read(in);
        if (x.sop) {
            passes = tokens != 0;
            if (passes) tokens -= 1;
        }
        if (passes) write(out, x);
    }
    .timer fill (every = 1000) {
        tokens = (uint<16>) min(Depth, tokens + Rate * periods());
        ticks += periods();
    }
    .timer roll (every = 7700) { slow += periods(); }
    .signal uint<32> get_ticks() { return ticks; }
    .signal uint<32> get_slow() { return slow; }
}
"""
PROGRAM = LIMIT + "Bucket :: a @\nBucket<1, 2> :: b @\nfrom_lane[0] -> a -> to_lane[0]\nfrom_lane[1] -> b -> to_lane[1]\n"
ON_HOST = LIMIT + "Bucket :: a @\nhost Bucket<1, 2> :: b @\nfrom_lane[0] -> a -> to_lane[0]\nfrom_lane[1] -> b -> to_lane[1]\n"
TIMES = (0, 10, 20, 900, 999, 1000, 1001, 1500, 1600, 1700, 1800, 5000, 4000, 5999, 6000, 90_000, 90_001, 90_002, 90_003, 91_500)
NAMES = ("a.get_ticks", "a.get_slow", "b.get_ticks", "b.get_slow")


def packets(lane: int) -> list[Packet]:
    """One or two flits each, at 1 s and so many microseconds; those of the other lane come later."""
    return [Packet(bytes([lane, n]) * (30 + n % 3 * 10), 1_000_000 + 300 * lane + time) for n, time in enumerate(TIMES)]


def buckets() -> dict[int, list[Packet]]:
    """What a bucket of each lane lets through, and nothing that is not told here decides it."""
    kept: dict[int, list[Packet]] = {}
    streams = [packets(0), packets(1)]
    start, now, levels, ends = 1_000_000, 0, {0: 3, 1: 2}, 0
    for both in zip(*streams, strict=True):
        for lane, packet in enumerate(both):
            now = max(now, packet.time - start)
            while ends + 1000 <= now:
                ends += 1000
                levels = {0: min(3, levels[0] + 2), 1: min(2, levels[1] + 1)}
            if levels[lane]:
                levels[lane] -= 1
                kept.setdefault(lane, []).append(packet)
    return kept


@pytest.fixture
def sources(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / f"in{lane}.pcap" for lane in (0, 1)]
    for lane, path in enumerate(paths):
        write_capture(path, packets(lane))
    return paths


@pytest.mark.parametrize(
    ("target", "text"), first(3, [("interpreter", PROGRAM), ("cpu", PROGRAM), ("sim", ON_HOST), ("cpu-exact", PROGRAM)])
)
def test_a_run_over_captures_follows_their_times(target: str, text: str, sources: list[Path], tmp_path: Path) -> None:
    path = tmp_path / "limit.sl"
    path.write_text(text)
    program = load(path, Diagnostics())
    assert program is not None
    outputs = [tmp_path / f"out{lane}.pcap" for lane in (0, 1)]
    expected = [tmp_path / f"expected{lane}.pcap" for lane in (0, 1)]
    for lane, found in buckets().items():
        write_capture(expected[lane], found)
    result = EXECUTE[target](ProgramRun(path, sources, outputs, NAMES, 0), program, lambda _: None)
    assert [path.read_bytes() for path in outputs] == [path.read_bytes() for path in expected]
    answers = [result.instances[name].answers for name in ("a", "b")]
    assert answers == [[91, 11], [91, 11]] and 0 < len(buckets()[0]) < len(TIMES)


def test_what_is_due(tmp_path: Path) -> None:
    path = tmp_path / "limit.sl"
    path.write_text(LIMIT + "Bucket :: a\nfrom_tor -> a -> to_tor\n")
    program = load(path, Diagnostics())
    assert program is not None
    found = list(timers.due(program, [[Packet(b"", time) for time in (50, 1049, 1050, 1050, 3500, 10**9)]]))
    told = [(one.call.name, one.call.arguments[0], one.after, one.time) for one in found]
    assert told == [("fill", 1, 2, 1000), ("fill", 2, 4, 3450), ("fill", 0xFFFF, 5, 10**9 - 50), ("roll", 0xFFFF, 5, 10**9 - 50)]
    assert not list(timers.due(program, [])) and not list(timers.due(program, [[], []]))
    with pytest.raises(InputError, match=r"'a\.fill' is a timer: it runs by itself, every 1,000 microseconds"):
        call_of(program, "a.fill:1")
    with pytest.raises(InputError, match=r"it has get_ticks, get_slow$"):
        call_of(program, "a.get")


def live(program: Path, *words: str) -> Mapping[str, Any]:
    done = CliRunner().invoke(app, ["run", str(program), "--json", *words])
    assert done.exit_code == 0, done.output
    found: Mapping[str, Any] = json.loads(done.stdout)
    return found


def test_on_ports_the_clock_starts_timers(tmp_path: Path) -> None:
    path = tmp_path / "limit.sl"
    path.write_text(LIMIT + "Bucket :: a @\nfrom_tor -> a -> to_tor\n")
    found = live(path, "--live=null", "--seconds", "1.2", "--signal=a.get_ticks", "--signal=a.get_slow")
    ticks, slow = (int(answer, 16) for answer in found["answers"])
    milliseconds = found["seconds"] * 1000
    assert 0 < ticks <= milliseconds and ticks // 7.7 - 1 <= slow <= milliseconds / 7.7, "slow was asked after ticks"
    (lane,) = found["lanes"]
    assert 0 < lane["sent"] <= 3 + 2 * milliseconds, "no more than the bucket had"
