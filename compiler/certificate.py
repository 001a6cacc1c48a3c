# SPDX-License-Identifier: Apache-2.0
"""The certificate of an element's interval: a proof, by SymbiYosys, on the SystemVerilog that was emitted.

While every input has a token, every output has room and no signal comes, an iteration begins in every II-th cycle in which the
memories are swept, and a token is taken within a bounded number of cycles, at each input that the data does not keep waiting;
memories that are swept stay so until a reset. Covers show that tokens are taken at all. An element that iterates longer over a
token (`pace.py`) is not certified for its II: the certificate says how many cycles a token takes.
What else can keep an iteration from beginning are the stall conditions, listed beside.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from compiler import pace
from compiler.backends.sv_element import SIGNAL_WORD
from compiler.compile import Compiled
from compiler.ir.ir import Node
from compiler.schedule.tables import drained_cycles
from toolchain import ROOT
from toolchain.prove import ProofError, prove_files
from toolchain.simulate import GENERATED, closure

TAKEN = 2  # tokens at an input that covers want to see
Bounds = dict[str, int | None]  # of an input, or pace.ANY of them: cycles for a token, None where there is no bound
BOUND = 24  # cycles behind the reset, where induction does not succeed
FORMAL = ROOT / "testing" / "formal"
SWEEP = "reset_done_q <= reset_q == AddressBits'(Entries - 1);"  # of sl_forward_ram


@dataclass(frozen=True)
class Certificate:
    """`cycles`: for runs of how many cycles it is proved, 0 for runs of every length; `failure`: why it is not proved, or empty.
    `token_cycles`: at each input a token is taken within so many cycles; None where data keeps it waiting."""

    element: str
    interval: int
    cycles: int
    token_cycles: Mapping[str, int | None]
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
        takes = [
            f"  {name}: {_one_token(count) if count else 'takes a token when the data requires it'}"
            for name, count in self.token_cycles.items()
            if count != self.interval
        ]
        return "\n".join([f"{self.element}: {said}", *takes, *(f"  stalls while {stall}" for stall in self.stalls)])

    @property
    def kind(self) -> str:
        """What was proved: `induction` for every run, `bounded` for runs of so many cycles, or `none`."""
        return "none" if self.failure else "bounded" if self.cycles else "induction"

    def to_row(self) -> dict[str, Any]:
        """For the row of a benchmark: `certificate`, its kind, and `proof`, its figures."""
        return {"certificate": self.kind, "proof": self.to_json()}

    def to_json(self) -> dict[str, Any]:
        """The same as figures."""
        return {
            "certified": not self.failure,
            "cycles": self.cycles,
            "token_cycles": dict(self.token_cycles),
            "stalls": list(self.stalls),
            "failure": self.failure,
        }


def verdict(found: Mapping[str, Any], interval: int) -> str:
    """A certificate's figures (`to_json`) in some words."""
    if found["failure"]:
        return f"no, {found['failure']}"
    worst = max((count for count in found["token_cycles"].values() if count), default=interval)
    return f"yes, at worst {_one_token(worst)}" if worst > interval else "yes"


def certify(compiled: Compiled, text: str = "") -> Certificate:
    """The certificate of an element, by induction, else bounded; `text`: of its module, where it is not what the compiler emits.
    Raises RuntimeError where the tools refuse the SystemVerilog."""
    shared = {f"{compiled.module}.sv": text or compiled.text, **parts(compiled.text), **_tables(compiled)}
    cycles, bounds, failure = _proved(compiled, shared)
    if not failure:
        failure = _vacuous(compiled, shared, bounds) or _iterates(compiled, bounds)
    token_cycles = {name: count for name, count in bounds.items() if name != pace.ANY}
    return Certificate(compiled.element.name, compiled.plan.interval, cycles, token_cycles, stalls(compiled), failure)


def _proved(compiled: Compiled, shared: Mapping[str, str]) -> tuple[int, Bounds, str]:
    """For runs of how many cycles (0: of every length) which bounds hold; why they do not, or nothing."""
    plan, bounds = compiled.plan, compiled.token_cycles
    for bounds in _attempts(compiled):
        iterates = max((count for count in bounds.values() if count), default=0) > plan.interval
        depth = 2 * plan.interval + 4 + (max(filter(None, bounds.values())) + plan.depth if iterates else 0)
        try:
            prove_files(_top(compiled), _harnessed(compiled, shared, bounds), "prove", depth, synthesis=True, flat=True)
        except ProofError:
            continue
        return 0, bounds, ""
    cycles = BOUND + 2 * max([plan.interval, *filter(None, bounds.values())])
    try:
        files = _without_sweeps(_harnessed(compiled, shared, bounds))
        prove_files(_top(compiled), files, "bmc", cycles, synthesis=True, flat=True)
    except ProofError as error:
        return cycles, bounds, re.sub(r".*Assert failed in ", "", str(error).splitlines()[-1])
    return cycles, bounds, ""


