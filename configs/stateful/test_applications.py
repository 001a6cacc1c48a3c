# SPDX-License-Identifier: Apache-2.0
"""The applications with state: what leaves is the same in the interpreter, as C++, as RTL in the shell, in the model of the
pipeline with what `deploy` makes of them, and in plain Python (`judges.py`). A share of the captures' packets, those of all lanes
in one row, or of their connections; SLUICE_EVERY=1: all of them."""

from __future__ import annotations

import functools
import lzma
import os
import random
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import sluice_layouts as L

from compiler.frontend import typed
from compiler.frontend.program import load as load_program
from compiler.frontend.source import Diagnostics
from compiler.interpreter.packets import Packet
from compiler.overlay.bits import OverlayError
from compiler.overlay.deploy import Deployment, deployed
from compiler.overlay.place import Sizes
from compiler.stateful.families import Composed, classified
from configs.stateful import judges
from configs.stateful.judges import Judge, Left
from host.program import device_run
from host.program.captures import read_capture, write_capture
from host.program.overlay_run import exchange_in_time, load, options_for, sizes_of
from host.program.run import EXECUTE, ProgramRun
from host.python.device import Device
from host.python.pipeline import Overlay
from models.flow_place import FlowPlace
from models.pipeline import model_of
from models.stateful_unit import Flows
from shell.sim.build import OVERLAY
from testing.slow import except_for
from toolchain import ROOT

HERE = Path(__file__).parent
LANES = range(4)
FLAGS = 47  # the byte of TCP's flags
UDP_PACKET = b"\2\0\0\0\0\1\2\0\0\0\0\2\x08\0E\0\0\x2e" + bytes(4) + b"\x40\x11" + bytes(14) + b"\0\x1a\1\1" + bytes(range(18))
EVERY = int(os.environ.get("SLUICE_EVERY", "5"))  # of the captures' packets, or connections
Out = list[list[bytes]]  # what leaves, by lane


@functools.cache
def whole_captures() -> list[Packet]:
    """Packets of real programs, from all lanes, in the order of their times."""
    found: list[Packet] = []
    for lane in LANES:
        path = ROOT / "build" / "run" / f"captured{lane}.{os.getpid()}.pcap"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(lzma.decompress((ROOT / "testing" / "captures" / f"lane{lane}.pcap.xz").read_bytes()))
        found += read_capture(path)
        path.unlink()
    return sorted(found, key=lambda packet: packet.time)


def captured() -> list[Packet]:
    """A share of them."""
    return whole_captures()[::EVERY]


def to_port(number: int, port: int, protocol: int, time: int) -> Packet:
    """A packet of host `number` to a port."""
    ip = bytes([0x45, 0, 0, 40, 0, 0, 0, 0, 64, protocol, 0, 0, 10, 9, 0, number, 10, 2, 0, 2])
    ports = (40_000).to_bytes(2, "big") + port.to_bytes(2, "big")
    return Packet(b"\2\0\0\0\0\1\2\0\0\0\0\2\x08\0" + ip + ports + bytes(16), time)


def mixed(packets: Sequence[Packet], others: Callable[[random.Random, int], Iterable[Packet]]) -> list[Packet]:
    """Packets, some of them followed by others, made of a generator and a time."""
    draw, found = random.Random(1), []
    for packet in packets:
        found.append(packet)
        if draw.random() < 0.2:
            found += others(draw, packet.time)
    return found


def disturbed_connections() -> list[Packet]:
    """A share of the connections, all packets of each, and between them some once more, with any flags; then all of it again, when
    their states have timed out."""

    def is_taken(data: bytes) -> bool:
        if (packet := judges.headers_of(data)) is None:
            return False
        ends = sorted([(packet.source, packet.source_port), (packet.destination, packet.destination_port)])
        return zlib.crc32(repr(ends).encode()) % EVERY == 0

    taken = [packet for packet in whole_captures() if is_taken(packet.data)]

    def another(draw: random.Random, time: int) -> list[Packet]:
        data = bytearray(draw.choice(taken).data.ljust(60, b"\0"))
        data[FLAGS] = draw.choice([data[FLAGS], 0x02, 0x04, 0x10, 0x11, 0x12, 0x14])
        return [Packet(bytes(data), time)]

    disturbed = mixed(taken, another)
    later = taken[-1].time - taken[0].time + 700 * judges.SECOND
    return [*disturbed, *(replace(packet, time=packet.time + later) for packet in disturbed)]


