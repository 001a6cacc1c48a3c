# SPDX-License-Identifier: Apache-2.0
"""HashTCAM against all rules compared one by one."""

import random

from compiler.interpreter.choices import SignalCall
from elements.harness import Bench

GROUPS, ENTRIES, KEY = 4, 16, 104
TEXT = f"""import "elements/hashtcam/hashtcam.sl";
.element Keys (packet in -> five_tuple4_t out) {{ .handler {{ five_tuple4_t key; read(in); write(out, key); }} }}
from_tor -> Keys -> HashTCAM<Groups = {GROUPS}, Entries = {ENTRIES}> :: t @ -> Drop<tcam_result_t>"""
MASKS = [(1 << KEY) - 1, ((1 << 32) - 1) << 72, 0xFFFFFF << 48 | 0xFFFF, 0]


def test_the_highest_priority_wins():
    rng = random.Random(11)
    bed = Bench("HashTCAM", TEXT)
    calls = [SignalCall("set_mask", (group, mask)) for group, mask in enumerate(MASKS)]
    keys = [rng.getrandbits(KEY) for _ in range(12)]
    for group in range(GROUPS):
        calls += [SignalCall("put", (group, 1, key, rng.randrange(1 << 16), rng.getrandbits(32))) for key in keys[: 12 - 3 * group]]
    calls.append(SignalCall("put", (3, 0, 0, 0, 0)))  # the rule for all goes
    calls += [SignalCall("get", (group, key)) for group in range(GROUPS) for key in keys]
    asked = [*keys, *(rng.choice(keys) ^ 1 << rng.randrange(KEY) for _ in range(60)), *(rng.getrandbits(KEY) for _ in range(20))]
    outcome = bed.run({"in": asked}, calls)
    answers = outcome.answers[len(MASKS) + sum(12 - 3 * group for group in range(GROUPS)) + 1 :]
    rules = set()  # what `get` says is there
    for (group, _), entry in zip(((group, key) for group in range(GROUPS) for key in keys), answers, strict=True):
        if entry >> KEY + 48:
            rules.add((entry >> 32 & 0xFFFF, MASKS[group], entry >> 48 & (1 << KEY) - 1, entry & 0xFFFFFFFF))
    assert len(rules) > 15
    found = []
    for key in asked:
        matching = [(priority, value) for priority, mask, value_of_key, value in rules if key & mask == value_of_key]
        found.append(1 << 48 | max(matching)[0] << 32 | max(matching)[1] if matching else 0)
    assert outcome.outputs["out"] == found
    assert len(set(found)) > 10
