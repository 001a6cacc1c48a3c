# SPDX-License-Identifier: Apache-2.0
"""The signals that every table has by itself: `NAME_insert` and `NAME_remove`, by which rules come in from outside.

exact: insert(key, value), remove(key). lpm: insert(key, length, value), remove(key, length), the length of the prefix in bits from
the top. ternary: insert(key, mask, priority, value), remove(priority); a rule has its priority for itself, the highest that matches
wins. A rule that is there already (the same key, prefix, or priority) is replaced. The answer is an errno: 0; ENOSPC, the table
holds as many rules as it is declared for; ENOENT, there is no such rule; EINVAL, a prefix longer than the key. An update that fails
changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.frontend import typed

OK, ENOENT, EINVAL, ENOSPC = 0, 2, 22, 28
NUMBER = typed.Integer(16)  # a prefix length, a priority


def arguments(table: typed.Table, is_insert: bool) -> list[tuple[str, typed.Type]]:
    """Names and types of what an update takes."""
    names: dict[typed.TableKind, list[tuple[str, typed.Type]]] = {
        typed.TableKind.EXACT: [("key", table.key)],
        typed.TableKind.LPM: [("key", table.key), ("length", NUMBER)],
        typed.TableKind.TERNARY: [("key", table.key), ("mask", table.key), ("priority", NUMBER)],
    }
    found = names[table.kind]
    if is_insert:
        return [*found, ("value", table.value)]
    return found[-1:] if table.kind is typed.TableKind.TERNARY else found


def signals(table: typed.Table) -> Iterator[typed.Signal]:
    """Both of them."""
    for word in ("insert", "remove"):
        parameters = tuple(typed.Variable(name, kind, table.span) for name, kind in arguments(table, word == "insert"))
        given = tuple(typed.Load(typed.Place(parameter, (), table.span), table.span) for parameter in parameters)
        update = typed.Update(table, word == "insert", given, table.span)
        body = typed.Block((typed.Return(update, table.span),))
        yield typed.Signal(f"{table.name}_{word}", parameters, update.type, body, table.span)


def updates(element: typed.Element) -> set[str]:
    """The names of the signals that come from tables."""
    return {signal.name for table in element.tables for signal in signals(table)}
