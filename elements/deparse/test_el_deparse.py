# SPDX-License-Identifier: Apache-2.0
"""el_deparse: every packet byte by byte as the model makes it, for any record; one flit a cycle of the busier side."""

import random
from collections import Counter

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from scapy.layers.inet6 import IPv6ExtHdrRouting
from scapy.layers.l2 import Ether
from sluice_layouts import (
    FIELDS,
    TABLE_MASK_BITS,
    Action,
    ActionSet,
    DropCause,
    Field,
    Flit,
    Meta,
    Opcode,
    PhvRecord,
    Verdict,
)

from testing.cocotb.channel import Sink, Source, stalls, start
from testing.models.actions import execute
from testing.models.packet import Outcome, deparse, from_flits, parse, to_flits
from testing.models.traffic import malformed, meta_of, well_formed
from testing.simulate import simulate

EVENTS = ("forwarded", "to_host", "drop_rule", "drop_ttl", "drop_no_port", "fault", "not_eligible", "miss")
Job = tuple[bytes, Meta, PhvRecord]


def test_el_deparse() -> None:
    simulate("el_deparse", __file__)


def hit(record: PhvRecord) -> PhvRecord:
    """The record as the tables leave it after a hit that forwards."""
    record.eligible, record.required, record.hits = 1, 1, 1
    record.verdict, record.egress_mask = Verdict.VERDICT_FORWARD, 1 << random.randrange(7)
    return record


def with_random_edits(packet: bytes) -> Job:
    """A packet and a record with any edits that its headers allow, and any verdict."""
    meta = meta_of(packet)
    record = hit(parse(packet, meta))
    phv, edits = record.phv, record.edits
    edits.popped = random.randint(0, record.info.tags)
    edits.pushed = random.randint(0, 2 - record.info.tags + edits.popped)
    edits.tags = record.info.tags - edits.popped + edits.pushed
    edits.dirty = random.choice((0, 1, 1 << random.randrange(FIELDS), random.getrandbits(FIELDS)))
    edits.service_tag, edits.checksums = random.getrandbits(2), random.getrandbits(1)
    edits.ip_delta, edits.l4_delta = (random.choice((0, 1, 0xFFFF, random.getrandbits(16))) for _ in range(2))
    for name, width in (("eth_dst", 48), ("eth_src", 48), ("eth_type", 16), ("vlan0_tci", 16), ("vlan1_tci", 16)):
        setattr(phv, name, random.getrandbits(width))
    for name, width in (("ip_src", 128), ("ip_dst", 128), ("ip_tos", 8), ("ip_ttl", 8), ("l4_src", 16), ("l4_dst", 16)):
        setattr(phv, name, random.getrandbits(width))
    record.mark, record.queue = random.getrandbits(32), random.getrandbits(4)
    if random.random() < 0.3:
        record.verdict, record.drop_cause = random.choice(list(Verdict)), random.choice(list(DropCause))
    if random.random() < 0.2:
        record.eligible = random.getrandbits(1)
        record.required, record.hits = random.getrandbits(TABLE_MASK_BITS), random.getrandbits(TABLE_MASK_BITS)
    if random.random() < 0.05:
        record.egress_mask = 0
    return packet, meta, record


def with_random_actions(packet: bytes) -> Job:
    """A packet and its record after a random action set with CHECKSUM and an output."""
    meta = meta_of(packet)
    record = hit(parse(packet, meta))
    changes = (
        Opcode.ACTION_SUB,
        Opcode.ACTION_SET,
        Opcode.ACTION_SET,
        Opcode.ACTION_SET_LONG,
        Opcode.ACTION_INSERT_VLAN,
        Opcode.ACTION_DELETE_VLAN,
    )
    slots = [Action(opcode=random.choice(changes), operand=random.getrandbits(24)) for _ in range(6)]
    slots += [Action(opcode=Opcode.ACTION_CHECKSUM), Action(opcode=Opcode.ACTION_OUTPUT, operand=random.randrange(7))]
    execute(record, ActionSet(slots=slots), [random.getrandbits(128) for _ in range(256)])
    return packet, meta, record


