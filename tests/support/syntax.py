"""The syntax of queries as values, whose `str` is SPARQL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeAlias

from rdflib import URIRef
from rdflib import Variable as Var

__all__ = [
    "Alternative", "Apply", "Bind", "Element", "Exists", "Fold", "Graph", "Group", "Inverse", "Minus",
    "Negated", "Optional", "Path", "Query", "Repeat", "Select", "Sequence", "Triple", "Union", "Values",
    "Var", "in_scope",
]  # fmt: skip


def write(term: Any) -> str:
    """Write a term, a variable or a part of a query."""
    return str(term.n3()) if hasattr(term, "n3") else str(term)


class Written:
    """A part whose `str` fills its fields into a template."""

    template: ClassVar[str]

    def __str__(self) -> str:
        parts: Any = self
        return self.template.format(**{part.name: write(getattr(self, part.name)) for part in fields(parts)})


@dataclass(frozen=True)
class Inverse(Written):
    template = "^({path})"
    path: Path


@dataclass(frozen=True)
class Sequence(Written):
    template = "({first}/{second})"
    first: Path
    second: Path


@dataclass(frozen=True)
class Alternative(Written):
    template = "({first}|{second})"
    first: Path
    second: Path


@dataclass(frozen=True)
class Repeat(Written):
    template = "({path}){mark}"
    path: Path
    mark: str


@dataclass(frozen=True)
class Negated:
    """A negated property set, forwards and backwards."""

    forward: tuple[URIRef, ...]
    backward: tuple[URIRef, ...] = ()

    def __str__(self) -> str:
        return f"!({'|'.join([*map(write, self.forward), *('^' + write(p) for p in self.backward)])})"


Path: TypeAlias = "URIRef | Inverse | Sequence | Alternative | Repeat | Negated"


@dataclass(frozen=True)
class Triple(Written):
    template = "{subject} {predicate} {object} ."
    subject: Any
    predicate: Any
    object: Any


@dataclass(frozen=True)
class Group:
    """The elements between two braces, with the filters among them."""

    elements: tuple[Element, ...] = ()
    filters: tuple[Any, ...] = ()

    def __str__(self) -> str:
        parts = [*map(str, self.elements), *(f"FILTER({write(f)})" for f in self.filters)]
        return "{ " + "".join(part + " " for part in parts) + "}"


@dataclass(frozen=True)
class Optional(Written):
    template = "OPTIONAL {group}"
    group: Group


@dataclass(frozen=True)
class Minus(Written):
    template = "MINUS {group}"
    group: Group


@dataclass(frozen=True)
class Union:
    branches: tuple[Group, ...]

    def __str__(self) -> str:
        return " UNION ".join(map(str, self.branches))


@dataclass(frozen=True)
class Graph(Written):
    template = "GRAPH {name} {group}"
    name: Any
    group: Group


@dataclass(frozen=True)
class Bind(Written):
    template = "BIND({expression} AS {variable})"
    expression: Any
    variable: Var


@dataclass(frozen=True)
class Values:
    variables: tuple[Var, ...]
    rows: tuple[tuple[Any, ...], ...]

    def __str__(self) -> str:
        rows = ("(" + " ".join("UNDEF" if t is None else write(t) for t in row) + ")" for row in self.rows)
        return f"VALUES ({' '.join(map(write, self.variables))}) {{ {' '.join(rows)} }}"


@dataclass(frozen=True)
class Select:
    """A SELECT query or subquery; `items` are variables, or pairs of an expression and a variable."""

    items: tuple[Any, ...]
    where: Group
    distinct: bool = False
    keys: tuple[Var, ...] | None = None
    having: Any = None
    order: tuple[tuple[Any, bool], ...] = ()
    limit: int | None = None
    offset: int = 0

    @property
    def names(self) -> tuple[Var, ...]:
        """The projected variables."""
        return tuple(item if isinstance(item, Var) else item[1] for item in self.items)

    @property
    def grouped(self) -> bool:
        """True for a query with GROUP BY, HAVING or an aggregate."""
        folds = (fold for item in self.items if not isinstance(item, Var) for fold in folds_in(item[0]))
        return self.keys is not None or self.having is not None or next(folds, None) is not None

    def text(self, dataset: str = "") -> str:
        """Write the SELECT with FROM clauses."""
        items = (write(i) if isinstance(i, Var) else f"({write(i[0])} AS {write(i[1])})" for i in self.items)
        parts = ["SELECT", "DISTINCT" * self.distinct, *items, dataset, "WHERE", str(self.where)]
        if self.keys:
            parts += ["GROUP BY", *map(write, self.keys)]
        if self.having is not None:
            parts.append(f"HAVING ({write(self.having)})")
        if self.order:
            parts += ["ORDER BY", *(f"{'DESC' if down else 'ASC'}({write(e)})" for e, down in self.order)]
        if self.limit is not None:
            parts.append(f"LIMIT {self.limit}")
        if self.offset:
            parts.append(f"OFFSET {self.offset}")
        return " ".join(filter(None, parts))

    def __str__(self) -> str:
        return f"{{ {self.text()} }}"


Element: TypeAlias = "Triple | Group | Optional | Minus | Union | Graph | Bind | Values | Select"


@dataclass(frozen=True)
class Apply:
    """An operator or a function applied to expressions."""

    name: str
    operands: tuple[Any, ...]

    def __str__(self) -> str:
        words = [write(operand) for operand in self.operands]
        if self.name in ("IN", "NOT IN"):
            return f"({words[0]} {self.name} ({', '.join(words[1:])}))"
        if self.name == "!":
            return f"(! {words[0]})"
        if self.name[0].isalpha():
            return f"{self.name}({', '.join(words)})"
        return f"({f' {self.name} '.join(words)})"


@dataclass(frozen=True)
class Exists:
    group: Group
    negated: bool = False

    def __str__(self) -> str:
        return f"{'NOT ' * self.negated}EXISTS {self.group}"


@dataclass(frozen=True)
class Fold:
    """An aggregate; without an expression it is COUNT(*)."""

    name: str
    expression: Any = None
    distinct: bool = False

    def __str__(self) -> str:
        inside = "*" if self.expression is None else write(self.expression)
        return f"{self.name}({'DISTINCT ' * self.distinct}{inside})"


@dataclass(frozen=True)
class Query:
    """A SELECT, ASK or CONSTRUCT query, with FROM and FROM NAMED."""

    select: Select
    ask: bool = False
    default: tuple[URIRef, ...] = ()
    named: tuple[URIRef, ...] = ()
    template: tuple[Triple, ...] = ()
    """The template of CONSTRUCT."""

    def __str__(self) -> str:
        clauses = [f"FROM {write(g)}" for g in self.default] + [f"FROM NAMED {write(g)}" for g in self.named]
        if self.ask:
            return " ".join(["ASK", *clauses, str(self.select.where)])
        if self.template:
            template = Group(self.template)
            return " ".join(["CONSTRUCT", str(template), *clauses, "WHERE", str(Group((self.select,)))])
        return self.select.text(" ".join(clauses))


def folds_in(expression: Any) -> Iterator[Fold]:
    """Yield the aggregates of an expression."""
    if isinstance(expression, Fold):
        yield expression
    elif isinstance(expression, Apply):
        for operand in expression.operands:
            yield from folds_in(operand)


def in_scope(part: Any) -> frozenset[Var]:
    """Return the variables in scope of a group or an element (SPARQL 1.1, section 18.2.1)."""
    if isinstance(part, Triple):
        terms = (part.subject, part.predicate, part.object)
        return frozenset(term for term in terms if isinstance(term, Var))
    if isinstance(part, Group):
        return frozenset().union(*map(in_scope, part.elements))
    if isinstance(part, Union):
        return frozenset().union(*map(in_scope, part.branches))
    if isinstance(part, Optional):
        return in_scope(part.group)
    if isinstance(part, Graph):
        return in_scope(part.group) | ({part.name} if isinstance(part.name, Var) else set())
    if isinstance(part, Bind):
        return frozenset([part.variable])
    if isinstance(part, Values):
        return frozenset(part.variables)
    return frozenset(part.names) if isinstance(part, Select) else frozenset()
