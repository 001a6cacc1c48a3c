# SPDX-License-Identifier: Apache-2.0
"""An app of os-ken: a switch that learns where addresses are, and makes a flow for each pair of hosts. The test starts it with
os-ken's folder in PYTHONPATH; it serves port 6653 until it is ended.

It stands in for `simple_switch_13`, which os-ken does not install any more."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from os_ken.lib import hub  # type: ignore[import-not-found]

hub.patch(thread=False)

from os_ken import flags  # type: ignore[import-not-found]  # noqa: E402, F401, declares the options
from os_ken.base import app_manager  # type: ignore[import-not-found]  # noqa: E402
from os_ken.cfg import CONF  # type: ignore[import-not-found]  # noqa: E402
from os_ken.controller import ofp_event  # type: ignore[import-not-found]  # noqa: E402
from os_ken.controller.handler import (  # type: ignore[import-not-found]  # noqa: E402
    CONFIG_DISPATCHER,
    MAIN_DISPATCHER,
    set_ev_cls,
)
from os_ken.ofproto import ofproto_v1_3  # type: ignore[import-not-found]  # noqa: E402


class LearningSwitch(app_manager.OSKenApp):  # type: ignore[misc]
    """Learns from Packet_in, answers with flows and Packet_out."""

    OFP_VERSIONS = (ofproto_v1_3.OFP_VERSION,)

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.port_of: dict[int, dict[str, int]] = defaultdict(dict)  # by datapath, by address

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)  # type: ignore[untyped-decorator]
    def connected(self, event: Any) -> None:
        """Unknown packets come to the controller."""
        datapath = event.msg.datapath
        self._add(datapath, 0, {}, datapath.ofproto.OFPP_CONTROLLER)

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)  # type: ignore[untyped-decorator]
    def packet_in(self, event: Any) -> None:
        """Learn, forward, and make a flow where the destination is known."""
        message = event.msg
        datapath, port, data = message.datapath, message.match["in_port"], message.data
        destination, source = (data[at : at + 6].hex(":") for at in (0, 6))
        known = self.port_of[datapath.id]
        known[source] = port
        to = known.get(destination, datapath.ofproto.OFPP_FLOOD)
        if destination in known:
            self._add(datapath, 1, {"in_port": port, "eth_dst": destination, "eth_src": source}, to)
        parser = datapath.ofproto_parser
        actions = [parser.OFPActionOutput(to)]
        datapath.send_msg(parser.OFPPacketOut(datapath, datapath.ofproto.OFP_NO_BUFFER, port, actions, data))

    @staticmethod
    def _add(datapath: Any, priority: int, match: dict[str, Any], port: int) -> None:
        parser = datapath.ofproto_parser
        instructions = [parser.OFPInstructionActions(datapath.ofproto.OFPIT_APPLY_ACTIONS, [parser.OFPActionOutput(port)])]
        found = parser.OFPMatch(**match)
        datapath.send_msg(parser.OFPFlowMod(datapath, priority=priority, match=found, instructions=instructions))


if __name__ == "__main__":
    CONF([], project="os_ken")
    app_manager.AppManager.run_apps(["os_ken.controller.ofp_handler", "host.agent.testing.learning_switch"])
