# SPDX-License-Identifier: Apache-2.0
"""What the fuzzer compares with the interpreter: programs on the functional device of the pipeline, and in the pipeline's model."""

from __future__ import annotations

import sluice_layouts as L

from compiler.fuzz.overlay_driver import HOST, Job, Left, OverlayRun
from compiler.fuzz.overlay_packets import LANES
from compiler.overlay.deploy import Deployment
from host.program.overlay_run import load
from host.python.device import Device, Received
from host.python.pipeline import Overlay
from models.pipeline import model_of


def model(deployment: Deployment, job: Job) -> list[list[Left]]:
    """The reference model of the pipeline."""
    pipeline = model_of(deployment.program)
    left: list[list[Left]] = []
    for lane, data in job.packets:
        left.append([])
        for changed, meta in pipeline.run(data, lane):
            if meta.verdict == L.VERDICT_FORWARD:
                lanes = [n for n in range(LANES) if meta.egress_mask >> n & 1]
                left[-1] += [Left(n, changed, (0, meta.queue, meta.mark)) for n in lanes]
            else:
                left[-1].append(Left(HOST, changed, (int(meta.verdict), meta.queue, meta.mark)))
    return left


def functional(deployment: Deployment, job: Job) -> list[list[Left]]:
    """A functional device, a packet at a time. Raises SluiceError."""
    sizes = {"lanes": LANES, "pipeline_units": job.units}
    with Device(sizes, transport="functional") as device:
        device.call("sluice_device_set_lossless", 1)
        load(device, Overlay(device), deployment)
        return [_sent(device, lane, data) for lane, data in job.packets]


def _sent(device: Device, lane: int, data: bytes) -> list[Left]:
    """What leaves when a packet comes."""
    if not device.lane_send(lane, data):
        raise RuntimeError(f"lane {lane} takes no packet of {len(data)} bytes")
    device.settle()
    left = [Left(where, data) for where in range(LANES) for data, _ in iter(lambda where=where: device.lane_receive(where), None)]  # type: ignore[misc]
    return [*left, *(_uploaded(one) for one in iter(device.receive, None))]


def _uploaded(one: Received) -> Left:
    return Left(HOST, one.data, (one.verdict, one.queue, one.mark))


OVERLAY_TARGETS: dict[str, OverlayRun] = {"model": model, "functional": functional}
