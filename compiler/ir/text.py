# SPDX-License-Identifier: Apache-2.0
"""The IR as text, one node a line, and back. Positions are printed for people; reading the text gives none.

element Count
input in 605 packet
register count 64 reset 0 label "count"
transition "handler" ()
  %0 : 605 = head in
  %1 : 1 = extract %0 low 517                # x.sop  count.sl:6:13
  need in %2
  next count %5
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from compiler.frontend.source import Source, Span
from compiler.ir.ir import (
    OPERATORS,
    Assertion,
    ElementIr,
    Flows,
    Framing,
    Memory,
    MemoryWrite,
    Message,
    Node,
    PortInfo,
    Put,
    Register,
    Select,
    Table,
    Transition,
)
from compiler.ir.rewrite import order, roots

COMMENT_COLUMN = 44
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\{[^}]*\}|#.*|[^\s(),:=]+|[(),:=]')


def show(element: ElementIr) -> str:
    """The whole element."""
    lines = [f"element {element.name}"]
    for word, ports in (("input", element.inputs), ("output", element.outputs)):
        lines += [f"{word} {port.name} {port.width}{' packet' if port.is_packet else ''}{_guard(port)}" for port in ports]
    for register in element.registers.values():
        lines.append(f"register {register.name} {register.width} reset {register.reset:#x} label {json.dumps(register.label)}")
    for memory in element.memories.values():
        reset = json.dumps({str(index): value for index, value in memory.reset.items()})
        lines.append(f"memory {memory.name} {memory.width} entries {memory.entries} reset {reset} label {json.dumps(memory.label)}")
    for table in element.tables.values():
        lines.append(f"table {table.name} {table.kind} {table.key} to {table.value} entries {table.entries}")
    for flows in element.flows.values():
        evicts = " evicts" if flows.evicts else ""
        lines.append(f"flows {flows.name} {flows.key} sets {flows.sets} ways {flows.ways} timeout {flows.timeout}{evicts}")
    for transition in (element.handler, *element.signals):
        lines += show_transition(transition)
    return "\n".join(lines) + "\n"


def _guard(port: PortInfo) -> str:
    g = port.guard
    return f" guard sop {g.sop} eop {g.eop} error {g.error} empty {g.empty} {g.empty_width}" if g else ""


def show_transition(transition: Transition) -> list[str]:
    """Its lines: the nodes, then what it does with them."""
    arguments = ", ".join(f"{name} : {width}" for name, width in transition.arguments)
    nodes = order(roots(transition))
    number = {node: f"%{i}" for i, node in enumerate(nodes)}
    every = f" every {transition.every}" if transition.every else ""
    lines = [f"transition {json.dumps(transition.name)} ({arguments}){every}"]
    lines += [_commented(_node_line(node, number), node) for node in nodes]
    return lines + ["  " + line for line in _effects(transition, number)]


def _node_line(node: Node, number: dict[Node, str]) -> str:
    words = [node.op, *(number[arg] for arg in node.args)]
    if node.op == "const":
        words.append(hex(node.value))
    if node.op == "extract":
        words += ["low", str(node.low)]
    if node.op == "place":
        words += ["turn", str(node.value)]
    if node.name:
        words.append(node.name)
    return f"  {number[node]} : {node.width} = {' '.join(words)}"


def _commented(line: str, node: Node) -> str:
    note = "  ".join(filter(None, (node.label, str(node.span) if node.span else "")))
    return f"{line:<{COMMENT_COLUMN}} # {note}" if note else line


def _effects(transition: Transition, number: dict[Node, str]) -> Iterator[str]:
    for port, node in transition.needs.items():
        yield f"need {port} {number[node]}"
    if transition.any_of is not None:
        yield f"any_of {number[transition.any_of]}"
    for select in transition.selects:
        last = f"{select.last} {select.inside or '-'}"
        yield f"select {number[select.enable]} {number[select.index]} {last} {' '.join(select.ports)}"
    for port, node in transition.takes.items():
        yield f"take {port} {number[node]}"
    for port, put in transition.puts.items():
        yield f"put {port} {number[put.enable]} {number[put.data]}"
    for name, node in transition.next.items():
        yield f"next {name} {number[node]}"
    for write in transition.writes:
        yield f"write {write.memory} {number[write.enable]} {number[write.index]} {number[write.data]}"
    for message in transition.messages:
        shown = (f" {'signed' if s else 'unsigned'} {number[a]}" for a, s in zip(message.arguments, message.signed, strict=True))
        yield f"message {number[message.enable]} {json.dumps(message.text)}{''.join(shown)}"
    for assertion in transition.assertions:
        yield f"assert {number[assertion.enable]} {number[assertion.condition]} {json.dumps(assertion.text)}"
    if transition.result is not None:
        yield f"result {number[transition.result]}"


class TextError(Exception):
    """A line that is no IR."""


class _Transition:
    """What has been read of a transition."""

    def __init__(self, name: str, arguments: tuple[tuple[str, int], ...], every: int) -> None:
        self.nodes: dict[str, Node] = {}
        self.fields: dict[str, Any] = {
            "name": name, "arguments": arguments, "every": every, "needs": {}, "any_of": None, "takes": {}, "puts": {}, "next": {},
            "writes": [], "messages": [], "assertions": [], "selects": [], "result": None, "places": [],
        }  # fmt: skip

    def node(self, words: list[str]) -> None:
        """`%n : width = op ...`"""
        name, width, op, rest = words[0], int(words[2]), words[4], words[5:]
        args = tuple(self.nodes[word] for word in rest if word.startswith("%"))
        plain = [word for word in rest if not word.startswith("%")]
        if op not in OPERATORS:
            raise KeyError(op)
        value, low, text = 0, 0, ""
        if op == "const":
            value = int(plain[0], 0)
        elif op == "extract":
            low = int(plain[1])
        elif op == "place":
            value, text = int(plain[1]), plain[2]
        elif plain:
            text = plain[0]
        self.nodes[name] = Node(op, args, width, value, low, text)
        if op == "place":
            self.fields["places"].append(self.nodes[name])

    def effect(self, words: list[str]) -> None:
        """A line that is no node."""
        kind, rest = words[0], words[1:]
        at = self.nodes.__getitem__
        fields = self.fields
        keyed: dict[str, tuple[str, Callable[[list[str]], object]]] = {
            "need": ("needs", lambda w: at(w[0])),
            "take": ("takes", lambda w: at(w[0])),
            "put": ("puts", lambda w: Put(at(w[0]), at(w[1]))),
            "next": ("next", lambda w: at(w[0])),
        }
        listed: dict[str, tuple[str, Callable[[list[str]], object]]] = {
            "write": ("writes", lambda w: MemoryWrite(w[0], at(w[1]), at(w[2]), at(w[3]))),
            "select": ("selects", lambda w: Select(tuple(w[4:]), at(w[0]), at(w[1]), w[2], w[3].strip("-"))),
            "assert": ("assertions", lambda w: Assertion(at(w[0]), at(w[1]), json.loads(w[2]))),
            "message": ("messages", lambda w: _message(w, at)),
        }
        if kind in keyed:
            fields[keyed[kind][0]][rest[0]] = keyed[kind][1](rest[1:])
        elif kind in listed:
            fields[listed[kind][0]].append(listed[kind][1](rest))
        elif kind in ("any_of", "result"):
            fields[kind] = at(rest[0])
        else:
            raise KeyError(kind)

    def finish(self) -> Transition:
        listed = {name: tuple(self.fields[name]) for name in ("writes", "messages", "assertions", "selects", "places")}
        return Transition(**(self.fields | listed))


def _message(words: list[str], at: Callable[[str], Node]) -> Message:
    arguments = tuple(at(word) for word in words[3::2])
    return Message(at(words[0]), json.loads(words[1]), arguments, tuple(word == "signed" for word in words[2::2]))


def parse(text: str, name: str = "<ir>") -> ElementIr:
    """Read what `show` wrote. TextError: a line that it did not."""
    reader = _Reader(Span(Source(name, text), 0, len(text)))
    for number, line in enumerate(text.splitlines(), 1):
        words = [word for word in TOKEN.findall(line) if not word.startswith("#")]
        if not words:
            continue
        try:
            reader.line(words)
        except (KeyError, ValueError, IndexError) as error:
            raise TextError(f"{name}:{number}: not understood: {line.strip()}") from error
    return reader.finish()


class _Reader:
    def __init__(self, span: Span) -> None:
        self.span = span
        self.name = ""
        self.inputs: list[PortInfo] = []
        self.outputs: list[PortInfo] = []
        self.registers: dict[str, Register] = {}
        self.memories: dict[str, Memory] = {}
        self.tables: dict[str, Table] = {}
        self.flows: dict[str, Flows] = {}
        self.transitions: list[_Transition] = []

    def line(self, words: list[str]) -> None:
        match words:
            case ["element", name]:
                self.name = name
            case ["input" | "output" as word, name, width, *more]:
                guard = Framing(*(int(number) for number in more[2:] if number.isdigit())) if "guard" in more else None
                (self.inputs if word == "input" else self.outputs).append(PortInfo(name, int(width), "packet" in more, guard))
            case ["register", name, width, "reset", reset, "label", label]:
                self.registers[name] = Register(name, int(width), int(reset, 0), json.loads(label))
            case ["memory", name, width, "entries", entries, "reset", reset, "label", label]:
                contents = {int(index): value for index, value in json.loads(reset).items()}
                self.memories[name] = Memory(name, int(width), int(entries), contents, json.loads(label))
            case ["table", name, kind, key, "to", value, "entries", entries]:
                self.tables[name] = Table(name, kind, int(key), int(value), int(entries))
            case ["flows", name, key, "sets", sets, "ways", ways, "timeout", timeout, *evicts]:
                self.flows[name] = Flows(name, int(key), int(sets), int(ways), int(timeout), bool(evicts))
            case ["transition", name, *arguments]:
                end = arguments.index(")")
                pairs = [word for word in arguments[:end] if word not in ("(", ",", ":")]
                every = int(arguments[end + 2]) if arguments[end + 1 :] else 0
                widths = map(int, pairs[1::2])
                self.transitions.append(_Transition(json.loads(name), tuple(zip(pairs[::2], widths, strict=True)), every))
            case [name, ":", *_] if name.startswith("%"):
                self.transitions[-1].node(words)
            case _:
                self.transitions[-1].effect(words)

    def finish(self) -> ElementIr:
        handler, *signals = [transition.finish() for transition in self.transitions]
        ports = tuple(self.inputs), tuple(self.outputs)
        states = self.registers, self.memories
        return ElementIr(self.name, *ports, *states, handler, tuple(signals), self.span, self.tables, self.flows)
