# SPDX-License-Identifier: Apache-2.0
"""The flow tables of an element in its module: a `sl_flow_sets` each. What an iteration asks of one it asks in different cycles,
and the interval keeps iterations apart, so in each cycle at most one question enters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compiler.backends.sv_expressions import is_one
from compiler.ir.ir import Flows, Node
from compiler.passes.placing import ENABLE, FORGETS, INSERTS, KEY, SET, TIME
from compiler.schedule.schedule import latency

if TYPE_CHECKING:
    from compiler.backends.sv_element import Module


class FlowTables:
    """What the module of `module` says about its flow tables; nothing where it has none."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.asked = {name: self._places(name) for name in module.element.flows}

    def _places(self, name: str) -> list[Node]:
        return [place for places in self.module.pipeline.places for place in places if place.name == name]

    def _instances(self) -> list[tuple[str, Flows]]:
        return [(f"u_{name}_flows", self.module.element.flows[name]) for name, places in self.asked.items() if places]

    def declarations(self) -> list[str]:
        """What several stages refer to."""
        return [f"  logic {instance}_ready;" for instance, _ in self._instances()]

    def ready(self) -> list[str]:
        """What must hold before any iteration begins."""
        return [f"{instance}_ready" for instance, _ in self._instances()]

    def text(self) -> list[str]:
        """The tables."""
        return [line for instance, flows in self._instances() for line in self._table(instance, flows)]

    def _table(self, instance: str, flows: Flows) -> list[str]:
        module, places = self.module, self.asked[flows.name]
        enters = {place: self._enters(place) for place in places}

        def chosen(argument: int) -> str:
            values = [module.ref(place.args[argument], self._stage(place, argument)) for place in places]
            text = values[-1]
            for place, value in zip(reversed(places[:-1]), reversed(values[:-1]), strict=True):
                if value != text:
                    when = self._enters(place, SET) if argument == SET else enters[place]
                    text = f"{when} ? {value} : {text}"
            return text

        asks = " || ".join(f"({enters[place]})" for place in places)
        bits = flows.width - 2
        return [
            f"\n  // Flow table {flows.name}: {flows.sets} sets of {flows.ways}",
            f"  logic {instance}_found, {instance}_new;",
            f"  logic [{bits - 1}:0] {instance}_place;",
            f"  sl_flow_sets #(.KeyBits({flows.key}), .Sets({flows.sets}), .Ways({flows.ways}), .Timeout({flows.timeout}),"
            f" .Evict(1'b{int(flows.evicts)})) {instance} (",
            f"    .clk_i, .rst_i, .ready_o({instance}_ready), .key_valid_i({asks}),",
            f"    .key_i({chosen(KEY)}), .now_i({chosen(TIME)}),",
            f"    .insert_i({chosen(INSERTS)}), .forget_i({chosen(FORGETS)}),",
            f"    .set4_i({chosen(SET)}),",
            f"    .found_o({instance}_found), .new_o({instance}_new), .place_o({instance}_place)",
            "  );",
            *(f"  assign {module.names[place]} = {{{instance}_found, {instance}_new, {instance}_place}};" for place in places),
        ]

    def _stage(self, place: Node, argument: int) -> int:
        """The stage in which an argument enters."""
        return self.module.stage[place] - latency(self.module.pipeline, place, argument)

    def _enters(self, place: Node, argument: int = ENABLE) -> str:
        """That the question enters, or its set does."""
        stage, enable = self._stage(place, argument), place.args[ENABLE]
        return f"valid[{stage}]" + ("" if is_one(enable) else f" && {self.module.ref(enable, stage)}")
