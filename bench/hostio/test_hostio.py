# SPDX-License-Identifier: Apache-2.0
"""The benchmark of a packet's cost between device and host, at a small size: packets go round on both sides, and it is told."""

from __future__ import annotations

import io
import shutil
from typing import Any

import pytest
from rich.console import Console

from bench import every, hostio
from bench.hostio import device

FLOWS = ("buffers, flow by software", "buffers, flow by key")  # how the flow of a packet is found


@pytest.mark.skipif(shutil.which("dpdk-testpmd") is None, reason="DPDK is not installed: make dpdk")
def test_packets_go_round_and_their_cost_is_told() -> None:
    small: dict[str, Any] = {"messages": (64, 2048), "slot_counts": (2,)}
    found = hostio.measure(lambda text: None, True, sizes=(60,), count=20_000, runs=1, pauses=(2000,), **small)
    assert [one["driver"] for one in found["rows"]] == ["sluice", "sluice, parsed", "buffers", *FLOWS, "net_ring"]
    keys = ("send", "receive", "empty_poll", "parse", "packets_per_s")
    assert all(min(one[key] for key in keys) > 0 for one in found["rows"])
    polls, sleeps = found["waits"]
    assert (polls["way"], sleeps["way"]) == ("poll", "interrupt")
    assert all(0 < one["latency_us"] <= one["latency_99_us"] and 0 <= one["thread"] <= one["process"] for one in (polls, sleeps))
    assert sleeps["sleeps"] > 0 == polls["sleeps"]
    for one in found["rows"]:
        parsed = [one["by_software"], one["by_device"]]
        assert parsed == ([0, 20_000] if one["driver"] in ("sluice, parsed", FLOWS[1]) else [20_000, 0]), one
    parsed, bare = ([one for one in found["device"]["lanes"] if one["graph"] == graph] for graph in ("flow table", "none"))
    assert [one["cycles"] for one in (*parsed, *bare)] == [1.0] * 4  # a flit a cycle, both ways
    assert parsed[0]["latency_cycles"] > bare[0]["latency_cycles"] > 0
    filling = parsed[1]["latency_cycles"] - bare[1]["latency_cycles"]  # the way of checksums that nobody asked for
    assert 0 < filling < 8 < 2 * bare[1]["latency_cycles"]
    assert [one["cycles"] for one in found["device"]["slots"]] == [1.0, 32.0]
    assert found["device"]["slots"][1]["latency_cycles"] > 2048 / 64 > found["device"]["slots"][0]["latency_cycles"] > 2
    out = io.StringIO()
    hostio.show(found, Console(file=out, width=120))
    assert "net_ring" in out.getvalue() and "102.4" in out.getvalue()
    written = hostio.tables(found)
    assert set(written) == every.places("hostio")
    assert "| 2,048 | 2 |" in written["hostio-slots"] and "| 60 | net_ring | " in written["hostio-host"]


def test_a_packet_that_is_lost_or_changed_is_no_figure() -> None:
    class Silent:
        cycles = 0

        def advance(self, cycles: int) -> None:
            self.cycles += cycles

    nowhere: Any = Silent()
    with pytest.raises(RuntimeError, match="0 of 3 packets of 4 bytes arrived"):
        device.burst(nowhere, lambda number: True, lambda: None, bytes(4), 3)
    with pytest.raises(RuntimeError, match="packet 0 of 4 bytes was changed"):
        device.burst(nowhere, lambda number: True, lambda: bytes(5), bytes(4), 3)
