# SPDX-License-Identifier: Apache-2.0
"""LPMTree, filled from prefixes as software does it, against the longest of all prefixes that match."""

import random

from compiler.interpreter.choices import SignalCall
from elements.harness import Bench

LEVELS = 6
TEXT = f"""import "elements/lpmtree/lpmtree.sl";
.element Keys (packet in -> uint out) {{ .handler {{ uint key; read(in); write(out, key); }} }}
from_tor -> Keys -> LPMTree<Levels = {LEVELS}> :: t @ -> Drop<lpm_result_t>"""
Prefixes = dict[tuple[int, int], int]  # (address, length): value


def longest(prefixes: Prefixes, address: int) -> int:
    """The result: hit in bit 32, value."""
    found = [(size, value) for (start, size), value in prefixes.items() if address >> 32 - size == start >> 32 - size]
    return 1 << 32 | max(found)[1] if found else 0


def fill(prefixes: Prefixes, tree: int) -> list[SignalCall]:
    """Signals that write all of a tree: ranges begin where a prefix begins, or behind its end."""
    ends = {start + (1 << 32 - size) for start, size in prefixes}
    starts = sorted({0, *(start for start, _ in prefixes), *(end for end in ends if end < 1 << 32)})
    starts += [starts[-1]] * ((1 << LEVELS) - len(starts))
    assert len(starts) == 1 << LEVELS
    calls = [SignalCall("set_value", (tree, n, *divmod(longest(prefixes, start), 1 << 32))) for n, start in enumerate(starts)]
    for level in range(LEVELS):
        calls += [
            SignalCall("set_start", (level, tree, node, starts[2 * node + 1 << LEVELS - level - 1])) for node in range(1 << level)
        ]
    return calls


def test_the_longest_prefix_wins():
    rng = random.Random(13)
    bed = Bench("LPMTree", TEXT)
    tables: list[Prefixes] = []
    for default in ({}, {(0, 0): 7}):
        prefixes = dict(default)
        for _ in range(30):
            size = rng.choice([1, 4, 8, 8, 16, 24, 32])
            start = rng.choice([0, 0xFFFFFFFF, 0x0A000000, 0x0A0A0A0A, rng.getrandbits(32)])
            prefixes[start >> 32 - size << 32 - size, size] = rng.getrandbits(32)
        tables.append(prefixes)
    edges = {
        start + edge & 0xFFFFFFFF
        for table in tables
        for start, size in table
        for edge in (-1, 0, (1 << 32 - size) - 1, 1 << 32 - size)
    }
    asked = [*edges, 0, 0xFFFFFFFF, *(rng.getrandbits(32) for _ in range(50))]
    calls = [*fill(tables[0], 0), *fill(tables[1], 1)]
    for tree, table in enumerate(tables):
        outcome = bed.run({"in": asked}, [*calls, SignalCall("use", (tree,))])
        assert outcome.outputs["out"] == [longest(table, address) for address in asked]
