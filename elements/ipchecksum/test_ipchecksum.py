# SPDX-License-Identifier: Apache-2.0
"""IPChecksum against scapy: wrong checksums are dropped, or made right; what is no whole IPv4 header passes as it is."""

import random

import pytest
from scapy.layers.inet import IP, UDP, IPOption
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether

from elements.harness import Bench
from models.traffic import MACS


def bench(update: int) -> Bench:
    return Bench("IPChecksum", f"from_tor -> IPChecksum<Update = {update}> :: c @ -> to_tor")


def right_packet(rng: random.Random, tags: int, options: int) -> bytes:
    """With `options` words of them."""
    packet = Ether(**MACS)
    for _ in range(tags):
        packet /= Dot1Q(vlan=rng.randrange(4096))
    chosen = [IPOption(b"\x5e" + bytes([4 * options]) + rng.randbytes(4 * options - 2))] if options else []
    addresses = {end: ".".join(str(b) for b in rng.randbytes(4)) for end in ("src", "dst")}
    return bytes(packet / IP(**addresses, id=rng.getrandbits(16), options=chosen) / UDP() / rng.randbytes(rng.choice([0, 20, 200])))


def broken(rng: random.Random, packet: bytes, tags: int) -> bytes:
    """One bit of the header, behind version and size, is another."""
    data = bytearray(packet)
    data[14 + 4 * tags + rng.randrange(1, 20)] ^= 1 << rng.randrange(8)
    return bytes(data)


def mixed(seed: int) -> tuple[list[bytes], list[bytes], list[bytes]]:
    """Packets, what is left of them, and what they are mended to."""
    rng = random.Random(seed)
    given, kept, mended = [], [], []
    for _ in range(60):
        tags, options = rng.randrange(3), rng.choice([0, 0, 1, 5])
        packet = right_packet(rng, tags, options)
        bad = broken(rng, packet, tags) if rng.random() < 0.5 else packet
        given.append(bad)
        kept += [packet] if bad == packet else []
        header = IP(bad[14 + 4 * tags :])
        del header.chksum
        right = bytes(header)[10:12]
        mended.append(bad[: 24 + 4 * tags] + right + bad[26 + 4 * tags :])
    return given, kept, mended


@pytest.mark.parametrize("seed", range(2))
def test_wrong_ones_are_dropped(seed):
    bed = bench(0)
    given, kept, _ = mixed(seed)
    outcome = bed.run({"in": bed.flits(given)})
    assert bed.packets(outcome.outputs["out"]) == kept
    assert outcome.state["checked"] == len(given) and outcome.state["wrong"] == len(given) - len(kept)


@pytest.mark.parametrize("seed", range(2))
def test_wrong_ones_are_mended(seed):
    bed = bench(1)
    given, kept, mended = mixed(seed)
    outcome = bed.run({"in": bed.flits(given)})
    assert bed.packets(outcome.outputs["out"]) == mended
    assert outcome.state["wrong"] == len(given) - len(kept)


@pytest.mark.parametrize("update", [0, 1])
def test_others_pass(update):
    ip = bytes(Ether(**MACS) / IP() / UDP())
    others = [
        bytes(Ether(**MACS) / IPv6() / UDP()),
        bytes(Ether(**MACS, type=0x0806)),
        ip[:33],
        ip[:14] + b"\x55" + ip[15:],
        ip[:14] + b"\x44" + ip[15:],
        ip[:14] + b"\x4f" + ip[15:] + bytes(100),
        b"x",
    ]
    bed = bench(update)
    outcome = bed.run({"in": bed.flits(others)})
    assert bed.packets(outcome.outputs["out"]) == others
    assert outcome.state["skipped"] == 4 and outcome.state["checked"] == 0
