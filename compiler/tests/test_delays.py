# SPDX-License-Identifier: Apache-2.0
"""The delay tables are the fit of what was measured, near to it, and schedule the library as they say."""

from __future__ import annotations

import json

import pytest

from compiler.compile import compile_element
from compiler.ir.build import Builder
from compiler.schedule import fit, routed
from compiler.schedule.delays import FOLDER, delays
from compiler.schedule.measure import CASES
from compiler.tests.differential import elements

FAR = 0.4  # relative error of a case
TABLE = """
.element Table (uint<64> in -> uint<9> out) {
    table exact<uint<64>, uint<8>> rules[512];
    .handler {
        uint<8> value;
        bool hit = rules.lookup(read(in), value);
        write(out, (uint<9>) hit << 8 | value);
    }
}
"""


@pytest.mark.parametrize("target", ["ecp5", "xcup"])
def test_a_table_is_the_fit_of_the_measurements(target: str) -> None:
    assert (FOLDER / f"{target}.toml").read_text() == fit.table(target)


@pytest.mark.parametrize("target", ["ecp5", "xcup"])
def test_every_case_was_measured_and_is_fitted_closely(target: str) -> None:
    measured = fit.periods(target)
    assert set(measured) == {case.name for case in CASES}
    figures = fit.fitted(measured)
    errors = [abs(fit.predicted(case, figures) / measured[case.name] - 1) for case in CASES]
    assert max(errors) < FAR and sum(errors) / len(errors) < 0.1


def test_a_fit_finds_the_figures_that_made_the_data_and_none_is_negative() -> None:
    figures = fit.fitted(fit.periods("ecp5"))
    assert min(figures.values()) >= 0
    again = fit.fitted({case.name: fit.predicted(case, figures) for case in CASES})
    assert again == pytest.approx(figures, abs=0.01)


def test_the_estimate_of_a_routed_clock_is_near_what_it_was_fitted_to_and_falls_with_size() -> None:
    rows, figures = json.loads(routed.FILE.read_text()), delays("ecp5").routed
    assert figures == pytest.approx(fit.fitted_routed(rows)) and min(figures.values()) >= 0
    terms = {name: {term: value for term, value in row.items() if term != "mhz"} for name, row in rows.items()}
    errors = [abs(routed.predicted(terms[name], figures) * row["mhz"] / 1000 - 1) for name, row in rows.items()]
    assert len(rows) >= 12 and sum(errors) / len(errors) < 0.08
    larger = {name: {term: value + 1 for term, value in found.items()} for name, found in terms.items()}
    assert all(routed.predicted(larger[name], figures) > routed.predicted(terms[name], figures) for name in terms)
    terms_of_all = {"exact", "lpm", "ternary", "rules", *routed.terms(compile_element(elements(TABLE)["Table"], 5.0).plan)}
    assert terms_of_all == set(figures)


def test_a_table_that_is_slower_than_its_element_decides_about_the_routed_clock() -> None:
    clocks = []
    for rules in (16, 65536):
        plan = compile_element(elements(TABLE.replace("512", str(rules)))["Table"], 5.0).plan
        clocks.append(1000 / routed.period(plan))
    assert 100 < clocks[1] < clocks[0]


def test_zeros_of_a_factor_cost_nothing() -> None:
    b, table = Builder(), delays("ecp5")
    x = b.zext(b.exact("head", (), 16, name="x"), 32)
    small, large = (table.of(b.binary("mul", x, factor)) for factor in (b.const(0xFFFF, 32), b.const(0x10000, 32)))
    assert small == table.of(b.binary("mul", x, b.zext(b.exact("head", (), 16, name="y"), 32))) < large


def test_a_sum_of_bits_takes_longer_than_one_of_words() -> None:
    b, table = Builder(), delays("ecp5")
    word, bit = (table.of(b.binary("xor", *(b.exact("head", (), width, name=name) for name in "xy"))) for width in (2, 1))
    assert word < bit
