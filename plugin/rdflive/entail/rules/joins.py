"""Joins of the patterns of a rule, from one triple to its consequences, as generated code.

A rule is joined in both directions: forward from a triple that matches one of its patterns to its
conclusions, and backward from a conclusion to the premises that give it. The next pattern is always the one
with the most known positions. Annotations are combined on the way (see `algebra.py`), so a join stops where
it cannot improve an annotation.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import cached_property
from heapq import heappush
from typing import NamedTuple, TypeAlias

from rdflive.engine.source import FunctionSource
from rdflive.entail.entailment import IdTriple
from rdflive.entail.rules.algebra import Algebra
from rdflive.entail.rules.bound import BoundComparison, BoundConclusion, BoundRule, Places, Values
from rdflive.entail.rules.labels import Labels

__all__ = ["Facts", "PatternJoin", "Reading"]

Reading: TypeAlias = tuple[Places, Labels]
"""A pattern, and the triples that it is matched with."""
Waiting: TypeAlias = dict[int, set[IdTriple]]


class Facts(NamedTuple):
    """The labels of all facts and of explicit triples, each in a table of its own."""

    labels: Labels
    explicit: Labels


class PatternJoin:
    """The functions that match patterns of a rule, starting from triples or from the rule's known values.

    Each function is generated on first use. All take `fixed`, the known values of the rule, and triples that
    match the first pattern; without a first pattern, one triple of any ids.
    """

    def __init__(
        self,
        rule: BoundRule,
        known: int,
        first: Places | None,
        rest: Iterable[Reading],
        facts: Facts,
        algebra: Algebra,
        *,
        tests: Sequence[BoundComparison],
        heads: Sequence[BoundConclusion] = (),
        conclusion: BoundConclusion | None = None,
    ) -> None:
        self.rule = rule
        self.known = known
        self.first = first if conclusion is None else conclusion.places
        self.rest = tuple(rest)
        self.facts = facts
        self.algebra = algebra
        self.tests = tests
        self.heads = heads
        self.conclusion = conclusion
        """For a backward join the conclusion, whose triple is not a premise; else None."""

    @cached_property
    def derive(self) -> Callable[[Values, Iterable[IdTriple], int, Waiting, list[int]], None]:
        """Collect the conclusions from triples that all have the same label, if they improve a label.

        They are added to `waiting` by their new label, whose negative is pushed to the heap `order`.
        """
        # With levels only new facts matter, so the labels of premises are looked up for these alone.
        writer = _PatternJoinWriter(
            self, "fixed, triples, label, waiting, order", lazy=bool(self.algebra.step)
        )
        source = writer.source
        known = source.name(self.facts.labels.table.get)
        for head in self.heads:
            source.line(f"head = {writer.row(head.places)}")
            source.line(f"old = {known}(head)")
            better = "old is None" if writer.lazy else f"(old is None or old < {writer.label})"
            with source.block(f"if {better}{writer.also(head)}:"):
                writer.combine("least")
                source.line("bucket = waiting.get(least)")
                with source.block("if bucket is None:"):
                    source.line("waiting[least] = {head}")
                    source.line(f"{source.name(heappush)}(order, -least)")
                with source.block("else:"):
                    source.line("bucket.add(head)")
        return source.function()

    @cached_property
    def doubt(self) -> Callable[[Values, Iterable[IdTriple], int, list[tuple[IdTriple, int]]], None]:
        """Append the facts that may have their label from triples with the same label, with that label.

        A fact that has this label as an explicit triple does not need the derivation.
        """
        writer = _PatternJoinWriter(self, "fixed, triples, label, out")
        source = writer.source
        known, explicit = source.name(self.facts.labels.table.get), source.name(self.facts.explicit.table.get)
        writer.combine("least")
        for head in self.heads:
            source.line(f"head = {writer.row(head.places)}")
            source.line(f"old = {known}(head)")
            with source.block(f"if old is not None and old <= least{writer.also(head)}:"):
                source.line(f"kept = {explicit}(head)")
                source.line("if kept is None or kept < old: out.append((head, old))")
        return source.function()

    @cached_property
    def open(self) -> Callable[[Values, Iterable[IdTriple], int, list[Values]], None]:
        """Append the values of the guided variables, for each match of guides."""
        writer = _PatternJoinWriter(self, "fixed, triples, label, out", lazy=True)
        writer.source.line(f"out.append({writer.guided})")
        return writer.source.function()

    @cached_property
    def best(self) -> Callable[[Values, Iterable[IdTriple], int, Container[Values]], int | None]:
        """Return the highest label of the derivations of a conclusion, or the first one that is `enough`.

        The values of the guides' variables must be among `rows`, unless they are known from the start.
        """
        writer = _PatternJoinWriter(self, "fixed, triples, enough, rows")
        writer.among("rows")
        source = writer.source
        # an argument with a default, so it may be assigned
        best = source.name(None)
        writer.combine("least")
        with source.block(f"if {best} is None or {best} < least:"):
            source.line(f"{best} = least")
            source.line(f"if {best} >= enough: return {best}")
        source.leave()
        source.line(f"return {best}")
        return source.function()

    @cached_property
    def matches(
        self,
    ) -> Callable[[Values, Iterable[IdTriple], Container[Values]], Iterator[tuple[Values, int]]]:
        """List the derivations of a conclusion: the values of the rule, and the label of the derivation.

        `rows` is as for `best`.
        """
        writer = _PatternJoinWriter(self, "fixed, triples, rows")
        writer.among("rows")
        values = range(self.known, len(self.rule.constants) + len(self.rule.variables))
        writer.combine("least")
        writer.source.line(f"yield fixed + {writer.row(values)}, least")
        return writer.source.function()


class _PatternJoinWriter:
    """Writes the loops of a join; the caller adds the code for a match inside them.

    Example: the forward join of `?x :p ?y . ?y :q ?z` from the first pattern is, except for names,

        for t0 in triples:
            found = by_subject_and_predicate.get((t0[2], fixed[1]))
            for t1 in found: ...  # a match, whose label is the lower one of those of t0 and t1
    """

    def __init__(self, join: PatternJoin, parameters: str, *, lazy: bool = False) -> None:
        self._join = join
        self._tests = list(join.tests)
        self._fail = "return None"
        self._loops = 0
        self.lazy = lazy
        """True if the labels of premises are looked up after the last loop."""
        self.source = FunctionSource(f"def join({parameters}):")
        self._names = {place: f"fixed[{place}]" for place in range(join.known)}
        self._labels: list[str] = []
        """Expressions for the labels of the premises that are combined at the end."""
        self.label = str(join.algebra.top) if join.conclusion is not None or join.first is None else "label"
        left = list(join.rest)
        # Patterns that do not depend on the triple are looked up once for all triples.
        for reading in [reading for reading in left if all(place < join.known for place in reading[0])]:
            left.remove(reading)
            self._look_up(reading)
        self._loop("triples")
        if join.first is not None:
            self._bind(join.first)
            if join.conclusion is not None and join.conclusion.test is not None:
                self.source.line(f"if not {self.source.name(join.conclusion.test)}(t0): {self._fail}")
        self._test()
        while left:
            self._look_up(left.pop(self._next(left)))
            self._test()

    def row(self, places: Iterable[int]) -> str:
        """Write a tuple of values."""
        return f"({''.join(f'{self._names[place]}, ' for place in places)})"

    @property
    def guided(self) -> str:
        """The code of a tuple of the guides' variables."""
        first = len(self._join.rule.constants)
        return self.row(range(first, first + self._join.rule.guided))

    def among(self, rows: str) -> None:
        """Skip a match whose guides bind other values than these rows."""
        rule = self._join.rule
        if self._join.known < len(rule.constants) + rule.guided:
            self.source.line(f"if {self.guided} not in {rows}: {self._fail}")

    def also(self, head: BoundConclusion) -> str:
        """Write the test that a conclusion is a triple, if it is needed."""
        return "" if head.test is None else f" and {self.source.name(head.test)}(head)"

    def combine(self, name: str) -> None:
        """Write the assignment of the conclusion's label to a variable."""
        source, step = self.source, self._join.algebra.step
        source.line(f"{name} = {self.label}")
        for label in self._labels:
            source.line(f"below = {label}")
            source.line(f"if below < {name}: {name} = below")
        if step:
            source.line(f"{name} -= {step}")

    def _take(self, label: str) -> None:
        """Combine the label of one more premise with the earlier labels, now or after the last loop."""
        if self.lazy:
            self._labels.append(label)
            return
        name = f"m{len(self.source)}"
        self.source.line(f"{name} = {label}")
        self.source.line(f"if {self.label} < {name}: {name} = {self.label}")
        self.label = name

    def _loop(self, values: str) -> None:
        self.source.enter(f"for t{self._loops} in {values}:")
        self._fail = "continue"
        self._loops += 1

    def _bind(self, pattern: Places) -> None:
        """Name the values of the triple of the innermost loop, and compare those of a repeated variable."""
        triple = f"t{self._loops - 1}"
        new: set[int] = set()
        for number, place in enumerate(pattern):
            if place not in self._names:
                self._names[place] = f"{triple}[{number}]"
                new.add(place)
            elif place in new:
                self.source.line(f"if {triple}[{number}] != {self._names[place]}: {self._fail}")

    def _look_up(self, reading: Reading) -> None:
        """Match one more pattern."""
        pattern, labels = reading
        known = tuple(number for number, place in enumerate(pattern) if place in self._names)
        name = self.source.name
        if len(known) == 3:
            line = len(self.source)
            self.source.line(f"l{line} = {name(labels.table.get)}({self.row(pattern)})")
            self.source.line(f"if l{line} is None: {self._fail}")
            self._take(f"l{line}")
            return
        if known:
            keys = [self._names[pattern[number]] for number in known]
            key = keys[0] if len(keys) == 1 else f"({keys[0]}, {keys[1]})"
            self.source.line(f"found = {name(labels.by(known).get)}({key})")
            self.source.line(f"if found is None: {self._fail}")
            self._loop("found if type(found) is set else (found,)")
        else:
            self._loop(name(labels.table))
        self._bind(pattern)
        self._take(f"{name(labels.table)}[t{self._loops - 1}]")

    def _test(self) -> None:
        """Test the conditions whose values are now known."""
        for test in [test for test in self._tests if {test.left, test.right} <= self._names.keys()]:
            self._tests.remove(test)
            left, right = self._names[test.left], self._names[test.right]
            if test.operator in ("is", "is not"):
                self.source.line(f"if {left} {'!=' if test.operator == 'is' else '=='} {right}: {self._fail}")
            else:
                self.source.line(f"if not {self.source.name(test.passes)}({left}, {right}): {self._fail}")

    def _next(self, left: Sequence[Reading]) -> int:
        """Choose the pattern with the most known of subject and object; among equals, one with a known
        predicate.
        """

        def known(number: int) -> tuple[int, bool]:
            s, p, o = left[number][0]
            return (s in self._names) + (o in self._names), p in self._names

        return max(range(len(left)), key=known)
