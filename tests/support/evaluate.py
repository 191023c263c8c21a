"""A reference evaluation of SPARQL queries over all quads, by the text of SPARQL 1.1, section 18.

It has no indexes and no rewriting, so data must be small. Inside EXISTS every group begins with the outer
solution, which filters and OPTIONALs therefore see (substitution). A subquery does not see it. MINUS
compares the variables that both of its sides mention.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import product
from typing import Any, TypeAlias

from rdflib import XSD, Literal, URIRef

from rdflive.query.ordering import descending, term_key
from rdflive.values import compare, effective_boolean, number
from support import syntax
from support.syntax import Var, in_scope

__all__ = ["Data", "answer"]

Quad: TypeAlias = tuple[Any, Any, Any, Any]
Row: TypeAlias = dict[Var, Any]


@dataclass(frozen=True)
class Data:
    """The quads that a query sees: None names the default graph."""

    triples: frozenset[tuple[Any, Any, Any]]
    """The active graph."""
    named: dict[Any, frozenset[tuple[Any, Any, Any]]] = field(default_factory=dict)
    known: Row = field(default_factory=dict)
    """The outer solution, inside EXISTS."""

    @classmethod
    def of(cls, quads: Iterable[Quad], query: syntax.Query, *, union: bool) -> Data:
        """Choose the graphs: those of the FROM clauses, or the store's own."""
        graphs: dict[Any, set[Any]] = {}
        for *triple, name in quads:
            graphs.setdefault(name, set()).add(tuple(triple))
        merged = query.default if query.default or query.named else (graphs if union else (None,))
        default = frozenset().union(*(graphs.get(name, ()) for name in merged))
        chosen = query.named if query.default or query.named else [name for name in graphs if name]
        return cls(default, {name: frozenset(graphs[name]) for name in chosen if name in graphs})


def answer(query: syntax.Query, quads: Iterable[Quad], *, union: bool = False) -> list[Row] | bool:
    """Evaluate a query: the solutions in order, the answer of ASK, or triples as rows of ?s, ?p and ?o."""
    data = Data.of(quads, query, union=union)
    if query.ask:
        return bool(list(_group(query.select.where, data)))
    rows = select(query.select, data)
    return list(_constructed(query.template, rows)) if query.template else rows


def _constructed(template: tuple[syntax.Triple, ...], rows: list[Row]) -> Iterator[Row]:
    """Instantiate the template with the solutions, without ill-formed triples (16.2)."""
    triples = {}
    for row, triple in product(rows, template):
        parts = (triple.subject, triple.predicate, triple.object)
        terms = tuple(row.get(part) if isinstance(part, Var) else part for part in parts)
        if None not in terms and not isinstance(terms[0], Literal) and isinstance(terms[1], URIRef):
            triples[terms] = None
    return (dict(zip(map(Var, "spo"), terms, strict=True)) for terms in triples)


def select(query: syntax.Select, data: Data) -> list[Row]:
    """Evaluate a SELECT (18.2.4 and 18.2.5)."""
    rows = _group(query.where, data)
    if query.grouped:
        rows = _grouped(query, rows, data)
    for item in query.items:
        if not isinstance(item, Var):
            rows = [_bound(row, item[1], _value(item[0], row, data)) for row in rows]
    for expression, down in reversed(query.order):
        rows.sort(key=lambda row: _key(_value(expression, row, data), down=down))
    rows = [{v: row[v] for v in query.names if v in row} for row in rows]
    if query.distinct:
        rows = [dict(row) for row in dict.fromkeys(tuple(row.items()) for row in rows)]
    return rows[query.offset :][: query.limit]


def _key(term: Any, *, down: bool) -> Any:
    return descending(term_key(term)) if down else term_key(term)


def _grouped(query: syntax.Select, rows: list[Row], data: Data) -> list[Row]:
    keys = query.keys or ()
    groups: dict[Any, list[Row]] = {} if keys else {(): []}
    for row in rows:
        groups.setdefault(tuple(row.get(key) for key in keys), []).append(row)
    found = []
    for values, members in groups.items():
        row = {key: value for key, value in zip(keys, values, strict=True) if value is not None}
        row[_MEMBERS] = members
        if query.having is None or _truth(query.having, row, data):
            found.append(row)
    return found


_MEMBERS = Var("members of the group")


def _group(group: syntax.Group, data: Data) -> list[Row]:
    """Evaluate a group, its filters last (18.2.2)."""
    rows = _elements(group, data)
    return [row for row in rows if all(_truth(test, row, data) for test in group.filters)]


