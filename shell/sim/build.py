# SPDX-License-Identifier: Apache-2.0
"""Builds the simulated device, `libsluice_sim.so`, once for each set of sources and sizes, and prints its path.

`python -m shell.sim.build [--lanes 4] [--lpm4 N] [--lpm6 N] [--exact4 N] [--exact6 N] [--flow-groups 0] [--flow-group-entries N]
[--flow-ternary N] [--pipeline-units 0] [--controller 0]
[--lane-clocks 0] [--host-lanes 0] [--host-queues 0] [--hostile 0] [--sanitize 0]`; the sizes N are
those of `layouts/device/sizes.sl` where none is given.
With flow groups it has the flow table (`configs/flow`) in place of the rule tables; 8 of them build and run fast.
With lane clocks, each lane has a clock of its own, faster or slower than the core's (`sim_model.cc`). With host lanes (as many as
lanes), the device is a bump in the wire: behind the lanes are those to a NIC. With host queues, packets to the host are described
and spread over so many receive queues of each lane: what the driver for DPDK needs. A hostile build is for tests: it checks
assertions, and what the RTL leaves open (contents at power-up, unknown bits) is random, by the seed in SLUICE_SIM_SEED. A sanitized
build has address and undefined-behaviour sanitizers; Python loads it with `LD_PRELOAD=$(gcc -print-file-name=libasan.so)` and
`ASAN_OPTIONS=detect_leaks=0`.

SLUICE_SIM_OPTIONS changes what is the default, as in `hostile=1,sanitize=1`.

`build(..., graph=...)` has a compiled configuration in place of the rule tables.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import sluice_layouts as L

from compiler.layouts import write
from toolchain import ROOT
from toolchain.lock import locked
from toolchain.simulate import (
    CLANG,
    GENERATED,
    SOURCES,
    TOOLCHAIN,
    closure,
    make_folder,
    module_folders,
    packages,
    verilator_includes,
)
from toolchain.verilog import without_comments

BUILD = make_folder("sim_device")
HERE = SOURCES / "shell" / "sim"
VERILATOR = ROOT / "build" / "env" / "bin" / "verilator"
PARAMETERS = {"lanes": "Lanes", "lpm4": "LpmEntries4", "lpm6": "LpmEntries6", "exact4": "ExactEntries4", "exact6": "ExactEntries6",
              "flow_groups": "FlowGroups", "flow_group_entries": "FlowGroupEntries", "flow_ternary": "FlowTernaryEntries",
              "pipeline_units": "PipelineUnits", "pipeline_exact": "PipelineExactEntries", "stateful_units": "StatefulUnits",
              "controller": "Controllers",
              "lane_clocks": "LaneClocks", "host_lanes": "HostLanes", "host_queues": "HostQueues"}  # fmt: skip
DEFAULTS = {"lanes": 4, "lpm4": L.LPM_ENTRIES4, "lpm6": L.LPM_ENTRIES6, "exact4": L.EXACT_ENTRIES4, "exact6": L.EXACT_ENTRIES6,
            "flow_groups": 0, "flow_group_entries": L.FLOW_GROUP_ENTRIES, "flow_ternary": L.FLOW_TERNARY_ENTRIES,
            "pipeline_units": 0, "pipeline_exact": L.PIPELINE_EXACT_ENTRIES, "stateful_units": 0, "controller": 0, "lane_clocks": 0,
            "host_lanes": 0, "host_queues": 0, "hostile": 0, "sanitize": 0}  # fmt: skip
# Tests and benchmarks share two builds: small rule tables, and the flow table with receive queues.
SMALL = {"lanes": 4, "lpm4": 64, "lpm6": 32, "exact4": 512, "exact6": 64}
FLOW = {"lanes": 4, "flow_groups": 8, "flow_group_entries": L.FLOW_GROUP_ENTRIES, "flow_ternary": L.FLOW_TERNARY_ENTRIES,
        "host_queues": 4}  # fmt: skip
OVERLAY = {"lanes": 4, "pipeline_units": 2, "controller": 1}
SPEED = "-O3 --no-timing --output-split 20000 --output-split-cfuncs 2000"
FAST = ["--x-assign", "fast", "--x-initial", "fast", "--no-assert"]
HOSTILE = ["--x-assign", "unique", "--x-initial", "unique", "--assert"]
SANITIZE = ["-fsanitize=address,undefined", "-fno-omit-frame-pointer", "-g1"]
# Long vectors as calls and not word by word: half the code, a quarter to a third less time to compile it, little more to run.
SHORT = "-fno-expand"
UNOPTIMIZED = [SHORT, "-MAKEFLAGS", "OPT_FAST=-O0", "-MAKEFLAGS", "OPT_SLOW=-O0"]  # sanitized: g++ needs half an hour to optimize
# For this processor: a tenth more packets a second.
MAKE = "-MAKEFLAGS CFG_CXXFLAGS_PCH_I=-include -MAKEFLAGS OPT_FAST=-O2 -MAKEFLAGS OPT_SLOW=-O1 -CFLAGS -march=native"
CPU = Path("/proc/cpuinfo")  # what it can do is part of what a build is known by
ARCHIVES = ("Vsh_sim__ALL.a", "libverilated.a")
FLAGS = f"--cc --build -j 2 -Wno-fatal {SPEED} {MAKE}".split()
# Of hostile builds, traced configurations and, by SLUICE_SIM_QUICK, all that `make test` makes: soon built rather than fast.
# clang takes a sixth less than g++ for it; -O0 would take two thirds as long, and runs five times as slowly.
QUICK = [SHORT, "-MAKEFLAGS", "OPT_FAST=-O1", "-MAKEFLAGS", "OPT_SLOW=-O0", *CLANG]
TRACED = ["-DSLUICE_TRACE"]  # elements print what happens


class BuildError(RuntimeError):
    """The device could not be built; the text ends with the compiler's last lines."""


