"""The shapes that a validation uses, and the focus nodes that it validates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from rdflib import BNode, Literal, URIRef
from rdflib.term import Node

from rdflive.model.term_text import is_writable
from rdflive.shacl.shapes import FocusTarget, Shape, ShapesError
from rdflive.shacl.value_tests import spellings

__all__ = ["SelectedShapes", "read_terms"]


@dataclass(frozen=True, slots=True)
class SelectedShapes:
    """The shapes to use and the focus nodes to validate; None stands for all."""

    shapes: frozenset[Node] | None = None
    focus_nodes: tuple[Node, ...] | None = None

    def applied(self, shape: Shape) -> Shape:
        """Return a shape with its selected targets.

        If both shapes and focus nodes are selected, the shape applies to all selected focus nodes,
        independent of its targets. If only focus nodes are selected, it applies to those of its own focus
        nodes that are selected.
        """
        targets, only = shape.targets, None
        if self.focus_nodes is not None and self.shapes is not None:
            targets = tuple(FocusTarget("node", node) for node in self.focus_nodes)
        elif self.focus_nodes is not None:
            only = frozenset(chain.from_iterable(map(spellings, self.focus_nodes)))
            targets = tuple(each for each in targets if each.kind != "node" or each.value in only)
        # a shape without targets needs no constraints
        return replace(shape, targets=targets, only=only, constraints=shape.constraints if targets else ())


def read_terms(name: str, given: Iterable[Any] | None, prefixes: Mapping[str, str]) -> list[Node] | None:
    """Read a list argument: rdflib terms, or texts that are IRIs or `prefix:name`.

    >>> read_terms("use_shapes", ["ex:A", "urn:b"], {"ex": "http://example.org/"})
    [rdflib.term.URIRef('http://example.org/A'), rdflib.term.URIRef('urn:b')]
    """
    if given is None:
        return None
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise TypeError(f"{name} must be a list of IRIs, got {given!r:.100}")
    terms = [_read(name, each, prefixes) for each in given]
    if not terms:
        raise ValueError(f"{name} is an empty list; omit it to select all")
    return list(dict.fromkeys(terms))


def _read(name: str, given: Any, prefixes: Mapping[str, str]) -> Node:
    if isinstance(given, URIRef | BNode | Literal):
        return given
    if not isinstance(given, str):
        raise TypeError(f"{name} must list IRIs or terms of rdflib, got {given!r:.100}")
    prefix, colon, local = given.partition(":")
    if given.startswith("<") and given.endswith(">"):
        iri = given[1:-1]
    elif colon and prefix in prefixes and not local.startswith("//"):
        iri = prefixes[prefix] + local
    else:
        iri = given
    if ":" not in iri or not is_writable(iri):
        raise ShapesError(f"{name} lists {given!r:.100}, which is not an IRI")
    return URIRef(iri)
