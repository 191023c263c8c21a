"""Non-standard evaluation (Goasdoué et al., Section 6.2): blank nodes of the data are constants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeAlias

from rdflib import RDF

from rdflive.entail.reformulation.conjunctive import ConjunctiveQuery
from rdflive.entail.reformulation.lookups import AtomAnswers, TripleSource
from rdflive.entail.reformulation.partial import Atom
from rdflive.entail.reformulation.rules import variables_of
from rdflive.entail.reformulation.schema import KnownSchema
from rdflive.query.bgp import Variable

__all__ = ["TripleSource", "evaluate"]

_Row: TypeAlias = tuple[Any, ...]


def evaluate(query: ConjunctiveQuery, schema: KnownSchema, reader: TripleSource) -> Iterator[_Row]:
    """Answer a query over the triples that a graph entails by a schema, as a join of one union per atom.

    Returns the projected terms of each solution, None where unbound. Each assignment of all variables of the
    pattern occurs once, as over the saturation; DISTINCT and ASK then remove repetitions.
    """
    columns, rows = _joined(query, schema, reader)
    places = [columns.get(name) for name in query.names]
    shown = (tuple(None if place is None else row[place] for place in places) for row in rows)
    if query.form == "ASK":
        return islice(shown, 1)
    return _distinct(shown) if query.distinct else shown


def _joined(
    query: ConjunctiveQuery, schema: KnownSchema, reader: TripleSource
) -> tuple[dict[str, int], Iterator[_Row]]:
    # rows hold terms of the store, but the rules compare terms of rdflib
    known = {reader.to_native(term): term for term in schema.terms}
    rows: Iterator[_Row] = iter([()])
    columns: list[Variable] = []
    for atom in _in_order(query.atoms):
        answers = AtomAnswers(schema, reader, known, atom, columns)
        rows = _extended(rows, answers, [columns.index(v) for v in answers.given])
        columns += answers.free
    return {v.name: i for i, v in enumerate(columns) if v.distinguished}, rows


def _extended(rows: Iterator[_Row], answers: AtomAnswers, places: list[int]) -> Iterator[_Row]:
    """Join rows with the answers of one more atom, computed once per distinct values."""
    cache: dict[_Row, list[_Row]] = {}
    for row in rows:
        values = tuple(row[place] for place in places)
        if values not in cache:
            if len(places) == len(row) and row:
                yield from (row + more for more in answers.rows(values))  # no other row has these values
                continue
            cache[values] = answers.rows(values)
        yield from (row + more for more in cache[values])


def _in_order(atoms: Iterable[Atom]) -> Iterator[Atom]:
    """Order atoms by selectivity, preferring atoms that share variables with earlier ones."""
    left, bound = list(atoms), set[Variable]()
    while left:
        best = max(left, key=lambda atom: _closeness(atom, bound))
        left.remove(best)
        bound.update(variables_of(best))
        yield best


def _closeness(atom: Atom, bound: set[Variable]) -> int:
    """Estimate the selectivity of an atom: a subject is more selective than an object, rdf:type is not
    selective.
    """
    s, p, o = (not isinstance(term, Variable) or term in bound for term in atom)
    is_linked = any(term in bound for term in atom if isinstance(term, Variable))
    is_type = atom[1] == RDF.type
    return 10 * is_linked + 5 * s + (1 if is_type else 3) * o + (1 if is_type else 2) * p


def _distinct(rows: Iterable[_Row]) -> Iterator[_Row]:
    seen: set[_Row] = set()
    for row in rows:
        if row not in seen:
            seen.add(row)
            yield row
