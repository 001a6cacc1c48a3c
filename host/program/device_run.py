# SPDX-License-Identifier: Apache-2.0
"""A configuration inside the simulated shell, through the host library (`sluice run FILE.sl --target sim`).

Packets come through lanes, host elements run in the interpreter beside the device, over its packet rings, and signals go through
its registers (docs/design/shell.md).
"""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import sluice_layouts as layouts

from compiler.backends.sv_graph import Graph, number_of
from compiler.backends.sv_shell import Top
from compiler.compile import Compiled, compile_program, shell_of
from compiler.frontend.typed import Channel, Endpoint, Program, Struct, Type
from compiler.interpreter import program as interpreter
from compiler.interpreter.choices import Decide, SignalCall
from compiler.interpreter.element import Outcome
from compiler.interpreter.guard import fields_of
from compiler.interpreter.packets import Packet, to_flits
from compiler.targets import rtl
from compiler.targets.rtl_outcome import outcome, signal_of
from host.program import timers
from host.python.device import Device, Received
from shell.sim.build import FLOW, build

STEP_CYCLES = 16  # so that a lane with 16 packets of one flit before it does not run dry
REST_CYCLES = 1 << 20  # behind the last packet, after which an element is taken to write without end
STUCK_CYCLES = 20_000  # without a packet in or out of a device that is not idle: its elements wait for each other
CYCLES_PER_PERIOD = 3  # in which sl_timers counts one
TIMER_SHARE = 2 * 64  # iterations of the handler that may come before a timer that is due, and another one
HOST_ROUNDS = 4096  # of the host's instances, between two steps of the device
HOST_TOKENS = 4096  # on their way to the device, with which the host's instances wait
SMALLEST = 14  # bytes of a packet
WINDOW = layouts.WINDOW_SIZE
PROGRAM = "u_graph.u_program.u_"  # where instances stand in the device


class Signals(Decide):
    """Chooses as `Decide`, and takes signals when it is told to."""

    def add(self, call: SignalCall) -> None:
        self._signals.append(call)


@dataclass(frozen=True)
class Call:
    """A signal. `after`: packets that have been sent before; None: when nothing moves any more."""

    instance: str
    signal: SignalCall
    after: int | None = None


@dataclass
class Ran:
    """Packets that left, by lane; of each channel to a host element its tokens; what every instance did; cycles; and what was
    dropped: for `error`, because nobody reads it, by other causes."""

    left: list[list[Packet]]
    tokens: dict[Endpoint, list[int]]
    instances: dict[str, Outcome]
    cycles: int
    errors: int
    lost: int
    drops: dict[str, int]
    unsent: int  # packets that no lane took
    is_stuck: bool  # tokens are left in the device
    is_quiet: bool
    time_of: Callable[[Packet], Packet]
    entered: list[list[int]] = field(default_factory=list)  # the time of each packet of a lane, in cycles, which elements see


@dataclass(frozen=True)
class Design:
    """A configuration as a device: modules by file name, and what a driver must know."""

    program: Program
    compiled: dict[str, Compiled]
    graph: Graph
    top: Top
    texts: dict[str, str]
    flow_table: bool = False

    @property
    def sizes(self) -> dict[str, int]:
        """The parameters of the shell."""
        return {**FLOW, "lanes": max(4, self.top.lanes)} if self.flow_table else {"lanes": self.top.lanes}

    @property
    def window(self) -> int:
        """Address of the program's registers (`graph_registers`)."""
        return WINDOW * (2 if self.flow_table else 1)


def design(name: str, program: Program, flow_table: bool = False) -> Design:
    """Compile, with the flow table behind the program if asked for. Raises HardwareError where the program cannot be hardware, or
    the shell cannot hold it."""
    compiled = compile_program(program)
    graph, top = shell_of(name, program, compiled, flow_table)
    texts = {f"{found.module}.sv": found.text_in_shell for found in compiled.values()}
    modules = {**texts, f"{graph.module}.sv": graph.text, "sh_graph.sv": top.text}
    return Design(program, compiled, graph, top, modules, flow_table)


