# SPDX-License-Identifier: Apache-2.0
"""The syntax tree of elements, functions and configurations, as written. Layouts and expressions: `ast.py`."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.frontend import ast
from compiler.frontend.ast import Expression, Name, Type
from compiler.frontend.lexer import Token
from compiler.frontend.source import Source, Span

# Statements


@dataclass(frozen=True)
class Declaration:
    """A variable, a state, or a view (`is_view`: `type *name = ...`). `word`: constexpr, register, local, global or nothing."""

    type: Type
    name: Name
    counts: tuple[Expression, ...]
    initial: Expression | None
    is_view: bool
    word: str
    span: Span


@dataclass(frozen=True)
class TypeDeclaration:
    """A struct, header or enum among statements or states; Figure 6 declares variables behind it."""

    declaration: ast.Aggregate | ast.Enum
    span: Span


@dataclass(frozen=True)
class Assign:
    """`target operator value`; `++` and `--` are `+=` and `-=`."""

    target: Expression
    operator: str
    value: Expression
    span: Span


@dataclass(frozen=True)
class Evaluate:
    value: Expression
    span: Span


@dataclass(frozen=True)
class If:
    condition: Expression
    then: Block
    otherwise: Block | None
    span: Span


@dataclass(frozen=True)
class For:
    """Also `while`, whose `start` and `step` are empty. `unroll` is the bound that was given."""

    start: tuple[Statement, ...]
    condition: Expression | None
    step: tuple[Statement, ...]
    body: Block
    unroll: Expression | None
    span: Span


@dataclass(frozen=True)
class Case:
    """`values` is empty for `default`."""

    values: tuple[Expression, ...]
    is_default: bool
    body: Block
    span: Span


@dataclass(frozen=True)
class Switch:
    value: Expression
    cases: tuple[Case, ...]
    span: Span


@dataclass(frozen=True)
class Jump:
    """`break` or `continue`."""

    word: str
    span: Span


@dataclass(frozen=True)
class Goto:
    """`goto_state name;`."""

    state: Name
    span: Span


@dataclass(frozen=True)
class Return:
    value: Expression | None
    span: Span


@dataclass(frozen=True)
class Repeat:
    """`.repeat (name, low, high) { ... }`: for low <= name < high."""

    name: Name
    low: Expression
    high: Expression
    body: Block
    span: Span


@dataclass(frozen=True)
class Block:
    statements: tuple[Statement, ...]
    span: Span


@dataclass(frozen=True)
class ParserState:
    name: Name
    body: Block
    span: Span


@dataclass(frozen=True)
class StateMachine:
    """`.state_machine (window) { name: { ... } ... }`; starts in the first state."""

    window: Expression | None
    states: tuple[ParserState, ...]
    span: Span


Statement = (
    Declaration | TypeDeclaration | Assign | Evaluate | If | For | Switch | Jump | Goto | Return | Repeat | Block | StateMachine
    | ast.StaticAssert
)  # fmt: skip

# Elements


@dataclass(frozen=True)
class Parameter:
    """Of an element or group: a constant or a type."""

    name: Name
    default: Expression | None
    span: Span


@dataclass(frozen=True)
class PortDeclaration:
    type: Type
    name: Name
    count: Expression | None
    span: Span


@dataclass(frozen=True)
class Ports:
    """`<1, 2>`, or `(packet in -> packet out)`."""

    input_count: Expression | None
    output_count: Expression | None
    inputs: tuple[PortDeclaration, ...]
    outputs: tuple[PortDeclaration, ...]
    is_numbered: bool
    span: Span


@dataclass(frozen=True)
class FunctionParameter:
    type: Type
    name: Name
    is_view: bool
    span: Span


@dataclass(frozen=True)
class Function:
    """A function; or a typed signal. `result` is None for void."""

    result: Type | None
    name: Name
    parameters: tuple[FunctionParameter, ...]
    body: Block
    span: Span


@dataclass(frozen=True)
class PlainSignal:
    """The paper's `.signal { ... }`."""

    body: Block
    span: Span


@dataclass(frozen=True)
class Timer:
    """`.timer name (every = microseconds) { ... }`."""

    name: Name
    every: Expression
    body: Block
    span: Span


@dataclass(frozen=True)
class Table:
    """`table kind<key, value> name[entries];`."""

    kind: Name
    key: Type
    value: Type
    name: Name
    entries: Expression
    span: Span


@dataclass(frozen=True)
class Flow:
    """`flow<key, value> name[entries] (option = value, ...);`."""

    key: Type
    value: Type
    name: Name
    entries: Expression
    options: tuple[Argument, ...]
    span: Span


@dataclass(frozen=True)
class Native:
    """`.native sv "file.sv"`."""

    language: Name
    file: str
    span: Span


@dataclass(frozen=True)
class Element:
    name: Name
    parameters: tuple[Parameter, ...]
    ports: Ports
    states: tuple[Statement, ...]  # Declaration, TypeDeclaration, Repeat
    init: Block | None
    handler: Block | None
    signals: tuple[Function | PlainSignal, ...]
    timers: tuple[Timer, ...]
    functions: tuple[Function, ...]
    tables: tuple[Table, ...]
    flows: tuple[Flow, ...]
    natives: tuple[Native, ...]
    doc: str
    span: Span


# Configurations


@dataclass(frozen=True)
class Argument:
    """Of an element's parameter, by name or by place (`name` is None)."""

    name: Name | None
    value: Expression
    span: Span


@dataclass(frozen=True)
class InstanceDeclaration:
    """`host Path<arguments> :: name @`."""

    path: tuple[Name, ...]
    arguments: tuple[Argument, ...]
    name: Name
    on_host: bool
    takes_signals: bool
    span: Span


@dataclass(frozen=True)
class End:
    """Something in a chain: `[input] path<arguments> .port[element] [output]`. A declaration may stand there too."""

    path: tuple[Name, ...]
    arguments: tuple[Argument, ...]
    declares: InstanceDeclaration | None
    port: Name | None
    port_index: Expression | None  # of port
    input: Expression | None
    output: Expression | None
    span: Span


@dataclass(frozen=True)
class Arrow:
    """`->` or `=>`, with the channel's depth in parentheses."""

    lossy: bool
    depth: Expression | None
    span: Span


@dataclass(frozen=True)
class Chain:
    """`ends[0] arrows[0] ends[1] arrows[1] ...`."""

    ends: tuple[End, ...]
    arrows: tuple[Arrow, ...]
    span: Span


@dataclass(frozen=True)
class RepeatConnections:
    """`.repeat` among connections."""

    name: Name
    low: Expression
    high: Expression
    body: tuple[Connection, ...]
    span: Span


Connection = InstanceDeclaration | Chain | RepeatConnections


@dataclass(frozen=True)
class Group:
    """`.element_group`: a configuration with ports."""

    name: Name
    parameters: tuple[Parameter, ...]
    ports: Ports
    connections: tuple[Connection, ...]
    span: Span


@dataclass(frozen=True)
class Import:
    path: str
    namespace: Name | None
    span: Span


Item = ast.Constant | Declaration | ast.Enum | ast.Aggregate | ast.StaticAssert | Function | Element | Group


@dataclass(frozen=True)
class ProgramFile:
    """One source file of a program; `tokens` keep its comments."""

    source: Source
    imports: tuple[Import, ...]
    items: tuple[Item, ...]
    connections: tuple[Connection, ...]
    tokens: tuple[Token, ...]
