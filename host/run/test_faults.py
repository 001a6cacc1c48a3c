# SPDX-License-Identifier: Apache-2.0
"""`sluice run` fails and names the packet when one output is wrong: in what was collected, and from end to end.

SLUICE_FAULTS is the number of faults, SLUICE_FAULTS_PACKETS that of the packets of each lane's capture."""

from __future__ import annotations

import ctypes
import os
import random
from pathlib import Path

import pytest
from typer.testing import CliRunner

from host.build import build
from host.judge.compare import Expectation, Findings, Traffic, expect
from host.judge.rules import read_rules
from host.python import device as binding
from host.python import run as runs
from host.run.test_run import CAPTURES, ROUTES, good, piece, write
from toolchain import ROOT
from tools.cli.main import app

SEED = 20261122
FAULTS = int(os.environ.get("SLUICE_FAULTS", "200"))
PACKETS = int(os.environ.get("SLUICE_FAULTS_PACKETS", "400"))


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Expectation:
    """A run of a part of the capture, and what the judge expects of it."""
    folder, taken = tmp_path_factory.mktemp("run"), []
    inputs = [write(folder / f"{lane}.pcap", piece(lane, 600, PACKETS)) for lane in range(4)]

    def keep(what: runs.Run, result: runs.Result, traffic: Traffic, progress: object) -> None:
        taken.append(traffic)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "_judge", keep)
        result = runs.run(runs.Run(CAPTURES / "mixed.rules", inputs))
    assert result.hits > 0 and result.host > 0
    return expect(read_rules(CAPTURES / "mixed.rules"), 4, taken[0])


def name_of(subject: Expectation, lane: int, data: bytes) -> list[str]:
    """The inputs that an output may come from."""
    return [subject.traffic.name(output.source) for output in subject.lanes[lane] if output.data == data]


def faulty(subject: Expectation, choose: random.Random, kind: str) -> tuple[list[list[bytes]], list[str]]:
    """What left with one fault, and the names that the packet may be given."""
    outputs = [list(lane) for lane in subject.traffic.outputs]
    while True:
        lane = choose.choice([n for n, packets in enumerate(outputs) if packets])
        at = choose.randrange(len(outputs[lane]))
        packets, data = outputs[lane], outputs[lane][at]
        names = name_of(subject, lane, data)
        if kind == "flipped":
            place = choose.randrange(len(data))
            packets[at] = data[:place] + bytes([data[place] ^ 1 << choose.randrange(8)]) + data[place + 1 :]
        elif kind == "dropped":
            del packets[at]
        elif kind == "doubled":
            packets.insert(choose.randrange(at, len(packets) + 1), data)
        else:
            flows = {output.data: output.flow for output in subject.lanes[lane]}
            others = [n for n, other in enumerate(packets) if flows[other] == flows[data] and other != data]
            if not others:
                continue
            other = choose.choice(others)
            names += name_of(subject, lane, packets[other])
            packets[at], packets[other] = packets[other], data
        return outputs, names


def test_the_run_without_a_fault_is_right(collected: Expectation) -> None:
    findings = collected.compare(collected.traffic.outputs)
    assert findings.wrong == 0 and findings.expected == sum(map(len, collected.traffic.outputs)), findings.notes


@pytest.mark.parametrize("kind", ["flipped", "dropped", "doubled", "swapped"])
def test_every_fault_is_found_and_its_packet_named(kind: str, collected: Expectation) -> None:
    choose = random.Random(f"{SEED} {kind}")
    for number in range(FAULTS // 4):
        outputs, names = faulty(collected, choose, kind)
        findings: Findings = collected.compare(outputs)
        assert findings.wrong and not runs.Result(finished=1, findings=findings).good, (kind, number)
        assert any(name in note for note in findings.notes for name in names), (kind, number, names, findings.notes)


@pytest.fixture(scope="module")
def faulty_library() -> Path:
    """The host library with faults that SLUICE_FAULT chooses."""
    wraps = [f"-Wl,--wrap={name}" for name in ("sluice_lane_receive", "sluice_switch_process")]
    return build(("-O2", *wraps), [ROOT / "host" / "run" / "testing" / "faults.c"])


@pytest.mark.parametrize(
    "fault, status, words",
    [
        ("none:1", 0, "0 differ"),
        ("software:2", 1, "packet 2 of lane 0's capture differs: byte"),
        ("flip:37", 1, "packet 37 of lane 0's capture differs: byte"),
        ("drop:12", 1, "packet 12 of lane 0's capture is missing"),
        ("double:12", 1, "unexpected duplicate of packet 12 of lane 0's capture"),
        ("swap:12", 1, "packet 12 of lane 0's capture left after packet 13 of lane 0's capture, which entered later"),
    ],
)
def test_the_command_fails_and_names_the_packet(
    fault: str, status: int, words: str, faulty_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binding, "build_library", lambda: faulty_library)
    monkeypatch.setenv("SLUICE_FAULT", fault)
    ctypes.CDLL(str(faulty_library)).faults_restart()
    (tmp_path / "some.rules").write_text(ROUTES + ("acl 1 permit any\n" if fault == "software:2" else ""))  # else all in hardware
    capture = write(tmp_path / "in.pcap", [bytes(good(4)) + number.to_bytes(4, "big") for number in range(40)])
    done = CliRunner().invoke(app, ["run", "--rules", str(tmp_path / "some.rules"), "--in", str(capture)])
    assert done.exit_code == status and words in done.output, done.output
