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

from host.switch.testing import binding
from testing.models import actions as model
from testing.models import packet as packet_model
from testing.models import traffic

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
        opcode = random.choice([1, 3, 3, 3, 4, 4, 5, 6, 7, 8, 9, 10, 11, 14, 15, 16]) if random.random() < 0.9 else random.randrange(256)
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
    data, packets, changed = table(), traffic.well_formed(), 0
    for _ in range(4000):
        packet = random.choice(packets)
        record = packet_model.parse(packet, Meta(length=len(packet)))
        record.eligible = record.hits = 1
        model.execute(record, random_actions(), data)
        record.verdict = Verdict.VERDICT_FORWARD
        record.egress_mask = 1
        expected = packet_model.deparse(packet, Meta(length=len(packet)), record).data
        assert binding.deparse(record, packet) == expected
        changed += expected != packet
    assert changed > 3000


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
    for _ in range(3000):
        packet = random.randbytes(random.randrange(80))
        record = copy.deepcopy(random_record())
        record.edits = layouts.Edits.from_int(random.getrandbits(layouts.Edits.BITS))
        try:
            size = len(binding.deparse(record, packet))
        except OSError as error:
            assert error.errno in (errno.EINVAL, errno.ENOSPC)
        else:
            assert size == len(packet) + 4 * record.edits.pushed - 4 * record.edits.popped
