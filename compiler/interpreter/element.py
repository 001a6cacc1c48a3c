# SPDX-License-Identifier: Apache-2.0
"""One instance of an element with its channels: `step` runs an iteration, `run_element` a whole run over given tokens."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from compiler.frontend import typed
from compiler.interpreter import values
from compiler.interpreter.choices import Choices, LogEntry, NotAllowed, SignalCall
from compiler.interpreter.guard import Guard
from compiler.interpreter.iteration import Iteration, State, Wait
from compiler.interpreter.tables import Rules

IDLE_ITERATIONS = 64  # in a row that take no token, after which a run over given tokens is taken to be at its end


@dataclass
class Queue:
    """A channel: first in, first out. `depth` 0: without bound."""

    depth: int = 0
    tokens: deque[int] = field(default_factory=deque)

    @property
    def is_full(self) -> bool:
        return 0 < self.depth <= len(self.tokens)


@dataclass
class Outcome:
    """What a run of one element gave: bit patterns by the name of the port or the state.

    `answers` are of the signals that a host called, in order.
    `log` are the choices. `discarded` and `mended` count flits at the packet guards."""

    outputs: dict[str, list[int]]
    state: dict[str, int]
    log: list[LogEntry]
    iterations: int
    answers: list[int] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    discarded: int = 0
    mended: int = 0
    was_cut: bool = False  # by a limit, before it came to rest


class Step(Enum):
    """What an attempt at an iteration did."""

    RAN = "ran, and took a token, or was a signal"
    WROTE = "ran, and wrote a token, but took none"
    IDLE = "ran, and took and wrote no token"
    BLOCKED = "waits for a token or for room"
    HIDDEN = "waits, but only because the choices hid a token"


class Instance:
    """An element that runs. `inputs` and `outputs` are its channels, which others may share."""

    def __init__(self, element: typed.Element, choices: Choices) -> None:
        self.element = element
        self.choices = choices
        self.rules = {t.name: Rules(t.kind.value, t.key.bits, t.entries) for t in element.tables}
        self.inputs = {port: Queue() for port in element.inputs}
        self.outputs = {port: Queue() for port in element.outputs}
        self.guards = {port: Guard(port.type) for port in element.outputs if port.is_packet}
        self.outcome = Outcome({port.name: [] for port in element.outputs}, {}, [], 0)
        zeros = State(dict.fromkeys(element.states, 0), element.seed, values.ones(len(element.inputs)))
        start = Iteration(element, zeros, {}, choices, -1, self.rules)
        start.run_init()
        self.state = start.state
        self._note(start)

    def step(self) -> Step:
        """One iteration: of the signal that the choices put here, or of the handler; or none, where it must wait."""
        heads = {port: queue.tokens[0] for port, queue in self.inputs.items() if queue.tokens}
        number = self.outcome.iterations
        iteration = Iteration(self.element, self.state, heads, self.choices, number, self.rules)
        call = self.choices.signal(number)
        try:
            if call is None:
                iteration.run_handler()
                if any(self.outputs[port].is_full for port in iteration.written):
                    raise Wait
            else:
                self._signal(iteration, call)
        except Wait:
            return Step.HIDDEN if iteration.hidden else Step.BLOCKED
        self._commit(iteration, call)
        if call is not None or iteration.taken:
            return Step.RAN
        return Step.WROTE if iteration.written else Step.IDLE

    def _signal(self, iteration: Iteration, call: SignalCall) -> None:
        signal = next(s for s in self.element.signals if s.name == call.name)
        iteration.run_signal(signal, call.arguments)
        if not signal.every:
            self.outcome.answers.append(iteration.answer)

    def _commit(self, iteration: Iteration, call: SignalCall | None) -> None:
        self.state = iteration.state
        for port in iteration.taken:
            self.inputs[port].tokens.popleft()
        for port, value in iteration.written.items():
            token = self.guards[port].passed(value) if port in self.guards else value
            if token is not None:
                self.outputs[port].tokens.append(token)
                self.outcome.outputs[port.name].append(token)
        kind = {"kind": "handler"} if call is None else {"kind": f"signal {call.name}", "arguments": list(call.arguments)}
        if iteration.entry or call is not None:
            self.outcome.log.append({"iteration": iteration.number, **kind, **iteration.entry})
        self.outcome.iterations += 1
        self._note(iteration)

    def _note(self, iteration: Iteration) -> None:
        self.outcome.lines += iteration.lines
        self.outcome.failures += iteration.failures

    def finish(self) -> Outcome:
        """The outcome, with the final state."""
        self.outcome.state = {variable.name: value for variable, value in self.state.variables.items()}
        self.outcome.discarded = sum(guard.discarded for guard in self.guards.values())
        self.outcome.mended = sum(guard.mended for guard in self.guards.values())
        return self.outcome


def run_element(
    element: typed.Element,
    streams: Mapping[str, Iterable[int]],
    choices: Choices,
    iterations: int | None = None,
) -> Outcome:
    """Run over the tokens of each input. Ends where the element waits for more, or takes none for `IDLE_ITERATIONS`, and no
    signal is to come; or after exactly `iterations`, as a replay must. Raises `NotAllowed` where a log cannot be right."""
    return run_instance(element, streams, choices, iterations).finish()


def run_instance(
    element: typed.Element,
    streams: Mapping[str, Iterable[int]],
    choices: Choices,
    iterations: int | None = None,
) -> Instance:
    """As `run_element`; the instance as it stands at the end."""
    instance = Instance(element, choices)
    for port in element.inputs:
        instance.inputs[port].tokens.extend(streams.get(port.name, ()))
    idle = 0
    while iterations is None or instance.outcome.iterations < iterations:
        step = instance.step()
        idle = idle + 1 if step in (Step.IDLE, Step.WROTE) else 0
        if step is Step.HIDDEN and iterations is not None:
            raise NotAllowed(f"iteration {instance.outcome.iterations} waits for a token that is absent according to the log")
        at_end = step is Step.BLOCKED or (iterations is None and idle >= IDLE_ITERATIONS)
        if at_end and not choices.pending():
            break
    return instance
