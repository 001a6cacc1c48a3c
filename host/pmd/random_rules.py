# SPDX-License-Identifier: Apache-2.0
"""Random operations on the driver against a model (`testing/random_rules.c`).

`python -m host.pmd.random_rules --operations 1000000`; with `--operations 0 --sequences 100000` sequences of calls that configure,
start, stop, spread, filter, detach and attach ports. By default driver and library are in the program, compiled for the address
sanitizer, so that a wrong access ends it; with `--sanitize none` it loads the driver. Exit status 1: a difference, whose seed and
operation are named; the same seed finds it again.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import typer

from host.build import FLAGS, INCLUDES, BuildError, c_files
from host.build import build_program as build_device_program
from host.pmd.build import BUILD, DEFINES, FOLDERS, HERE, NEEDED, dpdk_flags
from host.pmd.build import build as build_driver
from shell.sim.build import FLOW
from shell.sim.build import build as build_device

TESTING = HERE / "testing"
SANITIZE = {"none": [], "address": ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]}
TERNARY = {"functional": 256, "sim": FLOW["flow_ternary"]}


def build(program: str, sanitize: str) -> Path:
    """A program of `testing`, with a sanitizer together with driver and library; made when it is not there. Raises BuildError."""
    sources = [TESTING / f"{program}.c"]
    flags = [*FLAGS, "-O1", *SANITIZE[sanitize], *DEFINES, *dpdk_flags()]
    if sanitize != "none":
        sources += c_files(FOLDERS)
        flags.append(f'-DSLUICE_DEVICE_PROGRAM="{build_device_program()}"')
    state = hashlib.sha256(repr(flags).encode())
    for path in [*sources, *sorted(path for folder in (*INCLUDES, HERE, TESTING) for path in folder.glob("*.h"))]:
        state.update(path.name.encode() + path.read_bytes())
    target = BUILD / f"{program}-{state.hexdigest()[:16]}"
    if not target.exists():
        BUILD.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_suffix(f".{os.getpid()}")
        libraries = [*(f"-lrte_{name}" for name in NEEDED), "-lpcap", "-lpthread", "-ldl", "-lm"]
        includes = [f"-I{path}" for path in (*INCLUDES, HERE)]
        command = ["gcc", *flags, *includes, "-o", str(unfinished), *map(str, sources), *libraries]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise BuildError(done.stderr[-6000:])
        unfinished.rename(target)
    return target


def run(
    program: str, own: list[str], device: str, sanitize: str, lanes: str, quiet: bool = True, patience: float = 600
) -> dict[str, Any]:
    """One run of the program; what it counted. Raises RuntimeError with its last words.

    Without the order fence: a rule must be in force at once.
    """
    cores = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    which = device if device == "functional" else f"{device}:{build_device(FLOW)}"
    eal = ["--no-huge", "--legacy-mem", "-m", "64", "--no-pci", "--file-prefix", f"sluice{os.getpid()}", "--log-level=error"]
    eal += ["--lcores", f"0@({cores})", "--vdev", f"net_sluice0,device={which},lanes=[{lanes}],fence=0"]
    eal += ["-d", str(build_driver())] if sanitize == "none" else []
    command = [str(build(program, sanitize)), *eal, "--", *own]
    # DPDK leaves its memory to the end of the process.
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
    progress = subprocess.PIPE if quiet else None
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=progress, text=True, timeout=patience, env=environment, check=False
    )
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        raise RuntimeError(f"status {done.returncode}: {done.stdout[-3000:]}{(done.stderr or '')[-6000:]}")
    counted: dict[str, Any] = json.loads(lines[-1])
    return counted


def operations(
    count: int,
    seed: int,
    sequences: int = 0,
    device: str = "functional",
    sanitize: str = "none",
    quiet: bool = True,
    patience: float = 600,
) -> dict[str, Any]:
    """Random operations, then random sequences of calls; what they were. Raises RuntimeError at a difference."""
    with tempfile.TemporaryDirectory(prefix="sluice-rules-") as folder:
        lanes = ",".join(f"unix:{folder}/lane{lane}:{folder}/out{lane}" for lane in range(3))
        begin = time.monotonic()
        counted = run(
            "random_rules",
            [str(seed), str(count), str(sequences), str(TERNARY[device]), folder],
            device,
            sanitize,
            lanes,
            quiet,
            patience,
        )
    return {"device": device, "sanitize": sanitize, "seed": seed, **counted, "seconds": round(time.monotonic() - begin, 1)}


def storm(threads: int = 10, rounds: int = 20, device: str = "functional", sanitize: str = "none") -> dict[str, Any]:
    """Threads that make, query and destroy rules at once, then a full table. Raises RuntimeError where something is wrong."""
    return run("rule_storm", [str(threads), str(rounds)], device, sanitize, "none,none,none")


def command(
    count: int = typer.Option(1_000_000, "--operations", help="number of rules and packets"),
    sequences: int = typer.Option(0, help="then how many sequences of calls, most of them on ports"),
    seed: int = typer.Option(1, help="what is drawn"),
    device: str = typer.Option("functional", help="functional, or sim for the RTL"),
    sanitize: str = typer.Option("address", help="none or address"),
    as_json: bool = typer.Option(False, "--json", help="only JSON"),
) -> None:
    """Random rules and packets on the driver, compared with a model."""
    try:
        result = operations(count, seed, sequences, device, sanitize, quiet=as_json, patience=float(7 * 24 * 3600))
    except (BuildError, RuntimeError) as error:
        print(f"random_rules, seed {seed}: {error}", file=sys.stderr)
        raise typer.Exit(1) from error
    print(json.dumps(result) if as_json else "\n".join(f"{name:12} {value}" for name, value in result.items()))


if __name__ == "__main__":
    typer.run(command)
