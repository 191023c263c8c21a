"""Oxigraph as the reference: a second store with the same triples, queried in full after each change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
import rdflib

from support.solutions import Row, folded_row, row


class Oracle:
    """A graph in an Oxigraph store without subscriptions."""

    def __init__(self, triples: Iterable[Any] = ()) -> None:
        pyoxigraph = pytest.importorskip("pyoxigraph", reason="needs the extra rdflive[oxigraph]")
        oxrdflib = pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
        self._native = pyoxigraph.Store()
        self.graph = rdflib.Graph(oxrdflib.OxigraphStore(store=self._native), identifier="urn:example:g")
        self._name = pyoxigraph.NamedNode("urn:example:g")
        self.graph.addN((s, p, o, self.graph) for s, p, o in triples)

    def ask(self, text: str) -> Any:
        """Evaluate a query to rows of native terms with their weights, or to the answer of ASK."""
        result = self._native.query(text, default_graph=self._name)
        if type(result).__name__ == "QueryBoolean":
            return bool(result)
        return Counter(map(tuple, result))

    def table(self, text: str) -> tuple[tuple[str, ...], list[Any]]:
        """Evaluate a SELECT query to its variables and ordered rows; both are empty for ASK."""
        result = self._native.query(text, default_graph=self._name)
        if type(result).__name__ == "QueryBoolean":
            return (), []
        return tuple(variable.value for variable in result.variables), list(result)


def difference(names: Iterable[str], old: Any, new: Any) -> Counter[Row]:
    """Subtract one evaluation from another: signed weights of comparable rows."""
    weights: Counter[Row] = Counter()
    for sign, terms in ((1, new - old), (-1, old - new)):
        for solution, weight in terms.items():
            weights[comparable(zip(names, solution, strict=True))] += sign * weight
    return weights


def comparable(items: Iterable[tuple[str, Any]]) -> Row:
    """Make a row of pyoxigraph's terms comparable with one of rdflib's."""
    return folded_row(row((name, from_native(term)) for name, term in items))


def from_native(term: Any) -> Any:
    """Convert a term of pyoxigraph to one of rdflib."""
    kind = type(term).__name__
    if term is None:
        return None
    if kind == "NamedNode":
        return rdflib.URIRef(term.value)
    if kind == "BlankNode":
        return rdflib.BNode(term.value)
    if term.language:
        return rdflib.Literal(term.value, lang=term.language)
    return rdflib.Literal(term.value, datatype=rdflib.URIRef(term.datatype.value))
