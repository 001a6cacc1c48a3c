# SPDX-License-Identifier: Apache-2.0
"""The lint of names finds each name that breaks a rule, and only those."""

from pathlib import Path

import pytest

from tools import names


def wrong(tmp_path: Path, **files: str) -> list[str]:
    """What is wrong with files, given as folder__name__ending."""
    paths = []
    for name, text in files.items():
        folder, stem, ending = name.split("__")
        path = tmp_path / folder / f"{stem}.{ending}"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        paths.append(str(path.relative_to(tmp_path)))
    return names.wrong(tmp_path, paths)


def test_the_project_has_no_exception() -> None:
    from tools import lint

    assert lint.names(False) == ""


def test_states_of_another_style_and_enums_without_their_ending_are_wrong(tmp_path: Path) -> None:
    text = """module m;
  typedef enum logic [1:0] {StIdle, Wait, StATE_IDLE = 2, ST_DONE} state_t;  // {Comment}
  typedef enum logic {
    StSweep,
    STATE_IDLE
  } state_e;
  typedef enum logic {Red, Green} colour_t;
  typedef enum logic {StOn, StOff2} state_e;
endmodule
"""
    assert wrong(tmp_path, rtl__m__sv=text) == [
        "rtl/m.sv:2: state_t: call this enum state_e",
        "rtl/m.sv:2: Wait: a state is called as StIdle is",
        "rtl/m.sv:2: StATE_IDLE: a state is called as StIdle is",
        "rtl/m.sv:2: ST_DONE: a state is called as StIdle is",
        "rtl/m.sv:3: STATE_IDLE: a state is called as StIdle is",
        "rtl/m.sv:7: colour_t: call this enum colour_e",
    ]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("static int is_empty(const struct list *list) {", "is_empty"),
        ("int list_is_empty(const struct list *list);", "list_is_empty"),
        ("    uint8_t bits, has_ipv4;", "has_ipv4"),
        ("    unsigned at = 0, *can_wait;", "can_wait"),
        ("void f(uint32_t size, int is_last) {", "is_last"),
    ],
)
def test_a_predicate_that_is_a_number_is_wrong(tmp_path: Path, line: str, name: str) -> None:
    assert wrong(tmp_path, host__a__c=f"\n{line}\n") == [f"host/a.c:2: {name}: make it a bool"]


@pytest.mark.parametrize(
    "line",
    [
        "static bool is_empty(const struct list *list) {",
        "void f(uint32_t size, bool is_last);",
        "uint32_t size, this_is, hash_words, scan_at; // int is_comment",
        "    int n = 0; bool is_done = n > is_few(n);",
    ],
)
def test_a_predicate_that_is_a_bool_is_right(tmp_path: Path, line: str) -> None:
    assert not wrong(tmp_path, host__a__c=line + "\n")


def test_what_a_shared_header_declares_has_a_prefix(tmp_path: Path) -> None:
    header = """#include <stdint.h>
#define LANE_MOST 8
#define MOST 8
struct sluice_lane;
struct queue {
    int size;
};
enum kind { SLUICE_KIND_ONE, KIND_TWO = 2 };
int lane_open(struct queue *queue);
uint8_t *bytes_of(struct queue *queue);
static inline int host_side(void) {
    return other(1);
}
"""
    assert not wrong(tmp_path, host__lane__h=header, host__lane__c='#include "lane.h"\n'), "nobody else includes it"
    assert not wrong(tmp_path, host__lane__h=header, host_testing__a__c='#include "stone.h"\n')
    assert sorted(wrong(tmp_path, host__lane__h=header, pmd__a__c='#include "lane.h"\n')) == [
        f"host/lane.h:{line}: {name}: begin it with sluice_ or lane_ or host_"
        for line, name in ((10, "bytes_of"), (3, "MOST"), (5, "queue"), (8, "KIND_TWO"), (8, "kind"))
    ]


def test_a_namespace_is_a_prefix(tmp_path: Path) -> None:
    assert not wrong(tmp_path, host__lane__h="namespace lane {\nvoid open(int);\n}\n", pmd__a__c='#include "lane.h"\n')
