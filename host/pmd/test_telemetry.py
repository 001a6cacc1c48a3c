# SPDX-License-Identifier: Apache-2.0
"""The driver's telemetry command: what the rules of a port counted, whoever reads or resets their counters; bad questions."""

from __future__ import annotations

from pathlib import Path

import pytest
from scapy.utils import wrpcap

from testing.device import udp
from testing.telemetry import ask
from testing.testpmd import Testpmd

RULE = "flow create 0 transfer pattern eth / ipv4 src is {} / end actions count / port_id id 1 / end"
SENT = {"10.0.0.1": 3, "10.0.0.2": 2}


def test_tells_the_packets_of_each_rule_of_a_port_whatever_was_reset(tmp_path: Path) -> None:
    wrpcap(str(tmp_path / "in"), [udp(source, "10.1.0.1") for source, count in SENT.items() for _ in range(count)], linktype=1)
    commands = [RULE.format(source) for source in SENT]
    with Testpmd(tmp_path, [f"net_sluice0,lanes=[pcap:{tmp_path}/in:,pcap::{tmp_path}/out],lossless=1"], commands) as testpmd:
        testpmd.wait(1, "tx_good_lane_packets", 5)
        testpmd.wait_counted(0, [2, 3])
        for _ in range(2):
            assert sorted(testpmd.ask("/net_sluice/rules,0").values()) == [2, 3]
            testpmd.tell("flow query 0 0 count")
        assert list(testpmd.ask("/net_sluice/rules,0,1").values()) == [3]  # the newest is the first
        assert testpmd.ask("/net_sluice/rules,1") == {}
        testpmd.tell("flow destroy 0 rule 0")
        testpmd.wait_text("destroyed after 3 packets")
        assert list(testpmd.ask("/net_sluice/rules,0").values()) == [2]
        for question in ("", ",", ",x", ",0,", ",0,x", ",0x", ",-1", ",7", ",99999999999999999999", ",0,1,2"):
            assert ask(testpmd.run_folder, testpmd.prefix, f"/net_sluice/rules{question}") is None, question
        assert ask(testpmd.run_folder, testpmd.prefix, "/net_sluice/rules,0,4294967295") == {}
        testpmd.quit()


def test_nobody_to_ask_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        ask(tmp_path, "none", "/")
