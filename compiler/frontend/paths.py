# SPDX-License-Identifier: Apache-2.0
"""Ports that are written twice on one path of a handler: an error in the named form, a warning in the numbered one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass

from compiler.frontend import typed
from compiler.frontend.source import Span

Written = dict[typed.Port, typed.Write]  # the first write of each port on some path to here


@dataclass
class _Loop:
    """What was written where a loop is left, or begun again."""

    breaks: Written | None = None
    continues: Written | None = None


class WritePaths:
    """Follows every path of a block; `report` gets the second and the first write. Writes in `exempt` choose a port by an index."""

    def __init__(self, exempt: set[int], report: Callable[[typed.Write, typed.Write], None]) -> None:
        self.exempt = exempt
        self.report = report
        self.loops: list[_Loop] = []

    def block(self, block: typed.Block, written: Written) -> Written | None:
        """What is written behind a block; None where its end is not reached."""
        for statement in block.statements:
            following = self._statement(statement, written)
            if following is None:
                return None
            written = following
        return written

    def _statement(self, statement: typed.Statement, written: Written) -> Written | None:
        match statement:
            case typed.If(then=then, otherwise=otherwise):
                written = self._calls(statement.condition, written)
                return _join(self.block(then, written), self.block(otherwise, written))
            case typed.Loop():
                return self._loop(statement, written)
            case typed.Break():
                self.loops[-1].breaks = _join(self.loops[-1].breaks, written)
                return None
            case typed.Continue():
                self.loops[-1].continues = _join(self.loops[-1].continues, written)
                return None
            case typed.Return():
                self._calls(statement.value, written)
                return None
            case typed.Write():
                return self._write(statement, self._calls(statement.value, written))
        return self._calls(statement, written)

    def _write(self, write: typed.Write, written: Written) -> Written:
        if id(write) in self.exempt:
            return written
        if write.port in written:
            self.report(write, written[write.port])
            return written
        return {**written, write.port: write}

    def _loop(self, loop: typed.Loop, written: Written) -> Written | None:
        head: Written | None = self._calls(loop.condition, written)
        end = head
        for _ in range(min(loop.bound, 2)):
            if head is None:
                break
            self.loops.append(_Loop())
            behind = self.block(loop.body, head)
            left = self.loops.pop()
            behind = _join(behind, left.continues)
            head = None if behind is None else self.block(loop.step, behind)
            end = _join(_join(end, head), left.breaks)
        return end

    def _calls(self, tree: object, written: Written) -> Written:
        """Functions that are called may write too."""
        for call in _called(tree):
            returned: list[Written] = []
            inner = _Function(self.exempt, self.report, returned)
            end = inner.block(call.function.body, written)
            for state in [*returned, *([end] if end is not None else [])]:
                written = {**written, **state}
        return written


class _Function(WritePaths):
    """As `WritePaths`, and keeps what was written at each `return`."""

    def __init__(self, exempt: set[int], report: Callable[[typed.Write, typed.Write], None], returned: list[Written]) -> None:
        super().__init__(exempt, report)
        self.returned = returned

    def _statement(self, statement: typed.Statement, written: Written) -> Written | None:
        if isinstance(statement, typed.Return):
            self.returned.append(self._calls(statement.value, written))
            return None
        return super()._statement(statement, written)


def _join(one: Written | None, other: Written | None) -> Written | None:
    if one is None or other is None:
        return other if one is None else one
    return {**other, **one}


LEAVES = (typed.Variable, typed.Port, typed.Table, typed.Integer, typed.Struct, Span)  # no call is below them


# Of a class of the tree the fields in which a call can be, once it was seen. A called function has its own paths.
PARTS: dict[type, tuple[str, ...]] = {typed.Call: ("arguments",)}


def _parts(kind: type) -> tuple[str, ...]:
    if kind not in PARTS:
        has_parts = is_dataclass(kind) and not issubclass(kind, LEAVES)
        PARTS[kind] = tuple(part.name for part in fields(kind)) if has_parts else ()
    return PARTS[kind]


def _called(tree: object, found: list[typed.Call] | None = None) -> list[typed.Call]:
    """Every call in a tree, those in its arguments before it."""
    found = [] if found is None else found
    if isinstance(tree, tuple):
        for part in tree:
            _called(part, found)
        return found
    kind = type(tree)
    for name in PARTS[kind] if kind in PARTS else _parts(kind):
        _called(getattr(tree, name), found)
    if isinstance(tree, typed.Call):
        found.append(tree)
    return found
