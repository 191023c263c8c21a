"""Values that flow: what a delta says of itself."""

from __future__ import annotations

import pickle

import pytest
import rdflib

import rdflive
from rdflive.model import Delta, Header

DATA = "@prefix e: <http://e/> . e:a e:p e:b ."


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("SELECT ?o ?none ?s { ?s ?p ?o OPTIONAL { ?s <http://e/q> ?none } }", ("o", "none", "s")),
        ("SELECT * { ?s ?p ?o }", ("s", "p", "o")),
        ("ASK { ?s ?p ?o }", ()),
        ("CONSTRUCT { ?o ?p ?s } { ?s ?p ?o }", ()),
    ],
)
def test_delta_names_the_variables_of_a_select(query: str, names: tuple[str, ...]) -> None:
    """They come in the order of the query, bound or not, and other queries have none."""
    graph = rdflib.Graph().parse(data=DATA)
    with rdflive.subscribe(graph, query) as subscription:
        delta = next(subscription.deltas())
    assert delta.names == names
    assert pickle.loads(pickle.dumps(delta)).names == names


def test_a_delta_without_solutions_has_its_names() -> None:
    """The names do not depend on what is in the delta."""
    assert Delta(Header("SELECT", ("x",)), {}, sequence=3).names == ("x",)