def knocks() -> list[Packet]:
    """Hosts that knock right, wrong, and in between."""
    ports = [1111, 2222, 3333, 22]

    def knock(draw: random.Random, time: int) -> list[Packet]:
        host, start = draw.randrange(6), draw.choice([0, 0, 1, 2, 3])
        some = ports[start : start + draw.randrange(1, 5)]
        if draw.random() < 0.2:
            some.insert(draw.randrange(len(some)), draw.choice([80, *ports]))
        return [to_port(host, port, draw.choice([6, 6, 17, 1]), time) for port in some]

    return mixed(captured(), knock)


def repeated() -> list[Packet]:
    """Packets of the captures, some of which come once more."""
    packets = captured()

    def earlier(draw: random.Random, time: int) -> list[Packet]:
        return [replace(draw.choice(packets), time=time)]

    return mixed(packets, earlier)


def to_public() -> list[Packet]:
    """The captures as they come to a NAT: from outside to the ports that it gave, or to others. Then a host that needs more ports
    than there are, and all of it again, when some ports are free again."""
    nat, draw, found = judges.Nat(), random.Random(1), []

    def send(packet: Packet) -> None:
        found.append(packet)
        nat.judge(packet.data, packet.time)

    def outside(packet: Packet) -> Packet:
        """With the public address as destination, if it came from outside."""
        headers = judges.headers_of(packet.data)
        if headers is None or not headers.is_tcp_or_udp or headers.source[:2] == bytes([10, 0]):
            return packet
        end = headers.destination, headers.destination_port, headers.protocol
        port = nat.ports.get(end, 40_000) if draw.random() < 0.9 else draw.randrange(40_000, 40_600)
        source = headers.source, headers.source_port, headers.protocol
        return replace(packet, data=judges.addressed(packet.data, source, (judges.PUBLIC, port, headers.protocol)))

    packets = captured()
    for packet in packets:
        send(outside(packet))
    for port in range(1000, 1600):
        flow = (bytes([10, 0, 3, 3]), port, 17), (bytes([10, 9, 0, 1]), 80, 17)
        send(Packet(judges.addressed(UDP_PACKET, *flow), packets[-1].time + port))
    for packet in packets:
        send(outside(replace(packet, time=packet.time + 297 * judges.SECOND)))
    return found


def to_masqueraded() -> list[Packet]:
    """The captures as they come to one that keeps ports: from outside to the public address, some to other ports; from inside some
    of other hosts. All of it again, when some hosts have lost theirs."""
    draw, found = random.Random(1), []
    for packet in [*captured(), *(replace(packet, time=packet.time + 297 * judges.SECOND) for packet in captured())]:
        headers = judges.headers_of(packet.data)
        if headers is not None and headers.protocol == judges.TCP:
            source, destination = headers.source, headers.destination
            port = headers.destination_port
            if source[:2] != bytes([10, 0]):
                destination, port = judges.PUBLIC, port if draw.random() < 0.9 else 22
            elif draw.random() < 0.2:
                source = bytes([10, 0, 9, draw.randrange(3)])
            ends = (source, headers.source_port, judges.TCP), (destination, port, judges.TCP)
            found.append(replace(packet, data=judges.addressed(packet.data, *ends)))
        elif draw.random() < 0.1:
            found.append(packet)
    return found


APPLICATIONS: dict[str, tuple[Callable[[], Judge], Callable[[], list[Packet]]]] = {
    "alternating": (judges.alternating, captured),
    "knocking": (judges.knocking, knocks),
    "retransmissions": (judges.retransmissions, repeated),
    "flowlet": (judges.flowlet, captured),
    "hitters": (judges.hitters, captured),
    "firewall": (judges.firewall, disturbed_connections),
    "masquerade": (judges.masquerade, to_masqueraded),
    "nat": (lambda: judges.Nat().judge, to_public),
}
DEPLOYED = [name for name in APPLICATIONS if name != "nat"]


