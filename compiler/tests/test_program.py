# SPDX-License-Identifier: Apache-2.0
"""Right programs and what they mean: `programs/NAME.typed` and `compiler/tests/figures` hold the typed tree as text.

After a wanted change: `SLUICE_BLESS=1 build/env/bin/python -m pytest compiler/tests`, then read the diff.
"""

import os
import re
from pathlib import Path

import pytest

from compiler.frontend import show, typed
from compiler.frontend.program import LIBRARY, load, load_text
from compiler.frontend.source import Diagnostics
from toolchain import ROOT

FOLDER = Path(__file__).parent / "programs"
FIGURES = ROOT / "compiler" / "tests" / "figures"
PROGRAMS = {path.stem: path for path in sorted([*FOLDER.glob("*.sl"), *FIGURES.glob("figure*.sl")])}
del PROGRAMS["library"]  # what its elements mean is compared with models by their own tests


def program(text: str) -> typed.Program:
    diagnostics = Diagnostics()
    found = load_text(text, "test.sl", diagnostics)
    assert found is not None, "".join(error.render() for error in diagnostics.sorted())
    return found


def handler(body: str, states: str = "") -> str:
    """The typed text of a handler, and nothing else."""
    found = program(f".element E (packet in -> packet out) {{ {states} .handler {{ {body} }} }}")
    text = show.program(found)
    start = text.index("    handler {\n") + len("    handler {\n")
    return " ".join(text[start : text.index("\n    }", start)].split())


def errors(body: str, states: str = "") -> list[str]:
    diagnostics = Diagnostics()
    load_text(f".element E (packet in -> packet out) {{ {states} .handler {{ {body} }} }}", "test.sl", diagnostics)
    return [error.code for error in diagnostics.sorted()]


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_typed_tree(name):
    diagnostics = Diagnostics()
    found = load(PROGRAMS[name], diagnostics)
    assert found is not None, "".join(error.render() for error in diagnostics.sorted())
    said, expected = show.program(found), FOLDER / f"{name}.typed"
    if os.environ.get("SLUICE_BLESS"):
        expected.write_text(said)
    assert said == expected.read_text(), "if this is meant: SLUICE_BLESS=1, then read the diff"


ELEMENTS = sorted(path for path in LIBRARY.glob("*/*.sl") if path.stem == path.parent.name)  # others are imported by them


@pytest.mark.parametrize("path", ELEMENTS, ids=lambda path: path.stem)
def test_library_element(path):
    diagnostics = Diagnostics()
    found = load(path, diagnostics)
    assert found is not None, "".join(error.render() for error in diagnostics.sorted())
    assert path.stem in [element.source_name.lower() for element in found.elements]


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("a + a", "ulong((int<32>(a) + int<32>(a)))"),  # uchar promotes
        ("u + 1", "ulong((u + 1))"),
        ("u * i", "ulong((u * uint<32>(i)))"),  # same rank: unsigned wins
        ("l + i", "(l + ulong(i))"),
        ("a << 40", "ulong((int<32>(a) << 40))"),
        ("u >> a", "ulong((u >> a))"),
        ("-a", "ulong(-int<32>(a))"),
        ("~u", "ulong(~u)"),
        ("1 + 2 * 3", "7"),
        ("1 << 31", "18446744071562067968"),  # int<32> wraps, and its sign extends
        ("7 / 0", "18446744073709551615"),
        ("-7 % 4", "18446744073709551613"),
        ("(uchar) 300", "44"),
        ("0xffffffff + 1", "0"),
        ("4294967295 + 1", "4294967296"),
        ("a == 3 && u < 5", "ulong(((int<32>(a) == 3) && (u < 5)))"),
        ("a ? u : i", "ulong(((a != 0) ? u : uint<32>(i)))"),
        ("!u", "ulong((!(u != 0)))"),
        ("(int<8>) a", "ulong(int<8>(a))"),
        ("(uchar) (a + a)", "ulong(uint<8>((int<32>(a) + int<32>(a))))"),
        ("(int) a", "ulong(a)"),
        ("(a + a) < u", "ulong((uint<32>((int<32>(a) + int<32>(a))) < u))"),  # surely not negative
        ("bits(flit) + bytes(uint<12>) + clog2(9)", "666"),
    ],
)
def test_arithmetic_is_that_of_c(expression, text):
    states = "uchar a; uint u; int i; ulong l;"
    said = handler(f"l = {expression};", states).replace("uint<64>", "ulong").replace("uint<8>(a)", "a")
    squeeze = str.maketrans("", "", "() ;")
    assert said.removeprefix("l = ").translate(squeeze) == text.translate(squeeze)


