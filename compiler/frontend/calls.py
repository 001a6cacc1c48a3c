# SPDX-License-Identifier: Apache-2.0
"""Calls: the built-ins of Table 1 and of the named form, tables, and functions."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compiler.frontend import ast, bit_functions, typed
from compiler.frontend.expressions import Expressions
from compiler.frontend.resolve import BUILT_IN, UINT, describe
from compiler.frontend.scope import FunctionName, Ports, Scope
from compiler.frontend.source import Diagnostics, Note, Span, closest
from compiler.frontend.values import constant, is_pure, read

NUMBERED = ("get_input_port", "test_input_port", "read_input_port", "peek_input_port", "set_output_port")
NAMED = ("read", "peek", "test", "select", "write")
STATEMENTS = ("set_output_port", "write", "set_signal", "print", "assert", "assume")


@dataclass
class Form:
    """Which of the two port forms an element uses; decided by its first built-in."""

    is_numbered: bool | None = None
    where: Span = BUILT_IN


@dataclass
class Body:
    """What is being elaborated: "handler", "init", "signal", "timer" or "function"."""

    kind: str
    result: typed.Type | None = None
    loops: int = 0
    in_switch: bool = False
    uses_ports: Span | None = None
    parameter: typed.Variable | None = None  # of the paper's signal
    periods: typed.Variable | None = None  # of a timer
    outs: typed.Struct | None = None  # of a function: the arguments that it changes
    results: typed.Expression | None = None  # their values, where it returns


class Calls(Expressions):
    """Elaborates into `out`; the element's ports are `inputs` and `outputs`."""

    def __init__(self, diagnostics: Diagnostics, scope: Scope) -> None:
        super().__init__(diagnostics, scope)
        self.inputs: tuple[typed.Port, ...] = ()
        self.read: set[typed.Port] = set()  # inputs from which a token is taken somewhere
        self.outputs: tuple[typed.Port, ...] = ()
        self.form = Form()
        self.body = Body("handler")
        self.out: list[typed.Statement] = []
        self.exempt: set[int] = set()  # writes to a port that an index chooses

    @abstractmethod
    def function(self, found: FunctionName, span: Span) -> tuple[typed.Function, Body]:
        """A function's typed form."""

    def hoist(self, value: typed.Expression, name: str) -> typed.Expression:
        if isinstance(value, typed.Constant):
            return value
        variable = typed.Variable(name, value.type, value.span)
        self.out.append(typed.Assign(typed.Place(variable, (), value.span), value, value.span))
        return typed.Load(typed.Place(variable, (), value.span), value.span)

    def at_times(self, node: ast.Expression) -> typed.Expression:
        before = len(self.out)
        value = self.expression(node)
        if len(self.out) > before:
            raise self.error("E0414", "this is not allowed after '&&', '||' or '?'", node.span, "assign it to a variable first")
        return value

    def call(self, node: ast.Call) -> typed.Expression | None:
        name = node.function.text
        found = self.scope.find(name)
        if isinstance(found, FunctionName):
            return self._user_call(found, node)
        if found is not None:
            raise self.error("E0403", f"'{name}' is not a function", node.function.span, "only functions can be called")
        built_in = getattr(self, f"_call_{name}", None)
        if built_in is None:
            known = [n for n, b in self.scope.visible().items() if isinstance(b, FunctionName)]
            known += [n.removeprefix("_call_") for n in dir(self) if n.startswith("_call_")]
            near = closest(name, known)
            hint = f"did you mean '{near}'?" if near else "declare it: uint name(uint a) { … }"
            raise self.error("E0401", f"undefined function '{name}'", node.function.span, hint)
        if name in NUMBERED or name in NAMED:
            self._decide_form(name in NUMBERED, node.function.span)
            self._uses_ports(node.function.span)
        given: typed.Expression | None = built_in(node)
        return given

    def _decide_form(self, is_numbered: bool, span: Span) -> None:
        if self.form.is_numbered is None:
            self.form = Form(is_numbered, span)
        elif self.form.is_numbered != is_numbered:
            hint = "read_input_port(PORT_1) goes with <1, 1>, read(in) with (packet in -> packet out)"
            notes = (Note("the first form is used here", self.form.where),)
            raise self.error("E0503", "this element uses the other form of port access", span, hint, notes)

    def _uses_ports(self, span: Span) -> None:
        self.body.uses_ports = self.body.uses_ports or span
        if self.body.kind in ("init", "signal", "timer"):
            text = f"{'.init' if self.body.kind == 'init' else f'a {self.body.kind}'} cannot read or write ports"
            raise self.error("E0505", text, span, "keep the token in a state and write it in the handler")

    def _want(self, node: ast.Call | ast.Invoke, count: int, use: str) -> None:
        if len(node.arguments) != count:
            text = f"expected {count or 'no'} argument{'s' if count != 1 else ''}, got {len(node.arguments)}"
            raise self.error("E0410", text, node.span, use)

    # Constants

    def _call_bits(self, node: ast.Call) -> typed.Expression:
        return constant(self.value(node), UINT, node.span)

    _call_bytes = _call_bits
    _call_clog2 = _call_bits

    # Of bits

    def _call_min(self, node: ast.Call) -> typed.Expression:
        return self._extreme(node, "<")

    def _call_max(self, node: ast.Call) -> typed.Expression:
        return self._extreme(node, ">")

    def _extreme(self, node: ast.Call, operator: str) -> typed.Expression:
        """The least or the greatest of the arguments."""
        name, given = node.function.text, [self.expression(argument) for argument in node.arguments]
        if len(given) < 2:
            raise self.error("E0410", f"{name}() needs at least two values", node.span, f"{name}(a, b), or {name}(a, b, c)")
        common = self._widest(given)
        best = self.cast(given[0], common) if common else given[0]
        for argument in given[1:]:
            best, other = (best, self.cast(argument, common)) if common else self.balance(operator, best, argument, node.span)
            if isinstance(best, typed.Constant) and isinstance(other, typed.Constant):
                best = self.choose(self.binary(operator, best, other, node.span), best, other, node.span)
            else:
                kind = self.integer(best)
                best = typed.Call(bit_functions.extreme(name, operator, kind), (best, other), kind, node.span)
        return best

    def _widest(self, values: Sequence[typed.Expression]) -> typed.Integer | None:
        """The type of values that have one sign, constants aside, wide enough for all; None where they have not."""
        named = [self.integer(value) for value in values if not isinstance(value, typed.Constant)]
        numbers = [read(value.value, value.type) for value in values if isinstance(value, typed.Constant)]
        is_signed = any(kind.signed for kind in named)
        if not named or any(kind.signed != is_signed for kind in named) or (not is_signed and any(n < 0 for n in numbers)):
            return None
        sizes = [(number if number >= 0 else ~number).bit_length() + is_signed for number in numbers]
        return typed.Integer(max(*(kind.bits for kind in named), *sizes, 1), is_signed)

    def _call_popcount(self, node: ast.Call) -> typed.Expression:
        return self._of_bits(node, bit_functions.popcount, lambda value, _: value.bit_count())

    def _call_clz(self, node: ast.Call) -> typed.Expression:
        return self._of_bits(node, bit_functions.leading_zeros, lambda value, bits: bits - value.bit_length())

    def _of_bits(self, node: ast.Call, make: Callable[[int], typed.Function], count: Callable[[int, int], int]) -> typed.Expression:
        self._want(node, 1, f"{node.function.text}(x)")
        given = self.expression(node.arguments[0])
        bits = self.integer(given).bits
        if isinstance(given, typed.Constant):
            return constant(count(given.value, bits), bit_functions.count_type(bits), node.span)
        function = make(bits)
        assert function.result is not None
        return typed.Call(function, (self.cast(given, typed.Integer(bits)),), function.result, node.span)

    # Table 1

    def _call_get_input_port(self, node: ast.Call) -> typed.Expression:
        self._want(node, 0, "get_input_port()")
        return typed.Ready(UINT, node.span)

    def _call_test_input_port(self, node: ast.Call) -> typed.Expression:
        self._want(node, 1, "test_input_port(PORT_1)")
        return typed.Test(self._numbered_port(node.arguments[0], self.inputs, "input"), node.span)

    def _call_read_input_port(self, node: ast.Call) -> typed.Expression:
        self._want(node, 1, "read_input_port(PORT_1)")
        return typed.Read(self._numbered_port(node.arguments[0], self.inputs, "input"), node.span)

    def _call_peek_input_port(self, node: ast.Call) -> typed.Expression:
        self._want(node, 1, "peek_input_port(PORT_1)")
        return typed.Peek(self._numbered_port(node.arguments[0], self.inputs, "input"), node.span)

    def _call_set_output_port(self, node: ast.Call) -> None:
        self._want(node, 2, "set_output_port(PORT_1, x)")
        port = self._numbered_port(node.arguments[0], self.outputs, "output")
        value = self.convert(self.expression(node.arguments[1]), port.type, f"port '{port.name}'")
        self.out.append(typed.Write(port, value, node.span))

    def _numbered_port(self, node: ast.Expression, ports: Sequence[typed.Port], direction: str) -> typed.Port:
        value = self.expression(node)
        if not isinstance(value, typed.Constant):
            raise self.error("E0501", "the port must be a constant", node.span, "use PORT_1, PORT_2, …")
        number = value.value.bit_length()
        if value.value != 1 << max(number - 1, 0):
            raise self.error(
                "E0501",
                f"{value.value} is not a port",
                node.span,
                "use PORT_1, PORT_2, …; a number with several bits set is a mask",
            )
        if number > len(ports):
            count = f"the element has {len(ports)} {direction} port{'s' if len(ports) != 1 else ''}"
            raise self.error("E0501", f"the element has no {direction} PORT_{number}", node.span, count)
        return ports[number - 1]

    def _call_read_signal(self, node: ast.Call) -> typed.Expression:
        self._want(node, 0, "read_signal()")
        if self.body.parameter is None:
            raise self.error(
                "E0505", "read_signal() is only allowed in .signal { … }", node.span, "in a typed signal, use its parameters"
            )
        return typed.Load(typed.Place(self.body.parameter, (), node.span), node.span)

    def _call_periods(self, node: ast.Call) -> typed.Expression:
        self._want(node, 0, "periods()")
        if self.body.periods is None:
            hint = "pass it to the function as an argument" if self.body.kind == "function" else "use now() for the time in cycles"
            raise self.error("E0505", "periods() is only allowed in .timer { … }", node.span, hint)
        return typed.Load(typed.Place(self.body.periods, (), node.span), node.span)

    def _call_set_signal(self, node: ast.Call) -> None:
        self._want(node, 1, "set_signal(p)")
        if self.body.parameter is None:
            hint = "in a typed signal, return the result"
            raise self.error("E0505", "set_signal() is only allowed in .signal { … }", node.span, hint)
        value = self.convert(self.expression(node.arguments[0]), self.body.parameter.type, "set_signal")
        self.out.append(typed.SetSignal(value, node.span))

    # The named form

    def _port(self, node: ast.Expression, is_input: bool) -> tuple[tuple[typed.Port, ...], typed.Expression | None]:
        """The port that is named; or the ports of an array and the index."""
        name = node.operand if isinstance(node, ast.Index) else node
        found = self.find(name.name, name.span, "port", lambda b: isinstance(b, Ports)) if isinstance(name, ast.Reference) else None
        if not isinstance(found, Ports):
            what = f"'{name.name}' is" if isinstance(name, ast.Reference) else "this is"
            hint = "read(port), write(port, value); ports are declared in the element's head: (packet in -> packet out)"
            raise self.error("E0501", f"{what} not a port", node.span, hint)
        if found.ports and found.ports[0].is_input != is_input:
            has, wants = ("an output", "read") if is_input else ("an input", "written")
            assert isinstance(name, ast.Reference)
            raise self.error(
                "E0502",
                f"'{name.name}' is {has} and cannot be {wants}",
                node.span,
                "inputs are declared before '->', outputs after it",
            )
        if not found.is_array:
            if isinstance(node, ast.Index):
                raise self.error(
                    "E0501",
                    f"'{found.ports[0].name}' is a single port, not an array",
                    node.span,
                    "declare an array of ports as name[4]",
                )
            return found.ports, None
        if not isinstance(node, ast.Index):
            raise self.error(
                "E0501", f"this is an array of {len(found.ports)} ports", node.span, "choose one by its index: name[0]"
            )
        index = self.expression(node.index)
        known = self._known_index(index, len(found.ports), None, node)
        if known is not None:
            return (found.ports[known],), None
        return found.ports, index if is_pure(index) else self.hoist(index, "index")

    def _of_ports(self, node: ast.Expression, make: Callable[[typed.Port], typed.Expression], span: Span) -> typed.Expression:
        """What `make` gives for a port, or for the one that an index chooses; 0 for none."""
        ports, index = self._port(node, True)
        if index is None:
            return make(ports[0])
        found: typed.Expression = constant(0, make(ports[0]).type, span)
        for number in reversed(range(len(ports))):
            is_it = self.binary("==", index, constant(number, UINT, span), span)
            found = typed.Conditional(self.truth(is_it), make(ports[number]), found, found.type, span)
        return found

    def _call_read(self, node: ast.Call) -> typed.Expression:
        self._want(node, 1, "read(port)")

        def make(port: typed.Port) -> typed.Expression:
            self.read.add(port)
            return typed.Read(port, node.span)

        return self._of_ports(node.arguments[0], make, node.span)

    def _call_peek(self, node: ast.Call) -> typed.Expression:
        self._want(node, 1, "peek(port)")
        return self._of_ports(node.arguments[0], lambda port: typed.Peek(port, node.span), node.span)

    def _call_test(self, node: ast.Call) -> typed.Expression:
        self._want(node, 1, "test(port)")
        return self._of_ports(node.arguments[0], lambda port: typed.Test(port, node.span), node.span)

    def _call_select(self, node: ast.Call) -> typed.Expression:
        ports: list[typed.Port] = []
        index_to = None
        for number, argument in enumerate(node.arguments):
            if isinstance(argument, ast.Unary) and argument.operator == "&" and number == len(node.arguments) - 1:
                index_to = self.place(argument.operand)
                self.integer(typed.Load(index_to, argument.span))
                continue
            found = self.scope.find(argument.name) if isinstance(argument, ast.Reference) else None
            whole = isinstance(found, Ports) and found.is_array and found.ports and found.ports[0].is_input
            ports += found.ports if isinstance(found, Ports) and whole else [self._one_port(argument)]
        if not ports:
            raise self.error("E0410", "select() needs at least one port", node.span, "select(a, b), or select(a, b, &index)")
        for port in ports:
            if (port.type, port.is_packet) != (ports[0].type, ports[0].is_packet):
                hint = "select returns one token, so all its ports must have the same type"
                raise self.error("E0405", f"'{port.name}' and '{ports[0].name}' have different types", node.span, hint)
            if ports.count(port) > 1:
                raise self.error("E0410", f"'{port.name}' is listed twice", node.span, "list each port once")
        self.read.update(ports)
        return typed.SelectPort(tuple(ports), index_to, node.span)

    def _one_port(self, node: ast.Expression) -> typed.Port:
        ports, index = self._port(node, True)
        if index is not None:
            raise self.error("E0501", "the port must be a constant", node.span, "select(in) takes a whole array")
        return ports[0]

    def _call_write(self, node: ast.Call) -> None:
        self._want(node, 2, "write(port, value)")
        ports, index = self._port(node.arguments[0], False)
        value = self.initial(node.arguments[1], ports[0].type, f"port '{ports[0].name}'")
        if index is None:
            self.out.append(typed.Write(ports[0], value, node.span))
            return
        value = value if is_pure(value) else self.hoist(value, "value")
        for port in ports:
            number = constant(port.index - ports[0].index, UINT, node.span)
            is_it = self.truth(self.binary("==", index, number, node.span))
            write = typed.Write(port, value, node.span)
            self.exempt.add(id(write))
            self.out.append(typed.If(is_it, typed.Block((write,)), typed.Block(()), node.span))

    # Others

    def _call_now(self, node: ast.Call) -> typed.Expression:
        self._want(node, 0, "now()")
        return typed.Now(node.span)

    def _call_random(self, node: ast.Call) -> typed.Expression:
        self._want(node, 0, "random()")
        return typed.Random(node.span)

    def _call_print(self, node: ast.Call) -> None:
        arguments, text = node.arguments, ""
        if arguments and isinstance(arguments[0], ast.Text):
            text, arguments = arguments[0].value, arguments[1:]
        values = [self.expression(argument) for argument in arguments]
        for value in values:
            self.integer(value)
        holes = len(re.findall(r"\{\}", text))
        if holes == 0:
            text = " ".join([*([text] if text else []), *["{}"] * len(values)])
        elif holes != len(values):
            raise self.error(
                "E0410", f"the text has {holes} {{}}, but {len(values)} values are given", node.span, 'print("{} of {}", a, b)'
            )
        self.out.append(typed.Print(text, tuple(values), node.span))

    def _call_assert(self, node: ast.Call) -> None:
        self._want(node, 1, f"{node.function.text}(condition)")
        condition = self.truth(self.expression(node.arguments[0]))
        span = node.arguments[0].span
        text = " ".join(span.source.text[span.start : span.end].split())
        self.out.append(typed.Check(condition, text, node.span))

    _call_assume = _call_assert

    def invoke(self, node: ast.Invoke) -> typed.Expression | None:
        table = self.scope.find(node.operand.name) if isinstance(node.operand, ast.Reference) else None
        if not isinstance(table, typed.Table):
            raise self.error("E0404", "only tables and flows have methods", node.span, "table exact<uint<32>, uint<8>> name[512];")
        if node.method.text != "lookup":
            raise self.error("E0404", f"tables have no method '{node.method.text}'", node.method.span, "name.lookup(key, value)")
        if len(node.arguments) not in (1, 2):
            self._want(node, 2, f"{table.name}.lookup(key, value)")
        key = self.initial(node.arguments[0], table.key, f"the key of '{table.name}'")
        to = None
        if len(node.arguments) == 2:
            to = self.place(node.arguments[1])
            if to.type != table.value:
                hint = f"{describe(table.value)} value; {table.name}.lookup(key, value)"
                raise self.error("E0405", f"the value has type {describe(table.value)}", node.arguments[1].span, hint)
        return typed.Lookup(table, key, to, node.span)

    def _changed(self, argument: ast.Expression, parameter: typed.Variable) -> typed.Place:
        """The place that a function changes."""
        view = self.view(argument)
        place = view and self.entry_of(view, constant(0, UINT, argument.span), argument.span)
        if not isinstance(place, typed.Place):
            text = f"'{parameter.name}' is changed by the function, so it needs an address"
            raise self.error("E0411", text, argument.span, "write & before a variable, a field or an entry")
        if place.type != parameter.type:
            text = f"'{parameter.name}' is {describe(parameter.type)}, not {describe(place.type)}"
            raise self.error("E0405", text, argument.span, "declare a variable of this type")
        return place

    def _user_call(self, found: FunctionName, node: ast.Call) -> typed.Expression | None:
        function, body = self.function(found, node.span)
        if body.uses_ports:
            self._uses_ports(node.span)
        stars = ["*" if parameter.is_view else "" for parameter in found.declaration.parameters]
        parameters = [f"{describe(p.type)} {star}{p.name}" for p, star in zip(function.parameters, stars, strict=True)]
        self._want(node, len(function.parameters), f"{function.name}({', '.join(parameters)})")
        given = list(zip(node.arguments, function.parameters, stars, strict=True))
        changed = [self._changed(argument, parameter) for argument, parameter, star in given if star]
        places = iter(changed)
        arguments = tuple(
            self.load(next(places), argument.span) if star else self.initial(argument, parameter.type, f"'{parameter.name}'")
            for argument, parameter, star in given
        )
        if body.outs is not None:
            results = self.hoist(typed.Call(function, arguments, body.outs, node.span), function.name)
            assert isinstance(results, typed.Load)
            for place, field in zip(changed, body.outs.fields, strict=True):
                value = self.load(self.step(results.place, typed.Slice(field.low, field.type), node.span), node.span)
                self.out.append(typed.Assign(place, value, node.span))
            return None
        if function.result is None:
            call = typed.Call(function, arguments, typed.Integer(1), node.span)
            self.out.append(typed.Evaluate(call, node.span))
            return None
        return typed.Call(function, arguments, function.result, node.span)
