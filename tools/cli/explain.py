# SPDX-License-Identifier: Apache-2.0
"""`sluice explain`: what a message means, a program that gets it, what is said then, and the same program mended."""

from __future__ import annotations

import difflib

import typer

from compiler.frontend import ast, check, examples, parser
from compiler.frontend.errors import CODES, GROUPS
from compiler.frontend.program import load_text
from compiler.frontend.source import Diagnostic, Diagnostics, Source

HARDWARE = "E08"


def said(code: str, text: str) -> list[Diagnostic]:
    """What the compiler says to an example; codes of the hardware need the program built for it."""
    diagnostics = Diagnostics()
    if code in examples.LAYOUTS:
        files: list[ast.File] = [parser.parse(Source("example.sl", text), diagnostics)]
        check.check(files, {}, diagnostics)
        return diagnostics.sorted()
    program = load_text(text, "example.sl", diagnostics)
    if program and code.startswith(HARDWARE):
        from compiler.compile import HardwareError, compile_program  # which loads a solver

        try:
            compile_program(program)
        except HardwareError as error:
            error.report(diagnostics)
    return diagnostics.sorted()


def _normal(code: str) -> str:
    """A code as it is written, of `e401`, `401` or `error[E0401]`."""
    text = code.upper().removeprefix("ERROR").removeprefix("WARNING").strip("[]:")
    letter, digits = (text[0], text[1:]) if text[:1] in ("E", "W") else ("E", text)
    return letter + digits.zfill(4) if digits.isdigit() else text


def _unknown(code: str) -> str:
    near = difflib.get_close_matches(_normal(code), CODES, 3)
    words = [known for known, text in CODES.items() if len(code) > 3 and code.lower() in text.lower()]
    if words:
        return f"'{code}' is no code; it is in the text of {', '.join(words[:6])}"
    return f"there is no code '{code}'" + (f"; near it are {', '.join(near)}" if near else "") + "; ./sluice explain lists them"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())


def explained(code: str) -> str:
    """The whole answer for a code that there is."""
    parts = [f"{code}: {CODES[code]}"]
    if code in examples.NOTES:
        parts.append(examples.NOTES[code])
    if code in examples.EXAMPLES:
        wrong, mended = examples.wrong(code), examples.mended(code)
        message = next(message for message in said(code, wrong) if message.code == code)
        kind = "A layout" if code in examples.LAYOUTS else "A program"
        parts += [f"{kind} that gets it:", _indented(wrong), "What is said:", _indented(message.render())]
        parts += ["Mended:", _indented(mended)]
    return "\n\n".join(parts)


def explain(
    code: str = typer.Argument("", help="the code in brackets of a message: E0401; without one, all codes are listed"),
) -> None:
    """Explain a code of a message: what it means, a program that gets it, what is said then, and the program mended.

    `./sluice explain E0401`, or `401`. A word instead of a code finds the codes whose text has it: `./sluice explain switch`."""
    if not code:
        for group, title in GROUPS.items():
            print(f"{title}:")
            print("".join(f"  {known}  {text}\n" for known, text in CODES.items() if known[1:3] == group))
        return
    if _normal(code) not in CODES:
        raise typer.BadParameter(_unknown(code))
    print(explained(_normal(code)))
