# SPDX-License-Identifier: Apache-2.0
"""Flows as text, one a line:

    table=0,priority=10,in_port=1,eth_type=0x0800,ipv4_dst=10.0.0.0/8,actions=set_field:eth_dst=02:00:00:00:00:05,dec_ttl,output:2

Fields have OpenFlow's names; VALUE/MASK, and a length for IP addresses. Actions: output:PORT (a number, ALL, FLOOD, IN_PORT or
CONTROLLER), set_field:FIELD=VALUE, push_vlan:ETHERTYPE, pop_vlan, set_ttl:NUMBER, dec_ttl, write_metadata:VALUE/MASK, goto:TABLE,
drop. What stands before `actions` and is no field: table, priority, cookie, idle_timeout, hard_timeout.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Any

from c65of import ofproto as of
from c65of.ofproto import oxm
from c65of.ofproto import parser as codec

from host.agent.fields import FIELDS, METADATA_BITS
from host.agent.messages import PARSING

PORTS = {name: getattr(of, f"OFPP_{name}") for name in ("ALL", "FLOOD", "IN_PORT", "CONTROLLER")}
TIMEOUTS = ("idle_timeout", "hard_timeout")
NUMBERS = {"table": "table_id", **{name: name for name in ("priority", "cookie", *TIMEOUTS)}}


class FlowTextError(ValueError):
    """A flow's text is wrong: where, and what to write."""


def read_flow(text: str) -> Any:
    """The request to add a flow. Raises FlowTextError."""
    head, found, tail = text.strip().partition("actions=")
    match, numbers = _read_head(head.rstrip(", "))
    if not found:
        raise FlowTextError(f"{text!r} has no actions; hint: actions=output:2, or actions=drop")
    return _message(lambda: codec.OFPFlowMod(None, match=codec.OFPMatch(**match), instructions=_instructions(tail), **numbers))


def read_filter(text: str, strict: bool) -> Any:
    """The request to delete the flows that a text without actions means. Raises FlowTextError."""
    match, numbers = _read_head(text)
    command = of.OFPFC_DELETE_STRICT if strict else of.OFPFC_DELETE
    given = {"table_id": of.OFPTT_ALL, "cookie_mask": (1 << 64) - 1 if "cookie" in numbers else 0} | numbers
    ports = {"out_port": of.OFPP_ANY, "out_group": of.OFPG_ANY}
    return _message(lambda: codec.OFPFlowMod(None, command=command, match=codec.OFPMatch(**match), **ports, **given))


def _message(made: Any) -> Any:
    """The message, serialized."""
    try:
        message = made()
        message.serialize()
    except FlowTextError:
        raise
    except (*PARSING, OSError, OverflowError) as error:
        raise FlowTextError(f"a value does not fit: {error}") from error
    return message


def _read_head(text: str) -> tuple[dict[str, Any], dict[str, int]]:
    match: dict[str, Any] = {}
    numbers: dict[str, int] = {}
    for word in filter(None, (one.strip() for one in text.split(","))):
        name, _, value = word.partition("=")
        if name in NUMBERS:
            numbers[NUMBERS[name]] = _number(word, value)
        elif name in FIELDS and value:
            match[name] = _value(word, name, value)
        else:
            raise FlowTextError(f"{word!r} is no field; hint: {', '.join((*NUMBERS, *FIELDS))}")
    return match, numbers


