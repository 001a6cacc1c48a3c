# SPDX-License-Identifier: Apache-2.0
"""Layouts to one C header, `sluice_layouts.h`: C11, also valid C++20."""

from __future__ import annotations

from compiler.backends.names import NOTICE, base, placed, upper
from compiler.frontend.check import AggregateType, ConstantValue, EnumType, FieldType, Item, Layouts, RegistersType

PREAMBLE = """
#ifndef SLUICE_LAYOUTS_H
#define SLUICE_LAYOUTS_H

#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

// Places of fields are constants once all of this is inlined; then a field is a load or a store or two.
#define SLUICE_LAYOUT static inline __attribute__((always_inline))
#define SLUICE_SWAPS(big) (((big) != 0) == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__))

// `count` bytes (1 to 8) hold one integer, little-endian, or big-endian where `big`.
SLUICE_LAYOUT uint64_t sluice_load(const uint8_t *bytes, unsigned count, int big) {
    uint64_t eight, value = 0;
    uint32_t four;
    uint16_t two;
    unsigned done = 0;
    if (count == 8) {
        memcpy(&eight, bytes, 8);
        return SLUICE_SWAPS(big) ? __builtin_bswap64(eight) : eight;
    }
    if (count & 4) {
        memcpy(&four, bytes, 4);
        value = SLUICE_SWAPS(big) ? __builtin_bswap32(four) : four;
        done = 4;
    }
    if (count & 2) {
        memcpy(&two, bytes + done, 2);
        two = SLUICE_SWAPS(big) ? __builtin_bswap16(two) : two;
        value = big ? value << 16 | two : value | (uint64_t)two << 8 * done;
        done += 2;
    }
    if (count & 1)
        value = big ? value << 8 | bytes[done] : value | (uint64_t)bytes[done] << 8 * done;
    return value;
}

SLUICE_LAYOUT void sluice_store(uint8_t *bytes, unsigned count, int big, uint64_t value) {
    unsigned done = 0;
    if (count == 8) {
        uint64_t eight = SLUICE_SWAPS(big) ? __builtin_bswap64(value) : value;
        memcpy(bytes, &eight, 8);
        return;
    }
    if (count & 4) {
        uint32_t four = (uint32_t)(value >> (big ? 8 * (count - 4) : 0));
        four = SLUICE_SWAPS(big) ? __builtin_bswap32(four) : four;
        memcpy(bytes, &four, 4);
        done = 4;
    }
    if (count & 2) {
        uint16_t two = (uint16_t)(value >> 8 * (big ? count - done - 2 : done));
        two = SLUICE_SWAPS(big) ? __builtin_bswap16(two) : two;
        memcpy(bytes + done, &two, 2);
        done += 2;
    }
    if (count & 1)
        bytes[done] = (uint8_t)(value >> (big ? 0 : 8 * done));
}

// A register of a window, or `count` in a row from `offset` on. `reset`: its value after a reset, 0 where the device
// gives it. A kept register holds what the host writes, the bits of `mask`.
struct sluice_register {
    uint16_t offset, count;
    uint32_t mask, reset;
    uint8_t is_readable, is_writable, is_kept;
};

// `size` bytes hold one integer, little-endian, or big-endian where `big`; these read and write `width` (1 to 64) of its
// bits from bit `at` on, and touch no byte that has none of them.
SLUICE_LAYOUT uint64_t sluice_bits_get(const uint8_t *bytes, unsigned size, int big, unsigned at, unsigned width) {
    unsigned shift = at % 8, count = (shift + width + 7) / 8, first = count < 8 ? count : 8;
    const uint8_t *place = bytes + (big ? size - at / 8 - first : at / 8);
    uint64_t value = sluice_load(place, first, big) >> shift;
    if (count > 8)
        value |= (uint64_t)*(big ? place - 1 : place + 8) << (64 - shift);
    return width < 64 ? value & ((1ULL << width) - 1) : value;
}

SLUICE_LAYOUT void sluice_bits_put(uint8_t *bytes, unsigned size, int big, unsigned at, unsigned width, uint64_t value) {
    unsigned shift = at % 8, count = (shift + width + 7) / 8, first = count < 8 ? count : 8;
    uint8_t *place = bytes + (big ? size - at / 8 - first : at / 8);
    uint64_t mask = width < 64 ? (1ULL << width) - 1 : ~0ULL, kept = 0;
    value &= mask;
    if (shift || width % 8)
        kept = sluice_load(place, first, big) & ~(mask << shift);
    sluice_store(place, first, big, kept | value << shift);
    if (count > 8) {
        uint8_t *last = big ? place - 1 : place + 8;
        *last = (uint8_t)((*last & ~(mask >> (64 - shift))) | value >> (64 - shift));
    }
}

// The same of `count` whole bytes.
SLUICE_LAYOUT void sluice_bytes_get(const uint8_t *bytes, unsigned size, int big, unsigned at, unsigned count, uint8_t *value) {
    if (at % 8 == 0)
        memcpy(value, bytes + (big ? size - at / 8 - count : at / 8), count);
    else
        for (unsigned b = 0; b < count; b++)
            value[big ? count - 1 - b : b] = (uint8_t)sluice_bits_get(bytes, size, big, at + 8 * b, 8);
}

SLUICE_LAYOUT void sluice_bytes_put(uint8_t *bytes, unsigned size, int big, unsigned at, unsigned count, const uint8_t *value) {
    if (at % 8 == 0)
        memcpy(bytes + (big ? size - at / 8 - count : at / 8), value, count);
    else
        for (unsigned b = 0; b < count; b++)
            sluice_bits_put(bytes, size, big, at + 8 * b, 8, value[big ? count - 1 - b : b]);
}
"""


