# SPDX-License-Identifier: Apache-2.0
"""A controller's session with the switch: each of its messages, and the answer. Bytes in, bytes out; nothing here knows sockets."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping

from c65of import ofproto as of
from c65of.ofproto import parser as codec

from host.agent import messages
from host.agent.flows import Filter, Flow
from host.agent.messages import HEADER, UNKNOWN, bad_length
from host.agent.refusal import Refusal
from host.agent.switch import Switch

Replies = Iterable[bytes]
ROLES = (of.OFPCR_ROLE_EQUAL, of.OFPCR_ROLE_MASTER, of.OFPCR_ROLE_SLAVE)
# Which events a controller hears of, by type: for master and equal, for slave. It may change them.
ASYNC = {
    of.OFPT_PACKET_IN: [1 << of.OFPR_NO_MATCH | 1 << of.OFPR_ACTION, 0],
    of.OFPT_PORT_STATUS: [7, 7],
    of.OFPT_FLOW_REMOVED: [0xF, 0],
}
CHANGING = (of.OFPT_FLOW_MOD, of.OFPT_GROUP_MOD, of.OFPT_PORT_MOD, of.OFPT_METER_MOD, of.OFPT_TABLE_MOD, of.OFPT_PACKET_OUT)
_ASYNC = struct.Struct("!6I")


class Session:
    """One controller."""

    def __init__(self, switch: Switch, send: Callable[[bytes], None]) -> None:
        self.switch, self.send = switch, send
        self.role = of.OFPCR_ROLE_EQUAL
        self.greeted = False
        self.flags, self.miss_send_len = of.OFPC_FRAG_NORMAL, 128
        self.hears = {kind: [*masks] for kind, masks in ASYNC.items()}
        self.demote: Callable[[Session], None] = lambda session: None  # makes the other masters slaves
        self.handlers: Mapping[int, Callable[[bytes, int], Replies]] = {
            of.OFPT_ECHO_REQUEST: lambda data, xid: [messages.message(of.OFPT_ECHO_REPLY, xid, data[HEADER:])],
            of.OFPT_ECHO_REPLY: lambda data, xid: [],
            of.OFPT_ERROR: lambda data, xid: [],
            of.OFPT_FEATURES_REQUEST: self._features,
            of.OFPT_GET_CONFIG_REQUEST: self._get_config,
            of.OFPT_SET_CONFIG: self._set_config,
            of.OFPT_PACKET_OUT: self._packet_out,
            of.OFPT_FLOW_MOD: self._flow_mod,
            of.OFPT_GROUP_MOD: self._group_mod,
            of.OFPT_METER_MOD: self._meter_mod,
            of.OFPT_PORT_MOD: self._port_mod,
            of.OFPT_TABLE_MOD: self._table_mod,
            of.OFPT_MULTIPART_REQUEST: self._multipart,
            of.OFPT_BARRIER_REQUEST: self._barrier,
            of.OFPT_ROLE_REQUEST: self._role,
            of.OFPT_GET_ASYNC_REQUEST: self._get_async,
            of.OFPT_SET_ASYNC: self._set_async,
        }
        self.statistics: Mapping[int, Callable[[bytes], Iterable[bytes]]] = {
            of.OFPMP_DESC: self._description,
            of.OFPMP_FLOW: self._flow_statistics,
            of.OFPMP_AGGREGATE: self._aggregate,
            of.OFPMP_TABLE: self._table_statistics,
            of.OFPMP_PORT_STATS: self._port_statistics,
            of.OFPMP_PORT_DESC: self._ports,
            of.OFPMP_GROUP_DESC: lambda body: [],
            of.OFPMP_METER_CONFIG: lambda body: [],
            of.OFPMP_GROUP_FEATURES: lambda body: [struct.pack(of.OFP_GROUP_FEATURES_PACK_STR, *[0] * 10)],
            of.OFPMP_METER_FEATURES: lambda body: [codec.OFPMeterFeaturesStats(0, 0, 0, 0, 0).pack_fixed()],
        }

    def hello(self) -> bytes:
        """What the switch begins with."""
        return messages.message(of.OFPT_HELLO, 0)

    def handle(self, data: bytes) -> Replies:
        """Answer one whole message. Raises ConnectionError where the session cannot go on."""
        version, kind, _, xid = messages.header(data)
        try:
            if kind == of.OFPT_HELLO:
                return self._hello(data)
            if version != of.OFP_VERSION:
                raise Refusal(of.OFPET_BAD_REQUEST, of.OFPBRC_BAD_VERSION, f"version {version} of OpenFlow")
            if kind not in self.handlers:
                code = of.OFPBRC_BAD_EXPERIMENTER if kind == of.OFPT_EXPERIMENTER else of.OFPBRC_BAD_TYPE
                raise Refusal(of.OFPET_BAD_REQUEST, code, f"message of type {kind} is not supported")
            if self.role == of.OFPCR_ROLE_SLAVE and kind in CHANGING:
                raise Refusal(of.OFPET_BAD_REQUEST, of.OFPBRC_IS_SLAVE, "the controller is a slave")
            return [*self.handlers[kind](data, xid)]
        except Refusal as refusal:
            self.switch.counters["refused"] += 1
            self.switch.why_refused = str(refusal)
            return [messages.error(refusal, data)]

    def _hello(self, data: bytes) -> Replies:
        """Whether both speak OpenFlow 1.3: by the bitmap of the controller's versions, or its highest."""
        highest, _, _, _ = messages.header(data)
        bitmap = None
        at = HEADER
        while at + 4 <= len(data):
            kind, length = struct.unpack_from("!HH", data, at)
            if length < 4 or at + length > len(data):
                break
            if kind == of.OFPHET_VERSIONBITMAP and length >= 8:
                bitmap = struct.unpack_from("!I", data, at + 4)[0]
            at += length + -length % 8
        if bitmap >> of.OFP_VERSION & 1 if bitmap is not None else highest >= of.OFP_VERSION:
            self.greeted = True
            return []
        text = b"OpenFlow 1.3 only"
        self.send(messages.error(Refusal(of.OFPET_HELLO_FAILED, of.OFPHFC_INCOMPATIBLE, ""), data[:HEADER] + text))
        raise ConnectionError("the controller does not speak OpenFlow 1.3")

    def tell(self, kind: int, reason: int, body: bytes) -> None:
        """An event of the switch's, if this controller wants it."""
        if self.greeted and self.hears[kind][self.role == of.OFPCR_ROLE_SLAVE] >> reason & 1:
            self.send(messages.message(kind, 0, body))

    # Configuration.

    def _features(self, data: bytes, xid: int) -> Replies:
        capabilities = of.OFPC_FLOW_STATS | of.OFPC_TABLE_STATS | of.OFPC_PORT_STATS
        made = codec.OFPSwitchFeatures(None, self.switch.datapath, 0, self.switch.tables, 0, capabilities)
        return [messages.fixed(made, xid)]

    def _get_config(self, data: bytes, xid: int) -> Replies:
        return [messages.fixed(codec.OFPGetConfigReply(None, self.flags, self.miss_send_len), xid)]

    def _set_config(self, data: bytes, xid: int) -> Replies:
        fields = messages.read_fixed(codec.OFPSetConfig, data)
        if fields["flags"] != of.OFPC_FRAG_NORMAL:
            raise Refusal(of.OFPET_SWITCH_CONFIG_FAILED, of.OFPSCFC_BAD_FLAGS, "fragments are treated as other packets")
        self.miss_send_len = fields["miss_send_len"]
        return []

    def _role(self, data: bytes, xid: int) -> Replies:
        fields = messages.read_fixed(codec.OFPRoleRequest, data)
        role, generation = fields["role"], fields["generation_id"]
        if role not in (*ROLES, of.OFPCR_ROLE_NOCHANGE):
            raise Refusal(of.OFPET_ROLE_REQUEST_FAILED, of.OFPRRFC_BAD_ROLE, f"there is no role {role}")
        if role in (of.OFPCR_ROLE_MASTER, of.OFPCR_ROLE_SLAVE):
            old = self.switch.generation
            if old is not None and (generation - old) % (1 << 64) >= 1 << 63:
                raise Refusal(of.OFPET_ROLE_REQUEST_FAILED, of.OFPRRFC_STALE, f"generation {generation} is over")
            self.switch.generation = generation
        if role != of.OFPCR_ROLE_NOCHANGE:
            self.role = role
        if role == of.OFPCR_ROLE_MASTER:
            self.demote(self)
        shown = self.switch.generation if self.switch.generation is not None else UNKNOWN
        return [messages.fixed(codec.OFPRoleReply(None, self.role, shown), xid)]

    def _get_async(self, data: bytes, xid: int) -> Replies:
        return [
            messages.message(of.OFPT_GET_ASYNC_REPLY, xid, _ASYNC.pack(*(mask for masks in self.hears.values() for mask in masks)))
        ]

    def _set_async(self, data: bytes, xid: int) -> Replies:
        if len(data) != HEADER + _ASYNC.size:
            raise bad_length("the message")
        values = _ASYNC.unpack_from(data, HEADER)
        self.hears = {kind: [*values[2 * at : 2 * at + 2]] for at, kind in enumerate(ASYNC)}
        return []

    # Changes.

    def _flow_mod(self, data: bytes, xid: int) -> Replies:
        fields = messages.read_fixed(codec.OFPFlowMod, data)
        match, match_bytes = messages.read_match(data, messages.FLOW_MOD_MATCH)
        at = messages.FLOW_MOD_MATCH + len(match_bytes)
        instructions = messages.read_instructions(data, at)
        command, table = fields["command"], fields["table_id"]
        if fields["buffer_id"] != of.OFP_NO_BUFFER and command in (of.OFPFC_ADD, of.OFPFC_MODIFY, of.OFPFC_MODIFY_STRICT):
            raise Refusal(of.OFPET_BAD_REQUEST, of.OFPBRC_BUFFER_UNKNOWN, "no packets are kept in buffers")
        if command == of.OFPFC_ADD:
            self.switch.add(self.switch.flow_of(fields, match, match_bytes, data[at:], instructions))
            return []
        if command not in (of.OFPFC_MODIFY, of.OFPFC_MODIFY_STRICT, of.OFPFC_DELETE, of.OFPFC_DELETE_STRICT):
            raise Refusal(of.OFPET_FLOW_MOD_FAILED, of.OFPFMFC_BAD_COMMAND, f"there is no command {command}")
        deletes = command in (of.OFPFC_DELETE, of.OFPFC_DELETE_STRICT)
        if table >= self.switch.tables and not (deletes and table == of.OFPTT_ALL):
            raise Refusal(of.OFPET_FLOW_MOD_FAILED, of.OFPFMFC_BAD_TABLE_ID, f"there is no table {table}")
        strict = command in (of.OFPFC_MODIFY_STRICT, of.OFPFC_DELETE_STRICT)
        ports = (fields["out_port"], fields["out_group"]) if deletes else (of.OFPP_ANY, of.OFPG_ANY)
        wanted = Filter(match, table, fields["priority"] if strict else None, fields["cookie"], fields["cookie_mask"], *ports)
        if not deletes:
            self.switch.modify(wanted, data[at:], instructions, fields["flags"])
        elif gone := self.switch.flows.found(wanted):
            self.switch.remove(gone, of.OFPRR_DELETE)
        return []

    def _group_mod(self, data: bytes, xid: int) -> Replies:
        command = messages.read_fixed(codec.OFPGroupMod, data)["command"]
        if command == of.OFPGC_DELETE:
            return []  # of no groups
        code = of.OFPGMFC_OUT_OF_GROUPS if command == of.OFPGC_ADD else of.OFPGMFC_UNKNOWN_GROUP
        raise Refusal(of.OFPET_GROUP_MOD_FAILED, code, "there are no groups")

    def _meter_mod(self, data: bytes, xid: int) -> Replies:
        command = messages.read_fixed(codec.OFPMeterMod, data)["command"]
        if command == of.OFPMC_DELETE:
            return []
        code = of.OFPMMFC_OUT_OF_METERS if command == of.OFPMC_ADD else of.OFPMMFC_UNKNOWN_METER
        raise Refusal(of.OFPET_METER_MOD_FAILED, code, "there are no meters")

    def _port_mod(self, data: bytes, xid: int) -> Replies:
        port = messages.read_fixed(codec.OFPPortMod, data)["port_no"]
        known = 1 <= port <= self.switch.lanes
        code = of.OFPPMFC_BAD_CONFIG if known else of.OFPPMFC_BAD_PORT
        raise Refusal(of.OFPET_PORT_MOD_FAILED, code, "ports cannot be configured" if known else f"there is no port {port}")

    def _table_mod(self, data: bytes, xid: int) -> Replies:
        fields = messages.read_fixed(codec.OFPTableMod, data)
        if fields["table_id"] >= self.switch.tables and fields["table_id"] != of.OFPTT_ALL:
            raise Refusal(of.OFPET_TABLE_MOD_FAILED, of.OFPTMFC_BAD_TABLE, f"there is no table {fields['table_id']}")
        return []  # it has nothing to configure

    def _packet_out(self, data: bytes, xid: int) -> Replies:
        buffer, in_port, actions, packet = messages.read_packet_out(data)
        if buffer != of.OFP_NO_BUFFER:
            raise Refusal(of.OFPET_BAD_REQUEST, of.OFPBRC_BUFFER_UNKNOWN, "no packets are kept in buffers")
        self.switch.packet_out(in_port, actions, packet)
        return []

    def _barrier(self, data: bytes, xid: int) -> Replies:
        self.switch.load()
        return [messages.message(of.OFPT_BARRIER_REPLY, xid)]

    # Statistics.

    def _multipart(self, data: bytes, xid: int) -> Replies:
        kind, flags, body = messages.read_multipart(data)
        if kind not in self.statistics or flags:
            raise Refusal(of.OFPET_BAD_REQUEST, of.OFPBRC_BAD_MULTIPART, f"multipart request of type {kind} is not supported")
        return messages.multipart(kind, xid, self.statistics[kind](body))

    def _description(self, body: bytes) -> Replies:
        names = (b"Sluice", b"programmable pipeline", b"sluice agent", b"", b"")
        return [codec.OFPDescStats(*names).pack_fixed()]

    def _found(self, body: bytes) -> list[Flow]:
        table, port, group, cookie, mask, match = messages.read_flow_filter(body)
        return self.switch.flows.found(Filter(match, table, None, cookie, mask, port, group))

    def _flow_statistics(self, body: bytes) -> Iterator[bytes]:
        flows = self._found(body)
        for flow, count in zip(flows, self.switch.counted(flows), strict=True):
            shown = flow.priority, flow.idle, flow.hard, flow.flags, flow.cookie, count.packets, count.bytes
            yield messages.flow_stats([flow.table, *self.switch.age(flow), *shown], flow.match_bytes, flow.instruction_bytes)

    def _aggregate(self, body: bytes) -> Replies:
        counts = self.switch.counted(self._found(body))
        totals = sum(count.packets for count in counts), sum(count.bytes for count in counts)
        return [codec.OFPAggregateStats(*totals, len(counts)).pack_fixed()]

    def _table_statistics(self, body: bytes) -> Replies:
        for table, (lookups, matched) in enumerate(self.switch.table_counts()):
            yield codec.OFPTableStats(table, len(self.switch.flows.table(table)), lookups, matched).pack_fixed()

    def _port_statistics(self, body: bytes) -> Iterator[bytes]:
        if len(body) < struct.calcsize(of.OFP_PORT_STATS_REQUEST_PACK_STR):
            raise bad_length("the request")
        (wanted,) = struct.unpack_from(of.OFP_PORT_STATS_REQUEST_PACK_STR, body)
        if wanted != of.OFPP_ANY and not 1 <= wanted <= self.switch.lanes:
            raise Refusal(of.OFPET_BAD_REQUEST, of.OFPBRC_BAD_PORT, f"there is no port {wanted}")
        for lane in range(self.switch.lanes) if wanted == of.OFPP_ANY else [wanted - 1]:
            seen = self.switch.pipeline.lane_counters(lane)
            dropped = seen.rx_overflow + seen.rx_oversize
            counts = seen.rx_packets, seen.tx_packets, seen.rx_bytes, seen.tx_bytes, dropped, seen.tx_overflow
            errors = seen.rx_error + seen.rx_runt, seen.tx_error, seen.rx_runt, seen.rx_overflow, UNKNOWN, UNKNOWN
            yield codec.OFPPortStats(lane + 1, *counts, *errors, *self.switch.age()).pack_fixed()

    def _ports(self, body: bytes) -> Replies:
        for lane in range(self.switch.lanes):
            address = f"02:00:00:00:00:{lane + 1:02x}"
            yield codec.OFPPort(lane + 1, address, f"lane{lane}", 0, of.OFPPS_LIVE, 0, 0, 0, 0, 0, 0).pack_fixed()
