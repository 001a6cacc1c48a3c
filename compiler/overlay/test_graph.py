# SPDX-License-Identifier: Apache-2.0
"""Several elements in the overlay: in a row, side by side, one of them twice. The interpreter is the judge."""

from __future__ import annotations

import pytest
import sluice_layouts as L

from compiler.frontend.source import Source
from compiler.fuzz.driver import Case, loaded
from compiler.fuzz.overlay_driver import HOST, Job, job_of
from compiler.overlay.bits import OverlayError
from compiler.overlay.deploy import Deployment, deployed
from compiler.overlay.rules import read_rules, signals, tables_of
from host.program.overlay_fuzz import model

MARK = """
.element Mark (packet in -> packet out, packet other) {
    table exact<uint<16>, uint<16>> types[4];
    .state { bool known; }
    .handler {
        flit x = read(in);
        if (x.sop) {
            ethernet_t *eth = (ethernet_t *) &x.data;
            uint<16> value;
            known = types.lookup(eth->ethertype, value);
            if (known) eth->ethertype = value;
        }
        if (known) write(out, x);
        if (!known) write(other, x);
    }
}
"""
ROW = """
Mark :: first @
Mark :: second @
Mux :: rest
host PktLogger :: logger
from_lane[0] -> first
first.out -> second
first.other -> [1] rest
second.out -> to_lane[1]
second.other -> [2] rest
rest -> logger
"""
SIDES = """
Mark :: first @
Mark :: second @
Mux :: rest
host PktLogger :: logger
from_lane[0] -> first
from_lane[1] -> second
first.out -> to_lane[1]
second.out -> to_lane[0]
first.other -> [1] rest
second.other -> [2] rest
rest -> logger
"""
RULES = """
//| first.types 0x800 -> 0x1111     # first.types_insert 0x800,0x1111
//| first.types 0x801 -> 0x2222     # first.types_insert 0x801,0x2222
//| second.types 0x1111 -> 0x3333   # second.types_insert 0x1111,0x3333
//| second.types 0x800 -> 0x4444    # second.types_insert 0x800,0x4444
//= 4
"""


def job(configuration: str, packets: list[tuple[int, int]]) -> Job:
    """With packets of these lanes and types."""
    lines = "\n".join(f"//> {lane} {bytes(12).hex()}{kind:04x}{bytes(50).hex()}" for lane, kind in packets)
    return job_for(MARK + configuration + RULES + lines + "\n")


def job_for(text: str) -> Job:
    """Of a program with its packets."""
    case = Case("rows", text, 0)
    program, message = loaded(case)
    assert program is not None, message
    return job_of(case, program)


def agreed(one: Job) -> list[list[tuple[int, bytes]]]:
    """Where packets leave, and what they are, which the model of the pipeline and the interpreter agree on."""
    assert isinstance(one.deployment, Deployment), one.deployment
    expected = [[(left.where, left.data) for left in some] for some in one.expected]
    assert [[(left.where, left.data) for left in some] for some in model(one.deployment, one)] == expected
    return expected


def types(one: Job) -> list[list[tuple[int, int]]]:
    """Where packets leave, and their types."""
    return [[(where, int.from_bytes(data[12:14], "big")) for where, data in some] for some in agreed(one)]


def test_what_one_element_writes_decides_in_the_next() -> None:
    one = job(ROW, [(0, 0x800), (0, 0x801), (0, 0x900), (0, 0x1111), (1, 0x800)])
    assert types(one) == [[(1, 0x3333)], [(HOST, 0x2222)], [(HOST, 0x900)], [(HOST, 0x1111)], []]
    assert isinstance(one.deployment, Deployment)
    titles = [unit.title for unit in one.deployment.units]
    assert titles == ["conditions", "table first.types"], "values of rules decide the second lookup when the program is compiled"


def test_elements_side_by_side_have_lanes_and_rules_of_their_own() -> None:
    one = job(SIDES, [(0, 0x800), (1, 0x800), (0, 0x1111), (1, 0x1111), (2, 0x800)])
    assert types(one) == [[(1, 0x1111)], [(0, 0x4444)], [(HOST, 0x1111)], [(0, 0x3333)], []]


def test_tables_of_one_name_have_rules_by_instance() -> None:
    tables = tables_of(job(ROW, []).program.instances)
    known = {name: table for name, (_, table) in tables.items()}
    found = read_rules(Source("some.rules", "second.types 1 -> 2\nfirst.types 3 -> 4\n"), known)
    assert signals(tables, found) == ["first.types_insert:0x3,0x4@0", "second.types_insert:0x1,0x2@0"]
    with pytest.raises(OverlayError, match="unknown table 'types'"):
        read_rules(Source("some.rules", "types 1 -> 2\n"), known)


SEEN = """
.element Seen (packet in ->) {
    table exact<uint<16>, uint<16>> types[4];
    .state { ulong seen; }
    .handler {
        flit x = read(in);
        uint<16> value;
        if (types.lookup((uint<16>) x.data, value)) seen += 1;
    }
}
Mark :: mark @
host Seen :: seen @
from_lane[0] -> mark
mark.out -> to_lane[1]
mark.other -> seen
"""


def test_tables_on_the_host_have_the_names_of_every_target_and_no_rules_here() -> None:
    program, message = loaded(Case("seen", MARK + SEEN, 0))
    assert program is not None, message
    assert [*tables_of(program.instances)] == ["mark.types", "seen.types"]
    assert {*deployed(program, Source("some.rules", "mark.types 1 -> 2\n")).rules} == {"mark.types"}
    with pytest.raises(OverlayError, match="is a table of an element on the host"):
        deployed(program, Source("some.rules", "seen.types 1 -> 2\n"))
    with pytest.raises(OverlayError, match="unknown table 'types'"):
        deployed(program, Source("some.rules", "types 1 -> 2\n"))


COLUMNS = """
struct words_t { uint<16> at[32]; }
.element Columns (packet in -> packet out) {
    .handler {
        flit x = read(in);
        if (x.sop) {
            words_t *words = (words_t *) &x.data;
            words->at[0] = words->at[1];
            words->at[8] = 0x5555;
            words->at[16] = 0x1234;
            words->at[24] = words->at[25];
        }
        write(out, x);
    }
}
Columns :: columns
from_lane[0] -> columns -> to_lane[1]
"""


def test_words_that_meet_in_the_deparser_have_containers_of_other_rows() -> None:
    one = job_for(COLUMNS + f"//= 4\n//> 0 {bytes(range(100)).hex()}\n")
    ((_, data),) = agreed(one)[0]
    assert [data[2 * word : 2 * word + 2].hex() for word in (0, 8, 16, 24)] == ["0203", "5555", "3412", "3233"]
    assert isinstance(one.deployment, Deployment)
    rows = {one.deployment.placed.containers[f"word {word}"] // L.DEPARSER_ROW for word in (0, 8, 16, 24)}
    assert len(rows) == 4
