# SPDX-License-Identifier: Apache-2.0
"""Runs from capture to capture on the simulated device: slices of the real capture, damaged files, random bytes."""

import lzma
import random
import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet, Raw

from host.python.device import SluiceError
from host.python.run import Result, RulesError, Run, Stopped, run
from models import tunnels
from toolchain import ROOT

CAPTURES = ROOT / "testing" / "captures"
SEED = 20261120
HEAD = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
ROUTES = """
lane 0 mac 02:00:00:00:00:00
lane 1 mac 02:00:00:00:00:01
route 10.2.0.0/16 lane 1 next-hop 02:00:00:00:01:01
route 10.3.0.0/16 lane 1 next-hop 02:00:00:00:01:01 vlan 100
route 2001:db8:20::/48 lane 1 next-hop 02:00:00:00:01:01
"""
ACL = "acl 10 deny tcp to any port 22\nacl 20 permit any\n"


def write(path: Path, packets: list[bytes]) -> Path:
    records = [struct.pack("<IIII", 1, n % 1_000_000, len(p), len(p)) + p for n, p in enumerate(packets)]
    path.write_bytes(HEAD + b"".join(records))
    return path


def read(path: Path) -> list[bytes]:
    data, at, packets = path.read_bytes(), len(HEAD), []
    while at < len(data):
        size = struct.unpack_from("<I", data, at + 8)[0]
        packets.append(data[at + 16 : at + 16 + size])
        at += 16 + size
    return packets


def piece(lane: int, start: int, count: int) -> list[bytes]:
    """Some packets of the recorded capture."""
    plain = lzma.decompress((CAPTURES / f"lane{lane}.pcap.xz").read_bytes())
    packets, at = [], len(HEAD)
    while at < len(plain) and len(packets) < start + count:
        size = struct.unpack_from("<I", plain, at + 8)[0]
        packets.append(plain[at + 16 : at + 16 + size])
        at += 16 + size
    return packets[start:]


def ask(tmp_path: Path, rules: str, *lanes: list[bytes], device: str = "sim") -> tuple[Result, list[list[bytes]]]:
    """Run packets through a fresh device: the result, and what left each lane."""
    (tmp_path / "a.rules").write_text(rules)
    inputs = [write(tmp_path / f"in{n}.pcap", packets) for n, packets in enumerate(lanes)]
    outputs = [tmp_path / f"out{n}.pcap" for n in range(max(2, len(lanes)))]
    result = run(Run(tmp_path / "a.rules", inputs, outputs, device=device))
    return result, [read(path) for path in outputs]


def routed(packet: Packet, vlan: int = 0) -> bytes:
    """What a router makes of a packet, by scapy: an opinion that shares no code with ours."""
    out = packet.copy()
    inner = out.getlayer(IP) or out.getlayer(IPv6)
    if isinstance(inner, IP):
        inner.ttl -= 1
        del inner.chksum
    else:
        inner.hlim -= 1
    out.src, out.dst = "02:00:00:00:00:01", "02:00:00:00:01:01"
    if vlan:
        payload = out.payload
        out.remove_payload()
        out = Ether(src=out.src, dst=out.dst) / Dot1Q(vlan=vlan) / payload
    return bytes(out)


def good(number: int) -> Packet:
    ether = Ether(src="02:00:00:00:01:00", dst="02:00:00:00:00:00")
    match number % 4:
        case 0:
            return ether / IP(src="10.1.0.1", dst="10.2.0.1", ttl=9) / UDP(sport=7, dport=number + 1) / Raw(bytes(22))
        case 1:
            return ether / IPv6(src="2001:db8::1", dst="2001:db8:20::1", hlim=9) / TCP(sport=7, dport=80) / Raw(b"x" * 90)
        case 2:
            return ether / IP(src="10.1.0.1", dst="10.3.0.1") / TCP(sport=7, dport=80) / Raw(bytes(number % 1400))
    return ether / IP(src="10.1.0.1", dst="10.2.0.9") / ICMP(id=1, seq=number) / Raw(bytes(40))


