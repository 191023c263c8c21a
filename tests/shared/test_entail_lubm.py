"""LUBM(1,0): departments come and go one by one, and every answer equals that of a new closure."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Any, TypeAlias

import pytest
import rdflib
from rdflib import OWL, RDF, RDFS, Namespace

import rdflive
from support.effort import HUNT, drawn_from
from support.oracle import comparable
from support.shared import shared
from support.solutions import Row, folded_row, row_of
from support.worlds import KINDS

pytestmark = pytest.mark.shared


UB = Namespace("http://www.lehigh.edu/~zhp2/2004/0401/univ-bench.owl#")
PREFIXES = f"PREFIX ub: <{UB}> "
UNIVERSITY = "<http://www.University0.edu>"
PROFESSOR = "<http://www.Department0.University0.edu/AssociateProfessor0>"
WITH_ANSWERS = (1, 3, 4, 5, 6, 8, 10, 11, 13, 14)
OTHERS = {
    2: "SELECT * { ?x ub:undergraduateDegreeFrom ?y ; ub:memberOf ?z ; a ub:GraduateStudent . "
    "?z ub:subOrganizationOf ?y ; a ub:Department . ?y a ub:University }",
    7: f"SELECT * {{ {PROFESSOR} ub:teacherOf ?y . ?x ub:takesCourse ?y ; a ub:Student . ?y a ub:Course }}",
    9: "SELECT * { ?x ub:advisor ?y ; ub:takesCourse ?z ; a ub:Student . ?y ub:teacherOf ?z ; a ub:Faculty . "
    "?z a ub:Course }",
    12: "SELECT * { ?x ub:worksFor ?y ; a ub:Chair . "
    f"?y ub:subOrganizationOf {UNIVERSITY} ; a ub:Department }}",
}
"""The queries that have no official answers here, in words of our own."""
FRAGMENT = (1, 3, 4, 5, 14)
"""The queries that the DB fragment of RDFS answers in full."""
OF_DEPARTMENT_0 = (1, 3, 4, 5, 10)
"""The queries whose answers are all in one department."""
ALL = tuple(range(15))
DEPARTMENTS = ALL if HUNT else (0, *drawn_from("departments").sample(ALL[1:], 2))
LEAVING = tuple(drawn_from("leaving").sample(DEPARTMENTS, len(DEPARTMENTS)))
"""The order in which departments are deleted."""

Extents: TypeAlias = dict[Any, set[Any]]


@cache
def queries() -> dict[int, str]:
    """Read the queries with official answers, and add ours."""
    folder = shared("data", "lubm", "queries")
    official = {n: (folder / f"q{n}.rq").read_text(encoding="utf-8") for n in WITH_ANSWERS}
    return official | {n: PREFIXES + text for n, text in OTHERS.items()}


@cache
def department(number: int) -> frozenset[Any]:
    path = shared("data", "lubm", "data", f"dept{number:02}.nt.gz")
    with gzip.open(path) as source:
        return frozenset(rdflib.Graph().parse(source, format="nt"))


@cache
def ontology() -> rdflib.Graph:
    return rdflib.Graph().parse(shared("data", "lubm", "univ-bench.ttl"))


def official(number: int) -> Counter[tuple[str, ...]]:
    path = shared("data", "lubm", "answers", f"answers_query{number}.csv")
    with path.open(encoding="utf-8", newline="") as lines:
        return Counter(map(tuple, list(csv.reader(lines))[1:]))


class LubmClosure:
    """What LUBM's ontology entails, extension by extension until none grows: no rule engine, no increments.

    Without `owl` by subclasses, subproperties, domains and ranges only.
    """

    def __init__(self, triples: Iterable[Any], *, owl: bool) -> None:
        self.properties: Extents = {}
        self.classes: Extents = {}
        for s, p, o in triples:
            if p == RDF.type:
                self.classes.setdefault(o, set()).add(s)
            else:
                self.properties.setdefault(p, set()).add((s, o))
        self._schema = ontology()
        size = -1
        while size != (size := self._size()):
            self._constraints()
            if owl:
                self._constructs()

    def _size(self) -> int:
        return sum(map(len, self.properties.values())) + sum(map(len, self.classes.values()))

    def _pairs(self, name: Any) -> set[Any]:
        return self.properties.setdefault(name, set())

    def _members(self, name: Any) -> set[Any]:
        return self.classes.setdefault(name, set())

    def _constraints(self) -> None:
        for low, high in self._schema.subject_objects(RDFS.subPropertyOf):
            self._pairs(high).update(self._pairs(low))
        for name, kind in self._schema.subject_objects(RDFS.domain):
            self._members(kind).update(s for s, _ in self._pairs(name))
        for name, kind in self._schema.subject_objects(RDFS.range):
            self._members(kind).update(o for _, o in self._pairs(name) if not isinstance(o, rdflib.Literal))
        for low, high in self._schema.subject_objects(RDFS.subClassOf):
            self._members(high).update(self._members(low))

    def _constructs(self) -> None:
        """Inverse and transitive properties, restrictions, intersections."""
        schema = self._schema
        for name, other in schema.subject_objects(OWL.inverseOf):
            self._pairs(other).update((o, s) for s, o in self._pairs(name))
            self._pairs(name).update((o, s) for s, o in self._pairs(other))
        for name in schema.subjects(RDF.type, OWL.TransitiveProperty):
            follow: Extents = {}
            for s, o in self._pairs(name):
                follow.setdefault(s, set()).add(o)
            self._pairs(name).update((s, far) for s, o in set(self._pairs(name)) for far in follow.get(o, ()))
        for kind, filler in schema.subject_objects(OWL.someValuesFrom):
            pairs = self._pairs(schema.value(kind, OWL.onProperty))
            self._members(kind).update(s for s, o in pairs if o in self._members(filler))
        for kind, head in schema.subject_objects(OWL.intersectionOf):
            parts = list(schema.items(head))
            self._members(kind).update(set.intersection(*map(self._members, parts)))
            for part in parts:
                self._members(part).update(self._members(kind))

    def answers(self, numbers: Iterable[int]) -> dict[int, Counter[Row]]:
        """Evaluate queries with Oxigraph, on the triples that they can match."""
        import pyoxigraph as ox

        def native(term: Any) -> Any:
            return ox.Literal(str(term)) if isinstance(term, rdflib.Literal) else ox.NamedNode(str(term))

        numbers, store = list(numbers), ox.Store()
        known: dict[Any, Any] = {}

        def load(s: Any, p: Any, o: Any) -> Any:
            return ox.Quad(*(known.get(t) or known.setdefault(t, native(t)) for t in (s, p, o)))

        texts = " ".join(queries()[n] for n in numbers)
        for name, pairs in self.properties.items():
            if name.removeprefix(UB) in texts:
                store.bulk_extend(load(s, name, o) for s, o in pairs)
        for name, members in self.classes.items():
            if isinstance(name, rdflib.URIRef) and name.removeprefix(UB) in texts:
                store.bulk_extend(load(s, RDF.type, name) for s in members)
        return {n: _answers(store, queries()[n]) for n in numbers}


def _answers(store: Any, text: str) -> Counter[Row]:
    found = store.query(text)
    names = [variable.value for variable in found.variables]
    return Counter(comparable(zip(names, solution, strict=True)) for solution in found)


@cache
def expected(departments: frozenset[int], *, owl: bool) -> dict[int, Counter[Row]]:
    """Work the answers out for some departments."""
    triples = frozenset().union(*map(department, departments))
    return LubmClosure(triples, owl=owl).answers(queries() if owl else (*FRAGMENT, 9))


class Follower:
    """A query's deltas, added up."""

    def __init__(self, graph: Any, text: str, **options: Any) -> None:
        self.weights: Counter[Row] = Counter()
        self.subscription = rdflive.subscribe(graph, text, self._take, **options)

    def _take(self, delta: rdflive.Delta) -> None:
        for solution, weight in delta.weights().items():
            self.weights[folded_row(row_of(solution))] += weight
        self.weights += Counter()

    def answers(self) -> Counter[Row]:
        return Counter(folded_row(row_of(solution)) for solution in self.subscription.answers())


