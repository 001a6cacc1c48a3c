# SPDX-License-Identifier: Apache-2.0
"""What a module prints with SLUICE_TRACE defined: its choices, messages and, at the end, its state, for the differential tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compiler.backends.sv_element import Module


def trace(module: Module) -> list[str]:
    """For the differential tests: the log of choices, messages, and the state at the end."""
    choices = [node for node in module.pipeline.nodes if node.op in ("available", "choice")]
    lines = [
        "\n`ifdef SLUICE_TRACE",
        "  int unsigned iteration_q = 0, cycle_q = 0, last_q = 0;",
        "  always_ff @(posedge clk_i) cycle_q <= rst_i ? 0 : cycle_q + 1;",
        "  always_ff @(posedge clk_i) if (!rst_i && start) begin",
    ]
    lines += ["    iteration_q <= iteration_q + 1;", "    last_q <= cycle_q;"]
    if choices or module.has_signals:
        available = ", ".join(f"{port.name}_valid_i" for port in reversed(module.element.inputs)) or "1'b0"
        kind = "start_signal ? int'(signal_kind) + 1 : 0" if module.has_signals else "0"
        arguments = "signal_arguments" if module.has_signals else "1'b0"
        now = "now_i" if module.has_now else "64'd0"
        select = "-1"
        for taken in module.pipeline.selects:
            select = f"{module.ref(taken.enable, 0)} ? int'({module.ref(taken.index, 0)}) : {select}"
        only = "" if choices or module.pipeline.selects else "if (start_signal) "
        lines.append(f'    {only}$display("@choice %m %0d %0d %0h %0h %0d %0d", iteration_q, {kind},')
        lines.append(f"      {{{available}}}, {arguments}, {now}, {select});")
    lines.append("  end")
    lines += _messages(module)
    unread = module.memories.unread()
    for memory in unread:
        lines += module.memories.unread_memory(memory)
    lines += ["  final begin", '    $display("@iterations %m %0d %0d", iteration_q, last_q);']
    lines += [f'    $display("@register %m {name} %0h", {module.registers[name]});' for name in module.live_registers()]
    memories = module.element.memories
    words = {node.name: module.memories.word(instance, memories[node.name], "i") for instance, node in module.memories.read_ports()}
    words |= {memory.name: f"{module.registers[memory.name]}_unread[i]" for memory in unread}
    for name, word in words.items():
        entries = module.element.memories[name].entries
        lines += [
            f'    $display("@dump %m {name}");',
            f"    for (int i = 0; i < {entries}; i++) if ({word} != '0)",
            f'      $display("@memory %m {name} %0d %0h", i, {word});',
        ]
    lines += ["  end", "`endif"]
    return lines


def _messages(module: Module) -> list[str]:
    """What the element prints, in one process, so that the order of the source holds."""
    stage = module.schedule.other.get(("message",), 0)
    lines = [f"  always_ff @(posedge clk_i) if (!rst_i && valid[{stage}]) begin"]
    for message in module.pipeline.messages:
        text = _escaped(message.text).replace("{}", "%0d")
        shown = [
            _shown_signed(module.ref(node, stage), node.width) if is_signed else module.ref(node, stage)
            for node, is_signed in zip(message.arguments, message.signed, strict=True)
        ]
        given = "".join(f", {name}" for name in shown)
        lines.append(f'    if ({module.ref(message.enable, stage)}) $display("@print %m {text}"{given});')
    for assertion in module.pipeline.assertions:
        wrong = f"{module.ref(assertion.enable, stage)} && !{module.ref(assertion.condition, stage)}"
        lines.append(f'    if ({wrong}) $display("@assert %m {_escaped(assertion.text)}");')
    return [*lines, "  end"] if len(lines) > 1 else []


def _escaped(text: str) -> str:
    """For a format string of `$display`."""
    return text.replace("%", "%%").replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _shown_signed(text: str, width: int) -> str:
    """As an argument of $display: Verilator prints bits above a signed value that does not fill its words."""
    return f"$signed({-(-width // 32) * 32}'($signed({text})))"
