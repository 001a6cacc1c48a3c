# SPDX-License-Identifier: Apache-2.0
"""Where a poll thread of Open vSwitch spends its time: samples of its stack by `perf`, put into FAS's six stages (Fig. 3).

Debian's switch has no names of functions, and its debug symbols are not needed here: a function is the address it starts at, from
the unwind tables that every program has. What it is follows from who calls it and when, in the runs that are compared:

* receive and send: what lies between the poll loop and the driver's `pmd_rx_burst` and `pmd_tx_burst`, and these;
* `input`: the function under which the rest is, the datapath's. The stack above it is cut, since its own frame is large;
* parse: of the functions that it calls for packets of one rule without marks, and never with marks, the costliest;
* lookup: the other functions it calls only without marks; with marks, those it calls only then (finding the flow of a mark,
  and the TCP flags, which a parsed packet has already). Also what has so large a frame that its stack is cut: the classifier, with
  many rules, and upcalls, of which there are hardly any when all flows are there (`upcalls`);
* execute: the functions it calls in both cases;
* loop: the poll loop's own, polls of an empty ring apart;
* update: what it does itself. That is counting in the flow and sorting packets by flow, with what the compiler has put into it: the
  exact-match cache's hash and comparison, so a part of lookup. It cannot be told apart without the debug symbols.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import re
import shutil
import struct
import subprocess
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from testing.ovs.switch import VSWITCHD, OvsError

STAGES = ("receive", "parse", "lookup", "update", "execute", "send")
SWITCH = STAGES[1:5]  # what is neither the driver's nor for it
LOOP, SLEEP = "loop", "sleep"
RATE = 1999  # samples a second
STACK = 1536  # bytes of the stack in a sample
RECEIVE, SEND = "pmd_rx_burst", "pmd_tx_burst"
LIBRARY = {"sluice_queue_receive", "sluice_queue_release"}  # what of the driver's receiving is the host library's
KERNEL = "[kernel.kallsyms]"
FRAME = re.compile(r"^\s*([0-9a-f]+) (.*) \(([^()]*)\)$")
LONGEST = 30  # see record
SHARE = 0.01  # of the samples below `input`, from which on a function counts as called
Stack = tuple[str, ...]  # functions, the running one first


def require() -> None:
    """Raise OvsError where `perf` is missing."""
    if shutil.which("perf") is None:
        raise OvsError("perf is missing: make dpdk")


@functools.cache
def function_starts(program: Path) -> list[int]:
    """Addresses at which the functions of a program start, out of its table of unwind information (.eh_frame_hdr)."""
    listed = subprocess.run(["readelf", "-SW", str(program)], capture_output=True, text=True, check=True).stdout
    found = re.search(r"\.eh_frame_hdr\s+PROGBITS\s+(\w+)\s+(\w+)", listed)
    if not found:
        raise OvsError(f"{program} has no unwind table")
    address, offset = int(found[1], 16), int(found[2], 16)
    content = program.read_bytes()
    version, pointer, count, table = content[offset : offset + 4]
    if (version, pointer, count, table) != (1, 0x1B, 0x03, 0x3B):  # 4-byte offsets, from here the count and a sorted table
        raise OvsError(f"unsupported unwind table in {program}")
    (entries,) = struct.unpack_from("<I", content, offset + 8)
    return sorted(address + start for start, _ in struct.iter_unpack("<ii", content[offset + 12 : offset + 12 + 8 * entries]))


def processor_time(thread: int) -> int:
    """Of a thread, in nanoseconds."""
    return int(Path(f"/proc/{thread}/task/{thread}/schedstat").read_text().split()[0])


def record(thread: int, seconds: float, target: Path) -> None:
    """Sample a thread for some seconds of its processor time, but no longer than LONGEST times as long: on a busy machine
    it may not run at all for a while. Raises OvsError with perf's words."""
    command = ["perf", "record", "-q", "-e", "cpu-clock", "-F", str(RATE), "--call-graph", f"dwarf,{STACK}"]
    command += ["-t", str(thread), "-o", str(target), "--", "cat"]  # perf ends when cat does
    enough, end = processor_time(thread) + seconds * 1e9, time.monotonic() + LONGEST * seconds
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as perf:
        while perf.poll() is None and processor_time(thread) < enough and time.monotonic() < end:
            time.sleep(0.02)
        _, errors = perf.communicate()
    if perf.returncode:
        raise OvsError(f"perf: {errors.strip()[-500:]}")


