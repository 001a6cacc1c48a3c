# SPDX-License-Identifier: Apache-2.0
"""A set of a flow table, as the IR's `place` asks it. What it does is said in the language by `frontend/flows.py`, for hardware by
`models/flow_place.py`; tests hold the three to each other."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

MOMENTS = 1 << 32  # time is modulo this


@dataclass
class FlowSet:
    """`places`: key and time of the flow in each way, or None; `hand`: the way that is evicted next."""

    ways: int
    timeout: int
    evicts: bool
    hand: int = 0
    places: list[tuple[int, int] | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.places = self.places or [None] * self.ways

    def copy(self) -> FlowSet:
        return replace(self, places=[*self.places])

    def ask(self, key: int, now: int, insert: bool, forget: bool) -> tuple[bool, bool, int]:
        """Whether the flow was found, whether it is new, and its way."""
        own = next((way for way, place in enumerate(self.places) if place and place[0] == key), None)
        if own is not None and not self._is_expired(own, now):
            self.places[own] = None if forget and not insert else (key, now)
            return True, False, own
        usable = (way for way, place in enumerate(self.places) if place is None or self._is_expired(way, now))
        taken = own if own is not None else next(usable, self.hand if self.evicts else None)
        if taken is None or not insert:
            return False, False, 0
        self.places[taken] = (key, now)
        self.hand = (self.hand + (taken == self.hand)) % self.ways
        return False, True, taken

    def _is_expired(self, way: int, now: int) -> bool:
        place = self.places[way]
        return place is not None and self.timeout != 0 and (now - place[1]) % MOMENTS >= self.timeout
