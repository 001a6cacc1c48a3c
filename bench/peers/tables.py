# SPDX-License-Identifier: Apache-2.0
"""Runs `tables.c`: DPDK's rte_lpm, rte_lpm6 or rte_hash over given rules, on one core."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from toolchain import ROOT

SOURCE = Path(__file__).with_name("tables.c")
BUILD = ROOT / "build" / "bench"


class PeerMissing(RuntimeError):
    """The peer is not installed; the text says how to get it."""


def eal(program: str, megabytes: int = 512) -> list[str]:
    """DPDK's options of a program on one core, with so much memory."""
    options = f"--no-huge --no-pci -m {megabytes} -l 1 --log-level error --no-telemetry --file-prefix sluice-{program}"
    return options.split()


def built(source: Path, name: str) -> Path:
    """A program for DPDK, compiled; again when its source is newer. Raises PeerMissing."""
    program = BUILD / name
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        BUILD.mkdir(parents=True, exist_ok=True)
        found = subprocess.run(["pkg-config", "--cflags", "--libs", "libdpdk"], capture_output=True, text=True, check=False)
        if found.returncode != 0:
            raise PeerMissing("DPDK's headers are missing: toolchain/setup/setup.sh --bench")
        flags = ["-std=gnu11", "-O3", "-march=native", "-Wall", "-Wextra", "-Werror"]
        subprocess.run(["gcc", *flags, "-o", str(program), str(source), *shlex.split(found.stdout)], check=True)
    return program


def measure(kind: str, rules: Sequence[str]) -> dict[str, Any]:
    """Figures of one table ("lpm4", "lpm6", "hash4", "hash6") with `rules`, a line each as `tables.c` says."""
    program = built(SOURCE, "tables")
    path = BUILD / f"peer-{kind}.rules"
    path.write_text("\n".join(rules) + "\n")
    done = subprocess.run([program, kind, path, *eal("tables")], capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"tables {kind}: {done.stderr.strip()}")
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def measured(kind: str, rules: Sequence[str]) -> dict[str, Any]:
    """The same, or why they could not be measured."""
    try:
        return measure(kind, rules)
    except (PeerMissing, OSError, RuntimeError, subprocess.SubprocessError) as reason:
        return {"missing": str(reason)}


def rates(figures: Mapping[str, Any]) -> str | None:
    """Single and bulk lookups for the docs, M/s; None where they were not measured."""
    return f"{figures['single_mlookups_per_s']}, {figures['bulk_mlookups_per_s']}" if "rules" in figures else None
