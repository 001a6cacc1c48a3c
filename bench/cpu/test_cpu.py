# SPDX-License-Identifier: Apache-2.0
"""The benchmark of configurations on a CPU: small runs, whose bytes are those of the interpreter and whose verdicts are those of
the program by hand. Its rates are for it to say."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench import cpu, every
from bench.cpu import jobs
from bench.peers import forward
from compiler.interpreter.packets import Packet
from host.program.captures import read_capture, write_capture


@pytest.fixture(scope="module")
def result() -> dict[str, Any]:
    router = replace(jobs.router(30), openflow=())  # one start of Open vSwitch is enough
    made = [lambda: router, functools.partial(jobs.firewall, 40), functools.partial(jobs.balancer, 1024)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forward, "WINDOWS", 1)
        return cpu.measure(lambda _: None, jobs=made, runs=1, seconds=0.1, compared=1000, many=3000)


def test_small_runs_agree(result: dict[str, Any]) -> None:
    router, firewall, balancer = result["rows"]
    for row in (router, firewall, balancer):
        assert row["identical"] and min(row["mpps"], row["handwritten_mpps"]) > 0.01, row
        assert not any(row["sees_every_flit"].values()) and row["ratio_to_handwritten"] > 0 and row["share_of_floor"] > 0
        assert "two_threads" not in row or row["two_threads"] > 0
        assert row["share_inside"] and all(row["stages_ns"].values()) and row["cycles_per_packet"] > row["ns_per_packet"] / 2
    assert router["passed"] == balancer["passed"] == 1.0 and 0.5 < firewall["passed"] < 0.95, "a rule in four drops"
    assert firewall["ratio_to_ovs"] > 0 and "ratio_to_ovs" not in balancer
    assert set(cpu.tables(result)) == every.places("cpu")


def test_other_bytes_are_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    job = jobs.router(30)
    execute = cpu.EXECUTE["interpreter"]

    def changed(what: Any, *words: Any) -> Any:
        found = execute(what, *words)
        packets = [packet.data for packet in read_capture(what.outputs[0])]
        write_capture(what.outputs[0], [Packet(data) for data in [*packets[:-1], packets[-1][:-1] + b"x"]])
        return found

    monkeypatch.setitem(cpu.EXECUTE, "interpreter", changed)
    assert not cpu.is_identical(job, cpu.program_of(job), tmp_path, 500, "interpreter")


@pytest.mark.parametrize(
    ("left", "right", "is_same"),
    [
        ([b"a" * 60] * 3, [b"a" * 60] * 3, True),
        ([b"a" * 60] * 3, [b"a" * 60] * 2, False),
        ([b"a" * 60] * 3, [b"a" * 60] * 2 + [b"a" * 59 + b"b"], False),
        ([b"a" * 60, b"b" * 61], [b"a" * 60, b"b" * 61], True),
        ([b"a" * 60, b"b" * 61], [b"b" * 61, b"a" * 60], False),
        ([b"a" * 44 + bytes(16)], [b"a" * 44], False),
        ([], [], True),
        ([], [b"a"], False),
    ],
)
def test_captures_are_compared_but_for_their_times(left: list[bytes], right: list[bytes], is_same: bool, tmp_path: Path) -> None:
    for name, packets in (("left", left), ("right", right)):
        write_capture(tmp_path / name, [Packet(data, time) for time, data in enumerate(packets, len(name))])
    assert cpu.same_packets(tmp_path / "left", tmp_path / "right") is is_same


@pytest.mark.parametrize("five", [(0x0A000001, 0x0B000002, 1, 2, 17), (0xFFFFFFFF, 0, 65535, 0, 6)])
def test_keys_have_the_fields_of_the_packet(five: jobs.Five) -> None:
    data = jobs.packet(five)
    assert len(data) == jobs.SIZE
    fields = (data[26:30], data[30:34], data[34:36], data[36:38], data[23:24])
    assert jobs.key_of(five) == int.from_bytes(b"".join(fields), "big")