@pytest.mark.parametrize("rules", [ROUTES, ROUTES + ACL], ids=["routes", "routes and access rules"])
def test_routed_packets_are_what_scapy_expects(tmp_path: Path, rules: str) -> None:
    packets = [Ether(bytes(good(n))) for n in range(120)]
    result, (back, out) = ask(tmp_path, rules, [bytes(p) for p in packets])
    expected = sorted(routed(p, 100 if IP in p and p[IP].dst == "10.3.0.1" else 0) for p in packets)
    assert result.good and sorted(out) == expected and back == []
    assert result.hits > 0 and result.hits + result.host == 120


def test_routes_alone_need_no_software(tmp_path: Path) -> None:
    result, _ = ask(tmp_path, ROUTES, [bytes(good(n)) for n in range(60)])
    assert (result.hits, result.host) == (60, 0)


@pytest.mark.parametrize("acl", ["", ACL])
def test_flows_into_tunnels_are_the_same_from_hardware_and_software(acl: str, tmp_path: Path) -> None:
    four = "local 192.0.2.1 remote 192.0.2.7 inner-mac 02:00:00:00:09:09"
    six = "local 2001:db8:f::1 remote 2001:db8:f::7 inner-mac 02:00:00:00:09:09"
    kinds = [f"vxlan vni 70000 {four}", f"geneve vni 42 options 010203010a0b0c0d {six}", f"nvgre vni 5 {four}", f"gre {six}"]
    lanes = "".join(f"lane {n} mac 02:00:00:00:00:0{n}\n" for n in range(2))
    lines = [f"route 10.{n}.0.0/16 lane 1 next-hop 02:00:00:00:01:01 via {kind}\n" for n, kind in enumerate(kinds, start=10)]
    ether = Ether(src="02:00:00:00:01:00", dst="02:00:00:00:00:00")
    packets = [
        bytes(ether / IP(src="10.1.0.1", dst=f"10.{10 + n % 4}.0.1") / UDP(sport=n % 12, dport=80) / Raw(bytes(n % 90)))
        for n in range(240)
    ]
    result, (_, out) = ask(tmp_path, lanes + "".join(lines) + acl, packets)
    assert result.good and len(out) == 240, result.text
    assert result.hits > 0 and (result.host > 0) == bool(acl)
    inside = [
        Ether(data[head:]) for data in out for head in (50, 78, 42, 58) if data[head : head + 6] == bytes.fromhex("020000000909")
    ]
    assert sorted(bytes(frame) for frame in inside) == sorted(
        bytes.fromhex("020000000909020000000001") + routed(Ether(packet))[12:] for packet in packets
    )


def test_denied_and_expired_packets_are_counted_and_gone(tmp_path: Path) -> None:
    ether = Ether(src="02:00:00:00:01:00", dst="02:00:00:00:00:00")
    denied = bytes(ether / IP(src="10.1.0.1", dst="10.2.0.1") / TCP(sport=9, dport=22))
    expired = bytes(ether / IP(src="10.1.0.1", dst="10.2.0.1", ttl=1) / UDP(sport=9, dport=9))
    lost = bytes(ether / IP(src="10.1.0.1", dst="99.2.0.1") / UDP(sport=9, dport=9))
    result, (back, out) = ask(tmp_path, ROUTES + ACL, ([denied] * 40 + [expired] * 40 + [lost] * 3) * 3)
    assert result.good and back == out == []
    assert result.software_drops[3] + result.hardware_drops[0] == 120 and result.hardware_drops[0] > 0
    assert result.software_drops[5] + result.hardware_drops[1] == 120
    assert result.software_drops[4] == 9


def test_the_largest_packet_gets_its_tag_in_software_and_in_hardware(tmp_path: Path) -> None:
    ether = Ether(src="02:00:00:00:01:00", dst="02:00:00:00:00:00")
    packet = Ether(bytes(ether / IP(src="10.1.0.1", dst="10.3.0.1") / TCP(sport=7, dport=80) / Raw(bytes(9216 - 54))))
    result, (_, out) = ask(tmp_path, ROUTES + ACL, [bytes(packet)] * 40)
    assert result.good and 0 < result.host < 40, result.text
    assert out == [routed(packet, 100)] * 40 and len(out[0]) == 9220


