# SPDX-License-Identifier: Apache-2.0
"""The packet engine of the CPU: which elements see first flits alone, and that packets leave as the interpreter says."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from compiler.backends import cpp_packets
from compiler.backends.cpp_ahead import keys_ahead
from compiler.frontend import typed
from compiler.frontend.program import load_text
from compiler.frontend.source import Diagnostics
from compiler.fuzz import graph_driver, graph_targets
from compiler.fuzz.graph_targets import GraphRan, Job
from compiler.interpreter.choices import SignalCall
from compiler.passes.headers_only import why_not
from host.program.run import ProgramRun, call_of, on_cpu
from testing.programs import run
from testing.slow import first

SANITIZED = ("-std=c++20", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")  # leaks are errors, too
SIZES = (1, 20, 63, 64, 65, 127, 128, 129, 200, 1500)
ELEMENT = (
    ".element One (packet in{inputs} -> packet out{outputs}) {{ .state {{ {state} }} .handler {{ flit x = read(in); {body} }} }}"
)


def program_of(text: str) -> typed.Program:
    diagnostics = Diagnostics()
    program = load_text(text, "one.sl", diagnostics)
    assert program, "".join(error.render() for error in diagnostics.sorted())
    return program


def element(body: str, state: str = "ulong n;", inputs: str = "", outputs: str = "") -> typed.Element:
    (found,) = program_of(ELEMENT.format(inputs=inputs, outputs=outputs, state=state, body=body)).elements
    return found


@pytest.mark.parametrize(
    "body",
    [
        "if (x.sop) n += 1; write(out, x);",
        "if (x.sop) x.meta.mark = n; write(out, x);",
        "if (x.sop) { n = x.meta.mark & 1; x.data = x.data + n; } if (n == 1) write(out, x);",
        "if (x.sop && x.eop) x.empty = 3; write(out, x);",
    ],
)
def test_acts_on_first_flits_alone(body: str) -> None:
    assert why_not(element(body)) is None


@pytest.mark.parametrize(
    ("body", "more", "why"),
    [
        ("n += 1; write(out, x);", {}, "a later flit may change 'n'"),
        ("n[x.meta.mark] = 1; write(out, x);", {"state": "ulong n[16];"}, "a later flit may change 'n'"),
        ("if (!x.sop) x.data = 0; write(out, x);", {}, "may change a later flit at 'out'"),
        ("if (!x.sop) x.meta.mark = 1; write(out, x);", {}, "may change a later flit at 'out'"),
        ("if (x.sop || n == 1) write(out, x);", {}, "later flits at 'out' do not follow the first"),
        ("if (!x.sop) write(out, x);", {}, "later flits at 'out' do not follow the first"),
        ("if (x.data != 0) write(out, x);", {}, "depends on more than its registers"),
        ("if (n[x.meta.mark] == 1) write(out, x);", {"state": "ulong n[16];"}, "depends on more than its registers"),
        ("if (x.sop) x.eop = 1; write(out, x);", {}, "may change where packets begin or end"),
        ("if (x.sop) x.sop = 0; write(out, x);", {}, "may change where packets begin or end"),
        ("if (x.sop) x.empty = 1; write(out, x);", {}, "may shorten the first flit"),
        ('if (!x.sop) print("later"); write(out, x);', {}, "a later flit may print or fail"),
        ("assert(x.sop); write(out, x);", {}, "a later flit may print or fail"),
        ("write(out, x); write(tokens, 1);", {"outputs": ", uint<8> tokens"}, "a later flit may write a token to 'tokens'"),
        ("uint<8> y = read(tokens); write(out, x);", {"inputs": ", uint<8> tokens"}, "may take a token from 'tokens'"),
        ("write(out, x); flit y = read(more);", {"inputs": ", packet more"}, "and no select takes them all"),
    ],
)
def test_sees_every_flit(body: str, more: dict[str, str], why: str) -> None:
    assert why in (why_not(element(body, **more)) or "")


SELECT = ".element One (packet a, packet b -> packet out) {{ .state {{ ulong n; }} .handler {{ flit x = select(a, b); {body} }} }}"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("write(out, x);", None),
        ("if (x.sop) n = x.meta.mark & 1; if (n == 1) write(out, x);", None),
        ("n += 1; write(out, x);", "a later flit may change 'n'"),
        ("if (x.sop) n = x.meta.mark; if (n != 3 || x.sop) write(out, x);", "later flits at 'out' do not follow the first"),
        ("flit y = read(a); write(out, x);", "it may change where packets begin or end"),
    ],
)
def test_a_select_of_packets_takes_whole_packets(body: str, why: str | None) -> None:
    (one,) = program_of(SELECT.format(body=body)).elements
    found = why_not(one)
    assert found == why if why is None else why in (found or "")


GRAPH = """
/// First flits alone: some are dropped, others leave at two outputs.
.element Sort (packet in -> packet even, packet odd, uint<16> lengths) {
    .state { bool is_even; bool is_odd; ulong dropped; }
    .handler {
        flit x = read(in);
        if (x.sop) {
            uint<8> first = (uint<8>) x.data;
            is_even = first < 200 && (first & 1) == 0;
            is_odd = first < 200 && (first & 3) != 0;
            if (!is_even && !is_odd) dropped += 1;
            x.meta.mark = first;
            write(lengths, x.meta.length);
        }
        if (is_odd) write(odd, x);
        if (x.sop) x.meta.verdict = VERDICT_DROP;
        if (is_even) write(even, x);
    }
    .signal ulong get_dropped() { return dropped; }
}
/// Every flit.
.element Stir (packet in -> packet out) {
    .state { uint<8> flits; }
    .handler {
        flit x = read(in);
        flits += 1;
        x.data = x.data ^ (uint<512>) flits << 8;
        x.meta.mark += flits;
        if (x.eop && flits[3:0] == 9) x.error = 1;
        write(out, x);
    }
}
/// Waits for a token behind the first flit, in the middle of an iteration, when a state has changed already.
.element Join (packet in, uint<16> lengths -> packet out) {
    .state { ulong sum; ulong before; }
    .handler {
        flit x = read(in);
        before += 1;
        if (x.sop) { uint<16> length = read(lengths); sum += length; x.data = x.data + (uint<512>) (length << 8); }
        write(out, x);
    }
}
/// Breaks packets: the guard mends them.
.element Break (packet in -> packet out) {
    .state { uint<8> n; }
    .handler {
        flit x = read(in);
        n += 1;
        if (n == 5) x.sop = 0;
        if (n == 11) x.empty = 9;
        if (n != 17) write(out, x);
    }
}
Sort :: sort @
Stir :: stir
Join :: join
Break :: mangle
Tee<packet, 3> :: tee
Mux<packet, 2> :: mux
Demux<2> :: demux
from_lane[0] -> tee
tee[1] -> sort
tee[2] -> join.in
tee[3] -> mangle -> to_lane[3]
sort.lengths -> join.lengths
sort.even -> stir -> demux
demux.out[0] -> to_lane[0]
demux.out[1] -> to_lane[4]
sort.odd -> mux.in[0]
join.out -> mux.in[1]
mux.out -> to_lane[1]
from_lane[1] -> to_lane[2]
"""


def job_of(text: str) -> Job:
    program = program_of('import "elements/tee/tee.sl";\nimport "elements/mux/mux.sl";\nimport "elements/demux/demux.sl";\n' + text)
    choose = random.Random(1)
    packets = [(choose.choice([0, 0, 0, 1]), choose.randbytes(choose.choice(SIZES))) for _ in range(200)]
    calls = [("sort", SignalCall("get_dropped", ()))]
    return Job("J", program, packets, calls)


def disagreement(job: Job, ran: GraphRan) -> str:
    return graph_driver.disagreement(job, 0, ran.outcomes[0]["J"])


@pytest.mark.parametrize(("headers_only", "paths"), first(2, [(True, True), (False, False), (True, False)]))
def test_packets_leave_as_the_interpreter_says(headers_only: bool, paths: bool) -> None:
    job = job_of(GRAPH)
    alone = {e.name for e in job.program.elements if why_not(e) is None}
    assert {"Sort", "Tee_packet_3", "Demux_2", "Mux_packet_2"} <= alone and not {"Stir", "Join", "Break"} & alone
    ran = graph_targets.packets([job], [0], headers_only, paths, SANITIZED)
    assert disagreement(job, ran) == ""
    assert ran.outcomes[0]["J"].instances["mangle"].mended > 0, "the guard had something to do"


CUT = """
.element Cut <EMPTY = 0> (packet in -> packet out) {
    .handler {
        flit x = read(in);
        if (x.sop && x.eop) x.empty = EMPTY;
        write(out, x);
    }
}
Cut :: longer
Cut<EMPTY = 24> :: shorter
from_lane[0] -> longer -> to_lane[0]
from_lane[1] -> shorter -> to_lane[1]
"""


def test_a_packet_leaves_as_long_as_its_flit_says() -> None:
    """In its frame, too; where it becomes longer, with zeros."""
    program = program_of(CUT)
    assert [why_not(element) for element in program.elements] == [None, None]
    job = Job("J", program, [(lane, bytes([n] * n)) for n in (60, 100, 64, 50, 1) for lane in (0, 1)], [])
    ran = graph_targets.packets([job], [0], flags=SANITIZED)
    assert disagreement(job, ran) == ""
    left = ran.outcomes[0]["J"].packets or {}
    assert [{len(data) for data, _ in left[lane]} for lane in (0, 1)] == [{64, 100}, {40, 100}]


def test_a_wrong_proof_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where an element that acts on every flit sees first flits alone, the comparison fails."""
    monkeypatch.setattr(cpp_packets, "why_not", lambda one: None if one.source_name == "Stir" else "not asked")
    job = job_of(GRAPH)
    assert "instance stir: " in disagreement(job, graph_targets.packets([job], [0]))


