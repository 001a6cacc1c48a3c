# SPDX-License-Identifier: Apache-2.0
"""Which benchmarks there are, and whether figures reach their aims.

A benchmark is a folder here with a `bench.toml`, which holds the fields of `Bench`. An aim there has `figure`, `why`, and one of
`least`, `most` and `is`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Aim:
    """What figures must be."""

    figure: str  # path in the JSON; `*`: each of a list or table
    why: str  # where the aim comes from
    least: float | None = None
    most: float | None = None
    equals: Any = None

    def __str__(self) -> str:
        bound = (
            f"≥ {self.least:g}" if self.least is not None else f"≤ {self.most:g}" if self.most is not None else f"= {self.equals!r}"
        )
        return f"{self.figure} {bound}"

    def missed(self, result: dict[str, Any]) -> list[str]:
        """Which figures miss it, with their values; that there is none, too."""
        found = list(_at(result, self.figure.split("."), ""))
        return [f"{path} is {value!r}" for path, value in found if not self._holds(value)] or ([] if found else ["no such figure"])

    def _holds(self, value: Any) -> bool:
        if self.least is None and self.most is None:
            return bool(value == self.equals)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)


def _at(value: Any, steps: Sequence[str], path: str) -> Iterator[tuple[str, Any]]:
    """Values below a path; of a step that is not there, nothing."""
    if not steps:
        yield path, value
        return
    many = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in many:
        if steps[0] in ("*", str(key)):
            yield from _at(inner, steps[1:], f"{path}.{key}".removeprefix("."))


@dataclass(frozen=True)
class Bench:
    """One benchmark or certificate."""

    name: str  # of its folder
    help: str
    minutes: float  # the limit in a run over all
    usual: float  # minutes on two quiet cores, with nothing kept
    command: tuple[str, ...] = ()  # prints the figures as JSON; empty: the package `bench.NAME` has `measure()` and `show()`
    options: tuple[str, ...] = ()  # of the package
    keeps: tuple[str, ...] = ()  # folders of build/ whose figures it finds again by content
    page: str | None = None  # has its tables between markers, whose names begin with the benchmark's
    tables: str | None = None  # the module with `tables()`, where it is not the package
    aims: tuple[Aim, ...] = ()

    def missed(self, result: dict[str, Any]) -> list[str]:
        """A line for each aim that is missed."""
        return [f"{aim} ({aim.why}): {'; '.join(wrong[:3])}" for aim in self.aims if (wrong := aim.missed(result))]


def read(folder: Path = FOLDER) -> dict[str, Bench]:
    """All of them by name, the shortest first. Raises TypeError where a field is unknown."""

    def aim(given: dict[str, Any]) -> Aim:
        return Aim(**{"equals" if key == "is" else key: value for key, value in given.items()})

    def bench(file: Path) -> Bench:
        given = tomllib.loads(file.read_text())
        plain: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}
        plain["aims"] = tuple(map(aim, given.get("aims", ())))
        return Bench(file.parent.name, **plain)

    benches = sorted(map(bench, folder.glob("*/bench.toml")), key=lambda one: (one.usual, one.name))
    return {one.name: one for one in benches}
