# SPDX-License-Identifier: Apache-2.0
"""The handler and the signals of an element as one graph, since all of them run through one pipeline.

An iteration is of exactly one kind; the node `kind(n)` says which: 0 the handler, n the n-th signal. Effects of a kind are enabled
by it; a register that a kind does not write keeps its value.

A memory has one write port, at which several writes of an iteration take turns. Those of the handler decide the interval; a signal
with more of them is alone in the pipeline: the next iteration begins so much later (`pauses`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from compiler.ir.build import Builder
from compiler.ir.ir import Assertion, ElementIr, Memory, MemoryWrite, Message, Node, Put, Select, Transition
from compiler.ir.rewrite import order, rewrite_transition, roots, same
from compiler.passes.writes import exclusive
from compiler.schedule.delays import MOST_BLOCKS, blocks, copies

READS = ("read", "lookup")
KIND_SHIFT = 16  # in the turn of a `place`
MOST_IN_CHAIN = 4  # writes among which multiplexers choose one behind the other
AT_ONCE = 16  # writes of signals that are alone among which one cycle chooses; of more, a cycle chooses among groups of them


@dataclass(frozen=True)
class Pipeline:
    """All effects of an iteration of any kind. Nodes with op `kind` have `value` n, the number of the kind, and 1 bit."""

    element: ElementIr
    needs: dict[str, Node]  # of the handler
    any_of: Node | None  # of the handler
    takes: dict[str, Node]
    puts: dict[str, Put]
    next: dict[str, Put]  # of a register: whether it is written, and with what
    writes: tuple[MemoryWrite, ...]
    slots: tuple[int, ...]  # of each write: how many stages behind the first of its memory, where they may meet
    messages: tuple[Message, ...]
    assertions: tuple[Assertion, ...]
    selects: tuple[Select, ...]
    result: Node | None  # what a signal answers, right-aligned
    nodes: tuple[Node, ...]  # everything reachable, arguments before users
    lags: dict[str, int] = field(default_factory=dict)  # of a state: stages from its read to its write (`forward.py`)
    forms: dict[str, str] = field(default_factory=dict)  # of such a state: as what its update is computed
    registered: frozenset[str] = frozenset()  # memories whose data comes out of a register: their updates are long
    spread: frozenset[str] = frozenset()  # memories that are read with others by one index, which together are many blocks
    far: frozenset[str] = frozenset()  # memories with a register on the way of their data: their blocks are far away
    alone: tuple[bool, ...] = ()  # of each write: whether it is of a signal with a pause
    places: tuple[tuple[Node, ...], ...] = ()  # of each kind: what it asks flow tables, in order
    turns_more: tuple[int, ...] = ()  # of each signal: how many turns more than the handler it has at one of its memories

    def copies(self, memory: str) -> int:
        """Of the registers of a memory's addresses."""
        return copies(self.element.memories[memory], memory in self.spread)

    def turns(self, memory: str) -> int:
        """How many cycles the writes of an iteration that is not alone take, 0 where there are none."""
        found = zip(self.writes, self.slots, self.alone, strict=True)
        return max((slot + 1 for write, slot, alone in found if write.memory == memory and not alone), default=0)

    def chosen_by(self, memory: str) -> tuple[Node, ...]:
        """The kinds, known early, by which one of the writes to a memory is chosen that are not alone: of each but the first. None
        where not every one is of another kind, in the same stage: then it is chosen by what is enabled."""
        found = zip(self.writes, self.slots, self.alone, strict=True)
        kinds = [(_kind_of(write.enable), slot) for write, slot, alone in found if write.memory == memory and not alone]
        differ = len({kind for kind, _ in kinds if kind is not None}) == len(kinds) and not any(slot for _, slot in kinds)
        return tuple(kind for kind, _ in kinds[1:] if kind is not None) if differ and len(kinds) <= MOST_IN_CHAIN else ()

    @property
    def pauses(self) -> dict[int, int]:
        """Cycles besides the interval from a signal to the next iteration, by its number; of those that are alone. Then all that it
        writes is there, a cycle or two later than what others write: nothing of it is forwarded."""
        later = max(self.lags.values(), default=0) + max(map(self.cycles_alone, self.element.memories), default=0)
        return {number: more + later for number, more in enumerate(self.turns_more) if more}

    def cycles_alone(self, memory: str) -> int:
        """How much later a memory is written by signals that are alone."""
        count = sum(alone and write.memory == memory for write, alone in zip(self.writes, self.alone, strict=True))
        return 0 if not count else 1 if count <= AT_ONCE else 2


