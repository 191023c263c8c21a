"""Translation of a query's tree to SPARQL's algebra (SPARQL 1.1, 18.2).

Operators are nodes with the names and fields of rdflib's algebra, except that `Join` and `Union` have any
number of parts. `rdflib_algebra` converts them for rdflib's evaluator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import chain
from typing import Any, Final

from rdflib.paths import Path
from rdflib.term import BNode, Literal, URIRef, Variable

from rdflive.model import TripleTerm
from rdflive.syntax.checks import has_aggregate
from rdflive.syntax.tree import EXISTS, Tree, leaves, replace

__all__ = ["AGGREGATE", "algebra_of", "group_of", "shown_by"]

_KINDS: Final = (Path, BNode, Variable, URIRef, Literal)
AGGREGATE: Final = "·agg"
"""Prefix of the variables of aggregates; no variable in a text can begin with a middle dot."""
_ALWAYS: Final = Tree("TrueFilter", {})
_NOTHING: Final = Tree("BGP", {"triples": ()})


def algebra_of(tree: Tree) -> Tree:
    """Translate a query; the field `p` of the result is its pattern with the solution modifiers.

    >>> from rdflive.syntax.reader import read_query
    >>> algebra_of(read_query("ASK { ?s ?p ?o }")).p.p.name
    'BGP'
    """
    query: Tree = tree.query
    clauses = query.datasetClause or ()
    if query.name == "DescribeQuery":
        shown = tuple(term for term in query.var or () if isinstance(term, Variable))
        pattern = None if query.where is None else _modified(query, Tree("Distinct", {}), shown or None)
        return Tree(
            query.name,
            {"p": pattern, "datasetClause": clauses, "PV": query.var or ()},
            query.begin,
            query.end,
        )
    pattern = _modified(query)
    fields = {"p": pattern, "datasetClause": clauses}
    if query.name == "SelectQuery":
        while pattern.name != "Project":
            pattern = pattern.p
        fields["PV"] = pattern.PV
    if query.name == "ConstructQuery":
        template = query.template or query.where
        fields["template"] = template.triples.triples if template.triples else ()
    return Tree(query.name, fields, query.begin, query.end)


def group_of(group: Tree) -> Tree:
    """Translate a group of patterns."""
    pattern, filters = _group(group)
    return _filtered(pattern, filters, group)


def _group(group: Tree) -> tuple[Tree, list[Any]]:
    """Translate a group; return its filter conditions separately, because OPTIONAL uses them itself."""
    if group.name == "Template":  # the short form of CONSTRUCT
        return _bgp(group.triples.triples if group.triples else (), group), []
    parts: list[Tree] = []
    filters: list[Any] = []
    triples: list[Any] = []
    for part in group.part or ():
        if part.name == "Filter":
            filters.append(_expression(part.expr))
        elif part.name == "TriplesBlock":
            triples.extend(part.triples)
        else:
            if triples:
                parts.append(_bgp(triples, part))
                triples = []
            if part.name in _BESIDE:
                parts.append(_BESIDE[part.name](part))
            else:
                parts = [_AROUND[part.name](_joined(parts), part)]
    if triples:
        parts.append(_bgp(triples, group))
    return _joined(parts), filters


def _bgp(triples: Iterable[Any], place: Tree) -> Tree:
    return Tree("BGP", {"triples": tuple(_ordered(list(triples)))}, place.begin, place.end)


def _ordered(triples: list[Any]) -> Iterator[Any]:
    """Yield the triples of a pattern in an order that does not depend on the text.

    Triples with the most known terms come first: constants, and variables of earlier triples. So rdflib's
    evaluator finds few solutions at each step, and queries that differ only in triple order share one plan.
    """
    blanks: list[list[Any]] = [
        [term for term in each if isinstance(term, Variable | BNode)] for each in triples
    ]
    counts = Counter(chain.from_iterable(blanks))
    where: dict[Any, list[int]] = {}
    for at, terms in enumerate(blanks):
        for term in set(terms):
            where.setdefault(term, []).append(at)
    rank = [
        (
            -sum(counts[term] for term in terms),
            not isinstance(triple[2], Literal),
            tuple(_rank(term, place) for place, term in enumerate(triple)),
            at,
        )
        for at, (triple, terms) in enumerate(zip(triples, blanks, strict=True))
    ]
    unknown = [len(terms) for terms in blanks]
    # one heap per number of unknown terms; entries that have moved to another heap are skipped
    heaps: list[list[Any]] = [[], [], [], []]
    for at, number in enumerate(unknown):
        heaps[number].append(rank[at])
    for heap in heaps:
        heapify(heap)
    given: set[int] = set()
    while len(given) < len(triples):
        number = next(n for n, heap in enumerate(heaps) if _cleared(heap, n, unknown, given))
        at = heappop(heaps[number])[-1]
        given.add(at)
        yield triples[at]
        if number:
            several = [at, *(each[-1] for each in heaps[number] if unknown[each[-1]] == number)]
            for term in {term for each in several for term in blanks[each]}:
                for other in where.pop(term, ()):
                    unknown[other] -= blanks[other].count(term)
                    if other not in given:
                        heappush(heaps[unknown[other]], rank[other])


def _cleared(heap: list[Any], number: int, unknown: list[int], given: set[int]) -> bool:
    """Remove outdated entries from the top of a heap; return True if any entry is left."""
    while heap and (unknown[heap[0][-1]] != number or heap[0][-1] in given):
        heappop(heap)
    return bool(heap)


def _rank(term: Any, place: int) -> tuple[int, str]:
    """Return a sort key of a term: its kind, then its text.

    The key ignores the text of constant subjects and objects, so that queries which differ in them share a
    plan.
    """
    kind = next((n for n, kind in enumerate(_KINDS) if isinstance(term, kind)), len(_KINDS))
    if place != 1 and isinstance(term, URIRef | Literal):
        return kind, ""
    return kind, repr(term) if isinstance(term, Path) else str(term)


def _filtered(pattern: Tree, conditions: Sequence[Any], place: Tree) -> Tree:
    if not conditions:
        return pattern
    return Tree("Filter", {"expr": _all_of(conditions), "p": pattern}, place.begin, place.end)


def _all_of(conditions: Sequence[Any]) -> Any:
    first, *others = conditions
    return Tree("ConditionalAndExpression", {"expr": first, "other": tuple(others)}) if others else first


def _joined(parts: Iterable[Tree]) -> Tree:
    flat = [each for part in parts for each in (part.part if part.name == "Join" else (part,))]
    flat = [part for part in flat if part.name != "BGP" or part.triples]
    return flat[0] if len(flat) == 1 else Tree("Join", {"part": tuple(flat)}) if flat else _NOTHING


def _optional(left: Tree, part: Tree) -> Tree:
    right, filters = _group(part.graph)
    condition = _all_of(filters) if filters else _ALWAYS
    return Tree("LeftJoin", {"p1": left, "p2": right, "expr": condition}, part.begin, part.end)


def _minus(left: Tree, part: Tree) -> Tree:
    return Tree("Minus", {"p1": left, "p2": group_of(part.graph)}, part.begin, part.end)


def _bind(left: Tree, part: Tree) -> Tree:
    fields = {"p": left, "expr": _expression(part.expr), "var": part.var}
    return Tree("Extend", fields, part.begin, part.end)


_AROUND: Final = {"OptionalGraphPattern": _optional, "MinusGraphPattern": _minus, "Bind": _bind}
"""Translations of the parts that apply to all preceding parts of their group."""


def _graph(part: Tree) -> Tree:
    return Tree("Graph", {"term": part.term, "p": group_of(part.graph)}, part.begin, part.end)


def _union(part: Tree) -> Tree:
    branches = tuple(map(group_of, part.graph))
    return branches[0] if len(branches) == 1 else Tree("Union", {"part": branches}, part.begin, part.end)


def _data(part: Tree) -> Tree:
    return Tree("ToMultiSet", {"p": Tree("values", part.fields)}, part.begin, part.end)


def _subquery(part: Tree) -> Tree:
    return Tree("ToMultiSet", {"p": _modified(part)}, part.begin, part.end)


_BESIDE: Final[dict[str, Callable[[Tree], Tree]]] = {
    "GraphGraphPattern": _graph,
    "GroupOrUnionGraphPattern": _union,
    "InlineData": _data,
    "SubSelect": _subquery,
    "ServiceGraphPattern": lambda part: part,
}
"""Translations of the parts that are joined with the other parts of their group."""


def _expression(node: Any) -> Any:
    """Translate the patterns within an expression."""

    def translated(part: Any) -> Any:
        if isinstance(part, Tree) and part.name in EXISTS and part.graph.name == "GroupGraphPattern":
            return part.changed(graph=group_of(part.graph))
        return None

    return replace(node, translated)


def _modified(query: Tree, modifier: Tree | None = None, shown: tuple[Variable, ...] | None = None) -> Tree:
    """Translate a query's pattern and its solution modifiers (18.2.4 and 18.2.5)."""
    pattern = group_of(query.where)
    projection = [
        part.changed(expr=_expression(part.expr)) if part.evar else part for part in query.projection or ()
    ]
    having = [_expression(condition) for condition in query.having or ()]
    order = [condition.changed(expr=_expression(condition.expr)) for condition in query.orderby or ()]
    keys = None
    if query.groupby:
        keys = []
        for key in query.groupby:
            if isinstance(key, Tree) and key.name == "GroupAs":
                pattern = Tree("Extend", {"p": pattern, "expr": _expression(key.expr), "var": key.var})
                keys.append(key.var)
            else:
                keys.append(_expression(key))
    expressions = [
        *(part.expr for part in projection if part.evar),
        *having,
        *(condition.expr for condition in order),
    ]
    if keys is not None or any(map(has_aggregate, expressions)):
        group = Tree("Group", {"p": pattern, "expr": None if keys is None else tuple(keys)})
        pattern, projection, having, order = _aggregated(group, projection, having, order)
    pattern = _filtered(pattern, having, query)
    if query.values:
        pattern = _joined([pattern, _data(query.values)])
    for part in projection:
        if part.evar:
            fields = {"p": pattern, "expr": part.expr, "var": part.evar}
            pattern = Tree("Extend", fields, part.begin, part.end)
    if order:
        pattern = Tree("OrderBy", {"p": pattern, "expr": tuple(order)})
    if shown is None:
        shown = shown_by(query)
    pattern = Tree("Project", {"p": pattern, "PV": shown})
    if query.modifier or modifier:
        pattern = Tree("Reduced" if query.modifier == "REDUCED" else "Distinct", {"p": pattern})
    if query.limit is not None or query.offset is not None:
        fields = {"p": pattern, "start": 0 if query.offset is None else int(query.offset)}
        if query.limit is not None:
            fields["length"] = int(query.limit)
        pattern = Tree("Slice", fields)
    return pattern


