# SPDX-License-Identifier: Apache-2.0
"""`sluice build`: a program as SystemVerilog or C++ files."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

import typer

from compiler.backends import cpp
from compiler.certificate import parts
from compiler.compile import Compiled, HardwareError, graph_of
from compiler.frontend.source import Diagnostics
from compiler.native import has_native
from compiler.native import native as native_body
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
    native: bool = typer.Option(False, "--native", help="take native bodies, where elements have one (rtl)"),
) -> None:
    """Build a program: one SystemVerilog module an element and one for the configuration, with the parts they stand on
    and a list of the files in the order of compilation (`files.f`); or one C++ file. Nothing is written where there is an error.

    `./sluice build my.sl --out rtl`, then for example `cd rtl && verilator --lint-only --top-module cfg_my -f files.f`."""
    texts = _rtl(file, clock, native) if target is Target.RTL else {"program.cc": cpp.generate(program_of(file))}
    for name, text in texts.items():
        save(out / name, text)
    for name in sorted(texts):
        print(out / name)


def _rtl(file: Path, clock: float, native: bool) -> dict[str, str]:
    program, compiled = hardware(file, clock)
    try:
        texts = _modules(compiled, native)
        if program.instances:
            graph = graph_of(file.stem, program, compiled)
            texts[f"{graph.module}.sv"] = graph.text
    except HardwareError as error:
        diagnostics = Diagnostics()
        error.report(diagnostics)
        raise fail(diagnostics, False) from error
    used = parts("\n".join(texts.values()))
    order = [*sorted(used, key=lambda name: (not name.endswith("_pkg.sv"), name)), *texts]
    return {**used, **texts, "files.f": "".join(f"{name}\n" for name in order)}


def _modules(compiled: Mapping[str, Compiled], native: bool) -> dict[str, str]:
    """Every element's module, by file name. Raises HardwareError."""
    texts: dict[str, str] = {}
    for element in compiled.values():
        texts |= native_body(element) if native and has_native(element) else {f"{element.module}.sv": element.text}
    return texts
