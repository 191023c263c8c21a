"""Small events answered by one generated function per query, without views and joins.

The function puts the triples of an event into *buckets*: per predicate of the query, the objects by subject.
Then it walks from bucket to bucket in nested loops, in an order that depends on the query only. So it needs
no sizes and no intermediate rows, which cost more than they save while a bucket holds few triples.

Example: `{ ?o :of ?s . ?s :name ?n }` over (o1, :of, s1) (s1, :name, "a"). The buckets are {o1: [s1]} and
{s1: ["a"]}. The walk lists the first, and looks up each ?s in the second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from itertools import chain
from typing import Any, Final, Literal, TypeAlias, cast

from rdflib import URIRef

from rdflive.engine.source import FunctionSource
from rdflive.matching.automaton import Automaton
from rdflive.matching.filters import own_variables, write_test
from rdflive.matching.libraries import Library
from rdflive.matching.views import Row, write_constant
from rdflive.query.bgp import TriplePattern, Variable

__all__ = ["Walk", "compile_walk", "largest"]

_LARGEST: Final = 64
"""An event with up to this many triples is small."""
_FEW: Final = 16
"""The same limit if the walk may list pairs that the joins of views need not list."""
_LOOPS: Final = 16
"""Greatest number of nested loops. Python compiles up to 20."""
_NEAR: Final = 4
"""Greatest number of consecutive patterns of a walk in any small event, each starting from the last binding.

If every node has several neighbours, the paths are many, though all may end without a solution. Joins start
from the end with fewer rows. In events with few triples twice as many consecutive patterns are harmless.
"""

Walk: TypeAlias = Callable[[Sequence[Any]], Sequence[list[Row]]]
"""Returns the solutions of each basic graph pattern."""
Way: TypeAlias = Literal["list", "turn", "open"]
"""A loop over all subjects of a pattern, over the subjects of the bound object, or over the objects of the
bound subject.
"""
Step: TypeAlias = tuple[Way, int]


class _Text(str):
    """The text of an IRI, as a key that rdflib's IRIs are looked up with.

    Comparing two rdflib IRIs runs Python code; comparing a text of this class with an IRI does not.
    """

    __slots__ = ()


def largest(automata: Iterable[Automaton]) -> int:
    """Return the greatest number of triples of an event for the walk; -1 if the query always uses views and
    joins.
    """
    most = _LARGEST
    for automaton in automata:
        steps = _steps(automaton)
        if len(steps) > _LOOPS:
            return -1
        row = _longest_row(automaton, steps)
        if row > 2 * _NEAR:
            return -1
        if automaton.comparisons or sum(way == "list" for way, _ in steps) > 1 or row > _NEAR:
            most = _FEW
    return most


def _longest_row(automaton: Automaton, steps: Iterable[Step]) -> int:
    """Return the length of the longest row of patterns in which each starts at a binding of the one
    before.
    """
    rows: dict[Any, int] = {}
    for way, i in steps:
        pattern = automaton.patterns[i]
        if way == "list":
            rows.setdefault(pattern.subject, 0)
            continue
        start, end = (pattern.object, pattern.subject) if way == "turn" else (pattern.subject, pattern.object)
        if isinstance(end, Variable):
            # a variable that is already bound ends a row
            rows.setdefault(end, rows.get(start, 0) + 1)
    return max(rows.values(), default=0)


def compile_walk(automata: Sequence[Automaton], shown: Sequence[Sequence[Any]], library: Library) -> Walk:
    """Generate the walk. `shown` are the variables of solutions; other terms are used as they are."""
    source = FunctionSource("def walk(triples):")
    patterns = [pattern for automaton in automata for pattern in automaton.patterns]
    keys = dict.fromkeys(_key(pattern, library) for pattern in patterns)
    buckets = {key: f"d{i}" for i, key in enumerate(keys)}
    _write_buckets(source, buckets, library)
    for i, (automaton, columns) in enumerate(zip(automata, shown, strict=True)):
        source.line(f"r{i} = []")
        _WalkWriter(source, automaton, library, buckets).write(f"r{i}", columns)
    source.line(f"return ({''.join(f'r{i}, ' for i in range(len(automata)))})")
    walk: Walk = source.function()
    return walk


def _key(pattern: TriplePattern, library: Library) -> Any:
    """Return the key of a pattern's bucket; None for that of all triples, whose entries are (p, o)."""
    if isinstance(pattern.predicate, Variable):
        return None
    native = library.to_native(pattern.predicate)
    return _Text(native) if isinstance(native, URIRef) else native


