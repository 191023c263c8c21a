"""Constants in filters of queries on Oxigraph: what the store keeps of them is what is compared."""

from __future__ import annotations

import pytest
import rdflib

import rdflive

ox = pytest.importorskip("pyoxigraph", reason="needs the extra rdflive[oxigraph]")
pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")

TERMS = [
    '"16777217"^^xsd:float', '"1.0000000001"^^xsd:float', '"2147483648"^^xsd:int', '"-1"^^xsd:unsignedInt',
    '"01"^^xsd:integer', "1", '"1"', '"x"@EN', '"x"@en', '"1.50"^^xsd:decimal', '"abc"^^xsd:integer', "true",
]  # fmt: skip
FILTERS = [
    "?v = {}", "?v > {}", "STR(?v) = STR({})", "DATATYPE(?v) = DATATYPE({})", "LANG(?v) = LANG({})",
    "?v IN ({}, 7)",
]  # fmt: skip
PREFIX = "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
DATA = " ".join(f"<urn:{number}> <urn:p> {term} ." for number, term in enumerate(TERMS))


@pytest.mark.parametrize("kind", ["live store", "graph"])
@pytest.mark.parametrize("term", TERMS)
def test_a_constant_is_compared_as_the_store_spells_it(kind: str, term: str) -> None:
    """So the answer is that of the store, with others in a family and alone."""
    store = ox.Store()
    graph = rdflive.LiveStore(store) if kind == "live store" else rdflib.Graph(store="Oxigraph")
    for target in (store, graph) if kind == "graph" else (store,):
        target.update(f"{PREFIX} INSERT DATA {{ {DATA} }}")
    for condition in FILTERS:
        query = f"{PREFIX} SELECT ?s {{ ?s <urn:p> ?v FILTER({condition.format(term)}) }}"
        expected = sorted(solution["s"].value for solution in store.query(query))
        for budget in (None, rdflive.Budget()):
            with rdflive.subscribe(graph, query, budget=budget) as subscription:
                found = sorted(str(row.s).strip("<>") for row in subscription.answers())
                assert found == expected, (condition, budget)
