# SPDX-License-Identifier: Apache-2.0
"""Random programs of the process block, many of which have updates that compose, and packets for them."""

from __future__ import annotations

import random
from collections.abc import Sequence

import sluice_layouts as L

from compiler.pipeline.parser_program import ProgramError
from compiler.stateful.program import BlockSizes, ProcessProgram, assembled

WORDS = "xyz"  # fields of words 0, 1 and 2
OPERANDS = ("p", "q", "0", "1", "7", "100")
FAMILIES = (
    ("{f} = {a}", "{f} = p + 7", "{f} = p - 1", "{f} = p >> 3"),
    ("{f} ^= {a}", "{f} &= {a}", "{f} |= {a}", "{f} = {f} &~ {a}", "{f} = {a}"),
    ("{f} += {a}", "{f} -= {a}", "{f} = {a} + {f}", "{f} = {a}"),
    ("{f} = add_clamped({f}, {a})", "{f} = subtract_clamped({f}, {a})", "{f} = min({a}, {f})", "{f} = max({f}, {a})", "{f} = {a}"),
    ("{f} = signed_min({f}, {a})", "{f} = signed_max({f}, {a})", "{f} = {a}"),
    ("{f} = {f} >> 1", "{f} = {a} - {f}", "{f} = less({f}, {a})", "{f} += {a}", "{f} ^= {a}", "{f} = add_clamped({f}, {a})"),
)
FLOW, P, Q = 0, 2, 4  # containers
VALUES = (0, 1, 7, 99, 100, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFF)


def some_program(draw: random.Random, sizes: BlockSizes, keep: bool = True) -> ProcessProgram:
    """A program that fits."""
    while True:
        try:
            return assembled(_text(draw, keep), "random", sizes)
        except ProgramError:
            pass


def _text(draw: random.Random, keep: bool) -> str:
    labels = [f"l{n}" for n in range(draw.choice([0, 2, 4, 20]))]
    fields = [f"{field} = {_place(draw, word)}" for word, field in enumerate(WORDS)]
    words = [*WORDS[: draw.randint(1, 3)]]
    draw.shuffle(words)  # the updates of the later ones read the earlier ones
    conditions = {f"c{n}": _condition(draw, words) for n in range(draw.randint(0, 4))}
    families = {word: draw.choice(FAMILIES[: 6 if draw.random() < 0.1 else 5]) for word in words}
    updates = {word: [_update(draw, word, families[word], words) for _ in range(draw.randint(1, 3))] for word in words}
    always = {word for word in words if draw.random() < 0.4}
    entries = [_entry(draw, labels, [*conditions], updates, always) for _ in range(draw.randint(0, 6))]
    head = [f"labels = {labels}", "[containers]", f"flow = {{ first = {FLOW} }}", f"p = {{ first = {P}, words = 2 }}"]
    head += [f"q = {{ first = {Q} }}", "out = { first = 36, words = 2 }", "other = { first = 38, words = 2 }"]
    key = ["[key]", 'fields = ["flow"]', f'state = "{"keep" if keep else "clear"}"']
    tests = [f'{name} = "{text}"' for name, text in conditions.items()]
    last = _entry(draw, labels, [], updates, always)
    return "\n".join([*head, "[flow]", *fields, *key, "[conditions]", *tests, *entries, last])


def _place(draw: random.Random, word: int) -> str:
    most = 3 if word == 0 else 4
    size = draw.randint(1, most)
    return f"{{ word = {word}, byte = {draw.randint(0, most - size)}, bytes = {size} }}"


def _condition(draw: random.Random, words: Sequence[str]) -> str:
    a = draw.choice(["p", "q", "q", words[0], words[0], words[-1]])
    return f"{a} {draw.choice(['==', '<', '>=', 'before', '&', '!='])} {draw.choice(['p', 'q', '1', '100', '7'])}"


def _update(draw: random.Random, word: str, family: Sequence[str], words: Sequence[str]) -> str:
    operands = [*OPERANDS, *words[: words.index(word)]]
    return draw.choice(family).format(f=word, a=draw.choice(operands))


def _entry(
    draw: random.Random, labels: Sequence[str], conditions: Sequence[str], updates: dict[str, list[str]], always: set[str]
) -> str:
    lines = ["[[entries]]"]
    if labels and conditions and draw.random() < 0.5:
        lines.append(f'at = "{draw.choice(labels)}"')
    tested = [draw.choice(["", "!"]) + name for name in conditions if draw.random() < 0.4]
    if conditions and not tested and len(lines) == 1:
        tested = [conditions[0]]
    lines.append(f"if = {tested}")
    taken = [
        ways[0] if word in always else draw.choice(ways) for word, ways in updates.items() if word in always or draw.random() < 0.6
    ]
    lines.append(f"update = {taken}")
    if labels and draw.random() < 0.5:
        lines.append(f'goto = "{draw.choice(labels)}"')
    lines.append(f'packet = ["out = {draw.choice(WORDS)}", "other = old.{draw.choice(WORDS)}"]')
    return "\n".join(lines)


def some_phv(draw: random.Random, flows: int, version: int = 0, unit: int = 0) -> L.PipelinePhv:
    """A packet of one of the flows, for a unit."""
    containers = [draw.getrandbits(16) for _ in range(L.PIPELINE_CONTAINERS)]
    containers[FLOW], containers[P], containers[Q] = draw.randrange(flows), draw.choice([0, 0, *VALUES]), draw.choice(VALUES)
    containers[P + 1] = draw.choice(VALUES)
    return L.PipelinePhv(L.Parsed(containers, version=version, length=draw.randrange(60, 1500)), next=unit)