def _write_buckets(source: FunctionSource, buckets: dict[Any, str], library: Library) -> None:
    """Write the pass over the triples that fills the buckets."""
    for name in buckets.values():
        source.line(f"{name} = {{}}")
    named = [key for key in buckets if key is not None]
    source.line(f"named = ({''.join(f'{buckets[key]}, ' for key in named)})")
    parts = library.has_parts
    check = source.name(library.check)
    with source.block(f"for {'t' if parts else 's, p, o'} in triples:"):
        if parts:
            source.line("p = t.predicate")
        else:
            (predicate,) = library.predicates
            source.line(f"if type(p) is not {source.name(predicate)}: {check}((s, p, o))")

        def put(bucket: str, entry: str) -> None:
            if parts:
                source.line("s = t.subject; o = t.object")
            else:
                source.line(f"if type(o) not in {source.name(library.terms)}: {check}((s, p, o))")
            source.line(f"l = {bucket}.get(s)")
            source.line(f"if l is not None: l.append({entry})")
            with source.block("else:"):
                # equal terms have one type, so only new subjects are checked
                if not parts:
                    source.line(f"if type(s) not in {source.name(library.subjects)}: {check}((s, p, o))")
                source.line(f"{bucket}[s] = [{entry}]")

        if None in buckets:
            put(buckets[None], "(p, o)")
        if named:
            # positions, not buckets, so that the table is built once and not per event
            places = {key: i for i, key in enumerate(named)}
            source.line(f"i = {source.name(places.get)}(p)")
            with source.block("if i is not None:"):
                source.line("d = named[i]")
                put("d", "o")


def _turned(bucket: dict[Any, list[Any]]) -> dict[Any, list[Any]]:
    """Return the subjects by object."""
    turned: dict[Any, list[Any]] = {}
    for subject, objects in bucket.items():
        for found in objects:
            turned.setdefault(found, []).append(subject)
    return turned


def _steps(automaton: Automaton) -> list[Step]:
    """Order the loops: those that bind variables of other patterns first, so that a missing match is found
    early.

    Example: `{ ?h :in ?l ; :has ?p . ?p :of ?a }` lists the subjects of :in, looks them up in :has, loops
    over the objects of :has, looks these up in :of, and loops over the objects of :of and :in.
    """
    left = dict(enumerate(automaton.patterns))
    conditions = chain(*automaton.filters, (c.condition for c in automaton.comparisons), automaton.conditions)
    read = {v for c in conditions for v in own_variables(c, automaton.variables)}
    bound: set[Any] = set()
    steps: list[Step] = []

    def rank(i: int) -> tuple[int, bool, bool, int, Way]:
        pattern = left[i]
        new = set(pattern.variables) - bound
        is_free = len(pattern.variables) > 1 and new.isdisjoint(read)  # no condition reads it
        others = [other for j, other in left.items() if j != i]
        if pattern.subject not in bound and isinstance(pattern.subject, Variable):
            if pattern.object in bound and not isinstance(pattern.predicate, Variable):
                return 2, False, is_free, i, "turn"
            # a subject that is the object of another pattern is bound by that pattern
            return 3, any(other.object == pattern.subject for other in others), is_free, i, "list"
        leads = any(other.subject in new or other.object in new for other in others)
        return (0 if not new else 1 if leads else 4), False, is_free, i, "open"

    while left:
        *_, i, way = min(map(rank, left))
        steps.append((way, i))
        bound.update([left[i].subject] if way == "list" else left.pop(i).variables)
    return steps


