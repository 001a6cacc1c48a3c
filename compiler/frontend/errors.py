# SPDX-License-Identifier: Apache-2.0
"""Every message code, with its meaning. `python -m compiler.frontend.errors` writes docs/reference/errors.md."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "errors.md"
GROUPS = {
    "01": "Files and characters", "02": "Syntax", "03": "Layouts, types and constants", "04": "Names, values and statements",
    "05": "Elements and ports", "06": "Configurations", "08": "Hardware",
}  # fmt: skip
CODES = {
    "E0101": "An unexpected character. Only comments may contain non-ASCII characters.",
    "E0102": "A comment `/*` without a closing `*/`.",
    "E0103": "An unterminated string. A string must end on its line.",
    "E0104": "A malformed number. Decimal, `0x…` or `0b…`, up to 1024 bits, `_` between digits.",
    "E0105": "A file that cannot be read, or is not UTF-8 text.",
    "E0106": "An import in `layouts/` of a layout that does not exist.",
    "E0107": "An output file that cannot be written.",
    "E0201": "A syntax error: something else was expected here.",
    "E0202": "A missing `;`.",
    "E0203": "Code nested too deeply, or an expression that is too long.",
    "E0204": "A block of a layout that is not closed before the next declaration.",
    "E0205": "A second `.init` or `.handler`.",
    "E0206": "A native body in a language that is none of `sv`, `cpp` and `packet`.",
    "E0301": "Two layouts with the same name. All layouts share one namespace.",
    "E0302": "A name in a layout that is a keyword in a generated language.",
    "E0303": "A declaration that depends on itself.",
    "E0304": "A constant of a layout that is not a 64-bit unsigned number.",
    "E0305": "An enum member, or the reset value of a register, that does not fit in its bits.",
    "E0306": "An enum without members, or a struct without fields.",
    "E0307": "Two fields with the same name.",
    "E0308": "A header or record whose size is not a multiple of 8 bits.",
    "E0309": "Too many bits for one variable, struct or array.",
    "E0310": "`--set` of an undefined constant.",
    "E0311": "A register of more than 32 bits.",
    "E0312": "A register offset outside the window, or not a multiple of 4.",
    "E0313": "Two registers at the same offset.",
    "E0314": "A `static_assert` that fails.",
    "E0315": "An integer width outside 1 to 1024 bits. Use an array or a struct for more bits.",
    "E0316": "An undefined type, or an unknown kind of table.",
    "E0317": "A width, size, count or shift out of range.",
    "E0318": "An undefined constant.",
    "E0319": "A wrong use of `bits`, `bytes` or `clog2`.",
    "E0320": "A division by zero in a constant.",
    "W0320": "A division by a constant 0. The result is all ones (`/`) or the dividend (`%`).",
    "E0321": "A value that takes too many steps to evaluate.",
    "E0323": "A value that is not a constant where a constant is required.",
    "E0401": "An undefined name.",
    "E0402": "A duplicate declaration.",
    "E0403": "A name of the wrong kind: a type used as a value, or a port used as a variable.",
    "E0404": "An unknown field or method.",
    "E0405": "A type mismatch. Only integers are converted implicitly.",
    "E0406": "A constant that does not fit in its type.",
    "E0407": "A signed and an unsigned number are compared or divided. Cast one of them.",
    "E0408": "An array index out of range, or the bounds of bits, `x[7:0]`. (If the index is not a constant, such a read returns "
    "0 and such a write has no effect.)",
    "E0409": "An assignment to something that cannot be assigned to.",
    "E0410": "A wrong number of arguments, values or parts.",
    "E0411": "An invalid view. `type *name = (type *) (&place + bytes);` names a place at a constant offset.",
    "E0412": "A function that calls itself. Functions are inlined.",
    "E0413": "A loop whose number of iterations is unknown. Give a bound: `for (…) .unroll(16) { … }`.",
    "E0414": "A value that is not used, or a call used as a value although the function returns none.",
    "E0415": "A `return` with an unexpected value, or without the value that is required.",
    "E0416": "`break` or `continue` outside a loop.",
    "E0417": "An invalid `switch`: a case that falls through to the next one, or a duplicate case.",
    "E0418": "Not supported by the language yet.",
    "E0501": "An undefined port.",
    "E0502": "A write to an input, or a read of an output.",
    "E0503": "Built-ins of both forms in one element: `read_input_port(PORT_1)` and `read(in)`.",
    "E0504": "A second `write` to a port in one iteration.",
    "W0504": "A second `set_output_port` to a port in one iteration. The last value wins.",
    "E0505": "A port used in `.init`, a signal or a timer; `read_signal` outside a signal, or `periods` outside a timer.",
    "E0506": "An element without a handler.",
    "E0507": "A parameter that is missing, unknown, or given twice.",
    "W0507": "An input that the handler never reads: its tokens wait forever.",
    "E0508": "An invalid `.state_machine` or `goto_state`.",
    "E0601": "An undefined element: not in the file, not imported, not in `elements/`.",
    "E0602": "Two instances with the same name.",
    "E0603": "A port that is connected twice.",
    "E0604": "A port that is not connected, or an element with several ports where none is chosen.",
    "W0604": "A loop of channels that no token can enter: its elements wait for each other.",
    "E0605": "A channel whose ends have different types.",
    "E0606": "An invalid channel depth.",
    "E0607": "An invalid lane number.",
    "E0608": "A group that contains itself, or groups nested too deeply.",
    "E0609": "An import or a native body whose file does not exist.",
    "E0801": "A rule table whose keys are longer than hardware tables support.",
    "E0802": "A program that is too large for hardware after unrolling, or an `.init` that the compiler cannot evaluate.",
    "E0803": "No initiation interval fits the clock, an iteration starts on what is known too late, or the element is too large.",
    "E0804": "Not supported by the RTL back end yet.",
    "E0805": "A configuration that does not fit the shell: too many channels between host and device.",
    "E0806": "A native body that does not fit its element.",
    "E0807": "A program that is not of the kind that the overlay runs: packets, tables and header fields, in one element.",
    "E0808": "A condition, key or assignment that no unit of the overlay can do.",
    "E0809": "A program that does not fit the overlay: too many units, entries, words or checksums.",
    "E0810": "A wrong line in a file of table rules.",
    "E0811": "A timer that takes longer than its period.",
}


def page() -> str:
    """The reference page."""
    lines = [
        "# Compiler messages",
        "",
        "Generated by `build/env/bin/python -m compiler.frontend.errors`. E: error. W: warning. `./sluice explain CODE` shows",
        "a program that triggers the message, the message, and the corrected program.",
    ]
    for group, title in GROUPS.items():
        lines += ["", f"## {title}", "", "| code | meaning |", "| --- | --- |"]
        lines += [f"| {code} | {text} |" for code, text in CODES.items() if code[1:3] == group]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
