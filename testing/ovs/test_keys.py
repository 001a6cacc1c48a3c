# SPDX-License-Identifier: Apache-2.0
"""The key of the flow table is that of Open vSwitch itself, for every kind of packet."""

from __future__ import annotations

import random

import pytest

from models.flow import key_of
from models.traffic import link_layers, malformed, mutated, well_formed
from testing.ovs.keys import be, is_later_ipv6_fragment, keys

FRAGMENT_HEADER = 44


@pytest.mark.parametrize("seed", range(3))
def test_the_key_of_a_packet_is_what_open_vswitch_reads(seed: int) -> None:
    random.seed(seed)
    whole = [*link_layers(), *well_formed(), *malformed()]
    packets = [*whole, *(packet[:12] + mutated(packet[12:]) for packet in whole if len(packet) > 14)]
    packets = [packet for packet in packets if len(packet) >= 14 and 0x9100 not in (be(packet, 12), be(packet, 16))]
    compared = later = 0
    for packet, theirs in zip(packets, keys(packets, 3), strict=True):
        ours = key_of(3, packet)
        if ours is None:  # it goes to the host
            continue
        compared += 1
        if is_later_ipv6_fragment(ours):
            later += 1
            assert theirs.ip_protocol == FRAGMENT_HEADER
            theirs.ip_protocol = ours.ip_protocol
        assert ours == theirs, packet.hex()
    assert compared > 150 and later > 3
