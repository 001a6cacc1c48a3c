# SPDX-License-Identifier: Apache-2.0
"""Native bodies of the library do what the body in the language does, and one that does not fit, or does it wrong, is found."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from typer.testing import CliRunner

from compiler.compile import Compiled, HardwareError, compile_element
from compiler.frontend import typed
from compiler.fuzz.compare import disagreement
from compiler.native import has_native, native
from compiler.targets import rtl, rtl_outcome
from compiler.tests.differential import elements, random_streams
from compiler.tests.test_rtl_programs import signals
from elements.harness import Bench
from elements.ipchecksum.test_ipchecksum import mixed
from tools.cli.main import app

EVERY = "\n".join(
    [
        "from_lane[0] -> Count :: c @ -> to_lane[0]",
        "Demux<N = 3> :: d @  from_lane[1] -> d .repeat (i, 0, 3) { d.out[i] -> Drop }",
        "Tee<N = 3> :: t  from_lane[2] -> t .repeat (i, 0, 3) { t.out[i] -> Drop }",
        "Tee<T = uint<8>> :: small  Idle -> small  small.out[0] -> Drop<uint<8>>  small.out[1] -> Drop<uint<8>>",
        "Mux<N = 3> :: m .repeat (i, 0, 3) { Idle -> m.in[i] } m -> to_lane[1]",
        "IPChecksum :: checked @  from_lane[3] -> checked -> to_lane[2]",
        "IPChecksum<Update = 1> :: mended @  from_lane[4] -> mended -> to_lane[3]",
        "Mux<T = uint<8>> :: tokens  Idle -> tokens.in[0]  Idle -> tokens.in[1]  tokens -> Drop<uint<8>>",
    ]
)
COUNT = "el_count_native.sv"


def found() -> dict[str, Compiled]:
    compiled = {name: compile_element(element) for name, element in elements(EVERY).items()}
    return {name: one for name, one in compiled.items() if has_native(one)}


def built(compiled: dict[str, Compiled], wrong: tuple[str, str] = ("", "")) -> rtl.Built:
    """A simulator of native bodies; `wrong`: a text in them, and what stands there instead."""
    texts = {name: text.replace(*wrong) for one in compiled.values() for name, text in native(one).items()}
    plans = rtl_outcome.plans(compiled)
    designs = {name: rtl.design_of(plan) for name, plan in plans.items()}
    return rtl.Built(rtl.binary_of(texts, designs, rtl.USUAL), plans)


def differences(compiled: dict[str, Compiled], simulator: rtl.Built, seed: int) -> dict[str, str]:
    choose = random.Random(seed)
    streams = {name: random_streams(one.element, choose) for name, one in compiled.items()}
    for name in compiled:
        if name.startswith("IPChecksum"):
            packets = Bench("IPChecksum", "from_tor -> IPChecksum :: c @ -> to_tor").flits(mixed(seed)[0])
            streams[name] = {"in": [*packets, *streams[name]["in"]]}
    calls = {name: signals(one.element.signals, choose) for name, one in compiled.items()}
    outcomes = rtl_outcome.run_built(simulator, compiled, streams, seed, calls)
    return {
        name: disagreement(one.element, streams[name], outcomes[name], calls=len(calls[name]), has_state=False)
        for name, one in compiled.items()
    }


@pytest.fixture(scope="module")
def right() -> tuple[dict[str, Compiled], rtl.Built]:
    compiled = found()
    return compiled, built(compiled)


@pytest.mark.parametrize("seed", range(4))
def test_a_native_body_agrees_with_the_interpreter(right: tuple[dict[str, Compiled], rtl.Built], seed: int) -> None:
    compiled, simulator = right
    assert len(compiled) == 8
    assert set(differences(compiled, simulator, seed).values()) == {""}


def test_a_native_body_that_does_something_else_is_found() -> None:
    compiled = {"Count": found()["Count"]}
    simulator = built(compiled, ("count_q + 64'd1", "count_q + 64'd2"))
    assert "answers" in "".join(differences(compiled, simulator, seed)["Count"] for seed in range(4))


@pytest.mark.parametrize(
    ("right_text", "wrong", "said"),
    [
        ("if (rst_i) count_q", "if (rst) count_q", "use of undeclared identifier 'rst'"),
        ("module el_count_native", "module other", "module 'el_count_native' not found"),
        (
            "output logic                in_ready_o",
            "input logic in_ready_o",
            "port 'in_ready_o' must be an output of 1 bit, not an input of 1",
        ),
        (
            "output logic [63:0]         result_o",
            "output logic [31:0] result_o",
            "port 'result_o' must be an output of 64 bits, not an output of 32",
        ),
        ("out_ready_i,\n", "out_ready_i,\n  input logic more_i,\n", "the element has no port 'more_i'"),
    ],
)
def test_ports_that_do_not_fit_are_an_error(tmp_path: Path, right_text: str, wrong: str, said: str) -> None:
    text = (rtl.ROOT / "elements" / "count" / COUNT).read_text()
    assert right_text in text
    (tmp_path / COUNT).write_text(text.replace(right_text, wrong, 1))
    element = elements("from_tor -> Count :: c @ -> to_tor")["Count"]
    changed = typed.Element(**{**vars(element), "native": (("sv", str(tmp_path / COUNT)),)})
    with pytest.raises(HardwareError, match=COUNT) as error:
        native(compile_element(changed))
    assert error.value.code == "E0806" and said in error.value.text


def test_build_takes_native_bodies_where_it_is_told_to(tmp_path: Path) -> None:
    (tmp_path / "two.sl").write_text("from_tor -> Count :: c @ -> to_tor\n")
    for folder, options in (("generated", []), ("native", ["--native"])):
        done = CliRunner().invoke(app, ["build", str(tmp_path / "two.sl"), "--out", str(tmp_path / folder), *options])
        assert done.exit_code == 0
        names = (tmp_path / folder / "files.f").read_text().split()
        assert (COUNT in names) == bool(options) and {"el_count.sv", "sl_skid.sv", "sluice_pkg.sv"} < set(names)
