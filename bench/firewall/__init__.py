# SPDX-License-Identifier: Apache-2.0
"""The OpenFlow firewall (`configs/ofw`) with every table full: packets a cycle, verdicts, and rules inserted while packets pass.

The RTL of the whole configuration runs under Verilator; its tables are filled by the rule manager's signals alone. Packets of 64
bytes come back to back, of rules of every table alike and of none; each verdict is compared with a model in software that knows
all rules. Then rules of each table are removed and others added under the same packets: a packet may see a rule that changes
between its arrival and its leaving or not, and nothing else.
"""

from __future__ import annotations

import random
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from rich.console import Console
from rich.table import Table

from bench import CLOCK_MHZ
from bench.firewall import simulate
from bench.firewall.model import MISS, SOURCE, Filler, Key, Model, Shown, any_key, decided, effect, frame, traffic
from bench.simulator import FAST
from compiler.frontend import typed
from compiler.interpreter.packets import Packet, to_flits
from configs.ofw.manager import Call, Manager, Rule, Sizes, TableFull
from toolchain import ROOT
from toolchain.markdown import table as written

PACKETS = 20_000
CHANGES = 32  # rules that come and go, of each table
RANDOM_TRIES = 3  # keys for the cuckoo table that may find no place
TABLES = ("exact", "masked", "ternary")
# Section 7.2 of ClickNP (SIGCOMM 2016): 64 bytes at 40 Gbps; insertions with their PCIe round trips, microseconds.
CLICKNP = {"mpps": 56.4, "insert_us": {"masked": [6.3, 9.5], "ternary": 44.9}}

Log = Callable[[str], None]


@dataclass(frozen=True)
class Change:
    """A rule that comes or goes, and the signals that do it."""

    table: str
    rule: Rule
    is_added: bool
    calls: list[Call]


class Firewall:
    """Full tables: the manager, the rules, and what fills the device."""

    def __init__(self, sizes: Sizes, seed: int = 1) -> None:
        self.filler, self.manager = Filler(sizes, seed), Manager(sizes)
        exact = list(self.filler.exact(self.manager))
        masked = list(self.filler.masked(self.manager.masked.place))
        ternary = list(self.filler.ternary(sizes.tcam_groups * sizes.tcam_entries))
        self.rules = [*exact, *masked, *ternary]
        self.fill = self.manager.load([*masked, *ternary])
        self.random = random.Random(seed)

    def counts(self) -> dict[str, int]:
        """Rules by table."""
        return {table: sum(where == table for _, where, _ in self.manager.rules.values()) for table in TABLES}

    def changes(self, many: int) -> list[Change]:
        """`many` rules of each table go, and as many others come; the tables are full again."""
        by_table = {table: [rule for rule in self.rules if self.manager.table_of(rule) == table] for table in TABLES}
        found = []
        for table in TABLES:
            gone = self.random.sample(by_table[table], many)
            found += [Change(table, rule, False, self.manager.remove(rule)) for rule in gone]
            for rule in gone:
                new, calls = self._added(table, rule)
                found.append(Change(table, new, True, calls))
        return found

    def _added(self, table: str, gone: Rule) -> tuple[Rule, list[Call]]:
        """A new rule for the table that lost one."""
        for new in self._candidates(table, gone):
            if new.match in self.manager.rules:
                continue
            try:
                calls = self.manager.add(new)
            except TableFull:
                continue
            if self.manager.table_of(new) != table:
                raise RuntimeError(f"a rule for the table {table} went to {self.manager.table_of(new)}")
            return new, calls
        raise RuntimeError(f"no rule can be added to the table {table}")

    def _candidates(self, table: str, gone: Rule) -> Iterator[Rule]:
        """Rules with the mask of the one that went; in the HashTCAM with its place. Where nothing can move to the last free
        places of the cuckoo table, keys that can stand there."""
        for number in count():
            key, priority = any_key(self.random), self.random.randrange(16) << 12
            if table == "exact" and number >= RANDOM_TRIES:
                key = next(iter(self.filler.with_place(self.manager.exact.slots)), key)
            new = Rule(key & gone.mask, gone.mask, priority, self.filler.value())
            if table != "masked" or self.manager.masked.place(new) == self.manager.masked.place(gone):
                yield new


