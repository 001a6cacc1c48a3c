# SPDX-License-Identifier: Apache-2.0
"""A device for tests of what the agent decides: its pipeline is `models/pipeline.py`, its registers only what the loader reads."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import sluice_layouts as L
from c65of import ofproto as of
from c65of.ofproto import parser as codec

from host.agent import messages
from host.agent.channel import Access, PacketIn
from host.agent.pipeline import Pipeline
from host.agent.session import Session
from host.agent.switch import Switch
from models.pipeline import model_of

WINDOW = 1
LANES = 4


class ModelChannel:
    """Registers, and packets that the test puts in and takes out."""

    lanes = LANES

    def __init__(self, units: int = 3, exact: int = 256, ternary: int = 64) -> None:
        self.registers = {
            L.SHELL_REGISTERS_WINDOWS: 2,
            L.SHELL_REGISTERS_CAPABILITY + 4 * WINDOW: L.ELEMENT_PIPELINE,
            WINDOW * L.WINDOW_SIZE + L.PIPELINE_REGISTERS_PARTS: 8 | units << 8 | 6 << 16,
            WINDOW * L.WINDOW_SIZE + L.PIPELINE_REGISTERS_ENTRIES: exact | ternary << 16,
        }
        self.writes = 0
        self.ingress: deque[PacketIn] = deque()
        self.sent: list[tuple[int, bytes]] = []

    def access(self, batch: Sequence[Access]) -> list[int]:
        found = []
        for one in batch:
            if one.value is None:
                found.append(self.registers.get(one.address, 0))
            else:
                self.registers[one.address] = one.value
                self.writes += 1
        return found

    def receive(self) -> PacketIn | None:
        return self.ingress.popleft() if self.ingress else None

    def send(self, mask: int, data: bytes) -> None:
        self.sent.append((mask, data))

    def pass_time(self) -> bool:
        return False

    def descriptors(self) -> Sequence[int]:
        return []

    def close(self) -> None: ...


class Bench:
    """A switch on the model, and one controller's session."""

    def __init__(self, units: int = 3, **sizes: int) -> None:
        self.now = 1000.0
        self.channel = ModelChannel(units, **sizes)
        self.switch = Switch(Pipeline(self.channel, clock=lambda: self.now))
        self.events: list[bytes] = []
        self.session = Session(self.switch, self.events.append)
        self.switch.listeners.append(self.session.tell)
        self.ask(codec.OFPHello(None))

    def raw(self, data: bytes) -> list[bytes]:
        return [*self.session.handle(data)]

    def ask(self, request: codec.MsgBase, xid: int = 7) -> list[codec.MsgBase]:
        """The answers, parsed by the library."""
        request.xid = xid
        request.serialize()
        return [parsed(one) for one in self.raw(bytes(request.buf))]

    def refused(self, request: codec.MsgBase) -> tuple[int, int] | None:
        """Type and code of the error; None: there is none."""
        answers = self.ask(request)
        return (answers[0].type, answers[0].code) if answers else None

    def process(self, data: bytes, lane: int) -> dict[int, list[bytes]]:
        """A packet through the program: what leaves, in order, by lane, and to the controllers as port OFPP_CONTROLLER."""
        self.switch.load()
        found: dict[int, list[bytes]] = {}
        for changed, meta in model_of(self.switch.translation.program).run(data, lane):
            mask = 0x80 if meta.verdict in (L.VERDICT_TO_HOST, L.VERDICT_TO_CONTROLLER) else meta.egress_mask
            for port in range(LANES):
                if mask >> port & 1:
                    found.setdefault(port + 1, []).append(changed)
            if mask & 0x80:
                self.channel.ingress.append(PacketIn(lane, changed, meta.fault, meta.mark))
                self.events.clear()
                self.switch.receive()
                if self.events:
                    found.setdefault(of.OFPP_CONTROLLER, []).append(parsed(self.events[0]).data)
        return found


def parsed(data: bytes) -> codec.MsgBase:
    """A message as the library reads it."""
    answer = codec.msg(None, *messages.header(data), data)
    assert answer is not None and answer.msg_len == len(data), data
    return answer
