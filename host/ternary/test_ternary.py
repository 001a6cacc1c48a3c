# SPDX-License-Identifier: Apache-2.0
"""A table of ternary rules finds what a linear scan finds, whatever rules go in and out, and stays within its bounds."""

from __future__ import annotations

import errno
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from host.ternary.testing.binding import KINDS, Layout, Ternary, fuzzer

FULL = 0xFFFF_FFFF
FIVE_TUPLE = Layout(5, 0b01100, (0, 1), 0)
STEPS = 6000

WORD = st.sampled_from([0, 1, 0x0A000000, 0x0A000001, 0x0A010000, 0x8000FFFF, FULL])
PREFIX = st.sampled_from([0, 0x80000000, 0xFF000000, 0xFFF00000, 0xFFFF0000, 0xFFFFFF00, 0xFFFFFFFE, FULL, 0x00FF00FF])
PORT = st.sampled_from([0, 1, 80, 1023, 1024, 0xFFFF])
RANGE = st.tuples(PORT, PORT).map(sorted)
MASKED = st.tuples(WORD, PREFIX)
RULE = st.tuples(MASKED, MASKED, RANGE, RANGE, MASKED)
KEY = st.tuples(WORD, WORD, PORT, PORT, WORD)
CHANGE = st.tuples(st.integers(0, 24), st.booleans(), RULE, st.integers(0, 3))

Rule = tuple[tuple[tuple[int, int], ...], int]


@pytest.fixture
def tables() -> Iterator[list[Ternary]]:
    made: list[Ternary] = []
    yield made
    for table in made:
        table.free()


def scanned(rules: dict[int, Rule], key: tuple[int, ...]) -> int:
    """The number of the rule by a linear scan, or -1."""

    def has(fields: tuple[tuple[int, int], ...]) -> bool:
        pairs = enumerate(zip(fields, key, strict=True))
        return all(a <= word <= b if FIVE_TUPLE.ranges >> i & 1 else (word ^ a) & b == 0 for i, ((a, b), word) in pairs)

    having = [(-priority, number) for number, (fields, priority) in rules.items() if has(fields)]
    return min(having)[1] if having else -1


@settings(max_examples=300, deadline=None)
@given(st.lists(CHANGE, max_size=60), st.lists(KEY, min_size=1, max_size=20))
def test_finds_what_a_linear_scan_finds(changes: list[tuple[int, bool, Rule, int]], keys: list[tuple[int, ...]]) -> None:
    table, rules = Ternary(FIVE_TUPLE, 25), dict[int, Rule]()
    try:
        for number, inserts, fields, priority in changes:
            if inserts and number not in rules:
                table.insert(number, [a for a, _ in fields], [b for _, b in fields], priority)
                rules[number] = (fields, priority)
            elif not inserts and number in rules:
                table.remove(number)
                del rules[number]
        expected = [scanned(rules, key) for key in keys]
        for most in KINDS:
            table.vectorise(most)
            assert table.lookup(keys) == expected
        assert table.stats.rules == len(rules)
    finally:
        table.free()


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    ("words", "capacity", "kind"),
    [
        pytest.param(1, 60, "mixed", id="one word"),
        pytest.param(5, 300, "mixed", id="5-tuples"),
        pytest.param(8, 200, "mixed", id="a vector and its last word"),
        pytest.param(16, 200, "mixed", id="keys of the flow table"),
        pytest.param(23, 100, "mixed", id="the longest keys"),
        pytest.param(3, 400, "same", id="equal keys and priorities"),
        pytest.param(5, 400, "wild", id="no bit is compared"),
        pytest.param(3, 1500, "masks", id="another mask for every rule"),
        pytest.param(16, 256, "masks", id="lines as full as they get"),
    ],
)
def test_stays_within_its_memory(words: int, capacity: int, kind: str, seed: int) -> None:
    command = [str(fuzzer()), str(words), str(capacity), kind, str(seed), str(max(STEPS, 8 * capacity))]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr[:4000]}"
    figures = json.loads(done.stdout)
    assert figures["most_rules"] > capacity / 2 and figures["hits"] > 100, figures
    assert figures["rules"] == figures["groups"] == figures["most_compares"] == 0, "an empty table is as a new one"
    assert kind != "masks" or figures["most_groups"] > 31, "more groups than the filters have bits"


