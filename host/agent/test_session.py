# SPDX-License-Identifier: Apache-2.0
"""What the agent answers to controllers: the right error for what it cannot do, and nothing changed; OpenFlow's rules of changes,
timeouts and roles; bytes that are no messages."""

from __future__ import annotations

import random
from typing import Any

import pytest
from c65of import ofproto as of
from c65of.ofproto import parser as codec
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from host.agent import messages
from host.agent.refusal import Refusal
from host.agent.testing.model import Bench, parsed
from host.agent.text import FlowTextError, read_filter, read_flow, show_flow

UDP4 = {"eth_type": 0x800, "ip_proto": 17}
WIDE = {"eth_dst": "02:00:00:00:00:01", "eth_src": "02:00:00:00:00:02", "eth_type": 0x86DD}


def flow(match: dict[str, Any] | None = None, *actions: Any, **more: Any) -> codec.OFPFlowMod:
    instructions = [codec.OFPInstructionActions(of.OFPIT_APPLY_ACTIONS, list(actions))] if actions else []
    instructions += more.pop("instructions", [])
    return codec.OFPFlowMod(None, match=codec.OFPMatch(**(match or {})), instructions=instructions, **more)


def delete(match: dict[str, Any] | None = None, **more: Any) -> codec.OFPFlowMod:
    given = {"command": of.OFPFC_DELETE, "table_id": of.OFPTT_ALL, "out_port": of.OFPP_ANY, "out_group": of.OFPG_ANY} | more
    return flow(match, **given)


def output(port: int) -> codec.OFPActionOutput:
    return codec.OFPActionOutput(port)


def applied(*actions: Any) -> codec.OFPInstructionActions:
    return codec.OFPInstructionActions(of.OFPIT_APPLY_ACTIONS, list(actions))


def written(*actions: Any) -> codec.OFPInstructionActions:
    return codec.OFPInstructionActions(of.OFPIT_WRITE_ACTIONS, list(actions))


