# SPDX-License-Identifier: Apache-2.0
"""The fate of each datapath flow: in hardware, in software, and why, out of `dpctl/dump-flows -m` and the log of the switch.

The reasons are not worked out here. OVS's offload thread logs, for each flow, the rule that it made of it (in testpmd's words), the
answer of the driver, its own refusals, and then the flow's number (ufid) with the outcome; this module puts them together. The log
levels that this needs are LEVELS. Lines of a log that are no such lines, or cut, are passed over.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

LEVELS = ("netdev_offload_dpdk:file:dbg", "dpif_netdev:file:dbg", "dpdk:file:dbg")
UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
LINE = re.compile(r"^(?P<time>[^|]*)\|\d+\|(?P<module>[\w-]+)(?:\((?P<thread>[^)]*)\))?\|\w+\|(?P<text>.*)$")
OUTCOME = re.compile(rf"(?P<result>succeed|failed) to (?P<what>add|modify|delete) netdev flow (?P<ufid>{UUID})")
REFUSED = re.compile(r"^\S+: rte_flow creation failed: \d+ \((?P<why>.*)\)\.$")
FAILED_RULE = re.compile(r"^\S+: Failed flow: ?(?P<rule>.*)$")
CREATED = re.compile(r"^\S+: rte_flow (?P<handle>0x[0-9a-f]+) +(?P<rule>.*flow create .*)$")
DESTROYED = re.compile(r"flow (?P<handle>0x[0-9a-f]+) destroyed after (?P<packets>\d+) packets")
ADDED = re.compile(rf"^flow_add: ufid:(?P<ufid>{UUID}) mega_ufid:(?P<mega>{UUID})")
# Fields that make a megaflow no longer than needed to read: what is wildcarded is left out.
NOISE = re.compile(r"(skb_priority|skb_mark|dp_hash|packet_type|ct_state|ct_zone|ct_mark|ct_label|recirc_id)\([^)]*\),?")
UNDECIDED = "the log shows no attempt to offload it"
DUMPED_AT = "# dumped at "  # a line in front of flows: what the log tells later is not of them
ACTIONS = {
    2: "userspace (controller)", 6: "sample (sFlow, IPFIX, a mirror)", 7: "recirc", 8: "hash (a bond or select group)",
    9: "push_mpls", 10: "pop_mpls", 12: "ct (connection tracking)", 13: "trunc", 16: "ct_clear", 19: "meter", 20: "clone",
    21: "check_pkt_len", 22: "add_mpls", 23: "tnl_push", 24: "tnl_pop", 26: "lb_output (a bond)",
}  # fmt: skip
ADVICE = (
    (r"Output to port '.*' cannot be offloaded|offloads nothing", "The flow also sends to a port that is not the device's (LOCAL, "
     "a tunnel, a tap). A learning switch floods to LOCAL until it has learnt the address; afterwards the flow goes to hardware."),
    (r"Unsupported action type|Unsupported nested action|Unsupported set action|Unsupported .* set action|Partial mask",
     "OVS 3.1 has no rte_flow action for it, so no device is asked; avoid it in the pipeline for the traffic that matters."),
    (r"no rte_flow item|L4 Protocol", "OVS 3.1 has no rte_flow item for a field that the flow matches, so no device is asked. "
     "This applies to recirculation, connection tracking, tunnel metadata, ARP fields, ICMPv6 and neighbour discovery."),
    (r"group|room|full|No space|entries|templates", "The device's table is full for such rules: use fewer different masks (for "
     "example, the same prefix lengths everywhere) or fewer flows; OVS does not retry while traffic keeps the flow alive."),
    (r"no rule tables|tables do not see|tables for whole", "The device was built without the flow table, or the field is not in "
     "its key (docs/design/flow_table.md): match on something else, or leave the flow in software."),
)  # fmt: skip


@dataclass(frozen=True)
class Attempt:
    """What happened when OVS last offered a flow to the device: reasons in order, and the rule in testpmd's words."""

    accepted: bool
    reasons: tuple[str, ...]
    rule: str = ""
    handle: str = ""
    earlier: int = 0  # packets of the rules that it had before: OVS makes a new one for each change
    is_gone: bool = False  # OVS has deleted the flow since
    asked: str = ""  # when the flow was made, and when its first rule was, or it was refused; as the log writes times
    answered: str = ""

    @property
    def late(self) -> float | None:
        """Milliseconds that the flow was without a rule, where the log tells of both."""
        try:
            return max(0.0, 1000 * (datetime.fromisoformat(self.answered) - datetime.fromisoformat(self.asked)).total_seconds())
        except ValueError:
            return None


@dataclass(frozen=True)
class Flow:
    """A datapath flow, as OVS prints it."""

    ufid: str
    text: str
    packets: int
    state: str  # yes, partial, or no

    @property
    def in_port(self) -> str:
        """Name of the port that it is of."""
        found = re.search(r"in_port\(([^)]*)\)", self.text)
        return found[1] if found else "?"

    @property
    def actions(self) -> str:
        """Its actions."""
        found = re.search(r"actions:(.*?)(?:, dp-extra-info:.*)?$", self.text)
        return found[1] if found else "?"

    @property
    def match(self) -> str:
        """Its match, without what is wildcarded."""
        text = NOISE.sub("", re.sub(rf"^ufid:{UUID}, ", "", self.text)).partition(", packets:")[0]
        text = re.sub(r"in_port\([^)]*\),?", "", text)
        text = re.sub(r",?\w+\(0/0(?:x0+)?\)", "", text)
        text = re.sub(r"\w+=[^,()/]*/(?:0x0+|0+|0\.0\.0\.0|::|00:00:00:00:00:00)(?=[,)])", "", text)
        text = re.sub(r",+\)", ")", re.sub(r"\(,+", "(", re.sub(r",{2,}", ",", text)))
        return text.replace("()", "").strip(",")


