# SPDX-License-Identifier: Apache-2.0
"""The executable meaning of every action: what `rtl/action` does to a header record, and what software must do too.

`execute` changes a record in place. It never raises for any record or action set: what cannot be done is ignored or
sends the packet to the host, as rtl/action/README.md says.
"""

from __future__ import annotations

from collections.abc import Sequence

import sluice_layouts as layouts
from sluice_layouts import DropCause, Field, L3Kind, L4Kind, Opcode, Verdict

FINAL = (Verdict.VERDICT_DROP, Verdict.VERDICT_TO_HOST, Verdict.VERDICT_TO_CONTROLLER)
NAMES = {
    Field.FIELD_ETH_DST: ("eth_dst", 48),
    Field.FIELD_ETH_SRC: ("eth_src", 48),
    Field.FIELD_ETH_TYPE: ("eth_type", 16),
    Field.FIELD_VLAN0_TCI: ("vlan0_tci", 16),
    Field.FIELD_VLAN1_TCI: ("vlan1_tci", 16),
    Field.FIELD_IP_SRC: ("ip_src", 128),
    Field.FIELD_IP_DST: ("ip_dst", 128),
    Field.FIELD_IP_TOS: ("ip_tos", 8),
    Field.FIELD_IP_TTL: ("ip_ttl", 8),
    Field.FIELD_L4_SRC: ("l4_src", 16),
    Field.FIELD_L4_DST: ("l4_dst", 16),
    Field.FIELD_TUNNEL_ID: ("tunnel_id", 24),
}
ADDRESSES = (Field.FIELD_IP_SRC, Field.FIELD_IP_DST)
HOST_ONLY = 1 << layouts.HOST_PORT


def is_ip(record: layouts.PhvRecord) -> bool:
    """The packet has an IPv4 or IPv6 header."""
    return record.info.l3_kind in (L3Kind.L3_IPV4, L3Kind.L3_IPV6)


def is_present(record: layouts.PhvRecord, field: int) -> bool:
    """The header of a field stands in the packet as it is now; False for field numbers that do not exist."""
    match field:
        case Field.FIELD_ETH_DST | Field.FIELD_ETH_SRC | Field.FIELD_ETH_TYPE | Field.FIELD_TUNNEL_ID:
            return True
        case Field.FIELD_VLAN0_TCI:
            return record.edits.tags >= 1
        case Field.FIELD_VLAN1_TCI:
            return record.edits.tags >= 2
        case Field.FIELD_IP_SRC | Field.FIELD_IP_DST | Field.FIELD_IP_TOS | Field.FIELD_IP_TTL:
            return is_ip(record)
        case Field.FIELD_L4_SRC | Field.FIELD_L4_DST:
            return record.info.l4_kind in (L4Kind.L4_TCP, L4Kind.L4_UDP)
    return False


def set_field(record: layouts.PhvRecord, field: int, value: int) -> None:
    """Write a field and mark it dirty; nothing where its header is absent."""
    if not is_present(record, field):
        return
    name, width = NAMES[Field(field)]
    if field in ADDRESSES and record.info.l3_kind == L3Kind.L3_IPV4:
        width = 32
    setattr(record.phv, name, value & ((1 << width) - 1))
    record.edits.dirty |= 1 << field


def drop(record: layouts.PhvRecord, cause: DropCause) -> None:
    """Verdict DROP with its cause."""
    record.verdict = Verdict.VERDICT_DROP
    record.drop_cause = cause


def subtract_ttl(record: layouts.PhvRecord) -> None:
    """TTL or hop limit minus 1; 0 and 1 drop."""
    if not is_ip(record):
        return
    if record.phv.ip_ttl <= 1:
        drop(record, DropCause.DROP_TTL)
    else:
        set_field(record, Field.FIELD_IP_TTL, record.phv.ip_ttl - 1)


def punt(record: layouts.PhvRecord) -> None:
    """What the hardware cannot do: the packet goes to the host as it came."""
    record.verdict = Verdict.VERDICT_TO_HOST
    edits = record.edits
    edits.dirty = edits.pushed = edits.popped = edits.service_tag = edits.checksums = 0
    edits.strip_outer = edits.encapsulate = edits.write_tunnel_id = edits.template_index = 0
    edits.ip_delta = edits.l4_delta = 0
    edits.tags = record.info.tags


def move_dirty(record: layouts.PhvRecord, vlan0: int, vlan1: int) -> None:
    """Give the dirty bits of the two tags these values."""
    clear = ~(1 << Field.FIELD_VLAN0_TCI | 1 << Field.FIELD_VLAN1_TCI)
    moved = vlan0 << Field.FIELD_VLAN0_TCI | vlan1 << Field.FIELD_VLAN1_TCI
    record.edits.dirty = record.edits.dirty & clear | moved


def insert_vlan(record: layouts.PhvRecord, operand: int) -> None:
    """A new outer tag; a third tag punts."""
    edits, phv = record.edits, record.phv
    if edits.tags >= layouts.MAX_TAGS:
        punt(record)
        return
    phv.vlan1_tci, phv.vlan0_tci = phv.vlan0_tci, operand & 0xFFFF
    move_dirty(record, 1, edits.dirty >> Field.FIELD_VLAN0_TCI & 1)
    edits.service_tag = (edits.service_tag & 1) << 1 | (operand >> 16 & 1)
    edits.tags += 1
    edits.pushed += 1


