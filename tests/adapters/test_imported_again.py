"""The modules of rdflive imported again, as notebooks and test runners do, in a process of their own."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

BEGIN = """
import importlib, logging, sys
import rdflib
import rdflive

logging.basicConfig(format="%(levelname)s %(message)s")
QUERY = "SELECT ?s { ?s ?p ?o }"
told, later = [], []

def triple(name):
    return rdflib.URIRef("http://e/" + name), rdflib.RDF.value, rdflib.Literal(1)

def imported_again():
    for name in [name for name in sys.modules if name.split(".")[0] in ("rdflive", "rdflive_stores")]:
        del sys.modules[name]
    import rdflive
    return rdflive

def take(told):
    return lambda delta: told.append((delta.initial, len(delta.added), len(delta.removed)))
"""


def run(script: str) -> tuple[str, str]:
    """Run a script, and give what it prints and logs."""
    ended = subprocess.run(
        [sys.executable, "-c", BEGIN + textwrap.dedent(script)], capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout, ended.stderr


@pytest.mark.parametrize(
    "graph",
    [
        "rdflib.Graph()",
        "rdflib.Graph('SimpleMemory')",
        "rdflib.Dataset()",
        "rdflib.Graph(rdflib.plugins.stores.auditable.AuditableStore(rdflib.Graph().store))",
        "rdflib.Graph('Oxigraph')",
    ],
)
def test_a_copy_that_takes_a_graph_over_says_so(graph: str) -> None:
    """The new copy's subscriptions are exact, and what the one before still has can be closed."""
    if "Oxigraph" in graph:
        pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
    printed, logged = run(f"""
        import rdflib.plugins.stores.auditable
        graph = {graph}
        before = rdflive.subscribe(graph, QUERY, take(told))
        graph.add(triple("a"))
        again = imported_again()
        assert again is not rdflive
        subscription = again.subscribe(graph, QUERY, take(later))
        graph.add(triple("b"))
        with again.batch(graph):
            graph.add(triple("c"))
            graph.remove(triple("a"))
        parsed = getattr(graph, "default_graph", graph)
        parsed.parse(data="<urn:x> <urn:y> 1 . <urn:x> <urn:y> 2 .", format="turtle")
        before.close()
        parsed.update("INSERT DATA {{ <urn:z> <urn:y> 1 . <urn:z> <urn:y> 2 }}")
        subscription.close()
        graph.add(triple("d"))
        print(told, later, type(graph.store).__name__.startswith("Live"))
    """)
    expected = [(True, 1, 0), (False, 1, 0), (False, 1, 1), (False, 2, 0), (False, 2, 0)]
    assert printed.strip() == f"{[(True, 0, 0), (False, 1, 0)]} {expected} False"
    (line,) = logged.strip().splitlines()
    assert line.startswith("WARNING a ")
    assert "imported before this one: the subscriptions of that copy get no more deltas" in line


def test_a_copy_beside_adapters_of_the_one_before_is_refused() -> None:
    """Its subscriptions would take the place of those that are there, which go on instead."""
    printed, _ = run("""
        graph = rdflib.Graph()
        before = rdflive.subscribe(graph, QUERY, take(told))
        for name in [name for name in sys.modules if name.split(".")[0] == "rdflive"]:
            del sys.modules[name]
        import rdflive as again
        try:
            again.subscribe(graph, QUERY, take(later))
        except again.UnsupportedStoreError as error:
            print(error)
        graph.add(triple("a"))
        print(told, later)
    """)
    refused, counts = printed.strip().splitlines()
    assert "import it again too" in refused
    assert counts == "[(True, 0, 0), (False, 1, 0)] []"


def test_a_copy_says_nothing_where_no_other_has_a_subscription() -> None:
    """Neither where the one before has closed its subscriptions, nor of graphs that it never saw."""
    printed, logged = run("""
        graph = rdflib.Graph()
        rdflive.subscribe(graph, QUERY, take(told)).close()
        again = imported_again()
        for each in (graph, rdflib.Graph()):
            subscription = again.subscribe(each, QUERY, take(later))
            each.parse(data="<urn:x> <urn:y> 1 . <urn:x> <urn:y> 2 .", format="turtle")
        print(told, later)
    """)
    assert printed.strip() == f"{[(True, 0, 0)]} {[(True, 0, 0), (False, 2, 0)] * 2}"
    assert logged == ""


def test_graphs_are_parsed_behind_a_copy_that_is_gone() -> None:
    """The parsers of rdflib that it had wrapped work without its modules."""
    printed, logged = run("""
        rdflive.subscribe(rdflib.Graph(), QUERY, take(told)).close()
        imported_again()
        graph = rdflib.Graph().parse(data="<urn:x> <urn:y> 1 .", format="turtle")
        graph.update("INSERT DATA { <urn:z> <urn:y> 1 }")
        print(len(graph))
    """)
    assert (printed.strip(), logged) == ("2", "")


def test_the_package_alone_may_be_loaded_again() -> None:
    """`importlib.reload` of the package keeps its modules, so all subscriptions go on."""
    printed, logged = run("""
        graph = rdflib.Graph()
        rdflive.subscribe(graph, QUERY, take(told))
        again = importlib.reload(rdflive)
        again.subscribe(graph, QUERY, take(later))
        graph.add(triple("a"))
        print(told, later)
    """)
    assert printed.strip() == f"{[(True, 0, 0), (False, 1, 0)]} {[(True, 0, 0), (False, 1, 0)]}"
    assert logged == ""


def test_a_live_store_of_another_copy_is_refused() -> None:
    """The error says how to go on."""
    pytest.importorskip("pyoxigraph")
    printed, _ = run("""
        live = rdflive.LiveStore()
        again = imported_again()
        try:
            again.subscribe(live, QUERY)
        except again.UnsupportedStoreError as error:
            print(error)
        again.subscribe(again.LiveStore(live.native), QUERY).close()
    """)
    assert "live = rdflive.LiveStore(live.native)" in printed