def _doc(doc: str, indent: str = "") -> list[str]:
    return [f"{indent}// {line}".rstrip() for line in doc.splitlines()]


def _integer(width: int) -> str:
    return f"uint{next(size for size in (8, 16, 32, 64) if width <= size)}_t"


def _field(field: FieldType, kinds: dict[str, Item]) -> str:
    count = f"[{field.count}]" if field.is_array else ""
    if isinstance(kinds.get(field.type), AggregateType):
        return f"    struct sluice_{base(field.type)} {field.name}{count};"
    if field.width > 64:
        return f"    uint8_t {field.name}{count}[{(field.width + 7) // 8}];"
    return f"    {_integer(field.width)} {field.name}{count};"


def _move(field: FieldType, at: int, kinds: dict[str, Item], put: bool, big: bool) -> list[str]:
    """The statements that write or read one field at bit `base + at`."""
    index, step = ("[i]", f" + i * {field.width}U") if field.is_array else ("", "")
    where = f"base + {at}U{step}"
    target = f"value->{field.name}{index}"
    pad = "    " * (2 if field.is_array else 1)
    head = [f"    for (unsigned i = 0; i < {field.count}U; i++) {{"] if field.is_array else []
    tail = ["    }"] if field.is_array else []
    if isinstance(kinds.get(field.type), AggregateType):
        verb = "put_at" if put else "get_at"
        body = [f"{pad}sluice_{base(field.type)}_{verb}(&{target}, bytes, size, big, {where});"]
    elif field.width > 64 and field.width % 8 == 0:
        body = [f"{pad}sluice_bytes_{'put' if put else 'get'}(bytes, size, big, {where}, {field.width // 8}U, {target});"]
    elif field.width > 64:
        size = (field.width + 7) // 8
        byte = f"{size - 1}U - b" if big else "b"
        last = field.width - 8 * (size - 1)
        width = f"b == {size - 1}U ? {last}U : 8U" if last != 8 else "8U"
        call = (
            f"sluice_bits_put(bytes, size, big, {where} + 8U * b, {width}, {target}[{byte}]);"
            if put
            else f"{target}[{byte}] = (uint8_t)sluice_bits_get(bytes, size, big, {where} + 8U * b, {width});"
        )
        body = [f"{pad}for (unsigned b = 0; b < {size}U; b++)", f"{pad}    {call}"]
    elif put:
        body = [f"{pad}sluice_bits_put(bytes, size, big, {where}, {field.width}U, {target});"]
    else:
        body = [f"{pad}{target} = ({_integer(field.width)})sluice_bits_get(bytes, size, big, {where}, {field.width}U);"]
    return [*head, *body, *tail]


def _is_number(field: FieldType, kinds: dict[str, Item]) -> bool:
    return not field.is_array and field.width <= 64 and not isinstance(kinds.get(field.type), AggregateType)


def _runs(places: list[tuple[FieldType, int]], kinds: dict[str, Item]) -> list[list[tuple[FieldType, int]]]:
    """The fields from the lowest on; neighbours that are numbers, up to 64 bits of them, together."""
    runs: list[list[tuple[FieldType, int]]] = []
    for field, at in sorted(places, key=lambda place: place[1]):
        follows = bool(runs) and _is_number(field, kinds) and _is_number(runs[-1][0][0], kinds)
        if follows and at + field.width - runs[-1][0][1] <= 64:
            runs[-1].append((field, at))
        else:
            runs.append([(field, at)])
    return runs


