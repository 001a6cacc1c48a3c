# SPDX-License-Identifier: Apache-2.0
"""C's arithmetic with rank = width: promotion, conversion made explicit, and constants folded."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace

from compiler.frontend import typed
from compiler.frontend.resolve import INT, UINT, Resolver, describe, fits
from compiler.frontend.source import Span

COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
SHIFTS = ("<<", ">>")


def read(value: int, kind: typed.Type) -> int:
    """A bit pattern as a number, by the type's sign."""
    if isinstance(kind, typed.Integer) and kind.signed and value >> kind.bits - 1:
        return value - (1 << kind.bits)
    return value


def constant(value: int, kind: typed.Type, span: Span) -> typed.Constant:
    """A number, wrapped to the type's bits."""
    return typed.Constant(value & (1 << kind.bits) - 1, kind, span)


def literal_type(value: int, is_decimal: bool) -> typed.Integer:
    """As in C: the first of int<32>, uint<32> (not decimal), int<64>, uint<64> that holds it; beyond that its own bits."""
    for bits in (32, 64):
        if -(1 << bits - 1) <= value < 1 << bits - 1:
            return typed.Integer(bits, True)
        if 0 <= value < 1 << bits and (bits == 64 or not is_decimal):
            return typed.Integer(bits)
    return typed.Integer(max(value.bit_length(), 1)) if value >= 0 else typed.Integer(value.bit_length() + 1, True)


def divide(left: int, right: int) -> int:
    """To zero."""
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def fold(operator: str, left: int, right: int, kind: typed.Integer) -> int:
    """What an operator gives for two numbers of one type (shifts: `right` is unsigned); not wrapped yet."""
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            return divide(left, right) if right else -1
        case "%":
            return left - divide(left, right) * right if right else left
        case "&":
            return left & right
        case "|":
            return left | right
        case "^":
            return left ^ right
        case "<<":
            return left << right if right < kind.bits else 0
        case ">>":
            return left >> min(right, kind.bits)
        case "==":
            return int(left == right)
        case "!=":
            return int(left != right)
        case "<":
            return int(left < right)
        case "<=":
            return int(left <= right)
        case ">":
            return int(left > right)
    assert operator == ">=", operator
    return int(left >= right)


def is_pure(value: object) -> bool:
    """Whether evaluating it twice is the same as once."""
    if isinstance(value, typed.Call | typed.Read | typed.SelectPort | typed.Random | typed.Lookup | typed.Update):
        return False
    if isinstance(value, tuple):
        return all(is_pure(part) for part in value)
    if isinstance(value, typed.Variable | typed.Port | Span) or not is_dataclass(value):
        return True
    return all(is_pure(getattr(value, field.name)) for field in fields(value))


def largest(value: typed.Expression) -> int | None:
    """An upper bound of a value that is surely not negative; None where that is not sure."""
    match value:
        case typed.Constant():
            number = read(value.value, value.type)
            return number if number >= 0 else None
        case typed.Cast(operand=operand):
            inner = largest(operand)
            return inner if inner is not None and isinstance(value.type, typed.Integer) and fits(inner, value.type) else None
        case typed.Binary(operator="+" | "*" | "&" | "|" | "^" | "/" | "%" | ">>", left=left, right=right):
            first, second = largest(left), largest(right)
            if first is None or second is None:
                return None
            bound = {"+": first + second, "*": first * second, "&": min(first, second), "%": first}.get(value.operator)
            if value.operator in ("|", "^"):
                bound = (1 << max(first.bit_length(), second.bit_length())) - 1
            if value.operator == "/" and not isinstance(right, typed.Constant):
                return None
            bound = first if bound is None else bound
            return bound if fits(bound, value.type) and (second or value.operator != "/") else None
        case typed.Conditional(then=then, otherwise=otherwise):
            first, second = largest(then), largest(otherwise)
            return None if first is None or second is None else max(first, second)
    kind = value.type
    return (1 << kind.bits) - 1 if isinstance(kind, typed.Integer) and not kind.signed else None


