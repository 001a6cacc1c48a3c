# SPDX-License-Identifier: Apache-2.0
"""The certificate of an element's interval: a proof, by SymbiYosys, on the SystemVerilog that was emitted.

While every input has a token, every output has room and no signal comes, an iteration begins in every II-th cycle in which the
memories are swept, and takes a token from each input that all iterations take; memories that are swept stay so until a reset.
What else can keep an iteration from beginning are the stall conditions, listed beside.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from compiler.backends.sv_element import SIGNAL_WORD
from compiler.compile import Compiled
from compiler.ir.ir import Node
from compiler.schedule.tables import drained_cycles
from testing.prove import ProofError, prove_files
from testing.simulate import GENERATED, ROOT, closure

BOUND = 24  # cycles behind the reset, where induction does not succeed
ANY_TABLE = ROOT / "testing" / "formal" / "fv_any_table.sv"
SWEEP = "reset_done_q <= reset_q == AddressBits'(Entries - 1);"  # of sl_forward_ram


@dataclass(frozen=True)
class Certificate:
    """`cycles`: for runs of how many cycles it is proved, 0 for runs of every length; `failure`: why it is not proved, or empty."""

    element: str
    interval: int
    cycles: int
    stalls: tuple[str, ...]
    failure: str

    @property
    def text(self) -> str:
        """For people, in one line and one for each stall condition."""
        if self.failure:
            said = f"not certified: {self.failure}"
        else:
            runs = f"runs of up to {self.cycles} cycles" if self.cycles else "every run"
            said = f"certified: II = {self.interval} for {runs}, proved on the SystemVerilog"
        return "\n".join([f"{self.element}: {said}", *(f"  stalls while {stall}" for stall in self.stalls)])

    def to_json(self) -> dict[str, Any]:
        """The same as figures."""
        return {"certified": not self.failure, "cycles": self.cycles, "stalls": list(self.stalls), "failure": self.failure}


def certify(compiled: Compiled, text: str = "") -> Certificate:
    """The certificate of an element, by induction, else bounded; `text`: of its module, where it is not what the compiler emits.
    Raises RuntimeError where the tools refuse the SystemVerilog."""
    plan = compiled.plan
    top = f"fv_{compiled.module}"
    files = {
        f"{top}.sv": harness(compiled),
        f"{compiled.module}.sv": text or compiled.text,
        **parts(compiled.text),
        **_tables(compiled),
    }
    cycles, failure = 0, ""
    try:
        prove_files(top, files, "prove", 2 * plan.interval + 4, synthesis=True, flat=True)
    except ProofError:
        cycles = BOUND + 2 * plan.interval
        try:
            prove_files(top, _without_sweeps(files), "bmc", cycles, synthesis=True, flat=True)
        except ProofError as error:
            failure = re.sub(r".*failed assertion ", "", str(error).splitlines()[-1])
    return Certificate(compiled.element.name, plan.interval, cycles, stalls(compiled), failure)


def stalls(compiled: Compiled) -> tuple[str, ...]:
    """What keeps an iteration from beginning though its tokens are there, as the ends of sentences."""
    element, plan = compiled.ir, compiled.plan
    found = []
    if plan.interval > 1:
        found.append(f"the iteration before is less than {plan.interval} cycles old")
    if plan.pipeline.puts:
        found.append(f"an output has no room ({', '.join(plan.pipeline.puts)})")
    if element.signals:
        found.append("a signal is an iteration of its own (one for each call)")
    for name in sorted({node.name for node in _reads(compiled)}):
        entries = max(element.memories[name].entries, 2)
        found.append(f"a reset sweeps {name} ({entries} cycles)")
    for table in element.tables.values():
        found.append(
            f"an update of {table.name} waits for the pipeline to be empty (about {drained_cycles(table, plan.depth)} cycles)"
        )
        found.append(f"a reset sweeps {table.name}")
    return tuple(found)


def harness(compiled: Compiled) -> str:
    """The module `fv_MODULE`: the element with tokens at all inputs and room at all outputs, and what it promises."""
    element, plan = compiled.ir, compiled.plan
    ports = ["  input logic clk_i"]
    wires: list[str] = []
    connections = [".clk_i", ".rst_i(rst_q)"]
    if any(node.op == "choice" and node.name == "now" for node in plan.pipeline.nodes):
        ports.append("  input logic [63:0] now_i")
        connections.append(".now_i")
    for port in element.inputs:
        ports.append(f"  input logic [{port.width - 1}:0] {port.name}_data_i")
        wires.append(f"  logic {port.name}_ready;")
        connections += [f".{port.name}_data_i", f".{port.name}_valid_i(1'b1)", f".{port.name}_ready_o({port.name}_ready)"]
    for port in element.outputs:
        connections += [f".{port.name}_data_o()", f".{port.name}_valid_o()", f".{port.name}_ready_i(1'b1)"]
    if element.signals:
        connections += [f".signal_data_i({SIGNAL_WORD}'d0)", ".signal_valid_i(1'b0)", ".signal_ready_o()"]
        connections += [".signal_data_o()", ".signal_valid_o()", ".signal_ready_i(1'b1)"]
    ready = [f"u_element.{instance}" for instance in re.findall(r"^  logic (u_\w+_ready);$", compiled.text, re.MULTILINE)]
    always = [name for name, take in plan.pipeline.takes.items() if take.op == "const" and take.value == 1]
    promises = [f"      a_begins : assert (begins || waited_q < 16'd{plan.interval - 1});"]
    promises += [f"      a_takes_{name} : assert (!begins || {name}_ready);" for name in always]
    no_signal = ["    if (!rst_q) a_no_signal : assert (!u_element.signal_pending);"] if element.signals else []
    return "\n".join(
        [
            "// SPDX-License-Identifier: Apache-2.0",
            f"// Generated: {compiled.module} begins an iteration in every {plan.interval}. cycle while nothing is in its way.",
            f"module fv_{compiled.module} (",
            ",\n".join(ports),
            ");",
            "  logic rst_q = 1'b1;",
            "  logic begins, swept, swept_q;",
            "  logic [15:0] waited_q;  // cycles in which none began",
            *wires,
            f"  {compiled.module} u_element ({', '.join(connections)});",
            "  assign begins = u_element.advance && u_element.start;",
            f"  assign swept = {' && '.join(ready) or chr(49) + chr(39) + 'b1'};",
            "  always_ff @(posedge clk_i) begin",
            "    rst_q    <= 1'b0;",
            "    swept_q  <= swept && !rst_q;",
            "    waited_q <= rst_q || begins || !swept ? 16'd0 : waited_q + 16'd1;",
            "    if (!rst_q && swept) begin",
            *promises,
            "    end",
            *no_signal,
            "    if (!rst_q && swept_q) a_stays_swept : assert (swept);",
            "  end",
            "endmodule",
            "",
        ]
    )


def _reads(compiled: Compiled) -> list[Node]:
    return [node for node in compiled.plan.pipeline.nodes if node.op == "read"]


def _tables(compiled: Compiled) -> Mapping[str, str]:
    """Tables that answer anything, where the element has some: nothing of the promise depends on their rules."""
    table = "sl_lookup_table"
    return (
        {f"{table}.sv": ANY_TABLE.read_text().replace(f"module {ANY_TABLE.stem}", f"module {table}")} if compiled.ir.tables else {}
    )


def _without_sweeps(files: Mapping[str, str]) -> Mapping[str, str]:
    """The same with memories that are swept after one cycle, so that few cycles show what comes behind."""
    name = "sl_forward_ram.sv"
    if name not in files:
        return files
    if SWEEP not in files[name]:
        raise ValueError(f"{name} has no {SWEEP!r}")
    return {**files, name: files[name].replace(SWEEP, "reset_done_q <= 1'b1;")}


def parts(text: str) -> Mapping[str, str]:
    """The parts that a module is made of, by file name."""
    named = {"sluice_pkg", *re.findall(r"\bsl_\w+(?= #\(| u_)", text)}
    paths = {path for name in named for path in closure(name, [GENERATED / "sluice_pkg.sv"])}
    return {path.name: path.read_text() for path in paths}
