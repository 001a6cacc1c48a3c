# SPDX-License-Identifier: Apache-2.0
"""Native bodies in C++ do what the body in the language does; one that does not fit, or does something else, is found."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from compiler.compile import HardwareError
from compiler.frontend import typed
from compiler.fuzz import trial
from compiler.tests.differential import elements
from toolchain import ROOT
from tools.cli.main import app

BODY = ROOT / "elements" / "count" / "count_native.h"
SCALED = """
.element Scaled <K = 3, T = uint<8>> (T a, uint<8> b -> uint<16> out) {
    .state { uint<16> calls; }
    .handler {
        uint<16> sum = read(a);
        if (test(b)) sum += read(b);
        write(out, (uint<16>) (sum * K));
    }
    .signal void add(uint<4> by) { calls += by; }
    .signal uint<16> get() { return calls; }
    .timer count (every = 10) { calls += periods(); }
}
"""
BY_HAND = """
#include <cstdint>
template <class Parameters> struct scaled {
    static_assert(Parameters::T == 8 && !Parameters::TIsPacket);
    Uint<16> calls{};
    void handler(auto &a, auto &b, auto &out) {
        Uint<16> sum(a.read());
        if (b.test())
            sum = sum + Uint<16>(b.read());
        out.write(sum * Uint<16>(Parameters::K));
    }
    void add(Uint<4> by) { calls = calls + Uint<16>(by); }
    auto get() { return calls; }
    void count(Uint<16> periods) { calls = calls + periods; }
};
"""


def wrong(element: typed.Element) -> str:
    run = trial.native_body_cpp(element)
    return "".join(trial.fault(element, run, trial.trial(element, seed), trial.Judged.BY_OUTPUTS)[0] for seed in range(3))


def changed(folder: Path, element: typed.Element, text: str, name: str = "count_native.h") -> typed.Element:
    """The element with a native body of this text."""
    (folder / name).write_text(text)
    return typed.Element(**{**vars(element), "native": (("cpp", str(folder / name)),)})


def count() -> typed.Element:
    return elements("from_tor -> Count :: c @ -> to_tor")["Count"]


def test_a_native_body_agrees_with_the_interpreter() -> None:
    assert wrong(count()) == ""


def test_a_native_body_gets_ports_parameters_and_arguments(tmp_path: Path) -> None:
    (scaled,) = elements(SCALED).values()
    assert wrong(changed(tmp_path, scaled, BY_HAND, "scaled.h")) == ""


def test_a_native_body_that_does_something_else_is_found(tmp_path: Path) -> None:
    text = BODY.read_text().replace("x.sop ? 1 : 0", "x.eop ? 1 : 2")
    assert "answers: expected" in wrong(changed(tmp_path, count(), text))


@pytest.mark.parametrize(
    ("right", "instead", "said"),
    [
        ("class count_native", "class other", "class template 'count_native' not found"),
        ("auto &in, auto &out", "auto &in, auto &more, auto &out", "no matching function for call to"),
        ("get_count", "get_cuont", "has no member named"),
        ("x.sop ?", "x.begins ?", "count_native.h: line 9: "),
    ],
)
def test_what_does_not_fit_is_an_error(tmp_path: Path, right: str, instead: str, said: str) -> None:
    text = BODY.read_text()
    assert right in text
    with pytest.raises(HardwareError) as error:
        trial.native_body_cpp(changed(tmp_path, count(), text.replace(right, instead)))
    assert error.value.code == "E0806" and said in error.value.text, error.value.text


def test_build_takes_native_bodies_where_it_is_told_to(tmp_path: Path) -> None:
    (tmp_path / "one.sl").write_text("from_tor -> Count :: c @ -> to_tor\n")
    for folder, options in (("generated", []), ("native", ["--native"])):
        words = ["build", str(tmp_path / "one.sl"), "--target", "cpu", "--out", str(tmp_path / folder), *options]
        assert CliRunner().invoke(app, words).exit_code == 0
        assert ("count_native<Parameters> native;" in (tmp_path / folder / "program.cc").read_text()) == bool(options)


def test_build_says_what_does_not_fit(tmp_path: Path) -> None:
    for path in BODY.parent.iterdir():
        (tmp_path / path.name).write_text(path.read_text().replace("x.sop ?", "x.begins ?"))
    done = CliRunner().invoke(
        app, ["build", str(tmp_path / "count.sl"), "--target", "cpu", "--native", "--out", str(tmp_path / "out")]
    )
    assert done.exit_code == 1 and "error[E0806]: count_native.h: line 9" in done.stderr
    assert not (tmp_path / "out").exists()
