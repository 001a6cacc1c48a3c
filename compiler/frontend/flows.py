# SPDX-License-Identifier: Apache-2.0
"""Flow state: `flow<key, value> name[entries] (ways = 4, timeout = 0, evict = true);`.

A set-associative table that the element itself fills. It becomes states and functions in the language (the text below), so all
targets agree on the hash, on what is full and on what is evicted. `place` is the specification of a part, `sl_flow_sets`, that
hardware has in its place; `models/flow_place.py` says the same in Python.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.frontend import ast, typed
from compiler.frontend import ast_element as tree
from compiler.frontend.parse_element import ElementParser
from compiler.frontend.resolve import aggregate, describe
from compiler.frontend.scope import FunctionName, Number, Scope, TypeName
from compiler.frontend.source import Diagnostics, Source
from compiler.frontend.state_machine import StateMachines

MAX_WAYS = 8  # of sl_flow_sets
MAX_TIMEOUT = (1 << 32) - 1
MAX_KEY_BITS = 1024
FIND, INSERT, FORGET = range(3)  # what `place` is asked for
METHODS = """
uint set_of(key_t key) {
    uint<WORDS * 32> padded = (uint<KEY_BITS>) key;
    uint *word = (uint *) &padded;
    uint hash = 0;
    .repeat (i, 0, WORDS) {
        hash ^= word[i];
        hash ^= hash >> 16;
        hash += hash << 7;
        hash ^= hash >> 6;
    }
    hash += hash << 3;
    hash ^= hash >> 11;
    return hash & SETS - 1;
}
place_t place(key_t key, uint set, uint time, uint<2> what) {
    uint<8> own = WAYS;
    uint<8> usable = WAYS;
    bool is_expired = false;
    .repeat (way, 0, WAYS) {
        bool is_old = TIMEOUT != 0 && time - places[set][way].time >= TIMEOUT;
        if (places[set][way].live && places[set][way].key == key) {
            own = way;
            is_expired = is_old;
        }
        if (usable == WAYS && (!places[set][way].live || is_old)) usable = way;
    }
    uint<8> taken = own != WAYS ? own : usable != WAYS ? usable : EVICT ? hands[set] : (uint<8>) WAYS;
    place_t result;
    result.found = own != WAYS && !is_expired;
    result.is_new = !result.found && what == INSERT && taken != WAYS;
    result.slot = set * STRIDE + taken;
    if (result.found) {
        places[set][own].time = time;
        if (what == FORGET) places[set][own].live = false;
    } else if (result.is_new) {
        entry_t entry = {true, key, time};
        places[set][taken] = entry;
        if (hands[set] == taken) hands[set] = taken + 1 == WAYS ? 0 : taken + 1;
    }
    return result;
}
result_t find(key_t key, ulong time) {
    place_t at = place(key, set_of(key), (uint) time, FIND);
    result_t result;
    result.hit = at.found;
    if (at.found) result.value = values[at.slot];
    return result;
}
bool insert(key_t key, value_t value, ulong time) {
    place_t at = place(key, set_of(key), (uint) time, INSERT);
    bool has_place = at.found || at.is_new;
    if (has_place) values[at.slot] = value;
    return has_place;
}
bool remove(key_t key, ulong time) {
    place_t at = place(key, set_of(key), (uint) time, FORGET);
    return at.found;
}
"""


@dataclass(frozen=True, eq=False)
class Flow:
    """A flow's state and its functions."""

    name: str
    key: typed.Type
    value: typed.Type
    sets: int
    ways: int
    timeout: int
    evicts: bool
    placement: tuple[typed.Variable, ...]
    methods: dict[str, FunctionName]


