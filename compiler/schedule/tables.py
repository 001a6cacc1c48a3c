# SPDX-License-Identifier: Apache-2.0
"""How many stages a lookup takes, an update at most, and a key of a flow table: what the parts in `rtl/match` have."""

from __future__ import annotations

from compiler.ir.ir import Table

KINDS = ("exact", "lpm", "ternary")  # as numbered in sl_lookup_pkg
MOST_KEY_BITS = 320  # of the match tables
ANSWER = 1  # stages: the register of an answer
PLACE_LATENCY = 12  # of sl_flow_sets: from the key to what is told of it
SET_LATER = 4  # and to its set


def lookup_latency(kind: str, key_bits: int, entries: int) -> int:
    """Cycles of sl_lookup_table (sl_lookup_pkg::lookup_latency)."""
    del key_bits  # the same for all
    if kind == "exact":
        return 8 + 2
    leaves = max(4, -(-entries // 4) * 4) // 4 + 1  # of the priority encoder; one entry is spare
    return 5 + 1 + (leaves - 1).bit_length() + 2 + 2


def stages(table: Table) -> int:
    """From the stage of the key to that of the answer."""
    return lookup_latency(table.kind, table.key, table.entries) + ANSWER


def drained_cycles(table: Table, depth: int) -> int:
    """About how long an update keeps iterations of a pipeline of so many stages from beginning: it runs empty, then the match
    memories are written. The search for the rule before it, a cycle for each of `entries`, keeps nothing."""
    return depth + (20 if table.kind == "exact" else 32)
