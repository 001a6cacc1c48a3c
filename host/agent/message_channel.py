# SPDX-License-Identifier: Apache-2.0
"""The channel to a device over Ethernet: message packets in UDP to its controller core. The device's last lane is the agent's."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Sequence
from pathlib import Path

import sluice_layouts as L

from host.agent.channel import Access, ChannelError, PacketIn
from host.python.messages import KEY_BYTES, MessageError, Refused, Session
from host.python.windows import own_core

ROUND_TRIP = 0.25  # seconds that an answer may take; doubled with each attempt
TRIES = 6


class UdpLink:
    """The device's UDP port."""

    def __init__(self, address: str) -> None:
        """Raises OSError where there is no way to the address."""
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect((address, L.MESSAGE_PORT))

    def send(self, data: bytes) -> None:
        with contextlib.suppress(OSError):  # as if it were lost on the way: it is sent again
            self.socket.send(data)

    def receive(self, attempt: int = 0) -> bytes | None:
        return self.poll(ROUND_TRIP * 2**attempt)

    def poll(self, seconds: float = 0.0) -> bytes | None:
        """The next payload, if one comes in this time."""
        self.socket.settimeout(seconds)
        try:
            return self.socket.recv(1 << 16)
        except OSError:  # in the time given nothing came, or nobody is there
            return None


class MessageChannel:
    """A device with a controller core. A session that the device does not answer any more, after a reset, is begun anew with the
    next access."""

    def __init__(self, link: UdpLink, key: bytes | None = None) -> None:
        """Raises ChannelError where nobody answers."""
        self.link, self.key = link, key
        self.session: Session | None = None
        self.lanes = self.access([Access(L.SHELL_REGISTERS_LANES)])[0] - 1

    def _begin(self) -> Session:
        session = Session(self.link, self.key, TRIES)
        core = own_core(session.read)
        assert core is not None  # it answers
        session.write_all([(core + L.CONTROLLER_REGISTERS_CONTROL, 1)])  # nobody else takes the packets to the host
        return session

    def access(self, batch: Sequence[Access]) -> list[int]:
        wanted = [L.MessageAccess(one.value is not None, 0, 0, one.address, one.value or 0) for one in batch]
        try:
            self.session = self.session or self._begin()
            words = self.session.access(wanted)
        except Refused as error:
            raise ChannelError(str(error)) from error
        except (TimeoutError, MessageError) as error:
            self.session = None
            raise ChannelError(f"{error}; hint: is the device there, and the key the right one?") from error
        return [word for one, word in zip(batch, words, strict=True) if one.value is None]

    def receive(self) -> PacketIn | None:
        if self.session is None:
            return None
        packet = self.session.packet_in(self.link.poll)
        return None if packet is None else PacketIn(packet.info.ingress_port, packet.data, packet.info.fault, packet.info.mark)

    def send(self, mask: int, data: bytes) -> None:
        if self.session is not None:
            self.session.packet_out([lane for lane in range(8) if mask >> lane & 1], data)

    def pass_time(self) -> bool:
        return False

    def descriptors(self) -> list[int]:
        return [self.link.socket.fileno()]

    def close(self) -> None:
        self.link.socket.close()


def open_udp(rest: str) -> MessageChannel:
    """The channel of ADDRESS or ADDRESS,key=FILE, whose file has the key in hexadecimal. Raises ChannelError."""
    address, _, option = rest.partition(",")
    name, _, file = option.partition("=")
    if option and name != "key":
        raise ChannelError(f"{option} in --device is not key=FILE")
    try:
        key = bytes.fromhex(Path(file).read_text()) if file else None
        if key is not None and len(key) != KEY_BYTES:
            raise ValueError(f"{file}: {len(key)} bytes; hint: a key is {KEY_BYTES} bytes in hexadecimal")
        return MessageChannel(UdpLink(address), key)
    except (OSError, ValueError) as error:
        raise ChannelError(f"udp:{rest}: {error}") from error
