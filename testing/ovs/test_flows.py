# SPDX-License-Identifier: Apache-2.0
"""What the log of a switch tells of its flows: outcomes, reasons, rules, counts; damaged logs; and `sluice why` on it."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from testing.ovs import demo, flows, switch
from testing.ovs.stages import Check
from tools.cli.main import app
from tools.cli.ovs import WIDTH, table

UFID = "e521919a-bed5-4e45-ae22-eae5ef7deb5b"
MEGA = "8d1cba34-5041-4c24-9733-099a887a23ba"
RULE = "flow create 0 priority 0 group 0 transfer pattern eth type is 0x0800 has_vlan is 0 / end actions count / port_id id 1 / end"
DUMPED = (
    f"ufid:{UFID}, skb_priority(0/0),skb_mark(0/0),ct_state(0/0),ct_zone(0/0),ct_mark(0/0),ct_label(0/0),recirc_id(0),dp_hash(0/0),"
    "in_port(lane0),packet_type(ns=0,id=0),eth(src=02:00:00:00:01:00/00:00:00:00:00:00,dst=02:00:00:00:00:01),eth_type(0x0800),"
    "ipv4(src=10.0.0.2/0.0.0.0,dst=10.0.1.2,proto=6,tos=0/0x3,ttl=64/0,frag=no),tcp(src=1/0,dst=80),tcp_flags(0/0), packets:79, "
    "bytes:102326, used:5.875s, {}actions:lane1, dp-extra-info:miniflow_bits(4,1)"
)
SOFTWARE, HARDWARE, MARKED = (
    DUMPED.format("dp:ovs, "),
    DUMPED.format("offloaded:yes, dp:dpdk, "),
    DUMPED.format("offloaded:partial, "),
)


def said(module: str, text: str, thread: str = "hw_offload6") -> str:
    return f"2026-11-22T01:53:37.541Z|00050|{module}({thread})|DBG|{text}\n"


ADDED = said("dpif_netdev", f"flow_add: ufid:{UFID} mega_ufid:{MEGA} recirc_id(0),in_port(3)", "pmd-c00/id:9")


def outcome(result: str, what: str = "add", ufid: str = MEGA) -> str:
    return said("dpif_netdev", f"{result} to {what} netdev flow {ufid}")


def at(millisecond: int, line: str) -> str:
    return line.replace(".541Z", f".{millisecond}Z")


def refusal(text: str) -> str:
    return said("netdev_offload_dpdk", f"lane0: rte_flow creation failed: 16 ({text}).")


def installed(handle: str = "0x7fc69c001540") -> str:
    return said("netdev_offload_dpdk", f"lane0: rte_flow {handle}   {RULE}")


def destroyed(packets: int) -> str:
    return said("dpdk", f"net_sluice: flow 0x7fc69c001540 destroyed after {packets} packets")


def test_a_refused_flow_has_the_words_of_the_driver_once_and_the_first_rule() -> None:
    failed = said("netdev_offload_dpdk", f"lane0: Failed flow:   {RULE}")
    partial = said(
        "netdev_offload_dpdk", "lane0: Failed flow:   flow create 0 ingress pattern eth / end actions mark id 1 / rss / end"
    )
    log = [ADDED, refusal("no room (in a group)"), failed, refusal("no room (in a group)"), partial, outcome("failed")]
    attempt = flows.attempts(log)[UFID]
    assert (attempt.accepted, attempt.reasons, attempt.rule) == (False, ("no room (in a group)",), RULE)
    flow = flows.parse(SOFTWARE)
    assert flow is not None
    assert flows.reasons(flow, attempt) == ["no room (in a group)"]
    assert "different masks" in " ".join(flows.advice(flows.reasons(flow, attempt)))


def test_threads_do_not_mix_their_reasons() -> None:
    other = "00000000-5041-4c24-9733-099a887a23ba"
    log = [
        refusal("one"),
        refusal("two").replace("hw_offload6", "hw_offload7"),
        outcome("failed"),
        outcome("failed", ufid=other).replace("hw_offload6", "hw_offload7"),
        outcome("failed", ufid=UFID),
    ]
    found = flows.attempts(log)
    assert [found[ufid].reasons for ufid in (MEGA, other, UFID)] == [("one",), ("two",), ()]


def test_packets_of_rules_that_a_flow_had_before_are_summed_until_it_is_deleted() -> None:
    log = [installed(), outcome("succeed"), destroyed(5), installed(), outcome("succeed", "modify")]
    log += [destroyed(7), installed("0x1"), outcome("succeed", "modify")]
    attempt = flows.attempts([*log, ADDED])[UFID]
    assert (attempt.earlier, attempt.handle, attempt.accepted) == (12, "0x1", True)
    log += [destroyed(1), outcome("succeed", "delete"), installed(), outcome("succeed")]
    assert flows.attempts(log)[MEGA].earlier == 0


def test_a_flow_is_without_a_rule_from_when_it_was_made_until_its_first_rule() -> None:
    log = [at(541, ADDED), installed(), at(953, outcome("succeed")), installed(), at(999, outcome("succeed", "modify"))]
    assert flows.attempts(log)[UFID].late == 412
    assert flows.attempts(log[1:])[MEGA].late is None
    assert not flows.attempts(log)[UFID].is_gone
    assert flows.attempts([*log, outcome("succeed", "delete")])[UFID].is_gone


def test_what_the_log_tells_behind_a_time_does_not_count() -> None:
    log = [ADDED, said("netdev_offload_dpdk", "Unsupported action type 24"), outcome("failed")]
    log += [at(700, installed()), at(701, outcome("succeed", "modify"))]
    assert not flows.attempts(log, "2026-11-22T01:53:37.700Z")[UFID].accepted
    assert flows.attempts(log)[UFID].accepted


def test_reasons_of_ovs_itself_are_told_with_names() -> None:
    flow = flows.parse(MARKED)
    assert flow is not None
    for text, told in [
        ("lane0: matches of ufid " + MEGA + " are not supported", "no rte_flow item"),
        ("Unsupported action type 24", "tnl_pop"),
        ("Cannot find netdev for odp port 1", "number 1"),
        ("lane0: Output to port 'vhost1' cannot be offloaded.", "vhost1"),
    ]:
        attempt = flows.attempts([said("netdev_offload_dpdk", text), outcome("failed")])[MEGA]
        (reason,) = flows.reasons(flow, attempt)
        assert told in reason
        assert list(flows.advice([reason]))
    assert flows.reasons(flow, None, ["lane1"]) == ["its packets come from lane0, which is no port of the device"]


def test_a_flow_is_read_without_what_is_wildcarded() -> None:
    flow = flows.parse(HARDWARE)
    assert flow is not None
    assert flow.match == "eth(dst=02:00:00:00:00:01),eth_type(0x0800),ipv4(dst=10.0.1.2,proto=6,tos=0/0x3,frag=no),tcp(dst=80)"
    assert (flow.in_port, flow.actions, flow.packets, flow.state, flow.ufid) == ("lane0", "lane1", 79, "yes", UFID)
    assert flows.reasons(flow, None) == []


def test_damaged_logs_and_flows_are_passed_over() -> None:
    draw = random.Random(1)
    log = [ADDED, refusal("a reason"), outcome("failed"), installed(), outcome("succeed"), destroyed(3)] * 3 + [SOFTWARE, ""]
    for _ in range(2000):
        line = bytearray(draw.choice(log).encode())
        for _ in range(draw.randrange(4)):
            if line:
                line[draw.randrange(len(line))] = draw.randrange(256)
        text = line[: draw.randrange(len(line) + 1)].decode(errors="replace")
        flows.attempts([text, *draw.sample(log, 5), text])
        flow = flows.parse(text)
        assert flow is None or isinstance(flow.match + flow.actions + flow.in_port, str)


def why(tmp_path: Path, *arguments: str, given: str = "") -> tuple[int, str]:
    (tmp_path / "log").write_text("".join([ADDED, refusal("the table has no room"), outcome("failed")]))
    done = CliRunner().invoke(app, ["why", "--log", str(tmp_path / "log"), *arguments], input=given)
    return done.exit_code, done.output


def test_why_explains_each_flow_of_its_input(tmp_path: Path) -> None:
    status, text = why(tmp_path, "--json", "-", given=f"flow-dump from pmd on cpu core: 0\n{SOFTWARE}\n{HARDWARE}\n")
    assert status == 0
    first, second = json.loads(text)
    assert (first["reasons"], first["offloaded"], second["reasons"]) == (["the table has no room"], "no", [])
    status, text = why(tmp_path, SOFTWARE)
    assert status == 0
    assert "because: the table has no room" in text


def test_why_tells_the_cause_of_when_a_flow_was_dumped_and_not_of_tear_down(tmp_path: Path) -> None:
    log = [ADDED, said("netdev_offload_dpdk", "Unsupported action type 24"), outcome("failed")]
    log += [at(900, refusal("no port any more")), at(900, outcome("failed", "modify"))]
    (tmp_path / "log").write_text("".join(log))
    for marker, told in [("2026-11-22T01:53:37.600Z", "tnl_pop"), ("2026-11-22T01:53:38.000Z", "no port any more")]:
        given = f"{flows.DUMPED_AT}{marker}\n{MARKED}\n"
        done = CliRunner().invoke(app, ["why", "--log", str(tmp_path / "log"), "--json", "-"], input=given)
        (reason,) = json.loads(done.output)[0]["reasons"]
        assert told in reason


class Rounds:
    """A switch with one flow, whose rule comes too late for the packets of the first rounds of traffic."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, late: int, fails_in: int = 0) -> None:
        self.count, self.late, self.fails_in = 0, late, fails_in
        monkeypatch.setattr(demo, "decided", lambda ovs: (["dumped"], [self.row()]))
        self.switch = switch.OpenVSwitch(Path("nowhere"))

    def row(self) -> demo.Row:
        return demo.Row("lane0", "tcp", "lane1", "yes", [], 3 if self.count > self.late else 0, 416)

    def traffic(self) -> list[Check]:
        self.count += 1
        return [Check("ping", True, self.count != self.fails_in)]


