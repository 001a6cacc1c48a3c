# SPDX-License-Identifier: Apache-2.0
"""The deparser and the header templates at their bounds: every capacity and every size, records whose checksums and lengths are
not those of the packet, headers with every bit changed. Nothing is ever written behind the room that is given."""

import ctypes
import errno
import random

import sluice_layouts as layouts
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether
from sluice_layouts import Field, L3Kind, L4Kind, Meta, Opcode, PhvRecord

from host.packet.testing import binding
from models import packet as packet_model
from models import traffic, tunnels
from models.template import Template, template

SEED = 1
CANARY = b"\xa5" * 600
Stored = list[tuple[layouts.TemplateInfo, bytes]]


def deparse(record: PhvRecord, packet: bytes, capacity: int, templates: Stored = []) -> int | bytes:  # noqa: B006
    """sluice_deparse into a buffer that is looked at as a whole; a negative errno, or the packet."""
    stored = b"".join(info.pack() + data.ljust(layouts.TEMPLATE_BYTES, b"\0") for info, data in templates)
    out = ctypes.create_string_buffer(b"\0" * capacity + CANARY)
    size = int(binding.library().sluice_bytes_deparse(record.pack(), stored, len(templates), packet, len(packet), out, capacity))
    assert out.raw[capacity:-1] == CANARY
    assert size <= capacity
    return size if size < 0 else out.raw[:size]


def executed(packet: bytes, *actions: tuple[int, int]) -> PhvRecord:
    """The record of a packet after these actions."""
    own = binding.Own(tunnels.OWN.lane_mac[0], tunnels.OWN.ipv4, tunnels.OWN.ipv6)
    chosen = layouts.ActionSet.from_int(sum((opcode << 24 | operand) << 32 * n for n, (opcode, operand) in enumerate(actions)))
    return binding.execute(binding.parse(packet, own), chosen, [])


def test_needs_room_for_the_whole_packet_as_it_leaves() -> None:
    random.seed(SEED)
    plain = bytes(Ether(**traffic.MACS) / IP(src="1.2.3.4", dst="5.6.7.8") / UDP())
    tagged = plain[:12] + b"\x81\0\0\7" + plain[12:]
    opened = bytes(traffic.tags(0) / IP(dst=tunnels.IPV4) / tunnels.vxlan() / plain)
    headers = binding.template(bytes(traffic.tags(0) / IP() / tunnels.vxlan()))
    front, insert = (Opcode.ACTION_INSERT_TUNNEL, 0), (Opcode.ACTION_INSERT_VLAN, 5)
    head = len(headers[1])
    for packet, actions, size in (
        (plain, [], len(plain)),
        (plain, [insert], len(plain) + 4),
        (plain, [insert, insert], len(plain) + 8),
        (tagged, [(Opcode.ACTION_DELETE_VLAN, 0)], len(plain)),
        (plain, [front], len(plain) + head),
        (plain, [front, insert], len(plain) + head + 4),
        (opened, [], len(opened)),
        (opened, [front, insert], len(opened)),
        (opened, [(Opcode.ACTION_DELETE_TUNNEL, 0)], len(plain)),
        (opened, [(Opcode.ACTION_DELETE_TUNNEL, 0), front], len(plain) + head),
        (b"", [], 0),
        (b"", [front], head),
    ):
        record = executed(packet, *actions)
        whole = binding.deparse(record, packet, templates=[headers])
        assert len(whole) == size
        for capacity in {0, 1, head - 1, head, head + 1, size - 8, size - 4, size - 1, size, size + 1, size + 200}:
            if capacity >= 0:
                assert deparse(record, packet, capacity, [headers]) == (whole if capacity >= size else -errno.ENOSPC)


