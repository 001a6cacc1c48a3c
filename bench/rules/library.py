# SPDX-License-Identifier: Apache-2.0
"""Rule operations through libsluice into the simulated device."""

from __future__ import annotations

import ctypes as c
import random
import time
from collections.abc import Sequence
from typing import Any

import sluice_layouts as layouts

from bench.forward.device import actions
from host.python.device import Action, CInstruction, Device, SluiceError, instruction, prefix

SEED = 1
FILL = 0.9
BATCH = 256


def _operations(device: Device, ofu: int, many: Sequence[CInstruction]) -> dict[str, Any]:
    """Processor time and cycles of instructions in batches; SluiceError where one is refused."""
    start, cycles = time.process_time(), device.cycles
    for at in range(0, len(many), BATCH):
        batch = (CInstruction * len(many[at : at + BATCH]))(*many[at : at + BATCH])
        results = (c.c_int * len(batch))()
        failed = device.call("sluice_rule_ops_many", c.c_uint16(ofu), batch, c.c_uint(len(batch)), results)
        if failed:
            raise SluiceError(-min(results), f"{failed} of {len(batch)} instructions were rejected")
    seconds, spent = time.process_time() - start, device.cycles - cycles
    return {
        "operations": len(many),
        "cycles": round(spent / len(many), 2),
        "microseconds": round(1e6 * seconds / len(many), 2),
        "per_s_this_machine": round(len(many) / seconds),
    }


def _table(device: Device, ofu: int, table: int, bits: int, count: int) -> dict[str, Any]:
    random_ = random.Random(SEED)
    lpm = ofu == layouts.ELEMENT_LPM
    keys = random_.sample(range(1 << 24), count)
    rules = []
    for rule_id, key in enumerate(keys):
        value = key << (bits - 24)
        fields = prefix(value, 24, bits) if lpm else {"value": value | random_.getrandbits(bits - 24), "mask": (1 << bits) - 1}
        rules.append((rule_id, fields))
    other = [*actions(), Action(layouts.ACTION_QUEUE, 1)]

    def many(kind: int, todo: Sequence[Action]) -> list[CInstruction]:
        return [instruction(kind, table, rule_id, actions=todo, **fields) for rule_id, fields in rules]

    return {
        "populate": _operations(device, ofu, many(layouts.INSTRUCTION_POPULATE, actions())),
        "update": _operations(device, ofu, many(layouts.INSTRUCTION_UPDATE, other)),
        "delete": _operations(device, ofu, many(layouts.INSTRUCTION_DELETE, ())),
    }


def measure(device_sizes: dict[str, int] | None = None) -> dict[str, Any]:
    """Each table of both OFUs: filled to 90 %, every rule updated, every rule deleted."""
    found = {}
    with Device(device_sizes) as device:
        for name, ofu in (("lpm", layouts.ELEMENT_LPM), ("exact", layouts.ELEMENT_EXACT)):
            device.call("sluice_ofu_init", c.c_uint16(ofu))
            for table in (layouts.TABLE_IPV4, layouts.TABLE_IPV6):
                entries = c.c_uint32()
                device.call("sluice_ofu_size", c.c_uint16(ofu), c.c_uint8(table), c.byref(entries), None)
                bits = {("lpm", 0): 32, ("lpm", 1): 128, ("exact", 0): 104, ("exact", 1): 296}[name, int(table)]
                count = int(FILL * entries.value)
                found[f"{name} {bits}x{entries.value}"] = _table(device, ofu, int(table), bits, count)
    return found
