# SPDX-License-Identifier: Apache-2.0
"""Rules files made at random or by tables are read as plain Python reads them: every field of every rule, the lowest and the
highest of every number, all errors of rules that are there twice. What the files in `testing/rules` show is not repeated."""

import ctypes
import ipaddress
import os
import random
from pathlib import Path

import pytest
from sluice_layouts import Field

from host.switch.testing.binding import Policy, Route, Rules, RulesError, library

SEED = 1
FILE_MAX = 64 << 20
OWN = [f"02:00:00:00:00:0{n}" for n in range(7)]
LANES = "".join(f"lane {n} mac {mac}\n" for n, mac in enumerate(OWN))
ENDS = "local 192.0.2.1 remote 192.0.2.7 inner-mac 02:00:00:00:09:09"
HOP = "02:00:00:00:01:01"


def read(tmp_path: Path, text: str) -> Rules:
    path = tmp_path / "some.rules"
    path.write_text(text)
    return Rules(path)


def errors_of(tmp_path: Path, text: str) -> list[str]:
    """The first line of each error, without the file's name."""
    with pytest.raises(RulesError) as error:
        read(tmp_path, text)
    start = f"{tmp_path}/some.rules:"
    return [line.removeprefix(start) for line in str(error.value).splitlines() if line.startswith(start)]


def number(mac: str) -> int:
    return int(mac.replace(":", ""), 16)


def settings(policy: Policy) -> tuple[int, int, int]:
    return policy.offload_after, policy.idle, policy.mac_idle


def test_takes_the_lowest_and_the_highest_of_every_number(tmp_path: Path) -> None:
    assert settings(read(tmp_path, "").policy) == (1, 30, 300)
    assert settings(read(tmp_path, "policy offload-after 1 idle 1 mac-idle 1").policy) == (1, 1, 1)
    assert settings(read(tmp_path, "policy mac-idle 2000\npolicy offload-after 1000000\npolicy idle 2000").policy) == (
        10**6,
        2000,
        2000,
    )
    routes = "".join(f"route 10.{n}.0.0/16 lane 6 next-hop {HOP} {more}\n" for n, more in enumerate(("vlan 1", "vlan 4094")))
    rules = read(tmp_path, LANES + routes)
    assert [route.actions.listed()[4] for route in rules.routes] == [("INSERT_VLAN", 1), ("INSERT_VLAN", 4094)]
    assert [rules.lane_mac(lane) for lane in range(8)] == [*map(number, OWN), 0]
    assert not library().sluice_rules_route(rules.handle, 2), "no route behind the last"
    lowest = "acl 0 permit 0 lane 0\nacl 1 permit tcp from any port 0 to any port 0-0\n"
    assert (
        read(tmp_path, f"{lowest}acl 4294967295 permit 255 from any to any lane 6\nacl 2 deny udp to any port 0-65535").acl_count
        == 4
    )


@pytest.mark.parametrize("kind", ["vxlan", "geneve", "nvgre"])
def test_a_tunnel_id_stands_in_the_action_or_in_the_edit_data(kind: str, tmp_path: Path) -> None:
    ids = [0, 1, 65535, 65536, 16777215]
    routes = "".join(f"route 10.{n}.0.0/16 lane 1 next-hop {HOP} via {kind} vni {value} {ENDS}\n" for n, value in enumerate(ids))
    rules = read(tmp_path, LANES + routes)
    field = Field.FIELD_TUNNEL_ID << 20
    short = [("SET", field | value) for value in ids[:3]]
    assert [route.actions.listed()[5] for route in rules.routes] == [*short, ("SET_LONG", field | 2), ("SET_LONG", field | 3)]
    assert rules.edit_data[2:] == [65536, 16777215]


