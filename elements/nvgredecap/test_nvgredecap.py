# SPDX-License-Identifier: Apache-2.0
"""NVGREDecap against what scapy wrapped."""

import random

from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import GRE, Ether

from elements.harness import Bench
from models.traffic import MACS


def wrapped(data: bytes, **ip: int) -> bytes:
    return (
        bytes(Ether(**MACS) / IP(src="10.0.0.1", dst="10.0.0.2", **ip) / GRE(key_present=1, key=0xABCDEF << 8, proto=0x6558)) + data
    )


def test_it_takes_out_what_scapy_wrapped():
    rng = random.Random(9)
    bed = Bench("NVGREDecap", "from_tor -> NVGREDecap :: n @ -> to_tor")
    given, left, empty = [], [], 0
    for size in [*range(140), 1500]:
        data = rng.randbytes(size)
        other = rng.choice(
            [
                bytes(Ether(**MACS) / IP() / UDP() / data),
                wrapped(data, frag=7),
                wrapped(data, flags="MF"),
                wrapped(data)[:30],
                data or b"x",
            ]
        )
        given += [wrapped(data), other]
        left += [data, other] if data else [other]
        empty += not data
    outcome = bed.run({"in": bed.flits(given)})
    assert bed.packets(outcome.outputs["out"]) == left
    assert outcome.state["dropped"] == empty
