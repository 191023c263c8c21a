"""Small events recognised by their shape and links, and answered without views and joins.

Most streams say the same about other subjects, event after event. The *shape* of an event is the predicates
of its triples, in order. Its *links* tell which of the terms that patterns join are equal. In two events with
the same shape and links, the same triples make up solutions, as far as filters allow. So for a shape and
links that keep coming, code is generated that picks the solutions.

Example: `{ ?o :of ?s . ?s :name ?n }` and the events (o1, :of, s1) (s1, :name, "a") and (o2, :of, s2) (s2,
:name, "b"). Both have the shape (:of, :name), and in both the object of triple 0 is the subject of triple 1.
So in both, triples 0 and 1 are the solution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from rdflive.engine.source import Source
from rdflive.matching.automaton import Automaton
from rdflive.matching.libraries import Library
from rdflive.matching.links import Answer, Shape, write_answer, write_links
from rdflive.matching.recurrence import Recurrence

__all__ = ["Shapes"]

_LARGEST: Final = 64
"""An event with up to this many triples is small."""
_SHAPES: Final = 256
_LINKS: Final = 16
"""How many different links of one shape have code."""

_BETWEEN: Final = "\n"
"""Separates the predicates of a shape that are joined to one string."""

Reader: TypeAlias = Callable[[Sequence[Any]], Any]
"""Gives a key for an event's shape; None if the event must be left to the general way."""


class Shapes:
    """The shapes and links of the small events of a stream, with the code for those that recur."""

    def __init__(
        self, automata: Sequence[Automaton], shown: Sequence[Sequence[Any]], library: Library
    ) -> None:
        self._automata = automata
        self._shown = shown
        self._library = library
        self._readers: dict[int, Reader] = {}
        self._answers: dict[Any, Answer] = {}
        self._seen: Recurrence[Any] = Recurrence(self._answers, _SHAPES)

    def answer(self, triples: Sequence[Any]) -> Sequence[list[Any]] | None:
        """Give the solutions of each basic graph pattern; None if the event is not recognised."""
        read = self._readers.get(len(triples)) or self._reader(len(triples))
        key = read(triples)
        answer = self._answers.get(key)
        if answer is not None:
            return answer(triples)
        self._learn(key, triples)
        return None

    def _reader(self, size: int) -> Reader:
        """Find or generate the function that reads the shape of events with this many triples."""
        # an event without triples has no predicate to make a key of
        if not 0 < size <= _LARGEST or not all(a.patterns for a in self._automata):
            return _unread
        read = self._readers[size] = _write_reader(self._library, size)
        return read

    def _learn(self, key: Any, triples: Sequence[Any]) -> None:
        """Count a shape, and generate its code if it recurs."""
        if key is None or not self._seen.is_due(key):
            return
        shape: Shape = tuple(t.predicate if self._library.has_parts else t[1] for t in triples)
        if type(key) is str and key.count(_BETWEEN) >= len(shape):
            return  # a predicate contains the separator, so the key is ambiguous
        answers: dict[Any, Answer] = {}
        seen = Recurrence(answers, _LINKS)

        def learn(links: tuple[int, ...], *terms: Any) -> None:
            if seen.is_due(links):
                code = write_answer(self._automata, self._shown, self._library, shape, links, terms)
                seen.keep(links, code)

        self._seen.keep(key, write_links(self._automata, self._library, shape, answers, learn))


def _unread(_: Sequence[Any]) -> None:
    """Events of this size are not recognised."""


def _write_reader(library: Library, size: int) -> Reader:
    """Generate the function that reads the predicates of this many triples.

    Predicates of rdflib are joined to one string, which hashes and compares in C.
    """
    source = Source("def read(triples):")
    places = range(size)
    if library.has_parts:
        source.line(f"{''.join(f't{i}, ' for i in places)} = triples")
        source.line(f"return ({''.join(f't{i}.predicate, ' for i in places)})")
        return source.function("read")
    source.line(f"{''.join(f'(_, p{i}, _), ' for i in places)} = triples")
    (kind,) = library.predicates
    # others, such as a subclass of URIRef, are left to the general way, which checks what to accept
    usual = source.name(kind)
    source.line(f"if not ({usual} is {' is '.join(f'type(p{i})' for i in places)}): return None")
    shape = f"({''.join(f'p{i}, ' for i in places)})"
    source.line(f"return {shape if library.to_rdflib else f'{source.name(_BETWEEN.join)}({shape})'}")
    return source.function("read")
