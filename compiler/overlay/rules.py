# SPDX-License-Identifier: Apache-2.0
"""The rules of a program's tables, from a plain file; docs/guide/deploy.md describes it.

# table  key                                    -> value
routes   10.0.1.0/24                            -> lane 1, next_hop 02:00:00:00:00:05
filter   ip_src 10.0.0.0/8, l4_dst 80           -> action 2
"""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from compiler.frontend import typed
from compiler.frontend.source import Source, Span, closest
from compiler.overlay.bits import OverlayError

LINE = re.compile(r"\s*(?P<table>[\w.]+)\s+(?P<key>.*?)\s*->\s*(?P<value>.*?)\s*")
TEXT = re.compile(r'"[^"]*"')
HOST_TABLE = "the overlay takes rules of the elements in it; put this element there, or remove the rule"
MAC = re.compile(r"[0-9a-fA-F]{1,2}(:[0-9a-fA-F]{1,2}){5}")


@dataclass(frozen=True)
class Rule:
    """A rule: keys that agree with `value` under `mask` give `result` (a bit that says that a rule matches, the table's value
    below); `arguments` are those of the table's signal."""

    value: int
    mask: int
    result: int
    arguments: tuple[int, ...]
    span: Span


def tables_of(instances: Iterable[typed.Instance]) -> dict[str, tuple[str, typed.Table]]:
    """Instance and table, by the name that rules have: the table's, behind that of its instance where another has such a table."""
    found = [(i.name, table) for i in instances for table in i.element.tables]
    known = Counter(table.name for _, table in found)
    return {table.name if known[table.name] == 1 else f"{name}.{table.name}": (name, table) for name, table in found}


def read_rules(source: Source, tables: Mapping[str, typed.Table], elsewhere: Set[str] = frozenset()) -> dict[str, list[Rule]]:
    """The rules of each table, by the name that it has here, the first that matches first. Raises OverlayError with the place in
    the file, also for rules of tables that are `elsewhere`."""
    found: dict[str, list[Rule]] = {name: [] for name in tables}
    starts = [0]
    for line in source.text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
        text, span = line.split("#")[0], Span(source, starts[-2], starts[-1] - 1)
        if not text.strip():
            continue
        match = LINE.fullmatch(text)
        if match is None:
            raise _error("not a rule", span, "TABLE KEY -> VALUE, as in: routes 10.0.1.0/24 -> lane 1")
        if match["table"] in elsewhere:
            raise _error(f"'{match['table']}' is a table of an element on the host", _part(span, match, "table"), HOST_TABLE)
        if match["table"] not in tables:
            near = closest(match["table"], list(tables))
            known = f"did you mean '{near}'?" if near else f"the tables are {', '.join(tables) or 'none'}"
            raise _error(f"unknown table '{match['table']}'", _part(span, match, "table"), known)
        table = tables[match["table"]]
        rules = found[match["table"]]
        priority = len(source.text) - len(rules)
        rules.append(_rule(table, match, span, min(priority, 0xFFFF - len(rules))))
    return {name: _ordered(tables[name], rules) for name, rules in found.items()}


def signals(tables: Mapping[str, tuple[str, typed.Table]], rules: Mapping[str, Sequence[Rule]]) -> list[str]:
    """What `--signal` takes to insert the rules before the first packet."""
    found = ((*tables[name], rule) for name, some in rules.items() for rule in some)
    return [f"{instance}.{table.name}_insert:{','.join(map(hex, rule.arguments))}@0" for instance, table, rule in found]


def _error(text: str, span: Span, hint: str) -> OverlayError:
    return OverlayError("E0810", text, span, hint)


def _part(span: Span, match: re.Match[str], name: str) -> Span:
    return Span(span.source, span.start + match.start(name), span.start + max(match.end(name), match.start(name) + 1))


