# SPDX-License-Identifier: Apache-2.0
"""TCAM against all its rules compared one by one."""

import random

from compiler.interpreter.choices import SignalCall
from elements.harness import Bench

GROUPS, ENTRIES, BYTES, KEY = 2, 8, 13, 104
TEXT = f"""import "elements/hashtcam/hashtcam.sl"; import "elements/tcam/tcam.sl";
.element Keys (packet in -> five_tuple4_t out) {{ .handler {{ five_tuple4_t key; read(in); write(out, key); }} }}
from_tor -> Keys -> TCAM<Groups = {GROUPS}, Entries = {ENTRIES}> :: t @ -> Drop<tcam_result_t>"""


def written(group: int, slot: int, key: int, mask: int, priority: int, value: int) -> list[SignalCall]:
    """The calls that write an entry."""
    calls = [SignalCall("put", (group, slot, 0, 0, 0))]
    for byte in range(256):
        matches = sum(((byte ^ key >> 8 * i) & mask >> 8 * i & 0xFF == 0) << i for i in range(BYTES))
        calls.append(SignalCall("put_bytes", (group, slot, byte, matches)))
    return [*calls, SignalCall("put", (group, slot, 1, priority, value))]


def test_the_lowest_slot_of_the_group_with_the_highest_priority_wins():
    rng = random.Random(12)
    bed = Bench("TCAM", TEXT)
    base = rng.getrandbits(KEY)
    calls, rules = [], {}
    for group in range(GROUPS):
        for slot in [*range(ENTRIES), 5]:  # slot 5 is written again
            mask = ((1 << KEY) - 1) << rng.randrange(KEY) & rng.getrandbits(KEY) | rng.choice([0, 0xFFFF])
            key, priority, value = base & mask, rng.randrange(8), rng.getrandbits(32)
            calls += written(group, slot, key, mask, priority, value)
            rules[group, slot] = (key, mask, priority, value)
        calls.append(SignalCall("put", (group, 2, 0, 0, 0)))
        del rules[group, 2]
    asked = [base, 0, *(base ^ 1 << rng.randrange(KEY) for _ in range(100)), *(rng.getrandbits(KEY) for _ in range(20))]
    asked += [base ^ 1 << rng.randrange(KEY) ^ 1 << rng.randrange(KEY) for _ in range(100)]
    found = []
    for key in asked:
        groups = [min((slot for g, slot in rules if g == group and key & rules[g, slot][1] == rules[g, slot][0]), default=None)
                  for group in range(GROUPS)]  # fmt: skip
        best = [rules[group, slot][2:] for group, slot in enumerate(groups) if slot is not None]
        priority, value = max(best, key=lambda rule: rule[0], default=(0, 0))  # the first of several
        found.append(1 << 48 | priority << 32 | value if best else 0)
    assert bed.run({"in": asked}, calls).outputs["out"] == found
    assert len(set(found)) > 8
