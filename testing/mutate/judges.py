# SPDX-License-Identifier: Apache-2.0
"""Which tests and proofs judge a part: its own first, then those of what it stands in, nearest first.

A test file drives the modules that it names (`simulate("sl_fifo", ...)`, `prove("fv_fifo")`); what those instantiate it tests
too. Parts that no such test reaches are judged by tests of the whole device. Of a C file, the tests of its folder judge, then those
of folders that use it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from pathlib import Path

from testing.formal.proofs import PROOFS
from toolchain import ROOT
from toolchain.simulate import closure, module_folders

NEAREST = 3  # simulations that judge one part, and harnesses
NEAREST_PACKAGE = 6  # simulations that judge a package: each user needs other functions of it
FAR = 60  # files: what is larger is the whole core, and takes minutes to build
PROVING = "testing/formal/test_proofs.py"  # its cases are named after harnesses; those of broken parts do not judge
NAMES_ONLY = ("rtl/chan/test_sl_channel_checks.py",)  # name modules that they do not run
DEEP = 2  # how far below a harness a part may be to be judged by its proof
DEVICE = ("shell/sim/test_device.py", "shell/sim/test_flow.py", "shell/sim/test_qos.py", "host/functional/test_functional_rtl.py")
OTHER_DEVICES = {  # of parts that begin so: a graph made for them; a program; lanes to a NIC on the host's side
    "sh_core": ("shell/sim/test_to_host.py", *DEVICE),
    "sh_graph_": ("shell/sim/test_graph.py", "configs/guard/test_guard.py"),
    "sh_host_lanes": ("shell/sim/test_wire.py",),
}
NARROW = "shell/core/test_narrow_flits.py"  # tests of these parts again, with flits of 32 bytes
NARROW_PARTS = ("sl_packet_fifo", "sl_packet_arbiter", "el_parse", "el_deparse")
NATIVE = ("compiler/tests/test_native.py",)
LIB = (
    "host/lib/test_device.py",
    "host/lib/test_hash_index.py",
    "host/lib/test_library.py",
    "host/lib/test_refused_accesses.py",
    "host/lib/test_transport_process.py",
    "host/lib/test_rules.py",
    "host/lib/test_rings.py",
    "host/lib/test_transports.py",
)
FLOW_TABLE = (
    "host/flow_table/test_flow_model.py",
    "host/flow_table/test_flow_rules.py",
    "host/flow_table/test_flow_device.py",
)
FUNCTIONAL = (
    "host/functional/test_functional.py",
    "host/functional/test_functional_rtl.py",
    "host/functional/test_functional_registers.py",
    "host/functional/test_functional_parts.py",
)
IN_C = {
    "host/lib": (*LIB, *FLOW_TABLE, *FUNCTIONAL),
    "host/flow_table": (*FLOW_TABLE, *FUNCTIONAL, *LIB),
    "host/functional": (*FUNCTIONAL, *FLOW_TABLE, *LIB),
    "host/packet": (
        "host/packet/test_parse.py",
        "host/packet/test_actions.py",
        "host/packet/test_deparse.py",
        "host/switch/test_forwarder.py",
        "host/switch/test_forwarder_model.py",
        "host/switch/test_sanitized.py",
    ),
    "host/switch": (
        "host/switch/test_rules.py",
        "host/switch/test_rules_model.py",
        "host/switch/test_forwarder.py",
        "host/switch/test_forwarder_model.py",
        "host/switch/test_sanitized.py",
    ),
    "host/pmd": (
        "host/pmd/test_ports.py",
        "host/pmd/test_random_rules.py",
        "host/pmd/test_flow_changes.py",
        "host/pmd/test_telemetry.py",
        "host/pmd/test_flow.py",
        "host/pmd/test_flow_match.py",
        "host/pmd/test_faults.py",
        "host/pmd/test_pmd.py",
    ),
}
_STRING = re.compile(r'(f?)"([\w{}]+)"')


@dataclass(frozen=True)
class Judge:
    """A test file; `only` are the cases of it to run (as of pytest's -k), "": all. `single`: it takes the mutated text instead of a
    schema, and builds for each mutant: proofs, and the tests of native bodies."""

    path: str
    only: str = ""
    single: bool = False


def of_part(file: str) -> list[Judge]:
    """Who judges a part, in the order in which they are asked."""
    module = Path(file).stem
    if not file.endswith(".sv"):
        return [Judge(path) for path in sorted(IN_C[str(Path(file).parent)], key=lambda path: -_common(module, path))]
    near = [(*reach, path) for path, tops in _drivers().items() if (reach := _reach(module, tops))]
    nearest = NEAREST_PACKAGE if module.endswith("_pkg") else NEAREST
    found = [Judge(path) for *_, path in sorted(near, key=lambda one: (not one[2].endswith(f"/test_{module}.py"), *one))[:nearest]]
    if "DATA_BYTES" in (ROOT / file).read_text():
        found += [Judge(NARROW, f"test_part and {part}") for part in NARROW_PARTS if found and module in _uses(part)]
    depths = sorted((_uses(name).get(module, DEEP + 1), name) for name in {proof.harness for proof in PROOFS})
    harnesses = sorted(name for depth, name in depths[:NEAREST] if depth <= DEEP)
    if harnesses:
        found.append(Judge(PROVING, f"({' or '.join(harnesses)}) and not broken", single=True))
    if found:
        return found
    natives = [path for path in sorted((ROOT / "elements").glob("*/el_*_native.sv")) if module in _uses(path.stem)]
    if natives:
        paths = [path for native in natives for path in _of_element(str(native.relative_to(ROOT)))]
        return [Judge(path, single=True) for path in dict.fromkeys((*paths, *NATIVE))]
    device = next((paths for begin, paths in OTHER_DEVICES.items() if module.startswith(begin)), DEVICE)
    return [Judge(path) for path in device]


def _of_element(file: str) -> list[str]:
    """The tests beside an element's native body, or else those of other elements that name it."""
    name = re.compile(rf"\b{Path(file).parent.name}\b", re.IGNORECASE)
    beside = sorted((ROOT / file).parent.glob("test_*.py"))
    others = (path for path in sorted((ROOT / "elements").rglob("test_*.py")) if name.search(path.read_text()))
    return [str(path.relative_to(ROOT)) for path in (beside or others)]


def effort(file: str) -> int:
    """How dear the judging of a part is, to begin with what is cheap: the size of what its tests build, roughly."""
    if not file.endswith(".sv"):
        return {"packet": 0, "switch": 0, "pmd": FAR}.get(Path(file).parent.name, 2)
    sizes = [reach[1] for tops in _drivers().values() if (reach := _reach(Path(file).stem, tops))]
    return min(sizes, default=2 * FAR if of_part(file)[0].single else 3 * FAR)


def _common(module: str, path: str) -> int:
    """How many letters the names of a part and of a test begin with alike."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(f"test_{module}.", Path(path).name, strict=False)))


@cache
def _modules() -> frozenset[str]:
    return frozenset(path.stem for folder in module_folders() for path in folder.glob("*.sv"))


@cache
def _uses(module: str) -> dict[str, int]:
    """Everything below a module, and how deep."""
    words = {path.stem: set(re.findall(r"\w+", path.read_text())) for path in closure(module)}
    depth, todo = {module: 0}, [module]
    for name in todo:
        for inner in words.get(name, set()) & words.keys() - depth.keys():
            depth[inner] = depth[name] + 1
            todo.append(inner)
    return depth


def _named(text: str) -> Iterator[str]:
    """Modules that a test's text names, as a string or as the pattern of one."""
    for formatted, word in _STRING.findall(text):
        if formatted and "{" in word:
            pattern = re.compile(re.sub(r"\{\w*\}", r"\\w+", word))
            yield from (name for name in _modules() if pattern.fullmatch(name) and "_" in word.split("{")[0])
        elif word in _modules():
            yield word


@cache
def _drivers() -> dict[str, frozenset[str]]:
    found = {}
    for folder in ("rtl", "elements", "shell/core", "configs"):
        for path in sorted((ROOT / folder).rglob("test_*.py")):
            text = path.read_text()
            if "simulate(" in text and str(path.relative_to(ROOT)) not in NAMES_ONLY and (tops := frozenset(_named(text))):
                found[str(path.relative_to(ROOT))] = tops
    return found


def _reach(module: str, tops: frozenset[str]) -> tuple[int, int] | None:
    """How near a part is to what a test drives: its depth, and the size of that; None where it is not in it."""
    depths = [(_uses(top)[module], len(_uses(top))) for top in tops if module in _uses(top)]
    near = [pair for pair in depths if pair[1] <= FAR]
    return min(near) if near and all(len(_uses(top)) <= FAR for top in tops) else None
