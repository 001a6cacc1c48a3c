# SPDX-License-Identifier: Apache-2.0
"""The rules file: what is right is read, what is wrong is said, all of it, with its place.

`testing/rules/NAME.rules` is a broken file, `NAME.expected` what is said of it. After a wanted change of a message:
`SLUICE_BLESS=1 build/env/bin/python -m pytest host/switch/test_rules.py`, then read the diff.
"""

import os
import random
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from host.switch.testing.binding import Rules, RulesError, Switch
from toolchain import ROOT

MINUTES = float(os.environ.get("SLUICE_FUZZ_MINUTES", "0"))
RELAXED = settings(max_examples=int(100 + 20_000 * MINUTES), deadline=None, suppress_health_check=list(HealthCheck))
FOLDER = Path(__file__).parent / "testing" / "rules"
LANES = "".join(f"lane {n} mac 02:00:00:00:00:0{n}\n" for n in range(4))


def read(tmp_path: Path, text: str | bytes) -> Rules:
    path = tmp_path / "some.rules"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return Rules(path)


def errors_of(tmp_path: Path, text: str | bytes) -> str:
    with pytest.raises(RulesError) as error:
        read(tmp_path, text)
    return str(error.value).replace(f"{tmp_path}/", "")


@pytest.mark.parametrize("name", ["words", "values", "limits", "edges", "order"])
def test_says_every_error_of_a_file_with_its_place(name: str, tmp_path: Path) -> None:
    said = errors_of(tmp_path, (FOLDER / f"{name}.rules").read_bytes()).replace("some.rules", f"{name}.rules")
    expected = FOLDER / f"{name}.expected"
    if os.environ.get("SLUICE_BLESS"):
        expected.write_text(said)
    assert said == expected.read_text()


def test_every_error_stands_in_the_order_of_the_lines(tmp_path: Path) -> None:
    said = errors_of(tmp_path, (FOLDER / "values.rules").read_bytes())
    lines = [int(line) for line in re.findall(r"^some\.rules:(\d+):\d+: ", said, re.M)]
    assert lines == sorted(lines)
    assert len(lines) == 15


def test_counts_the_errors_that_it_does_not_show(tmp_path: Path) -> None:
    assert errors_of(tmp_path, "nonsense\n" * 80).endswith("some.rules: 30 more errors\n")


def test_reads_lanes_routes_and_policy(tmp_path: Path) -> None:
    text = LANES + "route 10.1.0.0/16 lane 1 next-hop 02:00:00:00:01:01\nroute ::/0 lane 2 next-hop 02:00:00:00:01:02 vlan 7\r\n"
    rules = read(tmp_path, text + "policy offload-after 3 mac-idle 9\npolicy idle 5 # seconds")
    assert [rules.lane_mac(lane) for lane in (0, 3, 4, 200)] == [0x020000000000, 0x020000000003, 0, 0]
    first, second = rules.routes
    assert (first.version, first.length, first.lane) == (4, 16, 1)
    assert int.from_bytes(bytes(first.value), "little") == 0x0A010000
    assert int.from_bytes(bytes(first.mask), "little") == 0xFFFF0000
    assert first.actions.listed() == [
        ("DELETE_TUNNEL", 0),
        ("SET_LONG", 0),
        ("SET_LONG", 1 << 20 | 1),
        ("SUB", 0),
        ("CHECKSUM", 0),
        ("OUTPUT", 1),
    ]
    assert (second.version, second.length, bytes(second.mask)) == (6, 0, bytes(16))
    assert ("INSERT_VLAN", 7) in second.actions.listed()
    assert rules.edit_data == [0x020000000101, 0x020000000001, 0x020000000102, 0x020000000002]
    assert (rules.policy.offload_after, rules.policy.idle, rules.policy.mac_idle) == (3, 5, 9)
    assert (rules.lanes, rules.acl_count) == (4, 0)


