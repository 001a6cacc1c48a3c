# SPDX-License-Identifier: Apache-2.0
"""The picture of `bench forward`: throughput and latency by packet size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt


def draw(result: dict[str, Any], path: Path) -> None:
    """Two panels: Gbit/s (logarithmic, software peers beside the hardware), and latency in cycles."""
    figure, (rates, latency) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    series = sorted({(row["ofu"], row["version"]) for row in result["rows"]}, key=str)
    for number, (ofu, version) in enumerate(series):
        rows = [row for row in result["rows"] if (row["ofu"], row["version"]) == (ofu, version)]
        sizes = [row["size"] for row in rows]
        style = {"marker": "osv^Dx"[number % 6], "ms": 4, "lw": 1, "label": f"Sluice {ofu}, IPv{version}"}
        rates.plot(sizes, [row["gbps"] for row in rows], **style)
        latency.plot(sizes, [row["latency_cycles"] for row in rows], **style)
    for name, found in result.get("peers", {}).items():
        if isinstance(found, list):
            rates.plot([one["size"] for one in found], [one["gbps"] for one in found], "k--" if "testpmd" in name else "--",
                       marker=".", lw=1, label=name.replace("_", " ") + ", one core")  # fmt: skip
    clock = result["rate_clock_mhz"]
    rates.axhline(100, color="grey", lw=0.5)
    rates.set(xscale="log", yscale="log", xlabel="packet size, bytes with FCS", ylabel="Gbit/s of packets with FCS")
    rates.set_title(f"Every packet hits (Sluice: simulated cycles at {clock:.0f} MHz)", fontsize=10)
    latency.set(
        xscale="log", xlabel="packet size, bytes with FCS", ylabel="cycles, first flit in to first flit out", ylim=(0, None)
    )
    latency.set_title(f"Latency of a lone packet (1 cycle is {1000 / clock:.0f} ns)", fontsize=10)
    for axes in (rates, latency):
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7)
    figure.savefig(path)
    plt.close(figure)
