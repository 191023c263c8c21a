"""RDFS reasoning of one bucket over one graph in a micro-batch, by the schema before and after it."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache

import pyarrow as pa

from rdflive.entail.reasoning import (
    SCHEMA_WORDS,
    Conclusion,
    Kind,
    TextSchema,
    TextTriple,
    refusal,
)
from rdflive_stores.spark.dataflow.conclusions import ConclusionTerms, Kinds, Weighed, entailed, kinds_of
from rdflive_stores.spark.dataflow.matching import match_any
from rdflive_stores.spark.dataflow.plan import Pattern

__all__ = ["Reasoning"]

log = logging.getLogger("rdflive")


class Reasoning:
    """The schema of a graph before and after a micro-batch, and the quads that it entails.

    Quads are tables with the columns of `conclusions`, and `weight`. The results have only quads that some
    pattern matches. Sets are sorted, because a task that runs again must send the same rows.
    """

    def __init__(
        self,
        patterns: Sequence[Pattern],
        terms: ConclusionTerms,
        explicit: Iterable[TextTriple],
        turned: Mapping[TextTriple, int],
    ) -> None:
        """`explicit` is the earlier schema; `turned` has its inserted (1) and deleted (-1) triples."""
        self._patterns = patterns
        self._terms = terms
        self.turned = turned
        before = set(explicit)
        gone = {triple for triple, sign in turned.items() if sign < 0}
        self._old = self._new = TextSchema(before)
        if turned:
            self._new = TextSchema(before.union(turned) - gone)
        self._differing = cache(self._difference)

    def of_changes(self, quads: pa.Table) -> Iterator[pa.Table]:
        """Yield the quads that signed changes entail by the new schema."""
        yield from self._by(self._new, quads)

    def of_the_present(self, quads: pa.Table) -> Iterator[pa.Table]:
        """Yield the quads that existing quads entail by the new schema, minus those by the old one."""
        old, new = self._old, self._new
        kinds = kinds_of(quads, old.typing | new.typing, old.classes | new.classes)
        yield from self._drawn(quads, kinds, self._differing)

    def of_the_schema(self, graph: str, is_mine: Callable[[int], bool]) -> Iterator[pa.Table]:
        """Yield the changes of the closed schema, and of the quads that it entails as data.

        `is_mine` is true for the hash of a subject whose triples this bucket takes.
        """
        old, new, hashes = self._old, self._new, self._terms.hashes
        # each subject has one bucket, so this is logged once
        for triple in new.refused - old.refused:
            if is_mine(hashes[triple[0]]):
                log.error("not reasoned with: %s", refusal(triple))
        typing = old.typing | new.typing
        words = [(word, None) for word in SCHEMA_WORDS]
        of_words = not typing.isdisjoint(SCHEMA_WORDS)
        if not (of_words or any(self._wanted(schema, word) for schema in (old, new) for word in words)):
            return
        # the entailments of schema triples themselves may have changed
        is_deep = of_words or any(map(self._differing, words))
        subjects = old.subjects | new.subjects if is_deep else old.concerned(self.turned)
        mine = [subject for subject in subjects if is_mine(hashes[subject])]
        before = {triple for subject in mine for triple in old.closed(subject)}
        after = {triple for subject in mine for triple in new.closed(subject)}
        yield from self._by(old, self._table(sorted(before - after), -1, graph))
        yield from self._by(new, self._table(sorted(after - before), 1, graph))
        if is_deep:
            yield from self.of_the_present(self._table(sorted(before & after), 1, graph))

    def _by(self, schema: TextSchema, quads: pa.Table) -> Iterator[pa.Table]:
        def drawn(kind: Kind) -> Weighed:
            return dict.fromkeys(self._wanted(schema, kind), 1)

        yield from self._drawn(quads, kinds_of(quads, schema.typing, schema.classes), drawn)

    def _drawn(self, quads: pa.Table, kinds: Kinds, drawn: Callable[[Kind], Weighed]) -> Iterator[pa.Table]:
        for rows in entailed(quads, kinds, drawn, self._terms):
            # only the row shows if its object is the constant of a pattern
            yield rows.filter(pa.array(match_any(self._patterns, rows)))

    def _wanted(self, schema: TextSchema, kind: Kind) -> list[Conclusion]:
        """Return the conclusions of a kind that some pattern may match."""
        found = (
            made for made in schema.conclusions(kind) if any(_may_match(p, made) for p in self._patterns)
        )
        return sorted(found, key=repr)

    def _difference(self, kind: Kind) -> Weighed:
        """Return the conclusions of a kind by the new schema, minus those by the old one.

        A class that only one of the schemas names has its own kind only by that schema.
        """
        predicate, value = kind
        difference = Counter[Conclusion]()
        for schema, sign in ((self._new, 1), (self._old, -1)):
            own = kind if value is None else schema.kind(predicate, value)
            difference.update(dict.fromkeys(self._wanted(schema, own), sign))
        return {made: weight for made, weight in difference.items() if weight}

    def _table(self, triples: Collection[TextTriple], sign: int, graph: str) -> pa.Table:
        made: dict[str, pa.Array] = {"weight": pa.array([sign] * len(triples), pa.int64())}
        columns = zip(*triples, strict=True) if triples else ((), (), ())
        for name, texts in zip("spog", (*columns, [graph] * len(triples)), strict=True):
            made[name], made[f"h{name}"] = self._terms.column(texts)
        return pa.table(made)


def _may_match(pattern: Pattern, made: Conclusion) -> bool:
    """True if a pattern may match a conclusion of some quad."""
    return all(
        place == term
        for place, term in zip(pattern.places[:3], made[:3], strict=True)
        if isinstance(place, str) and isinstance(term, str)
    )