def parse(line: str) -> Flow | None:
    """A line of `dpctl/dump-flows -m`; None where it is none."""
    number = re.search(rf"ufid:({UUID})", line)
    packets = re.search(r"packets:(\d+)", line)
    if not number or "in_port(" not in line:
        return None
    offloaded = re.search(r"offloaded:(\w+)", line)
    return Flow(number[1], line.strip(), int(packets[1]) if packets else 0, offloaded[1] if offloaded else "no")


@dataclass
class _Heard:
    """What a thread has said since its last outcome."""

    reasons: list[str] = field(default_factory=list)
    rule: str = ""
    handle: str = ""
    earlier: int = 0

    def hear(self, text: str) -> None:
        if destroyed := DESTROYED.search(text):
            self.earlier += int(destroyed["packets"])
        elif refused := REFUSED.match(text):
            self.reasons.append(refused["why"])
        elif failed := FAILED_RULE.match(text):
            self.rule = self.rule or failed["rule"].strip()  # the first attempt is the whole one
        elif created := CREATED.match(text):
            self.rule, self.handle = created["rule"].strip(), created["handle"]
        elif re.search(r"nsupported|not supported|cannot be offloaded|Cannot find|No actions|mask is not", text):
            self.reasons.append(re.sub(r"^[\w-]+: ", "", text))


@dataclass
class _Log:
    """What the lines read so far tell of each flow. Offload threads call a flow by a number of its own (mega_ufid)."""

    heard: dict[str, _Heard] = field(default_factory=lambda: defaultdict(_Heard))
    found: dict[str, Attempt] = field(default_factory=dict)
    numbers: dict[str, str] = field(default_factory=dict)
    made: dict[str, str] = field(default_factory=dict)  # when

    def read(self, time: str, module: str, thread: str, text: str) -> None:
        if added := ADDED.match(text):
            self.numbers[added["ufid"]] = added["mega"]
            self.made[added["mega"]] = time
        elif not thread.startswith("hw_offload"):
            return
        elif module in ("netdev_offload_dpdk", "dpdk"):
            self.heard[thread].hear(text)
        elif outcome := OUTCOME.search(text):
            self.end(time, outcome["result"], outcome["what"], outcome["ufid"], self.heard.pop(thread, _Heard()))

    def end(self, time: str, result: str, what: str, ufid: str, said: _Heard) -> None:
        before = self.found.get(ufid)
        if what == "delete":
            if before:
                self.found[ufid] = replace(before, is_gone=True)
            return
        before = None if before and before.is_gone else before
        earlier = said.earlier + (before.earlier if before else 0)
        first = before.answered if before and before.accepted else time
        reasons = tuple(dict.fromkeys(said.reasons))
        self.found[ufid] = Attempt(result == "succeed", reasons, said.rule, said.handle, earlier, answered=first)


def attempts(log: Iterable[str], until: str = "") -> dict[str, Attempt]:
    """The last attempt for each ufid that a log tells of; `until`: of what is behind this time nothing is told."""
    told = _Log()
    for line in log:
        parts = LINE.match(line)
        if parts and not (until and parts["time"] > until):
            told.read(parts["time"], parts["module"], parts["thread"] or "", parts["text"])
    found = {ufid: replace(attempt, asked=told.made.get(ufid, "")) for ufid, attempt in told.found.items()}
    return found | {ufid: found[mega] for ufid, mega in told.numbers.items() if mega in found}


def time_now() -> str:
    """The time as a log writes it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _named(reason: str) -> str:
    """A reason with what its numbers mean."""
    if re.search(r"matches of ufid .* are not supported", reason):
        return "OVS has no rte_flow item for a field of its match"
    if port := re.search(r"Cannot find netdev for odp port (\d+)", reason):
        return f"it goes to a port that offloads nothing (number {port[1]} of `dpctl/show`)"
    number = re.search(r"(?:Unsupported action type|action type:) (\d+)", reason)
    name = ACTIONS.get(int(number[1])) if number else None
    return f"{reason}: {name}" if name else reason


def reasons(flow: Flow, attempt: Attempt | None, ports: Iterable[str] | None = None) -> list[str]:
    """Why a flow is not, or only in part, in hardware; nothing where it is. `ports`: those of the device, where known."""
    if flow.state == "yes":
        return []
    if ports is not None and flow.in_port not in ports:
        return [f"its packets come from {flow.in_port}, which is no port of the device"]
    if attempt is None:
        return [UNDECIDED]
    found = [_named(reason) for reason in attempt.reasons]
    return found or (["OVS has taken it out of the device again"] if attempt.accepted else ["OVS refused it without a word"])


def advice(found: Iterable[str]) -> Iterator[str]:
    """What can be done about these reasons."""
    for pattern, text in ADVICE:
        if any(re.search(pattern, reason) for reason in found):
            yield text
