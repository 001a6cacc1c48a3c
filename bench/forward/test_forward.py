# SPDX-License-Identifier: Apache-2.0
"""The forwarding benchmark at small sizes: every table takes a flit a cycle and sends the right bytes; its tables of the docs."""

from __future__ import annotations

from pathlib import Path

from bench import every, forward
from bench.forward.device import rows
from shell.sim.build import SMALL


def test_every_table_forwards_a_flit_in_every_cycle_and_the_right_bytes(tmp_path: Path) -> None:
    found = rows(lambda _: None, sizes=(64, 65, 200), device_sizes=SMALL, count=90, flow_count=16)
    assert len(found) == 3 * 2 * 3
    for row in found:
        assert row["flits_per_cycle"] >= 0.99, row
        assert (row["wrong_packets"], row["missed_packets"]) == (0, 0), row
        assert row["latency_cycles_loaded"]["min"] >= row["latency_cycles"] > 0
    assert {row["size"] for row in found if row["version"] == 6} == {66, 200}, "IPv6 has no smaller packet"
    result = {"rows": found, "rate_clock_mhz": 200.0, "peers": {"testpmd_mac": {"missing": "not here"}}}
    forward.plot(result, tmp_path)
    written = forward.tables({**result, "wrong_packets": 0, "missed_packets": 0})
    assert set(written) == every.places("forward") and written["forward-peers"] == "Not measured: testpmd_mac: not here."
    assert (tmp_path / "forward.svg").stat().st_size > 10_000


def test_peers_of_forwarding() -> None:
    rates = {"testpmd_mac": 33.2e6, "ovs_dpdk_lpm": 10e6, "ovs_dpdk_exact": 9.2e6}
    peers = {name: [{"size": size, "packets_per_s": rate} for size in forward.PEER_SIZES] for name, rate in rates.items()}
    device = [{"ofu": "lpm", "version": 4, "size": size, "packets_per_s": 200e6} for size in forward.PEER_SIZES]
    text = forward._peer_table({"peers": peers, "rows": device})
    assert text.splitlines()[2] == "| 64 | 33.2 | 10.0 | 9.2 | 20.0 x |"
    assert forward.over({"peers": {"ovs_dpdk_lpm": {"missing": "not here"}}, "rows": device}, "ovs_dpdk_lpm") == {}
    assert forward._peer_table({"rows": device}) == "Not measured: without peers."
