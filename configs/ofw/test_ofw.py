# SPDX-License-Identifier: Apache-2.0
"""The firewall with small tables in the interpreter, its rules written by the manager, against all rules compared one by one."""

import random
from collections import Counter
from copy import deepcopy
from dataclasses import replace

import pytest

from bench.firewall import Firewall
from bench.firewall.model import (
    SOURCE,
    VERDICT_DROP,
    VERDICT_FORWARD,
    Filler,
    Key,
    Model,
    Shown,
    action,
    effect,
    frame,
    program,
    traffic,
)
from compiler.frontend.typed import Program
from compiler.interpreter.choices import Decide, SignalCall
from compiler.interpreter.packets import Packet, to_flits
from compiler.interpreter.program import Graph
from configs.ofw.manager import EXACT_MASK, KEY_BITS, Call, Manager, Rule, Sizes, TableFull, rule_of
from elements.harness import Bench
from elements.hash.five_tuple import WORD

SIZES = Sizes(banks=2, bank_entries=16, masks=3, mask_entries=8, tcam_groups=2, tcam_entries=4)


@pytest.fixture(scope="module")
def firewall() -> Program:
    return program(SIZES)


class Signals(Decide):
    """Serves signals as they arrive."""

    def add(self, call: Call) -> None:
        self._signals.append(SignalCall(call.name, call.arguments))


class Device:
    """The firewall in the interpreter."""

    def __init__(self, firewall: Program) -> None:
        self.choices: dict[str, Signals] = {}
        self.graph = Graph(firewall, lambda name: self.choices.setdefault(name, Signals()))
        self.flit = firewall.channels[0].type
        self.lane = next(n for n, channel in enumerate(firewall.channels) if not channel.target.instance)

    def call(self, calls: list[Call]) -> None:
        for call in calls:
            self.choices[call.instance].add(call)
        assert self.graph.run()

    def wrong(self, rules: list[Rule], keys: list[Key]) -> list[Key]:
        """The keys whose packets do not get the action of a matching rule."""
        model = Model(rules)
        sent = [token for n, key in enumerate(keys) for token in to_flits(self.flit, Packet(frame(key, n)), 0)]
        self.graph.send(0, sent)
        assert self.graph.run()
        left = self.graph.kept[self.lane]
        found = Shown(self.flit).all(sent, left)
        left.clear()
        assert len(set(found)) > min(len(keys), len(rules)) // 4, "too few kinds of verdicts to mean anything"
        return [key for key, value in zip(keys, found, strict=True) if value not in map(effect, model.values(key))]


def full(sizes: Sizes) -> tuple[Manager, list[Rule], list[Call]]:
    """A manager with all tables full, its rules, and the calls that wrote them."""
    made = Firewall(sizes)
    return made.manager, made.rules, made.fill


def test_full_tables_treat_every_packet_as_its_rules_say(firewall):
    manager, rules, calls = full(SIZES)
    assert Counter(manager.table_of(rule) for rule in rules) == {"exact": 32, "masked": 24, "ternary": 8}
    device = Device(firewall)
    device.call(calls)
    assert device.wrong(rules, traffic(rules, 300)) == []


def test_rules_come_and_go(firewall):
    """The remaining rules hold at all times, however many entries move."""
    manager, rules, calls = full(SIZES)
    device, rng, spare = Device(firewall), random.Random(5), list(Filler(SIZES, 9).ternary(20))
    device.call(calls)
    most = 0
    for n in range(20):
        gone = rules.pop(rng.randrange(len(rules)))
        table = manager.table_of(gone)
        device.call(manager.remove(gone))
        new = spare.pop() if table == "ternary" else replace(gone, value=action(VERDICT_FORWARD, None, n + 1000))
        calls = manager.add(new)
        most = max(most, len(calls))
        if n % 5 == 0:
            keys = [key for key in traffic(rules, 60) if key is None or not new.matches(key)]
            for at in range(0, len(calls), 150):
                device.call(calls[at : at + 150])
                assert device.wrong(rules, keys) == []
        else:
            device.call(calls)
        rules.append(new)
    assert most > 300, "entries of the TCAM had to move"
    changed = [replace(rule, value=action(VERDICT_DROP)) for rule in rules[::3]]
    for rule in changed:
        device.call(manager.add(rule))
    kept = [*changed, *(rule for n, rule in enumerate(rules) if n % 3)]
    assert device.wrong(kept, traffic(kept, 300)) == []


