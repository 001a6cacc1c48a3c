# SPDX-License-Identifier: Apache-2.0
"""The table of the docs, of figures made up here: each is in its place."""

from __future__ import annotations

from dataclasses import asdict

from bench import every
from testing.ovs import differential


def test_table_of_the_docs() -> None:
    result = differential.Result("access lists", 5000, 4000, 269, 135, 2200, 0, 3, {})
    written = differential.tables({"rows": [asdict(result)]})
    assert set(written) == every.places("differential")
    assert "| access lists | 5,000 | 4,000 | 269, 135 | 44.0% | 0 | 0 |" in written["differential"]
