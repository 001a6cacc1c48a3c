# SPDX-License-Identifier: Apache-2.0
"""The instructions of a flow as what a unit can do: edits of containers, ports, the next table."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sluice_layouts as L
from c65of import ofproto as of
from c65of.ofproto import oxm

from compiler.pipeline.actions import WORD, Operation
from host.agent.fields import FIELDS, IP4, IP6, METADATA_BITS, PLACES, PRESENT, Match, Part
from host.agent.refusal import Refusal, bad_action
from host.agent.tags import POP, TCI, Pushed, is_tagged

HOST = 1 << L.HOST_PORT
TAG_FIELDS = ("vlan_vid", "vlan_pcp")
TTL = {IP4: (PLACES["ip4_ttl"][0], 0xFF00), IP6: (PLACES["ip6_next"][0], 0x00FF)}  # container, mask
INSTRUCTIONS = (
    of.OFPIT_GOTO_TABLE, of.OFPIT_APPLY_ACTIONS, of.OFPIT_WRITE_ACTIONS, of.OFPIT_CLEAR_ACTIONS, of.OFPIT_WRITE_METADATA,
)  # fmt: skip
# In which the specification has the actions of an action set done; output is last.
SET_ORDER = (
    of.OFPAT_POP_VLAN, of.OFPAT_PUSH_VLAN, of.OFPAT_DEC_NW_TTL, of.OFPAT_SET_NW_TTL, of.OFPAT_SET_FIELD, of.OFPAT_SET_QUEUE,
    of.OFPAT_OUTPUT,
)  # fmt: skip


@dataclass(frozen=True)
class Ports:
    """Where copies go: lanes by mask, but not back to the lane that the packet came from; to that one; to the controller."""

    lanes: int = 0
    back: bool = False
    controller: bool = False

    def joined(self, other: Ports) -> Ports:
        """To all ports of both."""
        return Ports(self.lanes | other.lanes, self.back or other.back, self.controller or other.controller)

    def mask(self, ingress: int | None) -> int:
        """The egress mask for packets of a lane; None: of a lane that is none of `lanes`."""
        came = 0 if ingress is None else 1 << ingress
        return self.lanes & ~came | (came if self.back else 0) | (HOST if self.controller else 0)


@dataclass(frozen=True)
class Step:
    """Edits, all at once, then copies to ports. The packet passes the pipeline once for each step."""

    edits: Mapping[int, Operation]
    ports: Ports = Ports()
    queue: int = 0


@dataclass(frozen=True)
class Work:
    """What a flow does with its packets: one step or more; a change of the ports of the action set (None: as they were); the next
    table, and what is written for it that is no part of the packet; a splice in the last step (None: none), as its word."""

    steps: tuple[Step, ...]
    later: Ports | None
    goto: int | None
    metadata: Mapping[int, Operation]
    splice: int | None = None

    @property
    def ports(self) -> Ports:
        """All ports of its steps and of its action set."""
        return functools.reduce(Ports.joined, (step.ports for step in self.steps), self.later or Ports())


def port_of(number: int, lanes: int) -> Ports:
    """The port of an output action. Raises Refusal."""
    if 1 <= number <= lanes:
        return Ports(1 << number - 1)
    if number in (of.OFPP_ALL, of.OFPP_FLOOD):
        return Ports((1 << lanes) - 1)
    if number == of.OFPP_IN_PORT:
        return Ports(back=True)
    if number == of.OFPP_CONTROLLER:
        return Ports(controller=True)
    raise bad_action(of.OFPBAC_BAD_OUT_PORT, f"there is no port {number:#x}")


@dataclass(frozen=True)
class _List:
    """What a list of actions has come to so far: steps, and the last one."""

    steps: tuple[Step, ...] = ()
    last: Step = Step({})
    pushed: Pushed | None = None
    popped: bool = False

    @property
    def splice(self) -> int | None:
        """What tags come to. Raises Refusal."""
        return POP if self.popped else self.pushed.row() if self.pushed else None

    @property
    def tag_edits(self) -> Mapping[int, Operation]:
        """Edits of the tag, in all steps."""
        return joined({}, [step.edits[TCI] for step in (*self.steps, self.last) if TCI in step.edits])

    def changing(self) -> _List:
        """Where copies have left, changes are another step. Raises Refusal."""
        return self if self.last.ports == Ports() else self.further()

    def further(self) -> _List:
        """With another step. Raises Refusal: where a tag came or went, fields have other places."""
        if self.pushed or self.popped:
            raise bad_action(of.OFPBAC_UNSUPPORTED_ORDER, "a change in a pass behind the one in which a tag is pushed or popped")
        return _List((*self.steps, self.last), Step({}, queue=self.last.queue))

    def after(self, action: Any, match: Match, lanes: int) -> _List:
        """With one more action. Raises Refusal."""
        if action.type == of.OFPAT_OUTPUT:
            return replace(self, last=replace(self.last, ports=self.last.ports.joined(port_of(action.port, lanes))))
        if action.type == of.OFPAT_SET_QUEUE:
            if action.queue_id >= 8:
                raise bad_action(of.OFPBAC_BAD_QUEUE, f"there is no queue {action.queue_id}")
            before = self if self.last.queue == action.queue_id else self.changing()
            return replace(before, last=replace(before.last, queue=action.queue_id))
        if (tags := self._after_tags(action, match)) is not None:
            return tags
        edits, before = [*_edits(action, match)], self.changing()
        try:
            return replace(before, last=replace(before.last, edits=joined(before.last.edits, edits)))
        except Refusal:  # not at once with what was done before
            further = before.further()
            return replace(further, last=replace(further.last, edits=joined({}, edits)))

    def _after_tags(self, action: Any, match: Match) -> _List | None:
        """With an action that concerns a tag that comes or goes; None: this one does not. Raises Refusal."""
        if action.type == of.OFPAT_PUSH_VLAN:
            if self.pushed or self.popped:
                raise bad_action(of.OFPBAC_TOO_MANY, "a second tag is pushed or popped")
            return replace(self.changing(), pushed=Pushed.of(action.ethertype, match, self.tag_edits))
        if action.type == of.OFPAT_POP_VLAN:
            if self.popped:
                raise bad_action(of.OFPBAC_TOO_MANY, "a second tag is pushed or popped")
            before = self.changing()
            if self.pushed:
                return replace(before, pushed=None)
            if not is_tagged(match):
                raise bad_action(of.OFPBAC_MATCH_INCONSISTENT, "the tag of packets that may have none")
            return replace(before, popped=True)
        if action.type != of.OFPAT_SET_FIELD or not (self.pushed or self.popped):
            return None
        number, data, mask = action.field
        name, value = oxm.oxm_to_user_header(number), int.from_bytes(data, "big")
        if name not in TAG_FIELDS or mask is not None:
            return None
        if not self.pushed:
            raise bad_action(of.OFPBAC_MATCH_INCONSISTENT, "the tag behind one that is popped")
        _check_set(name, value)
        last = self.changing().last
        edits = _set(FIELDS[name].places[0], value, (1 << FIELDS[name].bits) - 1) if self.pushed.copied else ()
        return replace(self, pushed=self.pushed.with_field(name, value), last=replace(last, edits=joined(last.edits, edits)))


def _edits(action: Any, match: Match) -> Iterable[Operation]:
    """What an action does to containers. Raises Refusal."""
    if action.type == of.OFPAT_SET_FIELD:
        number, value, mask = action.field
        return _set_field(oxm.oxm_to_user_header(number), int.from_bytes(value, "big"), mask, match)
    if action.type in (of.OFPAT_DEC_NW_TTL, of.OFPAT_SET_NW_TTL):
        if (place := TTL.get(match.value("eth_type") or 0)) is None:
            raise bad_action(of.OFPBAC_MATCH_INCONSISTENT, "the TTL of what may not be IP")
        container, bits = place
        if action.type == of.OFPAT_DEC_NW_TTL:
            return [Operation(container, L.OPERATOR_COUNT_DOWN, mask=bits)]
        return [Operation(container, L.OPERATOR_SET, action.nw_ttl * (bits & -bits), mask=bits)]
    raise bad_action(of.OFPBAC_BAD_TYPE, f"action of type {action.type} is not supported")


def _set_field(name: str, value: int, mask: bytes | None, match: Match) -> Iterable[Operation]:
    field = FIELDS.get(name)
    if field is None or not field.settable or mask is not None:
        raise bad_action(of.OFPBAC_BAD_SET_TYPE, f"field {name} cannot be set{' under a mask' if mask else ''}")
    _check_set(name, value)
    tagged = name != "vlan_vid" or match.allows(FIELDS["vlan_pcp"])
    if not match.allows(field) or not tagged:
        raise bad_action(of.OFPBAC_MATCH_INCONSISTENT, f"field {name} of packets that may not have it")
    yield from _set(match.place(field), value, (1 << field.bits) - 1)


def _check_set(name: str, value: int) -> None:
    if value >> FIELDS[name].bits or (name == "vlan_vid" and not value & PRESENT):
        raise bad_action(of.OFPBAC_BAD_SET_ARGUMENT, f"field {name} cannot become {value:#x}")


def _set(parts: Iterable[Part], value: int, mask: int) -> Iterable[Operation]:
    """Operations that give the bits of a field under a mask their value."""
    for part in parts:
        if ones := mask >> part.at & (1 << part.width) - 1:
            yield Operation(part.container, L.OPERATOR_SET, (value >> part.at & ones) << part.shift, mask=ones << part.shift)


def joined(before: Mapping[int, Operation], edits: Iterable[Operation]) -> Mapping[int, Operation]:
    """Edits one after the other, as one of each container. Raises Refusal where they are not one."""
    found = dict(before)
    for edit in edits:
        if (old := found.get(edit.container)) is None:
            found[edit.container] = edit
        elif old.kind == edit.kind == L.OPERATOR_SET:
            value = old.value & ~edit.mask | edit.value
            found[edit.container] = replace(edit, value=value & WORD, mask=old.mask | edit.mask)
        else:
            raise bad_action(of.OFPBAC_TOO_MANY, "a TTL that is counted down is changed once more")
    return found


def work_of(instructions: Sequence[Any], match: Match, table: int, tables: int, lanes: int) -> Work:
    """What the instructions of a flow come to. Raises Refusal."""
    kinds = [one.type for one in instructions]
    if len({*kinds}) != len(kinds):
        raise Refusal(of.OFPET_BAD_INSTRUCTION, of.OFPBIC_UNKNOWN_INST, "an instruction is given twice")
    by_kind = {one.type: one for one in instructions}
    for kind in by_kind:
        if kind not in INSTRUCTIONS:
            raise Refusal(of.OFPET_BAD_INSTRUCTION, of.OFPBIC_UNSUP_INST, f"instruction of type {kind} is not supported")
    goto = by_kind[of.OFPIT_GOTO_TABLE].table_id if of.OFPIT_GOTO_TABLE in by_kind else None
    if goto is not None and not table < goto < tables:
        raise Refusal(of.OFPET_BAD_INSTRUCTION, of.OFPBIC_BAD_TABLE_ID, f"table {goto} is none behind table {table}")
    done = _List()
    for action in _actions(by_kind, of.OFPIT_APPLY_ACTIONS):
        done = done.after(action, match, lanes)
    later = None
    if written := _actions(by_kind, of.OFPIT_WRITE_ACTIONS):
        done, later = _written(done, written, match, lanes, goto)
    if later is None and of.OFPIT_CLEAR_ACTIONS in by_kind:
        later = Ports()
    if (done.pushed or done.popped) and goto is not None:
        raise bad_action(of.OFPBAC_UNSUPPORTED_ORDER, "a tag is pushed or popped before the last table")
    if goto is not None and any(step.queue for step in (*done.steps, done.last)):
        raise bad_action(of.OFPBAC_UNSUPPORTED_ORDER, "a queue is set before the last table")
    return Work((*done.steps, done.last), later, goto, _metadata(by_kind), done.splice)


def _metadata(by_kind: Mapping[int, Any]) -> Mapping[int, Operation]:
    """What a packet takes to the next table."""
    if (written := by_kind.get(of.OFPIT_WRITE_METADATA)) is None:
        return {}
    if written.metadata_mask >> METADATA_BITS:
        raise Refusal(of.OFPET_BAD_INSTRUCTION, of.OFPBIC_UNSUP_METADATA_MASK, f"metadata has {METADATA_BITS} bits")
    parts = FIELDS["metadata"].places[0]
    return {edit.container: edit for edit in _set(parts, written.metadata, written.metadata_mask)}


def _actions(by_kind: Mapping[int, Any], kind: int) -> Sequence[Any]:
    return by_kind[kind].actions if kind in by_kind else ()


def _written(done: _List, actions: Sequence[Any], match: Match, lanes: int, goto: int | None) -> tuple[_List, Ports | None]:
    """The actions of an action set, where the packet ends in this table; else its output alone."""
    found: dict[tuple[int, Any], Any] = {}
    for action in actions:
        found[action.type, action.key if action.type == of.OFPAT_SET_FIELD else None] = action
    if unknown := [action.type for action in found.values() if action.type not in SET_ORDER]:
        raise bad_action(of.OFPBAC_BAD_TYPE, f"action of type {unknown[0]} is not supported")
    ordered = sorted(found.values(), key=lambda action: SET_ORDER.index(action.type))
    changes = [action for action in ordered if action.type != of.OFPAT_OUTPUT]
    if changes and goto is not None:
        raise bad_action(of.OFPBAC_UNSUPPORTED_ORDER, "changes of an action set before the last table")
    ends = done if goto is None else _List()  # in an earlier table nothing is done yet, but what is wrong is refused
    for action in ordered:
        if action.type != of.OFPAT_OUTPUT:
            ends = ends.after(action, match, lanes)
    outputs = [port_of(action.port, lanes) for action in ordered if action.type == of.OFPAT_OUTPUT]
    return (ends if goto is None else done), outputs[0] if outputs else None