SECRET = 2  # of flow tables: with it no set of them has more flows than places
FORGETTING = 2048  # cycles in which the flow table forgets all flows, at most: until then packets have none
SIMULATED = 400  # packets of an application in the simulated device


def program_of(name: str) -> typed.Program:
    diagnostics = Diagnostics()
    program = load_program(HERE / name / f"{name}.sl", diagnostics)
    assert program is not None, "".join(error.render() for error in diagnostics.sorted())
    return program


@functools.cache
def packets_of(name: str) -> list[Packet]:
    return APPLICATIONS[name][1]()


def judged(name: str, packets: Iterable[Packet]) -> list[list[Left]]:
    """What becomes of each packet."""
    judge = APPLICATIONS[name][0]()
    return [judge(packet.data, packet.time) for packet in packets]


def eventful(name: str) -> list[Packet]:
    """Some packets in a row, up to the last that does not leave by lane 0."""
    packets = packets_of(name)
    last = max(number for number, left in enumerate(judged(name, packets)) if not left or left[0].lane)
    return packets[max(0, last + 1 - SIMULATED) : last + 1]


def by_lane(left: Iterable[Iterable[Left]]) -> Out:
    out: Out = [[] for _ in LANES]
    for one in (one for some in left for one in some):
        out[one.lane].append(one.data)
    return out


@pytest.mark.parametrize("name", APPLICATIONS)
@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_does_what_plain_python_does(target: str, name: str, tmp_path: Path) -> None:
    inputs, outputs = [tmp_path / f"in{lane}.pcap" for lane in LANES], [tmp_path / f"out{lane}.pcap" for lane in LANES]
    for lane, path in enumerate(inputs):
        write_capture(path, packets_of(name) if lane == 0 else [])
    what = ProgramRun(HERE / name / f"{name}.sl", inputs, outputs, [], 0)
    EXECUTE[target](what, program_of(name), lambda text: None)
    expected = judged(name, packets_of(name))
    assert any(one.lane for left in expected for one in left) or not all(expected), "the application does something"
    assert [[packet.data for packet in read_capture(path)] for path in outputs] == by_lane(expected)


def test_the_firewall_sees_every_change_of_a_state() -> None:
    seen: set[tuple[str | None, str | None]] = set()
    judge = judges.firewall(seen)
    for packet in packets_of("firewall"):
        judge(packet.data, packet.time)
    assert seen >= {
        (None, "sent"), ("sent", "sent"), ("sent", "answered"), ("answered", "answered"), (None, "requested"),
        ("requested", "established"), ("established", "established"), ("established", "closing"), ("established", None),
        ("closing", "closing"), (None, None),
    }  # fmt: skip


@pytest.mark.parametrize("name", except_for([name for name in APPLICATIONS if name != "knocking"], APPLICATIONS))
def test_does_the_same_as_rtl(name: str) -> None:
    """Of all packets, or of two applications, as each takes a minute to build. In the device packets come
    when a lane has them, and times are cycles."""
    packets = packets_of(name)
    ran = device_run.run(name, program_of(name), [packets], [], 0, lambda text: None)
    timed = [replace(packet, time=time) for packet, time in zip(packets, ran.entered[0], strict=True)]
    assert [[packet.data for packet in lane] for lane in ran.left] == by_lane(judged(name, timed))


def by_model(made: Deployment) -> Callable[[Packet], list[Left]]:
    """What becomes of each packet in the model of the pipeline with this program."""
    table = FlowPlace(1024, 4, lambda key: zlib.crc32(key.to_bytes(40, "big")) % 1024)
    pipeline = model_of(made.program, dict.fromkeys(made.program.stateful, Flows(table)))

    def run(packet: Packet) -> list[Left]:
        left = []
        for data, meta in pipeline.run(packet.data, 0, packet.time & 0xFFFFFFFF):
            assert meta.verdict == L.VERDICT_FORWARD
            left += [Left(n, data, meta.mark) for n in LANES if meta.egress_mask >> n & 1]
        return left

    return run


