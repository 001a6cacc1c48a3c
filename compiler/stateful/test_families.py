# SPDX-License-Identifier: Apache-2.0
"""Which updates compose: those of the programs beside, and the reason where they do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.stateful.families import ADD, CLAMPED, FUNCTION, LABEL, MINIMUM, SET, XOR, Composed, Part, classified, pace
from compiler.stateful.program import assembled, read

PROGRAMS = {
    "port_knocking": {LABEL: Composed(FUNCTION, 1)},
    "retransmissions": {0: Composed(ADD, 2), 1: Composed(SET, 1)},
    "flowlet": {LABEL: Composed(SET, 1), 0: Composed(SET, 2), 1: Composed(SET, 1)},
    "heavy_hitter": {0: Composed(SET, 1), 1: Composed(CLAMPED, 2)},
}
HEAD = """labels = ["a", "b"]
[containers]
p = { first = 0, words = 2 }
[flow]
x = { word = 1 }
y = { word = 2 }
z = { word = 3 }
h = { word = 3, bytes = 2 }
[conditions]
five = "p == 5"
x_low = "x < p"
y_low = "y < p"
"""
CROSSED = [  # the update of x depends on y alone, that of y on x
    'if = ["x_low", "y_low"]\nupdate = ["x = p", "y = p"]',
    'if = ["x_low"]\nupdate = ["y = p"]',
    'if = ["y_low"]\nupdate = ["x = p"]',
]


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_compose(name: str) -> None:
    assert classified(read(Path(__file__).parent / "programs" / f"{name}.toml")) == PROGRAMS[name]


def families(*entries: str) -> dict[Part, Composed | str]:
    return classified(assembled(HEAD + "".join(f"[[entries]]\n{entry}\n" for entry in entries), "test.toml"))


def test_families_of_updates() -> None:
    both = families('if = ["five"]\nupdate = ["x += p", "y = min(p, y)", "z &= 255"]', 'update = ["x -= 1", "z = z ^ p"]')
    assert both == {1: Composed(ADD, 1), 2: Composed(MINIMUM, 1), 3: Composed(XOR, 1)}
    mixed = families('if = ["five"]\nupdate = ["x = add_clamped(x, p)", "y += 1"]', 'update = ["x = max(x, 3)", "y = 7"]')
    assert mixed == {1: Composed(CLAMPED, 1), 2: Composed(ADD, 1)}


def test_words_that_nothing_changes_are_of_the_first_stage() -> None:
    """Programs before may have left something there."""
    assert families('if = ["y_low"]\nupdate = ["x = p"]', 'update = ["z = y"]') == {1: Composed(SET, 2), 3: Composed(SET, 2)}


def test_says_how_many_cycles_a_packet_of_a_flow_takes() -> None:
    counts, shifts = (assembled(f'{HEAD}[[entries]]\nupdate = ["{text}"]', "test.toml") for text in ("x += 1", "x = x >> 1"))
    assert pace(counts, True) == {"cycles": 1, "composed": {"word 1": {"family": ADD, "stage": 1}}, "waits": []}
    assert pace(counts, False)["cycles"] == 3 and pace(counts, False)["waits"] == ["this unit is built without composed updates"]
    assert pace(shifts, True)["cycles"] == 3 and "word 1 is computed from itself" in pace(shifts, True)["waits"][0]


def test_three_stages_are_one_too_many() -> None:
    result = families('if = ["x_low"]\nupdate = ["x = p", "y = 1", "z = y"]', 'update = ["x = p"]')
    assert result[2] == Composed(SET, 2)
    assert "word 3: depends by" in str(result[3])


@pytest.mark.parametrize(
    ("entries", "part", "reason"),
    [
        (['update = ["x = p - x"]'], 1, "entry 0: word 1 is computed from itself"),
        (['update = ["x = x + x"]'], 1, "entry 0: word 1 is computed from itself"),
        (['update = ["x = x >> 1"]'], 1, "entry 0: word 1 is computed from itself"),
        (['if = ["five"]\nupdate = ["x += 1"]', 'update = ["x ^= 1"]'], 1, "word 1: updates of add modulo 2^n and masked xor"),
        (['if = ["five"]\nupdate = ["z = 1"]', 'update = ["h = 1"]'], 3, "word 3: fields of several places"),
        (['if = ["x_low"]\nupdate = ["x = p"]'], 1, "word 1: its update depends on its own value by condition x_low"),
        (
            ['if = ["x_low"]\nupdate = ["y = p", "x = x >> 1"]', 'update = ["x = x >> 1"]'],
            2,
            "word 2: depends by condition x_low on word 1",
        ),
        (CROSSED, 1, "word 1: depends by condition y_low on more than 1 stage"),
    ],
)
def test_says_why_updates_do_not_compose(entries: list[str], part: Part, reason: str) -> None:
    assert reason in str(families(*entries)[part])


def test_a_label_that_many_labels_need_is_no_function() -> None:
    labels = [f"l{n}" for n in range(20)]
    text = f'labels = {labels}\n[[entries]]\nat = "l18"\ngoto = "l19"\n'
    assert "label 19" in str(classified(assembled(text, "test.toml"))[LABEL])
