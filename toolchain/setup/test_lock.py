# SPDX-License-Identifier: Apache-2.0
"""What set-up installs is locked: every pin of `toolchain.toml` and of the certification, with hashes for all, and no place."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from toolchain.setup import lock, setup


@pytest.mark.parametrize("path", [lock.LOCK, lock.CERTIFY_LOCK, lock.FAUCET_LOCK])
def test_every_package_has_hashes_and_no_address(path: Path) -> None:
    text = re.sub(r"^#.*\n", "", path.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip()]
    assert len(lines) == len(lock.locked(path)) > 10
    assert all(re.fullmatch(r"[\w.-]+==\S+( +--hash=sha256:[0-9a-f]{64})+", line.strip()) for line in lines)
    assert "://" not in path.read_text()


def test_the_locks_have_what_is_pinned() -> None:
    assert lock.stale(lock.pins(), lock.LOCK) == [], "run `make lock`"
    for given, made in ((lock.CERTIFY, lock.CERTIFY_LOCK), (lock.FAUCET, lock.FAUCET_LOCK)):
        pinned = [line for line in given.read_text().splitlines() if line and not line.startswith("#")]
        assert lock.stale(pinned, made) == [], "run `make lock`"
    assert len(lock.locked(lock.LOCK)) > len(lock.pins()), "what the packages need is locked, too"


def test_a_pin_that_is_not_locked_ends_set_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "STAMP", tmp_path / "stamp")
    monkeypatch.setattr(setup, "run", lambda *command: pytest.fail("installed"))
    with pytest.raises(SystemExit, match=r"numpy==0\.1.*make lock"):
        setup.python({"numpy": "0.1", "rich": lock.locked(lock.LOCK)["rich"]})


def test_set_up_and_certification_ask_for_hashes() -> None:
    assert "--require-hashes" in setup.INSTALL
    said = subprocess.run(["make", "-nB", "certify-env"], cwd=lock.ROOT, capture_output=True, text=True, check=True).stdout
    assert re.search(r"pip install .*--require-hashes .*certify-requirements\.lock", said)
