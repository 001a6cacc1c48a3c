# SPDX-License-Identifier: Apache-2.0
"""Runs an element through the interpreter, and its IR through the executor with the interpreter's choices: they must agree."""

from __future__ import annotations

import random

from compiler.frontend import typed
from compiler.frontend.program import load_text
from compiler.frontend.source import Diagnostics
from compiler.interpreter.choices import Decide, SignalCall
from compiler.interpreter.element import Instance, Outcome, Step
from compiler.ir.execute import Run, run_element
from compiler.ir.ir import ElementIr
from compiler.ir.states import Layout

MOST_ATTEMPTS = 200  # at an iteration


def elements(text: str, name: str = "test.sl") -> dict[str, typed.Element]:
    """The elements of a program, which has no error."""
    diagnostics = Diagnostics()
    program = load_text(text, name, diagnostics)
    assert program is not None, "\n".join(error.render() for error in diagnostics.sorted())
    return {element.name: element for element in program.elements}


def random_value(choose: random.Random, bits: int) -> int:
    """Of any size, small ones more often."""
    return choose.getrandbits(choose.choice([bits, bits, min(bits, 3), min(bits, 8)])) if bits else 0


def random_headers(choose: random.Random, data: int) -> int:
    """The first bytes of a packet, as Ethernet, VLAN tags and IPv4 in front of what is there already."""
    headers = choose.randbytes(12) + b"".join(b"\x81\x00" + choose.randbytes(2) for _ in range(choose.choice([0, 0, 1, 2])))
    headers += b"\x08\x00" + choose.choice([b"\x45", b"\x45", b"\x46", b"\x4f"]) + choose.randbytes(5)
    headers += (
        choose.choice([b"\x00\x00", b"\x40\x00", b"\x00\x01"]) + b"\x40" + choose.choice([b"\x06", b"\x11", b"\x01", b"\x2f"])
    )
    return data & -1 << 8 * len(headers) | int.from_bytes(headers, "little")


def random_packet(choose: random.Random, flit: typed.Struct) -> list[int]:
    """Flits with any contents, framed well; some begin with headers, and with a small mark."""
    places = {field.name: (field.low, field.type.bits) for field in flit.fields}
    meta = next(field for field in flit.fields if field.name == "meta")
    assert isinstance(meta.type, typed.Struct)
    mark = next(field for field in meta.type.fields if field.name == "mark")
    count = choose.randint(1, 4)
    flits = []
    for i in range(count):
        is_last = i == count - 1
        value = choose.getrandbits(flit.bits)
        if i == 0 and choose.random() < 0.5:
            low, bits = places["data"]
            data = random_headers(choose, value >> low & (1 << bits) - 1)
            changed = ((low, bits, data), (meta.low + mark.low, mark.type.bits, choose.getrandbits(3)))
            for low, bits, new in changed:
                value = value & ~((1 << bits) - 1 << low) | new << low
        empty = choose.getrandbits(places["empty"][1]) if is_last else 0
        for name, new in (("sop", i == 0), ("eop", is_last), ("empty", empty)):
            low, bits = places[name]
            value = value & ~((1 << bits) - 1 << low) | int(new) << low
        flits.append(value)
    return flits


def random_streams(element: typed.Element, choose: random.Random) -> dict[str, list[int]]:
    """Tokens for every input."""
    streams: dict[str, list[int]] = {}
    for port in element.inputs:
        count = choose.randint(0, 40)
        if port.is_packet:
            assert isinstance(port.type, typed.Struct)
            streams[port.name] = [flit for _ in range(count // 3) for flit in random_packet(choose, port.type)]
        else:
            values = [random_value(choose, port.type.bits) for _ in range(count)]
            streams[port.name] = [choose.choice(values) if choose.random() < 0.4 else value for value in values]
    return streams


def interpreted(element: typed.Element, streams: dict[str, list[int]], choices: Decide) -> Outcome:
    """A run of the interpreter that ends where the element waits, or somewhere, if it never does."""
    instance = Instance(element, choices)
    for port in element.inputs:
        instance.inputs[port].tokens.extend(streams[port.name])
    for _ in range(MOST_ATTEMPTS):
        if instance.step() is Step.BLOCKED and not choices.pending():
            break
    return instance.finish()


def agrees(element: typed.Element, made: ElementIr, layout: Layout, seed: int) -> Run:
    """Compare one run. AssertionError: they do not agree."""
    choose = random.Random(seed)
    streams = random_streams(element, choose)
    calls = [
        SignalCall(signal.name, tuple(random_value(choose, p.type.bits) for p in signal.parameters))
        for signal in choose.choices(element.signals, k=6 if element.signals else 0)
    ]
    expected = interpreted(element, streams, Decide(seed, calls))
    found = run_element(made, streams, expected.log, expected.iterations)
    assert found.iterations == expected.iterations
    assert found.outputs == expected.outputs
    in_part = {state.name for state in element.placement}
    expected_state = {name: value for name, value in expected.state.items() if name not in in_part}
    assert layout.values(found.state.registers, found.state.memories) == expected_state
    assert found.answers == expected.answers
    assert (found.messages, found.failures) == (expected.lines, expected.failures)
    assert (found.discarded, found.mended) == (expected.discarded, expected.mended)
    return found
