# SPDX-License-Identifier: Apache-2.0
"""The frame of the command line."""

import re
import subprocess

from toolchain import ROOT


def sluice(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["./sluice", *words], cwd=ROOT, capture_output=True, text=True, check=False)


def test_version_is_number_and_commit() -> None:
    printed = sluice("--version")
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    match = re.fullmatch(r"sluice \d+\.\d+\.\d+ \(([0-9a-f]+)(-dirty)?\)\n", printed.stdout)
    assert printed.returncode == 0 and match
    assert commit.startswith(match[1])


def test_changelog_begins_with_the_version() -> None:
    number = sluice("--version").stdout.split()[1]
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest and newest[1] == number


def test_help_lists_every_command() -> None:
    printed = sluice("--help")
    assert printed.returncode == 0
    for command in ("run", "bench", "report", "ovs", "--version"):
        assert command in printed.stdout
