# SPDX-License-Identifier: Apache-2.0
"""C++ names, types and constants: integers are `Uint<N>` and `Int<N>`, arrays `Array<T, N>`, structs keep their name and fields."""

from __future__ import annotations

import re
from collections.abc import Iterable

from compiler.frontend import typed

KEYWORDS_WORDS = """
EOF NULL alignas alignof and and_eq asm assert auto bitand bitor bool break case catch char char16_t char32_t char8_t class
co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype default delete do
double dynamic_cast else enum errno explicit export extern false float for friend goto if inline int linux long mutable
namespace new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires
return short signed sizeof static static_assert static_cast stderr stdin stdout struct switch template this thread_local
throw true try typedef typeid typename union unix unsigned using virtual void volatile wchar_t while xor xor_eq
"""
KEYWORDS = frozenset(KEYWORDS_WORDS.split())
# What generated code uses of the run-time, in scope everywhere.
RUN_TIME_WORDS = """
ALL_DATA ASKS_TIME Adopted Alone Array Arrived BURST Blocked Bool Bytes DATA_READ Done Element ElementBase ElementOf ExactTable
Exit Frame FromLane FromQueue Graph Guard HEADERS_ONLY In InBuffer Input InputPort Int Integer Into LOGGED LOOKS_AHEAD Lasting
LpmTable MAY_WAIT NUMBERED Nexts NoBurst NoGuard Nowhere Out Outlet Output OutputPort Packet PacketBody PacketInput PacketOutput
Parameters Program Queue Rounds Select SignalCall Stage State Step StepBurst StepInput StepInputs StepOutput StepOutputs
TernaryTable Uint Visit Words Writer answer answers argument call can_begin commit_tokens decimal drop dump each_input each_next
each_output each_select entry fail failures find found from_words get_word hand_on hand_on_packet handler hex hit in index init
inputs iterations keep kept lasting lasts left lines log look_ahead low_ones make_element mask name nexts note_end note_later now
number_at out outputs packet part pass pass_whole peek print program put put_entry put_number put_word random read ready_mask run
same_bits seed serve settle signal signals sluice start state std step step_outputs swapped ticks to_words token value view visit
wait_for waiting whole width words
"""
RUN_TIME = frozenset(RUN_TIME_WORDS.split())
FIELD_NAMES = (
    "width",
    "View",
    "Whole",
    "store",
    "load",
    "words",
    "low",
    "uint64_t",
    "size_t",
    "Array",
    "Int",
    "Uint",
    "Bool",
)  # what a struct uses


