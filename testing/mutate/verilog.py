# SPDX-License-Identifier: Apache-2.0
"""Every mutant of a SystemVerilog file: changes of what runs in a cycle, found in slang's syntax tree.

Left alone: parameters and functions that give them an integer, types, generate conditions, loop headers, elaboration checks and
assertions. What turns out not to compile is dropped when mutants are drawn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pyslang.syntax import SyntaxNode, SyntaxTree

from testing.mutate.mutant import Mutant, mutant

SWAPS = {
    "Add": ("arithmetic", "-"),
    "Subtract": ("arithmetic", "+"),
    "Multiply": ("arithmetic", "+"),
    "BinaryAnd": ("bitwise", "|"),
    "BinaryOr": ("bitwise", "&"),
    "BinaryXor": ("bitwise", "|"),
    "LogicalAnd": ("logical", "||"),
    "LogicalOr": ("logical", "&&"),
    "Equality": ("relational", "!="),
    "Inequality": ("relational", "=="),
    "LessThan": ("relational", "<="),
    "LessThanEqual": ("relational", "<"),
    "GreaterThan": ("relational", ">="),
    "GreaterThanEqual": ("relational", ">"),
    "LogicalShiftLeft": ("shift", ">>"),
    "LogicalShiftRight": ("shift", "<<"),
}
UNARY = {"UnaryLogicalNot": "", "UnaryBitwiseNot": "", "UnaryBitwiseAnd": "|", "UnaryBitwiseOr": "&"}
ENTER = {"AlwaysFFBlock", "AlwaysCombBlock", "AlwaysBlock", "ContinuousAssign", "FunctionDeclaration", "NamedPortConnection"}
SKIP = {
    "ParameterDeclarationStatement",
    "ConcurrentAssertionMember",
    "AssertPropertyStatement",
    "ImmediateAssertStatement",
    "ImmediateAssertionMember",
    "EventControlWithExpression",
    "FunctionPrototype",
    "SimplePropertyExpr",
    "VariableDimension",
    "LogicType",
    "NamedType",
}
_LITERAL = re.compile(r"(\d*)'([sS]?)([bodhBODH])\s*([0-9a-fA-F_]+)")
_BASES = {"b": (2, "b"), "o": (8, "o"), "d": (10, "d"), "h": (16, "x")}


def candidates(file: str, source: bytes) -> list[Mutant]:
    """All mutants of the file."""
    root = SyntaxTree.fromText(source.decode()).root
    # slang counts bytes, as `source` does
    found = _Walk(source).outside(root)
    return [mutant(file, source, operator, span, text, statement=whole) for operator, span, text, whole in found]


Found = tuple[str, tuple[int, int], str, bool]


class _Walk:
    def __init__(self, source: bytes) -> None:
        self.source = source

    def text(self, node: Any) -> str:
        """The node's text without what stands before it."""
        start, end = self.span(node)
        return self.source[start:end].decode()

    def span(self, node: Any) -> tuple[int, int]:
        """Its first byte, and the one after its last."""
        where = node.sourceRange
        return where.start.offset, where.end.offset

    def outside(self, node: Any) -> Iterator[Found]:
        """Where nothing runs yet: look for what does."""
        kind = node.kind.name
        if kind in SKIP or (kind == "FunctionDeclaration" and _is_of_elaboration(node)):
            return
        if kind == "NamedPortConnection":
            if node.expr is not None and node.expr.kind.name != "SimplePropertyExpr":
                yield from self.inside(node.expr)
            elif node.expr is not None and (inner := _sole_expression(node.expr)) is not None:
                yield from self.inside(inner)
            return
        for child in _children(node):
            yield from self.inside(child) if kind in ENTER else self.outside(child)

    def inside(self, node: Any, reset: bool = False) -> Iterator[Found]:
        """Statements and expressions that run."""
        kind = node.kind.name
        if kind in SKIP:
            return
        handler = getattr(self, f"_{kind}", None)
        if handler is not None:
            yield from handler(node, reset)
            return
        base = kind.removesuffix("Expression")
        if base in SWAPS:
            yield from self._binary(node, *SWAPS[base])
        if base in UNARY:
            operand = self.text(node.operand)
            yield "negation or reduction", self.span(node), f"({UNARY[base]}{operand})", False
        for child in _children(node):
            yield from self.inside(child, reset)

    def _binary(self, node: Any, family: str, other: str) -> Iterator[Found]:
        left, right = (_wrapped(self.text(side), side) for side in (node.left, node.right))
        yield f"{family} operator", self.span(node), f"({left} {other} {right})", False
        if family == "logical":
            yield "operand dropped", self.span(node), left, False
            yield "operand dropped", self.span(node), right, False
        if family == "relational" and other not in ("==", "!="):
            opposite = {"<=": ">=", "<": ">", ">=": "<=", ">": "<"}[other]
            yield "relational operator", self.span(node), f"({left} {opposite} {right})", False

    def _ConditionalStatement(self, node: Any, reset: bool) -> Iterator[Found]:
        predicate = node.predicate
        if node.statement.kind.name in SKIP and node.elseClause is None:  # when an assertion holds is part of it
            return
        text = self.text(predicate)
        resets = text == "rst_i" or text.endswith("_rst_i")
        if not resets:
            yield "condition negated", self.span(predicate), f"!({text})", False
            yield "condition stuck", self.span(predicate), "1'b1", False
            yield "condition stuck", self.span(predicate), "1'b0", False
        yield from self.inside(predicate)
        yield from self.inside(node.statement, reset or resets)
        if node.elseClause is not None:
            yield from self.inside(node.elseClause, reset)

    def _ConditionalExpression(self, node: Any, reset: bool) -> Iterator[Found]:
        condition, left, right = (self.text(part) for part in (node.predicate, node.left, node.right))
        yield "ternary arms swapped", self.span(node), f"({condition} ? {right} : {left})", False
        yield "ternary stuck", self.span(node), f"({left})", False
        yield "ternary stuck", self.span(node), f"({right})", False
        for part in (node.predicate, node.left, node.right):
            yield from self.inside(part, reset)

    def _ExpressionStatement(self, node: Any, reset: bool) -> Iterator[Found]:
        if "Assignment" in node.expr.kind.name:
            yield ("reset dropped" if reset else "assignment dropped"), self.span(node), ";", True
            if node.expr.kind.name == "AddAssignmentExpression":
                yield "arithmetic operator", self.span(node), self.text(node).replace("+=", "-=", 1), True
            yield from self._selects(node.expr.left)
            yield from self.inside(node.expr.right, reset)
        else:
            yield from self.inside(node.expr, reset)

    def _AssignmentExpression(self, node: Any, reset: bool) -> Iterator[Found]:
        """A continuous assignment, whose target is constant; `unused` is what names that for the lint."""
        if not self.text(node.left).startswith("unused"):
            yield from self.inside(node.right, reset)

    def _selects(self, target: Any) -> Iterator[Found]:
        """Of an assignment's target only what selects may change."""
        for child in _children(target):
            if child.kind.name == "BitSelect":
                yield from self._BitSelect(child, False)
            elif child.kind.name not in SKIP:
                yield from self._selects(child)

    def _BitSelect(self, node: Any, reset: bool) -> Iterator[Found]:
        text = self.text(node.expr)
        yield "select index", self.span(node.expr), f"({text} ^ 1)", False

    def _slice(self, node: Any, reset: bool) -> Iterator[Found]:
        return iter(())

    _SimpleRangeSelect = _slice

    def _IdentifierSelectName(self, node: Any, reset: bool) -> Iterator[Found]:
        yield from self._name_with_slices(node, reset)

    def _ElementSelectExpression(self, node: Any, reset: bool) -> Iterator[Found]:
        yield from self._name_with_slices(node, reset)

    def _name_with_slices(self, node: Any, reset: bool) -> Iterator[Found]:
        """`a[hi:lo]` moved by one bit, either way; the other selects as usual."""
        start, end = self.span(node)
        for found in _below(node, "SimpleRangeSelect"):
            high, low = self.text(found.left), self.text(found.right)
            at, behind = self.span(found)
            for step in ("+ 1", "- 1"):
                moved = f"{_plus(high, step)}:{_plus(low, step)}"
                whole = self.source[start:at].decode() + moved + self.source[behind:end].decode()
                yield "bit slice", (start, end), whole, False
        for child in _children(node):
            yield from self.inside(child, reset)

    def _AscendingRangeSelect(self, node: Any, reset: bool) -> Iterator[Found]:
        yield "bit slice", self.span(node.left), f"({self.text(node.left)} + 1)", False
        yield from self.inside(node.left, reset)

    def _CastExpression(self, node: Any, reset: bool) -> Iterator[Found]:
        yield from self.inside(node.right, reset)

    def _MultipleConcatenationExpression(self, node: Any, reset: bool) -> Iterator[Found]:
        yield from self.inside(node.concatenation, reset)

    def _ForLoopStatement(self, node: Any, reset: bool) -> Iterator[Found]:
        yield from self.inside(node.statement, reset)

    def _StandardCaseItem(self, node: Any, reset: bool) -> Iterator[Found]:
        yield from self.inside(node.clause, reset)

    def _InvocationExpression(self, node: Any, reset: bool) -> Iterator[Found]:
        if not self.text(node).startswith("$") and node.arguments is not None:
            yield from self.inside(node.arguments, reset)

    def _IntegerLiteralExpression(self, node: Any, reset: bool) -> Iterator[Found]:
        value = int(self.text(node).replace("_", ""))
        yield _constant(reset), self.span(node), str(value + 1), False

    def _IntegerVectorExpression(self, node: Any, reset: bool) -> Iterator[Found]:
        found = _LITERAL.fullmatch(self.text(node))
        if found is None:
            return
        size, sign, base, digits = found.groups()
        radix, form = _BASES[base.lower()]
        value = int(digits.replace("_", ""), radix)
        changed = (value + 1) % (1 << int(size or 32))
        yield _constant(reset), self.span(node), f"{size}'{sign}{base}{changed:{form}}", False

    def _UnbasedUnsizedLiteralExpression(self, node: Any, reset: bool) -> Iterator[Found]:
        other = {"'0": "'1", "'1": "'0"}.get(self.text(node))
        if other:
            yield _constant(reset), self.span(node), other, False


