# SPDX-License-Identifier: Apache-2.0
"""Whatever bytes come as packets, the switch stays within its memory and the packets after them are forwarded as before."""

import json
import os
import random
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from host.packet.testing.binding import captured
from host.switch import build
from host.switch.testing.binding import Rules, Switch
from models import traffic, tunnels
from toolchain import ROOT

SEED = 1
MINUTES = float(os.environ.get("SLUICE_FUZZ_MINUTES", "0"))
RELAXED = settings(max_examples=int(100 + 50_000 * MINUTES), deadline=None, suppress_health_check=list(HealthCheck))
RULES = ROOT / "testing" / "captures" / "mixed.rules"
GOOD = bytes(Ether(dst="02:00:00:00:00:00", src="02:00:00:00:01:00") / IP(src="10.1.1.1", dst="10.2.1.1") / UDP() / b"good")


@pytest.mark.fuzz
@RELAXED
@given(st.lists(st.tuples(st.integers(0, 3), st.binary(max_size=300)), max_size=5))
def test_random_packets_never_change_what_comes_after(packets: list[tuple[int, bytes]]) -> None:
    rules = Rules(RULES)
    subject, fresh = Switch(rules), Switch(rules)
    for lane, packet in packets:
        sent = subject.send(packet, lane)
        assert lane not in sent.lanes or sent.decision.is_routed
        assert (sent.data is None) == (sent.decision.cause_name != "none") == (not sent.lanes)
    assert subject.send(GOOD).data == fresh.send(GOOD).data
    assert subject.counters.packets == len(packets) + 1


def test_reads_and_writes_nothing_outside_of_a_packet(tmp_path: Path) -> None:
    random.seed(SEED)
    packets = [*traffic.well_formed(), *traffic.malformed(), *traffic.truncated(), b""]
    packets += [traffic.mutated(random.choice(packets[:200])) for _ in range(3000)]
    sound = tunnels.opened()
    packets += [*sound, *tunnels.closed(), *tunnels.malformed_inside(), *tunnels.truncated()]
    packets += [tunnels.mutated(random.choice(sound)) for _ in range(2000)]
    packets += [b"\2\0\0\0\0\0" + packet[6:] for packet in packets]
    sent = [(random.randrange(4), packet) for packet in packets] + captured(limit=300)
    path = tmp_path / "packets"
    path.write_bytes(b"".join(struct.pack("<BI", lane, len(packet)) + packet for lane, packet in sent))
    rules = tmp_path / "open.rules"
    rules.write_text(RULES.read_text() + "tunnel address 10.0.0.1\ntunnel address 2001:db8::1\n")
    command = [str(build.replay(sanitize=True)), str(rules), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    answer = json.loads(done.stdout)
    assert answer["packets"] == len(sent)
    assert min(answer["routed"], answer["bridged"], answer["malformed"], answer["no_route"], answer["tunnel"]) > 100


def test_reads_and_frees_broken_rules_without_a_leak(tmp_path: Path) -> None:
    random.seed(SEED)
    texts = [path.read_bytes() for path in (Path(__file__).parent / "testing" / "rules").glob("*.rules")]
    texts += [RULES.read_bytes()[: random.randrange(1500)] for _ in range(20)]
    texts += [bytes(random.choices(b"route 10./:lanemcxtho-\n#\0\xff", k=400)) for _ in range(20)]
    many = range(150)
    texts += ["".join(f"route 10.{n}.0.0/16 lane 0 next-hop 02:00:00:00:01:01\nacl {n} permit any\n" for n in many).encode()]
    (tmp_path / "packets").write_bytes(b"")
    texts += [f"lane 0 mac {mac}\n".encode() for mac in ("0g:00:00:00:00:01", "z0:00:00:00:00:01", "02:00:00:00:00: 1")]
    for text in texts:
        (tmp_path / "broken.rules").write_bytes(text)
        command = [str(build.replay(sanitize=True)), str(tmp_path / "broken.rules"), str(tmp_path / "packets")]
        done = subprocess.run(command, capture_output=True, text=True, check=False, errors="replace")
        assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr
        assert done.returncode in (0, 1), "an error is said, not crashed into"


def test_counts_every_packet_of_every_round(tmp_path: Path) -> None:
    path, packets = tmp_path / "packets", captured()
    path.write_bytes(b"".join(struct.pack("<BI", lane, len(packet)) + packet for lane, packet in packets))
    once, often = (
        json.loads(subprocess.run([str(build.replay()), str(RULES), str(path), rounds], capture_output=True, check=True).stdout)
        for rounds in ("1", "20")
    )
    assert once["packets"] == len(packets) and once["routed"] > 0
    assert [often["packets"], often["routed"]] == [20 * once["packets"], 20 * once["routed"]]
    assert often["packets_per_s"] > 0
