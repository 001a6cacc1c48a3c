# SPDX-License-Identifier: Apache-2.0
"""`sluice new element`: the folder of a new element, which works and has a test from the first minute."""

from __future__ import annotations

import re
from pathlib import Path

import typer

from toolchain import ROOT
from tools.cli.programs import save

ELEMENTS = ROOT / "elements"

PROGRAM = """\
// SPDX-License-Identifier: Apache-2.0
/// Passes packets, and counts them.

.element {name} (packet in -> packet out) {{
    .state {{ ulong packets = 0; }}
    .handler {{
        flit x = read(in);
        if (x.sop) packets += 1;
        write(out, x);
    }}
    .signal ulong get_packets() {{ return packets; }}
}}
"""
TEST = """\
# SPDX-License-Identifier: Apache-2.0
\"\"\"{name} behaves as its first line says, in the interpreter and as C++.\"\"\"

from pathlib import Path

import pytest

from testing.programs import run

PROGRAM = f'''
import "{{Path(__file__).with_name("{folder}.sl")}}";
{name} :: it @
from_tor -> it -> to_tor
'''
PACKETS = [bytes(n % 251 for n in range(size)) for size in (60, 64, 65, 1500)]


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_passes_packets_and_counts_them(target, tmp_path):
    ran = run(PROGRAM, [PACKETS], tmp_path, target, signals=["it.get_packets"])
    assert ran.left == [PACKETS]
    assert ran.answers["it"] == [len(PACKETS)]
"""
README = """\
# {name}

Passes packets, and counts them.

| port or signal | |
| --- | --- |
| `in`, `out` | packets |
| `get_packets()` | packets so far |

    from_tor -> {name} -> to_tor

Its hardware: `./sluice report {path}`.
"""

app = typer.Typer(no_args_is_help=True, help="Create an element: `./sluice new element NAME`.", rich_markup_mode="markdown")


@app.callback()
def _new() -> None:
    """Makes `element` a word of the command line, although it is the only one yet."""


@app.command("element")
def element(
    name: str = typer.Argument(..., help="name of the element in CamelCase, e.g. TtlFilter"),
    folder: Path = typer.Option(ELEMENTS, "--folder", help="parent of the new folder; default: the library"),
) -> None:
    """Create a folder with NAME.sl (an element that passes packets and counts them), a test, and a manual page.

    It runs unchanged; edit it from there. Every program finds an element in the library folder. To use one elsewhere,
    `import "FOLDER/NAME.sl";`. The steps from here to hardware: `docs/guide/tutorial.md`."""
    if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", name):
        words = re.findall(r"[A-Za-z][A-Za-z0-9]*", name)
        like = "".join(word[0].upper() + word[1:] for word in words) or "TtlFilter"
        raise typer.BadParameter(f"'{name}' is not an element name: use letters and digits, starting with a capital, like '{like}'")
    own = folder / name.lower()
    if own.exists():
        raise typer.BadParameter(f"{own} already exists; choose another name")
    program = own / f"{own.name}.sl"
    path = program.resolve()
    shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    values = {"name": name, "folder": own.name, "path": shown}
    save(program, PROGRAM.format(**values))
    save(own / f"test_{own.name}.py", TEST.format(**values))
    save(own / "README.md", README.format(**values))
    for path in (program, own / f"test_{own.name}.py", own / "README.md"):
        print(path)
    print(f"\nnext: ./sluice check {program}\n      ./sluice test {own}")
