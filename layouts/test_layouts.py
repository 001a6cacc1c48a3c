# SPDX-License-Identifier: Apache-2.0
"""Every layout means the same bits in SystemVerilog, C and Python.

Random values of every type are encoded by each of the three and decoded by the others. SystemVerilog is one generated
module that takes every type apart into its fields and puts it together again; C is a generated library behind ctypes.
"""

import ctypes
import random
import subprocess

import cocotb
import sluice_layouts
from cocotb.triggers import Timer

from compiler.backends import layouts_markdown
from compiler.backends.names import base, camel
from compiler.frontend.check import AggregateType, Layouts, check
from compiler.frontend.source import Diagnostics
from compiler.layouts import LAYOUTS, PAGE, generate, layout_hash, main, read
from toolchain import ROOT
from toolchain.simulate import GENERATED, simulate

BUILD = ROOT / "build" / "test_layouts"
MODULE = BUILD / "layouts_round_trip.sv"
ROUNDS = 20


def checked() -> tuple[Layouts, int]:
    diagnostics = Diagnostics()
    files = read(LAYOUTS, diagnostics)
    layouts = check(files, {}, diagnostics)
    assert not diagnostics, [e.render() for e in diagnostics.sorted()]
    return layouts, layout_hash(files, {})


def aggregates() -> list[AggregateType]:
    return [item for item in checked()[0].items if isinstance(item, AggregateType)]


def random_value(item: AggregateType) -> sluice_layouts.Layout:
    return getattr(sluice_layouts, camel(item.name)).from_int(random.getrandbits(item.bits))


def plain(value: sluice_layouts.Layout, item: AggregateType) -> int:
    """The fields side by side, the first in the lowest bits: an order that no layout has, so the SystemVerilog must name fields."""
    out = at = 0
    for field in item.fields:
        found = getattr(value, field.name)
        for element in found if field.is_array else [found]:
            number = element.to_int() if isinstance(element, sluice_layouts.Layout) else element
            out |= number << at
            at += field.width
    return out


def test_generated_files_are_fresh(tmp_path):
    layouts, value = checked()
    for name, text in generate(layouts, value).items():
        assert (GENERATED / name).read_text() == text, f"{name} is stale: ./sluice layouts"
    assert PAGE.read_text() == layouts_markdown.generate(layouts, value), "docs/reference/layouts.md is stale: ./sluice layouts"


def test_c_and_python_agree(tmp_path):
    source, library = tmp_path / "layouts.c", tmp_path / "layouts.so"
    lines = ['#include "sluice_layouts.h"']
    for item in aggregates():
        name = f"sluice_{base(item.name)}"
        lines += [
            f"unsigned size_{name}(void) {{ return sizeof(struct {name}); }}",
            f"void pack_{name}(const struct {name} *v, uint8_t *b) {{ {name}_pack(v, b); }}",
            f"void unpack_{name}(struct {name} *v, const uint8_t *b) {{ {name}_unpack(v, b); }}",
        ]
    source.write_text("\n".join(lines) + "\n")
    flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-fPIC", "-shared", f"-I{GENERATED}"]
    subprocess.run(["gcc", *flags, "-o", library, source], check=True)
    loaded = ctypes.CDLL(str(library))
    for item in aggregates():
        name = f"sluice_{base(item.name)}"
        for _ in range(ROUNDS):
            packed = random_value(item).pack()
            fields, again = ctypes.create_string_buffer(loaded[f"size_{name}"]()), ctypes.create_string_buffer(len(packed))
            loaded[f"unpack_{name}"](fields, packed)
            loaded[f"pack_{name}"](fields, again)
            assert again.raw == packed, item.name


def test_c_reads_the_field_that_python_wrote(tmp_path):
    source, program = tmp_path / "fields.c", tmp_path / "fields"
    instruction = sluice_layouts.Instruction(rule_id=0x12345678, rule_priority=99, kind=2, value=0xABCDEF << 200)
    instruction.actions.slots[3].opcode = 10
    ipv4 = sluice_layouts.Ipv4(version=4, ihl=5, ttl=64, fragment_offset=0x123, source=0x0A000001)
    data = ", ".join(map(str, instruction.pack())), ", ".join(map(str, ipv4.pack()))
    source.write_text(
        f"""#include "sluice_layouts.h"
        int main(void) {{
            uint8_t a[] = {{ {data[0]} }}, b[] = {{ {data[1]} }};
            struct sluice_instruction i; struct sluice_ipv4 h;
            sluice_instruction_unpack(&i, a); sluice_ipv4_unpack(&h, b);
            return !(i.rule_id == 0x12345678 && i.rule_priority == 99 && i.kind == 2 && i.actions.slots[3].opcode == 10
                && i.value[25] == 0xef && i.value[27] == 0xab && h.ihl == 5 && h.ttl == 64 && h.fragment_offset == 0x123
                && h.source == 0x0a000001 && b[0] == 0x45 && b[8] == 64);
        }}"""
    )
    subprocess.run(["gcc", "-std=c11", f"-I{GENERATED}", "-o", program, source], check=True)
    assert subprocess.run([program], check=False).returncode == 0


