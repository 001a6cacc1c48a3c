# SPDX-License-Identifier: Apache-2.0
"""A skipped test fails the run where CI is set, wherever the skip comes from; expected failures do not."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from toolchain import ROOT
from toolchain.simulate import GENERATED

SKIPS = {
    "body": "def test_it():\n    pytest.skip('no namespaces')\n",
    "mark": "@pytest.mark.skipif(True, reason='no namespaces')\ndef test_it():\n    pass\n",
    "fixture": "@pytest.fixture\ndef switch():\n    pytest.skip('no namespaces')\n\n\ndef test_it(switch):\n    pass\n",
    "module": "pytest.skip('no namespaces', allow_module_level=True)\n",
}
OTHERS = "def test_runs():\n    pass\n\n\n@pytest.mark.xfail\ndef test_is_expected_to_fail():\n    assert False\n"


def run(folder: Path, text: str, ci: str) -> tuple[int, str]:
    """Exit status and words of pytest over a test, with the project's conftest."""
    shutil.copy(ROOT / "conftest.py", folder)
    (folder / "pytest.ini").write_text(f"[pytest]\npythonpath = '{ROOT}' '{GENERATED}'\n")
    (folder / "test_it.py").write_text(f"import pytest\n\n\n{text}")
    environment = {**os.environ, "CI": ci, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@pytest.mark.parametrize("kind", SKIPS)
def test_a_skip_fails_in_ci_and_says_why(tmp_path: Path, kind: str) -> None:
    status, said = run(tmp_path, SKIPS[kind], "true")
    assert status in (1, 2) and "no namespaces" in said and "which fails where CI is set" in said


def test_a_skip_is_a_skip_elsewhere_and_an_expected_failure_is_none(tmp_path: Path) -> None:
    status, said = run(tmp_path, SKIPS["body"], "")
    assert status == 0 and "1 skipped" in said
    status, said = run(tmp_path, OTHERS, "true")
    assert status == 0 and re.search("1 passed, 1 xfailed", said)


def test_make_test_sets_ci() -> None:
    # In `make test` itself, make would speak of folders, too.
    outside = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "CI")}
    said = subprocess.run(["make", "-n", "test"], cwd=ROOT, env=outside, capture_output=True, text=True, check=True).stdout
    assert "CI=true" in said.splitlines()[-1]
