# SPDX-License-Identifier: Apache-2.0
"""The benchmark of the firewall with small tables: a packet a cycle, and no verdict that the rules of its moment do not give."""

from __future__ import annotations

from typing import Any

import pytest

from bench import every, firewall
from bench.firewall.model import Key, Model
from bench.simulator import QUICK
from configs.ofw.manager import Rule, Sizes

SIZES = Sizes(banks=2, bank_entries=32, masks=2, mask_entries=8, tcam_groups=2, tcam_entries=8)


def measured() -> dict[str, Any]:
    return firewall.rows(lambda _: None, SIZES, 1500, 4, QUICK)


def test_full_tables_take_a_packet_a_cycle_while_rules_come_and_go() -> None:
    found = measured()
    assert found["rules"] == found["rules_at_the_end"] == found["entries"] == {"exact": 64, "masked": 16, "ternary": 16}
    assert found["wrong_verdicts"] == found["refused_signals"] == 0 and found["changes"] == 24
    assert found["packets"] > 4500 and 0.1 < found["dropped"] / found["packets"] < 0.9
    assert found["packets_per_cycle"] > 1500 / (1500 + 50), "all but the latency"
    assert {element["ii"] for element in found["elements"]} == {1}
    cycles = found["rule_insert_cycles"]
    written = firewall.tables({**found, "clock_mhz": 200.0, "check_seconds": 1, "generate_seconds": 2})
    assert set(written) == every.places("firewall") and "| entries, all taken | 64 | 16 | 16 |" in written["firewall"]
    assert 10 < cycles["masked"] < 60 and 10 < cycles["exact"] < 200 < cycles["ternary"] < 20_000


def test_rules_that_the_device_has_and_the_model_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    every = Model.matching

    def without_some(self: Model, key: Key) -> list[Rule]:
        return [rule for rule in every(self, key) if rule not in self.others[18:24]]

    monkeypatch.setattr(Model, "matching", without_some)
    assert measured()["wrong_verdicts"] > 10
