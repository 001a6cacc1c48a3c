# SPDX-License-Identifier: Apache-2.0
"""What the driver's ports answer to calls that testpmd does not make, or not with wrong arguments: see testing/ports.c."""

from __future__ import annotations

from pathlib import Path

from host.pmd.test_pmd import bare


def test_ports_answer_every_call_as_dpdk_says(tmp_path: Path) -> None:
    assert bare(tmp_path, "-", "none,none", device="functional:join", program="ports") == "ok"
