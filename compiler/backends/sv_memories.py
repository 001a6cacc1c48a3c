# SPDX-License-Identifier: Apache-2.0
"""The memories of an element in its module: a `sl_forward_ram` for every read, all copies of a memory with the same writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compiler.backends.sv_expressions import is_one, literal, widened
from compiler.ir.ir import Memory, MemoryWrite, Node
from compiler.schedule.carried import has_early_index, kind_taken
from compiler.schedule.pipeline import AT_ONCE, MOST_IN_CHAIN
from compiler.schedule.schedule import latency

if TYPE_CHECKING:
    from compiler.backends.sv_element import Module


@dataclass(frozen=True)
class _Chosen:
    """What chooses one of the writes to a memory: a bit of each but the first that says its kind, for its `index` and its `data`;
    where there are none, what is enabled. The index is taken `early` stages before."""

    index: Sequence[str] = ()
    data: Sequence[str] = ()
    early: int = 0


BY_ENABLE = _Chosen()


class Memories:
    """What the module of `module` says about its memories; nothing where it has none."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def read_ports(self) -> list[tuple[str, Node]]:
        """Name and node of every read of a memory."""
        return [(f"u_{self.module.names[node]}", node) for node in self.module.pipeline.nodes if node.op == "read"]

    def asked(self, node: Node) -> int:
        """The stage in which a read is asked for: below 0 where the index is known, and who begins depends on it."""
        return self.module.stage[node] - latency(self.module.pipeline, node)

    def text(self) -> list[str]:
        """A copy of the memory for each of its reads, all of which are written at once."""
        ports = self.read_ports()
        memories = self.module.element.memories
        alone = [line for name in dict.fromkeys(node.name for _, node in ports) for line in self._alone(memories[name])]
        return alone + [line for instance, node in ports for line in self._memory(instance, node, memories[node.name])]

    def _memory(self, instance: str, node: Node, memory: Memory) -> list[str]:
        name, index, asked = self.module.names[node], node.args[0], self.asked(node)
        kinds, is_early = self._kinds(instance, memory), has_early_index(self.module.schedule, memory.name)
        by = [self._kind(memory, kind) for kind in self.module.pipeline.chosen_by(memory.name)] if is_early else list(kinds)
        write = self.write_port(memory, index.width, _Chosen(by, list(kinds), int(is_early)))
        address = max(1, (memory.entries - 1).bit_length())
        parameters = f".Width({memory.width}), .Entries({max(memory.entries, 2)}), .IndexBits({write[3]})"
        parameters += f", .Copies({count})" if (count := self.module.pipeline.copies(memory.name)) > 1 else ""
        parameters += ", .Register(1)" if memory.name in self.module.pipeline.registered else ""
        parameters += ", .Register(2)" if memory.name in self.module.pipeline.far else ""
        parameters += ", .EarlyIndex(1'b1)" if is_early else ""
        return [
            *(line for lines in kinds.values() for line in lines),
            f"\n  logic [{address - 1}:0] {instance}_reset_address;",
            f"  sl_forward_ram #({parameters}) {instance} (",
            f"    .clk_i, .rst_i, .ready_o({instance}_ready), .reset_address_o({instance}_reset_address),",
            f"    .reset_data_i({self._reset_word(memory, instance)}),",
            f"    .read_valid_i(1'b1), .read_index_i({widened(self.module.ref(index, asked), index.width, write[3])}),",
            f"    .read_data_o({name}),",
            f"    .write_valid_i({write[0]}), .write_index_i({write[1]}), .write_data_i({write[2]})",
            "  );",
        ]

    def _kinds(self, instance: str, memory: Memory) -> dict[str, list[str]]:
        """What chooses among the writes of a copy of a memory, where it is the kind: a bit for each of them but the first, by its
        name, and the lines that make it. A copy has registers of its own: one would reach every bit of all memories."""
        plan, made = self.module.schedule, dict[str, list[str]]()
        for number, kind in enumerate(plan.pipeline.chosen_by(memory.name)):
            given = self._kind(memory, kind)
            if plan.memory[memory.name] == 0:
                made[given] = []
                continue
            name = f"{instance}_kind{number}"
            copy = f"  sl_copy #(.Width(1)) {name}_copy (.clk_i, .enable_i(1'b1), .data_i({given}), .data_o({name}));"
            made[name] = [f"  logic [0:0] {name};", copy]
        return made

    def _kind(self, memory: Memory, kind: Node) -> str:
        return self.module.ref(kind, kind_taken(self.module.schedule, memory.name))

    def word(self, instance: str, memory: Memory, at: str) -> str:
        """A word of a memory in simulation, from the parts that it has."""
        parts = reversed(range(self.module.pipeline.copies(memory.name)))
        return f"{{{', '.join(f'{instance}.gen_part[{n}].u_ram.memory[{at}]' for n in parts)}}}"

    def _reset_word(self, memory: Memory, instance: str) -> str:
        text = "'0"
        for index, value in memory.reset.items():
            text = f"{instance}_reset_address == {index} ? {literal(value, memory.width)} : {text}"
        return text

    def _alone(self, memory: Memory) -> list[str]:
        """The writes of signals that are alone, of which there may be hundreds, chosen earlier: first in groups."""
        writes = self._writes(memory, True)
        if not writes:
            return []
        name, bits = self._alone_name(memory), max(write.index.width for write, _ in writes)
        if self.module.pipeline.cycles_alone(memory.name) == 1:
            return self._chosen_before(name, bits, memory.width, self._merged(writes, bits, memory.width))
        lines, groups = list[str](), list[str]()
        for start in range(0, len(writes), AT_ONCE):
            groups.append(f"{name}_{len(groups)}")
            merged = self._merged(writes[start : start + AT_ONCE], bits, memory.width)
            lines += self._chosen_before(groups[-1], bits, memory.width, merged)
        enables = [f"{group}_valid_q" for group in groups]
        chosen = [
            _chosen(enables, [f"{group}_{what}_q" for group in groups], n) for what, n in (("index", bits), ("data", memory.width))
        ]
        return lines + self._chosen_before(name, bits, memory.width, (_tree(enables, " || "), chosen[0], chosen[1]))

    @staticmethod
    def _chosen_before(name: str, bits: int, width: int, merged: tuple[str, str, str]) -> list[str]:
        valid, index, data = merged
        return [
            f"\n  logic {name}_valid_q;\n  logic [{bits - 1}:0] {name}_index_q;\n  logic [{width - 1}:0] {name}_data_q;",
            "  always_ff @(posedge clk_i) begin",
            f"    {name}_valid_q <= !rst_i && ({valid});",
            f"    {name}_index_q <= {index};",
            f"    {name}_data_q  <= {data};",
            "  end",
        ]

    def _alone_name(self, memory: Memory) -> str:
        return f"alone_{self.module.registers[memory.name].removesuffix('_q')}"

    def write_port(self, memory: Memory, least: int, by: _Chosen) -> tuple[str, str, str, int]:
        """Valid, index, data and the bits of an index; writes that exclude each other share a stage, others take turns."""
        writes, alone = self._writes(memory, False), self._writes(memory, True)
        bits = max([least, *(write.index.width for write, _ in (*writes, *alone))])
        valid, index, data = self._merged(writes, bits, memory.width, by)
        if alone:
            name = self._alone_name(memory)
            own = widened(f"{name}_index_q", max(write.index.width for write, _ in alone), bits)
            index, data = f"{name}_valid_q ? {own} : {index}", f"{name}_valid_q ? {name}_data_q : {data}"
            valid = f"{name}_valid_q || {valid}"
        return valid, index, data, bits

    def _merged(
        self, writes: Sequence[tuple[MemoryWrite, int]], bits: int, width: int, by: _Chosen = BY_ENABLE
    ) -> tuple[str, str, str]:
        """Valid, index of so many bits, and data of the one write that is enabled, if any is."""
        if not writes:
            return "1'b0", f"{bits}'d0", f"{width}'d0"
        enables, indices, values = [], list[str](), list[str]()
        for write, stage in writes:
            indices.append(widened(self.module.ref(write.index, stage - by.early), write.index.width, bits))
            values.append(self.module.ref(write.data, stage))
            enables.append(self._enable(write, stage))
        valid = _tree([f"({enable})" for enable in enables], " || ")
        index, data = ([enables[0], *kinds] if kinds else enables for kinds in (by.index, by.data))  # the first is not asked for
        return valid, _chosen(index, indices, bits), _chosen(data, values, width)

    def _writes(self, memory: Memory, alone: bool | None = None) -> list[tuple[MemoryWrite, int]]:
        """With the stage of each; those of signals that are `alone`, the others, or all."""
        pipeline, first = self.module.pipeline, self.module.schedule.memory.get(memory.name, 0)
        found = zip(pipeline.writes, pipeline.slots, pipeline.alone, strict=True)
        return [(w, first + slot) for w, slot, is_alone in found if w.memory == memory.name and alone in (None, is_alone)]

    def _enable(self, write: MemoryWrite, stage: int) -> str:
        return f"valid[{stage}]" + ("" if is_one(write.enable) else f" && {self.module.ref(write.enable, stage)}")

    def unread(self) -> list[Memory]:
        """Memories that are written and never read: no hardware, but state all the same."""
        read = {node.name for _, node in self.read_ports()}
        written = dict.fromkeys(write.memory for write in self.module.pipeline.writes)
        return [self.module.element.memories[name] for name in written if name not in read]

    def unread_memory(self, memory: Memory) -> list[str]:
        """An array that only simulation has. It has no port for which writes take turns: those of older iterations come first."""
        array = f"{self.module.registers[memory.name]}_unread"
        lines = [f"  logic [{memory.width - 1}:0] {array} [{memory.entries}] = '{{default: '0}};"]
        lines += [f"  initial {array}[{at}] = {literal(value, memory.width)};" for at, value in memory.reset.items()]
        lines.append("  always_ff @(posedge clk_i) if (!rst_i) begin")
        for write, stage in sorted(self._writes(memory), key=lambda found: -found[1]):
            index, data = self.module.ref(write.index, stage), self.module.ref(write.data, stage)
            lines.append(f"    if ({self._enable(write, stage)} && 64'({index}) < {memory.entries}) {array}[{index}] <= {data};")
        return [*lines, "  end"]


def _chosen(enables: Sequence[str], values: Sequence[str], width: int) -> str:
    """The value of the one write that is enabled, if any is; of many, by a tree."""
    if len(values) <= MOST_IN_CHAIN:
        text = values[0]
        for enable, value in zip(enables[1:], values[1:], strict=True):
            text = f"{enable} ? {value} : {text}"
        return text
    same: dict[str, list[str]] = {}
    for enable, value in zip(enables, values, strict=True):
        same.setdefault(value, []).append(f"({enable})")
    given = [f"({{{width}{{{_tree(found, ' || ')}}}}} & {value})" for value, found in same.items() if value != literal(0, width)]
    return _tree(given, " | ") if given else literal(0, width)


def _tree(parts: Sequence[str], operator: str) -> str:
    """Of many, by halves: Yosys's mapping goes down a chain by recursion."""
    if len(parts) <= MOST_IN_CHAIN:
        return operator.join(parts)
    half = len(parts) // 2
    return f"({_tree(parts[:half], operator)}){operator}({_tree(parts[half:], operator)})"
