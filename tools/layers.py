# SPDX-License-Identifier: Apache-2.0
"""Which folder may use which: the tables of "Folders" in ARCHITECTURE.md, checked against what the sources import, include and
instantiate.

A row is a folder of the root, or one inside it. A use crosses the outermost folders that differ, where both have a row. Python
imports, includes of C and C++, and SystemVerilog modules and packages count. Tests may use every folder: `test_*.py`,
`conftest.py`, and what is in a folder `testing` inside another.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from toolchain.verilog import without_comments

PAGE = "ARCHITECTURE.md"
EVERYTHING = "everything"
C_SUFFIXES = (".c", ".h", ".cc")


@dataclass(frozen=True)
class Use:
    """A file in `user` uses a name of another folder, `used`; `line` counts from 1."""

    path: str
    line: int
    name: str
    user: str
    used: str


def allowed(page: str) -> dict[str, set[str]]:
    """The folders of the tables, and which others each may use. Raises ValueError where there is no table, or where one names a
    folder that none lists."""
    rows = re.findall(r"^\| `([\w/]+)/` \|.*\|([^|]*)\|$", page, re.MULTILINE)
    if not rows:
        raise ValueError(f"{PAGE}: no table of folders")
    names = {name for name, _ in rows}
    table = {name: names if cell.strip() == EVERYTHING else set(re.findall(r"`([\w/]+)/`", cell)) for name, cell in rows}
    if unknown := {other for used in table.values() for other in used} - names:
        raise ValueError(f"{PAGE}: {', '.join(sorted(unknown))} may be used but has no row")
    return table


def _is_test(path: Path) -> bool:
    return path.name.startswith("test_") or path.name == "conftest.py" or "testing" in path.parts[1:-1]


def _python(text: str) -> Iterator[tuple[int, str, str]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, alias.name.replace(".", "/")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                yield node.lineno, node.module, f"{node.module}.{alias.name}".replace(".", "/")


def _verilog(text: str, homes: Mapping[str, Path]) -> Iterator[tuple[int, str, str]]:
    for number, line in enumerate(without_comments(text).splitlines(), 1):
        for name in set(re.findall(r"\w+", line)) & homes.keys():
            yield number, name, str(homes[name])


def _c(path: Path, text: str, headers: Mapping[str, Sequence[Path]]) -> Iterator[tuple[int, str, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        if match := re.match(r'#include "([^"]+)"', line):
            found = [header for header in headers[Path(match[1]).name] if str(header).endswith(f"/{match[1]}")]
            if path.parent / match[1] not in found:
                yield from ((number, match[1], str(header)) for header in found)


def _crossed(table: Mapping[str, set[str]], path: Path, target: str) -> tuple[str, str] | None:
    """The outermost folders of both that differ, if both have a row."""
    ours, theirs = path.parts[:-1], Path(target).parts
    for depth in range(1, min(len(ours), len(theirs)) + 1):
        if ours[:depth] != theirs[:depth]:
            user, used = "/".join(ours[:depth]), "/".join(theirs[:depth])
            return (user, used) if user in table and used in table else None
    return None


def uses(root: Path, paths: Iterable[str], table: Mapping[str, set[str]]) -> Iterator[Use]:
    """Every use of one folder of the table by a file of another; `paths` are relative to `root`."""
    files = [path for path in map(Path, paths) if path.parts[0] in table and not _is_test(path)]
    homes = {path.stem: path for path in files if path.suffix == ".sv"}
    headers: dict[str, list[Path]] = defaultdict(list)
    for path in files:
        if path.suffix == ".h":
            headers[path.name].append(path)
    for path in files:
        text = (root / path).read_text()
        named: Iterable[tuple[int, str, str]] = ()
        if path.suffix == ".py":
            named = _python(text)
        elif path.suffix == ".sv":
            named = _verilog(text, homes)
        elif path.suffix in C_SUFFIXES:
            named = _c(path, text, headers)
        for line, name, target in named:
            if crossed := _crossed(table, path, target):
                yield Use(str(path), line, name, *crossed)


def wrong(root: Path, paths: Iterable[str], page: str) -> list[str]:
    """A line for each use that the tables do not allow."""
    table = allowed(page)
    return list(
        dict.fromkeys(
            f"{use.path}:{use.line}: {use.name}: {use.user}/ may not use {use.used}/ ({PAGE}, Folders)"
            for use in uses(root, paths, table)
            if use.used not in table[use.user]
        )
    )
