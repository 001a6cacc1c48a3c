# SPDX-License-Identifier: Apache-2.0
"""FlowCache against an ordered list for each set."""

import random

from compiler.interpreter.choices import SignalCall
from elements.harness import Bench

KEYS = 20
TEXT = """import "elements/flowcache/flowcache.sl";
.element Keys (packet in -> cache_request_t out) { .handler { cache_request_t r; read(in); write(out, r); } }
from_tor -> Keys -> FlowCache<Entries = 8> :: c @ -> Drop<cache_reply_t>"""


def rotated(a: int, bits: int) -> int:
    return a << bits | a >> 32 - bits


def hash_of(key: int) -> int:
    """`elements/hash/five_tuple.sl`."""
    ones = (1 << 32) - 1
    a, b, protocol, ports = key >> 72, key >> 40 & ones, key >> 32 & 0xFF, key & ones
    c = ports + (protocol << 8) & ones
    c = (c ^ b) - rotated(b, 14) & ones
    a = (a ^ c) - rotated(c, 11) & ones
    b = (b ^ a) - rotated(a, 25) & ones
    c = (c ^ b) - rotated(b, 16) & ones
    a = (a ^ c) - rotated(c, 4) & ones
    b = (b ^ a) - rotated(a, 14) & ones
    return (c ^ b) - rotated(b, 24) & ones


def test_the_least_recently_used_makes_place():
    rng = random.Random(12)
    bed = Bench("FlowCache", TEXT)
    keys = [rng.getrandbits(104) for _ in range(KEYS)]
    orders, sets, waiting = ([0, 1, 2, 3], [0, 1, 2, 3]), ({}, {}), []  # ways by use, the latest first; contents; fills to come
    requests, wanted = [], []
    for _ in range(400):
        if waiting and rng.random() < 0.5:
            way, key = waiting.pop(0)
            value = rng.getrandbits(32)
            order, ways = (found[hash_of(key) & 1] for found in (orders, sets))
            requests.append(bed.token("in", fill=1, way=way, key=key, value=value))
            ways[way] = (key, value)
        else:
            key = keys[min(rng.randrange(KEYS), rng.randrange(KEYS))]
            requests.append(bed.token("in", key=key))
            order, ways = (found[hash_of(key) & 1] for found in (orders, sets))
            hits = [way for way in range(4) if ways.get(way, (None, 0))[0] == key]
            way = hits[0] if hits else order[-1]
            wanted.append({"hit": len(hits) > 0, "way": way, "key": key, "value": ways[way][1] if hits else 0})
            if not hits:
                waiting.append((way, key))
        order.remove(way)
        order.insert(0, way)
    outcome = bed.run({"in": requests})
    assert [bed.fields("out", token) for token in outcome.outputs["out"]] == wanted
    assert 50 < sum(fields["hit"] for fields in wanted) < 300


def test_an_entry_is_made_empty():
    bed = Bench("FlowCache", TEXT)
    request = bed.token("in", key=0)
    calls = [SignalCall("invalidate", (way, 0)) for way in range(4)]
    assert bed.fields("out", bed.run({"in": [request]}, calls).outputs["out"][0])["hit"] == 0
