# SPDX-License-Identifier: Apache-2.0
"""`sluice fmt`: what it does to spaces, and that it changes nothing else."""

import pytest
from hypothesis import given
from typer.testing import CliRunner

from compiler.frontend import show
from compiler.frontend.format import format_text
from compiler.frontend.program import LIBRARY, load_text
from compiler.frontend.source import Diagnostics, Source
from compiler.layouts import LAYOUTS
from compiler.tests.test_fuzz import RELAXED
from compiler.tests.test_program import PROGRAMS
from compiler.tests.test_program_fuzz import broken_programs
from toolchain import ROOT
from tools.cli.main import app

OURS = sorted([*LIBRARY.glob("*/*.sl"), *LAYOUTS.rglob("*.sl"), *(ROOT / "configs").rglob("*.sl"), *(ROOT / "docs").rglob("*.sl")])


def formatted(text: str) -> str:
    diagnostics = Diagnostics()
    found = format_text(Source("test.sl", text), diagnostics)
    assert found is not None, "".join(error.render() for error in diagnostics.sorted())
    return found


def test_indents_and_spaces():
    messy = """.element  Pick<N=2>( packet in->packet out[ N ] ){
.state{uint  n;   // how many
}
  .handler {

flit x=read( in );
pair_t p={x->a , y -> b}; n=x?n [ 7 : n?3:2 ]:n[3 : 0];
if(x.sop&&n<3){n++;}else n=-1;
      ushort*p=(ushort*)&x.data;
n = p[ 1 ]*2+ - n
   + (uint) p [2];
switch(n){
case 1:n=n>1?2:3;
break;
default: n=0; }
/* one */ write(out[0],x);


  // behind
}
}
from_tor->Pick<N=3>::a [1]->to_tor ; a[2]=>( 200 )Drop
a [3]
->Drop
"""
    assert (
        formatted(messy)
        == """.element Pick <N = 2> (packet in -> packet out[N]) {
    .state { uint n;   // how many
    }
    .handler {
        flit x = read(in);
        pair_t p = {x->a, y->b}; n = x ? n[7:n ? 3 : 2] : n[3:0];
        if (x.sop && n < 3) { n++; } else n = -1;
        ushort *p = (ushort *) &x.data;
        n = p[1] * 2 + -n
            + (uint) p[2];
        switch (n) {
        case 1: n = n > 1 ? 2 : 3;
            break;
        default: n = 0; }
        /* one */ write(out[0], x);

        // behind
    }
}
from_tor -> Pick<N = 3>::a [1] -> to_tor; a[2] =>(200) Drop
a [3]
    -> Drop
"""
    )


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.stem)
def test_our_own_files_are_formatted(path):
    done = CliRunner().invoke(app, ["fmt", "--check", str(path)])
    assert done.exit_code == 0, f"./sluice fmt {path}\n{done.output}"


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_a_program_means_the_same_when_it_is_formatted(name):
    text = PROGRAMS[name].read_text()
    before, after = (load_text(t, str(PROGRAMS[name]), Diagnostics()) for t in (text, formatted(text)))
    assert before is not None and after is not None
    assert show.program(before) == show.program(after)


@pytest.mark.fuzz
@RELAXED
@given(broken_programs())
def test_a_second_time_changes_nothing(text):
    once = format_text(Source("fuzz.sl", text), Diagnostics())
    if once is not None:
        assert formatted(once) == once


def test_writes_the_file_and_leaves_a_broken_one(tmp_path):
    good, bad = tmp_path / "good.sl", tmp_path / "bad.sl"
    good.write_text("constexpr  uint A=1 ;\n")
    bad.write_text("constexpr  uint A=;\n")
    assert CliRunner().invoke(app, ["fmt", "--check", str(good)]).exit_code == 1
    assert good.read_text() == "constexpr  uint A=1 ;\n"
    done = CliRunner().invoke(app, ["fmt", str(good), str(bad)])
    assert done.exit_code == 1 and "E0201" in done.stderr
    assert good.read_text() == "constexpr uint A = 1;\n" and bad.read_text() == "constexpr  uint A=;\n"
