# SPDX-License-Identifier: Apache-2.0
"""Random rules and packets, and random sequences of calls, on the driver, compared with a model, at a small number
(`python -m host.pmd.random_rules` runs more); storms of rules of ten threads; a full table."""

from __future__ import annotations

from host.pmd.random_rules import operations, storm


def test_accepted_rules_are_enforced_and_others_refused_with_the_right_error() -> None:
    count = 20_000
    found = operations(count, seed=3)
    assert found["differences"] == 0 and found["operations"] >= count
    each = ("created", "validated", "destroyed", "queried", "refused", "packets", "forwarded", "to_host", "dropped", "spread")
    assert min(found[name] for name in each) > count // 200
    assert min(found[name] for name in ("flushed", "restarted", "dumped", "full", "twice", "gone", "tables_full")) > 2


def test_rules_are_enforced_whatever_the_ports_are_told_meanwhile() -> None:
    found = operations(0, seed=11, sequences=600)
    assert found["differences"] == 0 and found["sequences"] == 600
    assert min(found[name] for name in ("created", "packets", "forwarded", "to_host", "filtered", "queried")) > 600
    assert min(found[name] for name in ("spread", "without_queue", "replugged")) > 20


def test_ten_threads_change_rules_at_once_and_a_full_table_is_full_again_after_it_was_emptied() -> None:
    found = storm(threads=10, rounds=4)
    assert found["masks"] == 16 + 256, "mask groups and TCAM of the functional device"
    assert found["found"] > 0 and found["gone"] > 0, "queries beside destroy"
