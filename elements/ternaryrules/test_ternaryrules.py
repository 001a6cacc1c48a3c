# SPDX-License-Identifier: Apache-2.0
"""TernaryRules finds the rule with the highest priority, as a search of all rules does, while rules come and go."""

import random

from compiler.interpreter.choices import SignalCall
from elements.harness import Bench

K, V, KEYS = 104, 32, 200


def test_finds_the_rule_with_the_highest_priority() -> None:
    bench = Bench("TernaryRules", f"TernaryRules :: t @  Idle -> t  t -> Drop<uint<{V + 1}>>")
    choose = random.Random(7)
    base = choose.getrandbits(K)
    priorities = choose.sample(range(1 << 16), 40)
    masks = {priority: choose.getrandbits(K) | choose.getrandbits(K) for priority in priorities}
    masks[priorities[0]] = 0  # matches every key
    gone = priorities[1:10]
    calls = [SignalCall("rules_insert", (base, masks[p], p, p + 1)) for p in priorities]
    calls += [SignalCall("rules_remove", (p,)) for p in (*gone, gone[0])]
    keys = [base ^ (1 << choose.randrange(K)) ^ (1 << choose.randrange(K)) for _ in range(KEYS)]
    found = bench.run({"in": keys}, calls)
    assert found.answers == [0] * (len(calls) - 1) + [2], "ENOENT: it is gone"
    left = set(priorities) - set(gone)
    best = [max(p for p in left if (key ^ base) & masks[p] == 0) for key in keys]
    assert found.outputs["out"] == [1 << V | p + 1 for p in best]
    assert len(set(best)) > 5
