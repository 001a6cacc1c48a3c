# SPDX-License-Identifier: Apache-2.0
"""Random statements, one a line, so that the reducer can take lines away. Loops have small bounds, since hardware unrolls them."""

from __future__ import annotations

from compiler.fuzz.expressions import Expressions
from compiler.fuzz.writer import BOOL, MOST_REPEATS, REPEATED, UINT, Kind

MOST_LOOPS = 2  # in each other


class Statements(Expressions):
    """Writes statements."""

    def declare(self) -> None:
        if self.scope.arrays and self.chance(20):
            return self.view()
        kind = self.any_type()
        name = self.fresh("v")
        suffix = f"[{kind.count}]" if kind.kind == "array" else ""
        same = [text for text, whole in self.scope.wholes if whole == kind]
        if kind.kind in ("int", "bool", "enum") and self.chance(70):
            self.line(f"{kind.text} {name} = {self.of(kind, 1)};")
        elif same and self.chance(50):
            self.line(f"{kind.text} {name} = {self.choose.choice(same)};")
        elif kind.is_flat and self.chance(50):
            self.line(f"{kind.text} {name} = {self.literal(kind, 2)};")
        else:
            self.line(f"{kind.text} {name}{suffix};")
        return self.know(name, kind)

    def view(self) -> None:
        """A pointer to one struct of an array."""
        array, kind = self.choose.choice(self.scope.arrays)
        assert kind.of is not None
        name = self.fresh("e")
        self.line(f"{kind.of.text} *{name} = &{array}[{self.index(kind.count)}];")
        places = [place for part, inner in kind.of.fields for place in self.places(f"{name}->{part}", inner)]
        self.scope.values += [place for place in places if place[1].kind != "enum"]
        self.scope.targets += places

    def assign(self) -> None:
        if not self.scope.targets:
            return self.declare()
        if self.scope.wholes and self.chance(8):
            return self.assign_whole()
        place, kind = self.choose.choice(self.scope.targets)
        if kind.kind != "int":
            return self.line(f"{place} = {self.of(kind, 1)};")
        form = self.choose.randrange(10)
        if form < 6 and self.chance(10):
            bits, width = self.range_of(kind)
            return self.line(f"{place}{bits} = (uint<{width}>) {self.value(0)};")
        if form < 6:
            return self.line(f"{place} = ({kind.text}) {self.value(0)};")
        if form == 6:
            return self.line(f"{place} {self.choose.choice(['<<=', '>>='])} {self.shift(1)};")
        if form == 7:
            return self.line(f"{place}{self.choose.choice(['++', '--'])};")
        return self.line(f"{place} {self.choose.choice('+-*&|^')}= ({kind.text}) {self.value(1)};")

    def assign_whole(self) -> None:
        """A struct at once."""
        place, kind = self.choose.choice(self.scope.wholes)
        same = [text for text, whole in self.scope.wholes if whole == kind]
        if kind.is_flat and self.chance(50):
            return self.line(f"{place} = {self.literal(kind, 1)};")
        return self.line(f"{place} = {self.choose.choice(same)};")

    def branch(self) -> None:
        with self.inside(f"if ({self.condition(0)})"):
            self.statements(self.choose.randint(1, 3))
        if self.chance(40):
            with self.inside("else"):
                self.statements(self.choose.randint(1, 2))

    def switch(self) -> None:
        if not self.scope.targets:
            return self.branch()
        bits = self.choose.choice([2, 3, 4])
        with self.inside(f"switch ((uint<{bits}>) {self.value(1)})"):
            for label in self.choose.sample(range(1 << bits), 2):
                self.line(f"case {label}:")
                self.assign()
                self.line("break;")
            self.line("default:")
            self.assign()
        return None

    def loop(self) -> None:
        outer, could_leave = self.scope.loops, self.scope.can_leave_loop
        if outer >= MOST_LOOPS:
            return self.assign()
        count = self.choose.randint(1, MOST_REPEATS if not outer else 2)
        self.scope.loops, self.scope.can_leave_loop = outer + 1, True
        form = self.choose.randrange(10)
        if form < 6 or self.scope.is_reset:
            name = self.fresh("i")
            with self.inside(f"for (uint {name} = 0; {name} < {count}; {name}++)"):
                self.know(name, UINT, False)
                self.statements(self.choose.randint(1, 3 if not outer else 2))
        elif form < 8:
            with self.inside(f"while ({self.condition(0)}) .unroll({count})"):
                self.statements(self.choose.randint(1, 3 if not outer else 2))
        else:
            self.scope.can_leave_loop = False
            name = self.fresh(REPEATED)
            with self.inside(f".repeat ({name}, 0, {count})"):
                self.know(name, UINT, False)
                self.statements(self.choose.randint(1, 2))
        self.scope.loops, self.scope.can_leave_loop = outer, could_leave
        return None

    def leave(self) -> None:
        """`break`, `continue` or `return`, under a condition."""
        words = ["break;", "continue;"] if self.scope.can_leave_loop else []
        if self.scope.returns and self.chance(30 if self.scope.is_handler else 100):
            words.append(self.scope.returns())
        if not words:
            return self.assign()
        with self.inside(f"if ({self.condition(1)})"):
            self.line(self.choose.choice(words))
        return None

    def message(self) -> None:
        if self.chance(50):
            return self.line(f'print("{self.fresh("m")} {{}} {{}}", {self.value(2)}, {self.value(2)});')
        return self.line(f"assert({self.condition(1)});")

    def flow(self) -> None:
        """Looks up, inserts or removes in a flow table."""
        table, key, value = self.choose.choice(self.flows)
        found = self.fresh("b")
        time = f", (uint<8>) {self.leaf()}" if self.chance(60) else ""
        given = self.key(key)
        form = self.choose.randrange(5)
        if form == 0:
            return self.line(f"{table}.remove({given}{time or ', 0'});")
        name = self.fresh("v")
        self.line(f"{value.text} {name};")
        self.know(name, value)
        if form < 3:
            self.line(f"bool {found} = {table}.find({given}, {name}{time});")
        else:
            self.assign()
            self.line(f"bool {found} = {table}.insert({given}, {name}{time});")
        self.know(found, BOOL)
        return None

    def key(self, kind: Kind) -> str:
        """Something to look up by: an expression, or a variable, which is declared first."""
        if kind.kind != "struct":
            return self.of(kind, 2)
        name = self.fresh("v")
        self.line(f"{kind.text} {name} = {self.literal(kind, 2)};")
        return name

    def lookup(self) -> None:
        """Asks a table of rules; each place is a copy of the table, so there are not many."""
        table, key, value = self.choose.choice(self.tables)
        given, found = self.key(key), self.fresh("b")
        if self.chance(15):
            self.line(f"bool {found} = {table}.lookup({given});")
        else:
            name = self.fresh("v")
            self.line(f"{value.text} {name};")
            self.line(f"bool {found} = {table}.lookup({given}, {name});")
            self.know(name, value)
        self.know(found, BOOL)

    def statement(self) -> None:
        self.budget -= 1
        forms = [self.assign] * 6 + [self.declare] * 2 + [self.branch] * 2
        if self.budget > 0:
            forms += [self.loop, self.switch, self.leave]
        if self.features.messages and self.chance(20) and not self.scope.is_reset:
            forms.append(self.message)
        if self.flows and not self.scope.loops and not self.scope.is_reset and self.budget > 0:
            forms += [self.flow] * 2
        if self.tables and not self.scope.loops and self.scope.is_handler and self.budget > 0:
            forms += [self.lookup] * 4
        if self.scope.changers:
            forms.append(self.change)
        self.choose.choice(forms)()

    def statements(self, count: int) -> None:
        for _ in range(count):
            self.statement()

    def function(self) -> None:
        """A function; what it does to states is seen by what stands to the right of its call."""
        parameters = tuple(self.scalar() for _ in range(self.choose.randint(0, 3)))
        result = self.integer()
        name = self.fresh("f")
        names = [self.fresh("a") for _ in parameters]
        outer = self.scope
        self.scope = outer.state_only()
        if self.chance(50):
            self.scope = type(outer)(calls=list(outer.calls))
        self.scope.returns = lambda: f"return ({result.text}) {self.value(2)};"
        with self.inside(f"{result.text} {name}({self.parameters(parameters, names)})"):
            for kind, parameter in zip(parameters, names, strict=True):
                self.know(parameter, kind)
            self.statements(self.choose.randint(0, 2))
            self.line(f"return ({result.text}) {self.value(0)};")
        self.scope = outer
        self.scope.calls.append((name, parameters, result))

    def changer(self) -> None:
        """A function that changes arguments; what it reads of them is what its caller gave."""
        taken = tuple(self.scalar() for _ in range(self.choose.randint(0, 2)))
        known = [kind for _, kind in self.scope.targets]
        changed = tuple(
            self.choose.choice(known) if known and self.chance(60) else self.scalar() for _ in range(self.choose.randint(1, 2))
        )
        name, names = self.fresh("f"), [self.fresh("a") for _ in taken + changed]
        outer = self.scope
        self.scope = outer.state_only() if self.chance(50) else type(outer)(calls=list(outer.calls))
        self.scope.returns = lambda: "return;"
        pointers = [f"*{parameter}" for parameter in names[len(taken) :]]
        with self.inside(f"void {name}({self.parameters(taken + changed, names[: len(taken)] + pointers)})"):
            places = [*names[: len(taken)], *(f"{parameter}[0]" for parameter in names[len(taken) :])]
            for kind, place in zip(taken + changed, places, strict=True):
                self.know(place, kind)
            self.statements(self.choose.randint(1, 2))
            for kind, place in zip(changed, places[len(taken) :], strict=True):
                self.line(f"{place} = {self.of(kind, 1)};")
        self.scope = outer
        self.scope.changers.append((name, taken, changed))

    def change(self) -> None:
        """Calls such a function, with variables of its types, new ones where there are none."""
        name, taken, changed = self.choose.choice(self.scope.changers)
        places = []
        for kind in changed:
            same = [place for place, found in self.scope.targets if found == kind and place not in places]
            if not same or self.chance(20):
                same = [self.fresh("v")]
                self.line(f"{kind.text} {same[0]} = {self.of(kind, 2)};")
                self.know(same[0], kind)
            places.append(self.choose.choice(same))
        given = [*(self.of(kind, 2) for kind in taken), *(f"&{place}" for place in places)]
        self.line(f"{name}({', '.join(given)});")

    def parameters(self, kinds: tuple[Kind, ...], names: list[str]) -> str:
        """As they are declared."""
        return ", ".join(f"{kind.text} {name}" for kind, name in zip(kinds, names, strict=True))
