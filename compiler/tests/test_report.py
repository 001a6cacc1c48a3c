# SPDX-License-Identifier: Apache-2.0
"""`sluice report`: the figures of a configuration, and the page that shows them."""

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

from typer.testing import CliRunner

from tools.cli.main import app

PROGRAMS = Path(__file__).parent / "figures"
PROGRAM = """
.element Slow (packet in -> packet out) {
    .state { uint count[4]; ulong sum; }
    .handler {
        flit x = read(in);
        count[x.meta.length >> 8 & 3] += 1;
        sum = sum * 5 + (sum >> 7) + count[0];
        write(out, x);
    }
}
.element Join (packet in[2] -> packet out) { .handler { write(out, select(in)); } }
Slow :: slow
Join :: join
Tee :: tee
host PktLogger :: logger
from_tor -> slow -> [1] join -> tee [1] -> logger
"""
STRAIGHT = PROGRAM.replace("Join :: join\nTee :: tee\n", "").replace("-> [1] join -> tee [1] ->", "=>")
NAMES = """
.element Names (packet in -> packet out) {
    .state { uint hash = 5381; bool ended; }
    .handler {
        flit x = read(in);
        uchar *p = (uchar *) &x.data;
        if (x.sop) { hash = 5381; ended = false; }
        for (uint i = 0; i < 64; i++) {
            if (!ended && p[i] == 0) ended = true;
            if (!ended) hash = hash * 33 + p[i];
        }
        if (x.eop) x.meta.mark = hash;
        write(out, x);
    }
}
"""
LOOP = PROGRAM + "tee [2] -> [2] join\n"


def report(folder: Path, text: str, *words: str) -> str:
    (folder / "p.sl").write_text(text)
    done = CliRunner().invoke(app, ["report", str(folder / "p.sl"), *words])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_entries_of_an_array_are_one_line(tmp_path: Path) -> None:
    lines = [line for line in report(tmp_path, STRAIGHT).splitlines() if "count[" in line]
    assert any(re.match(r"  count\[0\.\.3\]: 4 x 32 bits in 4 registers; ", line) for line in lines)
    assert not any(line.startswith("  count[1]") for line in lines)


def test_arrays_of_block_ram_are_not_called_registers(tmp_path: Path) -> None:
    rows = """.element Rows (packet in -> packet out) {
    .state { ulong rows[1024][4]; }
    .handler {
        flit x = read(in);
        .repeat (i, 0, 4) { rows[(uint<10>) x.meta.mark][i] += 1; }
        write(out, x);
    }
}
"""
    lines = report(tmp_path, rows).splitlines()
    assert "  rows[0..3]: 4 x 1024 x 64 bits in 4 memories in block RAM, reads forwarded from writes in flight" in [
        line.partition(";")[0] for line in lines
    ]


def test_fields_of_a_struct_that_are_registers_alike_are_one_line(tmp_path: Path) -> None:
    kept = """.element Keep (packet in -> packet out) {
    .state { struct kept_t { uint mark; ushort length; uchar queue; } kept; ulong count; }
    .handler {
        flit x = read(in);
        if (x.sop) { kept.mark = x.meta.mark; kept.length = x.meta.length; kept.queue = x.meta.queue; count += 1; }
        x.meta.mark = kept.mark + kept.length + kept.queue;
        write(out, x);
    }
}
"""
    lines = report(tmp_path, kept).splitlines()
    assert [line.partition(";")[0].strip() for line in lines if " bits in " in line] == [
        "kept (3 fields): 56 bits in 3 registers",
        "count: 64 bits in register",
    ]


def test_the_slowest_element_decides(tmp_path: Path) -> None:
    found = json.loads(report(tmp_path, STRAIGHT, "--json"))
    slow = next(element for element in found["elements"] if element["element"] == "Slow")
    graph = found["configuration"]
    assert slow["ii"] > 1
    assert graph["slowest"] == {"instance": "slow", "element": "Slow", "cycles_per_token": slow["ii"]}
    assert [(c["from"], c["to"], c["cycles_per_token"], c["store"]) for c in graph["channels"]] == [
        ("from_lane[0]", "slow.in", slow["ii"], "register"),
        ("slow.out", "logger.in", slow["ii"], "packet FIFO"),
    ]
    assert graph["latency"]["cycles"] == slow["latency_cycles"] + graph["channels"][1]["latency_cycles"] > slow["depth"]
    assert graph["latency"]["path"] == ["slow"] and graph["latency"]["packets_stored"] == 1


