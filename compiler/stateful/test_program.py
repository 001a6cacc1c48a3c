# SPDX-License-Identifier: Apache-2.0
"""Instructions compute what their text says, on fields anywhere in a word; what does not fit is refused with the reason."""

from __future__ import annotations

import random

import pytest
import sluice_layouts as L
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.pipeline.parser_program import ProgramError
from compiler.stateful.program import BlockSizes, assembled
from models.stateful import Outcome, Packet, Process

WORDS = 1 << 32


def signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> bits - 1 else value


def result(operation: str, a: int, b: int, bits: int) -> int:
    """What is written into a field of so many bits; operands are already cut to it."""
    smaller, larger = sorted((a, b), key=lambda value: signed(value, bits))
    values = {
        "+": a + b,
        "-": a - b,
        "&": a & b,
        "|": a | b,
        "^": a ^ b,
        "&~": a & ~b,
        "min": min(a, b),
        "max": max(a, b),
        "signed_min": smaller,
        "signed_max": larger,
        "less": int(a < b),
        "signed_less": int(signed(a, bits) < signed(b, bits)),
        "add_clamped": min(a + b, (1 << bits) - 1),
        "subtract_clamped": max(a - b, 0),
    }
    return values[operation] % (1 << bits)


class Fields:
    """Random fields: two of the flow state, one to write, two of the packet; with their values."""

    def __init__(self, draw: random.Random) -> None:
        self.flow = [draw.choice([0, WORDS - 1, draw.randrange(WORDS)]) for _ in range(4)]
        self.containers = [draw.choice([0, 0xFFFF, draw.randrange(1 << 16)]) for _ in range(L.PIPELINE_CONTAINERS)]
        self.places = {name: self._flow_place(draw, word) for name, word in (("to", 1), ("x", 2), ("y", 3))}
        self.sources = {name: (draw.randrange(43), draw.choice([1, 2])) for name in ("p", "q")}

    @staticmethod
    def _flow_place(draw: random.Random, word: int) -> tuple[int, int, int]:
        size = draw.choice([1, 2, 4])
        return word, draw.randrange(5 - size), size

    def value(self, name: str) -> int:
        if name in self.sources:
            first, words = self.sources[name]
            return self.containers[first] << 16 | self.containers[first + 1] if words == 2 else self.containers[first]
        word, byte, size = self.places[name]
        return self.flow[word] >> 8 * byte & (1 << 8 * size) - 1

    def run(self, text: str, head: str = "") -> Outcome:
        flow = "".join(f"{name} = {{ word = {w}, byte = {b}, bytes = {s} }}\n" for name, (w, b, s) in self.places.items())
        containers = "".join(f"{name} = {{ first = {first}, words = {words} }}\n" for name, (first, words) in self.sources.items())
        program = assembled(f"{head}[flow]\n{flow}[containers]\n{containers}{text}", "test.toml")
        memories = {(write.memory, write.address): write.data for write in program.writes(0)}
        memories |= {(L.PROCESS_MEMORY_SHARED, n): 0 for n in range(2 * L.PROCESS_SHARED_WORDS)}
        return Process(memories).run(Packet(L.PipelinePhv(L.Parsed(self.containers))), self.flow)

    def written(self, value: int) -> tuple[int, ...]:
        """The flow state with this value in `to`."""
        _, byte, size = self.places["to"]
        mask = (1 << 8 * size) - 1 << 8 * byte
        return self.flow[0], self.flow[1] & ~mask | value << 8 * byte & mask, self.flow[2], self.flow[3]


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_updates_compute_what_the_text_says(seed: int) -> None:
    draw = random.Random(seed)
    fields = Fields(draw)
    bits = 8 * fields.places["to"][2]
    a, b = draw.choice([("x", "p"), ("p", "x"), ("to", "q"), ("x", "y"), ("p", "q"), ("to", "5")])
    operation = draw.choice(["+", "-", "&", "|", "^", "&~", "min", "max", "signed_min", "signed_max", "less", "signed_less"])
    operation = draw.choice([operation, "add_clamped", "subtract_clamped"])
    values = [(int(name) if name.isdigit() else fields.value(name)) % (1 << bits) for name in (a, b)]
    text = f"{operation}({a}, {b})" if operation.isidentifier() or "_" in operation else f"{a} {operation} {b}"
    outcome = fields.run(f'[[entries]]\nupdate = ["to = {text}"]')
    assert outcome.flow == fields.written(result(operation, *values, bits))


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_shifts_compute_what_the_text_says(seed: int) -> None:
    draw = random.Random(seed)
    fields = Fields(draw)
    name, amount, left = draw.choice(["x", "p", "to"]), draw.randrange(32), draw.random() < 0.5
    value = fields.value(name) << amount if left else fields.value(name) >> amount
    operator = "<<" if left else ">>"
    assert fields.run(f'[[entries]]\nupdate = ["to = {name} {operator} {amount}"]').flow == fields.written(value)
    computed = fields.run(f'[inputs]\nz = "p {operator} {amount}"\n[[entries]]\nupdate = ["to = z"]')
    cut = 8 * min(fields.places["to"][2], 2 * fields.sources["p"][1])
    value = fields.value("p") << amount if left else fields.value("p") >> amount
    assert computed.flow == fields.written(value % (1 << cut))


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_inputs_compute_what_the_text_says(seed: int) -> None:
    draw = random.Random(seed)
    fields = Fields(draw)
    operation, other = draw.choice(["+", "-", "&", "|", "^", "&~"]), draw.choice(["q", "200"])
    size = max(2 * fields.sources["p"][1], 2 * fields.sources["q"][1] if other == "q" else 0)
    bits = 8 * min(size, fields.places["to"][2])
    values = [(int(name) if name.isdigit() else fields.value(name)) % (1 << bits) for name in ("p", other)]
    outcome = fields.run(f'[inputs]\nz = "p {operation} {other}"\n[[entries]]\nupdate = ["to = z"]')
    assert outcome.flow == fields.written(result(operation, *values, bits))


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_conditions_compare_what_the_text_says(seed: int) -> None:
    draw = random.Random(seed)
    fields = Fields(draw)
    a, b = draw.choice([("x", "p"), ("p", "x"), ("x", "y"), ("p", "q"), ("x", "7"), ("7", "p")])
    if draw.random() < 0.3 and b == "y":
        fields.flow[3] = fields.flow[2]
        fields.places["y"] = (3, *fields.places["x"][1:])
    sizes = {**{name: size for name, (_, _, size) in fields.places.items()}, **{n: 2 * w for n, (_, w) in fields.sources.items()}}
    bits = 8 * max(sizes.get(name, 0) for name in (a, b))
    x, y = (int(name) if name.isdigit() else fields.value(name) for name in (a, b))
    cases = {
        f"{a} == {b}": x == y,
        f"{a} != {b}": x != y,
        f"{a} < {b}": x < y,
        f"{a} <= {b}": x <= y,
        f"{a} > {b}": x > y,
        f"{a} >= {b}": x >= y,
        f"signed {a} < {b}": signed(x, bits) < signed(y, bits),
        f"signed {a} >= {b}": signed(x, bits) >= signed(y, bits),
        f"{a} before {b}": (x - y) >> bits - 1 & 1 == 1,
        f"{a} & {b}": x & y != 0,
    }
    text, expected = draw.choice([*cases.items()])
    outcome = fields.run(f'[conditions]\nc = "{text}"\n[[entries]]\nif = ["!c"]\n[[entries]]\nupdate = ["to = 1"]')
    assert outcome.flow == (fields.written(1) if expected else tuple(fields.flow))


