# SPDX-License-Identifier: Apache-2.0
"""NVGREEncap against scapy."""

import random

from scapy.layers.inet import IP
from scapy.layers.l2 import GRE, Ether

from compiler.interpreter.choices import SignalCall
from elements.harness import Bench

OWN_MAC, OWN_IP = 0x020000000001, 0x0A000001
TUNNELS = {1: (0x020000000002, 0xC0A80102, 0x123456), 3: (0xFEFFFFFFFFFF, 0xFFFFFFFE, 0xFFFFFF)}


def wrapped(data: bytes, mark: int) -> bytes:
    mac, ip, subnet = TUNNELS[mark]
    ethernet = Ether(dst=mac.to_bytes(6), src=OWN_MAC.to_bytes(6))
    outer = IP(src=".".join(map(str, OWN_IP.to_bytes(4))), dst=".".join(map(str, ip.to_bytes(4))), id=0, flags="DF", ttl=64)
    return bytes(ethernet / outer / GRE(key_present=1, key=subnet << 8, proto=0x6558) / data)


def test_it_wraps_as_scapy_does():
    rng = random.Random(8)
    bed = Bench("NVGREEncap", "from_tor -> NVGREEncap<Tunnels = 4> :: n @ -> to_tor")
    calls = [SignalCall("set_own", (OWN_MAC, OWN_IP))]
    calls += [SignalCall("set_tunnel", (mark, 1, *values)) for mark, values in TUNNELS.items()]
    sizes = [*range(1, 140), 1500]
    given = [(rng.randbytes(size), {"mark": rng.choice([1, 1, 3, 3, 0, 5])}) for size in sizes]
    given.append((b"length not known", {"mark": 1, "length": 0}))
    outcome = bed.run({"in": bed.flits(given)}, calls)
    kept = [(data, meta["mark"]) for data, meta in given[:-1] if meta["mark"] in TUNNELS]
    assert bed.packets(outcome.outputs["out"]) == [wrapped(*packet) for packet in kept]
    assert outcome.state["dropped"] == len(given) - len(kept)
