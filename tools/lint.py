# SPDX-License-Identifier: Apache-2.0
"""Format and lint checks of every language, one command: ruff, mypy, clang-format, Verilator --lint-only.

`python -m tools.lint` checks and changes nothing; `--format` formats in place. Exit status 1: something failed.
Verilator's answers are kept in build/lint by content, so that only changed modules are linted again.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from toolchain import ROOT
from toolchain.simulate import SOURCE_FOLDERS, closure, module_folders, packages
from tools import addresses as address_rules
from tools import layers as layer_rules
from tools import names as name_rules

ENV = ROOT / "build" / "env" / "bin"
MOST_ENTRIES = 64  # of a table
CACHE = ROOT / "build" / "lint"


def tracked(*patterns: str) -> list[str]:
    """Files of the checkout that match, whether committed yet or not, build output excepted."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return sorted({name for name in listed if (ROOT / name).exists()})


def run(command: Sequence[str]) -> str:
    """Run a checker; its output where it failed, "" where all is well."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else (done.stdout + done.stderr).strip() or f"exit status {done.returncode}"


def python_style(fix: bool) -> str:
    """ruff's format and its lint."""
    files = tracked("*.py")
    return run([str(ENV / "ruff"), "format", *([] if fix else ["--check"]), "-q", *files]) or run(
        [str(ENV / "ruff"), "check", "-q", *(["--fix"] if fix else []), *files]
    )


def python_types(fix: bool) -> str:
    """mypy --strict over everything that is not a test."""
    del fix
    files = [name for name in tracked("*.py") if not Path(name).name.startswith("test_")]
    return run([str(ENV / "mypy"), "--no-error-summary", *files])


def c_style(fix: bool) -> str:
    """clang-format; warnings are the compiler's, as errors, in the build itself."""
    files = tracked("*.c", "*.h", "*.cc")
    return run(["clang-format", *(["-i"] if fix else ["--dry-run", "--Werror"]), *files]) if files else ""


def _smaller(path: Path) -> list[str]:
    """Tables of a module that is a top are small: the code is the same, and thousands of entries take Verilator seconds."""
    sizes = re.findall(r"\bparameter int unsigned\s+(\w*Entries\w*)\s*=\s*(\d+|[\w:]*[A-Z]\w*)\b(?! \?)", path.read_text())
    return [f"-G{name}={MOST_ENTRIES}" for name, size in sizes if not size.isdigit() or int(size) > MOST_ENTRIES]


def _verilog(path: Path) -> str:
    files, known = closure(path.stem), packages()
    state = hashlib.sha256(b"".join(p.read_bytes() for p in files)).hexdigest()
    stamp = CACHE / f"{path.stem}-{state[:16]}"
    if stamp.exists():
        return ""
    search = [arg for folder in module_folders() for arg in ("-y", str(folder))]
    needed = [str(p) for p in known if p in files]
    command = [
        str(ENV / "verilator"),
        "--lint-only",
        "-Wall",
        "--no-timing",
        str(ROOT / "toolchain" / "lint.vlt"),
        *needed,
        *search,
        *_smaller(path),
    ]
    failed = run([*command, *([] if path in known else ["--top-module", path.stem, str(path)])])
    if not failed:
        CACHE.mkdir(parents=True, exist_ok=True)
        stamp.touch()
    return failed


def verilog(fix: bool) -> str:
    """Verilator --lint-only -Wall of every module, each as a top."""
    del fix
    files = [ROOT / name for folder in SOURCE_FOLDERS for name in tracked(f"{folder}/*.sv")]
    with ThreadPoolExecutor(2) as pool:
        return "\n".join(text for text in pool.map(_verilog, files) if text)


def layers(fix: bool) -> str:
    """Which folder uses which, against the tables of ARCHITECTURE.md."""
    del fix
    page = (ROOT / layer_rules.PAGE).read_text()
    return "\n".join(layer_rules.wrong(ROOT, tracked("*.py", "*.sv", "*.c", "*.h", "*.cc"), page))


def names(fix: bool) -> str:
    """States of SystemVerilog, predicates and shared names of C."""
    del fix
    return "\n".join(name_rules.wrong(ROOT, tracked("*.sv", "*.c", "*.h", "*.cc")))


def addresses(fix: bool) -> str:
    """MAC addresses of packets that scapy makes."""
    del fix
    return "\n".join(address_rules.wrong(ROOT, tracked("*.py")))


CHECKS: dict[str, Callable[[bool], str]] = {
    "ruff": python_style,
    "mypy": python_types,
    "clang-format": c_style,
    "verilator --lint-only": verilog,
    "layers": layers,
    "names": names,
    "addresses": addresses,
}


def main() -> int:
    """Run every check; the exit status."""
    fix = "--format" in sys.argv[1:]
    failures = 0
    with ThreadPoolExecutor(1 if fix else 2) as pool:  # mypy takes half of the time, and one processor
        for name, found in zip(CHECKS, pool.map(lambda check: check(fix), CHECKS.values()), strict=True):
            print(f"lint: {name}: {'failed' if found else 'ok'}", flush=True)
            if found:
                print(found)
                failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
