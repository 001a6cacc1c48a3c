# SPDX-License-Identifier: Apache-2.0
"""el_deparse: every packet byte by byte as the model makes it, for any record and any template; tunnels as scapy makes them; one
flit a cycle of the busier side."""

import itertools
import random
from collections import Counter

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from scapy.contrib.geneve import GENEVE, GeneveOptions
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrRouting
from scapy.layers.l2 import GRE, Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet, Raw
from sluice_layouts import (
    DATA_BYTES,
    DEPARSE_REGISTERS,
    DEPARSE_REGISTERS_TEMPLATE_BYTES,
    DEPARSE_REGISTERS_TEMPLATE_INDEX,
    DEPARSE_REGISTERS_TEMPLATE_INFO,
    FIELDS,
    TABLE_MASK_BITS,
    TEMPLATE_BYTES,
    TEMPLATES,
    Action,
    ActionSet,
    DropCause,
    Field,
    Flit,
    L3Kind,
    L4Kind,
    Meta,
    Opcode,
    PhvRecord,
    RegisterRequest,
    RegisterResponse,
    TemplateInfo,
    Verdict,
)

from models.actions import execute
from models.packet import Outcome, deparse, from_flits, parse, to_flits
from models.template import Template, entropy, template
from models.traffic import malformed, meta_of, well_formed
from testing.cocotb.channel import Sink, Source, stalls, start
from testing.cocotb.registers import check_window
from testing.coverage import Coverage
from toolchain.simulate import simulate

EVENTS = ("forwarded", "to_host", "drop_rule", "drop_ttl", "drop_no_port", "fault", "not_eligible", "miss", "not_stripped")
Job = tuple[bytes, Meta, PhvRecord]
MACS: dict[str, str] = {"dst": "02:00:00:00:00:11", "src": "02:00:00:00:00:12"}
OPTIONS = [GeneveOptions(classid=0x102, type=1, data=b"\1\2\3\4"), GeneveOptions(classid=0x103, type=2, data=bytes(range(8)))]


SHIFTS = [f"{tags:+} tags{strip}{front}" for tags in range(-2, 3) for strip in ("", " stripped") for front in ("", " in front")]
SEEN = Coverage(
    "deparser",
    {
        "what is done": SHIFTS,
        "flits more or less": [f"{n:+}" for n in range(-3, 4)],
        "field written": [f"{field.name[6:]} of {kind.name[3:]}" for field in Field for kind in L3Kind],
        "what becomes of it": [*EVENTS, "to the controller"],
        "bytes in the last flit": [str(n) for n in range(1, DATA_BYTES + 1)],
    },
)


def see(job: Job, outcome: Outcome) -> None:
    """Count a packet that came out right."""
    if not SEEN.on:
        return
    packet, _, record = job
    edits = record.edits
    for name in outcome.events:
        SEEN.see("what becomes of it", name)
    if outcome.meta.verdict == Verdict.VERDICT_TO_CONTROLLER:
        SEEN.see("what becomes of it", "to the controller")
    if outcome.data is None or not outcome.events & {"forwarded"}:
        return
    SEEN.see(
        "what is done",
        f"{edits.pushed - edits.popped:+} tags{' stripped' * edits.strip_outer}{' in front' * edits.encapsulate}",
    )
    SEEN.see("flits more or less", f"{-(-len(outcome.data) // DATA_BYTES) - -(-len(packet) // DATA_BYTES):+}")
    SEEN.see("bytes in the last flit", str((len(outcome.data) - 1) % DATA_BYTES + 1))
    for field in Field:
        if edits.dirty >> field & 1:
            SEEN.see("field written", f"{field.name[6:]} of {L3Kind(record.info.l3_kind).name[3:]}")


def test_el_deparse() -> None:
    simulate("el_deparse", __file__)


def hit(record: PhvRecord) -> PhvRecord:
    """The record as the tables leave it after a hit that forwards."""
    record.eligible, record.required, record.hits = 1, 1, 1
    record.verdict, record.egress_mask = Verdict.VERDICT_FORWARD, 1 << random.randrange(7)
    return record


