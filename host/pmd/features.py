# SPDX-License-Identifier: Apache-2.0
"""Compares the driver's features file, `sluice.ini`, with its code: operations, offloads, items and actions.

`python -m host.pmd.features` prints what differs and exits with 1 where something does.
"""

from __future__ import annotations

import configparser
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
# What in the code makes a feature; features without code are of the documentation and the machine.
EVIDENCE = {
    "Link status": ".link_update =",
    "Link status event": "RTE_ETH_DEV_INTR_LSC",
    "Rx interrupt": ".rx_queue_intr_enable =",
    "Queue start/stop": ".rx_queue_start =",
    "MTU update": ".mtu_set =",
    "Scattered Rx": "RTE_ETH_RX_OFFLOAD_SCATTER;",
    "Promiscuous mode": ".promiscuous_enable =",
    "Allmulticast mode": ".allmulticast_enable =",
    "Unicast MAC filter": ".mac_addr_add =",
    "Multicast MAC filter": ".set_mc_addr_list =",
    "RSS hash": "RTE_MBUF_F_RX_RSS_HASH",
    "RSS key update": ".rss_hash_update =",
    "RSS reta update": ".reta_update =",
    "VLAN filter": ".vlan_filter_set =",
    "Flow control": ".flow_ctrl_set =",
    "L3 checksum offload": "OFFLOAD_IPV4_CKSUM",
    "L4 checksum offload": "OFFLOAD_UDP_CKSUM",
    "TSO": "OFFLOAD_TCP_TSO",
    "Packet type parsing": ".dev_supported_ptypes_get =",
    "Basic stats": ".stats_get =",
    "Extended stats": ".xstats_get =",
    "Stats per queue": "q_ipackets",
    "FW version": ".fw_version_get =",
    "Registers dump": ".get_reg =",
}
WITHOUT_CODE = {"Linux", "x86-64", "Usage doc"}
ALWAYS_REFUSED = {"void", "port_representor"}  # a case of its own in the code, but no feature


def cases(file: str, kind: str) -> set[str]:
    """The items or actions that a source has a case for."""
    found = re.findall(rf"case RTE_FLOW_{kind}_TYPE_(\w+):", (HERE / file).read_text())
    return {name.lower() for name in found} - ALWAYS_REFUSED - {"passthru"}


def differences() -> list[str]:
    """A sentence for each feature that the file and the code do not agree on."""
    file = configparser.ConfigParser(delimiters=("=",))
    file.optionxform = str  # type: ignore[assignment, method-assign]
    file.read(HERE / "sluice.ini")
    code = "".join(path.read_text() for path in sorted(HERE.glob("*.c")))
    says = set(file["Features"])
    found = [f"{name}: in the file, but nothing is known of it" for name in sorted(says - set(EVIDENCE) - WITHOUT_CODE)]
    for name, evidence in EVIDENCE.items():
        if (evidence in code) != (name in says):
            found.append(f"{name}: {'only in the file' if name in says else 'only in the code'}")
    for section, source, kind in (("items", "flow_pattern.c", "ITEM"), ("actions", "flow_actions.c", "ACTION")):
        listed, coded = set(file[f"rte_flow {section}"]), cases(source, kind)
        found += [f"{section}: {name}: only in the file" for name in sorted(listed - coded)]
        found += [f"{section}: {name}: only in the code" for name in sorted(coded - listed)]
    return found


def main() -> int:
    """The command; its exit status."""
    found = differences()
    for text in found:
        print(f"sluice.ini: {text}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
