# SPDX-License-Identifier: Apache-2.0
"""Pipelines that the differential test sends captures through: learning switch, access lists, routing, VLANs, tunnels.

They are made for the captures of testing/captures: host n is at lane n with the MAC address 02:00:00:00:01:0n and talks to the
router at 02:00:00:00:00:0n. What a pipeline does must not depend on which of two lanes is heard first; so where addresses would be
learnt, they are entered before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from testing.ovs.spaces import Spaces
from testing.ovs.switch import OpenVSwitch

BRIDGE, UNDERLAY = "br0", "br-phy"
LANES = 4
ROUTER = "02:00:00:00:0e:01"
UNDERLAY_MAC, FAR_MAC = "02:00:00:00:0e:02", "02:00:00:00:0e:03"
NEAR_END, FAR_END = "172.16.0.1", "172.16.0.2"
ACCESS = {0: 10, 1: 10, 3: 20}  # VLAN of an access port by lane; the other lane is a trunk
TRUNK_VLANS = (10, 20, 100)


def host(lane: int) -> str:
    """The host behind a lane."""
    return f"02:00:00:00:01:0{lane}"


def known(switch: OpenVSwitch, vlans: Callable[[int], Sequence[int]]) -> None:
    """Enter hosts at their lanes, and the router's addresses at the next lane, in the VLANs of that lane."""
    for lane in range(LANES):
        at = (lane + 1) % LANES
        for where, mac in ((lane, host(lane)), (at, f"02:00:00:00:00:0{lane}")):
            for vlan in vlans(where):
                switch.appctl("fdb/add", BRIDGE, f"lane{where}", str(vlan), mac)


def normal(switch: OpenVSwitch, spaces: Spaces) -> None:
    """A learning switch."""
    del spaces
    switch.set_flows(BRIDGE, ["actions=NORMAL"])
    known(switch, lambda lane: (0,))


def access_lists(switch: OpenVSwitch, spaces: Spaces) -> None:
    """Denied ports, addresses, echo, connections from one side; the rest between pairs of lanes."""
    del spaces
    denied = [
        "tcp,tp_dst=22", "tcp6,tp_dst=22", "tcp,tp_dst=0x1000/0xf000", "udp,tp_dst=5353", "udp6,tp_src=53",
        "ip,nw_src=10.1.0.0/16,nw_dst=10.4.0.0/14", "ipv6,ipv6_dst=2001:db8:30::/46", "icmp,icmp_type=8,nw_src=10.0.2.2",
        "icmp6,icmp_type=128,ipv6_src=2001:db8:3::2", "in_port=1,tcp,tcp_flags=+syn-ack,nw_dst=10.0.3.0/24",
        "ip,nw_frag=later,nw_src=10.0.0.2", "ipv6,nw_frag=first,ipv6_dst=2001:db8:1::2", "ip,nw_tos=0xb8", "dl_type=0x88cc",
        "dl_vlan=100,ip,nw_dst=10.4.5.0/24", "ip,nw_proto=2",
    ]  # fmt: skip
    allowed = [f"priority=1,in_port={lane + 1},actions=output:{(lane ^ 1) + 1}" for lane in range(LANES)]
    switch.set_flows(BRIDGE, [*(f"priority={100 + n},{match},actions=drop" for n, match in enumerate(denied)), *allowed])


def routing(switch: OpenVSwitch, spaces: Spaces) -> None:
    """Routes to the networks of the four hosts, IPv4 and IPv6; nothing else passes."""
    del spaces
    flows = []
    for lane in range(LANES):
        actions = f"dec_ttl,set_field:{ROUTER}->eth_src,set_field:{host(lane)}->eth_dst,output:{lane + 1}"
        for match in (f"ip,nw_dst=10.0.{lane}.0/24", f"ip,nw_dst=10.{lane + 1}.0.0/16"):
            flows.append(f"priority=50,{match},actions={actions}")
        for match in (f"ipv6,ipv6_dst=2001:db8:{lane}::/64", f"ipv6,ipv6_dst=2001:db8:{lane + 1}0::/48"):
            flows.append(f"priority=50,{match},actions={actions}")
        # What comes back to where it came from has another output.
        flows.append(f"priority=60,in_port={lane + 1},ip,nw_dst=10.0.{lane}.0/24,actions=in_port")
    switch.set_flows(BRIDGE, flows)


def vlans(switch: OpenVSwitch, spaces: Spaces) -> None:
    """Access ports in two VLANs, and a trunk."""
    del spaces
    switch.set_flows(BRIDGE, ["actions=NORMAL"])
    for lane in range(LANES):
        column = f"tag={ACCESS[lane]}" if lane in ACCESS else f"trunks={','.join(map(str, TRUNK_VLANS))}"
        switch.vsctl("set", "port", f"lane{lane}", column)
    known(switch, lambda lane: (ACCESS[lane],) if lane in ACCESS else TRUNK_VLANS)


def tunnel(kind: str) -> Callable[[OpenVSwitch, Spaces], None]:
    """What comes in at lanes 0 to 2 leaves in a tunnel at lane 3."""

    def pipeline(switch: OpenVSwitch, spaces: Spaces) -> None:
        spaces.run(spaces.switch, f"ip addr replace {NEAR_END}/24 dev {UNDERLAY}")
        spaces.run(spaces.switch, f"ip link set {UNDERLAY} up")
        switch.set_flows(UNDERLAY, ["in_port=LOCAL,actions=output:4"])
        columns = [f"type={kind}", f"options:remote_ip={FAR_END}", "options:key=7", "ofport_request=9"]
        switch.vsctl("add-port", BRIDGE, "tunnel0", "--", "set", "Interface", "tunnel0", *columns)
        switch.check_port("tunnel0")
        switch.appctl("tnl/neigh/set", UNDERLAY, FAR_END, FAR_MAC)
        switch.set_flows(BRIDGE, [f"in_port={lane + 1},actions=output:9" for lane in range(3)])

    return pipeline


@dataclass(frozen=True)
class Pipeline:
    """A pipeline: its name, how a switch is set up for it, and how long packets may be."""

    name: str
    set_up: Callable[[OpenVSwitch, Spaces], None]
    longest: int = 1514
    in_tunnel: bool = False  # the UDP source port of what leaves is any


PIPELINES: Sequence[Pipeline] = (
    Pipeline("normal", normal),
    Pipeline("acl", access_lists),
    Pipeline("routing", routing),
    Pipeline("vlan", vlans, 1510),
    Pipeline("vxlan", tunnel("vxlan"), 1464, True),
    Pipeline("geneve", tunnel("geneve"), 1464, True),
)
NAMES = tuple(one.name for one in PIPELINES)
