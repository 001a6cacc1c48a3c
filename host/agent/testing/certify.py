# SPDX-License-Identifier: Apache-2.0
"""The OpenFlow 1.3 switch certification of os-ken on the agent with the functional device.

`make certify SWITCH=agent`, or `python -m host.agent.testing.certify [--group match/07 ...] [--most 20] [--json]`. Each case is

* ok: os-ken has nothing against it;
* refused: the agent answered a request with the error of OpenFlow that says what the case asks for and the device has not;
* hung: no answer to a request in os-ken's time, or none from os-ken;
* wrong: anything else.

A case that is wrong or hung is run again, up to three times: a loaded machine loses packets. Exit status 1: one stays wrong or
hung.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import typer
from c65of import ofproto as of
from rich.console import Console
from rich.table import Table

from testing.ovs.certify import AGAIN, CASES, PORTS, SHOWN, SILENCE, Answer, Case, CertifyError, Say, Side, cases
from testing.ovs.switch import clean_up_on_sigterm
from toolchain import ROOT

UNITS = 8
VERDICTS = ("ok", "refused", "wrong", "hung")
PYTHON = ("env", f"PYTHONPATH={ROOT}:{ROOT / 'build' / 'gen'}", sys.executable)
ERROR = re.compile(r"Failed to add (?:flows|groups|meters): OFPErrorMsg\[type=0x([0-9a-f]{2}), code=0x([0-9a-f]{2})\]")
UNREAD_ND = ("ipv6_nd_target", "ipv6_nd_sll", "ipv6_nd_tll")
UNREAD = ("mpls_label", "mpls_tc", "mpls_bos", "pbb_isid", "tunnel_id", "ipv6_exthdr", *UNREAD_ND)
MPLS_ACTIONS = ("CopyTtlIn", "CopyTtlOut", "DecMplsTtl", "SetMplsTtl", "PushMpls", "PopMpls")
UNKNOWN_ACTIONS = (*MPLS_ACTIONS, "PushPbb", "PopPbb", "Group")
# Errors that say what is not there, each with what a case must ask for to be answered so.
REFUSALS: dict[tuple[int, int], set[str]] = {
    (of.OFPET_BAD_MATCH, of.OFPBMC_BAD_FIELD): {f"match {field}" for field in UNREAD},
    (of.OFPET_BAD_ACTION, of.OFPBAC_BAD_TYPE): {f"OFPAction{name}" for name in UNKNOWN_ACTIONS},
    (of.OFPET_BAD_ACTION, of.OFPBAC_BAD_SET_TYPE): {
        f"set {field}" for field in (*UNREAD, "eth_type", "ip_proto", "sctp_src", "sctp_dst")
    },
    (of.OFPET_GROUP_MOD_FAILED, of.OFPGMFC_OUT_OF_GROUPS): {"OFPGroupMod"},
    (of.OFPET_METER_MOD_FAILED, of.OFPMMFC_OUT_OF_METERS): {"OFPMeterMod"},
}


@dataclass(frozen=True)
class Result:
    """A case and what came of it; `runs` times it was run."""

    case: Case
    verdict: str
    answer: Answer
    runs: int = 1


def asked(node: Any, inside: str = "") -> Iterator[str]:
    """What the requests of a case ask for: names of messages, instructions and actions; `match FIELD`, `set FIELD`."""
    if isinstance(node, list):
        for one in node:
            yield from asked(one, inside)
    elif isinstance(node, dict):
        for key, value in node.items():
            if key.startswith("OFP"):
                yield key
            if key == "field" and isinstance(value, str):
                yield f"{inside} {value}"
            yield from asked(value, {"OFPMatch": "match", "OFPActionSetField": "set"}.get(key, inside))


def requests_of(case: Case) -> set[str]:
    """What a case asks the switch for."""
    listed = [one for one in json.loads((CASES / f"{case.file}.json").read_text()) if isinstance(one, dict)]
    return {*asked(listed[case.index]["prerequisite"])}


def verdict(answer: Answer, requests: set[str]) -> str:
    """One of VERDICTS."""
    if not answer.words:
        return "ok"
    if found := ERROR.fullmatch(answer.words):
        kind, code = (int(number, 16) for number in found.groups())
        return "refused" if REFUSALS.get((kind, code), set()) & requests else "wrong"
    return "hung" if answer.words.endswith("request timeout.") or answer.words.startswith("hung: ") else "wrong"


class AgentSide(Side):
    """With the agent and the functional device."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        super().__init__("agent", stack)
        lanes = [*(f"--lane=af_packet:lane{port}" for port in PORTS), "--lane=none"]
        device = f"--device=functional:lanes={len(lanes)},pipeline_units={UNITS}"
        words = ("-m", "tools.cli", "agent", "--controller=127.0.0.1:6653", device, *lanes, f"--state={self.folder}")
        self.agent = self.spaces.start(self.spaces.switch, *PYTHON, *words)

    def results(self, chosen: Sequence[Case], say: Say) -> Iterator[Result]:
        """What came of cases. After one in which os-ken says nothing, another os-ken goes on with the next. Raises CertifyError
        where the agent is gone."""
        left = [*chosen]
        while left:
            try:
                for answer in self.answers([*left], 1, say):
                    yield self._result(left.pop(0), answer)
            except CertifyError as error:
                if self.agent.poll() is not None and self.agent.stdout is not None:
                    raise CertifyError(f"the agent is gone:\n{self.agent.stdout.read()[-2000:]}") from error
                yield self._result(left.pop(0), Answer(f"hung: {error}", SILENCE))

    @staticmethod
    def _result(case: Case, answer: Answer) -> Result:
        return Result(case, verdict(answer, requests_of(case)), answer)


