# SPDX-License-Identifier: Apache-2.0
"""A run from Python: captures, or interfaces of this machine, through a simulated device, with the software switch as its
slow path (`host/run/run.h`). What leaves a run over captures is judged by `host/judge`."""

from __future__ import annotations

import ctypes as c
import errno
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sluice_layouts as layouts

from host.judge.compare import Findings, Source, Traffic, expect
from host.judge.rules import read_rules as read_judged_rules
from host.python.device import Device, SluiceError, load
from host.python.structs import fields

LANES = layouts.HOST_PORT


class COptions(c.Structure):
    """struct sluice_run_options."""

    _fields_ = fields("sluice_run_options", {"inputs": c.c_char_p * LANES})


class CPacketPlace(c.Structure):
    """struct capture_packet."""

    _fields_ = fields("capture_packet")


class CCapture(c.Structure):
    """struct capture."""

    _fields_ = fields("capture", {"packets": c.POINTER(CPacketPlace), "bytes": c.c_void_p})

    def read(self) -> list[tuple[int, bytes]]:
        """Each packet's time and bytes."""
        base = self.bytes or 0
        found = (self.packets[n] for n in range(self.count))
        return [(packet.time, c.string_at(base + packet.offset, packet.size)) for packet in found]


class CSeen(c.Structure):
    """struct sluice_run_seen."""

    _fields_ = fields("sluice_run_seen")


class CTraffic(c.Structure):
    """struct sluice_run_traffic."""

    _fields_ = fields("sluice_run_traffic", {"capture": CCapture, "seen": c.POINTER(CSeen)})

    def read(self, lanes: int, repeat: int) -> Traffic:
        """A copy for the judge."""
        inputs = [self.inputs[lane].read() for lane in range(lanes)]
        outputs = [[data for _, data in self.outputs[lane].read()] for lane in range(lanes)]
        seen = (self.seen[n] for n in range(self.seen_count))
        return Traffic(inputs, outputs, [Source(it.lane, it.number) for it in seen], repeat)


class CLiveOptions(c.Structure):
    """struct sluice_live_options."""

    _fields_ = fields("sluice_live_options", {"interfaces": c.c_char_p * LANES, "outputs": c.c_char_p * LANES})


class Point(c.Structure):
    """struct sluice_run_point."""

    _fields_ = fields("sluice_run_point")


class Sample(c.Structure):
    """struct sluice_run_sample."""

    _fields_ = fields("sluice_run_sample")


class Result(c.Structure):
    """struct sluice_run_result."""

    _fields_ = fields("sluice_run_result", {"sluice_run_point": Point, "sluice_run_sample": Sample})

    findings: Findings | None = None  # of the check, where there was one
    check_seconds = 0.0
    judged = 0  # packets that the check has looked at so far

    @property
    def text(self) -> str:
        """The notes: damaged inputs, strays, what the check found."""
        notes = str(self.notes.decode(errors="replace"))
        return notes + "".join(f"{note}\n" for note in (self.findings.notes if self.findings else ()))

    @property
    def good(self) -> bool:
        """The run ended, and what was checked is what the rules file asks for."""
        return bool(self.finished) and not self.strays and not (self.findings and self.findings.wrong)


PROGRESS = c.CFUNCTYPE(c.c_int, c.POINTER(Result), c.c_void_p)


class Stopped(Exception):
    """`progress` stopped a run over captures: nothing was written."""


class RulesError(ValueError):
    """The rules file has errors; the text has all of them."""


@dataclass
class Run:
    """What to run: a capture and an output file for each lane, from lane 0 on."""

    rules: Path
    inputs: Sequence[Path]
    outputs: Sequence[Path | None] = ()
    repeat: int = 1
    check: bool = True
    sizes: Mapping[str, int] = field(default_factory=dict)
    device: str = "sim"  # its transport: in this process, or `sim-process`


@dataclass
class LiveRun:
    """What to run over: an interface (or `tap:NAME`) and an output file for each lane; for `seconds`, or 0: until stopped."""

    rules: Path
    interfaces: Sequence[str]
    outputs: Sequence[Path | None] = ()
    seconds: float = 0
    sizes: Mapping[str, int] = field(default_factory=dict)
    device: str = "sim"  # its transport: in this process, or `sim-process`


