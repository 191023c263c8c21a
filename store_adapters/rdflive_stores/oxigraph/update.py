"""SPARQL updates for an Oxigraph store.

An update is parsed once. Its syntax tree gives the patterns and the graphs that it can change. The store runs
the tree written as text, so it executes exactly the analysed update.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache, cached_property
from typing import Any, Final, TypeAlias

from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Store, Triple
from rdflib.term import BNode, URIRef, Variable

from rdflive.errors import QuerySyntaxError
from rdflive.model import TripleTerm
from rdflive.store import WriteRefusedError
from rdflive.syntax.prefixes import usual_prefixes
from rdflive.syntax.reader import read_update
from rdflive.syntax.tree import Tree, rewritten, walk
from rdflive.syntax.writing import write
from rdflive_stores.oxigraph.terms import to_native

__all__ = ["ANYTHING", "Pattern", "Request"]

Pattern: TypeAlias = tuple[
    NamedNode | BlankNode | None,
    NamedNode | None,
    NamedNode | BlankNode | Literal | Triple | None,
    NamedNode | BlankNode | DefaultGraph | None,
]
"""Subject, predicate, object and graph; None matches anything."""

ANYTHING: Final[Pattern] = (None, None, None, None)

_DEFAULT: Final = DefaultGraph()
_STOP: Final = NamedNode("urn:x-rdflive:stop")
_FAIL: Final = f"CREATE GRAPH {_STOP} ;\n"
"""Fails if the graph exists, after the whole request is parsed."""


class Request:
    """Updates that run one after the other, each as a request of its own.

    `options` are those of `Store.update`. An update that rdflive cannot parse may have a clause that only
    Oxigraph knows, such as LATERAL. It counts as changing any quad of any graph, and runs unchanged.

    >>> request = Request(["DELETE WHERE { <http://e/IC5> ?p ?o } # all"])
    >>> request.patterns
    [(<NamedNode value=http://e/IC5>, None, None, <DefaultGraph>)]
    >>> request.texts
    ['DELETE WHERE { <http://e/IC5> ?p ?o . }']
    """

    def __init__(self, updates: Sequence[str], **options: Any) -> None:
        self.updates = updates
        self._given = options

    @property
    def patterns(self) -> list[Pattern]:
        """Patterns that cover all quads that the updates can insert or delete; raises like `texts`."""
        trees = [tree for tree, _ in self._read]
        operations = (each for tree in trees if tree is not None for each in tree.request or ())
        patterns = dict.fromkeys(pattern for each in operations for pattern in _touched(each))
        return [ANYTHING] if None in trees or ANYTHING in patterns else list(patterns)

    @property
    def graphs(self) -> set[NamedNode | DefaultGraph | None]:
        """The graphs that the updates name; None if they may mean several. Raises like `texts`."""
        return {name for tree, _ in self._read for name in ([None] if tree is None else _named(tree))}

    @property
    def texts(self) -> list[str]:
        """The text to run for each update, without prologue and with labels of its own.

        Raises the store's error for an update that it cannot parse.
        """
        return [written for _, written in self._read]

    @property
    def options(self) -> dict[str, Any]:
        """The options for `texts`, with the base that an update declares, for IRI().

        Raises WriteRefusedError for several bases, and raises like `texts`.
        """
        bases = {tree.base for tree, _ in self._read if tree is not None and _resolves(tree)}
        if len(bases) > 1:
            raise WriteRefusedError(
                f"IRI() would need several bases in one request of Oxigraph: {', '.join(sorted(bases))}"
            )
        return {**self._given, "base_iri": bases.pop() or None} if bases else self._given

    @cached_property
    def _read(self) -> list[tuple[Tree | None, str]]:
        """The syntax tree of each update, and its text to run."""
        return [self._read_one(text, number) for number, text in enumerate(self.updates)]

    def _read_one(self, text: str, number: int) -> tuple[Tree | None, str]:
        given = self._given
        # Oxigraph has no built-in prefixes
        prefixes = dict.fromkeys(usual_prefixes())
        # the store raises its own errors below
        with suppress(QuerySyntaxError, SyntaxError, TypeError):
            prefixes.update(given.get("prefixes") or {})
            tree = read_update(text, prefixes, base=given.get("base_iri") or "")
            # Oxigraph accepts one prologue per request, see `options`
            written = write((tree if len(self.updates) == 1 else _labelled(tree, number)).changed(base=""))
            try:
                _stopped().update(_FAIL + written, **given)
            except RuntimeError:  # the whole request was parsed, and its first operation failed
                return tree, written
        # it must be a valid request alone
        with suppress(RuntimeError, OSError):
            Store().update(text, **given)
        return None, text


def _touched(operation: Tree) -> Iterator[Pattern]:
    """List patterns that cover the quads an operation can change; extra patterns only cost time."""
    for quads in (operation.quads, operation.delete, operation.insert):
        for part in () if quads is None else quads.part or ():
            is_named = part.name == "GraphQuads"
            block, name = (part.part, part.term) if is_named else (part, operation.withClause)
            for s, p, o in () if block is None else block.triples:
                yield _constant(s), _constant(p), _constant(o), _graph(name)
    # not Create: its graph is empty
    if operation.name in ("Load", "Clear", "Drop"):
        yield None, None, None, _graph(operation.graphiri)
    elif operation.graph is not None:
        source, target = operation.graph
        for name in (source, target) if operation.name == "Move" else (target,):
            yield None, None, None, _graph(name)


def _named(tree: Tree) -> Iterator[NamedNode | DefaultGraph | None]:
    for node in walk(tree):
        is_transfer = node.name in ("Add", "Move", "Copy")
        names = (node.term, node.graphiri, node.withClause, node.default, node.named)
        yield from (_graph(name) for name in (node.graph if is_transfer else names) if name is not None)


def _constant(term: Any) -> Any:
    """Return the store's term; None for a placeholder, or for a term that the store may refuse."""
    with suppress(ValueError):
        return None if isinstance(term, BNode | Variable | TripleTerm) else to_native(term)


def _graph(name: Any) -> NamedNode | DefaultGraph | None:
    """Return the graph that an operation names; None for several."""
    if name is None or name == "DEFAULT":
        return _DEFAULT
    return _constant(name) if isinstance(name, URIRef) else None


def _labelled(tree: Tree, number: int) -> Tree:
    """Relabel blank nodes uniquely per update, because a request cannot use a label in two data blocks."""

    def labelled(part: Any) -> Any:
        if isinstance(part, TripleTerm):
            return TripleTerm(*(rewritten(term, labelled) for term in part.parts))
        return BNode(f"u{number}.{part}") if isinstance(part, BNode) else None

    made: Tree = rewritten(tree, labelled)
    return made


def _resolves(tree: Tree) -> bool:
    return any(node.name in ("Builtin_IRI", "Builtin_URI") for node in walk(tree))


@cache
def _stopped() -> Store:
    """Return a store without quads in which `_FAIL` fails."""
    store = Store()
    store.add_graph(_STOP)
    return store
