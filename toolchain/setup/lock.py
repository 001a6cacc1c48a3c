# SPDX-License-Identifier: Apache-2.0
"""Locks the Python packages: what `toolchain.toml` names, with all it needs, and what the certification and the test with Faucet
name, every one with its hashes. `make lock` after a change of any; needs the network. Set-up installs what is locked and nothing
else."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TOOLCHAIN, LOCK = ROOT / "toolchain.toml", ROOT / "requirements.lock"
CERTIFY = ROOT / "testing" / "ovs" / "certify-requirements.txt"
CERTIFY_LOCK = CERTIFY.with_suffix(".lock")
FAUCET = ROOT / "host" / "agent" / "testing" / "faucet-requirements.txt"
FAUCET_LOCK = FAUCET.with_suffix(".lock")
HEADER = "# SPDX-License-Identifier: Apache-2.0\n# Made by `make lock` from {}; not to be edited.\n"
UV = "0.13.9"  # what resolves and hashes, in an environment of its own
PLATFORM = ("--python-version", "3.11", "--python-platform", "x86_64-manylinux_2_36")  # Debian 12


def pins() -> list[str]:
    """The packages that `toolchain.toml` names."""
    return [f"{name}=={version}" for name, version in tomllib.loads(TOOLCHAIN.read_text())["python"].items()]


def _normal(name: str) -> str:
    """As the index compares names."""
    return re.sub(r"[-_.]+", "-", name).lower()


def locked(lock: Path) -> dict[str, str]:
    """Names and versions in a lock file."""
    found = re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", lock.read_text(), re.MULTILINE)
    return {_normal(name): version for name, version in found}


def stale(wanted: list[str], lock: Path) -> list[str]:
    """Pins that are not in the lock file."""
    have = locked(lock)
    return [pin for pin in wanted if have.get(_normal(pin.partition("==")[0])) != pin.partition("==")[2]]


def compile_lock(uv: Path, given: Path, lock: Path, origin: str, *options: str) -> None:
    """Write a lock file. Raises RuntimeError with the words of uv."""
    command = [str(uv), "pip", "compile", "--quiet", "--generate-hashes", "--no-header", "--no-annotate", *PLATFORM, *options]
    done = subprocess.run([*command, str(given)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-3000:])
    lock.write_text(HEADER.format(origin) + done.stdout)


def main() -> int:
    """The command; its exit status."""
    with tempfile.TemporaryDirectory() as folder:
        environment, given = Path(folder) / "env", Path(folder) / "pins.txt"
        venv.create(environment, with_pip=True)
        subprocess.run([str(environment / "bin" / "pip"), "install", "--quiet", f"uv=={UV}"], check=True)
        given.write_text("\n".join(pins()) + "\n")
        try:
            compile_lock(environment / "bin" / "uv", given, LOCK, "toolchain.toml")
            for pinned, lock in ((CERTIFY, CERTIFY_LOCK), (FAUCET, FAUCET_LOCK)):
                compile_lock(environment / "bin" / "uv", pinned, lock, str(pinned.relative_to(ROOT)), "--no-deps")
        except RuntimeError as error:
            print(f"lock: {error}", file=sys.stderr)
            return 1
    print("lock: " + ", ".join(f"{len(locked(lock))} packages in {lock.name}" for lock in (LOCK, CERTIFY_LOCK, FAUCET_LOCK)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
