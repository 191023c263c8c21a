"""The run of a TP-Join automaton (SPECTRA, Algorithm 2), as code generated per order of its states.

Each state joins the rows of the states before with the view of its pattern, by a hash index on the variables
that both bind. A complex filter between the two is a sort-merge join inside each key of the index. The run
ends at the first state without rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

from rdflive.engine.source import FunctionSource
from rdflive.matching.automaton import Automaton, ComplexFilter
from rdflive.matching.filters import own_variables, write_test
from rdflive.matching.libraries import Library
from rdflive.matching.ranks import LookUp, probe
from rdflive.matching.views import Row, View
from rdflive.query.bgp import Variable

__all__ = ["Indexes", "Run", "StateJoin", "Tally", "compile_run"]

_MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}

Tally: TypeAlias = list[int]
"""Counts of joins, rows in views, and small events. A run adds its joins."""
Run: TypeAlias = Callable[[Sequence[View], Tally], list[Row]]
"""Returns the solutions: the terms of the `shown` variables."""


@dataclass(frozen=True, slots=True)
class StateJoin:
    """The join of a state: the bound variables of its view, and the new ones.

    Example: in `{ ?x :of ?y . ?y :name ?z }`, after the first pattern is joined, the second has the key `?y`
    and the new variable `?z`.
    """

    pattern: int
    key: tuple[Variable, ...]
    new: tuple[Variable, ...]
    merge: ComplexFilter | None
    """The complex filter by which the view is sorted."""


class Indexes(Protocol):
    """Indexes of views that are kept between events."""

    def index(self, join: StateJoin) -> dict[Any, Any]:
        """Return the rows of a view by the key of a join, as lists of their new values.

        For a sort-merge join these are pairs of the compared rdflib term and the new values.
        """

    def look_up(self, join: StateJoin) -> LookUp:
        """Return the look-up function of a sort-merge join."""


def compile_run(
    automaton: Automaton,
    order: Sequence[int],
    shown: Sequence[Any],
    library: Library,
    indexes: Indexes | None = None,
) -> Run:
    """Generate the run through the states in one order.

    `shown` are the variables of a solution; other terms are used as they are. With `indexes`, the caller
    passes only the view of the first state to the run, which reads the others from `indexes`.
    """
    return _JoinWriter(automaton, order, shown, library, indexes).write()


class _JoinWriter:
    def __init__(
        self,
        automaton: Automaton,
        order: Sequence[int],
        shown: Sequence[Any],
        library: Library,
        indexes: Indexes | None,
    ) -> None:
        self.automaton = automaton
        self.order = order
        self.shown = shown
        self.library = library
        self.indexes = indexes
        self.source = FunctionSource("def run(views, tally):")
        self.names = {v: f"x{i}" for i, v in enumerate(automaton.variables)}
        self.bound: list[Variable] = []
        self.row: tuple[Variable, ...] = ()
        """The variables of the rows so far."""
        # conditions that no state has tested yet
        self.open = [*(c.condition for c in automaton.comparisons), *automaton.conditions]

    def write(self) -> Run:
        source = self.source
        for step, pattern in enumerate(self.order):
            last = step == len(self.order) - 1
            if not step:
                self._start(pattern, last=last)
            else:
                self._join(self._plan(pattern), step, last=last)
            # the automaton stops at the first state without rows
            if not last:
                with source.block("if not r:"):
                    source.line(f"tally[0] += {step}")
                    source.line("return r")
        if not self.order:
            source.line("r = [()]")
        source.line(f"tally[0] += {max(0, len(self.order) - 1)}")
        source.line("return r")
        run: Run = source.function()
        return run

    def _start(self, pattern: int, *, last: bool) -> None:
        own = self.automaton.patterns[pattern].variables
        self.bound += own
        tests = self._tests()
        out = self._out(0, last=last)
        self.source.line(f"r = views[{pattern}]")
        row = self._tuple(own)
        if tests or out != row:
            self.source.line(f"r = [{out} for {row} in r{self._if(tests)}]")

    def _plan(self, pattern: int) -> StateJoin:
        own = self.automaton.patterns[pattern].variables
        key = tuple(v for v in own if v in self.bound)
        new = tuple(v for v in own if v not in self.bound)
        # one comparison sorts the view; others between the same states are tested per row
        merges = (self._faced(c, new) for c in self.automaton.comparisons if c.condition in self.open)
        return StateJoin(pattern, key, new, next((c for c in merges if c is not None), None))

    def _faced(self, comparison: ComplexFilter, new: tuple[Variable, ...]) -> ComplexFilter | None:
        """Turn a comparison so that its left side is bound and its right side new; None if that is
        impossible.
        """
        c = comparison
        if c.left in self.bound and c.right in new:
            return c
        if c.right in self.bound and c.left in new:
            return ComplexFilter(c.right, _MIRRORED[c.operator], c.left, c.condition)
        return None

    def _join(self, join: StateJoin, step: int, *, last: bool) -> None:
        source = self.source
        # before `_out`, which sets `self.row` to the columns that leave this state
        row = self._tuple(self.row)
        self.bound += join.new
        if join.merge is not None:
            self.open.remove(join.merge.condition)
        tests = self._tests()
        out = self._out(step, last=last)
        if self.indexes is not None:
            source.line(f"i = {source.name(self.indexes.index(join))}")
            self._look_up(join, row, out, tests)
            return
        source.line(f"v = views[{join.pattern}]")
        own = self.automaton.patterns[join.pattern].variables
        # rows of a key and one value can be passed to `dict` directly
        if len(own) != 2 or join.key != own[:1] or not join.new or join.merge is not None:
            self._fill(join)
            self._look_up(join, row, out, tests)
            return
        source.line("i = dict(v)")
        # Properties with one value per subject are the common case: `dict` makes such an index in C.
        with source.block("if len(i) == len(v):"):  # one row for each key
            found = f"({self._new(join)} := i.get({self._key(join)})) is not None"
            source.line(f"r = [{out} for {row} in r{self._if([found, *tests])}]")
        with source.block("else:"):
            self._fill(join)
            self._look_up(join, row, out, tests)

    def _fill(self, join: StateJoin) -> None:
        """Write the code that builds the index of a view."""
        source = self.source
        view = self._tuple(self.automaton.patterns[join.pattern].variables)
        key, new = self._key(join), self._new(join)
        if not join.new:
            source.line(f"i = {{{key} for {view} in v}}")
            return
        if join.merge is not None:
            new = f"({self._value(join.merge.right)}, {new})"
        source.line("i = {}; list_of = i.get")
        with source.block(f"for {view} in v:"):
            source.line(f"l = list_of({key})")
            source.line(f"if l is None: i[{key}] = [{new}]")
            source.line(f"else: l.append({new})")

    def _look_up(self, join: StateJoin, row: str, out: str, tests: list[str]) -> None:
        key = self._key(join)
        if not join.new:
            self.source.line(f"r = [{out} for {row} in r{self._if([f'{key} in i', *tests])}]")
            return
        found = f"list_of({key}, ())"
        if join.merge is not None:
            made = probe(join.merge.operator) if self.indexes is None else self.indexes.look_up(join)
            look_up = self.source.name(made)
            found = f"{look_up}(i, {key}, {self._value(join.merge.left)})"
        else:
            self.source.line("list_of = i.get")
        self.source.line(f"r = [{out} for {row} in r for {self._new(join)} in {found}{self._if(tests)}]")

    def _tests(self) -> list[str]:
        """Write the conditions whose variables are now all bound, and mark them as written."""
        texts = []
        for condition in tuple(self.open):
            variables = own_variables(condition, self.automaton.variables)
            if all(v in self.bound for v in variables):
                self.open.remove(condition)
                texts.append(write_test(self.source, condition, self.names, self.library))
        return texts

    def _out(self, step: int, *, last: bool) -> str:
        """Write the row that leaves a state: the values that later states read, or the solution."""
        if last:
            parts = [self.names[v] if isinstance(v, Variable) else self.source.name(v) for v in self.shown]
            return f"({''.join(f'{part}, ' for part in parts)})"
        # values that no later state reads are left out, so that rows stay short
        later = {v for pattern in self.order[step + 1 :] for v in self.automaton.patterns[pattern].variables}
        later.update(v for v in self.shown if isinstance(v, Variable))
        later.update(v for c in self.open for v in own_variables(c, self.automaton.variables))
        self.row = tuple(v for v in self.bound if v in later)
        return self._tuple(self.row)

    def _tuple(self, variables: Sequence[Variable]) -> str:
        return f"({''.join(f'{self.names[v]}, ' for v in variables)})"

    def _key(self, join: StateJoin) -> str:
        return self.names[join.key[0]] if len(join.key) == 1 else self._tuple(join.key)

    def _new(self, join: StateJoin) -> str:
        return self.names[join.new[0]] if len(join.new) == 1 else self._tuple(join.new)

    def _value(self, variable: Variable) -> str:
        """Write the rdflib term of a variable in a row."""
        term = self.names[variable]
        return term if self.library.to_rdflib is None else f"{self.source.name(self.library.value)}({term})"

    def _if(self, tests: list[str]) -> str:
        return f" if {' and '.join(tests)}" if tests else ""
