# SPDX-License-Identifier: Apache-2.0
"""Forwarding when every packet hits: flits per cycle and latency by packet size, through the whole simulated device.

Every packet enters lane 0 back to back and leaves lane 1 with new MACs, TTL minus 1, a VLAN tag and updated checksums;
each of them is compared, byte for byte, with what scapy makes of it. Rates are those of the packets behind the warm-up:
flits of the busier side over the cycles between the last flit out of the packet before them and of the last of them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench import CLOCK_MHZ, traffic
from bench.forward.device import FLOWS, rows
from toolchain.markdown import table as written

PEER_SIZES = (64, 128, 512, 1518)
OVS_ACTIONS = "mod_dl_dst:02:00:00:00:00:05,mod_dl_src:02:00:00:00:00:06,dec_ttl,push_vlan:0x8100,mod_vlan_vid:100,output:2"

Log = Callable[[str], None]


def _flows(table: str, count: int) -> list[str]:
    """OpenFlow rules of a table's kind: by destination, or by 5-tuple."""
    found = []
    for flow in traffic.flows(4, count):
        match = f"in_port=1,udp,nw_dst={flow.destination}"
        if table == "exact":
            match += f",nw_src={flow.source},tp_src={flow.source_port},tp_dst={flow.destination_port}"
        found.append(f"{match},actions={OVS_ACTIONS}")
    return found


def _peer(size: int, packets_per_s: float, **more: Any) -> dict[str, Any]:
    return {"size": size, "packets_per_s": round(packets_per_s), "gbps": round(packets_per_s * 8e-9 * size, 3), **more}


def peers(log: Log, sizes: tuple[int, ...] = PEER_SIZES, flow_count: int = FLOWS) -> dict[str, Any]:
    """testpmd and OVS-DPDK on one core over the same IPv4 packets, or which package is missing."""
    from bench.peers import forward
    from bench.peers.tables import BUILD, PeerMissing

    jobs: dict[str, Callable[[Path], dict[str, Any]]] = {
        "testpmd_mac": lambda path: forward.testpmd(path),
        "ovs_dpdk_lpm": lambda path: forward.ovs_dpdk(path, _flows("lpm", flow_count)),
        "ovs_dpdk_exact": lambda path: forward.ovs_dpdk(path, _flows("exact", flow_count)),
    }
    results: dict[str, Any] = {}
    for name, job in jobs.items():
        log(f"{name.replace('_', ' ')} on one core, {', '.join(map(str, sizes))} bytes")
        try:
            results[name] = []
            for size in sizes:
                packets = [traffic.packet(flow, size) for flow in traffic.flows(4, flow_count)]
                capture = traffic.capture(BUILD / f"forward-{size}.pcap", packets)
                found = job(capture)
                results[name].append(_peer(size, found["packets_per_s"], core_share=found["core_share"]))
        except PeerMissing as reason:  # one that fails ends the benchmark
            results[name] = {"missing": str(reason)}
    return results


def measure(log: Log, with_peers: bool = True) -> dict[str, Any]:
    """All figures of the benchmark; `log` is told what goes on."""
    measured = rows(log)
    result: dict[str, Any] = {
        "flits_per_cycle": min(row["flits_per_cycle"] for row in measured),
        "latency_cycles": {row["ofu"]: row["latency_cycles"] for row in measured if row["size"] == row["asked_size"] == 128},
        "wrong_packets": sum(row["wrong_packets"] for row in measured),
        "missed_packets": sum(row["missed_packets"] for row in measured),
        "rate_clock_mhz": CLOCK_MHZ,
        "flows": FLOWS,
        "steady_part": "from the last flit out of the last packet of the warm-up to the last flit out of the last packet",
        "rows": measured,
    }
    if with_peers:
        result["peer_rates"] = "of a core's whole time: packets a second over the share of it that the forwarding thread got"
        result["peers"] = peers(log)
        result["over_ovs_dpdk"] = over(result, "ovs_dpdk_lpm")
    return result


