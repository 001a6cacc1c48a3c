# SPDX-License-Identifier: Apache-2.0
"""The benchmark of messages in a small run; it notices packets of neither program, and of the old one after the new one."""

from __future__ import annotations

from bench import control, every
from shell.sim.build import OVERLAY


def test_a_small_run() -> None:
    found = control.measure(lambda text: None, entries=40, echoes=3, **OVERLAY)
    assert (found["mixed_versions"], found["lost"], found["forged_accepted"], found["transaction_entries"]) == (0, 0, 0, 40)
    assert found["packets"] > 1000 and found["forged"] > 10 and found["flits_per_cycle"] > 0.5
    assert 50 < found["round_trip_cycles"] < 1000 < found["transaction_cycles"] < 100_000
    assert set(control.tables(found)) == every.places("control")


def test_wrong_packets_are_counted() -> None:
    traffic = control.Traffic.__new__(control.Traffic)
    traffic.expected = {b"old": (1, 0, 0), b"new": (2, 0, 1)}
    traffic.received = traffic.wrong = 0
    traffic.last_old, traffic.first_new = [-1], [2**63]
    for egress, data, entered in ((1, b"old", 5), (2, b"new", 7)):
        traffic._compare(egress, data, entered)
    assert traffic.mixed() == 0
    traffic._compare(1, b"new", 8)
    traffic._compare(1, b"neither", 8)
    assert traffic.mixed() == 2
    traffic._compare(1, b"old", 8)
    assert traffic.mixed() == 3
