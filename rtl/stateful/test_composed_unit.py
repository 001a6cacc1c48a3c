# SPDX-License-Identifier: Apache-2.0
"""sl_stateful_unit takes a packet of one flow a cycle, with programs whose updates compose; they leave the states that they leave
one packet after another, beside programs whose packets wait for each other."""

from __future__ import annotations

import random
from pathlib import Path

import cocotb
import pytest
import sluice_layouts as L
from cocotb.triggers import RisingEdge

from compiler.stateful.families import composition
from compiler.stateful.program import BlockSizes, ProcessProgram, assembled, read
from models.stateful import VERSION_SHIFT
from rtl.stateful.test_sl_stateful_unit import BLOCK, COUNTER, LOOP, NUMBER, PARAMETERS, Bench, counts, packet
from testing.cocotb.channel import start
from testing.process_programs import FAMILIES, some_phv, some_program
from testing.slow import first
from toolchain import ROOT
from toolchain.simulate import SimulationError, simulate

SIZES = BlockSizes(**BLOCK)
DRAW = random.Random()
APPLICATIONS = ("flowlet", "heavy_hitter", "port_knocking", "retransmissions")
SHIFTER = COUNTER.replace("seen += 1", "seen = 3 - seen").replace("[flow]", "[flow]\nother = { word = 2 }")
BROKEN = [  # a build each
    ("sl_composed_state", "&& !fresh[2];", ";"),
    ("sl_schedule_core", "empty || in_mode_i == mode_q", "1'b1"),
    ("sl_composed_state", "valid[4] && keeps[4] && address[4] == address[2]", "1'b0"),
    ("sl_composed_word", "fill_of(one_q.kind, lanes_i)", "'0"),
    ("sl_composed_label", "part[7:4] == '0", "1'b1"),
    ("sl_process_composed", "second[w] ? inputs_second : inputs_first", "inputs_first"),
    ("sl_schedule_core", ".valid_i(valid[Done] && free)", ".valid_i(valid[Done])"),
]


def test_composed_unit() -> None:
    simulate("sl_stateful_unit", __file__, PARAMETERS)


@pytest.mark.parametrize(("module", "text", "broken"), first(1, BROKEN))
def test_finds_a_broken_part(module: str, text: str, broken: str, tmp_path: Path) -> None:
    source = next((ROOT / "rtl").glob(f"*/{module}.sv")).read_text()
    assert source.count(text) == 1
    changed = tmp_path / f"{module}.sv"
    changed.write_text(source.replace(text, broken))
    with pytest.raises(SimulationError):
        simulate("sl_stateful_unit", __file__, PARAMETERS, flags=("-y", str(tmp_path)), extra_sources=[changed])


async def load(bench: Bench, program: ProcessProgram, version: int) -> bool:
    """Whether its packets need not wait. Flows are shared with the program before."""
    for write in program.writes(version):
        await bench.write_process(write.memory, write.address, write.data)
    await bench.select(version, program.key.selector)
    await bench.cycles(4)
    return not composition(program).reasons


async def begun(dut) -> Bench:
    DRAW.seed(random.getrandbits(64))
    bench = Bench(dut)
    await start(dut)
    await bench.begin()
    return bench


def application(name: str) -> ProcessProgram:
    return read(ROOT / "compiler" / "stateful" / "programs" / f"{name}.toml", SIZES)


def knock(version: int) -> L.PipelinePhv:
    """For any of the applications: few ports and sequence numbers."""
    phv = some_phv(DRAW, 2, version, NUMBER)
    phv.parsed.containers[33] = random.choice([1111, 2222, 3333, 22, 23])
    phv.parsed.containers[34:36] = random.choice([(0, 1), (0, 2), (0xFFFF, 3), (7, 7)])
    return phv


@cocotb.test()
async def applications_take_a_packet_of_one_flow_a_cycle(dut):
    bench = await begun(dut)
    bench.step = 0.5
    for number in range(2 * L.PROCESS_SHARED_WORDS):
        bench.flows.shared[number] = random.choice([0, 1, 30, 3000])
        await bench.write_process(L.PROCESS_MEMORY_SHARED, number, bench.flows.shared[number])
    for turn, name in enumerate(APPLICATIONS):
        version = turn % 2
        assert await load(bench, application(name), version)
        for gaps, pauses in ((0.0, 0.0), (0.3, 0.3)):
            bench.gaps, bench.pauses = gaps, pauses
            left = await bench.send(knock(version) for _ in range(300))
            assert gaps or left[-1][0] - left[0][0] == 299, f"{name}: a packet a cycle"


@cocotb.test()
async def random_programs_leave_what_they_leave_one_packet_after_another(dut):
    bench = await begun(dut)
    done = {True: 0, False: 0}
    for turn in range(30):
        version, flows = turn % 2, random.choice([1, 1, 2, 3, 20])
        composes = await load(bench, some_program(DRAW, SIZES), version)
        done[composes] += 1
        bench.gaps, bench.step, bench.pauses = random.choice([0, 0, 0.3]), random.choice([0, 1]), random.choice([0, 0, 0.2])
        left = await bench.send(some_phv(DRAW, flows, version, NUMBER) for _ in range(100))
        assert not composes or bench.gaps or bench.pauses or left[-1][0] - left[0][0] == 99
        versions = [0] if turn == 0 else [0, 1]
        await bench.send(some_phv(DRAW, flows, random.choice(versions), NUMBER) for _ in range(30))
    assert min(done.values()) > 5, done


