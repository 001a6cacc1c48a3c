# SPDX-License-Identifier: Apache-2.0
"""Packets through a pipeline of OVS alone, and of OVS with the device: what left each lane.

OVS alone reads captures and writes captures by DPDK's own driver for them; nobody polls it until the pipeline stands. With the
device each lane is a pair of datagram sockets. Packets go in a few at a time, each batch when all counters have stood still since
the last one, so that no queue overflows and rules have the time to arrive; a packet that was lost on the way there ends the run.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scapy.utils import PcapWriter, RawPcapReader

from testing.ovs import device as devices
from testing.ovs import flows
from testing.ovs.pipelines import BRIDGE, LANES, UNDERLAY, UNDERLAY_MAC, Pipeline
from testing.ovs.spaces import SpaceError, Spaces
from testing.ovs.switch import OpenVSwitch, run_folder

Packets = Sequence[tuple[int, bytes]]  # lane and frame, in order
CLONE_NEWNET = 0x40000000
QUEUE = 4096  # datagrams that a socket holds
BATCH = 64  # what a lane sends of it fits into the 200 KiB that its socket holds
STILL, AT_THE_END = 0.004, 0.5  # seconds without a change
PATIENCE = 60.0  # seconds for a batch
MTU = 1600  # of the interfaces: a tunnel's header fits
LOST = ("lane_tx_outside_dropped", "lane_rx_outside_dropped", "rx_fifo_dropped", "tx_fifo_dropped", "tx_host_errors",
        "rx_no_mbuf_dropped", "device_not_polled_dropped", "rx_above_mtu_errors", "device_to_host_dropped")  # fmt: skip


TRIES = 3


class ReplayError(RuntimeError):
    """The run did not come to its end, or lost packets that a queue should have held."""


class DroppedByOvsError(ReplayError):
    """OVS found no room for packets to send, tried again some times, and dropped them: the device had no processor meanwhile."""


@dataclass
class Left:
    """What left each lane, in order; and, with a device, how many packets only hardware saw, and how many flows it had."""

    lanes: list[list[bytes]]
    received: int = 0
    to_host: int = 0
    flows: int = 0
    offloaded: int = 0
    reasons: dict[str, int] = field(default_factory=dict)  # why flows are not in hardware, and how many


@contextlib.contextmanager
def inside(space: str) -> Iterator[None]:
    """This thread in a network namespace: sockets that are made there keep its limits."""
    library = ctypes.CDLL(None, use_errno=True)
    with Path("/proc/thread-self/ns/net").open() as own, Path(f"/run/netns/{space}").open() as there:
        if library.setns(there.fileno(), CLONE_NEWNET) != 0:
            raise SpaceError(f"setns {space}: {os.strerror(ctypes.get_errno())}")
        try:
            yield
        finally:
            library.setns(own.fileno(), CLONE_NEWNET)


def _bridges(switch: OpenVSwitch) -> None:
    for bridge in (BRIDGE, UNDERLAY):
        switch.add_bridge(bridge)
    switch.vsctl("set", "bridge", UNDERLAY, f'other_config:hwaddr="{UNDERLAY_MAC}"')


def _ports(switch: OpenVSwitch, pipeline: Pipeline, devargs: Sequence[str]) -> None:
    for lane, arguments in enumerate(devargs):
        bridge = UNDERLAY if pipeline.in_tunnel and lane == LANES - 1 else BRIDGE
        switch.add_port(bridge, f"lane{lane}", arguments, lane + 1, f"mtu_request={MTU}")


def alone(pipeline: Pipeline, packets: Packets) -> Left:
    """Through OVS without a device."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(run_folder())
        spaces = stack.enter_context(Spaces(0))
        switch = stack.enter_context(OpenVSwitch(folder, spaces.prefix(spaces.switch)))
        for lane in range(LANES):
            with PcapWriter(str(folder / f"in{lane}"), linktype=1) as writer:
                writer.write_header(None)
                for at, frame in packets:
                    if at == lane:
                        writer.write_packet(frame)
        devices.start(switch, None, False)
        _bridges(switch)
        _ports(switch, pipeline, [f"net_pcap{n},rx_pcap={folder}/in{n},tx_pcap={folder}/out{n}" for n in range(LANES)])
        pipeline.set_up(switch, spaces)
        switch.poll(devices.cores()[0])
        _wait_still(switch, len(packets))
        count = len(switch.datapath_flows())
        switch.stop()
        left = [[bytes(data) for data, _ in RawPcapReader(str(folder / f"out{lane}"))] for lane in range(LANES)]
    return Left(left, len(packets), len(packets), count)


def _wait_still(switch: OpenVSwitch, count: int) -> None:
    """Until all packets were polled, and nothing has been sent for a while."""
    end, last, since = time.monotonic() + PATIENCE, None, 0.0
    while True:
        now = {bridge: switch.port_packets(bridge) for bridge in (BRIDGE, UNDERLAY)}
        received = sum(rx for ports in now.values() for name, (rx, _) in ports.items() if name != "LOCAL")
        if now != last:
            last, since = now, time.monotonic()
        elif received >= count and time.monotonic() - since > AT_THE_END:
            return
        if time.monotonic() > end:
            raise ReplayError(f"OVS alone received {received} of {count} packets:\n{switch.complaints()}")
        time.sleep(0.05)


