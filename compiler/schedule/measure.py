# SPDX-License-Identifier: Apache-2.0
"""Measures operators between registers, for the delay tables: `python -m compiler.schedule.measure`, half an hour.

ECP5: all cases stand in one design, each under a clock of its own, placed and routed with several seeds; the period of a clock
is what its operators take with clock to output, nets and set-up. Operators stand alone, and in rows as elements have them, since a
level of logic behind another has a net that one in front of a register does not have. UltraScale+, where no open router is: the
LUTs and carry cells on the longest way through each case, by Yosys. Both go to `delays/TARGET.json`; `fit.py` makes the tables.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compiler.backends.sv_expressions import expression
from compiler.ir.ir import Node
from compiler.schedule.delays import FOLDER
from toolchain import ROOT
from toolchain.simulate import TOOLCHAIN
from toolchain.synth import flow

SEEDS = (1,)
GOAL_MHZ = 400.0
TIMEOUT = 3600.0  # seconds a step
WIDTHS: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("wire", "not"), (16, 64)),
    **dict.fromkeys(("add", "sub", "ult", "slt"), (4, 16, 32, 64)),
    **dict.fromkeys(("and", "or", "xor"), (8, 64)),
    **dict.fromkeys(("eq",), (4, 16, 32, 104)),
    **dict.fromkeys(("shl", "lshr", "ashr"), (8, 32, 64)),
    **dict.fromkeys(("mux",), (1, 16, 64, 512)),
    **dict.fromkeys(("read",), (8, 32, 128)),
    **dict.fromkeys(("mul",), (8, 16, 32)),
    "udiv": (8, 16),
    **dict.fromkeys(("urem", "sdiv", "srem"), (8,)),
}


@dataclass(frozen=True)
class Case:
    """Operators (operator, width) in a row, registers before and behind; `inputs`: name and bits."""

    name: str
    operators: tuple[tuple[str, int], ...]
    inputs: tuple[tuple[str, int], ...]
    text: str
    bits: int  # of the result


def _row(name: str, operators: str, inputs: str, text: str, bits: int) -> Case:
    """`operators` and `inputs` as words NAME:WIDTH."""

    def pairs(words: str) -> tuple[tuple[str, int], ...]:
        return tuple((word.partition(":")[0], int(word.partition(":")[2])) for word in words.split())

    return Case(name, pairs(operators), pairs(inputs), text, bits)


ROWS = (
    _row("bits", "xor:16 and:16 or:16 xor:16 and:16 or:16 xor:16 and:16", " ".join(f"{name}:16" for name in "abcdefghi"),
         "(((((((a ^ b) & c) | d) ^ e) & f) | g) ^ h) & i", 16),
    _row("sums", "add:32 mux:32 add:32 mux:32 add:32", "a:32 b:32 c:32 d:32 e:32 f:32 r:1 s:1",
         "(r ? (s ? a + b : c) + d : e) + f", 32),
    _row("least", "ult:32 mux:32 ult:32 mux:32", "a:32 b:32 c:32 d:32 e:32 f:32 g:32", "((a < b ? c : d) < e) ? f : g", 32),
    _row("choice", "mux:64 mux:64 mux:64 mux:64", "a:64 b:64 c:64 d:64 e:64 p:1 q:1 r:1 s:1",
         "s ? (r ? (q ? (p ? a : b) : c) : d) : e", 64),
    _row("shifted", "lshr:32 add:32 eq:32", "a:32 n:5 b:32 c:32", "((a >> n) + b) == c", 1),
    _row("hash", "xor:32 sub:32 xor:32 sub:32", "a:32 b:32 c:32 d:32 e:32", "(((a ^ b) - c) ^ d) - e", 32),
    _row("masked", "and:104 eq:104", "a:104 b:104 c:104", "(a & b) == c", 1),
    _row("guarded", "eq:16 and:1 or:1 mux:128", "a:16 b:16 p:1 q:1 c:128 d:128", "(((a == b) & p) | q) ? c : d", 128),
    _row("product", "mul:16 add:16", "a:16 b:16 c:16", "a * b + c", 16),
)  # fmt: skip


def _alone(op: str, width: int) -> Case:
    inputs: tuple[tuple[str, int], ...] = (("a", width), ("b", width))
    out = width
    match op:
        case "wire" | "not":
            inputs = inputs[:1]
        case "eq" | "ult" | "slt":
            out = 1
        case "shl" | "lshr" | "ashr":
            inputs = (("a", width), ("b", (width - 1).bit_length()))
        case "mux":
            inputs = (("c", 1), *inputs)
        case "read":  # what sl_forward_ram has behind its registers
            return Case(f"read_{width}", ((op, width),), (("c", 1), ("d", 1), *inputs), "!c ? '0 : d ? a : b", out)
    if op == "wire":
        return Case(f"wire_{width}", (), inputs, "a", out)
    arguments = tuple(Node("argument", (), bits, name=name) for name, bits in inputs)
    return Case(f"{op}_{width}", ((op, width),), inputs, expression(Node(op, arguments, out), [name for name, _ in inputs]), out)


CASES = (*(_alone(op, width) for op, widths in WIDTHS.items() for width in widths), *ROWS)


def module(case: Case) -> str:
    """The module `m_NAME`."""
    ports = [f"input logic [{bits - 1}:0] {name}_i" for name, bits in case.inputs]
    registers = [f"  logic [{bits - 1}:0] {name};\n  always_ff @(posedge clk_i) {name} <= {name}_i;" for name, bits in case.inputs]
    head = f"module m_{case.name} (input logic clk_i, {', '.join(ports)}, output logic [{case.bits - 1}:0] y_o);"
    return "\n".join([head, *registers, f"  always_ff @(posedge clk_i) y_o <= {case.text};", "endmodule"])


def top() -> str:
    """All of them, each with its own clock; their ports are the design's, and no way through a port counts."""
    ports, instances = [], []
    for case in CASES:
        found = [("input", 1, "clk_i"), *(("input", bits, f"{name}_i") for name, bits in case.inputs), ("output", case.bits, "y_o")]
        ports += [f"{way} logic [{bits - 1}:0] {case.name}_{port}" for way, bits, port in found]
        joined = ", ".join(f".{port}({case.name}_{port})" for _, _, port in found)
        instances.append(f"  m_{case.name} u_{case.name} ({joined});")
    head = "module top (\n  " + ",\n  ".join(ports) + "\n);"
    return "\n".join([*map(module, CASES), head, *instances, "endmodule\n"])


