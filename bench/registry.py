# SPDX-License-Identifier: Apache-2.0
"""What benchmarks there are (`benches.toml`), and whether figures reach their aims."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("benches.toml")


@dataclass(frozen=True)
class Aim:
    """What figures must be."""

    figure: str  # path in the JSON
    why: str
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

    name: str
    help: str
    minutes: float  # the limit
    usual: float  # minutes, where the machine is quiet and nothing is kept
    command: tuple[str, ...] = ()  # empty: a module of this folder
    options: tuple[str, ...] = ()  # of the module
    keeps: tuple[str, ...] = ()  # folders of build/ whose figures it finds again by content
    page: str | None = None
    tables: str | None = None  # the module that makes the tables, where it is not that of this folder
    aims: tuple[Aim, ...] = ()

    def missed(self, result: dict[str, Any]) -> list[str]:
        """A line for each aim that is missed."""
        return [f"{aim} ({aim.why}): {'; '.join(wrong[:3])}" for aim in self.aims if (wrong := aim.missed(result))]


def read(file: Path = FILE) -> dict[str, Bench]:
    """All of them, by name. Raises TypeError where an entry has a word that means nothing."""

    def aim(given: dict[str, Any]) -> Aim:
        return Aim(**{"equals" if key == "is" else key: value for key, value in given.items()})

    def bench(name: str, given: dict[str, Any]) -> Bench:
        plain: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}
        plain["aims"] = tuple(map(aim, given.get("aims", ())))
        return Bench(name, **plain)

    return {name: bench(name, given) for name, given in tomllib.loads(file.read_text()).items()}
