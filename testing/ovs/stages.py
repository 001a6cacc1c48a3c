# SPDX-License-Identifier: Apache-2.0
"""What an operator does with a switch, one stage each: learning, routing, access lists, VLANs, VXLAN and Geneve tunnels.

Hosts 0 to 2 are on bridge br0, host 3 is on br-phy, the underlay of the tunnels. A stage is a context that sets the switch and the
hosts up until it is left. It yields its traffic: a call checks that what should pass passes and that what should not does not.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from testing.ovs.spaces import Spaces, host_mac
from testing.ovs.switch import OpenVSwitch

BRIDGE, UNDERLAY = "br0", "br-phy"
HOSTS, LANES_ON_BRIDGE = 4, 3
ROUTER = "02:00:00:00:0e:01"
GATEWAYS = ("10.0.0.254", "10.0.1.254")
NEAR_END, FAR_END, FAR = "172.16.0.1", "172.16.0.2", 3
INSIDE, VNI = "10.0.0.9", 7
OPEN, CLOSED = 5001, 5002
BYTES = 600_000
PINGS = 5


@dataclass
class Check:
    """Something tried, and whether it went through as it should."""

    what: str
    expected: bool
    passed: bool

    @property
    def good(self) -> bool:
        """Whether it is as it should be."""
        return self.expected == self.passed


Traffic = Callable[[], list[Check]]


@dataclass(frozen=True)
class Net:
    """The switch and its hosts."""

    switch: OpenVSwitch
    spaces: Spaces

    def ping(self, host: int, address: str, expected: bool = True) -> Check:
        """Echo requests from a host; the first may wait for the neighbour's address and the switch's learning."""
        sent, answered = self.spaces.ping(host, address, PINGS if expected else 2, wait=3.0 if expected else 0.5)
        return Check(f"ping host {host} to {address}", expected, answered >= sent - 1 if expected else answered > 0)

    def tcp(self, host: int, address: str, port: int, expected: bool = True) -> Check:
        """A connection from a host with 600 kB and the answer to them."""
        passed = self.spaces.connect(host, address, port, BYTES, 15.0 if expected else 1.0)
        return Check(f"TCP host {host} to {address}, port {port}", expected, passed)

    @contextlib.contextmanager
    def running(self, host: int, *words: str) -> Iterator[None]:
        """A program of `host.py` on a host."""
        process = self.spaces.program(host, *words)
        try:
            yield
        finally:
            self.spaces.end(process)

    def interface(self, host: int, name: str, address: str) -> None:
        """Set up a TAP that a program of a host has made; narrower than a lane, for the header that it adds."""
        space = self.spaces.host(host)
        self.spaces.run(space, f"ip link set {name} address 02:00:00:00:02:{host:02x} mtu 1400 up")
        self.spaces.address(host, address, device=name)

    def lan(self) -> None:
        """Hosts 0 to 2 in one subnet."""
        for host in range(LANES_ON_BRIDGE):
            self.spaces.address(host, f"10.0.0.{host + 1}/24")


@contextlib.contextmanager
def learning(net: Net) -> Iterator[Traffic]:
    """A learning switch."""
    net.lan()
    net.switch.set_flows(BRIDGE, ["actions=NORMAL"])
    with net.running(1, "serve", str(OPEN)):
        yield lambda: [net.ping(0, "10.0.0.2"), net.ping(2, "10.0.0.1"), net.tcp(0, "10.0.0.2", OPEN)]


def answers_arp(address: str) -> str:
    """A flow that answers for the router's address."""
    actions = [
        "move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[]", f"set_field:{ROUTER}->eth_src", "set_field:2->arp_op",
        "move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[]", f"set_field:{ROUTER}->arp_sha",
        "move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[]", f"set_field:{address}->arp_spa", "in_port",
    ]  # fmt: skip
    return f"priority=100,arp,arp_op=1,arp_tpa={address},actions={','.join(actions)}"


def route(prefix: str, mac: str, port: int) -> str:
    """A flow that routes to the next hop of a MAC address."""
    return f"priority=50,ip,nw_dst={prefix},actions=dec_ttl,set_field:{ROUTER}->eth_src,set_field:{mac}->eth_dst,output:{port}"