@dataclass(frozen=True)
class Report:
    """All results."""

    results: Sequence[Result]
    seconds: float

    def counts(self, group: str | None = None) -> dict[str, int]:
        """How many cases of a group came to what; of the ok ones `again`: when they were run again."""
        found = [one for one in self.results if group in (None, one.case.group)]
        counted = Counter(one.verdict for one in found)
        again = sum(one.runs > 1 for one in found if one.verdict == "ok")
        return {"cases": len(found), **{name: counted[name] for name in VERDICTS}, "again": again}

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints."""
        groups = sorted({one.case.group for one in self.results})
        refusals = Counter(one.answer.words for one in self.results if one.verdict == "refused")
        return {
            **self.counts(),
            "seconds": self.seconds,
            "groups": {group: self.counts(group) for group in groups},
            "refusals": dict(refusals.most_common()),
            "results": [asdict(one) for one in self.results],
        }


def certify(chosen: Sequence[Case], say: Say = lambda text: None, again: int = AGAIN) -> Report:
    """Run cases, and those that fail again."""
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        side = AgentSide(stack)
        found = {one.case: one for one in side.results(chosen, say)}
        for run in range(2, again + 2):
            failed = [case for case, one in found.items() if one.verdict in ("wrong", "hung")]
            if not failed:
                break
            say(f"{len(failed)} cases failed, once more")
            found |= {one.case: Result(one.case, one.verdict, one.answer, run) for one in side.results(failed, say)}
    return Report([*found.values()], round(time.monotonic() - began, 1))


def show(report: Report, console: Console) -> None:
    """The table by group, and what failed."""
    result = report.to_json()
    table = Table("group", *report.counts())
    for group, counts in {**result["groups"], "all": report.counts()}.items():
        table.add_row(group, *map(str, counts.values()))
    console.print(table)
    for words, count in result["refusals"].items():
        console.print(f"{count} refused: {words}", markup=False)
    for one in [one for one in report.results if one.verdict in ("wrong", "hung")][:SHOWN]:
        console.print(f"{one.case.file} {one.case.index} {one.case.name}: {one.verdict}\n  {one.answer.words}", markup=False)


def main(
    group: list[str] = typer.Option([], help="file prefix of the cases, e.g. action, match/07; default: all"),  # noqa: B008
    most: int | None = typer.Option(None, min=1, help="maximum number of cases, spread evenly"),
    json_output: bool = typer.Option(False, "--json", help="print every answer as JSON"),
) -> None:
    """Run os-ken's tester on the agent with the functional device."""
    clean_up_on_sigterm()
    console = Console(stderr=True)
    try:
        chosen = cases(group, most)
        if not chosen:
            raise typer.BadParameter(f"no cases match {', '.join(group)}")
        report = certify(chosen, lambda text: console.log(text, markup=False))
    except CertifyError as error:
        raise SystemExit(str(error)) from None
    show(report, console)
    if json_output:
        print(json.dumps(report.to_json(), indent=1))
    sys.exit(1 if report.counts()["wrong"] or report.counts()["hung"] else 0)


if __name__ == "__main__":
    typer.run(main)
