# SPDX-License-Identifier: Apache-2.0
"""The OpenFlow 1.3 switch certification of os-ken on OVS alone and on OVS with the device: the same answer case by case?

`python -m testing.ovs.certify [--group match/07 ...] [--most 20] [--device functional|sim] [--json]`. Both switches run side by
side, each with a tester switch of its own, whose ports are joined to the target's by veth pairs. os-ken sends each case's packet
once, which is the packet that OVS makes a flow for in software; here it is sent twice, so that the second can meet a rule in
hardware. A case that differs is run again on both, up to three times: equal then, it is flaky, which is not counted as equal.
Exit status 1: a case differs.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from itertools import groupby
from pathlib import Path
from subprocess import Popen
from threading import Timer
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from testing.ovs import device as devices
from testing.ovs.spaces import FEATURES, Spaces
from testing.ovs.switch import OpenVSwitch, clean_up_on_sigterm, run_folder
from toolchain import ROOT

SITE = ROOT / "build" / "certify"  # os-ken and what it imports, by `make certify-env`
CASES = SITE / "os_ken" / "tests" / "switch" / "of13"
RUNNER = Path(__file__).with_name("certify_runner.py")
PORTS = (1, 2, 3)  # of both switches, joined one to one
CONTROLLER, TESTER = "192.0.2.1", "192.0.2.2"  # addresses of os-ken, beside the target, and of the tester switch
READ = "100"  # ms between two readings of a flow's counters; the tester looks once, after a second
TWICE = 2  # how often a case's packets are sent
AGAIN = 3  # how often a case that differs is run again
SILENCE = 180.0  # seconds without an answer; the longest cases send for 30
STEP = 50  # answers between two lines of progress
SHOWN = 40  # differences that are printed
Say = Callable[[str], None]


class CertifyError(RuntimeError):
    """The tester is not installed, or did not come to its end."""


@dataclass(frozen=True, order=True)
class Case:
    """One case of a file."""

    file: str  # below CASES, without `.json`
    index: int
    name: str

    @property
    def group(self) -> str:
        """The first folder: action, group, match or meter."""
        return self.file.partition("/")[0]


@dataclass(frozen=True)
class Answer:
    """What the tester has against the switch in a case; nothing: the case is OK."""

    words: str
    seconds: float

    @property
    def kind(self) -> str:
        """Its result: "OK", or the step that failed. What follows in its words are packets, counters and rates."""
        return self.words.partition(":")[0] or "OK"


@dataclass
class Compared:
    """A case on both. Of one that was equal only when run again, the answers are the last that differed."""

    case: Case
    alone: Answer
    device: Answer
    runs: int = 1
    flaky: bool = False

    @property
    def equal(self) -> bool:
        """Whether both came to the same."""
        return self.alone.kind == self.device.kind

    @property
    def differs(self) -> bool:
        """Whether they did in no run."""
        return not self.equal and not self.flaky

    def again(self, repeated: Compared) -> None:
        """Take a further run of a case that has differed so far."""
        self.runs += 1
        self.flaky = repeated.equal
        if not self.flaky:
            self.alone, self.device = repeated.alone, repeated.device


@dataclass
class Report:
    """The whole comparison."""

    cases: list[Compared]
    lane_packets: int = 0  # that came from the device's lanes
    host_packets: int = 0  # of them to OVS
    seconds: float = 0.0
    differ: list[Compared] = field(init=False)

    def __post_init__(self) -> None:
        self.differ = [one for one in self.cases if one.differs]

    def counts(self, group: str | None = None) -> Counter[str]:
        """How many cases of a group are what."""
        found = [one for one in self.cases if group in (None, one.case.group)]
        return Counter({
            "cases": len(found),
            "equal": sum(one.equal for one in found),
            "OK alone": sum(one.alone.kind == "OK" for one in found),
            "OK with the device": sum(one.device.kind == "OK" for one in found),
            "flaky": sum(one.flaky for one in found),
            "differ": sum(one.differs for one in found),
            "other words": sum(one.equal and one.alone.words != one.device.words for one in found),
        })  # fmt: skip

    def by_group(self) -> dict[str, dict[str, int]]:
        """The counts of each group, and of all."""
        groups = sorted({one.case.group for one in self.cases})
        return {**{group: dict(self.counts(group)) for group in groups}, "all": dict(self.counts())}


def require() -> None:
    """Raise CertifyError where os-ken is not installed."""
    if not CASES.is_dir():
        raise CertifyError(f"os-ken is not in {SITE.relative_to(ROOT)}: make certify-env")


def cases(groups: Sequence[str] = (), most: int | None = None) -> list[Case]:
    """All cases whose file begins with one of `groups`; of them `most` at most, spread evenly."""
    require()
    found = []
    for path in sorted(CASES.rglob("*.json")):
        file = path.relative_to(CASES).with_suffix("").as_posix()
        if not groups or file.startswith(tuple(groups)):
            listed = [one for one in json.loads(path.read_text()) if isinstance(one, dict)]
            found += [Case(file, index, one["description"]) for index, one in enumerate(listed)]
    if most is None or most >= len(found):
        return found
    return [found[number * len(found) // most] for number in range(most)]


class Side:
    """A tester switch, wired to the namespace where a target switch is to be."""

    def __init__(self, name: str, stack: contextlib.ExitStack) -> None:
        self.name = name
        self.folder = stack.enter_context(run_folder())
        self.spaces = stack.enter_context(Spaces(1))  # one namespace a switch: each needs the name `ovs-netdev`
        self.spaces.run(self.spaces.switch, f"ip addr add {CONTROLLER}/24 dev lane0")
        self.spaces.address(0, f"{TESTER}/24")
        for port in PORTS:
            self._wire(port)
        self.tester = stack.enter_context(OpenVSwitch(stack.enter_context(run_folder()), self.spaces.prefix(self.spaces.host(0))))
        self.tester.start(settings={"dpdk-init": "false"})  # its ports are the kernel's
        self._bridge(self.tester, "tester", 2)
        for port in PORTS:
            self._system_port(self.tester, "tester", f"wire{port}", port)

    def _wire(self, port: int) -> None:
        here, there, near, far = self.spaces.switch, self.spaces.host(0), f"lane{port}", f"wire{port}"
        self.spaces.run(here, f"ip link add {near} type veth peer name {far} netns {there}")
        for space, name in ((here, near), (there, far)):
            self.spaces.run(space, f"ethtool -K {name} {FEATURES}")
            self.spaces.run(space, f"ip link set {name} up")

    @staticmethod
    def _bridge(switch: OpenVSwitch, name: str, number: int) -> None:
        switch.add_bridge(name)
        switch.vsctl("set", "bridge", name, "protocols=OpenFlow13", f"other_config:datapath-id={number:016x}")
        switch.vsctl("set-controller", name, f"tcp:{CONTROLLER}", "--", "set", "controller", name, "max_backoff=1000")

    @staticmethod
    def _system_port(switch: OpenVSwitch, bridge: str, name: str, number: int) -> None:
        switch.vsctl("add-port", bridge, name, "--", "set", "Interface", name, f"ofport_request={number}")
        switch.check_port(name)

    def run(self, chosen: Sequence[Case], repeat: int, say: Say) -> dict[Case, Answer]:
        """The tester's answers. Raises CertifyError where it gives none."""
        return dict(zip(chosen, self.answers(chosen, repeat, say), strict=True))

    def answers(self, chosen: Sequence[Case], repeat: int, say: Say) -> Iterator[Answer]:
        """The tester's answers as they come. Raises CertifyError where it gives none."""
        asked = self.folder / "cases.json"
        by_file = groupby(chosen, lambda case: case.file)
        asked.write_text(json.dumps([(str(CASES / f"{file}.json"), [one.index for one in of_file]) for file, of_file in by_file]))
        environment = ("env", f"PYTHONPATH={SITE}:{ROOT}", "OSKEN_HUB_TYPE=eventlet")
        process = self.spaces.start(
            self.spaces.switch, *environment, sys.executable, "-W", "ignore", str(RUNNER), str(asked), str(repeat)
        )
        try:
            yield from self._answers(process, len(chosen), say)
        finally:
            if process in self.spaces.running:  # else all is being ended
                self.spaces.end(process)

    def _answers(self, process: Popen[str], count: int, say: Say) -> Iterator[Answer]:
        good = 0
        for number in range(1, count + 1):
            answer = _answer(process, f"{self.name}, case {number} of {count}")
            good += answer.kind == "OK"
            if number % STEP == 0 or number == count:
                say(f"{self.name}: {number} of {count} cases, {good} OK")
            yield answer


