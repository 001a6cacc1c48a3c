# SPDX-License-Identifier: Apache-2.0
"""The typed tree: what every consumer of a program reads (interpreter, IR, C++).

Names are resolved, parameters and `.repeat` are substituted, constants are folded, every conversion is a `Cast`. Anything
that is no error can be executed: nothing is undefined.

Every value is one unsigned integer of `type.bits` bits (the bit pattern; `Integer.signed` says how to read it). A `struct`
has its first field in the highest bits; so has a `header`. An array has element 0 in the lowest bits. The bytes of a packet
stand in `flit.data` with byte 0 lowest, so a header that is seen in them is byte-swapped: `Slice.swap`.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.frontend.source import Span
from compiler.frontend.typed_places import (
    BOOL,
    Array,
    Entry,
    Integer,
    Place,
    Placement,
    Slice,
    Step,
    Struct,
    StructField,
    Type,
    Variable,
)
from compiler.frontend.typed_tables import FlowTable, Table, TableKind

# With what is below, the names of the typed tree.
__all__ = [
    "BOOL", "Array", "Entry", "FlowTable", "Integer", "Place", "Placement", "Slice", "Step", "Struct", "StructField", "Table",
    "TableKind", "Type", "Variable",
]  # fmt: skip

CYCLES, RANDOM, ERRNO = Integer(64), Integer(32), Integer(8)

# Expressions. Evaluated left to right; operands before the operator.


@dataclass(frozen=True)
class Constant:
    value: int  # the bit pattern, 0 <= value < 2**bits
    type: Type
    span: Span


@dataclass(frozen=True)
class Load:
    place: Place
    span: Span

    @property
    def type(self) -> Type:
        return self.place.type


@dataclass(frozen=True)
class Part:
    """Bits of a value that is no variable (a field of what a function returned, a bit of a sum)."""

    operand: Expression
    step: Step
    span: Span

    @property
    def type(self) -> Type:
        return self.step.type


@dataclass(frozen=True)
class Pack:
    """A struct or array from its parts; `parts[0]` is the first field (highest bits), or element 0 (lowest bits) of an array."""

    parts: tuple[Expression, ...]
    type: Type
    span: Span


@dataclass(frozen=True)
class Unary:
    """`-` and `~` (type of the operand), `!` (bool to bool)."""

    operator: str
    operand: Expression
    type: Integer
    span: Span


@dataclass(frozen=True)
class Binary:
    """Both operands have one type, but for shifts, whose right operand is any unsigned integer.

    `+ - * / % & | ^ << >>` give the type of the left operand and wrap; `/ % >>` follow its sign. `== != < <= > >=` give bool, and
    follow the sign. x / 0 is all ones (unsigned) or -1, x % 0 is x, MIN / -1 is MIN, MIN % -1 is 0, / rounds to zero, % has the
    sign of the
    left. A shift by the width or more gives 0, or the sign. (`==` and `!=` also compare structs and arrays, by their bits.)"""

    operator: str
    left: Expression
    right: Expression
    type: Integer
    span: Span


@dataclass(frozen=True)
class Logical:
    """`&&` and `||` on bool; the right operand is evaluated only where it decides."""

    operator: str
    left: Expression
    right: Expression
    span: Span
    type: Integer = BOOL


@dataclass(frozen=True)
class Conditional:
    """`a ? b : c`; only the chosen one is evaluated."""

    condition: Expression
    then: Expression
    otherwise: Expression
    type: Type
    span: Span


@dataclass(frozen=True)
class Cast:
    """To another width: truncated, or extended by the sign of the operand's type. Between types of equal bits: the same bits."""

    operand: Expression
    type: Type
    span: Span


@dataclass(frozen=True)
class Call:
    function: Function
    arguments: tuple[Expression, ...]
    type: Type
    span: Span


