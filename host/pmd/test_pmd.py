# SPDX-License-Identifier: Apache-2.0
"""The driver under DPDK's own testpmd: packets through the ports of a simulated device, counters, life cycle, bad surroundings."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Dot1AD, Dot1Q, Ether
from scapy.utils import rdpcap, wrpcap

from host.pmd.build import build, build_program
from host.pmd.features import differences
from shell.sim.build import FLOW
from shell.sim.build import build as build_device
from testing.device import HOST, ROUTER, noise
from testing.testpmd import CORES, MEMORY, Testpmd

JUMBO = ["--max-pkt-len=9000", "--rx-offloads=0x2000", "--tx-offloads=0x8000"]
RUNTS = 3


def packets(seed: int, count: int, largest: int) -> list[bytes]:
    """Frames of every size, most of them of no protocol, some malformed, in random order."""
    random_ = random.Random(seed)
    sizes = [14, 15, 59, 60, 64, 1514, 1518, 1919, 1920, 1921, 3840, largest]
    sizes += [random_.randrange(14, 1519) for _ in range(count - len(sizes))]
    found = [noise(random_, size) for size in sizes if size <= largest]
    for number in range(20):
        whole = bytes(Ether(dst=ROUTER, src=HOST) / IP(src="10.0.0.1", dst="10.1.0.1") / UDP(sport=number, dport=53) / bytes(40))
        broken = bytearray(whole)
        broken[14 + random_.randrange(20)] ^= 1 << random_.randrange(8)
        found += [bytes(broken), whole[: random_.randrange(14, len(whole))]]
    random_.shuffle(found)
    return found


def read(path: Path) -> list[bytes]:
    return [bytes(packet) for packet in rdpcap(str(path))]


def test_forwards_every_packet_between_two_lanes_unchanged_and_in_order(tmp_path: Path) -> None:
    sent = [packets(lane, 100, 8000) for lane in range(2)]
    for lane in range(2):
        wrpcap(str(tmp_path / f"in{lane}"), [noise(random.Random(9), 13)] * RUNTS + sent[lane], linktype=1)
    lanes = ",".join(f"pcap:{tmp_path}/in{lane}:{tmp_path}/out{lane}" for lane in range(2))
    with Testpmd(tmp_path, [f"net_sluice0,lanes=[{lanes}],lossless=1"], options=JUMBO) as testpmd:
        for lane in range(2):
            testpmd.wait(lane, "tx_good_lane_packets", len(sent[1 - lane]))
        counters = [testpmd.ask(f"/ethdev/xstats,{lane}") for lane in range(2)]
        testpmd.quit()
    for lane in range(2):
        assert read(tmp_path / f"out{lane}") == sent[1 - lane]
        size = sum(map(len, sent[lane]))
        assert counters[lane]["rx_good_lane_packets"] == counters[lane]["rx_host_packets"] == len(sent[lane])
        assert counters[lane]["rx_good_lane_bytes"] == counters[1 - lane]["tx_good_lane_bytes"] == size
        assert counters[lane]["rx_undersize_errors"] == RUNTS
        lost = [name for name, value in counters[lane].items() if value and ("dropped" in name or "_mbuf" in name)]
        assert not lost


def test_counts_what_a_port_does_not_take(tmp_path: Path) -> None:
    own = "02:00:00:00:00:77"
    frames = {
        name: bytes(Ether(dst=address, src=HOST) / bytes(size))
        for name, address, size in [
            ("wanted", own, 100),
            ("other", ROUTER, 100),
            ("group", "01:00:5e:00:00:09", 90),
            ("all", "ff:ff:ff:ff:ff:ff", 80),
            ("long", own, 1600),
        ]
    }
    wrpcap(str(tmp_path / "in"), list(frames.values()), linktype=1)
    commands = ["set promisc 0 off", "set allmulti 0 off"]
    vdev = f"net_sluice0,mac={own},lanes=[pcap:{tmp_path}/in:,pcap::{tmp_path}/out],lossless=1"
    with Testpmd(tmp_path, [vdev], commands) as testpmd:
        testpmd.wait(0, "rx_above_mtu_errors", 1)
        testpmd.wait(1, "tx_good_lane_packets", 2)
        counters = testpmd.ask("/ethdev/xstats,0")
        testpmd.quit()
    assert read(tmp_path / "out") == [frames["wanted"], frames["all"]]
    assert (counters["rx_filtered"], counters["rx_above_mtu_errors"], counters["rx_errors"]) == (2, 1, 1)


def test_lanes_of_datagram_sockets(tmp_path: Path) -> None:
    folder = Path(f"/tmp/sl-{os.getpid()}")
    folder.mkdir()
    ends = [socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(2)]
    try:
        for number, end in enumerate(ends):
            end.bind(str(folder / f"end{number}"))
            end.settimeout(100)
        vdev = f"net_sluice0,lanes=[unix:{folder}/lane0,unix:{folder}/lane1:{folder}/end1]"
        with Testpmd(tmp_path, [vdev]) as testpmd:
            testpmd.wait_link(1, "UP")
            for sender, receiver, size in [(0, 1, 60), (1, 0, 1500), (0, 1, 14)]:
                frame = noise(random.Random(size), size)
                ends[sender].sendto(frame, str(folder / f"lane{sender}"))
                assert ends[receiver].recv(2000) == frame
            testpmd.quit()
    finally:
        for end in ends:
            end.close()
        subprocess.run(["rm", "-rf", str(folder)], check=True)


def test_what_is_lost_outside_a_lane_is_counted_by_its_direction(tmp_path: Path) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="sl-") as folder,  # a Unix socket's name is short: not below the test's
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender,
        Testpmd(tmp_path, [f"net_sluice0,lanes=[unix:{folder}/lane0,none]"], device="functional") as testpmd,
    ):
        testpmd.wait_link(0, "UP")
        for _ in range(3):  # to a lane with nobody outside
            sender.sendto(bytes(60), f"{folder}/lane0")
        testpmd.wait(1, "lane_tx_outside_dropped", 3)
        testpmd.tell("set link-down port 0")
        testpmd.wait_link(0, "DOWN")
        for _ in range(2):  # from outside, to a lane that is down
            sender.sendto(bytes(60), f"{folder}/lane0")
        testpmd.wait(0, "lane_rx_outside_dropped", 2)
        counters = [testpmd.ask(f"/ethdev/xstats,{port}") for port in range(2)]
        testpmd.quit()
    assert [(c["lane_rx_outside_dropped"], c["lane_tx_outside_dropped"]) for c in counters] == [(2, 0), (0, 3)]


EXCHANGE = """
import socket, sys, time
def end(name):
    it = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88b5))
    it.bind((name, 0x88b5))
    it.settimeout(100)
    return it
