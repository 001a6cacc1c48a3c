# SPDX-License-Identifier: Apache-2.0
"""`sluice build`: a program as SystemVerilog or C++ files."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

import typer

from compiler.backends import cpp
from compiler.compile import HardwareError, graph_of
from compiler.frontend.source import Diagnostics
from testing.simulate import GENERATED, closure
from tools.cli.programs import fail, hardware, program_of, save


class Target(StrEnum):
    """What is built."""

    RTL = "rtl"
    CPU = "cpu"


def build(
    file: Path = typer.Argument(..., help="a program: elements, a configuration, or both"),
    target: Target = typer.Option(Target.RTL, help="rtl: SystemVerilog; cpu: C++20"),
    out: Path = typer.Option(..., "-o", "--out", help="folder for the files; made when it is not there"),
    clock: float = typer.Option(200.0, "--clock", help="MHz to schedule for (rtl)"),
) -> None:
    """Build a program: one SystemVerilog module an element and one for the configuration, with the parts they stand on
    and a list of the files in the order of compilation (`files.f`); or one C++ file. Nothing is written where there is an error.

    `./sluice build my.sl --out rtl`, then for example `cd rtl && verilator --lint-only --top-module cfg_my -f files.f`."""
    texts = _rtl(file, clock) if target is Target.RTL else {"program.cc": cpp.generate(program_of(file))}
    for name, text in texts.items():
        save(out / name, text)
    for name in sorted(texts):
        print(out / name)


def _rtl(file: Path, clock: float) -> dict[str, str]:
    program, compiled = hardware(file, clock)
    texts = {f"{element.module}.sv": element.text for element in compiled.values()}
    if program.instances:
        try:
            graph = graph_of(file.stem, program, compiled)
        except HardwareError as error:
            diagnostics = Diagnostics()
            error.report(diagnostics)
            raise fail(diagnostics, False) from error
        texts[f"{graph.module}.sv"] = graph.text
    parts = {"sluice_pkg.sv": GENERATED / "sluice_pkg.sv"}
    for module in ("sl_skid", "sl_fifo", "sl_packet_fifo", "sl_forward_ram", "sl_signal_node", "sl_packet_guard"):
        if any(module in text for text in texts.values()):
            parts |= {path.name: path for path in closure(module)}
    order = [*sorted(parts, key=lambda name: (not name.endswith("_pkg.sv"), name)), *texts]
    return {name: path.read_text() for name, path in parts.items()} | texts | {"files.f": "".join(f"{name}\n" for name in order)}
