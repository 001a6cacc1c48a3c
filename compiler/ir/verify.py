# SPDX-License-Identifier: Apache-2.0
"""Whether an element keeps the rules of `ir.py`; a pass that breaks them stops here, with the node's position."""

from __future__ import annotations

from compiler.ir.ir import OPERATORS, ElementIr, Node, Transition, updates
from compiler.ir.operators import COMPARISONS, SAME_WIDTH, SHIFTS, SOURCES, mask
from compiler.ir.rewrite import order, roots

ARGUMENTS = (
    dict.fromkeys(SOURCES, 0) | dict.fromkeys(SAME_WIDTH | COMPARISONS | SHIFTS, 2)
    | dict.fromkeys(("read", "lookup", "not", "extract", "zext", "sext"), 1) | {"mux": 3, "place": 6}
)  # fmt: skip
NEEDS_SOURCES = frozenset({"const", "register", "head", "available", "choice"})


class VerifyError(Exception):
    """A broken rule; a bug of the compiler."""


def verify(element: ElementIr) -> ElementIr:
    """The element itself. VerifyError: it breaks a rule."""
    for port in (*element.inputs, *element.outputs):
        _demand(port.width > 0, f"port {port.name} has no bits")
    for name, register in element.registers.items():
        _demand(name == register.name and register.width > 0 and 0 <= register.reset <= mask(register.width), f"register {name}")
    for name, memory in element.memories.items():
        _demand(name == memory.name and memory.width > 0 and memory.entries > 0, f"memory {name}")
        fits = all(0 <= i < memory.entries and 0 <= value <= mask(memory.width) for i, value in memory.reset.items())
        _demand(fits, f"reset of memory {name}")
    for transition in (element.handler, *element.signals):
        _Checker(element, transition).check()
    return element


def _demand(holds: bool, text: str, node: Node | None = None) -> None:
    if not holds:
        place = f"{node.span}: " if node is not None and node.span else ""
        detail = f" in {node.op}({', '.join(str(arg.width) for arg in node.args)}) : {node.width}" if node is not None else ""
        raise VerifyError(f"{place}{text}{detail}")


