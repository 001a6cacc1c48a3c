# SPDX-License-Identifier: Apache-2.0
"""Flits of 32 bytes (256 bits) in place of 64: what cuts, stores and mends packets works, and packets cross a whole shell."""

import random
from collections.abc import Mapping
from pathlib import Path

import cocotb
import pytest
import sluice_layouts as L
from cocotb.triggers import ReadOnly, RisingEdge
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Dot1Q, Ether

from compiler.layouts import main as generate
from models.packet import from_flits, to_flits
from testing.cocotb.channel import Sink, Source, start
from testing.slow import first
from toolchain import ROOT
from toolchain.simulate import simulate

TAG, ANY_MAC = 100, 0x800
# The tests of a part and its parameters; of the larger ones those cases that see every kind of packet.
PARTS: dict[str, tuple[str, dict[str, object], str | None]] = {
    "sl_packet_fifo": ("rtl/chan/test_sl_packet_fifo.py", {"Flits": 512, "Packets": 8}, None),
    "sl_packet_arbiter": ("rtl/chan/test_sl_packet_arbiter.py", {"Ports": 3}, None),
    "sl_pipeline_rewrite": (
        "rtl/pipeline/test_sl_pipeline_rewrite.py",
        {"Writers": 1},
        "splices_every_number_of_words,takes_a_flit_a_cycle",
    ),
    "el_parse": ("elements/parse/test_el_parse.py", {}, "reads_every_kind_of_header,survives_random_bytes,opens_tunnels"),
    "el_deparse": (
        "elements/deparse/test_el_deparse.py",
        {},
        "applies_any_edits,makes_right_checksums_after_any_actions,encapsulates_and_decapsulates_as_scapy_does",
    ),
}
ONE_LANE = {"Lanes": 1, "LpmEntries4": 16, "LpmEntries6": 0, "ExactEntries4": 64, "ExactEntries6": 0}
QUICK_BUILD = ("-CFLAGS", "-O0")  # it runs for 2,000 cycles


@pytest.fixture(scope="session")
def narrow() -> Path:
    """What the layouts give for flits of 32 bytes."""
    folder = ROOT / "build" / "gen_narrow"
    assert generate(["--out", str(folder), "--set", "DATA_BYTES=32"]) == 0
    return folder


@pytest.mark.parametrize("part", first(2, PARTS))
def test_part(part: str, narrow: Path) -> None:
    tests, parameters, cases = PARTS[part]
    simulate(part, str(ROOT / tests), parameters, testcase=cases, env={"FLITS": "512"}, generated=narrow)


def test_shell(narrow: Path) -> None:
    simulate("sh_core", __file__, ONE_LANE, flags=QUICK_BUILD, generated=narrow)


async def access(dut, address: int, value: int | None = None) -> int:
    """A register read, or a write; it must not fail."""
    dut.reg_request_i.value = L.RegisterRequest(write=int(value is not None), address=address, data=value or 0).to_int()
    dut.reg_request_valid_i.value = 1
    for _ in range(200):
        await ReadOnly()
        taken, answered = dut.reg_request_ready_o.value == 1, dut.reg_response_valid_o.value == 1
        response = L.RegisterResponse.from_int(int(dut.reg_response_o.value)) if answered else None
        await RisingEdge(dut.clk_i)
        if taken:
            dut.reg_request_valid_i.value = 0
        if response is not None:
            assert not response.error, f"{address:#x}"
            return int(response.data)
    raise TimeoutError(f"no answer at {address:#x}")


async def install(dut, windows: Mapping[int, int]) -> None:
    """10.1.0.0/16 loses one of its TTL, gets a tag, and leaves."""
    lpm = windows[L.ELEMENT_LPM]
    while not await access(dut, lpm + L.OFU_REGISTERS_STATUS) & 1:
        pass
    actions = (L.ACTION_SUB << 24, L.ACTION_INSERT_VLAN << 24 | TAG, L.ACTION_CHECKSUM << 24, L.ACTION_OUTPUT << 24)
    word = L.Instruction(
        actions=L.ActionSet.from_int(sum(action << 32 * n for n, action in enumerate(actions))),
        value=0x0A010000,
        mask=0xFFFF0000,
        rule_priority=16,
        kind=L.INSTRUCTION_POPULATE,
    ).to_int()
    for n in range(L.OFU_REGISTERS_INSTRUCTION_COUNT):
        await access(dut, lpm + L.OFU_REGISTERS_INSTRUCTION + 4 * n, word >> 32 * n & 0xFFFFFFFF)
    await access(dut, lpm + L.OFU_REGISTERS_PUSH, 0)
    while not await access(dut, lpm + L.OFU_REGISTERS_USED):
        pass
    await access(dut, lpm + L.OFU_REGISTERS_CONTROL, 1)
    await access(dut, windows[L.ELEMENT_ADMIT] + L.ADMIT_REGISTERS_CONTROL, ANY_MAC | 1 << L.TABLE_LPM)
    await access(dut, L.SHELL_REGISTERS_CONTROL, 1 << 2)


def udp(destination: str, payload: int) -> bytes:
    head = Ether(src="02:00:00:00:00:aa", dst="02:00:00:00:00:01") / IP(src="10.0.0.1", dst=destination, ttl=64)
    return bytes(head / UDP(sport=1, dport=2) / random.randbytes(payload))


def routed(data: bytes) -> bytes:
    """What the rule makes of a packet, by scapy."""
    packet = Ether(data)
    packet[IP].ttl -= 1
    del packet[IP].chksum
    return bytes(Ether(src=packet.src, dst=packet.dst) / Dot1Q(vlan=TAG) / packet[IP])


@cocotb.test()
async def packets_hit_miss_and_come_from_the_host(dut):
    assert L.DATA_BYTES == 32
    dut.reg_request_valid_i.value = 0
    lane, host = Source(dut, "lane_rx"), Source(dut, "from_host")
    sinks = [Sink(dut, "lane_tx"), Sink(dut, "to_host")]
    await start(dut)
    words = [await access(dut, L.SHELL_REGISTERS_CAPABILITY + 4 * n) for n in range(16)]
    await install(dut, {word & 0xFFFF: n * L.WINDOW_SIZE for n, word in enumerate(words)})
    hits = [udp("10.1.0.9", size) for size in (0, 1, 17, 18, 21, 22, 50, 1400, 9000)]
    misses = [udp("10.2.0.9", size) for size in (0, 22, 700)]
    own = [random.randbytes(size) for size in (14, 31, 32, 33, 64, 1000)]
    for data in random.sample(hits + misses, len(hits + misses)):
        lane.send(*(flit.to_int() for flit in to_flits(data, L.Meta())))
    for data in own:
        host.send(*(flit.to_int() for flit in to_flits(data, L.Meta(egress_mask=1))))
    await lane.drained()
    await host.drained()
    for _ in range(20_000):
        await RisingEdge(dut.clk_i)
        if dut.idle_o.value == 1 and dut.lane_tx_valid_o.value == 0 and dut.to_host_valid_o.value == 0:
            break
    left, to_host = ([packet.data for packet in from_flits(map(L.Flit.from_int, sink.received))] for sink in sinks)
    assert sorted(to_host) == sorted(misses)
    assert sorted(left) == sorted(own + [routed(data) for data in hits])
