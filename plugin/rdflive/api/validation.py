"""`rdflive.validate`: SHACL validation as a subscription."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial
from typing import Any, Final, TypeAlias, Unpack

from rdflib import Graph, URIRef
from rdflib.graph import ReadOnlyGraphAggregate
from rdflib.term import Node

from rdflive.api.opening import open_subscriptions
from rdflive.api.options import ValidationOptions, complete, receiver_of, shows_options
from rdflive.api.prepared import check_graph
from rdflive.delivery.question import Question, check_key, read_key
from rdflive.delivery.relay import Receiver
from rdflive.delivery.resume import Journal
from rdflive.delivery.subscription import Subscription
from rdflive.entail.entailment import Regime
from rdflive.entail.regimes import Rules, regime_of
from rdflive.entail.rules import Program
from rdflive.model import Delta
from rdflive.plugins import manager
from rdflive.query.known import find_plan
from rdflive.shacl import (
    ABOUT_SHAPES,
    COLUMNS,
    LiveValidation,
    SelectedShapes,
    parse_shapes,
    read_shapes,
    read_terms,
    rules_of,
    with_imports,
)
from rdflive.shacl.vocabulary import SH
from rdflive.store import Adapter, GraphLike
from rdflive.syntax.prefixes import Prefixes

__all__ = [
    "Nodes",
    "Shapes",
    "graphs_of_shapes",
    "selection_of",
    "shacl_rules",
    "start_validation",
    "validate",
    "with_rules",
]

Shapes: TypeAlias = "Graph | str | os.PathLike[str] | Iterable[Graph | os.PathLike[str]] | None"
Nodes: TypeAlias = "Iterable[Node | str] | None"

_ALL: Final = "SELECT ?s ?p ?o { ?s ?p ?o }"
_BRANCH: Final = "{{ ?s <{0}> ?o BIND(<{0}> AS ?p) }}"


@shows_options(ValidationOptions)
def validate(
    graph: GraphLike,
    shapes: Shapes = None,
    callback: Callable[[Delta], object] | None = None,
    *,
    focus_nodes: Nodes = None,
    use_shapes: Nodes = None,
    **options: Unpack[ValidationOptions],
) -> LiveValidation:
    """Validate a graph by SHACL continuously: every change calls back with the added and removed results.

    Args:
        graph: The graph to validate, as for `rdflive.subscribe`.
        shapes: An rdflib graph, the path of a file, several of these, or Turtle text; by default `graph`
            itself holds the shapes. Local files that given shapes name by owl:imports are read when the
            validation starts; nothing is fetched from the network.
        callback: A function of a delta, as for `rdflive.subscribe`.
        focus_nodes: The nodes to validate: IRIs, as terms, texts or `prefix:name`.
        use_shapes: The shapes to validate with, with their own targets: IRIs, as for `focus_nodes`. With
            both, the selected nodes are validated against the selected shapes, regardless of targets.

    A delta's rows are results, each with the `focus`, `path`, `value`, `component`, `shape`, `severity` and
    `message` of sh:ValidationResult. If the shapes change, they are planned again, and the difference of
    results is delivered. Unsupported parts of the shapes are logged, and listed in `notes`.

    Raises `ShapesError` for shapes that are ill-formed, recursive, missing, or cannot be maintained.

    >>> shapes = '''@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix : <http://e/> .
    ... :T a sh:NodeShape ; sh:targetClass :Train ; sh:property [ sh:path :line ; sh:minCount 1 ] .'''
    >>> graph = Graph()
    >>> validation = validate(graph, shapes)
    >>> _ = graph.update("PREFIX : <http://e/> INSERT DATA { :IC5 a :Train }")
    >>> validation.conforms, [str(row.message) for row in validation.answers()]
    (False, ['1 value at least'])
    >>> validation.close()
    """
    check_graph(graph)
    chosen = complete(ValidationOptions, options, "validate")
    given = graphs_of_shapes(graph, shapes)
    selection = selection_of(graph, given, focus_nodes, use_shapes)
    rules = with_rules(given, chosen["rules"], selection)
    regime = regime_of(chosen["entailment"], rules, chosen["strategy"], chosen["counts"])
    receiver = receiver_of(callback, chosen)
    key = read_key(chosen["key"])
    check_key(key, "SELECT", COLUMNS)
    with ExitStack() as undo:
        journal = None
        if chosen["resume"] is not None:
            journal = Journal(chosen["resume"], str(chosen["name"]), "SHACL validation")
            undo.callback(journal.close)
        with manager.locked(manager.store_of(graph)) as adapter:
            validation = start_validation(adapter, graph, given, selection, regime, receiver, key, journal)
            undo.callback(validation.close)
        validation.begin()
        adapter.capture.deliver()
        undo.pop_all()
    return validation


def shacl_rules(shapes: Graph | str | os.PathLike[str] | Iterable[Graph]) -> Program:
    """Return the rules that shapes declare by sh:rule (SHACL Advanced Features, Section 8), for `rules=`.

    `shapes` are those of `validate`. They are read once: rules do not follow changes of the shapes.
    `validate` and `guard` use the rules of shapes with `sh:entailment sh:Rules` themselves. All rules run to
    a fixpoint, regardless of sh:order.

    Raises `ShapesError` for a rule that is ill-formed, or that the rule engine cannot maintain: a rule that
    makes terms, such as one with BIND, or that tests for missing triples, such as one with sh:maxCount.

    >>> rules = shacl_rules('''@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix : <urn:> .
    ... :Late a sh:NodeShape ; sh:targetSubjectsOf :delay ;
    ...     sh:rule [ a sh:TripleRule ; sh:subject sh:this ; sh:predicate :is ; sh:object :Late ] .''')
    >>> print(rules)
    <urn:Late>: ?this <urn:delay> ?·1 => ?this <urn:is> <urn:Late>
    """
    given = graphs_of_shapes(Graph(), shapes)
    return rules_of(given[0] if len(given) == 1 else ReadOnlyGraphAggregate(list(given)))


def selection_of(
    graph: GraphLike, shapes: Iterable[Graph], focus_nodes: Nodes, use_shapes: Nodes
) -> SelectedShapes:
    """Return the selected shapes and nodes. A prefix is resolved in the graph of its name first."""
    of_shapes, of_graph = [Prefixes("", None, each) for each in shapes], Prefixes("", None, graph)
    used = read_terms("use_shapes", use_shapes, _merged([of_graph, *of_shapes]))
    nodes = read_terms("focus_nodes", focus_nodes, _merged([*of_shapes, of_graph]))
    return SelectedShapes(None if used is None else frozenset(used), None if nodes is None else tuple(nodes))


def with_rules(shapes: Iterable[Graph], rules: Rules | None, selection: SelectedShapes) -> Rules | None:
    """Add the rules of selected shapes that request them by sh:entailment."""
    asking = [each for each in shapes if (None, SH.entailment, SH.Rules) in each]
    if not asking:
        return rules
    given: list[Any] = list(rules) if isinstance(rules, list | tuple) else [rules] * (rules is not None)
    return [*given, *(rules_of(each, selection.shapes) for each in asking)]


def start_validation(
    adapter: Adapter,
    graph: GraphLike,
    shapes: list[Graph],
    selection: SelectedShapes,
    regime: Regime | None,
    receiver: Receiver,
    key: tuple[str, ...] = (),
    journal: Journal | None = None,
) -> LiveValidation:
    """Start the validation of a graph. Called under the store's lock; call `begin` after its release."""
    prefixes = partial(_merged, [Prefixes("", None, each) for each in (*shapes, graph)])
    watch = partial(_watch, shapes, graph)
    validation = LiveValidation(
        adapter, graph, shapes, selection, watch, regime, receiver, prefixes, key, journal
    )
    validation.start()
    return validation