def over(result: dict[str, Any], peer: str) -> dict[int, float]:
    """What the device forwards by its LPM table over a peer, by size; nothing where the peer was not measured."""
    found = result["peers"][peer]
    device = {row["size"]: row["packets_per_s"] for row in result["rows"] if row["ofu"] == "lpm" and row["version"] == 4}
    return {} if isinstance(found, dict) else {one["size"]: round(device[one["size"]] / one["packets_per_s"], 1) for one in found}


def show(result: dict[str, Any], console: Console) -> None:
    """The figures as tables."""
    table = Table(title=f"every packet hits; rates at {result['rate_clock_mhz']:.0f} MHz")
    for column in ("table", "IP", "size", "flits/cycle", "cycles/packet", "latency", "under load", "Mpps", "Gbps", "with gaps"):
        table.add_column(column, justify="right")
    for row in result["rows"]:
        loaded = row["latency_cycles_loaded"]
        table.add_row(
            *(row["ofu"], str(row["version"]), str(row["size"]), f"{row['flits_per_cycle']:.4f}"),
            *(f"{row['cycles_per_packet']:.3f}", str(row["latency_cycles"]), f"{loaded['median']}/{loaded['max']}"),
            *(f"{row['packets_per_s'] / 1e6:.1f}", f"{row['gbps']:.1f}", f"{row['gbps_with_gaps']:.1f}"),
        )
    console.print(table)
    for name, found in result.get("peers", {}).items():
        if isinstance(found, dict):
            console.print(f"{name}: not measured: {found['missing']}")
        else:
            console.print(f"{name}: " + ", ".join(f"{one['size']} B {one['packets_per_s'] / 1e6:.2f} Mpps" for one in found))


def tables(result: dict[str, Any]) -> dict[str, str]:
    """The table of the docs: the worst row of each size over tables and versions of IP."""
    lines = [
        "| bytes | rows | flits a cycle of the busier side | M packets/s | Gbit/s (with preamble and gap) "
        "| latency, cycles: alone | under load |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for size in sorted({row["size"] for row in result["rows"]}):
        rows = [row for row in result["rows"] if row["size"] == size]
        worst = min(rows, key=lambda row: float(row["flits_per_cycle"]))
        latency = f"{max(row['latency_cycles'] for row in rows)} | {max(row['latency_cycles_loaded']['median'] for row in rows)}"
        rates = f"{worst['packets_per_s'] / 1e6:.1f} | {worst['gbps']:.1f} ({worst['gbps_with_gaps']:.1f})"
        lines.append(f"| {size} | {len(rows)} | {worst['flits_per_cycle']:.4f} | {rates} | {latency} |")
    lines += ["", f"Wrong packets: {result['wrong_packets']}; missed: {result['missed_packets']}."]
    return {"forward": "\n".join(lines), "forward-peers": _peer_table(result)}


def _peer_table(result: dict[str, Any]) -> str:
    """M packets a second of the peers, and what the device does over OVS-DPDK, by size."""
    found = result.get("peers", {})
    if missing := [f"{name}: {one['missing']}" for name, one in found.items() if isinstance(one, dict)] or not found:
        return f"Not measured: {'; '.join(missing) if isinstance(missing, list) else 'without peers'}."
    ratio = over(result, "ovs_dpdk_lpm")
    rates = {name: {one["size"]: one["packets_per_s"] for one in rows} for name, rows in found.items()}
    rows = [(size, *(f"{rates[name][size] / 1e6:.1f}" for name in rates), f"{ratio[size]} x") for size in PEER_SIZES]
    heads = ("bytes", "testpmd, new MACs only", "OVS-DPDK, LPM rules", "OVS-DPDK, 5-tuple rules", "Sluice over OVS-DPDK (LPM)")
    return written(heads, rows)


def plot(result: dict[str, Any], folder: Path) -> None:
    """Write `forward.svg`, throughput and latency by packet size (AccelSDP Fig. 22, 23)."""
    from bench.forward.plot import draw

    draw(result, folder / "forward.svg")