def read_rules(library: c.CDLL, path: Path) -> c.c_void_p:
    """The rules of a file, as the library holds them. Raises RulesError with every error of the file."""
    rules = c.c_void_p()
    libc = c.CDLL(None)
    libc.fdopen.restype = c.c_void_p
    with tempfile.TemporaryFile() as errors:
        stream = c.c_void_p(libc.fdopen(libc.dup(errors.fileno()), b"w"))
        status = library.sluice_rules_read(str(path).encode(), c.byref(rules), stream)
        libc.fclose(stream)
        errors.seek(0)
        if status != 0:
            raise RulesError(errors.read().decode(errors="replace").rstrip())
    return rules


def check_rules(path: Path) -> None:
    """Raises RulesError where a rules file has errors; needs no device."""
    library = load()
    library.sluice_rules_free.argtypes = [c.c_void_p]
    library.sluice_rules_free(read_rules(library, path))


def run(what: Run | LiveRun, progress: Callable[[Result], bool] = lambda result: False) -> Result:
    """Run; `progress` is called now and then and stops it by returning True: a live run ends, one over captures raises Stopped.

    Outputs of captures are written when the check is through, whole, whatever it found. Raises RulesError, or SluiceError where an
    input cannot be read, an interface cannot be opened, an output cannot be written, or the device fails.
    """
    library = load()
    library.sluice_rules_free.argtypes = [c.c_void_p]
    library.sluice_rules_lanes.argtypes = [c.c_void_p]
    rules = read_rules(library, what.rules)
    try:
        with Device(dict(what.sizes), library, what.device) as device:
            inputs = what.inputs if isinstance(what, Run) else what.interfaces
            lanes = max(len(inputs), len(what.outputs), int(library.sluice_rules_lanes(rules)))
            if lanes > device.lanes:
                needed = "captures" if isinstance(what, Run) else "interfaces"
                raise SluiceError(22, f"{lanes} lanes are needed ({needed}, outputs, rules); the device has {device.lanes}")
            run_them = _run_captures if isinstance(what, Run) else _run_live
            return run_them(device, rules, what, lanes, progress)  # type: ignore[arg-type]
    finally:
        library.sluice_rules_free(rules)


def _callback(progress: Callable[[Result], bool]) -> Any:
    return PROGRESS(lambda seen, _: int(progress(seen.contents)))


def _run_live(device: Device, rules: c.c_void_p, what: LiveRun, lanes: int, progress: Callable[[Result], bool]) -> Result:
    options = CLiveOptions(lanes=lanes, rules=rules, seconds=what.seconds)
    options.interfaces[: len(what.interfaces)] = [name.encode() for name in what.interfaces]
    options.outputs[: len(what.outputs)] = [str(output).encode() if output else None for output in what.outputs]
    result = Result()
    device.call("sluice_run_live", c.byref(options), c.byref(result), _callback(progress), None)
    return result


def _run_captures(device: Device, rules: c.c_void_p, what: Run, lanes: int, progress: Callable[[Result], bool]) -> Result:
    options = COptions(lanes=lanes, rules=rules, repeat=what.repeat)
    options.inputs[: len(what.inputs)] = [str(name).encode() for name in what.inputs]
    result, traffic = Result(), CTraffic()
    try:
        device.call("sluice_run", c.byref(options), c.byref(result), c.byref(traffic), _callback(progress), None)
        if what.check:
            _judge(what, result, traffic.read(lanes, what.repeat), progress)
        for lane, output in enumerate(what.outputs):
            if output:
                device.call("sluice_run_write", c.byref(traffic), lane, str(output).encode(), device=False)
    except SluiceError as error:
        if error.errno == errno.EINTR:
            raise Stopped from error
        raise
    finally:
        device.library.sluice_run_traffic_free(c.byref(traffic))
    return result


def _judge(what: Run, result: Result, traffic: Traffic, progress: Callable[[Result], bool]) -> None:
    start = time.monotonic()

    def tell(judged: int, _: int) -> None:
        result.judged = judged
        if progress(result):
            raise Stopped

    expected = expect(read_judged_rules(what.rules), len(traffic.outputs), traffic, tell)
    result.findings = expected.compare(traffic.outputs)
    result.check_seconds = time.monotonic() - start
