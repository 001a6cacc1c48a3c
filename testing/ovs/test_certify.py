# SPDX-License-Identifier: Apache-2.0
"""A few cases of the OpenFlow switch certification on OVS alone and with the device; and what counts as equal."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer import Typer
from typer.testing import CliRunner

from testing.ovs import certify, spaces, switch
from testing.ovs import device as devices
from testing.ovs.certify import Answer, Case, CertifyError, Compared, Report

CASE = Case("match/05_ETH_TYPE", 0, "a type")
OK, REFUSED = Answer("", 0.1), Answer("Failed to add flows: OFPErrorMsg[type=0x02, code=0x00]", 0.1)


def test_some_cases_come_to_the_same_on_the_device() -> None:
    try:
        switch.require()
        with spaces.Spaces(0):
            pass
        chosen = certify.cases(["action", "match/12", "match/13"], 20)
    except (switch.OvsError, spaces.SpaceError, CertifyError) as error:
        pytest.skip(f"the certification cannot run here: {error}")
    said: list[str] = []
    report = certify.compare(devices.functional(), chosen, said.append)
    assert [one.case for one in report.cases] == chosen
    assert report.differ == []
    counted = report.counts()
    assert counted["OK alone"] == counted["OK with the device"]
    assert len(chosen) // 3 < counted["OK alone"] < len(chosen)  # OVS refuses some of them
    assert report.lane_packets > report.host_packets > 0
    assert f"alone: {len(chosen)} of {len(chosen)} cases, {counted['OK alone']} OK" in said


def test_a_case_that_differs_is_no_equal_one_and_a_flaky_one_is_neither() -> None:
    differs, flaky = Compared(CASE, OK, REFUSED), Compared(CASE, REFUSED, OK)
    for again in (Compared(CASE, OK, REFUSED), Compared(CASE, OK, REFUSED)):
        differs.again(again)
    flaky.again(Compared(CASE, OK, OK))
    other_words = Compared(CASE, REFUSED, Answer("Failed to add flows: OFPErrorMsg[type=0x02, code=0x0f]", 3.0))
    other_step = Compared(CASE, REFUSED, Answer("Receiving timeout: no packet-in.", 3.0))
    report = Report([Compared(CASE, OK, OK), differs, flaky, other_words, other_step])
    assert report.differ == [differs, other_step]
    assert (differs.runs, flaky.runs) == (3, 2)
    assert (flaky.alone, flaky.device) == (REFUSED, OK)  # what it was that differed
    counted = report.counts("match")
    assert [counted[name] for name in ("cases", "equal", "flaky", "differ", "other words")] == [5, 2, 1, 2, 1]
    assert report.counts("group")["cases"] == 0
    counts = report.by_group()
    assert counts["all"] == counts["match"] == dict(counted)
    table = certify.tables({"counts": counts, "lane_packets": 9, "host_packets": 2, "seconds": 60.0})["certify"]
    assert "| all | 5 | 2 | 2 | 2 | 1 | 2 | 1 |" in table and "Of 9 packets 7 stayed in hardware" in table


def test_a_tester_that_ends_or_says_nothing_ends_the_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certify, "SILENCE", 0.5)
    for code in ("print('ModuleNotFoundError: os_ken')", "print('waiting', flush=True); import time; time.sleep(60)"):
        with (
            subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process,
            pytest.raises(CertifyError, match=r"alone, case 3 of 9: no answer(.|\n)*(os_ken|waiting)"),
        ):
            certify._answer(process, "alone, case 3 of 9")


def test_the_command_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    app = Typer()
    app.command()(certify.main)
    done = CliRunner().invoke(app, ["--device", "toaster"])
    assert (done.exit_code, "functional, sim" in done.output) == (2, True)
    monkeypatch.setattr(certify, "CASES", tmp_path)
    assert "no cases match match/99" in CliRunner().invoke(app, ["--group", "match/99"]).output
    monkeypatch.setattr(certify, "CASES", tmp_path / "nothing")
    done = CliRunner().invoke(app, [])
    assert done.exit_code != 0
    assert "make certify-env" in str(done.exception or done.output)
