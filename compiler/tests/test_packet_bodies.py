# SPDX-License-Identifier: Apache-2.0
"""Native bodies for whole packets do what the element does; one that does not fit, or does something else, is found."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from scapy.layers.inet import IP
from scapy.layers.l2 import GRE, Ether

from compiler.compile import HardwareError
from compiler.frontend import typed
from compiler.fuzz import packet_body
from compiler.interpreter.choices import SignalCall
from compiler.interpreter.guard import fields_of
from compiler.interpreter.packets import Packet, to_flits
from compiler.native_cpp import packet_bodies
from compiler.tests.differential import elements
from compiler.tests.test_packets import SANITIZED, program_of
from testing.slow import first
from toolchain import ROOT

SIZES = (*range(1, 140, 3), 1500)


def encap() -> typed.Element:
    return elements("from_tor -> NVGREEncap<Tunnels = 4> :: n @ -> to_tor")["NVGREEncap_4"]


def decap() -> typed.Element:
    return elements("from_tor -> NVGREDecap :: n @ -> to_tor")["NVGREDecap"]


TUNNELS = [SignalCall("set_own", (0x020000000001, 0x0AFF0001))] + [
    SignalCall("set_tunnel", (mark, 1, 0x020000000100 + mark, 0xC0A8FF00 + mark, 0x123456 + mark)) for mark in (0, 1, 3)
]
CALLS = {"NVGREEncap": [*TUNNELS, SignalCall("get_dropped")], "NVGREDecap": [SignalCall("get_dropped")]}


def nvgre(**fields: int) -> bytes:
    """A packet in a tunnel."""
    outer = IP(src="10.0.0.1", dst="10.0.0.2", **fields)
    around, inside = (Ether(src="02:00:00:00:00:09", dst="02:00:00:00:00:01") for _ in range(2))
    return bytes(around / outer / GRE(key_present=1, key=0x12345607, proto=0x6558)) + bytes(inside) * 10


def packets(element: typed.Element) -> list[int]:
    """Of all sizes; for tunnels that end, some of those, whole, cut anywhere, or with a field that is another."""
    choose = random.Random(5)
    found = [choose.randbytes(size) for size in SIZES]
    if element.source_name == "NVGREDecap":
        found += [nvgre()[:size] for size in (*range(30, 70), 100)] + [nvgre(flags="DF"), nvgre(flags="MF"), nvgre(frag=1)]
        found += [nvgre(proto=46), nvgre(tos=3), *(choose.sample(found, 40))]
    flit = element.inputs[0].type
    return [token for data in found for token in to_flits(flit, Packet(data), 0)] + [without_length(flit)] * 20


def without_length(flit: typed.Type) -> int:
    """A packet that nobody measured."""
    (token,) = to_flits(flit, Packet(bytes(50)), 0)
    return token & ~((1 << fields_of(flit)["meta"][1]) - 1 << fields_of(flit)["meta"][0])


def trial(element: typed.Element, flags: tuple[str, ...] = packet_body.CPU_FLAGS) -> int:
    """How many packets leave."""
    outcome = packet_body.runner(element, flags)(packets(element), CALLS[element.source_name])
    return len(outcome.outputs["out"])


@pytest.mark.parametrize("element", [encap(), decap()], ids=lambda one: one.source_name)
def test_bodies_agree_with_their_elements(element: typed.Element) -> None:
    assert trial(element, SANITIZED) > 10


@pytest.mark.parametrize(
    ("element", "right", "instead", "said"),
    first(
        4,
        [
            (encap(), "0x0000'4000'402f, 8)", "0x0000'4000'4011, 8)", "that leaves: expected"),
            (encap(), "meta().length)(length + ADDED)", "meta().length)(length)", "metadata"),
            (decap(), "bytes + 38, 3", "bytes + 39, 3", "metadata"),
            (decap(), "size >= 38", "size >= 41", "that leaves: expected"),
            (encap(), "(sum & 0xffff) + (sum >> 16);", "(sum & 0xffff);", "that leaves: expected"),
            (encap(), "+ Uint<64>(1)", "+ Uint<64>(2)", "answers: expected"),
            (encap(), "|| length == 0", "", "that leaves: expected none"),
            (decap(), "& 0x3fff", "& 0x1fff", "that leaves: expected"),
            (decap(), "packet.size() > REMOVED ? ", "packet.size() > 99 ? ", "metadata"),
        ],
    ),
)
def test_a_body_that_does_something_else_is_found(
    element: typed.Element, right: str, instead: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(packet_body.PacketsDiffer, match=said):
        trial(changed(element, right, instead, tmp_path))


def changed(element: typed.Element, right: str, instead: str, folder: Path) -> typed.Element:
    """With another body."""
    file = ROOT / dict(element.native)["packet"]
    assert file.read_text().count(right) == 1
    (folder / file.name).write_text(file.read_text().replace(right, instead))
    return replace(element, native=(("packet", str(folder / file.name)),))


def test_a_body_without_its_class_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HardwareError, match="class template 'nvgreencap_packet' not found"):
        trial(changed(encap(), "struct nvgreencap_packet", "struct other", tmp_path))


def test_a_body_that_the_compiler_refuses_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(HardwareError, match=r"nvgredecap_packet.h: line 15: .*has no member named .removed"):
        trial(changed(decap(), "packet.remove(", "packet.removed(", tmp_path))


@pytest.mark.parametrize("ports", ["packet in -> packet out, packet more", "packet in, uint<8> more -> packet out"])
def test_a_body_of_an_element_with_more_ports_is_refused(ports: str, tmp_path: Path) -> None:
    (tmp_path / "both.h").write_text("template <class Element> struct both {};")
    text = f'.element Both ({ports}) {{ .handler {{ write(out, read(in)); }} .native packet "{tmp_path / "both.h"}" }}'
    with pytest.raises(HardwareError, match="one input and one output, both of packets"):
        packet_bodies(program_of(text))


def test_a_body_for_whole_packets_alone_is_no_element(tmp_path: Path) -> None:
    (tmp_path / "one.h").write_text("template <class Element> struct one {};")
    with pytest.raises(AssertionError, match="E0506"):
        elements(f'.element One (packet in -> packet out) {{ .native packet "{tmp_path / "one.h"}" }}')
