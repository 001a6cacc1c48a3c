# SPDX-License-Identifier: Apache-2.0
"""The intermediate representation of an element: what one iteration reads, computes and changes.

A `Transition` is a pure function of registers, memories, the tokens at its input ports, its arguments and the choices. There
is no control flow: every effect has an enable of 1 bit. Loops are unrolled, functions inlined, branches are `mux`. A memory is
read as it was when the iteration began; what the iteration itself wrote before is mixed in by the lowering. A table is looked up
as it was then, too; its rules change behind an iteration that is an `insert` or a `remove`. What an iteration asks a flow table for
it does in order: each `place` sees those before it.

Nodes are compared by identity; a pass builds new ones from the arguments up (`compiler/ir/rewrite.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from compiler.frontend.source import Span

# Operator: what it gives. Widths are exact: operands have the width of the result unless said.
OPERATORS = {
    "const": "attribute `value`",
    "register": "attribute `name`: its value when the iteration began",
    "head": "attribute `name`: the token of this input port; 0 where it has none",
    "available": "attribute `name`: 1 bit, whether this input port has a token (a choice)",
    "argument": "attribute `name`: of a signal",
    "choice": "attribute `name`: what the surroundings decide: `now`",
    "read": "(index): attribute `name` of the memory; its entry when the iteration began, 0 where the index is outside",
    "lookup": "(key): attribute `name` of the table; high bit: whether a rule matches, below it its value, else 0",
    "insert": "(key, ...): of a signal only, at most one; attribute `name` of the table; the errno, see `frontend/tables.py`",
    "remove": "(key, ...): as insert",
    "place": "(enable, insert, forget, key, time, set): `name` of the flow table, `value` the turn; where enabled, as in"
    " `models/flow_place.py`; {found, is new, place}: where neither is 1, the place is the first of the set",
    "add": "(a, b), wraps",
    "sub": "(a, b), wraps",
    "mul": "(a, b), wraps",
    "udiv": "(a, b); by 0: all ones",
    "sdiv": "(a, b), to zero; by 0: -1; MIN / -1: MIN",
    "urem": "(a, b); by 0: a",
    "srem": "(a, b), sign of a; by 0: a; MIN % -1: 0",
    "and": "(a, b)",
    "or": "(a, b)",
    "xor": "(a, b)",
    "not": "(a)",
    "shl": "(a, n): n of any width, unsigned; by the width or more: 0",
    "lshr": "(a, n): as shl",
    "ashr": "(a, n): as shl, but the sign",
    "eq": "(a, b): 1 bit; a and b of one width",
    "ult": "(a, b): 1 bit; a and b of one width",
    "slt": "(a, b): 1 bit; a and b of one width",
    "mux": "(c, a, b): c of 1 bit ? a : b",
    "concat": "(high, ..., low): the widths add up",
    "extract": "(a): bits `low` to `low` + width - 1, inside a",
    "zext": "(a): a is not wider",
    "sext": "(a): a is not wider",
}


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Node:
    """A value of `width` bits. `label` is the name it had in the source, "" where none; `span` where it was computed."""

    op: str
    args: tuple[Node, ...]
    width: int
    value: int = 0  # of const
    low: int = 0  # of extract
    name: str = ""
    label: str = ""
    span: Span | None = None

    def __repr__(self) -> str:
        """Short: in full it would show shared nodes again and again. `compiler/ir/text.py` shows everything."""
        return f"<{self.op} {self.label or self.name or self.value}: {self.width}>"


@dataclass(frozen=True)
class Select:
    """A `select`: where `enable`, it took the token of `ports[index]`. For the log; `needs`, `any_of`, `takes` say the rest.

    `last` is the register with the index taken last, `inside` the one that is 1 within a packet ("" where no packets)."""

    ports: tuple[str, ...]
    enable: Node
    index: Node
    last: str
    inside: str


@dataclass(frozen=True)
class Put:
    """A token for an output port."""

    enable: Node
    data: Node


@dataclass(frozen=True)
class MemoryWrite:
    """In the order of the source: where two of an iteration meet, the later wins. An index outside writes nothing."""

    memory: str
    enable: Node
    index: Node
    data: Node


@dataclass(frozen=True)
class Message:
    """`print`: a line with a {} for each argument; `signed` says how to show it."""

    enable: Node
    text: str
    arguments: tuple[Node, ...]
    signed: tuple[bool, ...]


@dataclass(frozen=True)
class Assertion:
    """`assert`, `assume`, a loop at its bound: a failure where `enable` and not `condition`."""

    enable: Node
    condition: Node
    text: str


@dataclass(frozen=True)
class Transition:
    """One handler or signal. It can begin when for every port in `needs` the node is 0 or the port has a token (nodes of
    `needs` depend only on
    registers, memories, `available` and heads of ports whose own need is 1), and, where `any_of` is not empty, one of those
    ports has a token."""

    name: str  # "handler", or "signal NAME", of a timer too
    arguments: tuple[tuple[str, int], ...]  # of a signal: name and width
    needs: dict[str, Node]
    any_of: Node | None  # 1 bit: the iteration waits while it is 0 (a mask without a token, a `select` without one)
    takes: dict[str, Node]  # input port: whether its token is taken
    puts: dict[str, Put]
    next: dict[str, Node]  # register: its value behind the iteration; one that is not named keeps it
    writes: tuple[MemoryWrite, ...]
    messages: tuple[Message, ...] = ()
    assertions: tuple[Assertion, ...] = ()
    result: Node | None = None  # of a signal
    selects: tuple[Select, ...] = ()
    every: int = 0  # of a timer: microseconds
    places: tuple[Node, ...] = ()  # every `place`, in order


@dataclass(frozen=True)
class Register:
    name: str
    width: int
    reset: int  # the value behind `.init`
    label: str = ""  # the state and the path in it, as in the source


@dataclass(frozen=True)
class Memory:
    """`reset`: contents behind `.init` where not all 0, by index."""

    name: str
    width: int
    entries: int
    reset: dict[int, int] = field(default_factory=dict)
    label: str = ""


@dataclass(frozen=True)
class Table:
    """`kind`: exact, lpm or ternary; bits of a key and of a value; how many rules it takes. Empty at reset."""

    name: str
    kind: str
    key: int
    value: int
    entries: int


@dataclass(frozen=True)
class Flows:
    """A flow table: which flows there are; the element's memories have their values. A place is {set, way}, both with as many bits
    as they need, and a set has at least one. Empty at reset."""

    name: str
    key: int
    sets: int
    ways: int
    timeout: int
    evicts: bool

    @property
    def set_bits(self) -> int:
        return max(1, (self.sets - 1).bit_length())

    @property
    def way_bits(self) -> int:
        return (self.ways - 1).bit_length()

    @property
    def width(self) -> int:
        """Bits of what `place` gives."""
        return 2 + self.set_bits + self.way_bits


@dataclass(frozen=True)
class Framing:
    """Where a flit has its framing: bits, and the lowest bit of `empty` with its width."""

    sop: int
    eop: int
    error: int
    empty: int
    empty_width: int


@dataclass(frozen=True)
class PortInfo:
    """`guard`: of an output, where the packet guard is to stand behind it (None: it is proved to change nothing, or no packets)."""

    name: str
    width: int
    is_packet: bool
    guard: Framing | None = None


@dataclass(frozen=True)
class ElementIr:
    name: str
    inputs: tuple[PortInfo, ...]
    outputs: tuple[PortInfo, ...]
    registers: dict[str, Register]
    memories: dict[str, Memory]
    handler: Transition
    signals: tuple[Transition, ...]
    span: Span
    tables: dict[str, Table] = field(default_factory=dict)
    flows: dict[str, Flows] = field(default_factory=dict)

    @property
    def host_signals(self) -> tuple[Transition, ...]:
        """Those that a host calls: the first of `signals`."""
        return tuple(signal for signal in self.signals if not signal.every)

    @property
    def timers(self) -> tuple[Transition, ...]:
        """Those that time calls."""
        return tuple(signal for signal in self.signals if signal.every)


def updates(nodes: Iterable[Node]) -> list[Node]:
    """What changes tables."""
    return [node for node in nodes if node.op in ("insert", "remove")]