@contextlib.contextmanager
def routing(net: Net) -> Iterator[Traffic]:
    """Routing between two subnets."""
    for host, gateway in enumerate(GATEWAYS):
        net.spaces.address(host, f"10.0.{host}.1/24", gateway)
    routes = [route(f"10.0.{host}.0/24", host_mac(host), host + 1) for host in range(2)]
    net.switch.set_flows(BRIDGE, [*map(answers_arp, GATEWAYS), *routes])
    with net.running(1, "serve", str(OPEN)):
        yield lambda: [net.ping(0, "10.0.1.1"), net.tcp(0, "10.0.1.1", OPEN), net.ping(0, "10.0.2.1", False)]


ACL = [
    f"priority=100,tcp,tp_dst={CLOSED},actions=drop",
    "priority=90,icmp,nw_src=10.0.0.3,actions=drop",
    "priority=0,actions=NORMAL",
]


@contextlib.contextmanager
def access_lists(net: Net) -> Iterator[Traffic]:
    """A learning switch that denies a TCP port, and echo of one host."""
    net.lan()
    net.switch.set_flows(BRIDGE, ACL)
    with net.running(1, "serve", str(OPEN)), net.running(1, "serve", str(CLOSED)):
        yield lambda: [
            net.ping(0, "10.0.0.2"),
            net.tcp(0, "10.0.0.2", OPEN),
            net.tcp(0, "10.0.0.2", CLOSED, False),
            net.ping(2, "10.0.0.2", False),
        ]


@contextlib.contextmanager
def access_ports(net: Net) -> Iterator[Traffic]:
    """Hosts 0 and 1 on access ports of VLANs 10 and 20, host 2 tagged on a trunk."""
    net.lan()
    net.switch.set_flows(BRIDGE, ["actions=NORMAL"])
    columns = {"lane0": "tag=10", "lane1": "tag=20", "lane2": "trunks=10,20"}
    for port, column in columns.items():
        net.switch.vsctl("set", "port", port, column)
    net.spaces.run(net.spaces.host(2), "ip addr flush dev eth0")
    try:
        with net.running(2, "vlan", "eth0", "10", "vlan10"), net.running(2, "serve", str(OPEN)):
            net.interface(2, "vlan10", "10.0.0.3/24")
            yield lambda: [net.ping(0, "10.0.0.3"), net.tcp(0, "10.0.0.3", OPEN), net.ping(0, "10.0.0.2", False)]
    finally:
        for port, column in columns.items():
            net.switch.vsctl("clear", "port", port, column.partition("=")[0])


def tunnel(kind: str) -> Callable[[Net], AbstractContextManager[Traffic]]:
    """Host 0 reaches an address behind a tunnel that ends on host 3."""

    @contextlib.contextmanager
    def stage(net: Net) -> Iterator[Traffic]:
        net.lan()
        switch, spaces = net.switch, net.spaces
        spaces.address(FAR, f"{FAR_END}/24")
        spaces.run(spaces.switch, f"ip addr replace {NEAR_END}/24 dev {UNDERLAY}")
        spaces.run(spaces.switch, f"ip link set {UNDERLAY} up")
        for bridge in (BRIDGE, UNDERLAY):
            switch.set_flows(bridge, ["actions=NORMAL"])
        columns = [f"type={kind}", f"options:remote_ip={FAR_END}", f"options:key={VNI}"]
        switch.vsctl("add-port", BRIDGE, "tunnel0", "--", "set", "Interface", "tunnel0", *columns)
        try:
            switch.check_port("tunnel0")
            with net.running(FAR, "tunnel", kind, NEAR_END, str(VNI), "inside"), net.running(FAR, "serve", str(OPEN)):
                net.interface(FAR, "inside", f"{INSIDE}/24")
                yield lambda: [net.ping(0, INSIDE), net.tcp(0, INSIDE, OPEN)]
        finally:
            switch.vsctl("del-port", BRIDGE, "tunnel0")

    return stage


@dataclass(frozen=True)
class Stage:
    """A stage: its name, what it is, and what does it."""

    name: str
    title: str
    run: Callable[[Net], AbstractContextManager[Traffic]]


STAGES: Sequence[Stage] = (
    Stage("learning", "learning switch", learning),
    Stage("routing", "routing between two subnets", routing),
    Stage("acl", "access lists", access_lists),
    Stage("vlan", "VLAN access ports and a trunk", access_ports),
    Stage("vxlan", "VXLAN tunnel", tunnel("vxlan")),
    Stage("geneve", "Geneve tunnel", tunnel("geneve")),
)
NAMES = tuple(stage.name for stage in STAGES)
