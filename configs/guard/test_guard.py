# SPDX-License-Identifier: Apache-2.0
"""A recorded capture mixed with floods and scans, as C++, in the device, and in front of the device's flow table: checks the
dropped packets and the counters read by signals."""

from __future__ import annotations

import json
import lzma
import os
import random
from ipaddress import ip_address
from pathlib import Path

import pytest
import sluice_layouts as L
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.utils import wrpcap
from typer.testing import CliRunner, Result

from compiler.compile import HardwareError
from compiler.frontend.program import load
from compiler.frontend.source import Diagnostics
from elements.hash.address import address_hash
from host.program.captures import read_capture
from host.program.device_run import Design, ask, design, stdout_to
from host.program.run import call_of
from host.python.device import Action, Device
from host.python.flow_table import Flows, error_text
from models.flow import key_of
from shell.sim.build import build
from testing.device import run as send
from testing.programs import run
from testing.telemetry import ask as ask_telemetry
from testing.testpmd import Testpmd
from toolchain import ROOT
from tools.cli.main import app

SOURCE = Path(__file__).with_name("guard.sl")
CAPTURE = ROOT / "testing" / "captures" / "lane0.pcap.xz"
PACKETS, FEW = 1200, 300  # of the capture; FEW where the flow table or a driver is tested, too
Mixed = tuple[list[bytes], list[bytes], list[int]]
FLOODER, PORT_SCANNER, ADDRESS_SCANNER, VICTIM = (f"198.51.100.{n}" for n in (1, 2, 3, 4))  # addresses not in the capture
FLOODER6, VICTIM6 = "2001:db8::1", "2001:db8::2"
REQUESTS, ARRIVING, MOST, PLACES = 40, 90, 8, 4096  # per source, per destination; bits of a map; entries
PERIOD = 0xFFFFFFFF  # longer than everything here, in any unit
PORT_SEED = 0x9E3779B9
SETTINGS = (
    f"flood.set_source_limit:{PERIOD},{PERIOD * (REQUESTS - 1)}",
    f"flood.set_destination_limit:{PERIOD},{PERIOD * (ARRIVING - 1)}",
    f"scan.set_limits:{MOST},{MOST},2",
    "scan.set_window:40",
)
ASKED = ("flood.get_limited", "flood.get_flooding", "scan.get_port_scans", "scan.get_address_scans", "obey.get_dropped")


def number(address: str) -> int:
    return int(ip_address(address))


def place(address: str) -> int:
    return address_hash(number(address)) % PLACES


def segment(source: str, destination: str, port: int, flags: str) -> bytes:
    ip = IPv6 if ":" in source else IP
    ethernet = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
    return bytes(ethernet / ip(src=source, dst=destination) / TCP(dport=port, flags=flags))


def beyond(hashes: list[int]) -> list[bool]:
    """Which probes of a source are over its limit."""
    return [len({value % 64 for value in hashes[: n + 1]}) > MOST for n in range(len(hashes))]


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("capture") / "lane0.pcap"
    path.write_bytes(lzma.decompress(CAPTURE.read_bytes()))
    return path


@pytest.fixture(scope="module")
def mixed(capture: Path) -> Mixed:
    return attacks_among(capture, PACKETS)


@pytest.fixture(scope="module")
def few(capture: Path) -> Mixed:
    return attacks_among(capture, FEW)


def attacks_among(capture: Path, packets: int) -> Mixed:
    """Input packets, so many of them captured; expected output packets, and expected answers of the signals."""
    rng = random.Random(4)
    honest = [packet.data for packet in read_capture(capture)[:packets]]
    spoofed = [f"203.0.113.{n}" for n in range(80)]
    assert not {place(PORT_SCANNER), place(ADDRESS_SCANNER)} & {place(address) for address in [FLOODER, FLOODER6, *spoofed]}
    requests = [(segment(FLOODER, VICTIM, 80, "S"), n >= REQUESTS) for n in range(70)]
    requests += [(segment(FLOODER6, VICTIM6, 80, "S"), n >= REQUESTS) for n in range(60)]
    requests += [(segment(address, VICTIM, 80, "S"), False) for address in spoofed]  # those over ARRIVING are counted, and pass
    ports, targets = rng.sample(range(1, 65536), 60), [f"192.0.2.{n}" for n in range(60)]
    by_port = beyond([address_hash(port, PORT_SEED) for port in ports])
    by_address = beyond([address_hash(number(target)) for target in targets])
    probes = [[(segment(PORT_SCANNER, VICTIM, port, "F"), bad) for port, bad in zip(ports, by_port, strict=True)]]
    probes += [[(segment(ADDRESS_SCANNER, target, 23, ""), bad) for target, bad in zip(targets, by_address, strict=True)]]
    queues = [[(data, False) for data in honest], requests, *probes]
    order = [n for n, queue in enumerate(queues) for _ in queue]
    rng.shuffle(order)
    every = [queues[n].pop(0) for n in order]
    limited, flooding = 70 + 60 - 2 * REQUESTS, REQUESTS + len(spoofed) - ARRIVING
    answers = [limited, flooding, sum(by_port), sum(by_address), limited + sum(by_port) + sum(by_address)]
    return [data for data, _ in every], [data for data, bad in every if not bad], answers


