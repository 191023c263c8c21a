"""Rules: bodies of patterns and comparisons, and conclusions."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, field, replace
from itertools import count
from operator import itemgetter
from typing import Any, Final, Literal, TypeAlias

from rdflib import URIRef

from rdflive.errors import RdfliveError
from rdflive.query.bgp import TriplePattern, Variable, to_text

__all__ = ["AUXILIARY", "COMPARISONS", "Comparison", "Operator", "Program", "Rule", "RuleError"]

AUXILIARY: Final = "urn:x-rdflive:rule:"
"""Prefix of the predicates that rules of a set use internally; queries never see triples with one."""

Operator: TypeAlias = Literal["is", "is not", "=", "!=", "<", ">", "<=", ">="]
COMPARISONS: Final[dict[str, Operator]] = {
    "http://www.w3.org/2000/10/swap/log#equalTo": "is",
    "http://www.w3.org/2000/10/swap/log#notEqualTo": "is not",
    "http://www.w3.org/2000/10/swap/math#equalTo": "=",
    "http://www.w3.org/2000/10/swap/math#notEqualTo": "!=",
    "http://www.w3.org/2000/10/swap/math#lessThan": "<",
    "http://www.w3.org/2000/10/swap/math#greaterThan": ">",
    "http://www.w3.org/2000/10/swap/math#notGreaterThan": "<=",
    "http://www.w3.org/2000/10/swap/math#notLessThan": ">=",
}
"""N3's built-in predicates for comparing: the log: predicates compare terms, the math: predicates values."""


class RuleError(RdfliveError, ValueError):
    """The rules are not N3, or cannot be maintained; `line` counts from 1, 0 if unknown."""

    def __init__(self, message: str, *, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class Comparison:
    """A condition of a rule: two terms or variables and an operator. A comparison with an error is false."""

    operator: Operator
    left: Any
    right: Any

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The distinct variables of both sides."""
        sides = (self.left, self.right)
        return tuple(dict.fromkeys(side for side in sides if isinstance(side, Variable)))

    def __str__(self) -> str:
        return f"{to_text(self.left)} {self.operator} {to_text(self.right)}"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: every match of the body that passes the conditions entails the head.

    Constants are rdflib terms. A rule without a body is a fact that every graph entails.

    >>> x = Variable("x")
    >>> print(Rule("friends", (TriplePattern(x, "knows", "y"),), (TriplePattern("y", "knows", x),)))
    friends: ?x knows y => y knows ?x
    """

    name: str
    body: tuple[TriplePattern, ...]
    head: tuple[TriplePattern, ...]
    conditions: tuple[Comparison, ...] = ()

    def __str__(self) -> str:
        body = ". ".join(map(str, (*self.body, *self.conditions)))
        return f"{self.name}: {body} => {'. '.join(map(str, self.head))}"


@dataclass(frozen=True, slots=True)
class Program:
    """Rules in the order of their text. Equal programs have the same rules in the same order."""

    rules: tuple[Rule, ...]
    text: str = field(init=False, compare=False)
    """One line per rule."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", "\n".join(map(str, self.rules)))

    @property
    def canonical(self) -> Program:
        """The same rules, each once, sorted by their texts in Notation3; each fact is a rule.

        Rules that are equal up to the names of variables get the name of the first one.
        """
        said: dict[str, Rule] = {}
        for rule in self.rules:
            parts = [rule] if rule.body else [replace(rule, head=(fact,)) for fact in rule.head]
            for part in parts:
                said.setdefault(_in_n3(part), part)
        return Program(tuple(rule for _, rule in sorted(said.items(), key=itemgetter(0))))

    @property
    def n3(self) -> str:
        """The rules in Notation3, a line each. Equivalent programs have the same text.

        >>> x, y = Variable("x"), Variable("y")
        >>> body, head = TriplePattern(x, URIRef("urn:in"), y), TriplePattern(y, URIRef("urn:has"), x)
        >>> print(Program((Rule("", (body,), (head,)),)).n3)
        { ?v0 <urn:in> ?v1 . } => { ?v1 <urn:has> ?v0 . } .
        """
        return "\n".join(map(_in_n3, self.canonical.rules))

    @classmethod
    def union(cls, programs: Iterable[Program]) -> Program:
        """Combine programs. Equal rules are kept once, under the first one's name.

        A rule with a default name gets the next free number if its own is taken.
        """
        said: set[object] = set()
        names: set[str] = set()
        rules: list[Rule] = []
        for rule in (rule for program in programs for rule in program.rules):
            meaning = rule.body, rule.head, rule.conditions
            if meaning not in said:
                said.add(meaning)
                rules.append(_numbered_on(rule, names))
                names.add(rules[-1].name)
        return cls(tuple(rules))

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text


def _in_n3(rule: Rule) -> str:
    predicates = {operator: URIRef(predicate) for predicate, operator in COMPARISONS.items()}
    compared = (TriplePattern(c.left, predicates[c.operator], c.right) for c in rule.conditions)
    body = (*rule.body, *compared)
    # N3 allows fewer characters in names than programs do
    variables = dict.fromkeys(v for pattern in (*body, *rule.head) for v in pattern.variables)
    names: dict[object, str] = {variable: f"?v{n}" for n, variable in enumerate(variables)}

    def said(patterns: Iterable[TriplePattern]) -> str:
        return " ".join(f"{' '.join(names.get(term) or to_text(term) for term in p)} ." for p in patterns)

    return f"{{ {said(body)} }} => {{ {said(rule.head)} }} ." if body else said(rule.head)


def _numbered_on(rule: Rule, taken: Container[str]) -> Rule:
    kind, _, number = rule.name.partition(" ")
    if rule.name not in taken or kind not in ("rule", "fact") or not number.isdecimal():
        return rule
    return replace(rule, name=next(n for i in count(int(number) + 1) if (n := f"{kind} {i}") not in taken))
