# SPDX-License-Identifier: Apache-2.0
"""Pipeline stages by a system of difference constraints, solved as a linear program (HiGHS); its solutions are integral.

Variables are stages: of every node, of every output port, register and memory, and the last stage in which a value is used.
A value is not used before its stage; two nodes whose path is longer than the clock are a stage apart; the firing condition is
in stage 0; a memory is asked READ_LATENCY stages before its word is there, and a table as long before as it takes. With the
initiation interval II, a state is read at most II - 1 stages before it is written: with II = 1 in the very stage (Cong and Zhang,
DAC 2006; the back edges as in XLS).
The aim is the fewest register bits.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from itertools import pairwise, permutations
from types import MappingProxyType

import highspy
import numpy as np

from compiler.ir.ir import Node
from compiler.ir.rewrite import order
from compiler.passes.placing import SET
from compiler.schedule.delays import Delays
from compiler.schedule.pipeline import Pipeline
from compiler.schedule.tables import PLACE_LATENCY, SET_LATER, stages

READ_LATENCY = 2  # of sl_forward_ram, one more with copies of the address, one more with a register for the data
MOST_IN_LUT_RAM = 64  # places of sl_pipe_output; more are in block RAM
APART = frozenset({"read", "lookup", "place", "ahead"})  # a clock edge is between them and their arguments
AT_START = frozenset({"head", "available", "argument", "choice", "kind", "insert", "remove"})  # what is there in stage 0
START = ("start",)  # stage 0
MAX_INTERVAL = 256
MOST_CONSTRAINTS = 1 << 18  # of one system; 666,000 take the solver 26 to 68 s, several times over
PENALTY = 1e4  # register bits that a stage which had better be there is worth
LATENCY_WEIGHT = 0.5  # register bits that a stage of latency is worth


class ScheduleError(Exception):
    """No interval up to MAX_INTERVAL fits, or not the one that is asked for; `slow`: the states that are to blame."""

    def __init__(self, text: str, slow: frozenset[str] = frozenset(), hint: str = "use a slower clock") -> None:
        super().__init__(text)
        self.slow, self.hint = slow, hint


class TooLarge(ScheduleError):
    """More than MOST_CONSTRAINTS."""

    def __init__(self, pipeline: Pipeline, constraints: int) -> None:
        super().__init__(
            f"{pipeline.element.name}: {len(pipeline.nodes):,} operators with {constraints:,} constraints of time; "
            f"at most {MOST_CONSTRAINTS:,} are scheduled",
            hint="make the program smaller: shorter loops, smaller arrays, fewer calls; or run it with --target cpu",
        )


@dataclass(frozen=True)
class Recurrence:
    """Why the interval is more than 1: from reading `state` to writing it takes `excess` stages too many, along `path`."""

    state: str
    excess: int
    path: tuple[Node, ...]


@dataclass(frozen=True)
class Schedule:
    """`stage[node]`; `port`, `register`, `memory`: the stage of each; `depth`: stages, the last one included."""

    pipeline: Pipeline
    interval: int
    depth: int
    stage: dict[Node, int]
    port: dict[str, int]
    register: dict[str, int]
    memory: dict[str, int]
    other: dict[Hashable, int]  # ("message",): all messages and assertions; ("result",)
    recurrences: tuple[Recurrence, ...]
    clock: float  # ns asked for
    tried: tuple[str, ...] = ()  # where the interval is more than 1: what does not help

    @property
    def latency(self) -> int:
        """Cycles from taking a token to offering the last one that comes of it, or to its last effect where none does."""
        return max(map(self._offered, self.port.values()), default=self.depth)

    def cycles_of(self, signal: int) -> int:
        """From the signal with this number to the next iteration."""
        return self.interval + self.pipeline.pauses.get(signal, 0)

    def _offered(self, stage: int) -> int:
        """The cycle in which sl_pipe_output offers what that stage writes."""
        places = -(-(stage + 4) // self.interval) + 2
        return stage + (3 if places > MOST_IN_LUT_RAM else 2)


NO_SLACK: Mapping[str, str] = MappingProxyType({})


class _Problem:
    """Difference constraints `x[b] - x[a] >= k` and a linear cost, as few as say the same: solving is much of a compilation."""

    def __init__(self) -> None:
        self.index: dict[Hashable, int] = {}
        self.upper: list[float] = []
        self.cost: list[float] = []
        self.rows: dict[tuple[int, int, str], int] = {}  # k by a, b and the state whose recurrence it is
        self.soft: dict[tuple[int, int], int] = {}  # k by a and b: for every stage that is lacking, PENALTY
        self.users: dict[
            tuple[int, int], dict[int, int]
        ] = {}  # by value and its bits: who takes it, in which stages before their own

    def variable(self, key: Hashable, upper: float = np.inf) -> int:
        if key not in self.index:
            self.index[key] = len(self.upper)
            self.upper.append(upper)
            self.cost.append(0.0)
        return self.index[key]

    def add(self, first: Hashable, second: Hashable, distance: int, state: str = "") -> None:
        """`second` is at least `distance` stages behind `first`."""
        self._apart(self.variable(first), self.variable(second), distance, state)

    def _apart(self, first: int, second: int, distance: int, state: str = "") -> None:
        key = first, second, state
        self.rows[key] = max(distance, self.rows.get(key, distance))

    def want(self, first: Hashable, second: Hashable, distance: int) -> None:
        """`second` had better be at least `distance` stages behind `first`."""
        key = self.variable(first), self.variable(second)
        self.soft[key] = max(distance, self.soft.get(key, distance))

    def use(self, value: Hashable, user: Hashable, latency: int, bits: int) -> None:
        """`user` takes a value `latency` stages before its own."""
        self.add(value, user, latency)
        users = self.users.setdefault((self.variable(value), bits), {})
        users[self.variable(user)] = min(latency, users.get(self.variable(user), latency))

    def limit_depth(self) -> None:
        """A stage of latency costs. Only what nothing comes behind can be in the last one."""
        depth, before = (
            self.variable("depth"),
            {first for (first, _, state), distance in self.rows.items() if not state and distance >= 0},
        )
        for variable in range(depth):
            if variable not in before:
                self._apart(variable, depth, 0)
        self.cost[depth] += LATENCY_WEIGHT

    def pay_registers(self) -> None:
        """From the stage of a value to where it is taken last, each of its bits has one."""
        for (value, bits), users in self.users.items():
            last = next(iter(users))
            if len(users) > 1:
                last = self.variable(("last", value))
                for user, latency in users.items():
                    self._apart(user, last, -latency)
            self.cost[last] += bits
            self.cost[value] -= bits

    def lacking(self) -> int | None:
        """By how much the interval is too small; None where no interval is enough."""
        solution = self.solve({state: "interval" for _, _, state in self.rows if state})
        return None if solution is None else math.ceil(solution[1].get("interval", 0.0) - 1e-6)

    def solve(self, slack: Mapping[str, str] = NO_SLACK) -> tuple[list[float], dict[str, float]] | None:
        """Values by index; or, where states have slacks (by name), with the least sum of them. None where there is none."""
        names = sorted(set(slack.values()))
        place = {name: len(self.upper) + n for n, name in enumerate(names)}
        hard = {(first, second): distance for (first, second, state), distance in self.rows.items() if not state}
        wanted = [] if slack else [(*pair, distance) for pair, distance in self.soft.items() if distance > hard.get(pair, -1)]
        columns = len(self.upper) + len(names) + len(wanted)
        starts, columns_of, values, lower = [0], [], [], []
        for number, (first, second, distance) in enumerate(wanted):
            columns_of += [first, second, len(self.upper) + number]
            values += [-1.0, 1.0, 1.0]
            starts.append(len(columns_of))
            lower.append(float(distance))
        for (first, second, state), distance in self.rows.items():
            if first == second:
                if distance > 0 and state not in slack:
                    return None
                continue
            columns_of += [first, second]
            values += [-1.0, 1.0]
            if state in slack:
                columns_of.append(place[slack[state]])
                values.append(1.0)
            starts.append(len(columns_of))
            lower.append(float(distance))
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = columns, len(lower)
        more = [1.0] * len(names) + [PENALTY] * len(wanted)
        program.col_cost_ = np.array([*([0.0] * len(self.cost) if slack else self.cost), *more])
        program.col_lower_ = np.zeros(columns)
        program.col_upper_ = np.array([*self.upper, *([np.inf] * len(more))])
        program.row_lower_, program.row_upper_ = np.array(lower), np.full(len(lower), np.inf)
        program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        program.a_matrix_.start_ = np.array(starts, dtype=np.int32)
        program.a_matrix_.index_ = np.array(columns_of, dtype=np.int32)
        program.a_matrix_.value_ = np.array(values)
        solver = highspy.Highs()  # type: ignore[no-untyped-call]
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("solver", "simplex")
        solver.setOptionValue("threads", 1)
        solver.passModel(program)
        solver.run()
        if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        found = list(solver.getSolution().col_value)
        return found, {name: found[at] for name, at in place.items()}


def schedule(
    pipeline: Pipeline, table: Delays, clock: float, interval: int = 0, strict: bool = False, goal: float = 0.0
) -> Schedule:
    """Stages for a clock of `clock` ns; the smallest interval that fits, or `interval`. The interval counts more than the wires
    from and to memories, but where `strict`; and more than the shorter clock `goal`, if there is one. Raises ScheduleError."""
    _refuse_late_start(pipeline)
    apart = _too_far(pipeline, table, clock - table.overhead)
    wanted = [pair for pair in apart if pair.is_wish or (pair.is_wire and not strict)]
    apart = [pair for pair in apart if not pair.is_wish and (strict or not pair.is_wire)]
    wanted += _too_far(pipeline, table, goal - table.overhead) if goal else []
    recurrences: tuple[Recurrence, ...] = ()
    read = {node.name for node in pipeline.nodes if node.op == "read"}  # others are no hardware, and have no port to wait for
    tried = interval or max([1, *(pipeline.turns(name) for name in read)])
    problem = _constraints(pipeline, apart, wanted, tried)
    solution = problem.solve()
    if solution is None:
        recurrences = _explain(pipeline, problem)
        more = None if interval else problem.lacking()
        if more is not None and tried + more <= MAX_INTERVAL:
            tried += more
            problem = _constraints(pipeline, apart, wanted, tried)
            solution = problem.solve()
    if solution is not None:
        return _result(pipeline, problem, solution[0], tried, recurrences, table, clock)
    slow = frozenset(recurrence.state for recurrence in recurrences)
    raise ScheduleError(
        f"{pipeline.element.name}: no initiation interval up to {interval or MAX_INTERVAL} meets a clock of {clock} ns", slow
    )


def _refuse_late_start(pipeline: Pipeline) -> None:
    """Raises ScheduleError where whether an iteration begins depends on what is known only stages behind the start."""
    for node in order(_firing(pipeline)):
        if node.op in ("lookup", "place") or (node.op == "read" and node.args[0].op != "const"):
            what = f"a lookup in '{node.name}'" if node.op != "read" else f"an entry of '{node.name}' at a variable index"
            raise ScheduleError(
                f"{pipeline.element.name}: the start of an iteration depends on {what}, which is known only in a later stage",
                hint="always read the inputs, and keep tokens that are not needed yet in a state",
            )


def latency(pipeline: Pipeline, node: Node, argument: int = 0) -> int:
    """How many stages a node takes an argument, by its number, before its own; negative: behind."""
    match node.op:
        case "read":
            later = (pipeline.copies(node.name) > 1) + (node.name in pipeline.registered | pipeline.far)
            return READ_LATENCY + later
        case "lookup":
            return stages(pipeline.element.tables[node.name])
        case "place":
            return PLACE_LATENCY - (SET_LATER if argument == SET else 0)
        case "ahead":
            return -node.value
    return 0


def _firing(pipeline: Pipeline) -> list[Node]:
    """What decides whether an iteration begins, and what is logged of it: stage 0."""
    found = [*pipeline.needs.values(), *pipeline.takes.values()]
    found += [node for select in pipeline.selects for node in (select.enable, select.index)]
    return found + ([pipeline.any_of] if pipeline.any_of is not None else [])


@dataclass(frozen=True)
class _Apart:
    """`second` is at least `distance` stages behind `first`; `is_wire`: because of wires from and to a memory; `is_wish`: a stage
    that is worth registers, but no cycle."""

    first: Node
    second: Hashable
    distance: int
    is_wire: bool = False
    is_wish: bool = False


def _too_far(pipeline: Pipeline, table: Delays, budget: float) -> list[_Apart]:
    """Pairs of nodes whose path, both included, takes longer than `budget` ns, and the stages between them; only the shortest such
    paths. The path to a memory that is read ends at its blocks, that to one that is written in its registers, that of a token
    and of whether it is written in the memory of the output, that of whether a state is in all of its bits."""
    firing = set(order(_firing(pipeline)))
    reach: dict[Node, dict[Node, float]] = {}
    pairs: list[_Apart] = []
    wires_to = index_wires(pipeline, table)
    for node in pipeline.nodes:
        if node.op == "const":
            continue
        if node in wires_to and node not in firing:
            wires = wires_to[node]
            far = [origin for origin, delay in reach.get(node.args[0], {}).items() if delay + wires > budget]
            pairs += [_Apart(origin, node, latency(pipeline, node) + 1, True) for origin in far]
        longest: dict[Node, float] = {}
        for argument in () if node.op in APART else node.args:
            for origin, delay in reach.get(argument, {}).items():
                longest[origin] = max(longest.get(origin, 0.0), delay)
        own = node_delay(pipeline, table, node)
        kept: dict[Node, float] = {}
        for origin, delay in longest.items():
            if delay + own > budget and own > 0 and node not in firing:
                pairs.append(_Apart(origin, node, 1))
            else:
                kept[origin] = delay + own
        kept[node] = own
        reach[node] = kept
    outputs = {port.name: table.output(port) for port in pipeline.element.outputs}
    for name, put in pipeline.puts.items():
        for node, wires in ((put.enable, outputs[name]), (put.data, table.data(put.data))):
            far = [origin for origin, delay in reach.get(node, {}).items() if delay > 0 and delay + wires > budget]
            pairs += [_Apart(origin, ("port", name), 1) for origin in far]
    for name, put in pipeline.next.items():
        wires = table.enable(put.data.width)
        far = [origin for origin, delay in reach.get(put.enable, {}).items() if delay > 0 and delay + wires > budget]
        pairs += [_Apart(origin, ("register", name), 1, is_wish=True) for origin in far]
    for write, slot, alone in zip(pipeline.writes, pipeline.slots, pipeline.alone, strict=True):
        wires_of = table.write(write.memory in pipeline.registered)
        for node, wires in zip((write.enable, write.index, write.data), wires_of, strict=True) if not alone else ():
            far = [origin for origin, delay in reach.get(node, {}).items() if delay > 0 and delay + wires > budget]
            pairs += [_Apart(origin, ("memory", write.memory), 1 - slot, True) for origin in far]
    return pairs


def index_wires(pipeline: Pipeline, table: Delays) -> dict[Node, float]:
    """Of each read at a variable index, the nanoseconds from the index to the blocks, or to the registers in front of them: those
    of all memories that are read at that index."""
    reads = [node for node in pipeline.nodes if node.op == "read" and node.args[0].op != "const"]
    registers: Counter[Node] = Counter()
    for node in reads:
        registers[node.args[0]] += pipeline.copies(node.name)
    return {
        node: table.enable(registers[node.args[0]])
        if pipeline.copies(node.name) > 1
        else table.address(pipeline.element.memories[node.name], 1)
        for node in reads
    }


def node_delay(pipeline: Pipeline, table: Delays, node: Node) -> float:
    """Nanoseconds through a node; a token that is not always waited for is 0 where there is none."""
    if node.op == "read" and node.name in pipeline.registered:
        return 0.0
    need = pipeline.needs.get(node.name) if node.op == "head" else None
    is_choice = node.op == "head" and not (need is not None and need.op == "const" and need.value == 1)
    return table.choice(node.width) if is_choice else table.of(node)


def _constraints(pipeline: Pipeline, apart: list[_Apart], wanted: list[_Apart], interval: int) -> _Problem:
    problem = _Problem()
    problem.variable(START, 0.0)
    for node in pipeline.nodes:
        if node.op != "const":
            problem.variable(node, 0.0 if node.op in AT_START else np.inf)
    for node in pipeline.nodes:
        if node.op in ("lookup", "place"):
            problem.add(START, node, latency(pipeline, node) + _later(pipeline, node))  # even with a constant key: tables change
        for number, argument in enumerate(node.args):
            _use(problem, argument, node, latency(pipeline, node, number))
            if node.op == "ahead" and argument.op != "const":
                problem.add(argument, node, 1 - node.value)
    for pair in apart:
        problem.add(pair.first, pair.second, pair.distance)
    for pair in wanted:
        problem.want(pair.first, pair.second, pair.distance)
    for node in _firing(pipeline):
        if node.op != "const":
            problem.upper[problem.variable(node)] = 0.0
    for port, put in pipeline.puts.items():
        _use(problem, put.enable, ("port", port), 0)
        _use(problem, put.data, ("port", port), 0)
    for message in pipeline.messages:
        for node in (message.enable, *message.arguments):
            _use(problem, node, ("message",), 0)
    for assertion in pipeline.assertions:
        for node in (assertion.enable, assertion.condition):
            _use(problem, node, ("message",), 0)
    if pipeline.result is not None:
        _use(problem, pipeline.result, ("result",), 0)
    _states(problem, pipeline, interval)
    _flows(problem, pipeline, interval)
    problem.limit_depth()
    problem.pay_registers()
    if len(problem.rows) > MOST_CONSTRAINTS:
        raise TooLarge(pipeline, len(problem.rows))
    return problem


def _later(pipeline: Pipeline, node: Node) -> int:
    """The first stage in which a table is asked: whether an iteration begins comes late, and the rules of a TCAM are far from it.
    Placed and routed on the ECP5-5G: 3.4 ns of nets, 199 MHz (TernaryRules)."""
    return 1 if node.op == "lookup" and pipeline.element.tables[node.name].kind == "ternary" else 0


def _states(problem: _Problem, pipeline: Pipeline, interval: int) -> None:
    for name, put in pipeline.next.items():
        for node in (put.enable, put.data):
            _use(problem, node, ("register", name), 0)
        problem.cost[problem.variable(("register", name))] += 1e-3
    for write, slot in zip(pipeline.writes, pipeline.slots, strict=True):
        for node in (write.enable, write.index, write.data):
            _use(problem, node, ("memory", write.memory), -slot)
        problem.cost[problem.variable(("memory", write.memory))] += 1e-3
    for node in pipeline.nodes:
        if node.op in ("register", "read"):
            kind = "register" if node.op == "register" else "memory"
            if (kind, node.name) in problem.index:
                more = max(pipeline.turns(node.name) - 1, 0) if kind == "memory" else 0
                lag = pipeline.lags.get(node.name, 0)  # then of an interval of 1
                problem.add(node, (kind, node.name), lag)
                problem.add((kind, node.name), node, 1 - interval + more - lag, node.name)


def _flows(problem: _Problem, pipeline: Pipeline, interval: int) -> None:
    """A flow table takes a key in a cycle: those of an iteration in turn, and all of them before any of the next iteration."""
    for name in pipeline.element.flows:
        places = [[place for place in asked if place.name == name] for asked in pipeline.places]
        for asked in places:
            for first, second in pairwise(asked):
                problem.add(first, second, 1)
        every = [place for asked in places for place in asked]
        for first, second in permutations(every, 2):
            problem.add(first, second, 1 - interval, name)


def _use(problem: _Problem, value: Node, user: Hashable, latency: int) -> None:
    """`user` needs `value` `latency` stages before its own; registers are paid for from the value's stage to its last use."""
    problem.variable(user)
    if value.op == "const":
        return
    problem.use(value, user, latency, value.width)


