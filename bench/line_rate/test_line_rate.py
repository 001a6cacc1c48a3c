# SPDX-License-Identifier: Apache-2.0
"""The programs take a token every cycle, and do what models in Python do that share nothing with them."""

from __future__ import annotations

import random
import zlib
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence

import pytest

from bench import every, line_rate
from bench.compiled import elements
from compiler.compile import compile_element
from compiler.frontend import typed
from compiler.frontend.program import load
from compiler.frontend.source import Diagnostics
from compiler.interpreter.choices import Decide, SignalCall
from compiler.interpreter.element import Outcome, run_element
from compiler.interpreter.guard import fields_of
from compiler.interpreter.packets import Packet, to_flits
from compiler.interpreter.program import Graph
from testing.slow import except_for

NAMES = [path.stem for path in line_rate.programs()]


@pytest.mark.parametrize("name", except_for(["aes", "crc32", "ghash"], NAMES))
def test_takes_a_token_every_cycle(name: str) -> None:
    for element in elements(line_rate.HERE / f"{name}.sl"):
        assert compile_element(element, 1000 / line_rate.CLOCKS_MHZ[-1]).plan.interval == 1, element.name


def element_of(name: str, element: str) -> typed.Element:
    return next(one for one in elements(line_rate.HERE / f"{name}.sl") if one.source_name == element)


def packed(kind: typed.Type, **values: int) -> int:
    """A structure."""
    return sum(values.get(name, 0) << low for name, (low, _) in fields_of(kind).items())


def unpacked(kind: typed.Type, value: int) -> dict[str, int]:
    return {name: value >> low & (1 << bits) - 1 for name, (low, bits) in fields_of(kind).items()}


def flit(kind: typed.Type, data: bytes, **meta: int) -> int:
    """A packet of one flit, with these metadata."""
    (token,) = to_flits(kind, Packet(data), 0)
    low = fields_of(kind)["meta"][0]
    inner = next(field.type for field in kind.fields if field.name == "meta") if isinstance(kind, typed.Struct) else kind
    for name, value in meta.items():
        at, bits = fields_of(inner)[name]
        token = token & ~((1 << bits) - 1 << low + at) | value << low + at
    return token


def meta(kind: typed.Type, token: int, name: str) -> int:
    low = fields_of(kind)["meta"][0]
    inner = next(field.type for field in kind.fields if field.name == "meta") if isinstance(kind, typed.Struct) else kind
    at, bits = fields_of(inner)[name]
    return token >> low + at & (1 << bits) - 1


def ran(element: typed.Element, tokens: Sequence[int], calls: Mapping[int, SignalCall] | None = None) -> Outcome:
    """Over tokens of its only input; a call comes in front of the token with its number."""

    class Chosen(Decide):
        def signal(self, iteration: int) -> SignalCall | None:
            return (calls or {}).get(iteration)

    return run_element(element, {element.inputs[0].name: tokens}, Chosen())


def test_token_bucket() -> None:
    element, choose = element_of("token_bucket", "TokenBucket"), random.Random(1)
    kind = element.inputs[0].type
    levels: dict[int, tuple[int, int]] = {}
    now, expected, tokens = 0, [], []
    for number in range(400):
        now += choose.choice([0, 100, 1500, 40_000])
        flow, length = choose.randrange(3), choose.choice([64, 1500, 9000])
        tokens.append(flit(kind, number.to_bytes(60, "big"), mark=flow, length=length, timestamp=now))
        level, last = levels.get(flow, (0, 0))
        level = min(20_000, level + now - last)
        passes = level >= length
        levels[flow] = level - length * passes, now
        expected += [number] * passes
    found = ran(element, tokens).outputs["out"]
    data = fields_of(kind)["data"][0]
    assert [int.from_bytes((token >> data).to_bytes(200, "little")[:60], "big") for token in found] == expected
    assert 0 < len(expected) < 400


@pytest.mark.parametrize("name", ["count_min_rows", "count_min_columns"])
def test_count_min(name: str) -> None:
    (element,) = elements(line_rate.HERE / f"{name}.sl")
    choose = random.Random(2)
    keys = [choose.choice([1, 2, choose.getrandbits(32)]) for _ in range(400)]
    found = ran(element, keys).outputs["out"]
    rows: list[dict[int, int]] = [{} for _ in range(4)]
    for key, least in zip(keys, found, strict=True):
        counts = []
        for row, counted in enumerate(rows):
            place = key * (0x9E3779B1 + 0x61C88647 * row) % 2**32 >> 20 & 1023
            counted[place] = counted.get(place, 0) + 1
            counts.append(counted[place])
        assert least == min(counts)
    assert found[-1] >= 1 and max(found) > 100


