# SPDX-License-Identifier: Apache-2.0
"""Functional coverage: what a part's test has seen come out right, counted against what there is to see.

A test declares points, each with all its bins, and says `see` where it has compared the design's answer: what was sent but never
checked counts for nothing. A bin that was not declared cannot happen: to see it is an error. Counting is off, and costs nothing,
unless `SLUICE_COVERAGE` names a folder, as `./sluice coverage` does.
"""

from __future__ import annotations

import atexit
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

Counts = dict[str, dict[str, int]]  # of each point, how often each bin was seen


class Coverage:
    """What the test of one part has seen."""

    def __init__(self, part: str, points: Mapping[str, Iterable[str]]) -> None:
        folder = os.environ.get("SLUICE_COVERAGE")
        self.path = Path(folder) / f"{part}-{os.getpid()}.json" if folder else None
        atexit.register(self.save)
        self.seen = {point: Counter(dict.fromkeys(bins, 0)) for point, bins in points.items()}

    @property
    def on(self) -> bool:
        """Whether anybody counts; where finding a bin is work, ask first."""
        return self.path is not None

    def see(self, point: str, name: str) -> None:
        """One more of this bin."""
        if self.on:
            if name not in self.seen[point]:
                raise AssertionError(f"{point}: {name} was declared impossible")
            self.seen[point][name] += 1

    def save(self) -> None:
        """Keep what was seen up to now; done at the end of the process, too."""
        if self.path is not None:
            self.path.write_text(json.dumps(self.seen))


def merged(files: Iterable[Path]) -> Counts:
    """The sum of what several runs of one part have seen."""
    total: dict[str, Counter[str]] = {}
    for path in files:
        for point, bins in json.loads(path.read_text()).items():
            counter = total.setdefault(point, Counter())
            for name, count in bins.items():
                counter[name] += count
    return {point: dict(bins) for point, bins in total.items()}


def holes(counts: Counts) -> dict[str, list[str]]:
    """The bins of each point that nobody has seen."""
    return {point: [name for name, count in bins.items() if count == 0] for point, bins in counts.items()}
