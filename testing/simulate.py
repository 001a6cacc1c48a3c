# SPDX-License-Identifier: Apache-2.0
"""Builds a SystemVerilog module with Verilator (cached by content) and runs a cocotb test module on it.

A test file is both the pytest file and the cocotb module::

    def test_skid_keeps_order():
        simulate("sl_skid", __file__, {"Width": 32})

    @cocotb.test()
    async def keeps_order_under_random_stalls(dut): ...

Sources are found by name (file name = module name) in the folders of `SOURCE_FOLDERS`; there is no manifest.
A failing cocotb test raises `SimulationError` with the names of the failed tests; its log is in the build folder.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

from testing.lock import locked

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "sim"
GENERATED = ROOT / "build" / "gen"
TOOLCHAIN = ROOT / "toolchain.toml"
SOURCES = Path(os.environ.get("SLUICE_SOURCES", ROOT))  # where the folders below are: a changed copy of them (testing/mutate)
SOURCE_FOLDERS = ("rtl", "elements", "configs", "shell", "testing/formal")
VERILATOR_FLAGS = (
    "--assert",
    "-Wall",
    "-Wno-fatal",
    "--x-assign",
    "unique",
    "-MAKEFLAGS",
    "CFG_CXXFLAGS_PCH_I=-include",
)


class SimulationError(AssertionError):
    """A cocotb test failed, or the simulator ended before it wrote its results."""


def packages(generated: Path = GENERATED) -> list[Path]:
    """Generated and hand-written packages, generated first: they are compiled before any module."""
    written = sorted(p for folder in SOURCE_FOLDERS for p in (SOURCES / folder).rglob("*_pkg.sv"))
    return [*sorted(generated.glob("*_pkg.sv")), *written]


def module_folders() -> list[Path]:
    """Every folder that holds SystemVerilog, for Verilator's `-y` search."""
    found = {p.parent for folder in SOURCE_FOLDERS for p in (SOURCES / folder).rglob("*.sv")}
    return sorted(found)


def closure(module: str, extra_sources: Sequence[Path] = (), generated: Path = GENERATED) -> list[Path]:
    """All files a module needs, itself included: every known module or package whose name its text mentions."""
    by_name = {p.stem: p for folder in module_folders() for p in folder.glob("*.sv")}
    by_name |= {p.stem: p for p in (*packages(generated), *extra_sources)}
    if module not in by_name:
        raise FileNotFoundError(f"no file {module}.sv below {', '.join(SOURCE_FOLDERS)}")
    needed: dict[str, Path] = {}
    todo = [module]
    while todo:
        name = todo.pop()
        if name in needed or name not in by_name:
            continue
        needed[name] = by_name[name]
        todo += sorted(_words(by_name[name]) & by_name.keys())
    return [needed[name] for name in sorted(needed)]


def _words(path: Path) -> set[str]:
    return set(re.findall(r"\w+", path.read_text()))


def _digest(files: Sequence[Path], *parts: object) -> str:
    state = hashlib.sha256(repr(parts).encode())
    state.update(TOOLCHAIN.read_bytes())
    for path in files:
        state.update(path.name.encode() + path.read_bytes())
    return state.hexdigest()[:16]


def simulate(
    module: str,
    test_file: str,
    parameters: Mapping[str, object] | None = None,
    *,
    testcase: str | None = None,
    seed: int | None = None,
    env: Mapping[str, str] | None = None,
    flags: Sequence[str] = (),
    extra_sources: Sequence[Path] = (),
    generated: Path = GENERATED,
) -> None:
    """Run the cocotb tests of `test_file` on `module`; the built simulator is reused while its sources are the same.

    `seed` is that of Python's `random` in the test: SLUICE_SEED, or 1, so that a run repeats exactly.
    `extra_sources` are generated files outside the source folders; `generated` is where the layouts' are, for another flit
    width than the usual one. Raises SimulationError when a test fails.
    """
    parameters = dict(parameters or {})
    all_flags = [*VERILATOR_FLAGS, *flags]
    files = closure(module, extra_sources, generated)
    build_dir = BUILD / f"{module}-{_digest(files, module, sorted(parameters.items()), all_flags)}"
    build_dir.mkdir(parents=True, exist_ok=True)
    search = [arg for folder in module_folders() for arg in ("-y", str(folder))]
    os.environ["PATH"] = f"{ROOT / 'build' / 'env' / 'bin'}:{os.environ['PATH']}"
    os.environ["MAKEFLAGS"] = "CFG_CXXFLAGS_PCH_I=-include"  # the runner's make; the wheel leaves it empty
    from cocotb_tools.runner import get_runner  # takes long to load, and the command line needs only the paths

    runner = get_runner("verilator")
    with locked(BUILD / f"{build_dir.name}.lock"):
        runner.build(
            sources=[*[p for p in packages(generated) if p in files], *[p for p in files if p.stem == module]],
            hdl_toplevel=module,
            parameters=parameters,
            build_args=[*all_flags, *search],
            build_dir=build_dir,
            always=not (build_dir / module).exists(),
            log_file=build_dir / "build.log",
        )
    test_path = Path(test_file).resolve()
    results = build_dir / f"{test_path.stem}-{os.getpid()}.xml"
    # The simulator's Python is given the path of this one; it needs the test's own folder too.
    added = [str(p) for p in (test_path.parent, ROOT, generated) if str(p) not in sys.path]
    sys.path[:0] = added
    runner.test(
        test_module=test_path.stem,
        hdl_toplevel=module,
        testcase=testcase,
        seed=int(os.environ.get("SLUICE_SEED", "1")) if seed is None else seed,
        build_dir=build_dir,
        test_dir=build_dir,
        results_xml=str(results),
        # Else pytest's rewriting of assertions would put the usual generated files before these.
        extra_env={**(env or {}), **({} if generated == GENERATED else {"COCOTB_REWRITE_ASSERTION_FILES": ""})},
        log_file=build_dir / f"{test_path.stem}.log",
    )
    del sys.path[: len(added)]
    _check(results, build_dir)


def _check(results: Path, build_dir: Path) -> None:
    if not results.exists():
        raise SimulationError(f"the simulator wrote no results; see {build_dir}")
    cases = list(ElementTree.parse(results).iter("testcase"))
    failed = [case.get("name") for case in cases if case.find("failure") is not None or case.find("error") is not None]
    if failed or not cases:
        raise SimulationError(f"failed: {failed or 'no test ran'}; see {build_dir}")
