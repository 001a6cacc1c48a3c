# SPDX-License-Identifier: Apache-2.0
"""Random configurations as source text: elements in chains and trees that may meet again, lossy and deep channels, groups,
parameters. Packets come in at lanes and leave at lanes."""

from __future__ import annotations

import random

from compiler.fuzz.generate import FLIT, Elements
from compiler.fuzz.writer import Features, Kind

LANES = 4
STEPS = (1, 6)
TURNING = 1024  # flits on a way back
SIMPLE = Features(numbered=False, waiting=False, flows=False)  # so that every iteration takes tokens, and all comes to rest


class Graph:
    """Writes one configuration. An end is what stands left of an arrow, with the type that it carries."""

    def __init__(self, choose: random.Random, name: str) -> None:
        self.choose = choose
        self.name = name
        self.elements: list[str] = []
        self.lines: list[str] = []
        self.made = 0
        self.parameters: dict[str, str] = {}  # of elements that have some
        self.packets: list[str] = []  # open ends
        self.scalars: list[tuple[str, Kind]] = []

    def chance(self, percent: int) -> bool:
        return self.choose.randrange(100) < percent

    def fresh(self, base: str) -> str:
        self.made += 1
        return f"{base}{self.made}"

    def arrow(self, is_packet: bool = True) -> str:
        found = self.choose.randrange(10)
        return "=>" if found == 0 and is_packet else f"->({self.choose.choice([4, 16, 70])})" if found < 3 else "->"

    def take(self) -> str:
        """An open end of packets."""
        return self.packets.pop(self.choose.randrange(len(self.packets)))

    def element(self, inputs: list[tuple[str, Kind]], outputs: list[tuple[str, Kind]]) -> str:
        """A new random element; its name."""
        name = f"{self.name}_{self.fresh('X')}"
        self.elements.append(Elements(random.Random(self.choose.getrandbits(64)), name, SIMPLE).stage(inputs, outputs))
        return name

    def instance(self, element: str) -> str:
        """Declares one; its name."""
        name = self.fresh("i")
        signal = " @" if self.elements and f".element {element} " in self.elements[-1] and ".signal" in self.elements[-1] else ""
        self.lines.append(f"{element} :: {name}{signal}")
        return name

    # What an open end may lead to

    def stage(self) -> None:
        """An element, sometimes twice in a group."""
        name, ports = self.element([("a", FLIT)], [("b", FLIT)]), ("a", "b")
        if self.chance(20):
            group = f"{self.name}_{self.fresh('G')}"
            self.elements.append(f".element_group {group} (packet in -> packet out) {{\n    in -> {name} -> {name} -> out\n}}\n")
            name, ports = group, ("in", "out")
        self.join(name, *ports)

    def join(self, element: str, port: str, out: str) -> None:
        name = self.instance(element)
        self.lines.append(f"{self.take()} {self.arrow()} {name}.{port}")
        self.packets.append(f"{name}.{out}")

    def constant(self) -> None:
        """An element with a parameter."""
        name = f"{self.name}_{self.fresh('P')}"
        kind = self.choose.choice(["uint<16>", "uint<32>", "ulong"])
        text = [f".element {name} <K = 5, T = {kind}> (packet in -> packet out) {{", "    .state {", "        T sum;", "    }"]
        text += ["    .handler {", "        flit x = read(in);", "        sum += (T) (x.meta.mark * K);"]
        text += ["        x.meta.mark = (uint) sum;", "        write(out, x);", "    }", "}"]
        self.elements.append("\n".join(text) + "\n")
        given = self.choose.choice(
            [name, f"{name}<K = {self.choose.randrange(200)}>", f"{name}<{self.choose.randrange(9)}, uchar>"]
        )
        self.join(given, "in", "out")

    def copy(self) -> None:
        """More ends out of one."""
        count = self.choose.choice([2, 2, 3])
        kind = self.choose.choice(["Tee<packet, {}>", "Tee<packet, {}>", "Demux<{}>", "RoundRobin<{}>"]).format(count)
        name = self.instance(kind)
        self.lines.append(f"{self.take()} {self.arrow()} {name}.in")
        self.packets += [f"{name}.out[{n}]" for n in range(count)]

    def merge(self) -> None:
        """One end out of more."""
        count = min(len(self.packets), self.choose.choice([2, 2, 3]))
        if count < 2:
            return self.stage()
        name = self.instance(f"Mux<packet, {count}>")
        self.lines += [f"{self.take()} {self.arrow()} {name}.in[{n}]" for n in range(count)]
        return self.packets.append(f"{name}.out")

    def turn(self) -> None:
        """Packets leave, or go round again; the way back has room for all of them."""
        merge, leave = self.instance("Mux<packet, 2>"), self.instance("RoundRobin<2>")
        self.lines += [f"{self.take()} {self.arrow()} {merge}.in[0]", f"{leave}.out[1] ->({TURNING}) {merge}.in[1]"]
        self.packets.append(f"{merge}.out")
        self.stage()
        self.lines.append(f"{self.packets.pop()} {self.arrow()} {leave}.in")
        self.packets.append(f"{leave}.out[0]")

    def measure(self) -> None:
        """Packets go on, and numbers leave beside them."""
        bits = self.choose.choice([1, 8, 13, 32, 64])
        kind = Kind(f"uint<{bits}>", "int", bits)
        name = self.instance(self.element([("a", FLIT)], [("b", FLIT), ("n", kind)]))
        self.lines.append(f"{self.take()} {self.arrow()} {name}.a")
        self.packets.append(f"{name}.b")
        self.scalars.append((f"{name}.n", kind))

    def use(self) -> None:
        """Numbers change, or meet packets."""
        if not self.scalars:
            return self.measure()
        end, kind = self.scalars.pop(self.choose.randrange(len(self.scalars)))
        if self.chance(40):
            name = self.instance(self.element([("m", kind)], [("n", kind)]))
            self.lines.append(f"{end} {self.arrow(False)} {name}.m")
            return self.scalars.append((f"{name}.n", kind))
        name = self.instance(self.element([("m", kind), ("a", FLIT)], [("b", FLIT)]))
        self.lines += [f"{end} {self.arrow(False)} {name}.m", f"{self.take()} {self.arrow()} {name}.a"]
        return self.packets.append(f"{name}.b")

    def text(self) -> str:
        """Types, elements, the configuration."""
        self.packets = [f"from_lane[{lane}]" for lane in range(self.choose.choice([1, 1, 2, 3]))]
        for _ in range(self.choose.randint(*STEPS)):
            self.choose.choice([self.stage, self.stage, self.constant, self.copy, self.merge, self.measure, self.use, self.turn])()
        self.choose.shuffle(self.packets)
        for lane, end in enumerate(self.packets):
            self.lines.append(f"{end} -> {f'to_lane[{lane}]' if lane < LANES else 'Drop'}")
        self.lines += [f"{end} -> Drop<{kind.text}>" for end, kind in self.scalars]
        return "".join(self.elements) + "\n".join(self.lines) + "\n"


def graph(seed: int, name: str) -> str:
    """The text of one configuration."""
    return Graph(random.Random(f"graph {seed}"), name).text()
