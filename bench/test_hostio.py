# SPDX-License-Identifier: Apache-2.0
"""The benchmark of the host's cost a packet, at a small size: packets go round on both drivers, and both cost something."""

from __future__ import annotations

import io
import shutil

import pytest
from rich.console import Console

from bench import hostio


@pytest.mark.skipif(shutil.which("dpdk-testpmd") is None, reason="DPDK is not installed: make dpdk")
def test_packets_go_round_and_their_cost_is_told() -> None:
    found = hostio.measure(lambda text: None, True, sizes=(60,), count=20_000, runs=1)
    assert [one["driver"] for one in found["rows"]] == ["sluice", "net_ring"]
    assert all(min(one["send"], one["receive"], one["empty_poll"], one["packets_per_s"]) > 0 for one in found["rows"])
    out = io.StringIO()
    hostio.show(found, Console(file=out, width=120))
    assert "net_ring" in out.getvalue()
