"""Writes a reformulation as the text of one SPARQL query, for stores that accept only text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count
from typing import Any, Final

from rdflib import BNode, Literal, URIRef

from rdflive.entail.reformulation.conjunctive import ConjunctiveQuery
from rdflive.entail.reformulation.partial import Atom, Fresh, literal_text
from rdflive.entail.reformulation.rules import Branch, branches, variables_of
from rdflive.entail.reformulation.schema import KnownSchema
from rdflive.errors import UnnameableTermError
from rdflive.query.bgp import Variable

__all__ = ["to_sparql"]

_NOT_IN_IRIS: Final = frozenset('<>"{}|^`\\') | frozenset(map(chr, range(0x21)))

_NOTHING: Final = "FILTER(1 = 2)"
"""rdflib 7.6 lets every solution pass FILTER(false)."""


def to_sparql(query: ConjunctiveQuery, schema: KnownSchema) -> str:
    """Write the reformulation as a join of one UNION per atom.

    Raises `UnnameableTermError` if the reformulation contains a blank node of the data.
    """
    names = _SparqlNames(query)
    pattern = "\n".join(f"  {line}" for atom in query.atoms for line in _block(schema, atom, names))
    if query.form == "ASK":
        return f"ASK {{\n{pattern}\n}}"
    # SELECT needs a variable, even if the pattern has none
    shown = " ".join(f"?{name}" for name in query.names) or f"?{names.spare()}"
    if query.distinct:
        return f"SELECT DISTINCT {shown} {{\n{pattern}\n}}"
    every = " ".join(map(names, query.variables)) or f"?{names.spare()}"
    # several members may give the same assignment, which counts once; rows of `shown` may still repeat
    return f"SELECT {shown} {{ {{ SELECT DISTINCT {every} {{\n{pattern}\n}} }} }}"


class _SparqlNames:
    """Names variables. Variables without a name in the query get unused names."""

    def __init__(self, query: ConjunctiveQuery) -> None:
        self._taken = {*query.names, *(v.name for v in query.variables if v.distinguished)}
        self._numbers = count(1)
        self._hidden: dict[Variable, str] = {}

    def spare(self) -> str:
        """Return an unused name."""
        return next(name for n in self._numbers if (name := f"_{n}") not in self._taken)

    def __call__(self, variable: Variable) -> str:
        if variable.distinguished:
            return f"?{variable.name}"
        if variable not in self._hidden:
            self._hidden[variable] = self.spare()
        return f"?{self._hidden[variable]}"


def _block(schema: KnownSchema, atom: Atom, names: _SparqlNames) -> Iterator[str]:
    """Write the union of one atom in lines; an atom without branches matches no triple."""
    written = [_branch(branch, variables_of(atom), names) for branch in branches(schema, atom)]
    if len(written) < 2:
        yield from written or [_NOTHING]
    else:
        yield f"{{ {written[0]} }}"
        yield from (f"UNION {{ {text} }}" for text in written[1:])


def _branch(branch: Branch, variables: Sequence[Variable], names: _SparqlNames) -> str:
    write = partial(_term, _fresh_names(branch, names), names)
    parts = []
    if branch.pattern is not None:
        parts.append(" ".join(map(write, branch.pattern)) + " .")
    parts += (f"FILTER(!isLiteral({write(term)}))" for term in sorted(branch.not_literal, key=str))
    values = _values(branch, variables, write)
    return " ".join([*parts, *values])


def _values(branch: Branch, variables: Sequence[Variable], write: Callable[[Any], str]) -> Iterator[str]:
    """Write the instantiated variables as VALUES, with one row per member."""
    places = [i for i, term in enumerate(branch.heads[0]) if not isinstance(term, Variable)]
    if places:
        columns = " ".join(write(variables[i]) for i in places)
        rows = " ".join(f"({' '.join(write(head[i]) for i in places)})" for head in branch.heads)
        yield f"VALUES ({columns}) {{ {rows} }}"


def _fresh_names(branch: Branch, names: _SparqlNames) -> dict[Fresh, str]:
    pattern = branch.pattern or ()
    return {term: f"?{names.spare()}" for term in pattern if isinstance(term, Fresh)}


def _term(fresh: dict[Fresh, str], names: _SparqlNames, term: Any) -> str:
    if isinstance(term, Fresh):
        return fresh[term]
    if isinstance(term, Variable):
        return names(term)
    if isinstance(term, BNode):
        raise UnnameableTermError(
            f"the reformulation contains the blank node {term.n3()} of the data, which SPARQL text cannot "
            "name: a blank node in a query is a variable. Evaluate it with evaluate(graph) instead, or give "
            "the class or property an IRI"
        )
    if isinstance(term, Literal):
        if term.datatype is not None:
            _iri(term.datatype)
        return literal_text(term)
    return _iri(term)


def _iri(term: URIRef) -> str:
    if not _NOT_IN_IRIS.isdisjoint(term):
        raise UnnameableTermError(
            f"{str(term)!r} is not an IRI that SPARQL text can contain; escape its characters"
        )
    return f"<{term}>"