BACK = """
.element Once (packet in, bool done -> packet out, bool next) {
    .state { bool is_begun; }
    .handler {
        flit x = read(in);
        if (x.sop) {
            if (is_begun) { bool was = read(done); }
            is_begun = true;
        }
        write(out, x);
        if (x.eop) write(next, true);
    }
}
Once :: once
from_tor -> once.in
once.next -> once.done
once.out -> to_tor
"""


def test_a_configuration_whose_channels_lead_back_runs_flit_by_flit(tmp_path: Path) -> None:
    assert cpp_packets.forward(program_of(BACK)) is None
    packets = [bytes([n] * 100) for n in range(5)]
    assert run(BACK, [packets], tmp_path, "cpu").left == [packets]
    ran = graph_targets.packets([replace(job_of(GRAPH), program=program_of(BACK), calls=[])], [0])
    assert ran.refused == {"J": "its channels lead back"}


def test_a_run_without_end_is_an_error(tmp_path: Path) -> None:
    text = ".element Endless (-> packet out) { .handler { flit x; x.sop = 1; x.eop = 1; write(out, x); } }\n"
    text += "Endless :: e\ne -> to_tor\n"
    (tmp_path / "endless.sl").write_text(text)
    with pytest.raises(RuntimeError, match="does not terminate"):
        on_cpu(ProgramRun(tmp_path / "endless.sl", [], [], [], 0), program_of(text), lambda _: None)


