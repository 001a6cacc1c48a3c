# SPDX-License-Identifier: Apache-2.0
"""The harness finds the figures of a run and what is wrong in it; the table of the docs, of figures made up here."""

from __future__ import annotations

import pytest

import models.pipeline
from bench import every, pipeline
from bench.simulator import QUICK


def test_figures_of_a_small_run_and_of_a_wrong_one(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pipeline.routes()
    found = pipeline.row("pipeline", 64, table, 40, QUICK, Stages=4, Units=1)
    assert found == {
        **{
            "part": "pipeline",
            "units": 1,
            "bytes": 64,
            "packets": 40,
            "flits_per_cycle": 1,
            "packets_per_cycle": 1,
            "wrong_flits": 0,
        },
        **{"latency_cycles": found["latency_max"], "latency_max": found["latency_max"]},
    }
    assert 90 < found["latency_max"] < 130
    monkeypatch.setattr(pipeline, "model_of", WrongOnce)
    assert pipeline.row("pipeline", 64, table, 40, QUICK, Stages=4, Units=1)["wrong_flits"] == 1


@pytest.mark.slow
def test_the_small_part_runs_with_the_parameters_of_its_cost() -> None:
    found = pipeline.row("pipeline_2", 64, pipeline.routes(), 40, QUICK)
    assert (found["units"], found["packets_per_cycle"], found["wrong_flits"]) == (2, 1, 0)


class WrongOnce:
    """A model that is wrong about one packet."""

    def __init__(self, program: object) -> None:
        self.model, self.count = models.pipeline.model_of(program), 0

    def run(self, data: bytes, port: int) -> object:
        self.count += 1
        out = self.model.run(data, port)
        return [(left[:-1] + b"?", meta) for left, meta in out] if self.count == 7 else out


def test_table_of_the_docs() -> None:
    figures = {"packets_per_cycle": 0.5, "flits_per_cycle": 1.0, "latency_cycles": 200, "wrong_flits": 0}
    rows = [{"part": "pipeline", "units": units, "bytes": size, **figures} for units in pipeline.UNITS for size in pipeline.BYTES]
    small_rows = [{"part": "pipeline_2", "units": 4, "bytes": 64, **figures}]
    peers = [{"units": 4, "bytes": 64, "dpdk_packets_per_s": 7_250_000, "ovs_packets_per_s": 1_500_000}]
    written = pipeline.tables({"rows": rows, "small_rows": small_rows, "rate_clock_mhz": 200, "peers": peers})
    assert set(written) == every.places("pipeline")
    assert "| `pipeline` | 4 | 1.000 | 200 to 200 | 100 | 7.25 | 1.50 |" in written["pipeline"]
    assert "| `pipeline` | 8 | 1.000 | 200 to 200 | 100 | - | - |" in written["pipeline"]
    assert "| `pipeline_2` | 4 | 1.000 | 200 to 200 | 100 | - | - |" in written["pipeline"]