def test_reads_routes_into_tunnels(tmp_path: Path) -> None:
    ends = "local 192.0.2.1 remote 192.0.2.7 inner-mac 02:00:00:00:09:09"
    six = "local 2001:db8::1 remote 2001:db8::7 inner-mac 02:00:00:00:09:09"
    text = LANES + "".join(
        f"route 10.{n}.0.0/16 lane 1 next-hop 02:00:00:00:01:01 {via}\n"
        for n, via in enumerate(
            [
                f"via vxlan vni 42 {ends}",
                f"via vxlan vni 70000 {ends}",
                f"vlan 9 via geneve vni 42 options 010203010a0b0c0d {six}",
                f"via nvgre vni 5 {six}",
                f"via gre {ends}",
            ]
        )
    )
    rules = read(tmp_path, text)
    start = [("DELETE_TUNNEL", 0), ("SET_LONG", 0), ("SET_LONG", 1 << 20 | 1), ("SUB", 0), ("CHECKSUM", 0)]
    field = 11 << 20
    ends_of = [route.actions.listed()[len(start) :] for route in rules.routes]
    assert all(route.actions.listed()[: len(start)] == start for route in rules.routes)
    assert ends_of[0] == [("SET", field | 42), ("INSERT_TUNNEL", 0), ("OUTPUT", 1)]
    assert ends_of[1] == [("SET_LONG", field | 2), ("INSERT_TUNNEL", 0), ("OUTPUT", 1)], "one template for all ids"
    assert ends_of[2] == [("SET", field | 42), ("INSERT_TUNNEL", 1), ("OUTPUT", 1)]
    assert ends_of[4] == [("INSERT_RAW", 3), ("OUTPUT", 1)]
    assert rules.edit_data == [0x020000000909, 0x020000000001, 70000]
    assert [len(data) for _, data in rules.templates] == [50, 14 + 4 + 40 + 8 + 8 + 8, 14 + 40 + 8, 14 + 20 + 4]
    assert [info.has_id for info, _ in rules.templates] == [1, 1, 1, 0]


def test_reads_hexadecimal_digits_of_either_case_and_nothing_else(tmp_path: Path) -> None:
    tunnel = "local 192.0.2.1 remote 192.0.2.7 inner-mac 02:00:00:00:09:09\n"
    route = "route 10.1.0.0/16 lane 1 next-hop 02:00:00:00:01:01 via geneve vni 42 options "
    digits = "0123456789abcdefABCDEFfedcba9876543210FACE" + "00" * 31
    rules = read(tmp_path, f"{LANES}{route}{digits} {tunnel}lane 4 mac fE:dC:bA:98:76:54\nlane 5 mac 32:10:aB:Cd:eF:09\n")
    ((_, template),) = rules.templates
    assert template[-52:].hex() == digits.lower() and template[-60:-52].hex() == "0d00655800000000"
    assert [rules.lane_mac(lane) for lane in (4, 5)] == [0xFEDCBA987654, 0x3210ABCDEF09]
    for wrong in "/:@G`g":
        for options in (f"{wrong}1234567", f"1234567{wrong}"):
            assert "expected Geneve options" in errors_of(tmp_path, f"{LANES}{route}{options} {tunnel}")
        for mac in (f"{wrong}2:00:00:00:00:01", f"02:00:00:00:00:1{wrong}"):
            assert "expected the router's address" in errors_of(tmp_path, f"lane 0 mac {mac}")
    for options in ("", "12345678" * 14, "123456", "12345678ab"):
        assert "expected Geneve options" in errors_of(tmp_path, f"{LANES}{route}{options} {tunnel}")


