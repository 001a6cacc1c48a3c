# SPDX-License-Identifier: Apache-2.0
"""Decisions over random rules and random traffic, every field of them, against a plain Python model of docs/guide/rules.md: access
rules one after the other, the longest of all prefixes, a bridge whose stations are lists. Frames are few and their fields near each
other, so that rules overlap, bounds are met and the bridge's sets overflow."""

import ctypes
import errno
import ipaddress
import random
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import sluice_layouts as layouts
from sluice_layouts import Table, Verdict

from host.switch.testing.binding import GROWTH, Decision, Rules, Switch, cause_name, library

SEED = 1
NAMED = {"any": None, "tcp": 6, "udp": 17, "icmp": 1, "icmpv6": 58, "sctp": 132, "0": 0, "47": 47, "255": 255}
PORTED = {6: 20, 17: 8, 132: 12}
EXTENSIONS = (0, 43, 44, 51, 60, 135)
LENGTHS = {4: (0, 1, 7, 8, 9, 24, 31, 32), 6: (0, 1, 8, 32, 63, 64, 65, 120, 127, 128)}
ADDRESS_BITS = {4: 32, 6: 128}
OWN = 0x020000000000
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
CAUSES = ["none", "malformed", "oversize", "denied", "no_route", "ttl", "no_port", "link_local", "tunnel"]


def rules_of(path: Path, lines: list[str]) -> Rules:
    path.write_text("\n".join(lines))
    return Rules(path)


def whole(decision: Decision) -> dict[str, Any]:
    """Every field of a decision but the edit data, which are the rules'."""
    names = ("verdict", "fault", "egress_mask", "is_routed", "is_flooded", "cacheable", "table_id", "route", "acl")
    plain = {name: getattr(decision, name) for name in names}
    key = int.from_bytes(bytes(decision.key), "little")
    return plain | {
        "cause": decision.cause_name,
        "key": key,
        "acl_verdict": decision.acl_verdict.listed(),
        "actions": decision.actions.listed(),
    }


def dropped(cause: str, **more: Any) -> dict[str, Any]:
    """A decision to drop; `more` are the fields that are not as in one that was never looked at."""
    return forwarded(0, [("DROP", 0)]) | {"verdict": Verdict.VERDICT_DROP, "cause": cause} | more


def forwarded(mask: int, actions: list[tuple[str, int]], **more: Any) -> dict[str, Any]:
    plain = dict.fromkeys(("fault", "is_routed", "is_flooded", "cacheable", "table_id", "key"), 0)
    found = {"verdict": Verdict.VERDICT_FORWARD, "cause": "none", "egress_mask": mask, "actions": actions}
    return {**plain, "route": -1, "acl": -1, "acl_verdict": [], **found, **more}


# ---- The router


@dataclass(frozen=True)
class Datagram:
    """An IP packet to the router."""

    version: int
    src: int
    dst: int
    protocol: int
    ports: tuple[int, int]  # of ICMP: type and code
    ttl: int
    lane: int
    options: bool = False
    fragment: int = 0  # as in IPv4: bit 13 for more, then the offset

    @property
    def read_ports(self) -> tuple[int, int]:
        """Ports as the parser finds them."""
        whole = not self.fragment & 0x1FFF
        return self.ports if whole and (self.protocol in PORTED or self.protocol == {4: 1, 6: 58}[self.version]) else (0, 0)

    @property
    def bytes(self) -> bytes:
        """The frame; checksums are 0: nobody looks at them."""
        body = {
            6: struct.pack("!HHIIBBHHH", *self.ports, 0, 0, 0x50, 0, 0, 0, 0),
            17: struct.pack("!HHHH", *self.ports, 8, 0),
            132: struct.pack("!HHII", *self.ports, 0, 0),
        }.get(self.protocol, struct.pack("!BBHI", self.ports[0] & 255, self.ports[1] & 255, 0, 0))
        if self.version == 4:
            extra = b"\1\1\1\1" if self.options else b""
            size = 20 + len(extra) + len(body)
            head = struct.pack("!BBHHHBBH", 0x45 + self.options, 0, size, 0, self.fragment, self.ttl, self.protocol, 0)
            network = head + self.src.to_bytes(4, "big") + self.dst.to_bytes(4, "big") + extra
        else:
            first, extra = self.protocol, b""
            if self.fragment:
                extra, first = struct.pack("!BBHI", first, 0, (self.fragment & 0x1FFF) << 3 | self.fragment >> 13, 0), 44
            if self.options:
                extra, first = bytes((first, 0, 1, 4, 0, 0, 0, 0)) + extra, 0
            head = struct.pack("!IHBB", 6 << 28, len(extra) + len(body), first, self.ttl)
            network = head + self.src.to_bytes(16, "big") + self.dst.to_bytes(16, "big") + extra
        ethertype = 0x0800 if self.version == 4 else 0x86DD
        return struct.pack("!6s6sH", (OWN + self.lane).to_bytes(6, "big"), b"\2\0\0\0\1\0", ethertype) + network + body


