# SPDX-License-Identifier: Apache-2.0
"""The command line as a newcomer meets it: the launcher, the help of every subcommand, and the doctor."""

from __future__ import annotations

import json
import subprocess
import tomllib

import pytest
from typer.testing import CliRunner

from toolchain import ROOT
from tools.cli.main import app

COMMANDS = [command.name or "" for command in app.registered_commands]


def test_the_launcher_lists_every_subcommand() -> None:
    done = subprocess.run([ROOT / "sluice", "--help"], cwd="/", capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert {"run", "bench", "cost", "layouts", "doctor"} <= set(COMMANDS)
    assert [name for name in COMMANDS if name not in done.stdout] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_a_subcommand_has_help(command: str) -> None:
    answer = CliRunner().invoke(app, [command, "--help"])
    assert answer.exit_code == 0
    assert "Usage:" in answer.output
    assert len(answer.output.splitlines()) > 5


def test_an_unknown_subcommand_is_refused() -> None:
    answer = CliRunner().invoke(app, ["fly"])
    assert answer.exit_code == 2
    assert "fly" in answer.output


def test_run_refuses_a_device_that_there_is_not() -> None:
    answer = CliRunner().invoke(app, ["run", "--rules", "x", "--in", "x", "--device", "usb"])
    assert answer.exit_code == 2 and "sim-process" in answer.output


def test_the_doctor_finds_the_pinned_versions_and_nothing_missing() -> None:
    answer = CliRunner().invoke(app, ["doctor", "--json"])
    findings = json.loads(answer.output)
    pins = tomllib.loads((ROOT / "toolchain.toml").read_text())["python"]
    assert {f["tool"]: f["found"] for f in findings["needed"] if f["tool"] in pins} == pins
    assert answer.exit_code == 0, [f for f in findings["needed"] if not f["ok"]]


def test_the_doctor_says_what_is_missing_and_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.cli.doctor.present", lambda tool: tool["package"] != "clang-format")
    answer = CliRunner().invoke(app, ["doctor", "--json"])
    missing = [f for f in json.loads(answer.output)["needed"] if not f["ok"]]
    assert answer.exit_code == 1
    assert [(f["tool"], f["found"], f["cure"]) for f in missing] == [("clang-format", "", "apt-get install clang-format")]


def test_a_benchmark_that_lacks_something_says_what_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> dict[str, object]:
        raise RuntimeError("perf is missing: install it")

    monkeypatch.setattr("bench.hostio.measure", missing)
    answer = CliRunner().invoke(app, ["bench", "hostio", "--json"])
    assert answer.exit_code == 1 and "hostio: perf is missing: install it" in answer.output and "Traceback" not in answer.output
