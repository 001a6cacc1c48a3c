# SPDX-License-Identifier: Apache-2.0
"""`sluice explain`: the meaning of a message, a program that triggers it, the message, and the corrected program."""

from __future__ import annotations

import difflib

import typer

from compiler.frontend import ast, check, examples, parser
from compiler.frontend.errors import CODES, GROUPS
from compiler.frontend.program import load_text
from compiler.frontend.source import Diagnostic, Diagnostics, Source

HARDWARE = "E08"


def said(code: str, text: str) -> list[Diagnostic]:
    """The messages for an example; hardware codes need the program compiled for hardware."""
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
    """The full code for `e401`, `401` or `error[E0401]`."""
    text = code.upper().removeprefix("ERROR").removeprefix("WARNING").strip("[]:")
    letter, digits = (text[0], text[1:]) if text[:1] in ("E", "W") else ("E", text)
    return letter + digits.zfill(4) if digits.isdigit() else text


def _unknown(code: str) -> str:
    near = difflib.get_close_matches(_normal(code), CODES, 3)
    words = [known for known, text in CODES.items() if len(code) > 3 and code.lower() in text.lower()]
    if words:
        return f"'{code}' is not a code; it occurs in the text of {', '.join(words[:6])}"
    return f"unknown code '{code}'" + (f" (did you mean {', '.join(near)}?)" if near else "") + "; ./sluice explain lists all codes"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())


def explained(code: str) -> str:
    """The whole answer for a known code."""
    parts = [f"{code}: {CODES[code]}"]
    if code in examples.NOTES:
        parts.append(examples.NOTES[code])
    if code in examples.EXAMPLES:
        wrong, corrected = examples.wrong(code), examples.corrected(code)
        message = next(message for message in said(code, wrong) if message.code == code)
        kind = "A layout" if code in examples.LAYOUTS else "A program"
        parts += [f"{kind} that triggers it:", _indented(wrong), "Message:", _indented(message.render())]
        parts += ["Corrected:", _indented(corrected)]
    return "\n\n".join(parts)


def explain(
    code: str = typer.Argument("", help="the code in brackets in a message, e.g. E0401; without a code, list all codes"),
) -> None:
    """Explain a message code: its meaning, a program that triggers it, the message, and the corrected program.

    `./sluice explain E0401`, or `401`. A word instead of a code finds the codes whose text contains it, as in
    `./sluice explain switch`."""
    if not code:
        for group, title in GROUPS.items():
            print(f"{title}:")
            print("".join(f"  {known}  {text}\n" for known, text in CODES.items() if known[1:3] == group))
        return
    if _normal(code) not in CODES:
        raise typer.BadParameter(_unknown(code))
    print(explained(_normal(code)))
