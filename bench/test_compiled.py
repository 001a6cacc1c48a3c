# SPDX-License-Identifier: Apache-2.0
"""The benchmarks of compiled elements at small sizes: a rate is that of the II, and equal to the interpreter's word for word."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import elements as library
from bench import every, updates
from bench.compiled import Rate, elements, fastest, flits, rates
from compiler.compile import Compiled

SLOW = """
.element Slow (packet in -> packet out) {
    .state { uint total; }
    .handler {
        flit x = read(in);
        total = total * x.meta.mark + 1;
        write(out, x);
    }
}
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Compiled], dict[str, Rate]]:
    path: Path = tmp_path_factory.mktemp("slow") / "slow.sl"
    path.write_text(SLOW)
    given = {name: updates.HERE / f"{name}.sl" for name in ("flow_count", "clamped_add", "retransmissions")} | {"slow": path}
    compiled = {name: fastest(elements(path)[0], (200.0,)) for name, path in given.items()}
    frames = updates.frames(1, 100) + updates.frames(1000, 100)
    return compiled, rates(compiled, {name: {"in": flits(one.element, frames)} for name, one in compiled.items()})


def test_every_update_takes_a_packet_a_cycle_and_loses_none(found: tuple[dict[str, Compiled], dict[str, Rate]]) -> None:
    for name in ("flow_count", "clamped_add", "retransmissions"):
        assert found[1][name] == Rate(1.0, 199, ""), name


def test_a_slower_element_takes_its_interval(found: tuple[dict[str, Compiled], dict[str, Rate]]) -> None:
    interval = found[0]["slow"].plan.interval
    assert interval > 1
    assert found[1]["slow"] == Rate(float(interval), 199, "")


def test_the_machine_of_16_states_takes_a_packet_a_cycle_at_its_clock() -> None:
    machine = fastest(elements(updates.HERE / "state_machine.sl")[0])
    assert machine.plan.interval == 1 and 1000 / machine.plan.clock >= 180


def test_elements_of_the_library_take_a_token_a_cycle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "KEPT", tmp_path)
    paths = [path for path in library.library() if path.stem == "mux"]
    found = library.rows(lambda _: None, paths, tokens=100, area=False)
    assert [row["element"] for row in found] == ["Empty", "Mux"]
    for row in found:
        assert row["certificate"]["certified"] and row["missing"] == ""
        assert (row["ii"], row["tokens_per_cycle"], row["bytes_per_cycle"], row["disagreement"]) == (1, 1.0, 64.0, "")
    written = library.tables({"elements": found})
    assert set(written) == every.places("elements") and "| Mux | 1 | 1 | yes | 1.0 | - | - | - |" in written["elements"]
    monkeypatch.setattr(library, "rates", lambda *_: pytest.fail("a figure that is kept is not measured again"))
    assert library.rows(lambda _: None, paths, tokens=100, area=False) == found