def test_a_slice_of_the_capture_is_right_and_repeats_exactly_on_a_device_of_its_own_process(tmp_path: Path) -> None:
    rules = (CAPTURES / "mixed.rules").read_text()
    lanes = [piece(lane, 300, 250) for lane in range(4)]
    first, outputs = ask(tmp_path, rules, *lanes)
    again, outputs_again = ask(tmp_path, rules, *lanes, device="sim-process")
    assert first.good and first.sent == 1000 and first.hits > 100, first.text
    assert outputs == outputs_again and first.cycles == again.cycles


def test_packets_that_leave_while_the_last_rules_are_installed_are_collected(tmp_path: Path) -> None:
    ether = Ether(src="02:00:00:00:01:00", dst="02:00:00:00:00:00")
    flow = [ether / IP(src="10.1.0.1", dst="10.2.0.1", ttl=9) / UDP(sport=7, dport=port) for port in (8, 6)]
    for size in range(1000, 1500, 50):  # of those that leave within the few cycles of the installation
        packets = [bytes(flow[0] / Raw(bytes(72))), bytes(flow[1] / Raw(bytes(size - 42)))]
        result, (_, out) = ask(tmp_path, ROUTES + ACL, packets)
        assert result.good and len(out) == 2, (size, result.text)


def test_equal_flows_of_two_lanes_need_no_order_between_them(tmp_path: Path) -> None:
    """Captures of both sides of a router: behind it, two flows have become one."""

    def flow(lane: int, ttl: int) -> list[bytes]:
        ether = Ether(src="02:00:00:00:02:02", dst=f"02:00:00:00:00:0{lane}")
        packet = ether / IP(src="10.1.0.1", dst="10.2.0.1", ttl=ttl) / UDP(sport=7, dport=7)
        return [bytes(packet / Raw(bytes(200) + n.to_bytes(4, "big"))) for n in range(30)]

    result, (_, out) = ask(tmp_path, ROUTES, flow(0, 9), flow(1, 8))
    assert result.good and len(out) == 60, result.text


def test_random_bytes_change_nothing_for_the_packets_behind_them(tmp_path: Path) -> None:
    choose = random.Random(SEED)

    def damaged(n: int) -> bytes:
        if choose.random() < 0.4:
            return choose.randbytes(choose.randrange(1, 300))
        data = bytearray(bytes(good(n)))
        for _ in range(choose.randrange(1, 4)):
            data[choose.randrange(12, min(len(data), 60))] = choose.randrange(256)
        return bytes(data[: choose.randrange(14, len(data) + 1)] if choose.random() < 0.3 else data)

    clean = [bytes(good(n)) for n in range(40)]
    result, _ = ask(tmp_path, ROUTES + ACL, [damaged(n) for n in range(400)] + clean)
    assert result.good, result.text
    _, alone = ask(tmp_path, ROUTES + ACL, clean)
    _, together = ask(tmp_path, ROUTES + ACL, [damaged(n) for n in range(200)] + clean)
    assert set(alone[1]) <= set(together[1])


@seed(SEED)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(min_size=1, max_size=120), max_size=40), st.binary(max_size=60))
def test_no_bytes_make_the_device_and_the_software_disagree(tmp_path: Path, junk: list[bytes], tail: bytes) -> None:
    ether = bytes.fromhex("020000000000020000000100")
    typed = [ether + kind + tail for kind in (b"\x08\x00\x45", b"\x86\xdd\x60", b"\x81\x00\0\1\x08\x00", b"\x88\x47")]
    result, (_, out) = ask(tmp_path, ROUTES, [*junk, *typed, bytes(good(0)), bytes(good(1))])
    assert result.good, result.text
    assert routed(Ether(bytes(good(0)))) in out