def graphs_of_shapes(graph: GraphLike, shapes: Shapes) -> list[Graph]:
    """Return the graphs with shapes: the given or parsed graphs, and their imports.

    Shapes in the data graph import nothing, because untrusted data must not make rdflive read files.
    """
    if shapes is None and isinstance(graph, Graph):
        return [graph]
    given: list[Any] = []
    if isinstance(shapes, str):
        _check_text(shapes)
        given = [parse_shapes(shapes)]
    elif isinstance(shapes, Graph | os.PathLike):
        given = [shapes]
    elif isinstance(shapes, Iterable):
        given = list(shapes)
    if not given or not all(isinstance(each, Graph | os.PathLike) for each in given):
        raise TypeError(
            "shapes must be an rdflib graph, the pathlib.Path of a file, several of these, or Turtle text, "
            f"got {graph if shapes is None else shapes!r:.100}"
        )
    return with_imports(each if isinstance(each, Graph) else read_shapes(each) for each in given)


def _check_text(text: str) -> None:
    """Raise ValueError for an empty text, and for the name of a file or a URL."""
    if not text.strip():
        raise ValueError("shapes are an empty text; leave them out if the graph itself holds them")
    if len(text.split()) == 1 and not text.strip().startswith("@"):
        raise ValueError(f"shapes are Turtle text, got {text!r}; for a file give pathlib.Path({text!r})")


def _watch(
    shapes: Iterable[Graph],
    graph: GraphLike,
    parameters: frozenset[URIRef],
    follow: Callable[[Delta], object],
) -> list[Subscription]:
    """Subscribe to the triples that may change shapes; in the data graph only to triples about shapes."""
    receiver = Receiver.checked(follow, initial=False, name=None, on_error="log")
    names = sorted({*ABOUT_SHAPES, *parameters})
    of_shapes = f"SELECT ?s ?p ?o {{ {' UNION '.join(map(_BRANCH.format, names))} }}"
    opened = []
    for each in shapes:
        query = of_shapes if each is graph else _ALL
        question = Question(query, find_plan(query, init_ns={}).plan, is_own=True)
        opened += open_subscriptions(each, question, [()], receiver)
    return opened


def _merged(bound: list[Prefixes]) -> dict[str, str]:
    """Return the prefixes of all graphs; the last graph takes precedence."""
    return {prefix: name for each in bound for prefix, name in each().items()}
