# SPDX-License-Identifier: Apache-2.0
"""VLAN tags that actions push and pop, as splices of the pipeline.

A tag is pushed by writing both MAC addresses anew with the tag behind them. Its TCI is the container of the outer tag's: a new tag
copies the one that is there, and without one the container holds 0. Where a packet has a tag, that container is written back into
it, so a TCI that differs from it can only be a constant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import sluice_layouts as L
from c65of import ofproto as of

from compiler.pipeline.actions import Operation, splice
from host.agent.fields import FIELDS, PLACES, PRESENT, Match
from host.agent.refusal import bad_action

TCI = PLACES["vlan0_tci"][0]
TPIDS = (0x8100, 0x88A8)
WANTED = 0xEFFF  # bits of a TCI that OpenFlow sets: not DEI
BEHIND_ADDRESSES = 6  # words of the Ethernet header
POP = splice(0, BEHIND_ADDRESSES, removed=2).to_int()


def is_untagged(match: Match) -> bool:
    """Whether only packets without a tag match."""
    value, mask = match.fields.get("vlan_vid", (0, 0))
    return bool(mask & PRESENT and not value & PRESENT)


def is_tagged(match: Match) -> bool:
    """Whether only packets with a tag match."""
    value, mask = match.fields.get("vlan_vid", (0, 0))
    return bool(value & mask & PRESENT)


@dataclass(frozen=True)
class Pushed:
    """A tag that an action has pushed: the bits of its TCI that are known, and whether any was set since. `copied`: its TCI is in
    the container, so edits of that set it."""

    tpid: int
    copied: bool
    value: int
    mask: int
    is_set: bool = False

    @staticmethod
    def of(tpid: int, match: Match, edits: Mapping[int, Operation]) -> Pushed:
        """Pushed onto a packet of a match, after edits. Raises Refusal."""
        if tpid not in TPIDS:
            raise bad_action(of.OFPBAC_BAD_ARGUMENT, f"a tag of EtherType {tpid:#x}")
        value = mask = 0
        for name in ("vlan_vid", "vlan_pcp") if is_tagged(match) else ():
            known, bits = match.fields.get(name, (0, 0))
            for part in FIELDS[name].places[0]:
                ones = bits & (1 << part.width) - 1
                value, mask = value | (known & ones) << part.shift, mask | ones << part.shift
        if (edit := edits.get(TCI)) is not None:
            value, mask = value & ~edit.mask | edit.value & edit.mask, mask | edit.mask
        return Pushed(tpid, is_untagged(match), value, mask)

    def with_field(self, name: str, value: int) -> Pushed:
        """With its VLAN or its priority set."""
        (part,) = FIELDS[name].places[0]
        ones = (1 << part.width) - 1 << part.shift
        return replace(self, value=self.value & ~ones | value << part.shift & ones, mask=self.mask | ones, is_set=True)

    def row(self) -> int:
        """The splice that inserts it. Raises Refusal."""
        if self.copied or not self.is_set:
            addresses = [(0, container) for container in (*PLACES["eth_dst"], *PLACES["eth_src"])]
            return splice(0, 0, BEHIND_ADDRESSES, [*addresses, (self.tpid, None), (0, TCI)]).to_int()
        if self.mask & WANTED == WANTED:
            return splice(0, BEHIND_ADDRESSES, 0, [(self.tpid, None), (self.value, None)]).to_int()
        hint = "hint: match vlan_vid=0, or set vlan_pcp too"
        raise bad_action(of.OFPBAC_BAD_SET_TYPE, f"a pushed tag's VLAN alone, where the packet may have a tag; {hint}")


def row_of(word: int) -> L.SpliceRow:
    """A splice as programs have it."""
    return L.SpliceRow.from_int(word)
