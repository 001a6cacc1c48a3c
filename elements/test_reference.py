# SPDX-License-Identifier: Apache-2.0
"""docs/reference/elements.md lists what the library has."""

import re
from pathlib import Path

from compiler.backends.elements_markdown import PAGE, generate

FOLDER = Path(__file__).parent


def test_the_page_is_fresh() -> None:
    assert PAGE.read_text() == generate(FOLDER), "build/env/bin/python -m compiler.backends.elements_markdown"


def test_every_element_says_what_it_does() -> None:
    parts = re.split(r"^## ", generate(FOLDER), flags=re.MULTILINE)[1:-1]
    names = {part.splitlines()[0] for part in parts}
    assert {"Count", "Tee", "Mux", "Demux", "RoundRobin", "Drop", "PktLogger"} <= names
    for part in parts:
        assert len(part.splitlines()[2].split()) >= 4, f"a /// comment in front of {part.splitlines()[0]}"