@dataclass(frozen=True)
class Seen:
    """What became of packets: how many were treated wrongly, of how many, and how many were dropped."""

    packets: int
    wrong: int
    dropped: int


def seen(
    rules: Sequence[Rule],
    changes: Sequence[Change],
    keys: Sequence[Key],
    sent: Sequence[int],
    run: simulate.Run,
    flit: typed.Struct,
) -> Seen:
    """Compares every packet with what the rules of its moment say; the first group of the run filled the tables."""
    every = Model([*rules, *(change.rule for change in changes if change.is_added)])
    born = {change.rule.match: n + 1 for n, change in enumerate(changes) if change.is_added}  # n: groups that have been
    died = {change.rule.match: n + 1 for n, change in enumerate(changes) if not change.is_added}
    matching = [every.matching(key) for key in keys]
    times = [run.groups[n + 1] for n in range(len(changes))]
    wrong = dropped = at = begun = ended = 0
    lasts = [cycle for cycle, _ in run.left] + [run.phases[-1].last]
    shown = Shown(flit)
    for number, entered in enumerate(run.taken):
        index = number % len(keys)
        token = run.left[at][1] if at < len(run.left) else None
        leaves = token is not None and shown.number(token) == index
        while ended < len(times) and times[ended][1] <= entered:
            ended += 1
        begun = ended
        while begun < len(times) and times[begun][0] <= lasts[at]:
            begun += 1
        allowed: set[int] = set()
        for moment in range(ended, begun + 1):
            alive = [r for r in matching[index] if born.get(r.match, 0) <= moment < died.get(r.match, len(changes) + 1)]
            allowed |= {effect(value) for value in decided(keys[index], alive)}
        wrong += (shown(sent[index], token) if leaves and token is not None else MISS) not in allowed
        dropped += not leaves
        at += leaves
    return Seen(len(run.taken), wrong + len(run.left) - at, dropped)


