"""`rdflive watch` on the real history of a vocabulary."""

from __future__ import annotations

import gzip
import json
from collections import Counter

import pytest
import rdflib

from support.cli import watch
from support.shared import shared

REAL_QUERIES = [
    "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "
    "SELECT ?class ?parent ?label { ?class rdfs:subClassOf ?parent . ?parent rdfs:label ?label }",
    "PREFIX s: <https://schema.org/> "
    "SELECT ?old ?new { ?old s:supersededBy ?new . ?old s:domainIncludes ?d . ?new s:domainIncludes ?d }",
    "SELECT * { ?s ?p ?o }",
]


@pytest.mark.shared
@pytest.mark.sampled(by="query")
@pytest.mark.parametrize("query", REAL_QUERIES)
def test_the_history_of_schema_org_adds_up(query: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The summed deltas of 99 real transactions are the answer over the final graph, by rdflib alone."""
    folder = shared("data", "history", "schemaorg")
    base, changes = folder / "base.nt.gz", folder / "changes.rdfp.gz"
    assert watch("--to", "ndjson", data=str(base), query=query, changes=str(changes)) == 0
    out, err = capsys.readouterr()
    assert err.splitlines()[-1].startswith("99 entries, 18562 changes, ")
    summed = Counter[str]()
    for delta in map(json.loads, out.splitlines()):
        summed.update(_row(row) for row in delta["added"])
        summed.subtract(_row(row) for row in delta["removed"])
    final = rdflib.Dataset()
    with gzip.open(base) as content:
        final.default_graph.parse(content, format="nt")
    with gzip.open(changes) as content:
        final.parse(content, format="patch")
    evaluated = json.loads(final.query(query).serialize(format="json"))
    expected = Counter(_row(row) for row in evaluated["results"]["bindings"])
    assert expected
    assert {row: count for row, count in summed.items() if count} == expected


def _row(bindings: dict[str, object]) -> str:
    return json.dumps(bindings, sort_keys=True)
