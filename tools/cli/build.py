# SPDX-License-Identifier: Apache-2.0
"""`sluice build`: a program as SystemVerilog or C++ files, or as a simulated device."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path

import typer

from compiler import native_cpp
from compiler.backends import cpp
from compiler.certificate import parts
from compiler.compile import Compiled, HardwareError, graph_of, shell_of
from compiler.frontend.source import Diagnostics
from compiler.frontend.typed import Program
from compiler.native import has_native
from compiler.native import native as native_body
from host.program.device_run import design
from shell.sim.build import BuildError
from shell.sim.build import build as build_device
from toolchain import ROOT
from toolchain.simulate import closure, module_folders
from tools.cli.programs import fail, hardware, program_of, save

LIST = "files.f"


class Target(StrEnum):
    """What is built."""

    RTL = "rtl"
    CPU = "cpu"
    DEVICE = "device"


def build(
    file: Path = typer.Argument(..., help="a program: elements, a configuration, or both"),
    target: Target = typer.Option(Target.RTL, help="rtl: SystemVerilog; cpu: C++20; device: the simulated device, a library"),
    out: Path = typer.Option(..., "-o", "--out", help="folder for the files; created if missing"),
    clock: float = typer.Option(200.0, "--clock", help="target clock in MHz (rtl)"),
    native: bool = typer.Option(
        False, "--native", help="use native bodies of elements that have one in the language of the target"
    ),
    flow_table: bool = typer.Option(
        False,
        "--flow-table",
        help="add the rte_flow flow table behind the program: packets that leave on a lane enter it as packets of that lane",
    ),
) -> None:
    """Build a program: one SystemVerilog module per element and one for the configuration, with the library parts they use
    and a list of the files in compilation order (`files.f`); or one C++ file. Nothing is written if there is an error.

    `./sluice build my.sl --out rtl`, then for example `cd rtl && verilator --lint-only --top-module cfg_my -f files.f`. In
    `rtl/shell` is the whole device with the configuration as its graph; its top is `sh_core`, and it has its own list.

    `./sluice build configs/guard/guard.sl --target device --flow-table --out guarded` makes `guarded/libsluice_sim.so`, a device
    for the DPDK driver (`net_sluice0,device=sim:FILE`) and the host library (`sim:lib=FILE`)."""
    if target is Target.DEVICE:
        print(_device(file, flow_table, out))
        return
    try:
        texts = _rtl(file, clock, native, flow_table) if target is Target.RTL else {"program.cc": _cpp(program_of(file), native)}
    except HardwareError as error:
        diagnostics = Diagnostics()
        error.report(diagnostics)
        raise fail(diagnostics, False) from error
    for name, text in texts.items():
        save(out / name, text)
    for name in sorted(name for name in texts if "/" not in name):
        print(out / name)
    if f"shell/{LIST}" in texts:
        print(out / "shell")


def _device(file: Path, flow_table: bool, out: Path) -> Path:
    """The library of the simulated device, which does not print what its elements do."""
    try:
        made = design(file.stem, program_of(file), flow_table)
        library = build_device(made.sizes, lambda text: print(text, file=sys.stderr), made.texts, traced=False)
        out.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(library, out))
    except HardwareError as error:
        diagnostics = Diagnostics()
        error.report(diagnostics)
        raise fail(diagnostics, False) from error
    except (BuildError, OSError) as error:
        print(f"build: {error}", file=sys.stderr)
        raise typer.Exit(1) from error


def _cpp(program: Program, native: bool) -> str:
    """The C++. Raises HardwareError where a native body does not fit."""
    return native_cpp.generate(program) if native else cpp.generate(program)


def _rtl(file: Path, clock: float, native: bool, flow_table: bool) -> dict[str, str]:
    """The files by name. Raises HardwareError."""
    program, compiled = hardware(file, clock)
    texts = _modules(compiled, native)
    elements, shell = list(texts), {}
    if program.instances:
        graph = graph_of(file.stem, program, compiled)
        texts[f"{graph.module}.sv"] = graph.text
        shell = _shell(file.stem, program, compiled, flow_table)
    used = parts("\n".join(texts.values()))
    whole = {**used, **texts, LIST: _list([*sorted(used), *texts])}
    if shell:
        shell = {name: text for name, text in shell.items() if name not in used}
        shell[LIST] = _list([*(f"../{name}" for name in [*sorted(used), *elements]), *shell])
    return whole | {f"shell/{name}": text for name, text in shell.items()}


def _list(names: Sequence[str]) -> str:
    """Files, packages first: the layouts', then those that use them."""
    order = sorted(names, key=lambda name: (not name.endswith("_pkg.sv"), "sluice_pkg" not in name))
    return "".join(f"{name}\n" for name in order)


def _shell(name: str, program: Program, compiled: dict[str, Compiled], flow_table: bool) -> dict[str, str]:
    """The device around the configuration, by file name. Raises HardwareError."""
    graph, top = shell_of(name, program, compiled, flow_table)
    core = ROOT / "shell" / "core" / "sh_core.sv"
    known = {path.stem for folder in module_folders() for path in folder.glob("*.sv")}
    used = {word for word in re.findall(r"\w+", core.read_text() + top.text) if word in known} - {"sh_core", "sh_graph"}
    paths = {path for word in used for path in closure(word)}
    texts = {path.name: path.read_text() for path in sorted({core, *paths})}
    return {**texts, f"{graph.module}.sv": graph.text, "sh_graph.sv": top.text}


def _modules(compiled: Mapping[str, Compiled], native: bool) -> dict[str, str]:
    """Every element's module, by file name. Raises HardwareError."""
    texts: dict[str, str] = {}
    for element in compiled.values():
        texts |= native_body(element) if native and has_native(element) else {f"{element.module}.sv": element.text}
    return texts
