"""Facts in, facts out: what the rules derive is kept while triples come and go.

A derivation counts for its head when its last premise comes, and no more when its first one goes. A fact
that is not explicit goes when its last founded derivation (see `Fact`) has gone. It may have others, which
may rest on itself: when no more goes, those that still have a derivation from what is left come back on a
level above all others, where all of these are founded. So cycles cost what hangs on them, and nothing else
is derived twice.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final

from rdflive.engine.kernel import Kernel, SegmentState
from rdflive.engine.pattern import PatternState
from rdflive.entail.entailment import ExplicitGraph, IdTriple, Sign
from rdflive.entail.rules.bound import Values
from rdflive.entail.rules.facts import EXPLICIT, Fact, Facts
from rdflive.entail.rules.instance import Instance, Reader
from rdflive.entail.rules.keys import Key, KeyIndex
from rdflive.query.segment import make_segment

__all__ = ["Propagation"]

log = logging.getLogger("rdflive")

_REPORT_EVERY: Final = 1_000_000


class Propagation:
    """Keeps what the attached readers derive from the facts.

    `delete` and then `insert` run until nothing follows any more. What the guides of rules matched, or no
    longer match, waits in `opened` and `closed` until the facts have settled.
    """

    def __init__(self, graph: ExplicitGraph) -> None:
        self._graph = graph
        self._kernel = Kernel()
        self._readers: KeyIndex[Reader] = KeyIndex()
        self._joined: dict[SegmentState, Reader] = {}
        self._entering: deque[IdTriple] = deque()
        self._leaving: deque[IdTriple] = deque()
        self._top = 0
        self.facts = Facts(graph.dictionary)
        self.opened: list[tuple[Reader, Values]] = []
        self.closed: list[tuple[Reader, Values]] = []
        self.born: dict[IdTriple, None] = {}
        """What came to hold since the last `net`."""
        self.dead: dict[IdTriple, Fact] = {}
        """What ceased to hold since then, perhaps for a while."""

    def net(self) -> list[tuple[Sign, IdTriple]]:
        """Give what has changed since the last call."""
        table = self.facts.table
        changes: list[tuple[Sign, IdTriple]] = [(-1, t) for t in self.dead if t not in table]
        changes += ((1, t) for t in self.born if t in table and t not in self.dead)
        self.born, self.dead = {}, {}
        return changes

    def admit(self, triples: Iterable[IdTriple]) -> None:
        """Take explicit triples that no attached reader reads."""
        table = self.facts.table
        for triple in triples:
            if triple in table:
                self.facts.mark(triple)
            else:
                self.facts.put(triple, EXPLICIT)

    def tell(self, triple: IdTriple) -> None:
        """Make a triple explicit; `insert` must follow."""
        if triple in self.facts.table:
            self.facts.mark(triple)
        else:
            self._enter(triple, EXPLICIT)

    def retract(self, triple: IdTriple) -> None:
        """Make an explicit triple implicit; `delete` must follow."""
        fact = self.facts.table.get(triple)
        if fact is not None and fact.explicit and self.facts.unmark(triple):
            self._leaving.append(triple)

    def delete(self) -> None:
        """Take out all that is not founded any more."""
        while self._leaving:
            triple = self._leaving.popleft()
            self._apply(-1, triple)
            self.dead[triple] = self.facts.take(triple)

    def revive(self) -> None:
        """Put back what can still be derived from what is left; `insert` must follow."""
        back = [(triple, fact) for triple, fact in self.dead.items() if fact.derivations]
        if back:
            self._top += 1
        for triple, fact in back:
            fact.level, fact.founded = self._top, fact.derivations
            self._enter(triple, fact)

    def insert(self) -> None:
        """Derive all that follows from what entered."""
        while self._entering:
            self._apply(1, self._entering.popleft())

    def attach(self, reader: Reader) -> None:
        """Have a reader take every match of its patterns, beginning with those there are."""
        for row in self._start(reader):
            self._take(1, reader, row)

    def detach(self, reader: Reader) -> None:
        """Take every match of a reader back and let it read no more."""
        for row in self._rows(reader):
            self._take(-1, reader, row)
        self.forget(reader)

    def forget(self, reader: Reader) -> None:
        """Let a reader read no more; what it took stays taken."""
        if reader.state is not None:
            self._kernel.remove(reader.state)
            del self._joined[reader.state]
            reader.state = None
        elif reader.patterns:
            self._readers.remove(reader.keys[0], reader)

    def matching(self, key: Key) -> Iterator[IdTriple]:
        """List the facts that match a pattern."""
        table = self.facts.table
        for triple in self.explicit(key):
            fact = table.get(triple)
            if fact is not None and fact.explicit:
                yield triple
        yield from self.facts.inferred(key)

    def explicit(self, key: Key) -> Iterator[IdTriple]:
        """List the triples of the graph that match a pattern."""
        known, intern = self._graph.dictionary.ids.get, self._graph.dictionary.intern
        terms = self._graph.dictionary.terms
        for s, p, o in self._graph.triples((terms[key[0]], terms[key[1]], terms[key[2]])):
            yield known(s) or intern(s), known(p) or intern(p), known(o) or intern(o)

    def _apply(self, sign: Sign, triple: IdTriple) -> None:
        for reader in self._readers.matching(*triple):
            assert reader.row is not None  # noqa: S101 - only readers of one pattern are found here
            row = reader.row(triple)
            if row is not None:
                self._take(sign, reader, row)
        self._kernel.apply(sign, *triple)
        if self._kernel.dirty:
            for state in self._kernel.dirty:
                reader = self._joined[state]
                rows = state.added if sign > 0 else state.removed
                for row in rows:
                    self._take(sign, reader, row)
                rows.clear()
            self._kernel.dirty.clear()

    def _take(self, sign: Sign, reader: Reader, row: Values) -> None:
        if isinstance(reader, Instance):
            self._derive(sign, reader, row)
        elif sign > 0:
            self.opened.append((reader, row))
        else:
            self.closed.append((reader, row))

    def _derive(self, sign: Sign, instance: Instance, row: Values) -> None:
        rule, values, level = instance.rule, instance.fixed + row, instance.level
        for test in rule.tests:
            if not test(values):
                return
        table = self.facts.table
        for s, p, o in rule.reads:
            below = table[values[s], values[p], values[o]].level
            if below > level:
                level = below
        count = self._gain if sign > 0 else self._lose
        for head in rule.heads_of(values):
            count(head, level)

    def _gain(self, triple: IdTriple, level: int) -> None:
        fact = self.facts.own(triple)
        if fact is None:
            fact = Fact(level + 1)
            self._enter(triple, fact)
        fact.derivations += 1
        if level < fact.level:
            fact.founded += 1

    def _lose(self, triple: IdTriple, level: int) -> None:
        fact = self.facts.table.get(triple)
        if fact is None:
            self.dead[triple].derivations -= 1
            return
        fact.derivations -= 1
        if level < fact.level:
            fact.founded -= 1
            if not fact.founded and not fact.explicit:
                self._leaving.append(triple)

    def _enter(self, triple: IdTriple, fact: Fact) -> None:
        self.facts.put(triple, fact)
        self._entering.append(triple)
        self.born[triple] = None
        if fact.level > self._top:
            self._top = fact.level
        if len(self.facts.table) % _REPORT_EVERY == 0:
            log.info("rules: %d triples hold and more are being derived", len(self.facts.table))

    def _start(self, reader: Reader) -> list[Values]:
        if len(reader.patterns) > 1:
            patterns = reader.rule.instantiate(reader.patterns, reader.fixed)
            first = len(reader.fixed) - len(reader.rule.constants)
            last = first + len({p for places in reader.patterns for p in places if p >= len(reader.fixed)})
            segment = make_segment(patterns, reader.rule.variables[first:last], "join")
            reader.state = self._kernel.add(segment, self._snapshot)
            self._joined[reader.state] = reader
        elif reader.patterns:
            self._readers.add(reader.keys[0], reader)
        return self._rows(reader)

    def _rows(self, reader: Reader) -> list[Values]:
        if reader.state is not None:
            return self._kernel.solutions(reader.state, self._snapshot)
        if reader.row is None:
            return [()]
        rows = map(reader.row, self.matching(reader.keys[0]))
        return [row for row in rows if row is not None]

    def _snapshot(self, pattern: PatternState) -> Iterator[IdTriple]:
        s, p, o = (max(term, 0) for term in pattern.key)
        for triple in self.matching(Key(s, p, o)):
            if pattern.guard is None or pattern.guard(*triple):
                yield triple
