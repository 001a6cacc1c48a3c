# SPDX-License-Identifier: Apache-2.0
"""How many iterations an element needs for a token: seen in runs of its IR, proved by `certificate.py`.

II is cycles between iterations. That is a token every II cycles only where each iteration takes one. An element may use an
iteration for the end of a packet that grew (`BETWEEN`); one that iterates longer over a token is as slow as that.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

from compiler.ir.execute import CompiledTransition, Inputs, commit, reset
from compiler.ir.ir import ElementIr
from compiler.ir.operators import mask

ANY = ""  # not one input, but whichever takes a token
BETWEEN = 2  # iterations for a token, that an element of interval II may need
LONGEST = 64  # iterations without a token, after which there is no bound
ITERATIONS = 4 * LONGEST
Tokens = Callable[[int], int]  # of so many bits


def iterations(element: ElementIr) -> dict[str, int | None]:
    """For each input and for `ANY` of them: the most iterations for a token in the runs that were tried, None where `LONGEST`
    iterations took none."""
    ports = [port.name for port in element.inputs]
    takes = element.handler.takes
    always = {name for name in ports if name in takes and takes[name].op == "const" and takes[name].value == 1}
    longest: dict[str, int] = dict.fromkeys([*ports, ANY], 1)
    if len(always) < len(ports):
        choose = random.Random(element.name)
        constant = choose.getrandbits(4096)
        streams: list[Tokens] = [choose.getrandbits, lambda bits: 0, mask, lambda bits: constant & mask(bits)]
        for tokens in streams:
            for name, count in _run(element, tokens).items():
                longest[name] = max(longest[name], count)
    if always:
        longest[ANY] = 1
    return {name: count if count < LONGEST else None for name, count in longest.items()}


def text(interval: int, token_cycles: Mapping[str, int | None]) -> str:
    """How often a token is taken, for people."""
    worst = token_cycles[ANY]
    if worst == interval:
        return f"one token {every(interval)}"
    rate = f"one token in {worst} cycles" if worst else f"no token in {LONGEST} iterations"
    return f"one iteration {every(interval)}, at worst {rate}"


def every(count: int) -> str:
    """As in "one token every 2 cycles"."""
    return "every cycle" if count == 1 else f"every {count} cycles"


def _run(element: ElementIr, tokens: Tokens) -> dict[str, int]:
    """The most iterations for a token at each input, while all have one and all outputs room."""
    handler, state = CompiledTransition(element, element.handler), reset(element)
    heads = {port.name: tokens(port.width) for port in element.inputs}
    there = dict.fromkeys(heads, 1)
    longest: dict[str, int] = dict.fromkeys([*heads, ANY], 1)
    since = dict.fromkeys(longest, 0)
    for number in range(ITERATIONS):
        outcome = handler.run(state, Inputs(dict(heads), there, {}, {"now": number}))
        taken = {*outcome.takes, *([ANY] if outcome.takes else [])}
        for name in longest:
            longest[name] = max(longest[name], since[name] + 1)
            since[name] = 0 if name in taken else since[name] + 1
        for port in element.inputs:
            if port.name in outcome.takes:
                heads[port.name] = tokens(port.width)
        commit(state, outcome)
    return longest
