# SPDX-License-Identifier: Apache-2.0
"""Proves of an element that its handler only acts on the first flit of each packet: the packet engine of the CPU
(`host/cpu/packets`) then shows it no other flit.

The claims, for every state and every input. A later flit (`sop` 0): it is taken, alone; registers and memories keep their contents;
nothing else is written, printed or asserted; where it is written, it is as it came. A first flit (`sop` 1): it is taken; where it
is written its framing is that of the flit that came, and it is written to just those outputs that the later flits of its packet,
in the state that it leaves, are written to. Most claims hold by the simplifier of the IR; Z3 decides the others.

Of several inputs of packets one `select` must take them all. The claims then are of each input, a later flit being one that the
`select` is inside of; what it remembers is its own affair, and the engine's `select` is never inside of a packet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compiler.frontend import typed
from compiler.interpreter.guard import fields_of
from compiler.ir import prove
from compiler.ir.build import Builder
from compiler.ir.ir import ElementIr, Node, Put, Select, Transition
from compiler.ir.lower import lower_states
from compiler.ir.memories import LowerError
from compiler.ir.rewrite import order, rewrite_transition, same

EFFORT = 500_000  # of a claim, in Z3's units of resources


def why_not(element: typed.Element, ir: ElementIr | None = None) -> str | None:
    """What keeps the element from seeing first flits alone; None where nothing does. `ir`: where it is known already."""
    packets = [port for port in element.inputs if port.is_packet]
    if not packets:
        return "it has no input of packets"
    if element.numbered:
        return "its ports are numbered"
    try:
        ir = ir or lower_states(element)[0]
    except LowerError as error:
        return f"its transition is not known: {error.text}"
    if len(packets) == 1:
        return _Proof(element, ir, packets[0]).run()
    selects = ir.handler.selects
    if len(selects) != 1 or selects[0].ports != tuple(port.name for port in packets):
        return "it has several inputs of packets, and no select takes them all"
    return next((why for port in packets if (why := _Proof(element, ir, port, selects[0]).run())), None)


def with_sop(element: typed.Element, ir: ElementIr, sop: int) -> list[Transition]:
    """The handler for flits with this `sop`, of each input of packets; nothing where an iteration may be without a flit, or with
    several."""
    packets, selects = [port for port in element.inputs if port.is_packet], ir.handler.selects
    if element.numbered or not packets:
        return []
    need = ir.handler.needs.get(packets[0].name)
    if len(packets) == 1 and not (need and need.op == "const" and need.value == 1):
        return []
    if len(packets) > 1 and (len(selects) != 1 or selects[0].ports != tuple(port.name for port in packets)):
        return []
    proofs = [_Proof(element, ir, port, selects[0] if selects else None) for port in packets]
    return [proof.first if sop else proof.later for proof in proofs]


class _Proof:
    """Of one element and input; `later` and `first` are its handler for flits with `sop` 0 and 1."""

    def __init__(self, element: typed.Element, ir: ElementIr, port: typed.Port, select: Select | None = None) -> None:
        self.ir, self.port, self.select = ir, port, select
        self.fields = fields_of(port.type)
        self.packets = {output.name for output in element.outputs if output.is_packet}
        self.builder = Builder()
        self.later, self.first = self._handler(0), self._handler(1)

    def _handler(self, sop: int) -> Transition:
        known = {("head", self.port.name): self._head(sop)}
        if self.select:
            known["register", self.select.inside] = self._const(1 - sop, 1)
            known["available", self.port.name] = self._const(1, 1)
            if not sop:
                known["register", self.select.last] = self._last()

        def remake(b: Builder, node: Node, args: Sequence[Node]) -> Node:
            return known.get((node.op, node.name)) or same(b, node, args)

        return rewrite_transition(self.ir.handler, remake, self.builder)

    def _last(self) -> Node:
        """What the select remembers of this input."""
        assert self.select
        return self._const(self.select.ports.index(self.port.name), self.ir.registers[self.select.last].width)

    def _const(self, value: int, width: int) -> Node:
        return self.builder.make("const", (), width, value=value)

    def _kept(self, name: str, width: int) -> Node:
        """What a register must hold behind a later flit."""
        if self.select and name == self.select.last:
            return self._last()
        if self.select and name == self.select.inside:
            return self._not(self._field(self._head(0), "eop"))
        return self.builder.exact("register", (), width, name=name)

    def run(self) -> str | None:
        """The first claim that does not hold, in words."""
        return next(self._broken(), None)

    def _broken(self) -> Iterator[str]:
        if not self._is(self.later.takes.get(self.port.name), 1):
            yield "it does not take every later flit"
        if not self.select and not self._is(self.first.takes.get(self.port.name), 1):
            yield "it does not take every first flit"
        yield from self._broken_by_later()
        for name in sorted(self.packets):
            yield from self._broken_at(name)

    def _broken_by_later(self) -> Iterator[str]:
        later = self.later
        for name, node in later.takes.items():
            if name != self.port.name and not self._is(node, 0):
                yield f"a later flit may take a token from '{name}'"
        for name, node in later.next.items():
            if not self._equal(node, self._kept(name, node.width)):
                yield f"a later flit may change '{self.ir.registers[name].label or name}'"
        for write in later.writes:
            if not self._is(write.enable, 0):
                yield f"a later flit may change '{self.ir.memories[write.memory].label or write.memory}'"
        for name, put in later.puts.items():
            if name not in self.packets and not self._is(put.enable, 0):
                yield f"a later flit may write a token to '{name}'"
        if not all(self._is(bit, 0) for bit in [*(m.enable for m in later.messages), *(a.enable for a in later.assertions)]):
            yield "a later flit may print or fail"

    def _broken_at(self, output: str) -> Iterator[str]:
        zero = self.builder.make("const", (), 1)
        nothing = Put(zero, zero)
        put, first = self.later.puts.get(output, nothing), self.first.puts.get(output, nothing)
        taken = self.first.takes.get(self.port.name, zero)
        first = Put(self._and(first.enable, taken), first.data)
        if not self._is(put.enable, 0):
            if any((node.op not in ("register", "const") and not node.args) or node.op == "read" for node in order([put.enable])):
                yield f"what it does with a later flit at '{output}' depends on more than its registers"
                return
            if not self._equal(put.data, self._head(0), put.enable):
                yield f"it may change a later flit at '{output}'"
        if not self._is(first.enable, 0):
            yield from self._broken_framing(output, first)
        if not self._equal(self._and(self._behind_first(put.enable), taken), first.enable):
            yield f"later flits at '{output}' do not follow the first"

    def _broken_framing(self, output: str, first: Put) -> Iterator[str]:
        eop, empty = self._field(self._head(1), "eop"), self._field(first.data, "empty")
        is_same = self._equal(self._field(first.data, "sop"), self.builder.make("const", (), 1, value=1), first.enable)
        is_same = is_same and self._equal(self._field(first.data, "eop"), eop, first.enable)
        if not is_same:
            yield f"it may change where packets begin or end at '{output}'"
        # A first flit that is not the last has no unused bytes, as it came.
        came = self._field(self._head(1), "empty")
        is_whole = self._and(first.enable, self._and(self._not(eop), self._eq(came, 0)))
        if not self._equal(empty, self.builder.make("const", (), empty.width), is_whole):
            yield f"it may shorten the first flit at '{output}'"

    # Terms

    def _head(self, sop: int) -> Node:
        """The flit that came."""
        low, _ = self.fields["sop"]
        b, width = self.builder, self.port.type.bits
        head = b.exact("head", (), width, name=self.port.name)
        above = b.make("extract", (head,), width - low - 1, low=low + 1)
        below = b.make("extract", (head,), low, low=0)
        return b.make("concat", [above, b.make("const", (), 1, value=sop), below], width)

    def _field(self, flit: Node, name: str) -> Node:
        low, bits = self.fields[name]
        return self.builder.make("extract", (flit,), bits, low=low)

    def _behind_first(self, node: Node) -> Node:
        """A function of registers, in the state that the first flit leaves."""
        made: dict[Node, Node] = {}
        for part in order([node]):
            made[part] = (
                self.first.next.get(part.name, part)
                if part.op == "register"
                else same(self.builder, part, [made[arg] for arg in part.args])
            )
        return made[node]

    def _not(self, node: Node) -> Node:
        return self.builder.make("not", (node,), node.width)

    def _and(self, a: Node, b: Node) -> Node:
        return self.builder.make("and", (a, b), a.width)

    def _eq(self, node: Node, value: int) -> Node:
        return self.builder.make("eq", (node, self.builder.make("const", (), node.width, value=value)), 1)

    # Claims

    def _is(self, node: Node | None, value: int) -> bool:
        if node is None:
            return value == 0
        return self._equal(node, self._const(value, node.width))

    def _equal(self, a: Node, b: Node, where: Node | None = None) -> bool:
        """Whether two values are the same, where a bit is 1."""
        if a is b:
            return True
        if a.op == b.op == "const" and where is None:
            return a.value == b.value
        return prove.follows(self.ir, [where] if where else [], a, b, EFFORT)
