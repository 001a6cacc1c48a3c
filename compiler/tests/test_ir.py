# SPDX-License-Identifier: Apache-2.0
"""The IR by itself: it prints and reads back, broken rules are found, transitions run, and simplifying changes no result."""

import dataclasses
import random

import pytest

from compiler.frontend.source import Source, Span
from compiler.ir.build import Builder
from compiler.ir.execute import ChoiceError, run_element
from compiler.ir.ir import ElementIr, Memory, MemoryWrite, Node, PortInfo, Put, Register, Transition
from compiler.ir.operators import function, mask
from compiler.ir.rewrite import rewrite, same
from compiler.ir.text import TextError, parse, show
from compiler.ir.verify import VerifyError, verify

SPAN = Span(Source("none.sl", ""), 0, 0)


def counter() -> ElementIr:
    """Counts tokens with bit 0, per value of bits 4:1 too; passes them on."""
    b = Builder()
    token = b.exact("head", (), 8, name="in")
    count = b.exact("register", (), 16, name="count")
    odd = b.extract(token, 0, 1)
    index = b.extract(token, 1, 4)
    entry = b.exact("read", (index,), 8, name="seen")
    one = b.const(1, 1)
    more = b.mux(odd, b.binary("add", count, b.const(1, 16)), count)
    write = MemoryWrite("seen", odd, index, b.binary("add", entry, b.const(1, 8)))
    handler = Transition("handler", (), {"in": one}, None, {"in": one}, {"out": Put(one, token)}, {"count": more}, (write,))
    signal = Transition(
        "signal add",
        (("n", 16),),
        {},
        None,
        {},
        {},
        {"count": b.binary("add", count, b.exact("argument", (), 16, name="n"))},
        (),
        result=count,
    )
    registers = {"count": Register("count", 16, 3, "count")}
    memories = {"seen": Memory("seen", 8, 10, {2: 7}, "seen")}
    ports = ((PortInfo("in", 8, False),), (PortInfo("out", 8, False),))
    return ElementIr("counter", *ports, registers, memories, handler, (signal,), SPAN)


def test_text_reads_back_as_it_was_printed() -> None:
    text = show(counter())
    assert show(verify(parse(text))) == text


def test_text_names_the_line_that_it_does_not_understand() -> None:
    with pytest.raises(TextError, match="x:3: not understood"):
        parse('element a\ntransition "handler" ()\n %0 : 1 = gues 5\n', "x")


def test_runs_over_a_stream_with_signals_between() -> None:
    tokens = [1, 5, 4, 5, 31]
    for element in (counter(), parse(show(counter())), rewrite(counter(), same)):
        run = run_element(element, {"in": tokens}, [{"iteration": 2, "kind": "signal add", "arguments": [100]}])
        assert run.outputs == {"out": tokens} and run.answers == [5] and run.iterations == 6
        assert run.state.registers == {"count": 3 + 100 + 4}
        assert run.state.memories["seen"] == [1, 0, 9, 0, 0, 0, 0, 0, 0, 0], "15 is outside and counts nowhere"


def test_refuses_a_log_that_does_not_fit() -> None:
    with pytest.raises(ChoiceError):
        run_element(counter(), {"in": [1]}, [{"iteration": 7, "kind": "handler", "now": 1}])


def broken(change: str) -> ElementIr:
    element = counter()
    handler = element.handler
    token = handler.puts["out"].data
    one = handler.needs["in"]
    match change:
        case "width":
            changed = {"next": {"count": token}}
        case "operands":
            changed = {"next": {"count": Node("add", (token, one), 16)}}
        case "outside":
            changed = {"puts": {"out": Put(Node("extract", (token,), 1, low=8), token)}}
        case "port":
            changed = {"takes": {"on": one}}
        case "register":
            changed = {"next": {"count": Node("register", (), 16, name="counter")}}
        case "need":
            changed = {"needs": {"in": Node("argument", (), 1, name="n")}}
        case _:
            loop = Node("not", (one,), 1)
            object.__setattr__(loop, "args", (loop,))
            changed = {"needs": {"in": loop}}
    return dataclasses.replace(element, handler=dataclasses.replace(handler, **changed))


@pytest.mark.parametrize("change", ["width", "operands", "outside", "port", "register", "need", "cycle"])
def test_finds_broken_rules(change: str) -> None:
    verify(counter())
    with pytest.raises(VerifyError):
        verify(broken(change))


