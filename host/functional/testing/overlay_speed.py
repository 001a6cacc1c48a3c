# SPDX-License-Identifier: Apache-2.0
"""Packets a second of the functional overlay with a router, on one core: `python -m host.functional.testing.overlay_speed`.

The packets are UDP of 60 bytes to three routes, and, with `--misses`, to none, so that they go to the host. With `--stateful` a
unit counts retransmissions of each flow, which is an IPv4 address and a UDP port, and all packets go to the host. The calls of
`sluice/sluice.h` that send packets and take them count; seconds are of the processor. Exit status 1: not every packet came out."""

from __future__ import annotations

import argparse
import ctypes as c
import json
import sys
from dataclasses import replace

import sluice_layouts as L

from compiler.pipeline.actions import action
from compiler.pipeline.parser_program import read
from compiler.pipeline.pipeline_image import PipelineProgram
from compiler.pipeline.unit_image import NOTHING, UnitProgram
from compiler.stateful.flow_key import flow_key
from compiler.stateful.places import container
from compiler.stateful.program import read as read_stateful
from elements.pipeline.test_default_parser import DEFAULT
from host.build import HOST, build
from host.python.device import Device, load
from host.python.pipeline import Overlay
from shell.sim.test_overlay import router
from testing.device import udp
from toolchain import ROOT

COUNT = 240  # different packets


class Replayed(c.Structure):
    """struct replayed."""

    _fields_ = (("seconds", c.c_double), ("left", c.c_uint64), ("to_host", c.c_uint64))


def counting() -> PipelineProgram:
    """Unit 1 counts retransmissions."""
    program = read_stateful(ROOT / "compiler" / "stateful" / "programs" / "retransmissions.toml")
    fields = {"host": container({"first": 16, "words": 2}), "l4_src": container({"first": 32})}
    keyed = replace(program, key=flow_key({"fields": ["host", "l4_src"]}, fields))
    first = UnitProgram(L.UnitSelector(), (), action(following=1))
    return PipelineProgram(read(DEFAULT), (first, NOTHING), stateful={1: keyed})


def main() -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packets", type=int, default=5_000_000, help="how many are sent (%(default)s)")
    parser.add_argument("--misses", action="store_true", help="no packet has a route: all go to the host")
    parser.add_argument("--stateful", action="store_true", help="a stateful unit in place of the router")
    parser.add_argument("--json", action="store_true", help="the figures as JSON")
    options = parser.parse_args()
    library = load(build(more=[HOST / "functional" / "testing" / "replay.c"]))
    done, rounds = Replayed(), max(1, options.packets // COUNT)
    sent = [udp("10.9.9.9", f"10.0.{n % 3}.{n}", sport=n) for n in range(COUNT)]
    sizes = {"pipeline_units": 2, "stateful_units": 2 * options.stateful, "host_queues": 0}
    to_host = options.misses or options.stateful
    with Device(sizes, library, "functional") as device:
        device.call("sluice_device_set_lossless", 1)
        Overlay(device).load(counting() if options.stateful else router({} if options.misses else {0: 1, 1: 2, 2: 3}))
        library.functional_replay(device.handle, b"".join(sent), COUNT, len(sent[0]), rounds, c.byref(done))
        faults = device.counters("graph").faults  # type: ignore[attr-defined]
    count = COUNT * rounds
    figures = {"packets": count, "seconds": round(done.seconds, 3), "packets_per_s": round(count / done.seconds)}
    whole = (done.left, done.to_host, faults) == ((0, count, 0) if to_host else (count, 0, 0))
    text = f"{figures['packets_per_s']:,} packets a second ({count:,} in {done.seconds:.2f} s)"
    print(json.dumps(figures) if options.json else text)
    if not whole:
        print(f"overlay_speed: of {count} packets {done.left} left by lanes, {done.to_host} came to the host", file=sys.stderr)
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())
