# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/design/cost.md, of figures by part; `sluice bench --all` writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

BLOCK_BITS = {"xcup": 36864, "ecp5": 18432}  # of a RAMB36 and of an EBR, with the parity bits
KINDS = ("lut", "ff", "lutram", "bram")
CELL_BITS = 64  # of a LUT used as RAM (xcup) and of a DPR16X4

Golden = Mapping[str, Mapping[str, float]]


def shares(figures: Mapping[str, float], rules: int) -> dict[str, dict[str, float]]:
    """LUTs of logic, bits of LUT RAM and of block RAM for a rule, by target; what RAM cells hold, used or not."""
    return {
        target: {
            "lut": round(figures[f"{target}.lut"] / rules, 2),
            "lutram_bits": round(figures[f"{target}.lutram"] * CELL_BITS / rules, 1),
            "bram_bits": round(figures[f"{target}.bram"] * BLOCK_BITS[target] / rules, 1),
        }
        for target in BLOCK_BITS
        if rules and f"{target}.lut" in figures
    }


def _area(figures: Mapping[str, float], target: str) -> str:
    values = [figures.get(f"{target}.{k}") for k in KINDS]
    return " / ".join("-" if v is None else f"{v:g}" for v in values) if values[0] is not None else "-"


def part_table(golden: Golden, parameters: Mapping[str, str]) -> str:
    """All parts, in the order of parts.toml."""
    lines = [
        "| part | parameters | UltraScale+ LUT / FF / LUT-RAM / BRAM36 | ECP5 LUT4 / FF / DPR16X4 / EBR | ECP5-5G MHz |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, shown in parameters.items():
        if figures := golden.get(name):
            clock = f"{figures['ecp5.mhz']:.0f}" if "ecp5.mhz" in figures else "-"
            lines.append(f"| `{name}` | {shown} | {_area(figures, 'xcup')} | {_area(figures, 'ecp5')} | {clock} |")
    return "\n".join(lines)


def rule_table(golden: Golden, rules: Mapping[str, int]) -> str:
    """The tables: what one rule costs."""
    lines = [
        "| table | rules | UltraScale+ LUT / LUT-RAM bits / block-RAM bits | ECP5 LUT4 / LUT-RAM bits / block-RAM bits |",
        "| --- | --- | --- | --- |",
    ]
    for name, count in rules.items():
        if count and (figures := golden.get(name)):
            found = shares(figures, count)
            cells = [
                f"{s['lut']:g} / {s['lutram_bits']:g} / {s['bram_bits']:g}" if (s := found.get(t)) else "-" for t in BLOCK_BITS
            ]
            lines.append(f"| `{name}` | {count} | {cells[0]} | {cells[1]} |")
    return "\n".join(lines)


def sum_table(figures: Golden, added: Sequence[str], peer: str, target: str = "xcup") -> str:
    """Each part alone and all added, over the peer."""
    kinds = [f"{target}.{kind}" for kind in KINDS]
    if any(kinds[0] not in figures.get(name, {}) for name in (*added, peer)):
        return "Not measured."

    def line(title: str, values: Sequence[float]) -> str:
        return f"| {title} | {' | '.join(f'{value:,.6g}' for value in values)} |"

    def over(values: Sequence[float]) -> list[float]:
        return [round(value / figures[peer][kind], 2) for value, kind in zip(values, kinds, strict=True)]

    alone = {f"`{name}`": [figures[name][kind] for kind in kinds] for name in added}
    every = [sum(column) for column in zip(*alone.values(), strict=True)]
    rows = {
        **alone,
        f"`{peer}`": [figures[peer][kind] for kind in kinds],
        f"`{added[0]}` over `{peer}`": over(alone[f"`{added[0]}`"]),
        f"`{' and '.join(added)}` added, over `{peer}`": over(every),
    }
    lines = ["| UltraScale+ | LUT | FF | LUT-RAM | BRAM36 |", "| --- | --- | --- | --- | --- |"]
    return "\n".join([*lines, *(line(title, values) for title, values in rows.items())])