@dataclass(frozen=True)
class Side:
    """One side of an access rule; None: any."""

    network: Network | None = None
    ports: tuple[int, int] | None = None

    def matches(self, version: int, address: int, port: int, has_ports: bool) -> bool:
        if self.network is not None and not is_inside(version, address, self.network):
            return False
        return self.ports is None or (has_ports and self.ports[0] <= port <= self.ports[1])

    def __str__(self) -> str:
        ports = "" if self.ports is None else f" port {self.ports[0]}" + (f"-{self.ports[1]}" if len(set(self.ports)) > 1 else "")
        return f"{self.network or 'any'}{ports}"


def is_inside(version: int, address: int, network: Network) -> bool:
    return version == network.version and address & int(network.netmask) == int(network.network_address)


@dataclass(frozen=True)
class Acl:
    """An access rule."""

    number: int
    permits: bool
    protocol: str
    src: Side
    dst: Side
    lane: int | None

    def matches(self, packet: Datagram) -> bool:
        """In everything but the lane."""
        wanted = NAMED[self.protocol]
        whole = packet.protocol in PORTED and not packet.fragment & 0x1FFF
        return (
            wanted in (None, packet.protocol)
            and self.src.matches(packet.version, packet.src, packet.read_ports[0], whole)
            and self.dst.matches(packet.version, packet.dst, packet.read_ports[1], whole)
        )

    def __str__(self) -> str:
        clauses = (f" from {self.src}" if self.src != Side() else "") + (f" to {self.dst}" if self.dst != Side() else "")
        lane = "" if self.lane is None else f" lane {self.lane}"
        return f"acl {self.number} {'permit' if self.permits else 'deny'} {self.protocol}{clauses}{lane}"


