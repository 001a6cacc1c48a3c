# SPDX-License-Identifier: Apache-2.0
"""A run on ports whose rules and programs change all the time: no packet or rule is lost, no memory leaks (`make fuzz`)."""

from __future__ import annotations

import errno
import os
import random
import time
from pathlib import Path

import pytest

from compiler.frontend.program import load
from compiler.frontend.source import Diagnostics
from compiler.interpreter.packets import Packet
from host.program import live
from host.program.captures import write_capture
from host.program.run import ProgramRun

PROGRAM = """
.element Known (packet in -> packet out) {{
    table exact<uint<32>, uint<32>> known[{entries}];
    table ternary<uint<32>, uint<8>> masked[300];
    .state {{ ulong packets; ulong hits; {more} }}
    .handler {{
        flit x = read(in);
        if (x.sop) {{
            uint<32> found;
            uint<8> other;
            packets += 1;
            if (known.lookup((uint<32>) x.data, found)) hits += 1;
            if (masked.lookup((uint<32>) x.data, other)) hits += 1;
        }}
        write(out, x);
    }}
    .signal ulong get_packets() {{ return packets; }}
}}
{instances}
"""
ONE = "Known :: known @\nfrom_lane[0] -> known -> to_lane[0]"
TWO = """
.element Every (packet in -> packet out) {
    .state { ulong flits; }
    .handler { flit x = read(in); flits += 1; write(out, x); }
}
Known :: known @
Every :: every
from_lane[0] -> every -> known -> to_lane[0]
"""
PROGRAMS = [
    PROGRAM.format(entries=200, more="", instances=ONE),
    PROGRAM.format(entries=200, more="bool unused;", instances=TWO),
    PROGRAM.format(entries=200, more="uint<5> a[9];", instances=ONE).replace(
        "packets += 1;", "packets += 1; a[packets[2:0]] += 1;"
    ),
]
KEYS = 400
MOST_GROWTH = 16 << 20  # bytes
MINUTES = float(os.environ.get("SLUICE_FUZZ_MINUTES", "0"))


class Rules:
    """What the tables must hold: an answer for each change."""

    def __init__(self) -> None:
        self.known: set[int] = set()
        self.masked: set[int] = set()

    def change(self, choose: random.Random) -> tuple[str, int]:
        """A signal, and its answer."""
        key, kind = choose.randrange(KEYS), choose.randrange(4)
        here, most = (self.known, 200) if kind < 2 else (self.masked, 300)
        if kind % 2:
            name = f"known_remove/{key:x}" if kind < 2 else f"masked_remove/{key:x}"
            answer = 0 if key in here else errno.ENOENT
            here.discard(key)
            return name, answer
        name = f"known_insert/{key:x}/1" if kind < 2 else f"masked_insert/{key & 0xF0:x}/f0/{key:x}/1"
        answer = 0 if key in here or len(here) < most else errno.ENOSPC
        if not answer:
            here.add(key)
        return name, answer


def resident(pid: int) -> int:
    """Bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.fuzz
def test_rules_and_programs_change_under_traffic(tmp_path: Path) -> None:
    seconds, choose = 60 * MINUTES or 2, random.Random(1)
    capture, file = tmp_path / "in.pcap", tmp_path / "known.sl"
    sizes = [60, 64, 65, 200, 1500]
    write_capture(capture, [Packet(choose.randrange(KEYS).to_bytes(4, "little") + bytes(choose.choice(sizes))) for _ in range(500)])
    programs = []
    for text in PROGRAMS if MINUTES else PROGRAMS[:2]:
        file.write_text(text)
        loaded = load(file, Diagnostics())
        assert loaded
        programs.append(loaded)
    run = live.Run(ProgramRun(file, [], [], [], 0), programs[-1], [f"replay:{capture}"], lambda _: None)
    rules, reloads, changes, first_resident = Rules(), 0, 0, 0
    begin = time.monotonic()
    try:
        while time.monotonic() - begin < seconds:
            if choose.randrange(200):
                name, answer = rules.change(choose)
                assert run.engine.signal(f"known/{name}") == f"{answer:x}", name
                changes += 1
                continue
            keeps = bool(choose.randrange(10))
            done = run.reload(choose.choice(programs), keeps)
            assert ("known.known" in done.kept and "known.packets" in done.kept) == keeps
            if not keeps:
                rules = Rules()
            reloads += 1
            if reloads == 20:
                first_resident = resident(run.engine.process.pid)
        last_resident, before = resident(run.engine.process.pid), run.engine.counters().lanes[0].received
        time.sleep(1)
        result = run.end()
    finally:
        run.engine.close()
    (lane,) = result.lanes
    assert lane.received > before and lane.received == lane.sent and lane.unsent == lane.errors == lane.lost == 0
    assert result.switches == reloads and changes > 10 and result.dropped == result.unread == 0
    print(f"{lane.received:,} packets, {changes:,} changes of rules, {reloads:,} reloads in {seconds:.0f} s")
    if first_resident:
        print(f"{first_resident >> 20} MB after 20 reloads, {last_resident >> 20} MB at the end")
        assert last_resident - first_resident < MOST_GROWTH
