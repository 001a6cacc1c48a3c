# SPDX-License-Identifier: Apache-2.0
"""Which flows the cache knows, counts and forgets, on the simulated device with small exact tables."""

from __future__ import annotations

import ctypes as c
from collections.abc import Iterator

import pytest
import sluice_layouts as L

from host.python.device import Device
from host.python.run import Result
from host.python.structs import mirror
from shell.sim.build import SMALL
from testing.device import EXACT

KNOWN = 4 * (SMALL["exact4"] + SMALL["exact6"])  # flows known at once
ENTRIES = SMALL["exact4"]


class Flows:
    """The cache of a device; a flow gets its rule at its second packet."""

    def __init__(self, device: Device) -> None:
        self.device, self.library, self.result = device, device.library, Result()
        policy = mirror("sluice_policy")(offload_after=2)
        self.library.flows_new.restype = c.c_void_p
        self.handle = c.c_void_p(self.library.flows_new(device.handle, c.byref(policy)))
        assert self.handle

    def seen(self, number: int, table: int = 0) -> bool:
        """A packet of a flow; whether the flow now waits for a rule."""
        decision = mirror("sluice_decision")(table_id=table)
        key = L.FiveTuple4(ip_src=number).pack()
        decision.key[: len(key)] = list(key)
        decision.acl_verdict.slots[0].opcode = L.ACTION_DROP
        return bool(self.library.flows_seen(self.handle, c.byref(decision)))

    def install(self) -> None:
        assert self.library.flows_install(self.handle, c.c_uint32(0), c.byref(self.result)) == 0

    def waiting(self) -> int:
        return int(self.library.flows_waiting(self.handle))

    def used(self, table: int) -> int:
        count = c.c_uint32()
        self.device.call("sluice_ofu_size", c.c_uint16(EXACT), c.c_uint8(table), None, c.byref(count))
        return count.value


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    with Device(SMALL) as opened:
        yield opened


@pytest.fixture
def flows(device: Device) -> Iterator[Flows]:
    device.call("sluice_ofu_init", c.c_uint16(EXACT))
    made = Flows(device)
    yield made
    made.library.flows_free(made.handle)


def test_a_flow_gets_one_rule_in_its_own_table(flows: Flows) -> None:
    assert [flows.seen(1), flows.seen(1), flows.seen(1)] == [False, True, False]
    assert [flows.seen(1, table=1), flows.seen(1, table=1)] == [False, True], "the same key in the other table is another flow"
    flows.install()
    assert (flows.waiting(), flows.used(0), flows.used(1)) == (0, 1, 1)
    assert not flows.seen(1) and flows.waiting() == 0, "it has its rule"


def test_flows_without_a_rule_are_forgotten_when_the_table_is_full(flows: Flows) -> None:
    for number in (0, 1):
        assert [flows.seen(number), flows.seen(number)] == [False, True]
    flows.install()
    for number in range(2, KNOWN):
        assert not flows.seen(number)
    assert flows.seen(KNOWN - 1), "all are counted so far"
    assert not flows.seen(KNOWN), "while a flow waits none is forgotten: there is no room for another"
    flows.install()
    assert [flows.seen(KNOWN), flows.seen(KNOWN)] == [False, True], "now the others made room for it"
    assert not flows.seen(5), "its first packet is forgotten"
    assert flows.seen(5)
    assert not any(flows.seen(number) for number in (0, 1, KNOWN - 1)) and flows.waiting() == 2, "those with a rule keep it"


def test_many_flows_come_and_go_and_each_rule_is_of_one(flows: Flows) -> None:
    """More flows than are known at once, and more of them ask for a rule than there can be: the longest idle make room."""
    for number in range(3 * KNOWN // 2):
        assert not flows.seen(number)
        if number % 4 == 0:
            assert flows.seen(number)
            flows.install()
    result = flows.result
    assert result.installed + result.refused == 3 * KNOWN // 8, "a hash table may refuse a rule before it is full"
    assert result.evicted > 0 and result.installed == flows.used(0) + result.evicted
    assert ENTRIES // 2 < flows.used(0) <= ENTRIES