class Values(Resolver):
    """Builds expressions; every conversion becomes a `Cast`."""

    def integer(self, value: typed.Expression) -> typed.Integer:
        """The type of an operand, which must be an integer."""
        if isinstance(value.type, typed.Integer):
            return value.type
        raise self.error("E0405", f"expected an integer, found {describe(value.type)}", value.span, "use one of its fields")

    def cast(self, value: typed.Expression, kind: typed.Type) -> typed.Expression:
        """To another type of integer, or to another type of the same bits, without a check."""
        if value.type == kind:
            return value
        if isinstance(value, typed.Constant):
            return constant(read(value.value, value.type), kind, value.span)
        if kind == typed.BOOL:
            return self.truth(value)
        inner = value.operand if isinstance(value, typed.Cast) and _keeps(value, kind) else value
        return inner if inner.type == kind else typed.Cast(inner, kind, value.span)

    def truth(self, value: typed.Expression) -> typed.Expression:
        """As a condition: whether it is not 0."""
        kind = self.integer(value)
        if kind == typed.BOOL:
            return value
        if isinstance(value, typed.Constant):
            return constant(int(value.value != 0), typed.BOOL, value.span)
        if kind.bits == 1:
            return typed.Cast(value, typed.BOOL, value.span)
        return typed.Binary("!=", value, constant(0, kind, value.span), typed.BOOL, value.span)

    def promote(self, value: typed.Expression) -> typed.Expression:
        """What is narrower than 32 bits becomes int<32>; an enum or bool loses its name."""
        kind = self.integer(value)
        return self.cast(value, INT if kind.bits < 32 else typed.Integer(kind.bits, kind.signed))

    def convert(self, value: typed.Expression, kind: typed.Type, what: str = "this") -> typed.Expression:
        """As an assignment does: integers change their width, anything else must have the type already."""
        if value.type == kind:
            return value
        if not isinstance(value.type, typed.Integer) or not isinstance(kind, typed.Integer):
            hint = "use one of its fields" if isinstance(kind, typed.Integer) else "the types must be equal"
            raise self.error("E0405", f"{what} needs {describe(kind)}, but this is {describe(value.type)}", value.span, hint)
        if isinstance(value, typed.Constant) and kind != typed.BOOL:
            number = read(value.value, value.type)
            if not fits(number, kind):
                hint = f"{describe(kind)} holds {describe_range(kind)}; use a wider type, or cast to truncate the value"
                raise self.error("E0406", f"{number} does not fit in {describe(kind)}", value.span, hint)
        return self.cast(value, kind)

    # Operators

    def balance(self, operator: str, left: typed.Expression, right: typed.Expression, span: Span) -> tuple[typed.Expression, ...]:
        """Both operands in their common type."""
        left, right = self.promote(left), self.promote(right)
        one, two = self.integer(left), self.integer(right)
        common = typed.Integer(max(one.bits, two.bits), (one if one.bits > two.bits else two).signed)
        if one.bits == two.bits:
            common = typed.Integer(one.bits, one.signed and two.signed)
        if operator in (*COMPARISONS, "/", "%") and not common.signed:
            common = self._same_sign(operator, left, right, common, span)
        return self.cast(left, common), self.cast(right, common)

    def _same_sign(
        self, operator: str, left: typed.Expression, right: typed.Expression, common: typed.Integer, span: Span
    ) -> typed.Integer:
        """The common type where it is unsigned: a signed operand that can be negative is an error, but beside a constant."""
        for value, other in ((left, right), (right, left)):
            if not self.integer(value).signed or largest(value) is not None:
                continue
            if isinstance(other, typed.Constant) and read(other.value, other.type) < 1 << common.bits - 1:
                return replace(common, signed=True)
            verb = "compares" if operator in COMPARISONS else "divides"
            text = f"'{operator}' {verb} a signed number ({describe(left.type)}) with an unsigned one ({describe(right.type)})"
            if value is right:
                text = f"'{operator}' {verb} an unsigned number ({describe(left.type)}) with a signed one ({describe(right.type)})"
            hint = f"cast to the type that is meant: ({describe(common)}) or ({describe(replace(common, signed=True))})"
            raise self.error("E0407", text, span, hint)
        return common

    def binary(self, operator: str, left: typed.Expression, right: typed.Expression, span: Span) -> typed.Expression:
        """`left operator right`, converted and folded."""
        if operator in ("&&", "||"):
            return self._logical(operator, self.truth(left), self.truth(right), span)
        if operator in ("==", "!=") and not isinstance(left.type, typed.Integer) and left.type == right.type:
            return typed.Binary(operator, left, right, typed.BOOL, span)
        if operator in SHIFTS:
            left, right = self.promote(left), self._shift_by(right)
        else:
            left, right = self.balance(operator, left, right, span)
        kind = self.integer(left)
        result = typed.BOOL if operator in COMPARISONS else kind
        if isinstance(left, typed.Constant) and isinstance(right, typed.Constant):
            return constant(fold(operator, read(left.value, kind), read(right.value, right.type), kind), result, span)
        if operator in ("/", "%") and isinstance(right, typed.Constant) and right.value == 0:
            gives = "all ones" if operator == "/" else "the dividend"
            self.diagnostics.warning("W0320", "division by 0", span, f"the result is {gives}; use another divisor")
        return typed.Binary(operator, left, right, result, span)

    def _shift_by(self, value: typed.Expression) -> typed.Expression:
        kind = self.integer(value)
        if isinstance(value, typed.Constant):
            number = read(value.value, kind)
            if number < 0:
                raise self.error("E0406", f"shift by a negative number ({number})", value.span, "shift in the other direction")
            return constant(number, UINT if number < 1 << 32 else kind, value.span)
        return self.cast(value, typed.Integer(kind.bits)) if kind.signed else value

    def _logical(self, operator: str, left: typed.Expression, right: typed.Expression, span: Span) -> typed.Expression:
        decides = int(operator == "||")
        if isinstance(left, typed.Constant):
            return constant(decides, typed.BOOL, span) if left.value == decides else right
        return typed.Logical(operator, left, right, span)

    def unary(self, operator: str, operand: typed.Expression, span: Span) -> typed.Expression:
        """`-`, `~`, `!`."""
        operand = self.truth(operand) if operator == "!" else self.promote(operand)
        kind = self.integer(operand)
        if isinstance(operand, typed.Constant):
            number = read(operand.value, kind)
            return constant({"-": -number, "~": ~number, "!": 1 - number}[operator], kind, span)
        return typed.Unary(operator, operand, kind, span)

    def choose(
        self, condition: typed.Expression, then: typed.Expression, otherwise: typed.Expression, span: Span
    ) -> typed.Expression:
        """`condition ? then : otherwise`."""
        condition = self.truth(condition)
        if then.type != otherwise.type:
            if not isinstance(then.type, typed.Integer) or not isinstance(otherwise.type, typed.Integer):
                text = f"the two values have different types: {describe(then.type)} and {describe(otherwise.type)}"
                raise self.error("E0405", text, span, "both sides of ':' must have the same type")
            then, otherwise = self.balance("?", then, otherwise, span)
        if isinstance(condition, typed.Constant):
            return then if condition.value else otherwise
        return typed.Conditional(condition, then, otherwise, then.type, span)


def _keeps(value: typed.Cast, kind: typed.Type) -> bool:
    """Whether a cast can be left out below another one: it widens, and the next one does not read its sign differently."""
    before, between = value.operand.type, value.type
    if not isinstance(before, typed.Integer) or not isinstance(between, typed.Integer) or not isinstance(kind, typed.Integer):
        return False
    if between.bits < before.bits:
        return False
    same_sign = before.signed == between.signed or (not before.signed and between.bits > before.bits)
    return kind.bits <= between.bits or same_sign


def _range(kind: typed.Integer) -> range:
    half = 1 << kind.bits - 1
    return range(-half, half) if kind.signed else range(2 * half)


def describe_range(kind: typed.Integer) -> str:
    """From the least to the largest value."""
    numbers = _range(kind)
    return f"{numbers.start} to {numbers.stop - 1}"
