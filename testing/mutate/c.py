# SPDX-License-Identifier: Apache-2.0
"""Every mutant of a C file: changes inside its functions, found in tree-sitter's syntax tree.

Left alone: declarations of constants, array sizes, case labels, what is only reported (log lines, texts of errors), what
only gives memory back, takes a lock (to keep it is seen) or prefetches, and what happens when memory is used up: no test of
behaviour can see these.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import tree_sitter_c
from tree_sitter import Language, Node, Parser

from testing.mutate.mutant import Mutant, mutant

SWAPS = {
    "+": ("arithmetic", "-"),
    "-": ("arithmetic", "+"),
    "*": ("arithmetic", "+"),
    "/": ("arithmetic", "*"),
    "%": ("arithmetic", "/"),
    "&": ("bitwise", "|"),
    "|": ("bitwise", "&"),
    "^": ("bitwise", "|"),
    "&&": ("logical", "||"),
    "||": ("logical", "&&"),
    "==": ("relational", "!="),
    "!=": ("relational", "=="),
    "<": ("relational", "<="),
    "<=": ("relational", "<"),
    ">": ("relational", ">="),
    ">=": ("relational", ">"),
    "<<": ("shift", ">>"),
    ">>": ("shift", "<<"),
}
OPPOSITE = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
COMPOUND = {"+=": "-=", "-=": "+=", "|=": "&=", "&=": "|=", "<<=": ">>=", ">>=": "<<=", "^=": "|="}
SKIP = {
    "array_declarator",
    "sizeof_expression",
    "initializer_list",
    "enumerator",
    "static_assert_declaration",
    "preproc_def",
    "preproc_function_def",
    "type_descriptor",
    "offsetof_expression",
    "gnu_asm_expression",
    "ERROR",
}
REPORTS = re.compile(r"log|print|error_set|perror|^free$|rte_free|assert|strerror|mutex_lock|spinlock_lock|prefetch", re.IGNORECASE)
_ALLOCATED = re.compile(r"([\w.>-]+) = \w*alloc\w*\(")
_NUMBER = re.compile(r"(0[xX][0-9a-fA-F]+|\d+)([uUlL]*)")
Found = tuple[str, tuple[int, int], str, bool]


def candidates(file: str, source: bytes) -> list[Mutant]:
    """All mutants of the file."""
    root = Parser(Language(tree_sitter_c.language())).parse(source).root_node
    return [mutant(file, source, operator, span, text, statement=whole) for operator, span, text, whole in _outside(root)]


def _outside(node: Node) -> Iterator[Found]:
    for child in node.named_children:
        if child.type == "function_definition":
            body = child.child_by_field_name("body")
            if body is not None:
                yield from _inside(body)
        elif child.type.startswith("preproc_if") or child.type in ("preproc_else", "linkage_specification"):
            yield from _outside(child)


def _inside(node: Node) -> Iterator[Found]:
    if node.type in SKIP or (node.type == "declaration" and _text(node).startswith("static ")):
        return
    if node.type == "if_statement" and _is_lack_of_memory(node):
        return
    if node.type == "for_statement" and _only_reports(_field(node, "body")):
        return
    if node.type == "call_expression" and REPORTS.search(_text(_field(node, "function"))):
        return
    yield from _HANDLERS.get(node.type, lambda _: iter(()))(node)
    skipped = node.child_by_field_name("value") if node.type == "case_statement" else None
    for child in node.named_children:
        if skipped is None or child.id != skipped.id:
            yield from _inside(child)


def _only_reports(node: Node) -> bool:
    """Whether a statement is a call that no test sees, as those of a loop that frees."""
    call = node.named_children[0] if node.type == "expression_statement" and node.named_children else None
    return call is not None and call.type == "call_expression" and bool(REPORTS.search(_text(_field(call, "function"))))


def _is_lack_of_memory(node: Node) -> bool:
    """Whether an `if` is for when memory is used up: it says so, or asks whether something that the function allocates is there."""
    function = node.parent
    while function is not None and function.type != "function_definition":
        function = function.parent
    allocated = _ALLOCATED.findall(_text(function)) if function is not None else []
    condition = _text(_field(node, "condition"))
    return "ENOMEM" in _text(_field(node, "consequence")) or any(
        re.search(rf"!{re.escape(name)}(?![\w.>-])", condition) for name in allocated
    )


def _text(node: Node) -> str:
    return (node.text or b"").decode()


def _field(node: Node, name: str) -> Node:
    found = node.child_by_field_name(name)
    assert found is not None, f"{node.type} without {name}"
    return found


def _span(node: Node) -> tuple[int, int]:
    return node.start_byte, node.end_byte


def _wrapped(node: Node) -> str:
    plain = (
        "identifier",
        "number_literal",
        "parenthesized_expression",
        "call_expression",
        "field_expression",
        "subscript_expression",
    )
    return _text(node) if node.type in plain else f"({_text(node)})"


def _binary(node: Node) -> Iterator[Found]:
    operator = _text(_field(node, "operator"))
    if operator not in SWAPS:
        return
    family, other = SWAPS[operator]
    left, right = _wrapped(_field(node, "left")), _wrapped(_field(node, "right"))
    yield f"{family} operator", _span(node), f"({left} {other} {right})", False
    if operator in OPPOSITE:
        yield "relational operator", _span(node), f"({left} {OPPOSITE[operator]} {right})", False
    if family == "logical":
        yield "operand dropped", _span(node), left, False
        yield "operand dropped", _span(node), right, False


def _condition(node: Node) -> Iterator[Found]:
    inner = node.child_by_field_name("condition")
    if inner is None:
        return
    if inner.type == "parenthesized_expression":
        inner = inner.named_children[0]
    loop = node.type != "if_statement"
    yield "condition negated", _span(inner), f"!({_text(inner)})", False
    yield "condition stuck", _span(inner), "0", False
    if not loop:
        yield "condition stuck", _span(inner), "1", False


def _ternary(node: Node) -> Iterator[Found]:
    if node.child_by_field_name("consequence") is None:
        return
    condition, left, right = (_text(_field(node, name)) for name in ("condition", "consequence", "alternative"))
    yield "ternary arms swapped", _span(node), f"({condition} ? {right} : {left})", False
    yield "ternary stuck", _span(node), f"({left})", False
    yield "ternary stuck", _span(node), f"({right})", False


def _statement(node: Node) -> Iterator[Found]:
    inner = node.named_children[0] if node.named_children else None
    if inner is None:
        return
    if inner.type == "call_expression" and not REPORTS.search(_text(_field(inner, "function"))):
        yield "call dropped", _span(node), ";", True
    if inner.type in ("assignment_expression", "update_expression"):
        yield "assignment dropped", _span(node), ";", True


def _assignment(node: Node) -> Iterator[Found]:
    operator = _text(_field(node, "operator"))
    if operator in COMPOUND:
        left, right = _text(_field(node, "left")), _text(_field(node, "right"))
        yield "compound assignment", _span(node), f"({left} {COMPOUND[operator]} {right})", False


def _return(node: Node) -> Iterator[Found]:
    value = node.named_children[0] if node.named_children else None
    if value is not None and value.type != "comment" and _text(value) not in ("0", "NULL", "false"):
        yield "result 0", _span(value), "0", False


def _unary(node: Node) -> Iterator[Found]:
    argument = _field(node, "argument")
    if _text(_field(node, "operator")) in "!~-" and argument.type != "number_literal" and _text(argument) != "ENOMEM":
        family = "logical negation" if _text(_field(node, "operator")) == "!" else "negation"
        yield family, _span(node), f"({_text(argument)})", False


def _subscript(node: Node) -> Iterator[Found]:
    index = _field(node, "index")
    if index.type != "number_literal":
        yield "select index", _span(index), f"({_text(index)} ^ 1)", False


def _number(node: Node) -> Iterator[Found]:
    found = _NUMBER.fullmatch(_text(node))
    if found:
        digits, suffix = found.groups()
        in_hex = digits[:2].lower() == "0x"
        value = int(digits, 16 if in_hex else 10) + 1
        yield "constant", _span(node), (f"{value:#x}" if in_hex else str(value)) + suffix, False


_HANDLERS = {
    "binary_expression": _binary,
    "if_statement": _condition,
    "while_statement": _condition,
    "for_statement": _condition,
    "do_statement": _condition,
    "conditional_expression": _ternary,
    "expression_statement": _statement,
    "assignment_expression": _assignment,
    "return_statement": _return,
    "unary_expression": _unary,
    "subscript_expression": _subscript,
    "number_literal": _number,
}
