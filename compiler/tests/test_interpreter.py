# SPDX-License-Identifier: Apache-2.0
"""The interpreter on elements built by hand: iterations, choices, waiting, signals, the packet guard, arithmetic at its edges."""

import pytest

from compiler.frontend import typed as t
from compiler.interpreter import values
from compiler.interpreter.choices import Decide, NotAllowed, Replay, SignalCall
from compiler.interpreter.element import run_element
from compiler.interpreter.packets import Packet, from_flits, to_flits
from compiler.interpreter.program import run_program
from compiler.tests import trees

META = trees.struct(
    "meta_t", ("ingress_port", t.Integer(8)), ("other", t.Integer(51)), ("timestamp", t.Integer(64)), ("length", t.Integer(16))
)
LAYOUT = trees.struct("flit_t", ("meta", META), *((f.name, f.type) for f in trees.FLIT.fields[1:]))
PACKET = [trees.flit(1, sop=True), trees.flit(2), trees.flit(3, eop=True, empty=5)]


def test_counts_packets_not_flits() -> None:
    outcome = run_element(trees.count(), {"PORT_1": PACKET * 3}, Decide())
    assert outcome.outputs == {"PORT_1": PACKET * 3}
    assert outcome.state == {"count": 3}
    assert outcome.log == []  # one port: nothing to choose


def test_copies_to_every_output() -> None:
    assert run_element(trees.tee(), {"in": PACKET}, Decide()).outputs == {"a": PACKET, "b": PACKET}


def test_leaves_no_trace_of_an_iteration_that_waits() -> None:
    outcome = run_element(trees.join(), {"a": [2, 3, 5], "b": [10]}, Decide())
    assert outcome.outputs == {"out": [2, 13]}
    assert outcome.state == {"tries": 2}
    assert outcome.iterations == 2


def test_serves_signals_between_iterations_and_replays_their_place() -> None:
    call = SignalCall("", (0,))
    found = {seed: run_element(trees.count(), {"PORT_1": PACKET * 8}, Decide(seed, [call, call])) for seed in range(1, 9)}
    assert len({tuple(outcome.answers) for outcome in found.values()}) > 1
    for outcome in found.values():
        again = run_element(trees.count(), {"PORT_1": PACKET * 8}, Replay(outcome.log), outcome.iterations)
        assert again == outcome


def merge() -> t.Element:
    a, b, out = trees.packet_port("a", 0, True), trees.packet_port("b", 1, True), trees.packet_port("out", 0, False)
    last, x = trees.variable("last", trees.U32, is_state=True), trees.variable("x", trees.FLIT)
    chosen = t.SelectPort((a, b), trees.place(last), trees.HERE)
    return trees.element("Merge", [a, b], [out], trees.assign(x, chosen), t.Write(out, trees.load(x), trees.HERE), states=(last,))


def test_select_takes_whole_packets_in_turn() -> None:
    outcome = run_element(merge(), {"a": PACKET * 2, "b": PACKET}, Decide())
    assert [entry["select"] for entry in outcome.log] == [0, 0, 0, 1, 1, 1, 0, 0, 0]


def test_refuses_a_log_that_leaves_a_packet() -> None:
    outcome = run_element(merge(), {"a": PACKET, "b": PACKET}, Decide())
    outcome.log[1]["select"] = 1
    with pytest.raises(NotAllowed, match="iteration 1"):
        run_element(merge(), {"a": PACKET, "b": PACKET}, Replay(outcome.log), outcome.iterations)


def test_refuses_a_log_without_a_choice() -> None:
    with pytest.raises(NotAllowed, match="no 'select'"):
        run_element(merge(), {"a": PACKET, "b": PACKET}, Replay([]), 6)


def masked() -> t.Element:
    """Numbered, two inputs: writes which it saw, then reads both."""
    a, b, out = (
        trees.port("PORT_1", trees.U32, 0, True),
        trees.port("PORT_2", trees.U32, 1, True),
        trees.port("out", trees.U32, 0, False),
    )
    total = trees.add(trees.add(t.Ready(trees.U32, trees.HERE), t.Read(a, trees.HERE)), t.Read(b, trees.HERE))
    return trees.element("Masked", [a, b], [out], t.Write(out, total, trees.HERE), numbered=True)


def test_a_mask_of_two_ports_fires_with_either() -> None:
    streams = {"PORT_1": [10, 20], "PORT_2": [100]}
    assert run_element(masked(), streams, Decide()).outputs == {"out": [113, 21]}
    seen = set()
    for seed in range(1, 30):
        outcome = run_element(masked(), streams, Decide(seed))
        assert run_element(masked(), streams, Replay(outcome.log), outcome.iterations) == outcome
        seen.add(tuple(outcome.outputs["out"]))
    assert seen == {(113, 21), (11, 123), (11, 21, 102), (11, 102, 21), (102, 11, 21)}


def test_refuses_a_log_by_which_nothing_fired() -> None:
    with pytest.raises(NotAllowed):
        run_element(masked(), {"PORT_1": [10, 20], "PORT_2": [100]}, Replay([{"iteration": 0, "available": 4}]), 1)


def passes() -> t.Element:
    source, out = trees.port("in", trees.FLIT, 0, True), trees.packet_port("out", 0, False)
    return trees.element("Passes", [source], [out], t.Write(out, t.Read(source, trees.HERE), trees.HERE))


