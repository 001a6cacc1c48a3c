# SPDX-License-Identifier: Apache-2.0
"""What runs in the namespace of a host: a TCP server and client, a VLAN interface, and the far end of a VXLAN or Geneve tunnel.

    host.py serve PORT                            answers each connection with the SHA-256 of what it sent
    host.py connect ADDRESS PORT BYTES SECONDS    sends BYTES bytes; status 0: the answer was right
    host.py vlan INTERFACE VID NAME               a TAP NAME whose frames have a tag on INTERFACE
    host.py tunnel vxlan|geneve ADDRESS VNI NAME  a TAP NAME whose frames are in a tunnel to ADDRESS

Kernels need not know VLANs or tunnels for it. Needs nothing but Python. A line on standard output says that it has begun.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import select
import socket
import struct
import sys
from collections.abc import Callable

ETH_ALL, TPID, TAG_AT, FRAME = 3, 0x8100, 12, 2048
SOL_PACKET, PACKET_AUXDATA, OUTGOING = 263, 8, 4
TUNSETIFF, IFF_TAP_NO_PI = 0x400454CA, 0x1002
UDP_PORTS = {"vxlan": 4789, "geneve": 6081}


def serve(port: str) -> int:
    """Until it is ended."""
    with socket.create_server(("", int(port))) as server:
        print("ready", flush=True)
        while True:
            link, _ = server.accept()
            with link, contextlib.suppress(OSError):
                link.settimeout(20)
                state = hashlib.sha256()
                while data := link.recv(65536):
                    state.update(data)
                link.sendall(state.digest())


def connect(address: str, port: str, size: str, seconds: str) -> int:
    """The exit status: 0 where all bytes arrived as they were sent."""
    data = hashlib.shake_128(port.encode()).digest(int(size))
    try:
        with socket.create_connection((address, int(port)), float(seconds)) as link:
            link.settimeout(20)
            link.sendall(data)
            link.shutdown(socket.SHUT_WR)
            answer = b"".join(iter(lambda: link.recv(64), b""))
    except OSError as error:
        print(error)
        return 1
    return int(answer != hashlib.sha256(data).digest())


def tap(name: str) -> int:
    """A TAP interface of this name; its file."""
    handle = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(handle, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP_NO_PI))
    return handle


def untagged(wire: socket.socket, vid: int) -> bytes | None:
    """The next frame of an interface, without its tag, which the kernel says beside it; None: it is not of this VLAN."""
    frame, extra, _, address = wire.recvmsg(FRAME, 256)
    for level, kind, data in extra:
        if (level, kind) == (SOL_PACKET, PACKET_AUXDATA) and address[2] != OUTGOING:
            status, tci = struct.unpack_from("I", data)[0], struct.unpack_from("H", data, 16)[0]
            if status & 0x10 and tci & 0xFFF == vid:
                return frame
    return None


def vlan(interface: str, vid: str, name: str) -> int:
    """Frames between the TAP and the interface, there with a tag."""
    handle, tag = tap(name), struct.pack(">HH", TPID, int(vid))
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_ALL)) as wire:
        wire.bind((interface, 0))
        wire.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        print("ready", flush=True)
        while True:
            ready, _, _ = select.select([handle, wire.fileno()], [], [])
            with contextlib.suppress(OSError):  # an interface that is down: the frame is lost
                if handle in ready:
                    frame = os.read(handle, FRAME)
                    wire.send(frame[:TAG_AT] + tag + frame[TAG_AT:])
                if wire.fileno() in ready and (found := untagged(wire, int(vid))) is not None:
                    os.write(handle, found)


def tunnel(kind: str, address: str, vni: str, name: str) -> int:
    """Frames between the TAP and the tunnel: eight bytes of header in UDP, whose checksum and lengths the kernel checks."""
    port, handle = UDP_PORTS[kind], tap(name)
    number = struct.pack(">I", int(vni) << 8)
    header = (b"\x08\0\0\0" if kind == "vxlan" else b"\0\0\x65\x58") + number
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire:
        wire.bind(("", port))
        print("ready", flush=True)
        while True:
            ready, _, _ = select.select([handle, wire.fileno()], [], [])
            with contextlib.suppress(OSError):
                if handle in ready:
                    wire.sendto(header + os.read(handle, FRAME), (address, port))
                if wire.fileno() in ready:
                    found = wire.recv(FRAME)
                    if len(found) > 8 and found[4:8] == number:
                        os.write(handle, found[8:])


COMMANDS: dict[str, Callable[..., int]] = {"serve": serve, "connect": connect, "vlan": vlan, "tunnel": tunnel}

if __name__ == "__main__":
    sys.exit(COMMANDS[sys.argv[1]](*sys.argv[2:]))
