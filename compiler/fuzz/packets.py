# SPDX-License-Identifier: Apache-2.0
"""Random handling of packets: fields and bytes of a flit, headers, parsers."""

from __future__ import annotations

from compiler.fuzz.statements import Statements
from compiler.fuzz.writer import Kind

HEADERS = {  # the offset that a view takes, and integer fields with their bits
    "ethernet_t": (0, {"ethertype": 16}),
    "vlan_t": (14, {"ethertype": 16}),
    "ipv4_t": (14, {"ttl": 8, "total_length": 16, "checksum": 16, "source": 32, "destination": 32, "protocol": 8}),
    "udp_t": (34, {"source_port": 16, "length": 16}),
}
BYTES = ((Kind("uchar", "int", 8), 64), (Kind("ushort", "int", 16), 32), (Kind("uint", "int", 32), 16))


class Packets(Statements):
    """Writes what elements do with flits."""

    def packet(self, name: str) -> None:
        """Reads of, and changes to, a flit."""
        bits = [(f"{name}.sop", Kind("uint<1>", "int", 1)), (f"{name}.eop", Kind("uint<1>", "int", 1))]
        self.scope.values += [
            *bits,
            (f"{name}.meta.length", Kind("ushort", "int", 16)),
            (f"{name}.meta.mark", Kind("uint", "int", 32)),
        ]
        self.scope.targets.append((f"{name}.meta.mark", Kind("uint", "int", 32)))
        if self.chance(10):
            self.scope.targets += [*bits, (f"{name}.empty", Kind("uint<6>", "int", 6))]
        if not self.features.views:
            return
        if self.chance(50):
            self.bytes_of(name)
        if self.chance(50):
            self.header(name)
        if self.features.machines and self.chance(25):
            self.machine(name)

    def bytes_of(self, name: str) -> None:
        """A view of the data as an array."""
        view = self.fresh("p")
        kind, count = self.choose.choice(BYTES)
        self.line(f"{kind.text} *{view} = ({kind.text} *) &{name}.data;")
        entries = [(f"{view}[{self.index(count)}]", kind) for _ in range(3)]
        self.scope.values += entries
        self.scope.targets += entries

    def header(self, name: str) -> None:
        """A view of the data as a header."""
        header, (offset, fields) = self.choose.choice(list(HEADERS.items()))
        view = self.fresh("h")
        self.line(f"{header} *{view} = ({header} *) (&{name}.data + {offset});")
        self.field(view, fields)

    def field(self, view: str, fields: dict[str, int]) -> None:
        part = self.choose.choice(list(fields))
        place = (f"{view}->{part}", Kind(f"uint<{fields[part]}>", "int", fields[part]))
        self.scope.values.append(place)
        self.scope.targets.append(place)

    def machine(self, name: str) -> None:
        """A parser of a few states, each of which goes only to later ones."""
        states = [self.fresh("m") for _ in range(self.choose.randint(1, 4))]
        outer = (self.scope.returns, self.scope.can_leave_loop)
        self.scope.returns, self.scope.can_leave_loop = None, False
        with self.inside(f".state_machine ({name}.data)"):
            for number, state in enumerate(states):
                with self.inside(f"{state}:"):
                    self.state(states[number + 1 :])
            if self.chance(40):
                with self.inside("outside:"):
                    self.statements(1)
        self.scope.returns, self.scope.can_leave_loop = outer

    def state(self, later: list[str]) -> None:
        """What one state does."""
        if self.chance(20):
            self.line(f"skip({self.choose.choice([1, 4, 20, 40])});")
        header, (_, fields) = self.choose.choice(list(HEADERS.items()))
        view = self.fresh("h")
        self.line(f"{header} *{view} = take({header});")
        self.field(view, fields)
        self.statements(self.choose.randint(0, 2))
        if self.scope.targets and self.chance(30):
            ints = [(place, kind) for place, kind in self.scope.targets if kind.kind == "int"]
            if ints:
                place, kind = self.choose.choice(ints)
                self.line(f"{place} = ({kind.text}) offset();")
        for target in later:
            if self.chance(70):
                part = self.choose.choice(list(fields))
                with self.inside(f"if ((uint<2>) {view}->{part} == {self.choose.randrange(4)})"):
                    self.line(f"goto_state {target};")