class Flows(StateMachines):
    """Adds flows to an element."""

    def __init__(self, diagnostics: Diagnostics, scope: Scope) -> None:
        super().__init__(diagnostics, scope)
        self.flows: dict[typed.Variable, Flow] = {}

    def flow(self, node: tree.Flow) -> tuple[typed.Variable, ...]:
        """Declares a flow table; its states."""
        key, value = self.type(node.key), self.type(node.value)
        if key.bits > MAX_KEY_BITS:
            raise self.error("E0315", f"the key has {key.bits} bits", node.key.span, f"a key has at most {MAX_KEY_BITS} bits")
        ways, timeout, evict = (self._option(node, name, default) for name, default in (("ways", 4), ("timeout", 0), ("evict", 1)))
        count = self.positive(node.entries, "the number of entries")
        sets = count // ways if ways else 0
        if not 1 <= ways <= MAX_WAYS or sets * ways != count or sets & sets - 1:
            hint = f"the number of entries must be ways (1 to {MAX_WAYS}) times a power of two"
            raise self.error("E0317", f"invalid size: {count} entries in {ways} ways", node.entries.span, hint)
        if not 0 <= timeout <= MAX_TIMEOUT:
            raise self.error("E0317", f"a timeout of {timeout}", node.name.span, f"0 (never) to {MAX_TIMEOUT}: time has 32 bits")
        name, stride = node.name.text, 1 << (ways - 1).bit_length()
        word = typed.Integer(32)
        entry = aggregate("struct", f"{name}_entry", _fields(live=typed.BOOL, key=key, time=word))
        place = aggregate("struct", f"{name}_place", _fields(found=typed.BOOL, is_new=typed.BOOL, slot=word))
        result = aggregate("struct", f"{name}_result", _fields(hit=typed.BOOL, value=value))
        variable = typed.Variable(name, typed.Array(value, sets * stride), node.name.span, True, typed.Placement.LOCAL)
        places = typed.Variable(f"{name}_places", typed.Array(typed.Array(entry, ways), sets), node.name.span, True)
        hands = typed.Variable(f"{name}_hands", typed.Array(typed.Integer(8), sets), node.name.span, True)
        scope = Scope(self.scope)
        words = -(-key.bits // 32)
        numbers = {"WAYS": ways, "TIMEOUT": timeout, "EVICT": int(evict != 0), "SETS": sets, "KEY_BITS": key.bits, "WORDS": words}
        numbers |= {"STRIDE": stride, "FIND": FIND, "INSERT": INSERT, "FORGET": FORGET}
        scope.names |= {name: Number(number, None) for name, number in numbers.items()}
        types = {"key_t": key, "value_t": value, "entry_t": entry, "place_t": place, "result_t": result}
        scope.names |= {name: TypeName(kind) for name, kind in types.items()}
        scope.names |= {"values": variable, "places": places, "hands": hands}
        methods = {name: FunctionName(function, scope) for name, function in _functions(node.name.text).items()}
        scope.names |= methods
        self.declare(node.name, variable)
        self.flows[variable] = Flow(name, key, value, sets, ways, timeout, evict != 0, (places, hands), methods)
        return variable, places, hands

    def flow_tables(self) -> tuple[typed.FlowTable, ...]:
        """What the typed tree has of them, when the element's bodies are typed."""
        made = []
        for state, flow in self.flows.items():
            methods = {name: self.functions[found][0] for name, found in flow.methods.items() if found in self.functions}
            shape = (flow.sets, flow.ways, flow.timeout, flow.evicts)
            made.append(typed.FlowTable(flow.name, flow.key, flow.value, state, flow.placement, *shape, methods, state.span))
        return tuple(made)

    def _option(self, node: tree.Flow, name: str, default: int) -> int:
        for option in node.options:
            if option.name is None or option.name.text not in ("ways", "timeout", "evict"):
                raise self.error("E0507", "unknown option of a flow table", option.span, "(ways = 4, timeout = 0, evict = true)")
            if option.name.text == name:
                return self.value(option.value)
        return default

    def invoke(self, node: ast.Invoke) -> typed.Expression | None:
        found = self.scope.find(node.operand.name) if isinstance(node.operand, ast.Reference) else None
        if not isinstance(found, typed.Variable) or found not in self.flows:
            return super().invoke(node)
        flow, name = self.flows[found], node.method.text
        if name == "find":
            return self._find(flow, node)
        if name not in ("insert", "remove"):
            hint = "find(key, value, time), insert(key, value, time), remove(key, time)"
            raise self.error("E0404", f"flow tables have no method '{name}'", node.method.span, hint)
        function, _ = self.function(flow.methods[name], node.span)
        use = f"{flow.name}.{name}({'key, value, time' if name == 'insert' else 'key, time'})"
        if len(node.arguments) not in (len(function.parameters), len(function.parameters) - 1):
            self._want(node, len(function.parameters), use)
        if name == "remove" and flow.timeout and len(node.arguments) == 1:
            raise self.error("E0410", "without the time, it is not known whether the flow has expired", node.span, use)
        return self._call_method(function, node, list(node.arguments))

    def _find(self, flow: Flow, node: ast.Invoke) -> typed.Expression:
        """`name.find(key, value, time)`: whether it is there; the value, or 0, goes to `value`."""
        if len(node.arguments) not in (1, 2, 3):
            self._want(node, 3, f"{flow.name}.find(key, value, time)")
        function, _ = self.function(flow.methods["find"], node.span)
        target = self.place(node.arguments[1]) if len(node.arguments) > 1 else None
        if target and target.type != flow.value:
            hint = f"{describe(flow.value)} value; {flow.name}.find(key, value, time)"
            raise self.error("E0405", f"the value has type {describe(flow.value)}", node.arguments[1].span, hint)
        found = self.hoist(self._call_method(function, node, [node.arguments[0], *node.arguments[2:]]), "found")
        assert isinstance(found, typed.Load) and isinstance(found.type, typed.Struct)
        hit, value = (typed.Place(found.place.variable, (typed.Slice(f.low, f.type),), node.span) for f in found.type.fields)
        if target:
            self.out.append(typed.Assign(target, typed.Load(value, node.span), node.span))
        return typed.Load(hit, node.span)

    def _call_method(self, function: typed.Function, node: ast.Invoke, given: list[ast.Expression]) -> typed.Expression:
        """A call; a time that is not given is 0."""
        while len(given) < len(function.parameters):
            given.append(ast.Number(0, node.span, "0"))
        parameters = zip(given, function.parameters, strict=True)
        arguments = tuple(self.initial(value, parameter.type, f"'{parameter.name}'") for value, parameter in parameters)
        assert function.result is not None
        return typed.Call(function, arguments, function.result, node.span)


def _fields(**fields: typed.Type) -> list[tuple[str, typed.Type]]:
    return list(fields.items())


def _functions(flow: str) -> dict[str, tree.Function]:
    """The functions of a flow, parsed from the text above."""
    parser = ElementParser(Source(f"(flow {flow})", METHODS), Diagnostics())
    functions: dict[str, tree.Function] = {}
    while not parser.at_end():
        function = parser.function()
        functions[function.name.text] = function
    return functions