def test_takes_packets_and_records_that_can_be() -> None:
    headers = (layouts.TemplateInfo(size=2), b"ab")
    empty = (layouts.TemplateInfo(size=0), b"")
    record = executed(bytes(20))
    for size, status in ((65534, 65534), (65535, 65535), (65536, -errno.EINVAL)):
        got = deparse(record, bytes(size), 70000)
        assert (got if isinstance(got, int) else len(got)) == status
    record.info.outer_length, record.edits.strip_outer = 30, 1
    assert [deparse(record, bytes(size), 100) for size in (29, 30, 31)] == [-errno.EINVAL, b"", b"\0"]
    record.info.outer_length = 0
    for name in ("pushed", "popped"):
        for count in range(4):
            record.edits = layouts.Edits(**{name: count})
            least = 12 + 4 * count * (name == "popped") if count else 0
            for size in (least - 1, least) if count else (0,):
                grown = size + (4 if name == "pushed" else -4) * count
                got = deparse(record, bytes(size), 100)
                assert got == -errno.EINVAL if size < least or count > 2 else isinstance(got, bytes) and len(got) == grown
    for templates, index, found in (
        ([], 0, False),
        ([empty], 0, False),
        ([headers], 0, True),
        ([headers], 1, False),
        ([headers, empty], 0, True),
        ([headers, empty], 1, False),
        ([empty, headers], 0, False),
        ([empty, headers], 1, True),
        ([empty, headers], 2, False),
        ([headers] * 128, 127, True),
    ):
        record.edits = layouts.Edits(encapsulate=1, template_index=index)
        assert deparse(record, b"packet", 100, templates) == (b"abpacket" if found else -errno.EINVAL)


def test_writes_no_field_that_ends_behind_the_packet() -> None:
    for kind, l4, places in (
        (L3Kind.L3_IPV4, L4Kind.L4_TCP, {Field.FIELD_IP_TOS: (15, 1), Field.FIELD_IP_TTL: (22, 1), Field.FIELD_IP_SRC: (26, 4)}),
        (L3Kind.L3_IPV6, L4Kind.L4_UDP, {Field.FIELD_IP_TOS: (14, 2), Field.FIELD_IP_TTL: (21, 1), Field.FIELD_IP_DST: (38, 16)}),
        (L3Kind.L3_NONE, L4Kind.L4_TCP, {Field.FIELD_ETH_DST: (0, 6), Field.FIELD_ETH_SRC: (6, 6), Field.FIELD_ETH_TYPE: (12, 2)}),
        (L3Kind.L3_NONE, L4Kind.L4_UDP, {Field.FIELD_L4_SRC: (70, 2), Field.FIELD_L4_DST: (72, 2)}),
    ):
        for name, (place, size) in places.items():
            record = PhvRecord.from_int(0)
            record.info.l3_kind, record.info.l4_kind, record.info.l4_offset = kind, l4, 70
            ones = dict.fromkeys(("ip_src", "ip_dst"), (1 << 128) - 1) | dict.fromkeys(("eth_dst", "eth_src"), (1 << 48) - 1)
            ones |= dict.fromkeys(("eth_type", "l4_src", "l4_dst"), 65535) | dict.fromkeys(("ip_tos", "ip_ttl"), 255)
            for key, value in ones.items():
                setattr(record.phv, key, value)
            record.edits.dirty = 1 << name
            for end in (place - 1, place, place + size - 1, place + size, place + size + 1):
                packet = bytes(max(0, end))
                written = b"\x0f\xf0" if (name, kind) == (Field.FIELD_IP_TOS, L3Kind.L3_IPV6) else b"\xff" * size
                whole = packet[:place] + written + packet[place + size :]
                assert deparse(record, packet, len(packet)) == (whole if end >= place + size else packet), (name, end)


