# SPDX-License-Identifier: Apache-2.0
"""`sluice why`: why Open vSwitch has a flow not in hardware, in the words of the driver that refused it, and what can be done."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from testing.ovs import flows
from toolchain import ROOT

LOGS = ROOT / "build" / "ovs"
NO_LOG = f"""no switch log found: run `make ovs-demo`, or give another log with --log. To make a switch log:
ovs-appctl vlog/set {" ".join(flows.LEVELS)}; ovs-appctl vlog/disable-rate-limit"""
ACCEPTED = "Flow rule validated"


def _log(path: Path | None) -> Path:
    if path is None:
        found = sorted(LOGS.glob("*/ovs-vswitchd.log"), key=lambda one: one.stat().st_mtime)
        if not found:
            raise typer.BadParameter(NO_LOG)
        return found[-1]
    if not path.is_file():
        raise typer.BadParameter(f"{path}: no such file")
    return path


def ask(rule: str) -> str:
    """What the driver, loaded into testpmd with a device of its own, says to a rule in testpmd's words; "": it takes it."""
    from testing.testpmd import Testpmd  # builds the device: nothing that an explanation out of a log should wait for

    rule = re.sub(r"fragment_offset is (\S+)", r"fragment_offset spec \1 fragment_offset mask 0x3fff", rule)  # OVS cuts the mask
    lines = [line.strip() for line in rule.replace("flow create", "flow validate").replace("; ", "\n").splitlines()]
    device = ["net_sluice0,lanes=[none,none,none,none]"]
    with tempfile.TemporaryDirectory(prefix="sluice-why-") as name, Testpmd(Path(name), device, lines, begin=()) as testpmd:
        output, errors = testpmd.quit()
    if ACCEPTED in output:
        return ""
    said = re.search(
        r"Caught PMD error type \d+ \([^)]*\): (?:cause: \S+, )?(.*?)(?:: Operation not supported)?$", output + errors, re.MULTILINE
    )
    return said[1] if said else "testpmd does not understand the rule:\n" + "\n".join((output + errors).splitlines()[-3:])


def explain(line: str, attempts: dict[str, flows.Attempt], again: bool) -> dict[str, Any]:
    """What is known of a flow. Raises typer.BadParameter where the line is no flow."""
    flow = flows.parse(line)
    if flow is None:
        raise typer.BadParameter(f"not a flow with a ufid, as `ovs-appctl dpctl/dump-flows -m` prints it: {line.strip()[:120]}")
    attempt = attempts.get(flow.ufid)
    found = flows.reasons(flow, attempt)
    rule = attempt.rule if attempt else ""
    told: dict[str, Any] = {
        "ufid": flow.ufid,
        "match": flow.match,
        "in_port": flow.in_port,
        "actions": flow.actions,
        "offloaded": flow.state,
        "reasons": found,
        "advice": list(flows.advice(found)),
        "rule": rule,
    }
    if again and rule:
        told["driver"] = ask(rule) or "accepts it"
    return told


def _show(told: dict[str, Any], console: Console) -> None:
    def say(text: str, style: str = "") -> None:
        console.print(text, style=style, markup=False, soft_wrap=True, highlight=False)

    say(f"{told['in_port']}: {told['match']} -> {told['actions']}", "bold")
    say({"yes": "  in hardware", "partial": "  marked in hardware, actions in software", "no": "  in software"}[told["offloaded"]])
    for name in ("reasons", "advice"):
        for text in told[name]:
            say(f"  {'because: ' if name == 'reasons' else ''}{text}")
    if told["rule"]:
        say(f"  rule: {told['rule']}")
    if "driver" in told:
        say(f"  the driver, given the rule again on an empty device: {told['driver']}")


@dataclass
class Given:
    """What was asked: flows by when they were dumped ("": now), and rules in testpmd's words."""

    flows: list[tuple[str, str]] = field(default_factory=list)
    rules: list[str] = field(default_factory=list)


def _given(text: str) -> Given:
    given, time = Given(), ""
    for line in (sys.stdin.read() if text == "-" else text).splitlines():
        if line.startswith(flows.DUMPED_AT):
            time = line.removeprefix(flows.DUMPED_AT).strip()
        elif "in_port(" in line:
            given.flows.append((time, line))
        elif line.strip().startswith("flow "):
            given.rules.append(line.strip())
    if not given.flows and not given.rules:
        raise typer.BadParameter("no flow: give a line of `ovs-appctl dpctl/dump-flows -m`, or - and lines on standard input")
    return given


def _explained(dumped: list[tuple[str, str]], log: Path, again: bool) -> Iterator[dict[str, Any]]:
    """Each flow by what the log told when it was dumped: later the switch may have changed it."""
    for time, lines in groupby(dumped, lambda one: one[0]):
        with log.open(errors="replace") as text:
            attempts = flows.attempts(text, time)
        for _, line in lines:
            yield explain(line, attempts, again)


def why(
    flow: str = typer.Argument(
        help="a line of `ovs-appctl dpctl/dump-flows -m`, or a rule in testpmd syntax, or - for standard input"
    ),
    log: Path | None = typer.Option(None, help="log of the switch; default: that of the last `make ovs-demo`"),
    again: bool = typer.Option(False, "--ask", help="also give the rule to the driver again, on an empty simulated device"),
    json_output: bool = typer.Option(False, "--json", help="print the answers as JSON"),
) -> None:
    """Explain why a flow of Open vSwitch is not in hardware, and what to do.

    `ovs-appctl dpctl/dump-flows -m | ./sluice why -` explains all flows. The reasons are the messages of the driver and of OVS from
    the log of the switch (to enable it: `docs/guide/ovs.md`). A line `flow create 0 transfer ...` goes to the driver,
    in testpmd with a simulated device."""
    console = Console()
    given = _given(flow)
    answers: list[dict[str, Any]] = [{"rule": rule, "driver": ask(rule) or "accepts it"} for rule in given.rules]
    if given.flows:
        answers += _explained(given.flows, _log(log), again)
    if json_output:
        print(json.dumps(answers, indent=1))
        return
    for told in answers:
        if "ufid" in told:
            _show(told, console)
        else:
            console.print(f"{told['rule']}\n  the driver: {told['driver']}", markup=False, soft_wrap=True, highlight=False)
