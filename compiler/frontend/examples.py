# SPDX-License-Identifier: Apache-2.0
"""A small program for each message code, wrong and corrected: `sluice explain CODE` shows both, and a test checks them.

In a text, `«wrong»«right»` marks the difference. `NOTES` explains codes that no single program shows.
"""

from __future__ import annotations

import re

PASS = """\
.element Pass (packet in -> packet out) {{
    .handler {{
        flit x = read(in);
{body}
        write(out, x);
    }}
}}
"""
ELEMENT = """\
.element Pass (packet in -> packet out) {{
{body}
}}
"""


def _handler(body: str) -> str:
    """Statements between a `read` and a `write`."""
    return PASS.format(body="\n".join(f"        {line}" for line in body.splitlines()))


def _element(body: str) -> str:
    return ELEMENT.format(body="\n".join(f"    {line}" for line in body.splitlines()))


READ_WRITE = ".handler { write(out, read(in)); }"

EXAMPLES = {
    "E0101": _handler("uchar c = «'a'»«0x61»;"),
    "E0102": _handler("/* the mark of the packet «»«*/»\nx.meta.mark = 1;"),
    "E0103": _handler('print("hello«»«"»);'),
    "E0104": _handler("x.meta.mark = «0xfg»«0xff»;"),
    "E0201": _handler("«float»«uint» half = 5;"),
    "E0202": _handler("uint y = 5«»«;»\nx.meta.mark = y;"),
    "E0205": _element(READ_WRITE + "\n«.handler { read(in); }»«»"),
    "E0206": _element(READ_WRITE + '\n«.native vhdl "pass.vhd"»«»'),
    "E0301": "constexpr uint WIDTH = 8;\nconstexpr uint «WIDTH»«DEPTH» = 9;\n",
    "E0302": "struct entry_t { uint<8> «priority»«rank»; }\n",
    "E0303": "constexpr uint A = B + 1;\nconstexpr uint B = «A»«1» + 1;\n",
    "E0304": "constexpr uint OFFSET = «0 - 1»«1»;\n",
    "E0305": "enum small_t : uint<2> { «FIRST = 3»«FIRST = 0», SECOND }\n",
    "E0306": "struct empty_t { «»«uint<8> field;» }\n",
    "E0307": "struct pair_t { uint<8> a; uint<8> «a»«b»; }\n",
    "E0308": "header half_t { uint<«12»«16»> field; }\n",
    "E0309": _handler("uint t[«1 << 20»«16»];\nt[0] = x.meta.mark;"),
    "E0311": "registers window {\n    ro uint<«64»«32»> status @ 0x000;\n}\n",
    "E0312": "registers window {\n    ro uint<32> status @ 0x00«6»«4»;\n}\n",
    "E0313": "registers window {\n    ro uint<32> status @ 0x000;\n    ro uint<32> events @ 0x00«0»«4»;\n}\n",
    "E0314": "struct pair_t { uint<8> a; uint<8> b; }\nstatic_assert bits(pair_t) == «17»«16»;\n",
    "E0315": _handler("uint<«0»«1»> flag;"),
    "E0316": _element(
        "table «hash»«exact»<uint<32>, uchar> known[16];\n.handler {\n    flit x = read(in);\n    uchar value;\n"
        "    if (known.lookup(x.meta.mark, value)) x.meta.queue = (uint<4>) value;\n    write(out, x);\n}"
    ),
    "E0317": _element(".state { uint t[«0»«4»]; }\n" + READ_WRITE),
    "E0318": "constexpr uint WIDTH = 8;\nconstexpr uint TWICE = 2 * «WIDHT»«WIDTH»;\n",
    "E0319": "struct pair_t { uint<8> a; uint<8> b; }\nstatic_assert «sizeof»«bytes»(pair_t) == 2;\n",
    "E0320": "constexpr uint LANES = «0»«4»;\nconstexpr uint SHARE = 64 / LANES;\n",
    "E0323": _handler("uint t[«x.meta.length»«16»];\nt[0] = x.meta.mark;"),
    "E0401": _handler("uint sum = 0;\n«smu»«sum» += 1;"),
    "E0402": _handler("uint y = 1;\nuint «y»«z» = 2;"),
    "E0403": _handler("uint y = «ushort»«5»;"),
    "E0404": _handler("if («x.length»«x.meta.length» > 100) x.meta.mark = 1;"),
    "E0405": _handler("x.meta.mark = «x»«x.meta.length»;"),
    "E0406": _handler("uint<4> small = «16»«15»;"),
    "E0407": _handler("int y = 5;\nif («y»«(uint) y» < x.meta.mark) x.meta.mark = 0;"),
    "E0408": _handler("uint t[4];\nt[«4»«3»] = 1;"),
    "E0409": _handler("«out = x;»«»"),
    "E0410": "uint twice(uint n) { return 2 * n; }\n" + _handler("x.meta.mark = twice(«1, 2»«1»);"),
    "E0411": _handler("uint at = 14;\nipv4_t *ip = (ipv4_t *) (&x.data + «at»«14»);\nx.meta.mark = ip->ttl;"),
    "E0412": "uint sum(uint n) { return «n == 0 ? 0 : n + sum(n - 1)»«n * (n + 1) / 2»; }\n" + _handler("x.meta.mark = sum(3);"),
    "E0413": _handler("uint n = x.meta.mark;\nwhile (n != 0) «»«.unroll(32)» {\n    n = n >> 1;\n}"),
    "E0414": _handler("«x.meta.mark + 1;»«x.meta.mark += 1;»"),
    "E0415": _element(READ_WRITE + "\n.signal uint get() { return«»« 1»; }"),
    "E0416": _handler("if (x.sop) «break»«x.meta.mark = 1»;"),
    "E0417": _handler("switch (x.meta.queue) {\ncase 0: x.meta.mark = 1;«»« break;»\ncase 1: x.meta.mark = 2; break;\n}"),
    "E0418": _element(".state { «global»«local» ulong table[1024]; }\n" + READ_WRITE),
    "W0320": _handler("x.meta.mark = x.meta.mark / «0»«10»;"),
    "W0507": ".element Pass (packet in«, packet spare»«» -> packet out) {\n    .handler { write(out, read(in)); }\n}\n",
    "E0501": _handler("«write(x, out)»«x.meta.mark = 1»;"),
    "E0502": _handler("«read(out);»«»"),
    "E0503": _handler("if («test_input_port(PORT_1)»«test(in)») x.meta.mark = 1;"),
    "E0504": _handler("«write(out, x);»«»"),
    "W0504": """\
.element Pass <1, 1> {
    .handler {
        if (get_input_port() != PORT_1) return (PORT_1);
        flit x = read_input_port(PORT_1);
        «set_output_port(PORT_1, x);»«»
        set_output_port(PORT_1, x);
        return (PORT_1);
    }
}
""",
    "E0505": _element(READ_WRITE + "\n.signal uint get() { «flit x = read(in);»«» return 1; }"),
    "E0506": _element(".state { ulong count; }\n«»«" + READ_WRITE + "»"),
    "E0507": "Tee<«M»«N» = 2> :: tee\nfrom_tor -> tee\ntee [1] -> to_tor\ntee [2] -> Drop\n",
    "E0508": _handler(
        ".state_machine (x.data) {\n    ethernet: {\n        ethernet_t *eth = take(ethernet_t);\n"
        "        if (eth->ethertype == ETHERTYPE_IPV4) goto_state «ip»«ipv4»;\n    }\n    ipv4: { take(ipv4_t); }\n}"
    ),
    "E0601": "from_tor -> «Cuont»«Count» -> to_tor\n",
    "E0602": "Count :: a\nCount :: «a»«b»\nfrom_tor -> a -> «a»«b» -> to_tor\n",
    "E0603": "Count :: a\nfrom_tor -> a -> to_tor\n«a -> to_lane[1]\n»«»",
    "E0604": "Tee :: tee\nfrom_tor -> tee\ntee [1] -> to_tor\n«»«tee [2] -> Drop\n»",
    "E0605": ".element Lengths (packet in -> uint<16> out) {\n"
    "    .handler { flit x = read(in); if (x.sop) write(out, x.meta.length); }\n}\n"
    "from_tor -> Lengths -> «Drop»«Drop<T = uint<16>>»\n",
    "E0606": "from_tor ->(«0»«16») Count -> to_tor\n",
    "E0607": "from_lane[«99»«1»] -> Count -> to_tor\n",
    "E0608": ".element_group Both (packet in -> packet out) { in -> «Both»«Count» -> out }\nfrom_tor -> Both -> to_tor\n",
    "E0609": '«import "nowhere.sl";»«»\nfrom_tor -> Count -> to_tor\n',
    "E0801": _element(
        "table exact<uint<«400»«64»>, uchar> known[16];\n.handler {\n    flit x = read(in);\n    uchar value;\n"
        "    if (known.lookup((uint<«400»«64»>) x.data, value)) x.meta.mark = value;\n    write(out, x);\n}"
    ),
    "W0604": ".element Pass (packet in -> packet out) {\n    .handler { write(out, read(in)); }\n}\n"
    "«Pass :: a\nPass :: b\na -> b -> a\n»"
    "«Pass :: a\nPass :: b\nMux :: m\nTee :: t\nfrom_tor -> [1] m -> a -> b -> t [1] -> to_tor\nt [2] => [2] m\n»",
}  # fmt: skip