@pytest.mark.parametrize(("late", "rounds"), [(0, 1), (2, 3), (99, demo.ROUNDS)])
def test_a_stage_talks_again_until_hardware_has_had_a_packet(late: int, rounds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Rounds(monkeypatch, late, fails_in=2)
    checks, dumped, (row,) = demo.talk(made.switch, made.traffic)
    assert (made.count, row.hardware > 0) == (rounds, late < demo.ROUNDS)
    assert [check.good for check in checks] == [rounds == 1], "a round that fails is not made good by the next"
    assert dumped[0].startswith(flows.DUMPED_AT) and dumped[1:] == ["dumped"]


def test_the_table_of_the_demo_fits_100_columns_and_has_the_reason_of_packets_in_software() -> None:
    header = "tnl_push(tnl_port(vxlan_sys_4789),header(size=50,type=4,eth(dst=02:00:00:00:01:03),vxlan(vni=0x7)),out_port(br))"
    long = [demo.Row("lane0", "eth(src=02:00:00:00:01:00)," * 9, header, "no", ["OVS has no rte_flow item for it"] * 3, 0, 10**9)]
    long.append(demo.Row("lane3", "arp", header, "yes", [], 0, 0))
    shown = io.StringIO()
    Console(file=shown, width=WIDTH).print(table(demo.Outcome("vxlan", "VXLAN tunnel", 1.0, [], long)))
    assert WIDTH <= 100 >= max(map(len, shown.getvalue().splitlines()))
    assert "1,000,000,000" in shown.getvalue() and "header(." in shown.getvalue()


def test_why_says_what_it_wants_instead_of_nonsense(tmp_path: Path) -> None:
    for given, told in [("hello", "no flow"), ("in_port(1) without a number", "not a flow with a ufid"), ("", "no flow")]:
        status, text = why(tmp_path, given)
        assert status == 2
        assert told in text
    done = CliRunner(env={"COLUMNS": "300"}).invoke(app, ["why", "--log", str(tmp_path / "none"), SOFTWARE])
    assert done.exit_code == 2
    assert "no such file" in done.output


def test_why_asks_the_driver_about_a_rule() -> None:
    done = CliRunner().invoke(app, ["why", "--json", "flow create 0 transfer pattern eth / vlan / vlan / end actions drop / end"])
    assert done.exit_code == 0
    assert "a second VLAN item" in json.loads(done.output)[0]["driver"]
    done = CliRunner().invoke(app, ["why", "--json", RULE])
    assert json.loads(done.output)[0]["driver"] == "accepts it"
