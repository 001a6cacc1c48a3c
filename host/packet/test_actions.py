# SPDX-License-Identifier: Apache-2.0
"""Actions and deparser in software change records and packets as the models of the RTL do, byte for byte."""

import copy
import errno
import random

import pytest
import sluice_layouts as layouts
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6
from scapy.layers.l2 import Ether
from sluice_layouts import Field, L3Kind, Meta, Opcode, PhvRecord, Verdict

from host.packet.testing import binding
from models import actions as model
from models import packet as packet_model
from models import traffic, tunnels
from models.template import Template, template

SEED = 1
ENTRIES = 256


def table() -> list[int]:
    return [random.choice([0, (1 << 128) - 1, random.getrandbits(128)]) for _ in range(ENTRIES)]


def action_set(*actions: tuple[int, int]) -> layouts.ActionSet:
    return layouts.ActionSet.from_int(sum((opcode << 24 | operand) << 32 * n for n, (opcode, operand) in enumerate(actions)))


def random_actions() -> layouts.ActionSet:
    """Sets that mostly go on to their end; sometimes any opcode, existing or not."""
    chosen = []
    for _ in range(layouts.ACTION_SLOTS):
        opcode = (
            random.choice([1, 3, 3, 3, 4, 4, 5, 6, 7, 8, 9, 10, 11, 14, 15, 16]) if random.random() < 0.9 else random.randrange(256)
        )
        operand = random.getrandbits(24)
        if opcode == Opcode.ACTION_OUTPUT and random.random() < 0.9:
            operand = random.randrange(7)
        if opcode == Opcode.ACTION_REPLICATE and random.random() < 0.9:
            operand = random.randrange(1, 128)
        chosen.append((opcode, operand))
    return action_set(*chosen)


def random_record() -> PhvRecord:
    """A record as an earlier table may leave it."""
    record = PhvRecord.from_int(random.getrandbits(PhvRecord.BITS))
    record.info.l3_kind, record.info.l4_kind = random.randrange(4), random.randrange(6)
    record.info.tags = record.edits.tags = random.randrange(3)
    record.edits.pushed = record.edits.popped = 0
    record.phv.ip_ttl = random.choice([0, 1, 2, 64, 255])
    if record.info.l3_kind == L3Kind.L3_IPV4:
        record.phv.ip_src &= 0xFFFFFFFF
        record.phv.ip_dst &= 0xFFFFFFFF
    record.verdict = random.choice([0] * 12 + [1, 1, 2, 3, 4])
    return record


def test_executes_every_action_on_every_kind_of_record() -> None:
    random.seed(SEED)
    data, verdicts = table(), set()
    for _ in range(6000):
        record, actions = random_record(), random_actions()
        got = binding.execute(record, actions, data)
        model.execute(record, actions, data)
        assert got == record, str(actions)
        verdicts.add(Verdict(record.verdict))
    assert verdicts == set(Verdict)


def test_writes_packets_as_the_model_of_the_deparser() -> None:
    random.seed(SEED)
    packets = [p for p in tunnels.opened() if not packet_model.parse(p, Meta(length=len(p)), tunnels.OWN).fault]
    data, packets, changed = table(), [*traffic.well_formed(), *packets], 0
    templates = [random_template() for _ in range(200)]
    missing = wrapped = 0
    for _ in range(6000):
        packet = random.choice(packets)
        record = packet_model.parse(packet, Meta(length=len(packet)), tunnels.OWN)
        record.eligible = record.hits = 1
        model.execute(record, random_actions(), data)
        record.verdict, record.egress_mask = Verdict.VERDICT_TO_HOST, 1
        outcome = packet_model.deparse(packet, Meta(length=len(packet)), record, dict(enumerate(templates)))
        if outcome.error:
            with pytest.raises(OSError, match="Invalid"):
                binding.deparse(record, packet, templates=[(t.info, t.data) for t in templates])
            missing += 1
            continue
        assert binding.deparse(record, packet, templates=[(t.info, t.data) for t in templates]) == outcome.data
        changed += outcome.data != packet
        wrapped += record.info.outer_length != 0 and not record.edits.strip_outer
    assert changed > 2500 and missing > 100 and wrapped > 100