def _number(where: str, text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise FlowTextError(f"{where!r}: {text!r} is no number") from None


def _value(where: str, name: str, text: str) -> Any:
    """What the library takes for a field: a number, an address, or a pair with the mask."""
    value, _, mask = text.partition("/")
    if name.startswith(("ipv4_", "ipv6_", "arp_spa", "arp_tpa")) and name != "ipv6_flabel":
        if mask.isdigit():
            every = "::" if ":" in value else "0.0.0.0"
            mask = str(ipaddress.ip_network(f"{every}/{mask}").netmask)
        return (value, mask) if mask else value
    if ":" in value:
        return (value, mask) if mask else value
    number = _number(where, value)
    return (number, _number(where, mask)) if mask else number


def _instructions(text: str) -> list[Any]:
    actions: list[Any] = []
    after: list[Any] = []
    for word in filter(None, (one.strip() for one in text.split(","))):
        name, _, value = word.partition(":")
        if name == "output":
            actions.append(codec.OFPActionOutput(PORTS.get(value) or _number(word, value)))
        elif name == "set_field":
            field, _, new = value.partition("=")
            if field not in FIELDS:
                raise FlowTextError(f"{word!r}: no field {field!r}; hint: set_field:eth_dst=02:00:00:00:00:01")
            actions.append(codec.OFPActionSetField(**{field: _value(word, field, new)}))
        elif name == "set_ttl":
            actions.append(codec.OFPActionSetNwTtl(_number(word, value)))
        elif name == "push_vlan":
            actions.append(codec.OFPActionPushVlan(_number(word, value)))
        elif name == "pop_vlan":
            actions.append(codec.OFPActionPopVlan())
        elif name == "dec_ttl":
            actions.append(codec.OFPActionDecNwTtl())
        elif name == "write_metadata":
            number, _, mask = value.partition("/")
            bits = _number(word, mask) if mask else (1 << METADATA_BITS) - 1
            after.append(codec.OFPInstructionWriteMetadata(_number(word, number), bits))
        elif name == "goto":
            after.append(codec.OFPInstructionGotoTable(_number(word, value)))
        elif name != "drop":
            known = "output, set_field, push_vlan, pop_vlan, set_ttl, dec_ttl, write_metadata, goto, drop"
            raise FlowTextError(f"{word!r} is no action; hint: {known}")
    return [*([codec.OFPInstructionActions(of.OFPIT_APPLY_ACTIONS, actions)] if actions else []), *after]


def show_flow(flow: Any) -> str:
    """The text of a flow of the library's flow statistics."""
    head = [f"table={flow.table_id}", f"priority={flow.priority}"]
    head += [f"{name}={value:#x}" for name, value in (("cookie", flow.cookie),) if value]
    head += [f"{name}={seconds}" for name in TIMEOUTS if (seconds := getattr(flow, name))]
    head += [f"{name}={'/'.join(map(str, value)) if isinstance(value, tuple) else value}" for name, value in flow.match.items()]
    return ",".join([*head, "actions=" + (",".join(_shown(flow.instructions)) or "drop")])


def _shown(instructions: list[Any]) -> Iterator[str]:
    for one in instructions:
        if one.type == of.OFPIT_GOTO_TABLE:
            yield f"goto:{one.table_id}"
        elif one.type == of.OFPIT_WRITE_METADATA:
            yield f"write_metadata:{one.metadata:#x}/{one.metadata_mask:#x}"
        elif one.type == of.OFPIT_CLEAR_ACTIONS:
            yield "clear_actions"
        else:
            words = [_shown_action(action) for action in one.actions]
            yield from words if one.type == of.OFPIT_APPLY_ACTIONS else [f"write_actions({','.join(words)})"]


def _shown_action(action: Any) -> str:
    if action.type == of.OFPAT_OUTPUT:
        return f"output:{next((name for name, port in PORTS.items() if port == action.port), action.port)}"
    if action.type == of.OFPAT_SET_FIELD:
        name, value = oxm.oxm_to_user(*action.field)
        return f"set_field:{name}={value}"
    if action.type == of.OFPAT_PUSH_VLAN:
        return f"push_vlan:{action.ethertype:#06x}"
    return {of.OFPAT_DEC_NW_TTL: "dec_ttl", of.OFPAT_POP_VLAN: "pop_vlan"}.get(action.type) or f"set_ttl:{action.nw_ttl}"
