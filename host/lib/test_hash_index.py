# SPDX-License-Identifier: Apache-2.0
"""The hash table of the host's side finds what a plain list of its records finds, under the sanitizers."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from host.build import HOST, compile_c

FLAGS = ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
STEPS = 40000


@pytest.fixture(scope="module")
def program() -> Path:
    return compile_c("fuzz-hash-index-{}", FLAGS, [HOST / "lib" / "hash_index.c", HOST / "lib" / "testing" / "fuzz_hash_index.c"])


def run(program: Path, limit: int, spread: int, seed: int) -> dict[str, int]:
    command = [str(program), str(limit), str(spread), str(seed), str(STEPS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr[:4000]}"
    found: dict[str, int] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    ("limit", "spread", "slots"),
    [
        pytest.param(10, 16, 16, id="the smallest, full"),
        pytest.param(42, 64, 64, id="two thirds of 64 slots"),
        pytest.param(43, 64, 128, id="one more has twice the slots"),
        pytest.param(170, 12, 256, id="long runs over the end"),
        pytest.param(170, 1, 256, id="one home for all"),
        pytest.param(400, 1024, 1024, id="spread, room for gaps"),
        pytest.param(682, 300, 1024, id="large and full"),
    ],
)
def test_table_finds_what_a_plain_list_finds(program: Path, limit: int, spread: int, slots: int, seed: int) -> None:
    found = run(program, limit, spread, seed)
    assert found["slots"] == slots, found
    assert found["limit_of_gaps"] == min(13 * slots // 16 - limit, slots // 4), "so that a sixteenth is free, ever"
    assert min(found["added"], found["removed"]) > 1000 and found["most_gaps"] > 0, found
