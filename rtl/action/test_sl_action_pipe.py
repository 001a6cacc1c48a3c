# SPDX-License-Identifier: Apache-2.0
"""sl_action_pipe: every action on every kind of record as the model says, one record a cycle; the checksum deltas on real
packets; records without a rule and records whose verdict is final pass untouched."""

import copy
import itertools
import random
from ipaddress import IPv4Address, IPv6Address

import cocotb
import sluice_layouts as layouts
from cocotb.triggers import ReadOnly, RisingEdge
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6
from scapy.packet import Raw
from sluice_layouts import Field, L3Kind, L4Kind, Opcode, Verdict

from models import actions
from testing.cocotb.channel import start
from testing.coverage import Coverage
from toolchain.simulate import simulate

ENTRIES = 256
LATENCY = 16


def reachable(before: Verdict, after: Verdict) -> bool:
    """A final verdict stays; the others may become anything but PASS again."""
    return before == after if before in actions.FINAL else before == after or after != Verdict.VERDICT_PASS


KINDS = [kind.name[3:] for kind in L3Kind]
SEEN = Coverage(
    "actions",
    {
        "opcode": [f"{name} on {kind}" for name in (*(code.name[7:] for code in Opcode), "unknown") for kind in KINDS],
        "opcode by slot": [f"{code.name[7:]} in slot {n}" for code in Opcode for n in range(layouts.ACTION_SLOTS)],
        "field set": [f"{name} of {field.name[6:]} on {kind}" for name in ("SET", "SET_LONG") for field in Field for kind in KINDS],
        "tags before insert and delete": [f"{code} at {n}" for code in ("INSERT_VLAN", "DELETE_VLAN") for n in range(3)],
        "verdict": [
            f"{before.name[8:]} to {after.name[8:]}" for before in Verdict for after in Verdict if reachable(before, after)
        ],
    },
)


def see(record: layouts.PhvRecord, action_set: layouts.ActionSet, table: list[int]) -> None:
    """Count what a set did to a record that came out right."""
    if not SEEN.on:
        return
    record, before = copy.deepcopy(record), Verdict(record.verdict)
    kind = L3Kind(record.info.l3_kind).name[3:]
    for n, action in enumerate(action_set.slots):
        if record.verdict in actions.FINAL:
            break
        is_known = action.opcode in set(Opcode)
        name = Opcode(action.opcode).name[7:] if is_known else "unknown"
        SEEN.see("opcode", f"{name} on {kind}")
        if is_known:
            SEEN.see("opcode by slot", f"{name} in slot {n}")
        if name in ("SET", "SET_LONG") and action.operand >> 20 in set(Field):
            SEEN.see("field set", f"{name} of {Field(action.operand >> 20).name[6:]} on {kind}")
        if name in ("INSERT_VLAN", "DELETE_VLAN"):
            SEEN.see("tags before insert and delete", f"{name} at {record.edits.tags}")
        actions.step(record, action.opcode, action.operand, table)
    SEEN.see("verdict", f"{before.name[8:]} to {Verdict(record.verdict).name[8:]}")


def test_action_pipe() -> None:
    simulate("sl_action_pipe", __file__, {"EditEntries": ENTRIES})


def random_record() -> layouts.PhvRecord:
    """A record as a parser, or an earlier table, may leave it."""
    record = layouts.PhvRecord.from_int(random.getrandbits(layouts.PhvRecord.BITS))
    record.info.l3_kind = L3Kind(random.choice([0, 1, 1, 2, 2, 3]))
    record.info.l4_kind = L4Kind(random.choice([0, 1, 1, 2, 2, 3, 4, 5]))
    record.info.tags = record.edits.tags = random.randrange(3)
    record.edits.dirty = record.edits.pushed = record.edits.popped = record.edits.service_tag = 0
    record.edits.ip_delta = record.edits.l4_delta = 0
    record.edits.strip_outer = record.edits.encapsulate = record.edits.write_tunnel_id = record.edits.template_index = 0
    record.info.outer_length = random.choice([0, 50, 126])
    record.phv.ip_ttl = random.choice([0, 1, 2, 64, 255])
    if record.info.tags < 2:
        record.phv.vlan1_tci = 0
    if record.info.tags < 1:
        record.phv.vlan0_tci = 0
    if record.info.l3_kind == L3Kind.L3_IPV4:
        record.phv.ip_src &= 0xFFFFFFFF
        record.phv.ip_dst &= 0xFFFFFFFF
    if random.random() < 0.1:
        record.phv.ip_src = record.phv.ip_dst = record.phv.l4_src = record.phv.l4_dst = 0
    record.verdict = Verdict(random.choice([0] * 12 + [1, 1, 2, 3, 4]))
    return record


