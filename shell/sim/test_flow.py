# SPDX-License-Identifier: Apache-2.0
"""The flow table in the whole device: rules of the manager on real packets, as the models treat them; its windows; its reset."""

from __future__ import annotations

import errno
import lzma
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import sluice_layouts as L

from host.program.captures import read_capture
from host.python.device import Action, CAction, CActionSet, Device, SluiceError, set_field
from host.python.flow_table import Flows, Model, Rules, error_text
from models.actions import execute
from models.flow import flow_key, key_of, link_info
from models.packet import deparse, parse
from models.traffic import malformed, truncated
from shell.sim.build import FLOW, SMALL
from testing.device import forward, host_packets, lane_packets, routed, run, udp
from toolchain import ROOT

CAPTURES = sorted((ROOT / "testing" / "captures").glob("lane*.pcap.xz"))
SEED = 20261122
HIT = 1 << L.TABLE_FLOW
# Shapes of masks as Open vSwitch makes them, besides what it always matches.
ALWAYS = {"ingress_port": 0xFF, "eth_type": 0xFFFF, "has_vlan": 1, "vlan_tpid": 0x1000}
MACS = {"eth_src": (1 << 48) - 1, "eth_dst": (1 << 48) - 1}
PORTS = {"ip_protocol": 0xFF, "l4_kind": 7, "l4_src": 0xFFFF, "l4_dst": 0xFFFF}
ENDS = {"ip_src": (1 << 128) - 1, "ip_dst": (1 << 128) - 1}
SHAPES: list[dict[str, int]] = [
    {},
    MACS,
    {**MACS, "vlan_tci": 0x0FFF, "fragment": 3},
    {"fragment": 3, "ip_dst": 0xFFFFFF00, "ip_ttl": 0xFF},
    {"fragment": 3, "ip_src": ((1 << 128) - 1) ^ 0xFF, "ip_tos": 0xFC},
    {"fragment": 3, **ENDS, **PORTS},
    {"fragment": 3, **ENDS, "ip_protocol": 0xFF},
    {"fragment": 3, **PORTS, "l4_src": 0xFF00, "tcp_flags": 0x17},
    {"fragment": 2, "ip_protocol": 0xFF},
    {"eth_dst": 1 << 40},
    {"fragment": 3, "ip_dst": 0xFFFC0000, "l4_dst": 0xFFC0},
    {"ip_ttl": 0x1F, "ip_tos": 3},
]


@pytest.fixture
def device() -> Iterator[Device]:
    with Device(FLOW) as opened:
        opened.call("sluice_device_set_lossless", 1)
        yield opened


@pytest.fixture
def flows(device: Device) -> Iterator[Flows]:
    table = Flows(device)
    yield table
    table.close()


def full(**masks: int) -> int:
    return L.FlowKey(**masks).to_int()


def action_sets(draw: random.Random) -> list[Action]:
    """What Open vSwitch asks for, on packets for which it may make no sense."""
    output = Action(L.ACTION_REPLICATE, draw.randrange(1, 16))
    value = draw.getrandbits(48)
    return draw.choice(
        [
            [output],
            forward(draw.randrange(4)),
            [Action(L.ACTION_DROP)],
            [Action(L.ACTION_MARK, draw.getrandbits(24)), Action(L.ACTION_TO_HOST)],
            [Action(L.ACTION_DELETE_VLAN), Action(L.ACTION_INSERT_VLAN, draw.getrandbits(16)), output],
            [Action(L.ACTION_INSERT_VLAN, draw.getrandbits(17)), output],
            [set_field(L.FIELD_ETH_SRC, value), set_field(L.FIELD_IP_DST, value), Action(L.ACTION_CHECKSUM), output],
            [Action(L.ACTION_SET, L.FIELD_L4_DST << 20 | value & 0xFFFF), Action(L.ACTION_CHECKSUM), output],
            [Action(L.ACTION_SET, L.FIELD_IP_TTL << 20 | 9), Action(L.ACTION_CHECKSUM), output],
        ]
    )