def rows(log: Log, sizes: Sizes, packets: int = PACKETS, many: int = CHANGES, options: Sequence[str] = FAST) -> dict[str, Any]:
    """All figures of the simulation."""
    log("rules that fill every entry")
    firewall = Firewall(sizes)
    before, counts = list(firewall.rules), firewall.counts()
    log(f"{len(before)} rules; the simulator")
    simulator = simulate.built(sizes, options)
    changes = firewall.changes(many)
    keys = traffic([*before, *(change.rule for change in changes for _ in range(len(before) // 1000 + 1))], packets)
    sent = [flit for n, key in enumerate(keys) for flit in to_flits(simulator.flit, Packet(frame(key, n)), 0)]
    groups = [firewall.fill, *(change.calls for change in changes)]
    log(f"simulation: {len(firewall.fill)} signals fill the tables, packets, {len(changes)} changes, packets")
    run = simulate.run(simulator, sent, groups, [(0, 1), (packets, 0), (packets, len(changes)), (packets, 0)])
    log(f"verdicts of {len(run.taken)} packets")
    found = seen(before, changes, keys, sent, run, simulator.flit)
    rates = [round(phase.packets / (phase.last - phase.first + 1), 4) for phase in run.phases[1:]]
    cycles = {
        what: {
            table: [
                last - first + 1
                for change, (first, last) in zip(changes, run.groups[1:], strict=True)
                if change.table == table and change.is_added == is_added
            ]
            for table in TABLES
        }
        for what, is_added in (("insert", True), ("remove", False))
    }
    calls = {table: [len(c.calls) for c in changes if c.table == table and c.is_added] for table in TABLES}
    return {
        "entries": {"exact": sizes.banks * sizes.bank_entries, "masked": sizes.masks * sizes.mask_entries,
                    "ternary": sizes.tcam_groups * sizes.tcam_entries},
        "rules": counts,
        "rules_at_the_end": firewall.counts(),
        "filled_by": "signals",
        "fill_signals": len(firewall.fill),
        "fill_cycles": run.groups[0][1] - run.groups[0][0] + 1,
        "refused_signals": sum(phase.refused for phase in run.phases),
        "packets": found.packets,
        "dropped": found.dropped,
        "wrong_verdicts": found.wrong,
        "packets_per_cycle": min(rates[0], rates[2]),
        "packets_per_cycle_during_insertion": rates[1],
        "rule_insert_cycles": {table: statistics.median(cycles["insert"][table]) for table in TABLES},
        "rule_insert_cycles_most": {table: max(cycles["insert"][table]) for table in TABLES},
        "rule_insert_us": {table: round(statistics.median(cycles["insert"][table]) / CLOCK_MHZ, 2) for table in TABLES},
        "rule_insert_signals": {table: statistics.median(calls[table]) for table in TABLES},
        "rule_remove_cycles": {table: statistics.median(cycles["remove"][table]) for table in TABLES},
        "changes": len(changes),
        "elements": [
            {"element": name, "ii": one.plan.interval, "stages": one.plan.depth} for name, one in simulator.compiled.items()
        ],
    }  # fmt: skip


def timed(*words: str, runs: int = 3) -> dict[str, float]:
    """The shortest of some runs of a command, s: by the clock, and of the processor."""
    seconds, processor = [], []
    for _ in range(runs):
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run([str(ROOT / "sluice"), *words], check=True, capture_output=True, cwd=ROOT)
        seconds.append(time.perf_counter() - start)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        processor.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return {"seconds": round(min(seconds), 3), "processor_seconds": round(min(processor), 3)}


def measure(log: Log, peers: bool = True) -> dict[str, Any]:
    """All figures; the peer is a published one, and is always there."""
    del peers
    log("check, and generation of the RTL")
    check = timed("check", str(SOURCE))
    generate = timed("build", str(SOURCE), "--out", str(ROOT / "build" / "bench" / "ofw-rtl"))
    times = {f"{name}_{kind}": value for name, one in (("check", check), ("generate", generate)) for kind, value in one.items()}
    return {"clock_mhz": CLOCK_MHZ, "packet_bytes": 64, **times, **rows(log, Sizes()), "clicknp": CLICKNP}


def show(result: dict[str, Any], console: Console) -> None:
    """The figures as tables."""
    table = Table(
        "table", "entries", "rules", "signals an insertion", "cycles an insertion", f"us at {result['clock_mhz']:g} MHz", "most"
    )
    for name in TABLES:
        figures = [result[key][name] for key in ("entries", "rules", "rule_insert_signals", "rule_insert_cycles", "rule_insert_us")]
        table.add_row(name, *(f"{figure:,}" for figure in figures), f"{result['rule_insert_cycles_most'][name]:,}")
    console.print(table)
    console.print(
        f"{result['packets_per_cycle']} packets a cycle, {result['packets_per_cycle_during_insertion']} while rules change; "
        f"{result['wrong_verdicts']} wrong verdicts of {result['packets']:,}; check {result['check_seconds']} s, RTL "
        f"{result['generate_seconds']} s"
    )


def tables(result: dict[str, Any]) -> dict[str, str]:
    """The table of the docs."""
    figures: dict[str, Callable[[str], object]] = {
        "entries, all taken": lambda name: result["entries"][name],
        "an insertion, cycles: median, most": lambda name: (
            f"{result['rule_insert_cycles'][name]:,g}, {result['rule_insert_cycles_most'][name]:,}"
        ),
        f"the same at {result['clock_mhz']:g} MHz, median, us": lambda name: result["rule_insert_us"][name],
        "signals of an insertion, median": lambda name: f"{result['rule_insert_signals'][name]:g}",
        "a removal, cycles, median": lambda name: f"{result['rule_remove_cycles'][name]:g}",
    }
    table = written(("", *TABLES), [(title, *map(figure, TABLES)) for title, figure in figures.items()])
    ii = ", ".join(f"{one['element']} {one['ii']} ({one['stages']})" for one in result["elements"])
    lines = [
        f"Packets a cycle: {result['packets_per_cycle']}; while signals come as fast as the chain takes them "
        f"{result['packets_per_cycle_during_insertion']}. Wrong verdicts: {result['wrong_verdicts']} of {result['packets']:,}.",
        f"II and stages of the elements: {ii}. `./sluice check` takes {result['check_seconds']} s, generation of the RTL "
        f"{result['generate_seconds']} s.",
    ]
    return {"firewall": "\n\n".join([table, *lines])}
