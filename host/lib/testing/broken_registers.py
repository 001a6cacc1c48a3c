# SPDX-License-Identifier: Apache-2.0
"""A user of the library on the failing device (`failing_device.c`), whose registers read all ones one after the other, and then all
from some access on, as those of a card that was removed. `python -m host.lib.testing.broken_registers LIBRARY` prints a JSON line
for each case: what every call returned. A case that computes for more than some seconds ends the program: a hang."""

from __future__ import annotations

import ctypes as c
import json
import os
import resource
import signal
import sys
import tempfile
from pathlib import Path

import sluice_layouts as L

from host.python.device import Action, instruction, load, prefix, set_field
from host.python.flow_table import Counters, key_bytes, library

PATIENCE, MEMORY = 10.0, 4 << 30  # seconds of processor time of a case; bytes
LPM = c.c_uint16(L.ELEMENT_LPM)


class User:
    """Calls functions of the library on a device, and keeps what they return."""

    def __init__(self) -> None:
        self.library, self.handle, self.results = load(), c.c_void_p(), list[tuple[str, int, str]]()
        library()  # declares results of functions

    def call(self, name: str, *arguments: object) -> int:
        result = int(getattr(self.library, name)(*arguments))
        self.results.append((name, result, self.library.sluice_error_text().decode() if result < 0 else ""))
        return result

    def rules(self) -> None:
        """The LPM table, with long values that come and go."""
        device, counters = self.handle, Counters()
        self.call("sluice_ofu_init", device, LPM)
        for turn in range(3):
            where = prefix(10 + turn << 24, 8, 32)
            rule = instruction(L.INSTRUCTION_POPULATE, 0, turn, actions=[set_field(1, 1 << 40 | turn)], **where)
            self.call("sluice_rule_ops", device, LPM, c.byref(rule))
            self.call("sluice_rule_counters_read", device, LPM, c.c_uint8(0), c.c_uint32(turn), c.byref(counters))
            self.call("sluice_rule_ops", device, LPM, c.byref(instruction(L.INSTRUCTION_DELETE, 0, turn)))
        self.call("sluice_ofu_uninit", device, LPM)

    def flows(self) -> None:
        """The flow table."""
        flows, counters = c.c_void_p(), Counters()
        if self.call("sluice_flows_open", self.handle, c.byref(flows)):
            return
        rule = instruction(0, 0, actions=[Action(L.ACTION_OUTPUT, 1)]).rule
        mask = key_bytes(L.FlowKey(ip_dst=0xFFFFFFFF).to_int())
        for address in range(3):
            key = key_bytes(L.FlowKey(ip_dst=address).to_int())
            found = self.call("sluice_flows_add", flows, key, mask, c.c_uint16(0), c.byref(rule.actions), rule.edits, 0)
            self.call("sluice_flows_counters", flows, found, c.byref(counters))
            self.call("sluice_flows_mirrored", flows, found, c.byref(counters))
            self.call("sluice_flows_delete", flows, found)
        self.library.sluice_flows_close(flows)

    def rest(self) -> None:
        """Counters, queues, the fence."""
        device, memory, queue = self.handle, (c.c_uint8 * 4096)(), c.c_void_p()
        for lane in (0, 1):
            self.call("sluice_lane_counters_read", device, lane, memory)
        for kind in ("host", "graph"):
            self.call(f"sluice_{kind}_counters_read", device, memory)
        self.call("sluice_queue_open", device, 0, 0, 0, c.byref(queue))
        self.call("sluice_spread_set_kinds", device, 0, c.c_uint8(1))
        self.call("sluice_fence_set", device, 1, c.c_uint32(1000))
        self.library.sluice_poll_done(device, 0, c.c_uint64(5))
        for _ in range(4):
            self.library.sluice_device_advance(device, c.c_uint32(200))
        self.call("sluice_device_drained", device)
        self.call("sluice_register_read", device, c.c_uint32(L.SHELL_REGISTERS_MAGIC), c.byref(c.c_uint32()))
        self.call("sluice_register_read", device, c.c_uint32(L.SHELL_REGISTERS_STATUS), c.byref(c.c_uint32()))

    def run(self, device: str) -> list[tuple[str, int, str]]:
        """All of it, as far as the device opens."""
        if self.call("sluice_device_open", f"sim:lib={device}".encode(), c.byref(self.handle)) == 0:
            self.rules()
            self.flows()
            self.rest()
            self.library.sluice_device_close(self.handle)
        return self.results


def case(device: str, **settings: int | str) -> list[tuple[str, int, str]]:
    """One case, with what the device is told; printed."""
    names = {f"FAILING_{name.upper()}": str(value) for name, value in settings.items()}
    print(json.dumps({"case": names}), flush=True)
    os.environ.update(names)
    signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE)  # ends the program
    results = User().run(device)
    for name in names:
        del os.environ[name]
    print(json.dumps({"case": names, "results": results}), flush=True)
    return results


def main(device: str) -> None:
    """Every case."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    os.environ["FAILING_WINDOWS"] = "4"
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace"
        case(device, trace=str(trace))
        read = [int(line) for line in trace.read_text().split()]
    for address in sorted(set(read)):
        case(device, ones=address)
    for accesses in range(0, 2 * len(read), 7):
        case(device, gone=accesses)


if __name__ == "__main__":
    main(sys.argv[1])
