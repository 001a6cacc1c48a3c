# SPDX-License-Identifier: Apache-2.0
"""SystemVerilog as synthesis sees it: without comments, and of a package only what is used."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

# A string, which may contain what looks like a comment, or a comment that is no directive of a tool.
_COMMENT = re.compile(
    r'"(?:\\.|[^"\\\n])*"|//(?!\s*(?:verilator|synthesis|synopsys|pragma)\b)[^\n]*|/\*(?!\s*(?:verilator|synthesis|synopsys|pragma)\b).*?\*/',
    re.DOTALL,
)


def without_comments(text: str) -> str:
    """The text with its comments removed and its line breaks kept; directives (`// verilator ...`) stay."""
    return _COMMENT.sub(lambda match: match[0] if match[0][0] == '"' else " " + "\n" * match[0].count("\n"), text)


def code(text: str) -> str:
    """What synthesis depends on: the text without comments, blank lines and space at the ends of lines."""
    return "\n".join(line.strip() for line in without_comments(text).splitlines() if line.strip())


_DECLARATION = re.compile(
    r"localparam\b[^;]*;|typedef\s+(?:enum|struct)\b[^{]*\{[^}]*\}\s*\w+;|typedef\b[^;{]*;|function\b.*?\bendfunction\b",
    re.DOTALL,
)


def words(text: str) -> set[str]:
    """Every name and number of a text."""
    return set(re.findall(r"\w+", text))


def declarations(package: str) -> dict[str, set[str]]:
    """The parameters, types and functions of a package, as code, each with the names that it declares."""
    return {text: _defined(text) for text in _DECLARATION.findall(code(package))}


def _defined(declaration: str) -> set[str]:
    if declaration.startswith("localparam"):
        return set(re.findall(r"(\w+)\s*=", declaration)[:1])
    if declaration.startswith("function"):
        return set(re.findall(r"(\w+)\s*[(;]", declaration)[:1])
    members = re.findall(r"(\w+)\s*=", declaration) if re.match(r"typedef\s+enum", declaration) else []
    return {*members, *re.findall(r"(\w+)\s*;$", declaration)}


def used(declared: Mapping[str, set[str]], names: Iterable[str]) -> list[str]:
    """The declarations of these names, and those that they need in turn."""
    known, kept = set(names), set[str]()
    while new := {text for text, defined in declared.items() if text not in kept and defined & known}:
        kept |= new
        known |= set().union(*map(words, new))
    return [text for text in declared if text in kept]


def synthesised(files: Mapping[str, str]) -> list[tuple[str, object]]:
    """What synthesis depends on in texts by file name: code; of packages the declarations that modules use, so that a new register
    or constant does not count for a module that does not name it."""
    packages = {name: text for name, text in files.items() if name.endswith("_pkg.sv")}
    modules = sorted((name, code(text)) for name, text in files.items() if name not in packages)
    declared = {text: defined for name in sorted(packages) for text, defined in declarations(packages[name]).items()}
    named = set().union(*(words(text) for _, text in modules))
    return [*modules, ("packages", used(declared, named))]
