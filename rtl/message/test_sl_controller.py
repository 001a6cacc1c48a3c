# SPDX-License-Identifier: Apache-2.0
"""sl_controller against a model of the protocol: random messages, many of them wrong, repeated, old or forged, packets both ways,
and the other packets of the lane, with random stalls. Frames are built and read by scapy."""

from __future__ import annotations

import os
import random
from collections import Counter, deque
from dataclasses import replace
from itertools import pairwise

import cocotb
import pytest
import sluice_layouts as L
from cocotb.triggers import ReadOnly, RisingEdge
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from host.python.messages import PacketIn, accesses, packet_of, parse, payload
from models.packet import from_flits, to_flits
from testing.cocotb.channel import Sink, Source, start
from testing.cocotb.registers import Registers, check_window
from testing.slow import first
from toolchain.simulate import simulate

LANES = 3
PATIENCE = 20_000  # cycles
KEY = bytes(range(16, 32)) if os.environ.get("KEYED") == "1" else None
MAC, AGENT_MAC = "02:53:4c:00:00:01", "02:00:00:00:00:0a"
AGENT_IP, DEVICE_IP = "192.0.2.2", "192.0.2.1"
GOOD, BAD = 0x100, 0x200  # from there on, addresses that answer, and that refuse
COUNTERS = [register.name for register in L.CONTROLLER_REGISTERS if register.offset >= L.CONTROLLER_REGISTERS_ACCEPTED]


@pytest.mark.parametrize("keyed", first(1, [1, 0]))
def test_controller(keyed: int) -> None:
    simulate("sl_controller", __file__, {"Lanes": LANES, "Flits": 256}, env={"KEYED": str(keyed)})


def frame(data: bytes, port: int = L.MESSAGE_PORT, **ip: int) -> bytes:
    head = Ether(src=AGENT_MAC, dst=MAC) / IP(src=AGENT_IP, dst=DEVICE_IP, **ip) / UDP(sport=4000, dport=port)
    return bytes(head / Raw(data))


def unframe(data: bytes) -> bytes:
    """The payload of a frame from the device; its addresses and checksums are right."""
    found = Ether(data)
    assert (found.src, found.dst, found[IP].src, found[IP].dst) == (MAC, AGENT_MAC, DEVICE_IP, AGENT_IP)
    assert (found[UDP].sport, found[UDP].dport, found[UDP].chksum) == (L.MESSAGE_PORT, 4000, 0)
    assert bytes(IP(bytes(found[IP])).copy()) == bytes(found[IP])
    fresh = found[IP].copy()
    del fresh.chksum, fresh.len
    assert bytes(IP(bytes(fresh)))[:20] == bytes(found[IP])[:20] and found[UDP].len == len(found[IP]) - 20
    assert len(found[IP]) + 14 == len(data)
    return bytes(found[UDP].payload)


