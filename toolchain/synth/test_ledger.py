# SPDX-License-Identifier: Apache-2.0
"""A figure is made once: then it is found in the folder of the work or in the file of the repository, by content."""

import json
from pathlib import Path

import pytest

from bench import every
from toolchain.synth import ledger


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(ledger, "FILE", tmp_path / "ledger.json")
    monkeypatch.setattr(ledger, "used", {})
    monkeypatch.delenv(ledger.SWITCH, raising=False)
    ledger._merged.cache_clear()
    return tmp_path / "ledger.json"


def never() -> dict[str, int]:
    raise AssertionError("it is known")


def folder(tmp_path: Path, name: str) -> Path:
    (tmp_path / name).mkdir()
    return tmp_path / name


def test_a_figure_is_made_once_for_each_content(tmp_path: Path) -> None:
    one, other = folder(tmp_path, "fifo-0001"), folder(tmp_path, "fifo-0002")
    assert not ledger.is_known(one, "area")
    assert ledger.figure(one, "area", lambda: {"lut": 7}) == {"lut": 7} == ledger.figure(one, "area", never)
    assert ledger.is_known(one, "area") and not ledger.is_known(one, "mhz-1") and not ledger.is_known(other, "area")
    assert ledger.used == {"fifo-0001/area": {"lut": 7}}


def test_a_figure_of_the_file_needs_no_folder_and_is_made_anew_when_asked(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.record({"cost": {"fifo-0001/area": {"lut": 7}}})
    assert ledger.figure(tmp_path / "fifo-0001", "area", never) == {"lut": 7}
    assert ledger.is_known(tmp_path / "fifo-0001", "area") and not ledger.is_known(tmp_path / "fifo-0002", "area")
    monkeypatch.setenv(ledger.SWITCH, "no")
    assert not ledger.is_known(tmp_path / "fifo-0001", "area")
    assert ledger.figure(folder(tmp_path, "fifo-0001"), "area", lambda: {"lut": 8}) == {"lut": 8}


def test_what_a_benchmark_uses_no_more_goes_and_that_of_others_stays(file: Path) -> None:
    ledger.record({"cost": {"a/area": {"lut": 1}, "b/area": {"lut": 2}}, "elements": {"c/area": {"lut": 3}}})
    ledger.record({"cost": {"b/area": {"lut": 2}}})
    assert json.loads(file.read_text()) == {"cost": {"b/area": {"lut": 2}}, "elements": {"c/area": {"lut": 3}}}


def test_a_run_over_all_writes_what_its_benchmarks_used(tmp_path: Path, file: Path) -> None:
    every.write_ledger({"cost": {"ledger": {"a/area": {"lut": 1}}}, "lpm": {"rate": 5}})
    assert json.loads(file.read_text()) == {"cost": {"a/area": {"lut": 1}}}
    ledger._merged.cache_clear()
    assert ledger.figure(tmp_path / "a", "area", never) == {"lut": 1}
