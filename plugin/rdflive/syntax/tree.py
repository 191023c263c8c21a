"""Immutable trees of queries, and operations on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from rdflib.paths import Path

from rdflive.model import TripleTerm

__all__ = ["EXISTS", "Place", "Tree", "leaves", "place_of", "replace", "rewritten", "too_deep", "walk"]

_DEEPEST: Final = 300
EXISTS: Final = frozenset({"Builtin_EXISTS", "Builtin_NOTEXISTS"})


class Place(NamedTuple):
    """A position in a text: `line` and `column` count from 1, `begin` and `end` are offsets from 0."""

    line: int
    column: int
    begin: int
    end: int


class Tree:
    """A part of a query, of an update or of their algebra; immutable.

    Its `name` is a production of SPARQL's grammar or an operator of SPARQL's algebra. Its fields are
    attributes: nodes, rdflib terms, strings, or tuples of these; a missing field is None. `begin` and `end`
    are offsets in the text; equality ignores them.

    >>> node = Tree("UnaryNot", {"expr": 1})
    >>> node.expr, node.other, node == Tree("UnaryNot", {"expr": 1}, 5, 7)
    (1, None, True)
    """

    __slots__ = ("begin", "end", "fields", "name")

    name: str
    fields: dict[str, Any]
    begin: int
    end: int

    def __init__(self, name: str, fields: dict[str, Any], begin: int = 0, end: int = 0) -> None:
        _set_name(self, name)
        _set_fields(self, fields)
        _set_begin(self, begin)
        _set_end(self, end)

    def __getattr__(self, field: str) -> Any:
        # copying and pickling look up methods that a node does not have
        if field[:2] == "__":
            raise AttributeError(field)
        return self.fields.get(field)

    def __setattr__(self, field: str, value: object) -> None:
        raise AttributeError(f"a node cannot be changed: {field}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tree) and self.name == other.name and self.fields == other.fields

    def __hash__(self) -> int:
        return hash((self.name, *self.fields.items()))

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{key}={value!r}' for key, value in self.fields.items())})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Tree, (self.name, self.fields, self.begin, self.end)

    def changed(self, **fields: Any) -> Tree:
        """Return a copy of the node with other values of some fields."""
        return Tree(self.name, {**self.fields, **fields}, self.begin, self.end)


_set_name = Tree.__dict__["name"].__set__
_set_fields = Tree.__dict__["fields"].__set__
_set_begin = Tree.__dict__["begin"].__set__
_set_end = Tree.__dict__["end"].__set__


def place_of(text: str, begin: int, end: int | None = None) -> Place:
    """Return the position of an offset, or of a range, in a text.

    >>> place_of("ASK {\\n  ?s }", 8, 10)
    Place(line=2, column=3, begin=8, end=10)
    """
    return Place(
        text.count("\n", 0, begin) + 1,
        begin - text.rfind("\n", 0, begin),
        begin,
        begin if end is None else end,
    )


def walk(tree: Any) -> Iterator[Tree]:
    """Yield a node and all nodes in it in text order, without recursion.

    >>> inner = Tree("UnaryMinus", {"expr": 1})
    >>> [node.name for node in walk(Tree("UnaryNot", {"expr": inner}))]
    ['UnaryNot', 'UnaryMinus']
    """
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Tree):
            yield part
            waiting.extend(reversed(part.fields.values()))
        elif type(part) is tuple or type(part) is list:
            waiting.extend(reversed(part))


def too_deep(tree: Tree) -> int | None:
    """Return the offset of a node that contains parts nested more than 300 deep; None if there are none.

    Beyond that depth, Oxigraph's parser can overflow its stack, which ends the process.
    """
    waiting: list[tuple[Any, int, int]] = [(tree, 0, 0)]
    while waiting:
        part, depth, begin = waiting.pop()
        if depth > _DEEPEST:
            return begin
        if isinstance(part, Tree):
            inside, begin = tuple(part.fields.values()), part.begin
        elif isinstance(part, Path):
            inside = tuple(vars(part).values())
        elif isinstance(part, TripleTerm):
            inside = part.parts
        elif type(part) is tuple or type(part) is list:
            waiting.extend((each, depth, begin) for each in reversed(part))
            continue
        else:
            continue
        waiting.extend((each, depth + 1, begin) for each in reversed(inside))
    return None


def leaves(tree: Any) -> Iterator[Any]:
    """Yield the terms and words of a tree in text order, including those of property paths."""
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Tree):
            waiting.extend(reversed(part.fields.values()))
        elif type(part) is tuple or type(part) is list:
            waiting.extend(reversed(part))
        elif isinstance(part, Path):
            waiting.extend(reversed(list(vars(part).values())))
        elif isinstance(part, TripleTerm):
            waiting.extend(reversed(part.parts))
        else:
            yield part


def rewritten(tree: Any, change: Callable[[Any], Any]) -> Any:
    """Copy a tree; replace each node or term by the result of `change`, unless that is None.

    >>> rewritten(Tree("UnaryNot", {"expr": 1}), lambda part: 2 if part == 1 else None).expr
    2
    """
    changed = change(tree)
    if changed is not None:
        return changed
    if isinstance(tree, Tree):
        return Tree(
            tree.name,
            {key: rewritten(part, change) for key, part in tree.fields.items()},
            tree.begin,
            tree.end,
        )
    return tuple(rewritten(part, change) for part in tree) if type(tree) is tuple else tree


def replace(expression: Any, change: Callable[[Any], Any]) -> Any:
    """Rewrite as `rewritten` does, but keep the patterns of EXISTS, which have their own variables."""

    def changed(part: Any) -> Any:
        found = change(part)
        return part if found is None and isinstance(part, Tree) and part.name in EXISTS else found

    return rewritten(expression, changed)
