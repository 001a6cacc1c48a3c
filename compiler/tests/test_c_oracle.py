# SPDX-License-Identifier: Apache-2.0
"""Arithmetic is that of C: random expressions over 8 to 64 bits give what a C compiler (wrapping) makes of the same text."""

import random
import subprocess

from compiler.frontend import typed
from compiler.frontend.program import load_text
from compiler.frontend.source import Diagnostics
from compiler.interpreter.choices import Decide
from compiler.interpreter.element import run_element

TYPES = {"uchar": 8, "ushort": 16, "uint": 32, "ulong": 64, "int<8>": 8, "int<16>": 16, "int<32>": 32, "int<64>": 64}
C_NAMES = {"int<8>": "int8", "int<16>": "int16", "int<32>": "int32", "int<64>": "int64"}
EXPRESSIONS, INPUTS = 300, 12
HEAD = """#include <stdio.h>
typedef unsigned char uchar; typedef unsigned short ushort; typedef unsigned int uint; typedef unsigned long ulong;
typedef signed char int8; typedef short int16; typedef int int32; typedef long int64;
"""


class Expressions:
    """Random text that both languages read, without what C leaves undefined or Sluice refuses."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def leaf(self) -> str:
        choose = self.rng
        if choose.random() < 0.7:
            return choose.choice("abcdefgh")
        return choose.choice([str(choose.choice([0, 1, 2, 7, 255, 65535, 2147483647, 4294967295])), hex(choose.getrandbits(32))])

    def text(self, depth: int) -> str:
        if depth == 0:
            return self.leaf()
        left, right = self.text(depth - 1), self.text(depth - 1)
        kind = self.rng.choice(list(TYPES))
        match self.rng.choice(["+", "-", "*", "&", "|", "^", "shift", "divide", "compare", "cast", "unary", "choose", "logic"]):
            case "shift":
                return f"({left} {self.rng.choice(['<<', '>>'])} ({right} & 7))"
            case "divide":  # never by 0, never MIN / -1
                kind = self.rng.choice(["uint", "ulong", "ushort"])
                return f"(({kind}) {left} {self.rng.choice('/%')} ({kind}) (({kind}) {right} | 1))"
            case "compare":
                return f"(({kind}) {left} {self.rng.choice(['==', '!=', '<', '<=', '>', '>='])} ({kind}) {right})"
            case "cast":
                return f"(({kind}) {left})"
            case "unary":
                return f"({self.rng.choice('-~!')}{left})"
            case "choose":
                return f"({left} ? {right} : {self.leaf()})"
            case "logic":
                return f"({left} {self.rng.choice(['&&', '||'])} {right})"
            case operator:
                return f"({left} {operator} {right})"


def in_c(texts: list[str], inputs: list[list[int]], folder: object) -> list[list[int]]:
    """What the C compiler's program prints."""
    kinds = [C_NAMES.get(kind, kind) for kind in TYPES]
    declared = ", ".join(f"{kind} {name}" for kind, name in zip(kinds, "abcdefgh", strict=True))
    code = HEAD
    for number, text in enumerate(texts):
        for kind, name in C_NAMES.items():
            text = text.replace(f"({kind})", f"({name})")
        code += f"static ulong f{number}({declared}) {{ return (ulong) {text}; }}\n"
    code += "int main(void) {\n"
    for values in inputs:
        arguments = ", ".join(f"({kind}) {value}ul" for kind, value in zip(kinds, values, strict=True))
        code += "".join(f'printf("%lu\\n", f{number}({arguments}));\n' for number in range(len(texts)))
    code += "return 0; }\n"
    source, program = folder / "oracle.c", folder / "oracle"  # type: ignore[operator]
    source.write_text(code)
    subprocess.run(["gcc", "-O0", "-fwrapv", "-w", "-o", program, source], check=True)
    numbers = [int(line) for line in subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()]
    return [numbers[at : at + len(texts)] for at in range(0, len(numbers), len(texts))]


def in_sluice(texts: list[str], inputs: list[list[int]]) -> list[list[int]]:
    """What the interpreter makes of it."""
    fields = "".join(f"{kind} {name}; " for kind, name in zip(TYPES, "abcdefgh", strict=True))
    declared = "".join(f"{kind} {name} = v.{name}; " for kind, name in zip(TYPES, "abcdefgh", strict=True))
    results = "\n".join(f"r.r[{number}] = (ulong) {text};" for number, text in enumerate(texts))
    text = f"""struct in_t {{ {fields} }} struct out_t {{ ulong r[{len(texts)}]; }}
    .element E (in_t in -> out_t out) {{ .handler {{ in_t v = read(in); {declared} out_t r; {results} write(out, r); }} }}"""
    diagnostics = Diagnostics()
    program = load_text(text, "test.sl", diagnostics)
    assert program is not None, "".join(error.render() for error in diagnostics.sorted()[:3])
    element = program.elements[0]
    kind = element.inputs[0].type
    assert isinstance(kind, typed.Struct)
    tokens = []
    for values in inputs:
        tokens.append(sum((value & (1 << f.type.bits) - 1) << f.low for f, value in zip(kind.fields, values, strict=True)))
    sent = run_element(element, {"in": tokens}, Decide()).outputs["out"]
    return [[token >> 64 * number & (1 << 64) - 1 for number in range(len(texts))] for token in sent]


def test_gives_what_c_gives(tmp_path):
    expressions = Expressions(11)
    texts = [expressions.text(expressions.rng.choice([1, 2, 3])) for _ in range(EXPRESSIONS)]
    edges = [0, 1, 127, 128, 255, 32768, 65535, (1 << 31) - 1, 1 << 31, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]
    choose = expressions.rng
    inputs = [[choose.choice([choose.getrandbits(64), choose.choice(edges)]) for _ in TYPES] for _ in range(INPUTS)]
    ours, theirs = in_sluice(texts, inputs), in_c(texts, inputs, tmp_path)
    wrong = {texts[n] for i in range(INPUTS) for n in range(EXPRESSIONS) if ours[i][n] != theirs[i][n]}
    assert not wrong, sorted(wrong, key=len)[:5]
