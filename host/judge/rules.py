# SPDX-License-Identifier: Apache-2.0
"""The rules file once more (docs/guide/rules.md), for the judge. Only files without errors: those are found by `host/switch`."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

PROTOCOLS = {"any": None, "tcp": 6, "udp": 17, "icmp": 1, "icmpv6": 58, "sctp": 132}
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True)
class Tunnel:
    """What a route puts in front: `kind` vxlan, geneve, nvgre or gre; Geneve may have options."""

    kind: str
    id: int
    options: bytes
    local: Address
    remote: Address
    inner_mac: bytes


@dataclass(frozen=True)
class Route:
    """Where packets go; `vlan` 0: no tag is added."""

    lane: int
    next_hop: bytes
    vlan: int
    tunnel: Tunnel | None


@dataclass(frozen=True)
class Side:
    """Source or destination of an access rule; None: any."""

    network: Network | None = None
    ports: range | None = None

    def has(self, version: int, address: int, port: int | None) -> bool:
        """The side takes this address, and this port (None: the packet has none)."""
        if self.network is not None:
            mask, base = int(self.network.netmask), int(self.network.network_address)
            if self.network.version != version or address & mask != base:
                return False
        return self.ports is None or (port is not None and port in self.ports)


@dataclass(frozen=True)
class Access:
    """An access rule; `protocol` and `lane` None: any."""

    number: int
    permits: bool
    protocol: int | None
    source: Side
    destination: Side
    lane: int | None


@dataclass
class Rules:
    """A rules file: routes by IP version, prefix length and network; access rules by number."""

    lane_mac: dict[int, bytes] = field(default_factory=dict)
    tunnel_address: dict[int, int] = field(default_factory=dict)
    routes: dict[int, dict[int, dict[int, Route]]] = field(default_factory=lambda: {4: {}, 6: {}})
    access: list[Access] = field(default_factory=list)
    mac_idle: int = 300  # seconds


class _Words:
    """The words of a line, one by one."""

    def __init__(self, line: str) -> None:
        self.words = line.split("#")[0].split()

    def next(self) -> str:
        return self.words.pop(0)

    def take(self, *names: str) -> bool:
        """The next words are these: they are taken."""
        found = self.words[: len(names)] == list(names)
        if found:
            del self.words[: len(names)]
        return found

    def after(self, name: str) -> str:
        """The word behind a name, which must be next."""
        if not self.take(name):
            raise ValueError(f"expected {name}, found {self.words}")
        return self.next()


def _mac(text: str) -> bytes:
    return bytes.fromhex(text.replace(":", ""))


def _tunnel(words: _Words) -> Tunnel:
    kind = words.next()
    tunnel_id = int(words.after("vni")) if kind != "gre" else 0
    options = bytes.fromhex(words.after("options")) if words.words[0] == "options" else b""
    local, remote = (ipaddress.ip_address(words.after(name)) for name in ("local", "remote"))
    return Tunnel(kind, tunnel_id, options, local, remote, _mac(words.after("inner-mac")))


def _route(words: _Words, rules: Rules) -> None:
    prefix = ipaddress.ip_network(words.next())
    lane, next_hop = int(words.after("lane")), _mac(words.after("next-hop"))
    vlan = int(words.next()) if words.take("vlan") else 0
    route = Route(lane, next_hop, vlan, _tunnel(words) if words.take("via") else None)
    rules.routes[prefix.version].setdefault(prefix.prefixlen, {})[int(prefix.network_address)] = route


def _side(words: _Words) -> Side:
    network = None if words.take("any") else ipaddress.ip_network(words.next())
    if not words.take("port"):
        return Side(network)
    low, _, high = words.next().partition("-")
    return Side(network, range(int(low), int(high or low) + 1))


def _access(words: _Words, rules: Rules) -> None:
    number, permits, protocol = int(words.next()), words.next() == "permit", words.next()
    source = _side(words) if words.take("from") else Side()
    destination = _side(words) if words.take("to") else Side()
    lane = int(words.next()) if words.take("lane") else None
    kind = PROTOCOLS[protocol] if protocol in PROTOCOLS else int(protocol)
    rules.access.append(Access(number, permits, kind, source, destination, lane))


def _lane(words: _Words, rules: Rules) -> None:
    lane = int(words.next())
    rules.lane_mac[lane] = _mac(words.after("mac"))


def _own(words: _Words, rules: Rules) -> None:
    address = ipaddress.ip_address(words.after("address"))
    rules.tunnel_address[address.version] = int(address)


def _policy(words: _Words, rules: Rules) -> None:
    while words.words:  # the other settings say what goes into hardware, not what leaves
        setting, value = words.next(), int(words.next())
        if setting == "mac-idle":
            rules.mac_idle = value


_READERS: dict[str, Callable[[_Words, Rules], None]] = {
    "lane": _lane,
    "route": _route,
    "acl": _access,
    "tunnel": _own,
    "policy": _policy,
}


def read_rules(path: Path) -> Rules:
    """The rules of a file. Raises ValueError, KeyError or IndexError where it has errors."""
    rules = Rules()
    for line in path.read_text("ascii").split("\n"):
        words = _Words(line)
        if words.words:
            _READERS[words.next()](words, rules)
        if words.words:
            raise ValueError(f"{path}: unexpected {words.words}")
    rules.access.sort(key=lambda rule: rule.number)
    return rules
