"""The query tests of SPARQL 1.2 that rdflib's parser and Oxigraph read: triple by triple in, and out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import rdflib
from rdflib import RDF, Namespace

import rdflive
from rdflive.errors import QuerySyntaxError
from support.shared import SHARED, shared

ox = pytest.importorskip("pyoxigraph", reason="needs the extra rdflive[oxigraph]")

pytestmark = pytest.mark.shared

MF = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")
QT = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-query#")
ROOT = SHARED / "data" / "w3c12"


def evaluations(folder: Path) -> Iterator[Any]:
    """List the tests of a folder that have a result: a name, the query and the files of the data."""
    manifest = folder / "manifest.ttl"
    graph = rdflib.Graph().parse(manifest, publicID=manifest.as_uri())
    for test in sorted(graph.subjects(RDF.type, MF.QueryEvaluationTest)):
        action = graph.value(test, MF.action)
        files = [folder / Path(str(file)).name for file in graph.objects(action, QT.data)]
        query = folder / Path(str(graph.value(action, QT.query))).name
        name = f"{folder.name}/{str(test).rpartition('#')[2]}"
        yield pytest.param(query.read_text(encoding="utf-8"), files, id=name)


CASES = [case for folder in sorted(ROOT.glob("*/")) for case in evaluations(folder)]
READ = {
    "codepoint-escapes": {"codepoint-esc-05", "codepoint-esc-06", "codepoint-esc-07"},
    "eval-triple-terms": {
        *{"op-1", "op-2", "order-1", "order-2", "pattern-3", "pattern-3-nomatch"},
        *{f"results-{terms}-1{form}" for terms in ("tripleterms", "reifiedtriples") for form in "jx"},
    },
    "grouping": {"group01"},
    "lang-basedir": {"lang", "strlang"},
    "rdf11": {"langstring-datatype", "plain-string-datatype", "plain-string-same"},
}
"""The tests that both rdflib's parser and Oxigraph read."""


def test_w3c12_tests_are_there() -> None:
    """All tests with a result are run below."""
    shared("data", "w3c12", "manifest.ttl")
    assert len(CASES) == 63
    assert {f"{folder}/{name}" for folder, names in READ.items() for name in names} < {
        case.id for case in CASES
    }


@pytest.mark.parametrize(("query", "files"), CASES)
def test_w3c12_query_is_maintained_or_refused(
    query: str, files: list[Path], request: pytest.FixtureRequest
) -> None:
    """What both can read has the answer that Oxigraph gives, at each step; the rest is not SPARQL to one."""
    folder, name = request.node.callspec.id.split("/")
    live = rdflive.LiveStore()
    if name not in READ.get(folder, ()):
        with pytest.raises((QuerySyntaxError, SyntaxError)):
            read_by_both(query)
        return
    told: Counter[Any] = Counter()

    def take(delta: rdflive.Delta) -> None:
        told.update(map(row, delta.added))
        told.subtract(map(row, delta.removed))

    quads = [quad for file in files for quad in _parse(file)]
    with rdflive.subscribe(live, query, take) as subscription:
        for change in (live.add, live.remove):
            for quad in quads:
                change(quad)
                assert +told == Counter(map(row, subscription.answers())) == asked(live, query)


def read_by_both(query: str) -> None:
    live = rdflive.LiveStore()
    live.query(query)
    rdflive.subscribe(live, query)


def _parse(file: Path) -> Iterator[Any]:
    form = ox.RdfFormat.from_extension(file.suffix[1:])
    return iter(ox.parse(file.read_bytes(), form, base_iri="urn:w3c:"))


def row(solution: Any) -> frozenset[Any]:
    return frozenset(solution.asdict().items())


def asked(live: rdflive.LiveStore, query: str) -> Counter[Any]:
    """Give Oxigraph's own answer."""
    result: Any = live.query(query)
    if isinstance(result, ox.QueryBoolean):
        return Counter([frozenset()] if result else [])
    names = [variable.value for variable in result.variables]
    rows = (zip(names, solution, strict=True) for solution in result)
    return Counter(frozenset((name, term) for name, term in row if term is not None) for row in rows)
