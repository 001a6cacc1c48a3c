# SPDX-License-Identifier: Apache-2.0
"""The peers of `sluice bench forward` start and forward: each once, for a second. Their rates are for the benchmark to say."""

from __future__ import annotations

from pathlib import Path

import pytest
from scapy.utils import wrpcap

from bench import traffic
from bench.peers import forward


@pytest.fixture
def capture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A capture of a packet of each of eight flows; one window of a second each instead of five."""
    monkeypatch.setattr(forward, "WINDOWS", 1)
    path = tmp_path / "in.pcap"
    wrpcap(str(path), [traffic.packet(flow, 64) for flow in traffic.flows(4, 8)])
    return path


def test_ovs_dpdk_forwards_the_capture(capture: Path) -> None:
    figures = forward.ovs_dpdk(capture, ["in_port=1,actions=output:2"])
    assert figures["windows"] == 1 and figures["packets_per_s"] > 0


def test_ovs_dpdk_without_an_output_is_no_peer(capture: Path) -> None:
    with pytest.raises(RuntimeError, match="not the 100% that have an output"):
        forward.ovs_dpdk(capture, ["in_port=1,actions=drop"])


def test_testpmd_forwards_the_capture(capture: Path) -> None:
    assert forward.testpmd(capture)["packets_per_s"] > 0