@dataclass
class Expected:
    """What must come of the packets of one lane."""

    lanes: dict[int, list[bytes]]
    host: list[tuple[bytes, int, int, int]]  # bytes, mark, verdict, fault


class Reference:
    """The same rules, by the models: manager and table in C, parser, actions and deparser in Python."""

    def __init__(self) -> None:
        self.model = Model(FLOW["flow_groups"], FLOW["flow_group_entries"], FLOW["flow_group_entries"], FLOW["flow_ternary"])
        self.rules = Rules(self.model.table())
        self.edits: list[int] = []

    def add(self, value: int, mask: int, priority: int, actions: Sequence[Action]) -> int:
        slots = []
        for action in actions:
            operand = action.operand
            if action.long_value is not None:
                operand |= len(self.edits)
                self.edits.append(action.long_value)
            slots.append(CAction(action.opcode, operand))
        return self.rules.add(value, mask, priority, CActionSet((CAction * L.ACTION_SLOTS)(*slots)))

    def treat(self, lane: int, packets: Sequence[bytes]) -> Expected:
        expected = Expected(defaultdict(list), [])
        for packet in packets:
            meta = L.Meta(ingress_port=lane, length=len(packet))
            record = parse(packet, meta)
            key = flow_key(record, link_info(packet))
            record.eligible = int(key is not None)
            found = self.model.find(key.to_int(), len(packet), 0) if key else None
            if found:
                record.hits = HIT
                slots = [L.Action(one.opcode, one.operand) for one in found.actions.slots]
                execute(record, L.ActionSet(slots), self.edits)
            outcome = deparse(packet, meta, record)
            if outcome.data is None:
                continue
            if outcome.meta.verdict != L.VERDICT_FORWARD:
                expected.host.append((outcome.data, outcome.meta.mark, outcome.meta.verdict, outcome.meta.fault))
                continue
            for egress in range(FLOW["lanes"]):
                if outcome.meta.egress_mask >> egress & 1:
                    expected.lanes[egress].append(outcome.data)
        return expected

    def close(self) -> None:
        self.rules.close()
        self.model.close()


