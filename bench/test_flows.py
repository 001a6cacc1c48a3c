# SPDX-License-Identifier: Apache-2.0
"""The benchmark of rules through rte_flow, at a small size: it runs, and every driver takes and gives back all rules."""

from __future__ import annotations

import io
import shutil

import pytest
from rich.console import Console

from bench import flows


@pytest.mark.skipif(shutil.which(flows.PROGRAM) is None, reason=f"{flows.PROGRAM} is not installed: make dpdk")
def test_rules_go_into_every_driver_and_out_again() -> None:
    found = flows.measure(lambda text: None, True, rules=500, rtl_rules=40, runs=1)
    for name in (*flows.NOOPS, "functional", "rtl"):
        assert min(found[name]["insertions_per_s"], found[name]["deletions_per_s"]) > 0
    assert found["rtl"]["insertion_cycles"] > found["rtl"]["deletion_cycles"] > 30, "with its operand an insertion takes 34 more"
    assert min(min(found[f"of_{name}"].values()) for name in flows.NOOPS) > 0
    out = io.StringIO()
    flows.show(found, Console(file=out, width=120))
    assert all(text in out.getvalue() for text in ("over no-op:", "over no-op with handles:", "functional device", "RTL, 40 rules"))