def test_the_guide_is_right():
    blocks = re.findall(r"```\n(.*?)```", (ROOT / "docs" / "guide" / "language.md").read_text(), re.S)
    count, configuration, machine = (
        next(b for b in blocks if word in b) for word in (".element Count", "counter @", ".state_machine")
    )
    assert count in re.sub(r" *\.native .*\n", "", (LIBRARY / "count" / "count.sl").read_text())
    assert [instance.name for instance in program(count + configuration).instances] == ["counter", "tee", "logger"]
    body = f".state {{ uchar protocol; uint too_short; }} .handler {{ flit x = read(in); {machine} write(out, x); }}"
    program(f".element E (packet in -> packet out) {{ {body} }}")


def test_a_header_is_seen_in_network_byte_order():
    said = handler("flit x = read(in); ipv4_t *ip = (ipv4_t *) (&x.data + 14); if (ip->ttl == 0) write(out, x);")
    assert "if ((int<32>(x[511:0]~[271:112][95:88]) == 0))" in said


def test_a_view_keeps_the_index_that_it_was_made_with():
    said = handler(
        "struct e_t { uint a; uint b; }; e_t *e = &t[i]; i = 5; e->b = 1;", "struct e_t { uint a; uint b; } t[8]; uint i;"
    )
    assert said == "index = i; i = 5; t[[index of 8 e_t]][31:0] = 1;"


def test_a_compound_assignment_evaluates_its_index_once():
    said = handler("t[f()] += 2;", "uint n; uint t[8]; uint f() { n += 1; return n; }")
    assert said == "index = f(); t[[index of 8 uint<32>]] = (t[[index of 8 uint<32>]] + 2);"


def test_select_says_which_port_it_took():
    head = ".element E (packet a, packet b[2] -> packet out) { .state { uchar n; }"
    text = show.program(program(f"{head} .handler {{ write(out, select(a, b, &n)); n = test(b[1]) + peek(b[n]).sop; }} }}"))
    assert "write(out, select(a, b_0, b_1, &n));" in text
    assert "((n == 0) ? peek(b_0) : ((n == 1) ? peek(b_1) : flit_t(0x0)))" in text.replace("uint<32>(n)", "n")


@pytest.mark.parametrize(
    ("loop", "bound"),
    [
        ("for (uint i = 0; i < 10; i++)", 10),
        ("for (uint i = 0; i <= 10; i += 3)", 4),
        ("for (int i = 9; i >= 0; i--)", 10),
        ("for (uchar i = 250; i != 2; i++)", 8),
        ("for (uint i = 0; i < 0; i++)", 1),
        ("for (uint i = 0; i < n; i++) .unroll(6)", 6),
        (".unroll(7) while (n > 3)", 7),
        ("for (uint i = 0; i < small; i++)", 15),  # of uint<4>
        ("for (uint i = 2; i <= (n & 7); i++)", 6),
    ],
)
def test_bound_of_a_loop(loop, bound):
    assert f"at most {bound} {{" in handler(f"{loop} {{ n += 1; }}", "uint n; uint<4> small;")


@pytest.mark.parametrize(
    "loop",
    ["for (uint i = 0; i < n; i++)", "while (n)", "for (uint i = 0; i < 9; i += 0)", "for (;;)", "for (uchar i = 0; i < 300; i++)"],
)
def test_a_loop_without_a_bound_is_an_error(loop):
    assert errors(f"{loop} {{ n += 1; }}", "uint n;") == ["E0413"]


def test_a_counter_that_the_body_changes_has_no_bound():
    assert errors("for (uint i = 0; i < 9; i++) { i = n; }", "uint n;") == ["E0413"]


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        ("flit x = read(in); write(out, x); write(out, x);", ["E0504"]),
        ("flit x = read(in); if (x.sop) write(out, x); write(out, x);", ["E0504"]),
        ("flit x = read(in); if (x.sop) { write(out, x); return; } write(out, x);", []),
        ("flit x = read(in); if (x.sop) write(out, x); else write(out, x);", []),
        ("flit x = read(in); for (uint i = 0; i < 2; i++) write(out, x);", ["E0504"]),
        ("flit x = read(in); for (uint i = 0; i < 2; i++) { write(out, x); break; }", []),
        ("flit x = read(in); send(x); send(x);", ["E0504"]),
    ],
)
def test_a_port_is_written_once_on_a_path(body, codes):
    assert errors(body, "void send(flit x) { write(out, x); }") == codes


