# SPDX-License-Identifier: Apache-2.0
"""Names that a formatter does not see: states of SystemVerilog, predicates and shared names of C.

* An enum of states is `state_e`, its values are `StIdle`, `StWrite`; every other enum type ends in `_e` as well.
* What is called `is_`, `has_` or `can_` in C is a `bool`, not an integer.
* What a header declares that another folder includes begins with `sluice_`, or with the name of the header or of its folder; in C++
  it may stand in a namespace instead.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from toolchain.verilog import without_comments

ENUM = re.compile(r"\btypedef\s+enum\b[^{;]*\{([^}]*)\}\s*(\w+)\s*;")
STATE = re.compile(r"St[A-Z][A-Za-z0-9]*")
DECLARATOR = r"\**\w+(?:\[[^\]]*\])*(?:\s*=\s*[^;,(){}]*)?"
PREDICATE = re.compile(rf"\b(?:int|unsigned|size_t|u?int\d+_t)\s+(?:{DECLARATOR}\s*,\s*)*\**((?:[a-z0-9_]+_)?(?:is|has|can)_\w+)")
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
DEFINED = re.compile(r"^#define (\w+)|^(?:struct|enum|union) (\w+) \{|^(?!typedef|#|extern)[\w][\w *]*[ *](\w+)\(", re.MULTILINE)
ENUMERATORS = re.compile(r"^enum(?: \w+)? \{([^}]*)\}", re.MULTILINE)
NAMESPACE = re.compile(r"^namespace \w+ \{", re.MULTILINE)
OF_THE_PAPER = ("ofu_init", "rule_table_ops", "ofu_uninit")  # accelsdp.h


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _states(path: str, text: str) -> Iterator[str]:
    for enum in ENUM.finditer(text):
        kind, line = enum[2], _line(text, enum.start())
        wanted = "state_e" if "state" in kind else f"{kind.removesuffix('_t').removesuffix('_e')}_e"
        if kind != wanted:
            yield f"{path}:{line}: {kind}: call this enum {wanted}"
        for value in re.findall(r"(\w+)\s*(?:=[^,]*)?(?:,|$)", enum[1].strip()) if "state" in kind else ():
            if not STATE.fullmatch(value):
                yield f"{path}:{line}: {value}: a state is called as StIdle is"


def _predicates(path: str, text: str) -> Iterator[str]:
    for found in PREDICATE.finditer(text):
        yield f"{path}:{_line(text, found.start(1))}: {found[1]}: make it a bool"


def _declared(text: str) -> Iterator[tuple[int, str]]:
    for found in DEFINED.finditer(text):
        yield found.start(), next(name for name in found.groups() if name)
    for found in ENUMERATORS.finditer(text):
        yield from ((found.start(), name) for name in re.findall(r"(\w+)\s*(?:=[^,]*)?(?:,|$)", found[1].strip()))


def _prefixes(path: str, text: str) -> Iterator[str]:
    if NAMESPACE.search(text):
        return
    prefixes = ("sluice", Path(path).stem, Path(path).parent.name)
    for at, name in _declared(text):
        if not name.lower().startswith(tuple(f"{prefix}_" for prefix in prefixes)) and name not in (*prefixes, *OF_THE_PAPER):
            yield f"{path}:{_line(text, at)}: {name}: begin it with {' or '.join(f'{prefix}_' for prefix in prefixes)}"


def _shared(texts: dict[str, str]) -> set[str]:
    """Headers that a file of another folder includes, which is no test."""
    by_name: dict[str, list[str]] = defaultdict(list)
    for path in texts:
        if path.endswith(".h") and "testing" not in Path(path).parts:
            by_name[Path(path).name].append(path)
    return {
        header
        for path, text in texts.items()
        if "testing" not in Path(path).parts
        for name in INCLUDE.findall(text)
        for header in by_name[Path(name).name]
        if header.endswith(f"/{name}") and Path(header).parent != Path(path).parent
    }


def wrong(root: Path, paths: Iterable[str]) -> list[str]:
    """A line for each name that does not follow the rules; `paths` are relative to `root`."""
    texts = {path: without_comments((root / path).read_text()) for path in paths}
    found: list[str] = []
    for path, text in texts.items():
        found += _states(path, text) if path.endswith(".sv") else _predicates(path, text)
    for path in sorted(_shared({path: text for path, text in texts.items() if not path.endswith(".sv")})):
        found += _prefixes(path, texts[path])
    return found