def delete_vlan(record: layouts.PhvRecord) -> None:
    """Remove the outer tag; an inserted one takes its insertion with it."""
    edits, phv = record.edits, record.phv
    if edits.tags == 0:
        return
    phv.vlan0_tci, phv.vlan1_tci = phv.vlan1_tci, 0
    move_dirty(record, edits.dirty >> Field.FIELD_VLAN1_TCI & 1, 0)
    edits.service_tag >>= 1
    edits.tags -= 1
    if edits.pushed:
        edits.pushed -= 1
    else:
        edits.popped += 1


def insert_front(record: layouts.PhvRecord, index: int, write_id: bool) -> None:
    """A header template in front; a later one replaces it."""
    edits = record.edits
    edits.encapsulate, edits.write_tunnel_id, edits.template_index = 1, int(write_id), index


def output(record: layouts.PhvRecord, mask: int) -> None:
    """Forward to the ports of a mask."""
    if mask == 0:
        drop(record, DropCause.DROP_NO_PORT)
    elif mask == HOST_ONLY:
        record.verdict = Verdict.VERDICT_TO_HOST
    elif mask & HOST_ONLY:
        punt(record)
    else:
        record.verdict = Verdict.VERDICT_FORWARD
        record.egress_mask = mask


def step(record: layouts.PhvRecord, opcode: int, operand: int, edit_data: Sequence[int]) -> None:
    """Execute one action on a record whose verdict is not final."""
    match opcode:
        case Opcode.ACTION_SUB:
            subtract_ttl(record)
        case Opcode.ACTION_DROP:
            drop(record, DropCause.DROP_RULE)
        case Opcode.ACTION_SET:
            set_field(record, operand >> 20, operand & 0xFFFF)
        case Opcode.ACTION_SET_LONG:
            set_field(record, operand >> 20, edit_data[(operand & 0xFFFF) % len(edit_data)])
        case Opcode.ACTION_CHECKSUM:
            record.edits.checksums = 1
        case Opcode.ACTION_INSERT_VLAN:
            insert_vlan(record, operand)
        case Opcode.ACTION_DELETE_VLAN:
            delete_vlan(record)
        case Opcode.ACTION_OUTPUT:
            output(record, 1 << (operand & 0xFF) & 0xFF)
        case Opcode.ACTION_REPLICATE:
            output(record, operand & 0xFF)
        case Opcode.ACTION_MARK:
            record.mark = operand
        case Opcode.ACTION_QUEUE:
            record.queue = operand & 0xF
        case Opcode.ACTION_TO_HOST:
            record.verdict = Verdict.VERDICT_TO_HOST
        case Opcode.ACTION_TO_CONTROLLER:
            record.verdict = Verdict.VERDICT_TO_CONTROLLER
        case Opcode.ACTION_DELETE_TUNNEL:
            record.edits.strip_outer |= int(record.info.outer_length != 0)
        case Opcode.ACTION_INSERT_TUNNEL | Opcode.ACTION_INSERT_RAW:
            insert_front(record, operand & 0xFF, opcode == Opcode.ACTION_INSERT_TUNNEL)


def words(value: int) -> int:
    """Sum of the eight 16-bit words of a 128-bit value."""
    return sum(value >> 16 * n & 0xFFFF for n in range(8))


def sums(record: layouts.PhvRecord) -> tuple[int, int]:
    """Sums of the words that actions can change: under the IPv4 header checksum, and under the transport checksum."""
    phv = record.phv
    addresses = words(phv.ip_src) + words(phv.ip_dst)
    return addresses + phv.ip_tos + (phv.ip_ttl << 8), addresses + phv.l4_src + phv.l4_dst


def _delta(before: int, change: int) -> int:
    return (before + change) % 0xFFFF or 0xFFFF


def _dirty(record: layouts.PhvRecord, *fields: Field) -> bool:
    return any(record.edits.dirty >> field & 1 for field in fields)


def update_deltas(record: layouts.PhvRecord, old: tuple[int, int]) -> None:
    """Add to the deltas what changed since `old` was taken by `sums`."""
    new, edits, info = sums(record), record.edits, record.info
    under_ip = _dirty(record, *ADDRESSES, Field.FIELD_IP_TOS, Field.FIELD_IP_TTL)
    under_l4 = _dirty(record, *ADDRESSES, Field.FIELD_L4_SRC, Field.FIELD_L4_DST)
    if info.l3_kind == L3Kind.L3_IPV4 and under_ip:
        edits.ip_delta = _delta(edits.ip_delta, new[0] - old[0])
    if info.l4_kind in (L4Kind.L4_TCP, L4Kind.L4_UDP, L4Kind.L4_ICMPV6) and under_l4:
        edits.l4_delta = _delta(edits.l4_delta, new[1] - old[1])


def execute(record: layouts.PhvRecord, actions: layouts.ActionSet, edit_data: Sequence[int]) -> None:
    """Execute an action set, slot 0 first, on the record of a packet that hit; changes the record in place."""
    old = sums(record)
    for action in actions.slots:
        if record.verdict in FINAL:
            break
        step(record, action.opcode, action.operand, edit_data)
    update_deltas(record, old)
