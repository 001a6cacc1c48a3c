# SPDX-License-Identifier: Apache-2.0
"""Every code of a message, with what it means. `python -m compiler.frontend.errors` writes docs/reference/errors.md."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "errors.md"
GROUPS = {
    "01": "Files and characters", "02": "Syntax", "03": "Layouts, types and constants", "04": "Names, values and statements",
    "05": "Elements and ports", "06": "Configurations", "08": "Hardware",
}  # fmt: skip
CODES = {
    "E0101": "A character that the language does not have. Outside comments it is ASCII.",
    "E0102": "A comment `/*` without its `*/`.",
    "E0103": "A string that does not end on its line.",
    "E0104": "A malformed number. Decimal, `0x…` or `0b…`, up to 1024 bits, `_` between digits.",
    "E0105": "A file that cannot be read, or is no UTF-8 text.",
    "E0106": "An import in `layouts/` of a layout that is not there.",
    "E0107": "Output that cannot be written.",
    "E0201": "Something else was expected here.",
    "E0202": "A `;` is missing.",
    "E0203": "Nested too deeply, or too long an expression.",
    "E0204": "A block of a layout is not closed before the next declaration.",
    "E0205": "A second `.init` or `.handler`.",
    "E0206": "A native body in a language that is neither `sv` nor `cpp`.",
    "E0301": "Two layouts of one name. All layouts share one namespace.",
    "E0302": "A layout's name that is a keyword of a generated language.",
    "E0303": "A declaration that depends on itself.",
    "E0304": "A constant of a layout that is no 64-bit unsigned number.",
    "E0305": "An enum's member that does not fit its bits.",
    "E0306": "An enum without a member, or a struct without a field.",
    "E0307": "Two fields of one name.",
    "E0308": "A header or record that is not whole bytes.",
    "E0309": "Too many bits for one variable, struct or array.",
    "E0310": "`--set` of a constant that there is not.",
    "E0311": "A register that has not 32 bits.",
    "E0312": "A register's offset outside its window, or no multiple of 4.",
    "E0313": "Two registers at one offset.",
    "E0314": "A `static_assert` that does not hold.",
    "E0315": "An integer with too many bits. 1 to 1024; what is wider is an array or a struct.",
    "E0316": "A type or kind of table that there is not.",
    "E0317": "A width, size, count or shift out of its range.",
    "E0318": "A constant that there is not.",
    "E0319": "A wrong use of `bits`, `bytes` or `clog2`.",
    "E0320": "A division by zero in a constant.",
    "W0320": "A division by a constant 0, which gives all ones (`/`) or the dividend (`%`).",
    "E0321": "Too many steps lead to a value.",
    "E0323": "Not known before the program runs, where a constant is needed.",
    "E0401": "A name that there is not.",
    "E0402": "A name that is declared twice.",
    "E0403": "A name of another kind than is needed: a type where a value belongs, a port where a variable does.",
    "E0404": "A field or method that there is not.",
    "E0405": "A value of another type than is needed. Only integers are converted by themselves.",
    "E0406": "A constant that does not fit its type.",
    "E0407": "A signed and an unsigned number are compared or divided. Say by a cast which is meant.",
    "E0408": "An entry outside its array. (Where the index is not known, it reads 0 and writes nothing.)",
    "E0409": "Not to be assigned.",
    "E0410": "A wrong number of arguments, values or parts.",
    "E0411": "A wrong view. `type *name = (type *) (&place + bytes);` names a place at a constant offset.",
    "E0412": "A function that calls itself. Functions are inlined.",
    "E0413": "A loop whose rounds are not known. Give a bound: `for (…) .unroll(16) { … }`.",
    "E0414": "A value that is not used, or is used where there is none.",
    "E0415": "A `return` with a value where none belongs, or without one.",
    "E0416": "`break` or `continue` outside of a loop.",
    "E0417": "A wrong `switch`: a case that runs into the next one, or comes twice.",
    "E0418": "Not in the language yet.",
    "E0501": "A port that there is not.",
    "E0502": "An input that is written, or an output that is read.",
    "E0503": "Built-ins of both forms in one element: `read_input_port(PORT_1)` and `read(in)`.",
    "E0504": "A second `write` to a port in one iteration.",
    "W0504": "A second `set_output_port` to a port in one iteration. The last one wins.",
    "E0505": "A port in `.init` or a signal, or `read_signal` outside of one.",
    "E0506": "An element without a handler.",
    "E0507": "A parameter that is missing, unknown, or given twice.",
    "W0507": "An input that the handler never reads: tokens wait there for ever.",
    "E0508": "A wrong `.state_machine` or `goto_state`.",
    "E0601": "An element that there is not: neither in the file, nor imported, nor in `elements/`.",
    "E0602": "Two instances of one name.",
    "E0603": "A port that is connected twice.",
    "E0604": "A port that is not connected, or of which it is not said which one.",
    "W0604": "A loop of channels into which no token can come: its elements wait for each other.",
    "E0605": "A channel with different types at its ends.",
    "E0606": "A channel's depth that cannot be.",
    "E0607": "A lane that there is not.",
    "E0608": "A group in itself, or groups nested too deeply.",
    "E0609": "An import, or a native body, of a file that is not there.",
    "E0801": "A table of rules whose keys are longer than a table in hardware takes.",
    "E0802": "A program that is too large for hardware, or that has no end known before it runs.",
    "E0803": "No initiation interval fits the clock, or what decides whether an iteration begins is known too late.",
    "E0804": "What the RTL back end cannot express yet.",
    "E0805": "A configuration that the shell cannot hold: too many channels between host and device.",
    "E0806": "A native body that does not fit its element.",
}


def page() -> str:
    """The reference page."""
    lines = [
        "# Messages of the compiler",
        "",
        "Generated by `build/env/bin/python -m compiler.frontend.errors`. E: an error. W: a warning. `./sluice explain CODE` shows",
        "a program that gets it, what is said then, and the same program mended.",
    ]
    for group, title in GROUPS.items():
        lines += ["", f"## {title}", "", "| code | meaning |", "| --- | --- |"]
        lines += [f"| {code} | {text} |" for code, text in CODES.items() if code[1:3] == group]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
