# SPDX-License-Identifier: Apache-2.0
"""The flow table as software answers and finds what `models/flow.py` does, as the RTL does cycle by cycle."""

import ctypes as c
import random
from collections import Counter

import sluice_layouts as L

from host.flow_table.test_flow_rules import Manager, marked
from host.python.flow_table import Operation, error_text, key_words, library
from models.flow import DELETE, INITIALIZE, KEY_BITS, POPULATE, UPDATE, FlowModel, FlowRule

GROUPS, ENTRIES, TERNARY = 3, 6, 5


def test_model_agrees_with_the_model_of_the_rtl() -> None:
    random.seed(5)
    manager, model = Manager(GROUPS, ENTRIES, ENTRIES, TERNARY), FlowModel(GROUPS, ENTRIES, TERNARY)
    masks, values = [random.getrandbits(KEY_BITS) for _ in range(4)], [random.getrandbits(KEY_BITS) for _ in range(3)]
    statuses: Counter[tuple[int, int, int]] = Counter()
    marks: dict[tuple[int, int], int] = {}
    hits = 0
    for step in range(1, 4000):
        table = random.choice([L.TABLE_HASHED, L.TABLE_TERNARY])
        kind = random.choice(
            [POPULATE] * 5 + [DELETE] * (1 if step % 400 < 300 else 5) + [UPDATE] * 2 + [INITIALIZE] * (step % 101 == 0)
        )
        group = random.randrange(GROUPS + (random.random() < 0.1))
        mask = masks[group] if random.random() < 0.8 else random.choice(masks)
        value = random.choice(values) ^ (1 << random.randrange(KEY_BITS)) * random.randrange(2)
        limit = GROUPS * ENTRIES if table == L.TABLE_HASHED else TERNARY
        rule = FlowRule(random.randrange(limit + 1), value, mask, random.randrange(3), group)
        if rule.rule_id in model.rules[table] and random.random() < 0.5:
            old = model.rules[table][rule.rule_id]
            rule = FlowRule(
                old.rule_id, old.value ^ random.getrandbits(KEY_BITS) & ~old.mask, old.mask, rule.rule_priority, old.group
            )
        expected = model.expect(table, kind, rule)
        there = model.keys[rule.group] if rule.group < GROUPS else {}
        if table == L.TABLE_HASHED and kind == POPULATE and expected == 0 and len(there) == ENTRIES:
            expected = L.Status.STATUS_ENOSPC
        operation = Operation(kind, table, rule.group, rule.rule_priority, rule.rule_id, actions=marked(step))
        operation.value, operation.mask = key_words(rule.value), key_words(rule.mask)
        assert manager.table.execute(manager.table.context, c.byref(operation)) == -expected, rule
        statuses[table, kind, expected] += 1
        if expected == L.Status.STATUS_OK:
            model.commit(table, kind, rule)
            marks[table, rule.rule_id] = step
        for _ in range(3):
            key = random.choice(values) ^ (1 << random.randrange(KEY_BITS)) * random.randrange(2)
            winners = model.winners(key)
            found = manager.find(key)
            assert found == (marks[min(winners)] if winners else 0), "of equal ternary rules the one with the lowest id"
            hits += bool(winners)
    manager.close()
    assert hits > 1000 and len(statuses) >= 14, statuses


def test_rules_are_found_over_the_gaps_that_others_left() -> None:
    """42 rules are two thirds of an index of 64 slots, the most there can be: gaps have to be given back all the time."""
    draw = random.Random(7)
    manager = Manager(1, 37, 37, 5)
    mask = L.FlowKey(l4_dst=0xFFFF).to_int()
    there: dict[int, tuple[int, int]] = {}  # port: handle, mark
    for step in range(1, 6001):
        port = draw.randrange(120)
        if port in there:
            assert manager.rules.delete(there.pop(port)[0]) == 0
        elif len(there) < 37 and draw.random() < (0.9 if step % 600 < 500 else 0.2):
            handle = manager.rules.add(L.FlowKey(l4_dst=port).to_int(), mask, 0, marked(step))
            assert handle >= 0, error_text()
            there[port] = (handle, step)
        for one in (port, draw.randrange(120), draw.randrange(120)):
            assert manager.find(L.FlowKey(l4_dst=one).to_int()) == there.get(one, (0, 0))[1]
        if step % 200 == 0:
            assert [manager.find(L.FlowKey(l4_dst=one).to_int()) for one in range(120)] == [
                there.get(one, (0, 0))[1] for one in range(120)
            ]
    manager.close()


