# SPDX-License-Identifier: Apache-2.0
"""Two controller cores in the last lane: both agents load programs at once under traffic, and no packet sees a mixture of two; each
gets its own packets; what is forged, replayed or addressed wrongly at one core changes nothing at the other."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator

import pytest
import sluice_layouts as L
from scapy.layers.l2 import Ether

from compiler.pipeline.actions import Operation, action, set_words
from compiler.pipeline.pipeline_image import PipelineProgram
from compiler.pipeline.unit_image import UnitEntry
from host.python.device import Device
from host.python.messages import Refused, Session, payload
from host.python.pipeline import Overlay
from host.python.windows import own_core
from shell.sim.build import OVERLAY
from shell.sim.test_overlay import PLACES, PROGRAM, packets, router
from testing.device import SELF, host_packets, lane_packets, routed
from testing.messages import AGENT_LANE, LaneLink

TWO = OVERLAY | {"controller": 2}
CORES = range(2)
KEY = bytes(range(16))
SHARE = L.SHELL_REGISTERS_HOST_SHARE


@pytest.fixture
def device() -> Iterator[Device]:
    with Device(TWO) as opened:
        yield opened


def sender(core: int, hop: int) -> PipelineProgram:
    """Core n's programs send everything to lane 1 + n, with a next hop that says which of them it was."""
    [unit] = router({}).units
    rewritten = [*set_words(PLACES["eth_dst"], 0x020000000000 | core << 8 | hop), *set_words(PLACES["eth_src"], SELF)]
    rewritten.append(Operation(PLACES["ip4_ttl"][0], L.OPERATOR_COUNT_DOWN, mask=0xFF00))
    return PipelineProgram(
        PROGRAM, (type(unit)(unit.selector, (), action(rewritten, verdict=L.VERDICT_FORWARD, ports=[1 + core])),)
    )


