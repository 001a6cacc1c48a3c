# SPDX-License-Identifier: Apache-2.0
"""docs/guide/tutorial.md, deploy.md and live_functions.md say what happens: their files are written, their commands run, and
what they print is compared.

A fence of `sl FILE` or `py FILE` is a file, of `sh` commands (`sh exit 1`: which fail), of `text` what the commands before it
print: these lines one after another, where `…` is any text, and a line of it alone is any lines. Spaces count once.
"""

import re
import subprocess
from pathlib import Path

import pytest

from toolchain import ROOT

GUIDE = ROOT / "docs" / "guide"
FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FOLDER = "build/tutorial"


def squeezed(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def pattern(expected: str) -> str:
    """A regular expression for the whole output, by lines."""
    parts = []
    for line in squeezed(expected):
        parts.append(r"(?:.*\n)*?" if line == "…" else ".*".join(map(re.escape, line.split("…"))) + r"\n")
    return "".join(parts)


@pytest.mark.parametrize(("page", "least"), [("tutorial.md", 10), ("deploy.md", 2), ("live_functions.md", 6)])
def test_the_page_is_true(page: str, least: int, tmp_path: Path) -> None:
    text = (GUIDE / page).read_text().replace("../../../build/env", str(ROOT / "build" / "env")).replace(FOLDER, str(tmp_path))
    try:
        _follow(text, least)
    except BaseException:  # what a page leaves behind on its way
        if "ip netns" in text:
            _bash(f"set +e; kill -KILL $(cat {tmp_path}/pid); ip netns del sl-host0; ip netns del sl-host1")
        raise


def _bash(text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-ec", text], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)


def _follow(text: str, least: int) -> None:
    said, commands = "", 0
    for kind, rest, body in FENCE.findall(text):
        if kind in ("sl", "py"):
            Path(rest.strip()).write_text(body)
        elif kind == "sh":
            done = _bash(body)
            commands += 1
            assert done.returncode == int(rest.split()[1] if rest else 0), f"{body}\n{done.stdout}{done.stderr}"
            said = done.stdout or done.stderr
        else:
            lines = "".join(f"{line}\n" for line in squeezed(said))
            assert re.fullmatch(pattern(body), lines), f"expected:\n{body}\nis:\n{said}"
    assert commands >= least
