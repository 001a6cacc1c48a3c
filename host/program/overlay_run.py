# SPDX-License-Identifier: Apache-2.0
"""Programs on the overlay: loaded into a device of the programmable pipeline, and packets through it."""

from __future__ import annotations

import ctypes as c
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from compiler.frontend import typed
from compiler.frontend.source import Source
from compiler.interpreter.packets import Packet
from compiler.overlay.bits import OverlayError
from compiler.overlay.deploy import Deployment, deployed
from compiler.overlay.place import Sizes
from compiler.pipeline.parser_program import ProgramError
from host.program import InputError
from host.python.device import Device
from host.python.pipeline import Overlay
from shell.sim.build import OVERLAY


@dataclass(frozen=True)
class Loaded:
    """What loading a program took: register writes, and cycles of the device meanwhile."""

    writes: int
    cycles: int


@dataclass(frozen=True)
class Ran:
    """Packets that left, by lane; those that went to the host; cycles of the run without the load."""

    left: list[list[Packet]]
    uploaded: list[Packet]
    cycles: int
    loaded: Loaded


def rules_source(path: Path | None) -> Source | None:
    """The text of a file of rules. Raises InputError."""
    try:
        return None if path is None else Source(str(path), path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {error}") from error


def sizes_of(overlay: Overlay) -> Sizes:
    """What a program for this device must fit into."""
    return Sizes.of(overlay.image)


def options_for(made: Deployment) -> dict[str, int]:
    """Of a simulated device that has the stateful units of a program."""
    mask = sum(1 << number for number in made.program.stateful)
    return OVERLAY | ({"stateful_units": mask} if mask else {})


def load(device: Device, overlay: Overlay, made: Deployment) -> Loaded:
    """Have packets that enter from now on use the program. Raises OverlayError where it has no place beside the one that runs."""
    before = device.cycles
    try:
        writes = overlay.load(made.program)
    except ProgramError as error:
        number = int(words[1]) if (words := str(error).replace(":", " ").split())[0] == "unit" else 0
        hint = "fewer rules; the program that runs has places too until this one is loaded"
        span = made.units[number].span if number < len(made.units) else made.behaviour.span
        raise OverlayError("E0809", str(error).partition("; hint")[0], span, hint) from error
    return Loaded(writes, device.cycles - before)


def run(program: typed.Program, rules: Path | None, captures: Sequence[Sequence[Packet]], progress: Callable[[str], None]) -> Ran:
    """The captures, by lane, through a simulated device. Raises OverlayError, SluiceError."""
    text = rules_source(rules)
    options = options_for(deployed(program, text))  # what is wrong is said before a device is built
    progress("opening the device; the first time it is built, which takes minutes")
    with Device(options) as device:
        device.call("sluice_device_set_lossless", 1)
        overlay = Overlay(device)
        made = deployed(program, text, sizes_of(overlay), device.lanes)
        loaded = load(device, overlay, made)
        start = device.cycles
        if made.reads_time:
            left, uploaded = exchange_in_time(device, captures)
        else:
            left, uploaded = exchange(device, [[packet.data for packet in packets] for packets in captures])
        return Ran(left, uploaded, device.cycles - start, loaded)


def exchange_in_time(device: Device, captures: Sequence[Sequence[Packet]]) -> tuple[list[list[Packet]], list[Packet]]:
    """Send the packets of each lane one after another, those of all lanes in turn, while the clock of the device stands at the time
    of the packet: what becomes of them is what the interpreter makes of the captures. Returns as `exchange`."""
    left: list[list[Packet]] = [[] for _ in range(device.lanes)]
    uploaded: list[Packet] = []
    for number in range(max(map(len, captures), default=0)):
        for lane, packets in enumerate(captures):
            if number < len(packets):
                time = packets[number].time
                device.call("sluice_device_set_tick", c.c_uint32(time & 0xFFFFFFFF))
                behind, host = exchange(device, [*[()] * lane, (packets[number].data,)])
                uploaded += [replace(packet, time=time) for packet in host]
                for out, some in zip(left, behind, strict=True):
                    out += [replace(packet, time=time) for packet in some]
    device.call("sluice_device_run_tick")
    return left, uploaded


def exchange(device: Device, sent: Sequence[Sequence[bytes]]) -> tuple[list[list[Packet]], list[Packet]]:
    """Send packets into lanes as fast as they take them: what leaves, by lane, and what comes to the host."""
    waiting, at = [list(packets) for packets in sent], [0] * len(sent)
    left: list[list[Packet]] = [[] for _ in range(device.lanes)]
    uploaded: list[Packet] = []
    while True:
        for lane, packets in enumerate(waiting):
            while at[lane] < len(packets) and device.lane_send(lane, packets[at[lane]]):
                at[lane] += 1
        is_idle = all(n == len(p) for n, p in zip(at, waiting, strict=True)) and device.library.sluice_device_idle(device.handle)
        uploaded += [Packet(one.data, one.timestamp) for one in iter(device.receive, None)]
        for lane in range(device.lanes):
            left[lane] += [Packet(data) for data, _ in iter(lambda lane=lane: device.lane_receive(lane), None)]  # type: ignore[misc]
        if is_idle:
            return left, uploaded
        device.advance(16)
