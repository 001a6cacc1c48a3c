# SPDX-License-Identifier: Apache-2.0
"""A program from its file: parse, read what it imports, elaborate, check.

`load(path, diagnostics)` gives the typed tree, or None where an error was reported.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from compiler.frontend import ast, typed
from compiler.frontend import ast_element as tree
from compiler.frontend.check import ConstantValue, Layouts, check
from compiler.frontend.constants import Bad
from compiler.frontend.elements import ElementBuilder, mangled
from compiler.frontend.graph import GraphBuilder, Parameters
from compiler.frontend.parse_program import parse_program
from compiler.frontend.resolve import LayoutScope
from compiler.frontend.scope import ElementName, FunctionName, Pending, Scope, TypeName
from compiler.frontend.source import Diagnostics, Note, Source, Span
from compiler.frontend.state_machine import StateMachines
from compiler.layouts import LAYOUTS, ROOT, read

LIBRARY = ROOT / "elements"
ECHOES = ("E0401", "E0601", "E0604")


@lru_cache(1)
def _layouts() -> Layouts:
    """Everything of `layouts/`; it is right, or nothing works."""
    diagnostics = Diagnostics()
    layouts = check(read(LAYOUTS, diagnostics), {}, diagnostics)
    if diagnostics:
        raise ValueError(f"layouts/ is broken:\n{diagnostics.sorted()[0].render()}")
    return layouts


@lru_cache(128)
def _parsed(source: Source) -> tree.ProgramFile | None:
    """The syntax tree of a file that many programs import; None where there is something to report."""
    diagnostics = Diagnostics()
    file = parse_program(source, diagnostics)
    return None if diagnostics.sorted() else file


class Loader:
    """Reads one program; each file is parsed once."""

    def __init__(self, diagnostics: Diagnostics) -> None:
        self.diagnostics = diagnostics
        self.root = LayoutScope(_layouts())
        self.files: dict[Path, tuple[tree.ProgramFile, Scope]] = {}
        self.elements: dict[tuple[ElementName, str], typed.Element] = {}
        self.broken: set[tuple[ElementName, str]] = set()
        self.names: set[str] = set()

    # Files

    def read(self, path: Path) -> Source | None:
        """A file's text; what cannot be read is reported by the caller."""
        try:
            return Source(shown(path), path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError):
            return None

    def file(self, path: Path) -> tuple[tree.ProgramFile, Scope] | None:
        """A file's syntax tree and its scope."""
        path = path.resolve()
        if path not in self.files:
            source = self.read(path)
            if source is None:
                return None
            self.enter(_parsed(source) or parse_program(source, self.diagnostics), path)
        return self.files[path]

    def enter(self, file: tree.ProgramFile, path: Path) -> tuple[tree.ProgramFile, Scope]:
        """Declare the names of a file."""
        imported = Scope(self.root)
        scope = Scope(imported)
        self.files[path] = (file, scope)
        for item in file.imports:
            self._import(item, path, imported)
        names = StateMachines(self.diagnostics, scope)
        for declaration in file.items:
            if isinstance(declaration, tree.Element | tree.Group):
                names.declare(declaration.name, ElementName(declaration, scope))
            elif isinstance(declaration, tree.Function):
                names.declare(declaration.name, FunctionName(declaration, scope))
            elif isinstance(declaration, ast.Constant | tree.Declaration | ast.Aggregate | ast.Enum):
                names.declare(declaration.name, Pending(declaration, scope))
                if isinstance(declaration, ast.Enum):
                    for member in declaration.members:
                        names.declare(member.name, Pending(declaration, scope))
        return self.files[path]

    def _import(self, item: tree.Import, path: Path, imported: Scope) -> None:
        for folder in (path.parent, LIBRARY, LAYOUTS):
            candidate = (folder / item.path).resolve()
            is_file = os.path.isfile(candidate)  # noqa: PTH113 - a path that is too long is none either
            if is_file and LAYOUTS in candidate.parents:
                return  # layouts are always visible
            found = self.file(candidate) if is_file else None
            if found is None:
                continue
            if item.namespace:
                imported.namespaces[item.namespace.text] = found[1]
                return
            for name, binding in found[1].names.items():
                if imported.names.setdefault(name, binding) is not binding:
                    note = (Note("the other import", imported.places[name]),) if name in imported.places else ()
                    hint = 'import one of the files into a namespace: import "file.sl" as other;'
                    self.diagnostics.error("E0402", f"'{name}' is defined by two imports", item.span, hint, note)
                imported.places.setdefault(name, found[1].places[name])
            return
        hint = "imports are searched beside this file and in elements/"
        self.diagnostics.error("E0609", f"cannot find file '{item.path}'", item.span, hint)

    # Elements

    def find_element(self, path: tuple[ast.Name, ...], scope: Scope) -> ElementName | None:
        """An element by its name: of the file, of an import, or of the library."""
        for name in path[:-1]:
            inner = next((s.namespaces[name.text] for s in scope.chain() if name.text in s.namespaces), None)
            if inner is None:
                return None
            scope = inner
        name = path[-1]
        found = scope.find(name.text)
        if isinstance(found, ElementName):
            return found
        if found is not None or len(path) > 1:
            return None
        lower = name.text.lower()
        file = self.file(LIBRARY / lower / f"{lower}.sl")
        own = file[1].names.get(name.text) if file else None
        return own if isinstance(own, ElementName) else None

    def instantiate(self, found: ElementName, parameters: Parameters, instance: Span | None = None) -> typed.Element:
        """An element with parameters, built once for each set of values."""
        assert isinstance(found.declaration, tree.Element)
        name = mangled(found.declaration, parameters)
        key = (found, name)
        if key in self.broken:
            raise Bad
        if key not in self.elements:
            before = len(self.diagnostics.errors) + self.diagnostics.suppressed
            unique, number = name, 2
            while unique in self.names:
                unique, number = f"{name}_{number}", number + 1
            self.names.add(unique)
            with suppress(Bad):
                builder = ElementBuilder(found.declaration, parameters, found.scope, self.diagnostics, instance)
                self.elements[key] = builder.build(unique)
            if len(self.diagnostics.errors) + self.diagnostics.suppressed > before:
                self.broken.add(key)
        if key not in self.elements:
            self.broken.add(key)
            raise Bad
        return self.elements[key]

    def library(self) -> list[str]:
        """Folders of the library that hold an element."""
        return [path.parent.name for path in sorted(LIBRARY.glob("*/*.sl")) if path.parent.name == path.stem]

    # Programs

    def program(self, source: Source, path: Path) -> typed.Program:
        """Everything; only to be used where no error was reported."""
        file, scope = self.enter(parse_program(source, self.diagnostics), path)
        packet = self.root.find("packet")
        assert isinstance(packet, TypeName)
        graph = GraphBuilder(scope, self.find_element, self.instantiate, packet, self.library(), self.diagnostics)
        instances, channels, lanes = graph.build(file.connections, self._most_flits())
        self._check_items(file, scope, graph)
        return typed.Program(tuple(self.elements.values()), tuple(instances), tuple(channels), lanes)

    def _check_items(self, file: tree.ProgramFile, scope: Scope, graph: GraphBuilder) -> None:
        """What can be checked without being used: types, functions, elements whose parameters all have values."""
        bare = StateMachines(self.diagnostics, scope)
        for item in file.items:
            try:
                if isinstance(item, tree.Element):
                    is_used = any(found.declaration is item for found, _ in self.elements)
                    if not is_used and all(parameter.default for parameter in item.parameters):
                        self.instantiate(_name_of(scope, item), graph.parameters_of(item, (), item.span))
                elif isinstance(item, tree.Function):
                    name = scope.names[item.name.text]
                    if isinstance(name, FunctionName):
                        bare.function(name, item.span)
                elif isinstance(item, ast.StaticAssert):
                    bare.static_assert(item)
                elif not isinstance(item, tree.Group):
                    bare.find(item.name.text, item.name.span)
            except Bad:
                continue

    def _most_flits(self) -> int:
        """The largest packet in flits."""
        values = {item.name: item.value for item in _layouts().items if isinstance(item, ConstantValue)}
        return -(-values["MTU_BYTES"] // values["DATA_BYTES"])


def _name_of(scope: Scope, node: tree.Element) -> ElementName:
    """The binding of an element's declaration; one that is hidden by an error has none."""
    found = scope.names[node.name.text]
    return found if isinstance(found, ElementName) and found.declaration is node else ElementName(node, scope)


def shown(path: Path) -> str:
    """A path as messages show it: from the checkout, or from here."""
    path = path.resolve()
    for folder in (Path.cwd(), ROOT):
        if folder in path.parents:
            return str(path.relative_to(folder))
    return str(path)


def _without_echoes(diagnostics: Diagnostics) -> None:
    """Where something could not be parsed, what it would have declared or connected is not missed."""
    if any(error.code.startswith(("E01", "E02")) for error in diagnostics.errors):
        diagnostics.errors = [error for error in diagnostics.errors if error.code not in ECHOES]


def load(path: Path, diagnostics: Diagnostics) -> typed.Program | None:
    """The program of a file."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        diagnostics.error("E0105", f"cannot read {path}: {error}", None, "a program must be a UTF-8 text file")
        return None
    return _load(Source(shown(path), text), path.resolve(), diagnostics)


def load_text(text: str, name: str, diagnostics: Diagnostics) -> typed.Program | None:
    """The program of a text; imports are looked for in the current folder."""
    return _load(Source(name, text), (Path.cwd() / name).resolve(), diagnostics)


def _load(source: Source, path: Path, diagnostics: Diagnostics) -> typed.Program | None:
    try:
        program = Loader(diagnostics).program(source, path)
    except RecursionError:
        start = Span(source, 0, 0)
        diagnostics.error("E0321", "the program is nested too deeply", start, "split long expressions and functions")
        return None
    except Bad:
        return None
    finally:
        _without_echoes(diagnostics)
    return None if diagnostics else program
