"""Query-based partitioned views (paper 004, Definition 3.4 and Algorithm 1), written as code per query.

One pass over the triples of an event puts each into the view of every pattern that it matches (two
patterns may share a triple, whatever the definition says), once its constants, its repeated variables and
the filters over its variables alone have been tested. A row of a view holds the terms of the pattern's
variables. The paper encodes them by a dictionary per event; terms that are hashed in C, as those of both
libraries are, gain nothing by that.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any, TypeAlias

from rdflive.engine.source import Source
from rdflive.query.bgp import TriplePattern, Variable
from rdflive.time.matching.automaton import Automaton
from rdflive.time.matching.filters import make_test, own_variables
from rdflive.time.matching.libraries import Library

__all__ = ["Partition", "Row", "View", "Writer", "compile_partition"]

Row: TypeAlias = tuple[Any, ...]
View: TypeAlias = list[Row]
Partition: TypeAlias = Callable[[Iterable[Any]], tuple[View, ...]]
"""Gives the views of all patterns, each row once."""


def compile_partition(automata: Sequence[Automaton], library: Library) -> Partition:
    """Write and compile the one pass over an event for all basic graph patterns of a query."""
    return Writer(automata, library).write()


class Writer:
    """Writes code that puts triples into views."""

    def __init__(self, automata: Sequence[Automaton], library: Library) -> None:
        self.library = library
        self.source = Source("def partition(triples):")
        self.patterns = [
            (pattern, filters)
            for automaton in automata
            for pattern, filters in zip(automaton.patterns, automaton.filters, strict=True)
        ]
        self.anywhere = [i for i, (p, _) in enumerate(self.patterns) if isinstance(p.predicate, Variable)]
        """The patterns whose predicate is a variable."""

    def write(self) -> Partition:
        """Write the code for events of any shape."""
        source = self.source
        groups = self.by_predicate()
        self.begin()
        source.line(f"group_of = {source.name({n: g for g, n in enumerate(groups)})}.get")
        with source.block("for t in triples:"):
            self._unpack()
            if self.anywhere:
                self._read_object()
            for i in self.anywhere:
                self.enter(i)
            if groups:
                self._dispatch(list(groups.values()), read=bool(self.anywhere))
        self.end()
        partition: Partition = source.function("partition")
        return partition

    def by_predicate(self) -> dict[int, list[int]]:
        """Group the patterns by the hash of their constant predicate."""
        groups: dict[int, list[int]] = {}
        for i, (pattern, _) in enumerate(self.patterns):
            if not isinstance(pattern.predicate, Variable):
                native = self.library.to_native(pattern.predicate)
                groups.setdefault(hash(native), []).append(i)
        return groups

    def _unpack(self) -> None:
        source, library = self.source, self.library
        if library.has_parts:
            source.line("p = t.predicate")
            return
        source.line("s, p, o = t")
        (predicate,) = library.predicates
        kinds = f"type(p) is not {source.name(predicate)} or type(s) not in {source.name(library.subjects)}"
        source.line(f"if {kinds}: {source.name(library.check)}(t)")

    def _dispatch(self, groups: list[list[int]], *, read: bool) -> None:
        source = self.source
        source.line("group = group_of(hash(p))")
        source.line("if group is None: continue")
        if not read:
            self._read_object()
        for number, group in enumerate(groups):
            with source.block(f"{'el' if number else ''}if group == {number}:"):
                for i in group:
                    self.enter(i)

    def _read_object(self) -> None:
        source, library = self.source, self.library
        if library.has_parts:
            source.line("s = t.subject; o = t.object")
        else:
            source.line(f"if type(o) not in {source.name(library.terms)}: {source.name(library.check)}(t)")

    def begin(self, without: Container[int] = ()) -> None:
        """Begin with empty views, but for some."""
        for i in range(len(self.patterns)):
            if i in without:
                continue
            self.source.line(f"v{i} = []; a{i} = v{i}.append")

    def is_plain(self, i: int) -> bool:
        """Tell whether every triple of a pattern's predicate enters its view."""
        pattern, filters = self.patterns[i]
        return not filters and i not in self.anywhere and len(pattern.variables) == 2

    def end(self) -> None:
        """Give the views, each row once."""
        for i, (pattern, _) in enumerate(self.patterns):
            self._once(i, pattern)
        self.source.line(f"return ({''.join(f'v{i}, ' for i in range(len(self.patterns)))})")

    def enter(self, i: int, place: str = "", *, is_known: bool = False) -> None:
        """Let the triple whose terms are called `s`, `p` and `o` with a place into a view, if it matches.

        With `is_known` its predicate is surely the pattern's, where that has a constant one.
        """
        pattern, filters = self.patterns[i]
        source = self.source
        tests, names = self._tests(pattern, place, is_known=is_known)
        for condition in filters:
            variables = own_variables(condition, pattern.variables)
            test = source.name(make_test(condition, variables, self.library))
            tests.append(f"{test}(({''.join(f'{names[v]}, ' for v in variables)}))")
        row = "".join(f"{names[v]}, " for v in pattern.variables)
        guard = f"if {' and '.join(tests)}: " if tests else ""
        source.line(f"{guard}a{i}(({row}))")

    def _tests(
        self, pattern: TriplePattern, place: str, *, is_known: bool
    ) -> tuple[list[str], dict[Variable, str]]:
        """Write the tests of constants and of repeated variables, and name the variables."""
        source = self.source
        tests: list[str] = []
        names: dict[Variable, str] = {}
        for role, term in zip("pso", (pattern.predicate, pattern.subject, pattern.object), strict=True):
            name = role + place
            if not isinstance(term, Variable):
                if role == "p" and is_known:
                    continue
                native = self.library.to_native(term)
                constant, number = source.name(native), source.name(hash(native))
                same = f"{name} is {constant} or hash({name}) == {number} and {name} == {constant}"
                if role == "p" and self.library.to_rdflib is None:
                    same = (
                        f"{name} is {constant} or {source.name(str(native).__eq__)}({name})"  # both are IRIs
                    )
                tests.append(f"({same})")
            elif term in names:
                tests.append(f"{names[term]} == {name}")
            else:
                names[term] = name
        return tests, names

    def _once(self, i: int, pattern: TriplePattern) -> None:
        """Drop repeated rows, as of an event with repeated triples; mostly the first column tells apart."""
        many = f"len(v{i}) > 1 and "
        if len(pattern.variables) == 2:
            many += f"len(dict(v{i})) < len(v{i}) and "
        self.source.line(f"if {many}len(set(v{i})) < len(v{i}): v{i} = list(dict.fromkeys(v{i}))")
