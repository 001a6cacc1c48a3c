# SPDX-License-Identifier: Apache-2.0
"""Rules through rte_flow: DPDK's own dpdk-test-flow-perf on the driver with the functional device, in the same run beside drivers
that match nothing (`noop.c`: one that does nothing, one that has handles), and on the RTL, whose cost is also given in device
cycles. Rates are of processor time (`processor_time.c`): other work on the machine does not count in them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import sluice_layouts as layouts
from rich.console import Console
from rich.table import Table

from host.pmd.build import build as build_driver
from host.pmd.build import build_program
from host.python.device import Action, Device
from host.python.flow_table import Flows, error_text
from shell.sim.build import FLOW
from shell.sim.build import build as build_device
from toolchain.markdown import table as written

PROGRAM = "dpdk-test-flow-perf"
RULES, RTL_RULES, RUNS, PATIENCE = 60_000, 1_500, 5, 120
WHAT = ["--transfer", "--ether", "--ipv4", "--count", "--drop"]  # the IPv4 source is another in every rule
NOOPS = {"noop": "net_noop0", "noop_handles": "net_noop0,keep=1"}
QUERIES = {  # of counters: from memory that the device writes, and from its registers; rules, queries
    "functional": ("functional", RULES, 2_000_000),
    "functional_registers": ("functional:nopush", RULES, 300_000),
    "rtl": ("sim:", RTL_RULES, 1_000_000),
}
SPENT = r"(?m)^processor_ns (\d+) (\d+)$"


def eal_of(driver: Path, vdev: str) -> list[str]:
    """DPDK's own arguments."""
    cores = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    eal = ["--no-huge", "--legacy-mem", "-m", "256", "--no-pci", "--file-prefix", f"sluice{os.getpid()}", "-d", str(driver)]
    return [*eal, "--lcores", f"0@({cores}),1@({cores})", "--vdev", vdev]


