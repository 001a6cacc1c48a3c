# SPDX-License-Identifier: Apache-2.0
"""A simulated device with a controller core and no host: `device_on_a_wire.py af_packet:lane0 ...`, a connection for each lane."""

from __future__ import annotations

import sys
import time

from host.agent.device_channel import open_device
from host.python.pipeline import Overlay
from shell.sim.build import OVERLAY

NAP = 0.001  # seconds

if __name__ == "__main__":
    channel = open_device("sim:" + ",".join(f"{name}={value}" for name, value in OVERLAY.items()), sys.argv[1:])
    Overlay(channel.device)  # it has a pipeline
    print("ready", flush=True)
    while True:
        if not channel.pass_time():
            time.sleep(NAP)
