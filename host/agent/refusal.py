# SPDX-License-Identifier: Apache-2.0
"""What the agent cannot do, as the error of OpenFlow that says so."""

from __future__ import annotations

from c65of import ofproto as of


class Refusal(Exception):
    """A request is refused and nothing has changed: type and code of OFPErrorMsg, and the cause in words."""

    def __init__(self, kind: int, code: int, text: str) -> None:
        super().__init__(text)
        self.kind, self.code = kind, code


def bad_match(code: int, text: str) -> Refusal:
    """OFPET_BAD_MATCH."""
    return Refusal(of.OFPET_BAD_MATCH, code, text)


def bad_action(code: int, text: str) -> Refusal:
    """OFPET_BAD_ACTION."""
    return Refusal(of.OFPET_BAD_ACTION, code, text)


def table_full(text: str) -> Refusal:
    """OFPFMFC_TABLE_FULL."""
    return Refusal(of.OFPET_FLOW_MOD_FAILED, of.OFPFMFC_TABLE_FULL, text)