def random_actions() -> layouts.ActionSet:
    """Sets that mostly go on to their end; sometimes any opcode, existing or not."""
    lively = [1, 3, 3, 3, 4, 4, 5, 6, 7, 8, 9, 10, 11, 14, 15, 16]
    slots = []
    for _ in range(layouts.ACTION_SLOTS):
        opcode = random.choice(lively) if random.random() < 0.9 else random.randrange(256)
        operand = random.getrandbits(24)
        if opcode == Opcode.ACTION_OUTPUT and random.random() < 0.9:
            operand = random.randrange(7)
        if opcode == Opcode.ACTION_REPLICATE and random.random() < 0.9:
            operand = random.randrange(1, 128)
        slots.append(opcode << 24 | operand)
    return layouts.ActionSet.from_int(sum(slot << 32 * n for n, slot in enumerate(slots)))


async def load_edit_data(dut) -> list[int]:
    table = [random.choice([0, (1 << 128) - 1, random.getrandbits(128)]) for _ in range(ENTRIES)]
    for index, data in enumerate(table):
        dut.edit_valid_i.value, dut.edit_index_i.value, dut.edit_data_i.value = 1, index, data
        await RisingEdge(dut.clk_i)
    dut.edit_valid_i.value = 0
    return table


async def reset(dut) -> None:
    for name in ("valid_i", "record_i", "actions_i", "execute_i", "edit_valid_i", "edit_index_i", "edit_data_i"):
        getattr(dut, name).value = 0
    await start(dut)


async def run(dut, jobs) -> list[tuple[int, int]]:
    """Send (record, actions, execute) or None for an idle cycle, one a cycle; (latency, record) of what comes out."""
    out: list[tuple[int, int]] = []
    sent: list[int] = []
    for cycle, job in enumerate([*jobs, *[None] * (LATENCY + 2)]):
        dut.valid_i.value = int(job is not None)
        if job is not None:
            sent.append(cycle)
            dut.record_i.value, dut.actions_i.value, dut.execute_i.value = job
        await ReadOnly()
        if dut.valid_o.value == 1:
            out.append((cycle - sent[len(out)], int(dut.record_o.value)))
        await RisingEdge(dut.clk_i)
    return out


def expected(record: layouts.PhvRecord, action_set: layouts.ActionSet, execute: int, table: list[int]) -> int:
    record = copy.deepcopy(record)
    if execute:
        actions.execute(record, action_set, table)
    return record.to_int()


async def agrees(dut, jobs, table: list[int]) -> None:
    """Run (record, action set, execute) or None for an idle cycle, one a cycle, and compare every record with the model's."""
    sent = [job for job in jobs if job is not None]
    out = await run(dut, [job and (job[0].to_int(), job[1].to_int(), job[2]) for job in jobs])
    assert len(out) == len(sent)
    assert {latency for latency, _ in out} == {LATENCY}
    for number, ((_, got), job) in enumerate(zip(out, sent, strict=True)):
        answer = expected(*job, table)
        assert got == answer, f"record {number}:\n{layouts.PhvRecord.from_int(got)}\nexpected\n{layouts.PhvRecord.from_int(answer)}"
        if job[2]:
            see(*job[:2], table)


@cocotb.test()
async def does_what_the_model_says_every_cycle(dut):
    await reset(dut)
    table = await load_edit_data(dut)
    jobs = [
        None if random.random() < 0.05 else (random_record(), random_actions(), int(random.random() < 0.9)) for _ in range(4000)
    ]
    answers = [layouts.PhvRecord.from_int(expected(*job, table)) for job in jobs if job is not None]
    assert {answer.verdict for answer in answers} == set(Verdict), "the random sets reach every verdict"
    await agrees(dut, jobs, table)


@cocotb.test()
async def every_action_is_carried_out_in_every_slot_and_on_every_kind_of_packet(dut):
    await reset(dut)
    table = await load_edit_data(dut)
    jobs = []
    for opcode, slot in itertools.product(Opcode, range(layouts.ACTION_SLOTS)):
        slots = [layouts.Action(Opcode.ACTION_MARK, random.getrandbits(24)) for _ in range(layouts.ACTION_SLOTS)]
        slots[slot] = layouts.Action(opcode, random.getrandbits(24))
        record = next(r for r in iter(random_record, None) if r.info.l3_kind == slot % len(L3Kind))
        record.verdict = Verdict.VERDICT_PASS
        jobs.append((record, layouts.ActionSet(slots=slots), 1))
    await agrees(dut, jobs, table)


@cocotb.test()
async def a_second_table_goes_on_where_the_first_left_off(dut):
    await reset(dut)
    table = await load_edit_data(dut)
    records = [random_record() for _ in range(300)]
    for _ in range(3):
        sets = [random_actions() for _ in records]
        jobs = [(r.to_int(), s.to_int(), 1) for r, s in zip(records, sets, strict=True)]
        for record, action_set in zip(records, sets, strict=True):
            actions.execute(record, action_set, table)
        assert [got for _, got in await run(dut, jobs)] == [record.to_int() for record in records]