class _WalkWriter:
    """Writes the walk of one automaton."""

    def __init__(
        self, source: FunctionSource, automaton: Automaton, library: Library, buckets: dict[Any, str]
    ) -> None:
        self.source = source
        self.automaton = automaton
        self.library = library
        self.buckets = [buckets[_key(pattern, library)] for pattern in automaton.patterns]
        self.names: dict[Variable, str] = {}
        self.found: set[int] = set()
        """The patterns already looked up: `n3` is the objects of pattern 3 for its subject."""
        # conditions of a single pattern are tested before the loops
        self.conditions = [*(c.condition for c in automaton.comparisons), *automaton.conditions]
        self.blocks = ExitStack()

    def write(self, rows: str, shown: Sequence[Any]) -> None:
        """Write the loops, and inside them the code that adds a solution to the rows."""
        steps = _steps(self.automaton)
        with self.blocks:
            if self.buckets:
                self._enter(f"if {' and '.join(dict.fromkeys(self.buckets))}:")
            self._go_on([self._sift(i) for i, own in enumerate(self.automaton.filters) if own])
            for way, i in steps:
                if way == "turn":
                    self.source.line(f"e{i} = {self.source.name(_turned)}({self.buckets[i]})")
            for way, i in steps:
                self._go_on(self._open(i) if way == "open" else self._subjects(i, way))
            parts = [self.names[v] if isinstance(v, Variable) else self.source.name(v) for v in shown]
            self.source.line(f"{rows}.append(({''.join(f'{part}, ' for part in parts)}))")

    def _sift(self, i: int) -> str:
        """Write the filters of a single pattern, which copy the passing triples into a bucket; return its
        name.

        In the loops a triple may occur many times, and a filter may be expensive.
        """
        source, roles = self.source, self._roles(i)
        named = {f"s{i}": self.automaton.patterns[i].subject, **roles}
        names = {term: name for name, term in reversed(named.items()) if isinstance(term, Variable)}
        tests = [write_test(source, c, names, self.library) for c in self.automaton.filters[i]]
        entry = ", ".join(roles)
        source.line(f"f{i} = {{}}")
        each = source.block(f"for s{i}, n{i} in {self.buckets[i]}.items():")
        with each, source.block(f"for {entry} in n{i}:"):
            source.line(f"if {' and '.join(tests)}: f{i}.setdefault(s{i}, []).append(({entry}))")
        self.buckets[i] = f"f{i}"
        return self.buckets[i]

    def _roles(self, i: int) -> dict[str, Any]:
        """Return names for the terms of an entry of a pattern's bucket."""
        pattern = self.automaton.patterns[i]
        objects = {f"o{i}": pattern.object}
        return {f"p{i}": pattern.predicate, **objects} if isinstance(pattern.predicate, Variable) else objects

    def _go_on(self, tests: Iterable[str]) -> None:
        """Write the tests, the possible look-ups, and the conditions whose variables are bound."""
        tests, new = [*tests], []
        for i, pattern in enumerate(self.automaton.patterns):
            subject = self._name(pattern.subject)
            if i not in self.found and subject is not None:
                tests.append(f"(n{i} := {self.buckets[i]}.get({subject})) is not None")
                new.append(i)
        for condition in tuple(self.conditions):
            if self.names.keys() >= set(own_variables(condition, self.automaton.variables)):
                self.conditions.remove(condition)
                tests.append(write_test(self.source, condition, self.names, self.library))
        if tests:
            self._enter(f"if {' and '.join(tests)}:")
        for i in new:
            self._found(i)

    def _subjects(self, i: int, way: Way) -> list[str]:
        """Write the loop that binds the subject of a pattern; return the tests that follow."""
        pattern = self.automaton.patterns[i]
        if way == "list":
            self._enter(f"for s{i}, n{i} in {self.buckets[i]}.items():")
            self._found(i)
        else:
            self.source.line(f"n{i} = e{i}.get({self._name(pattern.object)}, ())")
            self._found(i)
            self._enter(f"for s{i} in n{i}:")
        self.names[cast(Variable, pattern.subject)] = f"s{i}"
        return []

    def _open(self, i: int) -> list[str]:
        """Write the loop over the objects of a pattern; return the tests that follow."""
        roles = self._roles(i)
        self._enter(f"for {', '.join(roles)} in n{i}:")
        tests = []
        for name, term in roles.items():
            if not isinstance(term, Variable):
                tests.append(write_constant(self.source, self.library, name, term))
            elif term in self.names:
                bound = self.names[term]
                # the hash usually decides, as for constants
                tests.append(f"({name} is {bound} or hash({name}) == hash({bound}) and {name} == {bound})")
            else:
                self.names[term] = name
        return tests

    def _name(self, term: Any) -> str | None:
        """Return the name of a term; None for an unbound variable."""
        if isinstance(term, Variable):
            return self.names.get(term)
        return self.source.name(self.library.to_native(term))

    def _found(self, i: int) -> None:
        """Write the code that drops repeated entries of a bucket, which come from repeated triples."""
        self.found.add(i)
        self.source.line(f"if len(n{i}) > 1 and len(set(n{i})) < len(n{i}): n{i} = [*dict.fromkeys(n{i})]")

    def _enter(self, head: str) -> None:
        self.blocks.enter_context(self.source.block(head))
