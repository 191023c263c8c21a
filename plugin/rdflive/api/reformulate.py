"""`rdflive.reformulate`: rewrites a query so that its answer includes entailed solutions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from functools import cached_property
from typing import Any

import rdflib
from rdflib.term import Node

from rdflive.entail.reformulation import (
    SCHEMA_PROPERTIES,
    ConjunctiveQuery,
    KnownSchema,
    PartialQuery,
    Used,
    evaluate,
    parse_conjunctive,
    rounds,
    to_sparql,
)
from rdflive.errors import ReformulationSizeError, SchemaError
from rdflive.model import Header, Solution
from rdflive.plugins import manager
from rdflive.query.bgp import Variable
from rdflive.query.given import namespaces, read_query
from rdflive.store import Adapter, GraphLike

__all__ = ["Reformulation", "reformulate"]


def reformulate(
    query: str | os.PathLike[str],
    schema: GraphLike | Iterable[tuple[Node, Node, Node]],
    *,
    initNs: Mapping[str, Any] | None = None,  # noqa: N803 - the name of rdflib's Graph.query
    limit: int = 100_000,
) -> Reformulation:
    """Rewrite a query by a schema, so that on a graph it has the answer over everything the graph entails.

    `query`, a text or a `pathlib.Path`, is a SELECT or ASK with one basic graph pattern. `schema` is a graph
    that can be subscribed to, or triples of rdflib terms. Its present triples with `rdfs:subClassOf`,
    `rdfs:subPropertyOf`, `rdfs:domain` and `rdfs:range` are used. `limit` is the largest number of members
    that may be listed.

    Raises `QuerySyntaxError`, `UnsupportedQueryError`, `UnsupportedStoreError`, or `SchemaError` for a
    property below one of these four.

    >>> graph = rdflib.Graph().parse(format="turtle", data='''
    ...     @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    ...     <urn:Poster> rdfs:subClassOf <urn:Paper> . <urn:p1> a <urn:Poster> . ''')
    >>> reformulation = reformulate("SELECT ?x { ?x a <urn:Paper> }", graph)
    >>> print(reformulation)
    q(?x) :- ?x a <urn:Paper>
    q(?x) :- ?x a <urn:Poster>
    >>> reformulation.evaluate(graph)
    [Solution(x=rdflib.term.URIRef('urn:p1'))]
    """
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise ValueError(f"limit must be a whole number from 1 on, got {limit!r}")
    given = read_query(query)
    with given.naming():
        parsed = parse_conjunctive(given.text, namespaces(schema, initNs))
    return Reformulation(parsed, _known(schema), limit)


class Reformulation:
    """The reformulation of a query: a union of partially instantiated queries (Goasdoué et al., Section 6).

    `queries` lists its members, `evaluate` evaluates it on a graph, `to_sparql` writes it as one query. Only
    `queries` makes the members; the other two work atom by atom and never need the whole union.
    """

    def __init__(self, query: ConjunctiveQuery, schema: KnownSchema, limit: int) -> None:
        self._query = query
        self._schema = schema
        self._limit = limit

    @property
    def query(self) -> str:
        """The text of the query."""
        return self._query.text

    @cached_property
    def levels(self) -> tuple[tuple[PartialQuery, ...], ...]:
        """The members added by each round of the rules, the query itself first (Figure 13).

        Members are compared up to the names of fresh variables. Rules 6 and 9 instantiate by the properties
        and classes in the data at the first access. Raises `ReformulationSizeError` beyond the limit.
        """
        head = tuple(Variable(name) for name in self._query.names)
        listed: list[tuple[PartialQuery, ...]] = []
        size = 0
        for level in rounds(self._schema, PartialQuery(head, self._query.atoms), most=self._limit):
            size += len(level)
            if size > self._limit:
                raise ReformulationSizeError(
                    f"the reformulation has more members than the {self._limit} that may be listed "
                    f"(limit={self._limit}). Give a higher limit, or use evaluate or to_sparql, which do "
                    "not list them"
                )
            listed.append(level)
        return tuple(listed)

    @cached_property
    def queries(self) -> tuple[PartialQuery, ...]:
        """The members, breadth first."""
        return tuple(member for level in self.levels for member in level)

    def __len__(self) -> int:
        return len(self.queries)

    def __bool__(self) -> bool:
        return True  # the query itself is always a member

    def __iter__(self) -> Iterator[PartialQuery]:
        return iter(self.queries)

    def evaluate(self, graph: GraphLike) -> list[Solution]:
        """List the answer over the triples that a graph entails by the schema, like `Subscription.answers`.

        `graph` is any that can be subscribed to. It is read at once, under the lock of its store. Blank nodes
        of the data are constants, and a solution occurs as often as over the saturated graph (ASK: one empty
        one if true). Schema triples of the graph that are not in the given schema entail nothing.

        Raises `UnsupportedStoreError`, and `SchemaError` for a term that the graph's store cannot hold.
        """
        with manager.locked(manager.store_of(graph)) as adapter:
            header = Header(self._query.form, self._query.names, adapter.from_native())
            rows = evaluate(self._query, self._schema, _StoreReader(adapter, graph))
            return [header.solution(row) for row in rows]

    def to_sparql(self) -> str:
        """Return the text of one SPARQL query with the same answer, for any endpoint.

        It is a join of one UNION per triple pattern; fresh variables start with an underscore.

        Raises `UnnameableTermError` if the schema introduces a blank node of the data.
        """
        return to_sparql(self._query, self._schema)

    def __str__(self) -> str:
        return "\n".join(map(str, self.queries))

    def __repr__(self) -> str:
        return f"<Reformulation of {self.query!r} by {len(self._schema.triples)} schema triples>"


class _StoreReader:
    """Reads a graph of a store for the evaluation. Used under the store's lock."""

    def __init__(self, adapter: Adapter, graph: GraphLike) -> None:
        self._adapter = adapter
        self._key = adapter.graph_key(graph)
        # each library of terms has one class for literals and one for IRIs
        self._literal = type(adapter.to_native(rdflib.Literal("")))
        self._iri = type(adapter.to_native(rdflib.RDF.type))

    def triples(self, pattern: tuple[Any, Any, Any], /) -> Iterator[tuple[Any, Any, Any]]:
        """List the distinct triples that match."""
        return self._adapter.triples(self._key, pattern)

    def to_native(self, term: Any, /) -> Any:
        """Turn an rdflib term into the store's own."""
        try:
            return self._adapter.to_native(term)
        except ValueError as error:
            raise SchemaError(
                f"this store cannot hold {term!r}, a term of the query or the schema: {error}"
            ) from error

    def is_literal(self, term: Any, /) -> bool:
        """True if a term of the store is a literal."""
        return isinstance(term, self._literal)

    def is_iri(self, term: Any, /) -> bool:
        """True if a term of the store is an IRI."""
        return isinstance(term, self._iri)