BINARY = ["add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "and", "or", "xor", "shl", "lshr", "ashr", "eq", "ult", "slt"]


def reference(op: str, a: int, b: int, width: int) -> int:
    """The operators again, from the words of ir.py, by another way."""
    ones = (1 << width) - 1
    sa, sb = (x - (1 << width) if x >> (width - 1) else x for x in (a, b))
    quotient = int(abs(sa) // abs(sb)) * (-1 if (sa < 0) != (sb < 0) else 1) if sb else -1
    return {
        "add": lambda: a + b, "sub": lambda: a - b, "mul": lambda: a * b,
        "udiv": lambda: a // b if b else ones, "urem": lambda: a % b if b else a,
        "sdiv": lambda: quotient, "srem": lambda: sa - quotient * sb if sb else a,
        "and": lambda: a & b, "or": lambda: a | b, "xor": lambda: a ^ b,
        "shl": lambda: a * 2**b, "lshr": lambda: a // 2**b, "ashr": lambda: sa // 2**b,
        "eq": lambda: a == b, "ult": lambda: a < b, "slt": lambda: sa < sb,
    }[op]() & (1 if op in ("eq", "ult", "slt") else ones)  # fmt: skip


@pytest.mark.parametrize("op", BINARY)
def test_operators_compute_what_the_contract_says(op: str) -> None:
    for width in (1, 2, 3):
        for a in range(1 << width):
            for b in range(1 << width):
                result = 1 if op in ("eq", "ult", "slt") else width
                assert function(op, result, 0, (width, width))(a, b) == reference(op, a, b, width), (width, a, b)


def random_node(b: Builder, choose: random.Random, pool: list[Node]) -> Node:
    """An operator over nodes of the pool, made to fit by resize."""
    op = choose.choice([*BINARY, "not", "mux", "concat", "extract", "zext", "sext", "insert", "select"])
    x, y, z = (choose.choice(pool) for _ in range(3))
    if choose.random() < 0.3:
        y = b.const(choose.choice([0, 1, mask(x.width), choose.getrandbits(8)]), x.width)
    width = choose.randint(1, 20)
    match op:
        case "not":
            return b.not_(x)
        case "mux":
            return b.mux(b.extract(z, 0, 1), x, b.resize(y, x.width))
        case "concat":
            return b.concat(x, y, z) if x.width + y.width + z.width < 64 else x
        case "extract":
            low = choose.randrange(x.width)
            return b.extract(x, low, choose.randint(1, x.width - low))
        case "zext" | "sext":
            return b.make(op, (x,), x.width + width) if x.width < 40 else x
        case "insert":
            low = choose.randrange(x.width)
            return b.insert(x, low, b.resize(y, choose.randint(1, x.width - low)))
        case "select":
            return b.select(x, [b.resize(e, 8) for e in (x, y, z)])
        case _:
            return b.binary(op, x, b.resize(y, x.width, choose.random() < 0.5))


class PlainBuilder(Builder):
    """Simplifies nothing."""

    def make(self, op, args, width, *, value=0, low=0, name=""):  # type: ignore[no-untyped-def]
        return self.exact(op, args, width, value=value, low=low, name=name)


def random_element(seed: int, builder: type[Builder], size: int = 40) -> ElementIr:
    b, choose = builder(), random.Random(seed)
    pool = [b.exact("register", (), width, name=f"r{width}") for width in (1, 3, 8, 17)]
    pool += [b.exact("head", (), 9, name="in")]
    for _ in range(size):
        pool.append(random_node(b, choose, pool))
    one = b.const(1, 1)
    following = {f"r{width}": b.resize(choose.choice(pool[5:]), width) for width in (1, 3, 8, 17)}
    out = b.resize(pool[-1], 32)
    handler = Transition("handler", (), {"in": one}, None, {"in": one}, {"out": Put(one, out)}, following, ())
    registers = {f"r{width}": Register(f"r{width}", width, 1) for width in (1, 3, 8, 17)}
    ports = ((PortInfo("in", 9, False),), (PortInfo("out", 32, False),))
    return ElementIr("random", *ports, registers, {}, handler, (), SPAN)


@pytest.mark.parametrize("start", range(0, 400, 100))
def test_simplified_nodes_compute_the_same(start: int) -> None:
    tokens = [*range(40), *range(200, 512, 9)]
    for seed in range(start, start + 100):
        plain = verify(random_element(seed, PlainBuilder))
        simple = verify(rewrite(plain, same))
        assert run_element(plain, {"in": tokens}) == run_element(simple, {"in": tokens}), seed