def stacks(recorded: Path) -> list[Stack]:
    """The stacks of a recording. The switch's functions are `@` and where they start; the kernel's names do not matter."""
    command = ["perf", "script", "-i", str(recorded), "--no-inline", "-F", "ip,sym,dso"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return list(parse(text, function_starts(VSWITCHD)))


def parse(text: str, starts: Sequence[int]) -> Iterator[Stack]:
    """Stacks out of what `perf script` prints."""
    for block in re.split(r"\n\s*\n", text):
        frames = []
        for line in block.splitlines():
            if not (found := FRAME.match(line)) or found[3] in ("[unknown]", KERNEL):
                continue
            if found[3] == str(VSWITCHD):
                frames.append(f"@{starts[max(0, bisect.bisect_right(starts, int(found[1], 16)) - 1)]:x}")
            else:
                frames.append(found[2].partition("@")[0])
        if frames:
            yield tuple(frames)


def _own(frame: str) -> bool:
    return frame.startswith("@")


@dataclass(frozen=True)
class Map:
    """Which functions are of which stage."""

    input: str
    loop: frozenset[str]  # the poll loop: functions that call receiving and sending
    stage: dict[str, str]

    def of(self, stack: Stack) -> str:
        """The stage of a sample."""
        if any("nanosleep" in frame for frame in stack):
            return SLEEP
        for frame in reversed(stack):
            if frame in self.stage:
                return self.stage[frame]
        if self.input in stack:
            return "update" if self.input == stack[0] else "lookup"
        return LOOP if "start_thread" in stack or self.loop & set(stack) else "lookup"


def _between(samples: Iterable[Stack], end: str) -> list[Stack]:
    """The switch's functions above `end`, the outermost last, of the samples that have it."""
    return [tuple(filter(_own, stack[stack.index(end) :])) for stack in samples if end in stack]


def _inside(stack: Stack, shared: set[str]) -> Stack:
    """The functions below the first shared one: the poll loop's, which calls both receiving and sending."""
    return tuple(itertools.takewhile(lambda name: name not in shared, stack))


def _called(samples: Sequence[Stack], input_: str) -> Counter[str]:
    """How many samples each function has that `input` calls."""
    inside = [stack for stack in samples if input_ in stack]
    found = Counter(stack[stack.index(input_) - 1] for stack in inside if stack.index(input_) > 0)
    return Counter({name: count for name, count in found.items() if count >= SHARE * len(inside)})


def learn(plain: Sequence[Stack], marked: Sequence[Stack]) -> Map:
    """Find the stages in two runs with one rule: packets without and with marks. Raises OvsError where they cannot be."""
    samples = [*plain, *marked]
    receiving, sending = _between(samples, RECEIVE), _between(samples, SEND)
    if not receiving or not sending:
        raise OvsError("the samples show neither receive nor transmit; the poll thread got no packets")
    shared = set.intersection(*({name for stack in some for name in stack} for some in (receiving, sending)))
    stage = {RECEIVE: "receive", SEND: "send"}
    stage |= {name: "receive" for stack in receiving for name in _inside(stack, shared)}
    stage |= {name: "send" for stack in sending for name in _inside(stack, shared)}
    outer = Counter(
        next(filter(_own, reversed(stack)))
        for stack in samples
        if any(map(_own, stack)) and not any(name in stage or name in shared or "nanosleep" in name for name in stack)
    )
    if not outer:
        raise OvsError("the samples show no datapath")
    ((input_, _),) = outer.most_common(1)
    without, with_ = _called(plain, input_), _called(marked, input_)
    stage |= {name: "execute" for name in without.keys() & with_.keys() if name not in stage}
    stage |= {name: "lookup" for name in without.keys() ^ with_.keys() if name not in stage}
    only = [name for name, _ in without.most_common() if name not in with_ and _own(name)]
    return Map(input_, frozenset(shared), stage | dict.fromkeys(only[:1], "parse"))


def conversion(samples: Sequence[Stack]) -> float:
    """Share of the samples in which the driver makes an mbuf of a buffer: allocates it, copies the packet, sets its fields."""
    return sum(RECEIVE in stack and not LIBRARY & set(stack) for stack in samples) / max(1, len(samples))
