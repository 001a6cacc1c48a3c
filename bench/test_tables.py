# SPDX-License-Identifier: Apache-2.0
"""Tables of the docs whose benchmarks no test runs, of figures made up here: each figure is in its place."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from bench import elements, every, exact, forward, lpm, rules, updates
from testing.ovs import differential
from toolchain.markdown import table

CERTIFIED = {"failure": "", "token_cycles": {"in": 1}}


def test_a_table_has_commas_and_names_what_is_not_there() -> None:
    assert table(("a", "b"), [(12345, None), ("x", 1.5)]) == "| a | b |\n| --- | --- |\n| 12,345 | - |\n| x | 1.5 |"


def test_match_tables() -> None:
    one = {"searches_per_cycle": 1.0, "latency_cycles": 16, "write_cycles": 25, "lookup_stalls_during_write": 0}
    result: dict[str, Any] = {"tables": {"32x512": {**one, "wrong_results": 0, "lookups": 200000}}}
    result["rte_lpm"] = {"rules": 512, "single_mlookups_per_s": 194.0, "bulk_mlookups_per_s": 208.0}
    written = lpm.tables(result)
    assert set(written) == every.places("lpm") and "| write, cycles | 25 |" in written["lpm"] and "194.0, 208.0" in written["lpm"]
    cycles = {f"{kind}_cycles": {"average": 26.25, "max": 1297} for kind in ("populate", "delete", "update")}
    figures = {
        "searches_per_cycle": 1.0,
        "latency_cycles": 9,
        "wrong_results": 0,
        "false_misses_during_moves": 0,
        "searches": 9900000,
    }
    written = exact.tables({**cycles, **figures, "entries": 131072, "slots": 145408, "refused": 0, "rte_hash": {"missing": "DPDK"}})
    assert set(written) == every.places("exact") and "| populate, cycles: average, most | 26.2, 1,297 |" in written["exact"]
    assert "| searches | 9,900,000 |" in written["exact"] and "| - |" in written["exact"]


def test_rule_operations() -> None:
    sizes = {name: {f"{kind}_cycles": {"average": 28.0} for kind in rules.KINDS} for name in ("32x512", "128x512")}
    library = {"lpm 32x512": {kind: {"cycles": 32.1} for kind in rules.KINDS}}
    result = {"rate_clock_mhz": 200.0, **{name: {"tables": sizes} for name in rules.OFUS}, "library": library}
    written = rules.tables(result)
    assert set(written) == every.places("rules") and "| lpm 32x512 | 28.0 (7.1) | 28.0 (7.1) | 28.0 (7.1) |" in written["rules"]


def test_peers_of_forwarding() -> None:
    rates = {"testpmd_mac": 33.2e6, "ovs_dpdk_lpm": 10e6, "ovs_dpdk_exact": 9.2e6}
    peers = {name: [{"size": size, "packets_per_s": rate} for size in forward.PEER_SIZES] for name, rate in rates.items()}
    device = [{"ofu": "lpm", "version": 4, "size": size, "packets_per_s": 200e6} for size in forward.PEER_SIZES]
    text = forward._peer_table({"peers": peers, "rows": device})
    assert text.splitlines()[2] == "| 64 | 33.2 | 10.0 | 9.2 | 20.0 x |"
    assert forward.over({"peers": {"ovs_dpdk_lpm": {"missing": "not here"}}, "rows": device}, "ovs_dpdk_lpm") == {}
    assert forward._peer_table({"rows": device}) == "Not measured: without peers."


def test_elements_and_updates() -> None:
    area = {"lut": 8588, "ff": 8470, "bram": 548.0}
    row = {"element": "CuckooHash", "ii": 1, "depth": 8, "certificate": CERTIFIED, "tokens_per_cycle": 1.0, "xcup": area}
    row |= {"ecp5": {"fmax_mhz": 86.4, "size": "Entries = 4096"}, "clicknp": elements.CLICKNP["CuckooHash"]}
    row |= {"native": {**area, "generated_over_native": {"lut": 1.29, "ff": 2.02, "bram": None}}}
    written = elements.tables({"elements": [row]})
    figures = "| CuckooHash | 1 | 8 | yes | 1.0 | 8588 / 8470 / 548 | 86 (Entries = 4096) | 38, 209.7 |"
    assert figures in written["elements"] and "| 1.29, 2.02, - |" in written["elements-native"]
    update = {"update": "count", "clock_mhz": 200.0, "ii": 1, "depth": 3, "certificate": CERTIFIED, "disagreements": []}
    written = updates.tables({"updates": [{**update, "cycles_per_packet": {"1": 1.0, "1000": 1.0}}]})
    assert set(written) == every.places("updates") and "| count | 200 | 1 | 3 | yes | 1.00 | 1.00 | yes |" in written["updates"]


def test_pipelines_of_open_vswitch() -> None:
    result = differential.Result("access lists", 5000, 4000, 269, 135, 2200, 0, 3, {})
    written = differential.tables({"rows": [asdict(result)]})
    assert set(written) == every.places("differential")
    assert "| access lists | 5,000 | 4,000 | 269, 135 | 44.0% | 0 | 0 |" in written["differential"]
