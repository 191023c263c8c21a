"""Maintains what rules conclude while explicit triples come and go.

A derivation is counted for its head when its last premise comes, and uncounted when its first premise goes. A
derived fact goes with its last founded derivation (see `Fact`). It may have others, which perhaps depend on
the fact itself. So when nothing more goes, those facts that still have a derivation from what is left are put
back, on a level above all others, where every such derivation is founded.

Example: :near is symmetric; (a, near, b) is explicit and (b, near, a) is derived from it, which in turn
derives (a, near, b). Deleting the explicit triple removes both, and neither comes back, because the other one
is gone. With a second explicit triple that also derives (a, near, b), that one is put back and derives (b,
near, a) again. Only facts that depended on the deleted triple are derived again.
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
    """Maintains the conclusions of the attached readers.

    `delete` and then `insert` run until nothing more follows. Matches of guides that appeared or disappeared
    wait in `opened` and `closed` until the facts are settled, because they change which instances there are.
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
        """Facts that came to hold since the last `net`."""
        self.dead: dict[IdTriple, Fact] = {}
        """Facts that ceased to hold since then, perhaps to come back. Their counts are kept for `revive`."""

    def net(self) -> list[tuple[Sign, IdTriple]]:
        """Give what changed since the last call."""
        table = self.facts.table
        # what came may have gone again, and what went may be back: only first and last state count
        changes: list[tuple[Sign, IdTriple]] = [(-1, t) for t in self.dead if t not in table]
        changes += ((1, t) for t in self.born if t in table and t not in self.dead)
        self.born, self.dead = {}, {}
        return changes

    def admit(self, triples: Iterable[IdTriple]) -> None:
        """Take explicit triples that no attached reader reads yet, so that nothing follows from them now."""
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
        """Make a triple no longer explicit; `delete` must follow."""
        fact = self.facts.table.get(triple)
        if fact is not None and fact.explicit and self.facts.unmark(triple):
            self._leaving.append(triple)

    def delete(self) -> None:
        """Remove all facts that are not founded any more."""
        while self._leaving:
            triple = self._leaving.popleft()
            # while the fact is still in the table, where its matches and their levels are read
            self._apply(-1, triple)
            self.dead[triple] = self.facts.take(triple)

    def revive(self) -> None:
        """Put back facts that can still be derived from what is left; `insert` must follow."""
        back = [(triple, fact) for triple, fact in self.dead.items() if fact.derivations]
        if back:
            self._top += 1
        for triple, fact in back:
            # every premise that is left is below the new level, so all these derivations are founded
            fact.level, fact.founded = self._top, fact.derivations
            self._enter(triple, fact)

    def insert(self) -> None:
        """Derive everything that follows from the facts that entered."""
        while self._entering:
            self._apply(1, self._entering.popleft())

    def attach(self, reader: Reader) -> None:
        """Let a reader take every match of its patterns, starting with the present ones."""
        for row in self._start(reader):
            self._take(1, reader, row)

    def detach(self, reader: Reader) -> None:
        """Undo every match of a reader and stop it."""
        for row in self._rows(reader):
            self._take(-1, reader, row)
        self.forget(reader)

    def forget(self, reader: Reader) -> None:
        """Stop a reader without undoing its matches."""
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
            # the graph has all changes of an update from its beginning, the facts only those taken so far
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
        # The kernel collects matches; they are taken at once, because levels of facts may change next.
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
            # The level of a derivation is that of its highest premise; its conclusion starts one above.
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
            # The conclusion went before this derivation did. Its count must still be right for `revive`.
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
        # `revive` puts facts on a level above all others.
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
        # the kernel has negative numbers for variables
        s, p, o = (max(term, 0) for term in pattern.key)
        for triple in self.matching(Key(s, p, o)):
            if pattern.guard is None or pattern.guard(*triple):
                yield triple
