"""Reads and checks the values of properties in a shapes graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from rdflib import RDF, XSD, Graph, Literal, URIRef
from rdflib.term import Node

from rdflive.shacl.shapes import ShapesError, ValueConstraint
from rdflive.shacl.vocabulary import SH

__all__ = ["READERS", "NodeValues", "component_of", "is_string", "name_of", "shown", "value_constraints"]

_NODE_KINDS: Final = {
    SH.IRI, SH.BlankNode, SH.Literal, SH.BlankNodeOrIRI, SH.BlankNodeOrLiteral, SH.IRIOrLiteral,
}  # fmt: skip


class NodeValues:
    """Reads values of predicates. The triples of a node are cached until `forget`.

    Raises `ShapesError` for a value that SHACL does not allow.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._said: dict[Node, dict[Node, list[Any]]] = {}

    def forget(self) -> None:
        """Clear the cache."""
        self._said.clear()

    def objects(self, node: Node, predicate: Node) -> list[Any]:
        """List the distinct values of a predicate."""
        return self.predicates(node).get(predicate, [])

    def predicates(self, node: Node) -> Mapping[Node, list[Any]]:
        """Return the distinct values of all predicates of a node."""
        known = self._said.get(node)
        if known is None:
            known = self._said[node] = {}
            # several graphs may have the same triple
            for each, value in dict.fromkeys(self._graph.predicate_objects(node)):
                known.setdefault(each, []).append(value)
        return known

    def one(self, node: Node, predicate: URIRef) -> Node | None:
        """Return the only value, or None. Raises `ShapesError` for several values."""
        values = self.objects(node, predicate)
        if len(values) > 1:
            raise ShapesError(f"{shown(node)} has several values of {name_of(predicate)}", node)
        return values[0] if values else None

    def messages(self, node: Node) -> tuple[Literal, ...]:
        """List the values of sh:message; the first is the message of rows."""
        found = []
        for message in self.objects(node, SH.message):
            if not isinstance(message, Literal):
                raise self.expected(node, SH.message, "a string", message)
            found.append(message)
        # first a message without a language, then English ones
        return tuple(sorted(found, key=_message_order))

    def flag(self, node: Node, predicate: URIRef) -> bool:
        """Return True if the value is true; without a value return False."""
        value = self.one(node, predicate)
        if value is None:
            return False
        if not (isinstance(value, Literal) and isinstance(value.value, bool)):
            raise self.expected(node, predicate, "true or false", value)
        return str(value) == "true"  # the recommendation does not mention the literal "1"

    def count(self, node: Node, predicate: URIRef) -> int | None:
        """Return the only value, an integer; None without a value."""
        value = self.one(node, predicate)
        return None if value is None else self._integer(node, predicate, value)

    def _integer(self, node: Node, predicate: URIRef, value: Node, *_: Any) -> int:
        if not (isinstance(value, Literal) and type(value.value) is int):
            raise self.expected(node, predicate, "an integer", value)
        return int(value.value)

    def _iri(self, node: Node, predicate: URIRef, value: Node, *_: Any) -> Node:
        if not isinstance(value, URIRef):
            raise self.expected(node, predicate, "an IRI", value)
        return value

    def _class(self, node: Node, predicate: URIRef, value: Node, *_: Any) -> Node:
        if isinstance(value, Literal):
            raise self.expected(node, predicate, "an IRI", value)
        return value

    def _node_kind(self, node: Node, predicate: URIRef, value: Node, *_: Any) -> Node:
        if value not in _NODE_KINDS:
            raise self.expected(node, predicate, "one of the six node kinds", value)
        return value

    def _limit(self, node: Node, predicate: URIRef, value: Node, *_: Any) -> Node:
        if not isinstance(value, Literal):
            raise self.expected(node, predicate, "a literal", value)
        return value

    def _bool(self, node: Node, predicate: URIRef, *_: Any) -> bool:
        return self.flag(node, predicate)

    def _any(self, node: Node, predicate: URIRef, value: Node, *_: Any) -> Node:  # noqa: ARG002
        return value

    def _languages(self, node: Node, predicate: URIRef, value: Node, read_from: set[Node]) -> tuple[str, ...]:
        found = self.members(node, predicate, value, read_from)
        for tag in found:
            if not isinstance(tag, Literal):
                raise self.expected(node, predicate, "a list of strings", tag)
        return tuple(map(str, found))

    def members(
        self, node: Node, predicate: URIRef, head: Node, read_from: set[Node], *_: Any
    ) -> tuple[Node, ...]:
        """Return the items of an RDF list. Raises `ShapesError` for a list that is ill-formed or cyclic."""
        items: list[Node] = []
        seen: set[Node] = set()
        while head != RDF.nil:
            firsts, rests = (self.objects(head, p) for p in (RDF.first, RDF.rest))
            if isinstance(head, Literal) or head in seen or len(firsts) != 1 or len(rests) != 1:
                raise self.expected(node, predicate, "a list", head)
            seen.add(head)
            items.append(firsts[0])
            head = rests[0]
        read_from |= seen
        return tuple(items)

    def expected(self, node: Node, predicate: URIRef, what: str, got: Node) -> ShapesError:
        """Return the error for an unexpected value."""
        return ShapesError(f"{name_of(predicate)} of {shown(node)} must be {what}, got {shown(got)}", node)


