# SPDX-License-Identifier: Apache-2.0
"""Some cases of the OpenFlow switch certification on the agent; and what counts as refused."""

from __future__ import annotations

import pytest

from host.agent.testing import certify
from testing.ovs import spaces, switch
from testing.ovs.certify import Answer, CertifyError, cases

MOST = 30  # the same ones each time: os-ken's version is fixed


def test_some_cases_are_ok_and_the_others_are_refused_as_openflow_says() -> None:
    try:
        switch.require()
        with spaces.Spaces(0):
            pass
        chosen = cases([], MOST)
    except (switch.OvsError, spaces.SpaceError, CertifyError) as error:
        pytest.skip(f"the certification cannot run here: {error}")
    report = certify.certify(chosen)
    counts = report.counts()
    assert [one for one in report.results if one.verdict in ("wrong", "hung")] == []
    assert counts["cases"] == len(chosen) == MOST and counts["ok"] + counts["refused"] == MOST
    assert counts["ok"] > MOST // 4 and counts["refused"] > MOST // 4
    assert sum(one["ok"] for one in report.to_json()["groups"].values()) == counts["ok"]


def test_only_an_error_about_what_was_asked_for_is_a_refusal() -> None:
    match = {"OFPMatch": {"oxm_fields": [{"OXMTlv": {"field": "eth_type", "value": 2048}}]}}
    actions = [{"OFPActionSetField": {"field": {"OXMTlv": {"field": "ip_proto", "value": 17}}}}, {"OFPActionOutput": {"port": 2}}]
    requests = {
        *certify.asked([{"OFPFlowMod": {"match": match, "instructions": [{"OFPInstructionActions": {"actions": actions}}]}}])
    }
    assert requests >= {"OFPFlowMod", "match eth_type", "OFPActionSetField", "set ip_proto", "OFPActionOutput"}
    said = {
        "": "ok",
        "Failed to add flows: OFPErrorMsg[type=0x02, code=0x0d]": "refused",
        "Failed to add flows: OFPErrorMsg[type=0x02, code=0x00]": "wrong",  # no action is unknown
        "Failed to add flows: OFPErrorMsg[type=0x04, code=0x01]": "wrong",
        "Failed to initialize flow tables: OFPErrorMsg[type=0x02, code=0x0d]": "wrong",
        "Failed to add flows: barrier request timeout.": "hung",
        "hung: no answer from the tester": "hung",
        "Receiving timeout: no change in tx_packets on target.": "wrong",
        "Table-miss error: no change in lookup_count.": "wrong",
    }
    assert {words: certify.verdict(Answer(words, 0.1), requests) for words in said} == said
