# SPDX-License-Identifier: Apache-2.0
"""SystemVerilog as the tools see it: without comments."""

from __future__ import annotations

import re

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