def _explain(pipeline: Pipeline, problem: _Problem) -> tuple[Recurrence, ...]:
    """The states whose way from read to write is too long, by the least total slack."""
    solution = problem.solve({state: state for _, _, state in problem.rows if state})
    if solution is None:
        return ()
    found = []
    for state, slack in solution[1].items():
        if slack > 0.5:
            found.append(Recurrence(state, round(slack), _path(pipeline, state)))
    return tuple(found)


def _path(pipeline: Pipeline, state: str) -> tuple[Node, ...]:
    """The longest chain of nodes from a read of the state to its next value."""
    targets = [pipeline.next[state].enable, pipeline.next[state].data] if state in pipeline.next else []
    targets += [node for write in pipeline.writes if write.memory == state for node in (write.enable, write.index, write.data)]
    best: dict[Node, tuple[Node, ...]] = {}
    targets += [place for asked in pipeline.places for place in asked if place.name == state]
    for node in order(targets):
        chains = [best[argument] for argument in node.args if argument in best]
        if node.op in ("register", "read", "place") and node.name == state:
            best[node] = max([(node,), *((*chain, node) for chain in chains)], key=len)
        elif chains:
            best[node] = (*max(chains, key=len), node)
    return max((best[target] for target in targets if target in best), key=len, default=())


def _result(
    pipeline: Pipeline,
    problem: _Problem,
    values: list[float],
    interval: int,
    recurrences: tuple[Recurrence, ...],
    table: Delays,
    clock: float,
) -> Schedule:
    at = {key: round(values[place]) for key, place in problem.index.items()}
    stage = {node: at.get(node, 0) for node in pipeline.nodes}
    named: dict[str, dict[str, int]] = {"port": {}, "register": {}, "memory": {}}
    other: dict[Hashable, int] = {}
    for key, value in at.items():
        if isinstance(key, tuple) and key[0] in named:
            named[key[0]][key[1]] = value
        elif isinstance(key, tuple) and key[0] in ("message", "result"):
            other[key] = value
    depth = 1 + max([*stage.values(), *(value for group in named.values() for value in group.values()), *other.values()], default=0)
    return Schedule(pipeline, interval, depth, stage, named["port"], named["register"], named["memory"], other, recurrences, clock)