@pytest.mark.parametrize(
    ("name", "source", "field", "shift", "entries"),
    [("histogram", "Histogram", "length", 7, 16), ("counters", "Counters", "mark", 0, 256)],
)
def test_counts(name: str, source: str, field: str, shift: int, entries: int) -> None:
    element, choose = element_of(name, source), random.Random(3)
    kind = element.inputs[0].type
    values = [choose.randrange(entries << shift) for _ in range(300)]
    tokens = [flit(kind, bytes(60), **{field: value}) for value in values]
    calls = {100: SignalCall("reset"), **{301 + n: SignalCall("get", (n,)) for n in range(entries)}}
    found = ran(element, tokens, calls)
    expected = [sum(value >> shift == n for value in values[100:]) for n in range(entries)]
    assert found.answers[1:] == expected and sum(expected) == 200


def test_learning() -> None:
    element, choose = element_of("learning", "Learning"), random.Random(4)
    kind = element.inputs[0].type
    hosts = [choose.getrandbits(48) for _ in range(6)]
    places: dict[int, tuple[int, int, int]] = {}
    minute, expected, tokens, calls = 0, [], [], {}
    for _ in range(300):
        if choose.random() < 0.05:
            periods = choose.choice([1, 1, 2])
            calls[len(tokens) + len(calls)] = SignalCall("minute", (periods,))
            minute += 1  # a run of the timer, however many periods it stands for
        source, target, lane = choose.choice(hosts), choose.choice(hosts), choose.randrange(4)
        data = target.to_bytes(6, "big") + source.to_bytes(6, "big") + bytes(48)
        tokens.append(flit(kind, data, ingress_port=lane))
        known = places.get(place_of(target))
        is_known = known is not None and known[0] == target and (minute - known[2]) % 4 < 2
        expected.append(1 << known[1] if known is not None and is_known else 0xF & ~(1 << lane))
        places[place_of(source)] = source, lane, minute
    found = ran(element, tokens, calls).outputs["out"]
    assert [meta(kind, token, "egress_mask") for token in found] == expected
    assert {bin(mask).count("1") for mask in expected} == {1, 3}


def place_of(address: int) -> int:
    return (address ^ address >> 12 ^ address >> 24 ^ address >> 36) & 4095


def test_round_robin() -> None:
    (element,) = elements(line_rate.HERE / "round_robin.sl")
    weights = (3, 1, 0, 5)
    streams = {f"in_{n}": [n << 32 | at for at in range(40 if n != 1 else 4)] for n in range(4)}
    calls = [SignalCall("set_weight", (n, weight)) for n, weight in enumerate(weights)]
    found = run_element(element, streams, Decide(0, calls)).outputs["out"]
    left = {n: list(stream) for n, stream in enumerate(streams.values())}
    expected: list[int] = []
    at = 0  # the class that was served last
    while any(left[n] for n in range(4) if weights[n]):
        at = next(n % 4 for n in range(at + 1, at + 5) if left[n % 4] and weights[n % 4])
        for _ in range(weights[at]):
            if left[at]:
                expected.append(left[at].pop(0))
    assert found == expected and len(found) == 84


def test_priority_queue() -> None:
    (element,) = elements(line_rate.HERE / "priority_queue.sl")
    choose, request, item = random.Random(5), element.inputs[0].type, element.outputs[0].type
    queue: list[tuple[int, int]] = []
    expected, tokens = [], []
    for number in range(600):
        is_filling = number // 100 % 2 == 0
        push, pop = choose.random() < (0.8 if is_filling else 0.3), choose.random() < (0.3 if is_filling else 0.8)
        rank = choose.randrange(50)
        tokens.append(packed(request, push=push, pop=pop, rank=rank, value=number))
        if pop:
            expected.append((1, *queue.pop(0)) if queue else (0, 0, 0))
        if push:
            queue.insert(bisect_right([first for first, _ in queue], rank), (rank, number))
            del queue[32:]  # the last is lost
    found = [unpacked(item, token) for token in ran(element, tokens).outputs["out"]]
    assert [(one["used"], one["rank"] * one["used"], one["value"] * one["used"]) for one in found] == expected
    assert (0, 0, 0) in expected and len(expected) > 200


def graph_of(name: str) -> Callable[[Sequence[int], Mapping[str, Sequence[SignalCall]]], list[int]]:
    """Tokens through a whole program; calls come first."""
    program = load(line_rate.HERE / f"{name}.sl", Diagnostics())
    assert program is not None

    def run(tokens: Sequence[int], calls: Mapping[str, Sequence[SignalCall]]) -> list[int]:
        graph = Graph(program, lambda instance: Decide(0, calls.get(instance.rpartition("_")[2], ())))
        graph.run()
        graph.send(0, tokens)
        graph.run()
        return graph.finish().lanes[0]

    return run