def _known(schema: Any) -> KnownSchema:
    """Read the schema triples now, and the used properties and classes on demand."""
    # text is a sequence too, and is refused below like any other object that is no graph
    if isinstance(schema, Sequence | Set | Iterator) and not isinstance(schema, rdflib.Graph | str | bytes):
        given = tuple(map(_triple, schema))
        return KnownSchema(given, lambda: Used.of(given))
    found: list[tuple[Any, Any, Any]] = []
    with manager.locked(manager.store_of(schema)) as adapter:
        convert = adapter.to_rdflib() or _same
        reader = _StoreReader(adapter, schema)
        for word in SCHEMA_PROPERTIES:
            triples = reader.triples((None, reader.to_native(word), None))
            found += (_converted(triple, convert) for triple in triples)
    return KnownSchema(tuple(found), lambda: _used(schema))


def _used(graph: GraphLike) -> Used:
    """Read the properties and classes that the triples of a graph use."""
    with manager.locked(manager.store_of(graph)) as adapter:
        reader = _StoreReader(adapter, graph)
        used = Used.of(reader.triples((None, None, None)), reader.to_native(rdflib.RDF.type))
        convert = adapter.to_rdflib() or _same
    return Used(*(tuple(_convertible(terms, convert)) for terms in (used.properties, used.classes)))


def _convertible(terms: Iterable[Any], convert: Callable[[Any], Any]) -> Iterator[Any]:
    """Leave out terms that rdflib cannot hold, because rules 6 and 9 add no answers of their own."""
    for term in terms:
        with suppress(ValueError):
            yield convert(term)


def _converted(triple: tuple[Any, Any, Any], convert: Callable[[Any], Any]) -> tuple[Any, Any, Any]:
    try:
        s, p, o = map(convert, triple)
    except ValueError as error:
        text = " ".join(map(str, triple))
        raise SchemaError(f"the schema triple {text} cannot be reasoned with: {error}") from error
    return s, p, o


def _same(term: Any) -> Any:
    return term


def _triple(given: Any) -> tuple[Any, Any, Any]:
    if isinstance(given, tuple) and len(given) == 3 and all(isinstance(t, rdflib.term.Node) for t in given):
        return given
    raise SchemaError(f"the schema contains {given!r}; give triples of rdflib terms")