one, other = end("vb"), end("tap0")
for sender, receiver in (one, other), (other, one):
    frame = bytes(range(12)) + b"\\x88\\xb5" + sender.getsockname()[0].encode() + bytes(200)
    sender.send(frame)
    assert receiver.recv(2000) == frame
print("equal")
"""


def test_lanes_of_a_tap_and_of_an_interface(tmp_path: Path, space: str) -> None:
    inside = ["ip", "netns", "exec", space]
    with Testpmd(tmp_path, ["net_sluice0,lanes=[af_packet:va,tap:tap0]"], prefix=inside) as testpmd:
        testpmd.wait_link(1, "UP")
        done = subprocess.run([*inside, "python3", "-c", EXCHANGE], capture_output=True, text=True, timeout=120, check=False)
        assert done.stdout == "equal\n", done.stderr
        testpmd.quit()


def test_a_capture_is_sent_again_and_again(tmp_path: Path) -> None:
    sent = packets(7, 40, 300)
    wrpcap(str(tmp_path / "in"), sent, linktype=1)
    vdev = f"net_sluice0,lanes=[replay:{tmp_path}/in,pcap::{tmp_path}/out],lossless=1"
    with Testpmd(tmp_path, [vdev]) as testpmd:
        testpmd.wait(1, "tx_good_lane_packets", 3 * len(sent))
        testpmd.quit()
    left = read(tmp_path / "out")
    assert len(left) >= 3 * len(sent)
    assert left == (sent * (len(left) // len(sent) + 1))[: len(left)]


def test_is_closed_and_probed_again(tmp_path: Path) -> None:
    sent = packets(5, 40, 1500)
    wrpcap(str(tmp_path / "in"), sent, linktype=1)
    lanes = f"[pcap:{tmp_path}/in:,pcap::{tmp_path}/out]"
    with Testpmd(tmp_path, [f"net_sluice0,lanes={lanes},lossless=1"]) as testpmd:
        testpmd.wait(1, "tx_good_lane_packets", len(sent))
        command = testpmd.process.args
        assert isinstance(command, list)
        argument = command[command.index("--vdev") + 1]
        testpmd.tell("stop", "port stop all", "port close all", "device detach net_sluice0")
        for name in ("net_sluice0", "net_sluice1"):  # again, and a second beside it
            testpmd.tell("port attach " + argument.replace("net_sluice0", name).replace("/out", f"/{name}"))
        testpmd.tell("port start all", "start")
        for port in (1, 3):
            testpmd.wait(port, "tx_good_lane_packets", len(sent))
        testpmd.quit()
    for name in ("out", "net_sluice0", "net_sluice1"):
        assert read(tmp_path / name) == sent


@pytest.mark.parametrize(
    ("vdev", "message"),
    [
        ("net_sluice0,lanes=[wire:x]", "lane 0: unknown connection type 'wire'"),
        ("net_sluice0,lanes=[none,tap]", "lane 1: 'tap': write none, tap:NAME"),
        ("net_sluice0,lanes=[pcap:/nowhere:]", "/nowhere"),
        ("net_sluice0,lanes=[replay:/nowhere]", "/nowhere"),
        ("net_sluice0,lanes=[none,none,none,none,none]", "5 lanes; the device has 4"),
        ("net_sluice0,lossless=2", "the arguments are device=KIND"),
        ("net_sluice0,mac=ff:00:00:00:00:01", "the arguments are device=KIND"),
        ("net_sluice0,speed=9", "the arguments are device=KIND"),
    ],
)
def test_says_what_is_wrong_with_its_arguments(tmp_path: Path, vdev: str, message: str) -> None:
    with Testpmd(tmp_path, [vdev]) as testpmd:
        testpmd.wait_text("failed to initialize")
        assert message in testpmd.text(testpmd.errors)


@pytest.mark.parametrize("busy", [True, False])
def test_a_device_that_dies_takes_the_link_down_and_nothing_else(tmp_path: Path, busy: bool) -> None:
    sent = packets(3, 50, 1500)
    wrpcap(str(tmp_path / "in"), sent, linktype=1)
    vdev = f"net_sluice0,lanes=[pcap:{tmp_path}/in:,pcap::{tmp_path}/out],lossless=1"
    with Testpmd(tmp_path, [vdev], options=["--rxq=2", "--txq=2"], device="sim-process") as testpmd:
        testpmd.wait(1, "tx_good_lane_packets", 1 if busy else len(sent))
        children = Path(f"/proc/{testpmd.process.pid}/task").glob("*/children")
        pids = [int(pid) for path in children for pid in path.read_text().split()]
        (device,) = [pid for pid in pids if b"sluice-device" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        os.kill(device, signal.SIGKILL)
        testpmd.wait_text("the device has failed")
        testpmd.wait_link(0, "DOWN")
        testpmd.tell("port config 0 rss-hash-key ipv4 " + "5a" * 40)
        _, errors = testpmd.quit()
    assert "port index 0 invalid" in errors, "testpmd's words for ENODEV"


def bare(folder: Path, mode: str, lanes: str, *also: str, device: str = "sim", program: str = "bare") -> str:
    """What the bare DPDK program prints, see testing/bare.c; or another of that folder."""
    compiled = build_program(Path(__file__).parent / "testing" / f"{program}.c")
    which = f"sim:{build_device(FLOW)}" if device == "sim" else device
    vdev = f"net_sluice0,device={which},lanes=[{lanes}]"
    eal = [*MEMORY, "--file-prefix", f"bare{os.getpid()}", "--lcores", f"0@{CORES}", "-d", str(build()), "--vdev", vdev]
    environment = {**os.environ, "RUNTIME_DIRECTORY": str(folder)}
    command = [*also, str(compiled), *eal, "--", mode]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize("device", ["sim", "functional"])
def test_ten_threads_make_query_and_delete_rules(tmp_path: Path, device: str) -> None:
    assert bare(tmp_path, "threads", "none,none", device=device).startswith("ok")


@pytest.mark.parametrize("device", ["sim", "functional"])
def test_rules_and_their_handles_survive_a_restart_of_the_port(tmp_path: Path, device: str) -> None:
    assert bare(tmp_path, "restart", "none,none", device=device).startswith("ok")


def test_a_port_refuses_what_cannot_be_and_counts_from_a_reset_on(tmp_path: Path) -> None:
    assert bare(tmp_path, "calls", "none,none", device="functional:join") == "ok"


def test_bursts_of_a_program_go_round_over_the_cable_of_the_functional_device(tmp_path: Path) -> None:
    line = bare(tmp_path, "loop", "none,none", device="functional:join")
    assert line.startswith("ok: cycles a packet"), line


def test_bursts_of_a_program_go_round(tmp_path: Path, space: str) -> None:
    line = bare(tmp_path, "loop", "af_packet:va,af_packet:vb", "ip", "netns", "exec", space)
    assert line.startswith("ok: cycles a packet"), line


def flows(count: int) -> list[bytes]:
    """TCP and UDP over IPv4 and IPv6, some of it tagged, some with a wrong checksum; fragments, ARP, and no protocol at all."""
    draw, made, plain = random.Random(11), [], Ether(src=HOST, dst=ROUTER)
    for number in range(count):
        l3 = draw.choice([IP(src=f"10.0.{number}.1", dst="10.1.0.1"), IPv6(src=f"2001:db8::{number:x}", dst="2001:db8::f")])
        l4 = draw.choice([TCP, UDP])(sport=1000 + number, dport=draw.randrange(1, 2000))
        link = draw.choice([plain, plain, plain / Dot1Q(vlan=7), plain / Dot1AD(vlan=8) / Dot1Q(vlan=9)])
        packet = bytes(link / l3 / l4 / draw.randbytes(draw.randrange(8, 120)))
        at = draw.randrange(len(packet) - 8, len(packet))
        made.append(packet if draw.random() < 0.7 else packet[:at] + bytes([packet[at] ^ 1]) + packet[at + 1 :])
    to_all = Ether(src=HOST, dst="ff:ff:ff:ff:ff:ff")
    made += [bytes(to_all / IP(frag=draw.randrange(2), flags="MF") / UDP() / bytes(64)), bytes(to_all / ARP()), noise(draw, 99)]
    return made


@pytest.mark.parametrize(("device", "seed"), [("sim", 5), ("functional", 0), ("functional", 5)])
def test_hash_queue_type_and_checksums_are_what_dpdk_has(tmp_path: Path, device: str, seed: int) -> None:
    wrpcap(str(tmp_path / "in"), flows(60), linktype=1)
    line = bare(tmp_path, str(seed), f"replay:{tmp_path}/in", device=device, program="rss")
    ok, *counts = line.split()
    received, hashed, good, bad, *queues = map(int, counts)
    assert ok == "ok" and received > hashed > 0.7 * received and min(good, bad, *queues) > 5, line


@pytest.mark.parametrize(("device", "rounds"), [("sim", 50), ("functional", 2000)])
def test_a_packet_wakes_who_waits_for_it_and_nothing_else_does(tmp_path: Path, device: str, rounds: int) -> None:
    with tempfile.TemporaryDirectory(prefix="sl-") as folder:  # a socket's name is short
        line = bare(tmp_path, f"{folder}/lane,{rounds}", f"unix:{folder}/lane", device=device, program="interrupts")
    ok, wakes = line.split()
    assert ok == "ok" and int(wakes) > rounds, line


def unsummed(packet: bytes) -> bytes:
    """Without checksums, and without the addresses that testpmd puts in."""
    made = Ether(packet)
    for layer in (IP, TCP, UDP):
        if layer in made:
            made[layer].chksum = 0
    return bytes(made)[12:]


@pytest.mark.parametrize("device", ["sim", "functional"])
def test_testpmd_leaves_checksums_of_what_it_sends_to_the_device(tmp_path: Path, device: str) -> None:
    sent = [packet for packet in flows(60) if len(packet) > 60 and (TCP in Ether(packet) or UDP in Ether(packet))]
    sent = [packet for packet in sent if IP not in Ether(packet) or Ether(packet)[IP].flags == 0]
    sent.append(
        bytes(Ether(src=HOST, dst=ROUTER) / IP(src="10.0.0.1", dst="10.1.0.1") / UDP(chksum=7) / random.Random(3).randbytes(4001))
    )
    wrpcap(str(tmp_path / "in"), sent, linktype=1)
    commands = ["set fwd csum", *(f"csum set {what} hw 1" for what in ("ip", "tcp", "udp"))]
    vdev = f"net_sluice0,lanes=[pcap:{tmp_path}/in:,pcap::{tmp_path}/out],lossless=1"
    with Testpmd(tmp_path, [vdev], commands, JUMBO, device=device) as testpmd:
        testpmd.wait(1, "tx_good_lane_packets", len(sent))
        assert testpmd.ask("/ethdev/xstats,1")["device_from_host_unfilled"] == 0
        testpmd.quit()
    left = read(tmp_path / "out")
    assert [unsummed(packet) for packet in left] == [unsummed(packet) for packet in sent]
    for packet in left:
        again = Ether(packet)
        for layer in (IP, TCP, UDP):
            if layer in again:
                del again[layer].chksum
        assert bytes(again) == packet
    assert any(one[12:] != other[12:] for one, other in zip(left, sent, strict=True)), "wrong checksums are made right"


@pytest.mark.parametrize("device", ["sim", "functional"])
def test_refuses_checksums_that_cannot_be_and_counts_what_is_sent_all_the_same(tmp_path: Path, device: str) -> None:
    assert bare(tmp_path, "prepare", "none,none", device=device) == "ok"


def test_the_features_file_says_what_the_code_does() -> None:
    assert differences() == []
