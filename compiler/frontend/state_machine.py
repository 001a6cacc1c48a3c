# SPDX-License-Identifier: Apache-2.0
"""`.state_machine`: parsers, expanded over all paths, so that every header stands at a constant offset.

`goto_state` puts the body of the state where it stands, with the offset that this path has reached; each path ends with a
`Break` out of a loop of one round. A header that does not fit into the window any more leads to the state `outside`, or out of
the machine where there is none.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.frontend import ast, typed
from compiler.frontend import ast_element as tree
from compiler.frontend.calls import Body
from compiler.frontend.places import Designator
from compiler.frontend.resolve import UINT, describe
from compiler.frontend.scope import FunctionName, Scope, View
from compiler.frontend.source import Diagnostics, Span, closest
from compiler.frontend.statements import Statements
from compiler.frontend.values import constant

MAX_PATHS = 1024
OUTSIDE = "outside"


@dataclass
class Machine:
    """A machine while it is expanded: its window, and how far this path has come (bits)."""

    states: dict[str, tree.ParserState]
    scope: Scope
    window: typed.Place | None
    offset: int = 0
    path: tuple[tuple[str, int], ...] = ()
    count: int = 0


class _Outside(Exception):
    """A header would reach behind the window."""


class StateMachines(Statements):
    """Adds parsers to the statements: `take(type)`, `skip(bytes)`, `offset()`."""

    def __init__(self, diagnostics: Diagnostics, scope: Scope) -> None:
        super().__init__(diagnostics, scope)
        self.machine: Machine | None = None

    def state_machine(self, node: tree.StateMachine) -> None:
        if self.machine is not None:
            raise self.error("E0508", "a state machine cannot contain another state machine", node.span, "use goto_state")
        states: dict[str, tree.ParserState] = {}
        for state in node.states:
            if state.name.text in states:
                raise self.error("E0402", f"duplicate state '{state.name.text}'", state.name.span, "rename one of them")
            states[state.name.text] = state
        if not states:
            raise self.error("E0508", "this state machine has no states", node.span, ".state_machine (x.data) { start: { … } }")
        self.machine = Machine(states, self.scope, self._window(node.window) if node.window else None)
        outer, self.out = self.out, []
        loops, self.body.loops = self.body.loops, 0
        try:
            self._expand(node.states[0])
            body = typed.Block(tuple(self.out))
        finally:
            self.out, self.body.loops, self.machine = outer, loops, None
        self.out.append(typed.Loop(constant(1, typed.BOOL, node.span), body, typed.Block(()), 1, node.span))

    def _window(self, node: ast.Expression) -> typed.Place:
        found: Designator = self.designator(node)
        if not isinstance(found, typed.Place):
            raise self.error(
                "E0508", "a state machine needs a variable or field to parse", node.span, ".state_machine (x.data) { … }"
            )
        return self.frozen(found)

    def _expand(self, state: tree.ParserState) -> None:
        """The body of a state at this offset, and the end of the path behind it."""
        machine = self._machine(state.name.span)
        key = (state.name.text, machine.offset)
        if key in machine.path:
            hint = "take a header before goto_state, or use a loop"
            raise self.error("E0508", f"'{state.name.text}' is entered again at the same offset", state.name.span, hint)
        machine.count += 1
        if machine.count > MAX_PATHS:
            hint = "each path to a state builds a copy of it; use a variable to join paths"
            raise self.error("E0508", f"the state machine has more than {MAX_PATHS} paths", state.name.span, hint)
        before, scope = (machine.offset, machine.path), self.scope
        machine.path, self.scope = (*machine.path, key), Scope(machine.scope)
        try:
            self.statements(state.body.statements)
        finally:
            self.scope = scope
            machine.offset, machine.path = before
        if not (self.out and isinstance(self.out[-1], typed.Break | typed.Return)):
            self.out.append(typed.Break(state.name.span))

    def _machine(self, span: Span) -> Machine:
        if self.machine is None:
            raise self.error("E0508", "this is only allowed in a state machine", span, ".state_machine (x.data) { start: { … } }")
        return self.machine

    def function(self, found: FunctionName, span: Span) -> tuple[typed.Function, Body]:
        outer, self.machine = self.machine, None
        try:
            return super().function(found, span)
        finally:
            self.machine = outer

    def goto(self, state: ast.Name) -> None:
        machine = self._machine(state.span)
        found = machine.states.get(state.text)
        if found is None:
            near = closest(state.text, list(machine.states))
            hint = f"did you mean '{near}'?" if near else f"the states are {', '.join(machine.states)}"
            raise self.error("E0508", f"undefined state '{state.text}'", state.span, hint)
        if self.body.loops:
            raise self.error(
                "E0508",
                "goto_state is not allowed in a loop",
                state.span,
                "store the result in a variable, and use goto_state after the loop",
            )
        self._expand(found)

    def statements(self, nodes: tuple[tree.Statement, ...]) -> None:
        for number, node in enumerate(nodes):
            try:
                super().statements((node,))
            except _Outside:
                self._leave(node.span)
                return
            if isinstance(node, tree.Goto):
                if number + 1 < len(nodes):
                    text = "unreachable statement"
                    self.diagnostics.error(
                        "E0508", text, nodes[number + 1].span, "goto_state must be the last statement of its block"
                    )
                return

    def _leave(self, span: Span) -> None:
        """The end of a path whose next header is outside of the window."""
        machine = self._machine(span)
        inside = machine.path and machine.path[-1][0] == OUTSIDE
        if OUTSIDE in machine.states and not inside:
            self._expand(machine.states[OUTSIDE])
        else:
            self.out.append(typed.Break(span))

    def scoped(self, statements: tuple[tree.Statement, ...]) -> typed.Block:
        offset = self.machine.offset if self.machine else 0
        block = super().scoped(statements)
        if self.machine is not None and self.machine.offset != offset:
            self.machine.offset = offset
            ends = block.statements and isinstance(block.statements[-1], typed.Break | typed.Return)
            if not ends:
                span = statements[0].span
                hint = "after an optional header, use goto_state"
                raise self.error("E0508", "the offset after this block would depend on the path", span, hint)
        return block

    # Built-ins

    def view(self, node: ast.Expression) -> View | None:
        if isinstance(node, ast.Call) and node.function.text == "take":
            return self._take(node)
        return super().view(node)

    def _take(self, node: ast.Call) -> View:
        """The header at the offset of this path, which moves behind it."""
        machine = self._machine(node.span)
        self._want(node, 1, "ethernet_t *eth = take(ethernet_t);")
        argument = node.arguments[0]
        if isinstance(argument, ast.Reference):
            kind = self.type(ast.NamedType(argument.name, argument.span))
        elif isinstance(argument, ast.TypeValue):
            kind = self.type(argument.type)
        else:
            raise self.error("E0403", "take() needs a type", argument.span, "ethernet_t *eth = take(ethernet_t);")
        if kind.bits % 8:
            raise self.error(
                "E0308", f"{describe(kind)} has {kind.bits} bits", argument.span, "the size must be a multiple of 8 bits"
            )
        low = self._move(machine, kind.bits, node.span)
        assert machine.window is not None
        swap = isinstance(kind, typed.Struct) and kind.is_header
        return View(machine.window, low, kind, 1, swap)

    def _move(self, machine: Machine, bits: int, span: Span) -> int:
        """The offset before a step of `bits`; behind the window the path ends."""
        if machine.window is None:
            raise self.error("E0508", "this state machine has no data to parse", span, ".state_machine (x.data) { … }")
        low = machine.offset
        if low + bits > machine.window.type.bits:
            raise _Outside
        machine.offset += bits
        return low

    def _call_take(self, node: ast.Call) -> None:
        self._take(node)

    def _call_skip(self, node: ast.Call) -> None:
        machine = self._machine(node.span)
        self._want(node, 1, "skip(bytes)")
        count = self.value(node.arguments[0])
        if not 0 <= count < 1 << 16:
            raise self.error("E0317", f"cannot skip {count} bytes", node.arguments[0].span, "skip 0 bytes or more")
        self._move(machine, 8 * count, node.span)

    def _call_offset(self, node: ast.Call) -> typed.Expression:
        self._want(node, 0, "offset()")
        return constant(self._machine(node.span).offset // 8, UINT, node.span)
