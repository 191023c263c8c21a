"""Entailment on whole columns: each quad is joined with the conclusions of its kind."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rdflive.entail.reasoning import Conclusion, Kind, Placeholder
from rdflive_stores.spark.dataflow.rows import Column
from rdflive_stores.spark.dataflow.runs import Numbers, expand

__all__ = ["HASHES", "PLACES", "ConclusionTerms", "Kinds", "Weighed", "entailed", "kinds_of"]

PLACES: Final = ("s", "p", "o", "g")
"""The columns of the texts of quads."""
HASHES: Final = ("hs", "hp", "ho", "hg")
"""The columns of their hashes."""
Weighed: TypeAlias = Mapping[Conclusion, int]
"""Conclusions with their weights; a negative weight withdraws a conclusion."""
Kinds: TypeAlias = tuple[Numbers, Sequence[Kind]]
"""The number of the kind of each quad, and the kinds by number."""
_OWN: Final = -1
"""In place of a term: that of the quad itself."""
_OBJECT: Final = -2
"""As a subject: the object of the quad."""
_MOST_PAIRS: Final = 1 << 18
"""Number of rows that are made at a time, unless a single quad makes more."""


class ConclusionTerms:
    """The terms that a schema can add to a conclusion, with their hashes."""

    def __init__(self, hashes: Mapping[str, int]) -> None:
        self.hashes = hashes
        self._numbers = {text: number for number, text in enumerate(hashes)}
        self.all = self.column(hashes)

    def number(self, text: str) -> int:
        """Return the position of a term among all of them."""
        return self._numbers[text]

    def column(self, texts: Iterable[str]) -> Column:
        """Return some of the terms as a column."""
        known = list(texts)
        return pa.array(known, pa.string()), np.array([self.hashes[text] for text in known], np.int64)


class _Steps(NamedTuple):
    """The conclusions of some kinds, one kind after another."""

    begin: Numbers
    end: Numbers
    subject: Numbers
    predicate: Numbers
    object: Numbers
    guard: npt.NDArray[np.bool_]
    weight: Numbers


def kinds_of(quads: pa.Table, typing: Container[str], classes: Container[str]) -> Kinds:
    """Return the kind of each quad; triples of some classes have kinds of their own."""
    encoded = _whole(quads["p"]).dictionary_encode()
    predicates: list[str] = encoded.dictionary.to_pylist()
    numbers = encoded.indices.to_numpy().astype(np.int64)
    kinds: list[Kind] = [(predicate, None) for predicate in predicates]
    typed = np.array([predicate in typing for predicate in predicates], np.bool_)
    places = np.nonzero(typed[numbers])[0]
    encoded = _whole(quads["o"]).take(pa.array(places)).dictionary_encode()
    values: list[str] = encoded.dictionary.to_pylist()
    named = np.array([value in classes for value in values], np.bool_)
    objects = encoded.indices.to_numpy().astype(np.int64)
    is_named = named[objects]
    places = places[is_named]
    pairs, back = np.unique(numbers[places] * len(values) + objects[is_named], return_inverse=True)
    kinds += [(predicates[pair // len(values)], values[pair % len(values)]) for pair in pairs.tolist()]
    numbers[places] = len(predicates) + back
    return numbers, kinds


def entailed(
    quads: pa.Table, kinds: Kinds, drawn: Callable[[Kind], Weighed], terms: ConclusionTerms
) -> Iterator[pa.Table]:
    """Yield the rows that weighted quads entail, in pieces; `drawn` returns the conclusions of a kind."""
    numbers, names = kinds
    steps = _steps(names, drawn, terms)
    pairs = (steps.end - steps.begin)[numbers]
    places = np.nonzero(pairs)[0]
    turns = np.floor_divide(np.cumsum(pairs[places]), _MOST_PAIRS)
    for turn in np.unique(turns):
        mine = places[turns == turn]
        yield _apply(steps, quads.take(pa.array(mine)), numbers[mine], terms)


def _steps(kinds: Sequence[Kind], drawn: Callable[[Kind], Weighed], terms: ConclusionTerms) -> _Steps:
    ends: list[int] = []
    rows: list[tuple[int, int, int, bool, int]] = []
    for kind in kinds:
        for (s, p, o, guard), weight in drawn(kind).items():
            subject = terms.number(s) if isinstance(s, str) else _PLACES[s]
            predicate = _OWN if p == kind[0] else terms.number(p)
            rows.append((subject, predicate, terms.number(o) if isinstance(o, str) else _OWN, guard, weight))
        ends.append(len(rows))
    columns = np.array(rows, np.int64).reshape(-1, 5).T
    end = np.array(ends, np.int64)
    begin = np.concatenate([np.zeros(1, np.int64), end[:-1]])[: len(end)]
    return _Steps(begin, end, columns[0], columns[1], columns[2], columns[3].astype(np.bool_), columns[4])


_PLACES: Final = {Placeholder.SUBJECT: _OWN, Placeholder.OBJECT: _OBJECT}


def _apply(steps: _Steps, quads: pa.Table, numbers: Numbers, terms: ConclusionTerms) -> pa.Table:
    """Join quads with the conclusions of their kinds."""
    mine, theirs = expand(steps.begin[numbers], steps.end[numbers])
    literal = pc.starts_with(_whole(quads["o"]), '"').to_numpy(zero_copy_only=False)
    follows = ~(steps.guard[theirs] & literal[mine])
    mine, theirs = mine[follows], theirs[follows]
    count = quads.num_rows
    subject, predicate, value = steps.subject[theirs], steps.predicate[theirs], steps.object[theirs]
    # positions in the subjects of the quads, then their objects, then the terms of the schema
    subjects = np.where(subject == _OBJECT, count + mine, 2 * count + subject)
    subjects = np.where(subject == _OWN, mine, subjects)
    columns = {
        "s": _pick(quads, ("s", "o"), terms, subjects),
        "p": _pick(quads, ("p",), terms, np.where(predicate == _OWN, mine, count + predicate)),
        "o": _pick(quads, ("o",), terms, np.where(value == _OWN, mine, count + value)),
        "g": _pick(quads, ("g",), terms, mine),
    }
    made = {name: texts for name, (texts, _) in columns.items()}
    made |= {f"h{name}": hashes for name, (_, hashes) in columns.items()}
    return pa.table({"weight": quads["weight"].to_numpy()[mine] * steps.weight[theirs]} | made)


def _pick(quads: pa.Table, names: Sequence[str], terms: ConclusionTerms, places: Numbers) -> Column:
    """Take texts and hashes from some columns of quads, and from the terms that follow these."""
    texts, hashes = terms.all
    pool = pa.concat_arrays([*(_whole(quads[name]) for name in names), texts])
    numbers = np.concatenate([*(quads[f"h{name}"].to_numpy() for name in names), hashes])
    return pool.take(pa.array(places)), numbers[places]


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return (
        column.chunk(0)
        if column.num_chunks == 1
        else pa.concat_arrays([pa.array([], pa.string()), *column.chunks])
    )
