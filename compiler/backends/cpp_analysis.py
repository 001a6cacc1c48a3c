# SPDX-License-Identifier: Apache-2.0
"""What the C++ backend must know of a body: order of effects, whether an iteration may wait, where locals live."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

from compiler.frontend import typed

Statement = typed.Statement
Node = typed.Expression | Statement


def children(node: Node) -> Iterator[typed.Expression]:
    """The expressions directly inside, in the order of evaluation; blocks left out."""
    match node:
        case typed.Load(place=place):
            yield from indices(place)
        case typed.Part(operand=operand, step=step):
            yield operand
            if isinstance(step, typed.Entry):
                yield step.index
        case typed.Pack(parts=parts):
            yield from parts
        case typed.Unary(operand=operand) | typed.Cast(operand=operand):
            yield operand
        case typed.Binary(left=left, right=right) | typed.Logical(left=left, right=right):
            yield left
            yield right
        case typed.Conditional(condition=condition, then=then, otherwise=otherwise):
            yield from (condition, then, otherwise)
        case typed.Call(arguments=arguments) | typed.Print(arguments=arguments) | typed.Update(arguments=arguments):
            yield from arguments
        case typed.SelectPort(index_to=place):
            if place:
                yield from indices(place)
        case typed.Lookup(key=key, to=place):
            yield key
            if place:
                yield from indices(place)
        case typed.Assign(place=place, value=value):
            yield from indices(place)
            yield value
        case typed.Evaluate(value=value) | typed.Write(value=value) | typed.SetSignal(value=value):
            yield value
        case typed.If(condition=condition) | typed.Loop(condition=condition) | typed.Check(condition=condition):
            yield condition
        case typed.Return(value=value):
            if value is not None:
                yield value
        case _:
            pass


def indices(place: typed.Place) -> Iterator[typed.Expression]:
    """The indices of a place."""
    for step in place.steps:
        if isinstance(step, typed.Entry):
            yield step.index


def blocks(node: typed.Statement) -> Iterator[typed.Block]:
    """The blocks directly inside."""
    match node:
        case typed.If(then=then, otherwise=otherwise):
            yield from (then, otherwise)
        case typed.Loop(body=body, step=step):
            yield from (body, step)
        case _:
            pass


def nodes(root: Node | typed.Block) -> Iterator[Node]:
    """Everything inside, functions that are called too."""
    if isinstance(root, typed.Block):
        for statement in root.statements:
            yield from nodes(statement)
        return
    yield root
    for child in children(root):
        yield from nodes(child)
    if isinstance(root, typed.Call):
        yield from nodes(root.function.body)
    elif isinstance(root, typed.If | typed.Loop):
        for block in blocks(root):
            yield from nodes(block)


def _has_effect(node: Node) -> bool:
    if isinstance(node, typed.Assign):
        return node.place.variable.is_state
    effects = (
        typed.SelectPort,
        typed.Random,
        typed.Lookup,
        typed.Update,
        typed.Write,
        typed.SetSignal,
        typed.Print,
        typed.Check,
        typed.Loop,
    )
    return isinstance(node, effects)


def is_impure(expression: typed.Expression) -> bool:
    """Whether its place in the order of evaluation can be seen."""
    return any(_has_effect(node) for node in nodes(expression))


def functions(root: typed.Block) -> list[typed.Function]:
    """Every function called, each behind those that it calls."""
    found: dict[typed.Function, None] = {}

    def visit(block: typed.Block) -> None:
        for node in nodes(block):
            if isinstance(node, typed.Call) and node.function not in found:
                visit(node.function.body)
                found[node.function] = None

    visit(root)
    return list(found)


def selects(element: typed.Element) -> list[tuple[typed.Port, ...]]:
    """The port lists of `select`, each once."""
    return list(dict.fromkeys(node.ports for node in nodes(element.handler) if isinstance(node, typed.SelectPort)))


@dataclass(frozen=True)
class Waiting:
    """`needed`: groups of inputs, of each of which one must have a token before the handler can begin. `may_wait`: it can wait even
    then; `keeps`: behind a change of a state."""

    needed: tuple[tuple[typed.Port, ...], ...]
    may_wait: bool
    keeps: bool


def waiting(element: typed.Element) -> Waiting:
    """What a named handler waits for; a numbered one never waits on the way."""
    if element.numbered:
        return Waiting((), False, False)
    needed = tuple(dict.fromkeys(_needed(element.handler)))
    all_nodes = list(nodes(element.handler))
    reads = {node.port for node in all_nodes if isinstance(node, typed.Read | typed.Peek)}
    is_unsure = any(isinstance(node, typed.SelectPort | typed.Test) for node in all_nodes)
    may_wait = is_unsure or not reads <= {group[0] for group in needed}
    return Waiting(needed, may_wait, may_wait and _reads_behind_change(element.handler))


def _reads_behind_change(block: typed.Block) -> bool:
    """Whether a token is asked for behind a statement that changes a state, or in a loop that does both. A function that gives a
    value ends with a statement, so that what it changed counts for the rest of the expression."""
    is_changed = changes = False
    for node in nodes(block):
        if isinstance(node, Statement):
            is_changed |= changes
            changes = False
        match node:
            case typed.Read() | typed.Peek() | typed.SelectPort() | typed.Test() if is_changed:
                return True
            case typed.Loop(body=body, step=step):
                inside = [*nodes(body), *nodes(step)]
                is_changed |= any(_changes_state(n) for n in inside)
            case _:
                pass
        changes |= _changes_state(node)
    return False


def _changes_state(node: Node) -> bool:
    match node:
        case typed.Assign(place=place) | typed.SelectPort(index_to=place) | typed.Lookup(to=place) if place:
            return place.variable.is_state
        case _:
            return False


def _needed(block: typed.Block) -> Iterator[tuple[typed.Port, ...]]:
    """Ports read whatever happens, up to the first statement that may leave."""
    for statement in block.statements:
        for expression in children(statement):
            yield from _always(expression)
        inner = [node for part in blocks(statement) for node in nodes(part)]
        if isinstance(statement, typed.Return) or any(isinstance(node, typed.Return) for node in inner):
            return


def _always(expression: typed.Expression) -> Iterator[tuple[typed.Port, ...]]:
    if isinstance(expression, typed.Read | typed.Peek):
        yield (expression.port,)
    if isinstance(expression, typed.SelectPort):
        yield expression.ports
    inner = list(children(expression))
    for child in inner[:1] if isinstance(expression, typed.Logical | typed.Conditional) else inner:
        yield from _always(child)


def data_read(element: typed.Element) -> int | None:
    """So many bytes of the data of its flit, from the first on, have all that the handler looks at; None where that may be any."""
    flit = flit_in_place(element)
    everything = list(nodes(element.handler))
    if flit is None or not isinstance(flit.type, typed.Struct) or any(isinstance(node, typed.Update) for node in everything):
        return None
    written = {id(node.value) for node in everything if isinstance(node, typed.Write)}
    data, empty = (next(field for field in flit.type.fields if field.name == name) for name in ("data", "empty"))
    end = 0
    for node in everything:
        place = _place_of(node)
        is_read = isinstance(node, typed.Assign) and isinstance(node.value, typed.Read)
        if place is None or place.variable is not flit or is_read or id(node) in written:
            continue
        slices = [*takewhile(lambda step: isinstance(step, typed.Slice), place.steps)]
        if not slices:
            return None
        low = sum(step.low for step in slices if isinstance(step, typed.Slice))
        high = low + slices[-1].type.bits
        if isinstance(node, typed.Load) and low < data.low + data.type.bits and high > data.low:
            end = max(end, high - data.low)
        if not isinstance(node, typed.Load) and low < empty.low + empty.type.bits and high > empty.low:
            return None  # the packet may become longer
    return (end + 7) // 8


def _place_of(node: Node) -> typed.Place | None:
    """What a node reads or changes."""
    match node:
        case typed.Load(place=place) | typed.Assign(place=place) | typed.SelectPort(index_to=place) | typed.Lookup(to=place):
            return place
        case _:
            return None


def flit_in_place(element: typed.Element) -> typed.Variable | None:
    """The local that can be the flit in the packet itself, without a copy: it is assigned as a whole once, and is all that is read
    from a packet input; nothing is read behind a change of it, and it is not changed behind a write of it."""
    found: typed.Variable | None = None
    is_changed = is_written = False
    for node in nodes(element.handler):
        match node:
            case typed.Assign(place=typed.Place(variable=variable, steps=()), value=typed.Read(port=port)) if port.is_packet:
                if found is not None:
                    return None
                found = variable
            case typed.Assign(place=place) | typed.SelectPort(index_to=place) | typed.Lookup(to=place) if place:
                if found is not None and place.variable is found:
                    if not place.steps or is_written:
                        return None
                    is_changed = True
            case typed.Write(value=typed.Load(place=typed.Place(variable=variable, steps=()))):
                is_written |= variable is found
            case typed.Loop():
                inside = list(nodes(node.body)) + list(nodes(node.step))
                if any(isinstance(n, typed.Write) or (isinstance(n, typed.Assign) and n.place.variable is found) for n in inside):
                    return None
            case _:
                pass
        is_read = isinstance(node, typed.Read | typed.Peek | typed.SelectPort | typed.Test)
        if is_read and (is_changed or (isinstance(node, typed.Peek) and node.port.is_packet)):
            return None
    reads = [node for node in nodes(element.handler) if isinstance(node, typed.Read) and node.port.is_packet]
    return found if len(reads) == 1 and found is not None and not found.is_state else None


def variables(node: Node) -> Iterator[typed.Variable]:
    """Locals and states that a node itself names (not those inside its children)."""
    if place := _place_of(node):
        yield place.variable


def _mentioned(node: Node) -> Iterator[typed.Variable]:
    yield from variables(node)
    for child in children(node):
        yield from _mentioned(child)


@dataclass
class Locals:
    """`at`: statements (by identity) that declare the local they assign. `top`: locals declared at the start of the body."""

    at: set[int]
    top: list[typed.Variable]
    used: set[typed.Variable]


def place_locals(body: typed.Block, parameters: tuple[typed.Variable, ...]) -> Locals:
    """A local is declared where it is first assigned as a whole, if all its uses are in that block; else at the top."""
    homes: dict[typed.Variable, tuple[int, ...]] = {}
    first: dict[tuple[typed.Variable, tuple[int, ...]], typed.Statement] = {}
    loaded: set[typed.Variable] = set()

    def note(variable: typed.Variable, path: tuple[int, ...]) -> None:
        old = homes.get(variable, path)
        same = next((i for i, (a, b) in enumerate(zip(old, path, strict=False)) if a != b), min(len(old), len(path)))
        homes[variable] = path[:same]

    # `owners` are the statements around, one for each block of `path`. The step of a loop counts as part of the loop's line.
    def visit(block: typed.Block, path: tuple[int, ...], owners: tuple[typed.Statement, ...], loop: typed.Loop | None) -> None:
        for statement in block.statements:
            inside = (*owners, loop or statement)
            for variable in _mentioned(statement):
                note(variable, path)
                for depth, owner in enumerate(inside):
                    first.setdefault((variable, path[: depth + 1]), owner)
            loaded.update(n.place.variable for n in expressions(statement) if isinstance(n, typed.Load))
            for inner in blocks(statement):
                if isinstance(statement, typed.Loop) and inner is statement.step:
                    visit(inner, path, owners, loop or statement)
                else:
                    visit(inner, (*path, id(inner)), inside, None)

    visit(body, (id(body),), (), None)
    found = Locals(set(), [], loaded)
    for variable, home in homes.items():
        if variable.is_state or variable in parameters:
            continue
        statement = first[variable, home]
        whole = isinstance(statement, typed.Assign) and statement.place.variable is variable and not statement.place.steps
        if whole and isinstance(statement, typed.Assign) and variable not in set(_mentioned(statement.value)):
            found.at.add(id(statement))
        else:
            found.top.append(variable)
    return found


def expressions(node: Node) -> Iterator[typed.Expression]:
    for child in children(node):
        yield child
        yield from expressions(child)
