"""Rules in Notation3, as rdflib parses them: `{ body } => { head } ; rdfs:label "name" .`"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NoReturn, TypeAlias

from rdflib import Graph
from rdflib.graph import QuotedGraph
from rdflib.namespace import RDFS
from rdflib.plugins.parsers.notation3 import RDFSink, SinkParser
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
"""A base IRI that cannot resolve relative IRIs, so that relative IRIs are detected."""
_NOT_IN_IRI: Final = frozenset('<>"{}|\\^`').union(map(chr, range(33)))


class _TextOrder(Memory):
    """A store that keeps the statements in the order of the text, by formula.

    rdflib's own store loses the order, which error messages and the names of rules need.
    """

    def __init__(self) -> None:
        super().__init__()
        self.said: list[tuple[int, Statement]] = []
        """The statements outside formulas, each with the line that it ends on."""
        self.formulas: dict[Node, list[Statement]] = {}
        self.parser = SinkParser(RDFSink(Graph(store=self)), baseURI=_BASE)

    @property
    def line(self) -> int:
        """The line that the parser is at, from 1."""
        return self.parser.lines + 1

    def add(self, triple: Statement, context: Any, quoted: bool = False) -> None:
        if quoted:
            self.formulas.setdefault(context.identifier, []).append(triple)
        else:
            self.said.append((self.line, triple))
        super().add(triple, context, quoted)


def parse(text: str) -> Program:
    """Parse rules, and facts, which become rules without a body.

    The name of a rule is an `rdfs:label` of its body, or its number; the name of a fact is its number. A
    blank node of a body is a variable. Raises `RuleError`.

    >>> print(parse('{ ?x <urn:in> ?y } => { ?y <urn:holds> ?x } .'))
    rule 1: ?x <urn:in> ?y => ?y <urn:holds> ?x
    """
    store = _read(text)
    labels = {s: str(o) for _, (s, p, o) in store.said if p == RDFS.label and isinstance(s, QuotedGraph)}
    rules: list[Rule] = []
    facts: list[Rule] = []
    for line, (s, p, o) in store.said:
        if p == _IMPLIES:
            # the label belongs to the formula that is written first: in `{ head } <= { body }` the head
            name = labels.get(s) or labels.get(o) or f"rule {len(rules) + 1}"
            rules.append(_N3Reader(store, name, line).rule(s, o))
        elif not (p == RDFS.label and s in labels):
            facts.append(_N3Reader(store, f"fact {len(facts) + 1}", line).fact((s, p, o)))
    if not rules and not facts:
        raise RuleError("the N3 text contains no rule; write { ?x a :Dog } => { ?x a :Animal } .")
    return Program.union([Program((*facts, *rules))])


def _read(text: str) -> _TextOrder:
    # `Graph.parse` would warn about formulas and hide the parser, which has the line number
    store = _TextOrder()
    try:
        root = store.parser.loadBuf(text.removeprefix("\ufeff"))
    except Exception as error:
        line = store.line
        raise RuleError(
            f"the rules are not N3, line {line}: {_reason(error, text, line)}", line=line
        ) from error
    if root is not None and root.existentials:
        names = ", ".join(f"<{iri}>" for iri in root.existentials)
        raise RuleError(f"@forSome {names} is outside a rule; write a variable (?x) in the rule's body")
    return store


def _reason(error: Exception, text: str, line: int) -> str:
    reason = str(getattr(error, "_why", None) or error or type(error).__name__)
    if isinstance(error, IndexError):  # rdflib reads past the end of the text
        return "the text ends within a statement; close it with a dot"
    if reason.startswith(f"Base <{_BASE}>"):
        return "an IRI is relative; write it in full, or declare @base <http://...> ."
    if "".join(text.split("\n")[line - 1 : line]).lstrip().lower().startswith(("prefix ", "base ")):
        return f"{reason}; write @prefix name: <...> . or @base <...> . with the dot"
    return reason


class _N3Reader:
    """Reads one rule or fact. Errors contain its name and `line`, the line that it ends on."""

    def __init__(self, store: _TextOrder, name: str, line: int) -> None:
        self.formulas = store.formulas
        self.name = name
        self.line = line
        self.blanks: dict[BNode, Variable] = {}

    def fact(self, statement: Statement) -> Rule:
        self._demand_iris(statement)
        for term in statement:
            if isinstance(term, QuotedGraph):
                self._fail("a formula is outside a rule; write { ... } => { ... } .")
            if isinstance(term, BNode | N3Variable):
                kind = "a blank node (or a list)" if isinstance(term, BNode) else "a variable"
                self._fail(f"{kind}, {to_text(term)}, is outside a rule; a fact has IRIs and literals only")
        self._demand_triple(statement)
        return Rule(self.name, (), (TriplePattern(*map(self._term, statement)),))

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
            self._fail("the head is empty, so the rule concludes nothing")
        unique = tuple(dict.fromkeys(patterns)), tuple(dict.fromkeys(heads)), tuple(dict.fromkeys(conditions))
        return Rule(self.name, *unique)

    def _statements(self, formula: Any, part: str) -> list[Statement]:
        if not isinstance(formula, QuotedGraph):
            self._demand_iris([formula])
            if part == "head" and isinstance(formula, Literal) and formula.value is False:
                self._fail("it concludes false, but rdflive does not check inconsistencies: remove the rule")
            self._fail(f"the {part} is {to_text(formula)}, not a formula in braces")
        statements = self.formulas.get(formula.identifier, [])
        self._demand_iris(term for statement in statements for term in statement)
        return statements

    def _pattern(self, statement: Statement) -> TriplePattern:
        if str(statement[1]).startswith(_BUILT_IN):
            known = ", ".join(sorted(_short(iri) for iri in COMPARISONS))
            self._fail(f"the built-in {_short(str(statement[1]))} is not supported; supported are: {known}")
        # in a body a blank node is a variable, so it may be a predicate
        if isinstance(statement[1], Literal) or isinstance(statement[0], Literal):
            self._demand_triple(statement)
        s, p, o = map(self._term, statement)
        return TriplePattern(s, p, o)

    def _head(self, statement: Statement, bound: set[Variable]) -> TriplePattern:
        if str(statement[1]).startswith(_BUILT_IN):
            self._fail(f"the built-in {_short(str(statement[1]))} is in the head; use it in the body only")
        for term in statement:
            if isinstance(term, BNode):
                self._fail("the head has a blank node or a list: rules cannot create new terms; use an IRI")
            if isinstance(term, N3Variable) and self._term(term) not in bound:
                self._fail(f"?{term} is in the head, but no pattern of the body binds it")
        self._demand_triple(statement)
        s, p, o = map(self._term, statement)
        return TriplePattern(s, p, o)

    def _demand_triple(self, statement: Statement) -> None:
        s, p, _ = statement
        shown = " ".join(map(to_text, statement))
        if isinstance(s, Literal):
            self._fail(f"{shown}: a literal cannot be the subject of a triple")
        if isinstance(p, Literal | BNode):
            self._fail(f"{shown}: a predicate must be an IRI or a variable")

    def _term(self, term: Any) -> Any:
        if isinstance(term, QuotedGraph):
            self._fail("a formula is inside a rule; only triples and comparisons are allowed")
        if isinstance(term, N3Variable):
            return Variable(str(term))
        if isinstance(term, BNode):
            return self.blanks.setdefault(term, Variable(f"b{len(self.blanks) + 1}", distinguished=False))
        return term

    def _demand_iris(self, terms: Iterable[Any]) -> None:
        for term in terms:
            iri = term.datatype if isinstance(term, Literal) else term
            if isinstance(iri, URIRef):
                self._demand_iri(iri)

    def _demand_iri(self, iri: URIRef) -> None:
        if iri.startswith(f"{_BASE}#"):
            self._fail(
                f"the prefix of :{iri.removeprefix(_BASE)[1:]} is not declared; write @prefix : <...> ."
            )
        wrong = next((character for character in iri if character in _NOT_IN_IRI), None)
        if wrong is not None:
            self._fail(f"{str(iri)!r} is not an IRI: {wrong!r} is not allowed; write %{ord(wrong):02X}")

    def _fail(self, reason: str) -> NoReturn:
        raise RuleError(f"{self.name}, line {self.line}: {reason}", line=self.line)


def _short(iri: str) -> str:
    return iri.removeprefix(_SWAP).replace("#", ":")