def test_the_reference_size_holds_65536_rules_of_few_masks_and_finds_each() -> None:
    manager = Manager(16, 4096, 4096, 256)
    masks = [L.FlowKey(ip_dst=0xFFFFFFFF, l4_dst=n).to_int() for n in (0, 1)]
    unit = L.FlowKey(ip_dst=1).to_int()
    keys = [unit * (n * 2654435761 % 2**32) for n in range(65536)]
    rules = [manager.rules.add(key, masks[n % 2], n % 7, marked(n + 1)) for n, key in enumerate(keys)]
    assert min(rules) >= 0 and len(set(rules)) == len(keys)
    assert manager.rules.add(0, L.FlowKey(l4_src=1).to_int(), 0, marked(1)) >= 0, "the TCAM is empty"
    assert [manager.find(key) for key in keys[::5]] == [n + 1 for n in range(0, len(keys), 5)]
    for handle in rules[::2]:
        assert manager.rules.delete(handle) == 0
    assert [manager.find(key) for key in keys[:6]] == [1, 2, 1, 4, 1, 6], "the rule of all packets is left for the others"
    manager.close()


def test_what_is_no_operation_changes_nothing() -> None:
    manager = Manager(GROUPS, ENTRIES, ENTRIES, TERNARY)

    def run(kind: int, table: int, rule_id: int, group: int = 0, value: int = 5, mask: int = 0xFF) -> int:
        made = Operation(kind, table, group, 0, rule_id, actions=marked(1))
        made.value, made.mask = key_words(value), key_words(mask)
        return int(manager.table.execute(manager.table.context, c.byref(made)))

    einval = -L.Status.STATUS_EINVAL
    hashed = GROUPS * ENTRIES
    for kind in (POPULATE, UPDATE, DELETE):
        for table, rule_id in ((0, hashed), (1, TERNARY), (0, 1 << 31), (2, 0), (255, 0)):
            assert run(kind, table, rule_id) == einval
        for table, rule_id in ((0, hashed - 1), (1, TERNARY - 1)):
            assert run(kind, table, rule_id, GROUPS - 1) == 0
        assert run(kind, 0, 0, GROUPS) == (-L.Status.STATUS_ENOENT if kind == DELETE else einval)
    for kind in (0, 5, 255):
        assert run(kind, 0, 0) == run(kind, 1, 0) == einval
    assert run(INITIALIZE, 2, 0) == einval and manager.find(5) == 0
    model, has = manager.model.handle, library().sluice_flow_model_has
    has.restype = c.c_bool
    for table, rule_id in ((0, 3), (1, 3)):
        assert run(POPULATE, table, rule_id, 1) == 0
        found = [(t, n) for t, limit in ((0, hashed), (1, TERNARY)) for n in range(limit) if has(model, c.c_uint8(t), n)]
        assert found == [(table, rule_id)] and manager.find(5) == 1
        assert [library().sluice_flow_model_group_used(model, g) for g in range(GROUPS)] == [0, int(table == 0), 0]
        assert run(DELETE, table, rule_id, 77) == 0, "a deletion reads no group"
        assert [library().sluice_flow_model_group_used(model, g) for g in range(GROUPS)] == [0, 0, 0]
        assert not has(model, c.c_uint8(table), rule_id) and manager.find(5) == 0
    manager.close()