MATCH, ACTION, INSTRUCTION, FLOW = of.OFPET_BAD_MATCH, of.OFPET_BAD_ACTION, of.OFPET_BAD_INSTRUCTION, of.OFPET_FLOW_MOD_FAILED
REFUSED = {
    "field": (flow({"eth_type": 0x8847, "mpls_label": 5}), MATCH, of.OFPBMC_BAD_FIELD),
    "metadata that is never": (flow({"metadata": 1 << 32}), MATCH, of.OFPBMC_BAD_VALUE),
    "prerequisite": (flow({"tcp_dst": 80}), MATCH, of.OFPBMC_BAD_PREREQ),
    "mask": (flow({"eth_type": (0x800, 0xFF00)}), MATCH, of.OFPBMC_BAD_MASK),
    "value": (flow({"vlan_vid": 0x1005, "vlan_pcp": 9}), MATCH, of.OFPBMC_BAD_VALUE),
    "extension": (flow({"eth_type": 0x86DD, "ip_proto": 0}), MATCH, of.OFPBMC_BAD_VALUE),
    "key": (flow({**WIDE, "ipv6_src": "2001:db8::1", "ipv6_dst": "2001:db8::2"}), MATCH, of.OFPBMC_BAD_WILDCARDS),
    "table": (flow({}, output(1), table_id=3), FLOW, of.OFPFMFC_BAD_TABLE_ID),
    "port": (flow({}, output(9)), ACTION, of.OFPBAC_BAD_OUT_PORT),
    "normal": (flow({}, output(of.OFPP_NORMAL)), ACTION, of.OFPBAC_BAD_OUT_PORT),
    "group": (flow({}, codec.OFPActionGroup(1)), ACTION, of.OFPBAC_BAD_TYPE),
    "push": (flow({}, codec.OFPActionPushMpls()), ACTION, of.OFPBAC_BAD_TYPE),
    "no such queue": (flow({}, codec.OFPActionSetQueue(8)), ACTION, of.OFPBAC_BAD_QUEUE),
    "set without match": (flow({}, codec.OFPActionSetField(udp_dst=5)), ACTION, of.OFPBAC_MATCH_INCONSISTENT),
    "set of no tag": (flow({}, codec.OFPActionSetField(vlan_vid=0x1005)), ACTION, of.OFPBAC_MATCH_INCONSISTENT),
    "set of a type": (flow({}, codec.OFPActionSetField(eth_type=5)), ACTION, of.OFPBAC_BAD_SET_TYPE),
    "set to no value": (
        flow({"vlan_vid": 0x1001}, codec.OFPActionSetField(vlan_vid=5)), ACTION, of.OFPBAC_BAD_SET_ARGUMENT,
    ),
    "TTL of what": (flow({}, codec.OFPActionDecNwTtl()), ACTION, of.OFPBAC_MATCH_INCONSISTENT),
    "change in a set": (
        flow({}, instructions=[written(codec.OFPActionSetField(eth_dst="02:00:00:00:00:01")), codec.OFPInstructionGotoTable(1)]),
        ACTION, of.OFPBAC_UNSUPPORTED_ORDER,
    ),
    "queue in a set": (
        flow({}, instructions=[written(codec.OFPActionSetQueue(3)), codec.OFPInstructionGotoTable(1)]),
        ACTION, of.OFPBAC_UNSUPPORTED_ORDER,
    ),
    "queue": (
        flow({}, instructions=[applied(codec.OFPActionSetQueue(3), output(1)), codec.OFPInstructionGotoTable(1)]),
        ACTION, of.OFPBAC_UNSUPPORTED_ORDER,
    ),
    "goto back": (flow({}, table_id=1, instructions=[codec.OFPInstructionGotoTable(1)]), INSTRUCTION, of.OFPBIC_BAD_TABLE_ID),
    "meter": (flow({}, instructions=[codec.OFPInstructionMeter(1)]), INSTRUCTION, of.OFPBIC_UNSUP_INST),
    "metadata": (
        flow({}, instructions=[codec.OFPInstructionWriteMetadata(1 << 32, 1 << 32)]), INSTRUCTION, of.OFPBIC_UNSUP_METADATA_MASK,
    ),
    "SCTP's checksum": (
        flow({"eth_type": 0x800, "ip_proto": 132}, codec.OFPActionSetField(sctp_dst=5)), ACTION, of.OFPBAC_BAD_SET_TYPE,
    ),
    "command": (flow({}, command=9), FLOW, of.OFPFMFC_BAD_COMMAND),
    "buffer": (flow({}, output(1), buffer_id=5), of.OFPET_BAD_REQUEST, of.OFPBRC_BUFFER_UNKNOWN),
    "groups": (codec.OFPGroupMod(None, group_id=1), of.OFPET_GROUP_MOD_FAILED, of.OFPGMFC_OUT_OF_GROUPS),
    "meters": (codec.OFPMeterMod(None), of.OFPET_METER_MOD_FAILED, of.OFPMMFC_OUT_OF_METERS),
    "statistics": (codec.OFPQueueStatsRequest(None), of.OFPET_BAD_REQUEST, of.OFPBRC_BAD_MULTIPART),
    "no such port": (codec.OFPPortStatsRequest(None, 0, 9), of.OFPET_BAD_REQUEST, of.OFPBRC_BAD_PORT),
    "role": (codec.OFPRoleRequest(None, 7, 0), of.OFPET_ROLE_REQUEST_FAILED, of.OFPRRFC_BAD_ROLE),
    "packet": (
        codec.OFPPacketOut(None, of.OFP_NO_BUFFER, 1, [codec.OFPActionPopVlan()], b"x"), ACTION, of.OFPBAC_BAD_TYPE,
    ),
}  # fmt: skip


def test_what_cannot_be_done_is_refused_and_changes_nothing() -> None:
    bench = Bench()
    assert bench.refused(flow(UDP4, output(2))) is None
    bench.switch.load()
    before, writes = bench.switch.flows, bench.channel.writes
    for what, (request, *error) in REFUSED.items():
        assert bench.refused(request) == tuple(error), (what, bench.switch.why_refused)
    bench.switch.load()
    assert bench.switch.flows == before and bench.channel.writes == writes and not bench.channel.sent


