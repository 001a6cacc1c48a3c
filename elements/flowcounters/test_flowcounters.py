# SPDX-License-Identifier: Apache-2.0
"""FlowCounters against a dictionary."""

import random
from collections import Counter

from elements.harness import Bench

ENTRIES = 12


def test_it_counts_by_mark():
    rng = random.Random(2)
    bed = Bench("FlowCounters", f"from_tor -> FlowCounters<Entries = {ENTRIES}> :: c @ -> to_tor")
    given = [
        (rng.randbytes(rng.choice([60, 64, 200])), {"mark": rng.choice([0, 1, 1, 11, 12, 15, 16, 1 << 31])}) for _ in range(100)
    ]
    outcome = bed.run({"in": bed.flits(given)})
    assert bed.packets(outcome.outputs["out"]) == [data for data, _ in given]
    packets = Counter(meta["mark"] for _, meta in given)
    sizes = Counter({mark: sum(len(data) for data, meta in given if meta["mark"] == mark) for mark in packets})
    for name, wanted in (("packets", packets), ("bytes", sizes)):
        assert outcome.state[name] == sum(wanted[flow] << 48 * flow for flow in range(ENTRIES))
