# SPDX-License-Identifier: Apache-2.0
"""The firewall as RTL under Verilator, driven by `harness.cc`: signals that fill it, packets, and signals among packets."""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.firewall.model import program
from bench.simulator import BUILD, FAST, simulator
from compiler.backends.sv_graph import number_of
from compiler.compile import Compiled, compile_program, graph_of
from compiler.frontend import typed
from configs.ofw.manager import Call, Sizes

HERE = Path(__file__).parent
TIMEOUT_SECONDS = 3000


@dataclass(frozen=True)
class Simulator:
    """The binary, and what is needed to speak to it; `flit`: the type of its lanes."""

    binary: Path
    program: typed.Program
    compiled: Mapping[str, Compiled]
    flit: typed.Struct

    def words(self, call: Call) -> list[int]:
        """A call as words of the signal chain (rtl/ctrl/sl_signal_node.sv)."""
        instance = next(i for i in self.program.instances if i.name == call.instance)
        signals = self.compiled[instance.element.name].ir.signals
        kind, signal = next((n, signal) for n, signal in enumerate(signals) if signal.name == f"signal {call.name}")
        value = at = 0
        for argument, (_, width) in zip(call.arguments, signal.arguments, strict=True):
            value |= argument << at
            at += width
        count = (max(sum(width for _, width in one.arguments) for one in signals) + 31) // 32
        words = [value >> 32 * n & 0xFFFFFFFF | (n == count - 1) << 32 for n in range(count)]
        return [number_of(list(self.program.instances), call.instance) << 16 | kind, *words]


@dataclass(frozen=True)
class Phase:
    """Packets that went in, groups of calls, replies that were errors, cycles of the first packet in and the last one out."""

    packets: int
    groups: int
    refused: int
    first: int
    last: int


@dataclass(frozen=True)
class Run:
    """By packet, in the order of going in, its cycle; what left, with its cycle; by group its first and last cycle."""

    taken: Sequence[int]
    left: Sequence[tuple[int, int]]
    groups: Sequence[tuple[int, int]]
    phases: Sequence[Phase]


def built(sizes: Sizes | None = None, options: Sequence[str] = FAST) -> Simulator:
    """The simulator of the firewall; built again when a source changes. Raises CalledProcessError."""
    found = program(sizes)
    compiled = compile_program(found)
    graph = graph_of("ofw", found, compiled)
    texts = {f"{one.module}.sv": one.text for one in compiled.values()} | {f"{graph.module}.sv": graph.text}
    flit = next(channel.type for channel in found.channels if channel.is_packet)
    assert isinstance(flit, typed.Struct)
    folder = BUILD / f"firewall-rtl-{hashlib.sha256(repr(sorted(texts.items())).encode()).hexdigest()[:16]}"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text)
    rtl = [folder / name for name in texts]
    return Simulator(simulator("firewall", graph.module, HERE / "harness.cc", extra=rtl, options=options), found, compiled, flit)


def run(simulator: Simulator, flits: Sequence[int], groups: Sequence[Sequence[Call]], phases: Sequence[tuple[int, int]]) -> Run:
    """Packets and groups of calls, taken in their order by the phases (packets, groups). Raises RuntimeError."""
    size = (simulator.flit.bits + 31) // 32 * 4
    signals: list[int] = []
    for group in groups:
        words = [word for call in group for word in simulator.words(call)]
        signals += [len(group), len(words), *words]
    BUILD.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD, prefix="firewall-run-") as name:
        folder = Path(name)
        (folder / "packets").write_bytes(b"".join(flit.to_bytes(size, "little") for flit in flits))
        (folder / "signals").write_bytes(np.array(signals, dtype=np.uint64).tobytes())
        command = [str(simulator.binary), name, *(f"{packets}:{count}" for packets, count in phases)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
        if done.returncode:
            raise RuntimeError(f"the simulation failed ({done.returncode}): {done.stderr.strip()}")

        def numbers(file: str, columns: int) -> list[list[int]]:
            found: list[list[int]] = np.fromfile(folder / file, dtype=np.uint64).reshape(-1, columns).tolist()
            return found

        left = (folder / "left").read_bytes()
        records = (left[at : at + 8 + size] for at in range(0, len(left), 8 + size))
        return Run(
            [cycle for (cycle,) in numbers("taken", 1)],
            [(int.from_bytes(record[:8], "little"), int.from_bytes(record[8:], "little")) for record in records],
            [(first, last) for first, last in numbers("groups", 2)],
            [Phase(*values) for values in numbers("phases", 5)],
        )