def _elements(group: syntax.Group, data: Data) -> list[Row]:
    rows = [dict(data.known)]
    seen: frozenset[Var] = frozenset()
    for element in group.elements:
        if isinstance(element, syntax.Bind):
            rows = [_bound(row, element.variable, _value(element.expression, row, data)) for row in rows]
        elif isinstance(element, syntax.Optional):
            rows = list(_left_join(rows, element.group, data))
        elif isinstance(element, syntax.Minus):
            common = seen & in_scope(element.group)
            gone = _group(element.group, data)
            rows = [row for row in rows if not any(_removes(other, row, common) for other in gone)]
        else:
            rows = _join(rows, _element(element, data))
        seen |= in_scope(element)
    return rows


def _removes(other: Row, row: Row, common: frozenset[Var]) -> bool:
    return _merge(row, other) is not None and any(v in row and v in other for v in common)


def _left_join(rows: list[Row], group: syntax.Group, data: Data) -> Iterator[Row]:
    """Join the optional group, whose filters see the extended solution."""
    right = _elements(group, data)
    for row in rows:
        merged = [both for other in right if (both := _merge(row, other)) is not None]
        kept = [both for both in merged if all(_truth(test, both, data) for test in group.filters)]
        yield from kept or [row]


def _element(element: syntax.Element, data: Data) -> list[Row]:
    if isinstance(element, syntax.Triple):
        return _triple(element, data)
    if isinstance(element, syntax.Group):
        return _group(element, data)
    if isinstance(element, syntax.Union):
        return [row for branch in element.branches for row in _group(branch, data)]
    if isinstance(element, syntax.Graph):
        return _graph(element, data)
    if isinstance(element, syntax.Select):
        return select(element, replace(data, known={}))
    assert isinstance(element, syntax.Values)
    pairs = [zip(element.variables, row, strict=True) for row in element.rows]
    return [{v: term for v, term in row if term is not None} for row in pairs]


def _graph(element: syntax.Graph, data: Data) -> list[Row]:
    """Evaluate GRAPH; a graph that does not exist has no solutions."""
    if not isinstance(element.name, Var):
        triples = data.named.get(element.name)
        return [] if triples is None else _group(element.group, replace(data, triples=triples))
    rows = []
    for name, triples in data.named.items():
        rows += _join(_group(element.group, replace(data, triples=triples)), [{element.name: name}])
    return rows


def _triple(triple: syntax.Triple, data: Data) -> list[Row]:
    path = triple.predicate
    if isinstance(path, URIRef | Var):
        patterns = ((triple.subject, path, triple.object),)
        found: Iterable[Any] = [(terms, patterns[0]) for terms in data.triples]
    else:
        pairs = _pairs(path, data.triples, triple.subject, triple.object)
        found = [(pair, (triple.subject, triple.object)) for pair in pairs.elements()]
    return [row for terms, pattern in found if (row := _match(pattern, terms)) is not None]


def _match(pattern: tuple[Any, ...], terms: tuple[Any, ...]) -> Row | None:
    row: Row = {}
    for part, term in zip(pattern, terms, strict=True):
        if (row.setdefault(part, term) if isinstance(part, Var) else part) != term:
            return None
    return row


def _pairs(path: Any, triples: frozenset[Any], start: Any, end: Any) -> Counter[tuple[Any, Any]]:
    """Return the ends of a path with their multiplicity; a constant end also ends the zero-length path."""
    near, far = (set() if isinstance(term, Var) else {term} for term in (start, end))
    return _ends(path, triples, near, far)


def _ends(path: Any, triples: frozenset[Any], near: set[Any], far: set[Any]) -> Counter[tuple[Any, Any]]:
    """Evaluate a path (18.4); the node between the steps of a sequence is a variable (18.2.2.4)."""
    if isinstance(path, URIRef):
        return Counter((s, o) for s, p, o in triples if p == path)
    if isinstance(path, syntax.Inverse):
        return Counter({(b, a): n for (a, b), n in _ends(path.path, triples, far, near).items()})
    if isinstance(path, syntax.Alternative):
        return _ends(path.first, triples, near, far) + _ends(path.second, triples, near, far)
    if isinstance(path, syntax.Negated):
        ahead = [(s, o) for s, p, o in triples if path.forward and p not in path.forward]
        back = [(o, s) for s, p, o in triples if path.backward and p not in path.backward]
        return Counter(ahead + back)
    if isinstance(path, syntax.Sequence):
        found: Counter[tuple[Any, Any]] = Counter()
        for (a, b), n in _ends(path.first, triples, near, set()).items():
            for (c, d), m in _ends(path.second, triples, set(), far).items():
                found[a, d] += n * m * (b == c)
        return +found
    nodes = {term for s, _, o in triples for term in (s, o)} | near | far
    return Counter(_repeated(path.mark, _ends(path.path, triples, near, far), nodes))


