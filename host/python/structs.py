# SPDX-License-Identifier: Apache-2.0
"""Fields of C structures for ctypes, read out of the host's own headers: the header is the one source. A test has the compiler
compare sizes and places. Arrays, pointers, structures, enums and integers; no bit fields, unions or structures without a name."""

from __future__ import annotations

import ctypes as c
import functools
import hashlib
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from host.build import BUILD, INCLUDES

INTEGERS = {f"{sign}int{bits}_t": getattr(c, f"c_{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)}
PLAIN = {
    **INTEGERS,
    "bool": c.c_bool,
    "_Bool": c.c_bool,
    "int": c.c_int,
    "unsigned": c.c_uint,
    "size_t": c.c_size_t,
    "double": c.c_double,
    "char": c.c_char,
}
HEADERS = (
    "sluice/sluice.h",
    "flow_table.h",
    "flow_open.h",
    "device.h",
    "functional.h",
    "functional_stateful.h",
    "switch.h",
    "run.h",
)
STRUCTURE = re.compile(r"struct (\w+) \{([^{}]*)\};")
ENUMERATION = re.compile(r"enum(?: \w+)? \{([^{}]*)\};")
DECLARATION = re.compile(r"(?:const )?((?:struct |enum )?\w+)\s+(.*)", re.DOTALL)
DECLARATOR = re.compile(r"(\**)\s*(\w+)((?:\[[^\]]*\])*)")


def _evaluated(expression: str, names: Mapping[str, int]) -> int:
    """The value of a constant expression of C."""
    plain = re.sub(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]+\b", r"\1", expression).replace("/", "//")
    return int(eval(plain, {"__builtins__": {}}, dict(names)))


@functools.cache
def _read() -> tuple[dict[str, str], dict[str, int]]:
    """The bodies of all structures, and the constants, as the preprocessor leaves them; kept by content of the headers."""
    state = hashlib.sha256(repr(HEADERS).encode())
    for path in sorted(path for folder in INCLUDES for path in folder.rglob("*.h")):
        state.update(path.read_bytes())
    kept = BUILD / f"headers-{state.hexdigest()[:16]}.i"
    if not kept.exists():
        text = "".join(f'#include "{name}"\n' for name in HEADERS)
        command = ["gcc", "-E", "-P", "-x", "c", "-std=gnu11", *(f"-I{path}" for path in INCLUDES), "-"]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
        BUILD.mkdir(parents=True, exist_ok=True)
        unfinished = kept.with_name(f"{kept.name}.{id(done)}")
        unfinished.write_text(done.stdout)
        unfinished.rename(kept)
    text = kept.read_text()
    constants: dict[str, int] = {}
    for body in ENUMERATION.findall(text):
        last = -1
        for item in filter(None, map(str.strip, body.split(","))):
            name, _, value = item.partition("=")
            try:
                last = _evaluated(value, constants) if value else last + 1
            except (NameError, SyntaxError, TypeError):  # of the system's headers; no array of ours has its size
                break
            constants[name.strip()] = last
    return dict(STRUCTURE.findall(text)), constants


def fields(struct: str, known: Mapping[str, Any] | None = None) -> list[tuple[str, Any]]:
    """Names and types of the fields of `struct NAME`. `known`: classes of structures in it, and types of single fields, by name.
    Raises KeyError where there is no such structure or type."""
    bodies, constants = _read()
    found: list[tuple[str, Any]] = []
    for declaration in filter(None, map(str.strip, bodies[struct].split(";"))):
        if function := re.search(r"\(\*(\w+)\)", declaration):
            found.append((function[1], (known or {}).get(function[1], c.c_void_p)))
            continue
        match = DECLARATION.fullmatch(declaration)
        if not match:
            raise KeyError(f"struct {struct}: {declaration}")
        for declarator in match[2].split(","):
            found.append(_field(struct, match[1], declarator.strip(), known or {}, constants))
    return found


def _field(struct: str, base: str, declarator: str, known: Mapping[str, Any], constants: Mapping[str, int]) -> tuple[str, Any]:
    match = DECLARATOR.fullmatch(declarator)
    if not match:
        raise KeyError(f"struct {struct}: {declarator}")
    stars, name, sizes = match.groups()
    kind, _, of = base.rpartition(" ")
    if name in known:
        return name, known[name]
    if stars:
        return name, c.POINTER(PLAIN[of]) if len(stars) == 1 and of in INTEGERS else c.c_void_p
    made: Any = c.c_uint if kind == "enum" else PLAIN[of] if kind == "" else known.get(of) or mirror(of)
    for size in reversed(re.findall(r"\[([^\]]*)\]", sizes)):
        made *= _evaluated(size, constants)
    return name, made


@functools.cache
def mirror(struct: str) -> type[c.Structure]:
    """A class for `struct NAME`, where nothing else than its fields is wanted."""
    return type(struct, (c.Structure,), {"_fields_": fields(struct), "__doc__": f"struct {struct}."})


def differences(classes: Mapping[str, type[c.Structure]], folder: Path) -> str:
    """What the compiler says against sizes and places of these classes, by structure; nothing where they are right."""
    lines = ["#include <stddef.h>", *(f'#include "{name}"' for name in HEADERS)]
    for struct, made in classes.items():
        lines.append(f'_Static_assert(sizeof(struct {struct}) == {c.sizeof(made)}, "size of {struct}");')
        for field in made._fields_:
            name, place = field[0], getattr(made, field[0])
            lines.append(f'_Static_assert(offsetof(struct {struct}, {name}) == {place.offset}, "{struct}.{name}");')
            size = f"sizeof ((struct {struct} *)0)->{name}"
            lines.append(f'_Static_assert({size} == {place.size}, "size of {struct}.{name}");')
    (folder / "check.c").write_text("\n".join(lines) + "\n")
    command = ["gcc", "-std=gnu11", "-fsyntax-only", *(f"-I{path}" for path in INCLUDES), str(folder / "check.c")]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr
