# SPDX-License-Identifier: Apache-2.0
"""An agent behind a lane, without a host: it loads programs by messages under traffic, takes packets and sends them, over a link
that loses, repeats and reorders; and what others send in its name changes nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sluice_layouts as L

from compiler.pipeline.actions import action
from compiler.pipeline.pipeline_image import PipelineProgram
from host.python.device import Device
from host.python.messages import Refused, Session, payload
from host.python.pipeline import Overlay
from host.python.windows import window_of
from shell.sim.build import OVERLAY
from shell.sim.test_overlay import PROGRAM, packets, router
from testing.device import lane_packets, routed, run
from testing.messages import AGENT_LANE, LaneLink

KEY = bytes(range(16))


@pytest.fixture
def device() -> Iterator[Device]:
    with Device(OVERLAY) as opened:
        yield opened


def send(device: Device, lane: int, sent: list[bytes]) -> None:
    for data in sent:
        while not device.lane_send(lane, data):
            device.advance(64)


def controller(device: Device) -> int:
    """Address of the controller core's registers."""
    found = window_of(device.read, L.ELEMENT_CONTROLLER)
    assert found is not None
    return found


@pytest.mark.parametrize("trouble", [0.0, 0.15])
def test_an_agent_loads_programs_over_its_lane(device: Device, trouble: float) -> None:
    link = LaneLink(device, trouble)
    session = Session(link, tries=40)
    overlay, sent = Overlay(session), packets(60, nets=1)
    assert session.read(L.SHELL_REGISTERS_MAGIC) == L.DEVICE_MAGIC
    overlay.load(router({0: 1}))
    send(device, 0, sent)
    overlay.load(router({0: 2}))
    send(device, 0, sent)
    device.settle()
    out = [lane_packets(device, lane) for lane in range(3)]
    assert out[1] + out[2] == [routed(data) for data in sent + sent] and out[1] and out[2], (
        "in order: first the one, then the other"
    )
    assert not out[0] and not link.others


def test_a_device_is_busy_until_it_has_answered(device: Device) -> None:
    link = LaneLink(device)
    session = Session(link)
    body = L.MessageAccess(address=L.SHELL_REGISTERS_MAGIC).pack() * L.MESSAGE_ACCESSES
    link.send(payload(L.Message(kind=L.MESSAGE_CONTROL, sequence_number=1, session=session.session), body, None))
    device.settle()
    [answer] = lane_packets(device, AGENT_LANE)
    assert len(answer) == len(link.sent[-1])


def test_packets_to_the_agent_and_from_it(device: Device) -> None:
    link, sent = LaneLink(device), packets(12)
    Overlay(device).load(to_agent())
    assert [one.data for one in run(device, {0: sent})[0]] == sent, "without an agent the host has them"
    session = Session(link)
    Overlay(session).load(to_agent())
    for at, data in enumerate(sent):
        send(device, at % 3, [data])
        got = session.packet_in()
        assert got is not None and got.data == data and got.number == at + 1
        assert (got.info.ingress_port, got.info.reason, got.info.fault) == (at % 3, L.REASON_ACTION, L.FAULT_NONE)
    session.packet_out([0, 2], sent[0])
    session.packet_out([3], sent[1])
    session.packet_out([6], sent[2])
    session.advance(0)
    device.settle()
    link.receive()
    assert [lane_packets(device, lane) for lane in range(3)] == [[sent[0]], [], [sent[0]]] and link.others == [sent[1]]
    window = controller(device)
    assert session.read(window + L.CONTROLLER_REGISTERS_PACKET_OUT_LOST) == 1
    session.write_all([(window + L.CONTROLLER_REGISTERS_CONTROL, 1)])
    Overlay(session).load(to_agent(L.VERDICT_TO_HOST))
    send(device, 1, sent[:1])
    got = session.packet_in()
    assert got is not None and got.data == sent[0] and got.info.reason == L.REASON_HOST


def to_agent(verdict: int = L.VERDICT_TO_CONTROLLER) -> PipelineProgram:
    """Gives every packet to the agent."""
    [unit] = router({}).units
    return PipelineProgram(PROGRAM, (type(unit)(unit.selector, (), action(verdict=verdict)),))


def test_what_is_forged_or_refused_changes_nothing(device: Device) -> None:
    window = controller(device)
    for at in range(4):
        device.write(window + L.CONTROLLER_REGISTERS_KEY + 4 * at, int.from_bytes(KEY[4 * at : 4 * at + 4], "little"))
    with pytest.raises(TimeoutError, match="did not answer 2 times"):
        Session(LaneLink(device), tries=2)
    link = LaneLink(device)
    session = Session(link, KEY)
    share = L.SHELL_REGISTERS_HOST_SHARE
    session.write_all([(share, 9)])
    body = L.MessageAccess(write=1, address=share, data=99).pack()
    forged = [
        payload(L.Message(kind=L.MESSAGE_CONTROL, sequence_number=number, session=session.session), body, key)
        for number in (session.number, session.number + 1, 2**32 - 1)
        for key in (None, bytes(16), KEY[::-1])
    ]
    old = list(link.sent)
    for data in forged:
        link.send(data)
    assert link.receive() is None
    send(device, AGENT_LANE, old)  # replayed: answered again, or dropped
    while link.receive() is not None:
        pass
    assert session.read(share) == 9
    counts = {
        name: device.read(window + getattr(L, f"CONTROLLER_REGISTERS_{name}")) for name in ("FORGED", "REPEATED", "MALFORMED")
    }
    assert counts == {"FORGED": len(forged) + 2, "REPEATED": 1, "MALFORMED": 0}
    with pytest.raises(Refused, match="refused a write to 0x0; 1 accesses before it were executed") as refused:
        session.write_all([(share, 10), (L.SHELL_REGISTERS_MAGIC, 1), (share, 11)])
    assert refused.value.done == 1 and session.read(share) == 10
