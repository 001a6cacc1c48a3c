# SPDX-License-Identifier: Apache-2.0
"""The benchmark of ternary rules runs, finds no wrong answer, and finds them where the table is broken. Its rates are for it to
say."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from bench import every, ternary
from bench.ternary import generate
from host.build import c_files


@pytest.mark.parametrize("seed", ternary.SEEDS)
def test_rules_have_the_shares_of_their_seed(seed: str) -> None:
    rules, figures = generate.rules(seed, 3000), generate.SEEDS[seed]
    assert len(set(rules)) == 3000 and rules == generate.rules(seed, 3000) != generate.rules(seed, 3000, seed=2)
    assert all(rule[4] <= rule[5] and rule[6] <= rule[7] for rule in rules)
    assert all(address & ((1 << 32 - length) - 1) == 0 for rule in rules for address, length in (rule[:2], rule[2:4]))
    protocols = Counter(str(rule[8]) for rule in rules)
    for protocol, share in figures["protocols"].items():
        assert abs(protocols[protocol] / 3000 - share) < 0.12, "apart from what is lost because rules differ"


def test_no_answer_is_wrong_while_rules_change() -> None:
    result = ternary.measure(
        lambda _: None, sizes=(500,), traffic=("uniform", "miss"), changes=(0, 100_000), headers=20_000, seconds=0.01
    )
    assert len(result["rows"]) == 12
    for row in result["rows"]:
        assert row["checked"] == 20_000 and {one["wrong"] for one in row["contenders"].values()} == {0}, row
        assert set(row["contenders"]) >= {"sluice", "rte_acl", "ovs_tss", "tuple_merge"}
        assert (row["p999_change_us"] > 0) == (row["changes_per_s"] > 0)


@pytest.mark.parametrize(
    ("name", "line", "broken"),
    [
        pytest.param("ternary_lookup.h", "is_match & (one->rank > *rank)", "is_match", id="the last match wins"),
        pytest.param(
            "ternary_lookup.h",
            "left += (hits == 0)",
            "left += 0",
            id="the first chunk of a bucket only",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "ternary_buckets.c",
            "chunk->next_best =",
            "chunk->next_best = !",
            id="no chunk behind the first",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "ternary_buckets.c",
            "chunk->mark_first[at] = chunk->mark_length[at] = 0",
            "",
            id="marks of another rule",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "ternary_buckets.c", "memmove(to->mark_first", "if (0) memmove(to->mark_first", id="marks stay", marks=pytest.mark.slow
        ),
        pytest.param("ternary_groups.c", "table->filters[entry] |= 1U << group;", ";", id="filters are not set"),
    ],
)
def test_wrong_answers_are_counted(tmp_path: Path, name: str, line: str, broken: str) -> None:
    sources = c_files(["ternary"])
    for path in sources[0].parent.glob("*.[ch]"):
        text = path.read_text()
        assert path.name != name or text.count(line) == 1
        (tmp_path / path.name).write_text(text.replace(line, broken) if path.name == name else text)
    program = ternary.built([tmp_path / path.name for path in sources])
    rules = ternary.rules_file("fw1", 1000)
    found = ternary.run(program, rules, 1000, "uniform", 100_000, headers=20_000, seconds=0.01)
    assert found["contenders"]["sluice"]["wrong"] > 0 and found["contenders"]["ovs_tss"]["wrong"] == 0


def test_table_of_the_docs() -> None:
    contenders = {
        "sluice": {"mlookups": 12.5, "ratio": 1.0, "wrong": 0},
        "rte_acl": {"ratio": 0.9},
        "rte_acl_avx512": {"ratio": 0.7},
    }
    found = {"rules": 8000, "p50_change_us": 0.2, "p999_change_us": 1.5, "memory_mb": 4.2, "groups": 20, "most_compares": 50}
    rivals = {name: {"ratio": ratio} for name, ratio in zip(ternary.DYNAMIC, (3.0, 2.5), strict=True)}
    row = ternary.row({**found, "checked": 10, "contenders": {**contenders, **rivals}}, 8000, "acl1", "uniform", 0)
    assert row["ratio_to_rte_acl"] == 0.7 and row["ratio_to_dynamic"] == 2.5
    assert ternary.worst([row], 8000)["unchanged_ratio_to_rte_acl"] == 0.7
    written = ternary.tables({"rows": [row]})
    assert set(written) == every.places("ternary") and "0.70, 0.70" in written["ternary"]