@dataclass
class Setting:
    """Random rules, and addresses and ports that are near them."""

    routes: list[tuple[Network, int]] = field(default_factory=list)
    acls: list[Acl] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.pool = {4: [random.getrandbits(32) for _ in range(4)], 6: [random.getrandbits(128) for _ in range(4)]}
        self.ports = [0, 65535, *(random.randrange(1, 65535) for _ in range(4))]
        nets = {self.network(random.choice((4, 6))) for _ in range(random.randrange(30))}
        self.routes = [(net, random.randrange(4)) for net in sorted(nets, key=str)]
        numbers = random.sample(range(100), random.choice([0, 0, 5, 15]))
        self.acls = [self.acl(number) for number in numbers]

    def network(self, version: int) -> Network:
        shift = ADDRESS_BITS[version] - random.choice(LENGTHS[version])
        value = random.choice(self.pool[version]) >> shift << shift
        kind = ipaddress.IPv4Network if version == 4 else ipaddress.IPv6Network
        return kind((value, ADDRESS_BITS[version] - shift))

    def side(self, version: int, ported: bool) -> Side:
        net = self.network(version) if random.random() < 0.5 else None
        low, high = sorted(random.choices(self.ports, k=2))
        return Side(net, random.choice([(low, high), (low, low), None]) if ported else None)

    def acl(self, number: int) -> Acl:
        protocol, version = random.choice([*NAMED, "tcp", "udp", "sctp"]), random.choice((4, 6))
        ported = NAMED[protocol] in PORTED
        sides = self.side(version, ported), self.side(version, ported)
        return Acl(number, random.random() < 0.7, protocol, *sides, random.choice([None, None, None, *range(4)]))

    def datagram(self) -> Datagram:
        version = random.choice((4, 6))
        addresses = [
            random.choice(self.pool[version]) ^ random.choice([0, 1 << random.randrange(ADDRESS_BITS[version])]) for _ in "sd"
        ]
        protocols = [6, 17, 132, 1, 58, 0, 47, 255, 200]
        protocol = random.choice([n for n in protocols if version == 4 or n not in EXTENSIONS])
        ports = tuple(min(65535, max(0, random.choice(self.ports) + random.choice([0, 0, 1, -1]))) for _ in "sd")
        if protocol not in PORTED:
            ports = tuple(port & 255 for port in ports)
        fragment = random.choice([0, 0, 0, 0, 0x2000, 0x2001, 1, 0x1FFF])
        lane, ttl = random.randrange(4), random.choice([0, 1, 2, 64, 255])
        return Datagram(version, *addresses, protocol, ports, ttl, lane, random.random() < 0.2, fragment)  # type: ignore[arg-type]

    def lines(self) -> list[str]:
        lanes = [f"lane {n} mac 02:00:00:00:00:0{n}" for n in range(4)]
        routes = [f"route {net} lane {lane} next-hop 02:00:00:00:01:0{lane}" for net, lane in self.routes]
        acls = [str(acl) for acl in self.acls]
        random.shuffle(acls)
        return [*acls, *lanes, *routes]

    def expected(self, packet: Datagram, actions: list[list[tuple[str, int]]]) -> dict[str, Any]:
        """The decision for a packet; `actions` of each route."""
        alike = [acl for acl in sorted(self.acls, key=lambda acl: acl.number) if acl.matches(packet)]
        rule = next((acl for acl in alike if acl.lane in (None, packet.lane)), None)
        looked_at = alike[: alike.index(rule) + 1] if rule else alike
        hits = [(net.prefixlen, n) for n, (net, _) in enumerate(self.routes) if is_inside(packet.version, packet.dst, net)]
        route = max(hits)[1] if hits else -1
        kind = layouts.FiveTuple4 if packet.version == 4 else layouts.FiveTuple6
        source, target = packet.read_ports
        key = kind(ip_src=packet.src, ip_dst=packet.dst, ip_protocol=packet.protocol, l4_src=source, l4_dst=target)
        remembered = bool(hits) and all(acl.lane is None for acl in looked_at) and not packet.options and not packet.fragment
        found = {
            "is_routed": 1,
            "route": route,
            "acl": rule.number if rule else -1,
            "key": key.to_int(),
            "table_id": Table.TABLE_IPV4 if packet.version == 4 else Table.TABLE_IPV6,
            # an extension header of IPv6 counts as an option, that of a fragment too
            "cacheable": int(remembered),
        }
        if self.acls and not (rule and rule.permits):
            return dropped("denied", acl_verdict=[("DROP", 0)], **found)
        if not hits:
            return dropped("no_route", **found)
        if packet.ttl <= 1:
            return dropped("ttl", actions=actions[route], **found)
        return forwarded(1 << self.routes[route][1], actions[route], **found)


def test_decides_for_ip_packets_as_the_model_does(tmp_path: Path) -> None:
    random.seed(SEED)
    seen: set[tuple[object, ...]] = set()
    for _ in range(60):
        setting = Setting()
        rules = rules_of(tmp_path / "some.rules", setting.lines())
        assert rules.acl_count == len(setting.acls)
        subject, actions = Switch(rules), [route.actions.listed() for route in rules.routes]
        counted = dict.fromkeys(CAUSES, 0)
        size = 0
        for _ in range(100):
            packet = setting.datagram()
            expected = setting.expected(packet, actions)
            got = subject.decide(packet.bytes, packet.lane)
            assert whole(got) == expected, f"{packet} {setting}"
            assert got.edit_count == len(rules.edit_data)
            counted[expected["cause"]] += 1
            size += len(packet.bytes)
            seen.add((expected["cause"], expected["cacheable"], expected["acl"] >= 0))
        counters = subject.counters
        assert (counters.packets, counters.bytes, counters.routed, counters.bridged) == (100, size, counted["none"], 0)
        assert list(counters.drops) == [0, *list(counted.values())[1:]]
    assert len(seen) >= 12, seen


# ---- The bridge


def station_set(vlan: int, mac: int) -> int:
    """Which of the 1,024 sets an address is in; the only thing here that is taken from the code: without it no set overflows."""
    return ((1 << 63 | vlan << 48 | mac) * 0x9E3779B97F4A7C15 & (1 << 64) - 1) >> 32 & 1023


