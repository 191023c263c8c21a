"""`rdflive.validate`: SHACL as a subscription."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from contextlib import ExitStack
from functools import partial
from typing import Any, Final, TypeAlias

from rdflib import Graph, URIRef
from rdflib.graph import ReadOnlyGraphAggregate

from rdflive.api.opening import open_subscriptions
from rdflive.api.prepared import check_graph
from rdflive.delivery.keys import check_key, read_key
from rdflive.delivery.question import Question
from rdflive.delivery.receiver import Receiver
from rdflive.delivery.resume import Journal
from rdflive.delivery.subscription import OnError, Subscription
from rdflive.entail.entailment import Regime
from rdflive.entail.regimes import Counts, Rules, Strategy, regime_of
from rdflive.entail.rules import Program
from rdflive.model import Delta
from rdflive.plugins import manager
from rdflive.query.known import find_plan
from rdflive.shacl import ABOUT_SHAPES, COLUMNS, LiveValidation, rules_of
from rdflive.shacl.vocabulary import SH
from rdflive.store import Adapter, GraphLike
from rdflive.syntax.prefixes import Prefixes
from rdflive.time.instants import DurationLike

__all__ = ["Shapes", "graphs_of_shapes", "shacl_rules", "start_validation", "validate", "with_rules"]

Shapes: TypeAlias = "Graph | str | os.PathLike[str] | Iterable[Graph] | None"

_ALL: Final = "SELECT ?s ?p ?o { ?s ?p ?o }"
_BRANCH: Final = "{{ ?s <{0}> ?o BIND(<{0}> AS ?p) }}"


def validate(
    graph: GraphLike,
    shapes: Shapes = None,
    callback: Callable[[Delta], object] | None = None,
    *,
    initial: bool = True,
    name: str | None = None,
    resume: str | os.PathLike[str] | None = None,
    on_error: OnError = "log",
    entailment: str | None = None,
    rules: Rules | None = None,
    strategy: Strategy = "auto",
    counts: Counts | None = None,
    throttle: DurationLike | None = None,
    executor: Executor | None = None,
    key: Iterable[str] | None = None,
) -> LiveValidation:
    """Validate a graph by SHACL, and go on: every change calls back with the results that came and went.

    `shapes` is a graph of rdflib, several of them, the path of a file or Turtle text; without any, `graph`
    itself has the shapes. Where the shapes change, they are planned again and what that changes is told.
    The rest is as for `rdflive.subscribe`. A delta's rows are results, each with `focus`, `path`, `value`,
    `component`, `shape`, `severity` and `message`, as sh:ValidationResult has them.

    Raises `ShapesError` for shapes that are ill-formed, recursive, or cannot be maintained.

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
    if resume is not None and not (name and isinstance(name, str)):
        raise ValueError(f"resume needs the name of the subscriber in the file {resume!r}, got name={name!r}")
    given = graphs_of_shapes(graph, shapes)
    regime = regime_of(entailment, with_rules(given, rules), strategy, counts)
    receiver = Receiver.checked(
        callback, initial=initial, name=name, on_error=on_error, throttle=throttle, executor=executor
    )
    keyed = read_key(key)
    check_key(keyed, "SELECT", COLUMNS)
    with ExitStack() as undo:
        journal = None
        if resume is not None:
            journal = Journal(resume, str(name), "SHACL validation")
            undo.callback(journal.close)
        with manager.locked(manager.store_of(graph)) as adapter:
            validation = start_validation(adapter, graph, given, regime, receiver, keyed, journal)
            undo.callback(validation.close)
        validation.begin()
        adapter.capture.deliver()
        undo.pop_all()
    return validation