def test_lru() -> None:
    choose, kind = random.Random(6), element_of("lru", "Key").inputs[0].type
    keys = [choose.choice([choose.randrange(12), choose.randrange(12), choose.getrandbits(32)]) for _ in range(300)]
    found = graph_of("lru")([flit(kind, bytes(60), mark=key) for key in keys], {})
    used: list[int] = []
    for key, token in zip(keys, found, strict=True):
        assert meta(kind, token, "mark") == (used.index(key) if key in used else 16)
        used = [key, *(other for other in used if other != key)][:16]
    assert len({meta(kind, token, "mark") for token in found}) > 8


def test_crc32() -> None:
    (element,) = elements(line_rate.HERE / "crc32.sl")
    choose, kind = random.Random(7), element.inputs[0].type
    tokens, expected = [], []
    for size in (1, 2, 1, 7, 3):
        data = choose.randbytes(64 * size)
        expected.append(zlib.crc32(data))
        for n in range(size):
            piece = int.from_bytes(data[64 * n : 64 * n + 64], "little")
            tokens.append(packed(kind, sop=n == 0, eop=n == size - 1, data=piece))
    assert ran(element, tokens).outputs["out"] == expected


def test_ghash() -> None:
    """Test case 2 of the GCM specification (McGrew, Viega 2004), and a message after it."""
    (element,) = elements(line_rate.HERE / "ghash.sl")
    kind = element.inputs[0].type
    blocks = ["0388dace60b6a392f328c2b971b2fe78", "00000000000000000000000000000080"]
    tokens = [
        packed(kind, first=n == 0, last=n == 1, block=int.from_bytes(bytes.fromhex(block), "little"))
        for n, block in enumerate(blocks)
    ]
    key = SignalCall("set_key", (int.from_bytes(bytes.fromhex("66e94bd4ef8a2c3b884cfa59ca342b2e"), "little"),))
    found = ran(element, tokens * 2, {0: key}).outputs["out"]
    assert [one.to_bytes(16, "little").hex() for one in found] == ["f38cbb1ad69223dcc3457ae5b6b0f885"] * 2


# FIPS 197: Appendix A.1, words of the expanded key, and Appendix B, the cipher's example.
KEYS = """2b7e151628aed2a6abf7158809cf4f3c a0fafe1788542cb123a339392a6c7605 f2c295f27a96b9435935807a7359f67f
3d80477d4716fe3e1e237e446d7a883b ef44a541a8525b7fb671253bdb0bad00 d4d1c6f87c839d87caf2b8bc11f915bc
6d88a37a110b3efddbf98641ca0093fd 4e54f70e5f5fc9f384a64fb24ea6dc4f ead27321b58dbad2312bf5607f8d292f
ac7766f319fadc2128d12941575c006e d014f9a8c9ee2589e13f0cc8b6630ca6"""
BLOCK, CIPHER = "3243f6a8885a308d313198a2e0370734", "3925841d02dc09fbdc118597196a0b32"


def test_aes() -> None:
    kind = element_of("aes", "Block").inputs[0].type
    calls = {
        f"k{n}": [SignalCall("set_key", (int.from_bytes(bytes.fromhex(key), "little"),))] for n, key in enumerate(KEYS.split())
    }
    (found,) = graph_of("aes")([flit(kind, bytes.fromhex(BLOCK) + bytes(44))], calls)
    data = fields_of(kind)["data"][0]
    assert (found >> data & (1 << 128) - 1).to_bytes(16, "little").hex() == CIPHER


def test_table_of_the_docs() -> None:
    row = {"program": "lru", "element": "Cell_0", "ii": 1, "depth": 2, "proof": {"failure": "", "token_cycles": {"in": 1}}}
    row |= {"tokens_per_cycle": 1.0, "lut": 100, "ff": 1200, "bram": 0, "mhz": 251.3}
    written = line_rate.tables({"elements": [row]})
    assert set(written) == every.places("line_rate")
    assert "| lru | Cell_0 | 1 | 2 | yes | 1.00 | 100 | 1,200 | 0 | 251 |" in written["line_rate"]


@pytest.mark.parametrize("name", ["round_robin", "histogram"])
def test_a_row_of_an_element(name: str) -> None:
    (row,) = line_rate.rows(lambda _: None, [line_rate.HERE / f"{name}.sl"], size=False)
    assert row["ii"] == 1 and row["tokens_per_cycle"] == 1 and not row["disagreement"] and row["certificate"] == "induction"
