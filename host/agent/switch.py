# SPDX-License-Identifier: Apache-2.0
"""An OpenFlow switch of a device's pipeline: the flows, what they come to, packets to and from the controllers."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

import sluice_layouts as L
from c65of import ofproto as of
from c65of.ofproto import parser as codec

from compiler.pipeline.parser_program import ProgramError
from compiler.pipeline.pipeline_image import PipelineProgram
from host.agent import messages
from host.agent.actions import Ports, port_of, work_of
from host.agent.channel import ChannelError, PacketIn
from host.agent.counters import Count
from host.agent.fields import Match, requirements
from host.agent.flows import Filter, Flow, Flows
from host.agent.pipeline import Pipeline
from host.agent.refusal import Refusal, bad_action, bad_match, table_full
from host.agent.translate import Rule, TooWide, Translation, WrongOrder, check_width, program

RATE = 1000.0  # packets to the controllers a second
TAIL = 256  # packets to the controllers that the local API shows
NUMBERS = 1 << 16
SAMPLE = 60.0  # seconds between two readings of all counters, whose last hits wrap in 71 minutes
Why = tuple[int, int, int]  # table, cookie and reason of a packet to the controller
DEPLOYED = "a deployed program has the device; hint: ./sluice table restore gives it back to the flows"


@dataclass(frozen=True)
class Shown:
    """A packet that went to the controllers."""

    time: float
    port: int
    table: int
    cookie: int
    reason: int
    data: bytes


@dataclass(frozen=True)
class Deployed:
    """A program in the place of the flows, and the file that it was made of."""

    name: str
    program: PipelineProgram


class RateLimit:
    """A token bucket: `rate` a second, as many at once."""

    def __init__(self, rate: float, clock: Callable[[], float]) -> None:
        self.rate, self.clock = rate, clock
        self.tokens, self.last = rate, clock()

    def take(self) -> bool:
        """Whether one more may go."""
        now = self.clock()
        self.tokens = min(self.rate, self.tokens + (now - self.last) * self.rate)
        self.last = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True


class Switch:
    """The desired state of a device and how it gets there. Events for controllers go to `listeners`."""

    def __init__(self, pipeline: Pipeline, datapath: int = 1, rate: float = RATE) -> None:
        """Loads what an agent before this one had kept, or a program that drops everything. Raises ChannelError."""
        self.pipeline, self.datapath, self.clock = pipeline, datapath, pipeline.clock
        self.channel = pipeline.channel
        self.lanes, self.tables = self.channel.lanes, pipeline.units
        self.born = self.sampled = self.clock()
        self.flows: Flows
        self.numbers: dict[Why, int]
        self.next_flow: int
        self.deployed: Deployed | None  # what packets use instead of the flows
        self.flows, self.numbers, self.next_flow, self.deployed = pipeline.kept or (Flows(), {}, 1, None)
        self.gone: list[tuple[Flow, int]] = []  # and the reason: their controllers are to hear of it
        self.whys = {number: why for why, number in self.numbers.items()}
        self.next_number = max(self.whys, default=0)
        self.generation: int | None = None  # of the master's election
        self.listeners: list[Callable[[int, int, bytes], None]] = []  # message type, reason, body
        self.shown: deque[Shown] = deque(maxlen=TAIL)
        self.counters: Counter[str] = Counter()
        self.limit = RateLimit(rate, self.clock)
        self.loads_wanted = self.deployed is None  # one that is there keeps its state of flows
        self.why_refused = ""  # the last refusal, in words
        self.translation = self._translation(self.flows) if self.deployed is None else Translation(self.deployed.program, ())
        self.load()

    # The desired state.

    def _translation(self, flows: Flows) -> Translation:
        tables = [[self._rule(flow) for flow in flows.table(table)] for table in range(self.tables)]
        return program(tables, self.lanes, self.pipeline.units)

    def _rule(self, flow: Flow) -> Rule:
        port = flow.match.value("in_port")
        why = flow.table, flow.cookie, of.OFPR_NO_MATCH if flow.is_miss else of.OFPR_ACTION
        ways = tuple(tuple(requirements(flow.match, by_type)) for by_type in (False, True))
        return Rule(
            ways, None if port is None else port - 1, flow.work, self._number(why) if flow.work.ports.controller else 0, flow.number
        )

    def _number(self, why: Why) -> int:
        """What packets to the controller are marked with: never 0, and not soon used again."""
        if why not in self.numbers:
            self.next_number = self.next_number % (NUMBERS - 1) + 1
            self.numbers.pop(self.whys.get(self.next_number, why), None)  # the oldest; it gets another if it is in use
            self.numbers[why], self.whys[self.next_number] = self.next_number, why
        return self.numbers[why]

    def want(self, flows: Flows) -> None:
        """Make these the desired flows; they are loaded by `load`. Raises Refusal where the device cannot hold them."""
        if self.deployed is not None:
            raise Refusal(of.OFPET_FLOW_MOD_FAILED, of.OFPFMFC_EPERM, DEPLOYED)
        try:
            wanted = self._translation(flows)
        except TooWide as error:
            raise table_full(str(error)) from error
        except WrongOrder as error:
            raise bad_action(of.OFPBAC_UNSUPPORTED_ORDER, str(error)) from error
        except ProgramError as error:
            raise bad_action(of.OFPBAC_TOO_MANY, str(error)) from error
        self._place(wanted.program)
        self.flows, self.translation, self.loads_wanted = flows, wanted, True

    def _place(self, program: PipelineProgram) -> None:
        """Raises Refusal where a program has no place."""
        try:
            self.pipeline.place(program)
        except ProgramError:
            self.load()  # the places of the program before the last are free then
            try:
                self.pipeline.place(program)
            except ProgramError as error:
                raise table_full(str(error)) from error

    def deploy(self, deployed: Deployed | None) -> None:
        """Have packets use a program instead of the flows; None: the flows again. Raises Refusal, ChannelError."""
        wanted = self._translation(self.flows) if deployed is None else Translation(deployed.program, ())
        self._place(wanted.program)
        self.deployed, self.translation, self.loads_wanted = deployed, wanted, True
        self.load()

    def load(self) -> None:
        """Bring the desired state to the device, if it is not there; then say which flows are gone. Raises ChannelError."""
        if self.loads_wanted or not self.pipeline.known:
            self.pipeline.load(self.translation, self._kept())
            self.loads_wanted = False
        self._announce()

    def _kept(self) -> tuple[Flows, dict[Why, int], int, Deployed | None]:
        """What an agent after this one is to know."""
        return self.flows, self.numbers, self.next_flow, self.deployed

    def _announce(self) -> None:
        """Tell the controllers of flows that are gone, with all that they have counted."""
        if not self.gone:
            return
        self.pipeline.wait_for_old_packets()
        self.pipeline.sample_flows({flow.number for flow, _ in self.gone})
        gone, self.gone = self.gone, []
        for flow, reason in gone:
            count = self.count(flow)
            first, last = (flow.cookie, flow.priority, reason, flow.table), (flow.idle, flow.hard, count.packets, count.bytes)
            made = codec.OFPFlowRemoved(None, *first, *self.age(flow), *last)
            self._tell(of.OFPT_FLOW_REMOVED, reason, made.pack_fixed() + flow.match_bytes)

    def check(self) -> None:
        """Once a second: a device that was reset gets its program again; flows whose time is over go."""
        if self.pipeline.was_reset():
            self.counters["reset"] += 1
            self.pipeline.forget()
        self.load()
        if self.clock() >= self.sampled + SAMPLE:
            self.sampled = self.clock()
            self.pipeline.sample_flows()
            self.pipeline.counters.drop_all_but({flow.number for flow in self.flows})
            self.pipeline.keep(self._kept())
        if self.deployed is None:
            self._expire()

    def _expire(self) -> None:
        """Remove the flows whose time is over."""
        if perhaps := self._expired()[of.OFPRR_IDLE_TIMEOUT]:
            self.pipeline.sample_flows({flow.number for flow in perhaps})
        for reason, flows in self._expired().items():
            if not flows:
                continue
            try:
                self.want(self.flows.without(flows))
            except Refusal as refusal:  # both programs have no place; perhaps later
                self.counters["expiry_refused"] += 1
                self.why_refused = str(refusal)
            else:
                self._left(flows, reason)
        self.load()

    def _expired(self) -> Mapping[int, list[Flow]]:
        return self.flows.expired(self.clock(), lambda flow: self.count(flow).used)

    # Statistics.

    def count(self, flow: Flow) -> Count:
        """What a flow has counted, as it was read last."""
        return self.pipeline.counters.flows.get(flow.number, Count())

    def counted(self, flows: Sequence[Flow]) -> list[Count]:
        """What flows have counted."""
        self._sample({flow.number for flow in flows})
        return [self.count(flow) for flow in flows]

    def _sample(self, flows: AbstractSet[int] | None = None) -> None:
        """Read counters; where the device does not answer, those that were read last are shown."""
        try:
            self.pipeline.sample_flows(flows)
        except ChannelError:
            self.counters["counters_unread"] += 1

    def table_counts(self) -> list[tuple[int, int]]:
        """Packets that each table has looked up, and those of them that a flow matched."""
        self._sample()
        lookups, matched = self.pipeline.counters.lookups, self.pipeline.counters.matched
        return [(lookups.get(table, Count()).packets, matched.get(table, Count()).packets) for table in range(self.tables)]

    # Requests.

    def flow_of(self, fields: dict[str, Any], match: Match, match_bytes: bytes, data: bytes, instructions: tuple[Any, ...]) -> Flow:
        """The flow of a request. Raises Refusal."""
        table = fields["table_id"]
        if table >= self.tables:
            raise Refusal(of.OFPET_FLOW_MOD_FAILED, of.OFPFMFC_BAD_TABLE_ID, f"there is no table {table}; there are {self.tables}")
        try:
            check_width([[*requirements(match, by_type)] for by_type in (False, True)])
        except TooWide as error:
            raise bad_match(of.OFPBMC_BAD_WILDCARDS, str(error)) from error
        work = work_of(instructions, match, table, self.tables, self.lanes)
        return Flow(
            table, fields["priority"], match, match_bytes, data, instructions, work, fields["cookie"], fields["flags"],
            fields["idle_timeout"], fields["hard_timeout"], self.clock(), self._next_flow(),
        )  # fmt: skip

    def _next_flow(self) -> int:
        self.next_flow += 1
        return self.next_flow

    def add(self, flow: Flow) -> None:
        """Add a flow. Raises Refusal."""
        self.want(self.flows.added(flow))

    def modify(self, wanted: Filter, data: bytes, instructions: tuple[Any, ...], flags: int) -> None:
        """Change the instructions of flows. Raises Refusal."""

        def change(flow: Flow) -> Flow:
            work = work_of(instructions, flow.match, flow.table, self.tables, self.lanes)
            number = self._next_flow() if flags & of.OFPFF_RESET_COUNTS else flow.number
            return replace(flow, work=work, instructions=instructions, instruction_bytes=data, number=number)

        self.want(self.flows.changed(wanted, change))

    def remove(self, gone: Sequence[Flow], reason: int) -> None:
        """Remove flows; who asked for it hears of it when they have left the device."""
        self.want(self.flows.without(gone))
        self._left(gone, reason)

    def _left(self, gone: Sequence[Flow], reason: int) -> None:
        self.gone += [(flow, reason) for flow in gone if flow.flags & of.OFPFF_SEND_FLOW_REM]

    def age(self, flow: Flow | None = None) -> tuple[int, int]:
        """Seconds and nanoseconds since a flow, or the switch, began."""
        age = max(0.0, self.clock() - (flow.born if flow else self.born))
        return int(age), int(age % 1 * 1e9)

    def packet_out(self, in_port: int, actions: Iterable[Any], data: bytes) -> None:
        """Send a packet of a controller's. Raises Refusal."""
        ports = Ports()
        for action in actions:
            if action.type != of.OFPAT_OUTPUT:
                raise bad_action(of.OFPBAC_BAD_TYPE, "a packet of the controller's is sent as it is; hint: output alone")
            ports = ports.joined(port_of(action.port, self.lanes))
        if ports.controller:
            raise bad_action(of.OFPBAC_BAD_OUT_PORT, "a packet of the controller's does not come back to it")
        if ports.back and not 1 <= in_port <= self.lanes:
            raise bad_action(of.OFPBAC_BAD_OUT_PORT, "output to the ingress port of a packet without one")
        if not data:
            raise Refusal(of.OFPET_BAD_REQUEST, of.OFPBRC_BAD_PACKET, "no packet")
        if mask := ports.mask(in_port - 1 if 1 <= in_port <= self.lanes else None):
            self.load()  # what was asked for before is done before
            self.channel.send(mask, data)
            self.counters["packet_out"] += 1

    # Packets of the device.

    def receive(self) -> bool:
        """Take a packet of the device's, if there is one, to the controllers; whether there was."""
        packet = self.channel.receive()
        if packet is None:
            return False
        why = self.whys.get(packet.mark % NUMBERS)
        if packet.fault or why is None:
            self.counters[f"fault_{L.Fault(packet.fault).name[6:].lower()}" if packet.fault else "unexpected"] += 1
        elif self.limit.take():
            self._packet_in(packet, why)
        else:
            self.counters["packet_in_limited"] += 1
        return True

    def _packet_in(self, packet: PacketIn, why: Why) -> None:
        table, cookie, reason = why
        self.counters["packet_in"] += 1
        self.shown.append(Shown(self.clock(), packet.port + 1, table, cookie, reason, packet.data))
        made = codec.OFPPacketIn(None, of.OFP_NO_BUFFER, len(packet.data), reason, table, cookie)
        body = made.pack_fixed() + messages.in_port_match(packet.port + 1) + bytes(2) + packet.data
        self._tell(of.OFPT_PACKET_IN, reason, body)

    def _tell(self, kind: int, reason: int, body: bytes) -> None:
        for listener in self.listeners:
            listener(kind, reason, body)