BITS = r"""#include "sluice_layouts.h"
    #include <stdio.h>
    enum { SIZE = 11 };
    static unsigned bit(const uint8_t *bytes, int big, unsigned at) {
        return bytes[big ? SIZE - 1 - at / 8 : at / 8] >> at % 8 & 1;
    }
    int main(void) {
        for (int big = 0; big < 2; big++)
            for (unsigned width = 1; width <= 64; width++)
                for (unsigned at = 0; at + width <= 8 * SIZE; at++) {
                    uint8_t before[SIZE], after[SIZE];
                    uint64_t value = 0x9e3779b97f4a7c15U * (width + 64 * at + 1), got = 0;
                    for (unsigned i = 0; i < SIZE; i++)
                        before[i] = after[i] = (uint8_t)(value >> (3 * i) ^ 0x5a);
                    sluice_bits_put(after, SIZE, big, at, width, value);
                    got = sluice_bits_get(after, SIZE, big, at, width);
                    for (unsigned i = 0; i < 8 * SIZE; i++) {
                        int is_inside = i >= at && i < at + width;
                        unsigned wanted = is_inside ? (unsigned)(value >> (i - at)) & 1 : bit(before, big, i);
                        if (bit(after, big, i) != wanted || (is_inside && (got >> (i - at) & 1) != wanted))
                            return printf("big %d, width %u, at %u: bit %u\n", big, width, at, i);
                    }
                    if (width < 64 && got >> width)
                        return printf("big %d, width %u, at %u: more bits than that\n", big, width, at);
                }
        return 0;
    }"""


def test_c_reads_and_writes_any_bits_and_no_others(tmp_path):
    source, program = tmp_path / "bits.c", tmp_path / "bits"
    source.write_text(BITS)
    flags = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-fsanitize=address,undefined", f"-I{GENERATED}"]
    subprocess.run(["gcc", *flags, "-o", program, source], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def write_module() -> None:
    ports, body = [], []
    for item in aggregates():
        name = base(item.name)
        ports += [f"  input logic [{item.bits - 1}:0] {name}_plain_i", f"  output sluice_pkg::{item.name} {name}_packed_o"]
        ports += [f"  input sluice_pkg::{item.name} {name}_packed_i", f"  output logic [{item.bits - 1}:0] {name}_plain_o"]
        at = 0
        for field in item.fields:
            body.append(f"  assign {name}_packed_o.{field.name} = {name}_plain_i[{at} +: {field.bits}];")
            body.append(f"  assign {name}_plain_o[{at} +: {field.bits}] = {name}_packed_i.{field.name};")
            at += field.bits
    text = "\n".join(
        ["/* verilator lint_off ENUMVALUE */", "module layouts_round_trip (", ",\n".join(ports), ");", *body, "endmodule", ""]
    )
    BUILD.mkdir(parents=True, exist_ok=True)
    if not MODULE.exists() or MODULE.read_text() != text:
        MODULE.write_text(text)


def test_systemverilog_and_python_agree():
    write_module()
    simulate("layouts_round_trip", __file__, extra_sources=[MODULE])


@cocotb.test()
async def fields_stand_at_the_same_bits(dut):
    for _ in range(ROUNDS):
        values = {item: random_value(item) for item in aggregates()}
        for item, value in values.items():
            getattr(dut, f"{base(item.name)}_plain_i").value = plain(value, item)
            getattr(dut, f"{base(item.name)}_packed_i").value = value.to_int()
        await Timer(1, "ns")
        for item, value in values.items():
            assert int(getattr(dut, f"{base(item.name)}_packed_o").value) == value.to_int(), item.name
            assert int(getattr(dut, f"{base(item.name)}_plain_o").value) == plain(value, item), item.name


def test_another_flit_width_needs_only_a_setting(tmp_path):
    assert main(["--out", str(tmp_path), "--set", "DATA_BYTES=32"]) == 0
    text = (tmp_path / "sluice_pkg.sv").read_text()
    assert "logic [255:0] data;" in text and "logic [4:0] empty;" in text
    assert (GENERATED / "sluice_pkg.sv").read_text() != text
