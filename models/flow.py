# SPDX-License-Identifier: Apache-2.0
"""Model of the flow table: mask groups and ternary rules, what each operation must answer, and which rule a key finds.

Where the hardware may refuse for want of a path to a free slot (ENOSPC), the caller goes by what the hardware said.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sluice_layouts import (
    TABLE_HASHED,
    TABLE_TERNARY,
    FlowFragment,
    FlowKey,
    InstructionKind,
    LinkInfo,
    Meta,
    PhvRecord,
    Status,
)

from models.packet import TAG_TYPES, parse

POPULATE, DELETE = InstructionKind.INSTRUCTION_POPULATE, InstructionKind.INSTRUCTION_DELETE
UPDATE, INITIALIZE = InstructionKind.INSTRUCTION_UPDATE, InstructionKind.INSTRUCTION_INITIALIZE
FIRST_ETHERTYPE = 0x0600
SNAP = bytes.fromhex("aaaa03000000")
KEY_BITS = 8 * len(FlowKey().pack())


@dataclass(frozen=True)
class FlowRule:
    """What an operation says of a rule; `group` counts in the hashed table only."""

    rule_id: int
    value: int
    mask: int
    rule_priority: int = 0
    group: int = 0

    @property
    def key(self) -> int:
        return self.value & self.mask

    def matches(self, key: int) -> bool:
        return key & self.mask == self.key


@dataclass
class FlowModel:
    """The rules of both tables by rule id."""

    groups: int
    group_entries: int
    ternary_entries: int
    rules: tuple[dict[int, FlowRule], dict[int, FlowRule]] = field(default_factory=lambda: ({}, {}))
    keys: list[dict[int, FlowRule]] = field(init=False)  # of each group

    def __post_init__(self) -> None:
        self.keys = [{} for _ in range(self.groups)]

    def expect(self, table: int, kind: InstructionKind, rule: FlowRule) -> Status:
        """What the table must answer (OK for a populate of TABLE_HASHED may also be ENOSPC); changes nothing."""
        if kind == INITIALIZE:
            return Status.STATUS_OK
        limit = self.ternary_entries if table == TABLE_TERNARY else self.groups * self.group_entries
        old = self.rules[table].get(rule.rule_id)
        if rule.rule_id >= limit or (table == TABLE_HASHED and kind != DELETE and rule.group >= self.groups):
            return Status.STATUS_EINVAL
        if kind != POPULATE:
            return Status.STATUS_ENOENT if old is None else self._expect_update(table, kind, rule, old)
        if old is not None:
            return Status.STATUS_EEXIST
        if table == TABLE_TERNARY:
            return Status.STATUS_ENOSPC if len(self.rules[table]) == self.ternary_entries else Status.STATUS_OK
        there = self.keys[rule.group]
        if there and next(iter(there.values())).mask != rule.mask:
            return Status.STATUS_EINVAL
        return Status.STATUS_EEXIST if rule.key in there else Status.STATUS_OK

    def _expect_update(self, table: int, kind: InstructionKind, rule: FlowRule, old: FlowRule) -> Status:
        same = (old.group, old.key, old.mask) == (rule.group, rule.key, rule.mask)
        return Status.STATUS_EINVAL if table == TABLE_HASHED and kind == UPDATE and not same else Status.STATUS_OK

    def commit(self, table: int, kind: InstructionKind, rule: FlowRule) -> None:
        """The operation takes effect."""
        rules = self.rules[table]
        if kind == INITIALIZE:
            rules.clear()
            if table == TABLE_HASHED:
                self.keys = [{} for _ in range(self.groups)]
            return
        if kind != POPULATE:
            old = rules.pop(rule.rule_id)
            if table == TABLE_HASHED:
                del self.keys[old.group][old.key]
        if kind != DELETE:
            rules[rule.rule_id] = rule
            if table == TABLE_HASHED:
                self.keys[rule.group][rule.key] = rule

    def _found(self, key: int) -> Iterator[tuple[tuple[int, int], int, FlowRule]]:
        for group, there in enumerate(self.keys):
            if there and (rule := there.get(key & next(iter(there.values())).mask)) is not None:
                yield (rule.rule_priority, self.groups - group), TABLE_HASHED, rule
        for rule in self.rules[TABLE_TERNARY].values():
            if rule.matches(key):
                yield (rule.rule_priority, 0), TABLE_TERNARY, rule

    def winners(self, key: int) -> list[tuple[int, int]]:
        """Table and rule id of every rule that may win, none where nothing matches: several only for equal ternary rules."""
        found = list(self._found(key))
        best = max((order for order, _, _ in found), default=(0, 0))
        return [(table, rule.rule_id) for order, table, rule in found if order == best]


def link_info(packet: bytes) -> LinkInfo:
    """What the record of a packet lacks (`sl_flow_link`)."""
    first, second = int.from_bytes(packet[12:14], "big"), int.from_bytes(packet[16:18], "big")
    tagged = first in TAG_TYPES
    llc = packet[18:26] if tagged else packet[14:22]
    snap = (second if tagged else first) < FIRST_ETHERTYPE and llc[:6] == SNAP and int.from_bytes(llc[6:], "big") >= FIRST_ETHERTYPE
    return LinkInfo(first, second, int(snap))


def key_of(lane: int, packet: bytes) -> FlowKey | None:
    """The key of a packet of a lane that is no tunnel to the device, or None where it has none."""
    return flow_key(parse(packet, Meta(ingress_port=lane, length=len(packet))), link_info(packet))


def flow_key(record: PhvRecord, link: LinkInfo) -> FlowKey | None:
    """The key of a packet, or None where it has none (`sl_flow_key`)."""
    phv, info = record.phv, record.info
    if record.fault or info.outer_length or link.is_snap:
        return None
    key = FlowKey(ingress_port=record.ingress_port, eth_dst=phv.eth_dst, eth_src=phv.eth_src, eth_type=phv.eth_type)
    if info.tags:
        key.has_vlan, key.vlan_tpid, key.vlan_tci = 1, link.first_type, phv.vlan0_tci
    if info.tags == 2:
        key.eth_type = link.second_type
        return key
    key.ip_src, key.ip_dst, key.ip_protocol, key.ip_tos, key.ip_ttl = (
        phv.ip_src,
        phv.ip_dst,
        phv.ip_protocol,
        phv.ip_tos,
        phv.ip_ttl,
    )
    key.l4_src, key.l4_dst, key.tcp_flags, key.l4_kind = phv.l4_src, phv.l4_dst, phv.tcp_flags, info.l4_kind
    offset = phv.ip_fragment & 0x1FFF
    if offset:
        key.fragment = FlowFragment.FRAGMENT_LATER if offset >= 8 else FlowFragment.FRAGMENT_EARLY
    elif phv.ip_fragment:
        key.fragment = FlowFragment.FRAGMENT_FIRST
    return key
