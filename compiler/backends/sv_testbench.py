# SPDX-License-Identifier: Apache-2.0
"""A test bench around generated elements: streams from files through each of them with random pauses, all in one simulation.

Files of a run, in its folder: `INSTANCE.PORT.in` and `INSTANCE.PORT.out` (a token a line, hexadecimal), `INSTANCE.signal.in`
and `.out` (words of the signal chain). What the elements print of choices and state goes to standard output.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compiler.backends.sv_element import SIGNAL_WORD, module_name
from compiler.ir.ir import ElementIr

IDLE_CYCLES = 400  # without a token anywhere, after which the run is at its end


def testbench(instances: Mapping[str, ElementIr], with_now: Sequence[str]) -> str:
    """The module `tb`; `with_now` names the instances that have the time as an input."""
    lines = [
        "// SPDX-License-Identifier: Apache-2.0",
        "// Generated: every element with a source or sink on each of its channels.",
        "module tb (input logic clk);",
        "  logic rst = 1'b1;",
        "  int unsigned in_pause, out_pause, limit, cycle = 0, idle = 0;",
        "  logic [63:0] now = '0;",
        "  initial begin",
        '    if (!$value$plusargs("in_pause=%d", in_pause)) in_pause = 64;',
        '    if (!$value$plusargs("out_pause=%d", out_pause)) out_pause = 64;',
        '    if (!$value$plusargs("limit=%d", limit)) limit = 1000000;',
        "  end",
    ]
    moves: list[str] = []
    done: list[str] = []
    for name, element in instances.items():
        lines += _instance(name, element, name in with_now, moves, done)
    lines += [
        "  logic moved, all_done;",
        f"  assign moved = {' || '.join(moves) or chr(48)};",
        f"  assign all_done = {' && '.join(done) or chr(49)};",
        "  always_ff @(posedge clk) begin",
        "    cycle <= cycle + 1;",
        "    now   <= now + 64'd1;",
        "    rst   <= cycle < 4;",
        "    idle  <= rst || moved ? 0 : idle + 1;",
        f"    if ((all_done && idle > {IDLE_CYCLES}) || idle > 20000 || cycle > limit) begin",
        '      $display("@end %0d %0d", cycle, cycle > limit);',
        "      $finish;",
        "    end",
        "  end",
        "endmodule\n",
    ]
    return "\n".join(lines)


def _instance(name: str, element: ElementIr, has_now: bool, moves: list[str], done: list[str]) -> list[str]:
    lines = []
    connections = [".clk_i(clk)", ".rst_i(rst)"] + ([".now_i(now)"] if has_now else [])
    channels = [(port.name, port.width, True) for port in element.inputs] + [
        (port.name, port.width, False) for port in element.outputs
    ]
    if element.signals:
        channels += [("signal", SIGNAL_WORD, True), ("signal", SIGNAL_WORD, False)]
    for port, width, is_input in channels:
        wire, side = f"u_{name}_{port}_{'i' if is_input else 'o'}", "i" if is_input else "o"
        other = "o" if is_input else "i"
        lines.append(f"  logic [{width - 1}:0] {wire}_data; logic {wire}_valid, {wire}_ready;")
        connections += [
            f".{port}_data_{side}({wire}_data)",
            f".{port}_valid_{side}({wire}_valid)",
            f".{port}_ready_{other}({wire}_ready)",
        ]
        parameters = f'#(.Width({width}), .Name("{name}.{port}"))'
        if is_input:
            lines += [
                f"  logic {wire}_done;",
                f"  tb_source {parameters} {wire}_source (.clk_i(clk), .rst_i(rst), .pause_i(in_pause), .out_data_o({wire}_data),",
                f"    .out_valid_o({wire}_valid), .out_ready_i({wire}_ready), .done_o({wire}_done));",
            ]
            done.append(f"{wire}_done")
        else:
            lines += [
                f"  tb_sink {parameters} {wire}_sink (.clk_i(clk), .rst_i(rst), .pause_i(out_pause), .in_data_i({wire}_data),",
                f"    .in_valid_i({wire}_valid), .in_ready_o({wire}_ready));",
            ]
        moves.append(f"({wire}_valid && {wire}_ready)")
    parameter = "#(.Instance(16'd1)) " if element.signals else ""
    lines.append(f"  {module_name(element)} {parameter}u_{name} (\n    {', '.join(connections)}\n  );")
    return lines