class Turns:
    """Threads of which one runs at a time, until it gives the next one its turn."""

    def __init__(self) -> None:
        self.changed, self.waiting = threading.Condition(), list[int]()
        self.errors: list[BaseException] = []

    def pass_on(self, number: int) -> None:
        """Let the others have a turn each."""
        with self.changed:
            self.waiting.append(self.waiting.pop(0))
            self.changed.notify_all()
            self.changed.wait_for(lambda: self.waiting[0] == number)

    def run(self, works: list[Callable[[], None]]) -> None:
        """All of them in turns, to their ends."""
        self.waiting = list(range(len(works)))
        threads = [threading.Thread(target=self._run, args=(number, work)) for number, work in enumerate(works)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self.errors:
            raise self.errors[0]

    def _run(self, number: int, work: Callable[[], None]) -> None:
        with self.changed:
            self.changed.wait_for(lambda: self.waiting[0] == number)
        try:
            work()
        except BaseException as error:
            self.errors.append(error)
        with self.changed:
            self.waiting.remove(number)
            self.changed.notify_all()


class Traffic:
    """Packets into lanes 0 to 2, and what leaves them, all the time."""

    def __init__(self, device: Device) -> None:
        self.device, self.sent, self.out = device, 0, list[tuple[int, bytes]]()
        self.kinds = packets(50)

    def step(self) -> None:
        for lane in range(3):
            if self.device.lane_send(lane, self.kinds[self.sent % len(self.kinds)]):
                self.sent += 1
            self.out += [(lane, data) for data in lane_packets(self.device, lane)]


def test_transactions_of_two_cores_do_not_mix(device: Device) -> None:
    device.call("sluice_device_set_lossless", 1)
    turns, traffic, draw = Turns(), Traffic(device), random.Random(3)
    links: list[LaneLink] = []
    loaded: list[tuple[int, int]] = []
    refused = [0, 0]

    def agent(core: int) -> None:
        session = Session(links[core], tries=40)
        overlay = Overlay(session)
        for hop in range(1, 100):
            if hop > 3 and all(refused):
                break
            while True:
                try:
                    overlay.load(sender(core, hop))
                    break
                except Refused as error:
                    assert error.access.address == L.SHELL_REGISTERS_LOCK
                    refused[core] += 1
                    for _ in range(draw.randrange(2, 40)):
                        links[core].step()
            loaded.append((core, hop))
            for _ in range(draw.randrange(400)):
                links[core].step()

    def meanwhile(core: int) -> Callable[[], None]:
        def step() -> None:
            turns.pass_on(core)
            if loaded:
                traffic.step()

        return step

    for core in CORES:
        links.append(LaneLink(device, 0.05, core, meanwhile(core), core, links[0] if core else None))
    turns.run([lambda core=core: agent(core) for core in CORES])
    device.settle()
    traffic.out += [(lane, data) for lane in range(3) for data in lane_packets(device, lane)]
    assert all(refused), "both were refused while the other loaded"
    counts: dict[tuple[int, int], int] = {}
    known = {bytes(Ether(routed(data)))[12:] for data in traffic.kinds}
    for lane, data in traffic.out:
        core, hop = data[4], data[5]
        counts[core, hop] = counts.get((core, hop), 0) + 1
        assert (core, hop) in loaded and data[:4] == b"\x02\0\0\0" and lane == 1 + core and data[12:] in known
    assert len(traffic.out) == traffic.sent and not host_packets(device), "none is lost, and none is of no program"
    assert {core for core, _ in counts} == {0, 1} and len(counts) >= 4, counts
    assert device.read(L.SHELL_REGISTERS_LOCK_REFUSED) == sum(refused)


def test_the_windows_of_the_graph_are_for_who_has_the_lock(device: Device) -> None:
    links = [LaneLink(device)]
    links.append(LaneLink(device, core=1, beside=links[0]))
    first, second = (Session(link) for link in links)
    overlay = Overlay(first)
    data, lock = overlay.window + L.PIPELINE_REGISTERS_DATA, L.SHELL_REGISTERS_LOCK
    assert [bus.read(L.SHELL_REGISTERS_MASTER) for bus in (device, first, second)] == [0, 1, 2]
    for bus in (device, first, second):
        with pytest.raises(OSError):
            bus.write_all([(data, 7)])  # nobody has it
    first.write_all([(lock, 1), (data, 0x1111)])
    for bus in (device, second):
        for address, word in ((data, 0x2222), (overlay.window + L.PIPELINE_REGISTERS_PLACE, 0), (lock, 0), (lock, 1)):
            with pytest.raises(OSError):
                bus.write_all([(address, word)])
        assert bus.read(data) == 0x1111 and bus.read(lock) & 3 == 2
        bus.write_all([(SHARE, 9)])  # not one of the graph's
    assert first.read(lock) == 1 and second.read(SHARE) == 9
    restarted = Session(links[0])  # an agent that comes again has what it had
    restarted.write_all([(lock, 1), (data, 0x3333), (lock, 0)])
    second.write_all([(lock, 1)])
    assert [bus.read(lock) for bus in (device, restarted, second)] == [6, 6, 5]
    assert device.read(L.SHELL_REGISTERS_LOCK_REFUSED) == 3 + 8


def test_each_agent_gets_its_packets(device: Device) -> None:
    sent = packets(6, nets=2)  # by turns
    [unit] = router({}).units
    entries = tuple(
        UnitEntry((0x0A000000 | net << 8) << 96, 0xFFFFFF00 << 96, action(verdict=L.VERDICT_TO_CONTROLLER, queue=queue))
        for net, queue in ((0, 2), (1, 1))  # the low bits name the core
    )
    Overlay(device).load(PipelineProgram(PROGRAM, (type(unit)(unit.selector, entries, action(verdict=L.VERDICT_TO_HOST)),)))

    def arrived(*sessions: Session) -> list[list[bytes]]:
        for data in sent:
            while not device.lane_send(0, data):
                device.advance(64)
        device.settle()
        got = [[one.data for one in host_packets(device)]]
        for session in sessions:
            got.append([])
            while (packet := session.packet_in()) is not None:
                assert packet.info.reason == L.REASON_ACTION
                got[-1].append(packet.data)
        return got

    assert arrived() == [sent], "without agents the host has them"
    links = [LaneLink(device)]
    links.append(LaneLink(device, core=1, beside=links[0]))
    second = Session(links[1])
    second.advance(0)
    assert arrived(second) == [sent[::2], sent[1::2]], "the other core's are still the host's"
    first = Session(links[0])
    first.advance(0)
    assert arrived(first, second) == [[], sent[::2], sent[1::2]]
    window = own_core(second.read)
    assert window is not None and own_core(device.read) is None and own_core(first.read) == window - L.WINDOW_SIZE
    assert [device.read(at + L.CONTROLLER_REGISTERS_PACKET_IN) for at in (window - L.WINDOW_SIZE, window)] == [3, 6]
    for number, session in enumerate((first, second)):
        session.packet_out([number], sent[number])
        session.advance(0)
    device.settle()
    assert [lane_packets(device, lane) for lane in range(3)] == [[sent[0]], [sent[1]], []]


def test_packets_of_a_core_without_an_agent_go_to_one_that_takes_the_hosts(device: Device) -> None:
    session = Session(LaneLink(device))
    overlay = Overlay(session)
    [unit] = router({}).units
    overlay.load(PipelineProgram(PROGRAM, (type(unit)(unit.selector, (), action(verdict=L.VERDICT_TO_CONTROLLER, queue=1)),)))
    window = own_core(session.read)
    assert window is not None
    [data] = packets(1)
    for takes in (0, 1):
        session.write_all([(window + L.CONTROLLER_REGISTERS_CONTROL, takes)])
        assert device.lane_send(0, data)
        device.settle()
        packet = session.packet_in()
        assert ([one.data for one in host_packets(device)], packet and packet.data) == (([], data) if takes else ([data], None))


def test_what_is_sent_to_one_core_is_nothing_to_the_other(device: Device) -> None:
    links = [LaneLink(device)]
    links.append(LaneLink(device, core=1, beside=links[0]))
    hosts = own_core(Session(links[0]).read)
    assert hosts is not None
    windows = [hosts, hosts + L.WINDOW_SIZE]
    for window in windows:
        for at in range(4):
            device.write(window + L.CONTROLLER_REGISTERS_KEY + 4 * at, int.from_bytes(KEY[4 * at : 4 * at + 4], "little"))
    sessions = [Session(link, KEY) for link in links]
    for number, session in enumerate(sessions):
        session.write_all([(SHARE, 9 + number)])
    assert sessions[0].session != sessions[1].session
    unexpected = [device.read(window + L.CONTROLLER_REGISTERS_UNEXPECTED) for window in windows]
    body = L.MessageAccess(write=1, address=SHARE, data=99).pack()
    last = L.Message(kind=L.MESSAGE_CONTROL, sequence_number=2**32 - 1, session=sessions[0].session)
    links[1].send(payload(last, body, KEY))  # of the other core's session, with the right tag
    links[0].send(payload(last, body, KEY[::-1]))
    macs = [bytes.fromhex(link.mac.replace(":", "")) for link in links]
    replayed = [macs[1] + frame[6:] for frame in links[0].sent]  # to the wrong core
    for frame in replayed:
        while not device.lane_send(AGENT_LANE, frame):
            device.advance(64)
    device.settle()
    for link in links:
        while link.receive() is not None:
            pass
    for session in sessions:
        assert session.read(SHARE) == 10
    after = [device.read(window + L.CONTROLLER_REGISTERS_UNEXPECTED) for window in windows]
    assert after[0] == unexpected[0] and after[1] > unexpected[1] + 1
    assert device.read(windows[0] + L.CONTROLLER_REGISTERS_FORGED) == 1
