# SPDX-License-Identifier: Apache-2.0
"""The updates at small sizes: a rate is that of the II, and equal to the interpreter's word for word; the table of the docs."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import every, updates
from bench.compiled import Rate, elements, fastest, flits, rates
from compiler.compile import Compiled

CERTIFIED = {"failure": "", "token_cycles": {"in": 1}}
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


def test_table_of_the_docs() -> None:
    update = {"update": "count", "clock_mhz": 200.0, "ii": 1, "depth": 3, "proof": CERTIFIED, "disagreements": []}
    written = updates.tables({"updates": [{**update, "cycles_per_packet": {"1": 1.0, "1000": 1.0}}]})
    assert set(written) == every.places("updates") and "| count | 200 | 1 | 3 | yes | 1.00 | 1.00 | yes |" in written["updates"]
