# SPDX-License-Identifier: Apache-2.0
"""Which mutants a seed stands for: a share of every part, of every operator within it, only such as compile without a warning.

The order in which a part's mutants are taken hangs on the seed and on the changed line alone, so that an edit elsewhere leaves
the choice as it was.
"""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from host.build import FLAGS, INCLUDES
from testing.mutate import c, verilog
from testing.mutate.mutant import PACKAGE, PACKAGE_TEXT, Mutant, direct, schema
from testing.simulate import GENERATED, ROOT, closure, module_folders, packages

FOLDERS = ("rtl", "elements", "shell/core", "host/lib", "host/switch", "host/pmd")
CHECKS = ("sl_channel_check",)  # observes; nothing depends on it
TOOLS = ROOT / "build" / "env" / "bin"


def parts(names: Sequence[str] = ()) -> list[str]:
    """The files that hold something to change, as paths in the repository: all, or those that `names` (a file, its name without
    an ending, a folder) mean. Raises ValueError for a name that means none."""
    found = sorted(
        str(path.relative_to(ROOT))
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".sv", ".c")
        and "testing" not in path.parts
        and not path.stem.startswith("tb_")
        and path.stem not in CHECKS
    )
    if not names:
        return found
    chosen: dict[str, None] = {}
    for name in names:
        plain = name.rstrip("/")
        meant = [p for p in found if p == plain or Path(p).stem == plain or p.startswith(f"{plain}/")]
        if not meant:
            raise ValueError(f"no part {name}; a part is a file of {', '.join(FOLDERS)}, its name, or a folder")
        chosen |= dict.fromkeys(meant)
    return list(chosen)


def candidates(file: str) -> list[Mutant]:
    """Every mutant of a part, whether it compiles or not."""
    source = (ROOT / file).read_bytes()
    return verilog.candidates(file, source) if file.endswith(".sv") else c.candidates(file, source)


def ordered(file: str, seed: int) -> Iterator[Mutant]:
    """The mutants of a part in the order of the seed, operators in turn."""
    waiting: dict[str, list[Mutant]] = defaultdict(list)
    for it in candidates(file):
        waiting[it.operator].append(it)
    operators = sorted(waiting, key=lambda name: _rank(seed, file, name))
    for mutants in waiting.values():
        mutants.sort(key=lambda it: _rank(seed, it.key))
    while operators:
        for name in list(operators):
            yield waiting[name].pop(0)
            if not waiting[name]:
                operators.remove(name)


def _rank(*what: object) -> str:
    return hashlib.sha256(repr(what).encode()).hexdigest()


def quotas(files: Sequence[str], count: int) -> dict[str, int]:
    """How many of `count` mutants each file gives: one at least, more where it holds more (by the root of that number, so
    that the largest do not have nearly all)."""
    weights = {file: len(candidates(file)) ** 0.5 for file in files}
    weights = {file: weight for file, weight in weights.items() if weight}
    total = sum(weights.values())
    shares = {file: max(1, int(count * weight / total)) for file, weight in weights.items()}
    left = count - sum(shares.values())
    for file in sorted(weights, key=lambda name: shares[name] - count * weights[name] / total)[: max(0, left)]:
        shares[file] += 1
    return shares


class Compilers:
    """Whether a mutant compiles. Answers are kept in `notes`, a line each, so that a drawing that was stopped goes on."""

    def __init__(self, notes: Path) -> None:
        self.notes = notes
        lines = notes.read_text().splitlines() if notes.exists() else []
        self.known = {key: answer == "yes" for key, answer in (line.split() for line in lines)}

    def accept(self, it: Mutant) -> bool:
        """Neither the mutant itself nor its form in a schema makes a compiler complain."""
        source = (ROOT / it.file).read_bytes()
        key = hashlib.sha256(repr((it.key, source)).encode()).hexdigest()[:16]
        if key not in self.known:
            in_schema = schema(source, [(1, it)])
            if it.file.endswith(".sv"):
                fine = _lints(it.file, direct(source, it), False) and _lints(it.file, in_schema, True)
            else:
                fine = _compiles(it.file, direct(source, it)) and _compiles(it.file, in_schema)
            self.known[key] = fine
            self.notes.parent.mkdir(parents=True, exist_ok=True)
            with self.notes.open("a") as out:
                out.write(f"{key} {'yes' if fine else 'no'}\n")
        return self.known[key]


def drawn(file: str, count: int, seed: int, compilers: Compilers) -> list[Mutant]:
    """The first `count` mutants of a part that compile."""
    found: list[Mutant] = []
    lines: set[str] = set()
    for it in ordered(file, seed):
        if len(found) == count:
            break
        if it.mutated_line not in lines and compilers.accept(it):
            found.append(it)
            lines.add(it.mutated_line)
    return found


def _lints(file: str, text: bytes, in_schema: bool) -> bool:
    module = Path(file).stem
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / f"{module}.sv").write_bytes(text)
        (folder / f"{PACKAGE}.sv").write_text(PACKAGE_TEXT)
        package = ROOT / file in packages()
        top = _user_of(module) if package else module
        needed = [str(folder / path.name if path.stem == module else path) for path in packages() if path in closure(top)]
        search = [arg for path in (folder, *module_folders()) for arg in ("-y", str(path))]
        warnings = ["-Wno-fatal"] if in_schema else ["-Wall", str(ROOT / "testing" / "lint.vlt")]
        first = [str(folder / f"{PACKAGE}.sv")] if in_schema else []
        own = str((ROOT / closure_path(top)) if package else folder / f"{module}.sv")
        command = [str(TOOLS / "verilator"), "--lint-only", "--no-timing", *warnings, *search, "--top-module", top]
        done = subprocess.run([*command, *first, *needed, own], cwd=ROOT, capture_output=True, check=False)
    return done.returncode == 0


def closure_path(module: str) -> Path:
    """The file of a module."""
    return next(path for path in closure(module) if path.stem == module)


_USERS: dict[str, str] = {}


def _user_of(package: str) -> str:
    """The smallest module that uses a package: to see whether a package compiles takes a use."""
    if package not in _USERS:
        known = {p.stem for folder in module_folders() for p in folder.glob("*.sv")} - {p.stem for p in packages()}
        sizes = {name: closure(name) for name in known}
        users = [name for name, files in sizes.items() if any(path.stem == package for path in files)]
        _USERS[package] = min(users, key=lambda name: (len(sizes[name]), name))
    return _USERS[package]


def _compiles(file: str, text: bytes) -> bool:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / Path(file).name
        path.write_bytes(text)
        flags = [*FLAGS]
        includes = [f"-I{folder}" for folder in ((ROOT / file).parent, *INCLUDES, GENERATED)]
        if file.startswith("host/pmd"):
            from host.pmd.build import DEFINES, dpdk_flags

            flags += [*DEFINES, *dpdk_flags()]
        command = ["gcc", *flags, '-DSLUICE_DEVICE_PROGRAM=""', "-O1", "-fPIC", "-c", "-o", "/dev/null", *includes, str(path)]
        return subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode == 0


def chosen(files: Sequence[str], count: int, seed: int, compilers: Compilers, jobs: int) -> Iterator[Mutant]:
    """The mutants of a seed: `count` over these files, so many files at a time."""
    shares = quotas(files, count)
    with ThreadPoolExecutor(jobs) as pool:
        for found in pool.map(lambda file: drawn(file, shares[file], seed, compilers), shares):
            yield from found