class Bench:
    """The element with its sources and sinks; `check` sends jobs and compares everything that comes out."""

    def __init__(self, dut, stall: float) -> None:
        self.dut = dut
        self.packets, self.records = Source(dut, "in", stalls(stall)), Source(dut, "phv", stalls(stall))
        self.out = Sink(dut, "out", stalls(stall))
        self.events: Counter[str] = Counter()

    async def start(self) -> None:
        await start(self.dut)
        cocotb.start_soon(self._count())

    async def _count(self) -> None:
        while True:
            await ReadOnly()
            bits = int(self.dut.event_o.value)
            self.events.update(name for n, name in enumerate(reversed(EVENTS)) if bits >> n & 1)
            await RisingEdge(self.dut.clk_i)

    def send(self, jobs: list[Job]) -> list[Outcome]:
        for packet, meta, record in jobs:
            self.packets.send(*(f.to_int() for f in to_flits(packet, meta)))
            self.records.send(record.to_int())
        return [deparse(*job) for job in jobs]

    async def check(self, jobs: list[Job]) -> None:
        self.events.clear()
        self.out.received.clear()
        outcomes = self.send(jobs)
        left = [o for o in outcomes if o.data is not None]
        flits = sum(len(to_flits(o.data, o.meta)) for o in left)
        received = from_flits(Flit.from_int(w) for w in await self.out.wait_for(flits))
        for got, expected in zip(received, left, strict=True):
            assert got.data == expected.data, f"\n{got.data.hex()}\n{expected.data.hex()}"
            assert got.meta == expected.meta
        while self.packets.queue or self.records.queue:
            await RisingEdge(self.dut.clk_i)
        for _ in range(20):
            await RisingEdge(self.dut.clk_i)
        assert len(self.out.received) == flits
        assert self.events == Counter(name for o in outcomes for name in o.events)


async def bench(dut, stall: float = 0.2) -> Bench:
    made = Bench(dut, stall)
    await made.start()
    return made


@cocotb.test()
async def applies_any_edits(dut):
    made = await bench(dut)
    await made.check([with_random_edits(p) for p in well_formed() for _ in range(12)])


@cocotb.test()
async def passes_malformed_packets_to_the_host_as_they_came(dut):
    made = await bench(dut)
    good, jobs = well_formed(), []
    for packet in malformed():
        record = parse(packet, meta_of(packet))
        if record.fault:
            record.edits.pushed, record.edits.tags, record.edits.dirty = 2, 2, random.getrandbits(FIELDS)
            jobs.append((packet, meta_of(packet), record))
        jobs.append(with_random_edits(random.choice(good)))
    await made.check(jobs)


@cocotb.test()
async def makes_right_checksums_after_any_actions(dut):
    made = await bench(dut, 0)
    jobs = [with_random_actions(p) for p in well_formed() for _ in range(8)]
    await made.check(jobs)
    outcomes = [deparse(*job) for job in jobs]
    compared = 0
    for (packet, _, record), outcome in zip(jobs, outcomes, strict=True):
        if outcome.data is None or record.info.is_fragment or record.edits.dirty >> Field.FIELD_ETH_TYPE & 1:
            continue
        if IPv6ExtHdrRouting in Ether(packet):  # the pseudo-header has the last address of the route
            continue
        if fresh_checksums(packet) == packet and bytes(Ether(outcome.data).build()) == outcome.data:
            assert fresh_checksums(outcome.data) == outcome.data, f"{packet.hex()}\n{outcome.data.hex()}"
            compared += 1
    assert compared > 300


def fresh_checksums(packet: bytes) -> bytes:
    """The packet with every checksum made anew by scapy (a UDP checksum of 0 stays)."""
    frame = Ether(packet)
    layer = frame
    while layer:
        if hasattr(layer, "chksum") and not (layer.name == "UDP" and layer.chksum == 0):
            del layer.chksum
        if hasattr(layer, "cksum"):
            del layer.cksum
        layer = layer.payload
    return bytes(frame)


@cocotb.test()
async def moves_a_flit_every_cycle_on_the_busier_side(dut):
    made = await bench(dut, 0)
    base = next(p for p in well_formed() if len(p) >= 100 and p[12:14] == b"\x81\x00")
    for size, count in ((60, 2000), (61, 1000), (64, 1000), (66, 1000), (124, 800), (128, 800), (132, 600), (1514, 80)):
        for pushed, popped in ((0, 0), (1, 0), (0, 1)):
            record = hit(parse(base, Meta(length=len(base))))
            record.fault, record.length = 0, size
            record.edits.pushed, record.edits.popped = pushed, popped
            record.edits.tags += pushed - popped
            record.edits.dirty, record.edits.checksums = 0b100000011, 1
            job = (base[:60].ljust(size, b"\1"), Meta(length=size), record)
            made.out.received.clear()
            flits = len(to_flits(*job[:2]))
            expected = [f.to_int() for f in to_flits(deparse(*job).data, deparse(*job).meta)]
            made.send([job] * count)
            cycles = 0
            while len(made.out.received) < len(expected) * count:
                await RisingEdge(dut.clk_i)
                cycles += bool(made.out.received)
            rate = max(flits, len(expected)) * count / cycles
            dut._log.info(f"{size} bytes, {pushed} tags inserted, {popped} removed: {rate:.4f} flits a cycle")
            assert rate >= 0.99
            assert made.out.received == expected * count


@cocotb.test()
async def waits_for_late_records_without_losing_a_flit(dut):
    made = await bench(dut, 0)
    packet = well_formed()[0].ljust(60, b"\0")
    jobs = [with_random_edits(packet) for _ in range(400)]
    made.records.stall = stalls(0.9)
    await made.check(jobs)
