# SPDX-License-Identifier: Apache-2.0
"""Interfaces for the lanes of the driver's tests."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import pytest


@pytest.fixture
def space() -> Iterator[str]:
    """A network namespace with a pair of interfaces, va and vb, through which the kernel sends nothing of its own."""
    name = f"sluice-pmd-{os.getpid()}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        for scope in ("all", "default"):
            word = f"net.ipv6.conf.{scope}.disable_ipv6=1"
            subprocess.run(["ip", "netns", "exec", name, "sysctl", "-qw", word], check=True)
        for text in ("link add va type veth peer name vb", "link set va up", "link set vb up"):
            subprocess.run(["ip", "-n", name, *text.split()], check=True)
        yield name
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=True)