FAMILY = """
[key]
fields = ["flow"]
[containers]
flow = {{ first = 0 }}
p = {{ first = 2, words = 2 }}
out = {{ first = 36, words = 2 }}
[flow]
f = {{ word = 1, byte = {byte}, bytes = {size} }}
[conditions]
two = "p & 2"
odd = "p & 1"
"""


@cocotb.test()
async def families_of_one_flow(dut):
    """Each update of each family, on a field of some bytes inside of a word."""
    bench = await begun(dut)
    bench.gaps = 0
    three = [family[at : at + 3] for family in FAMILIES[:5] for at in range(0, len(family), 3)]
    for turn, updates in enumerate(three):
        byte = random.randrange(3)
        text = FAMILY.format(byte=byte, size=random.randint(1, 3 - byte))
        for tested, update in zip(('["two", "odd"]', '["odd"]', "[]"), updates, strict=False):
            text += f'[[entries]]\nif = {tested}\nupdate = ["{update.format(f="f", a="p")}"]\npacket = ["out = f"]\n'
        assert await load(bench, assembled(text, "family", SIZES), turn % 2)
        left = await bench.send(some_phv(DRAW, 1, turn % 2, NUMBER) for _ in range(100))
        assert left[-1][0] - left[0][0] == 99


LABELS = """
labels = ["zero", "one"]
[containers]
p = {{ first = 2, words = 2 }}
out = {{ first = 36, words = 2 }}
[flow]
seen = {{ word = 1 }}
[key]
fields = ["p"]
[conditions]
far = "p == 1"
[[entries]]
at = "one"
if = ["far"]
update = ["seen += 1"]
goto = "zero"
packet = ["out = seen"]
[[entries]]
if = ["far"]
{other}
update = ["seen += 1"]
packet = ["out = seen"]
"""
TWENTY = 'labels = {labels}\n[key]\nfields = ["p"]\n[containers]\np = {{ first = 2, words = 2 }}\n[[entries]]\ngoto = "l19"\n'


@cocotb.test()
async def labels_that_a_program_before_left_are_as_any_other(dut):
    bench = await begun(dut)
    bench.gaps = 0
    assert not await load(bench, assembled(TWENTY.format(labels=[f"l{n}" for n in range(20)]), "twenty", SIZES), 0)
    for other in ("", 'goto = "one"'):
        assert await load(bench, assembled(LABELS.format(other=other), "labels", SIZES), 1)
        for version in (0, 1, 0, 1):
            phv = packet(0, version)
            phv.parsed.containers[2:4] = 0, 1
            await bench.send([phv] * 5)


@cocotb.test()
async def a_program_that_does_not_compose_waits(dut):
    bench = await begun(dut)
    bench.gaps = 0
    assert not await load(bench, assembled(SHIFTER, "shifter", SIZES), 0)
    left = await bench.send(packet(7) for _ in range(100))
    assert LOOP * 99 <= left[-1][0] - left[0][0] <= LOOP * 99 + 24
    assert await load(bench, assembled(COUNTER, "counter", SIZES), 1)
    before = counts(left)[-1][1]
    mixed = [packet(7, turn // 5 % 2) for turn in range(40)]  # the two take turns on the state of one flow
    found = [number for _, number in counts(await bench.send(mixed))]
    assert found[4:7] == [found[4], found[4] + 1, found[4] + 2] and found[0] == (3 - before) % 2**32


@cocotb.test()
async def forgets_packets_at_reset(dut):
    bench = await begun(dut)
    await load(bench, assembled(COUNTER, "counter", SIZES), 0)
    for _ in range(3):
        bench.queue.extend(packet(random.randrange(3)) for _ in range(200))
        await bench.cycles(random.randrange(20, 100))
        await bench.reset()
        bench.flows.table.clear()
        await bench.set(bench.settings)
        assert counts(await bench.send(packet(flow) for flow in (0, 0, 1, 0))) == [(0, 1), (0, 2), (1, 1), (0, 3)]


@cocotb.test()
async def a_wrong_setting_is_found(dut):
    """The settings decide: a program that does not compose, said to compose, leaves other states."""
    bench = await begun(dut)
    bench.gaps = 0
    await load(bench, assembled(SHIFTER, "shifter", SIZES), 0)
    wrong = L.ProcessComposed([0, 15, 0, 0], 0, 0, 1)
    await bench.write_process(L.PROCESS_MEMORY_COMPOSED, 0 << VERSION_SHIFT, wrong.to_int())
    bench.compares = False
    bench.queue.extend(packet(7) for _ in range(20))
    for _ in range(200):
        await RisingEdge(dut.clk_i)
    assert bench.differs, "states are as if packets waited"
