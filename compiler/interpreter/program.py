# SPDX-License-Identifier: Apache-2.0
"""A whole program: its instances in turn, one iteration each, until nothing moves any more."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from compiler.frontend import typed
from compiler.interpreter.choices import Choices, Decide
from compiler.interpreter.element import IDLE_ITERATIONS, Instance, Outcome, Queue, Step


@dataclass
class ProgramOutcome:
    """Tokens that left at each lane, what every instance did, how many tokens were left unread in channels, and of each
    channel of the program, in their order, everything that went through."""

    lanes: dict[int, list[int]]
    instances: dict[str, Outcome]
    unread: int
    streams: list[list[int]]


class _Kept(deque[int]):
    """The tokens of a channel; keeps what went through."""

    def __init__(self) -> None:
        super().__init__()
        self.passed: list[int] = []

    def append(self, token: int) -> None:
        super().append(token)
        self.passed.append(token)


class Graph:
    """The instances of a program and the channels between them. A depth of 0, and a lossy channel, is without bound."""

    def __init__(
        self,
        program: typed.Program,
        choices: Callable[[str], Choices] = lambda name: Decide(),
    ) -> None:
        self.program = program
        self.choices = {instance.name: choices(instance.name) for instance in program.instances}
        self.instances = {i.name: Instance(i.element, self.choices[i.name]) for i in program.instances}
        self.kept = [_Kept() for _ in program.channels]
        depths = [0 if channel.lossy else channel.depth for channel in program.channels]
        self.channels = [Queue(depth, kept) for depth, kept in zip(depths, self.kept, strict=True)]
        self.idle = dict.fromkeys(self.instances, 0)
        for channel, queue in zip(program.channels, self.channels, strict=True):
            if channel.source.instance:
                source = self.instances[channel.source.instance]
                source.outputs[source.element.outputs[channel.source.port]] = queue
            if channel.target.instance:
                target = self.instances[channel.target.instance]
                target.inputs[target.element.inputs[channel.target.port]] = queue

    def send(self, lane: int, tokens: Sequence[int]) -> None:
        """Tokens that arrive at a lane; where nothing is connected to it they are lost."""
        for channel, queue in zip(self.program.channels, self.channels, strict=True):
            if not channel.source.instance and channel.source.port == lane:
                for token in tokens:
                    queue.tokens.append(token)

    def run(self, rounds: int = 1 << 62) -> bool:
        """Until every instance waits, or has done nothing for `IDLE_ITERATIONS`, and no signal is to come; whether it came
        to that within so many rounds without signals (an element that writes without reading never ends)."""
        self.idle = dict.fromkeys(self.instances, 0)
        while rounds:
            active = [self._turn(name) for name in self.instances]
            if not any(active):
                return True
            rounds -= not any(choices.pending() for choices in self.choices.values())
        return False

    def _turn(self, name: str) -> bool:
        """One iteration of an instance; whether there may be more to do."""
        step = self.instances[name].step()
        self.idle[name] = self.idle[name] + 1 if step is Step.IDLE else 0
        is_done = step is Step.BLOCKED or self.idle[name] >= IDLE_ITERATIONS
        return not is_done or self.choices[name].pending()

    def finish(self) -> ProgramOutcome:
        """What the run gave; to be called once."""
        lanes: dict[int, list[int]] = {}
        for channel, kept in zip(self.program.channels, self.kept, strict=True):
            if not channel.target.instance:
                lanes.setdefault(channel.target.port, []).extend(kept.passed)
                kept.clear()
        unread = sum(map(len, self.kept))
        outcomes = {name: instance.finish() for name, instance in self.instances.items()}
        return ProgramOutcome(lanes, outcomes, unread, [kept.passed for kept in self.kept])


def run_program(
    program: typed.Program,
    lane_tokens: Mapping[int, Sequence[int]],
    choices: Callable[[str], Choices] = lambda name: Decide(),
) -> ProgramOutcome:
    """Send tokens (flits) to the lanes and run until nothing moves."""
    graph = Graph(program, choices)
    for lane, tokens in lane_tokens.items():
        graph.send(lane, tokens)
    graph.run()
    return graph.finish()