@dataclass(frozen=True)
class Read:
    """The token of an input port, and takes it. Numbered form: a port without a token gives 0 and takes nothing. Named form:
    the iteration
    waits for it (nothing of the iteration has happened meanwhile). A port is read at most once in an iteration; a second read
    gives the same
    token. After `peek` the same."""

    port: Port
    span: Span

    @property
    def type(self) -> Type:
        return self.port.type


@dataclass(frozen=True)
class Peek:
    """As `Read`, and leaves the token."""

    port: Port
    span: Span

    @property
    def type(self) -> Type:
        return self.port.type


@dataclass(frozen=True)
class Test:
    """Whether a port holds a token: a choice. (Numbered form: only ports of the mask count.)"""

    port: Port
    span: Span
    type: Integer = BOOL


@dataclass(frozen=True)
class Ready:
    """`get_input_port()`: bit n - 1 for PORT_n that is in the mask and holds a token. A choice where the mask has several bits."""

    type: Integer
    span: Span


@dataclass(frozen=True)
class SelectPort:
    """`select(a, b, ...)`: takes the token of a port that has one, round-robin from behind the one taken last; on `packet`
    ports stays with a
    port from sop to eop. Waits where none has one. A choice. The value is the token; `index_to` gets the index of the port in
    `ports`."""

    ports: tuple[Port, ...]
    index_to: Place | None
    span: Span

    @property
    def type(self) -> Type:
        return self.ports[0].type


@dataclass(frozen=True)
class Now:
    """Core cycles: a choice, one for an iteration, never less than in an earlier one. 64 bits."""

    span: Span
    type: Integer = CYCLES


@dataclass(frozen=True)
class Random:
    """The next of a seeded generator, 32 bits, state of the element: xorshift32, x ^= x << 13; x ^= x >> 17; x ^= x << 5, from
    `Element.seed`."""

    span: Span
    type: Integer = RANDOM


@dataclass(frozen=True)
class Lookup:
    """Whether a rule of the table matches the key; its value, or 0, goes to `to`. Lookups of an iteration see the rules as they
    were when it began."""

    table: Table
    key: Expression
    to: Place | None
    span: Span
    type: Integer = BOOL


@dataclass(frozen=True)
class Update:
    """A rule put into a table, or taken out of it: the whole body of a signal that the front end makes (`frontend/tables.py`
    has the arguments). The value is an errno: 0, ENOENT, EINVAL or ENOSPC. Iterations behind see the change."""

    table: Table
    is_insert: bool
    arguments: tuple[Expression, ...]
    span: Span
    type: Integer = ERRNO


Expression = (
    Constant | Load | Part | Pack | Unary | Binary | Logical | Conditional | Cast | Call | Read | Peek | Test | Ready | SelectPort
    | Now | Random | Lookup | Update
)  # fmt: skip

# Statements


@dataclass(frozen=True)
class Assign:
    """The place is evaluated (its indices) before the value."""

    place: Place
    value: Expression
    span: Span


@dataclass(frozen=True)
class Evaluate:
    """For the effect alone."""

    value: Expression
    span: Span


@dataclass(frozen=True)
class If:
    condition: Expression
    then: Block
    otherwise: Block
    span: Span


@dataclass(frozen=True)
class Loop:
    """`while (condition) { body; step }`, left after `bound` rounds at the latest (an error in a simulation where
    the condition, evaluated once more, still holds).
    `continue` goes to `step`."""

    condition: Expression
    body: Block
    step: Block
    bound: int
    span: Span


@dataclass(frozen=True)
class Break:
    span: Span


@dataclass(frozen=True)
class Continue:
    span: Span


@dataclass(frozen=True)
class Return:
    """From a function with its value; from a numbered handler with the mask (bits behind the inputs are ignored); from a named one
    without. A signal's may have its answer."""

    value: Expression | None
    span: Span


@dataclass(frozen=True)
class Write:
    """A token for an output port when the iteration ends. Numbered form: the last one wins. Named form: the checker has
    excluded a second one on
    any path that it can tell; at run time the last wins too."""

    port: Port
    value: Expression
    span: Span


