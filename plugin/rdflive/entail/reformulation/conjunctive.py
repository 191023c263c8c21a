"""The queries that can be reformulated: one basic graph pattern (Goasdoué et al., Section 2.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import dropwhile
from typing import Any, Final, Literal

from rdflive.entail.reformulation.partial import Atom
from rdflive.entail.reformulation.rules import variables_of
from rdflive.errors import UnsupportedQueryError
from rdflive.query import algebra
from rdflive.query.bgp import Variable
from rdflive.query.parse import parse_query
from rdflive.syntax.tokens import Token, tokenize

__all__ = ["ConjunctiveQuery", "parse_conjunctive"]

_ACCEPTED: Final = frozenset(
    {"A", "ASK", "BASE", "DISTINCT", "FALSE", "PREFIX", "REDUCED", "SELECT", "TRUE", "WHERE"}
)
_PATHS: Final = frozenset("*+?|!")


@dataclass(frozen=True, slots=True)
class ConjunctiveQuery:
    """A SELECT or ASK over one basic graph pattern; its blank nodes are non-distinguished variables."""

    text: str
    form: Literal["SELECT", "ASK"]
    names: tuple[str, ...]
    """The projected variables, in order; none for ASK."""
    distinct: bool
    atoms: tuple[Atom, ...]

    @property
    def variables(self) -> tuple[Variable, ...]:
        """All variables of the pattern: a solution of the pattern assigns each of them."""
        return variables_of(*self.atoms)


def parse_conjunctive(text: str, init_ns: Mapping[str, Any] | None = None) -> ConjunctiveQuery:
    """Parse the text of a query.

    Raises `QuerySyntaxError` if it is not SPARQL, and `UnsupportedQueryError` at the first clause that makes
    it more than one basic graph pattern.

    >>> parse_conjunctive("SELECT ?x { ?x a ?y }").atoms[0][2]
    Variable(name='y', distinguished=True)
    """
    parsed = parse_query(text, init_ns=init_ns)
    selects = 0
    for token in tokenize(text):
        word = token.text.upper() if token.kind == "word" else ""
        selects += word == "SELECT"
        if selects > 1:
            raise _refused("a subquery", token)
        if word and word not in _ACCEPTED:
            raise _refused(word, token)
    node = parsed.root
    while isinstance(node, algebra.Distinct | algebra.Project):
        node = node.input
    form: Literal["SELECT", "ASK"] = "ASK" if parsed.form == "ASK" else "SELECT"
    distinct = isinstance(parsed.root, algebra.Distinct)
    return ConjunctiveQuery(text, form, parsed.names, distinct, tuple(_atoms(node, text)))


def _atoms(node: algebra.Node, text: str) -> Iterator[Atom]:
    """List the triples of a pattern; after the check of keywords, any other node is a property path."""
    if isinstance(node, algebra.Join):
        yield from _atoms(node.left, text)
        yield from _atoms(node.right, text)
    elif isinstance(node, algebra.Basic) and not node.conditions:
        for pattern in node.patterns:
            yield pattern.subject, pattern.predicate, pattern.object
    # the empty pattern {} is a table of one row without columns
    elif not isinstance(node, algebra.Values):
        tokens = dropwhile(lambda token: token.text != "{", tokenize(text))  # skips the * of SELECT *
        raise _refused("a property path", next((t for t in tokens if t.text in _PATHS), None))


def _refused(construct: str, place: Token | None) -> UnsupportedQueryError:
    where = f" (line {place.line}, column {place.column})" if place else ""
    return UnsupportedQueryError(
        f"{construct}{where} cannot be reformulated: accepted is SELECT or ASK, with or without DISTINCT, "
        "over one basic graph pattern. Instead: subscribe with entailment='rdfs', which accepts any query",
        construct=construct,
        line=place.line if place else 0,
        column=place.column if place else 0,
    )
