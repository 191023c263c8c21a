"""The base of all operators of the algebra: a node with columns, and its inputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias

from rdflive.query.algebra.conditions import Condition
from rdflive.query.bgp import Variable

__all__ = ["Binary", "Columns", "Node", "Unary", "ordered", "reads", "topological", "with_inputs"]

Columns: TypeAlias = tuple[Variable, ...]


def ordered(columns: Iterable[Variable]) -> Columns:
    """Drop repeated columns and keep the order."""
    return tuple(dict.fromkeys(columns))


@dataclass(frozen=True, eq=False)
class Node:
    """One operator of a query, with its inputs."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The nodes whose rows it reads."""
        return ()

    @property
    def columns(self) -> Columns:
        """The columns of its rows."""
        raise NotImplementedError

    @property
    def certain(self) -> frozenset[Variable]:
        """The columns that are compared exactly."""
        raise NotImplementedError

    @property
    def expressions(self) -> tuple[Condition, ...]:
        """The conditions and expressions that it evaluates on rows of its inputs."""
        return ()

    def needs(self, wanted: frozenset[Variable]) -> tuple[frozenset[Variable], ...]:
        """Return, per input, the columns that this node needs to compute the wanted ones."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Unary(Node):
    """A node with one input, which keeps its columns unless overridden."""

    input: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def columns(self) -> Columns:
        return self.input.columns

    @property
    def certain(self) -> frozenset[Variable]:
        return self.input.certain


@dataclass(frozen=True, eq=False)
class Binary(Node):
    """A node with two inputs, compared by the columns that both have."""

    left: Node
    right: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    @property
    def shared(self) -> Columns:
        """The columns that both inputs have."""
        return tuple(v for v in self.left.columns if v in self.right.columns)

    @property
    def keys(self) -> Columns:
        """The shared columns that are certain in both inputs."""
        return tuple(v for v in self.shared if v in self.left.certain and v in self.right.certain)

    def both(self, wanted: frozenset[Variable]) -> tuple[frozenset[Variable], ...]:
        """Return the wanted columns of both inputs, with those that they share."""
        # shared columns are compared, whether or not a node above wants them
        wanted = wanted.union(self.shared)
        return wanted.intersection(self.left.columns), wanted.intersection(self.right.columns)


def reads(condition: Condition | None, columns: Columns) -> frozenset[Variable]:
    """Return those of the columns that a condition or an expression reads."""
    names = condition.variables if condition is not None else ()
    # a blank node of the query may have the name of a variable: of `_:b0` and ?b0 an expression means ?b0
    return frozenset(v for v in columns if v.readable and v.name in names)


def topological(root: Node) -> list[Node]:
    """List every node once, inputs first."""
    seen: dict[Node, None] = {}

    def visit(node: Node) -> Iterator[Node]:
        for below in node.inputs:
            if below not in seen:
                yield from visit(below)
        seen[node] = None
        yield node

    return list(dict.fromkeys(visit(root)))


def with_inputs(node: Node, made: Mapping[Node, Node]) -> Node:
    """Return a copy of a node whose inputs are replaced as `made` maps them."""
    changed: dict[str, Any] = {}
    for field in fields(node):
        value = getattr(node, field.name)
        if isinstance(value, Node):
            changed[field.name] = made[value]
        elif isinstance(value, tuple) and value and all(isinstance(part, Node) for part in value):
            changed[field.name] = tuple(made[part] for part in value)
    # a node without changes below stays, as others may read it
    return replace(node, **changed) if any(changed[n] != getattr(node, n) for n in changed) else node