class OvsSide(Side):
    """With Open vSwitch, alone or with a device."""

    def __init__(self, name: str, device: devices.Device | None, stack: contextlib.ExitStack) -> None:
        super().__init__(name, stack)
        self.target = stack.enter_context(OpenVSwitch(self.folder, self.spaces.prefix(self.spaces.switch)))
        devices.start(self.target, device, device is not None)
        self.target.configure({"max-revalidator": READ})
        self._bridge(self.target, "target", 1)
        if device is None:
            for port in PORTS:
                self._system_port(self.target, "target", f"lane{port}", port)
            return
        for port, arguments in zip(PORTS, device.devargs([f"af_packet:lane{port}" for port in PORTS]), strict=True):
            self.target.add_port("target", f"dpdk{port}", arguments, port)
        self.target.poll(devices.cores()[0])

    def packets(self) -> tuple[int, int]:
        """Packets that have come from the device's lanes, and how many of them went on to OVS."""
        counted = [devices.telemetry(self.target, f"/ethdev/xstats,{port}") for port in range(len(PORTS))]
        return sum(one["rx_good_lane_packets"] for one in counted), sum(one["rx_host_packets"] for one in counted)


def _answer(process: Popen[str], where: str) -> Answer:
    """The next answer; what is not JSON is kept as the tester's last words."""
    assert process.stdout is not None
    last: list[str] = []
    guard = Timer(SILENCE, process.kill)
    guard.start()
    try:
        for line in process.stdout:
            with contextlib.suppress(ValueError):
                found = json.loads(line)
                return Answer(found["words"], found["seconds"])
            last.append(line)
    finally:
        guard.cancel()
    raise CertifyError(f"{where}: no answer from the tester within {SILENCE:.0f} s, or it exited:\n{''.join(last[-15:])}")