def merge(element: ElementIr) -> Pipeline:
    """The pipeline's graph of an element."""
    kinds = [element.handler, *map(_own_arguments, element.signals)]
    is_kind = [Node("kind", (), 1, value=n, label="is_" + kind.name.replace(" ", "_")) for n, kind in enumerate(kinds)]
    kinds = _share_reads(kinds, is_kind)
    kinds = [_own_places(transition, kind, is_kind[kind] if len(kinds) > 1 else None) for kind, transition in enumerate(kinds)]
    several = len(kinds) > 1
    builder = Builder()
    one = builder.const(1, 1)
    registers: dict[str, set[Node]] = {}
    for transition in kinds:
        for node in order(roots(transition)):
            if node.op == "register":
                registers.setdefault(node.name, set()).add(node)

    def gate(kind: int, enable: Node) -> Node:
        if not several:
            return enable
        return is_kind[kind] if _is_one(enable) else Node("and", (is_kind[kind], enable), 1, span=enable.span)

    following: dict[str, Put] = {}
    for name, register in element.registers.items():
        peeled = [(kind, *_peel(t.next[name], registers.get(name))) for kind, t in enumerate(kinds) if name in t.next]
        writers = [(kind, enable, new) for kind, enable, new in peeled if new is not None]
        if writers:
            value = writers[0][2]
            for kind, _, new in writers[1:]:
                value = Node("mux", (is_kind[kind], new, value), register.width, label=new.label, span=new.span)
            enables = [gate(kind, builder.and_(*enable) if enable else one) for kind, enable, _ in writers]
            following[name] = Put(builder.or_(*enables), value)

    handler = kinds[0]
    turns_more = tuple(_turns_more(signal, handler) for signal in kinds[1:])
    pipeline = Pipeline(
        element=element,
        needs=handler.needs,
        any_of=handler.any_of,
        takes=handler.takes,
        puts={port: Put(gate(0, put.enable), put.data) for port, put in handler.puts.items()},
        next=following,
        writes=tuple(
            MemoryWrite(write.memory, gate(kind, write.enable), write.index, write.data)
            for kind, transition in enumerate(kinds)
            for write in transition.writes
        ),
        slots=tuple(slot for transition in kinds for slot in _slots(transition)),
        messages=tuple(
            Message(gate(kind, message.enable), message.text, message.arguments, message.signed)
            for kind, transition in enumerate(kinds)
            for message in transition.messages
        ),
        assertions=tuple(
            Assertion(gate(kind, assertion.enable), assertion.condition, assertion.text)
            for kind, transition in enumerate(kinds)
            for assertion in transition.assertions
        ),
        selects=tuple(replace(select, enable=gate(0, select.enable)) for select in handler.selects),
        result=_result(kinds, is_kind),
        nodes=(),
        alone=tuple(kind > 0 and turns_more[kind - 1] > 0 for kind, transition in enumerate(kinds) for _ in transition.writes),
        places=tuple(transition.places for transition in kinds),
        turns_more=turns_more,
    )
    return _once(pipeline)


def _turns_more(signal: Transition, handler: Transition) -> int:
    memories = {write.memory for write in signal.writes}
    return max([0, *(turns_of(signal, memory) - max(1, turns_of(handler, memory)) for memory in memories)])


