"""Reads the constraint components that a shapes graph declares, and their queries (SHACL, Sections 5 and
6).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from rdflib import Graph, Literal, URIRef
from rdflib.namespace import OWL
from rdflib.term import Node

from rdflive.shacl.messages import message_of
from rdflive.shacl.shapes import Component, Parameter, Shape, ShapesError, SparqlConstraint, Validator
from rdflive.shacl.value_tests import meets
from rdflive.shacl.values import NodeValues, is_string, shown, value_constraints
from rdflive.shacl.vocabulary import SH

__all__ = ["PREBOUND", "Components"]

_LOCAL: Final = re.compile(r"[^\W\d][\w.\-]*$")
"""The local name of an IRI: the longest name at its end."""
PREBOUND: Final = frozenset({"this", "shapesGraph", "currentShape"})
"""The variables that are potentially pre-bound in each query of a constraint (Appendix A)."""
_RESERVED: Final = PREBOUND | {"path", "PATH", "value"}
"""Names that no parameter may have (6.2.1)."""


class Components:
    """The components of a shapes graph that are not part of SHACL Core.

    Raises `ShapesError` for ill-formed components.
    """

    def __init__(self, graph: Graph, values: NodeValues, named: Iterable[Node]) -> None:
        self._graph = graph
        self._values = values
        self.read_from: set[Node] = set()
        """The subjects that may affect every shape: components, and prefixes of queries."""
        self.all = tuple(self._read(named))
        self.parameters = frozenset(p.path for component in self.all for p in component.parameters)
        """The predicates that declare constraints of these components."""

    def _read(self, named: Iterable[Node]) -> Iterator[Component]:
        for node in sorted(named, key=shown):
            if str(node).startswith(SH):
                continue  # the components of SHACL Core are built in
            self.read_from.add(node)
            parameters = tuple(self._parameters(node))
            names = PREBOUND.union(parameter.name for parameter in parameters)
            validators = [
                self._validator(node, predicate, names)
                for predicate in (SH.nodeValidator, SH.propertyValidator, SH.validator)
            ]
            if not isinstance(node, URIRef):
                raise ShapesError(f"the constraint component {shown(node)} must be an IRI", node)
            if any(validators) and all(parameter.optional for parameter in parameters):
                raise ShapesError(f"{shown(node)} needs a sh:parameter that is not optional", node)
            yield Component(node, parameters, *validators)

    def _parameters(self, node: Node) -> Iterator[Parameter]:
        """Read the parameters of a component (6.2.1)."""
        known: dict[str, Node] = {}
        for parameter in sorted(self._values.objects(node, SH.parameter), key=shown):
            self.read_from.add(parameter)
            path = None if isinstance(parameter, Literal) else self._values.one(parameter, SH.path)
            if not isinstance(path, URIRef):
                raise ShapesError(f"a parameter of {shown(node)} needs an IRI as sh:path", node)
            said = f"the parameter {shown(path)} of {shown(node)}"
            local = _LOCAL.search(path)
            if local is None:
                raise ShapesError(f"{said} has no local name", node)
            name = local[0]
            if name in _RESERVED or not name.replace("_", "a").isalnum():
                raise ShapesError(
                    f"{said} has the name {name!r}, which SPARQL does not allow or SHACL binds",
                    node,
                )
            if known.setdefault(name, path) != path:
                raise ShapesError(f"{said} has the same name as {shown(known[name])}: ?{name}", node)
            constraints = tuple(value_constraints(self._values, parameter, self.read_from))
            yield Parameter(path, name, self._values.flag(parameter, SH.optional), constraints)

    def _validator(self, node: Node, predicate: URIRef, prebound: frozenset[str]) -> Validator | None:
        for value in sorted(self._values.objects(node, predicate), key=shown):
            self.read_from.add(value)
            for form in (SH.select, SH.ask):
                text = self._values.one(value, form)
                if text is not None:
                    found = self.query(value, text, asks=form == SH.ask)
                    # the component's own messages, if its validator has none
                    messages = found.messages or self._values.messages(node)
                    return replace(
                        found, messages=messages, prebound=prebound | ({"value"} if found.asks else set())
                    )
        return None

    def constraints(self, shape: Shape) -> Iterator[SparqlConstraint]:
        """List the constraints that a shape declares by parameters of components."""
        for component in self.all:
            yield from self._of_component(shape, component)

    def _of_component(self, shape: Shape, component: Component) -> Iterator[SparqlConstraint]:
        """List the constraints that a shape declares by the parameters of a component (6.2.3)."""
        required = [p for p in component.parameters if not p.optional]
        values = {
            p: sorted(self._values.objects(shape.node, p.path), key=shown) for p in component.parameters
        }
        if not required or not all(values[p] for p in required):
            return
        validator = component.validator(has_path=shape.path is not None)
        if validator is None:
            return
        several = [p for p, found in values.items() if len(found) > 1]
        if several and len(component.parameters) > 1:
            raise ShapesError(
                f"{shown(shape.node)} has several values of {shown(several[0].path)}, but only the single "
                "parameter of a component can have several",
                shape.node,
            )
        rows: list[dict[str, Node]] = [{}]
        for parameter, found in values.items():
            for value in found:
                self._check_argument(shape.node, parameter, value)
            if found:
                rows = [{**row, parameter.name: value} for row in rows for value in found]
        for arguments in rows:
            yield SparqlConstraint(component.node, validator, arguments, None)

    def _check_argument(self, node: Node, parameter: Parameter, value: Node) -> None:
        """Raise `ShapesError` for a value that breaks a constraint of its parameter (6.2.1)."""
        for constraint in parameter.constraints:
            if not meets(constraint, value):
                raise ShapesError(
                    f"{shown(parameter.path)} of {shown(node)} {message_of(constraint)}, got {shown(value)}",
                    node,
                )

    def query(self, node: Node, text: Node, *, asks: bool = False) -> Validator:
        """Read a query with its prefixes (5.2.1)."""
        if not is_string(text):
            raise ShapesError(f"the query of {shown(node)} must be a string, got {shown(text)}", node)
        declared: dict[str, str] = {}
        for holder in self._values.objects(node, SH.prefixes):
            for source in filter(None, self._graph.transitive_objects(holder, OWL.imports)):
                self.read_from.update((source, *self._values.objects(source, SH.declare)))
                for declaration in self._values.objects(source, SH.declare):
                    prefix, name = (self._values.one(declaration, p) for p in (SH.prefix, SH.namespace))
                    if prefix is None or name is None:
                        raise ShapesError(
                            f"sh:declare of {shown(source)} needs sh:prefix and sh:namespace", node
                        )
                    if declared.setdefault(str(prefix), str(name)) != str(name):
                        raise ShapesError(f"the prefix {prefix} of {shown(node)} has two namespaces", node)
        prologue = "".join(f"PREFIX {prefix}: <{name}>\n" for prefix, name in sorted(declared.items()))
        return Validator(node, prologue + str(text), asks, self._values.messages(node))
