# SPDX-License-Identifier: Apache-2.0
"""Model of `sl_flow_place`, its specification: where each flow is, and whether it is new. One key after another, no pipeline.

A set has `ways` places and a hand, at place 0 first. An entry is *dead* after its removal. It is *expired* if its age, (now - time)
modulo 2^32, is `timeout` or more (0: never). For a key:

1. Its own live entry is in the set and not expired: FOUND. The entry's time becomes now; with `forget` it is dead.
2. It is there but expired: with `insert` it is renewed in its place (NEW, `expired`), without `insert` ABSENT.
3. It is not there: with `insert` it takes the lowest place that is free, dead or expired (NEW; `expired` if that entry was live);
   if there is none, that of the hand (NEW, `evicted`); without `evict`, ABSENT. Without `insert`: ABSENT.

A place that is taken or renewed begins a generation. When the place at the hand is taken or renewed, the hand moves to the next.
`remove` kills the entry of that generation; a removal of an earlier generation does nothing. So live entries of a set always have
different keys.

Wrap: an entry that no key touches for 2^32 ticks has age 0 again, and lives for another `timeout`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

TIME_MASK = (1 << 32) - 1


@dataclass(frozen=True)
class Placement:
    """What a key is told. Set, way and generation mean something if it is found or new."""

    set: int
    way: int = 0
    generation: int = 0
    found: bool = False
    new: bool = False
    evicted: bool = False
    expired: bool = False


@dataclass
class Entry:
    """One place of a set."""

    key: int = 0
    time: int = 0
    generation: int = 0
    dead: bool = True


@dataclass
class FlowPlace:
    """The whole table. `set_of` is the hash, `timeout` in ticks, 0 for never; without `evict` a set that is full takes no
    new key."""

    sets: int
    ways: int
    set_of: Callable[[int], int]
    timeout: int = 0
    evict: bool = True
    places: list[list[Entry]] = field(init=False)
    hands: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """After reset, a flush, or a change of the secret: nothing is there."""
        self.places = [[Entry() for _ in range(self.ways)] for _ in range(self.sets)]
        self.hands = [0] * self.sets

    def is_expired(self, entry: Entry, now: int) -> bool:
        """Whether a live entry is expired."""
        return not entry.dead and self.timeout != 0 and (now - entry.time) & TIME_MASK >= self.timeout

    def find_or_insert(self, key: int, now: int, insert: bool, forget: bool = False) -> Placement:
        """Places one key. `forget` is for keys that are not to be inserted."""
        chosen_set = self.set_of(key)
        places = self.places[chosen_set]
        own = next((way for way, entry in enumerate(places) if not entry.dead and entry.key == key), None)
        if own is not None and not self.is_expired(places[own], now):
            places[own].time = now & TIME_MASK
            places[own].dead = forget and not insert
            return Placement(chosen_set, own, places[own].generation, found=True)
        if not insert:
            return Placement(chosen_set)
        usable = [way for way, entry in enumerate(places) if entry.dead or self.is_expired(entry, now)]
        if own is None and not usable and not self.evict:
            return Placement(chosen_set)
        way = own if own is not None else usable[0] if usable else self.hands[chosen_set]
        expired = self.is_expired(places[way], now)
        places[way] = Entry(key, now & TIME_MASK, places[way].generation + 1, dead=False)
        if way == self.hands[chosen_set]:
            self.hands[chosen_set] = (way + 1) % self.ways
        return Placement(chosen_set, way, places[way].generation, new=True, evicted=not usable, expired=expired)

    def remove(self, chosen_set: int, way: int, generation: int) -> None:
        """Removes what a key before found or inserted."""
        entry = self.places[chosen_set][way]
        if entry.generation == generation:
            entry.dead = True