def shacl_rules(shapes: Graph | str | os.PathLike[str] | Iterable[Graph]) -> Program:
    """Give the rules that shapes declare by sh:rule (SHACL Advanced Features, Section 8), for `rules=`.

    `shapes` are those of `validate`. They are read once: rules do not follow changes of the shapes.
    `validate` and `guard` use the rules by themselves where the shapes say `sh:entailment sh:Rules`. All of
    them work until nothing new follows, whatever their sh:order.

    Raises `ShapesError` for a rule that is ill-formed, or that the rule engine cannot maintain: one that
    makes a term, as BIND does, or that asks for what is missing, as sh:maxCount does.

    >>> rules = shacl_rules('''@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix : <urn:> .
    ... :Late a sh:NodeShape ; sh:targetSubjectsOf :delay ;
    ...     sh:rule [ a sh:TripleRule ; sh:subject sh:this ; sh:predicate :is ; sh:object :Late ] .''')
    >>> print(rules)
    <urn:Late>: ?this <urn:delay> ?·1 => ?this <urn:is> <urn:Late>
    """
    given = graphs_of_shapes(Graph(), shapes)
    return rules_of(given[0] if len(given) == 1 else ReadOnlyGraphAggregate(list(given)))


def with_rules(shapes: Iterable[Graph], rules: Rules | None) -> Rules | None:
    """Add the rules of shapes that ask for them by sh:entailment."""
    asking = [each for each in shapes if (None, SH.entailment, SH.Rules) in each]
    if not asking:
        return rules
    given: list[Any] = list(rules) if isinstance(rules, list | tuple) else [rules] * (rules is not None)
    return [*given, *map(rules_of, asking)]


def start_validation(
    adapter: Adapter,
    graph: GraphLike,
    shapes: list[Graph],
    regime: Regime | None,
    receiver: Receiver,
    key: tuple[str, ...] = (),
    journal: Journal | None = None,
) -> LiveValidation:
    """Have a graph validated; `begin` is called once the lock is free. Called under the store's lock."""
    read = shapes[0] if len(shapes) == 1 else ReadOnlyGraphAggregate(list(shapes))
    prefixes = partial(_merged, [Prefixes("", None, each) for each in (*shapes, graph)])
    watch = partial(_watch, shapes, graph)
    validation = LiveValidation(adapter, graph, read, watch, regime, receiver, prefixes, key, journal)
    validation.start()
    return validation


def graphs_of_shapes(graph: GraphLike, shapes: Shapes) -> list[Graph]:
    """Give the graphs with shapes: those that were given, or what was read."""
    if shapes is None:
        shapes = graph  # type: ignore[assignment]  # tested below
    if isinstance(shapes, Graph):
        return [shapes]
    if isinstance(shapes, str | os.PathLike):
        read = Graph()
        if isinstance(shapes, str):
            _check_text(shapes)
            read.parse(data=shapes, format="turtle")
        else:
            read.parse(os.fsdecode(shapes))
        return [read]
    given = list(shapes) if isinstance(shapes, Iterable) else []
    if not given or not all(isinstance(each, Graph) for each in given):
        raise TypeError(
            "shapes must be a graph of rdflib, several of them, the pathlib.Path of a file, or Turtle text, "
            f"got {shapes!r:.100}"
        )
    return given


def _check_text(text: str) -> None:
    """Refuse what is no Turtle, but the name of a file or a URL."""
    if not text.strip():
        raise ValueError("shapes are an empty text; leave them out where the graph itself has them")
    if len(text.split()) == 1 and not text.strip().startswith("@"):
        raise ValueError(f"shapes are Turtle text, got {text!r}; for a file give pathlib.Path({text!r})")


def _watch(
    shapes: Iterable[Graph],
    graph: GraphLike,
    parameters: frozenset[URIRef],
    follow: Callable[[Delta], object],
) -> list[Subscription]:
    """Subscribe to what may change shapes; of those that lie among other data to no more than that."""
    told = Receiver.checked(follow, initial=False, name=None, on_error="log")
    names = sorted({*ABOUT_SHAPES, *parameters})
    of_shapes = f"SELECT ?s ?p ?o {{ {' UNION '.join(map(_BRANCH.format, names))} }}"
    opened = []
    for each in shapes:
        query = of_shapes if each is graph else _ALL
        question = Question(query, find_plan(query, init_ns={}).plan, is_own=True)
        opened += open_subscriptions(each, question, [()], told)
    return opened


def _merged(bound: list[Prefixes]) -> dict[str, str]:
    """Give the prefixes of all graphs; of equal ones that of the last."""
    return {prefix: name for each in bound for prefix, name in each().items()}
