# SPDX-License-Identifier: Apache-2.0
"""Rules of 5-tuples with the statistics of `seeds.toml`: protocols, ports, prefix lengths, and how prefixes share their bits.

It is written from the description of ClassBench's generator, without its code; it leaves out flags and the correlation of the two
addresses. All rules differ. Most specific rules come first, with some disorder, as in lists that people keep.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SEEDS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("seeds.toml").read_text())
PORTS = {"any": (0, 0xFFFF), "high": (1024, 0xFFFF), "low": (0, 1023)}
DISORDER = 8.0  # bits of specificity by which neighbours may be exchanged
SMOOTHING = 0.15  # of the prefix lengths, this share is changed
SPREAD = 0.0005  # for each rule that had been there, prefix trees branch so much more often

Rule = tuple[int, ...]  # source, length, destination, length, first and last source port, the same of destination, protocol, mask


def chosen(source: random.Random, shares: Mapping[str, float]) -> str:
    """One of the names, as often as its share says."""
    return source.choices(list(shares), list(shares.values()))[0]


class Prefixes:
    """A tree of prefixes, grown as they are drawn: each node has one child or two, of unequal weight."""

    def __init__(self, source: random.Random, branches: Sequence[Sequence[float]]) -> None:
        self.source, self.branches = source, branches
        self.nodes: dict[tuple[int, int], tuple[int, float]] = {}  # by length and prefix: heavier child, share of the lighter
        self.spread = 0.0

    def draw(self, length: int) -> int:
        """The address of a prefix with this length."""
        prefix = 0
        for depth in range(length):
            share, skew = self.branches[depth // 4]
            if (node := self.nodes.get((depth, prefix))) is None:
                is_branch = self.source.random() < share + self.spread
                node = self.source.getrandbits(1), (1 - skew) / (2 - skew) if is_branch else 0.0
                self.nodes[depth, prefix] = node
            lighter = self.source.random() < max(node[1], self.spread / 8)
            prefix = prefix << 1 | node[0] ^ lighter
        return prefix << (32 - length)


def drawn_ports(source: random.Random, seed: Mapping[str, Any], side: str, kind: str) -> tuple[int, int]:
    """First and last port."""
    if kind in PORTS:
        return PORTS[kind]
    name = chosen(source, seed[f"{side}_{'ranges' if kind == 'range' else 'ports'}"])
    first, _, last = name.partition("-")
    return int(first), int(last)


def smoothed(source: random.Random, length: int) -> int:
    """The length, or sometimes one near it, so that large lists do not have the few masks of the small one they are grown from."""
    return min(32, max(0, length + source.choice((-2, -1, 1, 2)))) if source.random() < SMOOTHING else length


def specificity(rule: Rule) -> float:
    """How many bits a rule compares, about."""
    ports = sum(16.0 - max(0, last - first).bit_length() for first, last in (rule[4:6], rule[6:8]))
    return rule[1] + rule[3] + ports + rule[9].bit_count()


def rules(name: str, count: int, seed: int = 1) -> list[Rule]:
    """So many rules of a seed, best first."""
    source, figures = random.Random(f"{name} {seed}"), SEEDS[name]
    trees = [Prefixes(source, figures[f"{side}_branches"]) for side in ("source", "destination")]
    drawn: set[Rule] = set()
    while len(drawn) < count:
        protocol = chosen(source, figures["protocols"])
        kinds = chosen(source, figures["classes"][protocol]).split()
        lengths = [smoothed(source, int(length)) for length in chosen(source, figures["lengths"]).split()]
        addresses = [word for tree, length in zip(trees, lengths, strict=True) for word in (tree.draw(length), length)]
        ports = [
            port
            for side, kind in zip(("source", "destination"), kinds, strict=True)
            for port in drawn_ports(source, figures, side, kind)
        ]
        rule = (*addresses, *ports, int(protocol), 0xFF if int(protocol) else 0)
        if rule in drawn:
            for tree in trees:
                tree.spread = min(1.0, tree.spread + SPREAD)
        drawn.add(rule)
    ordered = sorted(drawn)
    source.shuffle(ordered)
    return sorted(ordered, key=lambda rule: -specificity(rule) + source.gauss(0, DISORDER))


def text(rule: Rule) -> str:
    """A line for `harness.c`."""
    a, b, c, d, *ports, protocol, mask = rule
    return f"{a}/{b} {c}/{d} {' '.join(map(str, ports))} {protocol}/{mask}"