TABLES = """
struct key_t { uint<32> high; uint<32> low; uint<8> port; }
.element Find (packet in -> packet out) {
    table exact<key_t, uint<16>> pairs[40];
    table lpm<uint<32>, uint<16>> routes[60];
    table lpm<uint<48>, uint<16>> wide[60];
    table ternary<key_t, uint<16>> rules[50];
    .handler {
        flit x = read(in);
        if (x.sop) {
            key_t key = {(uint<32>) x.data, (uint<32>) (x.data >> 32), (uint<8>) (x.data >> 64)};
            key_t turned = {key.low, key.high, key.port};
            uint<16> a; uint<16> b; uint<16> c; uint<16> d;
            bool hit_a = pairs.lookup(key, a);
            bool hit_b = routes.lookup(key.high, b);
            bool hit_c = wide.lookup((uint<48>) key.low << 16 | key.port, c);
            bool hit_d;
            if (key.port != 1) hit_d = rules.lookup(key, d);
            if (!hit_d) hit_d = rules.lookup(turned, d);
            x.data = (uint<512>) a << 128 | (uint<512>) b << 144 | (uint<512>) c << 160 | (uint<512>) d << 176
                | (uint<512>) (hit_a | hit_b << 1 | hit_c << 2 | hit_d << 3) << 192;
        }
        write(out, x);
    }
}
Find :: find @
from_tor -> find -> to_tor
"""


def few(choose: random.Random, size: int) -> bytes:
    """Bytes of few values, and often the same, so that keys meet."""
    choose = random.Random(choose.randrange(60)) if choose.random() < 0.6 else choose
    return bytes(choose.choice([0, 0, 1, 0x80, 0xFF]) for _ in range(size))


def update(choose: random.Random) -> str:
    """A call of a signal of Find; keys as its packets have them, prefixes and masks of every length."""
    kind = choose.choice(["pairs", "routes", "wide", "rules"])
    data = few(choose, 9)
    high, low = (int.from_bytes(part, "little") for part in (data[:4], data[4:8]))
    key = high << 40 | low << 8 | data[8]
    value, is_insert = choose.getrandbits(16), choose.random() < 0.65
    if kind == "pairs":
        arguments = [key, value][: 1 + is_insert]
    elif kind == "routes":
        arguments = [high, choose.randint(0, 33), value][: 2 + is_insert]
    elif kind == "wide":
        arguments = [low << 16 | data[8], choose.randint(0, 49), value][: 2 + is_insert]
    else:
        priority = choose.randint(1, 70)
        mask = int.from_bytes(few(choose, 9), "little") | (choose.getrandbits(1) * 0xFFFF0000 << 40)
        arguments = [key, mask, priority, value] if is_insert else [priority]
    return f"find.{kind}_{'insert' if is_insert else 'remove'}:{','.join(map(str, arguments))}"


