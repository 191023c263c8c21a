"""Names of variables in explanations; variables of the planner are named by their meaning."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from rdflib import Literal

from rdflive.query import algebra
from rdflive.query.bgp import TriplePattern, Variable, VarOrTerm, to_text
from rdflive.query.expressions.text import to_text as expression_text
from rdflive.query.plan import Plan

__all__ = ["VariableNames"]

_MADE: Final = re.compile(r"\?(·\d+|·agg\d+)")  # by the translator, and for aggregates
_UNPRINTABLE: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")


class VariableNames:
    """Readable names for the variables of one plan, each different from the others."""

    def __init__(self, plan: Plan) -> None:
        self._names: dict[str, str] = {}
        nodes = algebra.topological(plan.query.root)
        for variable, name in (*_graphs(nodes), *_marks(nodes), *_nodes(nodes)):
            self._add(variable.name, name)
        for variable, name in self._computed(nodes):
            self._names.setdefault(variable.name, name)
        for node in nodes:
            if isinstance(node, algebra.Basic) and isinstance(node.graph, Variable):
                self._add(node.graph.name, "graph")
        lonely = _lonely(plan, nodes)
        for variable in (column for node in nodes for column in node.columns):
            if variable.name.startswith("·"):
                self._add(variable.name, "[]" if variable in lonely else "_:v")

    def _add(self, variable: str, name: str) -> None:
        """Name a variable without a name, and make the name unique."""
        if variable in self._names:
            return
        taken = set(self._names.values())
        number, unique = 1, name
        # as in SPARQL, each [] is another variable
        while unique in taken and name != "[]":
            number += 1
            unique = f"{name}{number}" if name.startswith("_:") else f"{name} #{number}"
        self._names[variable] = unique

    def _computed(self, nodes: Iterable[algebra.Node]) -> Iterator[tuple[Variable, str]]:
        """Name the columns of expressions by their text; the nodes below come first."""
        for node in nodes:
            if isinstance(node, algebra.Extend) and not node.variable.distinguished:
                yield node.variable, self.text(node.expression.text)
            elif isinstance(node, algebra.Group):
                for aggregate in node.aggregates:
                    yield aggregate.variable, self.aggregate(aggregate)
            elif isinstance(node, algebra.Project):
                for new, old in node.renamed:
                    if new in node.exact:
                        yield new, f"{self.variable(old)} of the outer solution"
                    elif new.name.startswith("·agg"):  # the SAMPLE of a variable grouped by
                        yield new, self.variable(old)

    def variable(self, variable: Variable) -> str:
        """Name a variable."""
        return self._names.get(variable.name, str(variable))

    def variables(self, variables: Iterable[Variable], between: str = " ") -> str:
        """Name several variables."""
        return between.join(map(self.variable, variables))

    def term(self, term: VarOrTerm) -> str:
        """Write a term of a pattern, in one line of printable text."""
        if isinstance(term, Variable):
            return self.variable(term)
        return _printable(expression_text(term) if isinstance(term, Literal) else to_text(term))

    def pattern(self, pattern: TriplePattern) -> str:
        """Write a triple pattern without its graph, which belongs to the whole basic graph pattern."""
        return " ".join(map(self.term, (pattern.subject, pattern.predicate, pattern.object)))

    def text(self, expression: str) -> str:
        """Replace the variables in the text of an expression by their names."""
        return _MADE.sub(lambda found: self._names.get(found[1], found[0]), _printable(expression))

    def aggregate(self, aggregate: algebra.Aggregate) -> str:
        """Write an aggregate as SPARQL does."""
        of = "*" if aggregate.expression is None else self.text(aggregate.expression.text)
        distinct = "DISTINCT " if aggregate.distinct else ""
        separator = ""
        if aggregate.name == "GROUP_CONCAT" and aggregate.separator != " ":
            separator = f'; SEPARATOR="{_printable(aggregate.separator)}"'
        return f"{aggregate.name}({distinct}{of}{separator})"

    def order(self, order: Iterable[algebra.OrderCondition]) -> str:
        """Write the conditions of ORDER BY."""
        texts = ((self.text(o.expression.text), o.descending) for o in order)
        return " ".join(f"DESC({text})" if down else _bracketed(text) for text, down in texts)


def _graphs(nodes: Iterable[algebra.Node]) -> Iterator[tuple[Variable, str]]:
    """Find the variable of the query that each hidden graph becomes or must equal."""
    graphs = {node.graph for node in nodes if isinstance(node, algebra.Basic)}
    hidden = {graph.name: graph for graph in graphs if isinstance(graph, Variable)}
    for node in nodes:
        pairs: Iterable[tuple[str, str]] = ()
        if isinstance(node, algebra.Project):
            pairs = [(new.name, old.name) for new, old in node.renamed if new not in node.exact]
        elif isinstance(node, algebra.Filter) and isinstance(node.condition, algebra.SameTerm):
            pairs = [(node.condition.one, node.condition.other)]
        for name, graph in pairs:
            if graph in hidden:
                yield hidden[graph], f"graph of GRAPH ?{name}"


def _marks(nodes: Iterable[algebra.Node]) -> Iterator[tuple[Variable, str]]:
    for node in nodes:
        if isinstance(node, algebra.Exists) and node.mark is not None:
            yield node.mark, "NOT EXISTS" if node.negated else "EXISTS"
        elif isinstance(node, algebra.Clocked) and node.mark is not None:
            yield node.mark, node.condition.text


def _nodes(nodes: Iterable[algebra.Node]) -> Iterator[tuple[Variable, str]]:
    """Name the ends of property paths and of their steps, and the blank nodes of a template."""
    for node in nodes:
        if isinstance(node, algebra.Closure):
            yield node.source, "_:from"
            yield node.target, "_:to"
            if isinstance(node.seeds, algebra.Values) and not node.start.distinguished:
                yield node.start, "_:start"
        elif isinstance(node, algebra.Construct):
            for variable in (v for pattern in node.template for v in pattern.variables):
                if not variable.distinguished:  # rdflib assigns random labels to blank nodes
                    yield variable, "_:new"


def _lonely(plan: Plan, nodes: Iterable[algebra.Node]) -> set[Variable]:
    """Find the variables that occur once and are not read."""
    places: Counter[Variable] = Counter()
    read: set[str] = {column.name for step in plan.steps for column in step.columns}
    for node in nodes:
        if isinstance(node, algebra.Basic):
            places.update(term for p in node.patterns for term in p if isinstance(term, Variable))
            read.update(name for condition in node.conditions for name in condition.variables)
    return {variable for variable, count in places.items() if count == 1 and variable.name not in read}


def _printable(text: str) -> str:
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04X}", text)


def _bracketed(text: str) -> str:
    return text if re.fullmatch(r"[?\w]+", text) else f"({text})"
