# SPDX-License-Identifier: Apache-2.0
"""The applications in plain Python: they share no code, no layout and no hash with the programs. A judge takes packets one after
another, with their times, and says by which lanes each leaves, changed or not, and with which mark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

TCP, UDP = 6, 17
MINUTE = 60_000_000


@dataclass(frozen=True)
class Left:
    """A packet that leaves: lane, bytes, mark."""

    lane: int
    data: bytes
    mark: int = 0


Judge = Callable[[bytes, int], list[Left]]  # a packet and its time


@dataclass(frozen=True)
class Headers:
    """An IPv4 packet without tags, options and fragments; bytes that it does not have read 0."""

    protocol: int
    source: bytes
    destination: bytes
    source_port: int
    destination_port: int
    sequence: int
    flags: int

    @property
    def flow(self) -> tuple[int, bytes, bytes, int, int]:
        return self.protocol, self.source, self.destination, self.source_port, self.destination_port

    @property
    def is_tcp_or_udp(self) -> bool:
        return self.protocol in (TCP, UDP)


def headers_of(data: bytes) -> Headers | None:
    """The headers; None if there are others before, between or instead of them."""
    whole = data.ljust(64, b"\0")

    def number(at: int, size: int) -> int:
        return int.from_bytes(whole[at : at + size], "big")

    if number(12, 2) != 0x800 or whole[14] != 0x45 or number(20, 2) & 0x3FFF:
        return None
    ports = number(34, 2), number(36, 2)
    return Headers(whole[23], whole[26:30], whole[30:34], *ports, number(38, 4), whole[47])


def alternating() -> Judge:
    seen: defaultdict[object, int] = defaultdict(int)

    def judge(data: bytes, time: int) -> list[Left]:
        packet = headers_of(data)
        if packet is None or not packet.is_tcp_or_udp:
            return [Left(0, data)]
        seen[packet.flow] += 1
        return [Left((seen[packet.flow] - 1) % 2, data)]

    return judge


def knocking() -> Judge:
    knocks = [1111, 2222, 3333]
    hosts: dict[bytes, tuple[int, int]] = {}  # knocks that were right, time of the last packet

    def judge(data: bytes, time: int) -> list[Left]:
        packet = headers_of(data)
        if packet is None or not packet.is_tcp_or_udp:
            return [Left(0, data)]
        port = packet.destination_port
        done, last = hosts.get(packet.source, (0, time))
        done = 0 if time - last >= MINUTE else done
        passes = port not in knocks and (port != 22 or done == 3)
        if done < 3:
            done = done + 1 if port == knocks[done] else int(port == knocks[0])
        hosts[packet.source] = done, time
        return [Left(0, data)] if passes else []

    return judge


def retransmissions() -> Judge:
    last: defaultdict[object, int] = defaultdict(int)
    count: defaultdict[object, int] = defaultdict(int)

    def judge(data: bytes, time: int) -> list[Left]:
        packet = headers_of(data)
        if packet is None or packet.protocol != TCP:
            return [Left(0, data)]
        is_lower = packet.sequence < last[packet.flow]
        last[packet.flow] = packet.sequence
        count[packet.flow] += is_lower
        return [Left(int(is_lower), data, count[packet.flow])]

    return judge


def flowlet() -> Judge:
    taken: dict[object, tuple[int, int]] = {}  # lane, time of the last packet

    def judge(data: bytes, time: int) -> list[Left]:
        packet = headers_of(data)
        if packet is None or not packet.is_tcp_or_udp:
            return [Left(0, data)]
        lane, last = taken.get(packet.flow, (packet.source_port % 4, time))
        lane = (lane + (time - last > 500)) % 4
        taken[packet.flow] = lane, time
        return [Left(lane, data)]

    return judge


def hitters() -> Judge:
    sent: defaultdict[object, int] = defaultdict(int)

    def judge(data: bytes, time: int) -> list[Left]:
        packet = headers_of(data)
        if packet is None or not packet.is_tcp_or_udp:
            return [Left(0, data)]
        window = (*packet.flow, time % 2**32 >> 17)
        is_heavy = sent[window] > 20_000
        sent[window] += len(data)
        return [Left(int(is_heavy), data, int(is_heavy))]

    return judge


SECOND = 1_000_000
FIN, SYN, RST, ACK = 0x01, 0x02, 0x04, 0x10


def firewall(seen: set[tuple[str | None, str | None]] | None = None) -> Judge:
    """`seen`: gets the states of connections before and after a packet; None is that of one that is not there or has timed out."""
    states: dict[object, tuple[str, int]] = {}  # state, and when it ends

    def of_udp(key: object, is_inside: bool, state: str | None, time: int) -> bool:
        if is_inside and state != "answered":
            states[key] = "sent", time + 30 * SECOND
        elif state is not None:
            states[key] = "answered", time + 180 * SECOND
        else:
            return False
        return True

    def of_tcp(key: object, is_inside: bool, state: str | None, flags: int, time: int) -> bool:
        if is_inside and flags & (SYN | ACK) == SYN:
            states[key] = "requested", time + 30 * SECOND
            return True
        if state is None:
            return False
        if flags & RST:
            del states[key]
        elif state == "requested":
            if not is_inside:
                if flags & (SYN | ACK) != SYN | ACK:
                    return False
                states[key] = "established", time + 600 * SECOND
        elif state == "established":
            states[key] = ("closing", time + 10 * SECOND) if flags & FIN else (state, time + 600 * SECOND)
        return True

    def judge(data: bytes, time: int) -> list[Left]:
        packet = headers_of(data)
        if packet is None or not packet.is_tcp_or_udp:
            return [Left(0, data)]
        is_inside = packet.source[:2] == bytes([10, 0])
        ends = [(packet.source, packet.source_port), (packet.destination, packet.destination_port)]
        key = packet.protocol, *(ends if is_inside else ends[::-1])
        state, until = states.get(key, (None, 0))
        if state is not None and until < time:
            state = None
            del states[key]
        if packet.protocol == UDP:
            passes = of_udp(key, is_inside, state, time)
        else:
            passes = of_tcp(key, is_inside, state, packet.flags, time)
        if seen is not None:
            seen.add((state, states.get(key, (None, 0))[0]))
        return [Left(0, data)] if passes else []

    return judge


PUBLIC = bytes([203, 0, 113, 1])
End = tuple[bytes, int, int]  # address, port, protocol


def addressed(data: bytes, source: End, destination: End) -> bytes:
    """An IPv4 packet of TCP or UDP with other ends, and checksums that are computed from nothing."""
    packet = bytearray(data)
    size, is_udp = int.from_bytes(data[16:18], "big"), source[2] == UDP
    packet[26:34] = source[0] + destination[0]
    packet[34:38] = source[1].to_bytes(2, "big") + destination[1].to_bytes(2, "big")
    packet[24:26] = bytes(2)
    packet[24:26] = checksum(bytes(packet[14:34]))
    at = 40 if is_udp else 50
    if not (is_udp and packet[at : at + 2] == bytes(2)):
        packet[at : at + 2] = bytes(2)
        segment = bytes(packet[34 : 14 + size])
        made = checksum(bytes(packet[26:34]) + bytes([0, source[2]]) + len(segment).to_bytes(2, "big") + segment)
        packet[at : at + 2] = b"\xff\xff" if is_udp and made == bytes(2) else made
    return bytes(packet)


def checksum(data: bytes) -> bytes:
    """Of the Internet, with 0 not as 0xffff."""
    words = data + bytes(len(data) % 2)
    rest = sum(int.from_bytes(words[at : at + 2], "big") for at in range(0, len(words), 2)) % 0xFFFF
    return (0xFFFF - (rest or 0xFFFF * any(words))).to_bytes(2, "big")


def masquerade() -> Judge:
    hosts: dict[tuple[bytes, int, int], tuple[bytes, int]] = {}  # by outer end and port: the host, and when a packet came last

    def judge(data: bytes, time: int) -> list[Left]:
        packet = headers_of(data)
        if packet is None or packet.protocol != TCP:
            return [Left(0, data)]
        source, destination = (packet.source, packet.source_port, TCP), (packet.destination, packet.destination_port, TCP)
        is_inside = packet.source[:2] == bytes([10, 0])
        if not is_inside and packet.destination != PUBLIC:
            return [Left(0, data)]
        key = (*destination[:2], packet.source_port) if is_inside else (*source[:2], packet.destination_port)
        host, last = hosts.get(key, (b"", 0))
        is_taken = bool(host) and time - last < 5 * MINUTE
        if is_inside and not is_taken:
            host = packet.source
        if is_inside or is_taken:
            hosts[key] = host, time
        if not (host == packet.source if is_inside else is_taken):
            return []
        if is_inside:
            return [Left(0, addressed(data, (PUBLIC, *source[1:]), destination))]
        return [Left(0, addressed(data, source, (host, *destination[1:])))]

    return judge


class Nat:
    """The ports of ends, and when each was used last."""

    def __init__(self) -> None:
        self.ports: dict[End, int] = {}
        self.used: dict[End, int] = {}
        self.given = 0

    def owner(self, port: int, protocol: int, time: int) -> End | None:
        """The end that has a port."""
        found = [end for end, taken in self.ports.items() if taken == port and end[2] == protocol and self.is_live(end, time)]
        return found[0] if found else None

    def is_live(self, end: End, time: int) -> bool:
        return end in self.used and time - self.used[end] < 5 * MINUTE

    def judge(self, data: bytes, time: int) -> list[Left]:
        packet = headers_of(data)
        if packet is None or not packet.is_tcp_or_udp:
            return [Left(0, data)]
        source = packet.source, packet.source_port, packet.protocol
        destination = packet.destination, packet.destination_port, packet.protocol
        if packet.source[:2] == bytes([10, 0]):
            if not self.is_live(source, time):
                self.given = (self.given + 1) % 512
                if self.owner(40_000 + self.given, packet.protocol, time) is not None:
                    return []
                self.ports[source] = 40_000 + self.given
            self.used[source] = time
            return [Left(0, addressed(data, (PUBLIC, self.ports[source], packet.protocol), destination))]
        if packet.destination != PUBLIC:
            return [Left(0, data)]
        if (end := self.owner(packet.destination_port, packet.protocol, time)) is None:
            return []
        self.used[end] = time
        return [Left(0, addressed(data, source, end))]
