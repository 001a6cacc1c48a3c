# SPDX-License-Identifier: Apache-2.0
"""RateLimiter against a token bucket of exact fractions."""

import random
from fractions import Fraction

from compiler.interpreter.choices import SignalCall
from elements.harness import Bench

FLOWS = 4
RATES = {0: (3000, 40), 1: (9000, 300)}  # flow: time of a byte in 2^-12 cycles, burst in bytes; the others have no limit


def test_it_lets_pass_what_a_token_bucket_does():
    rng = random.Random(7)
    bed = Bench("RateLimiter", f"from_tor -> RateLimiter<Flows = {FLOWS}> :: r @ -> to_tor")
    calls = [SignalCall("set_rate", (flow, time, time * burst)) for flow, (time, burst) in RATES.items()]
    tokens = {flow: Fraction(burst) for flow, (_, burst) in RATES.items()}  # may fall to one packet below 0
    last = dict.fromkeys(RATES, 0)
    now, given, kept, dropped = 5000, [], [], 0
    for _ in range(300):
        now += rng.choice([1, 10, 50, 100])
        flow = rng.choice([0, 0, 1, 1, 3, 4, 9])
        data = rng.randbytes(rng.choice([60, 64, 150]))
        given.append((data, {"mark": flow, "timestamp": now}))
        passes = True
        if flow in RATES:
            time, burst = RATES[flow]
            tokens[flow] = min(Fraction(burst), tokens[flow] + Fraction((now - last[flow]) << 12, time))
            last[flow] = now
            passes = tokens[flow] >= 0
            tokens[flow] -= len(data) if passes else 0
        kept += [data] if passes else []
        dropped += not passes
    outcome = bed.run({"in": bed.flits(given)}, calls)
    assert bed.packets(outcome.outputs["out"]) == kept
    assert outcome.state["dropped"] == dropped and 20 < dropped < 250