def test_a_full_table_refuses_and_nothing_changes():
    manager = full(SIZES)[0]
    before = deepcopy(manager)
    for rule in (Rule(1, EXACT_MASK, 0, 0), Rule(1 << 80, 0xFF << 80, 3, 0)):
        with pytest.raises(TableFull, match="no place"):
            manager.add(rule)
    assert vars(manager.exact) == vars(before.exact) and vars(manager.masked) == vars(before.masked)
    assert manager.ternary.groups == before.ternary.groups and manager.rules == before.rules


@pytest.mark.parametrize("fields", [(2, 1, 0, 0), (0, 1 << KEY_BITS, 0, 0), (0, 0, 1 << 16, 0), (0, 0, 0, 1 << 32)])
def test_a_rule_that_no_table_can_hold_is_refused(fields):
    with pytest.raises(ValueError, match="rule's"):
        Rule(*fields)


def test_a_rule_is_written_with_prefixes_and_numbers():
    found = rule_of(7, 5, "10.1.0.0/16", "10.2.3.4", protocol=6, destination_port=80)
    assert found == Rule(0x0A010000 << 72 | 0x0A020304 << 40 | 6 << 32 | 80, 0xFFFF0000 << 72 | WORD << 40 | 0xFF0000FFFF, 7, 5)
    assert rule_of(0, 0).mask == 0 and rule_of(0, 0, "1.2.3.4", "5.6.7.8", 6, 1, 2).is_exact
    for wrong in ({"source": "10.1.0.1/16"}, {"source": "::1"}, {"protocol": 256}, {"source_port": -1}):
        with pytest.raises(ValueError, match=r"."):
            rule_of(0, 0, **wrong)


def test_a_verdict_holds_for_the_whole_packet():
    """As C++ and in the interpreter: packets of one flit and of several, and every answer that tables can give."""
    rng = random.Random(6)
    bed = Bench("Verdict", SOURCE.read_text().replace("../../elements", "elements"))
    packets = [rng.randbytes(rng.choice([60, 64, 65, 300])) for _ in range(80)]
    values = [action(VERDICT_DROP), action(VERDICT_FORWARD), action(VERDICT_FORWARD, 5), action(VERDICT_FORWARD, None, 77)]
    streams: dict[str, list[int]] = {"in": bed.flits(packets), "valid": [], "exact": [], "masked": [], "ternary": []}
    left = []
    for data in packets:
        is_ip, exact, masked, ternary = rng.random() < 0.8, *(rng.choice([None, None, *values]) for _ in range(3))
        ranks = [rng.randrange(4) for _ in range(2)]
        streams["valid"].append(is_ip)
        streams["exact"].append(0 if exact is None else 1 << 32 | exact)
        for name, value, rank in (("masked", masked, ranks[0]), ("ternary", ternary, ranks[1])):
            streams[name].append(0 if value is None else 1 << 48 | rank << 32 | value)
        wildcards = [(rank, value) for rank, value in zip(ranks, (masked, ternary), strict=True) if value is not None]
        ruled = exact if exact is not None else max(wildcards, key=lambda one: one[0], default=(0, values[0]))[1]
        left += [data] if (ruled if is_ip else values[1]) != values[0] else []
    calls = [SignalCall("set_default", (0, values[1]))]
    outcome = bed.run(streams, calls)
    assert bed.packets(outcome.outputs["out"]) == left
    assert 20 < len(left) < 70
