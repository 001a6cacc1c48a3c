# SPDX-License-Identifier: Apache-2.0
"""The check finds what is wrong and names the packet, and finds nothing where nothing is wrong."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from host.judge.compare import Expectation, Findings, Source, Traffic, expect
from host.judge.rules import read_rules

SEED = 20261122
OWN = ("02:00:00:00:00:00", "02:00:00:00:00:01", "02:00:00:00:00:02")
RULES = "".join(f"lane {n} mac {mac}\nroute 10.{n}.0.0/16 lane {n} next-hop 02:00:00:00:01:0{n}\n" for n, mac in enumerate(OWN))


def routed(flow: int, mark: int, lane: int = 0, to: int = 1) -> bytes:
    """A packet of a flow, told from the others by its payload."""
    ends = IP(src="10.9.0.1", dst=f"10.{to}.0.1") / UDP(sport=7, dport=flow)
    return bytes(Ether(src="02:00:00:00:02:02", dst=OWN[lane]) / ends / Raw(mark.to_bytes(4, "big")))


def bridged(source: int, destination: int, mark: int = 0) -> bytes:
    ends = (f"02:00:00:00:03:{station:02x}" for station in (destination, source))
    return bytes(Ether(**dict(zip(("dst", "src"), ends, strict=True)), type=0x88B5) / Raw(mark.to_bytes(46, "big")))


def expected(tmp_path: Path, *inputs: list[bytes], seen: Sequence[tuple[int, int]] = (), repeat: int = 1) -> Expectation:
    (tmp_path / "some.rules").write_text(RULES)
    lanes = [[(n, packet) for n, packet in enumerate(packets)] for packets in (*inputs, [], [])[:3]]
    traffic = Traffic(lanes, [[], [], []], [Source(*it) for it in seen], repeat)
    return expect(read_rules(tmp_path / "some.rules"), 3, traffic)


def right(subject: Expectation) -> list[list[bytes]]:
    """What a device without a fault sends."""
    return [[output.data for output in lane] for lane in subject.lanes]


def counts(findings: Findings) -> tuple[int, int, int, int]:
    return findings.differing, findings.misordered, findings.missing, findings.extra


@pytest.fixture
def subject(tmp_path: Path) -> Expectation:
    """Ten packets of two flows in turn, from lane 0 to lane 1."""
    return expected(tmp_path, [routed(n % 2, n) for n in range(10)])


def test_finds_nothing_where_flows_only_pass_each_other(subject: Expectation) -> None:
    one = right(subject)[1]
    findings = subject.compare([[], one[::2] + one[1::2], []])
    assert (findings.wrong, findings.expected, findings.notes) == (0, 10, [])


def test_names_a_packet_with_a_wrong_byte(subject: Expectation) -> None:
    outputs = right(subject)
    for place in (0, 30, len(outputs[1][4]) - 1):
        wrong = bytearray(outputs[1][4])
        wrong[place] ^= 1
        findings = subject.compare([[], [*outputs[1][:4], bytes(wrong), *outputs[1][5:]], []])
        assert counts(findings) == (1, 0, 0, 0)
        [note] = findings.notes
        text = f"byte {place} is 0x{wrong[place]:02x}, expected 0x{outputs[1][4][place]:02x}"
        assert note == f"lane 1, output 5: packet 5 of lane 0's capture differs: {text}"


def test_names_a_packet_of_the_wrong_size(subject: Expectation) -> None:
    outputs = right(subject)
    findings = subject.compare([[], [*outputs[1][:4], outputs[1][4][:-1], *outputs[1][5:]], []])
    assert counts(findings) == (1, 0, 0, 0)
    assert findings.notes[0].startswith("lane 1, output 5: packet 5 of lane 0's capture differs: expected 46 bytes")


def test_names_a_missing_packet(subject: Expectation) -> None:
    one = right(subject)[1]
    findings = subject.compare([[], one[:6] + one[7:], []])
    assert counts(findings) == (0, 0, 1, 0)
    assert findings.notes[0].startswith("lane 1: packet 7 of lane 0's capture is missing")


def test_names_a_packet_that_left_twice(subject: Expectation) -> None:
    one = right(subject)[1]
    findings = subject.compare([[], one[:8] + one[7:], []])
    assert counts(findings) == (0, 0, 0, 1)
    assert findings.notes == ["lane 1, output 9: unexpected duplicate of packet 8 of lane 0's capture"]


def test_tells_of_a_packet_that_no_input_becomes(subject: Expectation) -> None:
    findings = subject.compare([[b"\xaa" * 60], right(subject)[1], []])
    assert counts(findings) == (0, 0, 0, 1)
    assert findings.notes[0].startswith("lane 0, output 1: unexpected packet of 60 bytes, aaaa")


def test_names_packets_out_of_order_in_their_flow(subject: Expectation) -> None:
    one = right(subject)[1]
    one[2], one[4] = one[4], one[2]
    findings = subject.compare([[], one, []])
    assert counts(findings) == (0, 1, 0, 0)
    assert findings.notes == [
        "lane 1, output 5: packet 3 of lane 0's capture left after packet 5 of lane 0's capture, which entered later"
    ]


def test_a_packet_on_the_wrong_lane_is_missing_there_and_too_much_here(subject: Expectation) -> None:
    one = right(subject)[1]
    findings = subject.compare([[one[0]], one[1:], []])
    assert counts(findings) == (0, 0, 1, 1)


def test_every_round_of_a_repeated_capture_counts(tmp_path: Path) -> None:
    subject = expected(tmp_path, [routed(1, n) for n in range(3)], repeat=2)
    one = right(subject)[1]
    assert len(one) == 6 and subject.compare([[], one, []]).wrong == 0
    assert subject.compare([[], [one[1], one[0], *one[2:]], []]).misordered == 1
    [note] = subject.compare([[], one[:-1], []]).notes
    assert note.startswith("lane 1: packet 3 of lane 0's capture, round 2 is missing")


def test_equal_flows_of_two_lanes_need_no_order_between_them(tmp_path: Path) -> None:
    """Captures of both sides of a router: behind it, two flows have become one."""
    subject = expected(tmp_path, [routed(1, n) for n in range(3)], [], [routed(1, 10 + n, lane=2) for n in range(3)])
    first, second = right(subject)[1][:3], right(subject)[1][3:]
    for order in (second + first, [*second[:1], *first, *second[1:]]):
        assert subject.compare([[], order, []]).wrong == 0
    assert counts(subject.compare([[], [*second[::-1], *first], []])) == (0, 2, 0, 0)


def test_equal_packets_of_two_lanes_may_leave_in_any_interleaving(tmp_path: Path) -> None:
    """The same capture on two lanes."""
    choose = random.Random(SEED)
    subject = expected(tmp_path, [routed(1, n % 3) for n in range(12)], [], [routed(1, n % 3, lane=2) for n in range(12)])
    flow = right(subject)[1][:12]
    for _ in range(50):
        order, at = [], [0, 0]
        while at != [12, 12]:
            which = choose.choice([n for n in (0, 1) if at[n] < 12])
            order.append(flow[at[which]])
            at[which] += 1
        assert subject.compare([[], order, []]).wrong == 0
    wrong = [flow[1], flow[0], *flow[:1], *flow[2:], *flow[1:]]
    findings = subject.compare([[], wrong, []])
    assert counts(findings) == (0, 1, 0, 0) and "output 1: packet 2 of lane 0's capture left before packet 1" in findings.notes[0]


def test_what_is_bridged_is_learned_in_the_order_in_which_the_host_saw_it(tmp_path: Path) -> None:
    lanes = [bridged(1, 2)], [bridged(2, 1)]
    first = expected(tmp_path, *lanes, seen=[(0, 0), (1, 0)])
    assert right(first) == [[lanes[1][0]], [lanes[0][0]], [lanes[0][0]]]
    second = expected(tmp_path, *lanes, seen=[(1, 0), (0, 0)])
    assert right(second) == [[lanes[1][0]], [lanes[0][0]], [lanes[1][0]]]
    assert first.compare(right(first)).wrong == 0 and first.compare(right(second)).differing == 1


@pytest.mark.parametrize(
    "seen, counted, words",
    [
        ([(0, 0), (1, 0)], (0, 0, 1, 0), "packet 2 of lane 0's capture never reached the host"),
        ([(0, 1), (0, 0), (1, 0)], (0, 0, 0, 1), "saw packet 1 of lane 0's capture after packet 2 of lane 0's capture"),
        ([(0, 0), (0, 1), (0, 1), (1, 0)], (0, 0, 0, 1), "saw packet 2 of lane 0's capture after packet 2"),
        ([(0, 0), (0, 1), (1, 0), (1, 1)], (0, 0, 0, 1), "packet 2 of lane 1, which does not exist"),
        ([(0, 0), (0, 1), (1, 0), (9, 0)], (0, 0, 0, 1), "packet 1 of lane 9, which does not exist"),
    ],
    ids=["not shown", "out of order", "twice", "none", "no lane"],
)
def test_what_the_host_saw_must_be_what_came(
    tmp_path: Path, seen: list[tuple[int, int]], counted: tuple[int, ...], words: str
) -> None:
    subject = expected(tmp_path, [bridged(1, 2), bridged(1, 2, mark=1)], [bridged(2, 1)], seen=seen)
    findings = subject.compare(right(subject))
    assert counts(findings) == counted and words in findings.notes[0], findings


def test_says_a_few_things_and_counts_the_rest(tmp_path: Path) -> None:
    subject = expected(tmp_path, [routed(1, n) for n in range(500)])
    findings = subject.compare([[], [], []])
    assert findings.missing == 500 and len(findings.notes) == 20