def random_packet():
    """An IP packet with right checksums."""
    port = lambda: random.randrange(1, 65536)  # noqa: E731
    payload = Raw(random.randbytes(random.randrange(20)))
    if random.random() < 0.5:
        ip = IP(
            src=str(IPv4Address(random.getrandbits(32))),
            dst=str(IPv4Address(random.getrandbits(32))),
            ttl=random.randrange(2, 256),
            tos=random.randrange(256),
            id=port(),
        )
        l4 = random.choice([TCP(sport=port(), dport=port()), UDP(sport=port(), dport=port()), ICMP()])
    else:
        src, dst = (str(IPv6Address(random.getrandbits(128))) for _ in range(2))
        ip = IPv6(src=src, dst=dst, hlim=random.randrange(2, 256), tc=random.randrange(256))
        l4 = random.choice([TCP(sport=port(), dport=port()), UDP(sport=port(), dport=port()), ICMPv6EchoRequest()])
    return type(ip)(bytes(ip / l4 / payload))


def l4_layer(packet):
    return next(packet[kind] for kind in (TCP, UDP, ICMP, ICMPv6EchoRequest) if kind in packet)


def checksum_field(layer) -> str:
    return "cksum" if isinstance(layer, ICMPv6EchoRequest) else "chksum"


def record_of(packet) -> layouts.PhvRecord:
    record = layouts.PhvRecord()
    ipv4 = IP in packet
    raw = bytes(packet)
    record.info.l3_kind = L3Kind.L3_IPV4 if ipv4 else L3Kind.L3_IPV6
    start_at, size = (12, 4) if ipv4 else (8, 16)
    record.phv.ip_src = int.from_bytes(raw[start_at : start_at + size])
    record.phv.ip_dst = int.from_bytes(raw[start_at + size : start_at + 2 * size])
    record.phv.ip_tos, record.phv.ip_ttl = (packet.tos, packet.ttl) if ipv4 else (packet.tc, packet.hlim)
    layer = l4_layer(packet)
    kinds = {TCP: L4Kind.L4_TCP, UDP: L4Kind.L4_UDP, ICMP: L4Kind.L4_ICMP, ICMPv6EchoRequest: L4Kind.L4_ICMPV6}
    record.info.l4_kind = kinds[type(layer)]
    if isinstance(layer, TCP | UDP):
        record.phv.l4_src, record.phv.l4_dst = layer.sport, layer.dport
    return record


def rewritten(packet, record: layouts.PhvRecord):
    """The packet with the fields of the record and checksums computed anew by scapy."""
    packet = packet.copy()
    if IP in packet:
        packet.src, packet.dst = (str(IPv4Address(n)) for n in (record.phv.ip_src, record.phv.ip_dst))
        packet.tos, packet.ttl = record.phv.ip_tos, record.phv.ip_ttl
        del packet.chksum
    else:
        packet.src, packet.dst = (str(IPv6Address(n)) for n in (record.phv.ip_src, record.phv.ip_dst))
        packet.tc, packet.hlim = record.phv.ip_tos, record.phv.ip_ttl
    layer = l4_layer(packet)
    if isinstance(layer, TCP | UDP):
        layer.sport, layer.dport = record.phv.l4_src, record.phv.l4_dst
    delattr(layer, checksum_field(layer))
    return type(packet)(bytes(packet))


def patched(checksum: int, delta: int, udp: bool) -> int:
    total = (~checksum & 0xFFFF) + delta
    result = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    return 0xFFFF if udp and result == 0 else result


@cocotb.test()
async def deltas_give_the_checksums_of_real_packets(dut):
    await reset(dut)
    table = await load_edit_data(dut)
    fields = [Field.FIELD_IP_SRC, Field.FIELD_IP_DST, Field.FIELD_IP_TOS, Field.FIELD_L4_SRC, Field.FIELD_L4_DST]
    packets, jobs = [], []
    for _ in range(200):
        packets.append(random_packet())
        slots = [Opcode.ACTION_SUB << 24, Opcode.ACTION_CHECKSUM << 24]
        for _ in range(random.randrange(6)):
            opcode = random.choice([Opcode.ACTION_SET, Opcode.ACTION_SET_LONG])
            slots.append(opcode << 24 | random.choice(fields) << 20 | random.getrandbits(16))
        random.shuffle(slots)
        jobs.append((record_of(packets[-1]).to_int(), sum(slot << 32 * n for n, slot in enumerate(slots)), 1))
    out = await run(dut, jobs)
    assert table and len(out) == len(packets)
    for packet, (_, number) in zip(packets, out, strict=True):
        record = layouts.PhvRecord.from_int(number)
        fresh = rewritten(packet, record)
        assert record.edits.checksums == 1
        if IP in packet:
            assert patched(packet.chksum, record.edits.ip_delta, False) == fresh.chksum
        old, new = l4_layer(packet), l4_layer(fresh)
        name = checksum_field(old)
        assert patched(getattr(old, name), record.edits.l4_delta, isinstance(old, UDP)) == getattr(new, name)