class _Checker:
    def __init__(self, element: ElementIr, transition: Transition) -> None:
        self.element = element
        self.transition = transition
        self.inputs = {port.name: port.width for port in element.inputs}
        self.outputs = {port.name: port.width for port in element.outputs}
        self.arguments = dict(transition.arguments)

    def check(self) -> None:
        _acyclic(roots(self.transition))
        _demand(len(updates(order(roots(self.transition)))) <= 1, "more than one table update")
        placed = [node for node in order(roots(self.transition)) if node.op == "place"]
        _demand(set(placed) == set(self.transition.places), "a place without a turn")
        _demand(len(placed) == len(self.transition.places), "a place with two turns")
        for node in order(roots(self.transition)):
            self._node(node)
        self._control()
        self._effects()

    def _node(self, node: Node) -> None:
        widths = [arg.width for arg in node.args]
        _demand(node.op in OPERATORS, "unknown operator", node)
        _demand(node.width > 0, "no bits", node)
        if node.op == "concat":
            _demand(bool(widths) and sum(widths) == node.width, "widths do not add up", node)
            return
        if node.op in ("insert", "remove"):
            self._update(node, widths)
            return
        _demand(len(widths) == ARGUMENTS[node.op], "number of arguments", node)
        match node.op:
            case "const":
                _demand(0 <= node.value <= mask(node.width), "value does not fit its width", node)
            case "extract":
                _demand(node.low >= 0 and node.low + node.width <= widths[0], "bits out of range", node)
            case "zext" | "sext":
                _demand(widths[0] <= node.width, "argument wider than the result", node)
            case "mux":
                _demand(widths == [1, node.width, node.width], "widths", node)
            case "not":
                _demand(widths == [node.width], "widths", node)
            case "place":
                flows = self.element.flows.get(node.name)
                _demand(flows is not None, "unknown flow table", node)
                assert flows is not None
                _demand(widths == [1, 1, 1, flows.key, 32, flows.set_bits] and node.width == flows.width, "widths", node)
            case op if op in SAME_WIDTH:
                _demand(widths == [node.width, node.width], "widths", node)
            case op if op in COMPARISONS:
                _demand(node.width == 1 and widths[0] == widths[1], "widths", node)
            case op if op in SHIFTS:
                _demand(widths[0] == node.width, "widths", node)
            case _:
                self._named(node)

    def _named(self, node: Node) -> None:
        """Sources and reads: what they name is there, and as wide."""
        known = {
            "register": {name: register.width for name, register in self.element.registers.items()},
            "head": self.inputs,
            "available": dict.fromkeys(self.inputs, 1),
            "argument": self.arguments,
            "choice": {"now": 64},
            "read": {name: memory.width for name, memory in self.element.memories.items()},
            "lookup": {name: 1 + table.value for name, table in self.element.tables.items()},
        }[node.op]
        _demand(known.get(node.name) == node.width, f"{node.name} is undefined or has another width", node)
        if node.op == "lookup":
            _demand(node.args[0].width == self.element.tables[node.name].key, "width of the key", node)

    def _update(self, node: Node, widths: list[int]) -> None:
        """Of a table."""
        table = self.element.tables.get(node.name)
        _demand(
            table is not None and self.transition.name != "handler", "table update outside a signal, or of an unknown table", node
        )
        assert table is not None
        key, number = [table.key], [16]
        wanted = {"exact": key, "lpm": key + number, "ternary": key + key + number}[table.kind]
        wanted = [*wanted, table.value] if node.op == "insert" else wanted[-1:] if table.kind == "ternary" else wanted
        _demand(widths == wanted, "widths", node)

    def _control(self) -> None:
        """What decides whether the iteration begins."""
        transition = self.transition
        for port, need in transition.needs.items():
            _demand(port in self.inputs and need.width == 1, f"need of {port}")
        any_of = [transition.any_of] if transition.any_of is not None else []
        for node in order([*transition.needs.values(), *any_of]):
            _demand(bool(node.args) or node.op in NEEDS_SOURCES, "the start of an iteration depends on this", node)
        for node in any_of:
            _demand(node.width == 1, "any_of", node)
        if transition.name != "handler":
            sources = {node.op for node in order(roots(transition))}
            _demand(not sources & {"head", "available"} and not transition.needs, "a signal reads a port")
            _demand(not (transition.takes or transition.puts or any_of), "a signal moves a token")

    def _effects(self) -> None:
        transition = self.transition
        for port, take in transition.takes.items():
            _demand(port in self.inputs and take.width == 1, f"take of {port}")
        for port, put in transition.puts.items():
            _demand(put.enable.width == 1 and self.outputs.get(port) == put.data.width, f"put to {port}")
        for name, node in transition.next.items():
            _demand(name in self.element.registers and self.element.registers[name].width == node.width, f"next of {name}", node)
        for write in transition.writes:
            memory = self.element.memories.get(write.memory)
            _demand(memory is not None and memory.width == write.data.width and write.enable.width == 1, f"write to {write.memory}")
        for select in transition.selects:
            _demand(select.enable.width == 1 and set(select.ports) <= set(self.inputs), "select")
            _demand(select.last in self.element.registers, f"select without {select.last}")
            _demand(not select.inside or select.inside in self.element.registers, f"select without {select.inside}")
        for message in transition.messages:
            _demand(message.enable.width == 1 and len(message.arguments) == len(message.signed), f"message {message.text!r}")
        for assertion in transition.assertions:
            _demand(assertion.enable.width == assertion.condition.width == 1, f"assertion {assertion.text!r}")


def _acyclic(nodes: list[Node]) -> None:
    """Frozen nodes cannot form a cycle by honest means; this catches the others before a walk would not end."""
    state: dict[Node, bool] = {}  # False: on the path
    stack = [(node, 0) for node in nodes]
    while stack:
        node, at = stack.pop()
        if state.get(node):
            continue
        if at == 0:
            _demand(node not in state, "a node depends on itself", node)
            state[node] = False
        if at < len(node.args):
            stack.append((node, at + 1))
            if not state.get(node.args[at], False):
                stack.append((node.args[at], 0))
        else:
            state[node] = True
