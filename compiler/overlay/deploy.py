# SPDX-License-Identifier: Apache-2.0
"""A program and its rules as a program of the pipeline, and what was placed where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sluice_layouts as L

from compiler.frontend import typed
from compiler.frontend.source import Source
from compiler.overlay.behaviour import Behaviour, behaviour
from compiler.overlay.place import Placed, Sizes, placed
from compiler.overlay.rules import Rule, read_rules, tables_of
from compiler.overlay.units import UnitDraft, numbered, units_of
from compiler.pipeline.pipeline_image import PipelineProgram
from compiler.stateful.families import pace


@dataclass(frozen=True)
class Deployment:
    """What a program becomes."""

    behaviour: Behaviour
    rules: Mapping[str, list[Rule]]
    units: list[UnitDraft]
    placed: Placed
    has_composed: bool = True  # its stateful units

    @property
    def program(self) -> PipelineProgram:
        return self.placed.program

    @property
    def reads_time(self) -> bool:
        """Whether what becomes of a packet depends on when it comes."""
        programs = self.program.stateful.values()
        return any(one.key.timeout or L.PROCESS_SOURCE_TICK in [read.source for read in one.inputs] for one in programs)

    def report(self) -> dict[str, Any]:
        """What was placed where."""
        return {
            "units": [
                {
                    "number": number,
                    "decides": unit.title,
                    "source": str(unit.span),
                    "kind": "exact" if unit.exact else "ternary",
                    "key": unit.words,
                    "entries": len(unit.entries) - 1,
                }
                for number, unit in enumerate(self.units)
            ],
            "stateful": [
                {
                    "number": number,
                    "source": str(self.behaviour.span),
                    "entries": len(program.entries),
                    "conditions": list(program.conditions),
                    "labels": list(program.labels),
                    **pace(program, self.has_composed),
                }
                for number, program in self.program.stateful.items()
            ],
            "containers": dict(sorted(self.placed.containers.items(), key=lambda item: item[1])),
            "written": list(self.placed.written),
            "checksums": {name: sorted(words) for name, words in self.placed.checksums.items()},
            "rules": {name: len(rules) for name, rules in self.rules.items()},
        }


def deployed(program: typed.Program, rules: Source | None = None, sizes: Sizes | None = None, lanes: int = 4) -> Deployment:
    """The program of a pipeline of these sizes. Raises OverlayError with the place in the source, or in the rules."""
    found = behaviour(program, lanes)
    elsewhere = tables_of(program.instances).keys() - found.tables.keys()
    some = read_rules(rules, found.tables, elsewhere) if rules is not None else {}
    sizes = sizes or Sizes()
    drafts, process = units_of(found, some, sizes.most_entries)
    units = numbered(drafts)
    return Deployment(found, some, units, placed(units, process, sizes, found.span), sizes.composed)
