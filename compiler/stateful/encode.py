# SPDX-License-Identifier: Apache-2.0
"""Instructions, conditions and inputs of the process block, from expressions on fields.

A field that is written is computed where it stands in its word: operands are brought to its lowest byte, and cut to its size.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import sluice_layouts as L

from compiler.pipeline.parser_program import ProgramError
from compiler.stateful.expressions import Comparison, Expression, Term
from compiler.stateful.places import SPECIAL, WORD_BYTES, Field, Holder

WORD_BITS = 8 * WORD_BYTES
WORD = (1 << WORD_BITS) - 1
ALL = (1 << WORD_BYTES) - 1
OLD = "old."
IMMEDIATE = L.PROCESS_OPERAND_OWN + 1
OWN_KINDS = (L.KIND_ADD, L.KIND_SUBTRACT, L.KIND_AND, L.KIND_OR, L.KIND_XOR, L.KIND_AND_NOT)
COMMUTES = (
    *(L.KIND_ADD, L.KIND_AND, L.KIND_OR, L.KIND_XOR, L.KIND_ADD_CLAMPED),
    *(L.KIND_MINIMUM, L.KIND_MAXIMUM, L.KIND_MINIMUM_SIGNED, L.KIND_MAXIMUM_SIGNED),
)


@dataclass(frozen=True)
class Target:
    """Where a result goes: bytes of a word. `own` is the name of the field, where an action may read it as its own word."""

    byte: int
    size: int
    own: str | None = None
    after: bool = False  # it reads the new state of the flow

    @property
    def lanes(self) -> int:
        return lanes_of(self.byte, self.size)


def lanes_of(byte: int, size: int) -> int:
    """A mask of bytes, as far as they are in a word."""
    return ((1 << size) - 1) << byte & ALL


@dataclass
class Encoder:
    """Makes words of the memories; takes an input for each operand that is of the packet."""

    fields: Mapping[str, Field]
    computed: Mapping[str, Expression]  # inputs that the program names
    most_inputs: int
    sets: bool = False  # updates that do not read the flow state become sets
    inputs: list[L.ProcessInput] = field(default_factory=list)

    def update(self, expression: Expression, target: Target) -> L.ProcessInstruction:
        """An update. With `sets` what it computes of the packet alone takes an input. Raises ProgramError."""
        if not self.sets or not self._is_early(expression):
            return self.instruction(expression, target)
        b = L.ProcessOperand(source=self._early(expression, target))
        return L.ProcessInstruction(0, b, L.ProcessOperand(), 0, target.lanes, L.KIND_SET)

    def _is_early(self, expression: Expression) -> bool:
        """Whether an input can compute it."""
        if expression.kind == L.KIND_SET:
            return False
        one = expression if expression.kind == L.KIND_ROTATE else _numbers_last(expression)
        names = [term for term in (one.a, one.b) if isinstance(term, str)]
        return isinstance(one.a, str) and all(
            name not in self.computed and self.field(name).holder is not Holder.FLOW for name in names
        )

    def instruction(self, expression: Expression, target: Target) -> L.ProcessInstruction:
        """Of an expression on any fields. Raises ProgramError."""
        if expression.kind == L.KIND_ROTATE:
            return self._shift(expression, target)
        one = _numbers_last(expression)
        own = one.a is not None and one.a == target.own and one.kind in OWN_KINDS
        a = (
            L.ProcessOperand(source=L.PROCESS_OPERAND_OWN)
            if own
            else self._operand(one.a, target)
            if one.a is not None
            else L.ProcessOperand()
        )
        b = self._operand(_term(one.b), target)
        return L.ProcessInstruction(_immediate(one.a, one.b, target), b, a, 0, target.lanes, one.kind)

    def condition(self, comparison: Comparison) -> L.ProcessCondition:
        """Operands stand in the high bytes. Raises ProgramError."""
        sizes = [self.size(term) for term in (comparison.a, comparison.b) if not isinstance(term, int)]
        if not sizes:
            raise ProgramError("compares two numbers; hint: one of them should be a field")
        target = Target(WORD_BYTES - max(sizes), max(sizes))
        a, b = self._operand(comparison.a, target), self._operand(comparison.b, target)
        return L.ProcessCondition(_immediate(comparison.a, comparison.b, target), b, a, comparison.kind)

    def size(self, term: Term) -> int:
        """Bytes of an operand; of a number those of the smallest field that holds it."""
        if isinstance(term, int):
            return next((size for size in (1, 2) if -(1 << 8 * size - 1) <= term < 1 << 8 * size), WORD_BYTES)
        if term in self.computed:
            one = self.computed[term]
            return max(self.size(operand) for operand in (one.a, one.b) if operand is not None)
        return self.field(term).size

    def field(self, name: str) -> Field:
        """What a name stands for. Raises ProgramError."""
        if (place := self.fields.get(name.removeprefix(OLD)) or SPECIAL.get(name)) is None:
            known = ", ".join([*self.fields, *self.computed, *SPECIAL])
            raise ProgramError(f"undefined name {name!r}; hint: {known}")
        return place

    def _operand(self, term: Term, target: Target) -> L.ProcessOperand:
        if isinstance(term, int):
            return L.ProcessOperand(source=IMMEDIATE)
        if term in self.computed:
            return L.ProcessOperand(source=self._computed_input(term, self.computed[term], target))
        place = self.field(term)
        old = term.startswith(OLD)
        if old and (place.holder is not Holder.FLOW or not target.after):
            raise ProgramError(f"{term}: `{OLD}` is for the flow state in `packet`, where its new value would be read otherwise")
        lanes = lanes_of(target.byte, min(place.size, target.size))
        if place.holder is Holder.FLOW:
            first = L.PROCESS_OPERAND_AFTER if target.after and not old else L.PROCESS_OPERAND_BEFORE
            return L.ProcessOperand(lanes, (place.byte - target.byte) % WORD_BYTES, first + place.word)
        return L.ProcessOperand(source=self._input(_passed(place, place.byte - target.byte, lanes)))

    def _shift(self, expression: Expression, target: Target) -> L.ProcessInstruction:
        name = expression.a
        if not isinstance(name, str) or name in self.computed:
            raise ProgramError(f"shifts {name}; hint: a field")
        place = self.field(name)
        rotate, mask = _rotation(place, expression.shift, target)
        if place.holder is Holder.FLOW:
            a = self._operand(name, target).replace(rotate=rotate // 8, lanes=ALL)
        else:
            a = L.ProcessOperand(source=self._input(_passed(place, rotate // 8, ALL)))
        b = L.ProcessOperand(source=IMMEDIATE)
        return L.ProcessInstruction(mask, b, a, rotate % 8, target.lanes, L.KIND_ROTATE)

    def _computed_input(self, name: str, expression: Expression, target: Target) -> int:
        return self._early(expression, Target(target.byte, min(target.size, self.size(name))))

    def _early(self, expression: Expression, cut: Target) -> int:
        """The number of the input that computes an expression."""
        if expression.kind == L.KIND_ROTATE:
            place = self._packet_field(expression.a)
            rotate, mask = _rotation(place, expression.shift, cut)
            fetched = _passed(place, rotate // 8, ALL)
            return self._input(fetched.replace(immediate=mask, bits=rotate % 8, lanes=cut.lanes, kind=L.KIND_ROTATE))
        one = _numbers_last(expression)
        a, b = (_term(one.b), 0) if one.kind == L.KIND_SET else (_term(one.a), _term(one.b))
        first = self._aligned(a, cut).replace(kind=one.kind if one.kind != L.KIND_SET else L.KIND_OR, lanes=cut.lanes)
        if isinstance(b, int):
            return self._input(first.replace(immediate=_shifted(b, cut)))
        return self._input(first.replace(neighbour=1), self._aligned(b, cut))

    def _aligned(self, name: Term, target: Target) -> L.ProcessInput:
        place = self._packet_field(name)
        return _passed(place, place.byte - target.byte, lanes_of(target.byte, min(place.size, target.size)))

    def _packet_field(self, name: Term | None) -> Field:
        if not isinstance(name, str) or name in self.computed or self.field(name).holder is Holder.FLOW:
            raise ProgramError(
                f"{name} is not of the packet, or of global or table state; hint: inputs are computed before the flow state comes"
            )
        return self.field(name)

    def _input(self, wanted: L.ProcessInput, before: L.ProcessInput | None = None) -> int:
        """The number of an input, with another one before it."""
        for at, known in enumerate(self.inputs):
            if known == wanted and (before is None or (at and self.inputs[at - 1] == before)):
                return at
        if before is not None and (not self.inputs or self.inputs[-1] != before):
            self.inputs.append(before)
        self.inputs.append(wanted)
        if len(self.inputs) > self.most_inputs:
            text = f"needs input {len(self.inputs)} of {self.most_inputs}"
            raise ProgramError(f"{text}; hint: an operand of the packet takes one for each place of a word that it is brought to")
        return len(self.inputs) - 1


def _passed(place: Field, rotate: int, lanes: int) -> L.ProcessInput:
    """A word of the packet, rotated, under a mask."""
    return L.ProcessInput(0, 0, lanes, rotate % WORD_BYTES, place.word, 0, ALL, L.KIND_OR)


def _rotation(place: Field, shift: int, target: Target) -> tuple[int, int]:
    """How far to the right, and which bits of the word then are the field, shifted, at the target."""
    ones = (1 << 8 * place.size) - 1
    shifted = ones >> shift if shift >= 0 else ones << -shift
    return (8 * place.byte + shift - 8 * target.byte) % WORD_BITS, _shifted(shifted & (1 << 8 * target.size) - 1, target)


def _numbers_last(one: Expression) -> Expression:
    if isinstance(one.a, int) and isinstance(one.b, int):
        raise ProgramError(f"computes with two numbers, {one.a} and {one.b}; hint: write the result")
    return Expression(one.kind, one.b, one.a) if isinstance(one.a, int) and one.kind in COMMUTES else one


def _immediate(a: Term | None, b: Term | None, target: Target) -> int:
    return next((_shifted(term, target) for term in (a, b) if isinstance(term, int)), 0)


def _shifted(value: int, target: Target) -> int:
    """A number at its place in the word."""
    bits = 8 * target.size
    if not -(1 << bits - 1) <= value < 1 << bits:
        raise ProgramError(f"{value} does not fit in {bits} bits")
    return (value & (1 << bits) - 1) << 8 * target.byte & WORD


def _term(term: Term | None) -> Term:
    assert term is not None  # only KIND_SET and KIND_ROTATE lack an operand
    return term
