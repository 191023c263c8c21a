"""The query tests of SPARQL 1.2 as live subscriptions: triple by triple in, and out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import rdflib
from rdflib import RDF, Namespace

import rdflive
from support.shared import SHARED, shared

pytest.importorskip("pyoxigraph", reason="needs the extra rdflive[oxigraph]")

import pyoxigraph as ox

from rdflive_stores.oxigraph.terms import canonical

pytestmark = pytest.mark.shared

MF = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")
QT = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-query#")
ROOT = SHARED / "data" / "w3c12"


def evaluations(folder: Path) -> Iterator[Any]:
    """List the tests of a folder that have a result: a name, the files of the query, data and result."""
    manifest = folder / "manifest.ttl"
    graph = rdflib.Graph().parse(manifest, publicID=manifest.as_uri())
    for test in sorted(graph.subjects(RDF.type, MF.QueryEvaluationTest)):
        action = graph.value(test, MF.action)
        files = [folder / Path(str(file)).name for file in graph.objects(action, QT.data)]
        query = folder / Path(str(graph.value(action, QT.query))).name
        result = folder / Path(str(graph.value(test, MF.result))).name
        name = f"{folder.name}/{str(test).rpartition('#')[2]}"
        yield pytest.param(query.read_text(encoding="utf-8"), files, result, id=name)


CASES = [case for folder in sorted(ROOT.glob("*/")) for case in evaluations(folder)]
REFUSED = {"grouping/select-variable-reuse"}
"""What Oxigraph refuses: a variable that SELECT assigns, in a later expression of SELECT."""
NOT_HELD = {"grouping/group01"}
"""Data that Oxigraph cannot hold: it stores `001` and `1` as one term, of which the test makes two groups."""


def test_w3c12_tests_are_there() -> None:
    """All tests with a result are run below."""
    shared("data", "w3c12", "manifest.ttl")
    assert len(CASES) == 63
    assert {case.id for case in CASES} > REFUSED | NOT_HELD


@pytest.mark.parametrize(("query", "files", "result"), CASES)
def test_w3c12_query_is_maintained(
    query: str, files: list[Path], result: Path, request: pytest.FixtureRequest
) -> None:
    """At each step the deltas add up to Oxigraph's answer, and with all data to the W3C's result."""
    name = request.node.callspec.id
    live = rdflive.LiveStore()
    told: Counter[Any] = Counter()

    def take(delta: rdflive.Delta) -> None:
        told.update(map(row, delta.added))
        told.subtract(map(row, delta.removed))

    quads = [quad for file in files for quad in parsed(file)]
    if name in REFUSED:
        with pytest.raises(SyntaxError):
            live.query(query)
    with rdflive.subscribe(live, query, take) as subscription:
        for change in (live.add, live.remove):
            for quad in quads:
                change(quad)
                answer = Counter(map(row, subscription.answers()))
                assert +told == answer
                assert name in REFUSED or written(answer) == written(rows(live.query(query)))
            if change == live.add:
                answer = Counter(map(row, subscription.answers()))
                assert (written(answer) == written(wanted(result))) is (name not in NOT_HELD)


def parsed(file: Path) -> Iterator[Any]:
    form = ox.RdfFormat.from_extension(file.suffix[1:])
    return iter(ox.parse(file.read_bytes(), form, base_iri="urn:w3c:"))


def wanted(result: Path) -> Counter[Any]:
    """Read the W3C's result, in the spelling that Oxigraph stores: a decimal `123.0` is `123` there."""
    if result.suffix in (".srj", ".srx"):
        form = ox.QueryResultsFormat.from_extension(result.suffix[1:])
        found = rows(ox.parse_query_results(result.read_bytes(), form))
        return Counter(
            {frozenset((n, canonical(t)) for n, t in one): number for one, number in found.items()}
        )
    return Counter(quad.triple for quad in parsed(result))


def row(solution: Any) -> Any:
    """Give a solution, or a triple of a template, as Oxigraph's answers are counted below."""
    return ox.Triple(*solution) if type(solution) is tuple else frozenset(solution.asdict().items())


def rows(result: Any) -> Counter[Any]:
    """Count the rows of an answer by Oxigraph, or of a file."""
    if isinstance(result, ox.QueryBoolean):
        return Counter([frozenset()] if result else [])
    if isinstance(result, ox.QueryTriples):
        return Counter(set(result))
    names = [variable.value for variable in result.variables]
    pairs: Iterable[Any] = (zip(names, solution, strict=True) for solution in result)
    return Counter(frozenset((name, term) for name, term in one if term is not None) for one in pairs)


def written(counted: Counter[Any]) -> set[str]:
    """Write rows such that those that differ in the labels of blank nodes alone are written alike."""
    dataset = ox.Dataset()
    for one, number in counted.items():
        if isinstance(one, ox.Triple):
            dataset.add(ox.Quad(*one))
            continue
        solution = ox.BlankNode()
        dataset.add(ox.Quad(solution, ox.NamedNode("urn:rows"), ox.Literal(number)))
        for name, term in one:
            dataset.add(ox.Quad(solution, ox.NamedNode(f"urn:row:{name}"), term))
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return set(map(str, dataset))
