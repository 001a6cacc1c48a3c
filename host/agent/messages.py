# SPDX-License-Identifier: Apache-2.0
"""OpenFlow 1.3 messages as a switch reads and writes them, with the codec of c65of.

The library is made for controllers. It parses what they send, but trusts the lengths in it: these are checked here first. Of what a
switch sends it has the layouts and the parsers, and writes the fixed part; the rest is joined here.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from c65of import ofproto as of
from c65of.ofproto import oxm
from c65of.ofproto import parser as codec

from host.agent.fields import Match
from host.agent.refusal import Refusal, bad_action, bad_match

HEADER = of.OFP_HEADER_SIZE
FLOW_MOD_MATCH = HEADER + codec.OFPFlowMod._SIZE
LONGEST = 0xFFFF
_HEADER, _TLV = struct.Struct(of.OFP_HEADER_PACK_STR), struct.Struct("!HH")
_MULTIPART = struct.Struct(of.OFP_MULTIPART_REQUEST_PACK_STR)
_FLOW_FILTER = struct.Struct(of.OFP_FLOW_STATS_REQUEST_0_PACK_STR)
PARSING = (struct.error, ValueError, KeyError, IndexError, AssertionError, TypeError)  # of the library, given nonsense
UNKNOWN = (1 << 64) - 1  # a counter that the switch has not


def bad_length(what: str) -> Refusal:
    """OFPBRC_BAD_LEN."""
    return Refusal(of.OFPET_BAD_REQUEST, of.OFPBRC_BAD_LEN, f"the length of {what} is wrong")


def header(data: bytes) -> tuple[int, int, int, int]:
    """Version, type, length and xid."""
    version, kind, length, xid = _HEADER.unpack_from(data)
    return version, kind, length, xid


def message(kind: int, xid: int, body: bytes = b"") -> bytes:
    """A message of any type."""
    return _HEADER.pack(of.OFP_VERSION, kind, HEADER + len(body), xid) + body


def fixed(made: Any, xid: int, tail: bytes = b"") -> bytes:
    """A message of the library's, with what follows its fixed part."""
    return message(made.cls_msg_type, xid, made.pack_fixed() + tail)


def error(refusal: Refusal, request: bytes) -> bytes:
    """OFPErrorMsg about a request."""
    made = codec.OFPErrorMsg(None, refusal.kind, refusal.code, request[:64] if len(request) >= 64 else request)
    made.xid = header(request)[3]
    made.serialize()
    return bytes(made.buf)


def multipart(kind: int, xid: int, parts: Iterable[bytes]) -> Iterator[bytes]:
    """The replies of a multipart request, as many as its parts need."""
    body = b""
    for part in parts:
        if HEADER + _MULTIPART.size + len(body) + len(part) > LONGEST:
            yield message(of.OFPT_MULTIPART_REPLY, xid, _MULTIPART.pack(kind, of.OFPMPF_REPLY_MORE) + body)
            body = b""
        body += part
    yield message(of.OFPT_MULTIPART_REPLY, xid, _MULTIPART.pack(kind, 0) + body)


def padded(data: bytes) -> bytes:
    """With zeros to the next eight bytes."""
    return data + bytes(-len(data) % 8)


def read_match(data: bytes, at: int) -> tuple[Match, bytes]:
    """The match at a place of a message, and its bytes. Raises Refusal."""
    if len(data) < at + _TLV.size:
        raise bad_match(of.OFPBMC_BAD_LEN, "no match")
    kind, length = _TLV.unpack_from(data, at)
    if kind != of.OFPMT_OXM:
        raise bad_match(of.OFPBMC_BAD_TYPE, f"match of type {kind}")
    end = at + length
    if length < _TLV.size or at + len(padded(bytes(length))) > len(data):
        raise bad_match(of.OFPBMC_BAD_LEN, "the match ends beyond the message")
    return Match.of(_oxm_fields(data, at + _TLV.size, end)), padded(data[at:end])


def _oxm_fields(data: bytes, at: int, end: int) -> Iterator[tuple[str, int, int | None]]:
    while at < end:
        if end - at < 5 or at + 4 + data[at + 3] > end:
            raise bad_match(of.OFPBMC_BAD_LEN, "a field ends beyond the match")
        try:
            number, value, mask, length = oxm.oxm_parse(data, at)
            name = oxm.oxm_to_user_header(number)
            right = len(value) == oxm.oxm_field_desc(number).type.size
        except PARSING as unknown:
            raise bad_match(of.OFPBMC_BAD_FIELD, "a field that is not known") from unknown
        if not right:
            raise bad_match(of.OFPBMC_BAD_LEN, f"the length of field {name} is wrong")
        yield name, int.from_bytes(value, "big"), None if mask is None else int.from_bytes(mask, "big")
        at += length