class Wires:
    """The sockets at the lanes of a device whose lanes are `unix:` ones in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.left: list[list[bytes]] = [[] for _ in range(LANES)]
        self.ends = [socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) for _ in range(LANES)]
        for lane, end in enumerate(self.ends):
            end.bind(str(folder / f"end{lane}"))

    def lanes(self) -> list[str]:
        """What the device's lanes are connected to."""
        return [f"unix:{self.folder}/wire{lane}:{self.folder}/end{lane}" for lane in range(LANES)]

    def close(self) -> None:
        """Close the sockets."""
        for end in self.ends:
            end.close()

    def drain(self) -> None:
        """Take what has left."""
        for end, left in zip(self.ends, self.left, strict=True):
            with contextlib.suppress(BlockingIOError):
                while True:
                    left.append(end.recv(65536))

    def send(self, lane: int, frame: bytes) -> None:
        """Send a frame into a lane; waits while its queue is full."""
        limit = time.monotonic() + PATIENCE
        while True:
            try:
                self.ends[lane].sendto(frame, str(self.folder / f"wire{lane}"))
                return
            except (BlockingIOError, ConnectionRefusedError, FileNotFoundError) as error:
                if time.monotonic() > limit:
                    raise ReplayError(f"cannot send a packet on lane {lane}: {error}") from error
                self.drain()
                time.sleep(0.001)


def _counters(switch: OpenVSwitch) -> dict[str, int]:
    """Counters of all ports together; those of the whole device, which every port has, once."""
    total: dict[str, int] = {}
    for port in range(LANES):
        for name, value in devices.telemetry(switch, f"/ethdev/xstats,{port}").items():
            total[name] = value if name.startswith("device_") else total.get(name, 0) + value
    return total


def _settle(switch: OpenVSwitch, wires: Wires, sent: int, still: float) -> dict[str, int]:
    """Until all packets are in the device and no counter changes any more."""
    end, last, since = time.monotonic() + PATIENCE, None, 0.0
    while True:
        wires.drain()
        now = _counters(switch)
        arrived = now["rx_good_lane_packets"] + now["rx_undersize_errors"]
        if now != last:
            last, since = now, time.monotonic()
        elif arrived >= sent and time.monotonic() - since > still:
            wires.drain()
            return now
        if time.monotonic() > end:
            raise ReplayError(f"the device received {arrived} of {sent} packets:\n{switch.complaints()}")
        time.sleep(0.001)


def with_device(pipeline: Pipeline, packets: Packets, device: devices.Device) -> Left:
    """Through OVS with the device and offload; once more where OVS itself dropped packets on a busy machine."""
    for _ in range(TRIES - 1):
        with contextlib.suppress(DroppedByOvsError):
            return once_with_device(pipeline, packets, device)
    return once_with_device(pipeline, packets, device)


def once_with_device(pipeline: Pipeline, packets: Packets, device: devices.Device) -> Left:
    """One run of it."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(run_folder())
        spaces = stack.enter_context(Spaces(0))
        spaces.run(spaces.switch, f"sysctl -qw net.unix.max_dgram_qlen={QUEUE}")
        with inside(spaces.switch):
            wires = stack.enter_context(contextlib.closing(Wires(folder)))
        switch = stack.enter_context(OpenVSwitch(folder, spaces.prefix(spaces.switch)))
        devices.start(switch, device, True)
        _bridges(switch)
        _ports(switch, pipeline, device.devargs(wires.lanes(), lossless=True))
        pipeline.set_up(switch, spaces)
        switch.poll(devices.cores()[0])
        for first in range(0, len(packets), BATCH):
            for lane, frame in packets[first : first + BATCH]:
                wires.send(lane, frame)
            _settle(switch, wires, min(first + BATCH, len(packets)), STILL)
        dumped = list(filter(None, map(flows.parse, switch.datapath_flows())))
        now = _settle(switch, wires, len(packets), AT_THE_END)
        with switch.log.open(errors="replace") as log:
            attempts = flows.attempts(log)
        dropped = [drops for bridge in (BRIDGE, UNDERLAY) if (drops := switch.drops(bridge))]
    if dropped:
        raise DroppedByOvsError(f"{pipeline.name}: Open vSwitch dropped packets: {dropped}")
    if lost := {name: now[name] for name in LOST if now.get(name)}:
        raise ReplayError(f"{pipeline.name}: packets were lost on the way: {lost}")
    reasons = Counter(reason for flow in dumped for reason in flows.reasons(flow, attempts.get(flow.ufid)))
    offloaded = sum(flow.state == "yes" for flow in dumped)
    return Left(wires.left, now["rx_good_lane_packets"], now["rx_host_packets"], len(dumped), offloaded, dict(reasons))
