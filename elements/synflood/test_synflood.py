# SPDX-License-Identifier: Apache-2.0
"""SynFlood against token buckets of exact fractions, one for each place that addresses share."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from fractions import Fraction

from compiler.interpreter.choices import SignalCall
from elements.harness import Bench
from elements.hash.address import address_hash

ENTRIES, SECRET = 8, 0x12345678
VERDICT_PASS, VERDICT_DROP, VERDICT_TO_HOST = 0, 2, 3
SYN, ACK, TCP, UDP = 2, 16, 6, 17
TEXT = f"""import "elements/l4parser/l4parser.sl";
from_tor -> L4Parser :: p [1] -> [1] SynFlood<Entries = {ENTRIES}> :: f @ -> to_tor  p.headers -> f.headers"""


@dataclass
class Buckets:
    """Of `burst` + 1 SYNs each, one more every `period` cycles."""

    period: int
    burst: int
    filled: dict[int, tuple[int, Fraction]] = field(default_factory=dict)  # by place: when, and with how many

    def takes(self, address: int, time: int, is_wanted: bool = True) -> bool:
        """Whether a SYN of `address` is within the limit; if so it is taken out."""
        place = address_hash(address, SECRET) % ENTRIES
        last, number = self.filled.get(place, (0, Fraction(self.burst + 1)))
        number = min(Fraction(self.burst + 1), number + Fraction(time - last, self.period))
        if number < 1 or not is_wanted:
            return False
        self.filled[place] = (time, number - 1)
        return True


def settings(source: Buckets, destination: Buckets, *verdicts: int) -> list[SignalCall]:
    return [
        SignalCall("set_source_limit", (source.period, source.period * source.burst)),
        SignalCall("set_destination_limit", (destination.period, destination.period * destination.burst)),
        SignalCall("set_verdicts", verdicts),
        SignalCall("set_secret", (SECRET,)),
    ]


def verdicts(bed: Bench, tokens: list[int]) -> list[int]:
    """Of the packets, each one flit."""
    return [bed.fields("out", token)["meta"] >> shift_of(bed) & 7 for token in tokens]


def shift_of(bed: Bench) -> int:
    meta = next(f.type for f in bed.flit.fields if f.name == "meta")
    return next(f.low for f in meta.fields if f.name == "verdict")


def test_it_limits_what_token_buckets_limit() -> None:
    rng = random.Random(11)
    bed = Bench("SynFlood", TEXT)
    source, destination = Buckets(1400, 2), Buckets(900, 3)
    sources, targets = [rng.getrandbits(128) for _ in range(5)], [rng.getrandbits(32) for _ in range(2)]
    time, given, headers, wanted = 5000, [], [], []
    limited, flooding, syns = 0, 0, 0
    for n in range(400):
        time += rng.choice([0, 1, 40, 400])
        a, b, flags = rng.choice(sources), rng.choice(targets), rng.choice([SYN, SYN, SYN | 0xC0, SYN | ACK, ACK, 0])
        protocol, has_ports, decided = rng.choice([TCP] * 7 + [UDP]), rng.random() < 0.9, 1 if rng.random() < 0.1 else 0
        given.append((n.to_bytes(60, "little"), {"timestamp": time, "verdict": decided}))
        headers.append(bed.token("headers", source=a, destination=b, tcp_flags=flags, protocol=protocol, has_ports=has_ports))
        wanted.append(decided)
        if not decided and protocol == TCP and has_ports and flags & (SYN | ACK) == SYN:
            syns += 1
            passes = source.takes(a, time)
            reached = destination.takes(b, time, passes)
            limited += not passes
            flooding += passes and not reached
            wanted[-1] = VERDICT_DROP if not passes else VERDICT_PASS if reached else VERDICT_TO_HOST
    calls = settings(source, destination, VERDICT_DROP, VERDICT_TO_HOST)
    outcome = bed.run({"in": bed.flits(given), "headers": headers}, calls)
    assert bed.packets(outcome.outputs["out"]) == [data for data, _ in given]
    assert verdicts(bed, outcome.outputs["out"]) == wanted
    assert (outcome.state["syns"], outcome.state["limited"], outcome.state["flooding"]) == (syns, limited, flooding)
    assert min(limited, flooding, syns - limited - flooding) > 15


def test_time_goes_on_behind_its_56_bits() -> None:
    bed = Bench("SynFlood", TEXT)
    wrap = 1 << 56
    times = [wrap // 2 - 1, wrap - 50, wrap - 10, wrap + 49, wrap + 60]  # the third and the fourth are within 100 of the second
    headers = [bed.token("headers", source=1, destination=2, tcp_flags=SYN, protocol=TCP, has_ports=1)] * len(times)
    given = {"in": bed.flits([(bytes(60), {"timestamp": time}) for time in times]), "headers": headers}
    outcome = bed.run(given, settings(Buckets(100, 0), Buckets(100, 0), VERDICT_DROP, VERDICT_PASS))
    expected = [VERDICT_PASS, VERDICT_PASS, VERDICT_DROP, VERDICT_DROP, VERDICT_PASS]
    assert verdicts(bed, outcome.outputs["out"]) == expected


def test_without_limits_everything_passes() -> None:
    bed = Bench("SynFlood", TEXT)
    times = [1000, 10, 1 << 63, 0, 5]  # backwards too
    headers = [bed.token("headers", source=1, destination=2, tcp_flags=SYN, protocol=TCP, has_ports=1)] * len(times)
    outcome = bed.run({"in": bed.flits([(bytes(60), {"timestamp": time}) for time in times]), "headers": headers})
    assert verdicts(bed, outcome.outputs["out"]) == [VERDICT_PASS] * len(times)
    assert outcome.state["syns"] == len(times) and outcome.state["limited"] == outcome.state["flooding"] == 0


def test_it_says_who_and_what_it_did_not_see() -> None:
    bed = Bench("SynFlood", TEXT)
    attacker, victim = 0xFD00 << 112 | 7, 0x0A000001
    syn = bed.token("headers", source=attacker, destination=victim, tcp_flags=SYN, protocol=TCP, has_ports=1)
    hidden = bed.token("headers", source=1, destination=2, protocol=TCP, is_ipv6=1, truncated=1)
    packets = [(bytes(200), {"timestamp": 9}), (bytes(60), {"timestamp": 9}), (bytes(60), {"timestamp": 9})]
    calls = settings(Buckets(100, 0), Buckets(100, 0), VERDICT_DROP, VERDICT_PASS)
    outcome = bed.run({"in": bed.flits(packets), "headers": [syn, syn, hidden]}, calls)
    assert (outcome.state["last_source"], outcome.state["last_destination"]) == (attacker, victim)
    assert (outcome.state["limited"], outcome.state["unseen"]) == (1, 1)
    assert bed.packets(outcome.outputs["out"]) == [data for data, _ in packets]