def ecp5(work: Path) -> dict[str, list[float]]:
    """Nanoseconds of every case, one for each seed."""
    netlist = work / "ecp5.json"
    if not netlist.exists():
        made = work / "unfinished.json"
        read, write = f"read_slang -j 1 --top top {_inside(work / 'top.sv')}", f"write_json {_inside(made)}"
        flow._yosys([read, "synth_ecp5 -abc9", write], work, TIMEOUT)
        made.rename(netlist)
    found: dict[str, list[float]] = {case.name: [] for case in CASES}
    for seed in SEEDS:
        flow._place(work, netlist, seed, GOAL_MHZ, flow.WEIGHT, TIMEOUT)
        clocks: dict[str, dict[str, Any]] = json.loads((work / f"report-{seed}.json").read_text())["fmax"]
        for case in CASES:
            found[case.name].append(round(1000 / clocks[f"{case.name}_clk_i"]["achieved"], 2))
    return found


def _inside(path: Path) -> Path:
    """Seen from the root, where the tools start."""
    return path.relative_to(ROOT)


def xcup(work: Path) -> dict[str, dict[str, int]]:
    """LUTs, carry cells and DSP blocks on the longest way through every case."""
    paths = work / "paths.txt"
    if not paths.exists():
        made = work / "unfinished.txt"
        read = f"read_slang -j 1 --keep-hierarchy --top top {_inside(work / 'top.sv')}"
        synthesise = "synth_xilinx -family xcup -abc9 -noiopad -noclkbuf"
        flow._yosys([read, synthesise, f"tee -q -o {_inside(made)} ltp -noff *m_*"], work, TIMEOUT)
        made.rename(paths)
    found = re.findall(r"Longest topological path in m_(\w+)\$[^\n]*\n(.*?)\n(?:\n|\Z)", paths.read_text(), re.DOTALL)
    return {name: _levels(text) for name, text in found}


def _levels(path: str) -> dict[str, int]:
    """What a path goes through, by the names of its cells; registers stand at its ends."""
    cells = re.findall(r"\(via (\S+)\)", path)
    kinds = [
        "carry" if "carry" in name else "dsp" if re.search(r"\.mul$|^\$\d+$|maccmap\$", name) else "lut" for name in cells[1:-1]
    ]
    return {kind: kinds.count(kind) for kind in ("lut", "carry", "dsp")}


def main() -> None:
    """Measure both, and write the files."""
    text = top()
    work = flow.BUILD / f"delays-{hashlib.sha256((text + TOOLCHAIN.read_text()).encode()).hexdigest()[:16]}"
    work.mkdir(parents=True, exist_ok=True)
    (work / "top.sv").write_text(text)
    for target, measure in (("ecp5", ecp5), ("xcup", xcup)):
        result = {"made_by": "python -m compiler.schedule.measure", "cases": measure(work)}
        (FOLDER / f"{target}.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
