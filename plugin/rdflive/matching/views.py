"""Query-based partitioned views (SPECTRA, Definition 3.4 and Algorithm 1), as code generated per query.

One pass over the triples of an event puts each triple into the view of every pattern that it matches, after
testing constants, repeated variables, and filters over the pattern's variables alone. In SPECTRA's definition
no two patterns share a triple; here they may. A row of a view holds the terms of the pattern's variables.
SPECTRA encodes terms by a dictionary per event, which is useless here, because terms of both libraries are
hashed in C.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from rdflib import URIRef

from rdflive.engine.source import FunctionSource
from rdflive.matching.automaton import Automaton
from rdflive.matching.filters import write_test
from rdflive.matching.libraries import Library
from rdflive.query.bgp import TriplePattern, Variable

__all__ = ["Partition", "Row", "View", "compile_partition", "write_constant"]

Row: TypeAlias = tuple[Any, ...]
View: TypeAlias = list[Row]
Partition: TypeAlias = Callable[[Iterable[Any]], tuple[View, ...]]
"""Returns the views of all patterns, with distinct rows."""


def compile_partition(automata: Sequence[Automaton], library: Library) -> Partition:
    """Generate the pass over an event for all basic graph patterns of a query."""
    return _ViewWriter(automata, library).write()


def write_constant(source: FunctionSource, library: Library, name: str, term: Any) -> str:
    """Write the test that a term of a triple equals a constant."""
    native = library.to_native(term)
    # The hash usually decides, and is cheaper than equality, which is Python code in rdflib.
    constant, number = source.name(native), source.name(hash(native))
    if name == "p" and isinstance(native, URIRef):  # both are IRIs
        return f"({name} is {constant} or {source.name(str(native).__eq__)}({name}))"
    return f"({name} is {constant} or hash({name}) == {number} and {name} == {constant})"


class _ViewWriter:
    """Generates the code that puts triples into views."""

    def __init__(self, automata: Sequence[Automaton], library: Library) -> None:
        self.library = library
        self.source = FunctionSource("def partition(triples):")
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
        groups = self._by_predicate()
        for i in range(len(self.patterns)):
            source.line(f"v{i} = []; a{i} = v{i}.append")
        source.line(f"group_of = {source.name({n: g for g, n in enumerate(groups)})}.get")
        with source.block("for t in triples:"):
            self._unpack()
            if self.anywhere:
                self._read_others()
            for i in self.anywhere:
                self._enter(i)
            if groups:
                self._dispatch(list(groups.values()), read=bool(self.anywhere))
        for i, (pattern, _) in enumerate(self.patterns):
            self._once(i, pattern)
        source.line(f"return ({''.join(f'v{i}, ' for i in range(len(self.patterns)))})")
        partition: Partition = source.function()
        return partition

    def _by_predicate(self) -> dict[int, list[int]]:
        """Group the patterns by the hash of their constant predicate.

        Looking up an integer is faster than a term; `_enter` compares the terms, so equal hashes are
        harmless.
        """
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
        source.line(f"if type(p) is not {source.name(predicate)}: {source.name(library.check)}(t)")

    def _dispatch(self, groups: list[list[int]], *, read: bool) -> None:
        source = self.source
        source.line("group = group_of(hash(p))")
        # subject and object are checked after this, so only for triples that some pattern may match
        source.line("if group is None: continue")
        if not read:
            self._read_others()
        for number, group in enumerate(groups):
            with source.block(f"{'el' if number else ''}if group == {number}:"):
                for i in group:
                    self._enter(i)

    def _read_others(self) -> None:
        source, library = self.source, self.library
        if library.has_parts:
            source.line("s = t.subject; o = t.object")
        else:
            subjects, terms = source.name(library.subjects), source.name(library.terms)
            source.line(
                f"if type(s) not in {subjects} or type(o) not in {terms}: {source.name(library.check)}(t)"
            )

    def _enter(self, i: int) -> None:
        """Write the code that adds the triple to a view, if it matches."""
        pattern, filters = self.patterns[i]
        names: dict[Variable, str] = {}
        tests: list[str] = []
        for name, term in zip("pso", (pattern.predicate, pattern.subject, pattern.object), strict=True):
            if not isinstance(term, Variable):
                tests.append(write_constant(self.source, self.library, name, term))
            elif names.setdefault(term, name) != name:
                tests.append(f"{names[term]} == {name}")
        tests += [write_test(self.source, condition, names, self.library) for condition in filters]
        row = "".join(f"{names[v]}, " for v in pattern.variables)
        guard = f"if {' and '.join(tests)}: " if tests else ""
        self.source.line(f"{guard}a{i}(({row}))")

    def _once(self, i: int, pattern: TriplePattern) -> None:
        """Write the code that drops repeated rows, which come from repeated triples."""
        # cheap test first: a set of rows is built only if some first column repeats (by a `dict` of pairs)
        many = f"len(v{i}) > 1 and "
        if len(pattern.variables) == 2:
            many += f"len(dict(v{i})) < len(v{i}) and "
        self.source.line(f"if {many}len(set(v{i})) < len(v{i}): v{i} = list(dict.fromkeys(v{i}))")