def _aggregated(
    group: Tree, projection: list[Tree], having: list[Any], order: list[Tree]
) -> tuple[Tree, list[Tree], list[Any], list[Tree]]:
    """Collect the aggregates of a group and replace them by variables.

    As in rdflib's algebra, a grouped variable becomes a SAMPLE aggregate.
    """
    aggregates: list[Tree] = []

    def of_group(part: Any) -> Any:
        if isinstance(part, Variable):
            part = Tree("Aggregate_Sample", {"vars": part})
        if not isinstance(part, Tree) or not part.name.startswith("Aggregate_"):
            return None
        result = Variable(f"{AGGREGATE}{len(aggregates) + 1}")
        aggregates.append(part.changed(res=result))
        return result

    assigned: list[Tree] = []
    known: set[Variable] = set()
    for part in projection:
        if part.evar:
            # a name assigned earlier in SELECT is not a variable of the group
            expr = replace(part.expr, lambda each: each if each in known else of_group(each))
            assigned.append(part.changed(expr=expr))
            known.add(part.evar)
        else:
            assigned.append(part)
    having = [replace(condition, of_group) for condition in having]
    if any(has_aggregate(condition.expr) for condition in order):
        order = [condition.changed(expr=replace(condition.expr, of_group)) for condition in order]
    aliases = []
    for part in projection:
        if part.var:
            result = of_group(part.var)
            aliases.append((result, part.var))
    made = Tree("AggregateJoin", {"A": tuple(aggregates), "p": group})
    for result, variable in aliases:
        made = Tree("Extend", {"p": made, "expr": result, "var": variable})
    return made, assigned, having, order


def shown_by(query: Tree) -> tuple[Variable, ...]:
    """Return the projected variables of a SELECT; for `*`, those in scope in text order (18.2.1)."""
    if query.projection is not None:
        return tuple(part.var or part.evar for part in query.projection)
    parts = (query.where, query.values)
    shown = set(_named(parts))
    return tuple(
        leaf for leaf in dict.fromkeys(leaves(parts)) if leaf in shown and isinstance(leaf, Variable)
    )


def _named(part: Any) -> Iterator[Variable]:
    if isinstance(part, Variable):
        yield part
    elif isinstance(part, Tree):
        if part.name == "Bind":
            yield part.var
        elif part.name == "SubSelect":
            yield from shown_by(part)
        elif part.name not in ("Filter", "MinusGraphPattern"):
            for value in part.fields.values():
                yield from _named(value)
    elif isinstance(part, TripleTerm):
        yield from _named(part.parts)
    elif type(part) is tuple:
        for each in part:
            yield from _named(each)