def test_more_tunnels_than_the_device_holds_are_an_error(tmp_path: Path) -> None:
    via = "via gre local 192.0.2.1 remote 192.0.{}.{} inner-mac 02:00:00:00:09:09"
    routes = [
        f"route 10.{n // 256}.{n % 256}.0/24 lane 0 next-hop 02:00:00:01:00:00 {via.format(n // 256, n % 256)}\n"
        for n in range(257)
    ]
    assert len(read(tmp_path, LANES + "".join(routes[:256])).templates) == 256
    assert "some.rules:261:7: more than 256 different tunnels" in errors_of(tmp_path, LANES + "".join(routes))


def test_reads_the_addresses_of_its_own_tunnels(tmp_path: Path) -> None:
    own = read(tmp_path, LANES + "tunnel address 10.0.0.1\ntunnel address 2001:db8::1\n").own(2)
    assert (own.mac, own.has_ipv4, own.has_ipv6) == (0x020000000002, 1, 1)
    assert (bytes(own.ipv4), bytes(own.ipv6)) == (bytes((1, 0, 0, 10)), b"\1" + bytes(11) + bytes.fromhex("b80d0120"))
    for address, has in (("10.0.0.1", (1, 0)), ("2001:db8::1", (0, 1))):
        own = read(tmp_path, f"{LANES}tunnel address {address}").own(1)
        assert ((own.has_ipv4, own.has_ipv6), any(own.ipv4), any(own.ipv6)) == (has, has[0], has[1])
    own = read(tmp_path, LANES).own(0)
    assert (own.has_ipv4, own.has_ipv6) == (0, 0)
    assert read(tmp_path, LANES + "tunnel address 10.0.0.1").own(4).mac == 0, "that lane has no address"


def test_an_empty_file_is_a_plain_bridge(tmp_path: Path) -> None:
    rules = read(tmp_path, "\n  # nothing\n\n")
    assert (rules.lanes, rules.routes, rules.acl_count, rules.policy.offload_after) == (0, [], 0, 1)


def test_says_why_a_file_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        Rules(tmp_path / "nowhere.rules")
    with pytest.raises(OSError, match="Is a directory"):
        Rules(tmp_path)


def test_more_addresses_than_the_device_holds_are_an_error(tmp_path: Path) -> None:
    routes = [f"route 10.{n // 256}.{n % 256}.0/24 lane 0 next-hop 02:00:00:01:{n // 256:02x}:{n % 256:02x}\n" for n in range(256)]
    assert len(read(tmp_path, LANES + "".join(routes[:255])).routes) == 255
    assert "some.rules:260:7: more than 256 different MAC addresses" in errors_of(tmp_path, LANES + "".join(routes))


def test_the_rules_of_the_capture_and_of_the_guide_are_right(tmp_path: Path) -> None:
    assert Rules(ROOT / "testing" / "captures" / "mixed.rules").acl_count == 4
    guide = (ROOT / "docs" / "guide" / "rules.md").read_text()
    example = re.search(r"```rules\n(.*?)```", guide, re.S)
    assert example is not None
    rules = read(tmp_path, example[1])
    assert len(rules.routes) > 2 and rules.acl_count > 2
    Switch(rules)


def test_damaged_files_never_do_harm(tmp_path: Path) -> None:
    random.seed(1)
    text = bytearray((ROOT / "testing" / "captures" / "mixed.rules").read_bytes())
    for _ in range(300):
        damaged = bytearray(text)
        for _ in range(random.randint(1, 4)):
            place = random.randrange(len(damaged))
            damaged[place : place + random.randrange(4)] = random.choice([b"", b"\n", b"\0", b"/", b"9", b"any ", b"-"])
        try:
            read(tmp_path, bytes(damaged))
        except RulesError as error:
            assert re.match(r".*some\.rules:\d+:\d+: .*; hint: ", str(error))


@pytest.mark.fuzz
@RELAXED
@given(st.binary(max_size=300))
def test_random_bytes_never_do_harm(tmp_path_factory: pytest.TempPathFactory, text: bytes) -> None:
    try:
        read(tmp_path_factory.getbasetemp(), text)
    except RulesError as error:
        assert "; hint: " in str(error)
