# SPDX-License-Identifier: Apache-2.0
"""Tables in Markdown."""

from toolchain.markdown import table


def test_a_table_has_commas_and_names_what_is_not_there() -> None:
    assert table(("a", "b"), [(12345, None), ("x", 1.5)]) == "| a | b |\n| --- | --- |\n| 12,345 | - |\n| x | 1.5 |"
