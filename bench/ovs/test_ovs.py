# SPDX-License-Identifier: Apache-2.0
"""FAS's comparison at a small size, and how samples of stacks become stages."""

from __future__ import annotations

import io
import subprocess
from pathlib import Path

import pytest
from rich.console import Console
from scapy.layers.inet import IP
from scapy.utils import rdpcap

from bench import every, ovs
from bench.ovs import latency, profile
from testing.ovs.switch import VSWITCHD, OvsError, require

LOOP = ("@10", "start_thread")  # of the switch: 10 polls, 20 receives, 30 sends, 40 is the datapath's
PLAIN = [
    *[("take", profile.RECEIVE, "@20", *LOOP)] * 30,
    *[("fill", profile.SEND, "@30", "@10")] * 30,
    *[("@41", "@40")] * 10,
    *[("memcmp", "@40")] * 2,
    *[("memmove", "@43", "@42", "@40")] * 5,
    *[("@40",)] * 3,
    *[("do_nanosleep", "@50", *LOOP)] * 9,
    ("@20", *LOOP),
    ("@51", *LOOP),
    ("@31", "@30", "@10"),
]
MARKED = [*PLAIN[:60], *[("@45", "@40")] * 4, *[("@42", "@40")] * 5, *[("@40",)] * 3]


def test_stages_follow_from_who_calls_whom_and_when() -> None:
    learnt = profile.learn(PLAIN, MARKED)
    assert learnt.input == "@40"
    counted = [learnt.of(stack) for stack in PLAIN]
    expected = {"receive": 31, "send": 31, "parse": 10, "lookup": 2, "execute": 5, "update": 3, profile.SLEEP: 9, profile.LOOP: 1}
    assert {name: counted.count(name) for name in set(counted)} == expected
    assert [learnt.of(stack) for stack in MARKED].count("lookup") == 4
    assert learnt.of(("@47", "@46", "@40")) == "lookup"  # the classifier, when there are many rules
    assert learnt.of(("@47", "@46")) == "lookup"  # the same with a stack that is cut
    assert learnt.of(("clock_gettime", "@52", *LOOP)) == profile.LOOP
    with pytest.raises(OvsError, match="got no packets"):
        profile.learn([("@51", *LOOP)], MARKED[60:])


def test_stacks_are_read_and_damaged_lines_passed_over() -> None:
    text = f"\t 1b703 pmd_tx_burst (/x.so)\n\t 25 [unknown] ({VSWITCHD})\n\tffffffff [unknown] ([unknown])\n\n\n"
    text += "\tffffffff82 spin ([kernel.kallsyms])\n cf545 clock_nanosleep@GLIBC_2.2.5 (/libc.so.6)\n"
    text += f"nonsense\n\t3 [unknown] ({VSWITCHD})\n"
    assert list(profile.parse(text, [0x10, 0x20])) == [("pmd_tx_burst", "@20"), ("clock_nanosleep", "@10")]


def test_a_capture_has_a_packet_for_each_rule_with_a_good_checksum(tmp_path: Path) -> None:
    ovs.write_capture(tmp_path / "in", 128, 300)
    packets = rdpcap(str(tmp_path / "in"))
    assert {len(packet) for packet in packets} == {124}
    assert {f"nw_dst={packet[IP].dst}," for packet in packets} == {
        rule[rule.index("nw_dst") : rule.index("actions")] for rule in ovs.flows(300, "none")
    }
    for packet in packets[:20]:
        told, packet[IP].chksum = packet[IP].chksum, None
        assert IP(bytes(packet[IP])).chksum == told


PERF = """Histograms
   cycles/it              packets/it             cycles/pkt             pkts/batch
   499       1478575      0         1588115      100       0            0         0
   716       99549        1         200          1096      1            1         200
   1025      7206         2         0            2093      22           2         0
   >         404          3         0            >         {}           3         0
------------------------------------------------------------------------------------
   cycles/it              packets/it             cycles/pkt             pkts/batch
   2303                   0.00013                3751041                1.00000
"""