@dataclass
class Bridge:
    """Stations in sets of four: (VLAN, address), lane, when it was seen."""

    lanes: int
    idle: int
    sets: dict[int, list[tuple[tuple[int, int], int, int]]] = field(default_factory=dict)

    def decide(self, src: int, dst: int, vlan: int, lane: int, now: int) -> dict[str, Any]:
        others = {n for n in range(self.lanes) if n != lane}
        if not src >> 40 & 1:
            self.learn((vlan, src), lane, now)
        if dst & ~0xF == 0x0180C2000000:
            return dropped("link_local")
        known = [at for key, at, seen in self.sets.get(station_set(vlan, dst), []) if key == (vlan, dst) and now < seen + self.idle]
        mask = sum(1 << n for n in (others & {known[0]} if known else others))
        if not mask:
            return dropped("no_port", actions=[("REPLICATE", 0)])
        return forwarded(mask, [("REPLICATE", mask)], is_flooded=int(not known))

    def learn(self, key: tuple[int, int], lane: int, now: int) -> None:
        stations = self.sets.setdefault(station_set(*key), [])
        places = [n for n, (other, _, _) in enumerate(stations) if other == key]
        if not places and len(stations) < 4:
            stations.append((key, lane, now))
            return
        place = places[0] if places else min(range(4), key=lambda n: stations[n][2])
        stations[place] = (key, lane, now)


def crowded(vlans: list[int]) -> list[tuple[int, int]]:
    """Addresses, seven for each of two sets beside each other and of two that are not; the address 0 too."""
    found: dict[int, list[tuple[int, int]]] = {}
    for _ in range(12000):
        vlan, mac = random.choice(vlans), random.getrandbits(48) & ~(1 << 40)
        found.setdefault(station_set(vlan, mac), []).append((vlan, mac))
    first = max(found, key=lambda place: min(len(found.get(one, [])) for one in (place, place ^ 1)))
    full = [found[place] for place in (first, first ^ 1)] + sorted(found.values(), key=len)[-2:]
    return [(0, 0), *(one for some in full for one in some[:7])]


def frame(src: int, dst: int, vlan: int) -> bytes:
    """A frame with a tag of this VLAN and any priority, another inside it or not; VLAN 0 may have no tag either."""
    tags = random.choice([0, 1, 2]) if vlan == 0 else random.choice([1, 2])
    outer = struct.pack("!HH", random.choice([0x8100, 0x88A8, 0x9100]), vlan | random.randrange(16) << 12)
    inner = struct.pack("!HH", 0x8100, random.randrange(1, 65536))
    return dst.to_bytes(6, "big") + src.to_bytes(6, "big") + (outer + inner)[: 4 * tags] + b"\x88\xb5" + random.randbytes(46)


@pytest.mark.parametrize("lanes", [1, 2, 4, 7])
def test_bridges_as_the_model_does(lanes: int, tmp_path: Path) -> None:
    random.seed(SEED + lanes)
    rules = rules_of(tmp_path / "some.rules", ["policy mac-idle 3"] + ["lane 0 mac 02:00:00:00:00:00"] * (lanes > 1))
    subject, model = Switch(rules, lanes), Bridge(lanes, 3_000_000)
    vlans = [0, 0, 1, 2, 0x800, 0xFFF]
    stations = crowded(vlans)
    near = [0x0180C2000000, 0x0180C200000F, 0x0180C2000010, 0x0180C1FFFFFF, 0x0280C2000000, (1 << 48) - 1, OWN]
    now, size, expected_counts, seen = (
        0 if lanes == 4 else 2**32 - 20_000_000,
        0,
        dict.fromkeys(("none", "flooded", "no_port", "link_local"), 0),
        set(),
    )
    for _ in range(3000):
        vlan, src = random.choice(stations)
        src ^= random.choice([0] * 20 + [1 << 40])
        there = [mac for at, mac in stations if at == vlan]
        dst = random.choice([random.choice(there), random.choice(there), random.choice(stations)[1], random.choice(near)])
        lane = random.randrange(lanes)
        expected = model.decide(src, dst, vlan, lane, now)
        packet = frame(src, dst, vlan)
        sent = subject.send(packet, lane, now)
        assert whole(sent.decision) == expected
        assert sent.data == (packet if expected["cause"] == "none" else None)
        expected_counts[expected["cause"]] += 1
        expected_counts["flooded"] += expected["is_flooded"]
        seen.add((expected["egress_mask"], expected["is_flooded"]))
        size += len(packet)
        steps = [0, 0, 1, 1000, 100_000, 300_000, -50_000, random.choice([0, 3_000_000, 2_999_999])]
        now = max(0, now + (random.choice(steps) if size > 2000 else 0))
    counters = subject.counters
    assert (counters.packets, counters.bytes, counters.routed) == (3000, size, 0)
    assert (counters.bridged, counters.flooded) == (expected_counts["none"], expected_counts["flooded"])
    assert list(counters.drops) == [0] * 6 + [expected_counts["no_port"], expected_counts["link_local"], 0]
    assert len(seen) == (1 if lanes == 1 else 2 * lanes + (lanes > 1)) or lanes == 2