def _ordered(table: typed.Table, rules: list[Rule]) -> list[Rule]:
    if len(rules) > table.entries:
        text = f"{len(rules)} rules; '{table.name}' is declared with {table.entries}"
        raise _error(text, rules[table.entries].span, "fewer rules, or a larger table")
    keys: dict[tuple[int, int], Rule] = {}
    for rule in rules:
        if table.kind is not typed.TableKind.TERNARY and (rule.value, rule.mask) in keys:
            raise _error(f"a second rule of '{table.name}' with this key", rule.span, "remove one of them")
        keys[rule.value, rule.mask] = rule
    return sorted(rules, key=lambda rule: -rule.mask) if table.kind is typed.TableKind.LPM else rules


def _rule(table: typed.Table, match: re.Match[str], span: Span, priority: int) -> Rule:
    value, mask = _fields(table.key, match["key"], _part(span, match, "key"), True)
    result, _ = _fields(table.value, match["value"], _part(span, match, "value"), False)
    everything = (1 << table.key.bits) - 1
    here = _part(span, match, "key")
    arguments: tuple[int, ...]
    match table.kind:
        case typed.TableKind.EXACT:
            if mask != everything:
                raise _error(f"'{table.name}' is exact, and this key is not complete", here, "give every field without a mask")
            arguments = (value, result)
        case typed.TableKind.LPM:
            length = mask.bit_count()
            if mask != everything ^ everything >> length:
                raise _error(f"'{table.name}' takes prefixes", here, "ADDRESS/LENGTH")
            arguments = (value, length, result)
        case _:
            arguments = (value, mask, priority, result)
    return Rule(value & mask, mask, 1 << table.value.bits | result, arguments, span)


def _fields(kind: typed.Type, text: str, span: Span, is_key: bool) -> tuple[int, int]:
    """Value and mask of a key or value: `WORD` of an integer, `FIELD WORD, ...` of a struct."""
    if not isinstance(kind, typed.Struct):
        return _word(text, kind.bits, span, is_key)
    value, mask = 0, 0
    known = {field.name: field for field in kind.fields}
    for one in filter(None, (part.strip() for part in text.split(","))):
        name, _, word = one.partition(" ")
        if name not in known:
            near = closest(name, list(known))
            hint = f"did you mean '{near}'?" if near else f"the fields are {', '.join(known)}"
            raise _error(f"{kind.name} has no field '{name}'", span, hint)
        low, bits = known[name].low, known[name].type.bits
        found, cares = _word(word.strip(), bits, span, is_key)
        value, mask = value | found << low, mask | cares << low
    return value, mask


def _word(text: str, bits: int, span: Span, is_key: bool) -> tuple[int, int]:
    """A number, an address, or one with a prefix length or mask behind a slash."""
    number, slash, cares = text.partition("/")
    everything = (1 << bits) - 1
    value, mask = _text(number, bits) if TEXT.fullmatch(number) else _number(number, span), everything
    if slash and not is_key:
        raise _error(f"'{text}' has a mask", span, "a value has none")
    if slash and cares.isdigit():
        length = int(cares)
        if length > bits:
            raise _error(f"a prefix of {length} bits; the field has {bits}", span, f"0 to {bits}")
        mask = everything ^ everything >> length
    elif slash:
        mask = _number(cares, span)
    if value > everything or mask > everything:
        raise _error(f"'{text}' does not fit into {bits} bits", span, f"at most {everything:#x}")
    if value & ~mask:
        raise _error(f"'{text}' has bits outside of its mask", span, f"{value & mask:#x}")
    return value, mask


def _text(text: str, bits: int) -> int:
    """Characters, the first in the highest bits."""
    data = text[1:-1].encode()
    return int.from_bytes(data, "big") << max(0, bits - 8 * len(data))


def _number(text: str, span: Span) -> int:
    try:
        if MAC.fullmatch(text):
            return int("".join(f"{int(byte, 16):02x}" for byte in text.split(":")), 16)
        return int(ipaddress.ip_address(text)) if "." in text or ":" in text else int(text, 0)
    except ValueError as error:
        raise _error(
            f"'{text}' is no number or address", span, '17, 0x11, 10.0.0.1, 2001:db8::1, 02:00:00:00:00:01 or "text"'
        ) from error
