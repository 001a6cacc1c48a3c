# SPDX-License-Identifier: Apache-2.0
"""Questions to a DPDK program over its telemetry socket."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

PATIENCE = 60.0  # seconds; a loaded machine is slow


def ask(run_folder: Path, prefix: str, command: str) -> Any:
    """What a program with this run folder and file prefix answers; None: nothing yet. Raises OSError where nobody listens."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as link:
        link.settimeout(PATIENCE)
        link.connect(str(run_folder / "dpdk" / prefix / "dpdk_telemetry.v2"))
        link.recv(4096)
        link.send(command.encode())
        return next(iter(json.loads(link.recv(1 << 20)).values()))