# ---- Bounds


def test_takes_packets_of_the_largest_size(tmp_path: Path) -> None:
    lines = [*(f"lane {n} mac 02:00:00:00:00:0{n}" for n in range(2)), "route ::/0 lane 1 next-hop 02:00:00:00:01:01"]
    subject = Switch(rules_of(tmp_path / "some.rules", lines), 2)
    head = struct.pack("!6s6sH", b"\xff" * 6, b"\2\0\0\0\1\0", 0x88B5)
    routed = Datagram(6, 1, 2, 17, (1, 2), 64, 0).bytes
    for start, mask in ((head, 2), (routed, 2)):
        for size, cause in ((layouts.MTU_BYTES, "none"), (layouts.MTU_BYTES + 1, "oversize"), (70000, "oversize")):
            decision = subject.decide(start.ljust(size, b"\0"))
            assert (decision.cause_name, decision.egress_mask) == (cause, mask if cause == "none" else 0)
    assert subject.counters.bytes == 2 * (2 * layouts.MTU_BYTES + 1 + 70000)


def test_needs_room_for_the_packet_as_it_leaves(tmp_path: Path) -> None:
    lines = [f"lane {n} mac 02:00:00:00:00:0{n}" for n in range(2)] + ["route ::/0 lane 1 next-hop 02:00:00:00:01:01 vlan 5"]
    subject = Switch(rules_of(tmp_path / "some.rules", lines), 2)
    packet = Datagram(6, 1, 2, 17, (1, 2), 64, 0).bytes
    sent = subject.send(packet)
    assert sent.data is not None and len(sent.data) == len(packet) + 4
    for capacity in (0, len(packet), len(packet) + 3, len(packet) + 4, len(packet) + GROWTH):
        out = ctypes.create_string_buffer(b"\xaa" * (capacity + 8))
        decision = Decision.from_buffer(bytearray(b"\xff" * ctypes.sizeof(Decision)))
        arguments = (
            subject.handle,
            packet,
            len(packet),
            ctypes.c_uint8(0),
            ctypes.c_uint64(0),
            out,
            capacity,
            ctypes.byref(decision),
        )
        size = library().sluice_switch_process(*arguments)
        assert size == (len(packet) + 4 if capacity >= len(packet) + 4 else -errno.ENOSPC)
        assert whole(decision) == whole(sent.decision), "nothing of what was there before"
        assert out.raw[capacity:] == b"\xaa" * 8 + b"\0", "nothing behind the room"
        assert out.raw[: max(0, size)] == sent.data[: max(0, size)]


def test_refuses_lanes_that_no_switch_has(tmp_path: Path) -> None:
    empty = rules_of(tmp_path / "empty.rules", [])
    six = rules_of(tmp_path / "six.rules", ["lane 5 mac 02:00:00:00:00:01"])
    library().sluice_switch_free(None)
    for rules, lanes, status in (
        (empty, 0, -22),
        (empty, 1, 0),
        (empty, 7, 0),
        (empty, 8, -22),
        (six, 5, -22),
        (six, 6, 0),
        (six, 7, 0),
    ):
        made = ctypes.c_void_p(1)
        assert library().sluice_switch_new(rules.handle, ctypes.c_uint8(lanes), ctypes.byref(made)) == status
        assert bool(made) == (status == 0)
        library().sluice_switch_free(made)
    with pytest.raises(OSError, match="Invalid"):
        Switch(empty, 3).send(bytes(60), lane=3)
    assert Switch(empty, 3).send(bytes(range(1, 61)), lane=2).lanes == {0, 1}


def test_every_cause_has_its_name() -> None:
    assert [cause_name(cause) for cause in range(11)] == [*CAUSES, "?", "?"]
    assert cause_name(2**32 - 1) == "?"
