# SPDX-License-Identifier: Apache-2.0
"""`sluice top`: what a live run does, from its counters for Prometheus."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from itertools import count
from typing import Any

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table

from host.program import InputError
from host.program.metrics import PORT, Key, scraped


def rates(before: Mapping[Key, float], after: Mapping[Key, float], seconds: float) -> dict[str, Any]:
    """Figures of an interval; per second, or ns of the core for each received packet. A counter that fell began again."""

    def rate(key: Key) -> float:
        change = after[key] - before.get(key, 0.0)
        return (change if change >= 0 else after[key]) / seconds

    def labelled(name: str) -> list[Key]:
        return [key for key in after if key[0] == name]

    lanes: dict[str, dict[str, float]] = {}
    for key in labelled("sluice_packets_total"):
        fate, lane = key[1]
        lanes.setdefault(lane, {})[fate] = rate(key)
    received = sum(lane.get("received", 0.0) for lane in lanes.values())
    busy = {key[1][0]: rate(key) for key in labelled("sluice_stage_seconds_total")}
    return {
        "seconds": seconds,
        "lanes": lanes,
        "instances": {key[1][0]: rate(key) for key in labelled("sluice_iterations_total")},
        "stages": {n: {"share": share, "ns_per_packet": 1e9 * share / received if received else 0.0} for n, share in busy.items()},
        "waiting": after.get(("sluice_waiting", ()), 0.0),
        "switches": after.get(("sluice_switches_total", ()), 0.0),
        "dropped": after.get(("sluice_dropped_total", ()), 0.0),
    }


def tables(found: Mapping[str, Any]) -> Group:
    """The figures for people."""
    lanes = Table("lane", "received/s", "sent/s", "not sent/s", "bad/s", "lost/s", box=None, pad_edge=False)
    for lane, rate in found["lanes"].items():
        lanes.add_row(lane, *(f"{rate.get(fate, 0.0):,.0f}" for fate in ("received", "sent", "unsent", "errors", "lost")))
    stages = Table("instances of a loop", "of the core", "ns a packet", "taken/s", box=None, pad_edge=False)
    for name, stage in found["stages"].items():
        taken = ", ".join(f"{found['instances'].get(one, 0.0):,.0f}" for one in name.split())
        stages.add_row(name.replace(" ", " > "), f"{stage['share']:.1%}", f"{stage['ns_per_packet']:,.1f}", taken)
    note = f"{found['waiting']:,.0f} tokens wait; {found['switches']:.0f} reloads, {found['dropped']:.0f} packets dropped by them"
    return Group(lanes, "", stages, "", note)


def top(
    url: str = typer.Argument(f"http://127.0.0.1:{PORT}/metrics", help="where the run answers"),
    seconds: float = typer.Option(1.0, min=0.1, help="from one look to the next"),
    looks: int = typer.Option(0, min=0, help="end after so many; 0: at Ctrl-C"),
    json_output: bool = typer.Option(False, "--json", help="print the figures of one interval as JSON, and end"),
) -> None:
    """Show what a live run does: packets a second of each lane, and time of the core in each loop of instances.

    `./sluice run my.sl --live eth1 --metrics 9464` in one terminal, `./sluice top` in another; Ctrl-C ends it. Prometheus reads the
    same address. A loop is what its instances share; its time is of the core, for each packet that was received."""
    try:
        before, at = scraped(url), time.monotonic()
        if json_output:
            time.sleep(seconds)
            print(json.dumps(rates(before, scraped(url), time.monotonic() - at), indent=1))
            return
        with Live(console=Console(), auto_refresh=False) as shown:
            for look in count(1):
                time.sleep(seconds)
                after, now = scraped(url), time.monotonic()
                shown.update(tables(rates(before, after, now - at)), refresh=True)
                before, at = after, now
                if look == looks:
                    return
    except InputError as error:
        raise typer.BadParameter(str(error)) from error
    except KeyboardInterrupt:
        return