def test_actions_read_the_old_and_the_new_state() -> None:
    fields = Fields(random.Random(1))
    fields.places["to"] = (1, 0, 4)
    text = """[containers.kept]
first = 42
words = 2
[containers.pair]
first = 40
words = 2
[containers.low]
first = 29
[[entries]]
update = ["to += 1"]
packet = ["kept = old.to", "pair = to - old.to", "low -= 1"]
"""
    packet = fields.run(text).packet
    containers = packet.phv.parsed.containers
    assert containers[42] << 16 | containers[43] == fields.flow[1]
    assert (containers[40], containers[41]) == (0, 1)
    assert containers[28:30] == [fields.containers[28], (fields.containers[29] - 1) % 65536]


@pytest.mark.parametrize("values", [(0, 0), (5, 0), (5, 77)])
def test_first_entry_that_matches_is_taken(values: tuple[int, int]) -> None:
    fields = Fields(random.Random(2))
    fields.places["to"], fields.sources = (1, 0, 4), {"p": (0, 1), "q": (1, 1)}
    fields.containers[:2] = values
    text = """[conditions]
five = "p == 5"
nothing = "q == 0"
[[entries]]
at = "b"
if = ["five"]
update = ["to = 1"]
[[entries]]
at = "a"
if = ["five", "!nothing"]
update = ["to = 2"]
[[entries]]
if = ["five"]
update = ["to = 3"]
[[entries]]
if = ["nothing"]
update = ["to = 4"]
goto = "b"
"""
    for label in (0, 1):
        fields.flow[0] = label << 24 | 9
        first = 1 if label and values[0] == 5 else 2 if values == (5, 77) else 3 if values[0] == 5 else 4
        after = fields.run(text, head='labels = ["a", "b"]\n').flow
        assert after[:2] == ((1 << 24 | 9) if first == 4 else fields.flow[0], first)