@dataclass(frozen=True)
class SetSignal:
    """`set_signal(p)`: the answer of a signal in the paper's form."""

    value: Expression
    span: Span


@dataclass(frozen=True)
class Print:
    """A line to the host: `text` with one {} for each argument, shown as a decimal number by its sign."""

    text: str
    arguments: tuple[Expression, ...]
    span: Span


@dataclass(frozen=True)
class Check:
    """`assert` or `assume`: where false, the run says so and fails; the iteration goes on."""

    condition: Expression
    text: str
    span: Span


Statement = Assign | Evaluate | If | Loop | Break | Continue | Return | Write | SetSignal | Print | Check


@dataclass(frozen=True)
class Block:
    statements: tuple[Statement, ...]


# Elements and configurations


@dataclass(frozen=True, eq=False)
class Function:
    """By value. Falls off its end: returns 0. No recursion."""

    name: str
    parameters: tuple[Variable, ...]
    result: Type | None
    body: Block
    span: Span


@dataclass(frozen=True, eq=False)
class Port:
    """`index` counts from 0 among the ports of its direction (PORT_1 has 0)."""

    name: str
    type: Type
    index: int
    is_input: bool
    is_packet: bool  # flits of packets, which stay well-formed
    span: Span


@dataclass(frozen=True, eq=False)
class Signal:
    """A typed signal. In the paper's form (`.signal { ... }`) its name is "", its one parameter is what `read_signal()` gives,
    and the answer is
    what `set_signal` was given (0 where it was not).

    With `every`, in microseconds, it is a timer: called by time alone, without an answer, its one parameter what `periods()`
    gives."""

    name: str
    parameters: tuple[Variable, ...]
    result: Type | None
    body: Block
    span: Span
    every: int = 0


@dataclass(frozen=True, eq=False)
class Element:
    """One element with all its parameters known. `name` is unique in the program: the source's name and the parameters' values."""

    name: str
    source_name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    numbered: bool  # the paper's form: masks
    states: tuple[Variable, ...]
    tables: tuple[Table, ...]
    init: Block  # assigns states; reads no port
    handler: Block
    signals: tuple[Signal, ...]
    native: tuple[tuple[str, str], ...]  # ("sv", "cpp" or "packet", file)
    seed: int  # of random()
    span: Span
    parameters: tuple[tuple[str, int], ...] = ()  # constants, and of a type NAME its bits and whether it is `packet` (NAMEIsPacket)
    flows: tuple[FlowTable, ...] = ()  # their states are among `states`

    @property
    def placement(self) -> frozenset[Variable]:
        """The states that say which flows there are; hardware has a part in their place."""
        return frozenset(state for flow in self.flows for state in flow.placement)

    @property
    def host_signals(self) -> tuple[Signal, ...]:
        """Those that a host calls; timers follow them in `signals`."""
        return tuple(signal for signal in self.signals if not signal.every)

    @property
    def timers(self) -> tuple[Signal, ...]:
        """Those that time calls."""
        return tuple(signal for signal in self.signals if signal.every)


@dataclass(frozen=True)
class Endpoint:
    """A port of an instance; or a lane, where `instance` is ""; `port` is the index of the port, or the number of the lane."""

    instance: str
    port: int


@dataclass(frozen=True)
class Channel:
    source: Endpoint
    target: Endpoint
    type: Type
    is_packet: bool
    depth: int  # tokens; 0: the compiler's choice
    lossy: bool  # =>
    span: Span


@dataclass(frozen=True)
class Instance:
    name: str
    element: Element
    on_host: bool
    takes_signals: bool  # @
    span: Span


@dataclass(frozen=True)
class Program:
    """A checked program. `instances` in topological order where there is one, else as declared; a file without a configuration
    has none. An input without a channel never gets a token (`Idle`); every output has one (`Drop` is an element)."""

    elements: tuple[Element, ...]  # every instantiated element, and every one without parameters
    instances: tuple[Instance, ...]
    channels: tuple[Channel, ...]
    lanes: int
