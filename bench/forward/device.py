# SPDX-License-Identifier: Apache-2.0
"""The simulated device under back-to-back traffic of one size: what it forwards, in how many cycles."""

from __future__ import annotations

import ctypes as c
import ipaddress
import statistics
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import sluice_layouts as layouts
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether

from bench import CLOCK_MHZ, traffic
from host.python.device import Action, Device, LaneInfo, instruction, prefix, set_field

FLOWS = 128
PACKETS = 480  # of a row, the warm-up included
WARM_UP = 96
LONE = 3
GAPS = 20  # preamble and gap between packets, bytes on a wire
FLIT = layouts.DATA_BYTES
IN_LANE, OUT_LANE = 0, 1
VLAN = 100
NEXT_HOP, OWN_MAC = 0x020000000005, 0x020000000006
MARK = 7
STALL = 20000  # cycles without a packet out of the lane after which a row ends
TABLES = {"lpm": (layouts.TABLE_LPM,), "exact": (layouts.TABLE_EXACT,), "both": (layouts.TABLE_EXACT, layouts.TABLE_LPM)}
ELEMENTS = {layouts.TABLE_LPM: layouts.ELEMENT_LPM, layouts.TABLE_EXACT: layouts.ELEMENT_EXACT}
ANY_MAC = 0x800  # bit 11 of admit_registers.control

Log = Callable[[str], None]
Left = tuple[bytes, LaneInfo]


def actions() -> list[Action]:
    """What the paper's test does to a packet (AccelSDP 6.4)."""
    return [
        set_field(layouts.FIELD_ETH_DST, NEXT_HOP),
        set_field(layouts.FIELD_ETH_SRC, OWN_MAC),
        Action(layouts.ACTION_SUB),
        Action(layouts.ACTION_INSERT_VLAN, VLAN),
        Action(layouts.ACTION_CHECKSUM),
        Action(layouts.ACTION_OUTPUT, OUT_LANE),
    ]


def expected(data: bytes) -> bytes:
    """The same by scapy."""
    packet = Ether(data)
    payload = packet.payload
    packet.remove_payload()
    if isinstance(payload, IP):
        payload.ttl -= 1
        del payload.chksum
    elif isinstance(payload, IPv6):
        payload.hlim -= 1
    del payload[UDP].chksum
    ether = Ether(dst=NEXT_HOP.to_bytes(6, "big"), src=OWN_MAC.to_bytes(6, "big"))
    return bytes(ether / Dot1Q(vlan=VLAN) / payload)


def install(device: Device, ofu: str, flow: traffic.Flow) -> None:
    """The rules of a flow: the tables that decide alone run all the actions; before the LPM table the exact one only marks."""
    destination = ipaddress.ip_address(flow.destination)
    six, bits = int(destination.version == 6), destination.max_prefixlen
    if layouts.TABLE_LPM in TABLES[ofu]:
        rule = prefix(int(destination), bits, bits)
        device.rule(layouts.ELEMENT_LPM, instruction(layouts.INSTRUCTION_POPULATE, six, actions=actions(), **rule))
    if layouts.TABLE_EXACT in TABLES[ofu]:
        kind = layouts.FiveTuple6 if six else layouts.FiveTuple4
        source = int(ipaddress.ip_address(flow.source))
        ports = {"l4_src": flow.source_port, "l4_dst": flow.destination_port}
        key = kind(ip_src=source, ip_dst=int(destination), ip_protocol=17, **ports).to_int()
        todo = actions() if ofu == "exact" else [Action(layouts.ACTION_MARK, MARK)]
        mask = (1 << kind.BITS) - 1
        device.rule(layouts.ELEMENT_EXACT, instruction(layouts.INSTRUCTION_POPULATE, six, value=key, mask=mask, actions=todo))


def prepare(device: Device, ofu: str, version: int, flow_count: int) -> None:
    """Switch the tables on that are to decide, every one of them required, and fill them."""
    for table, element in ELEMENTS.items():
        device.call("sluice_ofu_init" if table in TABLES[ofu] else "sluice_ofu_uninit", c.c_uint16(element))
    device.call("sluice_admit_set", sum(1 << table for table in TABLES[ofu]), ANY_MAC)
    device.call("sluice_device_set_lossless", 1)
    for flow in traffic.flows(version, flow_count):
        install(device, ofu, flow)