def test_only_a_busy_thread_tells_the_frequency() -> None:
    text = "Measurement duration: 2.500 s\n  - Used TSC cycles:    {}  ( {} % of total cycles)\n"
    assert ovs.frequency(text.format(5_000_000_000, "100.0")) == 2e9
    assert ovs.frequency(text.format(2_500_000_000, "50.0")) == 2e9
    assert ovs.frequency(text.format(2_000_000, " 0.0")) is None  # it slept for all but 0.04 % of the time
    assert ovs.frequency("nothing") is None


@pytest.mark.parametrize(("more", "expected"), [(0, 2093), (23, 2093), (24, None)])
def test_the_median_is_the_end_of_its_step(more: int, expected: int | None) -> None:
    assert latency.median_of("words\n" + PERF.format(more)) == expected
    empty = PERF.replace(" 1  ", " 0  ").replace("22  ", " 0  ").format(0)
    for told in ("words\n", empty):
        with pytest.raises(OvsError, match="cycles/pkt"):
            latency.median_of(told)


def test_a_packet_alone_is_faster_through_its_rule() -> None:
    (small, large) = latency.hardware([ovs.frame_of(size, 0) for size in (64, 1500)])
    for row in (small, large):
        assert 0 < row["hardware"] < row["device_receive"] + row["device_send"]
    assert large["hardware"] - small["hardware"] > 1500 / 64  # all of it has to come in first


def test_offload_takes_work_from_the_poll_thread() -> None:
    try:
        require()
        profile.require()
    except OvsError as error:
        pytest.skip(str(error))
    if subprocess.run(["perf", "stat", "-e", "cpu-clock", "true"], capture_output=True, check=False).returncode:
        pytest.skip("perf may not count here: sysctl kernel.perf_event_paranoid")
    result = ovs.measure(lambda text: None, True, sizes=(64,), rules=(1,), seconds=0.3, rounds=1, packets=20)
    none, partial, full = result["rows"]
    assert [row["mode"] for row in result["rows"]] == list(ovs.MODES)
    assert [row["live_megaflows"] for row in result["rows"]] == [1, 1, 1]
    assert [row["offloaded"] for row in result["rows"]] == [0, 1, 1]
    for row in (none, partial):
        assert min(row["cycles"].values()) >= 0 < min(row["cycles"][name] for name in ("receive", "total", "ovs")), row
        parts = {name: row["cycles"][name] for name in (*profile.STAGES, profile.LOOP)}
        assert sum(parts.values()) == pytest.approx(row["cycles"]["total"], abs=0.05), "the total is that of its parts"
        assert sum(parts[name] for name in profile.SWITCH) == pytest.approx(row["cycles"]["switch"], abs=0.05)
    assert partial["cycles"]["parse"] == 0
    assert none["hits"]["emc"] > 0 == none["hits"]["marks"]
    assert partial["hits"]["marks"] > 0 == partial["hits"]["emc"]
    assert sum(full["hits"].values()) == 0, "no packet comes to the thread"
    (alone,) = result["latency"]
    assert alone["size"] == 64 and alone["us"]["full"] < 1
    for mode in latency.MODES:  # none where other work uses the core
        cycles, microseconds = alone["thread_cycles_up_to"][mode], alone["us"][mode]
        assert (cycles is None and microseconds is None) or (
            cycles > 0 and microseconds > alone["device_cycles"]["device_send"] / 200
        )
    out = io.StringIO()
    written = ovs.tables(result)
    assert set(written) == every.places("ovs") and "| 1 | partial | 1, 1 | " in written["ovs-rules"]
    ovs.show(result, Console(file=out, width=200))
    assert "partial" in out.getvalue()


def test_says_what_to_install_where_perf_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(OvsError, match="perf is missing: make dpdk"):
        ovs.measure(lambda text: None, True)