def test_the_figures_of_the_paper_take_a_token_every_cycle_and_say_how() -> None:
    wanted = {"figure6": ("memory scattering", "delayed write"), "figure7a": ("unrolling",), "figure7b": ("delayed write",)}
    for name, techniques in wanted.items():
        done = CliRunner().invoke(app, ["report", str(PROGRAMS / f"{name}.sl"), "--json"])
        found = json.loads(done.stdout)["elements"]
        assert {element["ii"] for element in found} == {1}
        assert {technique.partition(":")[0] for element in found for technique in element["techniques"]} >= {*techniques}


def test_what_was_tried_is_said(tmp_path: Path) -> None:
    lines = [line.strip() for line in report(tmp_path, STRAIGHT).splitlines()]
    at = lines.index("tried: selecting the next value last")
    assert lines[at + 1].startswith("tried: forwarding the update as a function: ") and lines[at + 2].startswith("try: ")


def test_a_long_path_is_told_line_by_line(tmp_path: Path) -> None:
    """A hash of names over flits, as the review wrote it."""
    text = report(tmp_path, NAMES)
    slowed = r"slowed by hash: \d\d stages too many from read to write\n    register hash at \S+:\d\n    64 x mux, 64 x add hash, "
    assert re.search(slowed, text)
    assert len(text.splitlines()) < 20
    _, limit = json.loads(report(tmp_path, NAMES, "--json"))["elements"][0]["limits"]
    assert len(limit["cycle"]) > 128 and limit["suggestion"].startswith("compute in an earlier element")


def test_a_loop_is_not_followed_for_ever(tmp_path: Path) -> None:
    graph = json.loads(report(tmp_path, LOOP, "--json"))["configuration"]
    assert [(c["from"], c["to"]) for c in graph["channels"] if c["closes_loop"]] == [("tee.out_1", "join.in_1")]
    assert graph["latency"]["path"] == ["slow", "join", "tee"]
    assert graph["loops"] == [{"closed_by": "tee.out_1 -> join.in_1", "drops": False}]
    assert "its channels fill up and it deadlocks" in report(tmp_path, LOOP)
    assert "cannot deadlock" in report(tmp_path, LOOP.replace("tee [2] ->", "tee [2] =>"))
    assert graph["latency"]["cycles"] >= sum(c["latency_cycles"] for c in graph["channels"] if not c["closes_loop"])


def test_the_page_shows_every_instance_and_channel_and_needs_nothing_else(tmp_path: Path) -> None:
    report(tmp_path, LOOP, "--html", str(tmp_path / "p.html"))
    page = (tmp_path / "p.html").read_text()
    assert not re.findall(r"(?:src|href)=|@import|url\((?!#)", page)
    drawing = re.search(r"<svg.*</svg>", page, re.DOTALL)
    assert drawing
    svg = ET.fromstring(drawing.group(0))
    names = {text.text for text in svg.iter("{http://www.w3.org/2000/svg}text")}
    assert {"from_lane[0]", "slow", "join", "tee", "logger", "on the host"} <= names
    assert len([path for path in svg.iter("{http://www.w3.org/2000/svg}path") if "marker-end" in path.attrib]) == 5
    for box in svg.iter("{http://www.w3.org/2000/svg}rect"):
        assert 0 <= float(box.attrib["x"]) <= float(svg.attrib["width"]) - float(box.attrib["width"])
        assert 0 <= float(box.attrib["y"]) <= float(svg.attrib["height"]) - float(box.attrib["height"])


def classes(page: str, kind: str) -> list[str]:
    """The first text, or the title, of what is drawn as `kind`."""
    return [
        re.sub(r":.*", "", text) for text in re.findall(rf'<g class="[^"]*\b{kind}\b[^"]*">.*?<(?:text|title)[^>]*>([^<]*)<', page)
    ]


def test_the_page_marks_what_is_slow_and_the_longest_way_and_folds_elements(tmp_path: Path) -> None:
    report(tmp_path, LOOP, "--html", str(tmp_path / "p.html"))
    page = (tmp_path / "p.html").read_text()
    found = json.loads(report(tmp_path, LOOP, "--json"))
    most = found["configuration"]["cycles_per_token"]
    assert most > 1
    slowest = [f"{c['from']} → {c['to']}" for c in found["configuration"]["channels"] if c["cycles_per_token"] == most]
    assert classes(page, "slow") == [*slowest, "slow"]
    assert classes(page, "longest") == ["slow.out → join.in_0", "join.out → tee.in", "slow", "join", "tee"]
    folded = dict(re.findall(r"<details( open)?><summary><b>(\w+)</b>", page))
    assert len(re.findall("<details", page)) == len(found["elements"]) and folded


def test_a_graph_of_many_layers_fits_the_width_of_a_page(tmp_path: Path) -> None:
    chain = (
        "".join(f"Pass :: p{n}\n" for n in range(12)) + "from_tor -> " + " -> ".join(f"p{n}" for n in range(12)) + " -> to_tor\n"
    )
    text = ".element Pass (packet in -> packet out) { .handler { write(out, read(in)); } }\n" + chain
    report(tmp_path, text, "--html", str(tmp_path / "p.html"))
    width = re.search(r'<svg[^>]* width="(\d+)"', (tmp_path / "p.html").read_text())
    assert width and int(width[1]) < 800


