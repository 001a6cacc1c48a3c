# SPDX-License-Identifier: Apache-2.0
"""Area and clock of modules that the compiler emits: as in `flow`, from texts instead of files in the source folders."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from toolchain import ROOT
from toolchain.lock import locked
from toolchain.synth import flow, ledger
from toolchain.verilog import synthesised

Ports = Mapping[str, tuple[str, int]]  # "input" or "output", and bits


def area_of(top: str, files: Mapping[str, str], target: str, timeout: float = 1800) -> flow.Area:
    """Synthesise the module `top` of texts by file name for `target`; kept by content. Raises SynthesisError."""
    with _folder(top, files, target) as folder:

        def make() -> dict[str, Any]:
            report = f"tee -q -o {_inside(folder / 'stat.json')} stat -json"
            flow._yosys([_read(top, files, folder), *_synth_commands(target), report], folder, timeout)
            return asdict(flow._area(target, json.loads((folder / "stat.json").read_text())["design"]["num_cells_by_type"]))

        return flow.Area(**ledger.figure(folder, "area", make))


def has_area(top: str, files: Mapping[str, str], target: str) -> bool:
    """Whether `area_of` has its answer already."""
    return ledger.is_known(_place_of(top, files, target), "area")


def ports_of(
    top: str, files: Mapping[str, str], parameters: Mapping[str, int] | None = None, timeout: float = 600
) -> dict[str, tuple[str, int]]:
    """The ports of the module `top` of texts by file name; kept by content. Raises SynthesisError."""
    generics = "".join(f" -G {name}={value}" for name, value in (parameters or {}).items())
    with _folder(top, files, f"ports{generics}") as folder:
        result = folder / "ports.json"
        if not result.exists():
            made = folder / "unfinished.json"
            flow._yosys([_read(top, files, folder) + generics, f"write_json {_inside(made)}"], folder, timeout)
            made.rename(result)
        modules = json.loads(result.read_text())["modules"]
    found = next(module for module in modules.values() if "top" in module["attributes"])
    return {name: (port["direction"], len(port["bits"])) for name, port in found["ports"].items()}


def fmax_of(top: str, files: Mapping[str, str], seed: int = 1, goal_mhz: float = 250, timeout: float = 7200) -> float:
    """MHz on the ECP5-5G 85k with every port of `top` behind a flip-flop; kept by content. Raises SynthesisError."""
    with _folder(top, files, "timing") as folder:
        netlist = folder / "netlist.json"

        def make() -> dict[str, float]:
            if not netlist.exists():
                ports = ports_of(top, files)
                read = _read("timing_wrapper", {**files, "timing_wrapper.sv": _wrapper(top, ports)}, folder)
                made = folder / "unfinished.json"
                flow._yosys([read, *_synth_commands("ecp5"), f"write_json {_inside(made)}"], folder, timeout)
                made.rename(netlist)
            return {"mhz": flow._place(folder, netlist, seed, goal_mhz, flow.WEIGHT, timeout)}

        return float(ledger.figure(folder, f"mhz-{seed}", make)["mhz"])


def has_fmax(top: str, files: Mapping[str, str], seed: int = 1) -> bool:
    """Whether `fmax_of` has its answer already."""
    return ledger.is_known(_place_of(top, files, "timing"), f"mhz-{seed}")


def _place_of(top: str, files: Mapping[str, str], what: str) -> Path:
    places = what == "timing"
    made_by = flow.recipe(_read, _synth_commands, *[_wrapper] * places, places=places)
    state = hashlib.sha256(repr((top, synthesised(files), what, made_by, *[flow.WEIGHT] * places)).encode())
    return flow.BUILD / f"{top}-{what.split()[0]}-{state.hexdigest()[:16]}"


@contextlib.contextmanager
def _folder(top: str, files: Mapping[str, str], what: str) -> Iterator[Path]:
    """Where the work is done; whoever wants the same waits."""
    folder = _place_of(top, files, what)
    with locked(folder.with_suffix(".lock")):
        yield folder


def _inside(path: Path) -> Path:
    """Seen from the root: the tools see only files below the folder they start in."""
    return path.relative_to(ROOT)


def _read(top: str, files: Mapping[str, str], folder: Path) -> str:
    """The command that reads the texts, which are written into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    names = sorted(files, key=lambda name: (not name.endswith("_pkg.sv"), name))
    command = flow._read("sl_skid", {}, top=top).partition(" --top ")[0]  # as `flow` reads any module
    return f"{command} --top {top} {' '.join(str(_inside(folder / name)) for name in names)}"


def _synth_commands(target: str) -> list[str]:
    """For the ECP5 without resets that Yosys makes of choices with 0: the net of each reaches all of a word, and flip-flops with
    different resets share no slice. A pipeline has hundreds of them (SynFlood: 179 and 183 MHz with two seeds, 194 and 191
    without)."""
    whole = flow._synth_command(target)
    if target != "ecp5":
        return [whole]
    return [f"{whole} -run begin:map_ffs", "dffunmap -srst-only", "opt_clean", f"{whole} -run map_ffs:"]


def _wrapper(top: str, ports: Ports) -> str:
    """`timing_wrapper`: the module with a register at every port but its clock."""
    head, lines, connections = [], [], []
    for name, (way, bits) in ports.items():
        head.append(f"{way} logic [{bits - 1}:0] {name}")
        if name == "clk_i":
            connections.append(".clk_i")
            continue
        source, sink = (name, f"{name}_q") if way == "input" else (f"{name}_q", name)
        lines.append(f"  logic [{bits - 1}:0] {name}_q;\n  always_ff @(posedge clk_i) {sink} <= {source};")
        connections.append(f".{name}({name}_q)")
    instance = f"  {top} u_module ({', '.join(connections)});"
    return "\n".join([f"module timing_wrapper ({', '.join(head)});", *lines, instance, "endmodule\n"])
