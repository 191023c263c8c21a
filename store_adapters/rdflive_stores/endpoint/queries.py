"""The queries that fetch what matches triple patterns: page by page, each with the number of all rows."""

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
    """The patterns to fetch, without those that more general ones cover, in an order of their own.

    >>> knows = URIRef("urn:knows")
    >>> print(Needed.of([Quad(None, knows, None), Quad(URIRef("urn:ann"), knows, None)]))
    ?s <urn:knows> ?o BIND(<urn:knows> AS ?p)
    """

    patterns: tuple[Quad, ...]

    @classmethod
    def of(cls, patterns: Iterable[Quad]) -> Needed:
        """Keep the most general patterns; a blank node in one means something only here: it is dropped."""
        distinct = dict.fromkeys(map(_without_blank_nodes, patterns))
        kept = (q for q in distinct if not any(_covers(other, q) for other in distinct if other != q))
        # sorted, so that equal needs are equal texts: a mirror compares them with those it kept
        return cls(tuple(sorted(kept, key=_branch)))

    @property
    def names_graphs(self) -> bool:
        """True where the graph is part of what is asked, so that no CONSTRUCT can answer."""
        return any(pattern.graph is not None for pattern in self.patterns)

    def __str__(self) -> str:
        return "\n".join(_branch(pattern) for pattern in self.patterns)

    def covers(self, other: Needed) -> bool:
        """True when all that the other patterns match, these do."""
        return all(any(_covers(mine, theirs) for mine in self.patterns) for theirs in other.patterns)

    def query(self, size: int, page: int, *, construct: bool) -> str:
        """Ask for a page of the distinct rows and, in the same request, for the number of all rows.

        One answer thus says by itself whether the server left something out. CONSTRUCT gives the number
        as a triple, SELECT as the variable `n` of one more row.
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
    """True when a quad matches a pattern, at least: literals may be spelled in several ways.

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
    """Write one pattern so that it binds s, p, o and, where there is one, g."""
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
    """Restrict a variable to a literal in every spelling that the graph here may take for the same.

    Strings have few spellings, and an index finds each. Numbers and dates have many: their values are
    compared.
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
