# SPDX-License-Identifier: Apache-2.0
"""What nobody reads in a module, which is said so that Verilator does not warn about it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from compiler.ir.ir import Node
from compiler.schedule.pipeline import effect_nodes

if TYPE_CHECKING:
    from compiler.backends.sv_element import Module


def unused(module: Module) -> list[str]:
    """Bits that nobody reads are said to be so."""
    used = _used_bits(module)
    partly = [
        f"{port.name}_data_i"
        for port in module.element.inputs
        if not any(n.op == "head" and n.name == port.name for n in module.pipeline.nodes)
    ]
    partly += [f"{port.name}_valid_i" for port in module.element.inputs if not _valid_is_used(module, port.name)]
    partly += [f"{port.name}_ready_i" for port in module.element.outputs if port.name not in module.pipeline.puts]
    sliced = {argument for node in module.pipeline.nodes if node.op == "extract" for argument in node.args}
    for node in module.pipeline.nodes:
        is_whole = used.get(node, 0) == (1 << node.width) - 1
        if node.op != "const" and (not is_whole or (node in sliced and module.carried.needed[node])):
            partly += [module.ref(node, stage) for stage in module.carried.there[node]]
            if node.op == "head" and not is_whole:
                partly.append(f"{node.name}_data_i")
    partly += [
        f"{instance}_reset_address"
        for instance, node in module.memories.read_ports()
        if not module.element.memories[node.name].reset
    ]
    if not _uses_last_valid(module):
        partly.append(f"valid[{module.depth}]")
    if module.depth == 0:
        partly.append("valid[1]")
    read = {node.name for node in module.pipeline.nodes if node.op == "register"}
    partly += [module.registers[name] for name in module.live_registers() if name not in read]
    partly += _unread_writes(module)
    if not (
        module.has_signals or module.depth or module.element.outputs or module.live_registers() or module.memories.read_ports()
    ):
        partly += ["clk_i", "rst_i"]
    if module.has_signals:
        partly += ["signal_kind", "signal_arguments"]
    partly += module.tables.unused()
    printed = [node for m in module.pipeline.messages for node in (m.enable, *m.arguments)]
    printed += [node for a in module.pipeline.assertions for node in (a.enable, a.condition)]
    partly += [module.ref(node, module.schedule.other[("message",)]) for node in printed if node.op != "const"]
    return [
        "\n  logic unused;",
        f"  assign unused = &{{1'b0, {', '.join(dict.fromkeys(partly))}}};" if partly else "  assign unused = 1'b0;",
    ]


def _unread_writes(module: Module) -> list[str]:
    """What only writes of memories use that nobody reads."""
    unread = {memory.name for memory in module.memories.unread()}
    pairs = zip(module.pipeline.writes, module.pipeline.slots, strict=True)
    found = [(write, module.schedule.memory[write.memory] + slot) for write, slot in pairs if write.memory in unread]
    nodes = [(node, stage) for write, stage in found for node in (write.enable, write.index, write.data)]
    return [module.ref(node, stage) for node, stage in nodes if node.op != "const"]


def _uses_last_valid(module: Module) -> bool:
    bit = f"valid[{module.depth}]"
    return any(bit in line and not line.startswith("  assign valid") for line in module.lines)


def _valid_is_used(module: Module, port: str) -> bool:
    need = module.pipeline.needs.get(port)
    if need is not None and not (need.op == "const" and need.value == 0):
        return True
    return any(node.op in ("available", "head") and node.name == port for node in module.pipeline.nodes)


def _used_bits(module: Module) -> dict[Node, int]:
    """Of every node, which bits something reads."""
    used: dict[Node, int] = {}
    for node in module.pipeline.nodes:
        for argument in node.args:
            bits = (1 << node.width) - 1 << node.low if node.op == "extract" else (1 << argument.width) - 1
            used[argument] = used.get(argument, 0) | bits
    for node in effect_nodes(replace(module.pipeline, places=())):
        used[node] = (1 << node.width) - 1
    return used
