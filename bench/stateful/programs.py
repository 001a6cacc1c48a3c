# SPDX-License-Identifier: Apache-2.0
"""The applications of `configs/stateful` as the compiler makes them, packets for them, and what becomes of these packets one after
another: in the functional process block, which is C and shares nothing with the RTL. It has a program image of its own, too, since
its block has other sizes."""

from __future__ import annotations

import ctypes as c
import random
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sluice_layouts as L

from compiler.frontend.program import load as load_program
from compiler.frontend.source import Diagnostics
from compiler.overlay.deploy import deployed
from compiler.stateful.program import BlockSizes, ProcessProgram, assembled
from host.python.device import load
from host.python.structs import mirror
from models.flow_place import FlowPlace
from models.pipeline import model_of
from models.stateful_unit import Flows, StatefulUnit
from models.unit_program import sources_of
from toolchain import ROOT

APPLICATIONS = ("retransmissions", "knocking", "flowlet", "hitters")
PACKETS = 256  # different ones of a program
PORTS = (1111, 2222, 3333, 22, 80)
GAPS = (0, 1, 1, 2, 9, 700)  # microseconds between packets; flowlets end after 500
START = 2**32 - 100_000  # of time, which wraps
WRITE_BYTES, PACKET_BYTES = 12, 112  # in the harness' files
DECISION = ("verdict", "egress_mask", "queue", "next", "splice", "again")
CPacket, CBlock = mirror("pipeline_packet"), mirror("functional_process")


@dataclass(frozen=True)
class Application:
    """A program of the process block for a stateful unit, and packets: whole, and as they enter that unit."""

    name: str
    text: str
    unit: int
    frames: Sequence[bytes]
    packets: Sequence[L.PipelinePhv]

    def program(self, sizes: BlockSizes | None = None) -> ProcessProgram:
        """For a block of these sizes. Raises ProgramError."""
        return assembled(self.text, self.name, sizes)

    @property
    def composes(self) -> bool:
        """Whether it is loaded as one whose updates do, which the classifier says."""
        return self.program().composes


@dataclass(frozen=True)
class _Tap(StatefulUnit):
    """A unit that keeps the packets that enter."""

    entered: list[L.PipelinePhv]

    def run(self, phv: L.PipelinePhv, tick: int) -> Any:
        self.entered.append(phv)
        return super().run(phv, tick)


def packet(draw: random.Random) -> bytes:
    """A segment of TCP: any hosts, few ports and sequence numbers."""
    ip = bytes([0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0]) + draw.randbytes(8)
    ports = draw.randbytes(2) + draw.choice(PORTS).to_bytes(2, "big")
    segment = ports + draw.randrange(8).to_bytes(4, "big") + bytes([0, 0, 0, 0, 0x50, 0x10]) + bytes(6)
    return b"\2\0\0\0\0\1\2\0\0\0\0\2\x08\0" + ip + segment + bytes(draw.randrange(6, 1400))


def application(name: str) -> Application:
    """One of `configs/stateful`. Raises OverlayError."""
    program = load_program(ROOT / "configs" / "stateful" / name / f"{name}.sl", Diagnostics())
    made = deployed(program) if program else None
    if made is None or made.placed.stateful is None:
        raise RuntimeError(f"{name} is not a program with state of flows")
    entered: list[L.PipelinePhv] = []
    flows = {number: Flows(FlowPlace(1, 4, lambda key: 0)) for number in made.program.stateful}
    model = model_of(made.program, flows)
    units = [_Tap(**vars(unit), entered=entered) if isinstance(unit, StatefulUnit) else unit for unit in model.units]
    draw = random.Random(1)
    frames = [packet(draw) for _ in range(PACKETS)]
    for frame in frames:
        replace(model, units=units).run(frame, draw.randrange(4))
    return Application(name, made.placed.stateful.text, next(iter(flows)), frames, entered)


def image(application: Application, sizes: BlockSizes) -> bytes:
    """The writes that load a program as version 0 into a block of these sizes, global and table state among them."""
    shared = [L.ProcessWrite(0, number, L.PROCESS_MEMORY_SHARED) for number in range(2 * L.PROCESS_SHARED_WORDS)]
    writes = [*shared, *application.program(sizes).writes(0)]
    return b"".join(write.to_int().to_bytes(WRITE_BYTES, "little") for write in writes)


def images(packets: Sequence[L.PipelinePhv]) -> bytes:
    """Packets as the harness reads them."""
    return b"".join(packet.to_int().to_bytes(PACKET_BYTES, "little") for packet in packets)


def records(application: Application, addresses: Sequence[int], seed: int = 1) -> Iterator[bytes]:
    """Of each packet of these flows what the harness reads: flow, packet and time, and the entry that is taken, the state before
    and after, and what became of the packet."""
    library, block = load(), CBlock()
    library.functional_process_write.restype = c.c_bool
    library.functional_process_run.restype = c.c_uint32
    for write in application.program().writes(0):
        if write.memory == L.PROCESS_MEMORY_COMPOSED:
            continue  # no packet waits for another here
        word = mirror("sluice_process_write")(address=write.address, memory=write.memory)
        word.data[:] = write.data.to_bytes(9, "little")
        if not library.functional_process_write(c.byref(block), c.byref(word)):
            raise RuntimeError(f"the functional process block has no address {write.address:#x} in memory {write.memory}")
    made = [_packet_of(phv) for phv in application.packets]
    states: dict[int, c.Array[c.c_uint32]] = {}
    draw, tick, found = random.Random(seed), START, CPacket()
    at, size, sources = c.addressof(found), c.sizeof(found), c.addressof(found) + CPacket.sources.offset
    for address in addresses:
        number, tick = draw.randrange(len(made)), (tick + draw.choice(GAPS)) % 2**32
        state = states.setdefault(address, (c.c_uint32 * L.PROCESS_WORDS)())
        before = bytes(state)
        c.memmove(at, c.addressof(made[number]), size)
        entry = library.functional_process_run(c.byref(block), c.byref(found), c.c_uint32(tick), state)
        decided = bytes(getattr(found, name) for name in DECISION)
        containers = c.string_at(sources, 2 * L.PIPELINE_CONTAINERS)
        yield struct.pack("<4I", address, number, tick, entry) + before + bytes(state) + containers + decided + bytes(2)


def _packet_of(phv: L.PipelinePhv) -> c.Structure:
    made: c.Structure = CPacket(version=phv.parsed.version, **{name: getattr(phv, name) for name in DECISION})
    made.sources[:] = sources_of(phv)
    return made