def capture(path: Path, folder: Path, count: int, draw: random.Random) -> list[bytes]:
    """Some packets of a capture, in their order, with malformed ones between them."""
    plain = folder / path.stem
    plain.write_bytes(lzma.decompress(path.read_bytes()))
    packets = [packet.data for packet in read_capture(plain)]
    chosen = [packets[at] for at in sorted(draw.sample(range(len(packets)), count))]
    for bad in draw.sample([one for one in [*malformed(), *truncated()] if len(one) >= 14], count // 8):
        chosen.insert(draw.randrange(len(chosen)), bad)
    return chosen


class Pair:
    """The device and the models, given the same rules."""

    def __init__(self, device: Device, flows: Flows, draw: random.Random) -> None:
        self.device, self.flows, self.draw, self.reference = device, flows, draw, Reference()
        self.handles: list[tuple[int, int]] = []  # of the device, of the models
        self.priorities = draw.sample(range(0x10000), 2000)  # each its own: the models may choose among equals otherwise

    def add(self, key: L.FlowKey) -> None:
        shape = {**ALWAYS, **self.draw.choice(SHAPES)}
        mask = full(**shape)
        if self.draw.random() < 0.1:  # any mask, mostly of no other rule
            mask = self.draw.getrandbits(L.FlowKey.BITS) & full(**{**ALWAYS, **MACS, **ENDS, **PORTS, "fragment": 3})
        noise = self.draw.getrandbits(L.FlowKey.BITS) & ~mask
        rule = ((key.to_int() & mask) | noise, mask, self.priorities.pop(), action_sets(self.draw))
        handles = self.flows.add(*rule), self.reference.add(*rule)
        assert min(handles) >= 0, error_text()
        self.handles.append(handles)

    def remove(self) -> None:
        handle, other = self.handles.pop(self.draw.randrange(len(self.handles)))
        assert (self.flows.delete(handle), self.reference.rules.delete(other)) == (0, 0)

    def compare(self, lane: int, packets: Sequence[bytes]) -> None:
        host, out = run(self.device, {lane: packets})
        expected = self.reference.treat(lane, packets)
        assert [(one.data, one.mark, one.verdict, one.fault) for one in host] == expected.host
        for egress in range(FLOW["lanes"]):
            assert out[egress] == expected.lanes[egress], f"from lane {lane} out of {egress}"
        for handle, other in self.handles:
            got, wanted = self.flows.rules.counters(handle), self.reference.rules.counters(other)
            assert (got.packets, got.bytes) == (wanted.packets, wanted.bytes)


def test_rules_on_captures_do_what_the_models_do(device: Device, flows: Flows, tmp_path: Path) -> None:
    draw = random.Random(SEED)
    pair = Pair(device, flows, draw)
    hits = 0
    for lane, path in enumerate(CAPTURES):
        packets = capture(path, tmp_path, 120, draw)
        keys = [key for key in (key_of(lane, packet) for packet in packets) if key]
        for key in draw.sample(keys, 40):
            pair.add(key)
        pair.compare(lane, packets)
        before = device.counters("graph")
        for _ in range(15):
            pair.remove()
        pair.compare(lane, packets)
        after = device.counters("graph")
        hits += after.forwarded_packets + after.drop_rule - before.forwarded_packets - before.drop_rule
        assert after.faults > before.faults
    places = {flows.rules.place(handle).table_id for handle, _ in pair.handles}
    assert places == {L.TABLE_HASHED, L.TABLE_TERNARY} and hits > 150
    pair.reference.close()


def test_a_full_table_refuses_says_why_and_has_room_again(device: Device, flows: Flows) -> None:
    packets = [udp("10.0.0.1", f"10.1.0.{n}") for n in range(90)]
    handles = []
    for n, packet in enumerate(packets):
        key = key_of(0, packet)
        assert key is not None
        mask = full(ip_dst=0xFFFFFFFF, l4_dst=1 << n % 16, l4_src=1 << n // 16)  # each its own
        handles.append(flows.add(key.to_int(), mask, 5, forward(n % 4)))
    room = FLOW["flow_groups"] + FLOW["flow_ternary"]
    assert all(handle >= 0 for handle in handles[:room])
    assert handles[room:] == [-errno.ENOSPC] * (len(packets) - room)
    assert "all 8 mask groups hold other masks, and the TCAM is full (64 rules)" in error_text()
    host, out = run(device, {0: packets})
    for lane in range(4):
        assert out[lane] == [routed(packet) for packet in packets[lane:room:4]]
    assert [one.data for one in host] == packets[room:]
    for handle in handles[:room]:
        assert flows.delete(handle) == 0
    host, _ = run(device, {0: packets})
    assert [one.data for one in host] == packets
    assert flows.add(full(eth_type=0x800), full(eth_type=0xFFFF), 0, forward(3)) >= 0
    assert run(device, {0: packets})[1][3] == [routed(packet) for packet in packets]


def test_edit_data_is_shared_refused_when_full_and_given_back(device: Device, flows: Flows) -> None:
    def add(n: int, value: int) -> int:
        return flows.add(full(ip_dst=n), full(ip_dst=0xFFFF), 0, [set_field(L.FIELD_ETH_DST, value), Action(L.ACTION_OUTPUT, 1)])

    handles = [add(n, n) for n in range(256)]
    assert min(handles) >= 0
    assert (add(300, 300), error_text()) == (-errno.ENOSPC, "all 256 entries of the edit-data table are in use")
    shared = add(301, 7)
    assert shared >= 0
    assert flows.delete(handles[7]) == 0
    assert add(302, 302) == -errno.ENOSPC, "another rule still has it"
    assert flows.delete(shared) == 0
    assert add(303, 303) >= 0
    packet = udp("10.0.0.1", f"10.1.{303 >> 8}.{303 & 255}")
    key = key_of(0, packet)
    assert key is not None and flows.add(key.to_int(), full(ip_dst=0xFFFFFFFF), 9, [Action(L.ACTION_OUTPUT, 9)]) == -errno.EINVAL


def test_hits_leave_at_a_packet_a_cycle(device: Device, flows: Flows) -> None:
    assert flows.add(0, 0, 0, [Action(L.ACTION_OUTPUT, 1)]) >= 0
    packets = [udp("10.0.0.1", f"10.1.0.{n}") for n in range(100)]
    waiting = {lane: list(packets) for lane in range(4)}
    cycles = []
    while len(cycles) < 400:
        for lane, left in waiting.items():
            while left and device.lane_send(lane, left[0]):
                left.pop(0)
        device.advance(16)
        cycles += [info.first_cycle for _, info in iter(lambda: device.lane_receive(1), None)]
    assert cycles[-1] - cycles[0] < 1.1 * len(cycles), "nothing holds a record up"


def test_a_host_that_does_not_read_presses_back_and_nothing_is_lost(device: Device, flows: Flows) -> None:
    draw = random.Random(SEED)
    assert flows.add(full(ip_dst=0x0A010000), full(ip_dst=0xFFFF0000), 0, [Action(L.ACTION_OUTPUT, 1)]) >= 0
    sent = {lane: [udp("10.0.0.1", f"10.{draw.choice([1, 2, 2, 2])}.{n >> 8}.{n & 255}") for n in range(500)] for lane in range(4)}
    waiting, out, quiet = {lane: list(packets) for lane, packets in sent.items()}, [], 0
    while quiet < 50:
        quiet += 1
        for lane, packets in waiting.items():
            while packets and device.lane_send(lane, packets[0]):
                packets.pop(0)
                quiet = 0
        device.advance(64)
        out += lane_packets(device, 1)
    assert any(waiting.values()), "the lanes were pressed back"
    host, rest = run(device, waiting)
    is_hit = {lane: [packet[31] == 1 for packet in packets] for lane, packets in sent.items()}
    assert len(out) + len(rest[1]) == sum(map(sum, is_hit.values()))
    for lane, packets in sent.items():
        missed = [packet for packet, hit in zip(packets, is_hit[lane], strict=True) if not hit]
        assert [one.data for one in host if one.ingress_port == lane] == missed


def test_windows_are_what_the_device_says_and_the_others_answer_errors(device: Device) -> None:
    kinds = [device.read(L.SHELL_REGISTERS_CAPABILITY + 4 * n) & 0xFFFF for n in range(1, 5)]
    assert kinds == [L.ELEMENT_FLOW_TABLE, 0, 0, L.ELEMENT_DEPARSE]
    assert device.read(L.SHELL_REGISTERS_CAPABILITY + 4) >> 16 == 11  # 8 groups of 256
    for window in (2, 3):
        for access in (lambda at: device.read(at), lambda at: device.write(at, 1)):
            with pytest.raises(SluiceError) as refused:
                access(window * L.WINDOW_SIZE)
            assert refused.value.errno == errno.EFAULT
    with Device(SMALL) as other, pytest.raises(OSError, match="has no") as absent:
        Flows(other)
    assert absent.value.errno == errno.ENOENT


def test_the_reset_of_the_graph_and_a_new_owner_leave_no_rule(device: Device) -> None:
    packet = udp("10.0.0.1", "10.1.0.1")
    for reset in (False, True):
        flows = Flows(device)
        assert flows.add(0, 0, 0, forward(2)) >= 0
        assert run(device, {0: [packet]})[1][2] == [routed(packet)]
        flows.close()
        if reset:
            device.write(L.SHELL_REGISTERS_CONTROL, 1)
            while device.read(L.SHELL_REGISTERS_CONTROL) & 1:
                device.advance(16)
        Flows(device).close()
        host, _ = run(device, {0: [packet]})
        assert [one.data for one in [*host, *host_packets(device)]] == [packet]
