"""Partitioning by shape: straight-line code for events with the same predicates in the same order.

Most streams say the same things about other subjects, event after event. Where a small event has the
predicates of some before it, each of its triples goes to its views without asking which those are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from rdflive.engine.source import Source
from rdflive.time.matching.automaton import Automaton
from rdflive.time.matching.libraries import Library
from rdflive.time.matching.views import Partition, View, Writer

__all__ = ["Shapes"]

_LARGEST: Final = 64
"""Triples of an event that is small."""
_SEEN: Final = 3
"""How often a shape has come before code is written for it."""
_KEPT: Final = 256
_COUNTED: Final = 4096

Shape: TypeAlias = tuple[Any, ...]
"""The predicates of an event's triples, in order."""


class Shapes:
    """The shapes of the small events of a stream, with the code for those that come again."""

    def __init__(self, automata: Sequence[Automaton], library: Library, otherwise: Partition) -> None:
        self._automata = automata
        self._library = library
        self._otherwise = otherwise
        self._readers: dict[int, Callable[[Sequence[Any]], Shape]] = {}
        self._code: dict[Shape, Partition] = {}
        self._counts: dict[Shape, int] = {}

    def partition(self, triples: Sequence[Any]) -> tuple[View, ...]:
        """Give the views of an event."""
        read = self._readers.get(len(triples))
        if read is None:
            if not 0 < len(triples) <= _LARGEST:
                return self._otherwise(triples)
            read = self._readers[len(triples)] = _reader(self._library, len(triples))
        shape = read(triples)
        code = self._code.get(shape)
        return self._learn(shape, triples) if code is None else code(triples)

    def _learn(self, shape: Shape, triples: Sequence[Any]) -> tuple[View, ...]:
        """Count a shape, and write its code when it has come again."""
        views = self._otherwise(triples)
        if len(self._counts) >= _COUNTED:
            self._counts.clear()
        count = self._counts[shape] = self._counts.get(shape, 0) + 1
        if count > _SEEN and len(self._code) < _KEPT:
            self._code[shape] = _Writer(self._automata, self._library).write_shape(shape)
        return views


def _reader(library: Library, size: int) -> Callable[[Sequence[Any]], Shape]:
    """Write what reads the predicates of so many triples, and looks at the types of the subjects."""
    source = Source("def read(triples):")
    places = range(size)
    if library.has_parts:
        source.line(f"{''.join(f't{i}, ' for i in places)} = triples")
        source.line(f"return ({''.join(f't{i}.predicate, ' for i in places)})")
    else:
        source.line(f"{''.join(f'(s{i}, p{i}, o{i}), ' for i in places)} = triples")
        usual = source.name(next(iter(library.predicates)))
        source.line(f"if not ({usual} is {' is '.join(f'type(s{i})' for i in places)}):")
        check = source.name(library.check)
        source.line(f"    for t in triples: type(t[0]) in {source.name(library.subjects)} or {check}(t)")
        source.line(f"return ({''.join(f'p{i}, ' for i in places)})")
    return source.function("read")


class _Writer(Writer):
    def write_shape(self, shape: Shape) -> Partition:
        """Write and compile the code of one shape; equal predicates have equal types, and need no check."""
        source = self.source
        library = self.library
        plain: dict[int, list[int]] = {i: [] for i in range(len(self.patterns)) if self.is_plain(i)}
        self.begin(without=plain)
        for place, predicate in enumerate(shape):
            entered = [
                i for i, (p, _) in enumerate(self.patterns)
                if i in self.anywhere or library.to_native(p.predicate) == predicate
            ]  # fmt: skip
            if entered:
                terms = f"s{place}, p{place}, o{place} = triples[{place}]"
                if library.has_parts:
                    terms = f"t = triples[{place}]; s{place} = t.subject; o{place} = t.object"
                    if self.anywhere:
                        terms += f"; p{place} = t.predicate"
                source.line(terms)
                if not library.has_parts:
                    source.line(
                        f"if type(o{place}) not in {source.name(library.terms)}: "
                        f"{source.name(library.check)}(triples[{place}])"
                    )
            for i in entered:
                if i in plain:
                    plain[i].append(place)
                else:
                    self.enter(i, str(place), is_known=True)
        for i, places in plain.items():
            source.line(f"v{i} = [{', '.join(f'(s{place}, o{place})' for place in places)}]")
        self.end()
        partition: Partition = source.function("partition")
        return partition