@pytest.mark.parametrize("name", DEPLOYED)
def test_does_the_same_deployed(name: str) -> None:
    """Packet by packet, with the mark."""
    model = by_model(deployed(program_of(name)))
    packets = packets_of(name)
    for number, (packet, expected) in enumerate(zip(packets, judged(name, packets), strict=True)):
        assert model(packet) == expected, f"packet {number}"


def in_device(device: Device, name: str, packets: Sequence[Packet]) -> Out:
    """What leaves a device that the application is loaded into as `deploy` does."""
    device.call("sluice_device_set_lossless", 1)
    overlay = Overlay(device, SECRET)
    made = deployed(program_of(name), sizes=sizes_of(overlay), lanes=device.lanes)
    load(device, overlay, made)
    device.advance(FORGETTING)
    assert made.reads_time == (name not in ("alternating", "retransmissions"))
    left, uploaded = exchange_in_time(device, [packets])
    counts = overlay.flows(next(iter(made.program.stateful)))
    assert not uploaded and counts.made and not counts.evicted
    return [[packet.data for packet in packets] for packets in left]


@pytest.mark.parametrize("name", DEPLOYED)
def test_does_the_same_in_a_functional_device(name: str) -> None:
    """Whose clock stands at the time of the packet, when it comes."""
    packets = packets_of(name)
    with Device(options_for(deployed(program_of(name))), transport="functional", options="flow_sets=16384") as device:
        assert in_device(device, name, packets) == by_lane(judged(name, packets))


@pytest.mark.parametrize("name", DEPLOYED)
def test_does_the_same_in_a_simulated_device(name: str) -> None:
    packets = packets_of(name) if EVERY == 1 else eventful(name)
    with Device({**OVERLAY, "stateful_units": 0b10}) as device:
        assert in_device(device, name, packets) == by_lane(judged(name, packets))


def test_a_run_on_the_overlay_has_the_times_of_the_captures(tmp_path: Path) -> None:
    inputs, outputs = [tmp_path / f"in{lane}.pcap" for lane in LANES], [tmp_path / f"out{lane}.pcap" for lane in LANES]
    packets = packets_of("flowlet")[:200]
    for lane, path in enumerate(inputs):
        write_capture(path, packets[lane::4])
    EXECUTE["overlay"](
        ProgramRun(HERE / "flowlet" / "flowlet.sl", inputs, outputs, [], 0), program_of("flowlet"), lambda text: None
    )
    assert [[packet.data for packet in read_capture(path)] for path in outputs] == by_lane(judged("flowlet", packets))
    assert all(packet.time for path in outputs for packet in read_capture(path))


@pytest.mark.parametrize("name", DEPLOYED)
@pytest.mark.parametrize("units, mask", [(2, 0b10), (3, 0b100), (1, 0b1)])
def test_takes_the_stateful_unit_that_there_is(name: str, units: int, mask: int) -> None:
    """Behind the stateless units that the program needs, with none between them; or the program is refused."""
    stateless = len(deployed(program_of(name)).units)
    sizes = Sizes(units=units, stateful=mask)
    if mask >> stateless == 0:
        with pytest.raises(OverlayError, match="stateful"):
            deployed(program_of(name), sizes=sizes)
        return
    made = deployed(program_of(name), sizes=sizes)
    assert [*made.program.stateful] == [mask.bit_length() - 1] and len(made.program.units) == mask.bit_length()
    model, packets = by_model(made), packets_of(name)[:300]
    assert [model(packet) for packet in packets] == judged(name, packets)


@pytest.mark.parametrize("name", DEPLOYED)
def test_updates_of_flows_compose(name: str) -> None:
    """Then the stateful unit takes a packet a cycle, whatever their flows are. Whether a connection of the firewall lives on
    depends on the time that its last packet left."""
    stateful_unit = deployed(program_of(name)).placed.stateful
    assert stateful_unit is not None
    families = classified(stateful_unit.program)
    assert families and all(isinstance(family, Composed) for family in families.values()) == (name != "firewall"), families


def test_deploy_refuses_a_nat_at_its_second_table() -> None:
    """Which end has a port is state under another key than which port an end has."""
    nat = program_of("nat")
    with pytest.raises(OverlayError, match="a second flow table: ends") as error:
        deployed(nat)
    assert error.value.span == next(i.element.flows[1].span for i in nat.instances if i.name == "nat")
