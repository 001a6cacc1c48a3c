# SPDX-License-Identifier: Apache-2.0
"""What the overlay cannot run is refused, with the place in the source: `wrong/NAME.sl` is a program, `wrong/NAME.rules` a file of
rules of the switch, `NAME.expected` the message.

After a wanted change of a message: `SLUICE_BLESS=1 build/env/bin/python -m pytest compiler/overlay`, then read the diff.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from compiler.frontend.program import load
from compiler.frontend.source import Diagnostics, Source
from compiler.overlay.bits import OverlayError
from compiler.overlay.deploy import deployed
from toolchain import ROOT

FOLDER = Path(__file__).parent / "wrong"
SWITCH = ROOT / "configs" / "overlay" / "switch" / "switch.sl"


def message(path: Path) -> str:
    diagnostics = Diagnostics()
    program = load(path if path.suffix == ".sl" else SWITCH, diagnostics)
    assert program is not None, [error.render() for error in diagnostics.sorted()]
    rules = Source(path.name, path.read_text()) if path.suffix == ".rules" else None
    with pytest.raises(OverlayError) as caught:
        deployed(program, rules)
    caught.value.report(diagnostics)
    (error,) = diagnostics.sorted()
    assert error.hint
    return error.render().replace(f"{FOLDER}/", "")


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.iterdir() if path.suffix in (".sl", ".rules")))
def test_says_what_does_not_fit_and_where(name: str) -> None:
    said, expected = message(FOLDER / name), FOLDER / f"{name}.expected"
    if os.environ.get("SLUICE_BLESS"):
        expected.write_text(said)
    assert said == expected.read_text(), "if this is meant: SLUICE_BLESS=1, then read the diff"


def test_the_library_is_known_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program = load(SWITCH, Diagnostics())
    assert program is not None
    rules = SWITCH.with_suffix(".rules")
    assert [*deployed(program, Source(rules.name, rules.read_text())).placed.checksums] == ["word 12"]


def test_says_that_no_packet_asks_for_a_flow_where_no_rule_has_the_key() -> None:
    program = load(FOLDER / "flows_not_asked.sl", Diagnostics())
    assert program is not None
    with pytest.raises(OverlayError, match="no packet asks for this flow table"):
        deployed(program, Source("rules", "services 7 -> 1\n"))