def run(
    name: str,
    program: Program,
    captures: Sequence[Sequence[Packet]],
    calls: Sequence[Call],
    seed: int,
    progress: Callable[[str], None],
) -> Ran:
    """The packets of each lane through the configuration in the shell. Raises HardwareError, BuildError, and SluiceError where the
    device fails."""
    made = design(name, program)
    build(made.sizes, progress, made.texts)
    progress("running")
    with tempfile.TemporaryDirectory() as folder:
        printed = Path(folder) / "printed"
        with stdout_to(printed), Device(made.sizes, graph=made.texts) as device:
            ran = _Run(made, device, captures, seed).run(calls)
        _note(made, ran, printed.read_text().splitlines(), captures)
    return ran


@contextmanager
def stdout_to(path: Path) -> Iterator[None]:
    """What the elements print goes to the process's standard output: to a file instead."""
    library = ctypes.CDLL(None)
    sys.stdout.flush()
    library.fflush(None)
    kept = os.dup(1)
    with path.open("wb") as out:
        os.dup2(out.fileno(), 1)
        try:
            yield
        finally:
            library.fflush(None)
            os.dup2(kept, 1)
            os.close(kept)


def _note(made: Design, ran: Ran, lines: Sequence[str], captures: Sequence[Sequence[Packet]]) -> None:
    """States, messages, and at which time packets came, from what the elements printed."""
    kinds = {i.name: made.compiled[i.element.name] for i in made.graph.instances}
    runs = {name: rtl.RtlRun({}, answers=ran.instances[name].answers) for name in kinds}
    elements = {name: found.plan.pipeline.element for name, found in kinds.items()}
    own = [line for line in lines if line.startswith("@") and PROGRAM in line]
    rtl.note_all(own, PROGRAM, elements, {name: found.plan for name, found in kinds.items()}, runs)
    ran.instances |= {name: outcome(runs[name], found.ir, found.layout) for name, found in kinds.items()}
    waiting = {lane: deque(p for p in packets if _fits(p)) for lane, packets in enumerate(captures)}
    entered: dict[int, list[Packet]] = {}
    ran.entered = [[] for _ in captures]
    for line in lines:
        if line.startswith("@enter "):
            lane, cycle = map(int, line.split()[1:])
            ran.entered[lane].append(cycle)
            entered.setdefault(cycle, []).append(waiting[lane].popleft())

    def time_of(packet: Packet) -> Packet:
        found = entered.get(packet.time, [packet])
        return replace(packet, time=next((p for p in found if p.data == packet.data), found[0]).time)

    ran.time_of = time_of
    ran.left = [[time_of(packet) for packet in packets] for packets in ran.left]


def _fits(packet: Packet) -> bool:
    """Whether a lane takes it."""
    return SMALLEST <= len(packet.data) <= layouts.MTU_BYTES


@dataclass
class _ToDevice:
    """A channel from the host: tokens of a packet that is not whole yet, packets that wait, and flits of those on their way."""

    channel: Channel
    queue: deque[int]
    part: list[int] = field(default_factory=list)
    waiting: deque[Received] = field(default_factory=deque)
    flits: deque[int] = field(default_factory=deque)
    taken: int = 0  # flits, as the device counts


