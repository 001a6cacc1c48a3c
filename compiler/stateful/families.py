# SPDX-License-Identifier: Apache-2.0
"""Which parts of the flow state a unit may update without waiting for the update before: those whose updates compose.

The updates of a part must be of one family, in which two in a row are a third whose parameters do not depend on the state. Which of
them an entry takes may depend on the packet, and on parts of an earlier stage: those are known, as the packet finds them, when it
is chosen. Parts that no update changes are of the first stage: a program before may have left something there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import sluice_layouts as L

if TYPE_CHECKING:
    from compiler.stateful.program import EntryText, ProcessProgram

MOST_STAGES = 2
LOOP_CYCLES = 3  # PROCESS_LOOP of sl_process_pkg
MOST_LABELS = 16
LABEL = "label"
Part = int | str  # a word of the flow state, or LABEL
Taken = dict[tuple[int, int], "EntryText"]

SET, XOR, ADD, CLAMPED, MINIMUM, MAXIMUM = "set", "masked xor", "add modulo 2^n", "clamped add", "minimum", "maximum"
SIGNED, FUNCTION = "clamp of signed words", "function of labels"
FAMILY = {
    **dict.fromkeys((L.KIND_AND, L.KIND_OR, L.KIND_XOR, L.KIND_AND_NOT), XOR),
    **dict.fromkeys((L.KIND_ADD, L.KIND_SUBTRACT), ADD),
    **dict.fromkeys((L.KIND_ADD_CLAMPED, L.KIND_SUBTRACT_CLAMPED), CLAMPED),
    L.KIND_MINIMUM: MINIMUM,
    L.KIND_MAXIMUM: MAXIMUM,
    **dict.fromkeys((L.KIND_MINIMUM_SIGNED, L.KIND_MAXIMUM_SIGNED), SIGNED),
}
OWN_FIRST = (L.KIND_SUBTRACT, L.KIND_SUBTRACT_CLAMPED, L.KIND_AND_NOT)


@dataclass(frozen=True)
class Composed:
    """The updates of a part compose: in this family, in this stage (from 1)."""

    family: str
    stage: int


@dataclass(frozen=True)
class Composition:
    """For each part of the flow state that a program changes: how its updates compose, or why they do not."""

    parts: Mapping[Part, Composed | str]
    settings: L.ProcessComposed  # for the unit that runs it

    @property
    def reasons(self) -> list[str]:
        """Why packets of a flow wait for each other; none: they need not."""
        return [part for part in self.parts.values() if isinstance(part, str)]


def composition(program: ProcessProgram) -> Composition:
    """How a unit with composed updates runs a program."""
    parts = classified(program)
    if any(isinstance(part, str) for part in parts.values()):
        return Composition(parts, L.ProcessComposed())
    lanes = [next((e.updates[word].lanes for e in program.entries if word in e.updates), 0) for word in range(L.PROCESS_WORDS)]
    second = [part for part, how in parts.items() if isinstance(how, Composed) and how.stage == MOST_STAGES]
    words = sum(1 << part for part in second if isinstance(part, int))
    return Composition(parts, L.ProcessComposed(lanes, words, int(LABEL in second), 1))


def pace(program: ProcessProgram, has_composed: bool) -> dict[str, Any]:
    """For a report: cycles that a packet of one flow takes; the families of what composes; why packets wait, if they do."""
    made = composition(program)
    composed = {part: how for part, how in made.parts.items() if isinstance(how, Composed)}
    families = {_name(part): {"family": how.family, "stage": how.stage} for part, how in composed.items()}
    waits = made.reasons if has_composed else ["this unit is built without composed updates"]
    return {"cycles": LOOP_CYCLES if waits else 1, "composed": families, "waits": waits}


def classified(program: ProcessProgram) -> dict[Part, Composed | str]:
    """For each part of the flow state that the program changes: how its updates compose, or why they do not."""
    parts: list[Part] = sorted({word for entry in program.entries for word in entry.updates})
    if any(entry.goto is not None for entry in program.entries):
        parts.append(LABEL)
    if not parts:
        return {}
    if max(_labels(program)) >= MOST_LABELS:
        return dict.fromkeys(parts, f"label {max(_labels(program))}; hint: a function of labels has those below {MOST_LABELS}")
    taken = _taken(program)
    needs = {part: _needs(program, part, taken) for part in parts}
    families = {part: _family_of_label(program, taken) if part == LABEL else _family(program, int(part)) for part in parts}
    results: dict[Part, Composed | str] = {}
    for part in parts:
        reason = families[part][1] or _unsettled(part, needs, families)
        results[part] = reason or Composed(families[part][0], _stage(part, needs))
    return results


def _needs(program: ProcessProgram, part: Part, taken: Taken) -> dict[Part, str]:
    """Parts on which the update of this one depends, each with what reads it."""
    needs: dict[Part, str] = {}
    for condition in _deciding(program, part, taken):
        if condition == LABEL:
            needs[LABEL] = "an entry's label"
        else:
            compared = program.conditions[condition]
            needs |= dict.fromkeys(_words_of(compared.a, compared.b), f"condition {condition}")
    for entry in program.entries if part != LABEL else ():
        if part in entry.updates:
            instruction = entry.updates[int(part)]
            needs |= {word: "an update" for word in _read(instruction) if word != part}
    if part == LABEL:
        needs.pop(LABEL, None)  # a function of labels is a family
    return needs


def _taken(program: ProcessProgram) -> Taken:
    """The entry that is taken with conditions, a bit each, and label; MOST_LABELS: any that the program does not name."""
    labels = [*_labels(program), MOST_LABELS]
    return {
        (conditions, label): next(entry for entry in program.entries if _takes(entry, conditions, label))
        for conditions, label in product(range(1 << len(program.conditions)), labels)
    }


def _deciding(program: ProcessProgram, part: Part, taken: Taken) -> Iterator[str]:
    """Conditions, and LABEL, of which a change alone can change the update of a part."""
    choice: dict[tuple[int, int], object] = {}
    for (conditions, label), entry in taken.items():
        after = label if entry.goto is None else entry.goto
        choice[conditions, label] = after if part == LABEL else entry.updates.get(int(part))
    for number, name in enumerate(program.conditions):
        if any(choice[conditions, label] != choice[conditions ^ 1 << number, label] for conditions, label in choice):
            yield name
    if any(choice[conditions, label] != choice[conditions, MOST_LABELS] for conditions, label in choice):
        yield LABEL


def _takes(entry: EntryText, conditions: int, label: int) -> bool:
    return not (conditions ^ entry.conditions[0]) & entry.conditions[1] and not (label ^ entry.label[0]) & entry.label[1]


def _labels(program: ProcessProgram) -> list[int]:
    """Those that the program names, and that of a new flow."""
    return sorted({0} | {entry.label[0] for entry in program.entries} | {entry.goto or 0 for entry in program.entries})


def _read(instruction: L.ProcessInstruction) -> set[int]:
    """Words of the flow state that an update reads."""
    return _words_of(instruction.b) if instruction.kind == L.KIND_SET else _words_of(instruction.a, instruction.b)


def _words_of(*operands: L.ProcessOperand) -> set[int]:
    first, last = L.PROCESS_OPERAND_BEFORE, L.PROCESS_OPERAND_AFTER
    return {operand.source - first for operand in operands if first <= operand.source < last}


def _family(program: ProcessProgram, word: int) -> tuple[str, str]:
    """The family of the updates of a word; or why they have none."""
    updates = [(number, entry.updates[word]) for number, entry in enumerate(program.entries) if word in entry.updates]
    if len({update.lanes for _, update in updates}) > 1:
        return "", f"word {word}: fields of several places are updated"
    families = set()
    for number, update in updates:
        if word in _read(update):
            if not _is_own(update, word):
                return "", f"entry {number}: word {word} is computed from itself in a way that does not compose"
            families.add(FAMILY[L.ProcessKind(update.kind)])
        elif update.kind != L.KIND_SET:
            return "", f"entry {number}: word {word} is computed of two operands; hint: an input that is set"
    return _joined(word, families)


def _is_own(update: L.ProcessInstruction, word: int) -> bool:
    """Whether it is an operation of a family on the field that it writes."""
    own = [
        operand.source == L.PROCESS_OPERAND_BEFORE + word and not operand.rotate and operand.lanes == update.lanes
        for operand in (update.a, update.b)
    ]
    reads_once = [operand.source == L.PROCESS_OPERAND_BEFORE + word for operand in (update.a, update.b)].count(True) == 1
    return update.kind in FAMILY and reads_once and (own[0] or (own[1] and update.kind not in OWN_FIRST))


def _joined(word: int, families: set[str]) -> tuple[str, str]:
    if len(families) < 2:
        return (families.pop() if families else SET), ""
    if families <= {CLAMPED, MINIMUM, MAXIMUM}:
        return CLAMPED, ""
    return "", f"word {word}: updates of {' and '.join(sorted(families))} do not compose with each other"


def _family_of_label(program: ProcessProgram, taken: Taken) -> tuple[str, str]:
    return (FUNCTION if LABEL in _deciding(program, LABEL, taken) else SET), ""


def _unsettled(part: Part, needs: Mapping[Part, Mapping[Part, str]], families: Mapping[Part, tuple[str, str]]) -> str:
    """Why the choice of the update of a part is not known in an earlier stage; empty: it is."""
    for other, reader in needs[part].items():
        if other == part:
            return f"{_name(part)}: its update depends on its own value by {reader}"
        if other in needs and families[other][1]:
            return f"{_name(part)}: depends by {reader} on {_name(other)}, whose updates do not compose"
    if not _stage(part, needs):
        return f"{_name(part)}: depends by {', '.join(needs[part].values())} on more than {MOST_STAGES - 1} stage before it"
    return ""


def _stage(part: Part, needs: Mapping[Part, Mapping[Part, str]]) -> int:
    """From 1; 0: later than there are, or never."""

    def depth(at: Part, above: Sequence[Part]) -> int:
        if at in above or len(above) == MOST_STAGES:
            return MOST_STAGES
        return 1 + max((depth(other, [*above, at]) for other in needs.get(at, {})), default=0)

    stage = depth(part, [])
    return stage if stage <= MOST_STAGES else 0


def _name(part: Part) -> str:
    return "the label" if part == LABEL else f"word {part}"
