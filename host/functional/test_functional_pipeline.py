# SPDX-License-Identifier: Apache-2.0
"""The programmable pipeline of the functional device beside its model: random programs, loaded as any other, with real headers,
broken ones and noise. What leaves, its metadata and its order must be equal."""

from __future__ import annotations

import functools
import os
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
import sluice_layouts as L
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from compiler.pipeline.actions import Operation, action, set_words
from compiler.pipeline.parser_program import DeparserProgram, Entry, HeaderProgram, ParserProgram, ProgramError, read
from compiler.pipeline.pipeline_image import PipelineProgram
from compiler.pipeline.unit_image import NOTHING, UnitProgram
from elements.pipeline import test_el_pipeline as real
from elements.pipeline.test_default_parser import DEFAULT, PLACES, headers
from host.python.device import Device, Received
from host.python.pipeline import Overlay
from models.flow import key_of
from models.host import describe
from models.pipeline import Pipeline, model_of
from rtl.pipeline import test_sl_deparser as deparsers
from rtl.pipeline import test_sl_parser as parsers
from rtl.pipeline import test_sl_pipeline_rewrite as rewrites
from rtl.pipeline import test_sl_unit as units
from shell.sim.build import OVERLAY
from testing.device import run

SEED = 20261124
MINUTES = float(os.environ.get("SLUICE_FUZZ_MINUTES", "0"))
TURNS = int(40 + 400 * MINUTES)
LANES = OVERLAY["lanes"]
SIZE = {**OVERLAY, "host_queues": 0}
UNITS = 3
HEADERS = read(DEFAULT)
LINK = Ether(src="02:00:00:00:00:0a", dst="02:00:00:00:00:0b")
Shown = tuple[bytes, int, int, int, int, int, int]  # what the host is told of a packet, but when it came
Leaves = tuple[list[Shown], list[list[bytes]]]  # to the host; out of each lane


@pytest.fixture
def device() -> Iterator[Device]:
    with Device({**SIZE, "pipeline_units": UNITS}, transport="functional") as opened:
        opened.call("sluice_device_set_lossless", 1)
        yield opened


def some_program() -> PipelineProgram:
    """A filter and a router of real headers; or anything, mostly nothing that anybody wants."""
    draw = random.Random(random.getrandbits(32))
    if draw.random() < 0.3:
        return replace(real.some_program(draw), headers=HEADERS)
    deparser = deparsers.some_program()
    for _, rows in deparser.checksums:
        for row in rows.values():
            row.container %= L.PIPELINE_MARK  # the model takes the mark before checksums are repaired, the RTL after
    if draw.random() < 0.5:
        header_program = replace(HEADERS, deparser=draw.choice([HEADERS.deparser, deparser]))
    else:
        header_program = HeaderProgram(parsers.some_program(L.PARSER_STAGES, None), deparser, {})
    splices = tuple(rewrites.some_row(draw.randrange(16), draw.choice([0, 1, 2, draw.randrange(64)])) for _ in range(L.SPLICES - 1))
    some_units = tuple(units.some_program(draw.random() < 0.5, NOTHING) for _ in range(draw.randrange(4)))
    return in_passes(PipelineProgram(header_program, some_units, splices))


def in_passes(program: PipelineProgram) -> PipelineProgram:
    """With passes that the loader takes."""

    def asking(number: int, done: L.UnitAction) -> L.UnitAction:
        return replace(done, again=random.choice([0, 0, *range(number + 1, len(program.units))]))

    return replace(
        program,
        units=tuple(
            replace(
                unit,
                entries=tuple(replace(entry, action=asking(number, entry.action)) for entry in unit.entries),
                miss=asking(number, unit.miss),
            )
            for number, unit in enumerate(program.units)
        ),
    )


@functools.cache
def whole_packets() -> list[bytes]:
    return [data for data, _ in headers(random.Random(SEED))]


