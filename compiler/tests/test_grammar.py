# SPDX-License-Identifier: Apache-2.0
"""The editors' grammar knows the words that the parser knows."""

import json
import re

import pytest

from compiler.frontend.calls import Calls
from compiler.frontend.lexer import Kind, lex
from compiler.frontend.parse_element import SECTIONS
from compiler.frontend.parse_expression import C_TYPES
from compiler.frontend.parse_statement import KEYWORDS, PLACEMENTS
from compiler.frontend.parser import ACCESSES, DECLARATIONS
from compiler.frontend.source import Diagnostics, Source
from compiler.frontend.state_machine import StateMachines
from compiler.tests.test_program import PROGRAMS
from toolchain import ROOT

GRAMMAR = json.loads((ROOT / "tools" / "editor" / "sluice.tmLanguage.json").read_text())
BUILT_INS = [name.removeprefix("_call_") for kind in (Calls, StateMachines) for name in dir(kind) if name.startswith("_call_")]


def rules(group: str) -> list[str]:
    found = GRAMMAR["repository"][group]
    return [rule["match"] for rule in found.get("patterns", [found]) if "match" in rule]


@pytest.mark.parametrize(
    ("group", "texts"),
    [
        ("sections", [f".{word}" for word in (*SECTIONS, "element", "element_group", "unroll", "state_machine")]),
        ("declarations", [*(word for word in DECLARATIONS if word != "constexpr"), "constexpr", "table", "flow"]),
        ("storage", [*(word for word in PLACEMENTS if word != "constexpr"), *ACCESSES, "host"]),
        ("control", list(KEYWORDS)),
        ("types", [*C_TYPES, "void", "flit", "packet", "ipv4_t"]),
        ("builtins", [f"{name}(" for name in BUILT_INS]),
    ],
)
def test_knows_the_words(group, texts):
    for text in texts:
        found = [re.match(rule, text) for rule in rules(group)]
        assert any(match and match[0] == text.rstrip("(") for match in found), text


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_no_token_of_a_program_is_cut_in_two(name):
    text = PROGRAMS[name].read_text()
    tokens = [token for token in lex(Source(name, text), Diagnostics()) if token.kind in (Kind.NAME, Kind.NUMBER)]
    starts = {token.span.start: token for token in tokens}
    for group in ("numbers", "declarations", "storage", "control", "types", "builtins", "constants"):
        for rule in rules(group):
            for match in re.finditer(rule, text):
                token = starts.get(match.start())
                assert token is None or match.end() >= token.span.end, (rule, token.text)
