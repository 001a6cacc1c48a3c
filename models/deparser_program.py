# SPDX-License-Identifier: Apache-2.0
"""Reference model of the programmable deparser: what becomes of a packet whose containers were changed.

A unit is the base that it serves and its rows by the kind of header, as in `compiler.pipeline.parser_program.DeparserProgram`. A
container goes where the last writer says that has a row for it; several of one row of the crossbar that would go to one column of a
flit go nowhere; a word that several of the others go to stays as it is. The loader refuses programs that ask for any of these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import sluice_layouts as L

Writers = Sequence[tuple[int, Mapping[int, L.DeparserRow]]]
Checksums = Sequence[tuple[int, Mapping[int, L.ChecksumRow]]]
Splices = Sequence[L.SpliceRow]  # number 1 is the first


def deparse(writers: Writers, checksums: Checksums, record: L.Parsed, original: Sequence[int], data: bytes) -> bytes:
    """The packet with the record's containers in its headers; `original` are those that the parser found in it."""
    if record.fault:
        return data
    containers = repaired(checksums, record, original)
    word_of: dict[int, int] = {}  # of the packet, by container
    for number, rows in writers:
        base = record.bases[number]
        if base.valid and base.kind in rows:
            for slot, place in enumerate(rows[base.kind].places):
                container = L.PARSER_SLOTS * (place.row - 1) + slot
                if place.row and container < L.PIPELINE_CONTAINERS:
                    word_of[container] = base.position + place.word
    taken = Counter(_column(container, word) for container, word in word_of.items())
    word_of = {container: word for container, word in word_of.items() if taken[_column(container, word)] == 1}
    written = Counter(word_of.values())
    out = bytearray(data)
    for container, word in word_of.items():
        if written[word] == 1 and 2 * word < L.WINDOW_BYTES:
            out[2 * word : 2 * word + 2] = containers[container].to_bytes(2, "big")
    return bytes(out)


def _column(container: int, word: int) -> tuple[int, int, int]:
    """The row of the container, flit and column of the word that it goes to."""
    return container // L.DEPARSER_ROW, 2 * word // L.DATA_BYTES, word % L.DEPARSER_COLUMNS


def repaired(checksums: Checksums, record: L.Parsed, original: Sequence[int]) -> Sequence[int]:
    """The containers with the checksums that their changes ask for."""
    containers = [*record.containers]
    for number, rows in checksums:
        base = record.bases[number]
        row = rows[base.kind] if base.valid and base.kind in rows else L.ChecksumRow()
        if row.container >= L.PIPELINE_CONTAINERS:
            continue
        old = record.containers[row.container]
        changed = [c for c in range(L.PIPELINE_CONTAINERS) if row.covers >> c & 1 and record.containers[c] != original[c]]
        if row.enable and changed and not (row.optional and not old):
            total = (old ^ 0xFFFF) + sum(record.containers[c] + (original[c] ^ 0xFFFF) for c in changed)
            value = total and (total - 1) % 0xFFFF + 1  # the sum with its carries added in again
            containers[row.container] = value ^ 0xFFFF or (0xFFFF if row.optional else 0)
    return containers


def spliced(splices: Splices, number: int, record: L.Parsed, data: bytes) -> bytes:
    """The packet with words inserted and removed by the splice of this number; `record` has its containers as they were written."""
    if not 0 < number <= len(splices) or record.fault:
        return data
    row = splices[number - 1]
    base = record.bases[row.base]
    place = 2 * (base.position + row.word)
    end = place + 2 * row.removed
    if not base.valid or end >= len(data):
        return data
    inserted = [_word(one, at, record.containers) for at, one in enumerate(row.words[: row.inserted])]
    out = data[:place] + b"".join(word.to_bytes(2, "big") for word in inserted) + data[end:]
    return out if len(out) >= L.SPLICE_LEAST else data


def _word(word: L.SpliceWord, number: int, containers: Sequence[int]) -> int:
    if not word.row:
        return word.constant
    container = L.PARSER_SLOTS * (word.row - 1) + number
    return containers[container] if container < L.PIPELINE_CONTAINERS else 0