def tunnels(network_id: int, source_port: int) -> list[Packet]:
    """The outer headers of every kind of tunnel, as scapy makes them."""
    udp = {"sport": source_port, "chksum": 0}
    gre = {"proto": 0x6558}
    heads = [
        UDP(dport=4789, **udp) / VXLAN(flags=8, vni=network_id),
        UDP(dport=6081, **udp) / GENEVE(vni=network_id, proto=0x6558),
        UDP(dport=6081, **udp) / GENEVE(vni=network_id, proto=0x6558, options=OPTIONS),
        GRE(key_present=1, key=network_id << 8 | 0x5A, **gre),
        GRE(**gre),
    ]
    found: list[Packet] = []
    for head in heads:
        number = {} if UDP in head else {"proto": 47}
        found.append(Ether(**MACS) / IP(src="192.0.2.1", dst="192.0.2.7", ttl=64, id=0, flags="DF", **number) / head)
        next_header = {} if UDP in head else {"nh": 47}
        found.append(Ether(**MACS) / Dot1Q(vlan=9) / IPv6(src="2001:db8::1", dst="2001:db8::7", **next_header) / head)
    return found


def with_outer(packet: bytes, meta: Meta, record: PhvRecord) -> tuple[bytes, Meta]:
    """The packet as if it had come in a tunnel: its record says how much stands in front of it."""
    record.info.outer_length = random.choice((2, 34, 50, 54, 62, 64, 66, 70, 122, 126, 2 * random.randint(1, 63)))
    record.length = meta.length = len(packet) + record.info.outer_length
    return random.randbytes(record.info.outer_length) + packet, meta


def with_random_edits(packet: bytes) -> Job:
    """A packet and a record with any edits that its headers allow, and any verdict."""
    meta = meta_of(packet)
    record = hit(parse(packet, meta))
    phv, edits = record.phv, record.edits
    if random.random() < 0.4:
        packet, meta = with_outer(packet, meta, record)
        edits.strip_outer = int(random.random() < 0.8)
    if random.random() < 0.4:
        edits.encapsulate, edits.template_index = 1, random.randrange(TEMPLATES)
        edits.write_tunnel_id, phv.tunnel_id = random.getrandbits(1), random.getrandbits(24)
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
        self.templates: dict[int, Template] = {}

    async def start(self) -> None:
        self.dut.reg_request_valid_i.value = 0
        await start(self.dut)
        cocotb.start_soon(self._count())

    async def access(self, address: int, value: int | None = None) -> RegisterResponse:
        """One register access; the answer comes once."""
        dut = self.dut
        dut.reg_request_i.value = RegisterRequest(write=int(value is not None), address=address, data=value or 0).to_int()
        dut.reg_request_valid_i.value = 1
        while True:
            await ReadOnly()
            taken = dut.reg_request_ready_o.value == 1
            await RisingEdge(dut.clk_i)
            if taken:
                break
        dut.reg_request_valid_i.value = 0
        await ReadOnly()
        assert dut.reg_response_valid_o.value == 1
        response = RegisterResponse.from_int(int(dut.reg_response_o.value))
        await RisingEdge(dut.clk_i)
        return response

    async def store(self, index: int, what: Template) -> None:
        """Write a template; the bytes behind its end are random."""
        info = what.info.to_int()
        data = what.data + random.randbytes(TEMPLATE_BYTES - len(what.data))
        words = [(DEPARSE_REGISTERS_TEMPLATE_BYTES + n, int.from_bytes(data[n : n + 4], "little")) for n in range(0, len(data), 4)]
        words += [(DEPARSE_REGISTERS_TEMPLATE_INFO + 4 * n, info >> 32 * n & 0xFFFFFFFF) for n in range(2)]
        for address, value in words:
            assert not (await self.access(address, value)).error
            assert (await self.access(address)).data == value
        assert not (await self.access(DEPARSE_REGISTERS_TEMPLATE_INDEX, index)).error
        if what.data:
            self.templates[index] = what
        else:
            self.templates.pop(index, None)

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
        return [deparse(*job, self.templates) for job in jobs]

    async def check(self, jobs: list[Job]) -> None:
        self.events.clear()
        self.out.received.clear()
        outcomes = self.send(jobs)
        left = [o for o in outcomes if o.data is not None]
        flits = sum(len(to_flits(o.data, o.meta)) for o in left)
        received = from_flits(Flit.from_int(w) for w in await self.out.wait_for(flits))
        for got, expected in zip(received, left, strict=True):
            assert got.data == expected.data, f"\n{got.data.hex()}\n{expected.data.hex()}"
            assert (got.meta, got.error) == (expected.meta, expected.error)
        while self.packets.queue or self.records.queue:
            await RisingEdge(self.dut.clk_i)
        for _ in range(20):
            await RisingEdge(self.dut.clk_i)
        assert len(self.out.received) == flits
        assert self.events == Counter(name for o in outcomes for name in o.events)
        for job, outcome in zip(jobs, outcomes, strict=True):
            see(job, outcome)