def _constant(reset: bool) -> str:
    return "reset value" if reset else "constant"


def _plus(text: str, step: str) -> str:
    return str(int(text) + int(step.replace(" ", ""))) if text.isdigit() else f"{text} {step}"


def _wrapped(text: str, node: Any) -> str:
    plain = node.kind.name.endswith(("Name", "LiteralExpression", "VectorExpression")) or text[0] in "({"
    return text if plain and not (text[0] == "(" and node.kind.name != "ParenthesizedExpression") else f"({text})"


def _children(node: Any) -> Iterator[Any]:
    return (child for child in node if isinstance(child, SyntaxNode))


def _below(node: Any, kind: str) -> Iterator[Any]:
    for child in _children(node):
        if child.kind.name == "ElementSelect":
            yield from (found for found in _children(child) if found.kind.name == kind)


def _is_of_elaboration(function: Any) -> bool:
    """Whether it gives an integer: a width, depth or latency, which no running simulation can select."""
    return str(function.prototype.returnType).split()[:1] in (["int"], ["integer"])


def _sole_expression(node: Any) -> Any:
    """Of the property that a port connection is to the grammar, the expression."""
    while node is not None and node.kind.name in ("SimplePropertyExpr", "SimpleSequenceExpr"):
        inner = list(_children(node))
        node = inner[0] if len(inner) == 1 else None
    return node
