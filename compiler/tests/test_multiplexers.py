# SPDX-License-Identifier: Apache-2.0
"""What a condition says is looked for once in each node, however often the node is used."""

from compiler.ir.build import Builder
from compiler.passes.multiplexers import DEPTH, assume

PARTS = 20  # of a word: a way for each would be 20**6 of them


def test_a_word_of_many_equal_parts_is_looked_at_once() -> None:
    b = Builder()
    condition = b.exact("available", (), 1, name="a")
    word = b.exact("available", (), 1, name="b")
    for _ in range(DEPTH):
        word = b.exact("concat", (word,) * PARTS, word.width * PARTS)
    assert assume(b, word, condition, True, DEPTH) is word
    assert assume(b, b.exact("mux", (condition, word, word), word.width), condition, True, DEPTH) is word
