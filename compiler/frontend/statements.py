# SPDX-License-Identifier: Apache-2.0
"""Statements: from the syntax tree to typed blocks; functions, switch, loops with their bounds."""

from __future__ import annotations

from abc import abstractmethod

from compiler.frontend import ast, typed
from compiler.frontend import ast_element as tree
from compiler.frontend.calls import Body, Calls
from compiler.frontend.constants import Bad
from compiler.frontend.loops import rounds
from compiler.frontend.resolve import UINT, aggregate, describe
from compiler.frontend.scope import Broken, FunctionName, Number, Scope, Value, View
from compiler.frontend.source import Diagnostics, Note, Span
from compiler.frontend.values import constant, read

MAX_ROUNDS = 65536
MAX_REPEATS = 16384
MAX_LOCAL_BITS = 1 << 16


class Statements(Calls):
    """One element's bodies."""

    def __init__(self, diagnostics: Diagnostics, scope: Scope) -> None:
        super().__init__(diagnostics, scope)
        self.functions: dict[FunctionName, tuple[typed.Function, Body]] = {}
        self.calling: list[FunctionName] = []
        self.repeated = 0

    def in_body(self, body: Body, node: tree.Block, scope: Scope) -> typed.Block:
        """A whole body, elaborated in its own scope."""
        outer = (self.body, self.scope, self.out)
        self.body, self.scope, self.out = body, scope, []
        try:
            return self.block(node)
        finally:
            self.body, self.scope, self.out = outer

    def block(self, node: tree.Block) -> typed.Block:
        """Statements in a scope of their own."""
        return self.scoped(node.statements)

    def scoped(self, statements: tuple[tree.Statement, ...]) -> typed.Block:
        outer, self.out = self.out, []
        self.scope = Scope(self.scope)
        try:
            self.statements(statements)
            return typed.Block(tuple(self.out))
        finally:
            assert self.scope.parent is not None
            self.scope = self.scope.parent
            self.out = outer

    def statements(self, nodes: tuple[tree.Statement, ...]) -> None:
        """Every statement; a wrong one is reported and left out."""
        for node in nodes:
            try:
                self.statement(node)
            except Bad:
                if isinstance(node, tree.Declaration):
                    self.scope.names.setdefault(node.name.text, Broken())

    def statement(self, node: tree.Statement) -> None:
        match node:
            case tree.Declaration():
                self._declaration(node)
            case tree.TypeDeclaration(declaration=declaration):
                self.declare(declaration.name, Broken())
                self.define(declaration)
            case tree.Assign():
                self._assign(node)
            case tree.Evaluate(value=value, span=span):
                self._evaluate(value, span)
            case tree.If():
                self._if(node)
            case tree.For():
                self._loop(node)
            case tree.Switch():
                self._switch(node)
            case tree.Jump():
                self._jump(node)
            case tree.Return():
                self._return(node)
            case tree.Repeat():
                self._repeat(node)
            case tree.Block():
                inner = self.block(node)
                self.out += inner.statements
            case ast.StaticAssert():
                self.static_assert(node)
            case tree.StateMachine():
                self.state_machine(node)
            case tree.Goto(state=state):
                self.goto(state)

    @abstractmethod
    def state_machine(self, node: tree.StateMachine) -> None:
        """A parser."""

    @abstractmethod
    def goto(self, state: ast.Name) -> None:
        """The next state of a parser."""

    def static_assert(self, node: ast.StaticAssert) -> None:
        """Stops the compiler where it does not hold."""
        if not self.value(node.condition):
            raise self.error("E0314", "assertion failed", node.condition.span, "fix the declaration that it checks")

    # Declarations and assignments

    def _declaration(self, node: tree.Declaration) -> None:
        if node.word == "constexpr":
            self.constexpr(node)
        elif node.word == "global":
            raise self.error("E0418", "'global' is not supported yet", node.span, "use local, which is block RAM")
        elif node.is_view:
            self._view_declaration(node)
        else:
            kind = self.array_type(self.type(node.type), node.counts)
            if kind.bits > MAX_LOCAL_BITS:
                hint = f"the maximum is {MAX_LOCAL_BITS}; a state may be larger"
                raise self.error("E0309", f"the variable has {kind.bits} bits", node.span, hint)
            variable = typed.Variable(node.name.text, kind, node.name.span)
            value: typed.Expression = constant(0, kind, node.span)
            if node.initial is not None:
                value = self.initial(node.initial, kind, f"'{node.name.text}'")
            self.declare(node.name, variable)
            self.out.append(typed.Assign(typed.Place(variable, (), node.name.span), value, node.span))

    def constexpr(self, node: tree.Declaration) -> None:
        """A constant: a number, or a struct or array of constants."""
        if node.initial is None:
            raise self.error("E0410", f"'{node.name.text}' has no value", node.span, "constexpr uint NAME = 8;")
        kind = self.array_type(self.type(node.type), node.counts)
        if isinstance(kind, typed.Integer):
            number = ast.Constant(node.type, node.name, node.initial, "", node.span)
            self.declare(node.name, self._constant_of(number))
        else:
            self.declare(node.name, self.constant_aggregate(node))

    def constant_aggregate(self, node: tree.Declaration) -> Value:
        assert node.initial is not None
        value = self.initial(node.initial, self.array_type(self.type(node.type), node.counts), f"'{node.name.text}'")
        if not isinstance(value, typed.Constant):
            raise self.error("E0323", "this is not a constant", node.initial.span, "use constants only")
        return Value(value)

    def _view_declaration(self, node: tree.Declaration) -> None:
        example = "ushort *p = (ushort *) &x.data;"
        if node.initial is None or node.counts:
            raise self.error("E0411", "a view needs an address", node.span, example)
        view = self.view(node.initial)
        if view is None:
            raise self.error("E0411", "a view must be initialised with an address", node.initial.span, example)
        kind = self.type(node.type)
        if kind != view.element:
            hint = f"write ({describe(kind)} *) before the address"
            raise self.error(
                "E0405", f"this is the address of {describe(view.element)}, not of {describe(kind)}", node.initial.span, hint
            )
        self.declare(node.name, view)

    def _assign(self, node: tree.Assign) -> None:
        place = self.place(node.target)
        if node.operator:
            place = self.stable(place)
            value = self.expression(node.value)
            value = self.binary(node.operator, typed.Load(place, place.span), value, node.span)
            value = self.convert(value, place.type)
        else:
            value = self.initial(node.value, place.type, "this")
        self.out.append(typed.Assign(place, value, node.span))

    def _evaluate(self, node: ast.Expression, span: Span) -> None:
        if isinstance(node, ast.Call | ast.Invoke):
            value = self.call(node) if isinstance(node, ast.Call) else self.invoke(node)
            if value is not None:
                self.out.append(typed.Evaluate(value, span))
            return
        self.expression(node)
        hint = "did you mean '=' instead of '=='?" if isinstance(node, ast.Binary) and node.operator == "==" else "assign it"
        raise self.error("E0414", "this statement has no effect", span, hint)

    # Control

    def _if(self, node: tree.If) -> None:
        condition = self.truth(self.expression(node.condition))
        if isinstance(condition, typed.Constant):
            chosen = node.then if condition.value else node.otherwise
            self.out += self.block(chosen).statements if chosen else ()
            return
        then = self.block(node.then)
        otherwise = self.block(node.otherwise) if node.otherwise else typed.Block(())
        self.out.append(typed.If(condition, then, otherwise, node.span))

    def _loop(self, node: tree.For) -> None:
        self.scope = Scope(self.scope)
        try:
            start = len(self.out)
            self.statements(node.start)
            first = self.out[start:]
            condition = self._loop_condition(node)
            step = self.scoped(node.step)
            body = self._loop_body(node)
            bound = self._bound(node, first, condition, body, step)
        finally:
            assert self.scope.parent is not None
            self.scope = self.scope.parent
        if bound:
            self.out.append(typed.Loop(condition, body, step, bound, node.span))

    def _loop_condition(self, node: tree.For) -> typed.Expression:
        if node.condition is None:
            return constant(1, typed.BOOL, node.span)
        outer, self.out = self.out, []
        try:
            condition = self.truth(self.expression(node.condition))
            if self.out:
                hint = "assign it to a variable before the loop, and again at the end of the body"
                raise self.error("E0414", "this is not allowed in the condition of a loop", node.condition.span, hint)
        finally:
            self.out = outer
        return condition

    def _loop_body(self, node: tree.For) -> typed.Block:
        self.body.loops += 1
        in_switch, self.body.in_switch = self.body.in_switch, False
        try:
            return self.block(node.body)
        finally:
            self.body.loops -= 1
            self.body.in_switch = in_switch

    def _bound(
        self, node: tree.For, first: list[typed.Statement], condition: typed.Expression, body: typed.Block, step: typed.Block
    ) -> int:
        """The most rounds of a loop: given, or counted."""
        if node.unroll is not None:
            bound = self.value(node.unroll)
            if not 1 <= bound <= MAX_ROUNDS:
                raise self.error("E0317", f"loop bound {bound} is out of range", node.unroll.span, f"use 1 to {MAX_ROUNDS}")
            return bound
        counted = rounds(first, condition, body, step, MAX_ROUNDS)
        if counted is None:
            span = node.condition.span if node.condition else node.span
            hint = "give the maximum: for (…) .unroll(16) { … }"
            raise self.error("E0413", "the number of iterations of this loop is unknown", span, hint)
        return counted

    def _repeat(self, node: tree.Repeat) -> None:
        for number in self.repeats(node.low, node.high):
            self.scope = Scope(self.scope)
            try:
                self.declare(node.name, Number(number, None))
                self.out += self.block(node.body).statements
            finally:
                assert self.scope.parent is not None
                self.scope = self.scope.parent

    def repeats(self, low: ast.Expression, high: ast.Expression) -> range:
        """The numbers of a `.repeat`."""
        found = range(self.value(low), self.value(high))
        self.repeated += max(0, found.stop - found.start)
        if self.repeated > MAX_REPEATS:
            hint = f"at most {MAX_REPEATS} in one element or configuration"
            raise self.error("E0317", f"{self.repeated} repetitions", low.span.to(high.span), hint)
        return found

    def _jump(self, node: tree.Jump) -> None:
        if node.word == "break" and self.body.in_switch:
            hint = "in a switch, 'break' must be the last statement of a case"
            raise self.error("E0417", "'break' inside a case", node.span, hint)
        if not self.body.loops:
            raise self.error("E0416", f"'{node.word}' outside a loop", node.span, "use it in a for or while")
        self.out.append(typed.Break(node.span) if node.word == "break" else typed.Continue(node.span))

    def _return(self, node: tree.Return) -> None:
        body = self.body
        value = None
        if body.kind == "handler":
            if node.value is not None:
                self._decide_form(True, node.span)
                value = self.convert(self.expression(node.value), UINT, "the mask of ports")
        elif body.result is None:
            if node.value is not None and body.kind == "timer":
                raise self.error("E0415", "a timer returns no value", node.span, "keep the value in a state")
            if node.value is not None and body.parameter is None:
                raise self.error("E0415", "this body has no return type", node.span, "declare a return type: uint name() { … }")
            if node.value is not None and body.parameter is not None:
                value = self.convert(self.expression(node.value), body.parameter.type, "the signal")
        elif node.value is None:
            raise self.error("E0415", f"missing return value of type {describe(body.result)}", node.span, "write 'return value;'")
        else:
            value = self.initial(node.value, body.result, "the result")
        self.out.append(typed.Return(value or body.results, node.span))

    # Switch

    def _switch(self, node: tree.Switch) -> None:
        value = self.expression(node.value)
        self.integer(value)
        value = self.hoist(value, "selector")
        seen: dict[int, Span] = {}
        arms: list[tuple[typed.Expression | None, typed.Block]] = []
        for number, case in enumerate(node.cases):
            condition = self._case_condition(value, case, seen)
            arms.append((None if case.is_default else condition, self._case_body(case, number == len(node.cases) - 1)))
        if sum(case.is_default for case in node.cases) > 1:
            raise self.error("E0417", "duplicate 'default'", node.span, "a switch has at most one")
        chain = next((body for condition, body in arms if condition is None), typed.Block(()))
        for test, body in reversed(arms):
            if isinstance(test, typed.Constant):
                chain = body if test.value else chain
            elif test is not None:
                chain = typed.Block((typed.If(test, body, chain, node.span),))
        self.out += chain.statements

    def _case_condition(self, value: typed.Expression, case: tree.Case, seen: dict[int, Span]) -> typed.Expression:
        condition: typed.Expression = constant(0, typed.BOOL, case.span)
        for given in case.values:
            label = self.expression(given)
            if not isinstance(label, typed.Constant):
                raise self.error("E0417", "a case must be constant", given.span, "use if instead")
            number = read(label.value, self.integer(label))
            if number in seen:
                raise self.error(
                    "E0417", f"duplicate case {number}", given.span, "remove one of them", (Note("the first", seen[number]),)
                )
            seen[number] = given.span
            equal = self.binary("==", value, label, given.span)
            known = isinstance(condition, typed.Constant)
            condition = equal if known else typed.Logical("||", condition, self.truth(equal), given.span)
        return self.truth(condition)

    def _case_body(self, case: tree.Case, is_last: bool) -> typed.Block:
        statements = _flat(case.body.statements)
        ends = bool(statements) and _leaves(statements[-1])
        if not ends and not is_last:
            hint = "end it with 'break;' (for several values with one body: case 1: case 2: …)"
            self.diagnostics.error("E0417", "this case falls through to the next one", case.span, hint)
        if statements and isinstance(statements[-1], tree.Jump) and statements[-1].word == "break":
            statements = statements[:-1]
        in_switch, self.body.in_switch = self.body.in_switch, True
        try:
            return self.scoped(statements)
        finally:
            self.body.in_switch = in_switch

    # Functions

    def function(self, found: FunctionName, span: Span) -> tuple[typed.Function, Body]:
        if found in self.functions:
            return self.functions[found]
        node = found.declaration
        if found in self.calling:
            cycle = " -> ".join([f.declaration.name.text for f in self.calling[self.calling.index(found) :]] + [node.name.text])
            raise self.error("E0412", f"'{node.name.text}' calls itself: {cycle}", span, "functions are inlined; use a loop")
        self.calling.append(found)
        outer, self.scope = self.scope, found.scope
        try:
            built = self._function(node, found.scope)
        finally:
            self.scope = outer
            self.calling.pop()
        self.functions[found] = built
        return built

    def _function(self, node: tree.Function, around: Scope) -> tuple[typed.Function, Body]:
        parameters, scope = self.parameters(node, around)
        result = self.type(node.result) if node.result else None
        outs = [variable for variable, given in zip(parameters, node.parameters, strict=True) if given.is_view]
        if not outs:
            body = Body("function", result)
            return typed.Function(node.name.text, parameters, result, self.in_body(body, node.body, scope), node.span), body
        if result is not None:
            hint = f"void {node.name.text}(…, {describe(result)} *result)"
            raise self.error("E0411", "a function that changes its arguments returns no value", node.span, hint)
        kind = aggregate("struct", f"{node.name.text}_changes", [(out.name, out.type) for out in outs])
        results = typed.Pack(tuple(typed.Load(typed.Place(out, (), out.span), out.span) for out in outs), kind, node.span)
        body = Body("function", outs=kind, results=results)
        block = self.in_body(body, node.body, scope)
        block = typed.Block((*block.statements, typed.Return(results, node.span)))
        return typed.Function(node.name.text, parameters, kind, block, node.span), body

    def parameters(self, node: tree.Function, around: Scope) -> tuple[tuple[typed.Variable, ...], Scope]:
        """A function's parameters, and the scope that they stand in."""
        outer, self.scope = self.scope, Scope(around)
        try:
            found: list[typed.Variable] = []
            for parameter in node.parameters:
                kind = self.type(parameter.type)
                found.append(typed.Variable(parameter.name.text, kind, parameter.span))
                place = typed.Place(found[-1], (), parameter.span)
                self.declare(parameter.name, View(place, 0, kind, 1, False) if parameter.is_view else found[-1])
            return tuple(found), self.scope
        finally:
            self.scope = outer


def _flat(statements: tuple[tree.Statement, ...]) -> tuple[tree.Statement, ...]:
    """`case 1: { ...; break; }` is as without the braces."""
    if len(statements) == 1 and isinstance(statements[0], tree.Block):
        return _flat(statements[0].statements)
    return statements


def _leaves(node: tree.Statement) -> bool:
    """Whether nothing behind a statement is reached."""
    if isinstance(node, tree.Block):
        return bool(node.statements) and _leaves(node.statements[-1])
    if isinstance(node, tree.If):
        return node.otherwise is not None and _leaves(node.then) and _leaves(node.otherwise)
    return isinstance(node, tree.Jump | tree.Return | tree.Goto)