class _Run:
    """A run: the device, and the host's side of the configuration as a program of its own whose lanes are the channels."""

    def __init__(self, made: Design, device: Device, captures: Sequence[Sequence[Packet]], seed: int) -> None:
        self.made, self.device = made, device
        self.lanes = [deque(packets) for packets in captures[: made.top.lanes]]
        self.lost = sum(map(len, captures[made.top.lanes :]))
        self.left: list[list[Packet]] = [[] for _ in range(made.top.lanes)]
        self.sent = self.errors = self.runts = 0
        self.choices: dict[str, Signals] = {}
        self.answers: dict[str, list[int]] = {instance.name: [] for instance in made.graph.instances}
        self.ticks: deque[timers.Due] = deque()  # timers of the device
        self.last = 0  # cycle of the last movement
        self.is_stuck = False
        on_host = tuple(instance for instance in made.program.instances if instance.on_host)
        names = {instance.name for instance in on_host}
        into = {edge.end: number for number, edge in enumerate(made.top.to_host)}
        out = {edge.end: number for number, edge in enumerate(made.top.from_host)}
        self.channels = [c for c in made.program.channels if {c.source.instance, c.target.instance} & names]
        inside = tuple(
            replace(
                channel,
                source=Endpoint("", into[channel.target]) if channel.target in into else channel.source,
                target=Endpoint("", out[channel.source]) if channel.source in out else channel.target,
            )
            for channel in self.channels
        )

        def chosen(name: str) -> Signals:
            self.choices[name] = Signals(seed and seed + 1000003 * (1 + len(self.choices)))
            return self.choices[name]

        self.host = interpreter.Graph(replace(made.program, instances=on_host, channels=inside), chosen)
        self.kinds = {into[c.target]: c for c in self.channels if c.target in into}
        queues = zip(self.channels, self.host.channels, strict=True)
        to_device = {out[c.source]: _ToDevice(c, queue.tokens) for c, queue in queues if c.source in out}
        self.to_device = [to_device[number] for number in range(len(to_device))]
        self.stuck = STUCK_CYCLES + max(
            [0, *(m.entries for found in made.compiled.values() for m in found.ir.memories.values())], default=0
        )

    def run(self, calls: Sequence[Call]) -> Ran:
        """Everything; to be called once."""
        self.device.call("sluice_device_set_lossless", 1)
        calls = [*calls, *self._timers()]
        start = self.last = self.device.cycles
        during = deque(sorted((call for call in calls if call.after is not None), key=lambda call: call.after or 0))
        late = [call for call in calls if call.after is None]
        while any(self.lanes) and self.device.cycles - self.last <= self.stuck:
            self._feed(during)
            self._step()
        is_quiet = self._rest()
        cycles = self.last - start
        for call in [*during, *late]:
            self._signal(call)
        is_quiet &= self._rest()
        return self._ran(cycles, is_quiet)

    def _timers(self) -> list[Call]:
        """Of elements on the host; for those of the device, its tick follows the packets."""
        if not timers.has_timers(self.made.program):
            return []
        self.device.write(layouts.SHELL_REGISTERS_TICK_SOURCE, 0)
        self.device.write(layouts.SHELL_REGISTERS_TICK, 0)
        found = list(timers.due(self.made.program, self.lanes))
        self.ticks = deque(one for one in found if not one.instance.on_host)
        return [Call(one.instance.name, one.call, one.after) for one in found if one.instance.on_host]

    def _set_tick(self) -> None:
        """The time when so many packets have been sent. As on the CPU, timers come behind what is under way."""
        while self.ticks and self.ticks[0].after <= self.sent:
            self._rest()
            found = self.ticks.popleft()
            self.device.write(layouts.SHELL_REGISTERS_TICK, found.time % (1 << 32))
            plan = self.made.compiled[found.instance.element.name].plan
            pause = max(plan.pipeline.pauses.values(), default=0)
            cycles = CYCLES_PER_PERIOD * found.call.arguments[0] + TIMER_SHARE * plan.interval + plan.depth + pause + STEP_CYCLES
            for _ in range(0, cycles, STEP_CYCLES):
                self._step()

    def _feed(self, calls: deque[Call]) -> None:
        """Packets before the lanes, in turn, as many as they take; and the signals that are due."""
        is_full = False
        while not is_full:
            is_full = True
            for lane, packets in enumerate(self.lanes):
                self._set_tick()
                while calls and (calls[0].after or 0) <= self.sent:
                    self._signal(calls.popleft())
                if packets and not 0 < len(packets[0].data) < 1 << 16:
                    packets.popleft()
                    self.sent, self.lost, is_full = self.sent + 1, self.lost + 1, False
                elif packets and self.device.lane_send(lane, packets[0].data):
                    packets.popleft()
                    self.sent, self.last, is_full = self.sent + 1, self.device.cycles, False

    def _step(self) -> bool:
        """Some cycles of the device, and what the host makes of what came; whether anything moved."""
        self.device.advance(STEP_CYCLES)
        has_moved = False
        for lane, packets in enumerate(self.left):
            while (found := self.device.lane_receive(lane)) is not None:
                packets.append(Packet(found[0], found[1].ingress_cycle))
                has_moved = True
        while (received := self.device.receive()) is not None:
            channel = self.kinds.get(received.queue)
            if channel is not None:
                self.host.send(received.queue, _tokens(channel, received))
            has_moved = True
        if self.host.instances:
            if sum(len(there.waiting) + len(there.queue) for there in self.to_device) < HOST_TOKENS:
                self.host.run(HOST_ROUNDS)
            for number, there in enumerate(self.to_device):
                has_moved |= self._send(number, there)
        if has_moved:
            self.last = self.device.cycles
        return has_moved

    def _rest(self) -> bool:
        """Until nothing moves; whether it came to that (an element that writes without end does not)."""
        start = self.device.cycles
        while self.device.cycles - start < REST_CYCLES:
            waits = any(there.waiting or there.queue for there in self.to_device)
            if not self._step():
                is_idle = bool(self.device.library.sluice_device_idle(self.device.handle)) and not waits
                self.is_stuck = not is_idle
                if is_idle or self.device.cycles - max(self.last, start) > self.stuck:
                    return True
        return False

    def _send(self, number: int, there: _ToDevice) -> bool:
        """What host elements wrote to a channel, as far as its store has room; whether something went."""
        has_moved = False
        while there.queue:
            there.part.append(there.queue.popleft())
            if packet := _packet(there.channel, there.part):
                there.part = []
                is_error = there.channel.is_packet and packet.verdict == layouts.Verdict.VERDICT_DROP
                if is_error:
                    self.errors += 1
                elif there.channel.is_packet and not SMALLEST <= len(packet.data) <= layouts.EGRESS_BYTES:
                    self.runts += 1
                else:
                    there.waiting.append(packet)
        while there.waiting and self._has_room(number, there, _flits(there.waiting[0])):
            if not self.device.channel_send(number, there.waiting[0]):
                break
            there.flits.append(_flits(there.waiting.popleft()))
            has_moved = True
        return has_moved

    def _has_room(self, number: int, there: _ToDevice, flits: int) -> bool:
        """Whether the device's store has room for so many flits more, of one packet."""

        def has_room() -> bool:
            return sum(there.flits) + flits <= layouts.GRAPH_STORE_FLITS and len(there.flits) < layouts.GRAPH_STORE_PACKETS

        if not has_room():
            taken = self.device.read(WINDOW + layouts.GRAPH_REGISTERS_TAKEN + 4 * number)
            more, there.taken = (taken - there.taken) % (1 << 32), taken
            while there.flits and more:
                here = min(more, there.flits[0])
                there.flits[0] -= here
                more -= here
                if not there.flits[0]:
                    there.flits.popleft()
        return has_room()

    def _signal(self, call: Call) -> None:
        """A signal to its end; to a host element, whenever that has its turn."""
        if call.instance in self.choices:
            self.choices[call.instance].add(call.signal)
            return
        self.answers[call.instance].append(ask(self.made, self.device, call, lambda bit: self._wait_for(bit, call)))
        self.last = self.device.cycles

    def _wait_for(self, bit: int, call: Call) -> int:
        """The mailbox's status, once a bit of it is on. Time passes for packets too."""
        start = self.device.cycles
        while not (status := self.device.read(WINDOW + layouts.GRAPH_REGISTERS_STATUS)) & bit:
            self._step()
            if self.device.cycles - start > self.stuck:
                raise RuntimeError(f"{call.instance} did not answer the signal '{call.signal.name}'")
        return status

    def _ran(self, cycles: int, is_quiet: bool) -> Ran:
        found = self.host.finish()
        read = {
            name: self.device.read(WINDOW + getattr(layouts, f"GRAPH_REGISTERS_{name}"))
            for name in ("LOST", "HOST_INVALID", "DROP_ERROR", "DROP_OVERSIZE", "DROP_RUNT")
        }
        drops = {"sent, oversize": read["DROP_OVERSIZE"], "sent, runt": read["DROP_RUNT"] + self.runts}
        drops["invalid from the host"] = read["HOST_INVALID"]
        for lane in range(self.made.top.lanes):
            counters = self.device.counters("lane", lane)
            for name in ("error", "oversize", "overflow", "runt"):
                key = f"received, {name}"
                drops[key] = drops.get(key, 0) + int(getattr(counters, f"rx_{name}"))
        tokens = {c.target: stream for c, stream in zip(self.channels, found.streams, strict=True)}
        instances = {**found.instances, **{name: Outcome({}, {}, [], 0, answers) for name, answers in self.answers.items()}}
        errors = read["DROP_ERROR"] + self.errors
        shown = {name: count for name, count in drops.items() if count}
        return Ran(
            left=self.left,
            tokens=tokens,
            instances=instances,
            cycles=cycles,
            errors=errors,
            lost=self.lost + read["LOST"],
            drops=shown,
            unsent=sum(map(len, self.lanes)),
            is_stuck=self.is_stuck,
            is_quiet=is_quiet,
            time_of=lambda packet: packet,
        )


