# SPDX-License-Identifier: Apache-2.0
"""The lint of layers finds each way up, and only those."""

from pathlib import Path

import pytest

from tools import layers

TABLE = """
| folder | holds | may use |
| --- | --- | --- |
| `low/` | parts | |
| `middle/` | with `words` | `low/` |
| `high/` | all | everything |

| folder | holds | may use |
| --- | --- | --- |
| `middle/ground/` | | |
| `middle/stairs/` | | `middle/ground/` |
"""


def wrong(tmp_path: Path, **files: str) -> list[str]:
    """What is wrong with files, given as folder__name__ending; a folder inside another as outer_inner."""
    paths = []
    for name, text in files.items():
        folder, stem, ending = name.split("__")
        path = tmp_path / folder.replace("_", "/") / f"{stem}.{ending}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        paths.append(str(path.relative_to(tmp_path)))
    return layers.wrong(tmp_path, paths, TABLE)


def test_the_project_has_no_exception() -> None:
    from tools import lint

    assert lint.layers(False) == ""


@pytest.mark.parametrize("text", ["import middle.part\n", "from middle import part\n", "def f():\n    from middle.part import g\n"])
def test_an_import_upwards_is_named_with_file_and_line(tmp_path: Path, text: str) -> None:
    line = 1 + text[: text.index("middle")].count("\n")
    name = "middle.part" if "middle.part" in text else "middle"
    assert wrong(tmp_path, low__a__py=text) == [f"low/a.py:{line}: {name}: low/ may not use middle/ (ARCHITECTURE.md, Folders)"]


def test_an_instance_upwards_is_wrong_and_a_comment_is_not(tmp_path: Path) -> None:
    top = "module top; /* bottom\n bottom */ endmodule\n"
    bottom = "module bottom;\n  // top\n  top u_top();\nendmodule\n"
    assert wrong(tmp_path, middle__top__sv=top, low__bottom__sv=bottom) == [
        "low/bottom.sv:3: top: low/ may not use middle/ (ARCHITECTURE.md, Folders)"
    ]


def test_downwards_within_a_folder_in_tests_and_outside_is_allowed(tmp_path: Path) -> None:
    assert not wrong(
        tmp_path,
        middle__a__py="import low, os\nfrom middle import b\nfrom . import c\n",
        low__test_a__py="import high\n",
        low__conftest__py="import high\n",
        high__b__py="import low\nimport middle\n",
    )


def test_a_use_upwards_between_folders_of_a_folder_is_wrong(tmp_path: Path) -> None:
    assert wrong(
        tmp_path,
        middle_ground__a__py="from middle.stairs import b, c\nimport middle\nimport middle.top\n",
        middle_stairs__b__py="import low\nfrom middle.ground import a\nfrom middle import ground\n",
        middle_ground_testing__c__py="import middle.stairs.b\n",
        middle__top__py="import middle.stairs.b\n",
        low__d__py="import middle.ground.a\n",
    ) == [
        "middle/ground/a.py:1: middle.stairs: middle/ground/ may not use middle/stairs/ (ARCHITECTURE.md, Folders)",
        "low/d.py:1: middle.ground.a: low/ may not use middle/ (ARCHITECTURE.md, Folders)",
    ]


def test_an_include_upwards_is_wrong_and_one_of_the_own_folder_or_of_the_system_is_not(tmp_path: Path) -> None:
    assert wrong(
        tmp_path,
        middle_ground__own__h="",
        middle_stairs__own__h="",
        middle_stairs__steps__h='#include "own.h"\n',
        middle_ground__a__c='#include <steps.h>\n#include "own.h"\n#include "generated.h"\n#include "steps.h"\n',
        middle_stairs__b__cc='#include "a.h"\n',
        middle_ground__a__h="",
        low__c__c='#include "stairs/steps.h"\n',
    ) == [
        "middle/ground/a.c:4: steps.h: middle/ground/ may not use middle/stairs/ (ARCHITECTURE.md, Folders)",
        "low/c.c:1: stairs/steps.h: low/ may not use middle/ (ARCHITECTURE.md, Folders)",
    ]


def test_a_table_that_is_missing_or_names_no_row_is_an_error() -> None:
    with pytest.raises(ValueError, match="no table"):
        layers.allowed("# Architecture\n")
    with pytest.raises(ValueError, match="attic may be used"):
        layers.allowed(TABLE.replace("`low/` |\n| `high", "`attic/` |\n| `high"))
