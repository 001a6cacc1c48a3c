# SPDX-License-Identifier: Apache-2.0
"""Random programs of the programmable pipeline against the interpreter, a fixed number of them; mistakes of the compiler are found.

`./sluice fuzz overlay` runs as many as one likes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from compiler.fuzz import overlay_driver, overlays
from compiler.fuzz.driver import Failure, loaded
from compiler.fuzz.overlay_driver import Job, job_of
from compiler.overlay import behaviour, conditions, operations, place, rules, units
from compiler.overlay.bits import OverlayError
from compiler.overlay.operations import Change
from compiler.overlay.rules import Rule
from host.program.overlay_fuzz import OVERLAY_TARGETS, model
from tools.cli.main import app

PROGRAMS, SEED = 64, 500_000
MOST = 300  # programs, until a mistake must have been found
MODEL = {"model": model}


def job(seed: int) -> Job:
    case = overlay_driver.case(seed)
    program, message = loaded(case)
    assert program is not None, message
    return job_of(case, program)


def test_random_programs_agree() -> None:
    (report,) = overlay_driver.fuzz(PROGRAMS, SEED, OVERLAY_TARGETS)
    assert [(failure.case.name, failure.target, failure.message) for failure in report.failures] == []
    assert all(count > PROGRAMS // 2 for count in report.compared.values())
    assert all(reason[:5] in ("E0807", "E0808", "E0809", "E0810") for reason in report.refused["model"].values())


def test_random_programs_do_something() -> None:
    seen: Counter[str] = Counter()
    for number in range(SEED, SEED + PROGRAMS):
        one = job(number)
        left = list(chain(*one.expected))
        sent = {data for _, data in one.packets}
        seen["changes"] += any(packet.data not in sent for packet in left)
        seen["decides"] += len({tuple(packet.where for packet in some) for some in one.expected}) > 1
        seen["uploads"] += any(packet.where == overlay_driver.HOST for packet in left)
        seen["marks"] += any(packet.meta is not None and packet.meta[2] for packet in left)
        if not isinstance(one.deployment, str):
            seen["rows"] += len(one.deployment.behaviour.elements) > 1
            seen["goes on"] += len(one.deployment.units) > 1
            seen["repairs"] += bool(one.deployment.placed.checksums)
            seen["rules"] += any(one.deployment.rules.values())
    assert all(seen[what] > PROGRAMS // 8 for what in ("changes", "decides", "uploads", "rules")), seen
    assert all(seen[what] > 1 for what in ("marks", "repairs", "goes on", "rows")), seen


def first_failure(target: Any = MODEL) -> Failure:
    """The first of some programs that fails."""
    for number in range(SEED, SEED + MOST):
        if found := overlay_driver.check([overlay_driver.case(number)], target).failures:
            return found[0]
    raise AssertionError(f"{MOST} programs agree")


def added(right: Callable[..., Any]) -> Callable[..., Any]:
    """Subtractions add."""

    def wrong(*given: Any) -> Any:
        found = right(*given)
        return found and (operations.ADD, *found[1:])

    return wrong


def shortest_first(right: Callable[..., list[Rule]]) -> Callable[..., list[Rule]]:
    return lambda *given: right(*given)[::-1]


def more_than(right: Callable[..., int]) -> Callable[..., int]:
    return lambda self, a, b: right(self, b, a)


def unmasked(right: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, test, rule, cube: right(self, test, Rule(rule.value, -1, rule.result, (), rule.span), cube)


def none_followed(right: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given: {}


def half_a_change(right: Callable[..., Change | None]) -> Callable[..., Change | None]:
    """The low bits of a word stay."""

    def wrong(*given: Any) -> Change | None:
        found = right(*given)
        return found and Change(found.target, found.kind, found.value, found.source, found.mask & 0xFFF0, found.span)

    return wrong


def always(right: Callable[..., bool]) -> Callable[..., bool]:
    return lambda a, b: len(a) <= len(b)


def as_it_came(right: Callable[..., Any]) -> Callable[..., Any]:
    """No element sees what the one before has written."""
    return lambda self, arriving: right(self, replace(arriving, flit=self.arriving()))


MISTAKES = {
    "subtractions add": (operations, "_summed", added),
    "the shortest prefix wins": (rules, "_ordered", shortest_first),
    "less is more": (conditions.Diagrams, "_less", more_than),
    "rules have no masks": (units.Follower, "_matching", unmasked),
    "no checksum is repaired": (place, "_checksums", none_followed),
    "low bits never change": (units, "change_of", half_a_change),
    "entries are missing": (units, "covers", always),
    "elements do not see each other": (behaviour._Handler, "leaving", as_it_came),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_finds_a_mistake_of_the_compiler(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, name, wrong = MISTAKES[mistake]
    monkeypatch.setattr(where, name, wrong(getattr(where, name)))
    assert "expected" in first_failure().message


def test_makes_a_mistake_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "_summed", added(operations._summed))
    large = first_failure()
    small = overlay_driver.reduced(large, MODEL).case.text
    assert "-" in small
    assert len(small.splitlines()) < len(large.case.text.splitlines()) / 2, small
    assert small.count(overlays.PACKET) == 1


def test_a_compiler_that_raises_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: Any) -> Any:
        raise KeyError("word 3")

    monkeypatch.setattr(place, "_unit", broken)
    assert first_failure().message.startswith("KeyError")


def test_a_refusal_without_a_hint_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(program: Any, *given: Any) -> Any:
        raise OverlayError("E0808", "this does not fit", program.elements[0].span, "")

    monkeypatch.setattr(overlay_driver, "deployed", refused)
    assert "refused without a place and a hint" in first_failure().message


def test_a_device_that_loses_a_packet_is_wrong() -> None:
    def losing(*given: Any) -> list[list[overlay_driver.Left]]:
        return [[], *model(*given)[1:]]

    assert "got nothing" in first_failure({"losing": losing}).message


def ran(*arguments: str) -> tuple[int, dict[str, Any]]:
    found = CliRunner().invoke(app, ["fuzz", "overlay", "--json", *arguments])
    return found.exit_code, json.loads(found.stdout)


def test_the_command_counts(tmp_path: Path) -> None:
    status, tally = ran("--programs", "6", "--seed", str(SEED), "--out", str(tmp_path))
    assert status == 0
    refused = sum(count for reason, count in tally["refused"].items() if reason.startswith("model"))
    assert tally["compared"]["overlay on model"] + refused == tally["programs"]["overlay"] == 6
    assert (tmp_path / "next_seed").read_text() == f"{SEED + 6}\n"


def test_the_command_writes_what_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "_summed", added(operations._summed))
    seed = first_failure().case.seed
    status, tally = ran("--programs", "1", "--seed", str(seed), "--target", "model", "--out", str(tmp_path))
    assert status == 1
    assert len(tally["failures"]) == 1
    (path,) = tmp_path.glob("*.sl")
    assert path.read_text().startswith(f"// sluice fuzz overlay --programs 1 --seed {seed} --target model\n")
