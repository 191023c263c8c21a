"""Updates on data of a watched `LiveStore`: what is read as TriG is what the store takes from the text."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

pytest.importorskip("pyoxigraph", reason="needs the extra rdflive[oxigraph]")

from pyoxigraph import CanonicalizationAlgorithm, Dataset, DefaultGraph, NamedNode, Quad, Store

import rdflive
from rdflive.store import WriteRefusedError
from rdflive_stores.oxigraph.ground import read_ground
from rdflive_stores.oxigraph.kept import KEPT
from support.data_updates import BASES, NAMESPACES, data_update
from support.effort import drawn_from, rounds
from support.oxigraph import followed

RDF, XSD = "http://www.w3.org/1999/02/22-rdf-syntax-ns#", "http://www.w3.org/2001/XMLSchema#"
PREFIXES = {**NAMESPACES, "rdf": RDF, "xsd": XSD}


def state(store: Any) -> tuple[set[Quad], Counter[str]]:
    """Give the quads of a store, with labels that do not depend on chance, and its named graphs."""
    dataset = Dataset(store)
    dataset.canonicalize(CanonicalizationAlgorithm.RDFC_1_0)
    return set(dataset), Counter(map(str, store.named_graphs()))


def outcome(store: Any, text: str, **options: Any) -> Any:
    try:
        return store.update(text, **options)
    except (SyntaxError, ValueError, RuntimeError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("strangeness", [0, 0.02, 0.2])
def test_updates_on_data_do_what_they_do_natively(strangeness: float) -> None:
    """The same quads, graphs and errors; every change is told in one commit; a dozen requests per store."""
    random = drawn_from("ground", strangeness)
    kinds: Counter[str] = Counter()
    for _ in range(rounds(400)):
        live, follower = followed()
        twin = Store()
        twin.extend(live)
        for _ in range(12):
            text, base = data_update(random, strangeness, prologues=1), random.choice(BASES) or None
            options: dict[str, Any] = {"prefixes": PREFIXES, "base_iri": base}
            before, sequence = set(live), live.capture.sequence
            found = read_ground(text, PREFIXES, base)
            expected = outcome(twin, text, **options)
            assert outcome(live, text, **options) == expected, text
            assert state(live) == state(twin), text
            follower.check()
            assert live.capture.sequence == sequence + (before != set(live)), text
            assert found is None or expected is None, text
            kinds["error" if expected else "left" if found is None else "read"] += 1
    assert kinds["read"] > 12 * rounds(400) / (20 if strangeness < 0.1 else 100)
    assert strangeness == 0 or kinds["error"] > 12 * rounds(400) / 20


PLAIN = "PREFIX e: <urn:> INSERT DATA { e:a e:p 'x'@en . e:b a e:C ; e:q 01.50, 2e3, true # all\n }"


@pytest.mark.parametrize(
    ("text", "is_read"),
    [
        (PLAIN, True),
        (f"{PLAIN} ; delete  DATA {{ GRAPH <urn:g> {{ <urn:a> <urn:p> 'a ({{b}}; \\'c\\')' }} . }} ;", True),
        ("INSERT DATA { _:a <urn:p> [ <urn:q> (1 2) ] }", True),
        ("INSERT DATA { }", True),
        # what only SPARQL's parser may read
        ("INSERT DATA { _:a <urn:p> 1 } ; INSERT DATA { }", False),
        ("DELETE DATA { _:a <urn:p> 1 }", False),
        ("INSERT DATA { <urn:a> <urn:p> '''long''' }", False),
        ("INSERT DATA { <urn:a> <urn:p> '''a ' } ; DELETE DATA { ' b''' }", False),
        ("INSERT DATA { <urn:a> <urn:p> '\\u0041' }", False),
        ("INSERT DATA { <urn:a> <urn:p> '\\\\u0041' }", False),
        ("INSERT DATA { PREFIX e: <urn:> e:a e:p e:o }", False),
        ("INSERT DATA { @prefix e: <urn:> . e:a e:p e:o }", False),
        ("INSERT DATA { <urn:a> <urn:p> <urn:o> # \\u000A }", False),
        ("INSERT DATA { <urn:a> <urn:p> TRUE }", False),
        ("INSERT DATA { <<( <urn:a> <urn:p> 1 )>> <urn:p> 1 }", False),
        ("INSERT DATA { <urn:a> <urn:p> 1 } ; DELETE DATA { <urn:a> <urn:p> 01 }", False),
        ("BASE <urn:> INSERT DATA { <urn:a> <urn:p> 1 }", False),
        ("INSERT DATA { <urn:a> <urn:p> 1", False),
        ("INSERT DATA { { <urn:a> <urn:p> 1 } }", False),
        ("INSERT DATA { <urn:g> { <urn:a> <urn:p> 1 } }", False),
        ("INSERT DATA { unknown:a <urn:p> 1 }", False),
        ("PREFIX e: <urn:> INSERT DATA { e:a.b e:p e:a..b }", True),
        ("PREFIX e: <urn:> INSERT DATA { e:a.b.c e:p 1 }", False),
        ("INSERT DATA { <urn:a> <urn:p> _:x.GRAPH <urn:g> { } }", False),
        ("INSERT DATA { <urn:a> <urn:p> '\ud800' }", False),
        ("INSERT DATA { <urn:a> <urn:p> 1 } DELETE DATA { }", False),
        ("INSERT { <urn:a> <urn:p> 1 } WHERE { }", False),
        ("", False),
    ],
)
def test_what_is_read_as_trig(text: str, is_read: bool) -> None:
    assert (read_ground(text, None, None) is not None) is is_read


@pytest.mark.parametrize(
    "prefixes", [{"e": "urn:e> <"}, {"e": "relative"}, {"e f": "urn:e"}, {"_": "urn:e"}, {"e": 5}, {"e": []}]
)
def test_a_prefix_that_the_store_may_refuse_is_left_to_it(prefixes: Any) -> None:
    assert read_ground("INSERT DATA { }", prefixes, "http://e/") is None
    live, _ = followed()
    options = {"prefixes": prefixes, "base_iri": "http://e/"}
    results = []
    for store in (live, Store()):
        try:
            results.append(store.update("INSERT DATA { e:a <urn:p> 1 }", **options))
        except (TypeError, ValueError, SyntaxError) as error:
            results.append((type(error), str(error)))
    assert results[0] == results[1]


def test_what_was_inserted_and_deleted_leaves_nothing() -> None:
    """Whole and in parts, told and not told of."""
    live, rows = rdflive.LiveStore(), Counter[str]()
    query = "SELECT * { ?s <urn:p> ?o . ?o <urn:q> ?x }"

    def take(delta: rdflive.Delta) -> None:
        rows.update(map(str, delta.added))
        rows.subtract(map(str, delta.removed))

    with rdflive.subscribe(live, query, take) as subscription:
        for text in (
            "<urn:a> <urn:p> <urn:b>",
            "<urn:b> <urn:q> 01",
            "<urn:c> <urn:r> 'none'",
            "<urn:b> <urn:q> 2",
        ):
            live.update(f"INSERT DATA {{ {text} . <urn:b> <urn:p> <urn:b> }}")
        assert len(+rows) == 4
        live.update("DELETE DATA { <urn:a> <urn:p> <urn:b> } ; INSERT DATA { <urn:x> <urn:p> <urn:b> }")
        assert len(+rows) == 4
        live.update(
            "DELETE DATA { <urn:x> <urn:p> <urn:b> . <urn:b> <urn:q> 1, 2 ; <urn:p> <urn:b> . "
            "<urn:c> <urn:r> 'none' }"
        )
        assert not +rows
        assert subscription.answers() == []
        assert len(live) == subscription.stats.entries == 0


def test_what_is_no_text_of_unicode_is_refused_as_natively() -> None:
    live, follower = followed()
    for store in (live, Store()):
        with pytest.raises(UnicodeEncodeError):
            store.update("INSERT DATA { <urn:a> <urn:p> '\ud800' }")
    assert follower.check() == 0


def test_the_reserved_graph_is_refused() -> None:
    """As in an update that is read by SPARQL's parser."""
    live, follower = followed()
    for verb in ("INSERT", "DELETE"):
        for data in ("1", "1, 2", "'''x'''"):
            with pytest.raises(WriteRefusedError, match="reserved"):
                live.update(f"{verb} DATA {{ GRAPH {KEPT} {{ <urn:a> <urn:p> {data} }} }}")
    assert follower.check() == 0
    assert live.native.contains_named_graph(KEPT) is False


def test_a_request_is_one_commit_whatever_it_holds() -> None:
    """Deletes and inserts come as one delta, inside of a batch with what else the batch does."""
    live, deltas = rdflive.LiveStore(), []
    live.add(Quad(NamedNode("urn:a"), NamedNode("urn:p"), NamedNode("urn:b"), DefaultGraph()))
    rdflive.subscribe(live, "SELECT ?s { ?s <urn:p> ?o }", deltas.append, initial=False)
    live.update(
        "DELETE DATA { <urn:a> <urn:p> <urn:b> } ; INSERT DATA { <urn:b> <urn:p> 1 . <urn:c> <urn:p> 1 }"
    )
    with rdflive.batch(live):
        live.update("INSERT DATA { <urn:d> <urn:p> 1 . <urn:e> <urn:p> 1 }")
        live.update("DELETE DATA { <urn:d> <urn:p> 1 . <urn:c> <urn:p> 1 }")
    assert [(len(delta.added), len(delta.removed)) for delta in deltas] == [(2, 1), (1, 1)]