def test_guard_mends_broken_packets() -> None:
    sop, body, eop = trees.flit(1, sop=True), trees.flit(2), trees.flit(3, eop=True)
    broken = [body, eop, sop, sop, body, eop, trees.flit(4, sop=True, empty=1), eop, sop, eop]
    outcome = run_element(passes(), {"in": broken}, Decide())
    mended = [sop, trees.flit(1, eop=True, error=True), trees.flit(4, sop=True, eop=True, error=True), sop, eop]
    assert outcome.outputs["out"] == mended
    assert (outcome.discarded, outcome.mended) == (5, 2)


S8, U8 = t.Integer(8, True), t.Integer(8)


@pytest.mark.parametrize(
    ("operator", "left", "right", "kind", "expected"),
    [
        ("/", 7, 0, U8, 0xFF),
        ("/", 7, 0, S8, 0xFF),
        ("%", 7, 0, S8, 7),
        ("/", 0x80, 0xFF, S8, 0x80),
        ("%", 0x80, 0xFF, S8, 0),
        ("/", 0xF9, 2, S8, 0xFD),
        ("%", 0xF9, 2, S8, 0xFF),
        ("%", 7, 0xFE, S8, 1),
        ("<<", 1, 8, U8, 0),
        ("<<", 1, 1 << 40, U8, 0),
        (">>", 0x80, 200, U8, 0),
        (">>", 0x80, 200, S8, 0xFF),
        (">>", 0x80, 1, S8, 0xC0),
        ("<", 0x80, 0, S8, 1),
        ("<", 0x80, 0, U8, 0),
        ("-", 0, 1, U8, 0xFF),
        ("*", 0xFF, 0xFF, U8, 1),
    ],
)
def test_arithmetic_at_its_edges(operator: str, left: int, right: int, kind: t.Integer, expected: int) -> None:
    assert values.binary(operator, left, right, kind) == expected


def test_a_loop_at_its_bound_leaves_and_fails() -> None:
    i, out = trees.variable("i", trees.U32), trees.port("out", trees.U32, 0, False)
    source = trees.port("in", trees.U32, 0, True)
    more = t.Binary("!=", trees.load(i), t.Read(source, trees.HERE), t.BOOL, trees.HERE)
    step = trees.assign(i, trees.add(trees.load(i), trees.constant(1, trees.U32)))
    loop = t.Loop(more, trees.block(), trees.block(step), 4, trees.HERE)
    looping = trees.element(
        "Loop", [source], [out], trees.assign(i, trees.constant(0, trees.U32)), loop, t.Write(out, trees.load(i), trees.HERE)
    )
    outcome = run_element(looping, {"in": [3, 4, 5, 1]}, Decide())
    assert outcome.outputs["out"] == [3, 4, 4, 1]
    assert outcome.failures == ["tree.sl:1:1: the loop reached its bound of 4"]


def test_reads_zero_and_writes_nothing_outside_an_array() -> None:
    source, out = trees.port("in", U8, 0, True), trees.port("out", U8, 0, False)
    array = trees.variable("a", t.Array(U8, 3), is_state=True)
    x = trees.variable("x", U8)
    entry = trees.place(array, t.Entry(trees.load(x), U8, 3))
    statements = [
        trees.assign(x, t.Read(source, trees.HERE)),
        t.Write(out, trees.load(entry), trees.HERE),
        trees.assign(entry, trees.load(x)),
    ]
    element = trees.element("Outside", [source], [out], *statements, states=(array,))
    outcome = run_element(element, {"in": [1, 1, 3, 3, 255, 2, 2]}, Decide())
    assert outcome.outputs["out"] == [0, 1, 0, 0, 0, 0, 2]
    assert outcome.state == {"a": 2 << 16 | 1 << 8}


def test_reverses_the_bytes_of_a_header_in_packet_data() -> None:
    data, swap = trees.variable("d", t.Integer(64)), t.Slice(16, t.Integer(16), swap=True)
    source, out = trees.port("in", t.Integer(64), 0, True), trees.port("out", t.Integer(64), 0, False)
    header = trees.place(data, swap)
    shifted = trees.assign(header, trees.add(trees.load(header), trees.constant(1, t.Integer(16))))
    statements = [trees.assign(data, t.Read(source, trees.HERE)), shifted, t.Write(out, trees.load(data), trees.HERE)]
    assert run_element(trees.element("Swap", [source], [out], *statements), {"in": [0x00_00_00_00_FF_08_12_34]}, Decide()).outputs[
        "out"
    ] == [0x00_00_00_00_00_09_12_34]


def chain(depth: int) -> t.Program:
    """from_tor -> cnt -> tee [1] -> to_tor, tee [2] -> to_lane[1]."""
    instances = tuple(
        t.Instance(name, element, False, False, trees.HERE) for name, element in (("cnt", trees.count()), ("tee", trees.tee()))
    )
    ends = [(("", 0), ("cnt", 0)), (("cnt", 0), ("tee", 0)), (("tee", 0), ("", 0)), (("tee", 1), ("", 1))]
    channels = [
        t.Channel(t.Endpoint(*a), t.Endpoint(*b), trees.FLIT, True, depth * bool(a[0] and b[0]), False, trees.HERE) for a, b in ends
    ]
    return t.Program(tuple(i.element for i in instances), instances, tuple(channels), 2)


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_runs_a_graph_until_nothing_moves(depth: int) -> None:
    packets = [Packet(bytes(range(size)), size) for size in (60, 64, 65, 200)]
    flits = [flit for packet in packets for flit in to_flits(LAYOUT, packet, 0)]
    outcome = run_program(chain(depth), {0: flits})
    assert outcome.lanes == {0: flits, 1: flits}
    assert outcome.instances["cnt"].state == {"count": 4}
    assert outcome.unread == 0
    assert from_flits(LAYOUT, outcome.lanes[1]) == [(packet, False) for packet in packets]
