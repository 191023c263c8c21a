"""Entailment for other engines: the part of `rdflive.entail` that they may use.

Rules without recursion become a part of the query (`with_rules`), so an engine needs no code for them.

For RDFS, terms are texts in N-Triples. A `TextSchema` lists, for each *kind* of explicit triples, the triples
that one of them entails. The engine itself finds the triples of a kind and counts the entailed triples. The
Spark package uses this module and nothing else of `rdflive.entail`.

>>> sub_class, sub_property, domain, range_ = SCHEMA_WORDS
>>> schema = TextSchema([("<urn:stopsAt>", domain, "<urn:Train>"), ("<urn:Train>", sub_class, "<urn:Thing>")])
>>> kind = schema.kind("<urn:stopsAt>", "<urn:Dunes>")
>>> [made.object for made in schema.conclusions(kind) if made.predicate == TYPE]
['<urn:Train>', '<urn:Thing>']
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias

from rdflib import RDF

from rdflive.entail.rdfs import refusal
from rdflive.entail.regimes import refuse_quads, regime_of
from rdflive.entail.rules import Program, RuleError, RuleRegime, Rules, unfold
from rdflive.entail.rules.n3 import parse
from rdflive.entail.schema import RdfsTerms, Schema
from rdflive.entail.templates import Kind, KindTemplates, Placeholder
from rdflive.feeds.terms import write_term
from rdflive.query.parse import ParsedQuery
from rdflive.query.plan import Plan
from rdflive.query.refusals import depth_limited

__all__ = [
    "SCHEMA_WORDS",
    "TYPE",
    "Conclusion",
    "Kind",
    "Placeholder",
    "Program",
    "Rules",
    "TextSchema",
    "TextTriple",
    "check_entailment",
    "program_of",
    "read_rules",
    "refusal",
    "with_rules",
]

TextTriple: TypeAlias = tuple[str, str, str]

TYPE: Final = write_term(RDF.type)
SCHEMA_WORDS: Final = tuple(map(write_term, RdfsTerms().schema))
"""The predicates of schema triples."""


class Conclusion(NamedTuple):
    """A triple that each explicit triple of a kind entails: terms, or positions in the explicit triple."""

    subject: str | Placeholder
    predicate: str
    object: str | Placeholder
    guard: bool
    """True if the conclusion follows only if the object of the explicit triple is not a literal."""


class TextSchema:
    """The immutable schema of one graph."""

    def __init__(self, triples: Iterable[TextTriple]) -> None:
        self._schema = Schema(RdfsTerms.of(write_term))
        for triple in triples:
            self._schema.change(1, triple)
        self._templates = KindTemplates(
            self._schema, is_iri=_is_iri, is_literal=_is_literal, is_used=lambda _: False
        )
        # `is_used` is False for all, so the conclusions of a kind are made on demand
        self._templates.refresh((), (), everything=True)
        self._conclusions: dict[Kind, tuple[Conclusion, ...]] = {}

    @property
    def refused(self) -> set[TextTriple]:
        """The triples by which data would entail schema: they are in the graph, and entail nothing."""
        return self._schema.refused

    @property
    def typing(self) -> set[str]:
        """`rdf:type` and its subproperties."""
        return self._templates.typing

    @property
    def classes(self) -> set[str]:
        """The classes whose type triples form kinds of their own."""
        return self._templates.classes

    def kind(self, predicate: str, value: str) -> Kind:
        """Return the kind of an explicit triple."""
        is_named = predicate in self.typing and value in self.classes
        return predicate, value if is_named else None

    def conclusions(self, kind: Kind) -> tuple[Conclusion, ...]:
        """List the distinct triples that each explicit triple of a kind entails, itself first."""
        found = self._conclusions.get(kind)
        if found is None:
            found = self._conclusions[kind] = tuple(self._made(kind))
        return found

    def _made(self, kind: Kind) -> Iterator[Conclusion]:
        for (predicate, value), atom, _ in self._templates.wake(kind):
            yield Conclusion(
                atom.subject, predicate, value if atom.object is None else atom.object, atom.guard
            )

    @property
    def subjects(self) -> set[str]:
        """The subjects of all schema triples."""
        return {s for s, _, _ in self.refused}.union(*self._schema.above.values())

    def closed(self, subject: str) -> set[TextTriple]:
        """Return the triples of the closed schema with a subject, which are entailed like data."""
        return set(self._schema.entailed((subject, None, None)))

    def concerned(self, changed: Iterable[TextTriple]) -> set[str]:
        """Return the subjects whose triples of the closed schema may change with these explicit triples."""
        return self._schema.concerned(changed)


def program_of(entailment: str | None, rules: Rules | None) -> Program | None:
    """Return the requested rules, in the order of their text; None if there are none.

    An engine that stores `Program.n3` with its state and plans from it later gets the same plan.

    Raises ValueError for an unknown entailment or one combined with rules, and `RuleError` for rules that
    cannot be used or that Notation3 cannot write unchanged.
    """
    regime = regime_of(entailment, rules, "auto", None)
    if not isinstance(regime, RuleRegime):
        return None
    program = regime.program.canonical
    again = read_rules(program.n3)
    if again is None:
        return None
    if again.n3 != program.n3:
        raise RuleError(
            "Notation3 would read a literal of the rules as a different one: write it as rdflib does"
        )
    return program


def read_rules(text: str) -> Program | None:
    """Parse the text of `Program.n3`; None for no rules."""
    return parse(text) if text else None


@depth_limited()
def with_rules(query: ParsedQuery, program: Program) -> ParsedQuery:
    """Return the query with the rules unfolded into it.

    Raises `UnsupportedQueryError` if rules that the query needs are recursive.
    """
    return replace(query, root=unfold(query.root, program))


def check_entailment(plans: Iterable[Plan]) -> None:
    """Raise `UnsupportedQueryError` if a query cannot be answered over entailed triples."""
    for plan in plans:
        refuse_quads(plan)


def _is_iri(text: str) -> bool:
    return text.startswith("<")


def _is_literal(text: object) -> bool:
    return isinstance(text, str) and text.startswith('"')
