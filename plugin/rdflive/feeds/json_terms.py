"""Solutions and terms as SPARQL 1.1 Query Results JSON writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rdflib.term import BNode, Literal, URIRef

from rdflive.feeds.json_lines import member, optional
from rdflive.feeds.terms import RdflibTerm, RowError
from rdflive.model import exact_literal

__all__ = ["read_solution"]


def read_solution(binding: Any) -> dict[str, RdflibTerm]:
    """Read the terms of a solution by their variables, each as it is spelt; raises `RowError`.

    >>> read_solution({"x": {"type": "literal", "value": "hi", "xml:lang": "en"}})
    {'x': rdflib.term.Literal('hi', lang='en')}
    """
    if not isinstance(binding, dict):
        raise RowError("a binding must be an object from names of variables to terms")
    return {name: _read_term(member(binding, name, dict, "a binding")) for name in binding}


def _read_term(term: Mapping[str, Any]) -> RdflibTerm:
    kind = member(term, "type", str, "a term")
    if kind not in ("uri", "bnode", "literal", "typed-literal"):
        raise RowError(f"'type' of a term must be 'uri', 'bnode' or 'literal', not {kind!r}")
    value = member(term, "value", str, "a term")
    if kind == "uri":
        return URIRef(value)
    return BNode(value) if kind == "bnode" else _read_literal(term, value)


def _read_literal(term: Mapping[str, Any], value: str) -> Literal:
    if "its:dir" in term:
        raise RowError("a literal has a direction ('its:dir'), which rdflib cannot hold")
    language = optional(term, "xml:lang", str, "a term")
    datatype = optional(term, "datatype", str, "a term")
    try:
        # rdflib takes no datatype beside a language, where some write rdf:langString
        return exact_literal(value, language or None, None if language else datatype)
    except ValueError as error:
        raise RowError(f"a literal is malformed: {error}") from error