class Bench:
    """The core, an agent on its lane, a register bus, and what must come of each message."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.rx, self.tx, self.to_agent = Source(dut, "rx"), Source(dut, "tx"), Source(dut, "to_agent")
        self.rx_out, self.tx_out, self.from_agent = Sink(dut, "rx"), Sink(dut, "tx"), Sink(dut, "from_agent")
        self.registers = Registers(dut)
        self.made: list[tuple[int, int, int]] = []  # accesses on the bus
        self.expected: deque[bytes] = deque()  # payloads of answers
        self.packets: list[tuple[bytes, int]] = []  # with their lanes
        self.accesses: list[tuple[int, int, int]] = []
        self.count: Counter[str] = Counter()
        self.session = self.number = 0
        self.answered: tuple[int, bytes] | None = None
        dut.lossless_i.value = 1
        dut.time_i.value = random.getrandbits(63) | 1
        cocotb.start_soon(self._bus())

    async def _bus(self) -> None:
        """Answers accesses after random times."""
        dut = self.dut
        dut.master_request_ready_i.value = dut.master_response_valid_i.value = 0
        while True:
            await ReadOnly()
            valid = dut.master_request_valid_o.value == 1 and dut.rst_i.value == 0
            request = L.RegisterRequest.from_int(int(dut.master_request_o.value)) if valid else None
            await RisingEdge(dut.clk_i)
            if request is None or random.random() < 0.5:
                continue
            dut.master_request_ready_i.value = 1
            await RisingEdge(dut.clk_i)
            dut.master_request_ready_i.value = 0
            self.made.append((request.write, request.address, request.data))
            for _ in range(random.randrange(5)):
                await RisingEdge(dut.clk_i)
            dut.master_response_i.value = L.RegisterResponse(*word_of(request.write, request.address)).to_int()
            dut.master_response_valid_i.value = 1
            await RisingEdge(dut.clk_i)
            dut.master_response_valid_i.value = 0

    def give(self, data: bytes) -> None:
        """To the lane."""
        self.rx.send(*(flit.to_int() for flit in to_flits(data, L.Meta(length=len(data)))))

    async def answer(self) -> bytes:
        """The next message to the agent."""
        for _ in range(PATIENCE):
            packets = whole(self.tx_out.received)
            if packets:
                del self.tx_out.received[: packets[0][1]]
                return packets[0][0]
            await RisingEdge(self.dut.clk_i)
        raise TimeoutError("no message to the agent")

    async def answers(self, left: int) -> None:
        """Compares answers until so many have not come yet."""
        while len(self.expected) > left:
            assert parse(unframe(await self.answer()), KEY) == parse(self.expected[0], KEY), f"{len(self.expected)} left"
            self.expected.popleft()

    async def open(self) -> None:
        """A session: offered to a hello, begun with the next message."""
        nonce, offers = random.getrandbits(64), []
        for one in (nonce ^ 1, nonce, nonce):  # another agent's, and one that comes twice
            self.give(frame(payload(L.Message(kind=L.MESSAGE_HELLO, sequence_number=77), L.MessageHello(one).pack(), KEY)))
            message, body = parse(unframe(await self.answer()), KEY)
            offers.append(L.MessageHello.unpack(body).session)
            self.dut.time_i.value = random.getrandbits(63) | 1
        assert offers[0] != offers[1] == offers[2]
        found = L.MessageHello.unpack(body)
        assert (message.kind, message.sequence_number, message.session, found.nonce) == (L.MESSAGE_SESSION, 77, 0, nonce)
        assert found.session not in (0, self.session)
        self.session, self.number, self.answered = found.session, 0, None
        self.count["accepted"] += 3

    def control(self, wanted: list[L.MessageAccess]) -> bytes:
        """A frame of the next message, with what must come of it."""
        self.number += random.choice([1, 1, 1, 5])
        message = L.Message(kind=L.MESSAGE_CONTROL, sequence_number=self.number, session=self.session)
        results, done = [], 0
        for access in wanted:
            failed, word = word_of(access.write, access.address)
            results.append(replace(access, failed=failed, data=word))
            self.accesses.append((access.write, access.address, access.data))
            if failed:
                break
            done += 1
        body = b"".join(access.pack() for access in [*results, *wanted[len(results) :]])
        status = L.MESSAGE_REFUSED if done < len(wanted) else L.MESSAGE_DONE
        answer = payload(replace(message, kind=L.MESSAGE_RESULT, status=status, detail=done), body, KEY)
        self.answered = (self.number, answer)
        self.expected.append(answer)
        self.count["accepted"] += 1
        return frame(payload(message, b"".join(access.pack() for access in wanted), KEY))

    def packet_out(self) -> bytes:
        self.number += 1
        data, ports = random.randbytes(random.choice([13, 14, 59, 60, 64, 65, 100, 1514])), random.choice([1, 2, 5, 7, 8, 0x13])
        lanes = ports & (1 << LANES) - 1
        if lanes and len(data) >= 14:
            self.packets.append((data, lanes))
            self.count["packet_out"] += 1
        else:
            self.count["packet_out_lost"] += 1
        self.count["accepted"] += 1
        message = L.Message(kind=L.MESSAGE_PACKET_OUT, sequence_number=self.number, ports=ports, session=self.session)
        return frame(payload(message, data, KEY))


def word_of(write: int, address: int) -> tuple[int, int]:
    """What the bus answers: an error, a word."""
    return int(address >= BAD), 0 if write or address >= BAD else address * 0x10001


def whole(words: list[int]) -> list[tuple[bytes, int]]:
    """Packets in flits, each with its number of flits."""
    found, begun = [], 0
    for at, word in enumerate(words):
        if L.Flit.from_int(word).eop:
            found.append((from_flits([L.Flit.from_int(one) for one in words[begun : at + 1]])[0].data, at + 1 - begun))
            begun = at + 1
    return found


def some_accesses(failing: float = 0.1) -> list[L.MessageAccess]:
    count = random.choice([0, 1, 2, 3, 7, 8, 9, L.MESSAGE_ACCESSES])
    return [
        L.MessageAccess(
            random.getrandbits(1),
            0,
            0,
            4 * random.randrange(64) + (BAD if random.random() < failing / 8 else GOOD),
            random.getrandbits(32),
        )
        for _ in range(count)
    ]


def wrong(bench: Bench) -> tuple[bytes, str]:
    """A frame to the core that is dropped, and the counter."""
    good = L.Message(kind=L.MESSAGE_CONTROL, sequence_number=bench.number + 1, session=bench.session)
    body = L.MessageAccess(1, 0, 0, GOOD, 7).pack()
    data = payload(good, body, KEY)
    sent = bytearray(frame(data))
    cases = [
        (
            frame(payload(replace(good, sequence_number=random.randrange(bench.answered[0] if bench.answered else 1)), body, KEY)),
            "unexpected",
        ),
        (frame(payload(replace(good, session=bench.session ^ 1 << random.randrange(64)), body, KEY)), "unexpected"),
        (frame(payload(replace(good, kind=random.choice([1, 3, 5, 6, 255])), body, KEY)), "malformed"),
        (frame(payload(good, body[:7], KEY)), "malformed"),
        (frame(payload(good, bytes(8 * L.MESSAGE_ACCESSES + 8), KEY)), "malformed"),
        (frame(payload(replace(good, kind=L.MESSAGE_HELLO), bytes(16), KEY)), "malformed"),
        (frame(payload(replace(good, kind=L.MESSAGE_HELLO, session=0), bytes(24), KEY)), "malformed"),
        (frame(data, port=L.MESSAGE_PORT ^ 1), "malformed"),
        (frame(data, flags=1), "malformed"),
        (frame(data, proto=6), "malformed"),
        (frame(data[:-8]), "malformed"),
        (frame(data + bytes(8)), "malformed"),
        (frame(data[:14]), "malformed"),
        (frame(b""), "malformed"),
        (bytes(sent[: random.randrange(14, len(sent))]), "malformed"),
        (bytes(sent) + random.randbytes(random.randrange(1, 200)), "malformed"),
    ]
    at = random.choice([12, 14, 23, 24, 30, 40, 42, 44, *range(46, len(sent))])  # a byte on which a checksum, or all, depends
    sent[at] ^= 1 << random.randrange(8)
    cases.append((bytes(sent), "malformed"))
    if KEY is not None:
        forged = payload(good, body, random.choice([None, bytes(16), random.randbytes(16)]))
        cases += 4 * [(frame(forged), "forged"), (frame(data[:30] + bytes([data[30] ^ 1]) + data[31:]), "forged")]
    return random.choice(cases)


@cocotb.test()
async def messages_are_executed_once_and_wrong_ones_never(dut):
    bench = Bench(dut)
    await start(dut)
    await check_window(bench.registers.access, L.CONTROLLER_REGISTERS, values={"mac_low": [0x4C000001], "mac_high": [0x0253]})
    await bench.registers.write(L.CONTROLLER_REGISTERS_PACKET_IN_INTERVAL, 0)
    await bench.registers.write(L.CONTROLLER_REGISTERS_CONTROL, 0)
    for at in range(4):
        await bench.registers.write(L.CONTROLLER_REGISTERS_KEY + 4 * at, 0)
    if KEY is not None:
        for at in range(4):
            word = int.from_bytes(KEY[4 * at : 4 * at + 4], "little")
            await bench.registers.write(L.CONTROLLER_REGISTERS_KEY + 4 * at, word)
    others, sent_tx = [], []
    for _ in range(3):
        await bench.open()
        bench.give(bench.control([]))
        for _ in range(60):
            choice = random.random()
            if choice < 0.3:
                bench.give(bench.control(some_accesses()))
            elif choice < 0.4 and bench.answered is not None:
                answer = bench.answered[1]
                kept, _ = parse(answer, KEY)
                request = replace(kept, kind=L.MESSAGE_CONTROL, status=0, detail=0)
                bench.give(frame(payload(request, random.randbytes(kept.length), KEY)))
                bench.expected.append(answer)
                bench.count["repeated"] += 1
            elif choice < 0.5:
                bench.give(bench.packet_out())
            elif choice < 0.8:
                data, counter = wrong(bench)
                bench.give(data)
                bench.count[counter] += 1
            else:
                data = bytes(
                    Ether(dst=random.choice([AGENT_MAC, "02:53:4c:00:00:02", "ff:ff:ff:ff:ff:ff"]))
                    / Raw(random.randbytes(random.randrange(200)))
                )
                bench.give(data)
                others.append(data)
            await bench.answers(6)  # what waits has room in the store
        await bench.answers(0)
        await bench.rx.drained()
        for _ in range(3000):
            await RisingEdge(dut.clk_i)
    assert dut.idle_o.value == 1
    assert bench.made == bench.accesses
    assert [data for data, _ in whole(bench.rx_out.received)] == others
    found = [(data, at) for data, at in whole(bench.from_agent.received)]
    assert [data for data, _ in found] == [data for data, _ in bench.packets]
    masks = [L.Flit.from_int(word).meta.egress_mask for word in bench.from_agent.received if L.Flit.from_int(word).sop]
    assert masks == [lanes for _, lanes in bench.packets]
    assert not bench.tx_out.received and not sent_tx
    for name in COUNTERS:
        assert await bench.registers.read(getattr(L, f"CONTROLLER_REGISTERS_{name.upper()}")) == bench.count[name], name
    assert all(bench.count[name] for name in ("accepted", "repeated", "malformed", "unexpected", "packet_out", "packet_out_lost"))


@cocotb.test()
async def packets_reach_the_agent_between_those_of_the_lane(dut):
    bench = Bench(dut)
    await start(dut)
    for at in range(4):
        await bench.registers.write(
            L.CONTROLLER_REGISTERS_KEY + 4 * at, int.from_bytes((KEY or bytes(16))[4 * at : 4 * at + 4], "little")
        )

    def upload(data: bytes, verdict: int, port: int, fault: int = 0, mark: int = 0) -> None:
        meta = L.Meta(ingress_port=port, verdict=verdict, fault=fault, mark=mark, length=len(data))
        bench.to_agent.send(*(flit.to_int() for flit in to_flits(data, meta)))

    upload(bytes(60), L.VERDICT_TO_CONTROLLER, 1)  # no session yet
    await bench.to_agent.drained()
    for _ in range(100):
        await RisingEdge(dut.clk_i)
    assert await bench.registers.read(L.CONTROLLER_REGISTERS_PACKET_IN_LOST) == 1
    for _ in range(2):
        await bench.open()
        bench.give(bench.control([]))
        await bench.answers(0)
        wanted, lane = [], []
        for number in range(1, 25):
            data = random.randbytes(random.choice([14, 60, 63, 64, 65, 128, 1514]))
            verdict, fault = random.choice([(L.VERDICT_TO_CONTROLLER, 0), (L.VERDICT_TO_HOST, L.FAULT_CHAIN)])
            reason, mark = L.REASON_HOST if fault else L.REASON_ACTION, random.getrandbits(32)
            wanted.append(PacketIn(data, L.MessagePacketIn(mark, fault, 0, reason, number % 3), number))
            upload(data, verdict, number % 3, fault, mark)
            lane.append(bytes(6) + random.randbytes(random.randrange(54, 300)))
            bench.tx.send(*(flit.to_int() for flit in to_flits(lane[-1], L.Meta(length=len(lane[-1])))))
            if number % 4 == 0:
                bench.give(bench.control(some_accesses()))
        stall, bench.tx_out.stall = bench.tx_out.stall, lambda: True  # until the stores are full
        for _ in range(12_000):
            await RisingEdge(dut.clk_i)
        bench.tx_out.stall = stall
        found, passed = [], []
        while len(found) < len(wanted) or len(passed) < len(lane) or bench.expected:
            data = await bench.answer()
            if data[:6] == bytes(6):
                passed.append(data)
                continue
            message, body = parse(unframe(data), KEY)
            if message.kind == L.MESSAGE_RESULT:
                assert (message, body) == parse(bench.expected.popleft(), KEY)
                continue
            assert message.kind == L.MESSAGE_PACKET_IN and message.session == bench.session
            found.append(packet_of(message, body))
        assert found == wanted and passed == lane
    interval = 2000
    await bench.registers.write(L.CONTROLLER_REGISTERS_PACKET_IN_INTERVAL, interval)
    for _ in range(6):
        upload(bytes(60), L.VERDICT_TO_CONTROLLER, 1)
    begun = []
    for cycle in range(8 * interval):
        await RisingEdge(dut.clk_i)
        packets = whole(bench.tx_out.received)
        if packets:
            begun.append(cycle)
            bench.tx_out.received.clear()
    gaps = [second - first for first, second in pairwise(begun[1:])]
    assert len(begun) == 6 and all(interval - 100 < gap < interval + 100 for gap in gaps), begun
    assert await bench.registers.read(L.CONTROLLER_REGISTERS_PACKET_IN) == 54


def test_accesses_are_as_they_were_packed() -> None:
    wanted = some_accesses()
    assert accesses(b"".join(access.pack() for access in wanted)) == wanted
