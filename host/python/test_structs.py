# SPDX-License-Identifier: Apache-2.0
"""Python's structures are those of the headers: the compiler compares size and place of every field."""

from __future__ import annotations

import ctypes as c
import errno
from pathlib import Path

import pytest

from host.packet.testing import binding as packet
from host.python import device, flow_table, run, structs
from host.switch.testing import binding as switch

CLASSES = {
    "sluice_action": device.CAction,
    "sluice_action_set": device.CActionSet,
    "sluice_edit": device.CEdit,
    "sluice_rule": device.CRule,
    "sluice_rule_op": device.CInstruction,
    "sluice_packet": device.CPacket,
    "sluice_lane_info": device.LaneInfo,
    "sluice_abi": device.CAbi,
    "sluice_rule_counters": flow_table.Counters,
    "sluice_flow_operation": flow_table.Operation,
    "sluice_flow_found": flow_table.Found,
    "sluice_flow_table": flow_table.Table,
    "sluice_flow_bus": flow_table._Bus,
    "sluice_template_info": packet.TemplateInfo,
    "sluice_template": packet.Template,
    "sluice_own": packet.Own,
    "sluice_route": switch.Route,
    "sluice_policy": switch.Policy,
    "sluice_decision": switch.Decision,
    "sluice_switch_counters": switch.Counters,
    "sluice_run_options": run.COptions,
    "sluice_live_options": run.CLiveOptions,
    "capture_packet": run.CPacketPlace,
    "capture": run.CCapture,
    "sluice_run_seen": run.CSeen,
    "sluice_run_traffic": run.CTraffic,
    "sluice_run_point": run.Point,
    "sluice_run_sample": run.Sample,
    "sluice_run_result": run.Result,
}


def test_every_mirror_is_what_the_compiler_makes_of_the_header(tmp_path: Path) -> None:
    assert structs.differences(CLASSES, tmp_path) == ""


def test_a_mirror_that_is_not_is_found(tmp_path: Path) -> None:
    class Wrong(c.Structure):
        _fields_ = (*device.LaneInfo._fields_[1:], device.LaneInfo._fields_[0])

    said = structs.differences({"sluice_lane_info": Wrong}, tmp_path)
    assert "sluice_lane_info.ingress_cycle" in said and "sluice_lane_info.last_cycle" in said


def test_what_there_is_not_is_an_error() -> None:
    with pytest.raises(KeyError):
        structs.fields("sluice_nothing")


@pytest.mark.parametrize(
    "field", ["size", "version", "layouts", "instruction_size", "packet_size", "outgoing_size", "lane_info_size"]
)
def test_a_program_of_another_version_or_of_other_sizes_is_refused(field: str) -> None:
    library, handle, abi = device.load(), c.c_void_p(), device.CAbi()
    c.memmove(c.byref(abi), c.byref(device.ABI), c.sizeof(abi))
    assert library.sluice_device_open_abi(b"functional:", c.byref(handle), c.byref(abi)) == 0
    library.sluice_device_close(handle)
    setattr(abi, field, getattr(abi, field) + 1)
    assert library.sluice_device_open_abi(b"functional:", c.byref(handle), c.byref(abi)) == -errno.EPROTO
    assert b"build both again" in library.sluice_error_text()