def test_repairs_the_checksums_of_the_record() -> None:
    random.seed(SEED)
    packets = [packet for packet in traffic.well_formed() if not packet_model.parse(packet, Meta(length=len(packet))).fault]
    seen = set()
    for n in range(1500):
        packet = packets[n % len(packets)]
        meta = Meta(length=len(packet))
        record = packet_model.parse(packet, meta)
        record.eligible = record.hits = 1
        record.verdict, record.egress_mask = 1, 1
        record.edits.checksums = int(random.random() < 0.9)
        record.info.ip_checksum, record.info.l4_checksum = (random.choice([0, 0xFFFF, random.getrandbits(16)]) for _ in "ab")
        sums = (record.info.ip_checksum, record.info.l4_checksum)
        record.edits.ip_delta, record.edits.l4_delta = (random.choice([0, old, 0xFFFF, random.getrandbits(16)]) for old in sums)
        expected = packet_model.deparse(packet, meta, record).data
        assert expected is not None
        assert deparse(record, packet, len(packet)) == expected
        seen.add((record.info.l3_kind, record.info.l4_kind, expected == packet))
    assert {(1, 1), (1, 2), (2, 1), (2, 2)} <= {one[:2] for one in seen} and len(seen) > 10


def test_a_record_of_another_packet_never_writes_behind_the_room() -> None:
    random.seed(SEED)
    for _ in range(2000):
        packet = random.randbytes(random.randrange(60))
        record = PhvRecord.from_int(random.getrandbits(PhvRecord.BITS))
        record.info.l3_kind, record.info.l4_kind, record.info.outer_length = random.randrange(4), random.randrange(6), 0
        record.edits = layouts.Edits.from_int(random.getrandbits(layouts.Edits.BITS))
        record.edits.pushed, record.edits.popped, record.edits.encapsulate = random.randrange(3), random.randrange(3), 0
        for capacity in (len(packet) + 4 * record.edits.pushed - 4 * record.edits.popped, len(packet)):
            deparse(record, packet, max(0, capacity))


def test_takes_edit_data_only_where_there_is_some() -> None:
    packet = bytes(Ether(**traffic.MACS) / IP() / UDP())
    record = executed(packet, (Opcode.ACTION_SET_LONG, 5), (Opcode.ACTION_MARK, 9))
    before = binding.parse(packet)
    assert (record.phv, record.edits, record.mark) == (before.phv, before.edits, 9)


# ---- Header templates


def headers() -> list[bytes]:
    """Headers of every kind behind none to three tags, with other bytes in what is repaired than 0."""
    found = []
    for header in (tunnels.vxlan(), tunnels.geneve(1), tunnels.gre(key_present=1), tunnels.gre(), UDP(sport=7, dport=8, chksum=9)):
        number = 17 if isinstance(header, UDP) else 47
        for network in (IP(proto=number, id=0xFFFF, options=b"\1" * 4), IPv6(nh=number)):
            tags = [(0x8100, 0x88A8, 0x9100)[random.randrange(3)] for _ in range(len(found) % 3)]
            whole = bytes(Ether(**traffic.MACS) / network / header / bytes(12))
            found.append(whole[:12] + b"".join(tag.to_bytes(2, "big") + b"\xff\xff" for tag in tags) + whole[12:])
    return found


def check(header: bytes) -> Template:
    expected = template(header)
    assert binding.template(header) == (expected.info, expected.data), header.hex()
    return expected


def test_finds_what_is_repaired_by_every_bit_of_the_headers() -> None:
    random.seed(SEED)
    for header in headers():
        whole = header[: min(len(header) // 2 * 2, layouts.TEMPLATE_BYTES)]
        check(whole)
        for bit in range(12 * 8, 8 * len(whole)):
            changed = bytearray(whole)
            changed[bit // 8] ^= 1 << bit % 8
            check(bytes(changed))


def test_finds_what_is_repaired_in_headers_of_every_length() -> None:
    random.seed(SEED)
    sizes = {check(header[:size]).info.size for header in headers() for size in range(0, min(len(header), 128) + 1, 2)}
    tags = b"".join(tag.to_bytes(2, "big") + b"\0\1" for tag in (0x8100, 0x88A8, 0x9100) * 10)
    sizes |= {check((bytes(12) + tags)[:size]).info.size for size in range(0, 130, 2)}
    ip = bytes(Dot1Q(vlan=1) / IP(proto=47) / tunnels.gre(key_present=1))
    for before in range(0, 100, 4):
        check((bytes(12) + tags[:before] + b"\x81" + ip).ljust(128, b"\0")[:128])
    assert sizes == set(range(0, 130, 2))