def ask(made: Design, device: Device, call: Call, wait_for: Callable[[int], int]) -> int:
    """What an element of the device answers to a signal. `wait_for` lets time pass until a bit of the mailbox's status is on, and
    tells that. Raises RuntimeError where the element refuses."""
    window = made.window
    for word in message(made.graph, made.compiled, call):
        wait_for(1)
        register = layouts.GRAPH_REGISTERS_SIGNAL_LAST if word >> 32 else layouts.GRAPH_REGISTERS_SIGNAL
        device.write(window + register, word & 0xFFFFFFFF)
    reply: list[int] = []
    while not reply or not reply[-1] >> 32:
        status = wait_for(2)
        reply.append(device.read(window + layouts.GRAPH_REGISTERS_REPLY) | (status >> 2 & 1) << 32)
    return answer(call, reply)


def message(graph: Graph, compiled: Mapping[str, Compiled], call: Call) -> list[int]:
    """A signal as words of the chain, bit 32 on the last."""
    instances = list(graph.instances)
    found = next(compiled[i.element.name] for i in instances if i.name == call.instance)
    number = number_of(instances, call.instance)
    return list(rtl.words_of(found.plan.pipeline.element, signal_of(found.ir, call.signal), number))


def answer(call: Call, reply: Sequence[int]) -> int:
    """What the words of a reply say. Raises RuntimeError where the element refuses the signal."""
    if reply[0] & 1 << 15 == 0 or reply[0] >> 8 & 0x7F:
        raise RuntimeError(f"{call.instance} rejected the signal '{call.signal.name}': status {reply[0] >> 8 & 0x7F}")
    return sum((word & 0xFFFFFFFF) << 32 * place for place, word in enumerate(reply[1:]))