def some_packets(count: int) -> list[bytes]:
    """Of every stack of headers, whole, cut and damaged; and of the words that random programs look for."""
    packets = []
    for _ in range(count):
        data = bytearray(random.choice(whole_packets()))
        if random.random() < 0.3:
            size = random.choice([14, 15, 60, 61, 128, 191, 192, 193, 1500])
            data = bytearray(b"".join(random.choice(parsers.ALPHABET).to_bytes(2, "big") for _ in range(size // 2 + 1))[:size])
        elif random.random() < 0.3:
            data = data[: random.randrange(14, len(data) + 1)]
        while random.random() < 0.3:
            data[random.randrange(min(len(data), 80))] = random.choice([0, 6, 17, 0x45, 0x60, 0xFF, random.randrange(256)])
        packets.append(bytes(data))
    return packets


def shown(one: Received) -> Shown:
    return (one.data, one.ingress_port, one.verdict, one.fault, one.mark, one.egress_mask, one.queue)


def found(device: Device, port: int, sent: Sequence[bytes]) -> Leaves:
    host, out = run(device, {port: sent})
    return [shown(one) for one in host], [out[lane] for lane in range(LANES)]


def expected(model: Pipeline, port: int, sent: Sequence[bytes], seen: Counter[str], tick: int = 0) -> Leaves:
    host: list[Shown] = []
    out: list[list[bytes]] = [[] for _ in range(LANES)]
    lengths = {len(packet) for packet in sent}
    by_packet = [[*model.passes(packet, port, tick)] for packet in sent]
    seen["passes"] += sum(len(passes) - 1 for passes in by_packet)
    seen["dropped"] += sum(passes[-1].left is None for passes in by_packet)
    for data, meta in (one.left for passes in by_packet for one in passes if one.left is not None):
        seen["spliced"] += len(data) not in lengths
        seen["changed"] += data not in sent
        seen[L.Verdict(meta.verdict).name] += 1
        seen[L.Fault(meta.fault).name] += 1
        for lane in range(LANES):
            if meta.verdict == L.VERDICT_FORWARD and meta.egress_mask >> lane & 1:
                out[lane].append(data)
        if meta.verdict in (L.VERDICT_TO_HOST, L.VERDICT_TO_CONTROLLER) or meta.egress_mask >> L.HOST_PORT & 1:
            host.append((data, port, meta.verdict, meta.fault, meta.mark, meta.egress_mask, meta.queue))
    return host, out


def draw_anew() -> None:
    """The same every time; in `make fuzz` something else, by a seed that is printed."""
    seed = random.SystemRandom().getrandbits(32) if MINUTES else SEED
    print(f"seed {seed}")
    random.seed(seed)


@pytest.mark.fuzz
def test_random_programs_do_what_the_model_does(device: Device) -> None:
    draw_anew()
    overlay, seen = Overlay(device), Counter[str]()
    program = PipelineProgram(HEADERS, ())
    overlay.load(program)
    for turn in range(TURNS):
        wanted = some_program()
        try:
            overlay.load(wanted)
            program = wanted
        except ProgramError:  # no place beside the one that runs, which goes on
            seen["refused"] += 1
        sent, port = some_packets(100), turn % LANES
        assert found(device, port, sent) == expected(model_of(program), port, sent, seen), turn
    graph = device.counters("graph")
    assert (graph.forwarded_packets, graph.drop_rule + graph.drop_no_port) == (seen["VERDICT_FORWARD"], seen["dropped"])
    assert device.read(overlay.window + L.PIPELINE_REGISTERS_PASSES) == seen["passes"]
    faults = ("NONE", "TRUNCATED", "CHAIN", "PROGRAM", "TAGS")
    assert min(seen[f"FAULT_{name}"] for name in faults) > 20 and seen["FAULT_NONE"] > 500, seen
    assert min(seen[name] for name in ("changed", "spliced", "dropped", "VERDICT_FORWARD", "passes")) > 50, seen
    assert device.read(overlay.window + L.PIPELINE_REGISTERS_LOOKED_UP + 4) > 100, "by the second unit"


def test_the_host_is_told_of_the_packet_that_it_gets() -> None:
    with Device({**SIZE, "host_queues": 4}, transport="functional") as device:
        rewritten = [Operation(PLACES["ip4_ttl"][0], L.OPERATOR_XOR, 6 ^ 17, mask=0xFF), *set_words(PLACES["l4_dst"], 80)]
        miss = action(rewritten, verdict=L.VERDICT_TO_CONTROLLER, queue=L.CHOSEN_QUEUE + 3)
        Overlay(device).load(PipelineProgram(HEADERS, (UnitProgram(L.UnitSelector(), (), miss),)))
        host, _ = run(device, {2: whole_packets()})
        assert len(host) == len(whole_packets())
        assert {one.info.receive_queue for one in host if one.info} == {0, 3}, "packets with a fault are for queue 0"
        for one in host:
            key = key_of(2, one.data)
            assert one.info == describe(one.data, None, one.queue, 4)
            assert one.key == (key and key.pack().ljust(L.BUFFER_KEY_SIZE, b"\0"))


def test_a_checksum_that_becomes_0_or_covers_no_change_is_as_the_model_says(device: Device) -> None:
    """The action sets the UDP source port to what makes the checksum 0; or to what it was, where the checksum is 0 or all ones."""
    seen = Counter[str]()
    for checksum, port, other in ((0x1234, 1000, 0x1234 + 1000), (0xFFFF, 7, 7), (0, 7, 9), (0xFFFF, 0, 0xFFFF), (1, 2, 9)):
        rewritten = set_words(PLACES["l4_src"], other)
        program = PipelineProgram(HEADERS, (UnitProgram(L.UnitSelector(), (), action(rewritten, verdict=L.VERDICT_TO_HOST)),))
        packet = LINK / IP(src="10.0.0.1", dst="10.0.0.2", chksum=checksum) / UDP(sport=port, chksum=checksum) / bytes(20)
        Overlay(device).load(program)
        assert found(device, 0, [bytes(packet)]) == expected(model_of(program), 0, [bytes(packet)], seen), (checksum, port)
    assert seen["changed"] == 4, seen


def test_a_step_may_end_with_the_packet_and_with_the_window(device: Device) -> None:
    """Headers of 61 words and up to 7 more, as the first word says; of 2 words; and one that needs words. Its word 31 is written,
    as far as the window goes, with a container that holds 0."""
    row = L.DeparserRow([L.ParserExtract(1, 31), *(L.ParserExtract() for _ in range(L.PARSER_SLOTS - 1))])
    seen, farthest = Counter[str](), L.WINDOW_BYTES // 2
    for needs in (farthest - 64, farthest - 63, farthest - 62):
        long = L.ParserStep(length_mask=7, length_scale=16, advance=61, state=2)
        entries = [
            Entry(L.ParserKey([0, 0], state, 0), L.ParserKey([0, 0], 127, 0), step)
            for state, step in enumerate([long, L.ParserStep(advance=2, state=3), L.ParserStep(needs=needs - 2, has_base=1)], 1)
        ]
        parser = ParserProgram(L.ParserStart([0, 0], 1), (*((entry,) for entry in entries), *((),) * (L.PARSER_STAGES - 3)))
        program = PipelineProgram(HeaderProgram(parser, DeparserProgram(((0, {0: row}),)), {}), ())
        Overlay(device).load(program)
        ends = [2 * (61 + more) for more in range(8)] + [2 * (61 + more + needs) for more in range(8)]
        sent = [
            more.to_bytes(2, "big") + b"\xff" * (size - 2)
            for more in range(8)
            for end in ends
            for size in (end - 1, end, end + 1, end + 62, 256)
        ]
        assert found(device, 0, sent) == expected(model_of(program), 0, sent, seen), needs
    assert min(seen[f"FAULT_{name}"] for name in ("NONE", "TRUNCATED", "WINDOW")) > 50 and seen["changed"] > 50, seen
