# SPDX-License-Identifier: Apache-2.0
"""The typed tree as text: like the source, with every conversion and every bit written out (`sluice check --emit typed`)."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.frontend import typed
from compiler.frontend.resolve import describe
from compiler.frontend.values import read


def program(tree: typed.Program) -> str:
    """A whole program."""
    lines: list[str] = []
    for element in tree.elements:
        lines += [*_element(element), ""]
    for instance in tree.instances:
        words = ["host"] if instance.on_host else []
        words += [instance.element.name, "::", instance.name, *(["@"] if instance.takes_signals else [])]
        lines.append(" ".join(words))
    lines += [_channel(channel) for channel in tree.channels]
    return "\n".join(lines).rstrip() + "\n"


def _channel(channel: typed.Channel) -> str:
    arrow = ("=>" if channel.lossy else "->") + (f"({channel.depth})" if channel.depth else "")
    source, target = channel.source, channel.target
    left = f"{source.instance} [{source.port + 1}]" if source.instance else f"from_lane[{source.port}]"
    right = f"[{target.port + 1}] {target.instance}" if target.instance else f"to_lane[{target.port}]"
    return f"{left} {arrow} {right}"


def _port(port: typed.Port) -> str:
    return f"{'packet' if port.is_packet else describe(port.type)} {port.name}"


def _functions(blocks: list[typed.Block]) -> list[typed.Function]:
    """Every function that is called, those that it calls before it."""
    found: list[typed.Function] = []

    def visit(block: typed.Block) -> None:
        for function in calls(block):
            if function not in found:
                visit(function.body)
                found.append(function)

    for block in blocks:
        visit(block)
    return found


def calls(tree: object) -> Iterator[typed.Function]:
    """The functions that a part of a program calls."""
    if isinstance(tree, typed.Call):
        yield tree.function
    if isinstance(tree, tuple):
        for part in tree:
            yield from calls(part)
    elif hasattr(tree, "__dataclass_fields__") and not isinstance(tree, typed.Function | typed.Variable | typed.Port):
        for name in tree.__dataclass_fields__:
            if name != "span":
                yield from calls(getattr(tree, name))


def _element(element: typed.Element) -> list[str]:
    form = " numbered" if element.numbered else ""
    inputs, outputs = (", ".join(_port(port) for port in ports) for ports in (element.inputs, element.outputs))
    lines = [f"element {element.name} ({inputs} -> {outputs}){form} {{"]
    for state in element.states:
        word = "" if state.placement is typed.Placement.AUTO else state.placement.value + " "
        lines.append(f"    state {word}{describe(state.type)} {state.name};")
    for table in element.tables:
        lines.append(f"    table {table.kind.value}<{describe(table.key)}, {describe(table.value)}> {table.name}[{table.entries}];")
    blocks = [element.init, element.handler, *(signal.body for signal in element.signals)]
    for function in _functions(blocks):
        lines += _body(f"{_result(function.result)} {_head(function.name, function.parameters)}", function.body)
    if element.init.statements:
        lines += _body("init", element.init)
    lines += _body("handler", element.handler)
    for signal in element.signals:
        word = f"timer every {signal.every}" if signal.every else f"signal {_result(signal.result)}"
        lines += _body(f"{word} {_head(signal.name, signal.parameters)}", signal.body)
    return [*lines, "}"]


def _result(kind: typed.Type | None) -> str:
    return "void" if kind is None else describe(kind)


def _head(name: str, parameters: tuple[typed.Variable, ...]) -> str:
    return f"{name}({', '.join(f'{describe(p.type)} {p.name}' for p in parameters)})"


def _body(head: str, block: typed.Block) -> list[str]:
    return [f"    {head} {{", *_block(block, "        "), "    }"]


def _block(block: typed.Block, indent: str) -> list[str]:
    return [line for statement in block.statements for line in _statement(statement, indent)]


def _statement(node: typed.Statement, indent: str) -> list[str]:
    match node:
        case typed.If(condition=condition, then=then, otherwise=otherwise):
            lines = [f"{indent}if ({value(condition)}) {{", *_block(then, indent + "    ")]
            if otherwise.statements:
                lines += [f"{indent}}} else {{", *_block(otherwise, indent + "    ")]
            return [*lines, f"{indent}}}"]
        case typed.Loop(condition=condition, body=body, step=step, bound=bound):
            lines = [f"{indent}while ({value(condition)}) at most {bound} {{", *_block(body, indent + "    ")]
            if step.statements:
                lines += [f"{indent}}} step {{", *_block(step, indent + "    ")]
            return [*lines, f"{indent}}}"]
    return [f"{indent}{_simple(node)};"]


def _simple(node: typed.Statement) -> str:
    match node:
        case typed.Assign(place=target, value=given):
            return f"{place(target)} = {value(given)}"
        case typed.Evaluate(value=given):
            return value(given)
        case typed.Return(value=None):
            return "return"
        case typed.Return(value=given) if given is not None:
            return f"return {value(given)}"
        case typed.Write(port=port, value=given):
            return f"write({port.name}, {value(given)})"
        case typed.SetSignal(value=given):
            return f"set_signal({value(given)})"
        case typed.Print(text=text, arguments=arguments):
            return ", ".join([f'print("{text}"', *map(value, arguments)]) + ")"
        case typed.Check(condition=condition):
            return f"assert({value(condition)})"
    return "break" if isinstance(node, typed.Break) else "continue"


def place(node: typed.Place) -> str:
    """A place: `x[15:8]` is a slice of bits, `x[[i]]` an entry, `~` says that its bytes are swapped."""
    return node.variable.name + "".join(_step(step) for step in node.steps)


def _step(step: typed.Step) -> str:
    swap = "~" if step.swap else ""
    if isinstance(step, typed.Slice):
        return f"{swap}[{step.low + step.type.bits - 1}:{step.low}]"
    return f"{swap}[[{value(step.index)} of {step.count} {describe(step.type)}]]"


def value(node: typed.Expression) -> str:
    """An expression; a cast is written `type(value)`."""
    match node:
        case typed.Constant(value=bits, type=kind):
            shown = read(bits, kind)
            return f"{shown}" if isinstance(kind, typed.Integer) else f"{describe(kind)}({shown:#x})"
        case typed.Load(place=source):
            return place(source)
        case typed.Part(operand=operand, step=step):
            return f"({value(operand)}){_step(step)}"
        case typed.Pack(parts=parts, type=kind):
            return f"{describe(kind)}{{{', '.join(map(value, parts))}}}"
        case typed.Unary(operator=operator, operand=operand):
            return f"{operator}{value(operand)}"
        case typed.Binary(operator=operator, left=left, right=right) | typed.Logical(operator=operator, left=left, right=right):
            return f"({value(left)} {operator} {value(right)})"
        case typed.Conditional(condition=condition, then=then, otherwise=otherwise):
            return f"({value(condition)} ? {value(then)} : {value(otherwise)})"
        case typed.Cast(operand=operand, type=kind):
            return (
                f"{describe(kind)}({value(operand).removeprefix('(').removesuffix(')') if _wrapped(operand) else value(operand)})"
            )
        case typed.Call(function=function, arguments=arguments):
            return f"{function.name}({', '.join(map(value, arguments))})"
        case typed.SelectPort(ports=ports, index_to=index_to):
            names = [port.name for port in ports] + ([f"&{place(index_to)}"] if index_to else [])
            return f"select({', '.join(names)})"
        case typed.Lookup(table=table, key=key, to=to):
            return f"{table.name}.lookup({value(key)}{', ' + place(to) if to else ''})"
        case typed.Update(table=table, is_insert=is_insert, arguments=arguments):
            return f"{table.name}.{'insert' if is_insert else 'remove'}({', '.join(map(value, arguments))})"
        case typed.Read(port=port) | typed.Peek(port=port) | typed.Test(port=port):
            return f"{type(node).__name__.lower()}({port.name})"
    return {"Ready": "get_input_port()", "Now": "now()"}.get(type(node).__name__, "random()")


def _wrapped(node: typed.Expression) -> bool:
    return isinstance(node, typed.Binary | typed.Logical | typed.Conditional)
