# SPDX-License-Identifier: Apache-2.0
"""Flow state against a model in Python: sets, ways, time-out, what is evicted."""

import random

import pytest

from compiler.frontend.program import load_text
from compiler.frontend.source import Diagnostics
from compiler.frontend.verify import verify
from compiler.interpreter.choices import Decide
from compiler.interpreter.element import run_element

MASK = (1 << 32) - 1


class Model:
    """What a flow keeps; the hash is the one of `compiler/frontend/flows.py`, over the key's 32-bit words from the lowest."""

    def __init__(self, sets: int, ways: int, timeout: int, evict: bool) -> None:
        self.sets = [[None] * ways for _ in range(sets)]
        self.timeout, self.evict = timeout, evict

    def set_of(self, key: int) -> list:
        value = 0
        for word in (key & MASK, key >> 32 & MASK):
            value = (value ^ word) * 0x9E3779B1 & MASK
            value ^= value >> 15
        return self.sets[value & len(self.sets) - 1]

    def live(self, entry: tuple | None, time: int) -> bool:
        return entry is not None and (not self.timeout or time - entry[2] < self.timeout)

    def find(self, key: int, time: int) -> int | None:
        return next((e[1] for e in self.set_of(key) if self.live(e, time) and e[0] == key), None)

    def insert(self, key: int, value: int, time: int) -> bool:
        ways = self.set_of(key)
        choices = [n for n, e in enumerate(ways) if e is not None and e[0] == key]
        choices += [n for n, e in enumerate(ways) if not self.live(e, time)]
        if not choices and self.evict:
            choices = [max(range(len(ways)), key=lambda n: (time - ways[n][2], -n))]
        if choices:
            ways[choices[0]] = (key, value, time)
        return bool(choices)

    def remove(self, key: int) -> bool:
        ways = self.set_of(key)
        found = [n for n, e in enumerate(ways) if e is not None and e[0] == key]
        for n in found:
            ways[n] = None
        return bool(found)


def element(options: str) -> str:
    return f"""
    struct key_pair {{ uint<32> a; uint<16> b; }}
    struct ask_t {{ key_pair key; uchar what; }}
    struct answer_t {{ uint<16> count; bool done; }}
    .element Flows (ask_t in -> answer_t out) {{
        flow<key_pair, uint<16>> conn[16] ({options});
        .state {{ ulong time; }}
        .handler {{
            ask_t ask = read(in);
            answer_t answer;
            uint<16> count;
            time += 1;
            answer.done = conn.find(ask.key, count, time);
            answer.count = count;
            if (ask.what < 6) answer.done = conn.insert(ask.key, count + 1, time);
            if (ask.what == 7) answer.done = conn.remove(ask.key);
            write(out, answer);
        }}
    }}"""


@pytest.mark.parametrize(("ways", "timeout", "evict"), [(4, 0, True), (2, 9, True), (4, 25, False), (1, 0, False), (16, 0, True)])
def test_does_what_the_model_does(ways, timeout, evict):
    diagnostics = Diagnostics()
    program = load_text(element(f"ways = {ways}, timeout = {timeout}, evict = {str(evict).lower()}"), "test.sl", diagnostics)
    assert program is not None, "".join(error.render() for error in diagnostics.sorted())
    verify(program)
    rng, model = random.Random(ways), Model(16 // ways, ways, timeout, evict)
    asks = [(rng.choice([3, 77, 1 << 31]) << 16 | rng.randrange(9), rng.randrange(8)) for _ in range(400)]
    expected = []
    for time, (key, what) in enumerate(asks, 1):
        count = model.find(key, time)
        done = count is not None
        if what < 6:
            done = model.insert(key, (count or 0) + 1, time)
        if what == 7:
            done = model.remove(key)
        expected.append((count or 0) << 1 | done)
    sent = run_element(program.elements[0], {"in": [key << 8 | what for key, what in asks]}, Decide()).outputs["out"]
    assert sent == expected


@pytest.mark.parametrize(
    ("flow", "code"),
    [
        ("flow<uint, uint> c[12];", "E0317"),
        ("flow<uint, uint> c[64] (ways = 17);", "E0317"),
        ("flow<uint, uint> c[64] (size = 3);", "E0507"),
        ("flow<uint, uint> c[64]; uint f() { return c.count(1); }", "E0404"),
        ("flow<uint, uint> c[64]; bool f() { uint v; return true && c.find(1, v); }", "E0414"),
        ("flow<uint, uint> c[64]; bool f() { return c.insert(1); }", "E0410"),
        ("flow<uint, uint> c[64]; bool f() { ushort v; return c.find(1, v); }", "E0405"),
    ],
)
def test_what_is_wrong_is_refused(flow, code):
    diagnostics = Diagnostics()
    load_text(f".element E (packet in -> packet out) {{ {flow} .handler {{ write(out, read(in)); }} }}", "test.sl", diagnostics)
    assert [error.code for error in diagnostics.sorted()] == [code]