def _attempts(compiled: Compiled) -> list[Bounds]:
    """Bounds to be proved, the best first: those that runs showed, those without inputs that data may keep waiting, and an
    iteration more for a token."""
    seen = compiled.token_cycles
    always = {name for name, take in compiled.plan.pipeline.takes.items() if take.op == "const" and take.value == 1}
    kept = {name: count if name in always or len(compiled.ir.inputs) == 1 else None for name, count in seen.items()}
    kept[pace.ANY] = seen[pace.ANY]
    more = {name: count and count + compiled.plan.interval if name not in always else count for name, count in kept.items()}
    found = [seen, kept] if always else [seen, kept, more]
    return [bounds for n, bounds in enumerate(found) if bounds not in found[:n]]


def _vacuous(compiled: Compiled, shared: Mapping[str, str], bounds: Bounds) -> str:
    """Why the proof says nothing: no run begins iterations and takes tokens; nothing where one does."""
    depth = 8 + 2 * TAKEN * max([compiled.plan.interval, *filter(None, bounds.values())])
    files = _without_sweeps(_harnessed(compiled, shared, bounds))
    try:
        prove_files(_top(compiled), files, "cover", depth, synthesis=True, flat=True)
    except ProofError as error:
        found = re.findall(r"c_\w+", str(error))
        return f"no run of {depth} cycles reaches {', '.join(dict.fromkeys(found)) or 'its covers'}: the proof is vacuous"
    return ""


def _iterates(compiled: Compiled, bounds: Bounds) -> str:
    """Why an interval between iterations says nothing of tokens, or nothing."""
    interval, worst = compiled.plan.interval, bounds[pace.ANY]
    if not compiled.ir.inputs or (worst and worst <= pace.BETWEEN * interval):
        return ""
    rate = _one_token(worst) if worst else "no bound on the cycles per token was found"
    return f"one iteration {pace.every(interval)}, but {rate}"


def _one_token(cycles: int) -> str:
    return f"one token in {cycles} cycles"


def _top(compiled: Compiled) -> str:
    return f"fv_{compiled.module}"


def _harnessed(compiled: Compiled, shared: Mapping[str, str], bounds: Bounds) -> dict[str, str]:
    return {f"{_top(compiled)}.sv": harness(compiled, bounds), **shared}


def stalls(compiled: Compiled) -> tuple[str, ...]:
    """Why an iteration may not start although its tokens are there, as the ends of sentences."""
    element, plan = compiled.ir, compiled.plan
    found = []
    if plan.interval > 1:
        found.append(f"the previous iteration is less than {plan.interval} cycles old")
    if plan.pipeline.puts:
        found.append(f"an output has no room ({', '.join(plan.pipeline.puts)})")
    if element.host_signals:
        found.append("a signal call takes an iteration")
    found += [f"timer {timer.name.removeprefix('signal ')} takes an iteration, at most one in 64" for timer in element.timers]
    pauses = {element.signals[number].name: more for number, more in plan.pipeline.pauses.items()}
    found += [f"the next iteration begins {more} cycles later behind {name}" for name, more in pauses.items()]
    for name in sorted({node.name for node in _reads(compiled)}):
        entries = max(element.memories[name].entries, 2)
        found.append(f"a reset initialises {name} ({entries} cycles)")
    for table in element.tables.values():
        found.append(
            f"an update of {table.name} waits for the pipeline to drain (about {drained_cycles(table, plan.depth)} cycles)"
        )
        found.append(f"a reset initialises {table.name}")
    for flows in element.flows.values():
        found.append(f"a reset empties {flows.name} ({flows.sets} cycles)")
    return tuple(found)