def test_a_change_after_an_output_takes_a_unit_more_and_keeps_no_metadata() -> None:
    one_unit = Bench(units=1)
    late = [output(1), codec.OFPActionSetField(eth_dst="02:00:00:00:00:01"), output(2)]
    assert one_unit.refused(flow({}, *late)) == (FLOW, of.OFPFMFC_TABLE_FULL)
    assert one_unit.refused(flow({}, output(1), output(2))) is None
    apply, goto = applied(*late), codec.OFPInstructionGotoTable(1)
    bench = Bench(units=4)
    assert bench.refused(flow({"metadata": 5}, output(3), table_id=1)) is None
    order = (ACTION, of.OFPBAC_UNSUPPORTED_ORDER)
    assert bench.refused(flow({}, instructions=[apply, goto])) == order
    assert bench.refused(flow({}, instructions=[apply, codec.OFPInstructionWriteMetadata(5, 0xFF), goto])) == order
    assert bench.refused(flow({}, instructions=[apply, codec.OFPInstructionWriteMetadata(5, 0xFFFFFFFF), goto])) is None
    short = codec.OFPInstructionActions(of.OFPIT_APPLY_ACTIONS, late[:2])
    written = codec.OFPInstructionWriteMetadata(5, 0xFFFFFFFF)
    assert bench.refused(flow({"in_port": 3}, priority=50000, instructions=[short, written, goto])) is None
    sent = bytes(12) + b"\x88\xb5" + bytes(46)
    changed = bytes.fromhex("020000000001") + sent[6:]
    assert bench.process(sent, 3) == {1: [sent], 2: [changed], 3: [changed]}
    assert bench.process(sent, 2) == {1: [sent]}, "not back to its lane"


def test_changes_that_do_not_go_into_one_action_take_passes() -> None:
    """Of two containers that are equal modulo 8, and of a TTL twice."""
    mac = "02:00:00:00:00:01"
    actions = [
        codec.OFPActionSetField(ip_dscp=1),
        codec.OFPActionSetField(eth_dst=mac),
        *[codec.OFPActionDecNwTtl()] * 2,
        output(1),
    ]
    assert Bench(units=2).refused(flow(UDP4, *actions)) == (FLOW, of.OFPFMFC_TABLE_FULL)
    bench = Bench(units=4)
    assert bench.refused(flow(UDP4, *actions)) is None
    sent, left = (
        bytes(Ether(dst=dst, src=mac) / IP(src="10.0.0.1", dst="10.0.0.2", ttl=ttl, tos=tos) / UDP() / b"data")
        for dst, ttl, tos in (("02:00:00:00:00:0a", 9, 3), (mac, 7, 7))
    )
    assert bench.process(sent, 3) == {1: [left]}
    assert bench.process(bytes(Ether(dst=mac, src=mac) / IP(ttl=2) / UDP()), 3) == {}, "the second time it is 1"


def test_a_table_is_full_by_entries_and_by_words_and_has_place_again() -> None:
    bench = Bench(units=1, ternary=8)
    held = [n for n in range(12) if bench.refused(flow({"eth_type": 0x800, "ipv4_dst": (f"{n}.0.0.0", f"255.{n}.0.0")})) is None]
    assert held == [*range(8)]
    full = (FLOW, of.OFPFMFC_TABLE_FULL)
    assert bench.refused(flow({"eth_dst": "02:00:00:00:00:01"}, table_id=0, priority=9)) == full
    assert bench.refused(delete()) is None
    assert bench.refused(flow({"in_port": 1, "eth_dst": "02:00:00:00:00:01", "eth_src": "02:00:00:00:00:02"}, output(2))) is None
    assert bench.refused(flow({"eth_type": 0x806, "arp_tpa": "10.0.0.1"}, output(2))) == full, "the words of both together"
    assert [one.match.value("in_port") for one in bench.switch.flows] == [1]


