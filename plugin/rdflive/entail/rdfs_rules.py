"""The RDFS rules of databases, written once: the ten rules of Goasdoué et al., Figures 6 and 8.

Windows and proofs by rules use `RDFS_RULES`. `schema.py` closes a schema by `JOINS`, the rules on schema
triples alone. The other rules, `STEPS`, have one instance triple in their bodies and lead from it to the
conclusion. Templates use them forward. Rules 14 to 17 are the same steps, used backward.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from rdflib import RDF, RDFS

from rdflive.entail.rules import Comparison, Program, Rule
from rdflive.query.bgp import TriplePattern, Variable

__all__ = ["JOINS", "RDFS_RULES", "STEPS", "RuleJoin", "RuleStep"]

_S, _P, _O, _Q, _R, _C, _D, _E = map(Variable, "spoqrcde")
_SCHEMA: Final = (RDFS.subClassOf, RDFS.subPropertyOf, RDFS.domain, RDFS.range)


def _rule(name: str, body: tuple[tuple[Any, Any, Any], ...], head: tuple[Any, Any, Any], *data: Any) -> Rule:
    """Make a rule; `data` are the predicates for which the rule must not conclude a schema triple."""
    conditions = tuple(Comparison("is not", side, word) for side in data for word in _SCHEMA)
    return Rule(name, tuple(TriplePattern(*p) for p in body), (TriplePattern(*head),), conditions)


RDFS_RULES: Final = Program(
    (
        _rule("rdfs9", ((_C, RDFS.subClassOf, _D), (_S, RDF.type, _C)), (_S, RDF.type, _D)),
        _rule("rdfs7", ((_P, RDFS.subPropertyOf, _Q), (_S, _P, _O)), (_S, _Q, _O), _Q),
        _rule("rdfs2", ((_P, RDFS.domain, _C), (_S, _P, _O)), (_S, RDF.type, _C)),
        _rule("rdfs3", ((_P, RDFS.range, _C), (_S, _P, _O)), (_O, RDF.type, _C)),
        _rule("rdfs11", ((_C, RDFS.subClassOf, _D), (_D, RDFS.subClassOf, _E)), (_C, RDFS.subClassOf, _E)),
        _rule(
            "rdfs5",
            ((_P, RDFS.subPropertyOf, _Q), (_Q, RDFS.subPropertyOf, _R)),
            (_P, RDFS.subPropertyOf, _R), _Q, _R,
        ),
        _rule("ext1", ((_P, RDFS.domain, _C), (_C, RDFS.subClassOf, _D)), (_P, RDFS.domain, _D)),
        _rule("ext2", ((_P, RDFS.range, _C), (_C, RDFS.subClassOf, _D)), (_P, RDFS.range, _D)),
        _rule("ext3", ((_P, RDFS.subPropertyOf, _Q), (_Q, RDFS.domain, _C)), (_P, RDFS.domain, _C), _Q),
        _rule("ext4", ((_P, RDFS.subPropertyOf, _Q), (_Q, RDFS.range, _C)), (_P, RDFS.range, _C), _Q),
    )
)  # fmt: skip
"""The rules of `entailment="rdfs"`. They also close the schema, so that patterns on it are answered.

The first pattern of every body matches a schema triple. A literal never becomes a subject.
"""


class RuleJoin(NamedTuple):
    """A rule by which two consecutive schema triples entail a third; fields are their properties."""

    rule: str
    first: Any
    second: Any
    conclusion: Any


class RuleStep(NamedTuple):
    """A rule that concludes one triple from another, by a schema triple.

    Example: by rdfs2, `:R7 :stopsAt :Dunes` and `:stopsAt rdfs:domain :Train` entail `:R7 a :Train`. Forward,
    the schema triple is looked up by its subject, at position 1 of the premise. The conclusion takes its
    terms from the premise, the object of the schema triple (position 3) and rdf:type (4): 0, 4, 3.

    Backward, the schema triple is looked up by its object, at position 2 of the conclusion. The premise takes
    its terms from the conclusion, the subject of the schema triple (3) and any term (4): 0, 3, 4.
    """

    rule: str
    word: Any
    """The property of the schema triple."""
    at: int
    """The position of the schema triple's subject in the premise."""
    of_type: bool
    """True if the premise must be a type triple."""
    conclusion: tuple[int, int, int]
    """The source of each term of the conclusion."""
    back_at: int
    """The position of the schema triple's object in the conclusion."""
    to_type: bool
    """True if the conclusion is a type triple."""
    premise: tuple[int, int, int]
    """The source of each term of the premise."""

    def premises(self, goal: Any, edges: Any, word: Any, fresh: Any) -> Iterator[tuple[Any, Any, Any]]:
        """List the triples that the rule concludes a triple from: Figure 12, rules 14 to 17.

        `edges` maps objects of the schema triples to their subjects, and `word` is rdf:type. A term that the
        goal does not determine is `fresh`.
        """
        found = edges.get(goal[self.back_at])
        if found and not (self.to_type and goal[1] != word):
            s, p, o = self.premise
            for lower in found:
                terms = (*goal, lower, fresh)
                yield terms[s], terms[p], terms[o]


def _step(rule: Rule) -> RuleStep:
    schema, premise = rule.body
    (head,) = rule.head
    s, p, o = map([*premise, schema.object, RDF.type].index, head)
    known = [*head, schema.subject]
    first, second, third = (known.index(term) if term in known else len(known) for term in premise)
    return RuleStep(
        rule.name,
        schema.predicate,
        [*premise].index(schema.subject),
        premise.predicate == RDF.type,
        (s, p, o),
        known.index(schema.object),
        head.predicate == RDF.type,
        (first, second, third),
    )


def _is_schema(pattern: TriplePattern) -> bool:
    return pattern.predicate in _SCHEMA


JOINS: Final = tuple(
    RuleJoin(rule.name, *(pattern.predicate for pattern in (*rule.body, *rule.head)))
    for rule in RDFS_RULES.rules
    if _is_schema(rule.head[0])
)
"""The rules of Figure 6. In each the object of the first triple is the subject of the second."""
STEPS: Final = tuple(_step(rule) for rule in RDFS_RULES.rules if not _is_schema(rule.head[0]))
"""The rules of Figure 8."""