def harness(compiled: Compiled, bounds: Bounds) -> str:
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
    if element.timers:
        connections.append(".tick_i(32'd0)")
    if element.host_signals:
        connections += [f".signal_data_i({SIGNAL_WORD}'d0)", ".signal_valid_i(1'b0)", ".signal_ready_o()"]
        connections += [".signal_data_o()", ".signal_valid_o()", ".signal_ready_i(1'b1)"]
    ready = [f"u_element.{instance}" for instance in re.findall(r"^  logic (u_\w+_ready);$", compiled.text, re.MULTILINE)]
    always = [name for name, take in plan.pipeline.takes.items() if take.op == "const" and take.value == 1]
    promises = [f"      a_begins : assert (begins || waited_q < 16'd{plan.interval - 1});"]
    promises += [f"      a_takes_{name} : assert (!begins || {name}_ready);" for name in always]
    groups = _groups(compiled, bounds)
    promises += [
        f"      a_token_{name} : assert (takes_{name} || without_{name}_q < 16'd{bound - 1});" for name, _, bound in groups
    ]
    no_signal = ["    if (!rst_q) a_no_signal : assert (!u_element.signal_pending);"] if element.signals else []
    if element.timers:  # none is due while the tick stands still
        no_signal = ["    m_no_timer : assume (!u_element.signal_pending);"]
    waits = f"u_element.waits_q == (u_element.wait_q != '0) && 32'(u_element.wait_q) < {plan.interval}"
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
            *(f"  logic takes_{name};\n  logic [15:0] without_{name}_q, taken_{name}_q = '0;" for name, _, _ in groups),
            *(f"  assign takes_{name} = {' || '.join(ready)};" for name, ready, _ in groups),
            f"  {compiled.module} u_element ({', '.join(connections)});",
            "  assign begins = u_element.start;",
            f"  assign swept = {'u_element.ready_q' if ready else chr(49) + chr(39) + 'b1'};",
            "  always_ff @(posedge clk_i) begin",
            "    rst_q    <= 1'b0;",
            "    swept_q  <= swept && !rst_q;",
            "    waited_q <= rst_q || begins || !swept ? 16'd0 : waited_q + 16'd1;",
            *(line for name, _, _ in groups for line in _counted(name)),
            "    if (!rst_q && swept) begin",
            *promises,
            "      c_begins : cover (begins);",
            *(f"      c_takes_{name} : cover (taken_{name}_q == 16'd{TAKEN});" for name, _, _ in groups),
            "    end",
            *no_signal,
            "    if (!rst_q) begin",
            *([f"      i_swept : assert (!u_element.ready_q || ({' && '.join(ready)}));"] if ready else []),
            *_credits(compiled),
            *([f"      i_wait : assert ({waits});"] if plan.pipeline.pauses else []),
            "    end",
            "    if (!rst_q && swept_q) a_stays_swept : assert (swept);",
            "  end",
            "endmodule",
            "",
        ]
    )


def _credits(compiled: Compiled) -> list[str]:
    """For the induction: who has the credits of an output that nobody keeps waiting. So at least one is left."""
    found = []
    for name in compiled.plan.pipeline.puts:
        output, stage = f"u_element.u_{name}_output", compiled.plan.port[name]
        fifo = f"{output}.u_fifo"
        inside = [f"u_element.valid[{n}]" for n in range(1, stage + 1)]
        held = [f"32'({bit})" for bit in (*inside, f"{output}.return_q", f"{output}.leave_q")]
        found += [
            f"      i_{name}_credits : assert (32'({output}.in_flight_q) == 32'({fifo}.count_o) + {' + '.join(held)});",
            f"      i_{name}_credit : assert ({output}.credit_o == (32'({output}.in_flight_q) != {output}.Depth));",
            f"      i_{name}_fifo : assert ({fifo}.stored_q <= 1 && {fifo}.stored_any_q == {fifo}.stored_q[0] &&",
            f"        {fifo}.in_ready_o && 32'({fifo}.count_o) ==",
            f"        32'({fifo}.stored_q) + 32'({fifo}.read_valid_q) + 32'({fifo}.out_valid_o));",
        ]
        if compiled.ir.signals:
            found += [
                f"      i_{name}_kind_{n} : assert (!u_element.valid[{n}] || u_element.is_handler_iteration_s{n});"
                for n in range(1, stage + 1)
            ]
    return found


def _groups(compiled: Compiled, bounds: Bounds) -> list[tuple[str, list[str], int]]:
    """Inputs that are promised tokens, with a bound in cycles: each by itself, and all of them where no one is by itself."""
    names = [port.name for port in compiled.ir.inputs]
    found = [(name, [f"{name}_ready"], bound) for name in names if (bound := bounds[name])]
    if not found and names and (bound := bounds[pace.ANY]):
        found.append(("any_input", [f"{name}_ready" for name in names], bound))
    return found


def _counted(name: str) -> list[str]:
    """Cycles without a token, and tokens, at an input."""
    return [
        f"    without_{name}_q <= rst_q || takes_{name} || !swept ? 16'd0 : without_{name}_q + 16'd1;",
        f"    if (!rst_q && swept && takes_{name} && taken_{name}_q != 16'd{TAKEN}) taken_{name}_q <= taken_{name}_q + 16'd1;",
    ]


def _reads(compiled: Compiled) -> list[Node]:
    return [node for node in compiled.plan.pipeline.nodes if node.op == "read"]


def _tables(compiled: Compiled) -> Mapping[str, str]:
    """Tables that answer anything, where the element has some: nothing of the promise depends on their rules, or on which flows
    there are."""
    found = [("fv_any_table", "sl_lookup_table")] if compiled.ir.tables else []
    found += [("fv_any_flows", "sl_flow_sets")] if compiled.ir.flows else []
    return {f"{part}.sv": (FORMAL / f"{any_}.sv").read_text().replace(f"module {any_}", f"module {part}") for any_, part in found}


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
