# SPDX-License-Identifier: Apache-2.0
"""Flow tables as OpenFlow defines them: which flows a request adds, changes, removes or shows. Nothing here knows the device."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from c65of import ofproto as of

from host.agent.actions import Work
from host.agent.fields import Match
from host.agent.refusal import Refusal


@dataclass(frozen=True)
class Flow:
    """A flow entry. `match_bytes` and `instruction_bytes` are as the controller sent them."""

    table: int
    priority: int
    match: Match
    match_bytes: bytes
    instruction_bytes: bytes
    instructions: tuple[Any, ...]
    work: Work
    cookie: int
    flags: int
    idle: int  # seconds; 0: never
    hard: int
    born: float  # seconds of the agent's clock
    number: int  # of its counters; no other flow has it, or had

    @property
    def key(self) -> tuple[int, int, frozenset[tuple[str, tuple[int, int]]]]:
        """What no other flow has: table, priority and match."""
        return self.table, self.priority, frozenset(self.match.fields.items())

    @property
    def is_miss(self) -> bool:
        """Whether this is the table-miss entry."""
        return self.priority == 0 and not self.match.fields

    def leaves_by(self, port: int) -> bool:
        """Whether an output action names the port."""
        return any(
            action.type == of.OFPAT_OUTPUT and action.port == port
            for one in self.instructions
            for action in getattr(one, "actions", ())
        )


@dataclass(frozen=True)
class Filter:
    """Which flows a request means."""

    match: Match
    table: int = of.OFPTT_ALL
    priority: int | None = None  # with it, the match must be the same: the strict form
    cookie: int = 0
    cookie_mask: int = 0
    out_port: int = of.OFPP_ANY
    out_group: int = of.OFPG_ANY

    def takes(self, flow: Flow) -> bool:
        """Whether it means this flow."""
        if self.table not in (of.OFPTT_ALL, flow.table) or (flow.cookie ^ self.cookie) & self.cookie_mask:
            return False
        if self.out_group != of.OFPG_ANY or (self.out_port != of.OFPP_ANY and not flow.leaves_by(self.out_port)):
            return False
        if self.priority is None:
            return self.match.covers(flow.match)
        return flow.priority == self.priority and flow.match == self.match


Tables = Mapping[tuple[Any, ...], Flow]


@dataclass(frozen=True)
class Flows:
    """All flows by their keys. A change makes another of it, so that one that is refused has changed nothing."""

    by_key: Tables = field(default_factory=dict)

    def __iter__(self) -> Iterator[Flow]:
        return iter(self.by_key.values())

    def found(self, wanted: Filter) -> list[Flow]:
        """The flows that a filter means."""
        return [flow for flow in self if wanted.takes(flow)]

    def table(self, number: int) -> list[Flow]:
        """A table's flows, those first that match first; among equals the older."""
        return sorted((flow for flow in self if flow.table == number), key=lambda flow: -flow.priority)

    def added(self, flow: Flow) -> Flows:
        """With one more flow, in place of the one with the same match and priority, whose counters it takes over if it is not to
        begin anew. Raises Refusal where it overlaps and must not."""
        if flow.flags & of.OFPFF_CHECK_OVERLAP:
            for other in self.by_key.values():
                if (other.table, other.priority) == (flow.table, flow.priority) and flow.match.overlaps(other.match):
                    raise Refusal(of.OFPET_FLOW_MOD_FAILED, of.OFPFMFC_OVERLAP, "a flow of this priority overlaps")
        if flow.key in self.by_key and not flow.flags & of.OFPFF_RESET_COUNTS:
            flow = replace(flow, number=self.by_key[flow.key].number)
        return Flows({**self.by_key, flow.key: flow})

    def changed(self, wanted: Filter, change: Callable[[Flow], Flow]) -> Flows:
        """With what `change` makes of the flows of a filter; it may raise Refusal."""
        return Flows({**self.by_key, **{flow.key: change(flow) for flow in self.found(wanted)}})

    def without(self, gone: Iterable[Flow]) -> Flows:
        """Without some of them."""
        keys = {flow.key for flow in gone}
        return Flows({key: flow for key, flow in self.by_key.items() if key not in keys})

    def expired(self, now: float, used: Callable[[Flow], float]) -> Mapping[int, list[Flow]]:
        """The flows whose time is over, by reason; `used`: when a flow matched its last packet."""
        hard = [flow for flow in self if flow.hard and now >= flow.born + flow.hard]
        idle = [flow for flow in self if flow.idle and now >= max(flow.born, used(flow)) + flow.idle and flow not in hard]
        return {of.OFPRR_HARD_TIMEOUT: hard, of.OFPRR_IDLE_TIMEOUT: idle}
