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


LAYOUTS = "sluice_pkg.sv"  # generated from layouts/: every change of a layout changes it


def code(text: str) -> str:
    """What synthesis depends on: the text without comments, blank lines and space at the ends of lines."""
    return "\n".join(line.strip() for line in without_comments(text).splitlines() if line.strip())


_DECLARATION = re.compile(r"localparam\b[^;]*;|typedef\s+(?:enum|struct)\b[^{]*\{[^}]*\}\s*\w+;|typedef\b[^;{]*;")


def words(text: str) -> set[str]:
    """Every name and number of a text."""
    return set(re.findall(r"\w+", text))


def _defined(declaration: str) -> set[str]:
    """A parameter's name; a type's, with the members of an enumeration."""
    if declaration.startswith("localparam"):
        return set(re.findall(r"(\w+)\s*=", declaration)[:1])
    members = re.findall(r"(\w+)\s*=", declaration) if re.match(r"typedef\s+enum", declaration) else []
    return {*members, *re.findall(r"(\w+)\s*;$", declaration)}


def used_declarations(package: str, wanted: Iterable[str]) -> str:
    """What a package of parameters and types declares of the names `wanted`, and what these declarations need in turn."""
    declarations = {text: _defined(text) for text in _DECLARATION.findall(code(package))}
    known, kept = set(wanted), set[str]()
    while new := {text for text, names in declarations.items() if text not in kept and names & known}:
        kept |= new
        known |= set().union(*map(words, new))
    return "\n".join(text for text in declarations if text in kept)


def synthesised(files: Mapping[str, str]) -> list[tuple[str, str]]:
    """What synthesis depends on in texts by file name: code, and of the layouts' package the declarations that the others use."""
    texts = {name: code(text) for name, text in files.items()}
    if LAYOUTS in texts:
        others = (words(text) for name, text in texts.items() if name != LAYOUTS)
        texts[LAYOUTS] = used_declarations(texts[LAYOUTS], set().union(*others))
    return sorted(texts.items())
