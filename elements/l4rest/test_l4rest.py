# SPDX-License-Identifier: Apache-2.0
"""L4Rest behind an L4Parser against scapy: every header of TCP and UDP over IPv6 is found, whole or cut off anywhere."""

from __future__ import annotations

import random

from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether

from elements.harness import Bench
from elements.l4parser.test_l4parser import expected, made
from models.traffic import MACS

PARSER = 'import "elements/l4parser/l4parser.sl"; from_tor -> L4Parser :: p p.out -> to_tor p.headers -> Drop<headers_t>'
TEXT = """import "elements/l4parser/l4parser.sl";
L4Rest :: r  from_tor -> L4Parser :: p [1] -> [1] r [1] -> to_tor  p.headers -> r.headers  r.whole -> Drop<headers_t>"""
WINDOW = 128  # bytes of two flits


def check(given: list[bytes], wanted: list[dict[str, int]]) -> None:
    """What the parser finds, completed."""
    parser, bed = Bench("L4Parser", PARSER), Bench("L4Rest", TEXT)
    parsed = parser.run({"in": parser.flits(given)}).outputs["headers"]
    outcome = bed.run({"in": bed.flits(given), "headers": parsed})
    assert bed.packets(outcome.outputs["out"]) == given
    found = [bed.fields("whole", token) for token in outcome.outputs["whole"]]
    assert [{name: value for name, value in fields.items() if value} for fields in found] == [
        {name: int(value) for name, value in fields.items() if value} for fields in wanted
    ]


def test_it_finds_what_scapy_finds() -> None:
    rng = random.Random(8)
    given = [bytes(made(rng)) for _ in range(150)]
    is_ipv6 = [IPv6 in Ether(data) for data in given]
    wanted = [expected(data, WINDOW if ipv6 else 64) for data, ipv6 in zip(given, is_ipv6, strict=True)]
    check(given, wanted)
    assert sum(fields.get("tcp_flags", 0) > 0 for fields, ipv6 in zip(wanted, is_ipv6, strict=True) if ipv6) > 8


def test_a_header_that_is_cut_off_gives_none() -> None:
    given, wanted = [], []
    for tags in range(3):
        for transport in (TCP(sport=7, dport=9, seq=5, flags="S"), UDP(sport=7, dport=9)):
            packet = Ether(**MACS)
            for _ in range(tags):
                packet /= Dot1Q(vlan=3)
            whole = bytes(packet / IPv6(src="fd00::1", dst="fd00::2") / transport / bytes(80))
            header = len(whole) - 80 - len(transport)
            for size in range(header, len(whole)):
                given.append(whole[:size])
                fields = expected(whole, WINDOW)
                if size < header + len(transport):
                    left_out = ("has_ports", "source_port", "destination_port", "sequence_number", "tcp_flags")
                    fields = {name: value for name, value in fields.items() if name not in left_out} | {"truncated": 1}
                wanted.append(fields)
    check(given, wanted)