class Namer:
    """Gives every thing a C++ name of its own, as near to its name in the source as can be."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken = {*KEYWORDS, *taken}

    def __call__(self, name: str) -> str:
        base = re.sub(r"_+", "_", re.sub(r"\W", "_", name)).strip("_") or "anonymous"
        base = f"n{base}" if base[0].isdigit() else base
        found, count = base, 1
        while found in self.taken:
            count += 1
            found = f"{base}_{count}"
        self.taken.add(found)
        return found


def quoted(text: str) -> str:
    """A string literal."""
    escaped = "".join(c if c.isascii() and c.isprintable() and c not in '"\\?' else _escaped(c) for c in text)
    return f'"{escaped}"'


def _escaped(char: str) -> str:
    return "\\" + char if char in '"\\?' else "".join(f"\\{byte:03o}" for byte in char.encode())


class Types:
    """The structs of a program, in the order in which C++ needs them."""

    def __init__(self, names: Namer) -> None:
        self.names = names
        self.structs: dict[typed.Struct, str] = {}
        self.fields: dict[typed.Struct, dict[str, str]] = {}
        self.views: set[typed.Struct] = set()  # flits: their data can stay in the packet

    def name(self, kind: typed.Type) -> str:
        """The C++ type."""
        match kind:
            case typed.Integer(name="bool"):
                return "Bool"
            case typed.Integer(bits=bits, signed=signed):
                return f"{'Int' if signed else 'Uint'}<{bits}>"
            case typed.Array(element=element, count=count):
                return f"Array<{self.name(element)}, {count}>"
            case typed.Struct():
                return self._struct(kind)

    def same(self, a: typed.Type, b: typed.Type) -> bool:
        """Whether C++ sees one type."""
        if isinstance(a, typed.Integer) and isinstance(b, typed.Integer):
            return (a.bits, a.signed) == (b.bits, b.signed)
        return self.name(a) == self.name(b)

    def _struct(self, kind: typed.Struct) -> str:
        if kind not in self.structs:
            for field in kind.fields:
                self.name(field.type)
            self.structs[kind] = self.names(kind.name)
            fields = Namer((*FIELD_NAMES, *self.structs.values()))
            self.fields[kind] = {field.name: fields(field.name) for field in kind.fields}
        return self.structs[kind]

    def flit(self, kind: typed.Type) -> str:
        """The type of a packet port, which has a view."""
        assert isinstance(kind, typed.Struct)
        self.views.add(kind)
        return self.name(kind)

    def declarations(self) -> str:
        """Every struct that was named."""
        return "\n".join(self._declaration(kind) + (self._view(kind) if kind in self.views else "") for kind in self.structs)

    def _view(self, kind: typed.Struct) -> str:
        """Of a flit: the same members, the data in the packet."""
        names, own = self.fields[kind], self.structs[kind]
        kinds = {f.name: self.name(f.type) for f in kind.fields}
        kinds["data"] = f"InBuffer<{kinds['data']}>"
        members = "".join(f"    {kinds[f.name]} {names[f.name]}{{}};\n" for f in kind.fields)
        values = ", ".join(f"whole({names[f.name]})" for f in kind.fields)
        copies = "".join(f"        {names[f.name]} = flit.{names[f.name]};\n" for f in kind.fields)
        return (
            f"#ifdef SLUICE_CPU_VIEWS_H\n"
            f"struct {own}::View {{\n    using Whole = {own};\n    static constexpr unsigned width = {kind.bits};\n{members}"
            f"    operator {own}() const {{ return {{{values}}}; }}\n"
            f"    View &operator=(const {own} &flit) {{\n{copies}        return *this;\n    }}\n"
            f"    void store(uint64_t *words, size_t low) const {{ {own}(*this).store(words, low); }}\n}};\n#endif\n"
        )

    def _declaration(self, kind: typed.Struct) -> str:
        names = self.fields[kind]
        members = "".join(f"    {self.name(f.type)} {names[f.name]}{{}};\n" for f in kind.fields)
        stores = "".join(f"        {names[f.name]}.store(words, low + {f.low});\n" for f in kind.fields)
        loads = "".join(f"        {names[f.name]}.load(words, low + {f.low});\n" for f in kind.fields)
        own = self.structs[kind]
        view = "    struct View;\n" if kind in self.views else ""
        return (
            f"struct {own} {{\n    static constexpr unsigned width = {kind.bits};\n{view}{members}"
            f"    void store(uint64_t *words, size_t low) const {{\n{stores}    }}\n"
            f"    void load(const uint64_t *words, size_t low) {{\n{loads}    }}\n"
            f"    friend bool operator==(const {own} &, const {own} &) = default;\n}};\n"
        )

    def constant(self, value: int, kind: typed.Type) -> str:
        """A literal of that type."""
        own = self.name(kind)
        if not isinstance(kind, typed.Integer):
            return f"{own}{{}}" if value == 0 else f"from_words<{own}>({{{_words(value, kind.bits)}}})"
        if value >= 1 << 64:
            return f"{own}{{{_words(value, kind.bits)}}}"
        negative = value - (1 << kind.bits)
        if kind.signed and value >> (kind.bits - 1) and negative > -(1 << 31) and kind.bits <= 64:
            return f"{own}({negative})"
        return f"{own}({value})" if value < 1 << 16 else f"{own}({value:#x}u)"


def layout(kind: typed.Type) -> str:
    """A text that two types have in common where their values are the same bits with the same names."""
    match kind:
        case typed.Integer(bits=bits, signed=signed):
            return f"{'i' if signed else 'u'}{bits}"
        case typed.Array(element=element, count=count):
            return f"{layout(element)}[{count}]"
        case typed.Struct(fields=fields):
            return "{" + " ".join(f"{field.name}:{layout(field.type)}" for field in fields) + "}"


def _words(value: int, bits: int) -> str:
    return ", ".join(f"{value >> low & (1 << 64) - 1:#x}u" for low in range(0, bits, 64))
