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
from functools import cache
from itertools import islice
from pathlib import Path

from host.build import FLAGS, INCLUDES
from testing.mutate import c, verilog
from testing.mutate.mutant import PACKAGE, PACKAGE_TEXT, Mutant, direct, schema
from toolchain import ROOT
from toolchain.simulate import GENERATED, closure, module_folders, packages

HOST = tuple(f"host/{name}" for name in ("packet", "lib", "flow_table", "functional", "switch", "pmd"))
FOLDERS = ("rtl", "elements", "shell/core", *HOST)
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
            raise ValueError(f"unknown part {name}; a part is a file of {', '.join(FOLDERS)}, its name, or a folder")
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


class BrokenSource(RuntimeError):
    """A file that a compiler refuses as it stands, so that it says nothing about mutants of it."""


class Compilers:
    """Whether a mutant compiles. Answers are kept in `notes`, a line each, so that a drawing that was stopped goes on."""

    def __init__(self, notes: Path) -> None:
        self.notes = notes
        lines = notes.read_text().splitlines() if notes.exists() else []
        self.known = {key: answer == "yes" for key, answer in (line.split() for line in lines)}

    def accept(self, it: Mutant) -> bool:
        """No compiler complains of the mutant. Raises BrokenSource where it complains of the file without it, too."""
        source = (ROOT / it.file).read_bytes()
        key = _key(it, source)
        if key not in self.known:
            fine = _compiles(it.file, direct(source, it))
            if not fine and not self._accept_file(it.file, source):
                raise BrokenSource(f"{it.file} does not compile unchanged; is build/gen up to date (./sluice layouts)?")
            self._note(key, fine)
        return self.known[key]

    def fitting(self, mutants: Sequence[Mutant]) -> list[Mutant]:
        """Those of one file's mutants that compile in its schema; all are tried at once, and halves where that fails."""
        if not mutants:
            return []
        source = (ROOT / mutants[0].file).read_bytes()
        keys = [f"schema-{_key(it, source)}" for it in mutants]
        if not all(self.known.get(key) for key in keys):
            if _compiles(mutants[0].file, schema(source, enumerate(mutants, 1)), in_schema=True):
                for key in keys:
                    self._note(key, True)
            elif len(mutants) == 1:
                return []
            else:
                half = len(mutants) // 2
                return self.fitting(mutants[:half]) + self.fitting(mutants[half:])
        return list(mutants)

    def _accept_file(self, file: str, source: bytes) -> bool:
        key = hashlib.sha256(repr((file, source)).encode()).hexdigest()[:16]
        if key not in self.known:
            self._note(key, _compiles(file, source))
        return self.known[key]

    def _note(self, key: str, fine: bool) -> None:
        self.known[key] = fine
        self.notes.parent.mkdir(parents=True, exist_ok=True)
        with self.notes.open("a") as out:
            out.write(f"{key} {'yes' if fine else 'no'}\n")


def _key(it: Mutant, source: bytes) -> str:
    return hashlib.sha256(repr((it.key, source)).encode()).hexdigest()[:16]


def drawn(file: str, count: int, seed: int, compilers: Compilers) -> list[Mutant]:
    """The first `count` mutants of a part that compile."""
    found: list[Mutant] = []
    accepted = _accepted(file, seed, compilers)
    while len(found) < count and (more := list(islice(accepted, count - len(found)))):
        found += compilers.fitting(more)
    return found


def _accepted(file: str, seed: int, compilers: Compilers) -> Iterator[Mutant]:
    lines: set[str] = set()
    for it in ordered(file, seed):
        if it.mutated_line not in lines and compilers.accept(it):
            lines.add(it.mutated_line)
            yield it


def _compiles(file: str, text: bytes, in_schema: bool = False) -> bool:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / Path(file).name).write_bytes(text)
        command = _verilator(file, folder, in_schema) if file.endswith(".sv") else _gcc(file, folder)
        return subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode == 0


def _verilator(file: str, folder: Path, in_schema: bool) -> list[str]:
    """The lint of a module, or of a user of a package, that takes this file from `folder`."""
    module = Path(file).stem
    top, own, needed, folders = _context(file)
    changed = [str(folder / path.name if path.stem == module else path) for path in (*needed, own)]
    search = [arg for path in (folder, *folders) for arg in ("-y", str(path))]
    command = [str(TOOLS / "verilator"), "--lint-only", "--no-timing", *search, "--top-module", top]
    if not in_schema:
        return [*command, "-Wall", str(ROOT / "toolchain" / "lint.vlt"), *changed]
    (folder / f"{PACKAGE}.sv").write_text(PACKAGE_TEXT)
    return [*command, "-Wno-fatal", str(folder / f"{PACKAGE}.sv"), *changed]


@cache
def _context(file: str) -> tuple[str, Path, tuple[Path, ...], tuple[Path, ...]]:
    """What the lint of a file begins with: the top and its file, the packages it needs, and where modules are found."""
    every = packages()
    top = _user_of(Path(file).stem) if ROOT / file in every else Path(file).stem
    files = closure(top)
    own = next(path for path in files if path.stem == top)
    return top, own, tuple(path for path in every if path in files), tuple(module_folders())


def _user_of(package: str) -> str:
    """The smallest module that uses a package: to see whether a package compiles takes a use."""
    users = [(len(files), name) for name, files in _closures().items() if package in files]
    return min(users)[1]


@cache
def _closures() -> dict[str, set[str]]:
    modules = {p.stem for folder in module_folders() for p in folder.glob("*.sv")} - {p.stem for p in packages()}
    return {name: {path.stem for path in closure(name)} for name in modules}


def _gcc(file: str, folder: Path) -> list[str]:
    flags = [*FLAGS]
    includes = [f"-I{path}" for path in ((ROOT / file).parent, *INCLUDES, GENERATED)]
    if file.startswith("host/pmd"):
        from host.pmd.build import DEFINES, dpdk_flags

        flags += [*DEFINES, *dpdk_flags()]
    text = str(folder / Path(file).name)
    return ["gcc", *flags, '-DSLUICE_DEVICE_PROGRAM=""', "-O1", "-fPIC", "-c", "-o", "/dev/null", *includes, text]


def chosen(files: Sequence[str], count: int, seed: int, compilers: Compilers, jobs: int) -> Iterator[Mutant]:
    """The mutants of a seed: `count` over these files, so many files at a time. What a file with few that compile leaves of its
    share, the largest files give."""
    shares = quotas(files, count)
    missing = count
    with ThreadPoolExecutor(jobs) as pool:
        for found in pool.map(lambda file: drawn(file, shares[file], seed, compilers), shares):
            missing -= len(found)
            yield from found
    for file in sorted(shares, key=lambda name: -len(candidates(name))):
        if missing <= 0:
            return
        more = drawn(file, shares[file] + 1, seed, compilers)[shares[file] :]
        missing -= len(more)
        yield from more
