# SPDX-License-Identifier: Apache-2.0
"""Retransmissions against Algorithm 1 in Python."""

import random

from scapy.layers.inet import IP, TCP, UDP, IPOption
from scapy.layers.l2 import Ether

from elements.harness import Bench
from models.traffic import MACS

FLOWS = 4


def test_it_counts_what_comes_again():
    rng = random.Random(5)
    bed = Bench("Retransmissions", f"from_tor -> Retransmissions<Entries = {FLOWS}> :: r @ -> to_tor")
    sequence, number = [0] * FLOWS, [0] * FLOWS
    given = []
    for _ in range(200):
        flow = rng.randrange(FLOWS + 1)
        is_tcp = rng.random() < 0.8
        new = rng.choice([0, 1, 1000, 1 << 31, (1 << 32) - 1])
        options = [IPOption(b"\x5e\x14" + bytes(18))] if rng.random() < 0.3 else []
        packet = (
            Ether(**MACS)
            / IP(options=options, frag=0 if rng.random() < 0.9 else 5)
            / (TCP(seq=new) if is_tcp else UDP(len=new & 0xFFFF))
        )
        given.append((bytes(packet), {"mark": flow}))
        if is_tcp and flow < FLOWS and packet[IP].frag == 0:
            number[flow] += new < sequence[flow]
            sequence[flow] = new
    outcome = bed.run({"in": bed.flits(given)})
    assert bed.packets(outcome.outputs["out"]) == [data for data, _ in given]
    assert outcome.state["flows"] == sum((s << 32 | n) << 64 * i for i, (s, n) in enumerate(zip(sequence, number, strict=True)))
    assert min(number) > 5
