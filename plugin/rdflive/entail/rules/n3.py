"""Rules in Notation3, as rdflib parses them: `{ body } => { head } ; rdfs:label "name" .`"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NoReturn, TypeAlias

from rdflib import Graph
from rdflib.graph import QuotedGraph
from rdflib.namespace import RDFS
from rdflib.plugins.stores.memory import Memory
from rdflib.term import BNode, Literal, Node, URIRef
from rdflib.term import Variable as N3Variable

from rdflive.entail.rules.program import COMPARISONS, Comparison, Program, Rule, RuleError
from rdflive.query.bgp import TriplePattern, Variable, to_text

__all__ = ["parse"]

Statement: TypeAlias = tuple[Any, Any, Any]

_SWAP: Final = "http://www.w3.org/2000/10/swap/"
_BUILT_IN: Final = tuple(f"{_SWAP}{part}" for part in ("crypto#", "graph#", "list#", "log#", "math#", "os#",
                                                       "string#", "time#"))  # fmt: skip
_IMPLIES: Final = URIRef(f"{_SWAP}log#implies")
_BASE: Final = "urn:x-rdflive:rules"


class _TextOrder(Memory):
    """Remembers the statements in the order of the text, by the formula that they stand in."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[Statement] = []
        self.formulas: dict[Node, list[Statement]] = {}

    def add(self, triple: Statement, context: Any, quoted: bool = False) -> None:
        if quoted:
            self.formulas.setdefault(context.identifier, []).append(triple)
        else:
            self.said.append(triple)
        super().add(triple, context, quoted)


def parse(text: str) -> Program:
    """Read rules and the facts beside them, which become rules without a body.

    A rule is named by an `rdfs:label` of its body, or by its number; a fact by its number. A blank node
    of a body is a variable. Raises `RuleError`.

    >>> print(parse('{ ?x <urn:in> ?y } => { ?y <urn:holds> ?x } .'))
    rule 1: ?x <urn:in> ?y => ?y <urn:holds> ?x
    """
    store = _read(text)
    labels = {s: str(o) for s, p, o in store.said if p == RDFS.label and isinstance(s, QuotedGraph)}
    rules: list[Rule] = []
    facts: list[Rule] = []
    for s, p, o in store.said:
        if p == _IMPLIES:
            name = labels.get(s, f"rule {len(rules) + 1}")
            rules.append(_Reader(store, name).rule(s, o))
        elif not (p == RDFS.label and s in labels):
            facts.append(_fact(f"fact {len(facts) + 1}", (s, p, o)))
    if not rules and not facts:
        raise RuleError("the N3 text holds no rule; write { ?x a :Dog } => { ?x a :Animal } .")
    return Program.union([Program((*facts, *rules))])


def _read(text: str) -> _TextOrder:
    store = _TextOrder()
    graph = Graph(store=store)
    try:
        graph.parse(data=text, format="n3", publicID=_BASE)
    except Exception as error:
        line = getattr(error, "lines", -1) + 1
        place = f"line {line}" if line else "probably at the end, where something is not closed"
        reason = getattr(error, "_why", None) or str(error) or type(error).__name__
        raise RuleError(f"the rules are not N3, {place}: {reason}", line=line) from error
    return store


def _fact(name: str, statement: Statement) -> Rule:
    for term in statement:
        if isinstance(term, QuotedGraph):
            raise RuleError(f"{name}: a formula stands outside a rule; write {{ ... }} => {{ ... }} .")
        if isinstance(term, BNode | N3Variable):
            kind = "a blank node (or a list)" if isinstance(term, BNode) else "a variable"
            raise RuleError(f"{name} has {kind}, {to_text(term)}; a fact may have IRIs and literals only")
    _demand_triple(name, statement)
    return Rule(name, (), (TriplePattern(*statement),))


def _demand_triple(name: str, statement: Sequence[Any]) -> None:
    s, p, o = statement
    shown = f"{to_text(s)} {to_text(p)} {to_text(o)}"
    if isinstance(s, Literal):
        raise RuleError(f"{name}: {shown}: a literal is no subject of a triple")
    if isinstance(p, Literal | BNode):
        raise RuleError(f"{name}: {shown}: a predicate is an IRI or a variable")


class _Reader:
    """Reads one rule; `name` says in errors which."""

    def __init__(self, store: _TextOrder, name: str) -> None:
        self.formulas = store.formulas
        self.name = name
        self.blanks: dict[BNode, Variable] = {}

    def rule(self, body: Any, head: Any) -> Rule:
        patterns: list[TriplePattern] = []
        conditions: list[Comparison] = []
        for statement in self._statements(body, "body"):
            _, predicate, _ = statement
            operator = COMPARISONS.get(str(predicate))
            if operator is not None:
                s, _, o = map(self._term, statement)
                conditions.append(Comparison(operator, s, o))
            else:
                patterns.append(self._pattern(statement))
        bound = {v for pattern in patterns for v in pattern.variables}
        for condition in conditions:
            for variable in condition.variables:
                if variable not in bound:
                    self._fail(f"{variable} is compared, but no pattern of the body binds it")
        heads = tuple(self._head(statement, bound) for statement in self._statements(head, "head"))
        if not heads:
            self._fail("the head is empty: nothing follows")
        unique = tuple(dict.fromkeys(patterns)), tuple(dict.fromkeys(heads)), tuple(dict.fromkeys(conditions))
        return Rule(self.name, *unique)

    def _statements(self, formula: Any, part: str) -> list[Statement]:
        if not isinstance(formula, QuotedGraph):
            if part == "head" and isinstance(formula, Literal) and formula.value is False:
                self._fail("it concludes false; inconsistencies are not looked for: take the rule out")
            self._fail(f"the {part} is {to_text(formula)}, not a formula in braces")
        return self.formulas.get(formula.identifier, [])

    def _pattern(self, statement: Statement) -> TriplePattern:
        if str(statement[1]).startswith(_BUILT_IN):
            known = ", ".join(sorted(_short(iri) for iri in COMPARISONS))
            self._fail(f"the built-in {_short(str(statement[1]))} is not supported; these are: {known}")
        if isinstance(statement[1], Literal) or isinstance(statement[0], Literal):
            _demand_triple(self.name, statement)
        s, p, o = map(self._term, statement)
        return TriplePattern(s, p, o)

    def _head(self, statement: Statement, bound: set[Variable]) -> TriplePattern:
        if str(statement[1]).startswith(_BUILT_IN):
            self._fail(f"the built-in {_short(str(statement[1]))} stands in the head; it can only be asked")
        for term in statement:
            if isinstance(term, BNode):
                self._fail("the head has a blank node or a list: rules cannot make new terms; name an IRI")
            if isinstance(term, N3Variable) and self._term(term) not in bound:
                self._fail(f"?{term} is in the head, but no pattern of the body binds it")
        _demand_triple(self.name, statement)
        s, p, o = map(self._term, statement)
        return TriplePattern(s, p, o)

    def _term(self, term: Any) -> Any:
        if isinstance(term, QuotedGraph):
            self._fail("a formula stands inside a rule; only triples and comparisons can")
        if isinstance(term, N3Variable):
            return Variable(str(term))
        if isinstance(term, BNode):
            return self.blanks.setdefault(term, Variable(f"b{len(self.blanks) + 1}", distinguished=False))
        return term

    def _fail(self, reason: str) -> NoReturn:
        raise RuleError(f"{self.name}: {reason}")


def _short(iri: str) -> str:
    return iri.removeprefix(_SWAP).replace("#", ":")