def _repeated(mark: str, steps: Iterable[tuple[Any, Any]], nodes: set[Any]) -> set[tuple[Any, Any]]:
    found = set(steps)
    while mark != "?":
        longer = found | {(a, d) for a, b in found for c, d in found if b == c}
        if longer == found:
            break
        found = longer
    return found if mark == "+" else found | {(node, node) for node in nodes}


def _join(left: list[Row], right: list[Row]) -> list[Row]:
    return [merged for one in left for other in right if (merged := _merge(one, other)) is not None]


def _merge(one: Row, other: Row) -> Row | None:
    return {**one, **other} if all(one.get(v, term) == term for v, term in other.items()) else None


def _bound(row: Row, variable: Var, value: Any) -> Row:
    return row if value is None else {**row, variable: value}


def _truth(test: Any, row: Row, data: Data) -> bool:
    value = _value(test, row, data)
    return value is not None and effective_boolean(value) is True


def _value(expression: Any, row: Row, data: Data) -> Any:
    """Return the term of an expression, or None for an error."""
    if isinstance(expression, syntax.Fold):
        return _fold(expression, row[_MEMBERS], data)
    if isinstance(expression, syntax.Exists):
        known = {v: term for v, term in row.items() if v != _MEMBERS}
        found = _group(expression.group, replace(data, known=known))
        return Literal(any(_merge(row, one) is not None for one in found) is not expression.negated)
    if not isinstance(expression, syntax.Apply):
        return row.get(expression) if isinstance(expression, Var) else expression
    if expression.name == "BOUND":
        return Literal(expression.operands[0] in row)
    return _FORMS[expression.name](*(_value(operand, row, data) for operand in expression.operands))


def _boolean(value: Any) -> Any:
    return None if value is None else Literal(value)


def _three(value: Any) -> bool | None:
    return None if value is None else effective_boolean(value)


def _and(*values: Any) -> Any:
    truths = set(map(_three, values))
    return Literal(False) if False in truths else None if None in truths else Literal(True)


def _or(*values: Any) -> Any:
    truths = set(map(_three, values))
    return Literal(True) if True in truths else None if None in truths else Literal(False)


def _not(value: Any) -> Any:
    truth = _three(value)
    return None if truth is None else Literal(not truth)


def _if(test: Any, then: Any, other: Any) -> Any:
    truth = _three(test)
    return None if truth is None else then if truth else other


def _in(value: Any, *terms: Any) -> Any:
    return _or(*(_compare("=")(value, term) for term in terms))


def _compare(sign: str) -> Callable[[Any, Any], Any]:
    def compared(one: Any, other: Any) -> Any:
        return None if one is None or other is None else _boolean(compare(sign, one, other))

    return compared


def _plus(one: Any, other: Any) -> Any:
    left, right = (None if term is None else number(term) for term in (one, other))
    return None if left is None or right is None else Literal(left + right)


_FORMS: dict[str, Callable[..., Any]] = {
    **{sign: _compare(sign) for sign in ("=", "!=", "<", ">", "<=", ">=")},
    "&&": _and,
    "||": _or,
    "!": _not,
    "+": _plus,
    "IN": _in,
    "NOT IN": lambda *terms: _not(_in(*terms)),
    "IF": _if,
    "COALESCE": lambda *values: next((value for value in values if value is not None), None),
    "STR": lambda term: None if term is None else Literal(str(term)),
    "ISIRI": lambda term: None if term is None else Literal(isinstance(term, URIRef)),
    "SAMETERM": lambda one, other: None if one is None or other is None else Literal(one == other),
}


def _fold(fold: syntax.Fold, rows: list[Row], data: Data) -> Any:
    """Evaluate an aggregate over the rows of a group (18.5.1)."""
    if fold.expression is None:
        return Literal(len({frozenset(row.items()) for row in rows}) if fold.distinct else len(rows))
    values = [_value(fold.expression, row, data) for row in rows]
    if fold.distinct:
        values = list(dict.fromkeys(values))
    bound = [value for value in values if value is not None]
    if fold.name == "COUNT":
        return Literal(len(bound))
    if fold.name == "SAMPLE":
        return min(bound, key=term_key, default=None)
    if len(bound) < len(values):
        return None
    if fold.name in ("MIN", "MAX"):
        return (min if fold.name == "MIN" else max)(values, key=term_key, default=None)
    if fold.name == "GROUP_CONCAT":
        return Literal(" ".join(map(str, sorted(values, key=term_key))))
    numbers = [number(value) for value in values]
    if None in numbers:
        return None
    total = sum(numbers)  # type: ignore[arg-type]  # no None among them
    if fold.name == "SUM":
        return Literal(total)
    return Literal(Decimal(total) / len(numbers), datatype=XSD.decimal) if numbers else Literal(0)
