# SPDX-License-Identifier: Apache-2.0
"""The pictures of a run."""

from pathlib import Path

from host.python.run import Result
from tools.cli.run_plot import by_size, plot_run


def test_latencies_are_grouped_by_size_in_order() -> None:
    found = by_size([(1500, 9), (64, 3), (64, 1), (100, 2), (9000, 20), (65, 4)])
    assert found == {"64": [1, 3], "65 to 127": [4, 2], "1024 to 1517": [9], "from 1518": [20]}


def test_a_run_without_hits_has_pictures_too(tmp_path: Path) -> None:
    plot_run(Result(), tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"hit_rate.svg", "latency.svg"}