FLOW = "[flow]\na = { word = 1 }\nb = { word = 2, bytes = 2 }\nc = { word = 2, byte = 2, bytes = 2 }\n"
ENTRY = "[[entries]]\n"
REFUSED = {
    "entry 0: undefined name 'q'": FLOW + ENTRY + 'update = ["a += q"]',
    "entry 0: 'c = 1': word 2 is written twice": FLOW + ENTRY + 'update = ["b = 1", "c = 1"]',
    "entry 0: 65536 does not fit in 16 bits": FLOW + ENTRY + 'update = ["b = 65536"]',
    "entry 0: 'a + b + c' is not one operation": FLOW + ENTRY + 'update = ["a = a + b + c"]',
    "entry 0: 'a' assigns nothing": FLOW + ENTRY + 'update = ["a"]',
    "entry 0: computes with two numbers, 1 and 2": FLOW + ENTRY + 'update = ["a = 1 + 2"]',
    "entry 0: a cannot be written in `packet`": FLOW + ENTRY + 'packet = ["a = 1"]',
    "entry 0: undefined condition 'x'": ENTRY + 'if = ["x"]',
    "entry 0: undefined label 'x'": ENTRY + 'goto = "x"',
    "entry 0: unknown key 'then'": ENTRY + "then = 1",
    "entry 0: unknown verdict 'lost'": ENTRY + 'verdict = "lost"',
    "entry 0: ports = [9]": ENTRY + "ports = [9]",
    "entry 0: next = 15": ENTRY + "next = 15",
    "entry 0: old.a: ": FLOW + ENTRY + 'update = ["a = old.a"]',
    "entry 1: entry 0 takes every packet": ENTRY + ENTRY,
    "entry 7: word 1 has more than 7 different updates": FLOW
    + '[conditions]\nx = "a == 0"\n'
    + "".join(f'{ENTRY}if = ["x"]\nupdate = ["a = {n}"]\n' for n in range(8)),
    "entry 16: 18 entries": FLOW + '[conditions]\nx = "a == 0"\n' + (ENTRY + 'if = ["x"]\n') * 17,
    "condition c8: one too many": FLOW + "[conditions]\n" + "".join(f'c{n} = "a == {n}"\n' for n in range(9)),
    "condition x: compares two numbers": '[conditions]\nx = "1 == 2"\n',
    "condition x: 'a ~ b' is not a comparison": FLOW + '[conditions]\nx = "a ~ b"\n',
    "condition x: 'signed a == b': == is the same": FLOW + '[conditions]\nx = "signed a == b"\n',
    "flow.a: byte 3 of word 0 is the label": "[flow]\na = { word = 0 }\n",
    "flow.a: word = 4": "[flow]\na = { word = 4 }\n",
    "flow.a: bytes 2 to 4": "[flow]\na = { word = 1, byte = 2, bytes = 3 }\n",
    "containers.a: first = 44": "[containers]\na = { first = 44 }\n",
    "flow.a: this name is taken": "[flow]\na = { word = 1 }\n[containers]\na = { first = 1 }\n",
    "shared.a: either": "[shared]\na = { }\n",
    "the file: no entries": "",
    "the file: unknown key 'entrys'": "[[entrys]]\n",
    "labels: 2 names": 'labels = ["a", "a"]\n',
    "wrong.toml: Invalid statement": "= 1",
}


@pytest.mark.parametrize("reason", REFUSED)
def test_refuses_with_the_place_and_the_reason(reason: str) -> None:
    with pytest.raises(ProgramError) as error:
        assembled(REFUSED[reason], "wrong.toml")
    assert reason in str(error.value)


def test_refuses_more_inputs_than_there_are() -> None:
    containers = "[containers]\n" + "".join(f"c{n} = {{ first = {n} }}\n" for n in range(5))
    conditions = "[conditions]\n" + "".join(f'd{n} = "c{n} == 1"\n' for n in range(5))
    with pytest.raises(ProgramError, match="condition d4: needs input 5 of 4"):
        assembled(containers + conditions + ENTRY, "wrong.toml", BlockSizes(inputs=4))


def test_refuses_two_actions_of_one_alu() -> None:
    containers = "[containers]\na = { first = 0 }\nb = { first = 16 }\nc = { first = 1, words = 2 }\n"
    with pytest.raises(ProgramError, match="words 0 and 8 have the same ALU"):
        assembled(containers + ENTRY + 'packet = ["a = 1", "b = 1"]', "wrong.toml")
    with pytest.raises(ProgramError, match="c is in two words"):
        assembled(containers + ENTRY + 'packet = ["c = 1"]', "wrong.toml")
