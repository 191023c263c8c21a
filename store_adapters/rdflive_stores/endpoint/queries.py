"""The queries that fetch the matches of triple patterns in pages, each with the total number of rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from rdflib import XSD
from rdflib.term import BNode, Literal, URIRef

from rdflive.feeds import NAMED_GRAPHS
from rdflive.feeds.terms import write_term
from rdflive.model import Quad

__all__ = ["COUNT_PREDICATE", "COUNT_SUBJECT", "Needed", "matches"]

COUNT_SUBJECT: Final = URIRef("urn:x-rdflive:endpoint")
COUNT_PREDICATE: Final = URIRef("urn:x-rdflive:rows")
_PLAIN: Final = (None, XSD.string)


@dataclass(frozen=True, slots=True)
class Needed:
    """The patterns to fetch, sorted, without those that more general ones cover.

    >>> knows = URIRef("urn:knows")
    >>> print(Needed.of([Quad(None, knows, None), Quad(URIRef("urn:ann"), knows, None)]))
    ?s <urn:knows> ?o BIND(<urn:knows> AS ?p)
    """

    patterns: tuple[Quad, ...]

    @classmethod
    def of(cls, patterns: Iterable[Quad]) -> Needed:
        """Keep the most general patterns; blank nodes, whose labels are local, become wildcards."""
        distinct = dict.fromkeys(map(_without_blank_nodes, patterns))
        kept = (q for q in distinct if not any(_covers(other, q) for other in distinct if other != q))
        # sorted, so that equal sets have equal texts, which a mirror compares with its kept text
        return cls(tuple(sorted(kept, key=_branch)))

    @property
    def names_graphs(self) -> bool:
        """True if the queries return graph names, which CONSTRUCT cannot."""
        return any(pattern.graph is not None for pattern in self.patterns)

    def __str__(self) -> str:
        return "\n".join(_branch(pattern) for pattern in self.patterns)

    def covers(self, other: Needed) -> bool:
        """True if these patterns match everything that the other patterns match."""
        return all(any(_covers(mine, theirs) for mine in self.patterns) for theirs in other.patterns)

    def query(self, size: int, page: int, *, construct: bool) -> str:
        """Return the query for a page of the distinct rows and the number of all rows.

        Each answer then shows by itself if the server left rows out. CONSTRUCT returns the number as a
        triple, SELECT as the variable `n` of an additional row.
        """
        names = "?g ?s ?p ?o" if self.names_graphs else "?s ?p ?o"
        branches = " UNION ".join(f"{{ {_branch(pattern)} }}" for pattern in self.patterns)
        rows = f"SELECT DISTINCT {names} WHERE {{ {branches} }}"
        window = f"ORDER BY {names} LIMIT {size}" + (f" OFFSET {page * size}" if page else "")
        both = f"{{ {rows} {window} }} UNION {{ SELECT (COUNT(*) AS ?n) WHERE {{ {rows} }} }}"
        if not construct:
            return f"SELECT {names} ?n WHERE {{ {both} }}"
        count = f"{write_term(COUNT_SUBJECT)} {write_term(COUNT_PREDICATE)} ?n"
        return f"CONSTRUCT {{ ?s ?p ?o . {count} }} WHERE {{ {both} }}"


def matches(pattern: Quad, quad: Quad) -> bool:
    """True if a quad may match a pattern; any two literals may be spellings of one value.

    >>> matches(Quad(None, None, Literal(1)), Quad(BNode(), URIRef("urn:p"), Literal(2), URIRef("urn:g")))
    False
    """
    return _graph_covers(pattern.graph, quad.graph) and all(
        mine is None or mine == theirs or (isinstance(mine, Literal) and isinstance(theirs, Literal))
        for mine, theirs in zip(pattern[:3], quad[:3], strict=True)
    )


def _covers(general: Quad, special: Quad) -> bool:
    return _graph_covers(general.graph, special.graph) and all(
        mine is None or mine == theirs for mine, theirs in zip(general[:3], special[:3], strict=True)
    )


def _graph_covers(general: Any, special: Any) -> bool:
    return special is not None if general is NAMED_GRAPHS else bool(general == special)


def _without_blank_nodes(pattern: Quad) -> Quad:
    s, p, o = (None if isinstance(term, BNode) else term for term in pattern[:3])
    return Quad(s, p, o, NAMED_GRAPHS if isinstance(pattern.graph, BNode) else pattern.graph)


def _branch(pattern: Quad) -> str:
    """Return a pattern as text that binds s, p, o and, if it has a graph, g."""
    terms, rest = [], []
    for name, term in zip("spo", pattern[:3], strict=True):
        terms.append(write_term(term) if isinstance(term, URIRef) else f"?{name}")
        if isinstance(term, URIRef):
            rest.append(f"BIND({write_term(term)} AS ?{name})")
        elif term is not None:
            rest.append(_spelled(f"?{name}", term))
    triple = " ".join(terms)
    if pattern.graph is NAMED_GRAPHS:
        triple = f"GRAPH ?g {{ {triple} }}"
    elif pattern.graph is not None:
        triple = f"GRAPH {write_term(pattern.graph)} {{ {triple} }}"
        rest.append(f"BIND({write_term(pattern.graph)} AS ?g)")
    return " ".join([triple, *rest])


def _spelled(name: str, literal: Literal) -> str:
    """Return a restriction of a variable to all spellings of a literal that the graph may treat as equal.

    Strings have few spellings, and an index finds each. Numbers and dates have many, so values are compared.
    """
    text = write_term(literal)
    if literal.language:
        lower = write_term(Literal(str(literal), lang=literal.language.lower()))
        return f"VALUES {name} {{ {' '.join(dict.fromkeys((text, lower)))} }}"
    if literal.datatype in _PLAIN:
        plain = write_term(Literal(str(literal)))
        return f"VALUES {name} {{ {plain} {plain}^^{write_term(XSD.string)} }}"
    # `sameTerm`, because NaN does not equal itself
    return f"FILTER({name} = {text} || sameTerm({name}, {text}))"
