# SPDX-License-Identifier: Apache-2.0
"""Message packets between an agent and the controller core of a device: the payload of UDP (layouts/message), and an agent's side
of a session. A message is sent until it is answered; the core executes it once, however often it comes."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import sluice_layouts as L
from siphash24 import siphash24

HEADER = L.Message.BITS // 8
KEY_BYTES = 16
TRIES = 8


class MessageError(ValueError):
    """Bytes that are no message, or not one of this session."""


class Refused(OSError):
    """The device refused an access; `done`: how many before it were executed."""

    def __init__(self, access: L.MessageAccess, done: int) -> None:
        kind = "write to" if access.write else "read of"
        super().__init__(f"the device refused a {kind} {access.address:#x}; {done} accesses before it were executed")
        self.access, self.done = access, done


def tag(message: L.Message, body: bytes, key: bytes | None) -> bytes:
    """SipHash-2-4 of header and padded body, both zero bytes before them for the UDP checksum; zeros without a key."""
    if key is None:
        return bytes(L.MESSAGE_TAG_BYTES)
    return bytes(siphash24(bytes(2) + message.pack() + body, key=key).digest())


def payload(message: L.Message, body: bytes, key: bytes | None) -> bytes:
    """What UDP carries; sets magic, version and length."""
    whole = replace(message, magic=L.MESSAGE_MAGIC, version=L.MESSAGE_VERSION, length=len(body))
    padded = body + bytes(-len(body) % 8)
    return whole.pack() + padded + tag(whole, padded, key)


def parse(data: bytes, key: bytes | None) -> tuple[L.Message, bytes]:
    """Header and body of a payload. Raises MessageError."""
    if len(data) < HEADER + L.MESSAGE_TAG_BYTES:
        raise MessageError(f"{len(data)} bytes are too short for a message")
    message, padded, given = L.Message.unpack(data[:HEADER]), data[HEADER : -L.MESSAGE_TAG_BYTES], data[-L.MESSAGE_TAG_BYTES :]
    if message.magic != L.MESSAGE_MAGIC or message.version != L.MESSAGE_VERSION:
        raise MessageError(f"magic {message.magic:#x} version {message.version}: not a message of this version")
    if len(padded) != message.length + -message.length % 8:
        raise MessageError(f"a body of {message.length} bytes is said, and {len(padded)} came")
    if not secrets.compare_digest(tag(message, padded, key), given):
        raise MessageError("wrong tag: not from the device, or not with this key")
    return message, padded[: message.length]


def accesses(body: bytes) -> list[L.MessageAccess]:
    """Those in the body of a control message or result."""
    return [L.MessageAccess.unpack(body[at : at + 8]) for at in range(0, len(body), 8)]


@dataclass(frozen=True)
class PacketIn:
    """A packet that the device gave to the agent."""

    data: bytes
    info: L.MessagePacketIn
    number: int  # in its session, from 1 on: a gap is a loss on the way


def packet_of(message: L.Message, body: bytes) -> PacketIn:
    """The packet in a MESSAGE_PACKET_IN."""
    size = L.MessagePacketIn.BITS // 8
    return PacketIn(body[size:], L.MessagePacketIn.unpack(body[:size]), message.sequence_number)


class Link(Protocol):
    """A way to the device's UDP port, which may lose, repeat and reorder."""

    def send(self, data: bytes) -> None:
        """Sends a payload."""

    def receive(self, attempt: int = 0) -> bytes | None:
        """The next payload that comes, or None where none came in the time of a round trip; longer after more attempts."""


class Session:
    """An agent's session with a device. Packets to the agent that come meanwhile are kept in `packets`."""

    def __init__(self, link: Link, key: bytes | None = None, tries: int = TRIES) -> None:
        """Begins a session. Raises TimeoutError where the device does not answer `tries` times."""
        if key is not None and len(key) != KEY_BYTES:
            raise ValueError(f"a key has {KEY_BYTES} bytes, not {len(key)}")
        self.link, self.key, self.tries = link, key, tries
        self.packets: list[PacketIn] = []
        self.number, self.session = 0, 0
        nonce, number = secrets.randbits(64), secrets.randbits(32)
        hello = L.Message(kind=L.MESSAGE_HELLO, sequence_number=number)
        body = self._exchange(hello, L.MessageHello(nonce).pack(), L.MESSAGE_SESSION)[1]
        answer = L.MessageHello.unpack(body)
        if answer.nonce != nonce:
            raise MessageError("the answer to a hello is one to another agent's")
        self.session = answer.session

    def access(self, wanted: Sequence[L.MessageAccess]) -> list[int]:
        """Makes accesses in order; returns a word for each, 0 for a write. Raises Refused, with those before executed, or
        TimeoutError: then it is unknown whether the last message was executed."""
        words: list[int] = []
        for at in range(0, max(len(wanted), 1), L.MESSAGE_ACCESSES):
            body = b"".join(access.pack() for access in wanted[at : at + L.MESSAGE_ACCESSES])
            request = L.Message(kind=L.MESSAGE_CONTROL, sequence_number=self._next(), session=self.session)
            message, answer = self._exchange(request, body, L.MESSAGE_RESULT)
            results = accesses(answer)
            if message.status != L.MESSAGE_DONE:
                raise Refused(results[message.detail], at + message.detail)
            words += [result.data for result in results]
        return words

    def read(self, address: int) -> int:
        """A register of the device."""
        return self.access([L.MessageAccess(address=address)])[0]

    def write_all(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Writes words to addresses, in order."""
        self.access([L.MessageAccess(write=1, address=address, data=word) for address, word in pairs])

    def advance(self, cycles: int) -> None:
        """Time passes: an echo."""
        self.access([])

    def packet_out(self, lanes: Iterable[int], data: bytes) -> None:
        """Has the device send a packet; it is not answered."""
        mask = sum(1 << lane for lane in set(lanes))
        number = self._next()
        self.link.send(
            payload(L.Message(kind=L.MESSAGE_PACKET_OUT, sequence_number=number, ports=mask, session=self.session), data, self.key)
        )

    def packet_in(self, receive: Callable[[], bytes | None] | None = None) -> PacketIn | None:
        """The next packet from the device, if one comes; `receive`: as the link's, but for how long it waits."""
        if not self.packets and (data := (receive or self.link.receive)()) is not None:
            self._take(data)
        return self.packets.pop(0) if self.packets else None

    def _next(self) -> int:
        self.number += 1
        return self.number

    def _take(self, data: bytes) -> tuple[L.Message, bytes] | None:
        """A message of this session that is not a packet, which is kept. What is none of it is dropped."""
        try:
            message, body = parse(data, self.key)
        except MessageError:
            return None
        if message.kind != L.MESSAGE_PACKET_IN:
            return message, body
        if message.session == self.session:
            self.packets.append(packet_of(message, body))
        return None

    def _exchange(self, request: L.Message, body: bytes, kind: int) -> tuple[L.Message, bytes]:
        """Sends it until it is answered by a message of this kind."""
        data = payload(request, body, self.key)
        for attempt in range(self.tries):
            self.link.send(data)
            while (came := self.link.receive(attempt)) is not None:
                taken = self._take(came)
                expected = (kind, request.session, request.sequence_number)
                if taken is not None and (taken[0].kind, taken[0].session, taken[0].sequence_number) == expected:
                    return taken
        raise TimeoutError(f"the device did not answer {self.tries} times")