def shown(follower: Follower) -> Counter[tuple[str, ...]]:
    """Give the answers as the files of official answers write them."""
    return Counter(tuple(map(str, solution)) for solution in follower.subscription.answers())


RUNS = {
    "saturate": ("graph", {"entailment": "rdfs", "strategy": "saturate"}),
    "reformulate": ("graph", {"entailment": "rdfs", "strategy": "reformulate"}),
    "auto, Oxigraph": ("oxigraph graph", {"entailment": "rdfs"}),
    "owl-rl": ("graph", {"rules": "owl-rl"}),
}


@pytest.mark.sampled(by="name")
@pytest.mark.parametrize("name", RUNS)
def test_departments_come_and_go(name: str) -> None:
    """After each department the answers are those of a new closure; in the end, the official ones."""
    kind, options = RUNS[name]
    owl = "rules" in options
    graph = KINDS[kind]()
    for triple in ontology():
        graph.add(triple)
    followers = {n: Follower(graph, queries()[n], **options) for n in expected(frozenset(), owl=owl)}
    present: set[int] = set()

    def check() -> None:
        for n, answers in expected(frozenset(present), owl=owl).items():
            assert followers[n].weights == answers, (n, sorted(present))
            if len(present) % 5 == 0 or len(present) == len(DEPARTMENTS):
                assert followers[n].answers() == answers, (n, sorted(present))

    for number in DEPARTMENTS:
        present.add(number)
        with rdflive.batch(graph):
            for triple in department(number):
                graph.add(triple)
        check()
    for n in set(WITH_ANSWERS if owl else FRAGMENT) & set(WITH_ANSWERS if HUNT else OF_DEPARTMENT_0):
        assert shown(followers[n]) == official(n), n
    for number in LEAVING:
        present.remove(number)
        left = frozenset().union(*map(department, present))
        with rdflive.batch(graph):
            for triple in department(number) - left:
                graph.remove(triple)
        check()
    assert not any(follower.weights for follower in followers.values())
    for follower in followers.values():
        follower.subscription.close()
