# SPDX-License-Identifier: Apache-2.0
"""What the fuzzer compares with the interpreter: programs on the functional device of the pipeline, and in the pipeline's model."""

from __future__ import annotations

import ctypes as c
import zlib

import sluice_layouts as L

from compiler.fuzz.overlay_driver import HOST, Job, Left, OverlayRun
from compiler.fuzz.overlay_packets import LANES
from compiler.overlay.deploy import Deployment
from host.program.overlay_run import load, options_for
from host.python.device import Device, Received
from host.python.pipeline import Overlay
from models.flow_place import FlowPlace
from models.pipeline import model_of
from models.stateful_unit import Flows

SETS, WAYS = 1024, 4  # of flows; more than packets, so that none is evicted


def model(deployment: Deployment, job: Job) -> list[list[Left]]:
    """The reference model of the pipeline."""
    table = FlowPlace(SETS, WAYS, lambda key: zlib.crc32(key.to_bytes(40, "big")) % SETS)
    pipeline = model_of(deployment.program, dict.fromkeys(deployment.program.stateful, Flows(table)))
    left: list[list[Left]] = []
    for (lane, data), time in zip(job.packets, job.times, strict=True):
        left.append([])
        for changed, meta in pipeline.run(data, lane, time & 0xFFFFFFFF):
            if meta.verdict == L.VERDICT_FORWARD:
                lanes = [n for n in range(LANES) if meta.egress_mask >> n & 1]
                left[-1] += [Left(n, changed, (0, meta.queue, meta.mark)) for n in lanes]
            else:
                left[-1].append(Left(HOST, changed, (int(meta.verdict), meta.queue, meta.mark)))
    return left


def functional(deployment: Deployment, job: Job) -> list[list[Left]]:
    """A functional device, a packet at a time. Raises SluiceError."""
    sizes = options_for(deployment) | {"lanes": LANES, "pipeline_units": job.units}
    with Device(sizes, transport="functional") as device:
        device.call("sluice_device_set_lossless", 1)
        load(device, Overlay(device, secret=1), deployment)
        return [_sent(device, lane, data, time) for (lane, data), time in zip(job.packets, job.times, strict=True)]


def _sent(device: Device, lane: int, data: bytes, time: int) -> list[Left]:
    """What leaves when a packet comes at a time."""
    device.call("sluice_device_set_tick", c.c_uint32(time & 0xFFFFFFFF))
    if not device.lane_send(lane, data):
        raise RuntimeError(f"lane {lane} takes no packet of {len(data)} bytes")
    device.settle()
    left = [Left(where, data) for where in range(LANES) for data, _ in iter(lambda where=where: device.lane_receive(where), None)]  # type: ignore[misc]
    return [*left, *(_uploaded(one) for one in iter(device.receive, None))]


def _uploaded(one: Received) -> Left:
    return Left(HOST, one.data, (one.verdict, one.queue, one.mark))


OVERLAY_TARGETS: dict[str, OverlayRun] = {"model": model, "functional": functional}