def _flits(packet: Received) -> int:
    return -(-len(packet.data) // layouts.DATA_BYTES)


def _meta(flit: Type) -> tuple[int, dict[str, tuple[int, int]]]:
    """Lowest bit of a flit's metadata, and its fields inside."""
    assert isinstance(flit, Struct)
    meta = next(found for found in flit.fields if found.name == "meta")
    return meta.low, fields_of(meta.type)


def _tokens(channel: Channel, received: Received) -> list[int]:
    """What came to the host: the flits of a packet, or a record."""
    if not channel.is_packet:
        return [int.from_bytes(received.data, "little") & (1 << channel.type.bits) - 1]
    flits = to_flits(channel.type, Packet(received.data, received.timestamp), received.ingress_port)
    low, fields = _meta(channel.type)
    for name in ("egress_mask", "fault", "mark"):
        flits[0] |= getattr(received, name) << low + fields[name][0]
    return flits


def _packet(channel: Channel, tokens: Sequence[int]) -> Received | None:
    """The packet that tokens are, once they are one; with VERDICT_DROP where it is marked bad."""
    if not channel.is_packet:
        size = -(-channel.type.bits // (8 * layouts.DATA_BYTES)) * layouts.DATA_BYTES
        return Received(tokens[0].to_bytes(size, "little"), layouts.HOST_PORT, 0, 0, 0, 0)
    fields = fields_of(channel.type)

    def get(token: int, name: str) -> int:
        return token >> fields[name][0] & (1 << fields[name][1]) - 1

    if not get(tokens[-1], "eop"):
        return None
    data = b"".join(get(token, "data").to_bytes(layouts.DATA_BYTES, "little") for token in tokens)
    low, names = _meta(channel.type)
    meta = {name: tokens[0] >> low + place & (1 << bits) - 1 for name, (place, bits) in names.items()}
    verdict = int(layouts.Verdict.VERDICT_DROP) if get(tokens[-1], "error") else 0
    whole = data[: len(data) - get(tokens[-1], "empty")]
    return Received(whole, meta["ingress_port"], verdict, meta["fault"], meta["mark"], meta["timestamp"], meta["egress_mask"])
