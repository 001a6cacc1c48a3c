# SPDX-License-Identifier: Apache-2.0
"""The session answers as a solver does, whatever is in quotes, and says what it refuses."""

import os
import subprocess

import pytest

from toolchain.prove import SMT, TOOLS
from toolchain.smt.session import commands

BYTE = '(set-option :produce-models true)\n(set-logic QF_BV)\n; a (comment\n(declare-fun |a) "(| () (_ BitVec 8))\n'


def ask(text: str) -> tuple[int, str]:
    environment = {**os.environ, "PATH": f"{TOOLS}:/usr/bin:/bin"}
    done = subprocess.run([str(SMT / "bitwuzla")], input=text, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@pytest.mark.parametrize(("claim", "answer"), [("(= (bvadd %s #x01) #x00)", "sat"), ("(bvult %s #x00)", "unsat")])
def test_answers(claim: str, answer: str) -> None:
    asked = "(assert\n  " + claim % '|a) "(|' + ")\n(check-sat)\n(exit)\n"
    assert ask(BYTE + asked) == (0, f"{answer}\n")


def test_a_value_and_what_was_before_it() -> None:
    asked = '(push 1)\n(assert (= |a) "(| #x2a))\n(check-sat)\n(get-value (|a) "(|))\n(pop 1)\n(assert false)\n(check-sat)\n'
    assert ask(BYTE + asked) == (0, 'sat\n((|a) "(| #b00101010))\nunsat\n')


def test_what_is_refused_is_said() -> None:
    status, said = ask(BYTE + "(assert (= |b| #x00))\n(check-sat)\n")
    assert status == 1 and said.startswith('(error "') and "b" in said


def test_commands_are_whole_expressions() -> None:
    lines = ["(a ; )\n", " |)|\n", ' "(""(")\n', "(b)\n", "(c\n"]
    assert list(commands(lines)) == ["".join(lines[:3]), "(b)\n", "(c\n"]
