# SPDX-License-Identifier: Apache-2.0
"""The applications: what leaves is the same in the interpreter, as C++, as RTL in the shell, on the devices and in the model of the
pipeline that run what `deploy` makes of them, and in plain Python with scapy, which knows neither the programs nor their rules
files. A share of the captures' packets; SLUICE_EVERY=1: all of them."""

from __future__ import annotations

import functools
import ipaddress
import lzma
import os
import random
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import sluice_layouts as L
from scapy.layers.inet import IP
from scapy.layers.l2 import Ether

from compiler.frontend.program import load as load_program
from compiler.frontend.source import Diagnostics, Source
from compiler.interpreter.packets import Packet
from compiler.overlay.deploy import Deployment, deployed
from compiler.overlay.place import Sizes
from host.program.captures import read_capture, write_capture
from host.program.overlay_run import exchange, load
from host.program.run import EXECUTE, ProgramRun
from host.python.device import Device
from host.python.pipeline import Overlay
from models.pipeline import model_of
from testing.slow import except_for
from toolchain import ROOT

HERE = Path(__file__).parent
LANES, CONTROLLER = range(4), "controller"
EVERY = int(os.environ.get("SLUICE_EVERY", "5"))  # of the captures' packets
UNITS = 2
Out = dict[int | str, list[bytes]]
Judge = Callable[[bytes], tuple[bytes, Sequence[int | str]]]


def in_network(address: str, network: str) -> bool:
    return ipaddress.ip_address(address) in ipaddress.ip_network(network)


def filtered(data: bytes) -> tuple[bytes, Sequence[int | str]]:
    """What `filter.rules` say, by hand."""
    packet = Ether(data)
    if packet.type != 0x800 or IP not in packet or packet[IP].version != 4 or packet[IP].ihl != 5 or len(data) < 38:
        return data, [CONTROLLER]
    ip = packet[IP]
    if ip.proto not in (6, 17) or ip.frag or ip.flags.MF:
        return data, [CONTROLLER]
    sport, dport = int.from_bytes(data[34:36], "big"), int.from_bytes(data[36:38], "big")
    if ip.proto == 6 and in_network(ip.dst, "10.2.0.0/16") and dport == 22:
        return data, []
    if ip.proto == 17 and in_network(ip.src, "10.3.0.0/16") and 1024 <= sport < 2048:
        return data, [CONTROLLER]
    for second, lane in ((1, 0), (2, 1), (3, 2)):
        if in_network(ip.dst, f"10.{second}.0.0/16"):
            return data, [lane]
    return data, [3] if ip.proto == 17 else [CONTROLLER]


def switched(data: bytes) -> tuple[bytes, Sequence[int | str]]:
    """What `switch.rules` say, by hand; the checksum by scapy, from nothing, where it was right."""
    packet = Ether(data)
    if int(packet.src[:2], 16) & 1:
        return data, []
    bridged: dict[str, Sequence[int]] = {f"02:00:00:00:01:0{lane}": [lane] for lane in LANES} | {"ff:ff:ff:ff:ff:ff": LANES}
    if packet.dst in bridged:
        return data, bridged[packet.dst]
    if packet.dst.startswith("01:80:c2:00:00:0"):
        return data, []
    is_router = packet.dst in {f"02:00:00:00:00:0{lane}" for lane in LANES}
    return routed(data) if is_router else (data, [CONTROLLER])


def routed(data: bytes) -> tuple[bytes, Sequence[int | str]]:
    """What the routes of `switch.rules` and `edge.rules` say, by hand."""
    packet = Ether(data)
    if packet.type != 0x800 or IP not in packet or packet[IP].version != 4 or packet[IP].ihl != 5 or packet[IP].ttl < 2:
        return data, [CONTROLLER]
    if not in_network(packet[IP].dst, "10.0.0.0/8"):
        return data, [CONTROLLER]
    second, third = (int(part) for part in packet[IP].dst.split(".")[1:3])
    lane = third if second == 0 and third < 4 else second - 1 if 1 <= second <= 3 else 3
    packet.dst, packet.src = f"02:00:00:00:01:0{lane}", f"02:00:00:00:00:0{lane}"
    packet[IP].ttl -= 1
    del packet[IP].chksum
    return bytes(packet)[:34] + data[34:], [lane]


def guarded(data: bytes) -> tuple[bytes, Sequence[int | str]]:
    """What `edge.rules` say, by hand."""
    whole = data.ljust(38, b"\0")
    kind, protocol, port = int.from_bytes(whole[12:14], "big"), whole[23], int.from_bytes(whole[36:38], "big")
    if kind == 0x800 and whole[14] == 0x45:
        if protocol == 6 and port == 22 and whole[30:32] == bytes([10, 2]):
            return data, []
        if protocol == 17 and 1024 <= port < 2048:
            return data, [CONTROLLER]
    if kind == 0x86DD:
        return data, []
    return routed(data)


def named(data: bytes) -> tuple[bytes, Sequence[int | str]]:
    """What `icn.rules` say, by hand."""
    is_interest = data[12:16] == b"\x88\xb5\x01\0" and data[21] == 8 and data[22:24] == b"\0\1" and data[26:28] == b"\0\0"
    if not is_interest:
        return data, [CONTROLLER]
    name, size = data[34:], int.from_bytes(data[32:34], "big")
    lane = 1 if size == 5 and name.startswith(b"video") else 2 if name.startswith(b"vid") else 3
    return data[:18] + bytes([data[18] - 1 & 0xFF]) + data[19:], [lane] if data[18] > 1 else []