def random_template() -> Template:
    """Any headers with any repair."""
    data = random.randbytes(2 * random.randint(1, layouts.TEMPLATE_BYTES // 2))
    info = layouts.TemplateInfo.from_int(random.getrandbits(layouts.TemplateInfo.BITS))
    info.size, info.ip_sum = len(data), random.randrange(1, 65536)
    return Template(data, info)


def test_finds_in_headers_what_the_model_finds() -> None:
    random.seed(SEED)
    headers = [bytes(stack) for header in (*tunnels.sound(), *tunnels.unsound()) for stack in tunnels.outer(header)]
    headers = [header[: layouts.TEMPLATE_BYTES] for header in headers] + [packet[:128] for packet in traffic.well_formed()]
    found = set()
    for header in [h[: 2 * random.randint(0, len(h) // 2)] if n % 3 else h[: len(h) // 2 * 2] for h in headers for n in range(6)]:
        expected = template(header)
        assert binding.template(header) == (expected.info, expected.data), header.hex()
        found.add((expected.info.is_ipv4, expected.info.is_ipv6, expected.info.has_udp, expected.info.has_id))
    assert {(1, 0, 1, 1), (0, 1, 1, 1), (1, 0, 0, 1), (0, 1, 0, 0), (0, 0, 0, 0)} <= found
    for size in (1, 3, 127, 130, 200):
        with pytest.raises(OSError, match="Invalid"):
            binding.template(bytes(size))


def test_checksums_are_right_after_every_change_of_a_field() -> None:
    random.seed(SEED)
    for _ in range(300):
        ports = {"sport": random.randrange(1, 65536), "dport": random.randrange(1, 65536)}
        body = random.randbytes(random.randrange(60))
        network = random.choice([traffic.ip4(), traffic.ip6()])
        transports = [UDP(**ports), TCP(**ports), *([ICMPv6EchoRequest(id=1)] if IPv6 in network else [])]
        frame = network / random.choice(transports) / body
        packet = bytes(Ether(**traffic.MACS) / frame)
        fields = [Field.FIELD_IP_SRC, Field.FIELD_IP_DST, Field.FIELD_IP_TOS, Field.FIELD_IP_TTL]
        fields += [Field.FIELD_L4_SRC, Field.FIELD_L4_DST]
        chosen = [(Opcode.ACTION_SET_LONG, random.choice(fields) << 20 | n) for n in range(6)]
        actions = action_set(*chosen, (Opcode.ACTION_CHECKSUM, 0))
        record = binding.execute(binding.parse(packet), actions, table())
        got = binding.deparse(record, packet)
        fresh = Ether(got)
        for layer in (IP, TCP, UDP, ICMPv6EchoRequest):
            if layer in fresh:
                fresh[layer].delfieldval("cksum" if layer is ICMPv6EchoRequest else "chksum")
        assert got == bytes(fresh), f"{actions} on {packet.hex()}"


def test_a_udp_checksum_of_zero_stays_zero() -> None:
    packet = bytes(Ether(**traffic.MACS) / IP(src="1.2.3.4", dst="5.6.7.8") / UDP(sport=1, dport=2, chksum=0) / b"text")
    actions = action_set((Opcode.ACTION_SET, Field.FIELD_L4_DST << 20 | 53), (Opcode.ACTION_CHECKSUM, 0))
    got = Ether(binding.deparse(binding.execute(binding.parse(packet), actions, []), packet))
    assert (got[UDP].dport, got[UDP].chksum) == (53, 0)


def test_a_packet_without_edits_keeps_every_byte() -> None:
    random.seed(SEED)
    for packet in traffic.well_formed() + traffic.malformed():
        assert binding.deparse(binding.parse(packet), packet) == packet


def test_refuses_to_write_behind_the_room_it_is_given() -> None:
    packet = bytes(Ether(**traffic.MACS) / IPv6() / UDP())
    record = binding.execute(binding.parse(packet), action_set((Opcode.ACTION_INSERT_VLAN, 5)), [])
    assert len(binding.deparse(record, packet, len(packet) + 4)) == len(packet) + 4
    with pytest.raises(OSError, match="No space") as error:
        binding.deparse(record, packet, len(packet) + 3)
    assert error.value.errno == errno.ENOSPC


def test_a_record_of_another_packet_writes_nothing_outside_of_it() -> None:
    random.seed(SEED)
    templates = [(layouts.TemplateInfo.from_int(random.getrandbits(40) << 8 | 30), bytes(30))] * 128
    for _ in range(3000):
        packet = random.randbytes(random.randrange(80))
        record = copy.deepcopy(random_record())
        record.edits = layouts.Edits.from_int(random.getrandbits(layouts.Edits.BITS))
        try:
            size = len(binding.deparse(record, packet, templates=templates))
        except OSError as error:
            assert error.errno in (errno.EINVAL, errno.ENOSPC)
        else:
            outer, edits = record.info.outer_length, record.edits
            if outer and not edits.strip_outer:
                assert size == len(packet)
            else:
                assert size == len(packet) - outer + 4 * edits.pushed - 4 * edits.popped + (30 if edits.encapsulate else 0)