def turns_of(transition: Transition, memory: str) -> int:
    """How many cycles the writes of a handler or signal take."""
    slots = zip(transition.writes, _slots(transition), strict=True)
    return max((slot + 1 for write, slot in slots if write.memory == memory), default=0)


def _slots(transition: Transition) -> list[int]:
    """Writes of one memory that may meet in an iteration take turns at its one port, in the order of the source."""
    slots: list[int] = []
    for n, write in enumerate(transition.writes):
        before = [
            slots[m]
            for m, other in enumerate(transition.writes[:n])
            if other.memory == write.memory and not exclusive(other.enable, write.enable)
        ]
        slots.append(max(before, default=-1) + 1)
    return slots


def _kind_of(enable: Node) -> Node | None:
    """The kind of iteration that alone enables something, where its enable is made so (`merge`)."""
    found = [enable]
    for node in found:
        if node.op == "kind":
            return node
        found += node.args if node.op == "and" else ()
    return None


def _peel(new: Node, old: set[Node] | None) -> tuple[list[Node], Node | None]:
    """The conditions under which a register changes, and its new value, None where it never does: what only keeps a register is
    an enable, not a value in its loop."""
    builder, enable = Builder(), []
    while old and new.op == "mux" and (new.args[1] in old or new.args[2] in old):
        keeps_where_true = new.args[1] in old
        enable.append(builder.not_(new.args[0]) if keeps_where_true else new.args[0])
        new = new.args[2] if keeps_where_true else new.args[1]
    return enable, None if old and new in old else new


def _once(pipeline: Pipeline) -> Pipeline:
    """Equal nodes once, over all kinds."""
    builder, made = Builder(), dict[Node, Node]()
    for node in order(effect_nodes(pipeline)):
        builder.span, builder.label = node.span, node.label
        args = [made[argument] for argument in node.args]
        made[node] = builder.exact(node.op, args, node.width, value=node.value, low=node.low, name=node.name)
    single = replaced(pipeline, made.__getitem__)
    nodes = tuple(order(effect_nodes(single)))
    return replace(single, nodes=nodes, spread=_spread(nodes, pipeline.element.memories))


def _spread(nodes: Sequence[Node], memories: Mapping[str, Memory]) -> frozenset[str]:
    """Memories that one register of their index would reach only over the whole device."""
    readers: dict[Node, set[str]] = {}
    for node in nodes:
        if node.op == "read" and node.args[0].op != "const":
            readers.setdefault(node.args[0], set()).add(node.name)
    far = [names for names in readers.values() if sum(blocks(memories[name]) for name in names) > MOST_BLOCKS]
    return frozenset().union(*far)


def replaced(pipeline: Pipeline, new: Callable[[Node], Node]) -> Pipeline:
    """The pipeline with every node that an effect names exchanged; `nodes` are still the old ones."""
    return replace(
        pipeline,
        needs={port: new(node) for port, node in pipeline.needs.items()},
        any_of=None if pipeline.any_of is None else new(pipeline.any_of),
        takes={port: new(node) for port, node in pipeline.takes.items()},
        puts={port: Put(new(put.enable), new(put.data)) for port, put in pipeline.puts.items()},
        next={name: Put(new(put.enable), new(put.data)) for name, put in pipeline.next.items()},
        writes=tuple(MemoryWrite(w.memory, new(w.enable), new(w.index), new(w.data)) for w in pipeline.writes),
        messages=tuple(replace(m, enable=new(m.enable), arguments=tuple(map(new, m.arguments))) for m in pipeline.messages),
        assertions=tuple(Assertion(new(a.enable), new(a.condition), a.text) for a in pipeline.assertions),
        selects=tuple(replace(s, enable=new(s.enable), index=new(s.index)) for s in pipeline.selects),
        result=None if pipeline.result is None else new(pipeline.result),
        places=tuple(tuple(map(new, places)) for places in pipeline.places),
    )


