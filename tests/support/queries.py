"""Random queries over a small vocabulary, and random quads and commits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import Any

from rdflib import Literal, URIRef

from support.syntax import (
    Alternative,
    Apply,
    Bind,
    Exists,
    Fold,
    Graph,
    Group,
    Inverse,
    Minus,
    Negated,
    Optional,
    Path,
    Query,
    Repeat,
    Select,
    Sequence,
    Triple,
    Union,
    Values,
    Var,
    in_scope,
)

__all__ = ["GRAPHS", "Quad", "make_commits", "make_quad", "make_query"]

EX = "urn:example:"
NODES = [URIRef(EX + name) for name in "abc"]
PREDICATES = [URIRef(EX + name) for name in "pq"]
LITERALS = [Literal(1), Literal(2), Literal("x")]
GRAPHS = [URIRef(EX + name) for name in "gh"]
VARIABLES = [Var(name) for name in "xyzw"]
ALIASES = [Var(name) for name in "uvxy"]

Quad = tuple[Any, Any, Any, Any]
SUBJECTS = [NODES[0], NODES[0], NODES[1], NODES[1], NODES[2]]
OBJECTS = [*SUBJECTS, *SUBJECTS, *LITERALS]
WHERE = [None, None, *GRAPHS, *GRAPHS]


@dataclass
class _Maker:
    """Makes the parts of one query; `outer` are the variables bound outside of EXISTS."""

    random: Random
    graphs: bool
    budget: int = 9
    """Number of elements left to make."""

    def one(self, *options: Any) -> Any:
        return self.random.choice(options)

    def some(self, options: Iterable[Any], least: int, most: int) -> tuple[Any, ...]:
        """Draw a few of the options without repetition."""
        options = list(options)
        return tuple(self.random.sample(options, min(self.random.randint(least, most), len(options))))

    def chance(self, one_in: int) -> bool:
        return self.random.randrange(one_in) == 0

    def variable(self) -> Var:
        return self.one(*VARIABLES)

    def triple(self) -> Triple:
        subject = self.one(*SUBJECTS) if self.chance(6) else self.variable()
        target = self.one(*OBJECTS) if self.chance(6) else self.variable()
        kind = self.random.randrange(10)
        predicate = self.path() if kind < 3 else self.variable() if kind == 9 else self.one(*PREDICATES)
        return Triple(subject, predicate, target)

    def path(self, depth: int = 2) -> Path:
        """Draw a nested path of any kind."""
        kind = self.one(*"liisaarrrn" if depth else "l")
        if kind == "l":
            return self.one(*PREDICATES)
        if kind == "n":
            ahead = self.some(PREDICATES, 0, 1)
            return Negated(ahead, self.some(PREDICATES, not ahead, 1))
        first = self.path(depth - 1)
        if kind == "i":
            return Inverse(first)
        if kind == "r":
            return Repeat(first, self.one(*"?*+"))
        return (Sequence if kind == "s" else Alternative)(first, self.path(depth - 1))

    def group(self, depth: int, outer: frozenset[Var] = frozenset(), *, least: int = 1) -> Group:
        """Draw elements and filters; an alias is new to its group and to the outer solutions."""
        elements: list[Any] = []
        for _ in range(self.random.randint(least, 3)):
            if self.budget > 0:
                self.budget -= 1
                seen = frozenset().union(*map(in_scope, elements))
                elements.append(self.element(depth, seen, outer))
        seen = frozenset().union(*map(in_scope, elements))
        filters = [self.condition(seen | outer, depth) for _ in range(self.one(0, 0, 0, 1, 1, 2))]
        return Group(tuple(elements), tuple(filters))

    def element(self, depth: int, seen: frozenset[Var], outer: frozenset[Var]) -> Any:
        kinds = ["triple"] * 7 + ["values", "bind"]
        if depth:
            kinds += ["optional"] * 3 + ["union", "minus", "minus", "group", "select", "select"]
            kinds += ["graph"] * (4 * self.graphs)
        kind = self.one(*kinds)
        if kind == "bind":
            free = [v for v in ALIASES if v not in seen | outer]
            if free and self.chance(3):
                return Bind(self.one(*OBJECTS), self.one(*free))
            if free and seen | outer:
                return Bind(self.expression(seen | outer, 1), self.one(*free))
        if kind in ("triple", "bind"):
            return self.triple()
        if kind == "values":
            return self.values()
        if kind == "select":
            return self.select(depth - 1, outer)
        if kind == "optional":
            return Optional(self.group(depth - 1, outer | seen))
        if kind == "minus":
            return Minus(self.group(depth - 1, outer))
        if kind == "group":
            return self.group(depth - 1, outer, least=0)
        if kind == "union":
            return Union((self.group(depth - 1, outer, least=0), self.group(depth - 1, outer)))
        name = self.one(*GRAPHS) if self.chance(3) else self.variable()
        return Graph(name, self.group(depth - 1, outer))

    def values(self) -> Values:
        # VALUES of IRIs alone, also repeated, become filters of the patterns beside them
        if self.chance(2):
            return Values((self.variable(),), tuple((self.one(*SUBJECTS),) for _ in range(self.one(1, 1, 2))))
        variables = self.some(VARIABLES, 1, 2)
        rows = [
            tuple(self.one(*OBJECTS, *[None] * 4) for _ in variables) for _ in range(self.one(0, 1, 2, 3))
        ]
        return Values(variables, tuple(rows))

    def condition(self, seen: frozenset[Var], depth: int) -> Any:
        if depth and self.chance(3):
            return Exists(self.group(depth - 1, seen), self.chance(2))
        test = self.test(seen)
        if depth and self.chance(8):
            return Apply(self.one("&&", "||"), (test, self.condition(seen, depth)))
        return test

    def test(self, seen: frozenset[Var]) -> Any:
        kind = self.random.randrange(11)
        one = self.known(seen)
        if kind == 10:
            sides = one, self.one(*SUBJECTS)
            return Apply("=", sides[:: self.one(1, 1, -1)])
        if kind < 4:
            other = self.known(seen) if kind < 2 else self.one(*OBJECTS)
            return Apply(self.one("=", "!=", "<", ">="), (one, other))
        if kind == 4:
            return Apply(self.one("IN", "NOT IN"), (one, *self.some(OBJECTS, 1, 2)))
        if kind == 5:
            return Apply("!", (Apply("BOUND", (one,)),))
        if kind == 6:
            return Apply(self.one("BOUND", "ISIRI"), (one,))
        if kind == 7:
            return Apply("SAMETERM", (one, self.known(seen)))
        return Apply(self.one("&&", "||"), (self.test(seen), self.test(seen))) if kind == 8 else one

    def known(self, seen: Iterable[Var]) -> Var:
        """Draw a variable, mostly a bound one."""
        return self.variable() if not seen or self.chance(8) else self.one(*sorted(seen))

    def expression(self, seen: frozenset[Var], depth: int) -> Any:
        kind = self.random.randrange(6) if depth else 0
        if kind == 1:
            return self.one(*OBJECTS)
        if kind == 2:
            return Apply("+", (self.expression(seen, 0), Literal(1)))
        if kind == 3:
            return Apply("COALESCE", (self.expression(seen, 0), self.expression(seen, 0)))
        if kind == 4:
            return Apply("IF", (self.test(seen), self.expression(seen, 0), self.one(*OBJECTS)))
        if kind == 5:
            return Apply("STR", (self.expression(seen, 0),))
        return self.known(seen)

    def select(self, depth: int, outer: frozenset[Var] = frozenset()) -> Select:
        where = self.group(depth, frozenset())
        seen = in_scope(where)
        free = [v for v in ALIASES if v not in seen | outer]
        if self.chance(3) and free:
            return self.grouped(where, seen, free)
        items: list[Any] = list(self.some(sorted(seen) or VARIABLES, 1, 3))
        free = [v for v in free if v not in items]
        if free and self.chance(5):
            items.append((self.expression(seen, 1), self.one(*free)))
        return self.modified(Select(tuple(items), where, self.chance(3)), seen)

    def grouped(self, where: Group, seen: frozenset[Var], free: list[Var]) -> Select:
        keys = None
        if seen and not self.chance(4):
            keys = self.some(sorted(seen), 1, 2)
        items: list[Any] = [key for key in keys or () if not self.chance(4)]
        items += [(self.fold(seen), alias) for alias in dict.fromkeys(free[: self.one(1, 1, 2)])]
        having = Apply(self.one(">", "<", "!="), (self.fold(seen), Literal(1))) if self.chance(4) else None
        select = Select(tuple(items), where, self.chance(4), keys, having)
        return self.modified(select, frozenset(select.names))

    def fold(self, seen: frozenset[Var]) -> Fold:
        name = self.one("COUNT", "COUNT", "SUM", "MIN", "MAX", "SAMPLE", "AVG", "GROUP_CONCAT")
        if name == "COUNT" and self.chance(3):
            return Fold(name, None, self.chance(3))
        return Fold(name, self.expression(seen, 1) if self.chance(3) else self.known(seen), self.chance(3))

    def template(self, select: Select) -> tuple[Triple, ...]:
        ends = [*select.names, *select.names, *NODES]
        return tuple(
            Triple(self.one(*ends), self.one(*PREDICATES, *select.names), self.one(*ends))
            for _ in range(self.one(1, 2))
        )

    def modified(self, select: Select, seen: frozenset[Var]) -> Select:
        """Add a total order to some queries, and a slice to some of these."""
        if not self.chance(4):
            return select
        order = [(name, self.chance(2)) for name in self.some(select.names, 9, 9)]
        if not select.distinct and not select.grouped and seen:
            order.insert(0, (self.known(seen), self.chance(2)))
        limit = self.one(None, 0, 1, 1, 2, 3)
        return Select(
            select.items, select.where, select.distinct, select.keys, select.having,
            tuple(order), limit, self.one(0, 0, 1, 2),
        )  # fmt: skip


def make_query(random: Random, *, graphs: bool, depth: int = 3, construct: bool = False) -> Query:
    """Draw a SELECT, or sometimes an ASK; over a dataset also with GRAPH, FROM and FROM NAMED.

    With `construct` sometimes a CONSTRUCT.
    """
    maker = _Maker(random, graphs)
    select = maker.select(depth)
    chosen = graphs and maker.chance(6)
    default, named = (maker.some(GRAPHS, 0, 2 * chosen) for _ in range(2))
    if construct and maker.chance(8):
        return Query(select, False, default, named, maker.template(select))
    return Query(select, maker.chance(12), default, named)


def make_quad(random: Random, *, graphs: bool) -> Quad:
    """Draw a quad of the vocabulary; None is the default graph."""
    triple = random.choice(SUBJECTS), random.choice(PREDICATES), random.choice(OBJECTS)
    return (*triple, random.choice(WHERE) if graphs else None)


def make_commits(random: Random, *, graphs: bool) -> list[list[tuple[int, Quad]]]:
    """Draw commits of one or more writes."""
    sizes = [random.choice((1, 1, 2, 5)) for _ in range(random.randint(1, 6))]
    return [[(random.choice((1, 1, -1)), make_quad(random, graphs=graphs)) for _ in range(n)] for n in sizes]
