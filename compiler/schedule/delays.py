# SPDX-License-Identifier: Apache-2.0
"""How long an operation takes on a target: a table of nanoseconds by operator and width (`delays/*.toml`).

An entry is {base, log, linear}: base + log * log2(width) + linear * width. `fit.py` makes the tables of measurements.
"""

from __future__ import annotations

import functools
import math
import tomllib
from dataclasses import dataclass
from pathlib import Path

from compiler.ir.ir import Memory, Node, PortInfo

BLOCK_BITS = 18 * 1024  # of block RAM
MOST_BLOCKS = 12  # that an address reaches, or a copy of it
ADDRESS_NS, ADDRESS_LOG_NS = 1.0, 0.72
WRITE_ENABLE_NS, WRITE_INDEX_NS, WRITE_DATA_NS = 1.2, 2.4, 0.4
FORWARD_NS = 0.4
OUTPUT_NS, OUTPUT_LOG_NS, GUARD_NS = 0.4, 0.2, 1.3
PARITY = 1.6  # times an exclusive or of two words; measured on the ECP5-5G, taken for the other target too
FOLDER = Path(__file__).parent / "delays"
WIRES = frozenset(
    {"const", "extract", "concat", "zext", "sext", "register", "head", "available", "argument", "choice", "kind", "ahead"}
    | {"lookup", "insert", "remove", "place"}  # the tables have registers around
)


@dataclass(frozen=True)
class Delays:
    """The table of one target. `overhead`: clock to output plus set-up, ns, taken from every cycle. `routed`: figures of whole
    elements (`routed.py`), none where nothing was placed and routed."""

    target: str
    overhead: float
    table: dict[str, dict[str, float]]
    routed: dict[str, float]

    def address(self, memory: Memory, copies: int) -> float:
        """Nanoseconds from the address of a memory, or one of its copies, to the blocks that it reaches: wires, longer the more
        blocks there are. Placed and routed on the ECP5-5G: 4.3 ns to 22 blocks (RateLimiter), 4.7 ns to 37 (LPMTree)."""
        return ADDRESS_NS + ADDRESS_LOG_NS * math.log2(max(1, blocks(memory) / copies))

    def write(self, registered: bool) -> tuple[float, float, float]:
        """Nanoseconds from whether a memory is written, from the index and from the data to the registers in front of it: the index
        is compared with that of the reads, which what is written is forwarded to. Placed and routed on the ECP5-5G. `registered`:
        to a register for what is read, too, behind a choice."""
        more = FORWARD_NS if registered else 0.0
        return WRITE_ENABLE_NS + more, WRITE_INDEX_NS + more, WRITE_DATA_NS + more

    def output(self, port: PortInfo) -> float:
        """Nanoseconds from whether a token is written to the memory that holds it: a net to each of its bits, behind a packet guard
        where there is one. Placed and routed on the ECP5-5G: 3.8 ns to 622 bits behind a guard."""
        return self.enable(port.width) + (GUARD_NS if port.guard is not None else 0.0)

    def data(self, put: Node) -> float:
        """Nanoseconds from a token to the memory that holds it: what chooses a whole token is a net to each of its bits. Placed and
        routed on the ECP5-5G: 2.6 ns from a choice of 660 bits to the memory (Mux)."""
        return WRITE_DATA_NS + max(0.0, self.enable(put.width) - self.choice(put.width)) if put.op == "mux" else 0.0

    def enable(self, width: int) -> float:
        """Nanoseconds from whether something is written to each of its bits."""
        return OUTPUT_NS + OUTPUT_LOG_NS * math.log2(width)

    def of(self, node: Node) -> float:
        """Nanoseconds through a node; wiring costs nothing. The exclusive or of two bits is often one of a tree, whose bits come
        from all over a word: placed and routed on the ECP5-5G, 189 MHz with nine of them in a row (CRC-32 of 64 bytes)."""
        if node.op in WIRES:
            return 0.0
        width = max((argument.width for argument in node.args), default=node.width)
        if node.op in ("shl", "lshr", "ashr"):
            if node.args[1].op == "const":
                return 0.0
            width = min(node.args[0].width, 1 << min(node.args[1].width, 12))
        if node.op == "mul":  # of what was extended with zeros, the zeros cost nothing
            width = max(map(_significant, node.args))
        if node.op == "xor" and node.width == 1:
            return PARITY * self._through(node.op, width)
        return self._through(node.op, width)

    def choice(self, width: int) -> float:
        """Nanoseconds through a multiplexer of so many bits."""
        return self._through("mux", width)

    def _through(self, op: str, width: int) -> float:
        entry = self.table[op]
        return entry["base"] + entry.get("log", 0.0) * math.log2(max(width, 1)) + entry.get("linear", 0.0) * width


def blocks(memory: Memory) -> int:
    """Of block RAM on the ECP5, at least, for each of its reads."""
    return -(-memory.width * memory.entries // BLOCK_BITS)


def copies(memory: Memory, is_spread: bool) -> int:
    """Of the registers of its addresses: as many as keep the blocks of each few, each for as many bits of the word; two at least
    where `is_spread`."""
    wanted = min(memory.width, max(1 + is_spread, -(-blocks(memory) // MOST_BLOCKS)))
    return -(-memory.width // -(-memory.width // wanted))


def _significant(factor: Node) -> int:
    """Bits of a factor that need not be 0."""
    if factor.op == "const":
        return max(1, factor.value.bit_length())
    return factor.args[0].width if factor.op == "zext" else factor.width


@functools.cache
def delays(target: str) -> Delays:
    """The table `delays/TARGET.toml`."""
    data = tomllib.loads((FOLDER / f"{target}.toml").read_text())
    return Delays(target, data["overhead"], data["operators"], data.get("routed", {}))