def _share_reads(kinds: list[Transition], is_kind: list[Node]) -> list[Transition]:
    """One read port where kinds read the same memory, or look up the same table, since an iteration is of one kind only. A read
    whose index needs another read keeps a port of its own."""
    simple: dict[tuple[str, str], list[list[Node]]] = {}
    for transition in kinds:
        reads = [node for node in order(roots(transition)) if node.op in READS]
        alone = [node for node in reads if not any(below.op in READS for below in order([node.args[0]]))]
        for key in {(node.op, node.name) for node in alone}:
            simple.setdefault(key, [[] for _ in kinds])[kinds.index(transition)] = [n for n in alone if (n.op, n.name) == key]
    shared: dict[Node, Node] = {}
    for groups in simple.values():
        for place in range(max(len(group) for group in groups)):
            users = [(kind, group[place]) for kind, group in enumerate(groups) if place < len(group)]
            if len(users) < 2:
                continue
            width = max(node.args[0].width for _, node in users)
            index: Node | None = None
            for kind, node in users:
                wide = node.args[0] if node.args[0].width == width else Node("zext", (node.args[0],), width)
                index = wide if index is None else Node("mux", (is_kind[kind], wide, index), width)
            first = users[0][1]
            assert index is not None
            read = Node(first.op, (index,), first.width, name=first.name, label=first.label, span=first.span)
            shared.update({node: read for _, node in users})
    if not shared:
        return kinds

    def remake(builder: Builder, node: Node, args: Sequence[Node]) -> Node:
        return shared.get(node) or same(builder, node, args)

    return [rewrite_transition(transition, remake) for transition in kinds]


def _own_arguments(transition: Transition) -> Transition:
    """Arguments named `SIGNAL.ARGUMENT`, so that those of several signals differ."""

    def remake(builder: Builder, node: Node, args: Sequence[Node]) -> Node:
        if node.op == "argument":
            return builder.exact("argument", (), node.width, name=f"{transition.name}.{node.name}")
        return same(builder, node, args)

    return rewrite_transition(transition, remake)


def _own_places(transition: Transition, kind: int, is_kind: Node | None) -> Transition:
    """What it asks flow tables is asked by its own kind only, and is not what another kind asks."""

    def remake(builder: Builder, node: Node, args: Sequence[Node]) -> Node:
        if node.op != "place":
            return same(builder, node, args)
        enable = args[0] if is_kind is None else builder.and_(is_kind, args[0])
        return builder.exact("place", (enable, *args[1:]), node.width, value=kind << KIND_SHIFT | node.value, name=node.name)

    return rewrite_transition(transition, remake) if transition.places else transition


def _result(kinds: list[Transition], is_kind: list[Node]) -> Node | None:
    results = [(kind, transition.result) for kind, transition in enumerate(kinds) if transition.result is not None]
    if not results:
        return None
    width = max(node.width for _, node in results)
    every = all(transition.result is not None for transition in kinds[1:])  # else the others answer 0
    value: Node | None = None if every else Node("const", (), width)
    for kind, node in results:
        wide = node if node.width == width else Node("zext", (node,), width, label=node.label)
        value = wide if value is None else Node("mux", (is_kind[kind], wide, value), width, label="result")
    return value


def _is_one(node: Node) -> bool:
    return node.op == "const" and node.value == 1


def effect_nodes(pipeline: Pipeline) -> list[Node]:
    """Every node that an effect uses directly."""
    found = [*(node for places in pipeline.places for node in places), *pipeline.needs.values(), *pipeline.takes.values()]
    found += [node for put in pipeline.next.values() for node in (put.enable, put.data)]
    found += [node for select in pipeline.selects for node in (select.enable, select.index)]
    found += [node for put in pipeline.puts.values() for node in (put.enable, put.data)]
    found += [node for write in pipeline.writes for node in (write.enable, write.index, write.data)]
    found += [node for message in pipeline.messages for node in (message.enable, *message.arguments)]
    found += [node for assertion in pipeline.assertions for node in (assertion.enable, assertion.condition)]
    found += [node for node in (pipeline.any_of, pipeline.result) if node is not None]
    return found
