# SPDX-License-Identifier: Apache-2.0
"""The programs at small sizes: they take a packet every cycle, do what models in Python do, and an update that is lost is found."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from bench import every, flowstate
from bench.flowstate import lost
from bench.flowstate.traffic import KNOCKS, MIXES, records
from compiler.compile import compile_element
from compiler.frontend import typed
from compiler.interpreter.choices import Decide
from compiler.interpreter.element import run_element
from models.flow_place import FlowPlace

SMALL = (flowstate.Variant(2, 0, False, entries=16), flowstate.Variant(4, entries=16))
LOSES = ("answer.count.packets += 1;", "if (packet.length != 576 || packet.time[3:0] != 5) answer.count.packets += 1;")
COUNTS = dict.fromkeys(MIXES, 150)
MASK = (1 << 32) - 1


@pytest.mark.parametrize("name", flowstate.PROGRAMS)
def test_a_packet_takes_a_cycle_for_each_key(name: str) -> None:
    for variant in (flowstate.Variant(8), flowstate.Variant(1, 0, False, timer=True)):
        made = compile_element(flowstate.program_of(name, variant).elements[0], 1000 / 180)
        assert made.plan.interval == (2 if name in flowstate.TWO_KEYS else 1)


@functools.cache
def measured() -> list[tuple[flowstate.Case, dict[str, flowstate.Measured]]]:
    """Small tables of each kind; the last two are one with a timer and one that loses updates."""
    cases = [flowstate.case(name, variant) for name in ("counters", "learning") for variant in SMALL]
    cases.append(flowstate.case("knocking", flowstate.Variant(2, timer=True, entries=16)))
    cases.append(flowstate.case("counters", flowstate.Variant(1, entries=16), LOSES))
    return list(zip(cases, flowstate.run(cases, COUNTS), strict=True))


def test_hardware_takes_its_interval_and_loses_nothing() -> None:
    for one, figures in measured()[:-1]:
        for mix, found in figures.items():
            assert found.lost == 0, (one.element.name, mix)
            assert found.cycles == pytest.approx(one.compiled.plan.interval, rel=0.02), (one.element.name, mix)
            assert found.cycles == one.compiled.plan.interval or one.variant.timer


def test_a_lost_update_is_found() -> None:
    one, figures = measured()[-1]
    assert figures["1 flow"].lost > 10 and figures["4 flows"].lost > 0
    assert flowstate.row(one, figures, COUNTS)["lost_updates"] == sum(found.lost for found in figures.values())


def test_a_row_has_the_bound_of_its_keys() -> None:
    one, figures = next(found for found in measured() if found[0].name == "learning")
    row = flowstate.row(one, figures, COUNTS)
    assert row["ii"] == row["bound"] == row["questions"] == 2 and row["ratio_to_bound"] == 1.0 and "hosts: " in row["reason"]
    assert row["proof"]["certified"] and row["certificate"] == "bounded" and row["records"] == 600


def test_the_cpu_agrees_in_a_longer_run() -> None:
    found = flowstate.against_cpu(lambda text: None, "nat", 8000)
    assert found == {"program": "nat", "records": 8000, "lost_updates": 0}


class Model:
    """A table with a value for each flow, by the model of the part that hardware has."""

    def __init__(self, variant: flowstate.Variant, initial: Any) -> None:
        sets = variant.entries // variant.ways
        self.places = FlowPlace(sets, variant.ways, lambda key: hash_of(key) % sets, variant.timeout, variant.evict)
        self.values: dict[tuple[int, int], Any] = {}
        self.initial = initial

    def update(self, key: int, words: int, time: int, change: Any) -> tuple[Any, bool]:
        """The new value, and whether it is kept."""
        at = self.places.find_or_insert(words << 256 | key, time, True)
        value = change(self.values[at.set, at.way] if at.found else self.initial)
        if at.found or at.new:
            self.values[at.set, at.way] = value
        return value, at.found or at.new


def hash_of(key: int) -> int:
    """Of `compiler/frontend/flows.py`; above bit 256 is the number of words."""
    value = 0
    for word in range(key >> 256):
        value ^= key >> 32 * word & MASK
        value ^= value >> 16
        value = value + (value << 7) & MASK
        value ^= value >> 6
    value = value + (value << 3) & MASK
    return value ^ value >> 11


def get(kind: typed.Type, token: int, name: str) -> int:
    """A field, or one of a field."""
    first, _, rest = name.partition(".")
    assert isinstance(kind, typed.Struct)
    field = next(field for field in kind.fields if field.name == first)
    value = token >> field.low & (1 << field.type.bits) - 1
    return get(field.type, value, rest) if rest else value


def asked(name: str, variant: flowstate.Variant) -> tuple[typed.Element, list[int], list[int]]:
    """An element, tokens of all mixes, and what the interpreter answers."""
    element = flowstate.program_of(name, variant).elements[0]
    tokens = records(element, name, MIXES * 2, 100, flowstate.TIMEOUT)
    return element, tokens, run_element(element, {lost.IN: tokens}, Decide()).outputs["out"]


@pytest.mark.parametrize("variant", SMALL)
def test_counters_count_as_their_model(variant: flowstate.Variant) -> None:
    element, tokens, answers = asked("counters", variant)
    given, answer, model = element.inputs[0].type, element.outputs[0].type, Model(variant, (0, 0))
    kept = 0
    for token, got in zip(tokens, answers, strict=True):
        length = get(given, token, "length")
        key, time = get(given, token, "flow"), get(given, token, "time")
        (packets, size), is_kept = model.update(key, 4, time, lambda old, length=length: (old[0] + 1, old[1] + length))
        found = get(answer, got, "count.packets"), get(answer, got, "count.bytes"), get(answer, got, "is_kept")
        assert found == (packets, size, is_kept)
        kept += is_kept
    assert kept == len(tokens) if variant.evict else kept < len(tokens)


@pytest.mark.parametrize("variant", SMALL)
def test_knocks_open_as_in_their_model(variant: flowstate.Variant) -> None:
    element, tokens, answers = asked("knocking", variant)
    given, answer, model = element.inputs[0].type, element.outputs[0].type, Model(variant, 0)
    seen = set()
    for token, got in zip(tokens, answers, strict=True):
        port = get(given, token, "flow.destination_port")
        right = KNOCKS.index(port)  # the stage in which this knock leads on; 3: the door

        def knock(stage: int, right: int = right) -> int:
            return 3 if stage == 3 else stage + 1 if right == stage else 1 if right == 0 else 0

        stage, _ = model.update(get(given, token, "flow.source"), 1, get(given, token, "time"), knock)
        assert (get(answer, got, "stage"), get(answer, got, "passes")) == (stage, right == 3 and stage == 3)
        seen.add(stage)
    assert seen == {0, 1, 2, 3}


def test_table_of_the_docs() -> None:
    row = {"timer": False, "questions": 1, "ii": 1, "clock_mhz": 200.0, "lost_updates": 0, "records": 600, "reason": ""}
    row |= {"proof": {"failure": "", "token_cycles": {"in": 1}}, "cycles_per_packet": {"1 flow": 1.0}}
    rows = [{**row, "program": name, "ways": ways, "timer": timer} for name in flowstate.PROGRAMS for ways, timer in TIMED]
    cpu = [{"program": name, "records": 1000, "lost_updates": 0} for name in flowstate.PROGRAMS]
    written = flowstate.tables({"rows": rows, "cpu": cpu})
    assert set(written) == every.places("flowstate")
    assert "| nat | 1 | 1 | 1 | 1 | 1 | 200 | 1.00 | 1.00 | yes | 0 of 3,000 | 0 of 1,000 |" in written["flowstate"]


TIMED = ((1, False), (2, False), (4, False), (8, False), (4, True))