def test_reads_prefixes_of_every_length(tmp_path: Path) -> None:
    random.seed(SEED)
    networks: list[ipaddress.IPv4Network | ipaddress.IPv6Network] = []
    for length in range(129):
        for bits in (32, 128):
            address = random.getrandbits(bits) | 1 << (bits - 1) | 1
            if length <= bits:
                networks.append(ipaddress.ip_network((address if bits == 128 else ipaddress.IPv4Address(address), length), False))
    random.shuffle(networks)
    lines = [f"route {net} lane {n % 7} next-hop 02:00:00:00:02:{n % 40:02x}" for n, net in enumerate(networks)]
    rules = read(tmp_path, LANES + "\n".join(lines))
    assert [summary(route) for route in rules.routes] == [
        (net.version, net.prefixlen, n % 7, int(net.network_address), int(net.netmask), *macs_of(rules, n))
        for n, net in enumerate(networks)
    ]
    stray = [(net, stray_bit(net)) for net in networks if net.prefixlen < net.max_prefixlen]
    for some in (stray[:50], stray[50:100], stray[100:150], stray[150:]):
        said = errors_of(tmp_path, "\n".join(f"route {wrong} lane 1" for _, wrong in some))
        expected = [f"{line}:7: '{wrong[:40]}' has host bits set; hint: {net}" for line, (net, wrong) in enumerate(some, 1)]
        assert said == expected


def stray_bit(net: ipaddress.IPv4Network | ipaddress.IPv6Network) -> str:
    """The prefix with the one bit behind it set, or the last one."""
    behind = random.choice([net.max_prefixlen - net.prefixlen - 1, 0])
    return f"{net.network_address + 2**behind}/{net.prefixlen}"


def summary(route: Route) -> tuple[int, ...]:
    names = [name for name, _ in route.actions.listed()]
    assert names == ["DELETE_TUNNEL", "SET_LONG", "SET_LONG", "SUB", "CHECKSUM", "OUTPUT"]
    operands = [operand for _, operand in route.actions.listed()]
    assert [operands[0], operands[1] >> 16, operands[2] >> 16, *operands[3:]] == [0, 0, 16, 0, 0, route.lane]
    value, mask = (int.from_bytes(bytes(field), "little") for field in (route.value, route.mask))
    return route.version, route.length, route.lane, value, mask, operands[1] & 0xFFFF, operands[2] & 0xFFFF


def macs_of(rules: Rules, index: int) -> tuple[int, int]:
    """Where the edit data has the next hop and the lane's address of the route with this index."""
    hop, own = number(f"02:00:00:00:02:{index % 40:02x}"), number(OWN[index % 7])
    assert rules.edit_data.count(hop) == rules.edit_data.count(own) == 1
    return rules.edit_data.index(hop), rules.edit_data.index(own)


def test_names_what_is_there_twice_and_the_line_before(tmp_path: Path) -> None:
    random.seed(SEED)
    prefixes = [
        "0.0.0.0/0",
        "::/0",
        "10.0.0.0/8",
        "10.0.0.0/9",
        "a00::/8",
        "10.0.0.1",
        "10.0.0.1/32",
        "10.1.0.1",
        "::a00:1/32",
        "::a00:1",
    ]
    prefixes[8] = "0:a00::/32"
    lines, seen, expected = [], {}, []
    for line in range(8, 48):
        if random.random() < 0.5:
            prefix = random.choice(prefixes)
            place, column, key = f"route {prefix} lane 0 next-hop {HOP}", 7, str(ipaddress.ip_network(prefix))
            what = "duplicate route for this prefix"
        else:
            rule = random.choice([0, 1, 2, 10, 2**31, 2**32 - 1])
            place, column, key, what = f"acl {rule} permit any", 5, str(rule), f"duplicate access rule {rule}"
        lines.append(place)
        if key in seen:
            expected.append(f"{line}:{column}: {what}; hint: see line {seen[key]}")
        seen[key] = line
    assert errors_of(tmp_path, LANES + "\n".join(lines)) == expected
    assert 20 < len(expected) < 50


@pytest.mark.parametrize(
    "lines, lanes",
    [
        ("acl 1 permit any", 0),
        ("acl 1 permit any lane 0", 1),
        ("acl 1 permit any lane 6\nacl 2 permit any lane 2", 7),
        ("lane 3 mac 02:00:00:00:00:03\nlane 1 mac 02:00:00:00:00:01", 4),
        (f"lane 0 mac 02:00:00:00:00:03\nroute ::/0 lane 0 next-hop {HOP}\nacl 2 deny any lane 4", 5),
        (f"route ::/0 lane 5 next-hop {HOP}\nlane 5 mac 02:00:00:00:00:03\nacl 2 deny any lane 4", 6),
    ],
)
def test_counts_the_lanes_up_to_the_highest_that_is_named(lines: str, lanes: int, tmp_path: Path) -> None:
    assert read(tmp_path, lines).lanes == lanes


