# SPDX-License-Identifier: Apache-2.0
"""A session with the SMT solver Bitwuzla over standard input and output, in SMT-LIB 2.6, as yosys-smtbmc holds one.

The package has a parser of whole texts. This gives it the commands up to each that has an answer, and sends the answer at once.
`--help` names the options that yosys-smtbmc looks for; it needs no others.
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Iterable, Iterator

import bitwuzla

TOKEN = re.compile(r'\|[^|]*\||"(?:[^"]|"")*"|;[^\n]*|[()]')
ANSWERED = re.compile(r"\(\s*(?:check-sat|get-|echo|exit)")


def commands(lines: Iterable[str]) -> Iterator[str]:
    """The commands of a text: whole expressions, one or more lines each."""
    text, depth = "", 0
    for line in lines:
        text += line
        depth += sum({"(": 1, ")": -1}.get(token, 0) for token in TOKEN.findall(line))
        if depth <= 0:
            yield text
            text = ""
    if text.strip():
        yield text


def main() -> int:
    """Answers until the input ends or says exit; 1 after a command that the solver refuses."""
    if "--help" in sys.argv:
        print("--lang smt2")
        return 0
    parser = bitwuzla.Parser(bitwuzla.TermManager(), bitwuzla.Options())
    flush = ctypes.CDLL(None).fflush  # answers are written by the library
    said = ""
    for command in commands(sys.stdin):
        said += command
        if ANSWERED.match(command.lstrip()):
            try:
                parser.parse(said, False, False)
            except bitwuzla.BitwuzlaException as error:
                quoted = str(error).replace('"', '""')
                print(f'(error "{quoted}")', flush=True)
                return 1
            flush(None)
            if re.match(r"\(\s*exit", command.lstrip()):
                break
            said = ""
    return 0


if __name__ == "__main__":
    sys.exit(main())
