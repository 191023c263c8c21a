"""Strategies for random queries over a small vocabulary, and for the quads and commits they are tried on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
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

__all__ = ["GRAPHS", "QUADS", "TRIPLES", "Quad", "commits", "paths", "queries"]

EX = "urn:example:"
NODES = [URIRef(EX + name) for name in "abc"]
PREDICATES = [URIRef(EX + name) for name in "pq"]
LITERALS = [Literal(1), Literal(2), Literal("x")]
GRAPHS = [URIRef(EX + name) for name in "gh"]
VARIABLES = [Var(name) for name in "xyzw"]
ALIASES = [Var(name) for name in "uvxy"]

Quad = tuple[Any, Any, Any, Any]
SUBJECTS = st.sampled_from([NODES[0], NODES[0], NODES[1], NODES[1], NODES[2]])
OBJECTS = st.one_of(SUBJECTS, SUBJECTS, st.sampled_from(LITERALS))
LINKS = st.sampled_from(PREDICATES)
TRIPLES = st.tuples(SUBJECTS, LINKS, OBJECTS, st.none())
QUADS = st.tuples(SUBJECTS, LINKS, OBJECTS, st.sampled_from([None, None, *GRAPHS, *GRAPHS]))


@st.composite
def paths(draw: st.DrawFn, depth: int = 2) -> Path:
    """A path of any kind, nested."""
    kind = draw(st.sampled_from("liisaarrrn" if depth else "l"))
    if kind == "l":
        return draw(LINKS)
    if kind == "n":
        ahead = draw(st.lists(LINKS, max_size=1))
        back = draw(st.lists(LINKS, min_size=not ahead, max_size=1))
        return Negated(tuple(ahead), tuple(back))
    first = draw(paths(depth - 1))
    if kind == "i":
        return Inverse(first)
    if kind == "r":
        return Repeat(first, draw(st.sampled_from("?*+")))
    return (Sequence if kind == "s" else Alternative)(first, draw(paths(depth - 1)))


@dataclass
class _Maker:
    """Draws the parts of one query; `outer` are the variables that EXISTS brings in."""

    draw: Callable[[st.SearchStrategy[Any]], Any]
    graphs: bool
    budget: int = 9
    """How many more elements it may draw."""

    def one(self, *options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def chance(self, one_in: int) -> bool:
        return bool(self.draw(st.integers(1, one_in)) == one_in)

    def variable(self) -> Var:
        return self.one(*VARIABLES)

    def triple(self) -> Triple:
        subject = self.draw(SUBJECTS) if self.chance(6) else self.variable()
        target = self.draw(OBJECTS) if self.chance(6) else self.variable()
        kind = self.draw(st.integers(0, 9))
        predicate = self.draw(paths()) if kind < 3 else self.variable() if kind == 9 else self.draw(LINKS)
        return Triple(subject, predicate, target)

    def group(self, depth: int, outer: frozenset[Var] = frozenset(), *, least: int = 1) -> Group:
        """Some elements and filters; an alias is new to its group and to the solutions around it."""
        elements: list[Any] = []
        for _ in range(self.draw(st.integers(least, 3))):
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
        variables = tuple(
            self.draw(st.lists(st.sampled_from(VARIABLES), min_size=1, max_size=2, unique=True))
        )
        term = st.one_of(OBJECTS, OBJECTS, OBJECTS, st.none())
        rows = self.draw(st.lists(st.tuples(*[term] * len(variables)), min_size=0, max_size=3))
        return Values(variables, tuple(rows))

    def condition(self, seen: frozenset[Var], depth: int) -> Any:
        if depth and self.chance(3):
            return Exists(self.group(depth - 1, seen), self.draw(st.booleans()))
        test = self.test(seen)
        if depth and self.chance(8):
            return Apply(self.one("&&", "||"), (test, self.condition(seen, depth)))
        return test

    def test(self, seen: frozenset[Var]) -> Any:
        kind = self.draw(st.integers(0, 9))
        one = self.known(seen)
        if kind < 4:
            other = self.known(seen) if kind < 2 else self.draw(OBJECTS)
            return Apply(self.one("=", "!=", "<", ">="), (one, other))
        if kind == 4:
            return Apply(
                self.one("IN", "NOT IN"), (one, *self.draw(st.lists(OBJECTS, min_size=1, max_size=2)))
            )
        if kind == 5:
            return Apply("!", (Apply("BOUND", (one,)),))
        if kind == 6:
            return Apply(self.one("BOUND", "ISIRI"), (one,))
        if kind == 7:
            return Apply("SAMETERM", (one, self.known(seen)))
        return Apply(self.one("&&", "||"), (self.test(seen), self.test(seen))) if kind == 8 else one

    def known(self, seen: Iterable[Var]) -> Var:
        """A variable that is there, most of the time."""
        return self.variable() if not seen or self.chance(8) else self.one(*sorted(seen))

    def expression(self, seen: frozenset[Var], depth: int) -> Any:
        kind = self.draw(st.integers(0, 5)) if depth else 0
        if kind == 1:
            return self.draw(OBJECTS)
        if kind == 2:
            return Apply("+", (self.expression(seen, 0), Literal(1)))
        if kind == 3:
            return Apply("COALESCE", (self.expression(seen, 0), self.expression(seen, 0)))
        if kind == 4:
            return Apply("IF", (self.test(seen), self.expression(seen, 0), self.draw(OBJECTS)))
        if kind == 5:
            return Apply("STR", (self.expression(seen, 0),))
        return self.known(seen)

    def select(self, depth: int, outer: frozenset[Var] = frozenset(), *, top: bool = False) -> Select:
        where = self.group(depth, frozenset())
        seen = in_scope(where)
        free = [v for v in ALIASES if v not in seen | outer]
        if self.chance(3) and free:
            return self.grouped(where, seen, free)
        chosen = self.draw(
            st.lists(st.sampled_from(sorted(seen) or VARIABLES), min_size=1, max_size=3, unique=True)
        )
        items: list[Any] = list(chosen)
        if free and self.chance(5):
            items.append((self.expression(seen, 1), self.one(*free)))
        return self.modified(Select(tuple(items), where, self.chance(3)), seen)

    def grouped(self, where: Group, seen: frozenset[Var], free: list[Var]) -> Select:
        keys = None
        if seen and not self.chance(4):
            keys = tuple(
                self.draw(st.lists(st.sampled_from(sorted(seen)), min_size=1, max_size=2, unique=True))
            )
        items: list[Any] = [key for key in keys or () if not self.chance(4)]
        for alias in dict.fromkeys(free[: self.one(1, 1, 2)]):
            items.append((self.fold(seen), alias))
        having = Apply(self.one(">", "<", "!="), (self.fold(seen), Literal(1))) if self.chance(4) else None
        select = Select(tuple(items), where, self.chance(4), keys, having)
        return self.modified(select, frozenset(select.names))

    def fold(self, seen: frozenset[Var]) -> Fold:
        name = self.one("COUNT", "COUNT", "SUM", "MIN", "MAX", "SAMPLE", "AVG", "GROUP_CONCAT")
        if name == "COUNT" and self.chance(3):
            return Fold(name, None, self.chance(3))
        return Fold(name, self.expression(seen, 1) if self.chance(3) else self.known(seen), self.chance(3))

    def modified(self, select: Select, seen: frozenset[Var]) -> Select:
        """Perhaps with a total order of its rows, and then perhaps a slice of them."""
        if not self.chance(4):
            return select
        order = [(name, self.chance(2)) for name in self.draw(st.permutations(select.names))]
        if not select.distinct and not select.grouped and seen:
            order.insert(0, (self.known(seen), self.chance(2)))
        limit = self.one(None, 0, 1, 1, 2, 3)
        return Select(
            select.items, select.where, select.distinct, select.keys, select.having,
            tuple(order), limit, self.one(0, 0, 1, 2),
        )  # fmt: skip


@st.composite
def queries(draw: st.DrawFn, *, graphs: bool, depth: int = 3) -> Query:
    """A SELECT, or now and then an ASK; over a dataset also with GRAPH, FROM and FROM NAMED."""
    maker = _Maker(draw, graphs)
    select = maker.select(depth, top=True)
    default: tuple[URIRef, ...] = ()
    named: tuple[URIRef, ...] = ()
    if graphs and maker.chance(6):
        default = tuple(draw(st.lists(st.sampled_from(GRAPHS), max_size=2, unique=True)))
        named = tuple(draw(st.lists(st.sampled_from(GRAPHS), max_size=2, unique=True)))
    return Query(select, maker.chance(12), default, named)


def commits(quads: st.SearchStrategy[Quad]) -> st.SearchStrategy[list[list[tuple[int, Quad]]]]:
    """Commits of one write or of several."""
    write = st.tuples(st.sampled_from([1, 1, -1]), quads)
    return st.lists(
        st.one_of(st.tuples(write).map(list), st.lists(write, min_size=2, max_size=5)), max_size=6
    )
