# SPDX-License-Identifier: Apache-2.0
"""Random programs of the programmable pipeline against the interpreter, a fixed number of them; mistakes of the compiler are found.

`./sluice fuzz overlay` runs as many as one likes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain, count, islice
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from compiler.fuzz import overlay_driver, overlays
from compiler.fuzz.driver import Case, Failure, loaded
from compiler.fuzz.overlay_driver import Job, job_of
from compiler.overlay import behaviour, conditions, flow_keys, operands, operations, place, process, rules, units
from compiler.overlay.bits import OverlayError
from compiler.overlay.operations import Change
from compiler.overlay.rules import Rule
from host.program.overlay_fuzz import OVERLAY_TARGETS, model
from tools.cli.main import app

PROGRAMS, SEED = 64, 500_000
WITH_FLOWS = 32
MOST = 300  # programs, until a mistake must have been found
MODEL = {"model": model}


FOUND = sorted((Path(__file__).parent / "found_overlay").glob("*.sl"))


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


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_what_once_failed_agrees(path: Path) -> None:
    report = overlay_driver.check([Case(path.stem, path.read_text(), 0)], OVERLAY_TARGETS)
    assert [failure.message for failure in report.failures] == []
    assert report.compared == dict.fromkeys(OVERLAY_TARGETS, 1)


def test_random_programs_with_flows_agree() -> None:
    report = overlay_driver.check([*islice(flow_cases(), WITH_FLOWS)], OVERLAY_TARGETS)
    assert [(failure.case.name, failure.target, failure.message) for failure in report.failures] == []
    assert all(count > WITH_FLOWS // 3 for count in report.compared.values()), report.compared


def test_random_programs_with_flows_do_something() -> None:
    seen: Counter[str] = Counter()
    for one in (job(case.seed) for case in islice(flow_cases(), WITH_FLOWS)):
        if isinstance(one.deployment, str) or (stateful := one.deployment.placed.stateful) is None:
            continue
        seen["deployed"] += 1
        seen["labels"] += len(stateful.program.labels) > 1
        seen["conditions"] += len(stateful.program.conditions) > 1
        seen["updates"] += any(entry.updates for entry in stateful.program.entries)
        seen["time"] += one.deployment.reads_time
        alike: dict[tuple[int, bytes], set[str]] = {}
        for sent, left in zip(one.packets, one.expected, strict=True):
            alike.setdefault(sent, set()).add(str(left))
        seen["depends on state"] += any(len(some) > 1 for some in alike.values())
    assert all(count > WITH_FLOWS // 16 for count in seen.values()) and len(seen) == 6, seen


def flow_cases() -> Iterator[Case]:
    """The programs with a flow table."""
    cases = (overlay_driver.case(number) for number in count(SEED))
    return (case for case in cases if " flows0[" in case.text)


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


def first_failure(seed: int = SEED, target: Any = MODEL) -> Failure:
    """The first of some programs that fails."""
    for number in range(seed, seed + MOST):
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


def never_moving(right: Callable[..., Any]) -> Callable[..., Any]:
    """The label of a flow stays."""
    return lambda self, flow, cube: (0,) * (1 + len(self.small))


def turned(right: Callable[..., Any]) -> Callable[..., Any]:
    """Of two times the other one is earlier."""

    def wrong(self: Any, difference: Any) -> Any:
        text = right(self, difference)
        return text and " before ".join(text.split(" before ")[::-1])

    return wrong


def last_first(right: Callable[..., Any]) -> Callable[..., Any]:
    """Entries in another order, but for the last."""
    return lambda *given: [*(found := right(*given))[-2::-1], found[-1]]


def one_alike(right: Callable[..., Any]) -> Callable[..., Any]:
    """Replies have the key of the request as it stands."""
    return lambda self, flow: ()


def without_updates(right: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, register, now: ""


def signed(right: Callable[..., Any]) -> Callable[..., Any]:
    """Short fields may be negative."""

    def wrong(*given: Any) -> Any:
        tests = right(*given)
        return tests and [(f"signed {text.removeprefix('signed ')}", result) for text, result in tests]

    return wrong


def excluded(right: Callable[..., Any]) -> Callable[..., Any]:
    """No two conditions are ever true together."""
    return lambda a, b: True


def ageless(right: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, containers: right(replace(self, timeout=0), containers)


MISTAKES = {  # with the first program that is looked at: the one that finds it, until the generator changes
    "subtractions add": (operations, "_summed", added, SEED + 476),
    "the shortest prefix wins": (rules, "_ordered", shortest_first, SEED + 24),
    "less is more": (conditions.Diagrams, "_less", more_than, SEED + 7),
    "rules have no masks": (units.Follower, "_matching", unmasked, SEED + 11),
    "no checksum is repaired": (place, "_checksums", none_followed, SEED + 3),
    "low bits never change": (units, "change_of", half_a_change, SEED + 2),
    "entries are missing": (units, "covers", always, SEED + 2),
    "elements do not see each other": (behaviour._Handler, "leaving", as_it_came, SEED + 3),
    "labels stay": (process._Process, "_after", never_moving, SEED + 27),
    "times are turned": (operands.Operands, "_before", turned, SEED + 115),
    "entries are turned": (process, "listed", last_first, SEED + 173),
    "replies have another key": (flow_keys.FlowKeys, "changes", one_alike, SEED + 394),
    "words never change": (process._Process, "_update", without_updates, SEED + 27),
    "short fields are signed": (operands.Operands, "_less", signed, SEED + 173),
    "conditions exclude each other": (process, "_exclude", excluded, SEED + 173),
    "flows have no time-out": (process.ProcessDraft, "text", ageless, SEED + 62),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_finds_a_mistake_of_the_compiler(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, name, wrong, seed = MISTAKES[mistake]
    monkeypatch.setattr(where, name, wrong(getattr(where, name)))
    assert "expected" in first_failure(seed).message


@pytest.mark.slow
def test_makes_a_mistake_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "_summed", added(operations._summed))
    large = first_failure(MISTAKES["subtractions add"][-1])
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

    assert "got nothing" in first_failure(target={"losing": losing}).message


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
    monkeypatch.setattr(units, "change_of", half_a_change(units.change_of))
    seed = MISTAKES["low bits never change"][-1]
    status, tally = ran("--programs", "1", "--seed", str(seed), "--target", "model", "--out", str(tmp_path))
    assert status == 1
    assert len(tally["failures"]) == 1
    (path,) = tmp_path.glob("*.sl")
    assert path.read_text().startswith(f"// sluice fuzz overlay --programs 1 --seed {seed} --target model\n")