async def bench(dut, stall: float = 0.2) -> Bench:
    made = Bench(dut, stall)
    await made.start()
    return made


def random_template() -> Template:
    """Any bytes with any repair, also behind their end."""
    data = random.randbytes(random.choice((2, 4, 14, 50, 62, 64, 66, 126, 128, 2 * random.randint(1, 64))))
    info = TemplateInfo.from_int(random.getrandbits(TemplateInfo.BITS))
    info.size, info.ip_sum = len(data), random.randrange(1, 65536)
    return Template(data, info)


@cocotb.test()
async def applies_any_edits(dut):
    made = await bench(dut)
    for index in random.sample(range(TEMPLATES), 200):
        await made.store(index, random_template())
    await made.check([with_random_edits(p) for p in well_formed() for _ in range(12)])


@cocotb.test()
async def takes_three_flits_away_with_the_longest_tunnel_and_two_tags(dut):
    made = await bench(dut)
    base = next(p for p in well_formed() if parse(p, meta_of(p)).info.tags == 2)
    outer_length, tags = 126, 8
    jobs = []
    for size in range(DATA_BYTES - 2, DATA_BYTES + tags + 4):
        packet = base[:60].ljust(size, b"\1")
        record = hit(parse(base, Meta(length=len(base))))
        record.fault, record.info.outer_length, record.length = 0, outer_length, size + outer_length
        record.edits.strip_outer, record.edits.popped, record.edits.tags = 1, 2, 0
        jobs.append((random.randbytes(outer_length) + packet, Meta(length=record.length), record))
    fewer = {-(-len(job[0]) // DATA_BYTES) - -(-len(deparse(*job).data) // DATA_BYTES) for job in jobs}
    assert fewer == {2, 3}
    await made.check(jobs)


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


@cocotb.test()
async def a_checksum_of_0_is_sent_as_ffff_in_udp_alone(dut):
    made = await bench(dut, 0)
    jobs, sums = [], Counter()
    for packet in well_formed():
        record = hit(parse(packet, meta_of(packet)))
        kind = L4Kind(record.info.l4_kind)
        if kind not in (L4Kind.L4_TCP, L4Kind.L4_UDP, L4Kind.L4_ICMPV6) or not record.info.l4_checksum:
            continue
        record.edits.checksums, record.edits.l4_delta = 1, record.info.l4_checksum
        job = (packet, meta_of(packet), record)
        at = next(n for n in range(len(packet)) if deparse(*job).data[n] != packet[n])
        sums[kind, deparse(*job).data[at & ~1 : (at & ~1) + 2]] += 1
        jobs.append(job)
    zero, ones = bytes(2), b"\xff\xff"
    assert set(sums) == {(L4Kind.L4_UDP, ones), (L4Kind.L4_TCP, zero), (L4Kind.L4_ICMPV6, zero)}
    await made.check(jobs)


@cocotb.test()
async def a_bad_packet_stays_bad_wherever_its_last_flit_goes(dut):
    made = await bench(dut)
    base = next(p for p in well_formed() if len(p) >= 60 and p[12:14] == b"\x81\x00")
    sent = []
    for size in (*range(60, 72), *range(120, 136), 300):
        for pushed, popped, bad in itertools.product((0, 1), (0, 1), (0, 1)):
            packet, meta = base[:60].ljust(size, b"\1"), Meta(length=size)
            record = hit(parse(base, Meta(length=len(base))))
            record.fault, record.length = 0, size
            record.edits.pushed, record.edits.popped = pushed, popped
            record.edits.tags += pushed - popped
            made.packets.send(*(flit.to_int() for flit in to_flits(packet, meta, bool(bad))))
            made.records.send(record.to_int())
            sent.append((size + 4 * (pushed - popped), bad))
    flits = sum(-(-size // DATA_BYTES) for size, _ in sent)
    received = from_flits(Flit.from_int(word) for word in await made.out.wait_for(flits))
    assert [(len(one.data), one.error) for one in received] == sent


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


def inner(size: int) -> bytes:
    """A UDP packet of this size (28 or more)."""
    ports = {"sport": random.getrandbits(16), "dport": random.getrandbits(16)}
    ip = (
        IP(src=f"10.0.0.{random.randrange(256)}", dst="10.1.0.1") if size < 62 or random.random() < 0.5 else IPv6(dst="2001:db8::9")
    )
    head = Ether(src="02:00:00:00:00:21", dst="02:00:00:00:00:22") / ip / UDP(**ports)
    return bytes(head / Raw(random.randbytes(size - len(head))))


@cocotb.test()
async def encapsulates_and_decapsulates_as_scapy_does(dut):
    made = await bench(dut)
    count = len(tunnels(0, 0))
    for index, header in enumerate(tunnels(0, 0)):
        await made.store(index, template(bytes(header)))
    jobs, wanted = [], []
    for size in (*range(60, 201), 576, 1023, 1024, 1025, 1514):
        packet, index = inner(size), random.randrange(count)
        record = hit(parse(packet, Meta(length=size)))
        record.edits.encapsulate = record.edits.write_tunnel_id = 1
        record.edits.template_index, record.phv.tunnel_id = index, random.getrandbits(24)
        carried = bytes(tunnels(record.phv.tunnel_id, entropy(record.phv))[index] / Raw(packet))
        jobs.append((packet, Meta(length=size), record))
        wanted.append(carried)
        back = hit(parse(packet, Meta(length=size)))
        back.info.outer_length, back.edits.strip_outer, back.length = len(carried) - size, 1, len(carried)
        jobs.append((carried, Meta(length=len(carried)), back))
        wanted.append(packet)
    assert [deparse(*job, made.templates).data for job in jobs] == wanted
    await made.check(jobs)


@cocotb.test()
async def moves_a_flit_every_cycle_on_the_busier_side(dut):
    made = await bench(dut, 0)
    base = next(p for p in well_formed() if len(p) >= 100 and p[12:14] == b"\x81\x00")
    for index, size in enumerate((4, 50, 70, 128)):
        await made.store(index, Template(random.randbytes(size), TemplateInfo(size=size)))
    edits = [(pushed, popped, 0, None) for pushed, popped in ((0, 0), (1, 0), (0, 1))]
    edits += [(0, 0, 0, index) for index in range(4)] + [(0, 0, outer, None) for outer in (38, 50, 64, 70, 126)] + [(1, 0, 50, 2)]
    for size, count in ((60, 300), (61, 200), (64, 200), (66, 200), (124, 150), (128, 150), (132, 100), (1514, 20)):
        for pushed, popped, outer, index in edits:
            record = hit(parse(base, Meta(length=len(base))))
            record.fault, record.length = 0, size + outer
            record.edits.pushed, record.edits.popped = pushed, popped
            record.edits.tags += pushed - popped
            record.edits.dirty, record.edits.checksums = 0b100000011, 1
            record.info.outer_length, record.edits.strip_outer = outer, int(outer > 0)
            record.edits.encapsulate, record.edits.template_index = int(index is not None), index or 0
            job = (bytes(outer) + base[:60].ljust(size, b"\1"), Meta(length=size + outer), record)
            made.out.received.clear()
            flits = len(to_flits(*job[:2]))
            outcome = deparse(*job, made.templates)
            expected = [f.to_int() for f in to_flits(outcome.data, outcome.meta)]
            made.send([job] * count)
            cycles = 0
            while len(made.out.received) < len(expected) * count:
                await RisingEdge(dut.clk_i)
                cycles += bool(made.out.received)
            rate = max(flits, len(expected)) * count / cycles
            dut._log.info(f"{size} bytes, {pushed} tags inserted, {popped} removed, {outer} outer, template {index}: {rate:.4f}")
            assert rate >= 0.985
            assert made.out.received == expected * count


@cocotb.test()
async def answers_every_register_access(dut):
    made = await bench(dut)
    await check_window(made.access, DEPARSE_REGISTERS, values={})
    for size, index, refused in (
        (2, 0, 0),
        (128, 255, 0),
        (3, 0, 1),
        (130, 0, 1),
        (255, 0, 1),
        (2, 256, 1),
        (2, 1 << 31, 1),
        (0, 0, 0),
    ):
        await made.access(DEPARSE_REGISTERS_TEMPLATE_INFO, TemplateInfo(size=size).to_int())
        assert (await made.access(DEPARSE_REGISTERS_TEMPLATE_INDEX, index)).error == refused


@cocotb.test()
async def marks_packets_whose_template_is_not_there_and_goes_on(dut):
    made = await bench(dut)
    packet = inner(100)
    record = hit(parse(packet, Meta(length=100)))
    record.edits.encapsulate, record.edits.template_index = 1, 7
    job = (packet, Meta(length=100), record)
    assert deparse(*job, made.templates).error
    await made.check([job, with_random_edits(packet), job])
    await made.store(7, template(bytes(tunnels(0, 0)[0])))
    assert not deparse(*job, made.templates).error
    await made.check([job] * 3)
    await made.store(7, Template(b"", TemplateInfo()))
    await made.check([job] * 3)


@cocotb.test()
async def a_template_changes_between_two_packets_and_never_inside_one(dut):
    made = await bench(dut, 0)
    packet = bytes(20)
    record = hit(parse(packet, Meta(length=20)))
    record.fault, record.edits.encapsulate, record.edits.template_index = 0, 1, 3
    made.out.stall = stalls(0)
    versions = [Template(bytes([n]) * 30, TemplateInfo(size=30)) for n in range(1, 20)]
    await made.store(3, versions[0])
    job = (packet, Meta(length=20), record)
    running = True

    async def feed() -> None:
        while running:
            if len(made.packets.queue) < 10:
                made.packets.send(*(f.to_int() for f in to_flits(*job[:2])))
                made.records.send(record.to_int())
            else:
                await RisingEdge(dut.clk_i)

    task = cocotb.start_soon(feed())
    for version in versions[1:]:
        await made.store(3, version)
    running = False
    await task
    await made.packets.drained()
    for _ in range(60):
        await RisingEdge(dut.clk_i)
    found = [one.data for one in from_flits(Flit.from_int(word) for word in made.out.received)]
    assert len(found) > 1000, "a packet in nearly every cycle"
    changes = [after for before, after in itertools.pairwise(found) if before != after]
    assert [found[0], *changes] == [version.data + packet for version in versions]


@cocotb.test()
async def waits_for_late_records_without_losing_a_flit(dut):
    made = await bench(dut, 0)
    packet = well_formed()[0].ljust(60, b"\0")
    jobs = [with_random_edits(packet) for _ in range(400)]
    made.records.stall = stalls(0.9)
    await made.check(jobs)
