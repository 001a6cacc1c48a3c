# SPDX-License-Identifier: Apache-2.0
"""The small elements of the library do what their first line says, run by the interpreter; `compiler/tests` runs every target."""

import random

import pytest

from compiler.frontend import typed
from compiler.frontend.program import load_text
from compiler.frontend.source import Diagnostics
from compiler.interpreter.guard import fields_of
from compiler.interpreter.packets import Packet, from_flits, to_flits
from compiler.interpreter.program import ProgramOutcome, run_program

LANES = 3


def program(text: str) -> typed.Program:
    diagnostics = Diagnostics()
    found = load_text(text, "test.sl", diagnostics)
    assert found is not None, "".join(error.render() for error in diagnostics.sorted())
    return found


def flit_of(found: typed.Program) -> typed.Struct:
    kind = next(port.type for element in found.elements for port in (*element.inputs, *element.outputs) if port.is_packet)
    assert isinstance(kind, typed.Struct)
    return kind


def send(found: typed.Program, packets: dict[int, list[bytes]], queue: int = 0) -> tuple[dict[int, list[bytes]], ProgramOutcome]:
    """Packets into lanes; what left at each lane."""
    flit = flit_of(found)
    meta = next(field.type for field in flit.fields if field.name == "meta")
    shift = fields_of(flit)["meta"][0] + fields_of(meta)["queue"][0]
    tokens = {}
    for lane, given in packets.items():
        tokens[lane] = [token | queue << shift for data in given for token in to_flits(flit, Packet(data), lane)]
    outcome = run_program(found, tokens)
    left = {lane: [packet.data for packet, error in from_flits(flit, flits) if not error] for lane, flits in outcome.lanes.items()}
    return left, outcome


@pytest.fixture
def packets() -> list[bytes]:
    rng = random.Random(3)
    return [rng.randbytes(rng.choice([1, 60, 64, 65, 128, 300])) for _ in range(30)]


def test_tee_copies(packets):
    found = program(f"from_tor -> Tee<N = {LANES}> :: t .repeat (i, 0, {LANES}) {{ t.out[i] -> to_lane[i] }}")
    assert send(found, {0: packets})[0] == dict.fromkeys(range(LANES), packets)


def test_mux_keeps_packets_whole(packets):
    found = program(f"Mux<N = {LANES}> :: m .repeat (i, 0, {LANES}) {{ from_lane[i] -> m.in[i] }} m -> to_tor")
    given = {lane: packets[lane::LANES] for lane in range(LANES)}
    left = send(found, given)[0][0]
    assert sorted(left) == sorted(packets)
    for lane in range(LANES):
        assert [data for data in left if data in given[lane]] == given[lane], "order within an input"


@pytest.mark.parametrize("queue", [0, 2, 3])
def test_demux_sends_to_the_named_output(packets, queue):
    found = program(f"from_tor -> Demux<N = {LANES}> :: d @ .repeat (i, 0, {LANES}) {{ d.out[i] -> to_lane[i] }}")
    left, outcome = send(found, {0: packets}, queue)
    assert {lane: data for lane, data in left.items() if data} == ({queue: packets} if queue < LANES else {})
    assert outcome.instances["d"].state["dropped"] == (0 if queue < LANES else len(packets))


def test_round_robin_deals_in_turn(packets):
    found = program(f"from_tor -> RoundRobin<N = {LANES}> :: r .repeat (i, 0, {LANES}) {{ r.out[i] -> to_lane[i] }}")
    assert send(found, {0: packets})[0] == {lane: packets[lane::LANES] for lane in range(LANES)}


def test_count_and_drop(packets):
    found = program("from_tor -> Count :: c @ -> Tee :: t [1] -> PktLogger :: l @ t [2] -> Drop")
    outcome = send(found, {0: packets})[1]
    assert outcome.instances["c"].state["count"] == outcome.instances["l"].state["packets"] == len(packets)
    assert outcome.unread == 0