def test_equal_priorities_are_decided_by_the_number(tables: list[Ternary]) -> None:
    tables.append(table := Ternary(FIVE_TUPLE, 8))
    wild = ([0] * 5, [0, 0, FULL, FULL, 0])
    for number in (5, 3, 7):
        table.insert(number, *wild, 9)
    assert table.lookup([[1, 2, 3, 4, 5]]) == [3]
    table.remove(3)
    assert table.lookup([[1, 2, 3, 4, 5]]) == [5]


def test_refuses_what_it_cannot_hold(tables: list[Ternary]) -> None:
    tables.append(table := Ternary(FIVE_TUPLE, 2))
    any_ports = [0, 0, FULL, FULL, 0]
    table.insert(0, [0] * 5, any_ports, 1)
    for number, value, expected in (
        (2, [0] * 5, errno.EINVAL),  # beyond the capacity
        (0, [0] * 5, errno.EEXIST),
        (1, [0, 0, 5, 0, 0], errno.EINVAL),  # the range ends before it begins
    ):
        with pytest.raises(OSError) as refused:
            table.insert(number, value, any_ports if expected == errno.EEXIST else [0, 0, 4, 4, 0], 1)
        assert refused.value.errno == expected
    with pytest.raises(OSError) as refused:
        table.remove(1)
    assert refused.value.errno == errno.ENOENT and table.stats.rules == 1


@pytest.mark.parametrize(
    ("layout", "capacity"),
    [
        pytest.param(Layout(0, 0, (0, 0), 0), 1, id="no words"),
        pytest.param(Layout(24, 0, (0, 0), 0), 1, id="too many words"),
        pytest.param(Layout(2, 0b100, (0, 1), 0), 1, id="a range behind the key"),
        pytest.param(Layout(2, 0, (0, 2), 0), 1, id="an index behind the key"),
        pytest.param(Layout(2, 0, (0, 1), 0), 0, id="no rules"),
        pytest.param(Layout(2, 0, (0, 1), 0), (1 << 28) + 1, id="too many rules"),
    ],
)
def test_refuses_a_layout_that_is_none(layout: Layout, capacity: int) -> None:
    with pytest.raises(OSError) as refused:
        Ternary(layout, capacity)
    assert refused.value.errno == errno.EINVAL


def test_limit_bounds_what_an_attacker_makes_lookups_compare(tables: list[Ternary]) -> None:
    tables.append(table := Ternary(Layout(5, 0b01100, (0, 1), 40), 1000))
    taken = 0
    for number in range(1000):
        try:
            table.insert(number, [0] * 5, [0, 0, FULL, FULL, 0], number)
            taken += 1
        except OSError as refused:
            assert refused.errno == errno.ENOSPC
    assert taken == table.stats.most_compares == 40
    table.remove(0)
    assert table.lookup([[0] * 5]) == [39], "a table is unchanged by what it refuses"


def test_lookups_use_the_most_that_the_processor_has(tables: list[Ternary]) -> None:
    flags = set(re.findall(r"^flags.*", Path("/proc/cpuinfo").read_text(), re.MULTILINE)[0].split())
    has_wide = {"avx512f", "avx512bw", "avx512vl", "avx512_vbmi2"} <= flags
    most = (2 if has_wide else 1) if {"avx2", "bmi2"} <= flags else 0
    for words, expected in ((7, most), (8, min(most, 1))):
        tables.append(table := Ternary(Layout(words, 0, (0, 1), 0), 10))
        assert table.stats.kind == expected
        assert [table.vectorise(kind) for kind in KINDS] == [min(kind, expected) for kind in KINDS]


def test_memory_is_fixed(tables: list[Ternary]) -> None:
    tables.append(table := Ternary(FIVE_TUPLE, 1000))
    size = table.stats.size
    for number in range(1000):
        table.insert(number, [number << 8, 0, 0, 0, 6], [0xFFFFFF00, 0, FULL, FULL, FULL], number)
    assert table.stats.size == size < 8 << 20