@functools.cache
def captured() -> list[list[bytes]]:
    """Packets of real programs, by lane."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for lane in LANES:
            path = Path(folder) / f"{lane}.pcap"
            path.write_bytes(lzma.decompress((ROOT / "testing" / "captures" / f"lane{lane}.pcap.xz").read_bytes()))
            found.append([packet.data for packet in read_capture(path)][::EVERY])
    return found


def interests() -> list[list[bytes]]:
    """Interests of CCNx, most of them whole, packets in which a byte differs, and the captures."""
    draw, found = random.Random(1), []
    for _ in range(600):
        name = draw.choice([b"video", b"videos", b"vid", b"audio", b"v", b"a name of more than 12 bytes", b"vide0"])
        size = len(name)
        fields = (1, size + 8, 0, size + 4, 1, size)
        body = b"".join(field.to_bytes(2, "big") for field in fields) + name
        header = bytes([1, 0]) + (8 + len(body)).to_bytes(2, "big") + bytes([draw.choice([0, 1, 2, 9, 255]), 0, 0, 8])
        packet = bytearray(b"\2\0\0\0\0\1\2\0\0\0\0\2\x88\xb5" + header + body + bytes(draw.randrange(60)))
        if draw.random() < 0.3:
            packet[draw.randrange(12, min(40, len(packet)))] ^= 1 << draw.randrange(8)
        found.append(bytes(packet))
    return [[*found[lane::4], *packets] for lane, packets in zip(LANES, captured(), strict=True)]


def on_target(target: str, name: str, sent: list[list[bytes]], folder: Path) -> Out:
    """What leaves, sorted: lanes merge in an order of their own."""
    inputs, outputs = [folder / f"in{lane}.pcap" for lane in LANES], [folder / f"out{lane}.pcap" for lane in LANES]
    for path, packets in zip(inputs, sent, strict=True):
        write_capture(path, [Packet(data) for data in packets])
    program = load_program(HERE / name / f"{name}.sl", Diagnostics())
    assert program is not None
    what = ProgramRun(HERE / name / f"{name}.sl", inputs, outputs, [], 0, HERE / name / f"{name}.rules")
    EXECUTE[target](what, program, lambda text: None)
    paths: dict[int | str, Path] = {**dict(enumerate(outputs)), CONTROLLER: what.log(CONTROLLER)}
    return {where: sorted(packet.data for packet in read_capture(path)) for where, path in paths.items()}


def deployment(name: str) -> Deployment:
    program = load_program(HERE / name / f"{name}.sl", Diagnostics())
    assert program is not None
    rules = HERE / name / f"{name}.rules"
    return deployed(program, Source(rules.name, rules.read_text()), Sizes(units=UNITS))


def by_model(name: str, sent: list[list[bytes]], folder: Path) -> Out:
    model = model_of(deployment(name).program)
    out: Out = {where: [] for where in (*LANES, CONTROLLER)}
    for lane, packets in enumerate(sent):
        for data, meta in (left for packet in packets for left in model.run(packet, lane)):
            assert meta.verdict in (L.VERDICT_FORWARD, L.VERDICT_TO_CONTROLLER)
            to_lanes = [n for n in LANES if meta.egress_mask >> n & 1]
            for where in to_lanes if meta.verdict == L.VERDICT_FORWARD else [CONTROLLER]:
                out[where].append(data)
    return {where: sorted(packets) for where, packets in out.items()}


def on_functional(name: str, sent: list[list[bytes]], folder: Path) -> Out:
    with Device({"lanes": len(LANES), "pipeline_units": UNITS}, transport="functional") as device:
        device.call("sluice_device_set_lossless", 1)
        load(device, Overlay(device), deployment(name))
        left, uploaded = exchange(device, sent)
    packets: dict[int | str, list[Packet]] = {**dict(enumerate(left)), CONTROLLER: uploaded}
    return {where: sorted(packet.data for packet in some) for where, some in packets.items()}


def by_hand(judge: Judge, sent: list[list[bytes]]) -> Out:
    out: Out = defaultdict(list)
    for packets in sent:
        for data in packets:
            changed, where = judge(data)
            for one in where:
                out[one].append(changed)
    return {where: sorted(out[where]) for where in (*LANES, CONTROLLER)}


APPLICATIONS: dict[str, tuple[Judge, Callable[[], list[list[bytes]]]]] = {
    "filter": (filtered, captured),
    "switch": (switched, captured),
    "edge": (guarded, captured),
    "icn": (named, interests),
}
RUNS: dict[str, Callable[[str, list[list[bytes]], Path], Out]] = {
    "model": by_model,
    "functional": on_functional,
    **{target: functools.partial(on_target, target) for target in ("interpreter", "cpu", "sim", "overlay")},
}
CASES = except_for([("sim", "switch"), ("sim", "icn")], [(run, name) for run in RUNS for name in APPLICATIONS])


@functools.cache
def expected(name: str) -> tuple[list[list[bytes]], Out]:
    """The packets of an application, and what they become."""
    judge, packets = APPLICATIONS[name]
    sent = packets()
    return sent, by_hand(judge, sent)


@pytest.mark.parametrize(("run", "name"), CASES)
def test_is_the_same_everywhere(name: str, run: str, tmp_path: Path) -> None:
    sent, out = expected(name)
    assert sum(bool(some) for some in out.values()) >= 3, "packets leave by most ways"
    assert RUNS[run](name, sent, tmp_path) == out
