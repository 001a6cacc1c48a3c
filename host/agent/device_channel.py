# SPDX-License-Identifier: Apache-2.0
"""The channel to a simulated device in this process: registers, the host's ring, and lanes that are interfaces of this machine."""

from __future__ import annotations

import ctypes as c
import time
from collections.abc import Callable, Sequence

from host.agent.channel import Access, ChannelError, PacketIn
from host.python.device import MAX_PACKET, Device, SluiceError
from shell.sim.build import BuildError, build

CYCLES = 64  # that pass at a time
BURST = 32  # frames of a lane at a time
TICK = 1000  # microseconds between two settings of the device's tick


class Lane:
    """What a lane is connected to (`host/lanes/lane.h`)."""

    def __init__(self, device: Device, number: int, text: str) -> None:
        """Raises ChannelError."""
        self.device, self.number = device, number
        self.handle = c.c_void_p()
        self._text = text.encode()  # the library keeps a pointer to it
        self._bytes = (c.c_uint8 * MAX_PACKET)()
        self._waiting: bytes | None = None
        try:
            device.call("lane_open", c.byref(self.handle), c.c_uint32(number), self._text, None, None, device=False)
        except SluiceError as error:
            raise ChannelError(error.errno, f"lane {number}: {error.strerror}") from error

    @property
    def descriptor(self) -> int:
        """To wait for frames; -1: there is nothing to wait for."""
        return int(self.device.library.lane_fd(self.handle))

    def move(self) -> bool:
        """Frames in and out; whether there were any."""
        moved = False
        for _ in range(BURST):
            if self._waiting is None:
                size = int(self.device.library.lane_receive(self.handle, self._bytes))
                if size <= 0:
                    break
                self._waiting = bytes(self._bytes[:size])
            if not self.device.lane_send(self.number, self._waiting):
                break
            self._waiting, moved = None, True
        while (left := self.device.lane_receive(self.number)) is not None:
            self.device.library.lane_send(self.handle, left[0], c.c_uint32(len(left[0])))
            moved = True
        return moved

    def close(self) -> None:
        self.device.library.lane_close(self.handle)


class DeviceChannel:
    """A device of libsluice."""

    def __init__(self, device: Device, lanes: Sequence[str] = ()) -> None:
        """`lanes`: what each is connected to; where there are none, who made the device serves them. Raises ChannelError."""
        self.device = device
        self.lanes = device.lanes
        if len(lanes) > self.lanes:
            raise ChannelError(f"{len(lanes)} lanes are connected; hint: the device has {self.lanes}")
        self.connected = [Lane(device, number, text) for number, text in enumerate(lanes)]
        self.tick = 0

    def access(self, batch: Sequence[Access]) -> list[int]:
        found = []
        try:
            for one in batch:
                if one.value is None:
                    found.append(self.device.read(one.address))
                else:
                    self.device.write(one.address, one.value)
        except SluiceError as error:
            raise ChannelError(error.errno, error.strerror) from error
        return found

    def receive(self) -> PacketIn | None:
        packet = self.device.receive()
        return None if packet is None else PacketIn(packet.ingress_port, packet.data, packet.fault, packet.mark)

    def send(self, mask: int, data: bytes) -> None:
        try:
            self.device.send(data, mask)
        except SluiceError as error:
            raise ChannelError(error.errno, error.strerror) from error

    def pass_time(self) -> bool:
        """The tick of a device with connected lanes is this machine's; its own clock stands while it is idle."""
        now = time.monotonic_ns() // 1000
        if self.connected and now >= self.tick + TICK:
            self.tick = now
            self.device.call("sluice_device_set_tick", c.c_uint32(now % (1 << 32)))
        moved = [lane.move() for lane in self.connected]
        idle = bool(self.device.library.sluice_device_idle(self.device.handle))
        if not idle or any(moved):
            self.device.advance(CYCLES)
        return any(moved) or not idle

    def descriptors(self) -> list[int]:
        return [lane.descriptor for lane in self.connected if lane.descriptor >= 0]

    def close(self) -> None:
        for lane in self.connected:
            lane.close()
        self.device.close()


def open_device(spec: str, lanes: Sequence[str] = (), say: Callable[[str], None] = lambda text: None) -> DeviceChannel:
    """The channel of a device: `sim` or `functional`, with NAME=NUMBER of `shell.sim.build` behind a colon, joined by commas.
    Raises ChannelError."""
    kind, _, rest = spec.partition(":")
    sizes = {"lanes": 4, "pipeline_units": 2}
    for option in filter(None, rest.split(",")):
        name, _, value = option.partition("=")
        if not value.isdigit():
            raise ChannelError(f"{option} in --device is not NAME=NUMBER; hint: sim:pipeline_units=2")
        sizes[name] = int(value)
    if kind not in ("sim", "functional"):
        raise ChannelError(f"no device is of kind {kind!r}; hint: sim, functional")
    try:
        if kind == "sim":
            build(sizes, say)
        return DeviceChannel(Device(sizes, transport=kind), lanes)
    except (BuildError, OSError) as error:
        raise ChannelError(f"{spec}: {error}") from error