def test_tunnels_to_the_router_are_opened_whatever_they_hold(tmp_path: Path) -> None:
    random.seed(SEED)
    opens = "tunnel address 10.0.0.1\ntunnel address 2001:db8::1\nroute 0.0.0.0/0 lane 0 next-hop 02:00:00:00:01:00\n"
    sound, whole = tunnels.opened(), tunnels.closed() + tunnels.malformed_inside() + tunnels.truncated()[::5]
    damaged = [tunnels.mutated(random.choice(sound)) for _ in range(300)] + [tunnels.any_order() for _ in range(100)]
    frames = [Ether(src="02:00:00:00:01:01", dst="02:00:00:00:00:01") / IP(dst="10.9.0.1", ttl=9) / UDP(sport=n) for n in range(60)]
    inside = [bytes(random.choice(tunnels.outer(header)) / frame) for frame in frames for header in tunnels.sound()[:2]]
    for frame in frames:
        frame[IP].ttl, frame.src, frame.dst = 8, "02:00:00:00:00:00", "02:00:00:00:01:00"
    expected = [bytes(Ether(bytes(frame))) for frame in frames]
    for rules, hits in ((ROUTES + opens, 150), (ROUTES + opens + ACL, 1)):
        result, (out, _) = ask(tmp_path, rules, [], [*sound, *whole, *damaged, *inside])
        assert result.good, result.text
        assert result.hits >= hits and all(out.count(packet) == 2 for packet in expected)


def test_a_capture_that_ends_inside_a_packet_is_sent_up_to_there(tmp_path: Path) -> None:
    path = write(tmp_path / "cut.pcap", [bytes(good(n)) for n in range(10)])
    path.write_bytes(path.read_bytes()[:-20])
    (tmp_path / "a.rules").write_text(ROUTES)
    result = run(Run(tmp_path / "a.rules", [path], [tmp_path / "out.pcap"]))
    assert result.good and result.sent == 9 and "damaged after packet 9" in result.text


@pytest.mark.parametrize(
    "content, words",
    [
        (b"", "pcap"),
        (b"no capture at all, only text", "pcap"),
        (HEAD[:-4] + struct.pack("<I", 113), "link type"),
        (HEAD[:-4] + struct.pack("<I", 147), "link type"),
        (HEAD[:20], "pcap"),
    ],
    ids=["empty", "text", "linux cooked", "user defined", "cut header"],
)
def test_what_is_no_capture_of_ethernet_is_an_error_with_its_name(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "wrong.pcap").write_bytes(content)
    (tmp_path / "a.rules").write_text(ROUTES)
    with pytest.raises(SluiceError) as caught:
        run(Run(tmp_path / "a.rules", [tmp_path / "wrong.pcap"], [tmp_path / "out.pcap"]))
    assert "wrong.pcap" in str(caught.value) and words in str(caught.value)
    assert not (tmp_path / "out.pcap").exists()


def test_an_output_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.rules").write_text(ROUTES)
    path = write(tmp_path / "in.pcap", [bytes(good(0))])
    with pytest.raises(SluiceError) as caught:
        run(Run(tmp_path / "a.rules", [path], [tmp_path / "nowhere" / "out.pcap"]))
    assert "out.pcap" in str(caught.value)


def test_a_run_that_is_stopped_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.rules").write_text(ROUTES)
    path, out = write(tmp_path / "in.pcap", [bytes(good(0))]), tmp_path / "out.pcap"
    out.write_text("before")
    with pytest.raises(Stopped):
        run(Run(tmp_path / "a.rules", [path], [out]), lambda result: True)
    judged = []
    with pytest.raises(Stopped):
        run(Run(tmp_path / "a.rules", [path], [out], repeat=5000), lambda result: judged.append(result.judged) or result.judged > 0)
    assert judged[-1] > 0 and out.read_text() == "before" and not list(tmp_path.glob("*.unfinished"))


def test_rules_with_errors_run_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.rules").write_text(ROUTES + "route 10.9.0.1/16 lane 1 next-hop 02:00:00:00:01:01\nfoo\n")
    with pytest.raises(RulesError) as caught:
        run(Run(tmp_path / "a.rules", [write(tmp_path / "in.pcap", [])], []))
    assert "a.rules:7:7:" in str(caught.value) and "a.rules:8:1:" in str(caught.value)