def _taken(device: Device) -> Iterator[Left]:
    return iter(lambda: device.lane_receive(OUT_LANE), None)


def through(device: Device, packets: Sequence[bytes]) -> list[Left]:
    """Send packets into the lane as fast as it takes them; what left, with its cycles."""
    sent, left, quiet = 0, list[Left](), 0
    while len(left) < len(packets) and quiet < STALL:
        while sent < len(packets) and device.lane_send(IN_LANE, packets[sent]):
            sent += 1
        device.advance(8)
        before = len(left)
        left += _taken(device)
        quiet = 0 if len(left) > before else quiet + 8
    return left


def _missed(device: Device) -> int:
    """Packets that the graph has sent to the host so far."""
    counters = device.counters("graph")
    assert isinstance(counters, layouts.GraphCounters)
    return counters.to_host_packets


def _flits(size: int) -> int:
    return -(-size // FLIT)


def row(
    device: Device, packets: Sequence[bytes], answers: Sequence[bytes], asked_size: int, count: int = PACKETS
) -> dict[str, Any]:
    """Figures of one size; `packets` are repeated in turn, `answers` are what must leave."""
    flow_count = len(packets)
    lone = []
    for data in packets[:LONE]:
        lone += [info.first_cycle - info.ingress_cycle for _, info in through(device, [data])]
        device.settle()
    before = _missed(device)
    left = through(device, [packets[n % flow_count] for n in range(count)])
    device.settle()
    wrong = sum(data != answers[n % flow_count] for n, (data, _) in enumerate(left)) + count - len(left)
    warm_up = min(WARM_UP, len(left) // 3)
    steady = left[warm_up:]
    cycles = steady[-1][1].last_cycle - left[warm_up - 1][1].last_cycle
    flits = max(len(steady) * _flits(len(packets[0])), sum(_flits(len(data)) for data, _ in steady))
    latencies = [info.first_cycle - info.ingress_cycle for _, info in steady]
    rate = len(steady) / cycles * CLOCK_MHZ * 1e6
    size = len(packets[0]) + traffic.FCS
    return {
        "size": size,
        "asked_size": asked_size,
        "flits_per_cycle": round(flits / cycles, 5),
        "flits_in": _flits(len(packets[0])),
        "flits_out": _flits(len(answers[0])),
        "cycles_per_packet": round(cycles / len(steady), 4),
        "cycles": cycles,
        "packets": len(steady),
        "latency_cycles": statistics.median_low(lone),
        "latency_cycles_loaded": {
            "min": min(latencies), "median": statistics.median_low(latencies), "max": max(latencies),
        },
        "packets_per_s": round(rate),
        "gbps": round(rate * size * 8e-9, 3),
        "gbps_with_gaps": round(rate * (size + GAPS) * 8e-9, 3),
        "wrong_packets": wrong,
        "missed_packets": _missed(device) - before,
    }  # fmt: skip


def rows(
    log: Log,
    sizes: Sequence[int] = traffic.SIZES,
    ofus: Sequence[str] = tuple(TABLES),
    device_sizes: dict[str, int] | None = None,
    count: int = PACKETS,
    flow_count: int = FLOWS,
) -> list[dict[str, Any]]:
    """A row for each table, IP version and size; sizes that a version cannot have are its smallest packet."""
    found = []
    for version in (4, 6):
        flows = list(traffic.flows(version, flow_count))
        prepared = {size: [traffic.packet(flow, size) for flow in flows] for size in sizes}
        answers = {size: [expected(data) for data in packets] for size, packets in prepared.items()}
        for ofu in ofus:
            log(f"IPv{version} through the {ofu} table{'s' if ofu == 'both' else ''}, {flow_count} flows, {len(sizes)} sizes")
            with Device(device_sizes) as device:
                prepare(device, ofu, version, flow_count)
                for size, packets in prepared.items():
                    found.append({"ofu": ofu, "version": version, **row(device, packets, answers[size], size, count)})
    return found