def compare(
    device: devices.Device, chosen: Sequence[Case], say: Say = lambda text: None, repeat: int = TWICE, again: int = AGAIN
) -> Report:
    """The cases on both, those that differ again."""
    began = time.monotonic()
    with ThreadPoolExecutor(2) as pool, contextlib.ExitStack() as stack:
        sides = [OvsSide("alone", None, stack), OvsSide("with the device", device, stack)]

        def both(wanted: Sequence[Case]) -> list[Compared]:
            running: list[Future[dict[Case, Answer]]] = [pool.submit(side.run, wanted, repeat, say) for side in sides]
            alone, with_device = (one.result() for one in running)
            return [Compared(case, alone[case], with_device[case]) for case in wanted]

        found = both(chosen)
        for _ in range(again):
            differ = {one.case: one for one in found if one.differs}
            if not differ:
                break
            say(f"{len(differ)} cases differ, once more")
            for one in both(list(differ)):
                differ[one.case].again(one)
        lanes, host = sides[1].packets()
    return Report(found, lanes, host, round(time.monotonic() - began, 1))


def show(report: Report, console: Console) -> None:
    """The table by group, and what differs."""
    counts = report.by_group()
    table = Table("group", *counts["all"])
    for group, counted in counts.items():
        table.add_row(group, *(f"{count:,}" for count in counted.values()))
    console.print(table)
    console.print(
        f"{report.lane_packets - report.host_packets:,} of {report.lane_packets:,} packets in hardware; {report.seconds:,.0f} s"
    )
    for one in [*report.differ, *(one for one in report.cases if one.flaky)][:SHOWN]:
        what = f"flaky, equal at run {one.runs}" if one.flaky else f"differs in {one.runs} runs"
        console.print(f"{one.case.file} {one.case.index} {one.case.name}: {what}", markup=False)
        console.print(f"  alone           {one.alone.words or 'OK'}\n  with the device {one.device.words or 'OK'}", markup=False)


def tables(result: Mapping[str, Any]) -> dict[str, str]:
    """The table of the docs, of what `--json` prints."""
    columns = list(result["counts"]["all"])
    lines = [f"| group | {' | '.join(columns)} |", "| --- " * (len(columns) + 1) + "|"]
    lines += [f"| {group} | {' | '.join(map(str, counts.values()))} |" for group, counts in result["counts"].items()]
    hardware = result["lane_packets"] - result["host_packets"]
    lines += ["", f"Of {result['lane_packets']:,} packets {hardware:,} stayed in hardware; {result['seconds'] / 60:.0f} minutes."]
    return {"certify": "\n".join(lines)}


def main(
    group: list[str] = typer.Option([], help="file prefix of the cases, e.g. action, match/07; default: all"),  # noqa: B008
    most: int | None = typer.Option(None, min=1, help="maximum number of cases, spread evenly"),
    device: str = typer.Option("functional", help="functional, or sim for the RTL"),
    repeat: int = typer.Option(TWICE, min=1, help="how many times to send the packets of a case; os-ken's own tester: 1"),
    json_output: bool = typer.Option(False, "--json", help="print every answer as JSON"),
) -> None:
    """Compare what os-ken's tester says to OVS alone and to OVS with the device."""
    if device not in ("functional", "sim"):
        raise typer.BadParameter(f"unknown device {device}; choose from functional, sim")
    clean_up_on_sigterm()
    console = Console(stderr=True)
    try:
        chosen = cases(group, most)
    except CertifyError as error:
        raise SystemExit(str(error)) from None
    if not chosen:
        raise typer.BadParameter(f"no cases match {', '.join(group)}")
    console.log(f"{len(chosen)} cases")
    found = devices.functional() if device == "functional" else devices.build(lambda text: console.log(text, markup=False))
    report = compare(found, chosen, lambda text: console.log(text, markup=False), repeat)
    show(report, console)
    if json_output:
        print(json.dumps({**asdict(report), "counts": report.by_group()}, indent=1))
    sys.exit(1 if report.differ else 0)


if __name__ == "__main__":
    typer.run(main)