READERS: Final[dict[URIRef, Callable[..., Any]]] = {
    SH["class"]: NodeValues._class,
    SH.datatype: NodeValues._iri,
    SH.nodeKind: NodeValues._node_kind,
    SH.minCount: NodeValues._integer,
    SH.maxCount: NodeValues._integer,
    SH.minExclusive: NodeValues._limit,
    SH.minInclusive: NodeValues._limit,
    SH.maxExclusive: NodeValues._limit,
    SH.maxInclusive: NodeValues._limit,
    SH.minLength: NodeValues._integer,
    SH.maxLength: NodeValues._integer,
    SH.languageIn: NodeValues._languages,
    SH.uniqueLang: NodeValues._bool,
    SH.hasValue: NodeValues._any,
    SH["in"]: NodeValues.members,
}
"""The reader of each parameter of SHACL Core.

Its arguments are the values, the node, the parameter, the value, and a set to which it adds the nodes that it
has read.
"""
_SEVERAL: Final = frozenset({SH["class"], SH.hasValue})
"""Parameters with a constraint for each of their values."""


def value_constraints(values: NodeValues, node: Node, read_from: set[Node]) -> Iterator[ValueConstraint]:
    """Read the constraints with a single-valued parameter, such as sh:datatype and sh:pattern."""
    for predicate, read in READERS.items():
        found = values.objects(node, predicate)
        if len(found) > 1 and predicate not in _SEVERAL:
            raise ShapesError(f"{shown(node)} has several values of {name_of(predicate)}", node)
        for value in sorted(found, key=shown):
            yield ValueConstraint(component_of(predicate), read(values, node, predicate, value, read_from))
    pattern = values.one(node, SH.pattern)
    if pattern is not None:
        flags = values.one(node, SH.flags)
        for name, given in ((SH.pattern, pattern), (SH.flags, flags)):
            if given is not None and not is_string(given):
                raise values.expected(node, name, "a string", given)
        yield ValueConstraint(component_of(SH.pattern), (str(pattern), "" if flags is None else str(flags)))


def component_of(predicate: URIRef) -> URIRef:
    """Return the constraint component of a parameter."""
    name = str(predicate).removeprefix(str(SH))
    return SH[f"{name[0].upper()}{name[1:]}ConstraintComponent"]


def is_string(term: Node) -> bool:
    """Return True for a simple literal or an xsd:string."""
    return isinstance(term, Literal) and not term.language and term.datatype in (None, XSD.string)


def name_of(predicate: URIRef) -> str:
    """Write a SHACL term for messages."""
    return f"sh:{str(predicate).removeprefix(str(SH))}"


def shown(node: Any) -> str:
    """Write a node for messages."""
    return str(node.n3())


def _message_order(message: Literal) -> tuple[bool, bool, str, str]:
    language = (message.language or "").lower()
    return bool(language), not language.startswith("en"), language, str(message)
