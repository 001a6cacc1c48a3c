# SPDX-License-Identifier: Apache-2.0
"""Names in a program of the process block: fields of the flow state, of the packet, of global and table state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import sluice_layouts as L

from compiler.pipeline.parser_program import ProgramError

WORD_BYTES = 4
LABEL_BYTE = L.PROCESS_LABEL_LOW // 8


class Holder(Enum):
    """What a field is in."""

    FLOW = auto()
    CONTAINER = auto()
    OTHER = auto()  # of a packet, read only: tick, port; global and table state


@dataclass(frozen=True)
class Field:
    """Bytes of a word: the lowest is byte 0. `word` is one of the flow state, else a source of an input."""

    holder: Holder
    word: int
    byte: int
    size: int


SPECIAL = {
    "tick": Field(Holder.OTHER, L.PROCESS_SOURCE_TICK, 0, 4),
    "port": Field(Holder.OTHER, L.SOURCE_PORT, 2, 2),
    "length": Field(Holder.OTHER, L.SOURCE_LENGTH, 2, 2),
    "headers": Field(Holder.OTHER, L.SOURCE_HEADERS, 2, 2),
}


def flow_field(keys: Mapping[str, Any], words: int) -> Field:
    """`{ word, byte = 0, bytes = 4 }` of the flow state."""
    known(keys, ("word", "byte", "bytes"))
    word = number(keys, "word", None, words - 1)
    byte, size = _bytes(keys, WORD_BYTES)
    if word == 0 and byte + size > LABEL_BYTE:
        raise ProgramError(f"byte {LABEL_BYTE} of word 0 is the label; hint: bytes = {LABEL_BYTE} or less")
    return Field(Holder.FLOW, word, byte, size)


def container(keys: Mapping[str, Any]) -> Field:
    """`{ first, words = 1, byte = 0, bytes }`: one container or two, or bytes of one."""
    known(keys, ("first", "words", "byte", "bytes"))
    words = number(keys, "words", 1, 2)
    first = number(keys, "first", None, L.PIPELINE_CONTAINERS - max(words, 1))
    byte, size = _bytes(keys, 2 * words)
    return Field(Holder.CONTAINER, first, byte + (2 if words == 1 else 0), size)


def shared(keys: Mapping[str, Any]) -> Field:
    """`{ global or table, byte = 0, bytes = 4 }`: a word of 64 bits, of which a field is in one half."""
    known(keys, ("global", "table", "byte", "bytes"))
    if ("global" in keys) == ("table" in keys):
        raise ProgramError("either `global` or `table` is needed")
    kind = "global" if "global" in keys else "table"
    place = number(keys, kind, None, L.PROCESS_SHARED_WORDS - 1) + (L.PROCESS_SHARED_WORDS if kind == "table" else 0)
    byte, size = _bytes(keys, WORD_BYTES, 2 * WORD_BYTES)
    source = L.PROCESS_SOURCE_SHARED + 2 * place + (0 if byte >= WORD_BYTES else 1)
    return Field(Holder.OTHER, source, byte % WORD_BYTES, size)


def _bytes(keys: Mapping[str, Any], most: int, width: int = 0) -> tuple[int, int]:
    byte = number(keys, "byte", 0, (width or most) - 1)
    size = number(keys, "bytes", most - byte % most, WORD_BYTES)
    if size not in (1, 2, 3, 4) or byte % most + size > most:
        raise ProgramError(f"bytes {byte} to {byte + size - 1}; hint: within the {most} of a word")
    return byte, size


def number(keys: Mapping[str, Any], key: str, default: int | None, most: int) -> int:
    """A number from 0 to `most`; without a default it must be there. Raises ProgramError."""
    value = keys.get(key, default)
    if type(value) is not int or not 0 <= value <= most:
        raise ProgramError(f"{key} = {value!r}; hint: a number from 0 to {most}")
    return value


def known(keys: Mapping[str, Any], names: tuple[str, ...]) -> None:
    """Raises ProgramError where a key is none of the names."""
    if unknown := [*(key for key in keys if key not in names)]:
        raise ProgramError(f"unknown key {unknown[0]!r}; hint: {', '.join(names)}")
