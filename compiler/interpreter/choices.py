# SPDX-License-Identifier: Apache-2.0
"""Who decides what timing decides: which tokens have arrived, which port a `select` takes, the time, where signals come.

`Decide` decides by itself, from a seed; seed 0 is the plain run: everything that is there has arrived, `select` goes round, time
counts iterations. `Replay` gives back what a log says (docs/design/compiler.md, "Choices"). Whether a choice was allowed is checked
by whoever asks.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from compiler.frontend import typed

LogEntry = dict[str, Any]


class NotAllowed(Exception):
    """A log says something that could not have happened, or leaves out what must be in it. The text has the iteration."""


@dataclass(frozen=True)
class SignalCall:
    """A signal, by its name ("" in the paper's form), and its arguments as bit patterns."""

    name: str
    arguments: tuple[int, ...] = ()


def host_calls(element: typed.Element, calls: Iterable[SignalCall]) -> list[SignalCall]:
    """Those that a host may send, and gets an answer to: all but timers."""
    names = {signal.name for signal in element.host_signals}
    return [call for call in calls if call.name in names]


class Choices(Protocol):
    """Asked with the number of the iteration, counted over those of the instance that were not blocked."""

    def available(self, iteration: int, port: int, has_token: bool, must: bool) -> bool | None:
        """Whether the token of an input has arrived; it `must` where the iteration could not have begun otherwise. None: the
        log does not say."""

    def select(self, iteration: int, ready: Sequence[int], after: int) -> int:
        """Which of the ready inputs; `after` is the one taken last, or -1."""

    def now(self, iteration: int) -> int:
        """Core cycles."""

    def signal(self, iteration: int) -> SignalCall | None:
        """The signal that this iteration is, or None for the handler."""

    def pending(self) -> bool:
        """Whether there are more signals to come."""


def round_robin(ready: Sequence[int], after: int) -> int:
    """The next behind the one taken last."""
    return next((port for port in ready if port > after), ready[0])


class Decide:
    """Chooses from a seed, and serves `signals` in their order, each somewhere among the iterations (seed 0: before all others)."""

    def __init__(self, seed: int = 0, signals: Sequence[SignalCall] = ()) -> None:
        self._random = random.Random(seed) if seed else None
        self._signals = list(signals)
        self._time = 0

    def available(self, iteration: int, port: int, has_token: bool, must: bool) -> bool:
        return has_token and (must or self._random is None or self._random.random() < 0.7)

    def select(self, iteration: int, ready: Sequence[int], after: int) -> int:
        return self._random.choice(ready) if self._random else round_robin(ready, after)

    def now(self, iteration: int) -> int:
        self._time = max(self._time, iteration) if self._random is None else self._time + self._random.randrange(4)
        return self._time

    def signal(self, iteration: int) -> SignalCall | None:
        if not self._signals or (self._random and self._random.random() < 0.7):
            return None
        return self._signals.pop(0)

    def pending(self) -> bool:
        return bool(self._signals)


class Replay:
    """Gives back what a log says."""

    def __init__(self, log: Sequence[LogEntry]) -> None:
        self._entries: Mapping[int, LogEntry] = {entry["iteration"]: entry for entry in log}

    def _get(self, iteration: int, name: str) -> int:
        entry = self._entries.get(iteration, {})
        if name not in entry:
            raise NotAllowed(f"iteration {iteration} needs a choice, but the log has no '{name}' for it")
        return int(entry[name])

    def available(self, iteration: int, port: int, has_token: bool, must: bool) -> bool | None:
        entry = self._entries.get(iteration, {})
        return bool(int(entry["available"]) >> port & 1) if "available" in entry else None

    def select(self, iteration: int, ready: Sequence[int], after: int) -> int:
        return self._get(iteration, "select")

    def now(self, iteration: int) -> int:
        return int(self._entries.get(iteration, {}).get("now", 0))  # hardware leaves out what changes nothing

    def signal(self, iteration: int) -> SignalCall | None:
        entry = self._entries.get(iteration, {})
        kind, _, name = str(entry.get("kind", "handler")).partition(" ")
        return SignalCall(name, tuple(entry.get("arguments", ()))) if kind == "signal" else None

    def pending(self) -> bool:
        return False
