# SPDX-License-Identifier: Apache-2.0
"""Finds the channels that leave a module by the names of its ports, and binds the assertions of the handshake law to each.

A channel `name` that leaves is `name_data_o`, `name_valid_o`, `name_ready_i` (docs/design/contracts.md). What is bound is no
part of the sources, so it costs nothing in synthesis.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

CHECKS = "sl_channel_checks"
# Not on clk_i where each lane has a clock of its own; sl_cdc_fifo, which they come out of, checks its output itself.
OTHER_CLOCKS = {("sh_core", "lane_tx"), ("sh_host_lanes", "lane_tx"), ("sh_lane_tx", "lane")}


# Registers hold anything at power-up, and a reset reaches some cycles later: assertions are off until the first has ended.
FROM_RESET = """module assertions_from_reset(input logic clk_i, input logic rst_i);
  bit was_reset;
  initial begin
    was_reset = 0;
    $assertoff;
  end
  always @(posedge clk_i) begin
    if (rst_i) was_reset <= 1;
    else if (was_reset) $asserton;
  end
endmodule
bind {top} assertions_from_reset u_assertions_from_reset (.clk_i, .rst_i);
"""
CLOCKED = {"clk_i", "rst_i"}


def ports_of(text: str) -> set[str]:
    """The ports of the module of this source text."""
    found = re.search(r"^module\s+\w+(.*?)^\);", text, re.DOTALL | re.MULTILINE)
    return set(re.findall(r"\b\w+_[io]\b", re.sub(r"//.*", "", found[1]))) if found else set()


def leaving(text: str) -> list[str]:
    """The channels that leave the module of this source text."""
    ports = ports_of(text)
    if not ports >= CLOCKED:
        return []
    names = sorted(port.removesuffix("_valid_o") for port in ports if port.endswith("_valid_o"))
    return [name for name in names if {f"{name}_data_o", f"{name}_ready_i"} <= ports]


def binds(top: str, files: Sequence[Path]) -> str:
    """The text of a source file that checks every channel that leaves a module of `files`, once `top` was reset."""
    texts = {path.stem: path.read_text() for path in files}
    from_reset = FROM_RESET.format(top=top) if ports_of(texts[top]) >= CLOCKED else ""
    return from_reset + "".join(
        f"bind {module} {CHECKS} #(.DataBits($bits({name}_data_o)), .Channels($bits({name}_valid_o))) u_bound_{name} (\n"
        f"  .clk_i, .rst_i, .data_i({name}_data_o), .valid_i({name}_valid_o), .ready_i({name}_ready_i)\n);\n"
        for module, text in texts.items()
        for name in leaving(text)
        if (module, name) not in OTHER_CLOCKS
    )
