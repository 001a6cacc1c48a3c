# SPDX-License-Identifier: Apache-2.0
"""`python -m compiler.layouts`: everything that is generated from `layouts/`.

Reads every `.sl` file below `layouts/`, checks them as one namespace, and writes `sluice_pkg.sv`, `sluice_layouts.h`,
`sluice_layouts.py` into the output folder, and the reference page. Files whose text is the same are left alone. With an
error nothing is written and the exit status is 1.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from compiler.backends import layouts_c, layouts_markdown, layouts_python, layouts_sv
from compiler.frontend import ast
from compiler.frontend.check import Layouts, check
from compiler.frontend.lexer import Kind
from compiler.frontend.parser import parse
from compiler.frontend.source import Diagnostics, Source, closest

ROOT = Path(__file__).resolve().parent.parent
LAYOUTS = ROOT / "layouts"
PAGE = ROOT / "docs" / "reference" / "layouts.md"


def read(folder: Path, diagnostics: Diagnostics) -> list[ast.File]:
    """Parse every layout of a folder, in the order of their names; imports must name one of them."""
    files: list[ast.File] = []
    folder = folder.resolve()
    paths = sorted(folder.rglob("*.sl"))
    for path in paths:
        shown = str(path.relative_to(folder.parent))
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            diagnostics.error("E0105", f"cannot read {shown}: {error}", None, "layouts must be UTF-8 text files")
            continue
        files.append(parse(Source(shown, text), diagnostics))
        for item in files[-1].imports:
            if (path.parent / item.path).resolve() not in paths and (folder / item.path).resolve() not in paths:
                near = closest(item.path, [p.name for p in paths])
                hint = f"did you mean '{near}'?" if near else "imports are searched beside this file and in layouts/"
                diagnostics.error("E0106", f"cannot find layout '{item.path}'", item.span, hint)
    return files


def layout_hash(files: Sequence[ast.File], overrides: Mapping[str, int]) -> int:
    """32 bits over the declarations: tokens without comments or spaces, and what was set on the command line."""
    state = hashlib.sha256(repr(sorted(overrides.items())).encode())
    for file in files:
        for token in file.tokens:
            if token.kind is not Kind.END:
                state.update(token.text.encode() + b"\0")
    return int.from_bytes(state.digest()[:4], "big")


def generate(layouts: Layouts, value: int) -> dict[str, str]:
    """File name to text."""
    return {
        "sluice_pkg.sv": layouts_sv.generate(layouts, value),
        "sluice_layouts.h": layouts_c.generate(layouts, value),
        "sluice_layouts.py": layouts_python.generate(layouts, value),
    }


def write(path: Path, text: str) -> bool:
    """Write a file whole or not at all, and only when its text changes; whether it did."""
    if path.exists() and path.read_text() == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.unfinished")
    unfinished.write_text(text)
    unfinished.replace(path)
    return True


def _override(text: str) -> tuple[str, int]:
    name, _, value = text.partition("=")
    try:
        return name, int(value, 0)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=NUMBER") from error


def report(diagnostics: Diagnostics, as_json: bool) -> None:
    """Print what is wrong, for people on stderr or for tools on stdout."""
    if as_json:
        print(json.dumps([error.to_json() for error in diagnostics.sorted()], indent=1))
        return
    for error in diagnostics.sorted():
        print(error.render(), file=sys.stderr)
    count = len(diagnostics.errors) + diagnostics.suppressed
    if count:
        print(f"{count} error{'s' if count != 1 else ''}; nothing was written", file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(prog="sluice layouts", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--layouts", type=Path, default=LAYOUTS, help="folder with the layouts")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "gen", help="folder for the generated files")
    parser.add_argument(
        "--set", type=_override, action="append", default=[], metavar="NAME=NUMBER", help="set a constant to another value"
    )
    parser.add_argument("--json", action="store_true", help="print errors as JSON")
    options = parser.parse_args(arguments)
    diagnostics, overrides = Diagnostics(), dict(options.set)
    files = read(options.layouts, diagnostics)
    layouts = check(files, overrides, diagnostics)
    if not diagnostics:
        value = layout_hash(files, overrides)
        targets = {options.out / name: text for name, text in generate(layouts, value).items()}
        if options.layouts.resolve() == LAYOUTS and not overrides:
            targets[PAGE] = layouts_markdown.generate(layouts, value)
        try:
            for path, text in targets.items():
                write(path, text)
        except OSError as error:
            diagnostics.error("E0107", f"cannot write: {error}", None, "choose another folder with --out, or fix its permissions")
    report(diagnostics, options.json)
    return 1 if diagnostics else 0


if __name__ == "__main__":
    sys.exit(main())
