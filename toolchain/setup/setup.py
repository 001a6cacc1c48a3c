# SPDX-License-Identifier: Apache-2.0
"""Installs what `toolchain.toml` names and generates the layouts; needs Python 3.11 and nothing else.

A stamp in build/env holds the hash of what was installed, so that a second run only compares it. A failure leaves no
stamp: the next run starts again. Exit status 1 with a line that says what to do when something cannot be installed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
import tomllib
import venv
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))  # this runs as a program, before there is an environment

from toolchain.setup.lock import LOCK, stale

ROOT = Path(__file__).resolve().parent.parent.parent
ENV = ROOT / "build" / "env"
STAMP = ENV / "sluice-stamp"
DONE = ENV / "sluice-done"  # as old as the beginning of the last set-up that came to its end
WRAPPERS = [ROOT / "toolchain" / "setup" / name for name in ("verilator", "run_verilator.py")]
INSTALL = ("install", "--quiet", "--disable-pip-version-check", "--require-hashes", "-r", str(LOCK))


def say(text: str) -> None:
    """One line of progress."""
    print(f"setup: {text}", flush=True)


def run(*command: str, env: dict[str, str] | None = None) -> None:
    """Run a command quietly; on failure show its output and end the set-up."""
    done = subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        print(done.stdout[-3000:], file=sys.stderr)
        sys.exit(f"setup: failed: {' '.join(command)}")


def present(tool: dict[str, str]) -> bool:
    """Whether a Debian package's command or file is there."""
    return bool(shutil.which(tool["command"]) if "command" in tool else Path(tool["file"]).exists())


def debian(tools: dict[str, dict[str, str]]) -> None:
    """Install the missing Debian packages; says which ones where that takes root and this is not root."""
    missing = [tool["package"] for tool in tools.values() if not present(tool)]
    if not missing:
        return
    if os.geteuid() != 0:
        sys.exit(f"setup: missing packages; as root: apt-get install {' '.join(missing)}")
    say(f"installing {', '.join(missing)}")
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    run("apt-get", "update", "-qq", env=quiet)
    run("apt-get", "-o", "DPkg::Lock::Timeout=300", "install", "-y", "-qq", "--no-install-recommends", *missing, env=quiet)


def python(packages: dict[str, str]) -> None:
    """Make build/env with exactly the locked packages. Ends the set-up where a pin is not among them."""
    if missing := stale([f"{name}=={version}" for name, version in packages.items()], LOCK):
        sys.exit(f"setup: {LOCK.name} lacks {', '.join(missing)} of toolchain.toml; run `make lock`")
    state = hashlib.sha256(b"".join(path.read_bytes() for path in (LOCK, *WRAPPERS)) + sys.version.encode()).hexdigest()
    if STAMP.exists() and STAMP.read_text() == state:
        return
    say(f"creating build/env with {len(packages)} pinned packages (a minute)")
    if not (ENV / "bin" / "pip").exists():
        venv.create(ENV, with_pip=True, clear=ENV.exists())
    run(str(ENV / "bin" / "python"), "-m", "pip", *INSTALL)
    for wrapper in WRAPPERS:
        shutil.copy2(wrapper, ENV / "bin" / wrapper.name)
    STAMP.write_text(state)


def main() -> None:
    """Install, then generate."""
    began = time.time()
    wanted: dict[str, Any] = tomllib.loads((ROOT / "toolchain.toml").read_text())
    debian(wanted["debian"])
    if "--bench" in sys.argv[1:]:
        debian(wanted["debian-bench"])
    python(wanted["python"])
    run(str(ENV / "bin" / "python"), "-m", "compiler.layouts")
    if "--dpdk" in sys.argv[1:]:
        run(str(ENV / "bin" / "python"), "-m", "toolchain.setup.dpdk")
    DONE.touch()
    os.utime(DONE, (began, began))


if __name__ == "__main__":
    main()