def test_a_division_by_zero_and_an_input_that_is_never_read_are_warnings():
    diagnostics = Diagnostics()
    text = ".element E (uint in, uint spare -> uint out) { .handler { uint x = read(in); write(out, x / 0 + x % 1); } }"
    assert load_text(text, "test.sl", diagnostics) is not None
    assert [(warning.code, warning.text) for warning in diagnostics.sorted()] == [
        ("W0507", "the handler never reads 'spare'"),
        ("W0320", "division by 0"),
    ]


PASS = ".element Pass (packet in -> packet out) { .handler { write(out, read(in)); } }"
FIRST = """.element First (packet in -> packet out) { .state { bool began; }
    .handler { if (began) { write(out, read(in)); return; } began = true; flit x; x.sop = 1; x.eop = 1; write(out, x); } }"""


@pytest.mark.parametrize(
    ("configuration", "loops"),
    [
        ("Pass :: a Pass :: b a -> b -> a", ["no token can enter the loop a -> b -> a"]),
        ("Pass :: a Mux :: m a -> [1] m -> a Idle -> [2] m", ["no token can enter the loop a -> m -> a"]),
        ("Pass :: a Mux :: m Tee :: t from_tor -> [1] m -> a -> t [1] -> to_tor t [2] -> [2] m", []),
        ("First :: a Pass :: b a -> b -> a", []),
        ("Idle -> Pass -> to_tor", []),
    ],
)
def test_a_loop_into_which_no_token_can_come_is_a_warning(configuration: str, loops: list[str]) -> None:
    diagnostics = Diagnostics()
    assert load_text(f"{PASS}\n{FIRST}\n{configuration}\n", "test.sl", diagnostics) is not None, diagnostics.errors
    assert [warning.text for warning in diagnostics.warnings] == loops


def test_the_library_has_no_warning():
    for path in sorted(LIBRARY.glob("*/*.sl")):
        diagnostics = Diagnostics()
        assert load(path, diagnostics) is not None and not diagnostics.warnings, path


def test_the_last_write_of_a_numbered_element_wins_with_a_warning():
    diagnostics = Diagnostics()
    body = "flit x = read_input_port(PORT_1); set_output_port(PORT_1, x); x.sop = 0; set_output_port(PORT_1, x);"
    assert load_text(f".element E <1, 1> {{ .handler {{ {body} }} }}", "test.sl", diagnostics) is not None
    assert [warning.code for warning in diagnostics.warnings] == ["W0504"]


END = " b [1] -> Drop b [2] -> Drop Idle -> b"


def test_a_parameter_makes_an_element_of_its_own():
    found = program("Tee<uint<8>, 3> :: a Tee :: b .repeat (i, 0, 3) { a.out[i] -> Drop<uchar> } Idle -> a" + END)
    names = {instance.name: instance.element.name for instance in found.instances}
    assert names["a"] == "Tee_uint_8_3" and names["b"] == "Tee_packet_2" and names["drop_1_0"] == "Drop_uint_8"


def test_what_is_imported_can_have_a_namespace(tmp_path):
    (tmp_path / "lib.sl").write_text(".element Count (packet in -> packet out) { .handler { write(out, read(in)); } }\n")
    (tmp_path / "main.sl").write_text(
        'import "lib.sl" as lib;\nlib::Count :: mine\nCount :: theirs\nfrom_tor -> mine -> theirs -> lib::Count -> to_tor\n'
    )
    diagnostics = Diagnostics()
    found = load(tmp_path / "main.sl", diagnostics)
    assert found is not None and not diagnostics
    mine, theirs, other = found.instances
    assert not mine.element.states and theirs.element.states and other.element is mine.element


def test_an_imported_file_is_read_as_it_is_now(tmp_path):
    """Its syntax tree is kept from load to load: not that of another text, and none that was reported."""
    main, library = tmp_path / "main.sl", tmp_path / "lib.sl"
    main.write_text('import "lib.sl";\nfrom_tor -> Own -> to_tor\n')
    for name, codes in (("Own", []), ("Other", ["E0601"]), ("Own {", ["E0201"]), ("Own {", ["E0201"]), ("Own", [])):
        library.write_text(f".element {name} (packet in -> packet out) {{ .handler {{ write(out, read(in)); }} }}\n")
        diagnostics = Diagnostics()
        load(main, diagnostics)
        assert [error.code for error in diagnostics.errors] == codes, name


@pytest.mark.parametrize("text", ['import "{}.sl";', '.element E (packet in -> packet out) {{ .native sv "{}.sv" }}'])
def test_a_file_name_that_is_too_long_is_an_error_like_any_other(text):
    diagnostics = Diagnostics()
    assert load_text(text.format("x" * 5000), "test.sl", diagnostics) is None
    assert [error.code for error in diagnostics.sorted()] == ["E0609"]
