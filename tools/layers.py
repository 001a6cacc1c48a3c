# SPDX-License-Identifier: Apache-2.0
"""Which folder may use which: the table "Folders" of ARCHITECTURE.md, checked against what the sources import and instantiate.

Python imports and SystemVerilog modules and packages count. Tests (`test_*.py`, `conftest.py`) may use every folder.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from toolchain.verilog import without_comments

PAGE = "ARCHITECTURE.md"
EVERYTHING = "everything"


@dataclass(frozen=True)
class Use:
    """A file uses a name of another folder; `line` counts from 1."""

    path: str
    line: int
    name: str
    folder: str


def allowed(page: str) -> dict[str, set[str]]:
    """The folders of the table, and which others each may use. Raises ValueError where the table is missing or names a folder it
    does not list."""
    rows = re.findall(r"^\| `(\w+)/` \|.*\|([^|]*)\|$", page, re.MULTILINE)
    if not rows:
        raise ValueError(f"{PAGE}: no table of folders")
    names = {name for name, _ in rows}
    table = {name: names if cell.strip() == EVERYTHING else set(re.findall(r"`(\w+)/`", cell)) for name, cell in rows}
    if unknown := {other for used in table.values() for other in used} - names:
        raise ValueError(f"{PAGE}: {', '.join(sorted(unknown))} may be used but has no row")
    return table


def _is_test(path: Path) -> bool:
    return path.name.startswith("test_") or path.name == "conftest.py"


def _python(path: Path, text: str, folders: Iterable[str]) -> Iterator[Use]:
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        for module in modules:
            folder = module.partition(".")[0]
            if folder in folders:
                yield Use(str(path), node.lineno, module, folder)


def _verilog(path: Path, text: str, homes: Mapping[str, str]) -> Iterator[Use]:
    for number, line in enumerate(without_comments(text).splitlines(), 1):
        for name in set(re.findall(r"\w+", line)) & homes.keys():
            yield Use(str(path), number, name, homes[name])


def uses(root: Path, paths: Iterable[str], folders: Iterable[str]) -> Iterator[Use]:
    """Every use of one folder by a file of another; `paths` are relative to `root`."""
    files = [Path(path) for path in paths if Path(path).parts[0] in folders and not _is_test(Path(path))]
    homes = {path.stem: path.parts[0] for path in files if path.suffix == ".sv"}
    for path in files:
        text = (root / path).read_text() if path.suffix in (".py", ".sv") else ""
        found = _python(path, text, folders) if path.suffix == ".py" else _verilog(path, text, homes)
        yield from (use for use in found if use.folder != path.parts[0])


def wrong(root: Path, paths: Iterable[str], page: str) -> list[str]:
    """A line for each use that the table does not allow."""
    table = allowed(page)
    return [
        f"{use.path}:{use.line}: {use.name}: {Path(use.path).parts[0]}/ may not use {use.folder}/ ({PAGE}, Folders)"
        for use in uses(root, paths, table)
        if use.folder not in table[Path(use.path).parts[0]]
    ]