def _run(command: list[str], log: Path) -> None:
    with log.open("a") as out:
        done = subprocess.run(command, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        raise BuildError(f"{command[0]} failed; log: {log}\n" + "\n".join(log.read_text().splitlines()[-12:]))


def _digest(sizes: Mapping[str, int], graph: Sequence[Path], flags: Sequence[str], *files: Path) -> str:
    can = next((line for line in CPU.read_text().splitlines() if line.startswith("flags")), "") if CPU.exists() else ""
    state = hashlib.sha256(repr((sorted(sizes.items()), flags, can)).encode())
    for path in [TOOLCHAIN, Path(__file__), *closure("sh_sim", graph), *files]:
        state.update(path.name.encode() + path.read_bytes())
    return state.hexdigest()[:16]


def defaults() -> dict[str, int]:
    """`DEFAULTS`, with what SLUICE_SIM_OPTIONS changes. Raises BuildError."""
    found = dict(DEFAULTS)
    for option in filter(None, os.environ.get("SLUICE_SIM_OPTIONS", "").split(",")):
        name, _, value = option.partition("=")
        if name not in DEFAULTS or not value.isdigit():
            raise BuildError(f"SLUICE_SIM_OPTIONS: {option} is not NAME=NUMBER with a name of {', '.join(DEFAULTS)}")
        found[name] = int(value)
    return found


def build(
    sizes: Mapping[str, int] | None = None,
    say: Callable[[str], None] = lambda text: None,
    graph: Mapping[str, str] | None = None,
    traced: bool = True,
) -> Path:
    """The library for these sizes (see `defaults`); made when it is not there. Raises BuildError.

    `graph`: modules by file name, `sh_graph.sv` among them, that stand in for those of the rule tables; `traced`: their elements
    print what happens."""
    wanted = {**defaults(), **(sizes or {})}
    modules = _written(graph or {})
    is_traced = bool(graph and traced)
    is_quick = is_traced or wanted["hostile"] or os.environ.get("SLUICE_SIM_QUICK")
    optimized = UNOPTIMIZED if wanted["sanitize"] else QUICK if is_quick else []
    flags = [*(TRACED if is_traced else []), *optimized]
    library = BUILD / _digest(wanted, modules, flags, *sorted(HERE.glob("*.[ch]*"))) / "libsluice_sim.so"
    if not library.exists():
        shell = BUILD / f"shell-{_digest(wanted, modules, flags)}"
        with locked(BUILD / f"{shell.name}.lock"):
            if not shell.exists():
                _verilate(wanted, modules, flags, shell, say)
            if not library.exists():
                _link(shell, library, ["-O1" if is_quick else "-O2", *(SANITIZE if wanted["sanitize"] else [])])
    return library


def _written(graph: Mapping[str, str]) -> list[Path]:
    """The modules as files, in a folder of their content. Comments do not count: they say where in a program each line is from."""
    state = hashlib.sha256(repr([(name, without_comments(text)) for name, text in sorted(graph.items())]).encode())
    folder = BUILD / f"graph-{state.hexdigest()[:16]}"
    for name, text in graph.items():
        if not (folder / name).exists():
            write(folder / name, text)
    return [folder / name for name in sorted(graph)]


def _verilate(
    wanted: Mapping[str, int], graph: Sequence[Path], flags: Sequence[str], shell: Path, say: Callable[[str], None]
) -> None:
    """The shell as archives: the long part, which a change of the model alone does not repeat."""
    start = time.monotonic()
    shown = "the configuration" if graph else ", ".join(f"{k} {v}" for k, v in wanted.items())
    say(f"building the simulated device ({shown}); {'a minute' if flags else 'a few minutes'}, once")
    unfinished = shell.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    needed = closure("sh_sim", graph)
    files = [*(p for p in packages() if p in needed), *(p for p in graph if p in needed), HERE / "sh_sim.sv"]
    search = [arg for path in module_folders() for arg in ("-y", str(path))]
    generics = [f"-G{parameter}={wanted[name]}" for name, parameter in PARAMETERS.items()]
    verilator = [
        str(VERILATOR),
        *FLAGS,
        *(HOSTILE if wanted["hostile"] else FAST),
        *flags,
        *(word for flag in ["-fPIC", *(SANITIZE if wanted["sanitize"] else [])] for word in ("-CFLAGS", flag)),
        "--Mdir",
        str(unfinished),
        "--prefix",
        "Vsh_sim",
    ]
    _run([*verilator, "--top-module", "sh_sim", *generics, *search, *map(str, files)], unfinished / "build.log")
    unfinished.rename(shell)
    say(f"compiled in {time.monotonic() - start:.0f} s")


def _link(shell: Path, library: Path, flags: Sequence[str]) -> None:
    library.parent.mkdir(parents=True, exist_ok=True)
    include = [f"-I{path}" for path in (shell, GENERATED, HERE, *verilator_includes())]
    unfinished = library.with_name("unfinished.so")
    model = ["g++", "-std=c++20", "-fPIC", "-shared", "-Wall", "-Wextra", *flags, *include, "-o", str(unfinished)]
    archives = [str(shell / name) for name in ARCHIVES]
    _run([*model, str(HERE / "sim_model.cc"), *archives, "-latomic", "-lpthread"], library.parent / "build.log")
    unfinished.rename(library)


def main() -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    try:
        for name, value in defaults().items():
            parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=value)
        sizes = {name: int(value) for name, value in vars(parser.parse_args()).items()}
        print(build(sizes, lambda text: print(f"sim: {text}", file=sys.stderr, flush=True)))
    except BuildError as error:
        print(f"sim: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
