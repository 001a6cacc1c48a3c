# SPDX-License-Identifier: Apache-2.0
"""Native bodies in C++: an element's handler and signals written by hand, on the ports that the compiler would give it.

For `.native cpp "FILE.h"` the file has a class template FILE, whose argument has the element's parameters as constants (of a type,
its bits, and `NAMEIsPacket`). `handler(...)` is one iteration and gets every port, inputs first, in their order: `read()`,
`peek()`, `test()` of an input, `write(token)` of an output. It reads what it may have to wait for before it changes anything of
its own. Of a signal it has a method of the same name, with the arguments, which gives the answer (`signal` for the one without a
name).

For `.native packet "FILE.h"` the file has a class template FILE, whose argument is the compiled element: its `state`, and its
`Parameters`. `handle(element, packet)`, a static function, does to a whole packet what the handler does to its flits
(`host/cpu/packets/packet_body.h`), and is false where the packet is dropped. Signals are those that the compiler makes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from compiler.backends import cpp, cpp_build
from compiler.compile import HardwareError
from compiler.frontend import typed
from toolchain import ROOT


def has_native_cpp(element: typed.Element) -> bool:
    """Whether the element has a body in C++."""
    return any(language == "cpp" for language, _ in element.native)


def has_packet_body(element: typed.Element) -> bool:
    """Whether the element has a body for whole packets."""
    return any(language == "packet" for language, _ in element.native)


def generate(program: typed.Program, flags: tuple[str, ...] = cpp_build.FLAGS) -> str:
    """The program as C++, with native bodies where elements have one. Raises HardwareError where one does not fit."""
    found = {element.name: _native(element, "cpp") for element in program.elements if has_native_cpp(element)}
    for element in program.elements:
        if element.name in found:
            _check(element, found[element.name], flags)
    return cpp.generate(program, found)


HINTS = {
    "cpp": "needs a method for the handler and for each signal (docs/guide/language.md, native bodies)",
    "packet": "needs 'static bool handle(Element &element, auto &packet)' (docs/guide/language.md, whole packets)",
}


def _error(element: typed.Element, file: str, text: str, language: str = "cpp") -> HardwareError:
    return HardwareError("E0806", f"{file}: {text}", element.span, f"{file} {HINTS[language]}")


@contextmanager
def bodies_blamed(program: typed.Program) -> Iterator[None]:
    """Around a build for the packet engine: where g++ refuses a body for whole packets, HardwareError says its line."""
    try:
        yield
    except cpp_build.BuildError as error:
        for element in filter(has_packet_body, program.elements):
            file = Path(dict(element.native)["packet"]).name
            if found := re.search(rf"^{re.escape(file)}:(\d+):\d+: error: (.*)", str(error), re.MULTILINE):
                raise _error(element, file, f"line {found[1]}: {found[2]}", "packet") from None
        raise


def packet_bodies(program: typed.Program) -> dict[str, cpp.NativeText]:
    """The bodies for whole packets, by element. Raises HardwareError where one does not fit."""
    found = {element.name: _native(element, "packet") for element in program.elements if has_packet_body(element)}
    for element in program.elements:
        if element.name in found and not (_only_packets(element.inputs) and _only_packets(element.outputs)):
            text = "a body for whole packets is for elements with one input and one output, both of packets"
            raise HardwareError("E0806", text, element.span, "leave '.native packet' out: the compiled body serves any ports")
    return found


def _only_packets(ports: tuple[typed.Port, ...]) -> bool:
    return len(ports) == 1 and ports[0].is_packet


def _native(element: typed.Element, wanted: str) -> cpp.NativeText:
    file = next(file for language, file in element.native if language == wanted)
    path = next(found for folder in (Path.cwd(), ROOT) if (found := folder / file).is_file())
    text, name = path.read_text(), path.stem
    if not re.search(rf"\btemplate\b[^;{{]*\b(class|struct)\s+{re.escape(name)}\b", text):
        raise _error(element, path.name, f"class template '{name}' not found", wanted)
    includes = re.findall(r"^\s*#\s*include\b.*\n", text, re.MULTILINE)
    inside = re.sub(r"^\s*#\s*include\b.*$", "", text, flags=re.MULTILINE)  # its lines stay where they are
    return cpp.NativeText(name, "".join(includes), f'#line 1 "{path.name}"\n{inside}\n#line 1 "generated"\n')


def _check(element: typed.Element, native: cpp.NativeText, flags: tuple[str, ...]) -> None:
    """Compile the element alone around its body. Raises HardwareError with what the compiler says first."""
    try:
        cpp_build.object_of(cpp.generate(typed.Program((element,), (), (), 0), {element.name: native}), flags)
    except cpp_build.BuildError as error:
        said = re.findall(r"error: (.*)", str(error))
        places = re.findall(rf"^{re.escape(native.name)}\.\w+:(\d+)", str(error), re.MULTILINE)
        where = f"line {places[0]}: " if places else ""
        raise _error(element, f"{native.name}.h", where + (said[0] if said else str(error)[:300])) from error