def test_changes_obey_openflow() -> None:
    bench = Bench()
    net = {"eth_type": 0x800, "ipv4_dst": ("10.0.0.0", "255.0.0.0")}
    host = {"eth_type": 0x800, "ipv4_dst": "10.0.0.1"}
    for request in (flow(net, output(1), cookie=1), flow(host, output(2), cookie=2, priority=9), flow({}, output(3), priority=0)):
        assert bench.refused(request) is None
    overlap = flow({"eth_type": 0x800}, output(1), flags=of.OFPFF_CHECK_OVERLAP)
    assert bench.refused(overlap) == (FLOW, of.OFPFMFC_OVERLAP)

    def found() -> dict[int, list[int]]:
        body = bench.ask(codec.OFPFlowStatsRequest(None))[0].body
        return {one.cookie: [action.port for two in one.instructions for action in two.actions] for one in body}

    assert found() == {1: [1], 2: [2], 0: [3]}
    assert bench.refused(flow(net, output(4), command=of.OFPFC_MODIFY)) is None  # both: the host is in the net
    assert found() == {1: [4], 2: [4], 0: [3]}
    assert bench.refused(flow(host, output(1), command=of.OFPFC_MODIFY_STRICT, priority=8)) is None  # none
    assert bench.refused(flow(net, output(2), command=of.OFPFC_MODIFY_STRICT)) is None
    assert found() == {1: [2], 2: [4], 0: [3]}
    assert bench.refused(delete(out_port=3, cookie=1, cookie_mask=1)) is None  # none
    assert bench.refused(delete(net, out_port=4)) is None
    assert found() == {1: [2], 0: [3]}
    assert bench.refused(delete(command=of.OFPFC_DELETE_STRICT, priority=0, table_id=0)) is None
    assert found() == {1: [2]}
    assert (
        bench.ask(codec.OFPAggregateStatsRequest(None, 0, 0, of.OFPP_ANY, of.OFPG_ANY, 0, 0, codec.OFPMatch()))[0].body.flow_count
        == 1
    )
    assert bench.refused(delete(cookie=1, cookie_mask=3)) is None and found() == {}


def test_flows_end_by_their_hard_timeout_and_say_so() -> None:
    bench = Bench()
    bench.refused(flow({"in_port": 1}, output(2), hard_timeout=10, flags=of.OFPFF_SEND_FLOW_REM, cookie=5))
    bench.switch.check()
    assert len(bench.switch.flows.by_key) == 1 and not bench.events
    bench.now += 10.5
    bench.switch.check()
    assert not bench.switch.flows.by_key
    (event,) = (parsed(one) for one in bench.events)
    assert (event.cookie, event.reason, event.duration_sec, event.match["in_port"]) == (5, of.OFPRR_HARD_TIMEOUT, 10, 1)


def test_a_flow_whose_end_has_no_place_ends_later() -> None:
    bench = Bench(units=1, ternary=8)
    for n in range(5):
        assert bench.refused(flow({"eth_type": 0x800, "ipv4_dst": (f"{n}.0.0.0", f"255.{n}.0.0")})) is None
    assert bench.refused(flow({"eth_dst": "02:00:00:00:00:01"}, hard_timeout=10)) is None
    bench.switch.load()
    bench.now += 11
    bench.switch.check()
    assert (len(bench.switch.flows.by_key), bench.switch.counters["expiry_refused"]) == (6, 1), "without it the key is another"
    for n in range(3):
        assert bench.refused(delete({"eth_type": 0x800, "ipv4_dst": (f"{n}.0.0.0", f"255.{n}.0.0")})) is None
    bench.switch.check()
    assert len(bench.switch.flows.by_key) == 2


def test_roles_and_what_a_controller_hears() -> None:
    bench = Bench()
    bench.refused(flow({}, output(of.OFPP_CONTROLLER), priority=0, cookie=77))
    packet = bytes(60)
    assert bench.process(packet, 2) == {of.OFPP_CONTROLLER: [packet]}
    event = parsed(bench.events[0])
    assert (event.reason, event.cookie, event.match["in_port"], event.table_id) == (of.OFPR_NO_MATCH, 77, 3, 0)
    assert bench.ask(codec.OFPRoleRequest(None, of.OFPCR_ROLE_SLAVE, 5))[0].role == of.OFPCR_ROLE_SLAVE
    assert bench.process(packet, 2) == {}, "slaves hear of no packets"
    assert bench.refused(flow({}, output(1))) == (of.OFPET_BAD_REQUEST, of.OFPBRC_IS_SLAVE)
    stale = bench.ask(codec.OFPRoleRequest(None, of.OFPCR_ROLE_MASTER, 4))[0]
    assert (stale.type, stale.code) == (of.OFPET_ROLE_REQUEST_FAILED, of.OFPRRFC_STALE)
    assert bench.ask(codec.OFPRoleRequest(None, of.OFPCR_ROLE_MASTER, 6))[0].role == of.OFPCR_ROLE_MASTER
    assert bench.process(packet, 2) == {of.OFPP_CONTROLLER: [packet]}
    bench.switch.limit.tokens = 2
    assert [len(bench.process(packet, 0)) for _ in range(3)] == [1, 1, 0]
    assert bench.switch.counters["packet_in_limited"] == 1


