# SPDX-License-Identifier: Apache-2.0
"""Flow state: `flow<key, value> name[entries] (ways = 4, timeout = 0, evict = true);`.

A set-associative table that the element itself fills. It becomes a state, an array of sets of ways, and functions in the
language (the text below), so all targets agree on the hash, on what is full and on what is evicted by construction.
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

MAX_WAYS = 16
MAX_KEY_BITS = 1024
METHODS = """
uint set_of(key_t key) {
    uint<WORDS * 32> padded = (uint<KEY_BITS>) key;
    uint *word = (uint *) &padded;
    uint hash = 0;
    .repeat (i, 0, WORDS) {
        hash = (hash ^ word[i]) * 0x9e3779b1;
        hash ^= hash >> 15;
    }
    return hash & SETS - 1;
}
bool is_live(entry_t entry, ulong time) { return entry.valid && (TIMEOUT == 0 || time - entry.time < TIMEOUT); }
result_t find(key_t key, ulong time) {
    uint set = set_of(key);
    result_t result;
    .repeat (way, 0, WAYS) {
        if (is_live(entries[set][way], time) && entries[set][way].key == key) {
            result.hit = true;
            result.value = entries[set][way].value;
        }
    }
    return result;
}
bool insert(key_t key, value_t value, ulong time) {
    uint set = set_of(key);
    uint<8> same = WAYS;
    uint<8> empty = WAYS;
    uint<8> oldest = 0;
    ulong age = 0;
    .repeat (way, 0, WAYS) {
        if (entries[set][way].valid && entries[set][way].key == key) same = way;
        if (!is_live(entries[set][way], time) && empty == WAYS) empty = way;
        if (time - entries[set][way].time > age) {
            oldest = way;
            age = time - entries[set][way].time;
        }
    }
    uint<8> chosen = same != WAYS ? same : empty != WAYS ? empty : EVICT ? oldest : (uint<8>) WAYS;
    .repeat (way, 0, WAYS) {
        if (chosen == way) {
            entry_t entry = {true, key, value, time};
            entries[set][way] = entry;
        }
    }
    return chosen != WAYS;
}
bool remove(key_t key) {
    uint set = set_of(key);
    bool found = false;
    .repeat (way, 0, WAYS) {
        if (entries[set][way].valid && entries[set][way].key == key) {
            found = true;
            entries[set][way].valid = false;
        }
    }
    return found;
}
"""


@dataclass(frozen=True, eq=False)
class Flow:
    """A flow's state and its functions."""

    name: str
    key: typed.Type
    value: typed.Type
    timeout: int
    evicts: bool
    methods: dict[str, FunctionName]


class Flows(StateMachines):
    """Adds flows to an element."""

    def __init__(self, diagnostics: Diagnostics, scope: Scope) -> None:
        super().__init__(diagnostics, scope)
        self.flows: dict[typed.Variable, Flow] = {}

    def flow(self, node: tree.Flow) -> typed.Variable:
        """Declares a flow's state."""
        key, value = self.type(node.key), self.type(node.value)
        if key.bits > MAX_KEY_BITS:
            raise self.error("E0315", f"the key has {key.bits} bits", node.key.span, f"a key has at most {MAX_KEY_BITS} bits")
        ways, timeout, evict = (self._option(node, name, default) for name, default in (("ways", 4), ("timeout", 0), ("evict", 1)))
        count = self.positive(node.entries, "the number of entries")
        sets = count // ways if ways else 0
        if not 1 <= ways <= MAX_WAYS or sets * ways != count or sets & sets - 1:
            hint = f"the number of entries must be ways (1 to {MAX_WAYS}) times a power of two"
            raise self.error("E0317", f"invalid size: {count} entries in {ways} ways", node.entries.span, hint)
        entry = aggregate(
            "struct", f"{node.name.text}_entry", _fields(valid=typed.BOOL, key=key, value=value, time=typed.Integer(64))
        )
        result = aggregate("struct", f"{node.name.text}_result", _fields(hit=typed.BOOL, value=value))
        variable = typed.Variable(node.name.text, typed.Array(typed.Array(entry, ways), sets), node.name.span, True)
        scope = Scope(self.scope)
        words = -(-key.bits // 32)
        numbers = {"WAYS": ways, "TIMEOUT": timeout, "EVICT": int(evict != 0), "SETS": sets, "KEY_BITS": key.bits, "WORDS": words}
        scope.names |= {name: Number(number, None) for name, number in numbers.items()}
        types = {"key_t": key, "value_t": value, "entry_t": entry, "result_t": result}
        scope.names |= {name: TypeName(kind) for name, kind in types.items()}
        scope.names["entries"] = variable
        methods = {name: FunctionName(function, scope) for name, function in _functions(node.name.text).items()}
        scope.names |= methods
        self.declare(node.name, variable)
        self.flows[variable] = Flow(node.name.text, key, value, timeout, evict != 0, methods)
        return variable

    def flow_tables(self) -> tuple[typed.FlowTable, ...]:
        """What the typed tree has of them, when the element's bodies are typed."""
        made = []
        for state, flow in self.flows.items():
            methods = {name: self.functions[found][0] for name, found in flow.methods.items() if found in self.functions}
            made.append(typed.FlowTable(flow.name, flow.key, flow.value, state, flow.timeout, flow.evicts, methods, state.span))
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
            hint = "find(key, value, time), insert(key, value, time), remove(key)"
            raise self.error("E0404", f"flow tables have no method '{name}'", node.method.span, hint)
        function, _ = self.function(flow.methods[name], node.span)
        use = f"{flow.name}.{name}({'key, value, time' if name == 'insert' else 'key'})"
        if len(node.arguments) not in (len(function.parameters), len(function.parameters) - 1 if name == "insert" else -1):
            self._want(node, len(function.parameters), use)
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
