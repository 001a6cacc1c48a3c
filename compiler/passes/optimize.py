# SPDX-License-Identifier: Apache-2.0
"""All passes, in their order, as long as the element gets cheaper."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from compiler.ir.ir import ElementIr
from compiler.ir.rewrite import cost, shape
from compiler.ir.verify import verify
from compiler.passes import (
    arithmetic,
    conditions,
    constants,
    dead,
    fold,
    linear,
    multiplexers,
    narrow,
    placing,
    reassociate,
    share,
    strength,
    writes,
)

PASSES: dict[str, Callable[[ElementIr], ElementIr]] = {
    "linear": linear.run,
    "placing": placing.run,
    "fold": fold.run,
    "constants": constants.run,
    "conditions": conditions.run,
    "multiplexers": multiplexers.run,
    "arithmetic": arithmetic.run,
    "reassociate": reassociate.run,
    "strength": strength.run,
    "narrow": narrow.run,
    "writes": writes.run,
    "share": share.run,
    "dead": dead.run,
}
MOST_ROUNDS = 4


def stages(element: ElementIr) -> Iterator[tuple[str, ElementIr]]:
    """The element behind every pass that changed it, with the pass's name."""
    before = shape(element)
    for _ in range(MOST_ROUNDS):
        price = cost(element)
        for name, run in PASSES.items():
            element = verify(run(element))
            after = shape(element)
            if after != before:
                yield name, element
            before = after
        if cost(element) >= price:
            return


def run(element: ElementIr) -> ElementIr:
    """The element behind all passes; that each of them keeps the IR's rules is checked by `stages`, in the tests."""
    for _ in range(MOST_ROUNDS):
        price = cost(element)
        for change in PASSES.values():
            element = change(element)
        if cost(element) >= price:
            break
    return verify(element)