def test_packets_of_the_controller_leave() -> None:
    bench = Bench()
    for port, in_port, mask in ((2, of.OFPP_CONTROLLER, 2), (of.OFPP_FLOOD, 3, 0b1011), (of.OFPP_IN_PORT, 1, 1)):
        assert not bench.ask(codec.OFPPacketOut(None, of.OFP_NO_BUFFER, in_port, [output(port)], b"x" * 60))
        assert bench.channel.sent.pop() == (mask, b"x" * 60)


def test_bytes_that_are_no_messages_are_answered_and_change_nothing() -> None:
    bench, draw = Bench(), random.Random(1)
    good = [
        flow({**UDP4, "udp_dst": 5}, codec.OFPActionSetField(udp_dst=9), output(2)),
        flow({}, instructions=[written(output(1))]),
    ]
    good += [codec.OFPPacketOut(None, of.OFP_NO_BUFFER, 1, [output(2)], b"x"), codec.OFPFlowStatsRequest(None)]
    good += [codec.OFPRoleRequest(None, 1, 2), codec.OFPSetAsync(None, [1, 1], [1, 1], [1, 1]), codec.OFPHello(None)]
    refused = 0
    for request in good:
        request.serialize()
        for _ in range(150):
            data = bytearray(request.buf)
            for _ in range(draw.randrange(1, 4)):
                data[draw.randrange(4, len(data))] = draw.choice([0, 1, 255, draw.randrange(256)])
            data = data[: draw.randrange(8, len(data) + 1)] if draw.random() < 0.3 else data
            data[2:4] = len(data).to_bytes(2, "big")
            try:
                answers = [parsed(one) for one in bench.raw(bytes(data))]
            except ConnectionError:
                continue
            refused += any(one.msg_type == of.OFPT_ERROR for one in answers)
    assert refused > 200
    endless = [b"\0\4\0\0" + bytes(12), b"\0\4\0\x18" + bytes(4) + bytes(16)]  # an instruction, an action of no length
    for tail in endless:
        with pytest.raises(Refusal):
            messages.read_instructions(tail, 0)
    version = bench.raw(b"\x01\x05\x00\x08\x00\x00\x00\x01")
    assert (parsed(version[0]).type, parsed(version[0]).code) == (of.OFPET_BAD_REQUEST, of.OFPBRC_BAD_VERSION)
    with pytest.raises(ConnectionError):
        bench.raw(b"\x01\x00\x00\x08\x00\x00\x00\x01")


def test_flows_are_read_as_they_are_shown() -> None:
    bench = Bench()
    texts = [
        "table=0,priority=9,in_port=1,eth_dst=01:00:00:00:00:00/01:00:00:00:00:00,actions=output:FLOOD",
        "table=1,priority=7,cookie=0x5,idle_timeout=2,hard_timeout=3,eth_type=2048,ip_proto=17,udp_dst=53,actions=set_field:udp_dst=54,dec_ttl,output:2",
        "table=0,priority=5,eth_type=34525,ipv6_dst=2001:db8::/ffff:ffff::,actions=set_ttl:9,goto:1",
        "table=0,priority=4,metadata=5,actions=write_metadata:0x3/0xf,goto:2",
        "table=0,priority=0,actions=drop",
        "table=1,priority=9,in_port=1,vlan_vid=0,actions=push_vlan:0x88a8,set_field:vlan_vid=4196,output:2",
        "table=1,priority=8,vlan_vid=4196,actions=pop_vlan,output:3",
    ]
    for text in texts:
        request = read_flow(text)
        assert not bench.raw(bytes(request.buf)), bench.switch.why_refused
    assert [show_flow(one) for one in bench.ask(codec.OFPFlowStatsRequest(None))[0].body] == texts
    assert read_flow("ipv4_dst=10.0.0.0/8,eth_type=0x800,actions=drop").match["ipv4_dst"] == ("10.0.0.0", "255.0.0.0")
    bench.raw(bytes(read_filter("table=0", False).buf))
    assert len(bench.switch.flows.by_key) == 3
    wrong = ["actions=fly", "tcp_dst=80", "nothing=1,actions=drop", "in_port=x,actions=drop", "eth_dst=5,actions=drop"]
    for text in [*wrong, "actions=output:here", "actions=set_field:nothing=1", "priority=70000,actions=drop"]:
        with pytest.raises(FlowTextError):
            read_flow(text)
