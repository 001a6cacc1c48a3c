# SPDX-License-Identifier: Apache-2.0
"""The benchmark of the library with two elements, and its tables of the docs."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import elements as library
from bench import every

CERTIFIED = {"failure": "", "token_cycles": {"in": 1}}


def test_elements_of_the_library_take_a_token_a_cycle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "KEPT", tmp_path)
    paths = [path for path in library.library() if path.stem == "mux"]
    found = library.rows(lambda _: None, paths, tokens=100, area=False)
    assert [row["element"] for row in found] == ["Empty", "Mux"]
    for row in found:
        assert row["certificate"] == "induction" and row["missing"] == ""
        assert (row["ii"], row["tokens_per_cycle"], row["bytes_per_cycle"], row["disagreement"]) == (1, 1.0, 64.0, "")
    written = library.tables({"elements": found})
    assert set(written) == every.places("elements")
    assert f"| Mux | 1 | {found[1]['depth']} | yes | 1.0 | - | - | - |" in written["elements"]
    monkeypatch.setattr(library, "rates", lambda *_: pytest.fail("a figure that is kept is not measured again"))
    assert library.rows(lambda _: None, paths, tokens=100, area=False) == found


def test_tables_of_the_docs() -> None:
    area = {"lut": 8588, "ff": 8470, "bram": 548.0}
    row = {"element": "CuckooHash", "ii": 1, "depth": 8, "proof": CERTIFIED, "tokens_per_cycle": 1.0, "xcup": area}
    row |= {"ecp5": {"fmax_mhz": 86.4, "estimated_mhz": 97.2, "size": "Entries = 4096"}, "clicknp": library.CLICKNP["CuckooHash"]}
    row |= {"native": {**area, "generated_over_native": {"lut": 1.29, "ff": 2.02, "bram": None}}}
    written = library.tables({"elements": [row]})
    figures = "| CuckooHash | 1 | 8 | yes | 1.0 | 8588 / 8470 / 548 | 86, 97 (Entries = 4096) | 38, 209.7 |"
    assert figures in written["elements"] and "| 1.29, 2.02, - |" in written["elements-native"]


def test_estimates_that_are_far_off_are_found() -> None:
    def row(mhz: float, estimated: float, ff: int = 10) -> library.Row:
        return {"ecp5": {"fmax_mhz": mhz, "estimated_mhz": estimated, "ff": ff}}

    assert library.judged([row(200, 210), row(300, 280)]) == {
        "elements": 2, "close": 1.0, "optimistic": 0.05, "pessimistic": -0.067,
    }  # fmt: skip
    found = library.judged([row(200, 210), row(200, 250), row(200, 150), row(200, 200), row(1500, 300, 0), {}])
    assert found == {"elements": 4, "close": 0.5, "optimistic": 0.25, "pessimistic": -0.25}
    assert library.judged([{"ecp5": {"missing": "x"}}]) == {"elements": 0}
    assert library.slowest([row(200, 210), row(190, 210), {}]) == 190 and library.slowest([{}]) is None