def _move_run(run: list[tuple[FieldType, int]], kinds: dict[str, Item], put: bool, big: bool) -> list[str]:
    """The statements that write or read such fields: as one number, with one access to memory. Memory that was written in smaller
    pieces than it is read in is waited for."""
    (field, at), first = run[-1], run[0][1]
    if len(run) == 1:
        return _move(field, at, kinds, put, big)
    place, indent = f"bytes, size, big, base + {first}U, {at + field.width - first}U", "\n        "
    masks = [(one, where - first, f"{(1 << one.width) - 1:#x}ULL") for one, where in run]
    if put:
        parts = [f"((uint64_t)value->{one.name} & {mask}) << {shift}" for one, shift, mask in masks]
        return [f"    sluice_bits_put({place},{indent}{f' |{indent}'.join(parts)});"]
    parts = [f"value->{one.name} = ({_integer(one.width)})(bits >> {shift} & {mask});" for one, shift, mask in masks]
    return [f"    {{{indent}const uint64_t bits = sluice_bits_get({place});{indent}{indent.join(parts)}", "    }"]


def _aggregate(item: AggregateType, kinds: dict[str, Item]) -> list[str]:
    name, size, big = f"sluice_{base(item.name)}", (item.bits + 7) // 8, item.kind == "header"
    runs = _runs(placed(item), kinds)
    at = "uint8_t *bytes, unsigned size, int big, unsigned base"
    return [
        f"#define SLUICE_{upper(item.name)}_BITS {item.bits}U",
        f"#define SLUICE_{upper(item.name)}_BYTES {size}U",
        f"struct {name} {{",
        *(_field(field, kinds) for field in item.fields),
        "};",
        f"SLUICE_LAYOUT void {name}_put_at(const struct {name} *value, {at}) {{",
        *(line for run in runs for line in _move_run(run, kinds, True, big)),
        "}",
        f"SLUICE_LAYOUT void {name}_get_at(struct {name} *value, const {at}) {{",
        *(line for run in runs for line in _move_run(run, kinds, False, big)),
        "}",
        f"static inline void {name}_pack(const struct {name} *value, uint8_t *bytes) {{",
        f"    memset(bytes, 0, {size});",
        f"    {name}_put_at(value, bytes, {size}U, {int(big)}, 0U);",
        "}",
        f"static inline void {name}_unpack(struct {name} *value, const uint8_t *bytes) {{",
        f"    {name}_get_at(value, bytes, {size}U, {int(big)}, 0U);",
        "}",
    ]


def _item(item: Item, kinds: dict[str, Item]) -> list[str]:
    match item:
        case ConstantValue(name=name, value=value):
            return [f"#define SLUICE_{name} {value}U" if value < 1 << 32 else f"#define SLUICE_{name} {value}ULL"]
        case EnumType(name=name, members=members):
            body = [f"    SLUICE_{m.name} = {m.value}," for m in members]
            return [f"enum sluice_{base(name)} {{", *body, "};"]
        case AggregateType():
            return _aggregate(item, kinds)
        case RegistersType(name=name, registers=registers):
            lines = []
            for r in registers:
                label = f"SLUICE_{upper(name)}_{r.name.upper()}"
                lines.append(f"#define {label} {r.offset:#05x}U")
                if r.is_array:
                    lines.append(f"#define {label}_COUNT {r.count}U")
            rows = [
                f"    {{{r.offset:#05x}, {r.count}, {(1 << r.width) - 1:#x}U, {r.reset or 0:#x}U, "
                f"{int(r.access != 'wo')}, {int(r.access != 'ro')}, {int(r.is_kept)}}}, // {r.name}"
                for r in registers
            ]
            return [*lines, f"static const struct sluice_register sluice_{name}[] = {{", *rows, "};"]


def generate(layouts: Layouts, layout_hash: int) -> str:
    """The text of `sluice_layouts.h`."""
    kinds = {item.name: item for item in layouts.items}
    lines = [
        "// SPDX-License-Identifier: Apache-2.0",
        f"// {NOTICE}",
        PREAMBLE,
        f"#define SLUICE_LAYOUT_HASH {layout_hash:#010x}U",
    ]
    for item in layouts.items:
        lines += ["", *_doc(item.doc), *_item(item, kinds)]
    return "\n".join([*lines, "", "#ifdef __cplusplus", "}", "#endif", "#endif", ""])
