# SPDX-License-Identifier: Apache-2.0
"""Timers of a configuration in a run over captures: time is that of the packets, and stands still behind the last one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compiler.frontend.elements import PERIODS
from compiler.frontend.typed import Instance, Program
from compiler.interpreter.choices import SignalCall
from compiler.interpreter.packets import Packet

MOST_PERIODS = (1 << PERIODS.bits) - 1  # that `periods()` gives


@dataclass(frozen=True)
class Due:
    """A timer that is due when `after` packets have been sent, at `time` microseconds behind the first packet."""

    instance: Instance
    call: SignalCall
    after: int
    time: int


def has_timers(program: Program) -> bool:
    """Whether any instance has one."""
    return any(instance.element.timers for instance in program.instances)


def due(program: Program, captures: Sequence[Sequence[Packet]]) -> Iterator[Due]:
    """In their order, each with its periods since it ran last; `captures` are sent by lane in turn. A packet that is older than the
    one before it moves no time."""
    timers = [(instance, timer) for instance in program.instances for timer in instance.element.timers]
    ends = [timer.every for _, timer in timers]
    start = min((packets[0].time for packets in captures if packets), default=0)
    now = sent = 0
    for number in range(max(map(len, captures), default=0) if timers else 0):
        for packets in captures:
            if number >= len(packets):
                continue
            now = max(now, packets[number].time - start)
            for at, (instance, timer) in enumerate(timers):
                if now >= ends[at]:
                    periods = (now - ends[at]) // timer.every + 1
                    ends[at] += periods * timer.every
                    yield Due(instance, SignalCall(timer.name, (min(periods, MOST_PERIODS),)), sent, now)
            sent += 1