def query(driver: Path, device: str, rules: int, count: int) -> dict[str, float]:
    """One run of `query.c`: what a query of counters costs. Raises RuntimeError with its last words."""
    program = build_program(Path(__file__).with_name("query.c"))
    which = f"sim:{build_device(FLOW)}" if device == "sim:" else device
    eal = eal_of(driver, f"net_sluice0,device={which},lanes=[none]")
    command = [str(program), *eal, "--", str(rules), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    found = re.search(r"query_ns ([\d.]+)", done.stdout)
    if done.returncode or not found:
        raise RuntimeError(f"query.c on {device}: status {done.returncode}: {(done.stdout + done.stderr)[-2000:]}")
    return {"query_ns": float(found[1]), "queries_per_s": round(1e9 / float(found[1])), "rules": rules}


def once(driver: Path, vdev: str, rules: int) -> dict[str, int]:
    """One run of the program: rules in and out, a second of processor time. Raises RuntimeError with its last words."""
    eal = eal_of(driver, vdev)
    own = [f"--rules-count={rules}", f"--rules-batch={rules}", "--deletion-rate", "--total-mbuf-count=4096", *WHAT]
    counting = {
        "LD_PRELOAD": str(build_program(Path(__file__).with_name("processor_time.c"), driver=True)),
        "SLUICE_RULES": str(rules),
    }
    done = subprocess.run(
        [PROGRAM, *eal, "--", *own], capture_output=True, text=True, timeout=PATIENCE, check=False, env={**os.environ, **counting}
    )
    found = re.search(SPENT, done.stdout)
    if done.returncode or not found or "0" in found.groups():
        raise RuntimeError(f"{PROGRAM} on {vdev}: status {done.returncode}: {(done.stdout + done.stderr)[-2000:]}")
    inserting, deleting = (round(1e9 * rules / int(nanoseconds)) for nanoseconds in found.groups())
    return {"insertions_per_s": inserting, "deletions_per_s": deleting}


def typical(runs: list[dict[str, int]]) -> dict[str, Any]:
    """The median of each rate, and all runs beside."""
    return {**{key: round(median(run[key] for run in runs)) for key in runs[0]}, "runs": runs}


def rtl_cycles(count: int) -> dict[str, float]:
    """Device cycles of a rule in and out, through the library and the register bus."""
    with Device(FLOW) as device:
        flows, start = Flows(device), device.cycles
        mask = layouts.FlowKey(eth_type=0xFFFF, ip_src=0xFFFFFFFF).to_int()
        handles = []
        for n in range(count):
            key = layouts.FlowKey(eth_type=0x800, ip_src=0x0A000000 + n).to_int()
            handles.append(flows.add(key, mask, 0, [Action(layouts.ACTION_DROP)]))
            if handles[-1] < 0:
                raise RuntimeError(error_text())
        before = device.cycles
        for handle in handles:
            flows.rules.counters(handle)
        read = device.cycles - before
        for handle in handles:
            flows.mirrored(handle)
        middle = device.cycles
        queries = {"register_query_cycles": round(read / count, 1), "query_cycles": (middle - before - read) / count}
        for handle in handles:
            if flows.delete(handle):
                raise RuntimeError(error_text())
        cycles = device.cycles
        flows.close()
    return {
        "insertion_cycles": round((before - start) / count, 1),
        "deletion_cycles": round((cycles - middle) / count, 1),
        **queries,
    }


def measure(
    log: Callable[[str], None], peers: bool, rules: int = RULES, rtl_rules: int = RTL_RULES, runs: int = RUNS
) -> dict[str, Any]:
    """The drivers, in turn, so that other work meets them alike."""
    result: dict[str, Any] = {"rules": rules, "what": " ".join(WHAT), "rtl_rules": rtl_rules}
    log("rules into the RTL through the library")
    result["rtl"] = rtl_cycles(rtl_rules)
    if shutil.which(PROGRAM) is None:
        return {**result, "missing": f"{PROGRAM} is not installed: `make dpdk`"}
    driver, noop = build_driver(), build_program(Path(__file__).with_name("noop.c"), driver=True)
    found: dict[str, list[dict[str, int]]] = {name: [] for name in ("functional", *NOOPS)}
    for number in range(runs):
        log(f"{PROGRAM}, {rules} rules, run {number + 1} of {runs}")
        found["functional"].append(once(driver, "net_sluice0,device=functional,lanes=[none]", rules))
        for name, vdev in NOOPS.items() if peers else ():
            found[name].append(once(noop, vdev, rules))
    result |= {name: typical(some) for name, some in found.items() if some}
    for name in NOOPS if peers else ():
        result[f"of_{name}"] = {key: round(result["functional"][key] / result[name][key], 3) for key in found[name][0]}
    log(f"{PROGRAM} on the RTL, {rtl_rules} rules")
    result["rtl"] |= once(driver, f"net_sluice0,device=sim:{build_device(FLOW)},lanes=[none]", rtl_rules)
    log("queries of counters")
    part = rules / RULES
    result["queries"] = {
        name: query(driver, device, min(rtl_rules if name == "rtl" else rules, most), max(1, int(part * count)))
        for name, (device, most, count) in QUERIES.items()
    }
    return result


def show(result: dict[str, Any], console: Console) -> None:
    """The figures as a table."""
    table = Table(title=f"{result['rules']} rules ({result['what']})")
    for column in ("driver", "in, 1/s", "out, 1/s"):
        table.add_column(column, justify="left" if column == "driver" else "right")
    names = {"noop": "no-op", "noop_handles": "no-op with handles", "functional": "functional device"}
    for name, text in (*names.items(), ("rtl", f"RTL, {result['rtl_rules']} rules")):
        one = result.get(name, {})
        if "insertions_per_s" in one:
            table.add_row(text, f"{one['insertions_per_s']:,}", f"{one['deletions_per_s']:,}")
    console.print(table)
    for name in NOOPS:
        if ratio := result.get(f"of_{name}"):
            rates = f"{ratio['insertions_per_s']:.1%} in, {ratio['deletions_per_s']:.1%} out"
            console.print(f"functional device over {names[name]}: {rates}")
    console.print(
        f"RTL, device cycles: {result['rtl']['insertion_cycles']} in, {result['rtl']['deletion_cycles']} out,"
        f" {result['rtl']['query_cycles']} a query, {result['rtl']['register_query_cycles']} by registers"
    )
    names = {"functional": "functional device", "functional_registers": "the same, by its registers", "rtl": "RTL"}
    for name, one in result.get("queries", {}).items():
        console.print(f"query on the {names[name]}: {one['query_ns']:,} ns, {one['queries_per_s']:,} a second")
    if "missing" in result:
        console.print(result["missing"])


def tables(result: dict[str, Any]) -> dict[str, str]:
    """The tables of the docs: rules in and out, and queries of their counters."""
    names = {
        "noop": "driver that does nothing, one handle for all",
        "noop_handles": "driver that does nothing, a handle for each",
        "functional": "functional device",
        "rtl": "RTL, in simulation",
    }
    count = {"rtl": result["rtl_rules"]}
    rows: list[tuple[object, ...]] = [
        (text, count.get(name, result["rules"]), one["insertions_per_s"], one["deletions_per_s"])
        for name, text in names.items()
        if "insertions_per_s" in (one := result.get(name, {}))
    ]
    for name in NOOPS:
        if ratio := result.get(f"of_{name}"):
            rows.append((f"functional device over {names[name]}", None, ratio["insertions_per_s"], ratio["deletions_per_s"]))
    rtl = result["rtl"]
    rows.append(("RTL, cycles through the library", result["rtl_rules"], rtl["insertion_cycles"], rtl["deletion_cycles"]))
    cycles = {"functional": None, "functional_registers": None, "rtl": rtl["query_cycles"]}
    texts = {"functional": names["functional"], "functional_registers": "the same, by its registers", "rtl": names["rtl"]}
    asked = [
        (texts[n], one["rules"], one["query_ns"], one["queries_per_s"], cycles[n]) for n, one in result.get("queries", {}).items()
    ]
    asked.append(("RTL by its registers, through the library", result["rtl_rules"], None, None, rtl["register_query_cycles"]))
    return {
        "flows": written(("", "rules", "in, 1/s", "out, 1/s"), rows),
        "flows-queries": written(("", "rules", "ns a query", "queries a second", "device cycles"), asked),
    }
