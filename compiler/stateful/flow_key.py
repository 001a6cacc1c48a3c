# SPDX-License-Identifier: Apache-2.0
"""The flows of a program of the stateful unit: `[key]` of its file. Which packets are of one flow, which of them make a flow, when
it is gone, and whether the flows of the program before are taken over."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sluice_layouts as L

from compiler.pipeline.parser_program import ProgramError
from compiler.stateful.places import SPECIAL, Field, Holder, known, number

KEYS = ("fields", "timeout", "insert", "evict", "state")
NO_SOURCE = 63  # of a word of the key: reads 0; of `insert`: all ones
READ = {"port": L.SOURCE_PORT, "length": L.SOURCE_LENGTH, "headers": L.SOURCE_HEADERS}
WORD = 0xFFFF


@dataclass(frozen=True)
class FlowKey:
    """The selector, with epoch 0; microseconds until a flow without packets is gone, 0 for never; whether a full set makes room;
    and whether flows of the program before are kept."""

    selector: L.FlowSelector
    words: int
    timeout: int = 0
    evict: bool = True
    keep: bool = False


def flow_key(table: Mapping[str, Any], fields: Mapping[str, Field]) -> FlowKey:
    """`{ fields, timeout, insert, evict, state }`; without fields all packets are of one flow. Raises ProgramError."""
    known(table, KEYS)
    names = table.get("fields", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ProgramError('fields is not a list of names; hint: fields = ["...", "..."]')
    chosen = [word for name in names for word in _words(name, fields)]
    if len(chosen) > L.FLOW_KEY_WORDS:
        raise ProgramError(f"{len(chosen)} words of 16 bits; hint: at most {L.FLOW_KEY_WORDS}")
    if len({source for source, _ in chosen}) < len(chosen):
        raise ProgramError("two fields are in one word; hint: a field of the whole word")
    chosen.reverse()  # word 0 is the last
    words = [source for source, _ in chosen] + [NO_SOURCE] * (L.FLOW_KEY_WORDS - len(chosen))
    mask = sum(bits << 16 * at for at, (_, bits) in enumerate(chosen))
    evict, state = table.get("evict", True), table.get("state", "clear")
    if not isinstance(evict, bool):
        raise ProgramError(f"evict = {evict!r}; hint: true or false")
    if state not in ("keep", "clear"):
        raise ProgramError(f'state = {state!r}; hint: "keep" or "clear"')
    selector = L.FlowSelector(words, mask, 0, *_insert(table.get("insert", True), fields))
    return FlowKey(selector, len(chosen), number(table, "timeout", 0, (1 << 32) - 1), evict, state == "keep")


def _insert(text: Any, fields: Mapping[str, Field]) -> tuple[int, int]:
    """Source and mask of the packets that make a flow."""
    if isinstance(text, bool):
        return NO_SOURCE, WORD if text else 0
    matched = re.fullmatch(r"\s*(\w+)\s*&\s*(0[xX][0-9a-fA-F]+|\d+)\s*", text) if isinstance(text, str) else None
    if not matched:
        raise ProgramError(f'insert = {text!r}; hint: true, false, or "FIELD & NUMBER"')
    words = _words(matched[1], fields)
    if len(words) != 1:
        raise ProgramError(f"insert: {matched[1]} has {len(words)} words of 16 bits; hint: a field in one")
    source, mask = words[0]
    bits = int(matched[2], 0) << (mask & -mask).bit_length() - 1
    if bits & ~mask or not bits:
        raise ProgramError(f"insert: {matched[2]} has no bit of {matched[1]}, or others")
    return source, bits


def _words(name: str, fields: Mapping[str, Field]) -> list[tuple[int, int]]:
    """Sources of a field, the high one first, each with the bits of it that are in the field."""
    if name in READ:
        return [(READ[name], WORD)]
    place = fields.get(name)
    if place is None and name not in SPECIAL:
        raise ProgramError(f"undefined name {name!r}; hint: {', '.join([*fields, *READ])}")
    if place is None or place.holder is not Holder.CONTAINER:
        raise ProgramError(f"{name} cannot be in a key; hint: a field of `containers`, or {', '.join(READ)}")
    bits = (1 << 8 * place.size) - 1 << 8 * place.byte  # of the containers `word` and the next one, as 32 bits
    halves = (place.word, bits >> 16), (place.word + 1, bits & WORD)
    return [(source, half) for source, half in halves if half]