def test_room_for_edit_data_is_shared_by_addresses_and_tunnel_ids(tmp_path: Path) -> None:
    via = [f"route 10.{n}.0.0/16 lane 0 next-hop {HOP} via vxlan vni {65536 + n} {ENDS}\n" for n in range(255)]
    full = LANES + "".join(via[:254])
    assert len(read(tmp_path, full).edit_data) == 256
    what = "7: more than 256 different MAC addresses and tunnel ids above 65535; hint: the device holds no more"
    hop = f"route 10.254.0.0/16 lane {{}} next-hop {HOP}{{}}\n"
    for line in (via[254], hop.format(0, ""), hop.format(1, f" via gre {ENDS}")):
        assert errors_of(tmp_path, full + line) == [f"262:{what}"]
    assert len(read(tmp_path, full + hop.format(0, f" via vxlan vni 65535 {ENDS}") + "acl 1 permit any").routes) == 255


@pytest.mark.parametrize("count, more", [(50, 0), (51, 1), (80, 30)])
def test_shows_fifty_errors_and_counts_the_rest(count: int, more: int, tmp_path: Path) -> None:
    with pytest.raises(RulesError) as error:
        read(tmp_path, "nonsense\n" * count)
    said = str(error.value).splitlines()
    assert said[:148:3] == [
        f"{tmp_path}/some.rules:{n}:1: unknown rule 'nonsense'; hint: use lane, route, acl, tunnel or policy" for n in range(1, 51)
    ]
    assert said[150:] == ([f"{tmp_path}/some.rules: {more} more errors"] if more else [])


def parsed(text: bytes, size: int | None = None) -> tuple[int, ctypes.c_void_p]:
    """sluice_rules_parse, without a stream for its errors; what it leaves in `rules` that held something before."""
    rules = ctypes.c_void_p(1)
    size = len(text) if size is None else size
    status = library().sluice_rules_parse(b"memory", text, ctypes.c_size_t(size), ctypes.byref(rules), None)
    return status, rules


def test_reads_nothing_behind_the_text() -> None:
    text = b"lane 0 mac 02:00:00:00:00:01\nlane 1 mac 02:00:00:00:00:02\nacl 11 deny udp # any\n"
    right = {0, 28, 29, 57, 58, *range(73, len(text))}
    for size in range(len(text)):
        status, rules = parsed(text, size)
        assert (status, bool(rules)) == ((0, True) if size in right else (-22, False)), size
        if rules:
            assert library().sluice_rules_lanes(rules) == min(2, (size + 1) // 29)
            library().sluice_rules_free(rules)


def test_leaves_no_rules_and_no_open_file_behind(tmp_path: Path) -> None:
    broken = tmp_path / "broken.rules"
    broken.write_text("lane\n")
    library().sluice_rules_free(None)
    files = len(list(Path("/proc/self/fd").iterdir()))
    for path, expected in ((broken, -22), (tmp_path / "nowhere", -2), (tmp_path, -21)):
        rules = ctypes.c_void_p(1)
        assert library().sluice_rules_read(str(path).encode(), ctypes.byref(rules), None) == expected
        assert not rules
    assert len(list(Path("/proc/self/fd").iterdir())) == files


def test_reads_files_up_to_their_largest_size(tmp_path: Path) -> None:
    path = tmp_path / "large.rules"
    for size in (0, 1, 4095, 4096, 4097, 8192, 8193, FILE_MAX - 1):
        path.write_bytes(b"lane 0 mac 02:00:00:00:00:01\n#"[:size])
        with path.open("r+b") as file:
            file.truncate(size)
            if size > 60:
                file.seek(size - 29)
                file.write(b"\nlane 3 mac 02:00:00:00:00:01")
        if size == 1:
            with pytest.raises(RulesError):
                Rules(path)
        else:
            assert Rules(path).lanes == (4 if size else 0)
    for size in (FILE_MAX, FILE_MAX + 1):
        os.truncate(path, size)
        with pytest.raises(OSError, match=f"{path}: File too large"):
            Rules(path)