# Codes that only layouts trigger; their example is a layout.
LAYOUTS = frozenset({"E0301", "E0302", "E0304", "E0311", "E0312", "E0313", "E0318"})

NOTES = {
    "E0105": "Check the name of the file. A program must be a UTF-8 text file.",
    "E0106": '`import` in a layout names another file of `layouts/`, as in `import "eth/ethernet.sl";`. Programs do not need it.',
    "E0107": "Check the permissions of the folder and the free space on the disk.",
    "E0203": "Split the expression: assign parts of it to variables. Move inner blocks into functions.",
    "E0414": "If a value is not used, assign it. If a function returns none, call it as a separate statement. An expression that "
    "changes a variable or takes a token is not allowed after `&&`, `||`, `?` or in the condition of a loop: assign it first.",
    "E0204": "Close the block with `}` before the next `struct`, `header`, `enum` or `registers`.",
    "E0310": "`./sluice layouts --set NAME=VALUE` changes a constant that a layout declares with `constexpr`.",
    "E0321": "A chain of constants or functions is thousands of steps long. Split it.",
    "E0802": "Use smaller arrays and fewer loop iterations, or run the program with `--target cpu`.",
    "E0803": "Ask for a slower clock: `./sluice build --clock 100`. `./sluice report --clock 100` reports the result. "
    "If the start of an iteration depends on a lookup or a memory entry, a slower clock does not help: always read the "
    "inputs, and keep tokens that are not needed yet in a state. Nor does it where the element is too large: use shorter loops and "
    "smaller arrays.",
    "E0804": "Run it with `--target cpu`. The message names the unsupported part.",
    "E0805": "The shell has 16 channels to the host and 16 from it. Merge some with an element, or move elements to one side.",
    "E0807": "`docs/guide/deploy.md` says which programs the overlay runs. `--target cpu` and `sim` run all programs.",
    "E0808": "`docs/guide/deploy.md` lists what a unit compares and computes.",
    "E0809": "`./sluice deploy --dry-run` shows the units and entries of a program. A device may have more units.",
    "E0810": "`docs/guide/deploy.md` describes the file.",
    "E0811": "Each write of a loop takes a cycle. Make the period longer, or do a part of the loop in each run.",
    "E0806": "The message names the port. Native bodies are described in `docs/guide/language.md`.",
}

DIFFERENCE = re.compile("«([^«»]*)»«([^«»]*)»")


def wrong(code: str) -> str:
    """The program that triggers the code."""
    return _without_blank(DIFFERENCE.sub(r"\1", EXAMPLES[code]))


def corrected(code: str) -> str:
    """The corrected program."""
    return _without_blank(DIFFERENCE.sub(r"\2", EXAMPLES[code]))


def _without_blank(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip()) + "\n"
