# SPDX-License-Identifier: Apache-2.0
"""Dead code: effects that never happen, registers that keep their value, the compiler's own registers that nothing reads.

Nodes that no effect needs are gone by themselves. States of the source stay: the final state is compared, and may be shown.
"""

from __future__ import annotations

from dataclasses import replace

from compiler.ir.ir import ElementIr, Node, Transition
from compiler.ir.local import is_const, is_zero
from compiler.ir.rewrite import each, order, roots


def run(element: ElementIr) -> ElementIr:
    """Handler and signals, then the registers."""
    made = each(element, _transition)
    while True:
        transitions = (made.handler, *made.signals)
        selecting = {name for t in transitions for select in t.selects for name in (select.last, select.inside)}
        dead = {name for name, r in made.registers.items() if not r.label and name not in selecting and not _read(made, name)}
        if not dead:
            return made
        made = each(made, lambda t, gone=dead: replace(t, next={n: node for n, node in t.next.items() if n not in gone}))  # type: ignore[misc]
        made = replace(made, registers={name: r for name, r in made.registers.items() if name not in dead})


def _read(element: ElementIr, name: str) -> bool:
    """Whether anything but the register's own next value depends on it."""
    for transition in (element.handler, *element.signals):
        others = replace(transition, next={n: node for n, node in transition.next.items() if n != name})
        if any(node.op == "register" and node.name == name for node in order(roots(others))):
            return True
    return False


def _keeps(name: str, node: Node) -> bool:
    return node.op == "register" and node.name == name


def _transition(t: Transition) -> Transition:
    return replace(
        t,
        needs={port: node for port, node in t.needs.items() if not is_zero(node)},
        any_of=None if t.any_of is None or is_const(t.any_of, 1) else t.any_of,
        selects=tuple(select for select in t.selects if not is_zero(select.enable)),
        takes={port: node for port, node in t.takes.items() if not is_zero(node)},
        puts={port: put for port, put in t.puts.items() if not is_zero(put.enable)},
        next={name: node for name, node in t.next.items() if not _keeps(name, node)},
        writes=tuple(write for write in t.writes if not is_zero(write.enable)),
        messages=tuple(message for message in t.messages if not is_zero(message.enable)),
        assertions=tuple(a for a in t.assertions if not is_zero(a.enable) and not is_const(a.condition, 1)),
    )