def test_the_clock_is_told_that_was_asked_for_and_what_place_and_route_will_give(tmp_path: Path) -> None:
    text = report(tmp_path, LOOP, "--html", str(tmp_path / "p.html")) + (tmp_path / "p.html").read_text()
    found = re.findall(r"scheduled for 200 MHz, about (\d+) MHz after place and route \(ECP5-5G\)", text)
    assert found and all(100 < int(mhz) < 500 for mhz in found)


def test_a_file_without_a_configuration_has_a_page_too(tmp_path: Path) -> None:
    elements = PROGRAM[: PROGRAM.index("Slow :: slow")]
    assert json.loads(report(tmp_path, elements, "--json", "--html", str(tmp_path / "p.html")))["configuration"] is None
    assert "<svg" not in (tmp_path / "p.html").read_text()


def test_an_element_that_iterates_over_a_token_is_as_slow_as_that(tmp_path: Path) -> None:
    slow = """.element Sixteenth (packet in -> packet out) {
    .state { uint<4> n; flit kept; }
    .handler {
        if (n == 0) { kept = read(in); n = 15; }
        else { n -= 1; if (n == 0) write(out, kept); }
    }
}
Sixteenth :: s  from_tor -> s -> to_tor
"""
    rate = "one iteration every cycle, at worst one token in 16 cycles"
    text = report(tmp_path, slow, "--html", str(tmp_path / "p.html"))
    assert text.startswith(f"Sixteenth: {rate}, ")
    assert rate in (tmp_path / "p.html").read_text()
    found = json.loads(report(tmp_path, slow, "--json"))
    assert found["elements"][0]["ii"] == 1 and found["elements"][0]["token_cycles"] == {"in": 16}
    assert found["configuration"]["slowest"] == {"instance": "s", "element": "Sixteenth", "cycles_per_token": 16}


def test_writes_that_take_turns_are_named_as_what_slows_an_element(tmp_path: Path) -> None:
    turns = """.element Rows (packet in -> packet out) {
    .state { ulong rows[4][1024]; }
    .handler {
        flit x = read(in);
        .repeat (i, 0, 3) { rows[i][(uint<10>) (x.meta.mark >> i)] += 1; }
        rows[x.sop][1] += 1;
        write(out, x);
    }
}
.element Sizes (packet in -> packet out) {
    .state { ulong sizes[16]; }
    .handler {
        flit x = read(in);
        sizes[(uint<4>) x.meta.length] += 1;
        write(out, x);
    }
    .signal void reset() { for (uint i = 0; i < 16; i++) sizes[(uint<4>) i] = 0; }
    .timer roll (every = 10) { for (uint i = 0; i < 16; i++) sizes[(uint<4>) i] = 0; }
}
"""
    text = report(tmp_path, turns)
    slowed = [line.partition(" (at")[0].strip() for line in text.splitlines() if "slowed by" in line]
    assert slowed == ["slowed by rows: 4 writes of one iteration take turns at its only port"]
    assert "signal reset takes 18 cycles, in which no other iteration begins" in text
    assert "timer roll takes 18 of every 2,000 cycles, in which no other iteration begins" in text
    found = json.loads(report(tmp_path, turns, "--json", "--html", str(tmp_path / "p.html")))["elements"]
    assert [(e["ii"], len(e["turns"]), [p["cycles"] for p in e["pauses"]]) for e in found] == [(4, 1, []), (1, 0, [18, 18])]
    assert [place["line"] for place in found[0]["turns"][0]["writes"]] == [5, 6]
    assert (tmp_path / "p.html").read_text().count("Slowed by") == 1


def test_a_timer_that_takes_longer_than_its_period_is_refused(tmp_path: Path) -> None:
    text = """.element Clear (packet in -> packet out) {
    .state { ulong counts[256]; }
    .handler { flit x = read(in); counts[(uint<8>) x.meta.mark] += 1; write(out, x); }
    .timer clear (every = 1) { for (uint<9> i = 0; i < 256; i++) counts[i] = 0; }
}
"""
    path = tmp_path / "clear.sl"
    path.write_text(text)
    done = CliRunner().invoke(app, ["report", str(path)])
    assert done.exit_code == 1 and "error[E0811]: timer 'clear' takes 258 cycles, but is due every 200 (200 MHz)" in done.output
    assert "use a period of at least 2 microseconds" in done.output
    assert "258 of every 400 cycles" in report(tmp_path, text.replace("every = 1", "every = 2"))
