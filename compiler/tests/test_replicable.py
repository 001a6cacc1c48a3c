# SPDX-License-Identifier: Apache-2.0
"""Which elements threads may have each: what depends on packets before is found, counters and rules are allowed. Judged by the
interpreter over packets in two halves."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import pytest

from compiler.frontend import typed
from compiler.frontend.program import load_text
from compiler.frontend.source import Diagnostics
from compiler.interpreter.choices import Decide
from compiler.interpreter.element import run_element
from compiler.interpreter.packets import Packet, to_flits
from compiler.passes.replicable import why_not

KEPT = {
    "a counter that a signal reads": "count += 1; write(out, x);",
    "a decision from the first flit to the last": "if (x.sop) is_dropped = (uint<8>) x.data > 100; if (!is_dropped) write(out, x);",
    "what a signal sets": "if (x.sop) x.meta.mark = limit; write(out, x);",
    "a rule": "ulong found; if (x.sop && known.lookup((uint<8>) x.data, found)) x.meta.mark = (uint<32>) found; write(out, x);",
    "a memory that only signals read": "seen[(uint<4>) x.data] += 1; write(out, x);",
    "a place in the packet": "if (x.sop) flits = 0; else flits += 1; if (flits < 2) x.meta.mark = flits; write(out, x);",
}
BROKEN = {
    "a counter that decides": ("count += 1; if (count % 3 != 0) write(out, x);", "count"),
    "by way of another": ("count += 1; if (x.sop) is_dropped = count % 3 == 0; if (!is_dropped) write(out, x);", "count"),
    "a decision that outlives the packet": ("if (x.eop) is_dropped = !is_dropped; if (!is_dropped) write(out, x);", "is_dropped"),
    "a decision that not every packet makes": (
        "if (x.sop && (uint<8>) x.data > 100) is_dropped = true; if (!is_dropped) write(out, x);",
        "is_dropped",
    ),
    "a counter that is sent": ("count += 1; x.meta.mark = (uint<32>) count; write(out, x);", "count"),
    "a memory": ("if (seen[(uint<4>) x.data] < 3) write(out, x); if (x.eop) seen[(uint<4>) x.data] += 1;", "seen"),
    "what a signal makes of a counter": ("count += 1; if (frozen != 5) write(out, x);", "frozen"),
    "a place in the packet, counted on": ("flits += 1; if (flits % 4 != 3) write(out, x);", "flits"),
}
ELEMENT = """
.element Under (packet in -> packet out) {{
    table exact<uint<8>, ulong> known[16];
    .state {{ ulong count; bool is_dropped; uint<32> limit; ulong seen[16]; ulong frozen; uint<32> flits; }}
    .handler {{ flit x = read(in); {body} }}
    .signal void set_limit(uint<32> to) {{ limit = to; }}
    .signal ulong get_count() {{ return count; }}
    .signal void freeze() {{ frozen = count; }}
    .signal ulong get_seen(uint<4> which) {{ return seen[which]; }}
}}
"""


def element(body: str) -> typed.Element:
    diagnostics = Diagnostics()
    program = load_text(ELEMENT.format(body=body), "under.sl", diagnostics)
    assert program, [one.render() for one in diagnostics.sorted()]
    return program.elements[0]


def left(one: typed.Element, packets: Sequence[Packet]) -> list[int]:
    """The flits that leave the interpreter."""
    flits = [flit for packet in packets for flit in to_flits(one.inputs[0].type, packet, 0)]
    return list(run_element(one, {"in": flits}, Decide(0, [])).outputs["out"])


def splits(one: typed.Element) -> Iterator[bool]:
    """Whether the same leaves where packets are split among two."""
    choose = random.Random(1)
    for _ in range(20):
        packets = [Packet(choose.randbytes(choose.choice([60, 64, 100, 300]))) for _ in range(12)]
        halves: list[list[Packet]] = [[], []]
        for packet in packets:
            halves[choose.randrange(2)].append(packet)
        yield sorted(left(one, packets)) == sorted([*left(one, halves[0]), *left(one, halves[1])])


@pytest.mark.parametrize("body", KEPT.values(), ids=KEPT.keys())
def test_replicable(body: str) -> None:
    one = element(body)
    assert why_not(one) is None
    assert all(splits(one))


@pytest.mark.parametrize(("body", "state"), BROKEN.values(), ids=BROKEN.keys())
def test_not_replicable(body: str, state: str) -> None:
    one = element(body)
    why = why_not(one)
    assert why is not None and f"'{state}'" in why
    assert not all(splits(one)) or state == "frozen", "a signal, which none sends here"


MORE = """
.element Tokens (uint<8> in -> uint<8> out) {{
    .state {{ uint<8> n; }}
    .handler {{ uint<8> x = read(in); {tokens} write(out, x); }}
}}
.element Both (packet in, uint<8> more -> packet out) {{
    .state {{ uint<8> n; }}
    .handler {{ flit x = read(in); if (x.sop) n = read(more); x.meta.mark = n; write(out, x); }}
}}
.element Merge (packet a, packet b -> packet out) {{ .handler {{ flit x = select(a, b); write(out, x); }} }}
"""


@pytest.mark.parametrize(("tokens", "is_good"), [("x += 1;", True), ("n += 1; x = n;", False)])
def test_tokens_and_several_inputs(tokens: str, is_good: bool) -> None:
    diagnostics = Diagnostics()
    program = load_text(MORE.format(tokens=tokens), "more.sl", diagnostics)
    assert program, [one.render() for one in diagnostics.sorted()]
    found = {one.name: why_not(one) for one in program.elements}
    assert (found["Tokens"] is None) == is_good
    assert found["Both"] is None and found["Merge"] is None