@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_it_finds_and_drops_what_attacks(target: str, mixed: Mixed, tmp_path: Path) -> None:
    given, left, answers = mixed
    text = SOURCE.read_text().replace('"../../elements', f'"{ROOT}/elements')
    ran = run(text, [given], tmp_path, target, [*(f"{setting}@0" for setting in SETTINGS), *ASKED])
    found = [ran.answers["flood"][2:], ran.answers["scan"][2:], ran.answers["obey"]]  # after the answers of the settings
    assert [answer for some in found for answer in some] == answers
    assert ran.left == [left]


@pytest.fixture(scope="module")
def made() -> Design:
    """The program in front of the flow table."""
    program = load(SOURCE, Diagnostics())
    assert program is not None
    return design("guard", program, flow_table=True)


def test_what_passes_it_meets_the_flow_table(few: Mixed, made: Design) -> None:
    given, left, answers = few
    with stdout_to(Path(os.devnull)), Device(made.sizes, graph=made.texts) as device:

        def wait_for(bit: int) -> int:
            while not (status := device.read(made.window + L.GRAPH_REGISTERS_STATUS)) & bit:
                device.advance(16)
            return status

        def asked(text: str) -> int:
            return ask(made, device, call_of(made.program, text), wait_for)

        device.call("sluice_device_set_lossless", 1)
        flows = Flows(device)
        port = L.FlowKey(ingress_port=0xFF).to_int()
        rule = flows.add(0, port, 1, [Action(L.ACTION_REPLICATE, 1 << 2)])
        assert rule >= 0, error_text()
        for setting in SETTINGS:
            asked(setting)
        host, lanes = send(device, {0: given, 1: given[:50], 3: given[50:80]})
        known = [packet for packet in left if key_of(0, packet)]
        assert {lane: packets for lane, packets in lanes.items() if packets} == {2: known}
        came = {lane: [one.data for one in host if one.ingress_port == lane] for lane in range(4)}
        assert came == {0: [p for p in left if not key_of(0, p)], 1: given[:50], 2: [], 3: given[50:80]}
        assert [asked(signal) for signal in ASKED] == answers
        device.advance(device.read(L.WINDOW_SIZE + L.FLOW_REGISTERS_PUSH_CYCLES))
        assert flows.mirrored(rule).packets == len(known), "the table's counters come through the program's graph"
        flows.close()


def test_a_driver_works_behind_it_and_its_limits_are_set_over_telemetry(few: Mixed, made: Design, tmp_path: Path) -> None:
    given, left, answers = few
    wrpcap(str(tmp_path / "in"), given, linktype=1)
    library = build(made.sizes, graph=made.texts)
    rule = "flow create 0 transfer pattern eth / end actions port_id id 2 / end"
    device = f"net_sluice0,lanes=[pcap:{tmp_path}/in:,none,pcap::{tmp_path}/out,none],lossless=1"
    with Testpmd(tmp_path, [device], [rule], begin=(), library=library) as testpmd:

        def signal(*words: str) -> Result:
            there = ["--file-prefix", testpmd.prefix, "--run-folder", str(testpmd.run_folder)]
            return CliRunner().invoke(app, ["signal", str(SOURCE), *words, *there])

        testpmd.ask("/ethdev/xstats,0")
        assert signal(*SETTINGS).exit_code == 0
        testpmd.tell("port start 2", "port start 0")
        known = [packet for packet in left if key_of(0, packet)]
        testpmd.wait(2, "tx_good_lane_packets", len(known))
        told = signal(*ASKED, "--json")
        assert [one["answer"] for one in json.loads(told.output)] == answers
        for question in ("", ",0", ",0,", ",0,x", ",0,0x100000000", ",9,1", ",0,1,", ",0" + ",1" * 129):
            assert ask_telemetry(testpmd.run_folder, testpmd.prefix, f"/net_sluice/signal{question}") is None, question
        assert ask_telemetry(testpmd.run_folder, testpmd.prefix, "/net_sluice/signal,0,0x7f0000")[0] & 1 << 15 == 0, "nobody's"
        assert signal("flood.get_limited").output == f"flood.get_limited: {answers[0]}\n", "nothing is left of those"
        assert signal("flood.nothing").exit_code == 2
        refused = signal("flood.get_limited", "--port", "9")
        assert refused.exit_code == 1 and "port 9 does not belong to this driver" in refused.output
        testpmd.quit()
        gone = signal("flood.get_limited")
        assert gone.exit_code == 1 and "no DPDK program listens" in gone.output
    assert [packet.data for packet in read_capture(tmp_path / "out")] == known


def test_a_program_with_channels_to_the_host_is_refused_before_the_flow_table() -> None:
    program = load(ROOT / "compiler" / "tests" / "figures" / "figure4.sl", Diagnostics())
    assert program is not None
    with pytest.raises(HardwareError, match="channels to or from the host") as refused:
        design("figure4", program, flow_table=True)
    assert refused.value.code == "E0805"
