# SPDX-License-Identifier: Apache-2.0
"""A run from Python: captures, or interfaces of this machine, through a simulated device, with the software switch as its
slow path (`host/run/run.h`)."""

from __future__ import annotations

import ctypes as c
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import sluice_layouts as layouts

from host.python.device import Device, SluiceError, load

LANES = layouts.HOST_PORT
SERIES, SAMPLES, NOTES, CAUSES = 512, 16384, 4096, 9


class COptions(c.Structure):
    """struct sluice_run_options."""

    _fields_ = (
        ("lanes", c.c_uint32),
        ("inputs", c.c_char_p * LANES),
        ("outputs", c.c_char_p * LANES),
        ("rules", c.c_void_p),
        ("repeat", c.c_uint32),
        ("check", c.c_uint32),
    )


class CLiveOptions(c.Structure):
    """struct sluice_live_options."""

    _fields_ = (
        ("lanes", c.c_uint32),
        ("interfaces", c.c_char_p * LANES),
        ("outputs", c.c_char_p * LANES),
        ("rules", c.c_void_p),
        ("seconds", c.c_double),
    )


class Point(c.Structure):
    """struct sluice_run_point."""

    _fields_ = (("cycle", c.c_uint64), ("inputs", c.c_uint64), ("hits", c.c_uint64), ("host", c.c_uint64))


class Sample(c.Structure):
    """struct sluice_run_sample."""

    _fields_ = (("size", c.c_uint32), ("latency", c.c_uint32))


def _counts(*names: str) -> list[tuple[str, type[c.c_uint64]]]:
    return [(name, c.c_uint64) for name in names]


class Result(c.Structure):
    """struct sluice_run_result."""

    _fields_ = (
        *_counts("packets", "bytes", "sent", "hits", "host", "outputs", "cycles", "clock_khz", "flits_in", "flits_out"),
        ("hardware_drops", c.c_uint64 * 3),
        ("receive_drops", c.c_uint64 * 4),
        ("transmit_drops", c.c_uint64 * 2),
        ("host_drops", c.c_uint64 * 3),
        ("interface_drops", c.c_uint64 * 4),
        ("software_drops", c.c_uint64 * CAUSES),
        *_counts("faults", "not_eligible", "misses"),
        *_counts("installed", "deleted", "evicted", "expired", "refused", "fences", "routes", "routes_left"),
        *_counts("latency_min", "latency_median", "latency_p99", "latency_count"),
        *_counts("expected", "differing", "missing", "extra", "snapped"),
        ("seconds", c.c_double),
        ("device_seconds", c.c_double),
        ("check_seconds", c.c_double),
        ("series_count", c.c_uint32),
        ("sample_count", c.c_uint32),
        ("finished", c.c_uint32),
        ("series", Point * SERIES),
        ("samples", Sample * SAMPLES),
        ("notes", c.c_char * NOTES),
    )

    @property
    def text(self) -> str:
        """The notes: damaged inputs, the first differing packets."""
        return str(self.notes.decode(errors="replace"))

    @property
    def good(self) -> bool:
        """Everything was sent, and every output packet is what the software switch alone sends."""
        return bool(self.finished) and self.differing == self.missing == self.extra == 0


PROGRESS = c.CFUNCTYPE(c.c_int, c.POINTER(Result), c.c_void_p)


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


def run(what: Run | LiveRun, progress: Callable[[Result], bool] | None = None) -> Result:
    """Run; `progress` is called now and then and stops the run by returning True.

    Raises RulesError, or SluiceError where an input cannot be read, an interface cannot be opened, an output cannot be
    written, or the device fails.
    """
    library = load()
    library.sluice_rules_free.argtypes = [c.c_void_p]
    library.sluice_rules_lanes.argtypes = [c.c_void_p]
    rules = read_rules(library, what.rules)
    try:
        with Device(dict(what.sizes), library, what.device) as device:
            return _run(device, rules, what, progress)
    finally:
        library.sluice_rules_free(rules)


def _run(device: Device, rules: c.c_void_p, what: Run | LiveRun, progress: Callable[[Result], bool] | None) -> Result:
    inputs = [str(name) for name in (what.inputs if isinstance(what, Run) else what.interfaces)]
    lanes = max(len(inputs), len(what.outputs), int(device.library.sluice_rules_lanes(rules)))
    if lanes > device.lanes:
        needed = "captures" if isinstance(what, Run) else "interfaces"
        raise SluiceError(22, f"{lanes} lanes are needed ({needed}, outputs, rules); the device has {device.lanes}")
    options: COptions | CLiveOptions
    if isinstance(what, Run):
        call, options = "sluice_run", COptions(lanes=lanes, rules=rules, repeat=what.repeat, check=int(what.check))
        names = options.inputs
    else:
        call, options = "sluice_run_live", CLiveOptions(lanes=lanes, rules=rules, seconds=what.seconds)
        names = options.interfaces
    for lane, name in enumerate(inputs):
        names[lane] = name.encode()
    for lane, output in enumerate(what.outputs):
        options.outputs[lane] = str(output).encode() if output else None
    result = Result()
    callback = PROGRESS(lambda seen, _: int(bool(progress and progress(seen.contents))))
    device.call(call, c.byref(options), c.byref(result), callback, None)
    return result
