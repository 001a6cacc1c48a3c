# SPDX-License-Identifier: Apache-2.0
"""Constant expressions as exact integers: widths, sizes, offsets, `constexpr`. What a name means is the subclass's business."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from compiler.frontend import ast
from compiler.frontend.source import Diagnostics, Note, Span

MAX_BITS = 1 << 16
MAX_VALUE_BITS = 1024  # of any value on the way; Python prints such numbers, larger ones it may refuse


class Bad(Exception):
    """An error was reported; what depends on it is left out."""


class ConstantEvaluator(ABC):
    """Evaluates; names come from `constant` and `size`."""

    def __init__(self, diagnostics: Diagnostics) -> None:
        self.diagnostics = diagnostics

    def error(self, code: str, text: str, span: Span, hint: str = "", notes: tuple[Note, ...] = ()) -> Bad:
        """Report, and give what to raise."""
        self.diagnostics.error(code, text, span, hint, notes)
        return Bad()

    @abstractmethod
    def constant(self, name: str, span: Span) -> int:
        """The value of a constant."""

    @abstractmethod
    def size(self, name: str, span: Span) -> int:
        """The bits of a type."""

    def positive(self, node: ast.Expression, what: str, most: int = MAX_BITS) -> int:
        value = self.value(node)
        if not 1 <= value <= most:
            raise self.error("E0317", f"{what} must not be {value}", node.span, f"use 1 to {most}")
        return value

    def value(self, node: ast.Expression) -> int:
        """The value of a constant expression."""
        match node:
            case ast.Number(value=value):
                return value
            case ast.Reference(name=name, span=span):
                return self.constant(name, span)
            case ast.Unary(operator=operator, operand=operand):
                inner = self.value(operand)
                return {"-": -inner, "~": ~inner, "!": int(not inner)}[operator]
            case ast.Conditional(condition=condition, then=then, otherwise=otherwise):
                return self.value(then) if self.value(condition) else self.value(otherwise)
            case ast.Call():
                return self._call(node)
            case ast.Binary():
                return self._binary(node)
            case ast.Index():
                return self.element(node)
        raise self.error("E0323", "this is not a constant", node.span, "use a constant expression")

    def element(self, node: ast.Index) -> int:
        """An element of a constant array."""
        raise self.error("E0323", "this is not a constant", node.span, "use a constant expression")

    def size_of(self, argument: ast.Expression, function: str) -> int:
        """The bits of what `bits()` or `bytes()` is given."""
        if not isinstance(argument, ast.Reference):
            raise self.error("E0319", f"'{function}' takes a type", argument.span, f"{function}(name_t)")
        return self.size(argument.name, argument.span)

    def _call(self, node: ast.Call) -> int:
        if len(node.arguments) != 1 or node.function.text not in ("bits", "bytes", "clog2"):
            raise self.error(
                "E0319",
                f"'{node.function.text}' is not a function in a constant expression",
                node.span,
                "the functions are bits(type), bytes(type), clog2(n)",
            )
        argument = node.arguments[0]
        if node.function.text == "clog2":
            value = self.value(argument)
            if value < 1:
                raise self.error("E0317", f"clog2({value}) is undefined", argument.span, "its argument must be at least 1")
            return (value - 1).bit_length()
        size = self.size_of(argument, node.function.text)
        return size if node.function.text == "bits" else (size + 7) // 8

    def _binary(self, node: ast.Binary) -> int:
        left, right = self.value(node.left), self.value(node.right)
        if node.operator in ("/", "%") and right == 0:
            raise self.error("E0320", "division by zero", node.right.span, "the divisor must not be 0")
        if node.operator in ("<<", ">>") and not 0 <= right <= 1024:
            raise self.error("E0317", f"shift by {right} is out of range", node.right.span, "shift by 0 to 1024")
        operations: dict[str, Callable[[], int]] = {
            "||": lambda: int(bool(left or right)), "&&": lambda: int(bool(left and right)), "|": lambda: left | right,
            "^": lambda: left ^ right, "&": lambda: left & right, "==": lambda: int(left == right),
            "!=": lambda: int(left != right), "<": lambda: int(left < right), ">": lambda: int(left > right),
            "<=": lambda: int(left <= right), ">=": lambda: int(left >= right), "<<": lambda: left << right,
            ">>": lambda: left >> right, "+": lambda: left + right, "-": lambda: left - right,
            "*": lambda: left * right, "/": lambda: left // right, "%": lambda: left % right,
        }  # fmt: skip
        value = operations[node.operator]()
        if value.bit_length() > MAX_VALUE_BITS:
            raise self.error("E0317", "this number is too large", node.span, f"at most {MAX_VALUE_BITS} bits")
        return value