def read_instructions(data: bytes, at: int) -> tuple[Any, ...]:
    """The instructions from a place of a message to its end. Raises Refusal."""
    found = []
    while at < len(data):
        length = _length(data, at, len(data))
        if length < 8 or length % 8:
            raise Refusal(of.OFPET_BAD_INSTRUCTION, of.OFPBIC_BAD_LEN, "the length of an instruction is wrong")
        (kind,) = struct.unpack_from("!H", data, at)
        if kind == of.OFPIT_EXPERIMENTER:
            raise Refusal(of.OFPET_BAD_INSTRUCTION, of.OFPBIC_BAD_EXPERIMENTER, "instruction of an experimenter")
        known = codec.INSTRUCTIONS.lookup(kind)
        if known is None:
            raise Refusal(of.OFPET_BAD_INSTRUCTION, of.OFPBIC_UNKNOWN_INST, f"there is no instruction of type {kind}")
        if known is codec.OFPInstructionActions:
            found.append(known(kind, list(read_actions(data, at + 8, at + length))))
        elif length != 4 + known._SIZE:
            raise Refusal(of.OFPET_BAD_INSTRUCTION, of.OFPBIC_BAD_LEN, "the length of an instruction is wrong")
        else:
            found.append(codec.OFPInstruction.parser(data, at))
        at += length
    return tuple(found)


def read_actions(data: bytes, at: int, end: int) -> Iterator[Any]:
    """The actions between two places of a message. Raises Refusal."""
    while at < end:
        length = _length(data, at, end)
        if length < 8 or length % 8:
            raise bad_action(of.OFPBAC_BAD_LEN, "the length of an action is wrong")
        (kind,) = struct.unpack_from("!H", data, at)
        if kind == of.OFPAT_EXPERIMENTER:
            raise bad_action(of.OFPBAC_BAD_EXPERIMENTER, "action of an experimenter")
        known = codec.ACTIONS.lookup(kind)
        if known is None:
            raise bad_action(of.OFPBAC_BAD_TYPE, f"there is no action of type {kind}")
        if kind == of.OFPAT_SET_FIELD:
            if length < 4 + 5 or at + 8 + data[at + 7] > at + length:
                raise bad_action(of.OFPBAC_BAD_SET_LEN, "the field to set ends beyond its action")
        elif length != 4 + known._SIZE:
            raise bad_action(of.OFPBAC_BAD_LEN, "the length of an action is wrong")
        try:
            yield codec.OFPAction.parser(data, at)
        except PARSING as wrong:
            raise bad_action(of.OFPBAC_BAD_SET_TYPE, "a field to set that is not known") from wrong
        at += length


def _length(data: bytes, at: int, end: int) -> int:
    """The length of a structure; 0 where it does not fit."""
    if end - at < _TLV.size:
        return 0
    length = int(_TLV.unpack_from(data, at)[1])
    return length if at + length <= end else 0


def read_fixed(kind: type[Any], data: bytes) -> dict[str, Any]:
    """The fields of a message of the library's that has nothing behind its fixed part. Raises Refusal."""
    if len(data) < HEADER + kind._SIZE:
        raise bad_length("the message")
    return dict(kind.unpack_fixed(data, HEADER))


def read_packet_out(data: bytes) -> tuple[int, int, Sequence[Any], bytes]:
    """Buffer, ingress port, actions and packet. Raises Refusal."""
    layout = struct.Struct(of.OFP_PACKET_OUT_PACK_STR)
    if len(data) < HEADER + layout.size:
        raise bad_length("the message")
    buffer, in_port, length = layout.unpack_from(data, HEADER)
    end = HEADER + layout.size + length
    if end > len(data):
        raise bad_length("the list of actions")
    return buffer, in_port, [*read_actions(data, HEADER + layout.size, end)], data[end:]


def read_multipart(data: bytes) -> tuple[int, int, bytes]:
    """Type, flags and body of a multipart request. Raises Refusal."""
    if len(data) < HEADER + _MULTIPART.size:
        raise bad_length("the message")
    kind, flags = _MULTIPART.unpack_from(data, HEADER)
    return kind, flags, data[HEADER + _MULTIPART.size :]


def read_flow_filter(body: bytes) -> tuple[int, int, int, int, int, Match]:
    """Table, out port, out group, cookie, mask of the cookie, and match. Raises Refusal."""
    if len(body) < _FLOW_FILTER.size:
        raise bad_length("the request")
    table, port, group, cookie, mask = _FLOW_FILTER.unpack_from(body)
    return table, port, group, cookie, mask, read_match(body, _FLOW_FILTER.size)[0]


def flow_stats(fields: Sequence[int], match: bytes, instructions: bytes) -> bytes:
    """OFPFlowStats: its fields from `table_id` to `byte_count`."""
    layout = struct.Struct(of.OFP_FLOW_STATS_0_PACK_STR)
    return layout.pack(layout.size + len(match) + len(instructions), *fields) + match + instructions


def in_port_match(port: int) -> bytes:
    """The match of OFPPacketIn."""
    out = bytearray()
    codec.OFPMatch(in_port=port).serialize(out, 0)
    return bytes(out)