@pytest.mark.parametrize("ternary_rules", [50, 1500])
def test_tables_find_what_the_interpreter_finds_while_rules_change(tmp_path: Path, ternary_rules: int) -> None:
    choose = random.Random(1)
    text = TABLES.replace("rules[50]", f"rules[{ternary_rules}]")
    packets = [few(choose, 9) + bytes(choose.choice([51, 55, 80])) for _ in range(1000)]
    signals = [f"{update(choose)}@{choose.randrange(1000)}" for _ in range(1500)]
    for number in range(ternary_rules - 50):  # from some packet on more than are bits
        key, mask = (int.from_bytes(few(choose, 9), "little") for _ in range(2))
        at = 100 + 900 * number // ternary_rules
        signals.append(f"find.rules_insert:{key},{mask},{1000 + number},{number}@{at}")
    expected = run(text, [packets], tmp_path, "interpreter", signals)
    assert run(text, [packets], tmp_path, "cpu", signals) == expected
    hits = [data[24] for data in expected.left[0]]
    assert all(50 < sum(hit >> bit & 1 for hit in hits) < 990 for bit in range(4)), "hits and misses of every kind"
    errors = {answer for answers in expected.answers.values() for answer in answers}
    assert {0, 2, 22, 28} <= errors, "inserted, not there, too long, full"


def test_tables_find_the_same_in_bursts() -> None:
    """Keys of packets that wait are looked up ahead, also of those that do not ask."""
    program, choose = program_of(TABLES), random.Random(5)
    (one,) = program.elements
    assert [key.lookup.table.name for key in keys_ahead(one)] == ["pairs", "routes", "wide", "rules", "rules"]
    inserts = [text for text in (update(choose) for _ in range(600)) if "insert" in text]
    calls = [(call.instance, call.signal) for call in (call_of(program, text) for text in inserts)]
    packets = [(0, few(choose, 9) + bytes(choose.choice([51, 55, 80]))) for _ in range(500)]
    job = Job("J", program, packets, calls)
    ran = graph_targets.packets([job], [0], flags=SANITIZED)
    assert disagreement(job, ran) == ""


@pytest.mark.parametrize(
    ("body", "is_ahead"),
    [
        ("if (x.sop) found = t.lookup((uint<32>) x.data, v); write(out, x);", True),
        ("if (x.sop) { uint<32> key = (uint<32>) x.data; found = t.lookup(key + 1, v); } write(out, x);", True),
        ("if (x.sop) { uint<32> key = 1; if (x.eop) key = 2; found = t.lookup(key, v); } write(out, x);", False),
        ("if (x.sop) found = t.lookup(n, v); write(out, x);", False),
        ("if (x.sop) { x.data = 0; found = t.lookup((uint<32>) x.data, v); } write(out, x);", False),
        ("if (x.eop) { x.data = 0; } if (x.sop) found = t.lookup((uint<32>) x.data, v); write(out, x);", False),
        ("if (x.sop) { uint<32> key; if (x.eop) key = 2; found = t.lookup(key, v); } write(out, x);", False),
        ("uint<32> key; if (x.sop) found = t.lookup(key, v); key = (uint<32>) x.data; n = key; write(out, x);", False),
        ("if (x.sop) { found = t.lookup((uint<32>) x.data, v); x.data = 0; } write(out, x);", True),
        ("if (x.sop) { found = t.lookup(n, x.meta.egress_mask); found = t.lookup(x.meta.egress_mask, v); } write(out, x);", False),
        ("for (int i = 0; i < 2; i++) found = t.lookup((uint<32>) (x.data >> i), v); write(out, x);", False),
    ],
)
def test_keys_that_can_be_looked_up_ahead(body: str, is_ahead: bool) -> None:
    text = ELEMENT.format(inputs="", outputs="", state="bool found; uint<8> v; uint<32> n;", body=body)
    (one,) = program_of(text.replace(".state", "table exact<uint<32>, uint<8>> t[4]; .state")).elements
    assert bool(keys_ahead(one)) == is_ahead
