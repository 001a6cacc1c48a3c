# SPDX-License-Identifier: Apache-2.0
"""CuckooHash, filled by software that moves entries with `get` and `put`, against a dictionary."""

import random

from compiler.interpreter.choices import Decide, SignalCall
from compiler.interpreter.element import Instance
from elements.harness import Bench

BANKS, ENTRIES, KEY = 2, 64, 104
TEXT = f"""import "elements/cuckoohash/cuckoohash.sl";
.element Keys (packet in -> five_tuple4_t out) {{ .handler {{ five_tuple4_t key; read(in); write(out, key); }} }}
from_tor -> Keys -> CuckooHash<Banks = {BANKS}, Entries = {ENTRIES}> :: c @ -> Drop<cuckoo_result_t>"""


class Table:
    """What software does for an insertion: it moves what stands in the way to its other bank, the end of the path first, so that
    every key is found at every moment. `calls` are all signals so far."""

    def __init__(self, bed: Bench) -> None:
        self.choices = Decide()
        self.instance = Instance(bed.element, self.choices)
        self.calls: list[SignalCall] = []

    def signal(self, name: str, *arguments: int) -> int:
        self.calls.append(SignalCall(name, arguments))
        self.choices._signals.append(self.calls[-1])
        self.instance.step()
        return self.instance.outcome.answers[-1]

    def get(self, bank: int, key: int) -> tuple[bool, int, int]:
        entry = self.signal("get", bank, key)
        return bool(entry >> KEY + 32), entry >> 32 & (1 << KEY) - 1, entry & 0xFFFFFFFF

    def insert(self, key: int, value: int) -> bool:
        paths = [((bank, key),) for bank in range(BANKS)]
        for path in paths:
            bank, moving = path[-1]
            valid, there, _ = self.get(bank, moving)
            if not valid:
                for (to, moved), (before, _) in zip(reversed(path[1:]), reversed(path[:-1]), strict=True):
                    self.signal("put", to, 1, moved, self.get(before, moved)[2])
                self.signal("put", path[0][0], 1, key, value)
                return True
            if len(path) < 6 and all(there != other for _, other in path):
                paths += [(*path, (other, there)) for other in range(BANKS) if other != bank]
        return False

    def remove(self, key: int) -> None:
        for bank in range(BANKS):
            if self.get(bank, key)[:2] == (True, key):
                self.signal("put", bank, 0, key, 0)


def test_it_holds_what_was_put():
    rng = random.Random(10)
    bed = Bench("CuckooHash", TEXT)
    table = Table(bed)
    given = {rng.getrandbits(KEY): rng.getrandbits(32) for _ in range(BANKS * ENTRIES * 3 // 5)}
    wanted = {key: value for key, value in given.items() if table.insert(key, value)}
    assert len(wanted) > BANKS * ENTRIES // 2
    moved = sum(call.name == "put" for call in table.calls) - len(wanted)
    assert moved > 5
    for key in list(wanted)[::5]:
        table.remove(key)
        del wanted[key]
    asked = [
        *wanted,
        *(call.arguments[2] for call in table.calls if call.name == "put"),
        *(rng.getrandbits(KEY) for _ in range(20)),
    ]
    outcome = bed.run({"in": asked}, table.calls)
    assert outcome.outputs["out"] == [(1 << 32 | wanted[key]) if key in wanted else 0 for key in asked]
